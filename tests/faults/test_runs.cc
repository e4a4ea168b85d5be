// SPDX-License-Identifier: Apache-2.0
// What runs take after the first ones: no host memory, and the same number of requests to the
// driver each time (dma-and-exec.md 7).
#include <gtest/gtest.h>
#include <nrt/nrt.h>

#include "tests/faults/world.h"
#include "tests/integration/stack.h"

namespace {

class Runs : public testing::TestWithParam<nrt_tensor_placement_t> {
 protected:
  void SetUp() override {
    files_ = corpus_files();
    if (files_.empty()) {
      printf("skipped: no corpus\n");
      GTEST_SKIP() << "skipped: no corpus";
    }
    fault_log_start();
    ASSERT_EQ(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    ASSERT_EQ(nrt_load(files_[0].data(), files_[0].size(), 0, -1, &model_), NRT_SUCCESS);
    ASSERT_EQ(nrt_allocate_tensor_set(&in_), NRT_SUCCESS);
    ASSERT_EQ(nrt_allocate_tensor_set(&out_), NRT_SUCCESS);
    add(in_, "x", 128 * 256 * 2);
    add(in_, "y", 256 * 128 * 2);
    add(out_, "output0", 128 * 128 * 2);
  }
  void TearDown() override { nrt_close(); }

  void add(nrt_tensor_set_t *set, const char *name, size_t size) {
    nrt_tensor_t *tensor = nullptr;
    bool device = GetParam() == NRT_TENSOR_PLACEMENT_DEVICE;
    ASSERT_EQ(nrt_tensor_allocate(GetParam(), device ? 0 : -1, size, name, &tensor), NRT_SUCCESS);
    ASSERT_EQ(nrt_tensor_memset(tensor, 0, 0, size), NRT_SUCCESS);
    ASSERT_EQ(nrt_add_tensor_to_tensor_set(set, name, tensor), NRT_SUCCESS);
  }
  void run(int count) {
    for (int i = 0; i < count; i++)
      ASSERT_EQ(nrt_execute(model_, in_, out_), NRT_SUCCESS) << fault_log_text();
  }
  std::vector<std::vector<uint8_t>> files_;
  nrt_model_t *model_ = nullptr;
  nrt_tensor_set_t *in_ = nullptr, *out_ = nullptr;
};

}  // namespace

TEST_P(Runs, AllocateNothing) {
  run(3);
  fault_arm(FAULT_MEMORY, 0, 0);
  run(500);
  fault_report_t report = fault_disarm();
  EXPECT_EQ(report.count, 0u) << report.where;
  EXPECT_EQ(report.kept_blocks, 0);
}

// Two per physical core, and what the copies of tensors in host memory take.
TEST_P(Runs, TakeTheSameRequests) {
  run(3);
  uint64_t each = 0;
  for (int i = 0; i < 20; i++) {
    fault_arm(FAULT_IOCTL, 0, 0);
    run(1);
    uint64_t count = fault_disarm().count;
    if (i == 0)
      each = count;
    EXPECT_EQ(count, each) << i;
  }
  if (GetParam() == NRT_TENSOR_PLACEMENT_DEVICE) {
    EXPECT_EQ(each, 4u);
  }
  printf("%lu requests per run\n", each);
}

INSTANTIATE_TEST_SUITE_P(Placements, Runs,
                         testing::Values(NRT_TENSOR_PLACEMENT_DEVICE, NRT_TENSOR_PLACEMENT_VIRTUAL),
                         [](const auto &p) {
                           return p.param == NRT_TENSOR_PLACEMENT_DEVICE ? "Device" : "Host";
                         });
