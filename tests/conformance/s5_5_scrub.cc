// SPDX-License-Identifier: Apache-2.0
// Section 5.5: HBM_SCRUB_START and HBM_SCRUB_WAIT.
#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S5_5_Scrub, V2_AND_V3);

namespace {

long start(const fd_t &fd, uint32_t channel, uint32_t value, uint32_t core = 0) {
  neuron_ioctl_hbm_scrub_start arg = {};
  arg.nc_id = core;
  arg.hbm_index = channel;
  arg.init_val = value;
  return fd.io(NEURON_IOCTL_HBM_SCRUB_START, &arg);
}

long wait(const fd_t &fd, uint32_t channel) {
  neuron_ioctl_hbm_scrub_wait arg = {};
  arg.hbm_index = channel;
  return fd.io(NEURON_IOCTL_HBM_SCRUB_WAIT, &arg);
}

std::vector<uint8_t> filled(size_t size, uint32_t value) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; i += 4)
    memcpy(&bytes[i], &value, 4);
  return bytes;
}

}  // namespace

TEST_P(S5_5_Scrub, FillsAllocatedChunksToo) {
  for (uint32_t value : {0u, 0xa1b2c3d4u}) {
    chunk_t large = alloc(dev, {.size = 2 * MIB}), small = alloc(dev);
    chunk_t other = alloc(dev, {.channel = 1});
    std::vector<uint8_t> data = pattern(PAGE, 1);
    for (const chunk_t &c : {large, small, other})
      ASSERT_EQ(buf_write(dev, c.handle, 0, data.data(), PAGE), 0);
    ASSERT_EQ(start(dev, 0, value), 0);
    ASSERT_EQ(wait(dev, 0), 0);
    EXPECT_EQ(bytes_of(dev, large.handle, 0, 2 * MIB), filled(2 * MIB, value));
    EXPECT_EQ(bytes_of(dev, small.handle, 0, PAGE), filled(PAGE, value));
    EXPECT_EQ(bytes_of(dev, other.handle, 0, PAGE), data);
    // Handles and chunks are as before.
    EXPECT_EQ(pa_of(dev, large.handle).pa, large.pa);
  }
}

TEST_P(S5_5_Scrub, Start_Checks) {
  NEEDS_BACKSTAGE();
  EXPECT_EQ(start(dev, model().channels, 0), -EPERM);
  EXPECT_EQ(start(dev, UINT32_MAX, 0), -EPERM);
  EXPECT_EQ(start(inherited(dev, OTHER), 0, 0), -EACCES);
}

TEST_P(S5_5_Scrub, Wait_Checks) {
  EXPECT_EQ(wait(dev, model().channels), -EPERM);
  EXPECT_EQ(wait(dev, UINT32_MAX), -EPERM);
  EXPECT_EQ(wait(dev, 0), -EPERM);  // none started
  ASSERT_EQ(start(dev, 1, 0), 0);
  EXPECT_EQ(wait(dev, 0), -EPERM);  // on another channel
  EXPECT_EQ(wait(dev, 1), 0);
  EXPECT_EQ(wait(dev, 1), -EPERM);  // once
}
