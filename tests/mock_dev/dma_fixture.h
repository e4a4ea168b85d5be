// SPDX-License-Identifier: Apache-2.0
// A DMA queue with rings in memory, used as a runtime would use it. Descriptor bits are written out
// here from mock-device-semantics.md 6.1, apart from the headers of the mock.
#pragma once

#include <algorithm>
#include <numeric>

#include "tests/mock_dev/mock_fixture.h"

struct desc_t {
  uint32_t len_ctrl;
  uint32_t word1;
  uint64_t address;
};
static_assert(sizeof(desc_t) == 16);

constexpr uint32_t FIRST = 1u << 26, LAST = 1u << 27, COPY = 0x01080003;

inline desc_t tx_desc(uint64_t address, uint32_t length, uint32_t flags = FIRST | LAST,
                      uint32_t ring_id = 1) {
  return {(length & 0xffff) | ring_id << 24 | flags, COPY, address};
}

inline desc_t rx_desc(uint64_t address, uint32_t length, uint32_t ring_id = 1) {
  return {(length & 0xffff) | ring_id << 24, 0, address};
}

inline std::vector<uint8_t> dma_pattern(size_t size, uint8_t seed = 1) {
  std::vector<uint8_t> v(size);
  for (size_t i = 0; i < size; ++i)
    v[i] = static_cast<uint8_t>(seed + i * 7 + i / 251);
  return v;
}

inline std::vector<uint8_t> dma_read(machine_t &m, uint64_t handle, uint64_t offset, size_t size) {
  std::vector<uint8_t> v(size, 0xee);
  EXPECT_EQ(buf_copy(m, handle, v.data(), offset, size, false), 0);
  return v;
}

inline long queue_init(machine_t &m, uint32_t engine, uint32_t queue, uint64_t tx,
                       uint32_t tx_count, uint64_t rx, uint32_t rx_count, uint64_t rxc = 0) {
  neuron_ioctl_dma_queue_init a = {};
  a.eng_id = engine;
  a.qid = queue;
  a.tx_handle = tx;
  a.tx_desc_count = tx_count;
  a.rx_handle = rx;
  a.rx_desc_count = rx_count;
  a.rxc_handle = rxc;
  return m.io(NEURON_IOCTL_DMA_QUEUE_INIT, &a);
}

inline long copy_start(machine_t &m, uint32_t engine, uint32_t queue, uint32_t tx, uint32_t rx) {
  neuron_ioctl_dma_queue_copy_start a = {engine, queue, tx, rx};
  return m.io(NEURON_IOCTL_DMA_QUEUE_COPY_START, &a);
}

inline long copy_descs(machine_t &m, uint64_t handle, uint64_t offset,
                       const std::vector<desc_t> &descs, uint32_t type) {
  neuron_ioctl_dma_copy_descriptors64 a = {};
  a.mem_handle = handle;
  a.buffer = const_cast<desc_t *>(descs.data());
  a.num_descs = static_cast<uint32_t>(descs.size());
  a.offset = offset;
  a.queue_type = type;
  return m.io(NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, &a);
}

inline neuron_dma_eng_state engine_state(machine_t &m, uint32_t engine) {
  neuron_dma_eng_state s = {};
  neuron_ioctl_dma_eng_get_state a = {engine, &s};
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_ENG_GET_STATE, &a), 0);
  return s;
}

inline long set_engine(machine_t &m, uint32_t engine, uint32_t state) {
  neuron_ioctl_dma_eng_set_state a = {engine, state};
  return m.io(NEURON_IOCTL_DMA_ENG_SET_STATE, &a);
}

constexpr uint32_t STATE_IDLE = 1, STATE_NORMAL = 2, STATE_ABORT = 3;

inline bool engine_runs(machine_t &m, uint32_t engine) {
  neuron_dma_eng_state s = engine_state(m, engine);
  return s.tx_state == STATE_NORMAL && s.rx_state == STATE_NORMAL;
}

inline bool engine_aborted(machine_t &m, uint32_t engine) {
  neuron_dma_eng_state s = engine_state(m, engine);
  return s.tx_state == STATE_ABORT && s.rx_state == STATE_ABORT;
}

struct ring_states_t {
  neuron_dma_queue_state tx, rx;
};

inline ring_states_t queue_states(machine_t &m, uint32_t engine, uint32_t queue) {
  ring_states_t s = {};
  neuron_ioctl_dma_queue_get_state a = {engine, queue, &s.tx, &s.rx};
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_GET_STATE, &a), 0);
  return s;
}

// One queue and its rings. Descriptors are put where the tail is and given the lap's ring id.
struct queue_t {
  machine_t *m;
  uint32_t engine, queue, length;
  chunk_t tx, rx;
  uint32_t tx_next = 0, rx_next = 0;  // descriptors ever put

  queue_t(machine_t &machine, uint32_t e, uint32_t q, uint32_t count = 64, bool host_rings = false)
      : m(&machine), engine(e), queue(q), length(count) {
    tx = alloc(machine, {.size = count * 16ull, .host = host_rings});
    rx = alloc(machine, {.size = count * 16ull, .host = host_rings});
    EXPECT_EQ(init(), 0);
  }
  long init() {
    tx_next = rx_next = 0;
    return queue_init(*m, engine, queue, tx.handle, length, rx.handle, length);
  }
  void put(const chunk_t &ring, uint32_t *next, std::vector<desc_t> descs, uint32_t type) {
    for (desc_t d : descs) {
      uint32_t lap_id = (1 + *next / length) % 4;
      d.len_ctrl = (d.len_ctrl & ~(3u << 24)) | lap_id << 24;
      EXPECT_EQ(copy_descs(*m, ring.handle, *next % length * 16ull, {d}, type), 0);
      ++*next;
    }
  }
  void put_tx(const std::vector<desc_t> &d) { put(tx, &tx_next, d, 0); }
  void put_rx(const std::vector<desc_t> &d) { put(rx, &rx_next, d, 1); }
  long start(size_t tx_count, size_t rx_count) {
    return copy_start(*m, engine, queue, static_cast<uint32_t>(tx_count),
                      static_cast<uint32_t>(rx_count));
  }
  // Puts and starts.
  long run(const std::vector<desc_t> &t, const std::vector<desc_t> &r) {
    put_tx(t);
    put_rx(r);
    return start(t.size(), r.size());
  }
};

inline uint32_t semaphore_read(machine_t &m, uint32_t core, uint32_t index) {
  neuron_ioctl_semaphore a = {core, index, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_SEMAPHORE_READ, &a), 0);
  return a.value;
}

// Two buffers with known content.
struct buffers_t {
  chunk_t src, dst;
  std::vector<uint8_t> data;
  buffers_t(machine_t &m, uint64_t size, bool src_host = false, bool dst_host = false) {
    src = alloc(m, {.size = size, .host = src_host});
    dst = alloc(m, {.size = size, .host = dst_host});
    data = dma_pattern(size);
    EXPECT_EQ(buf_copy(m, src.handle, data.data(), 0, size, true), 0);
  }
};

inline std::vector<uint8_t> cut(const std::vector<uint8_t> &v, size_t at, size_t n) {
  return {v.begin() + static_cast<long>(at), v.begin() + static_cast<long>(at + n)};
}
