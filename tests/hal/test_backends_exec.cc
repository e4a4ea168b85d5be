// SPDX-License-Identifier: Apache-2.0
// What execution, resets and reports ask of a device, on both back ends. Expected values are those
// of mock-device-semantics.md 6 to 9 and 12.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "hal/dma.h"
#include "hal/exec.h"
#include "hal/notification.h"
#include "hal/program.h"
#include "hal/regs.h"
#include "hal/reset.h"
#include "hal/scrub.h"
#include "hal/sync.h"
#include "hal/window.h"
#include "tests/hal/backends_fixture.h"
#include "uapi/neuron_shared.h"

namespace {

class BackendsExec : public Backends {
 protected:
  // A chunk with its handle and address.
  struct chunk {
    uint64_t handle = 0, pa = 0;
  };
  chunk make(uint64_t size, uint32_t hbm = 0, uint32_t category = 9) {
    chunk c;
    EXPECT_EQ(alloc(size, 0, hbm, category, &c.handle, &c.pa), 0);
    return c;
  }
  std::vector<uint8_t> read(const chunk &c, uint64_t offset, size_t size) {
    std::vector<uint8_t> bytes(size);
    EXPECT_EQ(hal_mem_buf_copy(device, c.handle, bytes.data(), offset, size, false), 0);
    return bytes;
  }
  void write(const chunk &c, uint64_t offset, std::vector<uint8_t> bytes) {
    EXPECT_EQ(hal_mem_buf_copy(device, c.handle, bytes.data(), offset, bytes.size(), true), 0);
  }
};

std::vector<uint8_t> pattern(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<uint8_t>(i * 31 + (i >> 8) + 7);
  return bytes;
}

// Descriptors by mock-device-semantics.md 6.1: length, first and last of packet, ring id; control
// word; address.
struct descriptor {
  uint32_t head, control;
  uint64_t address;
};
static_assert(sizeof(descriptor) == 16);
descriptor tx(uint64_t address, uint32_t size, uint32_t ring_id) {
  return {(size & 0xffff) | ring_id << 24 | 3u << 26, 0x01080003, address};
}
descriptor rx(uint64_t address, uint32_t size, uint32_t ring_id) {
  return {(size & 0xffff) | ring_id << 24, 0, address};
}

}  // namespace

INSTANTIATE_BACKENDS(BackendsExec);

TEST_P(BackendsExec, SemaphoresAndEvents) {
  for (const auto &[instance, cores] : {std::pair("trn2.3xlarge", 8u), {"trn1.2xlarge", 2u}}) {
    SCOPED_TRACE(instance);
    open(instance);
    uint32_t value = 99;
    EXPECT_EQ(hal_semaphore_read(device, cores - 1, 255, &value), 0);
    EXPECT_EQ(value, 0u);
    EXPECT_EQ(hal_semaphore_write(device, cores - 1, 255, 1000), 0);
    EXPECT_EQ(hal_semaphore_increment(device, cores - 1, 255, 5), 0);
    EXPECT_EQ(hal_semaphore_decrement(device, cores - 1, 255, 2), 0);
    EXPECT_EQ(hal_semaphore_read(device, cores - 1, 255, &value), 0);
    EXPECT_EQ(value, 1003u);
    EXPECT_EQ(hal_semaphore_read(device, 0, 255, &value), 0);
    EXPECT_EQ(value, 0u) << "another core's";
    EXPECT_EQ(hal_semaphore_read(device, cores, 0, &value), -E2BIG);
    EXPECT_EQ(hal_semaphore_read(device, 0, 256, &value), -EINVAL);
    EXPECT_EQ(hal_event_set(device, 1, 7, 1), 0);
    EXPECT_EQ(hal_event_get(device, 1, 7, &value), 0);
    EXPECT_EQ(value, 1u);
    EXPECT_EQ(hal_event_get(device, 1, 256, &value), 0);  // the driver lets it through
    EXPECT_EQ(hal_event_get(device, 1, 257, &value), -EINVAL);
    EXPECT_EQ(hal_event_set(device, cores, 0, 1), -E2BIG);
    close();
  }
}

TEST_P(BackendsExec, NotificationQueues) {
  open("trn2.3xlarge");
  hal_notification_request_t q = {
      HAL_NOTIFICATION_CORE, 3, NEURON_NQ_TYPE_TRACE, 2, 16384, HAL_LOCATION_HOST, 0, false};
  uint64_t handle = 0, cookie = 0, pa = 0;
  ASSERT_EQ(hal_notification_init(device, &q, &handle, &cookie), 0);
  EXPECT_NE(cookie & hal_arch(hal)->host_window_bit, 0u);
  EXPECT_EQ(hal_mem_get_pa(device, handle, &pa), 0);
  EXPECT_EQ(pa, cookie);
  void *va = nullptr;
  ASSERT_EQ(hal_mem_map(device, cookie, 16384, PROT_READ | PROT_WRITE, &va), 0);
  static_cast<char *>(va)[5] = 1;
  EXPECT_EQ(hal_mem_unmap(device, va, 16384), 0);
  // The same slot again is the same queue, whatever size and place are asked for.
  uint64_t again = 0, again_cookie = 0;
  hal_notification_request_t other = q;
  other.size = 4096;
  other.location = HAL_LOCATION_DEVICE;
  EXPECT_EQ(hal_notification_init(device, &other, &again, &again_cookie), 0);
  EXPECT_EQ(again, handle);
  EXPECT_EQ(again_cookie, cookie);
  // A fresh one takes the other's place.
  other.fresh = true;
  EXPECT_EQ(hal_notification_init(device, &other, &again, &again_cookie), 0);
  EXPECT_EQ(again_cookie, ~uint64_t{0});
  EXPECT_EQ(hal_mem_get_pa(device, again, &pa), 0);
  EXPECT_EQ(pa & hal_arch(hal)->host_window_bit, 0u);
  // TOP_SPs: 16 on this chip.
  q.owner = HAL_NOTIFICATION_TOP_SP;
  q.owner_id = 15;
  EXPECT_EQ(hal_notification_init(device, &q, &handle, &cookie), 0);
  q.owner_id = 16;
  EXPECT_EQ(hal_notification_init(device, &q, &handle, &cookie), -EINVAL);
  q.owner_id = 3;
  q.size = 5000;
  EXPECT_EQ(hal_notification_init(device, &q, &handle, &cookie), -EINVAL);
}

// Descriptors written, submitted, moved and read back; indexes tell where the queue is.
TEST_P(BackendsExec, DmaTransfer) {
  for (uint64_t hidden : {uint64_t{0}, uint64_t{NEURON_FEATURE_BATCH_DMAQ_INIT},
                          uint64_t{NEURON_FEATURE_MEM_ALLOC64}}) {
    SCOPED_TRACE(hidden);
    mock_dev_options_t options = {};
    options.instance = "trn1.2xlarge";
    options.hidden_features = hidden;
    open(options);
    chunk tx_ring = make(4096, 0, 18), rx_ring = make(4096, 0, 18);
    chunk from = make(65536), to = make(65536);
    std::vector<uint8_t> data = pattern(65536);
    write(from, 0, data);
    const hal_dma_queue_t queues[] = {{7, 3, 64, 48, tx_ring.handle, rx_ring.handle},
                                      {7, 4, 32, 32, 0, 0}};
    ASSERT_EQ(hal_dma_queues_init(device, queues, 2), 0);
    const descriptor out[] = {tx(from.pa + 100, 5000, 1), tx(from.pa + 20000, 300, 1)};
    const descriptor in[] = {rx(to.pa + 7, 5000, 1), rx(to.pa + 30000, 300, 1)};
    ASSERT_EQ(hal_dma_descriptors_copyin(device, tx_ring.handle, 0, out, 2, HAL_DMA_RING_TX), 0);
    ASSERT_EQ(hal_dma_descriptors_copyin(device, rx_ring.handle, 0, in, 2, HAL_DMA_RING_RX), 0);
    descriptor back[2] = {};
    EXPECT_EQ(hal_dma_descriptors_copyout(device, 7, 3, HAL_DMA_RING_RX, 0, 2, back), 0);
    EXPECT_EQ(memcmp(back, in, sizeof(in)), 0);

    ASSERT_EQ(hal_dma_queue_copy_start(device, 7, 3, 2, 2), 0);
    hal_dma_queue_state_t t = {}, r = {};
    do
      ASSERT_EQ(hal_dma_queue_get_state(device, 7, 3, &t, &r), 0);
    while (r.completion_head != 2 && r.sw_status == NEURON_DMA_QUEUE_ENABLED);
    EXPECT_EQ(t.base, tx_ring.pa);
    EXPECT_EQ(t.length, 64u);
    EXPECT_EQ(t.tail, 2u);
    EXPECT_EQ(r.base, rx_ring.pa);
    EXPECT_EQ(r.length, 48u);
    EXPECT_EQ(r.sw_status, static_cast<uint32_t>(NEURON_DMA_QUEUE_ENABLED));
    EXPECT_EQ(read(to, 7, 5000), std::vector<uint8_t>(data.begin() + 100, data.begin() + 5100));
    EXPECT_EQ(read(to, 30000, 300),
              std::vector<uint8_t>(data.begin() + 20000, data.begin() + 20300));
    EXPECT_EQ(hal_dma_queue_ack(device, 7, 3, 2), 0);
    EXPECT_EQ(hal_dma_queue_release(device, 7, 3), 0);

    // A host address of nobody's is refused, and so is a submission longer than the ring.
    const descriptor stray = tx(hal_arch(hal)->host_window_bit | 0xfffff000, 16, 1);
    EXPECT_EQ(hal_dma_descriptors_copyin(device, tx_ring.handle, 0, &stray, 1, HAL_DMA_RING_TX),
              -EINVAL);
    EXPECT_EQ(hal_dma_queue_copy_start(device, 7, 3, 2, 49), -EPERM);
    close();
  }
}

TEST_P(BackendsExec, DmaEngineState) {
  open("trn2.3xlarge");
  hal_dma_engine_state_t state = {};
  ASSERT_EQ(hal_dma_engine_get_state(device, 131, &state), 0);
  EXPECT_EQ(state.revision, 4u);
  EXPECT_EQ(state.max_queues, 16u);
  EXPECT_EQ(state.num_queues, 16u);
  EXPECT_EQ(hal_dma_engine_set_state(device, 131, NEURON_UDMA_ABORT), 0);
  EXPECT_EQ(hal_dma_engine_get_state(device, 131, &state), 0);
  EXPECT_EQ(state.tx_state, static_cast<uint32_t>(NEURON_UDMA_ABORT));
  EXPECT_EQ(state.rx_state, static_cast<uint32_t>(NEURON_UDMA_ABORT));
  EXPECT_EQ(hal_dma_engine_set_state(device, 131, NEURON_UDMA_NORMAL), 0);
  EXPECT_EQ(hal_dma_engine_get_state(device, 131, &state), 0);
  EXPECT_EQ(state.tx_state, static_cast<uint32_t>(NEURON_UDMA_NORMAL));
  // A batch stops at its first bad entry; those before it stay.
  chunk ring = make(4096, 0, 18);
  const hal_dma_queue_t queues[] = {{5, 0, 32, 32, ring.handle, ring.handle},
                                    {5, 1, 40, 32, ring.handle, ring.handle}};
  EXPECT_EQ(hal_dma_queues_init(device, queues, 2), -EPERM);  // 40 is no multiple of 16
  hal_dma_queue_state_t t = {}, r = {};
  EXPECT_EQ(hal_dma_queue_get_state(device, 5, 0, &t, &r), 0);
  EXPECT_EQ(t.base, ring.pa);
}

// A semaphore seen as a register; doorbells stay shut.
TEST_P(BackendsExec, Registers) {
  open("trn1.2xlarge");
  const uint64_t core1 = 0x4000000 + 0x2700000;  // BAR0 offset of core 1's events
  EXPECT_EQ(hal_semaphore_write(device, 1, 3, 41), 0);
  uint64_t offsets[] = {core1 + 0x1800 + 12, core1 + 0x1000 + 12};
  uint32_t values[] = {1, 0};
  EXPECT_EQ(hal_registers_write(device, offsets, values, 1), 0);  // increment by 1
  EXPECT_EQ(hal_registers_read(device, offsets, values, 2), 0);
  EXPECT_EQ(values[1], 42u);
  uint32_t read = 0;
  EXPECT_EQ(hal_semaphore_read(device, 1, 3, &read), 0);
  EXPECT_EQ(read, 42u);
  // Tail increment of TX queue 0 of engine 0.
  uint64_t doorbell = 0x30000000 + 0x1000 + 0x38;
  EXPECT_EQ(hal_registers_write(device, &doorbell, values, 1), -EINVAL);
  uint64_t outside = ~uint64_t{3};
  EXPECT_EQ(hal_registers_read(device, &outside, values, 1), -EINVAL);
  std::vector<uint64_t> many(350, core1 + 0x1000 + 12);
  std::vector<uint32_t> got(350);
  EXPECT_EQ(hal_registers_read(device, many.data(), got.data(), 350), 0);
  EXPECT_EQ(got, std::vector<uint32_t>(350, 42));
}

// All of a core's, and no other core's.
TEST_P(BackendsExec, ClearsSemaphoresAndEvents) {
  open("trn2.3xlarge");
  for (uint32_t nc : {2u, 3u}) {
    for (uint32_t index : {0u, 100u, 255u}) {
      EXPECT_EQ(hal_semaphore_write(device, nc, index, 7), 0);
      EXPECT_EQ(hal_event_set(device, nc, index, 1), 0);
    }
  }
  EXPECT_EQ(hal_core_sync_clear(device, 2), 0);
  for (uint32_t nc : {2u, 3u}) {
    for (uint32_t index : {0u, 100u, 255u}) {
      uint32_t semaphore = 99, event = 99;
      EXPECT_EQ(hal_semaphore_read(device, nc, index, &semaphore), 0);
      EXPECT_EQ(hal_event_get(device, nc, index, &event), 0);
      EXPECT_EQ(semaphore, nc == 2 ? 0u : 7u);
      EXPECT_EQ(event, nc == 2 ? 0u : 1u);
    }
  }
  EXPECT_EQ(hal_core_sync_clear(device, 8), -E2BIG);
}

// Registers of the sequencers and of the notification block; what only the mock knows.
TEST_P(BackendsExec, Engines) {
  open("trn2.3xlarge");
  // Core 5: 64 MiB windows from 0xd0000000, events at 0x2700000, engines 0x8000 further on, 0x40
  // each; 0x10: the tables' address.
  uint64_t offset = hal_engine_register(device, 5, 1, 0x10);
  EXPECT_EQ(offset, 0xd0000000 + 5 * 0x4000000ull + 0x2700000 + 0x8000 + 0x40 + 0x10);
  uint32_t value = 0x12345678, read = 0;
  EXPECT_EQ(hal_registers_write(device, &offset, &value, 1), 0);
  EXPECT_EQ(hal_registers_read(device, &offset, &read, 1), 0);
  EXPECT_EQ(read, value);
  EXPECT_EQ(hal_engine_register(device, 8, 0, 0), ~uint64_t{0});
  EXPECT_EQ(hal_engine_register(device, 0, 5, 0), ~uint64_t{0});
  EXPECT_EQ(hal_notification_head_register(device, 8, 0), ~uint64_t{0});
  // Head of queue 4: 0x28 per queue, heads at 0x10c.
  EXPECT_EQ(
      hal_notification_head_register(device, 0, 4) - hal_notification_head_register(device, 0, 0),
      4 * 0x28u);
  EXPECT_EQ(
      hal_notification_head_register(device, 0, 0) - hal_notification_cause_register(device, 0),
      0x10cu - 0x1cu);
  uint32_t first = 9, count = 9;
  hal_core_dma_engines(device, 5, &first, &count);
  EXPECT_EQ(first, 80u);
  EXPECT_EQ(count, 16u);
  EXPECT_EQ(hal_core_dma_reset(device, 5), 0);
  EXPECT_EQ(hal_core_dma_reset(device, 8), -E2BIG);
  hal_core_state_t state = HAL_CORE_STALLED;
  EXPECT_EQ(hal_core_wait(device, 5, 1000, &state), 0);
  EXPECT_EQ(state, GetParam() == OWN ? HAL_CORE_IDLE : HAL_CORE_BUSY);
  EXPECT_EQ(hal_core_wait(device, 8, 1000, &state), -E2BIG);
  EXPECT_EQ(hal_core_progress(device, 5), 0u);
  EXPECT_FALSE(hal_exec_checks(device));
  char text[8] = "junk";
  hal_core_report(device, 8, text, sizeof(text));
  EXPECT_STREQ(text, "");
  hal_name_t name = {};
  name.address = 0x1000;
  name.size = 64;
  name.name = "here";
  EXPECT_EQ(hal_exec_names(device, 5, &name, 1), 0);
  EXPECT_EQ(hal_exec_names(device, 5, nullptr, 0), 0);
  EXPECT_EQ(hal_exec_names(device, 8, nullptr, 0), -E2BIG);
}

TEST_P(BackendsExec, WindowsAndPlaces) {
  open("trn2.3xlarge");
  uint64_t cookie = 0, size = 0;
  ASSERT_EQ(
      hal_window_info(device, NEURON_MMAP_BLOCK_TPB, 1, NEURON_MMAP_RESOURCE_SBUF, &cookie, &size),
      0);
  EXPECT_EQ(cookie, 0x2004000000u);
  EXPECT_EQ(size, 0x2000000u);
  EXPECT_EQ(
      hal_window_info(device, NEURON_MMAP_BLOCK_TPB, 8, NEURON_MMAP_RESOURCE_SBUF, &cookie, &size),
      -EINVAL);
  // Programmed through the device address, seen through the window.
  uint8_t bytes[32];
  memset(bytes, 0x6b, sizeof(bytes));
  EXPECT_EQ(hal_program_engine(device, 1, hal_arch(hal)->tpb_base[1] + 0x40, bytes, 32), 0);
  ASSERT_EQ(
      hal_window_info(device, NEURON_MMAP_BLOCK_TPB, 1, NEURON_MMAP_RESOURCE_SBUF, &cookie, &size),
      0);
  void *va = nullptr;
  ASSERT_EQ(hal_mem_map(device, cookie, size, PROT_READ | PROT_WRITE, &va), 0);
  EXPECT_EQ(memcmp(static_cast<char *>(va) + 0x40, bytes, 32), 0);
  EXPECT_EQ(hal_mem_unmap(device, va, size), 0);
  EXPECT_EQ(hal_program_engine(device, 1, 0x123456789abcdef0, bytes, 32), -ENOMEM);

  chunk c = make(1 << 20, 2);
  hal_chunk_place_t place = {};
  EXPECT_EQ(hal_mem_find(device, c.pa + 0x1234, &place), 0);
  EXPECT_EQ(place.pa, c.pa);
  EXPECT_EQ(place.size, uint64_t{1} << 20);
  EXPECT_EQ(place.handle, c.handle);
  EXPECT_EQ(hal_mem_find(device, c.pa + (1 << 20), &place), -ENOMEM);
}

TEST_P(BackendsExec, ZeroCopy) {
  open("trn2.3xlarge");
  chunk c = make(3 << 20);
  std::vector<uint8_t> sent = pattern((2 << 20) + 77), got(sent.size());
  EXPECT_EQ(hal_mem_buf_zerocopy(device, c.handle, sent.data(), 4097, sent.size(), true), 0);
  EXPECT_EQ(hal_mem_buf_zerocopy(device, c.handle, got.data(), 4097, got.size(), false), 0);
  EXPECT_EQ(sent, got);
  EXPECT_EQ(read(c, 4096, 1)[0], 0);
  EXPECT_EQ(hal_mem_buf_zerocopy(device, c.handle, sent.data(), 3 << 20, 1, true), -EINVAL);
  EXPECT_EQ(hal_mem_buf_zerocopy(device, 999, sent.data(), 0, 1, true), -EINVAL);
}

// Cores go back to a known state; memory stays.
TEST_P(BackendsExec, Resets) {
  open("trn2.3xlarge");
  chunk c = make(4096);
  write(c, 0, pattern(4096));
  for (uint32_t core : {2u, 3u})
    EXPECT_EQ(hal_semaphore_write(device, core, 9, 1), 0);
  uint32_t id = 0, other = 0;
  ASSERT_EQ(hal_cores_reset_start(device, 1u << 2, &id), 0);
  EXPECT_EQ(id, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(hal_cores_reset_start(device, 1u << 3, &other), -EBUSY);
  EXPECT_EQ(hal_cores_reset_wait(device, id), 0);
  EXPECT_EQ(hal_cores_reset_wait(device, id), -EIO);  // nobody asked any more
  uint32_t value = 9;
  EXPECT_EQ(hal_semaphore_read(device, 2, 9, &value), 0);
  EXPECT_EQ(value, 0u);
  EXPECT_EQ(hal_semaphore_read(device, 3, 9, &value), 0);
  EXPECT_EQ(value, 1u);
  EXPECT_EQ(read(c, 0, 4096), pattern(4096));
  // One that was not waited for is, first.
  ASSERT_EQ(hal_cores_reset_start(device, 1u << 2, &id), 0);
  EXPECT_EQ(hal_cores_reset(device, 1u << 3), 0);
  EXPECT_EQ(hal_semaphore_read(device, 3, 9, &value), 0);
  EXPECT_EQ(value, 0u);
}

TEST_P(BackendsExec, Scrub) {
  mock_dev_options_t options = {};
  options.instance = "trn1.2xlarge";
  options.hbm_size = uint64_t{2} << 30;
  open(options);
  chunk c = make(8192, 1), elsewhere = make(4096, 0);
  EXPECT_EQ(hal_hbm_scrub_wait(device, 1, 1), -EPERM);  // none was started
  EXPECT_EQ(hal_hbm_scrub_start(device, 1, 2, 0), -EPERM);
  ASSERT_EQ(hal_hbm_scrub_start(device, 1, 1, 0x04030201), 0);
  EXPECT_EQ(hal_hbm_scrub_wait(device, 1, 1), 0);
  EXPECT_EQ(read(c, 4090, 8), (std::vector<uint8_t>{3, 4, 1, 2, 3, 4, 1, 2}));
  EXPECT_EQ(read(elsewhere, 0, 4), (std::vector<uint8_t>(4, 0)));
}

TEST_P(BackendsExec, DmabufExport) {
  open("trn2.3xlarge");
  chunk c = make(8192);
  uint64_t cookie = 0, pa = 0;
  ASSERT_EQ(hal_mem_get_info(device, c.handle, &cookie, &pa), 0);
  void *va = nullptr;
  ASSERT_EQ(hal_mem_map(device, cookie, 8192, PROT_READ | PROT_WRITE, &va), 0);
  int fd = -1;
  ASSERT_EQ(hal_dmabuf_export(device, static_cast<char *>(va) + 4096, 4096, &fd), 0);
  EXPECT_GE(fd, 0);
  EXPECT_EQ(::close(fd), 0);
  fd = -7;
  int local = 0;
  EXPECT_EQ(hal_dmabuf_export(device, &local, 4, &fd), -EINVAL);
  EXPECT_EQ(fd, -7);
  EXPECT_EQ(hal_mem_unmap(device, va, 8192), 0);
}
