// SPDX-License-Identifier: Apache-2.0
// Direct 2-D DMA records: which bytes they name (verified-facts.md G2, G3, G7; worked-program.md).
#include <map>
#include <random>
#include <set>

#include "isa/isa.h"
#include "mock_dev/dge.h"
#include "tests/mock_dev/checked.h"
#include "tests/mock_dev/mock_fixture.h"

namespace {

constexpr uint64_t PITCH = 0x40000;

// A core that issues DMA records, and a view on all memory by device address.
struct issuer_t {
  machine_t m;
  uint32_t registers[PROJECT_REGISTERS] = {};
  uint32_t core = 0;
  mock_transfer_t t = {};
  mock_dge_fault_t fault = {};

  explicit issuer_t(const char *instance = "trn2.3xlarge") : m(instance) {}

  uint64_t sbuf(uint32_t partition, uint64_t byte) {
    return neuron_tpb_base(m.host->state->arch, core) + partition * PITCH + byte;
  }
  uint8_t *at(uint64_t address) {
    mock_place_t place;
    if (!mock_host_resolve(m.host, 0, address, 1, &place)) {
      ADD_FAILURE() << "no memory at " << address;
      abort();
    }
    return mock_memory_bytes(m.host, place.memory) + place.offset;
  }
  void fill(uint64_t address, size_t n, uint32_t seed) {
    std::mt19937 rng(seed);
    uint8_t *p = at(address);
    for (size_t i = 0; i < n; ++i)
      p[i] = static_cast<uint8_t>(rng());
  }
  // Table of addresses in device memory, its base in the registers of the preamble.
  chunk_t table(const std::vector<uint64_t> &entries) {
    chunk_t c = alloc(m, {.size = 4096});
    memcpy(at(c.pa), entries.data(), entries.size() * 8);
    registers[130] = static_cast<uint32_t>(c.pa);
    registers[131] = static_cast<uint32_t>(c.pa >> 32);
    return c;
  }
  bool issue(const isa_dma &r) {
    isa_record record;
    memcpy(&record, &r, sizeof(record));
    EXPECT_STREQ(stopped_before(&record, ISA_ENGINE_POOL), nullptr);
    mock_dge_t dge = {m.host, 0, core, ISA_ENGINE_POOL, registers};
    fault = {};
    return mock_dge_issue(&dge, &r, &t, &fault);
  }
  bool move() { return mock_dge_move(m.host, &t, &fault); }
  bool run(const isa_dma &r) { return issue(r) && move(); }
};

isa_addr8 device(uint64_t address) {
  isa_addr8 a;
  isa_addr8_set_device(&a, address);
  return a;
}

isa_addr8 table(uint8_t mode, uint32_t index, uint32_t offset) {
  isa_addr8 a = {offset, {}, mode};
  isa_addr8_set_id(&a, index);
  return a;
}

struct shape_t {
  int32_t step[2];
  uint16_t count[2];
  uint32_t bytes;
};

isa_dma dma(isa_addr8 src, const shape_t &s, isa_addr8 dst, const shape_t &d) {
  isa_dma r = {};
  r.h.opcode = ISA_DMAMEMCPY;
  r.semaphore = 24;
  r.increment = 16;
  r.src = src;
  r.dst = dst;
  for (int i = 0; i < 2; ++i) {
    r.src_step[i] = s.step[i];
    r.src_count[i] = s.count[i];
    r.dst_step[i] = d.step[i];
    r.dst_count[i] = d.count[i];
  }
  r.src_bytes = static_cast<uint16_t>(s.bytes);
  r.dst_bytes = static_cast<uint16_t>(d.bytes);
  r.src_dtype = r.dst_dtype = ISA_DTYPE_FP16;
  return r;
}

isa_dma dma(uint64_t src, const shape_t &s, uint64_t dst, const shape_t &d) {
  return dma(device(src), s, device(dst), d);
}

// Addresses of the rows of a side, in order.
std::vector<uint64_t> enumerate(uint64_t base, const shape_t &s) {
  std::vector<uint64_t> v;
  for (uint32_t j = 0; j < s.count[1]; ++j)
    for (uint32_t i = 0; i < s.count[0]; ++i)
      v.push_back(base + static_cast<uint64_t>(int64_t{s.step[0]} * i + int64_t{s.step[1]} * j));
  return v;
}

// The bytes of a side as one stream.
std::vector<uint8_t> stream(issuer_t *c, uint64_t base, const shape_t &s) {
  std::vector<uint8_t> v;
  for (uint64_t row : enumerate(base, s))
    v.insert(v.end(), c->at(row), c->at(row) + s.bytes);
  return v;
}

// The bytes right before and behind each row that belong to no other row, where there is memory.
std::map<uint64_t, uint8_t> margins(issuer_t *c, uint64_t base, const shape_t &s) {
  std::vector<uint64_t> rows = enumerate(base, s);
  std::set<uint64_t> starts(rows.begin(), rows.end());
  std::map<uint64_t, uint8_t> v;
  for (uint64_t row : rows) {
    for (uint64_t near : {row - 1, row + s.bytes}) {
      auto after = starts.upper_bound(near);
      bool in_row = after != starts.begin() && near - *std::prev(after) < s.bytes;
      mock_place_t place;
      if (!in_row && mock_host_resolve(c->m.host, 0, near, 1, &place))
        v[near] = *c->at(near);
    }
  }
  return v;
}

// Runs the record: the destination holds what the source held, its surroundings what they held.
void expect_moved(issuer_t *c, uint64_t src, const shape_t &s, uint64_t dst, const shape_t &d) {
  std::vector<uint8_t> want = stream(c, src, s);
  std::map<uint64_t, uint8_t> around = margins(c, dst, d);
  ASSERT_TRUE(c->run(dma(src, s, dst, d))) << c->fault.text;
  EXPECT_EQ(c->t.bytes, want.size());
  EXPECT_TRUE(stream(c, dst, d) == want);
  for (auto [address, value] : around)
    ASSERT_EQ(*c->at(address), value) << std::hex << address;
}

}  // namespace

TEST(Dge, RowsToPartitions) {
  for (const char *instance : {"trn2.3xlarge", "trn1.2xlarge"}) {
    issuer_t c(instance);
    chunk_t x = alloc(c.m, {.size = 1 << 20});
    c.fill(x.pa, 1 << 20, 1);
    // worked-program.md, Pool 2: x to SB 0x37C00, which a v2 partition does not have.
    uint64_t byte = c.m.host->state->arch == NEURON_ARCH_V2 ? 0x2FC00 : 0x37C00;
    expect_moved(&c, x.pa, {{512, 1}, {128, 1}, 512}, c.sbuf(0, byte),
                 {{0x40000, 1}, {128, 1}, 512});
    // And back, to rows with gaps.
    expect_moved(&c, c.sbuf(0, byte), {{0x40000, 1}, {128, 1}, 128}, x.pa + 0x40000,
                 {{256, 1}, {128, 1}, 128});
    // From partition 64 on, and PSUM.
    expect_moved(&c, x.pa + 3, {{100, 0}, {64, 1}, 33}, c.sbuf(64, 5), {{0x40000, 0}, {64, 1}, 33});
    uint64_t psum =
        neuron_tpb_base(c.m.host->state->arch, 0) + neuron_psum_offset(c.m.host->state->arch);
    expect_moved(&c, x.pa, {{2048, 0}, {128, 1}, 2048}, psum + 0x800,
                 {{0x8000, 0}, {128, 1}, 2048});
  }
}

TEST(Dge, ShapesOfAllKinds) {
  issuer_t c;
  chunk_t a = alloc(c.m, {.size = 8 << 20}), b = alloc(c.m, {.size = 8 << 20});
  c.fill(a.pa, 8 << 20, 2);
  c.fill(b.pa, 8 << 20, 3);
  uint64_t src = a.pa + (4 << 20), dst = b.pa + (4 << 20);
  const struct {
    shape_t s, d;
  } cases[] = {
      {{{0, 0}, {1, 1}, 1}, {{0, 0}, {1, 1}, 1}},
      {{{0, 0}, {1, 1}, 65536}, {{0, 0}, {1, 1}, 65536}},        // 0 in the field
      {{{7, -9}, {1, 1}, 77}, {{-3, 5}, {1, 1}, 77}},            // steps of single rows
      {{{0, 0}, {128, 1}, 8}, {{8, 0}, {128, 1}, 8}},            // broadcast
      {{{2, 256}, {128, 128}, 2}, {{256, 2}, {128, 128}, 2}},    // transpose
      {{{-64, 0}, {100, 1}, 64}, {{64, 0}, {100, 1}, 64}},       // backwards
      {{{-3, 1000}, {10, 20}, 3}, {{5, -700}, {10, 20}, 3}},     // signed, two levels
      {{{4096, 0}, {16, 1}, 4096}, {{4096, 0}, {16, 1}, 4096}},  // without gaps: one row
      {{{4, 40}, {10, 10}, 4}, {{4, 64}, {10, 10}, 4}},          // one side without gaps
      {{{300, 0}, {6, 1}, 200}, {{100, 0}, {12, 1}, 100}},       // different shapes
      {{{7, 100}, {5, 3}, 7}, {{30, 0}, {21, 1}, 5}},            // no common row size
      {{{262144, 1}, {2, 1}, 4}, {{8, 1}, {1, 1}, 8}},           // attn_v6's static blocks
      {{{0, 16}, {4, 8}, 16}, {{16, 64}, {4, 8}, 16}},           // each row four times
  };
  for (const auto &k : cases) {
    SCOPED_TRACE(&k - cases);
    expect_moved(&c, src, k.s, dst, k.d);
    if (HasFatalFailure())
      return;
  }
}

TEST(Dge, CountsAreUnsigned) {
  issuer_t c;
  chunk_t a = alloc(c.m, {.size = 1 << 20});
  c.fill(a.pa, 65535, 3);
  uint64_t to = a.pa + (1 << 19);
  ASSERT_TRUE(c.run(dma(a.pa, {{1, 1}, {65535, 1}, 1}, to, {{2, 1}, {65535, 1}, 1})));
  const uint8_t *src = c.at(a.pa), *dst = c.at(to);
  for (uint32_t i = 0; i < 65535; ++i)
    ASSERT_TRUE(dst[2 * i] == src[i] && dst[2 * i + 1] == 0) << i;
}

TEST(Dge, WhatTheTransferSays) {
  issuer_t c;
  c.core = 3;
  chunk_t a = alloc(c.m, {.size = 4096});
  c.table({0, 0, a.pa});
  isa_dma r = dma(table(0x20, 2, 0x100), {{16, 0}, {8, 1}, 16}, device(c.sbuf(1, 2)),
                  {{0x40000, 0}, {8, 1}, 16});
  ASSERT_TRUE(c.issue(r));
  EXPECT_EQ(c.t.core, 3u);
  EXPECT_EQ(c.t.engine, ISA_ENGINE_POOL);
  EXPECT_EQ(c.t.semaphore, 24);
  EXPECT_EQ(c.t.increment, 16);
  EXPECT_EQ(c.t.bytes, 128u);
  EXPECT_EQ(c.t.src.rows.address, a.pa + 0x100);
  EXPECT_EQ(c.t.src.table, 2u);
  EXPECT_EQ(c.t.src.entry, a.pa);
  EXPECT_EQ(c.t.src.offset, 0x100u);
  EXPECT_EQ(c.t.dst.rows.address, c.sbuf(1, 2));
  EXPECT_EQ(c.t.dst.rows.step[0], 0x40000);
  EXPECT_EQ(c.t.dst.rows.count[0], 8u);
  EXPECT_EQ(c.t.dst.rows.bytes, 16u);
  EXPECT_EQ(c.t.src.dtype, ISA_DTYPE_FP16);
}

TEST(Dge, TableEntryPlusOffset) {
  issuer_t c;
  chunk_t x = alloc(c.m, {.size = 65536}), y = alloc(c.m, {.size = 65536, .channel = 1});
  c.fill(x.pa, 65536, 4);
  c.fill(y.pa, 65536, 5);
  c.table({x.pa, y.pa, 0x123456789abcdef0});
  shape_t row = {{0, 0}, {1, 1}, 64};
  ASSERT_TRUE(c.run(dma(table(0x20, 1, 0x1234), row, device(c.sbuf(0, 0)), row)));
  EXPECT_EQ(memcmp(c.at(c.sbuf(0, 0)), c.at(y.pa + 0x1234), 64), 0);
  // As destination, by register: the whole register counts, no immediate with it.
  c.registers[17] = 0x4321;
  ASSERT_TRUE(c.run(dma(device(c.sbuf(0, 0)), row, table(0x28, 0, 17), row)));
  EXPECT_EQ(memcmp(c.at(x.pa + 0x4321), c.at(y.pa + 0x1234), 64), 0);
  EXPECT_EQ(c.t.dst.offset, 0x4321u);
  // The register is read at issue.
  ASSERT_TRUE(c.issue(dma(table(0x28, 0, 17), row, device(c.sbuf(5, 0)), row)));
  c.registers[17] = 0;
  c.registers[130] = 0;
  ASSERT_TRUE(c.move());
  EXPECT_EQ(memcmp(c.at(c.sbuf(5, 0)), c.at(x.pa + 0x4321), 64), 0);
}

TEST(Dge, OffsetsAreUnsignedAndReachBeyond4GiB) {
  issuer_t c;
  constexpr uint64_t SIZE = 1ull << 32;  // y of matmul_large
  chunk_t y = alloc(c.m, {.size = SIZE});
  ASSERT_EQ(y.rc, 0);
  c.table({y.pa});
  constexpr uint32_t LAST = 0xFF01F000;  // its highest offset; row 127 ends at 2^32 - 1
  for (uint32_t row : {0u, 1u, 127u})
    c.fill(y.pa + LAST + row * 131072ull, 4096, row);
  ASSERT_EQ(LAST + 127 * 131072ull + 4096, SIZE);
  ASSERT_TRUE(c.run(dma(table(0x20, 0, LAST), {{131072, 1}, {128, 1}, 4096},
                        device(c.sbuf(0, 0x4000)), {{0x40000, 1}, {128, 1}, 4096})));
  for (uint32_t row : {0u, 1u, 127u})
    EXPECT_EQ(memcmp(c.at(c.sbuf(row, 0x4000)), c.at(y.pa + LAST + row * 131072ull), 4096), 0);
  c.registers[5] = 0xFFFFFFFF;
  ASSERT_TRUE(c.run(
      dma(table(0x28, 0, 5), {{0, 0}, {1, 1}, 1}, device(c.sbuf(0, 0)), {{0, 0}, {1, 1}, 1})));
  EXPECT_EQ(*c.at(c.sbuf(0, 0)), *c.at(y.pa + SIZE - 1));
}

TEST(Dge, TableThatIsNotThere) {
  issuer_t c;
  chunk_t x = alloc(c.m, {.size = 4096});
  shape_t row = {{0, 0}, {1, 1}, 64};
  isa_dma r = dma(table(0x20, 3, 0), row, device(x.pa), row);
  const uint64_t bases[] = {0x7000000000000, UINT64_MAX - 3, UINT64_MAX - 24};
  for (uint64_t base : bases) {
    c.registers[130] = static_cast<uint32_t>(base);
    c.registers[131] = static_cast<uint32_t>(base >> 32);
    EXPECT_FALSE(c.issue(r));
    EXPECT_EQ(c.fault.error, PROJECT_ERROR_MEMORY);
  }
  EXPECT_EQ(c.fault.address, UINT64_MAX);
  // An entry so high that the offset wraps.
  c.table({0, 0, 0, UINT64_MAX - 10});
  EXPECT_FALSE(c.issue(dma(table(0x20, 3, 11), row, device(x.pa), row)));
  EXPECT_EQ(c.fault.error, PROJECT_ERROR_MEMORY);
  // Table in the event block: no memory.
  uint64_t events = neuron_tpb_base(NEURON_ARCH_V3, 0) + neuron_event_offset(NEURON_ARCH_V3);
  c.registers[130] = static_cast<uint32_t>(events);
  c.registers[131] = static_cast<uint32_t>(events >> 32);
  EXPECT_FALSE(c.issue(r));
  EXPECT_EQ(c.fault.error, PROJECT_ERROR_MEMORY);
  EXPECT_EQ(c.fault.address, events + 24);
}

TEST(Dge, BoundsHitExactlyAndByOne) {
  issuer_t c;
  chunk_t x = alloc(c.m, {.size = 65536});
  c.fill(x.pa, 65536, 6);
  c.table({x.pa});
  // 100 bytes of a variable of 1000: extent = 3 * 30 + 10, so the bound is 900.
  shape_t strided = {{30, 0}, {4, 1}, 10}, packed = {{10, 0}, {4, 1}, 10};
  uint64_t sb = c.sbuf(0, 0x100);
  for (bool source : {true, false}) {
    for (uint8_t mode : {0x20, 0x28}) {
      for (bool skip : {false, true}) {
        for (uint32_t offset : {0u, 899u, 900u, 901u, 0x80000000u, 0xFFFFFFFFu}) {
          c.registers[9] = offset;
          c.registers[33] = 900;
          isa_addr8 var = table(mode, 0, mode == 0x20 ? offset : 9);
          isa_dma r = source ? dma(var, strided, device(sb), packed)
                             : dma(device(sb), packed, var, strided);
          (source ? r.src_bound : r.dst_bound) =
              static_cast<uint8_t>(0x80 | (skip ? 0x40 : 0) | 33);
          std::vector<uint8_t> before(c.at(x.pa), c.at(x.pa) + 65536);
          std::vector<uint8_t> sb_before(c.at(sb), c.at(sb) + 40);
          bool inside = offset <= 900;
          ASSERT_EQ(c.issue(r), inside || skip) << offset;
          if (!inside && !skip) {
            EXPECT_EQ(c.fault.error, PROJECT_ERROR_OUT_OF_BOUNDS);
            continue;
          }
          EXPECT_EQ(c.t.skip, !inside);
          EXPECT_EQ((source ? c.t.src : c.t.dst).bound, 900u);
          EXPECT_TRUE(mock_dge_poison(c.m.host, &c.t, &c.fault) && c.move());
          EXPECT_EQ(c.t.semaphore, 24);  // completes all the same
          std::vector<uint8_t> want_x = before, want_sb = sb_before;
          for (uint32_t i = 0; inside && i < 40; ++i) {
            uint32_t at = offset + i / 10 * 30 + i % 10;
            if (source)
              want_sb[i] = before[at];
            else
              want_x[at] = sb_before[i];
          }
          EXPECT_EQ(std::vector<uint8_t>(c.at(sb), c.at(sb) + 40), want_sb);
          EXPECT_EQ(memcmp(c.at(x.pa), want_x.data(), want_x.size()), 0);
        }
      }
    }
  }
}

TEST(Dge, SkipOfOneSideHidesNoErrorOfTheOther) {
  issuer_t c;
  chunk_t x = alloc(c.m, {.size = 4096});
  c.table({x.pa});
  shape_t row = {{0, 0}, {1, 1}, 64};
  c.registers[1] = 0;
  isa_dma r = dma(table(0x20, 0, 1), row, table(0x20, 0, 1), row);
  r.src_bound = 0xC1;
  r.dst_bound = 0x81;
  EXPECT_FALSE(c.issue(r));
  EXPECT_EQ(c.fault.error, PROJECT_ERROR_OUT_OF_BOUNDS);
}

TEST(Dge, NothingBehindARow) {
  issuer_t c;
  chunk_t x = alloc(c.m, {.size = 1 << 20});
  c.fill(x.pa, 1 << 20, 7);
  c.fill(c.sbuf(0, 0), 1024, 8);
  const uint64_t gap = c.sbuf(2, 0x38000);  // behind the bytes of a partition
  const struct {
    uint64_t src, dst;
    shape_t s, d;
    uint64_t bad;
  } cases[] = {
      {0x7000000000000, x.pa, {{0, 0}, {1, 1}, 64}, {{0, 0}, {1, 1}, 64}, 0x7000000000000},
      {x.pa, gap, {{0, 0}, {1, 1}, 64}, {{0, 0}, {1, 1}, 64}, gap},
      {x.pa, gap - 63, {{0, 0}, {1, 1}, 64}, {{0, 0}, {1, 1}, 64}, gap - 63},  // half inside
      // The third row of four lies beyond the last partition.
      {x.pa, c.sbuf(126, 0), {{64, 0}, {4, 1}, 64}, {{0x40000, 0}, {4, 1}, 64}, c.sbuf(128, 0)},
      // Second row below the first channel.
      {64, x.pa, {{-128, 0}, {2, 1}, 64}, {{64, 0}, {2, 1}, 64}, UINT64_MAX - 63},
      // Below PSUM: what lies there in the device's memory file is SBUF.
      {x.pa,
       neuron_tpb_base(NEURON_ARCH_V3, 0) + neuron_psum_offset(NEURON_ARCH_V3),
       {{64, 0}, {2, 1}, 64},
       {{-0x40000, 0}, {2, 1}, 64},
       neuron_tpb_base(NEURON_ARCH_V3, 0) + neuron_psum_offset(NEURON_ARCH_V3) - 0x40000},
      // Rows that run into the gap: 0x10000 apart, the fourth at 0x40000 is partition 1.
      {x.pa,
       c.sbuf(0, 0x8001),
       {{16, 0}, {4, 1}, 16},
       {{0x10000, 0}, {4, 1}, 16},
       c.sbuf(0, 0x38001)},
  };
  for (const auto &k : cases) {
    SCOPED_TRACE(&k - cases);
    std::vector<uint8_t> before(c.at(x.pa), c.at(x.pa) + 4096), sb(1024);
    memcpy(sb.data(), c.at(c.sbuf(126, 0)), sb.size());
    ASSERT_TRUE(c.issue(dma(k.src, k.s, k.dst, k.d)));
    EXPECT_FALSE(c.move());
    EXPECT_EQ(c.fault.error, PROJECT_ERROR_MEMORY);
    EXPECT_EQ(c.fault.address, k.bad);
    // Nothing moved.
    EXPECT_EQ(memcmp(c.at(x.pa), before.data(), before.size()), 0);
    EXPECT_EQ(memcmp(c.at(c.sbuf(126, 0)), sb.data(), sb.size()), 0);
  }
}

// Rows in memories that have nothing to do with each other: two channels, two cores.
TEST(Dge, RowsInDifferentMemories) {
  issuer_t c("trn1.2xlarge");
  chunk_t x = alloc(c.m, {.size = 1 << 20});
  c.fill(x.pa, 1 << 20, 9);
  // Core windows of v2 are 64 MiB apart.
  shape_t cores = {{0x4000000, 0x40000}, {2, 3}, 100};
  expect_moved(&c, x.pa, {{100, 0}, {6, 1}, 100}, c.sbuf(0, 17), cores);
  expect_moved(&c, c.sbuf(0, 17), cores, x.pa + 5000, {{50, 0}, {12, 1}, 50});
}

TEST(Dge, HostMemory) {
  issuer_t c;
  chunk_t h = alloc(c.m, {.size = 65536, .host = true});
  c.fill(h.pa, 65536, 10);
  expect_moved(&c, h.pa + 7, {{300, 0}, {100, 1}, 200}, c.sbuf(0, 0),
               {{0x40000, 0}, {100, 1}, 200});
  expect_moved(&c, c.sbuf(0, 0), {{0x40000, 0}, {100, 1}, 200}, h.pa, {{200, 0}, {100, 1}, 200});
  // Behind the allocated memory.
  shape_t row = {{0, 0}, {1, 1}, 64};
  EXPECT_FALSE(c.run(dma(h.pa + 65536 - 63, row, c.sbuf(0, 0), row)));
  EXPECT_EQ(c.fault.error, PROJECT_ERROR_MEMORY);
}

TEST(Dge, SemaphoresAndEventsAct) {
  issuer_t c;
  chunk_t x = alloc(c.m, {.size = 4096});
  const uint32_t values[] = {5, 7};
  memcpy(c.at(x.pa), values, sizeof(values));
  uint64_t block = neuron_tpb_base(NEURON_ARCH_V3, 0) + neuron_event_offset(NEURON_ARCH_V3);
  auto semaphore = [&](uint32_t index) {
    neuron_ioctl_semaphore a = {0, index, 0};
    EXPECT_EQ(c.m.io(NEURON_IOCTL_SEMAPHORE_READ, &a), 0);
    return a.value;
  };
  // Two words to the increment cells of semaphores 40 and 42, twice.
  isa_dma r = dma(x.pa, {{4, 0}, {2, 1}, 4}, block + 0x1800 + 40 * 4, {{8, 0}, {2, 1}, 4});
  ASSERT_TRUE(c.run(r));
  ASSERT_TRUE(c.run(r));
  EXPECT_EQ(semaphore(40), 10u);
  EXPECT_EQ(semaphore(41), 0u);
  EXPECT_EQ(semaphore(42), 14u);
  // The constant one to an event; the value of a semaphore into memory.
  ASSERT_TRUE(c.run(dma(0x9000000004, {{0, 0}, {1, 1}, 4}, block + 9 * 4, {{0, 0}, {1, 1}, 4})));
  neuron_ioctl_event e = {0, 9, 0};
  EXPECT_EQ(c.m.io(NEURON_IOCTL_EVENT_GET, &e), 0);
  EXPECT_EQ(e.value, 1u);
  ASSERT_TRUE(
      c.run(dma(block + 0x1000 + 42 * 4, {{0, 0}, {1, 1}, 4}, x.pa + 100, {{0, 0}, {1, 1}, 4})));
  EXPECT_EQ(*c.at(x.pa + 100), 14u);
  // Half a register.
  EXPECT_FALSE(c.run(dma(x.pa, {{0, 0}, {1, 1}, 2}, block + 0x1800, {{0, 0}, {1, 1}, 2})));
  EXPECT_EQ(c.fault.error, PROJECT_ERROR_MEMORY);
  // Poison does not touch registers.
  ASSERT_TRUE(c.issue(r));
  ASSERT_TRUE(mock_dge_poison(c.m.host, &c.t, &c.fault));
  EXPECT_EQ(semaphore(40), 10u);
}

TEST(Dge, PoisonCoversExactlyTheDestination) {
  issuer_t c;
  chunk_t x = alloc(c.m, {.size = 65536});
  c.fill(x.pa, 65536, 11);
  shape_t d = {{100, 3000}, {5, 3}, 64};
  std::vector<uint8_t> want(c.at(x.pa), c.at(x.pa) + 65536);
  for (uint64_t row : enumerate(8192, d))
    std::fill_n(want.begin() + static_cast<long>(row), d.bytes, 0xFF);
  ASSERT_TRUE(c.issue(dma(x.pa + 40000, {{64, 0}, {15, 1}, 64}, x.pa + 8192, d)));
  ASSERT_TRUE(mock_dge_poison(c.m.host, &c.t, &c.fault));
  EXPECT_EQ(memcmp(c.at(x.pa), want.data(), want.size()), 0);
  ASSERT_TRUE(c.issue(dma(x.pa, {{0, 0}, {1, 1}, 64}, 0x7000000000000, {{0, 0}, {1, 1}, 64})));
  EXPECT_FALSE(mock_dge_poison(c.m.host, &c.t, &c.fault));
  EXPECT_EQ(c.fault.error, PROJECT_ERROR_MEMORY);
  EXPECT_EQ(c.fault.address, 0x7000000000000u);
}

// worked-program.md, Pool 5: SB fp32 rows of 256 bytes to fp16 rows of 128. Rounding against the
// formula of a 10-bit fraction: nearest, ties to even.
TEST(Dge, CastsFp32ToFp16) {
  issuer_t c;
  chunk_t out = alloc(c.m, {.size = 65536});
  std::mt19937 rng(13);
  std::vector<uint16_t> want(128 * 64);
  for (uint32_t lane = 0; lane < 128; ++lane) {
    for (uint32_t i = 0; i < 64; ++i) {
      int exponent = static_cast<int>(rng() % 30) - 14;
      // 13 bits below the fp16 fraction; every fourth is an exact tie.
      uint32_t fraction = rng() & 0x7FFFFF;
      if (i % 4 == 0)
        fraction = (fraction & ~0x1FFFu) | 0x1000;
      uint32_t sign = rng() & 1;
      uint32_t bits = sign << 31 | static_cast<uint32_t>(exponent + 127) << 23 | fraction;
      memcpy(c.at(c.sbuf(lane, 0x4200 + i * 4)), &bits, 4);
      uint32_t half = static_cast<uint32_t>(exponent + 15) << 10 | fraction >> 13;
      uint32_t rest = fraction & 0x1FFF;
      half += (rest > 0x1000 || (rest == 0x1000 && (half & 1) != 0)) ? 1 : 0;
      want[lane * 64 + i] = static_cast<uint16_t>(sign << 15 | half);
    }
  }
  isa_dma r =
      dma(c.sbuf(0, 0x4200), {{0x40000, 1}, {128, 1}, 256}, out.pa, {{256, 1}, {128, 1}, 128});
  r.src_dtype = ISA_DTYPE_FP32;
  ASSERT_TRUE(c.run(r)) << c.fault.text;
  EXPECT_TRUE(c.t.cast);
  EXPECT_EQ(c.t.bytes, 128u * 128);
  for (uint32_t lane = 0; lane < 128; ++lane)
    ASSERT_EQ(memcmp(c.at(out.pa + lane * 256), &want[lane * 64], 128), 0) << lane;
  EXPECT_EQ(std::vector<uint8_t>(c.at(out.pa + 128), c.at(out.pa + 256)),
            std::vector<uint8_t>(128));
}

TEST(Dge, CastsOfIntegersAndBroadcast) {
  issuer_t c;
  chunk_t x = alloc(c.m, {.size = 65536});
  for (int i = 0; i < 256; ++i)
    *c.at(x.pa + static_cast<uint64_t>(i)) = static_cast<uint8_t>(i);
  // int8 -> fp32, one row to 16 partitions; int8 -> int32; uint8 -> bf16 by value.
  isa_dma r = dma(x.pa, {{0, 0}, {16, 1}, 256}, c.sbuf(8, 64), {{0x40000, 0}, {16, 1}, 1024});
  r.src_dtype = ISA_DTYPE_INT8;
  r.dst_dtype = ISA_DTYPE_FP32;
  ASSERT_TRUE(c.run(r));
  for (uint32_t lane = 8; lane < 24; ++lane) {
    for (int i = 0; i < 256; ++i) {
      float f;
      memcpy(&f, c.at(c.sbuf(lane, 64 + static_cast<uint64_t>(i) * 4)), 4);
      ASSERT_EQ(f, static_cast<float>(static_cast<int8_t>(i)));
    }
  }
  // Rows that follow each other on one side only: elements stay elements.
  r = dma(x.pa, {{16, 0}, {16, 1}, 16}, x.pa + 4096, {{100, 0}, {16, 1}, 64});
  r.src_dtype = ISA_DTYPE_INT8;
  r.dst_dtype = ISA_DTYPE_INT32;
  ASSERT_TRUE(c.run(r));
  for (int i = 0; i < 256; ++i) {
    int32_t v;
    memcpy(&v, c.at(x.pa + 4096 + static_cast<uint64_t>(i / 16 * 100 + i % 16 * 4)), 4);
    ASSERT_EQ(v, static_cast<int8_t>(i));
  }
  r.src_dtype = ISA_DTYPE_UINT8;
  r.dst_dtype = ISA_DTYPE_BF16;
  r.dst_bytes = 32;
  ASSERT_TRUE(c.run(r));
  for (int i = 0; i < 256; ++i) {
    uint32_t bits = 0;
    memcpy(reinterpret_cast<uint8_t *>(&bits) + 2,
           c.at(x.pa + 4096 + static_cast<uint64_t>(i / 16 * 100 + i % 16 * 2)), 2);
    float f;
    memcpy(&f, &bits, 4);
    ASSERT_EQ(f, static_cast<float>(i));
  }
}

// Registers take words, not elements.
TEST(Dge, NoCastIntoRegisters) {
  issuer_t c;
  chunk_t x = alloc(c.m, {.size = 65536});
  uint64_t block = neuron_tpb_base(NEURON_ARCH_V3, 0) + neuron_event_offset(NEURON_ARCH_V3);
  isa_dma r = dma(x.pa, {{0, 0}, {1, 1}, 4}, block + 0x1800, {{0, 0}, {1, 1}, 4});
  r.src_dtype = ISA_DTYPE_FP32;
  r.dst_dtype = ISA_DTYPE_INT32;
  EXPECT_FALSE(c.run(r));
  EXPECT_EQ(c.fault.error, PROJECT_ERROR_MEMORY);
}

// What a transfer wrote into a chunk is gone when the memory is allocated again.
TEST(Dge, WrittenMemoryIsCleanForItsNextOwner) {
  issuer_t c;
  chunk_t x = alloc(c.m, {.size = 4096});
  c.fill(c.sbuf(0, 0), 4096, 12);
  ASSERT_TRUE(c.run(dma(c.sbuf(0, 0), {{0, 0}, {1, 1}, 4096}, x.pa, {{0, 0}, {1, 1}, 4096})));
  uint64_t pa = x.pa;
  ASSERT_EQ(mem_free(c.m, x.handle), 0);
  x = alloc(c.m, {.size = 4096});
  ASSERT_EQ(x.pa, pa);
  EXPECT_EQ(std::vector<uint8_t>(c.at(pa), c.at(pa) + 4096), std::vector<uint8_t>(4096));
}
