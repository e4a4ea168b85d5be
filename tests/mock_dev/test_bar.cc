// SPDX-License-Identifier: Apache-2.0
// BAR_READ, BAR_WRITE and the registers behind them (mock-device-semantics.md 2.3, 6.2, 9).
#include "tests/mock_dev/dma_fixture.h"

namespace {

uint64_t bar0_base(machine_t &m) {
  neuron_ioctl_device_info a = {};
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_INFO, &a), 0);
  return a.bar_address[0];
}

long bar_rw(machine_t &m, uint32_t request, uint32_t bar, std::vector<uint64_t> offsets,
            std::vector<uint32_t> *data) {
  uint64_t base = bar0_base(m);
  for (uint64_t &o : offsets)
    o += base;
  neuron_ioctl_bar_rw a = {};
  a.bar = bar;
  a.address = offsets.data();
  a.data = data->data();
  a.count = static_cast<uint32_t>(offsets.size());
  return m.io(request, &a);
}

long bar_write(machine_t &m, uint64_t offset, uint32_t value) {
  std::vector<uint32_t> data = {value};
  return bar_rw(m, NEURON_IOCTL_BAR_WRITE, 0, {offset}, &data);
}

uint32_t bar_read(machine_t &m, uint64_t offset) {
  std::vector<uint32_t> data = {0xeeeeeeee};
  EXPECT_EQ(bar_rw(m, NEURON_IOCTL_BAR_READ, 0, {offset}, &data), 0);
  return data[0];
}

// Register blocks of an engine at BAR0, from the table of 2.3.
struct engine_t {
  const char *instance;
  uint32_t engine;
  uint64_t block;
};
const engine_t ENGINES[] = {
    {"trn2.3xlarge", 0, 0x82000000},
    {"trn2.3xlarge", 33, 0x94100000},
    {"trn2.3xlarge", 127, 0xb4000000 + 31 * 0x100000},
    {"trn2.3xlarge", 130, 0x46800000},
    {"trn1.2xlarge", 7, 0x30000000 + 7 * 0x40000},
    {"trn1.2xlarge", 20, 0x30700000 + 4 * 0x40000},
    {"inf2.xlarge", 32, 0x30600000},
};

}  // namespace

// The firmware's registers, through the window of the host.
TEST(BarMiscRam, ReachesTheFirmware) {
  for (const char *name : {"trn1.2xlarge", "trn2.3xlarge"}) {
    machine_t m(name);
    uint64_t base = strcmp(name, "trn1.2xlarge") == 0 ? 0x30fa0000 : 0x6c84000;
    EXPECT_NE(bar_read(m, base), 0u);                  // API version
    EXPECT_EQ(bar_read(m, base + 0x54), 0xdeadbeefu);  // power
    uint32_t metric = 0x31415926;
    neuron_ioctl_post_metric post = {&metric, 4};
    ASSERT_EQ(m.io(NEURON_IOCTL_POST_METRIC, &post), 0);
    EXPECT_EQ(bar_read(m, base + 0x100), metric);
    EXPECT_EQ(bar_read(m, base + 0x800), 2u);
    // A reset asked for by hand.
    neuron_ioctl_semaphore s = {1, 0, 9};
    ASSERT_EQ(m.io(NEURON_IOCTL_SEMAPHORE_WRITE, &s), 0);
    EXPECT_EQ(bar_write(m, base + 0x1d8, 2), 0);
    EXPECT_EQ(bar_write(m, base + 0x1ec, 1), 0);
    EXPECT_EQ(bar_read(m, base + 0x1ec), 0u);
    ASSERT_EQ(m.io(NEURON_IOCTL_SEMAPHORE_READ, &s), 0);
    EXPECT_EQ(s.value, 0u);
  }
}

TEST(BarRead, ChecksInOrder) {
  machine_t m;
  std::vector<uint32_t> data(101);
  std::vector<uint64_t> good(100, 0xd0000000);
  EXPECT_EQ(bar_rw(m, NEURON_IOCTL_BAR_READ, 0, good, &data), 0);
  for (uint32_t bar : {1u, 2u, 3u, 4u, 255u})
    EXPECT_EQ(bar_rw(m, NEURON_IOCTL_BAR_READ, bar, good, &data), -EINVAL) << bar;
  EXPECT_EQ(bar_rw(m, NEURON_IOCTL_BAR_READ, 256, good, &data), 0);  // 8 bits count
  good.push_back(0xd0000000);
  EXPECT_EQ(bar_rw(m, NEURON_IOCTL_BAR_READ, 0, good, &data), -EINVAL);  // 101
  EXPECT_EQ(bar_rw(m, NEURON_IOCTL_BAR_READ, 0, {}, &data), 0);
  for (uint64_t outside : {0x100000000ull, 0x100000004ull, ~0ull - 3, 0xd0000002ull})
    EXPECT_EQ(bar_rw(m, NEURON_IOCTL_BAR_READ, 0, {0xd0000000, outside}, &data), -EINVAL);

  bad_range_t range;
  uint64_t address[4] = {};
  for (uint64_t &a : address)
    a = bar0_base(m) + 0xd0000000;
  neuron_ioctl_bar_rw a = {};
  a.count = 4;
  a.address = address;
  a.data = reinterpret_cast<uint32_t *>(range.tail(12));
  EXPECT_EQ(m.io(NEURON_IOCTL_BAR_READ, &a), 4);
  memcpy(range.tail(24), address, 24);
  a.address = reinterpret_cast<uint64_t *>(range.tail(24));
  a.data = data.data();
  EXPECT_EQ(m.io(NEURON_IOCTL_BAR_READ, &a), 8);
  a.count = 101;  // before the arrays are looked at
  EXPECT_EQ(m.io(NEURON_IOCTL_BAR_READ, &a), -EINVAL);
}

TEST(BarWrite, ChecksInOrder) {
  machine_t m;
  std::vector<uint32_t> data = {1, 2, 3, 4};
  const std::vector<uint64_t> good(4, 0xd0000000);
  neuron_ioctl_bar_rw none = {};
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, m.fd, NEURON_IOCTL_BAR_WRITE, &none), -EACCES);
  EXPECT_EQ(m.io(NEURON_IOCTL_BAR_WRITE, &none), 0);
  for (uint32_t bar : {1u, 2u, 4u})
    EXPECT_EQ(bar_rw(m, NEURON_IOCTL_BAR_WRITE, bar, good, &data), -EINVAL) << bar;
  EXPECT_EQ(bar_write(m, 0x100000000, 1), 0);  // equal to the size passes
  EXPECT_EQ(bar_write(m, 0x100000004, 1), -EINVAL);
  EXPECT_EQ(bar_write(m, ~0ull - 3, 1), -EINVAL);
  EXPECT_EQ(bar_write(m, 0xd0000001, 1), -EINVAL);
  // Earlier writes stay.
  EXPECT_EQ(
      bar_rw(m, NEURON_IOCTL_BAR_WRITE, 0, {0xd0000000, 0xd0000004, 0x82001038, 0xd0000008}, &data),
      -EINVAL);
  EXPECT_EQ(bar_read(m, 0xd0000000), 1u);
  EXPECT_EQ(bar_read(m, 0xd0000004), 2u);
  EXPECT_EQ(bar_read(m, 0xd0000008), 0u);
  // Arrays that end in nothing.
  bad_range_t range;
  neuron_ioctl_bar_rw a = {};
  a.count = 2;
  a.address = reinterpret_cast<uint64_t *>(range.tail(8));
  a.data = data.data();
  EXPECT_EQ(m.io(NEURON_IOCTL_BAR_WRITE, &a), 8);
}

TEST(BarWrite, ManyRegistersAtOnce) {
  machine_t m;
  std::vector<uint64_t> offsets;
  std::vector<uint32_t> data;
  for (uint32_t i = 0; i < 3000; ++i) {
    offsets.push_back(0xd0000000 + i * 4);
    data.push_back(i * 77 + 1);
  }
  ASSERT_EQ(bar_rw(m, NEURON_IOCTL_BAR_WRITE, 0, offsets, &data), 0);
  for (uint32_t i : {0u, 511u, 512u, 1023u, 1024u, 2999u})
    EXPECT_EQ(bar_read(m, 0xd0000000 + i * 4), i * 77 + 1);
}

TEST(BarWrite, BlockedOffsets) {
  for (const engine_t &e : ENGINES) {
    machine_t m(e.instance);
    for (uint64_t side : {0x0u, 0x20000u}) {
      for (uint64_t q : {0u, 1u, 15u}) {
        uint64_t queue = e.block + side + 0x1000 + q * 0x1000;
        for (uint64_t reg = 0; reg < 0x100; reg += 4) {
          bool blocked = reg == 0x28 || reg == 0x2c || reg == 0x44 || reg == 0x48 || reg == 0x38;
          EXPECT_EQ(bar_write(m, queue + reg, 0), blocked ? -EINVAL : 0) << std::hex << reg;
        }
      }
      // The same offsets outside the queues are free.
      EXPECT_EQ(bar_write(m, e.block + side + 0x38, 0), 0);
      EXPECT_EQ(bar_write(m, e.block + side + 0x11038, 0), 0);
    }
  }
  machine_t v3, v2("trn1.2xlarge");
  for (uint64_t reg = 0; reg < 0x1000; reg += 4) {
    bool blocked = (reg >= 0x1f0 && reg <= 0x1fc) || reg == 0x800;
    EXPECT_EQ(bar_write(v3, 0x6c84000 + reg, 0), blocked ? -EINVAL : 0) << std::hex << reg;
    EXPECT_EQ(bar_write(v2, 0x30fa0000 + reg, 0), blocked ? -EINVAL : 0) << std::hex << reg;
  }
}

TEST(Bar0, FreshEngineRegisters) {
  for (const engine_t &e : ENGINES) {
    machine_t m(e.instance);
    for (uint64_t side : {0x0u, 0x20000u}) {
      uint64_t queue = e.block + side + 0x1000 + 15 * 0x1000;
      EXPECT_EQ(bar_read(m, queue + 0x20), 0x03000000u);
      EXPECT_EQ(bar_read(m, queue + 0x34), 0x40000000u);  // ring id 1
      EXPECT_EQ(bar_read(m, queue + 0x3c), 0x40000000u);
      EXPECT_EQ(bar_read(m, queue + 0x38), 0u);
      EXPECT_EQ(bar_read(m, queue + 0x30), 0u);
      EXPECT_EQ(bar_read(m, e.block + side + 0x200), 0x1111u);
    }
  }
}

TEST(Bar0, QueueRegistersAreLive) {
  for (const engine_t &e : ENGINES) {
    machine_t m(e.instance);
    queue_t q(m, e.engine, 5, 32);
    chunk_t src = alloc(m, {}), dst = alloc(m, {});
    std::vector<desc_t> t(20, tx_desc(src.pa, 16)), r(20, rx_desc(dst.pa, 16));
    ASSERT_EQ(q.run(t, r), 0);
    ASSERT_EQ(q.run(t, r), 0);  // past the wrap
    uint64_t tx = e.block + 0x1000 + 5 * 0x1000, rx = tx + 0x20000;
    EXPECT_EQ(bar_read(m, tx + 0x20), 0x03030000u);
    EXPECT_EQ(bar_read(m, tx + 0x28), static_cast<uint32_t>(q.tx.pa));
    EXPECT_EQ(bar_read(m, tx + 0x2c), static_cast<uint32_t>(q.tx.pa >> 32));
    EXPECT_EQ(bar_read(m, rx + 0x28), static_cast<uint32_t>(q.rx.pa));
    EXPECT_EQ(bar_read(m, tx + 0x30), 32u);
    for (uint64_t ring : {tx, rx}) {
      EXPECT_EQ(bar_read(m, ring + 0x34), 0x80000008u);  // second lap, index 8
      EXPECT_EQ(bar_read(m, ring + 0x3c), 0x80000008u);
      EXPECT_EQ(bar_read(m, ring + 0x40), 0x80000008u);
      EXPECT_EQ(bar_read(m, ring + 0x4c), 8u);
    }
    // Read-only ones stay.
    for (uint64_t reg : {0x24u, 0x34u, 0x3cu, 0x40u, 0x4cu}) {
      uint32_t before = bar_read(m, tx + reg);
      ASSERT_EQ(bar_write(m, tx + reg, 0x12345678), 0);
      EXPECT_EQ(bar_read(m, tx + reg), before);
    }
    // Others keep what is written.
    ASSERT_EQ(bar_write(m, tx + 0x74, 0xfffffffb), 0);
    EXPECT_EQ(bar_read(m, tx + 0x74), 0xfffffffbu);
    // The reset bit: pointers back to the start, ring id 1, the rest stays. Each side has its own.
    ASSERT_EQ(bar_write(m, tx + 0xb0, 0x100), 0);
    EXPECT_EQ(bar_read(m, tx + 0x34), 0x40000000u);
    EXPECT_EQ(bar_read(m, tx + 0x3c), 0x40000000u);
    EXPECT_EQ(bar_read(m, tx + 0x4c), 0u);
    EXPECT_EQ(bar_read(m, tx + 0x30), 32u);
    EXPECT_EQ(bar_read(m, tx + 0x28), static_cast<uint32_t>(q.tx.pa));
    EXPECT_EQ(bar_read(m, rx + 0x34), 0x80000008u);
    ASSERT_EQ(bar_write(m, rx + 0x64, 0x100), 0);
    EXPECT_EQ(bar_read(m, rx + 0x34), 0x40000000u);
    // Re-armed, the queue runs from the ring's start again.
    q.tx_next = q.rx_next = 0;
    auto data = dma_pattern(16);
    ASSERT_EQ(buf_copy(m, src.handle, data.data(), 0, 16, true), 0);
    ASSERT_EQ(q.run({tx_desc(src.pa, 16)}, {rx_desc(dst.pa + 64, 16)}), 0);
    EXPECT_EQ(dma_read(m, dst.handle, 64, 16), data);
  }
}

TEST(Bar0, EngineStates) {
  for (const engine_t &e : ENGINES) {
    machine_t m(e.instance);
    for (uint64_t side : {0x0u, 0x20000u}) {
      auto state = [&] {
        neuron_dma_eng_state s = engine_state(m, e.engine);
        return side == 0 ? s.tx_state : s.rx_state;
      };
      EXPECT_EQ(state(), STATE_NORMAL);
      ASSERT_EQ(bar_write(m, e.block + side + 0x204, 2), 0);
      EXPECT_EQ(bar_read(m, e.block + side + 0x200), 0u);
      EXPECT_EQ(state(), STATE_IDLE);
      ASSERT_EQ(bar_write(m, e.block + side + 0x204, 4), 0);
      EXPECT_EQ(bar_read(m, e.block + side + 0x200), 0x2222u);
      EXPECT_EQ(state(), STATE_ABORT);
      ASSERT_EQ(bar_write(m, e.block + side + 0x204, 0), 0);
      ASSERT_EQ(bar_write(m, e.block + side + 0x200, 0), 0);  // read only
      EXPECT_EQ(state(), STATE_ABORT);
      ASSERT_EQ(bar_write(m, e.block + side + 0x204, 1), 0);
      EXPECT_EQ(state(), STATE_NORMAL);
    }
  }
}

// A queue that is switched off keeps its doorbells; switching it on runs them.
TEST(Bar0, ConfigEnablesTheQueue) {
  machine_t m;
  queue_t q(m, 0, 0);
  chunk_t src = alloc(m, {}), dst = alloc(m, {});
  auto data = dma_pattern(64);
  ASSERT_EQ(buf_copy(m, src.handle, data.data(), 0, 64, true), 0);
  ASSERT_EQ(bar_write(m, 0x82001020, 0x03000000), 0);
  EXPECT_EQ(queue_states(m, 0, 0).tx.sw_status, 1u);
  ASSERT_EQ(q.run({tx_desc(src.pa, 64)}, {rx_desc(dst.pa, 64)}), 0);
  EXPECT_EQ(dma_read(m, dst.handle, 0, 64), std::vector<uint8_t>(64));
  ASSERT_EQ(bar_write(m, 0x82001020, 0x03030000), 0);
  EXPECT_EQ(dma_read(m, dst.handle, 0, 64), data);
}

TEST(Bar0, SemaphoresAndEvents) {
  struct {
    const char *instance;
    uint64_t block;  // of core 1
  } rows[] = {{"trn2.3xlarge", 0xd4000000 + 0x2700000}, {"trn1.2xlarge", 0x4000000 + 0x2700000}};
  for (auto row : rows) {
    machine_t m(row.instance);
    ASSERT_EQ(bar_write(m, row.block + 0x1400 + 4 * 9, 40), 0);
    ASSERT_EQ(bar_write(m, row.block + 0x1800 + 4 * 9, 5), 0);
    ASSERT_EQ(bar_write(m, row.block + 0x1c00 + 4 * 9, 3), 0);
    EXPECT_EQ(bar_read(m, row.block + 0x1000 + 4 * 9), 42u);
    neuron_ioctl_semaphore s = {1, 9, 0};
    ASSERT_EQ(m.io(NEURON_IOCTL_SEMAPHORE_READ, &s), 0);
    EXPECT_EQ(s.value, 42u);
    ASSERT_EQ(bar_write(m, row.block + 4 * 3, 1), 0);
    neuron_ioctl_event e = {1, 3, 0};
    ASSERT_EQ(m.io(NEURON_IOCTL_EVENT_GET, &e), 0);
    EXPECT_EQ(e.value, 1u);
  }
}

// BAR0 and DMA see the same SBUF.
TEST(Bar0, CoreMemory) {
  machine_t m;
  queue_t q(m, 0, 0);
  chunk_t dst = alloc(m, {});
  ASSERT_EQ(bar_write(m, 0xd0000000 + 3 * 0x4000000 + 0x40010, 0x11223344), 0);
  ASSERT_EQ(q.run({tx_desc(0x7000040010, 4)}, {rx_desc(dst.pa, 4)}), 0);
  EXPECT_EQ(dma_read(m, dst.handle, 0, 4), (std::vector<uint8_t>{0x44, 0x33, 0x22, 0x11}));
}

TEST(Bar0, NotificationRegisters) {
  machine_t m;
  neuron_ioctl_notifications_init_v2 a = {};
  a.nq_type = 1;
  a.engine_index = 2;
  a.size = 4096;
  ASSERT_EQ(m.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &a), 0);
  uint64_t q = 0x6001000 + 2 * 0x28;
  EXPECT_EQ(bar_read(m, q + 0x108), 4096u);
  EXPECT_NE(bar_read(m, q + 0x100), 0u);
  // The head is the host's to move; by DMA, too.
  ASSERT_EQ(bar_write(m, q + 0x10c, 64), 0);
  queue_t queue(m, 0, 0);
  chunk_t dst = alloc(m, {});
  ASSERT_EQ(queue.run({tx_desc(0x8000000000 + q + 0x10c, 4)}, {rx_desc(dst.pa, 4)}), 0);
  EXPECT_EQ(dma_read(m, dst.handle, 0, 4), (std::vector<uint8_t>{64, 0, 0, 0}));
}

// Where nothing is, reads give 0 and writes vanish.
TEST(Bar0, Holes) {
  machine_t m;
  for (uint64_t hole : {0x100ull, 0x82040000ull, 0xc0000000ull, 0xf4800000ull, 0xfffffffcull}) {
    EXPECT_EQ(bar_write(m, hole, 0xffffffff), 0);
    EXPECT_EQ(bar_read(m, hole), 0u);
  }
}
