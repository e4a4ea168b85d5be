// SPDX-License-Identifier: Apache-2.0
// The check values of mock-device-semantics.md 17.1, one after the other on one fresh v3 device.
#include "tests/mock_dev/mock_fixture.h"

TEST(CheckValues, InOrder) {
  machine_t m("trn2.3xlarge");

  chunk_t c = alloc(m, {.size = 4096});
  EXPECT_EQ(c.rc, 0);
  EXPECT_EQ(c.handle, 1u);
  EXPECT_EQ(c.pa, 0x5c0000000u);

  c = alloc(m, {.size = 1 << 20});
  EXPECT_EQ(c.handle, 2u);
  EXPECT_EQ(c.pa, 0x1000000u);

  c = alloc(m, {.size = 1 << 20, .align = 2 << 20});
  EXPECT_EQ(c.handle, 3u);
  EXPECT_EQ(c.pa, 0x1200000u);

  c = alloc(m, {.size = 512 << 10});
  EXPECT_EQ(c.handle, 4u);
  EXPECT_EQ(c.pa, 0x5c0001000u);

  EXPECT_EQ(mem_free(m, 2), 0);
  c = alloc(m, {.size = 1, .channel = 3});
  EXPECT_EQ(c.handle, 2u);
  EXPECT_EQ(c.pa, 0x8045c0000000u);
  neuron_ioctl_mem_get_extended_info x = {};
  x.mem_handle = 2;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &x), 0);
  EXPECT_EQ(x.size, 4096u);

  alloc_t page = {.size = 64 << 20, .category = NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE};
  EXPECT_EQ(alloc(m, page).pa, 0x5bc000000u);
  EXPECT_EQ(alloc(m, page).pa, 0x5b8000000u);

  EXPECT_EQ(alloc(m, {.channel = 4}).rc, -EINVAL);
  EXPECT_EQ(alloc(m, {.nc_id = 8}).rc, -EINVAL);
  EXPECT_EQ(alloc(m, {.size = 0}).rc, -ENOMEM);
  EXPECT_EQ(alloc(m, {.align = 64, .host = true}).rc, -EINVAL);

  neuron_ioctl_mem_get_mc_mmap_info_v2 mc = {};
  mc.pa = 0x1200010;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_MC_GET_INFO_V2, &mc), 0);
  EXPECT_EQ(mc.mmap_offset, 0x1200000u);
  EXPECT_EQ(mc.size, 0x100000u);
  EXPECT_EQ(mc.mem_handle, 3u);

  void *va = nullptr;
  EXPECT_EQ(mock_mmap(m.host, PID, m.fd, 0x1200000, 0x100000, PROT_READ | PROT_WRITE, &va), 0);
  EXPECT_EQ(mock_munmap(m.host, PID, va, 0x100000), 0);
  EXPECT_EQ(mock_mmap(m.host, PID, m.fd, 0x1200000, 0x80000, PROT_READ | PROT_WRITE, &va), -EPERM);

  x.mem_handle = 999;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &x), 22);

  neuron_ioctl_mem_copy_async64 copy = {};
  copy.src_mem_handle = 3;
  copy.dst_mem_handle = 4;
  copy.size = 4096;
  const uint32_t waits[3] = {0xffffffffu, 1, 2}, handles[3] = {1, 2, 1};
  for (int i = 0; i < 3; ++i) {
    copy.pwait_handle = waits[i];
    EXPECT_EQ(m.io(NEURON_IOCTL_MEM_COPY_ASYNC64, &copy), 0);
    EXPECT_EQ(copy.wait_handle, handles[i]);
  }

  neuron_ioctl_crwl_nc_map_ext claim = {};
  claim.nc_count = 1;
  claim.start_nc_index = claim.end_nc_index = 1;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &claim), 0);
  EXPECT_EQ(claim.bitmap[0], 2u);
  claim = {};
  claim.nc_count = 2;
  claim.end_nc_index = 3;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &claim), -EBUSY);
  EXPECT_EQ(claim.max_nc_available, 1u);

  EXPECT_EQ(m.io(0x80084e00u | 200, nullptr), -EINVAL);
}

// The same first addresses on v2 (5.1).
TEST(CheckValues, FirstAddressesV2) {
  machine_t m("trn1.2xlarge");
  EXPECT_EQ(alloc(m, {.size = 4096}).pa, 0x3c0000000u);
  EXPECT_EQ(alloc(m, {.size = 1 << 20}).pa, 0x1000000u);
  EXPECT_EQ(alloc(m, {.size = 1 << 20, .channel = 1}).pa, 0x1001000000u);
  alloc_t page = {.size = 64 << 20, .category = NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE};
  // device-memory.md 3.5: pages of a 100 MiB arena on v2 channel 0.
  EXPECT_EQ(alloc(m, page).pa, 0x3bc000000u);
  EXPECT_EQ(alloc(m, page).pa, 0x3b8000000u);
  EXPECT_EQ(alloc(m, {.channel = 2}).rc, -EINVAL);
}
