// SPDX-License-Identifier: Apache-2.0
// Section 10: core claims.
#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S10_Claims, V2_AND_V3);
CONFORMANCE_SUITE(S10_Machine, "trn1.32xlarge", "trn2.48xlarge");

namespace {

struct claim_t {
  long rc;
  uint32_t available;
  std::vector<uint32_t> cores;
};

claim_t mark(const fd_t &fd, uint32_t count, uint32_t first, uint32_t last) {
  neuron_ioctl_crwl_nc_map_ext arg = {};
  arg.nc_count = count;
  arg.start_nc_index = first;
  arg.end_nc_index = last;
  claim_t out = {fd.io(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &arg), arg.max_nc_available, {}};
  for (uint32_t core = 0; core < 512; ++core)
    if ((arg.bitmap[core / 64] >> (core % 64) & 1) != 0)
      out.cores.push_back(core);
  return out;
}

long unmark(const fd_t &fd, const std::vector<uint32_t> &cores) {
  neuron_ioctl_crwl_nc_map_ext arg = {};
  for (uint32_t core : cores)
    arg.bitmap[core / 64] |= 1ull << (core % 64);
  return fd.io(NEURON_IOCTL_CRWL_NC_RANGE_UNMARK_EXT0, &arg);
}

using cores_t = std::vector<uint32_t>;

}  // namespace

TEST_P(S10_Claims, Step1_CommandSize) {
  uint8_t arg[128] = {};
  for (uint32_t nr : {85u, 86u})
    for (uint32_t size : {0u, 24u, 72u, 88u})
      EXPECT_EQ(io_misc(_IOC(_IOC_WRITE, 'N', nr, size), arg), -EINVAL) << nr << ' ' << size;
}

TEST_P(S10_Claims, Step2_Range) {
  EXPECT_EQ(mark(misc, 1, 1, 0).rc, -EINVAL);
  EXPECT_EQ(mark(misc, 1, 512, 512).rc, -EINVAL);
  EXPECT_EQ(mark(misc, 1, 0, 512).rc, -EINVAL);
  EXPECT_EQ(mark(misc, 1, 0, UINT32_MAX).rc, -EINVAL);
  neuron_ioctl_crwl_nc_map narrow = {1, 3, 2, 0, 0};
  EXPECT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK, &narrow), -EINVAL);
}

TEST_P(S10_Claims, Step3_SkipsClaimedCores) {
  ASSERT_EQ(mark(misc, 2, 0, 1).cores, cores_t({0, 1}));
  EXPECT_EQ(mark(misc, 2, 0, 7).cores, cores_t({2, 3}));
  EXPECT_EQ(mark(misc, 1, 0, 7).cores, cores_t({4}));
  // The search starts at the first core of the range.
  EXPECT_EQ(mark(misc, 1, 6, 7).cores, cores_t({6}));
}

TEST_P(S10_Claims, Step4_MarksForTheProcess) {
  NEEDS_BACKSTAGE();
  claim_t mine = mark(misc, 2, 0, 7);
  EXPECT_EQ(mine.rc, 0);
  EXPECT_EQ(mine.cores, cores_t({0, 1}));
  EXPECT_EQ(mark(open(OTHER, HAL_LANE_MISC), 2, 0, 7).cores, cores_t({2, 3}));
}

TEST_P(S10_Claims, Step4_NarrowForm) {
  neuron_ioctl_crwl_nc_map arg = {2, 1, 7, 0, 0};
  EXPECT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK, &arg), 0);
  EXPECT_EQ(arg.bitmap, 0x6u);
  EXPECT_EQ(mark(misc, 1, 1, 2).rc, -EBUSY);
  arg.bitmap = 0x2;
  EXPECT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_UNMARK, &arg), 0);
  EXPECT_EQ(mark(misc, 1, 1, 2).cores, cores_t({1}));
}

// Free, claimed, free, free: after a run blocked by core b the next start tried is b + 2.
TEST_P(S10_Claims, Step5_StartAfterTheBlockerIsNeverTried) {
  ASSERT_EQ(mark(misc, 1, 1, 1).rc, 0);
  claim_t c = mark(misc, 2, 0, 3);
  EXPECT_EQ(c.rc, -EBUSY);
  EXPECT_EQ(c.available, 1u);
  EXPECT_TRUE(c.cores.empty());
  // From core 2 on it is found.
  EXPECT_EQ(mark(misc, 2, 2, 3).cores, cores_t({2, 3}));
}

TEST_P(S10_Claims, Step5_LaterRunIsFound) {
  ASSERT_EQ(mark(misc, 1, 1, 1).rc, 0);
  // Core 0 alone, then from core 3.
  EXPECT_EQ(mark(misc, 2, 0, 7).cores, cores_t({3, 4}));
}

TEST_P(S10_Claims, Step6_NothingFound) {
  ASSERT_EQ(mark(misc, 1, 5, 5).rc, 0);
  claim_t c = mark(misc, 6, 0, 7);
  EXPECT_EQ(c.rc, -EBUSY);
  EXPECT_EQ(c.available, 5u);
  c = mark(misc, 9, 0, 7);
  EXPECT_EQ(c.rc, -EBUSY);
  EXPECT_EQ(c.available, 5u);
  ASSERT_EQ(mark(misc, 5, 0, 4).rc, 0);
  ASSERT_EQ(mark(misc, 2, 6, 7).rc, 0);
  c = mark(misc, 1, 0, 7);
  EXPECT_EQ(c.rc, -EBUSY);
  EXPECT_EQ(c.available, 0u);
}

TEST_P(S10_Claims, ZeroCores) {
  claim_t c = mark(misc, 0, 0, 1);
  EXPECT_EQ(c.rc, 0);
  EXPECT_TRUE(c.cores.empty());
  ASSERT_EQ(mark(misc, 2, 0, 1).rc, 0);
  EXPECT_EQ(mark(misc, 0, 0, 1).rc, -EBUSY);
  EXPECT_EQ(mark(misc, 0, 0, 2).rc, 0);
}

TEST_P(S10_Claims, CoresThatDoNotExist) {
  EXPECT_EQ(mark(misc, 1, 100, 100).cores, cores_t({100}));
  EXPECT_EQ(mark(misc, 2, 510, 511).cores, cores_t({510, 511}));
}

TEST_P(S10_Claims, OwnClaimsBlock) {
  ASSERT_EQ(mark(misc, 1, 0, 0).rc, 0);
  EXPECT_EQ(mark(misc, 1, 0, 0).rc, -EBUSY);
  EXPECT_EQ(mark(dev, 1, 0, 0).rc, -EBUSY);
}

TEST_P(S10_Claims, AreAdvisory) {
  NEEDS_BACKSTAGE();
  ASSERT_EQ(mark(open(OTHER, HAL_LANE_MISC), 2, 0, 1).rc, 0);
  chunk_t c = alloc(dev, {.nc_id = 0});
  EXPECT_EQ(c.rc, 0);
  EXPECT_EQ(buf_write(dev, c.handle, 0, "free", 4), 0);
  neuron_ioctl_cinit_set state = {0, NEURON_CINIT_STARTED, 0};
  EXPECT_EQ(io(NEURON_IOCTL_CINIT_SET_STATE, &state), 0);
}

TEST_P(S10_Claims, Unmark_OwnBitsOnly) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER, HAL_LANE_MISC);
  ASSERT_EQ(mark(misc, 1, 0, 0).rc, 0);
  ASSERT_EQ(mark(other, 1, 1, 1).rc, 0);
  EXPECT_EQ(unmark(misc, {0, 1, 2, 400}), 0);
  EXPECT_EQ(mark(misc, 1, 0, 0).rc, 0);
  EXPECT_EQ(mark(misc, 1, 1, 1).rc, -EBUSY);
  EXPECT_EQ(unmark(other, {1}), 0);
  EXPECT_EQ(mark(misc, 1, 1, 1).rc, 0);
}

TEST_P(S10_Claims, Unmark_AlwaysSucceeds) {
  EXPECT_EQ(unmark(misc, {}), 0);
  EXPECT_EQ(unmark(misc, {0, 511}), 0);
}

TEST_P(S10_Claims, DeviceLaneWorksToo) {
  EXPECT_EQ(mark(dev, 1, 0, 0).cores, cores_t({0}));
  EXPECT_EQ(unmark(dev, {0}), 0);
}

TEST_P(S10_Claims, ArgumentReadOnly) {
  neuron_ioctl_crwl_nc_map_ext wide = {};
  wide.nc_count = 1;
  EXPECT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, read_only_t(&wide, sizeof(wide)).page),
            80);
  neuron_ioctl_crwl_nc_map narrow = {1, 1, 1, 0, 0};
  EXPECT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK, read_only_t(&narrow, sizeof(narrow)).page),
            24);
  // Releasing only reads.
  EXPECT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_UNMARK, read_only_t(&narrow, sizeof(narrow)).page),
            0);
}

// One table for the host; numbers are relative to core 0 of the descriptor's device.
TEST_P(S10_Machine, RelativeToTheDevice) {
  uint32_t cores = model().cores;
  fd_t third = open(SELF, HAL_LANE_MISC, 2);
  ASSERT_EQ(mark(third, 1, 1, 1).cores, cores_t({1}));
  // The same core seen from device 0.
  EXPECT_EQ(mark(misc, 1, 2 * cores + 1, 2 * cores + 1).rc, -EBUSY);
  EXPECT_EQ(mark(misc, 1, 1, 1).rc, 0);
  // A run across devices.
  claim_t c = mark(misc, cores + 2, 4 * cores, 8 * cores - 1);
  EXPECT_EQ(c.rc, 0);
  EXPECT_EQ(c.cores.front(), 4 * cores);
  EXPECT_EQ(c.cores.back(), 5 * cores + 1);
  EXPECT_EQ(unmark(third, {1}), 0);
  EXPECT_EQ(mark(misc, 1, 2 * cores + 1, 2 * cores + 1).rc, 0);
}
