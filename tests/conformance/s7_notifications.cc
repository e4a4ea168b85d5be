// SPDX-License-Identifier: Apache-2.0
// Section 7: notification queues.
#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S7_Init, V2_AND_V3);
CONFORMANCE_SUITE(S7_Realloc, V2_AND_V3);
CONFORMANCE_SUITE(S7_Queues, V2_AND_V3);

namespace {

struct nq_t {
  uint32_t device = 0;
  uint32_t device_type = NEURON_NQ_DEVICE_CORE;
  uint32_t type = NEURON_NQ_TYPE_NOTIFY;
  uint32_t engine = 0;
  uint32_t size = PAGE;
  bool host = false;
  uint32_t channel = 0;
};

struct queue_t {
  long rc;
  uint64_t offset;
  uint64_t handle;
};

queue_t init(const fd_t &fd, const nq_t &q) {
  neuron_ioctl_notifications_init_v2 arg = {};
  arg.nq_dev_id = q.device;
  arg.nq_dev_type = q.device_type;
  arg.nq_type = q.type;
  arg.engine_index = q.engine;
  arg.size = q.size;
  arg.on_host_memory = q.host;
  arg.dram_channel = q.channel;
  long rc = fd.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &arg);
  return {rc, arg.mmap_offset, arg.mem_handle};
}

queue_t init_realloc(const fd_t &fd, const nq_t &q, uint32_t force) {
  neuron_ioctl_notifications_init_with_realloc_v2 arg = {};
  arg.nq_dev_id = q.device;
  arg.nq_dev_type = q.device_type;
  arg.nq_type = q.type;
  arg.engine_index = q.engine;
  arg.size = q.size;
  arg.on_host_memory = q.host;
  arg.dram_channel = q.channel;
  arg.force_alloc_mem = force;
  long rc = fd.io(NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2, &arg);
  return {rc, arg.mmap_offset, arg.mem_handle};
}

queue_t init_v1(const fd_t &fd, uint32_t core, uint32_t type, uint32_t engine, uint32_t size) {
  neuron_ioctl_notifications_init_v1 arg = {};
  arg.nc_id = core;
  arg.nq_type = type;
  arg.engine_index = engine;
  arg.size = size;
  long rc = fd.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &arg);
  return {rc, arg.mmap_offset, 0};
}

// V2 and the re-allocating form check alike.
void expect_both(const fd_t &fd, const nq_t &q, long result) {
  EXPECT_EQ(init(fd, q).rc, result);
  EXPECT_EQ(init_realloc(fd, q, 0).rc, result);
  EXPECT_EQ(init_realloc(fd, q, 1).rc, result);
}

}  // namespace

TEST_P(S7_Init, Check1_Gate) {
  NEEDS_BACKSTAGE();
  fd_t child = inherited(dev, OTHER);
  expect_both(child, {}, -EACCES);
  EXPECT_EQ(init_v1(child, 0, 1, 0, PAGE).rc, -EACCES);
}

TEST_P(S7_Init, Check2_DeviceType) {
  expect_both(dev, {.device_type = 2}, -ENOSYS);
  expect_both(dev, {.device_type = UINT32_MAX}, -ENOSYS);
  // Before the size and the index.
  expect_both(dev, {.device = 99, .device_type = 2, .size = 5000}, -ENOSYS);
}

TEST_P(S7_Init, Check3_SizeIsAPowerOfTwo) {
  for (uint32_t size : {3u, 4095u, 5000u, 0x80000001u}) {
    expect_both(dev, {.size = size}, -EINVAL);
    EXPECT_EQ(init_v1(dev, 0, 1, 0, size).rc, -EINVAL);
  }
}

TEST_P(S7_Init, Check3_SizeZeroPassesAndEndsAsNoMemory) {
  expect_both(dev, {.size = 0}, -ENOMEM);
}

TEST_P(S7_Init, Check4_Index) {
  expect_both(dev, {.device = model().cores}, -EINVAL);
  expect_both(dev, {.device = 255}, -EINVAL);
  expect_both(dev, {.device = model().top_sps, .device_type = NEURON_NQ_DEVICE_TOP_SP}, -EINVAL);
  EXPECT_EQ(init_v1(dev, model().cores, 1, 0, PAGE).rc, -EINVAL);
  EXPECT_EQ(init(dev, {.device = model().cores - 1}).rc, 0);
  EXPECT_EQ(init(dev, {.device = model().top_sps - 1, .device_type = NEURON_NQ_DEVICE_TOP_SP}).rc,
            0);
}

TEST_P(S7_Init, Check4_LowEightBitsOfTheIndex) {
  queue_t first = init(dev, {.device = 1});
  queue_t same = init(dev, {.device = 0x101});
  EXPECT_EQ(same.rc, 0);
  EXPECT_EQ(same.handle, first.handle);
}

TEST_P(S7_Init, Check5_Slot) {
  expect_both(dev, {.type = 6}, -EINVAL);
  expect_both(dev, {.type = 15, .engine = 15}, -EINVAL);
  EXPECT_EQ(init(dev, {.type = 5, .engine = 15}).rc, 0);
  // Kept in eight bits: type 16 is type 0 again.
  queue_t zero = init(dev, {.type = 0, .engine = 3});
  EXPECT_EQ(init(dev, {.type = 16, .engine = 3}).handle, zero.handle);
  // The driver would let an engine index of 16 alias the next type; the mock refuses it.
  expect_both(dev, {.engine = 16}, -EINVAL);
}

TEST_P(S7_Init, Check6_AllocationErrors) {
  expect_both(dev, {.channel = model().channels}, -EINVAL);
  ASSERT_EQ(alloc(dev, {.size = model().channel_size - SMALL_POOL - RESERVED}).rc, 0);
  // The small pool takes 1 GiB once.
  EXPECT_EQ(init(dev, {.size = 0x40000000}).rc, 0);
  expect_both(dev, {.engine = 1, .size = 0x40000000}, -ENOMEM);
  // A queue is aligned to its size, and an alignment of 2 GiB is too large.
  expect_both(dev, {.engine = 1, .size = 0x80000000}, -EINVAL);
}

TEST_P(S7_Init, ArgumentReadOnly) {
  neuron_ioctl_notifications_init_v2 arg = {};
  arg.size = PAGE;
  EXPECT_EQ(io(NEURON_IOCTL_NOTIFICATIONS_INIT_V2, read_only_t(&arg, sizeof(arg)).page), 48);
}

TEST_P(S7_Init, DeviceQueue) {
  // Chunks in the way of unaligned places.
  alloc(dev);
  alloc(dev, {.size = MIB + PAGE});
  uint32_t engine = 0;
  for (uint32_t size : {0x1000u, 0x8000u, 0x100000u}) {
    queue_t q = init(dev, {.engine = engine++, .size = size});
    ASSERT_EQ(q.rc, 0);
    EXPECT_EQ(q.offset, UINT64_MAX);
    info_t info = extended_info(dev, q.handle);
    EXPECT_EQ(info.info.host_memory, 0u);
    EXPECT_EQ(info.info.size, size);
    EXPECT_EQ(info.info.pa % size, 0u);  // aligned to its size
    // It can be mapped like any chunk.
    void *va = nullptr;
    EXPECT_EQ(dev.map(info.info.pa, size, PROT_READ | PROT_WRITE, &va), 0);
    EXPECT_EQ(dev.unmap(va, size), 0);
  }
}

TEST_P(S7_Init, DeviceQueue_OnTheChannelNamed) {
  queue_t q = init(dev, {.channel = 1});
  EXPECT_EQ(pa_of(dev, q.handle).pa, model().base[1] + model().channel_size - SMALL_POOL);
}

TEST_P(S7_Init, HostQueue) {
  queue_t q = init(dev, {.size = 0x8000, .host = true});
  ASSERT_EQ(q.rc, 0);
  EXPECT_EQ(pa_of(dev, q.handle).pa, q.offset);
  EXPECT_EQ(extended_info(dev, q.handle).info.host_memory, 1u);
  void *va = nullptr;
  EXPECT_EQ(dev.map(q.offset, 0x8000, PROT_READ | PROT_WRITE, &va), 0);
  EXPECT_EQ(dev.unmap(va, 0x8000), 0);
}

TEST_P(S7_Init, V1_IsACoreQueueInHostMemory) {
  queue_t old = init_v1(dev, 1, 2, 3, PAGE);
  ASSERT_EQ(old.rc, 0);
  EXPECT_NE(old.offset & model().host_bit, 0u);
  // The same queue by its other name.
  queue_t q = init(dev, {.device = 1, .type = 2, .engine = 3, .size = 2 * PAGE});
  EXPECT_EQ(q.offset, old.offset);
  EXPECT_EQ(pa_of(dev, q.handle).pa, old.offset);
}

TEST_P(S7_Init, SlotUsed_ReturnsTheQueueThereIs) {
  queue_t first = init(dev, {.size = PAGE});
  queue_t again = init(dev, {.size = 0x10000, .host = true, .channel = 1});
  EXPECT_EQ(again.rc, 0);
  EXPECT_EQ(again.handle, first.handle);
  EXPECT_EQ(again.offset, UINT64_MAX);
  EXPECT_EQ(extended_info(dev, again.handle).info.size, PAGE);
  // The checks before the slot still hold.
  EXPECT_EQ(init(dev, {.size = 5000}).rc, -EINVAL);
  // Another engine index, type, core or TOP_SP is another slot.
  for (const nq_t &other : {nq_t{.engine = 1}, nq_t{.type = 2}, nq_t{.device = 1},
                            nq_t{.device_type = NEURON_NQ_DEVICE_TOP_SP}})
    EXPECT_NE(init(dev, other).handle, first.handle);
}

TEST_P(S7_Realloc, ForceDropsTheOldQueue) {
  queue_t first = init(dev, {.size = PAGE});
  uint64_t old = pa_of(dev, first.handle).pa;
  queue_t second = init_realloc(dev, {.size = 2 * PAGE}, 1);
  ASSERT_EQ(second.rc, 0);
  EXPECT_EQ(extended_info(dev, second.handle).info.size, 2 * PAGE);
  // The new one was allocated before the old one went; the old handle died (its number may be the
  // new one's).
  EXPECT_NE(pa_of(dev, second.handle).pa, old);
  EXPECT_EQ(chunk_at(dev, old).rc, -ENOMEM);
  EXPECT_TRUE(first.handle == second.handle || pa_of(dev, first.handle).rc == -EINVAL);
  EXPECT_EQ(dump_chunks(dev, 0, 8).count, 2u);
  EXPECT_EQ(init(dev, {}).handle, second.handle);
}

TEST_P(S7_Realloc, WithoutForceLikeV2) {
  queue_t first = init_realloc(dev, {.size = PAGE}, 0);
  ASSERT_EQ(first.rc, 0);
  EXPECT_EQ(init_realloc(dev, {.size = 2 * PAGE}, 0).handle, first.handle);
}

TEST_P(S7_Realloc, FailureKeepsTheOldQueue) {
  queue_t first = init(dev, {.size = PAGE});
  EXPECT_EQ(init_realloc(dev, {.channel = model().channels}, 1).rc, -EINVAL);
  EXPECT_EQ(pa_of(dev, first.handle).rc, 0);
  EXPECT_EQ(init(dev, {}).handle, first.handle);
}

TEST_P(S7_Queues, DestroyDoesNothing) {
  queue_t q = init(dev, {.host = true});
  neuron_ioctl_notifications_destroy arg = {q.offset};
  EXPECT_EQ(io(NEURON_IOCTL_NOTIFICATIONS_DESTROY_V1, &arg), 0);
  EXPECT_EQ(pa_of(dev, q.handle).pa, q.offset);
}

TEST_P(S7_Queues, QueueInfoIsEperm) {
  neuron_ioctl_notifications_queue_info arg = {};
  EXPECT_EQ(io(NEURON_IOCTL_NOTIFICATIONS_QUEUE_INFO, &arg), -EPERM);
}

TEST_P(S7_Queues, SurviveTheProcess) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  queue_t theirs = init(other, {.host = true});
  ASSERT_EQ(theirs.rc, 0);
  EXPECT_EQ(other.close(), 0);
  EXPECT_EQ(pa_of(dev, theirs.handle).pa, theirs.offset);
  EXPECT_EQ(init(dev, {}).handle, theirs.handle);
  // Device lifetime: anyone may write.
  void *va = nullptr;
  ASSERT_EQ(dev.map(theirs.offset, PAGE, PROT_READ | PROT_WRITE, &va), 0);
  *static_cast<volatile uint32_t *>(va) = 7;
  EXPECT_EQ(dev.unmap(va, PAGE), 0);
}

// Freeing a queue's handle leaves the driver with a dangling slot; the mock empties it.
TEST_P(S7_Queues, FreedByHandle) {
  queue_t first = init(dev, {.size = PAGE});
  EXPECT_EQ(free_chunk(dev, first.handle), 0);
  queue_t second = init(dev, {.size = 2 * PAGE});
  EXPECT_EQ(second.rc, 0);
  EXPECT_EQ(extended_info(dev, second.handle).info.size, 2 * PAGE);
}
