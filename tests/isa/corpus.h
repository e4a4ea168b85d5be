// SPDX-License-Identifier: Apache-2.0
// The streams of the real files.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "isa/isa_table.h"
#include "kelf/kelf.h"
#include "neff/neff.h"

constexpr const char *corpus_files[] = {"matmul_small.neff", "matmul_large.neff", "attn_v6.neff"};

class IsaCorpus : public testing::Test {
 protected:
  // False: there is no corpus, the test is skipped.
  bool load(const char *name) {
    const char *dir = getenv("OPENNRT_CORPUS");
    FILE *file = dir ? fopen((std::string(dir) + "/" + name).c_str(), "rb") : nullptr;
    if (!file) {
      printf("skipped: no corpus\n");
      return false;
    }
    std::string bytes;
    char chunk[65536];
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), file)) > 0;)
      bytes.append(chunk, n);
    fclose(file);
    finding_sink findings;
    std::shared_ptr<const neff> source;
    EXPECT_EQ(neff_open({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, {},
                        findings, &source),
              NRT_SUCCESS);
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
