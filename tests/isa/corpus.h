// SPDX-License-Identifier: Apache-2.0
// The streams of the real files.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "isa/isa_table.h"
#include "kelf/kelf.h"
#include "neff/neff.h"
#include "tests/support/corpus.h"

constexpr const char *corpus_files[] = {"matmul_small.neff", "matmul_large.neff", "attn_v6.neff"};

class IsaCorpus : public testing::Test {
 protected:
  // False: there is no corpus, the test is skipped.
  bool load(const char *name) {
    std::vector<uint8_t> bytes = corpus_file(name);
    if (bytes.empty()) {
      printf("skipped: no corpus\n");
      return false;
    }
    finding_sink findings;
    std::shared_ptr<const neff> source;
    EXPECT_EQ(neff_open(bytes, {}, findings, &source), NRT_SUCCESS);
    EXPECT_EQ(kelf_load_nn(source, {}, findings, &nn), NRT_SUCCESS);
    return nn != nullptr;
  }

  static std::span<const isa_record> records(const kbin_engine_t &engine) {
    EXPECT_EQ(engine.instr.size() % ISA_RECORD_BYTES, 0u);
    return {reinterpret_cast<const isa_record *>(engine.instr.data()),
            engine.instr.size() / ISA_RECORD_BYTES};
  }

  std::unique_ptr<kelf_nn_t> nn;
};
