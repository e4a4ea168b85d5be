// SPDX-License-Identifier: Apache-2.0
// UDMA registers written by transfers, as programs on the device do (mock-device-semantics.md 6.2,
// verified-facts.md G7 and G8).
#include "tests/mock_dev/dma_fixture.h"

// A transfer that rings another queue: both run before the call returns.
TEST(DmaRegisters, WritesToADoorbellRingIt) {
  struct {
    const char *instance;
    uint64_t engine1;  // device address of the registers of engine 1
  } rows[] = {{"trn2.3xlarge", 0x1002100000}, {"trn1.2xlarge", 0xffff0040000}};
  for (auto row : rows) {
    machine_t m(row.instance);
    queue_t a(m, 0, 0), b(m, 1, 9);
    buffers_t buffers(m, 8192);
    chunk_t one = alloc(m, {});
    uint32_t count = 1;
    ASSERT_EQ(buf_copy(m, one.handle, &count, 0, 4, true), 0);
    b.put_tx({tx_desc(buffers.src.pa, 4096)});
    b.put_rx({rx_desc(buffers.dst.pa, 4096)});
    uint64_t tx_bell = row.engine1 + 0x1000 + 9 * 0x1000 + 0x38, rx_bell = tx_bell + 0x20000;
    ASSERT_EQ(
        a.run({tx_desc(one.pa, 4), tx_desc(one.pa, 4)}, {rx_desc(rx_bell, 4), rx_desc(tx_bell, 4)}),
        0);
    EXPECT_EQ(dma_read(m, buffers.dst.handle, 0, 4096), cut(buffers.data, 0, 4096));
    EXPECT_TRUE(engine_runs(m, 0));
    EXPECT_TRUE(engine_runs(m, 1));
    // Head and tail can be read by DMA like any register.
    ASSERT_EQ(a.run({tx_desc(row.engine1 + 0x1000 + 9 * 0x1000 + 0x34, 4)},
                    {rx_desc(buffers.dst.pa + 5000, 4)}),
              0);
    EXPECT_EQ(dma_read(m, buffers.dst.handle, 5000, 4), (std::vector<uint8_t>{1, 0, 0, 0x40}));
  }
}

// A queue without rings gets them from whoever writes its registers, as programs on the device do
// (verified-facts.md G7): reset, base, length, doorbells; then the same again.
TEST(DmaRegisters, RegistersGiveAQueueItsRings) {
  machine_t m;
  ASSERT_EQ(queue_init(m, 5, 2, 0, 0, 0, 0), 0);
  queue_t writer(m, 0, 14);
  buffers_t b(m, 4096);
  chunk_t words = alloc(m, {}), tx = alloc(m, {}), rx = alloc(m, {});
  ASSERT_EQ(copy_descs(m, tx.handle, 0, {tx_desc(b.src.pa, 64), tx_desc(b.src.pa + 64, 8)}, 0), 0);
  auto store = [&](uint64_t address, uint32_t value) {
    ASSERT_EQ(buf_copy(m, words.handle, &value, 0, 4, true), 0);
    ASSERT_EQ(writer.run({tx_desc(words.pa, 4)}, {rx_desc(address, 4)}), 0);
  };
  const uint64_t queue = 0x1002500000 + 0x1000 + 2 * 0x1000;
  for (uint32_t run = 0; run < 3; ++run) {
    uint64_t to = b.dst.pa + run * 1000;
    ASSERT_EQ(copy_descs(m, rx.handle, 0, {rx_desc(to, 64), rx_desc(to + 64, 8)}, 1), 0);
    for (bool receive : {true, false}) {
      uint64_t side = queue + (receive ? 0x20000 : 0), base = receive ? rx.pa : tx.pa;
      store(side + (receive ? 0x64 : 0xb0), 0x100);
      store(side + 0x28, static_cast<uint32_t>(base));
      store(side + 0x2c, static_cast<uint32_t>(base >> 32));
      store(side + 0x30, 0x00fffff0);
      store(side + 0x38, 2);
    }
    EXPECT_EQ(dma_read(m, b.dst.handle, run * 1000, 72), cut(b.data, 0, 72)) << run;
    EXPECT_EQ(queue_states(m, 5, 2).tx.head_pointer, 2u);
    EXPECT_EQ(queue_states(m, 5, 2).tx.length, 0xfffff0u);
  }
  EXPECT_TRUE(engine_runs(m, 5));
}

// The broadcast window of a core: a count, and a mask of engines to leave out.
TEST(DmaRegisters, BroadcastDoorbell) {
  struct {
    const char *instance;
    uint64_t window;
    uint32_t first;
  } rows[] = {{"trn2.3xlarge", 0x801002080000, 64}, {"trn1.2xlarge", 0xffff1000000, 0}};
  for (auto row : rows) {
    machine_t m(row.instance);
    queue_t driver(m, row.first + 15, 1);
    buffers_t buffers(m, 8192);
    chunk_t words = alloc(m, {});
    const uint32_t skip = 1u << 2 | 1u << 9, value = skip << 16 | 1;
    ASSERT_EQ(buf_copy(m, words.handle, const_cast<uint32_t *>(&value), 0, 4, true), 0);
    std::vector<queue_t> queues;
    for (uint32_t e = 0; e < 16; ++e) {
      queues.emplace_back(m, row.first + e, 0);
      queues[e].put_tx({tx_desc(buffers.src.pa + 64 * e, 64)});
      queues[e].put_rx({rx_desc(buffers.dst.pa + 64 * e, 64)});
    }
    ASSERT_EQ(driver.run({tx_desc(words.pa, 4), tx_desc(words.pa, 4)},
                         {rx_desc(row.window + 0x21038, 4), rx_desc(row.window + 0x1038, 4)}),
              0);
    for (uint32_t e = 0; e < 16; ++e)
      EXPECT_EQ(dma_read(m, buffers.dst.handle, 64 * e, 64),
                (skip >> e & 1) != 0 ? std::vector<uint8_t>(64) : cut(buffers.data, 64 * e, 64))
          << e;
  }
}

// Configured through registers: each finished descriptor appears there, lap after lap.
TEST(DmaRegisters, CompletionRings) {
  machine_t m;
  queue_t q(m, 2, 3, 32);
  buffers_t b(m, 4096);
  chunk_t rings[2] = {alloc(m, {.size = 4096}), alloc(m, {.size = 4096, .host = true})};
  chunk_t words = alloc(m, {});
  queue_t setup(m, 0, 0);
  for (uint64_t side : {0u, 1u}) {
    uint64_t queue = 0x1002200000 + side * 0x20000 + 0x1000 + 3 * 0x1000;
    const uint64_t values[2] = {rings[side].pa, 1};
    ASSERT_EQ(buf_copy(m, words.handle, const_cast<uint64_t *>(values), 0, 16, true), 0);
    ASSERT_EQ(setup.run({tx_desc(words.pa, 8), tx_desc(words.pa + 8, 4)},
                        {rx_desc(queue + 0x44, 8), rx_desc(queue + (side == 0 ? 0xa0 : 0x54), 4)}),
              0);
  }
  EXPECT_EQ(queue_states(m, 2, 3).tx.completion_base_addr, rings[0].pa);
  EXPECT_EQ(queue_states(m, 2, 3).rx.completion_base_addr, rings[1].pa);
  for (uint32_t i = 0; i < 40; ++i) {
    uint32_t lap = 1 + i / 32;
    desc_t t = tx_desc(b.src.pa + i, 8, FIRST | LAST, lap), r = rx_desc(b.dst.pa + 16 * i, 8, lap);
    ASSERT_EQ(q.run({t}, {r}), 0);
    EXPECT_EQ(queue_states(m, 2, 3).tx.completion_head, (i + 1) % 32);
    EXPECT_EQ(queue_states(m, 2, 3).rx.completion_head, (i + 1) % 32);
    auto tx_entry = dma_read(m, rings[0].handle, i % 32 * 16, 16);
    auto rx_entry = dma_read(m, rings[1].handle, i % 32 * 16, 16);
    EXPECT_EQ(memcmp(tx_entry.data(), &t, 16), 0) << i;
    EXPECT_EQ(memcmp(rx_entry.data(), &r, 16), 0) << i;
  }
  EXPECT_EQ(dma_read(m, rings[0].handle, 512, 16), std::vector<uint8_t>(16));
}
