// SPDX-License-Identifier: Apache-2.0
// Section 12: resets.
#include <unistd.h>

#include "tests/conformance/bar.h"
#include "tests/conformance/dma.h"

CONFORMANCE_SUITE(S12_Reset, V2_AND_V3);
CONFORMANCE_SUITE(S12_Effects, V2_AND_V3);

namespace {

struct reset_t {
  long rc;
  uint32_t id;
};

reset_t reset(const fd_t &fd, uint32_t cores) {
  neuron_ioctl_device_reset arg = {cores, 0xdead};
  long rc = fd.io(NEURON_IOCTL_NC_RESET, &arg);
  return {rc, arg.request_id};
}

struct ready_t {
  long rc;
  int32_t result;
};

ready_t ready(const fd_t &fd, uint32_t id) {
  neuron_ioctl_device_ready arg = {id, -99};
  long rc = fd.io(NEURON_IOCTL_NC_RESET_READY, &arg);
  return {rc, arg.result};
}

void reset_now(const fd_t &fd, uint32_t cores) {
  reset_t r = reset(fd, cores);
  ASSERT_EQ(r.rc, 0);
  ASSERT_EQ(ready(fd, r.id).result, 0);
}

uint64_t queue_of(const fd_t &fd, uint32_t type, uint32_t device) {
  neuron_ioctl_notifications_init_v2 arg = {};
  arg.nq_dev_type = type;
  arg.nq_dev_id = device;
  arg.size = PAGE;
  EXPECT_EQ(fd.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &arg), 0);
  return arg.mem_handle;
}

uint32_t cinit(const fd_t &fd, uint32_t core, uint32_t state) {
  neuron_ioctl_cinit_set arg = {core, state, 0};
  EXPECT_EQ(fd.io(NEURON_IOCTL_CINIT_SET_STATE, &arg), 0);
  return arg.new_state;
}

}  // namespace

TEST_P(S12_Reset, NcReset_IdIsTheProcess) {
  reset_t r = reset(dev, 1);
  EXPECT_EQ(r.rc, 0);
  EXPECT_EQ(r.id, static_cast<uint32_t>(getpid()));
  ready_t done = ready(dev, r.id);
  EXPECT_EQ(done.rc, 0);
  EXPECT_EQ(done.result, 0);
}

TEST_P(S12_Reset, NcReset_AgainBeforeTheAnswerIsRead) {
  NEEDS_BACKSTAGE();
  reset_t r = reset(dev, 1);
  ASSERT_EQ(r.rc, 0);
  EXPECT_EQ(reset(dev, 2).rc, 1);
  EXPECT_EQ(reset(dev, NEURON_NC_MAP_DEVICE).rc, 1);
  // Another process has a request of its own.
  fd_t other = open(OTHER);
  reset_t theirs = reset(other, 2);
  EXPECT_EQ(theirs.rc, 0);
  EXPECT_EQ(theirs.id, static_cast<uint32_t>(OTHER));
  EXPECT_EQ(ready(dev, r.id).result, 0);
  EXPECT_EQ(ready(other, theirs.id).result, 0);
  EXPECT_EQ(reset(dev, 1).rc, 0);
}

TEST_P(S12_Reset, NcReset_NotGated) {
  NEEDS_BACKSTAGE();
  fd_t child = inherited(dev, OTHER);
  reset_t r = reset(child, 1);
  EXPECT_EQ(r.rc, 0);
  EXPECT_EQ(ready(child, r.id).result, 0);
}

TEST_P(S12_Reset, NcReset_WholeDevice) {
  reset_now(dev, NEURON_NC_MAP_DEVICE);
}

TEST_P(S12_Reset, NcReset_ArgumentReadOnly) {
  neuron_ioctl_device_reset arg = {1, 0};
  EXPECT_EQ(io(NEURON_IOCTL_NC_RESET, read_only_t(&arg, sizeof(arg)).page), 8);
}

TEST_P(S12_Reset, Ready_UnknownId) {
  for (uint32_t id : {0u, 12345u, static_cast<uint32_t>(getpid())}) {
    ready_t done = ready(dev, id);
    EXPECT_EQ(done.rc, 0);
    EXPECT_EQ(done.result, 1);
  }
}

TEST_P(S12_Reset, Ready_RemovesTheRequest) {
  reset_t r = reset(dev, 1);
  EXPECT_EQ(ready(dev, r.id).result, 0);
  EXPECT_EQ(ready(dev, r.id).result, 1);
}

TEST_P(S12_Reset, DeviceResetAndReady) {
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_RESET, nullptr), 0);
  uint8_t done[2] = {0xee, 0xee};
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_READY, done), 0);
  EXPECT_EQ(done[0], 1);
  EXPECT_EQ(done[1], 0xee);
  // Also without a request.
  done[0] = 0;
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_READY, done), 0);
  EXPECT_EQ(done[0], 1);
}

TEST_P(S12_Reset, OpenByOthersDoesNotWait) {
  NEEDS_BACKSTAGE();
  reset_t r = reset(dev, NEURON_NC_MAP_DEVICE);
  ASSERT_EQ(r.rc, 0);
  open(OTHER);
  EXPECT_EQ(ready(dev, r.id).result, 0);
}

// Section 4, close 1: the last close waits for the process's request.
TEST_P(S12_Reset, CloseWithARequestUnread) {
  ASSERT_EQ(reset(dev, 1).rc, 0);
  EXPECT_EQ(dev.close(), 0);
  dev = open(SELF);
  EXPECT_EQ(alloc(dev).rc, 0);
}

TEST_P(S12_Effects, CoreInitState) {
  for (uint32_t core : {0u, 1u}) {
    cinit(dev, core, NEURON_CINIT_STARTED);
    ASSERT_EQ(cinit(dev, core, NEURON_CINIT_COMPLETED), 2u);
  }
  reset_now(dev, 1);
  EXPECT_EQ(cinit(dev, 0, NEURON_CINIT_INVALID), 3u);
  EXPECT_EQ(cinit(dev, 1, NEURON_CINIT_INVALID), 2u);  // not in the map
}

TEST_P(S12_Effects, NotificationQueues) {
  // Core 0 and its TOP_SPs: three per core on v2, two on v3.
  uint32_t per_core = v2() ? 3 : 2;
  uint64_t core0 = queue_of(dev, 0, 0), core1 = queue_of(dev, 0, 1);
  uint64_t sp0 = queue_of(dev, 1, 0), sp_last = queue_of(dev, 1, per_core - 1),
           sp_next = queue_of(dev, 1, per_core);
  uint64_t block = v2() ? 0x30535000 : 0x6001000;
  EXPECT_EQ(reg64(dev, block + 0x100), pa_of(dev, core0).pa);
  reset_now(dev, 1);
  for (uint64_t handle : {core0, sp0, sp_last})
    EXPECT_EQ(pa_of(dev, handle).rc, -EINVAL);
  for (uint64_t handle : {core1, sp_next})
    EXPECT_EQ(pa_of(dev, handle).rc, 0);
  // Disabled first: address and size 0.
  EXPECT_EQ(reg64(dev, block + 0x100), 0u);
  EXPECT_EQ(reg(dev, block + 0x108), 0u);
}

TEST_P(S12_Effects, NotificationQueues_WholeDevice) {
  uint64_t core1 = queue_of(dev, 0, 1), sp = queue_of(dev, 1, model().top_sps - 1);
  reset_now(dev, NEURON_NC_MAP_DEVICE);
  EXPECT_EQ(pa_of(dev, core1).rc, -EINVAL);
  EXPECT_EQ(pa_of(dev, sp).rc, -EINVAL);
}

TEST_P(S12_Effects, MemorySurvives) {
  chunk_t c = alloc(dev), host = alloc(dev, {.host = true});
  neuron_ioctl_neuron_ds_info ds = {};
  ASSERT_EQ(io(NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), 0);
  uint64_t offset = ds.mmap_offset;
  reset_now(dev, NEURON_NC_MAP_DEVICE);
  EXPECT_EQ(pa_of(dev, c.handle).pa, c.pa);
  EXPECT_EQ(pa_of(dev, host.handle).pa, host.pa);
  ds = {};
  ds.pid = getpid();
  EXPECT_EQ(io(NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), 0);
  EXPECT_EQ(ds.mmap_offset, offset);
}

TEST_P(S12_Effects, CopiesWorkAgain) {
  chunk_t a = alloc(dev), b = alloc(dev);
  reset_now(dev, NEURON_NC_MAP_DEVICE);
  std::vector<uint8_t> data = pattern(PAGE, 1);
  ASSERT_EQ(buf_write(dev, a.handle, 0, data.data(), PAGE), 0);
  neuron_ioctl_mem_copy64 copy = {a.handle, b.handle, PAGE, 0, 0};
  EXPECT_EQ(io(NEURON_IOCTL_MEM_COPY64, &copy), 0);
  EXPECT_EQ(bytes_of(dev, b.handle, 0, PAGE), data);
}

// Rings must be initialised again, and can be.
TEST_P(S12_Effects, RingsCanBeInitialisedAgain) {
  rings_t r;
  r.tx = alloc(dev).handle;
  r.rx = alloc(dev).handle;
  ASSERT_EQ(queue_init(dev, r), 0);
  reset_now(dev, NEURON_NC_MAP_DEVICE);
  EXPECT_EQ(queue_init(dev, r), 0);
  EXPECT_EQ(queue_state(dev, 0, 0).tx.base_addr, pa_of(dev, r.tx).pa);
}

TEST_P(S12_Effects, ClaimsAndLocksStay) {
  neuron_ioctl_crwl_nc_map_ext map = {};
  map.nc_count = 1;
  ASSERT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &map), 0);
  reset_now(dev, NEURON_NC_MAP_DEVICE);
  EXPECT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &map), -EBUSY);
}
