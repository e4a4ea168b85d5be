// SPDX-License-Identifier: Apache-2.0
// The value-free run of matmul_large.neff.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kelf/kelf.h"
#include "tests/reference/provenance.h"
#include "tests/support/corpus.h"

using testing::HasSubstr;

namespace {

class Provenance : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<uint8_t> file = corpus_file("matmul_large.neff");
    if (file.empty()) {
      printf("skipped: no corpus\n");
      GTEST_SKIP() << "skipped: no corpus";
    }
    finding_sink findings;
    std::shared_ptr<const neff> source;
    ASSERT_EQ(neff_open(file, {}, findings, &source), NRT_SUCCESS);
    ASSERT_EQ(kelf_load_nn(source, {}, findings, &nn), NRT_SUCCESS);
    ASSERT_EQ(nn->kbins.size(), 2u);
  }
  std::string error_of(const provenance_options &options) {
    return provenance_run(*nn->kbins[0], options).error;
  }
  std::unique_ptr<kelf_nn_t> nn;
};

}  // namespace

TEST_F(Provenance, EveryOutputIsTheOrderedSumOfItsGroups) {
  uint64_t column = 0, macs = 0;
  for (const auto &kbin : nn->kbins) {
    provenance_result r = provenance_run(*kbin, {});
    EXPECT_EQ(r.error, "");
    EXPECT_EQ(r.first_column, column);  // disjoint, without a gap
    EXPECT_EQ(r.end_column, column + 32768);
    column = r.end_column;
    macs += r.macs;
    EXPECT_EQ(r.open_groups, 4u);
    // verified-matmul.md 4
    EXPECT_EQ(r.semaphores[5], 16640u);
    EXPECT_EQ(r.semaphores[6], 603u);
    EXPECT_EQ(r.semaphores[4], 69u);
    EXPECT_EQ(r.semaphores[12], 240u);
    EXPECT_EQ(r.semaphores[3] + r.semaphores[7], 0u);
  }
  EXPECT_EQ(column, 65536u);
  EXPECT_EQ(macs, 274'877'906'944u);
}

TEST_F(Provenance, LateTransfersInRandomOrderChangeNothing) {
  for (uint64_t seed = 1; seed <= 5; seed++)
    for (const auto &kbin : nn->kbins)
      EXPECT_EQ(provenance_run(*kbin, {.seed = seed}).error, "") << seed;
}

TEST_F(Provenance, WrongReadingsShow) {
  EXPECT_THAT(error_of({.seed = 1, .ignore_second_wait = true}), HasSubstr("in flight"));
  EXPECT_THAT(error_of({.seed = 1, .ignore_dma_wait = true}), HasSubstr("is read and holds"));
  EXPECT_THAT(error_of({.one_per_transfer = true}), HasSubstr("deadlock"));
  EXPECT_THAT(error_of({.signed_offset = true}), HasSubstr("offset -"));
  EXPECT_NE(error_of({.table_index_is_variable = true}), "");
  EXPECT_NE(error_of({.flags_swapped = true}), "");
}
