// SPDX-License-Identifier: Apache-2.0
// Section 17.1: the check values, one after the other on a fresh v3 device.
#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S17_1_CheckValues, "trn2.3xlarge");

TEST_P(S17_1_CheckValues, InOrder) {
  chunk_t c = alloc(dev, {.size = 4096});
  EXPECT_EQ(c.handle, 1u);
  EXPECT_EQ(c.pa, 0x5c0000000u);
  c = alloc(dev, {.size = MIB});
  EXPECT_EQ(c.handle, 2u);
  EXPECT_EQ(c.pa, 0x1000000u);
  c = alloc(dev, {.size = MIB, .align = 2 * MIB});
  EXPECT_EQ(c.handle, 3u);
  EXPECT_EQ(c.pa, 0x1200000u);
  c = alloc(dev, {.size = 512 * KIB});
  EXPECT_EQ(c.handle, 4u);
  EXPECT_EQ(c.pa, 0x5c0001000u);

  EXPECT_EQ(free_chunk(dev, 2), 0);
  c = alloc(dev, {.size = 1, .channel = 3});
  EXPECT_EQ(c.handle, 2u);
  EXPECT_EQ(c.pa, 0x8045c0000000u);
  EXPECT_EQ(extended_info(dev, 2).info.size, 4096u);

  alloc_t contiguous = {.size = 64 * MIB, .category = 19};
  EXPECT_EQ(alloc(dev, contiguous).pa, 0x5bc000000u);
  EXPECT_EQ(alloc(dev, contiguous).pa, 0x5b8000000u);

  EXPECT_EQ(alloc(dev, {.channel = 4}).rc, -EINVAL);
  EXPECT_EQ(alloc(dev, {.nc_id = 8}).rc, -EINVAL);
  EXPECT_EQ(alloc(dev, {.size = 0}).rc, -ENOMEM);
  EXPECT_EQ(alloc(dev, {.align = 64, .host = true}).rc, -EINVAL);

  mc_t mc = chunk_at(dev, 0x1200010);
  EXPECT_EQ(mc.info.mmap_offset, 0x1200000u);
  EXPECT_EQ(mc.info.size, 0x100000u);
  EXPECT_EQ(mc.info.mem_handle, 3u);

  void *va = nullptr;
  EXPECT_EQ(dev.map(0x1200000, 0x100000, PROT_READ | PROT_WRITE, &va), 0);
  EXPECT_EQ(dev.unmap(va, 0x100000), 0);
  EXPECT_EQ(dev.map(0x1200000, 0x80000, PROT_READ | PROT_WRITE, &va), -EPERM);

  EXPECT_EQ(extended_info(dev, 999).rc, 22);

  neuron_ioctl_mem_copy_async64 copy = {};
  copy.src_mem_handle = 3;
  copy.dst_mem_handle = 3;
  copy.size = 64;
  copy.dst_offset = 64;
  copy.pwait_handle = 0xffffffff;
  for (uint32_t expected : {1u, 2u, 1u}) {
    EXPECT_EQ(io(NEURON_IOCTL_MEM_COPY_ASYNC64, &copy), 0);
    EXPECT_EQ(copy.wait_handle, expected);
    copy.pwait_handle = copy.wait_handle;
  }

  neuron_ioctl_crwl_nc_map_ext map = {};
  map.nc_count = 1;
  map.start_nc_index = map.end_nc_index = 1;
  EXPECT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &map), 0);
  map = {};
  map.nc_count = 2;
  map.end_nc_index = 3;
  EXPECT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &map), -EBUSY);
  EXPECT_EQ(map.max_nc_available, 1u);

  EXPECT_EQ(io(0x80084EC8, &map), -EINVAL);  // number 200
  EXPECT_EQ(io(200, &map), -EINVAL);
}

TEST_P(S17_1_CheckValues, SemaphoreRead) {
  neuron_ioctl_semaphore arg = {8, 0, 0};
  EXPECT_EQ(io(NEURON_IOCTL_SEMAPHORE_READ, &arg), -E2BIG);
  arg = {0, 256, 0};
  EXPECT_EQ(io(NEURON_IOCTL_SEMAPHORE_READ, &arg), -EINVAL);
}
