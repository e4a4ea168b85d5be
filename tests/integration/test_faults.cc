// SPDX-License-Identifier: Apache-2.0
// A load whose nth request to the driver fails, for every n: the right status, one ERROR line,
// nothing left behind, and the next load works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tests/integration/stack.h"
#include "uapi/neuron_ioctl.h"

namespace {

std::string joined(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

// Requests a clean load of `file` makes.
uint32_t count_requests(const std::vector<uint8_t> &file, const stack_options_t &options) {
  stack s(options);
  uint64_t before = s.ioctls();
  H_NN h = 0;
  EXPECT_EQ(s.load(file, 0, &h), NRT_SUCCESS);
  return static_cast<uint32_t>(s.ioctls() - before);
}

void fail_each(const std::vector<uint8_t> &file, const stack_options_t &options, int error) {
  uint32_t requests = count_requests(file, options);
  ASSERT_GT(requests, 20u);
  uint32_t refused = 0;
  // About 60 of them, evenly; all with OPENNRT_FAULTS=all.
  const char *wish = getenv("OPENNRT_FAULTS");
  uint32_t step = wish != nullptr && strcmp(wish, "all") == 0 ? 1 : std::max(1u, requests / 60);
  uint32_t tried = 0;
  for (uint32_t n = 1; n <= requests; n += step, tried++) {
    SCOPED_TRACE(testing::Message()
                 << "request " << n << " of " << requests << ", errno " << error);
    stack s(options);
    ASSERT_TRUE(s.ok());
    std::vector<chunk_t> chunks = s.chunks();
    std::vector<dmem_usage_table_t> counters = s.counters();
    log_capture log("WARN");
    H_NN h = 77;
    s.fail_nth(0, n, error);
    NRT_STATUS status = s.load(file, 0, &h);
    s.heal();
    if (status == NRT_SUCCESS) {
      // The one failure a load survives: an aligned allocation, repeated in the unaligned form.
      EXPECT_NE(error, ENOMEM);
      EXPECT_EQ(log.errors().size(), 0u) << joined(log.errors());
      EXPECT_EQ(log.lines(NLOG_LEVEL_WARN).size(), 1u) << joined(log.lines(NLOG_LEVEL_WARN));
      EXPECT_EQ(s.unload(h), NRT_SUCCESS);
    } else {
      refused++;
      // Running out of memory is told apart from other failures of the driver.
      if (error == ENOMEM)
        EXPECT_THAT(status, testing::AnyOf(NRT_RESOURCE, NRT_FAILURE, NRT_FAIL_HOST_MEM_ALLOC));
      else
        EXPECT_EQ(status, NRT_FAILURE);
      EXPECT_EQ(h, 77u);
      EXPECT_EQ(log.errors().size(), 1u) << joined(log.errors());
    }
    EXPECT_EQ(s.chunks(), chunks);
    EXPECT_TRUE(s.counters() == counters);
    EXPECT_EQ(kmgr_models(s.kmgr, nullptr, 0), 0u);
    ASSERT_EQ(s.load(file, 0, &h), NRT_SUCCESS);
    ASSERT_EQ(s.unload(h), NRT_SUCCESS);
    EXPECT_EQ(s.chunks(), chunks);
  }
  EXPECT_GT(refused, tried / 2);
}

}  // namespace

TEST(Faults, EveryRequestOutOfMemoryContiguous) {
  fail_each(sample_file(), {}, ENOMEM);
}

TEST(Faults, EveryRequestOutOfMemoryPaged) {
  fail_each(sample_file({.subgraphs = 1}), {.lnc = 1}, ENOMEM);
}

TEST(Faults, EveryRequestFailsOtherwiseContiguous) {
  fail_each(sample_file(), {}, EIO);
}

TEST(Faults, EveryRequestFailsOtherwiseOnV2) {
  fail_each(sample_file({.target = "sunda", .subgraphs = 1}),
            {.instance = "trn1.2xlarge", .lnc = 1}, EIO);
}

TEST(Faults, EveryAllocationOutOfMemoryIsResource) {
  std::vector<uint8_t> file = sample_file();
  uint64_t allocations = 0;
  {
    stack s;
    uint64_t before = s.allocations();
    H_NN h = 0;
    ASSERT_EQ(s.load(file, 0, &h), NRT_SUCCESS);
    allocations = s.allocations() - before;
  }
  // Two subgraphs: 5 constants and temporaries and a table each, what their programs take and the
  // resident loops of their cores; 3 slots, 1 arena page.
  EXPECT_EQ(allocations, 2 * (6 + kSampleProgramChunks + 1) + 3 + 1);
  for (uint32_t n = 1; n <= allocations; n++) {
    SCOPED_TRACE(n);
    stack s;
    std::vector<chunk_t> chunks = s.chunks();
    log_capture log;
    H_NN h = 0;
    s.fail_nth(NEURON_IOCTL_MEM_ALLOC_V2MT64, n, ENOMEM);
    EXPECT_EQ(s.load(file, 0, &h), NRT_RESOURCE);
    EXPECT_EQ(log.errors().size(), 1u) << joined(log.errors());
    EXPECT_EQ(s.chunks(), chunks);
  }
}

// No fault plan: the HBM really is too small.
TEST(Faults, DeviceMemoryReallyFull) {
  stack s({.hbm_size = 3 * kGiB});
  ASSERT_TRUE(s.ok());
  std::vector<chunk_t> chunks = s.chunks();
  sample_t big = sample_make();
  big.replace("sg01/def.json", R"("size": 70000, "alignment": 4096)",
              R"("size": 3000000000, "alignment": 4096)");
  log_capture log;
  H_NN h = 0;
  EXPECT_EQ(s.load(sample_bytes(big), 2, &h), NRT_RESOURCE);
  EXPECT_EQ(log.errors().size(), 1u) << joined(log.errors());
  EXPECT_EQ(s.chunks(), chunks);
  EXPECT_EQ(s.load(sample_file(), 2, &h), NRT_SUCCESS);
}
