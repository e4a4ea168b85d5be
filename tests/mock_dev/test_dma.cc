// SPDX-License-Identifier: Apache-2.0
// What a UDMA queue does with its descriptors (mock-device-semantics.md 6, dma-and-exec.md 1).
#include <atomic>
#include <random>
#include <thread>

#include "tests/mock_dev/dma_fixture.h"

namespace {

constexpr uint64_t V3_CONSTANT_ONE = 0x9000000004, V2_CONSTANT_ONE = 0x2000000004;

uint32_t event_get(machine_t &m, uint32_t core, uint32_t index) {
  neuron_ioctl_event a = {core, index, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_EVENT_GET, &a), 0);
  return a.value;
}

const char *const INSTANCES[] = {"trn2.3xlarge", "trn1.2xlarge", "inf2.xlarge"};

}  // namespace

TEST(Dma, OneDescriptorMovesItsBytesInEveryDirection) {
  for (const char *instance : INSTANCES) {
    machine_t m(instance);
    queue_t q(m, 0, 0);
    for (bool src_host : {false, true}) {
      for (bool dst_host : {false, true}) {
        buffers_t b(m, 4 * 65536, src_host, dst_host);
        for (uint32_t size : {1u, 3u, 4u, 511u, 4096u, 65535u, 65536u}) {
          ASSERT_EQ(q.run({tx_desc(b.src.pa + 5, size)}, {rx_desc(b.dst.pa + 65536 + 3, size)}), 0);
          EXPECT_EQ(dma_read(m, b.dst.handle, 65536 + 3, size), cut(b.data, 5, size));
          EXPECT_EQ(dma_read(m, b.dst.handle, 65536 + 3 + size, 100), std::vector<uint8_t>(100));
          EXPECT_EQ(dma_read(m, b.dst.handle, 65536 - 97, 100), std::vector<uint8_t>(100));
        }
      }
    }
    EXPECT_TRUE(engine_runs(m, 0));
  }
}

TEST(Dma, RingsInHostMemory) {
  machine_t m;
  queue_t q(m, 3, 7, 32, true);
  buffers_t b(m, 8192);
  ASSERT_EQ(q.run({tx_desc(b.src.pa, 8192)}, {rx_desc(b.dst.pa, 8192)}), 0);
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 8192), b.data);
}

TEST(Dma, HeadsAndTailsFollowTheDescriptors) {
  machine_t m;
  queue_t q(m, 17, 2, 32);
  buffers_t b(m, 4096);
  ring_states_t s = queue_states(m, 17, 2);
  EXPECT_EQ(s.tx.base_addr, q.tx.pa);
  EXPECT_EQ(s.rx.base_addr, q.rx.pa);
  EXPECT_EQ(s.tx.length, 32u);
  EXPECT_EQ(s.tx.sw_status, 2u);
  EXPECT_EQ(s.tx.head_pointer, 0u);
  EXPECT_EQ(s.tx.tail_pointer, 0u);
  // One TX descriptor into three RX descriptors.
  q.run({tx_desc(b.src.pa, 300)},
        {rx_desc(b.dst.pa, 100), rx_desc(b.dst.pa + 200, 150), rx_desc(b.dst.pa + 1000, 50)});
  s = queue_states(m, 17, 2);
  EXPECT_EQ(s.tx.head_pointer, 1u);
  EXPECT_EQ(s.tx.tail_pointer, 1u);
  EXPECT_EQ(s.tx.completion_head, 1u);
  EXPECT_EQ(s.rx.head_pointer, 3u);
  EXPECT_EQ(s.rx.tail_pointer, 3u);
  EXPECT_EQ(s.rx.completion_head, 3u);
  EXPECT_EQ(dma_read(m, b.dst.handle, 200, 150), cut(b.data, 100, 150));
  EXPECT_EQ(dma_read(m, b.dst.handle, 1000, 50), cut(b.data, 250, 50));
}

// Many laps, so that the ring id goes 1, 2, 3, 0, 1 on the engines that check it: all of v2, and
// the copy engines of v3.
TEST(Dma, RingIdsAdvanceAtTheWrap) {
  struct {
    const char *instance;
    uint32_t engine;
  } rows[] = {{"trn1.2xlarge", 5}, {"inf2.xlarge", 33}, {"trn2.3xlarge", 5}, {"trn2.3xlarge", 131}};
  for (auto row : rows) {
    machine_t m(row.instance);
    queue_t q(m, row.engine, 3, 48);
    buffers_t b(m, 65536);
    uint32_t total = 0;
    for (uint32_t batch = 1; total < 6 * 48; batch = batch % 47 + 1) {
      std::vector<desc_t> t, r;
      for (uint32_t i = 0; i < batch; ++i, ++total) {
        t.push_back(tx_desc(b.src.pa + total * 100, 100));
        r.push_back(rx_desc(b.dst.pa + total * 100, 100));
      }
      ASSERT_EQ(q.run(t, r), 0);
      ASSERT_EQ(queue_states(m, row.engine, 3).tx.head_pointer, total % 48);
    }
    EXPECT_EQ(dma_read(m, b.dst.handle, 0, total * 100), cut(b.data, 0, total * 100));
    EXPECT_TRUE(engine_runs(m, row.engine));
  }
}

TEST(Dma, WholeRingAtOnce) {
  machine_t m;
  queue_t q(m, 0, 0, 32);
  buffers_t b(m, 65536);
  for (uint32_t lap = 0; lap < 3; ++lap) {
    std::vector<desc_t> t, r;
    for (uint32_t i = 0; i < 32; ++i) {
      t.push_back(tx_desc(b.src.pa + i * 64, 64));
      r.push_back(rx_desc(b.dst.pa + lap * 2048 + i * 64, 64));
    }
    ASSERT_EQ(q.run(t, r), 0);
    EXPECT_EQ(dma_read(m, b.dst.handle, lap * 2048, 2048), cut(b.data, 0, 2048));
  }
}

TEST(Dma, PacketsGatherAndScatter) {
  machine_t m;
  queue_t q(m, 0, 1);
  buffers_t b(m, 65536);
  // 10 + 20 + 30 bytes from three places into 25 + 35 in two.
  ASSERT_EQ(q.run({tx_desc(b.src.pa + 1000, 10, FIRST), tx_desc(b.src.pa + 2000, 20, 0),
                   tx_desc(b.src.pa + 3000, 30, LAST)},
                  {rx_desc(b.dst.pa + 100, 25), rx_desc(b.dst.pa + 500, 35)}),
            0);
  std::vector<uint8_t> stream = cut(b.data, 1000, 10);
  for (auto [at, n] : {std::pair{2000, 20}, std::pair{3000, 30}}) {
    auto part = cut(b.data, static_cast<size_t>(at), static_cast<size_t>(n));
    stream.insert(stream.end(), part.begin(), part.end());
  }
  EXPECT_EQ(dma_read(m, b.dst.handle, 100, 25), cut(stream, 0, 25));
  EXPECT_EQ(dma_read(m, b.dst.handle, 500, 35), cut(stream, 25, 35));
  EXPECT_TRUE(engine_runs(m, 0));
}

// A packet waits for its last descriptor and for RX room; nothing of it moves before.
TEST(Dma, HalvesOfAPacketWait) {
  machine_t m;
  queue_t q(m, 0, 1);
  buffers_t b(m, 4096);
  q.put_tx({tx_desc(b.src.pa, 100, FIRST), tx_desc(b.src.pa + 100, 100, LAST)});
  q.put_rx({rx_desc(b.dst.pa, 120), rx_desc(b.dst.pa + 120, 40), rx_desc(b.dst.pa + 160, 40)});
  ASSERT_EQ(q.start(1, 1), 0);  // half a packet
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 200), std::vector<uint8_t>(200));
  EXPECT_EQ(queue_states(m, 0, 1).tx.head_pointer, 0u);
  EXPECT_EQ(queue_states(m, 0, 1).tx.tail_pointer, 1u);
  ASSERT_EQ(q.start(1, 1), 0);  // all of it, and room for 160 of its 200 bytes
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 200), std::vector<uint8_t>(200));
  EXPECT_EQ(queue_states(m, 0, 1).tx.head_pointer, 0u);
  ASSERT_EQ(q.start(0, 1), 0);
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 200), cut(b.data, 0, 200));
  EXPECT_EQ(queue_states(m, 0, 1).tx.head_pointer, 2u);
  EXPECT_TRUE(engine_runs(m, 0));
}

// RX credits first, TX later, as the driver allows.
TEST(Dma, ReceiveCreditsAheadOfTime) {
  machine_t m;
  queue_t q(m, 9, 15);
  buffers_t b(m, 4096);
  q.put_rx({rx_desc(b.dst.pa, 16), rx_desc(b.dst.pa + 16, 16), rx_desc(b.dst.pa + 32, 16)});
  ASSERT_EQ(q.start(0, 2), 0);
  EXPECT_EQ(queue_states(m, 9, 15).rx.tail_pointer, 2u);
  q.put_tx({tx_desc(b.src.pa, 16), tx_desc(b.src.pa + 16, 16), tx_desc(b.src.pa + 32, 16)});
  ASSERT_EQ(q.start(3, 1), 0);
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 48), cut(b.data, 0, 48));
}

TEST(Dma, IncrementsSemaphoresAndSetsEvents) {
  struct {
    const char *instance;
    uint32_t core;
    uint64_t window, events, one;
  } rows[] = {
      {"trn2.3xlarge", 0, 0x2000000000, 0x802700000, V3_CONSTANT_ONE},
      {"trn2.3xlarge", 5, 0x803000000000, 0x802700000, V3_CONSTANT_ONE},
      {"trn1.2xlarge", 1, 0xfffc4000000, 0x2700000, V2_CONSTANT_ONE},
  };
  for (auto row : rows) {
    machine_t m(row.instance);
    queue_t q(m, 0, 0);
    uint64_t block = row.window + row.events;
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(q.run({tx_desc(row.one, 4)}, {rx_desc(block + 0x1800 + 4 * 20, 4)}), 0);
    EXPECT_EQ(semaphore_read(m, row.core, 20), 3u);
    ASSERT_EQ(q.run({tx_desc(row.one, 4)}, {rx_desc(block + 0x1c00 + 4 * 20, 4)}), 0);
    EXPECT_EQ(semaphore_read(m, row.core, 20), 2u);
    EXPECT_EQ(semaphore_read(m, row.core, 19), 0u);
    EXPECT_EQ(semaphore_read(m, row.core, 21), 0u);
    // Set from memory: a word, in two pieces.
    buffers_t b(m, 4096);
    ASSERT_EQ(q.run({tx_desc(b.src.pa, 1, FIRST), tx_desc(b.src.pa + 1, 3, LAST)},
                    {rx_desc(block + 0x1400 + 4 * 255, 4)}),
              0);
    uint32_t word;
    memcpy(&word, b.data.data(), 4);
    EXPECT_EQ(semaphore_read(m, row.core, 255), word);
    // Read it back, and the word after it: the set window reads as nothing.
    ASSERT_EQ(q.run({tx_desc(block + 0x1000 + 4 * 255, 4)}, {rx_desc(b.dst.pa + 8, 4)}), 0);
    EXPECT_EQ(dma_read(m, b.dst.handle, 8, 4), cut(b.data, 0, 4));
    // An event, set and cleared by the constants.
    ASSERT_EQ(q.run({tx_desc(row.one, 4)}, {rx_desc(block + 4 * 7, 4)}), 0);
    EXPECT_EQ(event_get(m, row.core, 7), 1u);
    ASSERT_EQ(q.run({tx_desc(row.one - 4, 4)}, {rx_desc(block + 4 * 7, 4)}), 0);
    EXPECT_EQ(event_get(m, row.core, 7), 0u);
    EXPECT_TRUE(engine_runs(m, 0));
  }
}

TEST(Dma, SbufAndPsum) {
  struct {
    const char *instance;
    uint64_t window, psum, partition;
  } rows[] = {{"trn2.3xlarge", 0x807000000000, 0x802000000, 0x38000},
              {"trn1.2xlarge", 0xfffc0000000, 0x2000000, 0x30000}};
  for (auto row : rows) {
    machine_t m(row.instance);
    queue_t q(m, 1, 0);
    buffers_t b(m, 65536);
    uint64_t last = row.window + 127 * 0x40000 + row.partition - 4096;
    uint64_t bank = row.window + row.psum + 3 * 0x8000;
    ASSERT_EQ(q.run({tx_desc(b.src.pa, 4096)}, {rx_desc(last, 4096)}), 0);
    ASSERT_EQ(q.run({tx_desc(last, 4096)}, {rx_desc(bank, 4096)}), 0);
    ASSERT_EQ(q.run({tx_desc(bank, 4096)}, {rx_desc(b.dst.pa, 4096)}), 0);
    EXPECT_EQ(dma_read(m, b.dst.handle, 0, 4096), cut(b.data, 0, 4096));
    ASSERT_TRUE(engine_runs(m, 1));
    // One byte further there is no SRAM.
    ASSERT_EQ(q.run({tx_desc(b.src.pa, 4096)}, {rx_desc(last + 1, 4096)}), 0);
    EXPECT_TRUE(engine_aborted(m, 1));
  }
}

TEST(Dma, NeighbourMemoryAndSemaphores) {
  machine_t m("trn2.48xlarge");
  // Device 0 reaches 12, 1, 3, 4 over links 0 to 3.
  const uint32_t neighbours[4] = {12, 1, 3, 4};
  queue_t q(m, 0, 0);
  buffers_t b(m, 4096);
  for (uint64_t link = 0; link < 4; ++link) {
    std::string path = "/dev/neuron" + std::to_string(neighbours[link]);
    int fd = mock_open(m.host, PID, path.c_str(), O_RDWR);
    chunk_t there = alloc_as(m.host, PID, fd, {.size = 4096, .channel = 3});
    uint64_t window = 0x10000000000000 + link * 0x4000000000000;
    ASSERT_EQ(q.run({tx_desc(b.src.pa + link, 1000)}, {rx_desc(window + there.pa + 8, 1000)}), 0);
    const auto *bytes = static_cast<uint8_t *>(mock_dram(m.host, neighbours[link], there.pa, 4096));
    EXPECT_EQ(memcmp(bytes + 8, b.data.data() + link, 1000), 0);
    EXPECT_EQ(bytes[7], 0);
    EXPECT_EQ(bytes[1008], 0);
    ASSERT_EQ(q.run({tx_desc(V3_CONSTANT_ONE, 4)},
                    {rx_desc(window + 0x6000000000 + 0x802701800 + 4 * 9, 4)}),
              0);
    neuron_ioctl_semaphore s = {2, 9, 0};
    EXPECT_EQ(mock_ioctl(m.host, PID, fd, NEURON_IOCTL_SEMAPHORE_READ, &s), 0);
    EXPECT_EQ(s.value, 1u);
  }
  EXPECT_TRUE(engine_runs(m, 0));
  // Not its registers, and not host memory through it.
  ASSERT_EQ(q.run({tx_desc(b.src.pa, 4)}, {rx_desc(0x10000000000000 + 0x1002001038, 4)}), 0);
  EXPECT_TRUE(engine_aborted(m, 0));
}

// Bits that a plain copy may carry.
TEST(Dma, HarmlessBits) {
  machine_t m;
  queue_t q(m, 2, 0);
  buffers_t b(m, 4096);
  desc_t t = tx_desc(b.src.pa, 64), r = rx_desc(b.dst.pa, 64);
  t.len_ctrl |= 1u << 28 | 1u << 30;  // interrupt, barrier
  t.word1 |= 1u << 26;                // write barrier
  r.len_ctrl |= 1u << 28 | 1u << 29;  // interrupt, strong order
  r.word1 = 0x12345678;               // second buffer: unused
  ASSERT_EQ(q.run({t}, {r}), 0);
  EXPECT_TRUE(engine_runs(m, 2));
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 64), cut(b.data, 0, 64));
}

// An engine that is switched off keeps its doorbells.
TEST(Dma, DisabledEngineResumes) {
  machine_t m;
  queue_t q(m, 6, 1);
  buffers_t b(m, 4096);
  ASSERT_EQ(set_engine(m, 6, 0), 0);
  EXPECT_EQ(engine_state(m, 6).tx_state, STATE_IDLE);
  ASSERT_EQ(q.run({tx_desc(b.src.pa, 64)}, {rx_desc(b.dst.pa, 64)}), 0);
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 64), std::vector<uint8_t>(64));
  ASSERT_EQ(set_engine(m, 6, 2), 0);
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 64), cut(b.data, 0, 64));
}

// What DMA wrote is gone when the memory has a new owner.
TEST(Dma, WrittenMemoryIsFreshAfterReuse) {
  machine_t m;
  queue_t q(m, 0, 0);
  for (bool host : {false, true}) {
    chunk_t src = alloc(m, {.size = 65536});
    auto data = dma_pattern(65536);
    ASSERT_EQ(buf_copy(m, src.handle, data.data(), 0, 65536, true), 0);
    chunk_t dst = alloc(m, {.size = 65536, .host = host});
    ASSERT_EQ(q.run({tx_desc(src.pa, 65536)}, {rx_desc(dst.pa, 65536)}), 0);
    ASSERT_EQ(dma_read(m, dst.handle, 0, 65536), data);
    ASSERT_EQ(mem_free(m, dst.handle), 0);
    chunk_t again = alloc(m, {.size = 65536, .host = host});
    ASSERT_EQ(again.pa, dst.pa);
    EXPECT_EQ(dma_read(m, again.handle, 0, 65536), std::vector<uint8_t>(65536));
    EXPECT_TRUE(engine_runs(m, 0));
    if (host)
      continue;
    // The same for what lands in memory that nobody holds.
    ASSERT_EQ(mem_free(m, again.handle), 0);
    ASSERT_EQ(q.run({tx_desc(src.pa, 65536)}, {rx_desc(dst.pa, 65536)}), 0);
    ASSERT_TRUE(engine_runs(m, 0));
    again = alloc(m, {.size = 65536});
    ASSERT_EQ(again.pa, dst.pa);
    EXPECT_EQ(dma_read(m, again.handle, 0, 65536), std::vector<uint8_t>(65536));
  }
}

// The driver's own way to see the end of a batch: a marker word copied last (dma-and-exec.md 1.6).
TEST(Dma, CompletionMarker) {
  machine_t m;
  queue_t q(m, 128, 0, 4096);
  buffers_t b(m, 16 * 65536);
  chunk_t marker = alloc(m, {.host = true});
  const uint32_t words[2] = {0xabcdef01, 0};
  ASSERT_EQ(buf_copy(m, marker.handle, const_cast<uint32_t *>(words), 0, 8, true), 0);
  std::vector<desc_t> t, r;
  for (uint32_t i = 0; i < 16; ++i) {
    t.push_back(tx_desc(b.src.pa + i * 65536, 65536));
    r.push_back(rx_desc(b.dst.pa + i * 65536, 65536));
  }
  t.back().word1 |= 1u << 26;
  t.push_back(tx_desc(marker.pa, 4));
  r.push_back(rx_desc(marker.pa + 4, 4));
  ASSERT_EQ(q.run(t, r), 0);
  EXPECT_EQ(dma_read(m, marker.handle, 4, 4), (std::vector<uint8_t>{0x01, 0xef, 0xcd, 0xab}));
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 16 * 65536), b.data);
}

// Random packets over one buffer against a model that knows bytes only: each packet's TX bytes are
// gathered in a row and dealt out to its RX descriptors, one descriptor piece at a time.
TEST(Dma, RandomPacketsAgainstAByteModel) {
  constexpr uint32_t SIZE = 1 << 18;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    std::mt19937 rng(seed);
    auto below = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
    machine_t m(seed % 2 == 0 ? "trn1.2xlarge" : "trn2.3xlarge");
    queue_t q(m, below(32), below(16), 112, seed % 3 == 0);
    // Sources and destinations lie in two halves, which swap roles from batch to batch.
    chunk_t mem[2] = {alloc(m, {.size = SIZE}), alloc(m, {.size = SIZE, .host = true})};
    std::vector<uint8_t> model[2];
    for (int i = 0; i < 2; ++i) {
      model[i] = dma_pattern(SIZE, static_cast<uint8_t>(seed + 40u * static_cast<uint32_t>(i)));
      ASSERT_EQ(buf_copy(m, mem[i].handle, model[i].data(), 0, SIZE, true), 0);
    }
    for (int batch = 0; batch < 60; ++batch) {
      int from = static_cast<int>(below(2)), to = 1 - from;
      std::vector<desc_t> t, r;
      while (t.size() + 8 < 60 && r.size() + 40 < 100) {
        uint32_t parts = 1 + below(6);
        std::vector<uint8_t> stream;
        for (uint32_t i = 0; i < parts; ++i) {
          uint32_t n = 1 + below(below(4) == 0 ? 9000 : 64), at = below(SIZE - n);
          t.push_back(
              tx_desc(mem[from].pa + at, n, (i == 0 ? FIRST : 0) | (i + 1 == parts ? LAST : 0)));
          stream.insert(stream.end(), model[from].begin() + at, model[from].begin() + at + n);
        }
        size_t done = 0, pieces = 1 + below(20);
        while (done < stream.size()) {
          auto left = static_cast<uint32_t>(stream.size() - done);
          uint32_t n = pieces-- <= 1 ? left : 1 + below(left);
          uint32_t at = below(SIZE - n);
          r.push_back(rx_desc(mem[to].pa + at, n));
          std::copy_n(stream.begin() + static_cast<long>(done), n, model[to].begin() + at);
          done += n;
        }
      }
      ASSERT_EQ(q.run(t, r), 0);
    }
    ASSERT_TRUE(engine_runs(m, q.engine));
    for (int i = 0; i < 2; ++i)
      EXPECT_TRUE(dma_read(m, mem[i].handle, 0, SIZE) == model[i]) << seed;
  }
}

TEST(Dma, RingMemoryIsFreshAfterReuse) {
  machine_t m;
  chunk_t ring = alloc(m, {});
  ASSERT_EQ(copy_descs(m, ring.handle, 0, {tx_desc(0x1234, 4)}, 0), 0);
  ASSERT_EQ(mem_free(m, ring.handle), 0);
  chunk_t again = alloc(m, {});
  ASSERT_EQ(again.pa, ring.pa);
  EXPECT_EQ(dma_read(m, again.handle, 0, 4096), std::vector<uint8_t>(4096));
}

// Threads on queues of their own and on one they share, while a process comes and goes.
TEST(Dma, ThreadsDoNotDisturbEachOther) {
  machine_t m;
  constexpr uint32_t THREADS = 4, ROUNDS = 200;
  queue_t shared(m, 40, 0, 1024);
  chunk_t one = alloc(m, {});
  uint32_t word = 1;
  ASSERT_EQ(buf_copy(m, one.handle, &word, 0, 4, true), 0);
  std::vector<desc_t> t(THREADS * ROUNDS, tx_desc(one.pa, 4));
  std::vector<desc_t> r(THREADS * ROUNDS, rx_desc(0x2802701800 + 4 * 30, 4));
  shared.put_tx(t);
  shared.put_rx(r);
  std::vector<std::thread> threads;
  std::atomic<uint32_t> wrong{0};
  for (uint32_t n = 0; n < THREADS; ++n) {
    threads.emplace_back([&, n] {
      queue_t own(m, n, 0, 32);
      buffers_t b(m, 8192);
      for (uint32_t i = 0; i < ROUNDS; ++i) {
        if (own.run({tx_desc(b.src.pa + i, 1000)}, {rx_desc(b.dst.pa, 1000)}) != 0 ||
            dma_read(m, b.dst.handle, 0, 1000) != cut(b.data, i, 1000))
          ++wrong;
        if (shared.start(1, 1) != 0)
          ++wrong;
      }
    });
  }
  for (uint32_t i = 0; i < 50; ++i) {
    int fd = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
    neuron_ioctl_dma_queue_init a = {};
    a.eng_id = 60;
    EXPECT_EQ(mock_ioctl(m.host, PID + 1, fd, NEURON_IOCTL_DMA_QUEUE_INIT, &a), 0);
    EXPECT_EQ(mock_close(m.host, PID + 1, fd), 0);
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(semaphore_read(m, 0, 30), THREADS * ROUNDS);
  EXPECT_EQ(queue_states(m, 40, 0).tx.head_pointer, THREADS * ROUNDS);
}
