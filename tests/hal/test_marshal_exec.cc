// SPDX-License-Identifier: Apache-2.0
// The requests of execution, reset and registers, byte for byte, against layouts written out from
// the sheet (uapi.md 6.2 to 6.5), and what is refused before a request.
#include <gtest/gtest.h>

#include "hal/dma.h"
#include "hal/notification.h"
#include "hal/program.h"
#include "hal/regs.h"
#include "hal/reset.h"
#include "hal/scrub.h"
#include "hal/sync.h"
#include "hal/window.h"
#include "tests/hal/marshal_fixture.h"

namespace {

// Values as the sheet prints them.
constexpr uint32_t DEVICE_INFO = 0x80084E03, BAR_READ = 0x80084E0B, BAR_WRITE = 0x40084E0C,
                   DMA_ENG_SET_STATE = 0x80084E1F, DMA_ENG_GET_STATE = 0xC0084E20,
                   DMA_QUEUE_INIT = 0x80084E21, DMA_QUEUE_RELEASE = 0x80084E22,
                   DMA_QUEUE_COPY_START = 0x80084E23, DMA_ACK_COMPLETED = 0x80084E24,
                   DMA_QUEUE_GET_STATE = 0xC0084E25, DMA_COPY_DESCRIPTORS = 0x80084E26,
                   DMA_COPY_DESCRIPTORS64 = 0x80284E26, DMA_DESCRIPTOR_COPYOUT = 0xC0084E27,
                   SEMAPHORE_INCREMENT = 0x80084E29, SEMAPHORE_DECREMENT = 0x80084E2A,
                   SEMAPHORE_READ = 0xC0084E2B, SEMAPHORE_WRITE = 0x80084E2C,
                   EVENT_SET = 0x80084E2D, EVENT_GET = 0xC0084E2E, NQ_INIT_REALLOC = 0x80084E36,
                   READ_HW_COUNTERS = 0x80084E3D, NC_RESET = 0x80084E67,
                   NC_RESET_READY = 0x80084E68, PROGRAM_ENGINE_NC = 0xC0084E69,
                   PROGRAM_ENGINE_NC64 = 0xC0284E69, DMABUF_FD = 0x80084E6B,
                   MC_GET_INFO = 0xC0184E6F, MC_GET_INFO_V2 = 0xC0204E6F,
                   HBM_SCRUB_START = 0xC0104E76, HBM_SCRUB_WAIT = 0xC0084E77,
                   MEM_BUF_ZEROCOPY64 = 0xC0284E7C, DMA_QUEUE_INIT_BATCH = 0xB0084E85;

class MarshalExec : public marshal_test {
 protected:
  void SetUp() override {
    extra = {{DEVICE_INFO, 80},
             {BAR_READ, 32},
             {BAR_WRITE, 32},
             {DMA_ENG_SET_STATE, 8},
             {DMA_ENG_GET_STATE, 16},
             {DMA_QUEUE_INIT, 48},
             {DMA_QUEUE_RELEASE, 8},
             {DMA_QUEUE_COPY_START, 16},
             {DMA_ACK_COMPLETED, 12},
             {DMA_QUEUE_GET_STATE, 24},
             {DMA_COPY_DESCRIPTORS, 32},
             {DMA_COPY_DESCRIPTORS64, 40},
             {DMA_DESCRIPTOR_COPYOUT, 32},
             {SEMAPHORE_INCREMENT, 12},
             {SEMAPHORE_DECREMENT, 12},
             {SEMAPHORE_READ, 12},
             {SEMAPHORE_WRITE, 12},
             {EVENT_SET, 12},
             {EVENT_GET, 12},
             {NQ_INIT_REALLOC, 56},
             {READ_HW_COUNTERS, 24},
             {NC_RESET, 8},
             {NC_RESET_READY, 8},
             {PROGRAM_ENGINE_NC, 32},
             {PROGRAM_ENGINE_NC64, 40},
             {DMABUF_FD, 24},
             {MC_GET_INFO, 24},
             {MC_GET_INFO_V2, 32},
             {HBM_SCRUB_START, 16},
             {HBM_SCRUB_WAIT, 8},
             {MEM_BUF_ZEROCOPY64, 40},
             {DMA_QUEUE_INIT_BATCH, 12296}};
  }
  // The driver writes `value` at byte `offset` of the argument.
  template <typename T>
  void answer(uint32_t request, size_t offset, T value) {
    auto before = r.responses[request];
    r.responses[request] = [=](void *arg) {
      if (before)
        before(arg);
      memcpy(static_cast<char *>(arg) + offset, &value, sizeof(value));
      return 0L;
    };
  }
  // The pointer at byte `offset` of the argument; what it leads to becomes `value`.
  template <typename T>
  void answer_at(uint32_t request, size_t offset, T value) {
    auto before = r.responses[request];
    r.responses[request] = [=](void *arg) {
      if (before)
        before(arg);
      void *to;
      memcpy(&to, static_cast<char *>(arg) + offset, sizeof(to));
      memcpy(to, &value, sizeof(value));
      return 0L;
    };
  }
};

}  // namespace

TEST_F(MarshalExec, Semaphores) {
  open(3, kAll);
  answer(SEMAPHORE_READ, 8, uint32_t{0xfffffffe});
  uint32_t value = 1;
  EXPECT_EQ(hal_semaphore_read(device, 7, 255, &value), 0);
  EXPECT_EQ(value, 0xfffffffeu);
  expect_one(SEMAPHORE_READ, bytes().u32(7).u32(255).u32(0));
  EXPECT_EQ(hal_semaphore_write(device, 1, 2, 3), 0);
  expect_one(SEMAPHORE_WRITE, bytes().u32(1).u32(2).u32(3));
  EXPECT_EQ(hal_semaphore_increment(device, 4, 5, 6), 0);
  expect_one(SEMAPHORE_INCREMENT, bytes().u32(4).u32(5).u32(6));
  EXPECT_EQ(hal_semaphore_decrement(device, 6, 5, 4), 0);
  expect_one(SEMAPHORE_DECREMENT, bytes().u32(6).u32(5).u32(4));
  answer(EVENT_GET, 8, uint32_t{1});
  EXPECT_EQ(hal_event_get(device, 0, 9, &value), 0);
  EXPECT_EQ(value, 1u);
  expect_one(EVENT_GET, bytes().u32(0).u32(9).u32(0));
  EXPECT_EQ(hal_event_set(device, 3, 10, 1), 0);
  expect_one(EVENT_SET, bytes().u32(3).u32(10).u32(1));

  // Refused here: the driver would wrap the index, and does not check an event's core.
  EXPECT_EQ(hal_semaphore_read(device, 0, 0x10000, &value), -EINVAL);
  EXPECT_EQ(hal_event_set(device, 0, 0x10000, 1), -EINVAL);
  EXPECT_EQ(hal_event_get(device, 8, 0, &value), -E2BIG);
  EXPECT_TRUE(r.ioctls.empty());
  r.responses[SEMAPHORE_READ] = [](void *) { return static_cast<long>(-E2BIG); };
  value = 77;
  EXPECT_EQ(hal_semaphore_read(device, 8, 0, &value), -E2BIG);
  EXPECT_EQ(value, 77u);
}

TEST_F(MarshalExec, Notifications) {
  open(3, kAll);
  answer(NQ_INIT_REALLOC, 40, uint64_t{0x400012345000});
  answer(NQ_INIT_REALLOC, 48, uint64_t{88});
  hal_notification_request_t q = {HAL_NOTIFICATION_TOP_SP, 13, 3,   9, 65536,
                                  HAL_LOCATION_HOST,       2,  true};
  uint64_t handle = 0, cookie = 0;
  EXPECT_EQ(hal_notification_init(device, &q, &handle, &cookie), 0);
  EXPECT_EQ(handle, 88u);
  EXPECT_EQ(cookie, 0x400012345000u);
  bytes realloc_form;
  realloc_form.u32(13).u32(1).u32(3).u32(9).u32(65536).u32(1).u32(2).u32(0).u32(1).u32(0).zeros(16);
  expect_one(NQ_INIT_REALLOC, realloc_form);
  q = {HAL_NOTIFICATION_CORE, 7, 5, 15, 4096, HAL_LOCATION_DEVICE, 3, false};
  EXPECT_EQ(hal_notification_init(device, &q, &handle, &cookie), 0);
  bytes device_form;
  device_form.u32(7).u32(0).u32(5).u32(15).u32(4096).u32(0).u32(3).u32(0).u32(0).u32(0).zeros(16);
  expect_one(NQ_INIT_REALLOC, device_form);
  for (auto change : {+[](hal_notification_request_t *x) { x->type = 6; },
                      +[](hal_notification_request_t *x) { x->queue = 16; },
                      +[](hal_notification_request_t *x) { x->owner_id = 256; },
                      +[](hal_notification_request_t *x) { x->size = 0; }}) {
    hal_notification_request_t bad = q;
    change(&bad);
    EXPECT_EQ(hal_notification_init(device, &bad, &handle, &cookie), -EINVAL);
  }
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(MarshalExec, DmaEngines) {
  open(3, kAll);
  EXPECT_EQ(hal_dma_engine_set_state(device, 131, 3), 0);
  expect_one(DMA_ENG_SET_STATE, bytes().u32(131).u32(3));
  struct {
    uint32_t revision = 4, max = 16, num = 15, tx = 2, rx = 3;
  } state;
  answer_at(DMA_ENG_GET_STATE, 8, state);
  hal_dma_engine_state_t got = {};
  EXPECT_EQ(hal_dma_engine_get_state(device, 5, &got), 0);
  EXPECT_EQ(got.revision, 4u);
  EXPECT_EQ(got.max_queues, 16u);
  EXPECT_EQ(got.num_queues, 15u);
  EXPECT_EQ(got.tx_state, 2u);
  EXPECT_EQ(got.rx_state, 3u);
  ASSERT_EQ(r.ioctls.size(), 1u);
  EXPECT_EQ(r.ioctls[0].arg.size(), 16u);
  EXPECT_EQ(r.ioctls[0].arg[0], 5);
  r.ioctls.clear();
  EXPECT_EQ(hal_dma_engine_set_state(device, 132, 2), -EINVAL);
  EXPECT_EQ(hal_dma_engine_get_state(device, 132, &got), -EINVAL);
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(MarshalExec, EnginesOfTheChip) {
  open(2, kAll);
  EXPECT_EQ(hal_dma_engine_set_state(device, 33, 2), 0);
  EXPECT_EQ(hal_dma_engine_set_state(device, 34, 2), -EINVAL);
  EXPECT_EQ(r.ioctls.size(), 1u);
}

TEST_F(MarshalExec, DmaQueues) {
  open(3, kAll);
  hal_dma_queue_t q = {20, 14, 64, 128, 0x1111, 0x2222};
  EXPECT_EQ(hal_dma_queue_init(device, &q), 0);
  bytes one;
  one.u32(20).u32(14).u32(64).u32(128).u64(0x1111).u64(0x2222).u64(0).u32(0).zeros(4);
  expect_one(DMA_QUEUE_INIT, one);
  EXPECT_EQ(hal_dma_queue_release(device, 20, 14), 0);
  expect_one(DMA_QUEUE_RELEASE, bytes().u32(20).u32(14));
  EXPECT_EQ(hal_dma_queue_copy_start(device, 20, 14, 3, 4), 0);
  expect_one(DMA_QUEUE_COPY_START, bytes().u32(20).u32(14).u32(3).u32(4));
  EXPECT_EQ(hal_dma_queue_ack(device, 20, 14, 4), 0);
  expect_one(DMA_ACK_COMPLETED, bytes().u32(20).u32(14).u32(4));

  struct {
    uint32_t hw = 1, sw = 2;
    uint64_t base = 0x123456789a00;
    uint32_t length = 64, head = 5, tail = 7, pad = 0;
    uint64_t completion = 0xabc00;
    uint32_t completion_head = 9, pad2 = 0;
  } tx, rx;
  static_assert(sizeof(tx) == 48);
  rx.base = 0x8000;
  rx.tail = 8;
  answer_at(DMA_QUEUE_GET_STATE, 8, tx);
  answer_at(DMA_QUEUE_GET_STATE, 16, rx);
  hal_dma_queue_state_t got_tx = {}, got_rx = {};
  EXPECT_EQ(hal_dma_queue_get_state(device, 20, 14, &got_tx, &got_rx), 0);
  EXPECT_EQ(got_tx.hw_status, 1u);
  EXPECT_EQ(got_tx.sw_status, 2u);
  EXPECT_EQ(got_tx.base, 0x123456789a00u);
  EXPECT_EQ(got_tx.length, 64u);
  EXPECT_EQ(got_tx.head, 5u);
  EXPECT_EQ(got_tx.tail, 7u);
  EXPECT_EQ(got_tx.completion_base, 0xabc00u);
  EXPECT_EQ(got_tx.completion_head, 9u);
  EXPECT_EQ(got_rx.base, 0x8000u);
  EXPECT_EQ(got_rx.tail, 8u);
  r.ioctls.clear();

  q.queue = 16;
  EXPECT_EQ(hal_dma_queue_init(device, &q), -EINVAL);
  q = {132, 0, 64, 64, 1, 1};
  EXPECT_EQ(hal_dma_queue_init(device, &q), -EINVAL);
  EXPECT_EQ(hal_dma_queue_copy_start(device, 0, 0, 1, 0), -EINVAL);
  EXPECT_EQ(hal_dma_queue_copy_start(device, 0, 16, 1, 1), -EINVAL);
  EXPECT_EQ(hal_dma_queue_ack(device, 132, 0, 1), -EINVAL);
  EXPECT_EQ(hal_dma_queue_get_state(device, 0, 16, &got_tx, &got_rx), -EINVAL);
  EXPECT_TRUE(r.ioctls.empty());
}

// 300 queues: one batch of 255, one of 45; entries one after the other from byte 8 on.
TEST_F(MarshalExec, DmaQueueBatches) {
  open(3, kAll);
  std::vector<hal_dma_queue_t> queues;
  for (uint32_t i = 0; i < 300; ++i)
    queues.push_back({i / 16, i % 16, 32 + 16 * i, 64, 1000 + i, 2000 + i});
  EXPECT_EQ(hal_dma_queues_init(device, queues.data(), 300), 0);
  ASSERT_EQ(r.ioctls.size(), 2u);
  uint32_t at = 0;
  for (const auto &[call, count] : {std::pair(0, 255u), std::pair(1, 45u)}) {
    EXPECT_EQ(r.ioctls[call].request, DMA_QUEUE_INIT_BATCH);
    bytes expected;
    expected.u32(count).u32(0);
    for (uint32_t i = 0; i < count; ++i, ++at)
      expected.u32(at / 16)
          .u32(at % 16)
          .u32(32 + 16 * at)
          .u32(64)
          .u64(1000 + at)
          .u64(2000 + at)
          .u64(0)
          .u32(0)
          .u32(0);
    expected.zeros(12296 - expected.data.size());
    EXPECT_EQ(r.ioctls[call].arg, expected.data);
  }
  r.ioctls.clear();
  queues[299].queue = 16;  // a bad one anywhere: nothing is asked
  EXPECT_EQ(hal_dma_queues_init(device, queues.data(), 300), -EINVAL);
  EXPECT_EQ(hal_dma_queues_init(device, nullptr, 0), 0);
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(MarshalExec, DmaQueuesWithoutBatches) {
  open(3, kAll & ~HAL_FEATURE_BATCH_DMAQ_INIT);
  const hal_dma_queue_t queues[] = {
      {1, 2, 32, 48, 5, 6}, {3, 4, 64, 80, 7, 8}, {5, 6, 32, 32, 9, 1}};
  int calls = 0;
  r.responses[DMA_QUEUE_INIT] = [&](void *) { return ++calls == 3 ? -EPERM : 0L; };
  EXPECT_EQ(hal_dma_queues_init(device, queues, 3), -EPERM);
  ASSERT_EQ(r.ioctls.size(), 3u);
  bytes second;
  second.u32(3).u32(4).u32(64).u32(80).u64(7).u64(8).u64(0).u32(0).zeros(4);
  EXPECT_EQ(r.ioctls[1].arg, second.data);
}

TEST_F(MarshalExec, Descriptors) {
  open(3, kAll);
  uint8_t descriptors[64] = {};
  EXPECT_EQ(hal_dma_descriptors_copyin(device, 9, 0x100000010, descriptors, 4, HAL_DMA_RING_RX), 0);
  expect_one(DMA_COPY_DESCRIPTORS64,
             bytes().u64(9).ptr(descriptors).u32(4).u32(0).u64(0x100000010).u32(1).zeros(4));
  EXPECT_EQ(hal_dma_descriptors_copyout(device, 3, 2, HAL_DMA_RING_TX, 5, 4, descriptors), 0);
  expect_one(DMA_DESCRIPTOR_COPYOUT,
             bytes().u32(3).u32(2).u32(0).u32(5).u32(4).u32(0).ptr(descriptors));
  EXPECT_EQ(hal_dma_descriptors_copyout(device, 132, 2, HAL_DMA_RING_TX, 5, 4, descriptors),
            -EINVAL);
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(MarshalExec, DescriptorsInNarrowForm) {
  open(2, kNo64);
  uint8_t descriptors[32] = {};
  EXPECT_EQ(hal_dma_descriptors_copyin(device, 9, 0x10, descriptors, 2, HAL_DMA_RING_TX), 0);
  expect_one(DMA_COPY_DESCRIPTORS,
             bytes().u64(9).ptr(descriptors).u32(2).u32(0x10).u32(0).zeros(4));
  EXPECT_EQ(hal_dma_descriptors_copyin(device, 9, 0x100000000, descriptors, 2, HAL_DMA_RING_TX),
            -EOPNOTSUPP);
  EXPECT_TRUE(r.ioctls.empty());
}

// 250 registers: pieces of 100, 100 and 50, each address the base of the BAR plus its offset.
TEST_F(MarshalExec, Registers) {
  open(3, kAll);
  answer(DEVICE_INFO, 48, uint64_t{0xffffc90000000000});
  answer(DEVICE_INFO, 64, uint64_t{0x1000});
  std::vector<uint64_t> seen;
  r.responses[BAR_READ] = [&](void *arg) {
    uint64_t *addresses;
    uint32_t *data, bar, count;
    memcpy(&bar, arg, 4);
    memcpy(&addresses, static_cast<char *>(arg) + 8, 8);
    memcpy(&data, static_cast<char *>(arg) + 16, 8);
    memcpy(&count, static_cast<char *>(arg) + 24, 4);
    EXPECT_EQ(bar, 0u);
    for (uint32_t i = 0; i < count; ++i) {
      seen.push_back(addresses[i]);
      data[i] = static_cast<uint32_t>(addresses[i]) + 1;
    }
    return 0L;
  };
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < 250; ++i)
    offsets.push_back(4 * i);
  std::vector<uint32_t> values(250);
  EXPECT_EQ(hal_registers_read(device, offsets.data(), values.data(), 250), 0);
  EXPECT_EQ(r.of(BAR_READ).size(), 3u);
  ASSERT_EQ(seen.size(), 250u);
  for (uint32_t i = 0; i < 250; ++i) {
    EXPECT_EQ(seen[i], 0xffffc90000000000 + 4 * i);
    EXPECT_EQ(values[i], 4 * i + 1);
  }
  EXPECT_EQ(hal_registers_write(device, offsets.data(), values.data(), 1), 0);
  auto writes = r.of(BAR_WRITE);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(r.of(DEVICE_INFO).size(), 1u);  // the device is asked once
  EXPECT_EQ(writes[0].arg.size(), 32u);
  uint32_t *data;
  memcpy(&data, writes[0].arg.data() + 16, 8);
  EXPECT_EQ(data, values.data());
  EXPECT_EQ(writes[0].arg[24], 1);

  r.ioctls.clear();
  offsets[249] = 0xffd;  // the last register of the BAR is at 0xffc
  EXPECT_EQ(hal_registers_read(device, offsets.data(), values.data(), 250), -EINVAL);
  EXPECT_TRUE(r.of(BAR_READ).empty());

  uint64_t addresses[2] = {1, 2};
  EXPECT_EQ(hal_hw_counters_read(device, addresses, values.data(), 2), 0);
  auto reads = r.of(READ_HW_COUNTERS);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].arg, bytes().ptr(addresses).ptr(values.data()).u32(2).zeros(4).data);
}

TEST_F(MarshalExec, Resets) {
  open(3, kAll);
  answer(NC_RESET, 4, uint32_t{4711});
  uint32_t id = 0;
  EXPECT_EQ(hal_cores_reset_start(device, 0x30, &id), 0);
  EXPECT_EQ(id, 4711u);
  expect_one(NC_RESET, bytes().u32(0x30).u32(0));
  for (auto [answered, expected] : {std::pair(0, 0), std::pair(1, -EIO), std::pair(-4, -EINTR)}) {
    answer(NC_RESET_READY, 4, int32_t{answered});
    EXPECT_EQ(hal_cores_reset_wait(device, 4711), expected);
    expect_one(NC_RESET_READY, bytes().u32(4711).u32(0));
  }
  answer(NC_RESET_READY, 4, int32_t{0});
  EXPECT_EQ(hal_cores_reset(device, 0x3), 0);
  ASSERT_EQ(r.ioctls.size(), 2u);
  EXPECT_EQ(r.ioctls[0].arg, bytes().u32(0x3).u32(0).data);
  EXPECT_EQ(r.ioctls[1].arg, bytes().u32(4711).u32(0).data);

  // One of this process is still to be waited for: the driver answers +1.
  r.ioctls.clear();
  int calls = 0;
  r.responses[NC_RESET] = [&](void *arg) {
    uint32_t answered = 12;
    memcpy(static_cast<char *>(arg) + 4, &answered, 4);
    return ++calls == 1 ? 1L : 0L;
  };
  EXPECT_EQ(hal_cores_reset(device, 0x1), 0);
  ASSERT_EQ(r.ioctls.size(), 4u);
  EXPECT_EQ(r.ioctls[1].request, NC_RESET_READY);
  EXPECT_EQ(r.ioctls[1].arg, bytes().u32(static_cast<uint32_t>(getpid())).u32(0).data);
  EXPECT_EQ(r.ioctls[2].request, NC_RESET);
  EXPECT_EQ(r.ioctls[3].arg, bytes().u32(12).u32(0).data);
}

TEST_F(MarshalExec, Scrub) {
  open(3, kAll);
  EXPECT_EQ(hal_hbm_scrub_start(device, 5, 2, 0xdeadbeef), 0);
  expect_one(HBM_SCRUB_START, bytes().u32(5).u32(2).u32(0).u32(0xdeadbeef));
  EXPECT_EQ(hal_hbm_scrub_wait(device, 5, 2), 0);
  expect_one(HBM_SCRUB_WAIT, bytes().u32(5).u32(2));
}

TEST_F(MarshalExec, WindowsAndExport) {
  open(3, kAll);
  answer(req::RESOURCE_MMAP_INFO, 16, uint64_t{0x2002700000});
  answer(req::RESOURCE_MMAP_INFO, 24, uint64_t{0x2000});
  uint64_t cookie = 0, size = 0;
  EXPECT_EQ(hal_window_info(device, 0, 1, 2, &cookie, &size), 0);
  EXPECT_EQ(cookie, 0x2002700000u);
  EXPECT_EQ(size, 0x2000u);
  expect_one(req::RESOURCE_MMAP_INFO, bytes().u32(0).u32(1).u32(2).u32(0).zeros(16));

  answer(MC_GET_INFO_V2, 8, uint64_t{0x1200000});
  answer(MC_GET_INFO_V2, 16, uint64_t{0x100000});
  answer(MC_GET_INFO_V2, 24, uint64_t{3});
  hal_chunk_place_t place = {};
  EXPECT_EQ(hal_mem_find(device, 0x1200010, &place), 0);
  EXPECT_EQ(place.pa, 0x1200000u);
  EXPECT_EQ(place.size, 0x100000u);
  EXPECT_EQ(place.handle, 3u);
  expect_one(MC_GET_INFO_V2, bytes().u64(0x1200010).zeros(24));
  // An older driver knows the short form only.
  r.responses[MC_GET_INFO_V2] = [](void *) { return static_cast<long>(-EINVAL); };
  answer(MC_GET_INFO, 8, uint64_t{0x1300000});
  answer(MC_GET_INFO, 16, uint64_t{0x2000});
  EXPECT_EQ(hal_mem_find(device, 0x1300010, &place), 0);
  EXPECT_EQ(place.pa, 0x1300000u);
  EXPECT_EQ(place.handle, 0u);
  ASSERT_EQ(r.ioctls.size(), 2u);
  EXPECT_EQ(r.ioctls[1].arg, bytes().u64(0x1300010).zeros(16).data);
  r.ioctls.clear();

  answer_at(DMABUF_FD, 16, int32_t{33});
  int fd = -1;
  EXPECT_EQ(hal_dmabuf_export(device, reinterpret_cast<void *>(0x7000), 0x3000, &fd), 0);
  EXPECT_EQ(fd, 33);
  ASSERT_EQ(r.ioctls.size(), 1u);
  bytes head;
  head.u64(0x7000).u64(0x3000);
  EXPECT_EQ(std::vector<uint8_t>(r.ioctls[0].arg.begin(), r.ioctls[0].arg.begin() + 16), head.data);
}

TEST_F(MarshalExec, FeaturesThatAreMissing) {
  open(3, kAll & ~(HAL_FEATURE_DMABUF | HAL_FEATURE_HBM_SCRUB));
  int fd = -1;
  EXPECT_EQ(hal_dmabuf_export(device, nullptr, 1, &fd), -EOPNOTSUPP);
  EXPECT_EQ(hal_hbm_scrub_start(device, 0, 0, 0), -EOPNOTSUPP);
  EXPECT_EQ(hal_hbm_scrub_wait(device, 0, 0), -EOPNOTSUPP);
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(MarshalExec, ProgramAndZeroCopy) {
  open(3, kAll);
  char buffer[8] = {};
  EXPECT_EQ(hal_program_engine(device, 3, 0x2000001000, buffer, 8), 0);
  expect_one(PROGRAM_ENGINE_NC64,
             bytes().u32(3).u32(0).u64(0x2000001000).ptr(buffer).u64(8).u64(0));
  EXPECT_EQ(hal_program_engine(device, 3, 0x2000001000, buffer, 0), -EINVAL);
  EXPECT_EQ(hal_mem_buf_zerocopy(device, 12, buffer, 0x100, 8, true), 0);
  expect_one(MEM_BUF_ZEROCOPY64, bytes().u64(12).ptr(buffer).u64(8).u64(0x100).u32(1).zeros(4));
  EXPECT_EQ(hal_mem_buf_zerocopy(device, 12, buffer, 0x100, 8, false), 0);
  expect_one(MEM_BUF_ZEROCOPY64, bytes().u64(12).ptr(buffer).u64(8).u64(0x100).u32(0).zeros(4));
  EXPECT_EQ(hal_mem_buf_zerocopy(device, 12, buffer, ~uint64_t{0}, 8, false), -EINVAL);
  EXPECT_EQ(hal_mem_buf_zerocopy(device, 12, buffer, 0, 0, false), -EINVAL);
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(MarshalExec, ProgramInNarrowForm) {
  open(2, kNo64);
  char buffer[8] = {};
  EXPECT_EQ(hal_program_engine(device, 1, 0xfffc0000010, buffer, 8), 0);
  expect_one(PROGRAM_ENGINE_NC, bytes().u32(1).u32(0).u64(0xfffc0000010).ptr(buffer).u32(8).u32(0));
  EXPECT_EQ(hal_program_engine(device, 1, 0, buffer, uint64_t{1} << 32), -EOPNOTSUPP);
  EXPECT_TRUE(r.ioctls.empty());
}
