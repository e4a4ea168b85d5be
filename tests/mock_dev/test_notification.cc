// SPDX-License-Identifier: Apache-2.0
// Notification queues (mock-device-semantics.md 2.3 and 7).
#include "mock_dev/notification.h"

#include "tests/mock_dev/mock_fixture.h"

namespace {

constexpr uint64_t NOT_MAPPABLE = UINT64_MAX;

struct nq_t {
  uint32_t dev = 0, dev_type = 0, type = 1, engine = 0, size = 4096, host = 1, channel = 0;
  uint32_t force = 0;  // through WITH_REALLOC only
};

struct answer_t {
  long rc;
  uint64_t mmap_offset, handle;
};

answer_t init_as(mock_host_t *host, int32_t tgid, int fd, const nq_t &q) {
  neuron_ioctl_notifications_init_v2 a = {};
  a.nq_dev_id = q.dev;
  a.nq_dev_type = q.dev_type;
  a.nq_type = q.type;
  a.engine_index = q.engine;
  a.size = q.size;
  a.on_host_memory = q.host;
  a.dram_channel = q.channel;
  long rc = mock_ioctl(host, tgid, fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &a);
  return {rc, a.mmap_offset, a.mem_handle};
}

answer_t init(machine_t &m, const nq_t &q) {
  return init_as(m.host, PID, m.fd, q);
}

answer_t realloc_nq(machine_t &m, const nq_t &q) {
  neuron_ioctl_notifications_init_with_realloc_v2 a = {};
  a.nq_dev_id = q.dev;
  a.nq_dev_type = q.dev_type;
  a.nq_type = q.type;
  a.engine_index = q.engine;
  a.size = q.size;
  a.on_host_memory = q.host;
  a.dram_channel = q.channel;
  a.force_alloc_mem = q.force;
  long rc = m.io(NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2, &a);
  return {rc, a.mmap_offset, a.mem_handle};
}

struct info_t {
  long rc;
  uint64_t pa, size, pid, host;
};

info_t info(machine_t &m, uint64_t handle) {
  neuron_ioctl_mem_get_extended_info a = {};
  a.mem_handle = handle;
  long rc = m.io(NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &a);
  return {rc, a.pa, a.size, a.pid, a.host_memory};
}

uint32_t reg(machine_t &m, uint64_t bar0) {
  uint32_t value = 0xdead;
  EXPECT_TRUE(mock_notification_register_read(m.host, mock_host_device(m.host, 0), bar0, &value))
      << std::hex << bar0;
  return value;
}

// Registers of hardware queue `queue` of the block at `base`, as section 2.3 has them.
void expect_hw(machine_t &m, uint64_t base, uint64_t queue, uint64_t pa, uint32_t size) {
  EXPECT_EQ(reg(m, base + 0x28 * queue + 0x100), static_cast<uint32_t>(pa));
  EXPECT_EQ(reg(m, base + 0x28 * queue + 0x104), static_cast<uint32_t>(pa >> 32));
  EXPECT_EQ(reg(m, base + 0x28 * queue + 0x108), size);
}

bool is_v2(const char *name) {
  return strcmp(name, "trn1.2xlarge") == 0;
}

}  // namespace

class Notifications : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Chips, Notifications, testing::Values("trn1.2xlarge", "trn2.3xlarge"));

TEST_P(Notifications, ChecksInOrder) {
  uint32_t cores = is_v2(GetParam()) ? 2 : 8, top_sps = is_v2(GetParam()) ? 6 : 16;
  uint32_t channels = is_v2(GetParam()) ? 2 : 4;
  for (auto call : {init, realloc_nq}) {
    machine_t m(GetParam());
    EXPECT_EQ(call(m, {.dev = 99, .dev_type = 2, .size = 3}).rc, -ENOSYS);
    EXPECT_EQ(call(m, {.dev = cores, .type = 6, .size = 5000}).rc, -EINVAL);
    EXPECT_EQ(call(m, {.size = 5000}).rc, -EINVAL);
    EXPECT_EQ(call(m, {.dev = cores}).rc, -EINVAL);
    EXPECT_EQ(call(m, {.dev = top_sps, .dev_type = 1}).rc, -EINVAL);
    EXPECT_EQ(call(m, {.type = 6}).rc, -EINVAL);     // slot 96
    EXPECT_EQ(call(m, {.type = 15}).rc, -EINVAL);    // slot 240
    EXPECT_EQ(call(m, {.engine = 16}).rc, -EINVAL);  // would be another type's slot
    // What an allocation refuses.
    EXPECT_EQ(call(m, {.size = 0}).rc, -ENOMEM);
    EXPECT_EQ(call(m, {.channel = channels}).rc, -EINVAL);            // in host memory, too
    EXPECT_EQ(call(m, {.size = 0x80000000, .host = 0}).rc, -EINVAL);  // alignment
    EXPECT_EQ(call(m, {.size = 0x80000000, .host = 1}).rc, 0);
    EXPECT_EQ(call(m, {.engine = 1, .size = 0x80000000, .host = 1}).rc, -ENOMEM);
    // The last ones of everything.
    EXPECT_EQ(call(m, {.dev = cores - 1, .type = 5, .engine = 15}).rc, 0);
    EXPECT_EQ(call(m, {.dev = top_sps - 1, .dev_type = 1, .type = 5, .engine = 15}).rc, 0);
  }
}

TEST_P(Notifications, GateAndLowBits) {
  machine_t m(GetParam());
  EXPECT_EQ(init_as(m.host, PID + 1, m.fd, {}).rc, -EACCES);
  EXPECT_EQ(init_as(m.host, PID, m.misc, {}).rc, -EINVAL);
  answer_t first = init(m, {.dev = 1, .engine = 2});
  ASSERT_EQ(first.rc, 0);
  // Unit and engine keep 8 bits, the slot number wraps at 256: type 16 is type 0.
  EXPECT_EQ(init(m, {.dev = 0x101, .engine = 0x302}).handle, first.handle);
  answer_t trace = init(m, {.type = 0});
  EXPECT_EQ(init(m, {.type = 16}).handle, trace.handle);
  EXPECT_EQ(init(m, {.type = 17, .engine = 2}).handle, init(m, {.type = 1, .engine = 2}).handle);
}

TEST_P(Notifications, HostQueue) {
  machine_t m(GetParam());
  answer_t q = init(m, {.dev = 1, .type = 3, .engine = 3, .size = 1024});
  ASSERT_EQ(q.rc, 0);
  info_t i = info(m, q.handle);
  EXPECT_EQ(i.rc, 0);
  EXPECT_EQ(i.host, 1u);
  EXPECT_EQ(i.pa, q.mmap_offset);
  EXPECT_EQ(i.size, 4096u);
  EXPECT_EQ(i.pid, static_cast<uint64_t>(PID));
  expect_hw(m, is_v2(GetParam()) ? 0x30c35000 : 0x6181000, 3, i.pa, 1024);
}

TEST_P(Notifications, DeviceQueueIsAlignedToItsSize) {
  machine_t m(GetParam());
  bool v2 = is_v2(GetParam());
  uint64_t small_pool = v2 ? 0x3c0000000 : 0x5c0000000;
  ASSERT_EQ(alloc(m, {.size = 4096}).pa, small_pool);
  answer_t q = init(m, {.type = 2, .engine = 5, .size = 0x10000, .host = 0});
  ASSERT_EQ(q.rc, 0);
  EXPECT_EQ(q.mmap_offset, NOT_MAPPABLE);
  info_t i = info(m, q.handle);
  EXPECT_EQ(i.host, 0u);
  EXPECT_EQ(i.pa, small_pool + 0x10000);
  expect_hw(m, v2 ? 0x30535000 : 0x6001000, 5, i.pa, 0x10000);
  // Of a TOP_SP, on the last channel.
  uint32_t channel = v2 ? 1 : 3, top_sp = v2 ? 5 : 9;
  q = init(m, {.dev = top_sp, .dev_type = 1, .size = 1 << 20, .host = 0, .channel = channel});
  ASSERT_EQ(q.rc, 0);
  i = info(m, q.handle);
  EXPECT_EQ(i.pa, (v2 ? 0x1000000000 : 0x804000000000) + 0x1000000);
  expect_hw(m, v2 ? 0x30e04000 + 5 * 0x40000 : 0x6a00000 + 0x40000 + 0x40000000, 0, i.pa, 1 << 20);
}

TEST_P(Notifications, DmaTraceUsesTheEnginesBlock) {
  machine_t m(GetParam());
  bool v2 = is_v2(GetParam());
  answer_t q = init(m, {.dev = 1, .type = 4, .engine = 6, .size = 8192});
  ASSERT_EQ(q.rc, 0);
  expect_hw(m, v2 ? 0x30b01000 + 6 * 0x7000 : 0x83041000 + 6 * 0x100000, 0, q.mmap_offset, 8192);
  expect_hw(m, v2 ? 0x30c35000 : 0x6181000, 6, 0, 0);  // not the core's own queue 6
}

// One hardware queue per engine index, whatever the type: the last one programmed wins.
TEST_P(Notifications, TypesFightForTheHardwareQueue) {
  machine_t m(GetParam());
  uint64_t block = is_v2(GetParam()) ? 0x30535000 : 0x6001000;
  answer_t a = init(m, {.type = 1, .engine = 4});
  answer_t b = init(m, {.type = 2, .engine = 4, .size = 8192});
  ASSERT_EQ(b.rc, 0);
  EXPECT_NE(a.handle, b.handle);
  expect_hw(m, block, 4, b.mmap_offset, 8192);
  EXPECT_EQ(init(m, {.type = 1, .engine = 4}).handle, a.handle);  // existing: not programmed
  expect_hw(m, block, 4, b.mmap_offset, 8192);
  EXPECT_EQ(mem_free(m, a.handle), 0);  // the hardware is not a's any more
  expect_hw(m, block, 4, b.mmap_offset, 8192);
}

TEST_P(Notifications, UsedSlotGivesTheExistingQueue) {
  machine_t m(GetParam());
  answer_t q = init(m, {.size = 4096});
  for (auto call : {init, realloc_nq}) {
    answer_t again = call(m, {.size = 1 << 20, .host = 0, .channel = 77});  // all ignored
    EXPECT_EQ(again.rc, 0);
    EXPECT_EQ(again.handle, q.handle);
    EXPECT_EQ(again.mmap_offset, q.mmap_offset);
    EXPECT_EQ(call(m, {.size = 0}).handle, q.handle);
    EXPECT_EQ(call(m, {.size = 3}).rc, -EINVAL);  // looked at before the slot
  }
  // Another process gets it as well.
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  EXPECT_EQ(init_as(m.host, PID + 1, other, {}).handle, q.handle);
}

TEST_P(Notifications, FormOne) {
  machine_t m(GetParam());
  neuron_ioctl_notifications_init_v1 a = {1, 2, 3, 4096, 0};
  ASSERT_EQ(m.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &a), 0);
  // No handle was made: the next allocation gets number 1.
  EXPECT_EQ(alloc(m, {}).handle, 1u);
  answer_t q = init(m, {.dev = 1, .type = 2, .engine = 3});
  EXPECT_EQ(q.mmap_offset, a.mmap_offset);
  EXPECT_EQ(q.handle, 2u);
  a.size = 100;
  EXPECT_EQ(m.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &a), -EINVAL);
  a = {8, 2, 3, 4096, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &a), -EINVAL);
  a = {0, 6, 0, 4096, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &a), -EINVAL);
}

TEST_P(Notifications, ReallocatedByForce) {
  machine_t m(GetParam());
  uint64_t block = is_v2(GetParam()) ? 0x30535000 : 0x6001000;
  answer_t old = init(m, {.size = 4096});
  info_t before = info(m, old.handle);
  // Refused: the old queue stays.
  EXPECT_EQ(realloc_nq(m, {.size = 0, .force = 1}).rc, -ENOMEM);
  EXPECT_EQ(realloc_nq(m, {.channel = 9, .force = 1}).rc, -EINVAL);
  expect_hw(m, block, 0, before.pa, 4096);
  answer_t fresh = realloc_nq(m, {.size = 16384, .host = 0, .force = 1});
  ASSERT_EQ(fresh.rc, 0);
  EXPECT_EQ(fresh.mmap_offset, NOT_MAPPABLE);
  // The old handle died with its chunk, and the new one got the number freed last.
  EXPECT_EQ(fresh.handle, old.handle);
  EXPECT_EQ(info(m, fresh.handle).host, 0u);
  EXPECT_EQ(info(m, fresh.handle).size, 16384u);
  neuron_ioctl_mem_get_mc_mmap_info mc = {before.pa, 0, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_MC_GET_INFO, &mc), -ENOMEM);
  expect_hw(m, block, 0, info(m, fresh.handle).pa, 16384);
  EXPECT_EQ(init(m, {}).handle, fresh.handle);
  // By force into an empty slot: like without.
  EXPECT_EQ(realloc_nq(m, {.engine = 9, .force = 1}).rc, 0);
}

// In the driver the slot dangles; here it empties and the hardware stops.
TEST_P(Notifications, FreeingTheHandleEmptiesTheSlot) {
  machine_t m(GetParam());
  uint64_t block = is_v2(GetParam()) ? 0x30535000 : 0x6001000;
  answer_t q = init(m, {.size = 8192});
  EXPECT_EQ(mem_free(m, q.handle), 0);
  expect_hw(m, block, 0, 0, 0);
  EXPECT_EQ(info(m, q.handle).rc, 22);
  EXPECT_EQ(mem_free(m, q.handle), -EINVAL);
  answer_t again = init(m, {.size = 4096});
  EXPECT_EQ(again.rc, 0);
  expect_hw(m, block, 0, again.mmap_offset, 4096);
}

TEST_P(Notifications, LifeOfTheDevice) {
  machine_t m(GetParam());
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  answer_t q = init_as(m.host, PID + 1, other, {.size = 4096});
  ASSERT_EQ(q.rc, 0);
  ASSERT_EQ(mock_close(m.host, PID + 1, other), 0);
  EXPECT_EQ(info(m, q.handle).rc, 0);
  EXPECT_EQ(init(m, {}).handle, q.handle);
  // Any process may write to it.
  void *va = nullptr;
  ASSERT_EQ(mock_mmap(m.host, PID, m.fd, q.mmap_offset, 4096, PROT_READ | PROT_WRITE, &va), 0);
  static_cast<uint8_t *>(va)[0] = 0x5a;
  uint8_t byte = 0;
  EXPECT_EQ(buf_copy(m, q.handle, &byte, 0, 1, false), 0);
  EXPECT_EQ(byte, 0x5a);
}

TEST_P(Notifications, AnswerThatCannotBeStored) {
  machine_t m(GetParam());
  bad_range_t range;
  auto *a = reinterpret_cast<neuron_ioctl_notifications_init_v2 *>(range.base);
  *a = {};
  a->size = 4096;
  ASSERT_EQ(mprotect(range.base, range.good, PROT_READ), 0);
  EXPECT_EQ(m.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V2, a), 48);
  EXPECT_EQ(init(m, {.type = 0, .host = 0}).handle, 1u);  // the queue is there all the same
}

TEST_P(Notifications, Registers) {
  machine_t m(GetParam());
  bool v2 = is_v2(GetParam());
  mock_device_t *device = mock_host_device(m.host, 0);
  uint64_t block = v2 ? 0x30535000 : 0x6001000;
  uint32_t value;
  for (uint64_t at : {0x100, 0x104, 0x108, 0x10c}) {
    EXPECT_TRUE(mock_notification_register_write(m.host, device, block + 0x28 * 15 + at, 7 + at));
    EXPECT_EQ(reg(m, block + 0x28 * 15 + at), 7 + at);
  }
  for (uint64_t at : {0x0, 0xfc, 0x114, 0x124, 0x100 + 0x28 * 16}) {
    EXPECT_FALSE(mock_notification_register_read(m.host, device, block + at, &value));
    EXPECT_FALSE(mock_notification_register_write(m.host, device, block + at, 1));
  }
  // A new queue starts at its first record.
  EXPECT_TRUE(mock_notification_register_write(m.host, device, block + 0x10c, 55));
  ASSERT_EQ(init(m, {}).rc, 0);
  EXPECT_EQ(reg(m, block + 0x10c), 0u);
}
