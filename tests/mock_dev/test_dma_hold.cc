// SPDX-License-Identifier: Apache-2.0
// Queues whose packets somebody else lets go one at a time, and packets that cast.
#include <random>

#include "isa/project.h"
#include "mock_dev/exec_state.h"
#include "mock_dev/udma.h"
#include "tests/mock_dev/dma_fixture.h"

namespace {

constexpr uint64_t ONE = 0x9000000004;
const std::vector<uint8_t> NAN_BYTES(64, 0xFF);

struct held_t {
  machine_t m;
  mock_device_t *device;
  explicit held_t(mock_udma_hold_t hold = MOCK_UDMA_HELD, uint32_t core = 0)
      : device(mock_host_device(m.host, 0)) {
    // A thread that finds no run on the core would let its queues go.
    m.host->exec->thread_limit = 0;
    mock_udma_hold(m.host, device, core, hold);
  }
  std::vector<std::pair<uint32_t, uint32_t>> ready(uint32_t core = 0) {
    mock_udma_ref_t refs[MOCK_UDMA_CORE_QUEUES];
    uint32_t n = mock_udma_ready(m.host, device, core, refs);
    std::vector<std::pair<uint32_t, uint32_t>> v;
    for (uint32_t i = 0; i < n; ++i)
      v.emplace_back(refs[i].engine, refs[i].queue);
    return v;
  }
  mock_udma_step_t step(uint32_t engine, uint32_t queue, uint64_t bytes = 0) {
    uint64_t moved = 12345;
    mock_udma_step_t s = mock_udma_step(m.host, device, engine, queue, &moved);
    EXPECT_EQ(moved, s == MOCK_UDMA_MOVED ? bytes : 0);
    return s;
  }
  uint64_t outstanding(uint32_t core = 0) { return mock_udma_outstanding(m.host, device, core); }
};

using refs_t = std::vector<std::pair<uint32_t, uint32_t>>;

}  // namespace

TEST(DmaHold, PacketsMoveOneByOneInOrder) {
  held_t h;
  queue_t q(h.m, 2, 5);
  buffers_t b(h.m, 4096);
  EXPECT_EQ(h.ready(), refs_t{});
  EXPECT_EQ(h.step(2, 5), MOCK_UDMA_NOTHING);
  // Three packets to the same place.
  for (uint32_t i = 0; i < 3; ++i)
    q.run({tx_desc(b.src.pa + i * 64, 64)}, {rx_desc(b.dst.pa, 64)});
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 0, 64), std::vector<uint8_t>(64));
  EXPECT_EQ(queue_states(h.m, 2, 5).tx.tail_pointer, 3u);
  EXPECT_EQ(queue_states(h.m, 2, 5).tx.head_pointer, 0u);
  EXPECT_EQ(h.ready(), (refs_t{{2, 5}}));
  EXPECT_EQ(h.outstanding(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(h.step(2, 5, 64), MOCK_UDMA_MOVED);
    EXPECT_EQ(dma_read(h.m, b.dst.handle, 0, 64), cut(b.data, i * 64, 64));
    EXPECT_EQ(queue_states(h.m, 2, 5).tx.head_pointer, i + 1);
    EXPECT_EQ(queue_states(h.m, 2, 5).rx.completion_head, i + 1);
    EXPECT_EQ(h.outstanding(), 2 - i);
  }
  EXPECT_EQ(h.step(2, 5), MOCK_UDMA_NOTHING);
  EXPECT_EQ(h.ready(), refs_t{});
}

TEST(DmaHold, EveryReadyQueueIsNamedOnce) {
  held_t h;
  queue_t a(h.m, 0, 3), b(h.m, 0, 1), c(h.m, 15, 15), other(h.m, 16, 0), copy(h.m, 128, 0);
  buffers_t x(h.m, 4096);
  refs_t all = {{0, 1}, {0, 3}, {15, 15}};
  for (queue_t *q : {&a, &b, &c})
    for (int i = 0; i < 2; ++i)
      q->run({tx_desc(x.src.pa, 8)}, {rx_desc(x.dst.pa, 8)});
  EXPECT_EQ(h.ready(), all);
  EXPECT_EQ(h.outstanding(), 6u);
  // Engines of the next core and copy engines run at once.
  other.run({tx_desc(x.src.pa, 100)}, {rx_desc(x.dst.pa + 1000, 100)});
  EXPECT_EQ(dma_read(h.m, x.dst.handle, 1000, 100), cut(x.data, 0, 100));
  copy.run({tx_desc(x.src.pa, 100)}, {rx_desc(x.dst.pa + 2000, 100)});
  EXPECT_EQ(dma_read(h.m, x.dst.handle, 2000, 100), cut(x.data, 0, 100));
  EXPECT_EQ(h.ready(1), refs_t{});
  EXPECT_EQ(h.outstanding(1), 0u);
  EXPECT_EQ(h.step(0, 3, 8), MOCK_UDMA_MOVED);
  EXPECT_EQ(h.step(0, 3, 8), MOCK_UDMA_MOVED);
  EXPECT_EQ(h.ready(), (refs_t{{0, 1}, {15, 15}}));
  EXPECT_EQ(h.outstanding(), 4u);
}

TEST(DmaHold, WaitsForReceiveDescriptorsAndStaysOutstanding) {
  held_t h;
  queue_t q(h.m, 1, 0);
  buffers_t b(h.m, 4096);
  q.put_tx({tx_desc(b.src.pa, 64)});
  q.put_rx({rx_desc(b.dst.pa, 32)});
  q.start(1, 1);
  EXPECT_EQ(h.ready(), refs_t{});
  EXPECT_EQ(h.step(1, 0), MOCK_UDMA_NOTHING);
  EXPECT_EQ(h.outstanding(), 1u);
  q.put_rx({rx_desc(b.dst.pa + 100, 32)});
  q.start(0, 1);
  EXPECT_EQ(h.ready(), (refs_t{{1, 0}}));
  EXPECT_EQ(h.step(1, 0, 64), MOCK_UDMA_MOVED);
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 100, 32), cut(b.data, 32, 32));
  EXPECT_EQ(h.outstanding(), 0u);
}

TEST(DmaHold, LettingGoRunsWhatIsThere) {
  held_t h(MOCK_UDMA_HELD, 3);
  queue_t q(h.m, 3 * 16 + 4, 7);
  buffers_t b(h.m, 4096);
  for (uint32_t i = 0; i < 3; ++i)
    q.run({tx_desc(b.src.pa + i * 100, 100)}, {rx_desc(b.dst.pa + i * 1000, 100)});
  EXPECT_EQ(h.outstanding(3), 3u);
  mock_udma_hold(h.m.host, h.device, 3, MOCK_UDMA_FREE);
  EXPECT_EQ(h.outstanding(3), 0u);
  for (uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(dma_read(h.m, b.dst.handle, i * 1000, 100), cut(b.data, i * 100, 100));
  q.run({tx_desc(b.src.pa + 7, 100)}, {rx_desc(b.dst.pa, 100)});  // and at once from now on
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 0, 100), cut(b.data, 7, 100));
}

TEST(DmaHold, SemaphoresRiseWhenThePacketRuns) {
  held_t h;
  queue_t q(h.m, 0, 0);
  uint64_t increment =
      neuron_tpb_base(NEURON_ARCH_V3, 0) + neuron_event_offset(NEURON_ARCH_V3) + 0x1800;
  for (int i = 0; i < 2; ++i)
    q.run({tx_desc(ONE, 4)}, {rx_desc(increment + 8 * 4, 4)});
  EXPECT_EQ(semaphore_read(h.m, 0, 8), 0u);
  EXPECT_EQ(h.step(0, 0, 4), MOCK_UDMA_MOVED);
  EXPECT_EQ(semaphore_read(h.m, 0, 8), 1u);
  EXPECT_EQ(h.step(0, 0, 4), MOCK_UDMA_MOVED);
  EXPECT_EQ(semaphore_read(h.m, 0, 8), 2u);
}

// A packet that rings a doorbell: of a held queue only its tail moves, others run.
TEST(DmaHold, DoorbellsOfPackets) {
  for (uint32_t target : {1u, 16u}) {
    held_t h;
    queue_t q(h.m, 0, 0), other(h.m, target, 0);
    buffers_t b(h.m, 4096);
    other.put_tx({tx_desc(b.src.pa, 64)});
    other.put_rx({rx_desc(b.dst.pa, 64)});
    other.start(0, 1);
    uint64_t block = 0x1002000000ull + target * 0x100000ull;  // engines of die 0, half 0
    EXPECT_EQ(q.run({tx_desc(ONE, 4)}, {rx_desc(block + 0x1000 + 0x38, 4)}), 0);
    EXPECT_EQ(h.step(0, 0, 4), MOCK_UDMA_MOVED);
    bool held = target < 16;
    EXPECT_EQ(h.ready(), held ? (refs_t{{target, 0}}) : refs_t{});
    EXPECT_EQ(dma_read(h.m, b.dst.handle, 0, 64),
              held ? std::vector<uint8_t>(64) : cut(b.data, 0, 64));
  }
}

TEST(DmaHold, BadDescriptorsStopTheEngineAtTheStep) {
  held_t h;
  queue_t q(h.m, 4, 0);
  buffers_t b(h.m, 4096);
  q.run({tx_desc(b.src.pa, 64)}, {rx_desc(b.dst.pa, 64)});
  q.run({tx_desc(0x7000000000000, 64)}, {rx_desc(b.dst.pa, 64)});
  EXPECT_TRUE(engine_runs(h.m, 4));
  EXPECT_EQ(h.step(4, 0, 64), MOCK_UDMA_MOVED);
  EXPECT_EQ(h.step(4, 0), MOCK_UDMA_STOPPED);
  EXPECT_TRUE(engine_aborted(h.m, 4));
  EXPECT_EQ(h.step(4, 0), MOCK_UDMA_NOTHING);
  EXPECT_EQ(h.ready(), refs_t{});
  EXPECT_EQ(h.outstanding(), 1u);
  EXPECT_EQ(q.init(), 0);  // resets the queue
  EXPECT_EQ(h.outstanding(), 0u);
}

TEST(DmaHold, PoisonFromSubmissionToCompletion) {
  held_t h(MOCK_UDMA_HELD_POISONED);
  queue_t q(h.m, 0, 0);
  buffers_t b(h.m, 4096);
  std::vector<uint8_t> zeros(64);
  // Two packets, of two RX descriptors each.
  q.run({tx_desc(b.src.pa, 128)}, {rx_desc(b.dst.pa, 64), rx_desc(b.dst.pa + 128, 64)});
  q.run({tx_desc(b.src.pa + 128, 128)}, {rx_desc(b.dst.pa + 256, 64), rx_desc(b.dst.pa + 384, 64)});
  for (uint64_t at : {0u, 128u, 256u, 384u}) {
    EXPECT_EQ(dma_read(h.m, b.dst.handle, at, 64), NAN_BYTES);
    EXPECT_EQ(dma_read(h.m, b.dst.handle, at + 64, 64), zeros);
  }
  EXPECT_EQ(h.step(0, 0, 128), MOCK_UDMA_MOVED);
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 128, 64), cut(b.data, 64, 64));
  // A later doorbell does not poison what has been poisoned: bytes written meanwhile stay.
  std::vector<uint8_t> mine(64, 0x11);
  ASSERT_EQ(buf_copy(h.m, b.dst.handle, mine.data(), 256, 64, true), 0);
  q.run({tx_desc(b.src.pa, 64)}, {rx_desc(b.dst.pa + 512, 64)});
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 256, 64), mine);
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 512, 64), NAN_BYTES);
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 0, 64), cut(b.data, 0, 64));
  EXPECT_EQ(h.step(0, 0, 128), MOCK_UDMA_MOVED);
  EXPECT_EQ(h.step(0, 0, 64), MOCK_UDMA_MOVED);
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 512, 64), cut(b.data, 0, 64));
  // TX first: poisoned when the RX descriptors come.
  q.put_tx({tx_desc(b.src.pa, 64)});
  q.put_rx({rx_desc(b.dst.pa + 640, 64)});
  q.start(0, 1);
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 640, 64), zeros);
  q.start(1, 1);  // the RX one again: its slot holds nothing valid, so the engine will stop there
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 640, 64), NAN_BYTES);
}

TEST(DmaHold, PoisonSparesRegistersAndStartsAgainAfterAReset) {
  held_t h(MOCK_UDMA_HELD_POISONED);
  queue_t q(h.m, 0, 0);
  buffers_t b(h.m, 4096);
  uint64_t set = neuron_tpb_base(NEURON_ARCH_V3, 0) + neuron_event_offset(NEURON_ARCH_V3) + 0x1400;
  q.run({tx_desc(ONE, 4)}, {rx_desc(set + 9 * 4, 4)});
  EXPECT_EQ(semaphore_read(h.m, 0, 9), 0u);
  for (int i = 0; i < 5; ++i)
    q.run({tx_desc(b.src.pa, 64)}, {rx_desc(b.dst.pa, 64)});
  ASSERT_EQ(q.init(), 0);
  EXPECT_EQ(h.outstanding(), 0u);
  q.run({tx_desc(b.src.pa, 64)}, {rx_desc(b.dst.pa + 64, 64)});
  EXPECT_EQ(dma_read(h.m, b.dst.handle, 64, 64), NAN_BYTES);
}

// --- packets that cast: encoding of isa/project.h, bits written out ------------------------------

namespace {

constexpr uint32_t META = 1u << 23;

desc_t cast_desc(uint32_t from, uint32_t to, uint32_t flags = META | FIRST) {
  return {1u << 24 | flags, 4u << 23, from | to << 8};
}

constexpr uint32_t INT8 = 2, FP16 = 7, FP32 = 10;

}  // namespace

// The identity of verified-facts.md G10: int8 in the file, fp16 in SBUF. One row per packet.
TEST(DmaCast, Int8IdentityToFp16) {
  for (const char *instance : {"trn1.2xlarge", "trn2.3xlarge"}) {
    machine_t m(instance);
    queue_t q(m, 0, 0, 64);
    chunk_t src = alloc(m, {.size = 4096}), dst = alloc(m, {.size = 8192});
    std::vector<uint8_t> rows(8 * 128);
    for (size_t r = 0; r < 8; ++r)
      rows[r * 128 + r] = 1;
    rows[5] = 0x80;  // -128
    ASSERT_EQ(buf_copy(m, src.handle, rows.data(), 0, rows.size(), true), 0);
    for (uint32_t r = 0; r < 8; ++r) {
      q.put_tx({cast_desc(INT8, FP16), tx_desc(src.pa + r * 128, 128, LAST)});
      q.put_rx({rx_desc(dst.pa + r * 512, 256)});
    }
    EXPECT_EQ(q.start(16, 8), 0);
    EXPECT_TRUE(engine_runs(m, 0));
    for (size_t r = 0; r < 8; ++r) {
      std::vector<uint8_t> want(512);
      want[2 * r + 1] = 0x3C;  // 1.0
      if (r == 0)
        want[11] = 0xD8;  // -128
      EXPECT_EQ(dma_read(m, dst.handle, r * 512, 512), want);
    }
    EXPECT_EQ(queue_states(m, 0, 0).tx.head_pointer, 16u);
    EXPECT_EQ(queue_states(m, 0, 0).rx.head_pointer, 8u);
  }
}

// Elements stream through descriptors of different lengths, in held queues as in others.
TEST(DmaCast, Fp32ToFp16AcrossDescriptors) {
  held_t h(MOCK_UDMA_HELD_POISONED);
  queue_t q(h.m, 0, 0);
  chunk_t src = alloc(h.m, {.size = 4096}), dst = alloc(h.m, {.size = 4096});
  std::vector<float> in(24);
  std::vector<uint8_t> want(48);
  for (uint32_t i = 0; i < 24; ++i) {
    in[i] = static_cast<float>(1 << i % 8) * 1.5f;
    uint32_t half = (15 + i % 8) << 10 | 1 << 9;
    memcpy(&want[2 * i], &half, 2);
  }
  ASSERT_EQ(buf_copy(h.m, src.handle, in.data(), 0, 96, true), 0);
  q.run({cast_desc(FP32, FP16), tx_desc(src.pa, 40, 0), tx_desc(src.pa + 40, 56, LAST)},
        {rx_desc(dst.pa, 6), rx_desc(dst.pa + 6, 30), rx_desc(dst.pa + 36, 12)});
  EXPECT_EQ(dma_read(h.m, dst.handle, 0, 48), std::vector<uint8_t>(48, 0xFF));
  EXPECT_EQ(h.step(0, 0, 48), MOCK_UDMA_MOVED);
  EXPECT_EQ(dma_read(h.m, dst.handle, 0, 48), want);
  EXPECT_EQ(h.outstanding(), 0u);
}

TEST(DmaCast, PacketsThatMakeNoSenseStopTheEngine) {
  const std::vector<std::vector<desc_t>> bad = {
      {cast_desc(FP32, FP32), {}},                       // not a cast
      {cast_desc(FP32, 16), {}},                         // no such type
      {cast_desc(0, FP16), {}},                          //
      {cast_desc(FP32, FP16 | 1 << 8), {}},              // bits above
      {cast_desc(FP32, FP16, META), {}},                 // not the first
      {cast_desc(FP32, FP16, META | FIRST | LAST), {}},  // without data
      {cast_desc(FP32, FP16), cast_desc(FP32, FP16)},    // twice
  };
  for (size_t i = 0; i <= bad.size() + 3; ++i) {
    SCOPED_TRACE(i);
    machine_t m;
    queue_t q(m, 0, 0);
    buffers_t b(m, 4096);
    desc_t data = tx_desc(b.src.pa, 64, LAST);
    std::vector<desc_t> tx = {cast_desc(FP32, FP16), data}, rx = {rx_desc(b.dst.pa, 32)};
    if (i < bad.size()) {
      tx[0] = bad[i][0];
      if (bad[i][1].len_ctrl != 0)
        tx[1] = bad[i][1];
    } else if (i == bad.size()) {
      tx[1] = tx_desc(b.src.pa, 63, LAST);  // part of an element
    } else if (i == bad.size() + 1) {
      rx[0] = rx_desc(b.dst.pa, 33);
    } else if (i == bad.size() + 2) {
      rx[0] = rx_desc(b.dst.pa, 64);  // room for more than comes
    }
    q.run(tx, rx);
    bool good = i == bad.size() + 3;
    EXPECT_EQ(engine_aborted(m, 0), !good);
  }
}
