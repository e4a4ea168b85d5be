// SPDX-License-Identifier: Apache-2.0
// matmul_small.neff and attn_v6.neff, for tests that need both.
#pragma once

#include "tests/programs/attention_run.h"
#include "tests/programs/matmul_run.h"

class BothFiles : public testing::Test {
 protected:
  void SetUp() override {
    small = corpus_file("matmul_small.neff");
    attention = corpus_file("attn_v6.neff");
    SKIP_WITHOUT(small);
    SKIP_WITHOUT(attention);
  }
  std::vector<uint8_t> small, attention;
};
