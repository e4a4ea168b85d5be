// SPDX-License-Identifier: Apache-2.0
// What stops a UDMA engine, how far the bytes got, and that nothing else stops
// (mock-device-semantics.md 6, dma-and-exec.md 6.4).
#include "tests/mock_dev/dma_fixture.h"

namespace {

constexpr uint64_t MIB = 1 << 20;

}  // namespace

// A descriptor of another lap stops the engines that look at it, and no others.
TEST(DmaFaults, RingIdMismatch) {
  struct {
    const char *instance;
    uint32_t engine;
    bool checked;
  } rows[] = {{"trn1.2xlarge", 0, true},
              {"trn1.2xlarge", 32, true},
              {"trn2.3xlarge", 127, false},
              {"trn2.3xlarge", 128, true}};
  for (auto row : rows) {
    for (bool tx : {true, false}) {
      machine_t m(row.instance);
      queue_t q(m, row.engine, 0);
      buffers_t b(m, 4096);
      copy_descs(m, q.tx.handle, 0, {tx_desc(b.src.pa, 64, FIRST | LAST, tx ? 2 : 1)}, 0);
      copy_descs(m, q.rx.handle, 0, {rx_desc(b.dst.pa, 64, tx ? 1 : 2)}, 1);
      ASSERT_EQ(q.start(1, 1), 0);
      EXPECT_EQ(engine_aborted(m, row.engine), row.checked);
      EXPECT_EQ(dma_read(m, b.dst.handle, 0, 64) == cut(b.data, 0, 64), !row.checked);
    }
  }
}

TEST(DmaFaults, RegistersTakeWholeWords) {
  constexpr uint64_t INCREMENT = 0x2000000000 + 0x802700000 + 0x1800;
  struct {
    uint64_t address;
    uint32_t length;
  } rows[] = {{INCREMENT, 3}, {INCREMENT + 2, 4}, {INCREMENT + 1, 1}, {INCREMENT, 6}};
  for (auto row : rows) {
    machine_t m;
    queue_t q(m, 0, 0);
    buffers_t b(m, 4096);
    ASSERT_EQ(q.run({tx_desc(b.src.pa, row.length)}, {rx_desc(row.address, row.length)}), 0);
    EXPECT_TRUE(engine_aborted(m, 0)) << row.length;
    EXPECT_EQ(semaphore_read(m, 0, 0), 0u);
  }
}

TEST(DmaFaults, MalformedPacketsStopTheEngine) {
  enum { TX0, TX1, RX0 };
  struct {
    const char *what;
    int desc;
    uint32_t set, clear, word1;
  } rows[] = {
      {"no FIRST", TX0, 0, FIRST, COPY},
      {"FIRST twice", TX1, FIRST, 0, COPY},
      {"length beyond 16 bits", TX0, 1u << 16, 0, COPY},
      {"reserved bit", TX1, 1u << 22, 0, COPY},
      {"meta descriptor", TX0, 1u << 23, 0, COPY},
      {"no data copied", TX0, 0, 0, COPY & ~0x00080000u},
      {"checksum operation", TX0, 0, 0, COPY | 1u << 20},
      {"compute operation", TX1, 0, 0, (COPY & ~0x03800000u) | 4u << 23},
      {"byte swap", TX0, 0, 0, COPY | 1u << 6},
      {"RX meta", RX0, 1u << 23, 0, 0},
      {"RX embedded semaphore", RX0, 1u << 31, 0, 0},
      {"RX length beyond 16 bits", RX0, 1u << 17, 0, 0},
  };
  for (auto row : rows) {
    machine_t m;
    queue_t q(m, 2, 0);
    buffers_t b(m, 4096);
    std::vector<desc_t> t = {tx_desc(b.src.pa, 64, FIRST), tx_desc(b.src.pa + 64, 64, LAST)};
    std::vector<desc_t> r = {rx_desc(b.dst.pa, 128)};
    desc_t &d = row.desc == RX0 ? r[0] : t[static_cast<size_t>(row.desc)];
    d.len_ctrl = (d.len_ctrl | row.set) & ~row.clear;
    d.word1 = row.word1;
    ASSERT_EQ(q.run(t, r), 0);
    EXPECT_TRUE(engine_aborted(m, 2)) << row.what;
    EXPECT_EQ(dma_read(m, b.dst.handle, 0, 128), std::vector<uint8_t>(128)) << row.what;
    EXPECT_EQ(queue_states(m, 2, 0).tx.head_pointer, 0u);
    EXPECT_EQ(queue_states(m, 2, 0).tx.sw_status, 3u);
    EXPECT_TRUE(engine_runs(m, 1));
    EXPECT_TRUE(engine_runs(m, 3));
  }
}

TEST(DmaFaults, PacketLimits) {
  for (uint32_t descs : {64u, 65u, 66u}) {
    machine_t m;
    queue_t q(m, 2, 0, 128);
    buffers_t b(m, 65536);
    std::vector<desc_t> t;
    for (uint32_t i = 0; i < descs; ++i)
      t.push_back(tx_desc(b.src.pa + i, 1, (i == 0 ? FIRST : 0) | (i + 1 == descs ? LAST : 0)));
    ASSERT_EQ(q.run(t, {rx_desc(b.dst.pa, descs)}), 0);
    EXPECT_EQ(engine_aborted(m, 2), descs == 66);
  }
  // 0xfffff bytes at most: 16 descriptors of 64 KiB are one too many.
  for (uint32_t shorter : {0u, 1u}) {
    machine_t m;
    queue_t q(m, 2, 0, 128);
    buffers_t b(m, MIB);
    std::vector<desc_t> t, r;
    for (uint32_t i = 0; i < 16; ++i) {
      uint32_t n = i == 15 ? 65536 - shorter : 65536;
      t.push_back(tx_desc(b.src.pa + i * 65536ull, n, (i == 0 ? FIRST : 0) | (i == 15 ? LAST : 0)));
      r.push_back(rx_desc(b.dst.pa + i * 65536ull, n));
    }
    ASSERT_EQ(q.run(t, r), 0);
    EXPECT_EQ(engine_aborted(m, 2), shorter == 0);
    if (shorter == 1) {
      EXPECT_EQ(dma_read(m, b.dst.handle, 0, MIB - 1), cut(b.data, 0, MIB - 1));
    }
  }
}

// What has a place before the bad address arrives, nothing after it.
TEST(DmaFaults, UnmappedAddressesStopTheEngine) {
  const uint64_t nowhere[] = {
      0x600000000,     // behind HBM 0
      0x5fffffff0,     // across its end
      0x3ffffffff8,    // just below HBM 1
      0x400000000000,  // host memory nobody allocated
      0x4000fffffff0,
      0x2000038000,      // between SBUF partitions
      0x2802400000,      // behind PSUM
      0x8700000000,      // no TOP_SP
      0x10000000000000,  // a neighbour this machine does not have
      0xffffffffffffffff,
  };
  for (uint64_t bad : nowhere) {
    for (bool source : {true, false}) {
      machine_t m;
      queue_t q(m, 4, 4);
      buffers_t b(m, 4096);
      std::vector<desc_t> t = {tx_desc(b.src.pa, 64, FIRST), tx_desc(b.src.pa + 64, 64, LAST),
                               tx_desc(b.src.pa, 32)};
      std::vector<desc_t> r = {rx_desc(b.dst.pa, 64), rx_desc(b.dst.pa + 64, 64),
                               rx_desc(b.dst.pa + 1024, 32)};
      (source ? t : r)[1].address = bad;
      // Past the driver's check of host addresses, as a mapping would.
      auto *tx = static_cast<uint8_t *>(mock_dram(m.host, 0, q.tx.pa, 4096));
      auto *rx = static_cast<uint8_t *>(mock_dram(m.host, 0, q.rx.pa, 4096));
      memcpy(tx, t.data(), 48);
      memcpy(rx, r.data(), 48);
      ASSERT_EQ(q.start(3, 3), 0);
      EXPECT_TRUE(engine_aborted(m, 4)) << std::hex << bad;
      EXPECT_EQ(dma_read(m, b.dst.handle, 0, 64), cut(b.data, 0, 64)) << std::hex << bad;
      EXPECT_EQ(dma_read(m, b.dst.handle, 64, 1024), std::vector<uint8_t>(1024));
      // Doorbells still count, and nothing runs until the queue is set up again.
      ASSERT_EQ(q.start(1, 1), 0);
      EXPECT_EQ(queue_states(m, 4, 4).tx.head_pointer, 0u);
      EXPECT_EQ(queue_states(m, 4, 4).tx.tail_pointer, 4u);
      ASSERT_EQ(q.init(), 0);
      ASSERT_EQ(set_engine(m, 4, STATE_NORMAL), 0);
      ASSERT_EQ(q.run({tx_desc(b.src.pa, 64)}, {rx_desc(b.dst.pa + 2048, 64)}), 0);
      EXPECT_TRUE(engine_runs(m, 4));
      EXPECT_EQ(dma_read(m, b.dst.handle, 2048, 64), cut(b.data, 0, 64));
    }
  }
}

TEST(DmaFaults, ShortPacketStopsTheEngine) {
  machine_t m;
  queue_t q(m, 4, 4);
  buffers_t b(m, 4096);
  ASSERT_EQ(q.run({tx_desc(b.src.pa, 60)}, {rx_desc(b.dst.pa, 64)}), 0);
  EXPECT_TRUE(engine_aborted(m, 4));
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 60), cut(b.data, 0, 60));
}

// Resetting the queue through its registers is enough to go on, once the engine is set to normal.
TEST(DmaFaults, QueueResetClearsTheFault) {
  machine_t m;
  queue_t q(m, 4, 4), writer(m, 0, 0);
  buffers_t b(m, 4096);
  ASSERT_EQ(q.run({tx_desc(b.src.pa, 60)}, {rx_desc(b.dst.pa, 64)}), 0);
  ASSERT_EQ(queue_states(m, 4, 4).tx.sw_status, 3u);
  chunk_t words = alloc(m, {});
  uint32_t reset = 0x100;
  ASSERT_EQ(buf_copy(m, words.handle, &reset, 0, 4, true), 0);
  uint64_t queue = 0x1002400000 + 0x1000 + 4 * 0x1000;
  ASSERT_EQ(writer.run({tx_desc(words.pa, 4), tx_desc(words.pa, 4)},
                       {rx_desc(queue + 0xb0, 4), rx_desc(queue + 0x20064, 4)}),
            0);
  EXPECT_EQ(queue_states(m, 4, 4).tx.sw_status, 2u);
  EXPECT_TRUE(engine_aborted(m, 4));
  ASSERT_EQ(set_engine(m, 4, STATE_NORMAL), 0);
  q.tx_next = q.rx_next = 0;
  ASSERT_EQ(q.run({tx_desc(b.src.pa, 64)}, {rx_desc(b.dst.pa, 64)}), 0);
  EXPECT_TRUE(engine_runs(m, 4));
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 64), cut(b.data, 0, 64));
}

TEST(DmaFaults, DoorbellBeyondTheRingStopsTheEngine) {
  machine_t m;
  queue_t q(m, 4, 4, 32);
  buffers_t b(m, 4096);
  ASSERT_EQ(q.start(0, 20), 0);
  EXPECT_TRUE(engine_runs(m, 4));
  ASSERT_EQ(q.start(0, 12), 0);
  EXPECT_TRUE(engine_runs(m, 4));
  ASSERT_EQ(q.start(0, 1), 0);
  EXPECT_TRUE(engine_aborted(m, 4));
}

// Descriptors that ring their own queue for ever come to an end, with the engine stopped.
TEST(DmaFaults, SelfRingingDescriptorsEnd) {
  machine_t m;
  queue_t q(m, 0, 0, 32);
  chunk_t one = alloc(m, {});
  uint32_t count = 2;
  ASSERT_EQ(buf_copy(m, one.handle, &count, 0, 4, true), 0);
  std::vector<desc_t> t, r;
  for (int i = 0; i < 16; ++i) {
    t.push_back(tx_desc(one.pa, 4));
    r.push_back(rx_desc(0x1002021038, 4));  // own RX doorbell
    t.push_back(tx_desc(one.pa, 4));
    r.push_back(rx_desc(0x1002001038, 4));  // own TX doorbell
  }
  q.put_tx(t);
  q.put_rx(r);
  ASSERT_EQ(q.start(2, 2), 0);
  EXPECT_TRUE(engine_aborted(m, 0));
  // Others go on.
  queue_t other(m, 1, 0);
  buffers_t b(m, 4096);
  ASSERT_EQ(other.run({tx_desc(b.src.pa, 64)}, {rx_desc(b.dst.pa, 64)}), 0);
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 64), cut(b.data, 0, 64));
}

// So do descriptors that put their own queue's head back: each lap the same ones are new again.
TEST(DmaFaults, DescriptorsThatRewindTheirQueueEnd) {
  machine_t m;
  queue_t q(m, 0, 0, 32);
  buffers_t b(m, 4096);
  chunk_t control = alloc(m, {});
  uint32_t reset_head[] = {0x4, 0x4};
  ASSERT_EQ(buf_copy(m, control.handle, reset_head, 0, 8, true), 0);
  // The second packet writes the software control of both sides: head to index 0, tail stays.
  q.put_tx({tx_desc(b.src.pa, 64), tx_desc(control.pa, 8)});
  q.put_rx({rx_desc(b.dst.pa, 64), rx_desc(0x10020010b0, 4), rx_desc(0x1002021064, 4)});
  ASSERT_EQ(q.start(2, 3), 0);
  EXPECT_TRUE(engine_aborted(m, 0));
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 64), cut(b.data, 0, 64));
}

TEST(DmaFaults, FreedRingMemoryStopsTheEngine) {
  for (bool host : {false, true}) {
    machine_t m;
    queue_t q(m, 0, 0, 32, host);
    buffers_t b(m, 4096);
    q.put_tx({tx_desc(b.src.pa, 64)});
    q.put_rx({rx_desc(b.dst.pa, 64)});
    ASSERT_EQ(mem_free(m, q.tx.handle), 0);
    ASSERT_EQ(mem_free(m, q.rx.handle), 0);
    ASSERT_EQ(q.start(1, 1), 0);
    EXPECT_TRUE(engine_aborted(m, 0));
    EXPECT_EQ(dma_read(m, b.dst.handle, 0, 64), std::vector<uint8_t>(64));
  }
}
