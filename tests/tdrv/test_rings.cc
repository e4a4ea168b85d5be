// SPDX-License-Identifier: Apache-2.0
// Descriptors of static transfers against a byte-by-byte walk of their patterns, counts against the
// recorded ones (verified-facts.md G8.2), capacities (neff-format.md 5.3).
#include <gmock/gmock.h>

#include <random>

#include "tdrv/dma_expand.h"
#include "tdrv/pring.h"
#include "tests/tdrv/machine.h"

namespace {

using ::testing::HasSubstr;

constexpr uint32_t kFirst = 1u << 26, kLast = 1u << 27, kMeta = 1u << 23;

kbin_dma_pattern_t pattern(uint32_t var, uint64_t offset, std::vector<uint64_t> sizes,
                           std::vector<int64_t> steps, uint8_t dtype = KBIN_DTYPE_NONE) {
  kbin_dma_pattern_t p{};
  p.var_id = var;
  p.offset = offset;
  p.ndims = static_cast<uint32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), p.sizes);
  std::copy(steps.begin(), steps.end(), p.steps);
  p.dtype = dtype;
  return p;
}

kbin_dma_transfer_t transfer(std::vector<kbin_dma_pattern_t> from, const kbin_dma_pattern_t &to,
                             int32_t tiling, kbin_dma_desc_op_t op = kbin_dma_desc_op_t::COPY) {
  kbin_dma_transfer_t t{};
  t.op = op;
  t.from = std::move(from);
  t.to = to;
  t.num_tiling_dimensions = tiling;
  return t;
}

// Device addresses of a pattern's bytes, one after the other.
void walk(const kbin_dma_pattern_t &p, uint64_t base, std::vector<uint64_t> *out) {
  uint64_t index[4] = {};
  for (bool more = true; more;) {
    uint64_t at = base + p.offset;
    for (uint32_t d = 0; d < p.ndims; d++)
      at += index[d] * static_cast<uint64_t>(p.steps[d]);
    out->push_back(at);
    more = false;
    for (uint32_t d = 0; d < p.ndims && !more; d++) {
      more = ++index[d] < p.sizes[d];
      if (!more)
        index[d] = 0;
    }
  }
}

// Bytes copied, those that follow one another on both sides as one.
struct moves_t {
  struct move_t {
    uint64_t to, from, size;
    auto operator<=>(const move_t &) const = default;
  };
  std::vector<move_t> moves;

  void add(uint64_t from, uint64_t to, uint64_t size = 1) {
    if (!moves.empty() && moves.back().from + moves.back().size == from &&
        moves.back().to + moves.back().size == to)
      moves.back().size += size;
    else
      moves.push_back({to, from, size});
  }
  // By destination; no destination may appear twice.
  std::vector<move_t> settled() const {
    moves_t out;
    std::vector<move_t> sorted = moves;
    std::sort(sorted.begin(), sorted.end());
    for (const move_t &move : sorted)
      out.add(move.from, move.to, move.size);
    for (size_t k = 1; k < out.moves.size(); k++)
      EXPECT_LE(out.moves[k - 1].to + out.moves[k - 1].size, out.moves[k].to);
    return out.moves;
  }
};

// What a ring copies, by byte: packet by packet, as the engine takes them (dma-and-exec.md 6.2).
void run_ring(const vring_t &ring, moves_t *out) {
  uint32_t rx = 0, packets = 0;
  bool open = false;
  std::vector<uint64_t> bytes;
  for (uint32_t i = 0; i < ring.tx.count; i++) {
    const hal_dma_desc_t &d = ring.tx.descs[i];
    EXPECT_EQ(d.len_ctrl >> 24 & 3, 1u);
    EXPECT_EQ((d.len_ctrl & kFirst) != 0, !open);
    open = true;
    for (uint32_t b = 0; b < hal_dma_desc_bytes(&d); b++)
      bytes.push_back(d.address + b);
    if ((d.len_ctrl & kLast) == 0)
      continue;
    ASSERT_LE(bytes.size(), 0xfffffu);
    size_t at = 0;
    uint32_t descs = 0;
    for (; at < bytes.size(); descs++) {
      ASSERT_LT(rx, ring.rx.count);
      const hal_dma_desc_t &r = ring.rx.descs[rx++];
      EXPECT_EQ(r.len_ctrl & ~0xffffu, 1u << 24);
      for (uint32_t b = 0; b < hal_dma_desc_bytes(&r); b++, at++) {
        ASSERT_LT(at, bytes.size()) << "a packet ends inside a descriptor";
        out->add(bytes[at], r.address + b);
      }
    }
    ASSERT_LE(descs, 60u);
    bytes.clear();
    open = false;
    packets++;
  }
  EXPECT_FALSE(open);
  EXPECT_EQ(rx, ring.rx.count);
  EXPECT_EQ(packets, ring.packets);
}

class Rings : public ::testing::Test {
 protected:
  void SetUp() override {
    plan p;
    p.add(MR_SB, "SB", 0);
    p.add(MR_TMP_BUF, "a", 8 << 20);
    p.add(MR_TMP_BUF, "b", 8 << 20);
    p.add(MR_INPUT, "in", 1 << 20);
    p.list(MR_LIST, "list", {1});
    nn = model_of(p);
    l = std::make_unique<loaded>(m, *nn);
    ASSERT_EQ(l->status, NRT_SUCCESS);
  }
  void TearDown() override { clear(); }
  void clear() {
    for (vring_t &ring : rings)
      vring_free(&ring);
  }

  NRT_STATUS expand(const kbin_dma_transfer_t &t, uint32_t num_rings = 16) {
    return dma_expand_transfer(l->info, 0, &t, rings, num_rings);
  }
  // Expands and compares with the walk.
  void check(const kbin_dma_transfer_t &t, uint32_t num_rings = 16) {
    clear();
    ASSERT_EQ(expand(t, num_rings), NRT_SUCCESS);
    std::vector<uint64_t> from, to;
    for (const kbin_dma_pattern_t &p : t.from)
      walk(p, l->address(p.var_id), &from);
    walk(t.to, l->address(t.to.var_id), &to);
    ASSERT_EQ(from.size(), to.size());
    moves_t want, got;
    for (size_t i = 0; i < from.size(); i++)
      want.add(from[i], to[i]);
    for (const vring_t &ring : rings)
      run_ring(ring, &got);
    EXPECT_TRUE(want.settled() == got.settled());
  }
  // "TX,RX" of every ring without completions; one figure when all are the same.
  std::string counts() {
    std::string out, last;
    for (const vring_t &ring : rings) {
      std::string text = std::to_string(ring.tx.count) + "," + std::to_string(ring.rx.count);
      if (text != last)
        out += (out.empty() ? "" : " ") + text;
      last = text;
    }
    return out;
  }
  void expect_refusal(const kbin_dma_transfer_t &t, const char *reason) {
    log_watch log;
    clear();
    EXPECT_EQ(expand(t), NRT_INVALID);
    EXPECT_THAT(log.take_errors(), ::testing::ElementsAre(HasSubstr(reason)));
  }

  machine m;
  std::unique_ptr<kelf_nn_t> nn;
  std::unique_ptr<loaded> l;
  vring_t rings[16] = {};
};

TEST_F(Rings, RecordedCounts) {
  constexpr int64_t kLane = 262144;
  // attn_v6: 2 rows of the state buffer into 8 bytes, all on ring 0.
  check(transfer({pattern(0, 5 << 18, {4, 2}, {1, kLane})}, pattern(1, 0, {8, 1}, {1, 8}), -1));
  EXPECT_EQ(counts(), "2,1 0,0");
  // 128 rows: a strided side 8, a contiguous one 2, whatever the row.
  check(transfer({pattern(1, 0, {2, 128}, {1, 2})}, pattern(0, 64, {2, 128}, {1, kLane}), 1));
  EXPECT_EQ(counts(), "2,8");
  check(
      transfer({pattern(1, 0, {8000, 128}, {1, 8000})}, pattern(0, 0, {8000, 128}, {1, kLane}), 1));
  EXPECT_EQ(counts(), "2,8");
  check(transfer({pattern(0, 0, {512, 128}, {1, kLane})}, pattern(1, 3, {512, 128}, {1, 1024}), 1));
  EXPECT_EQ(counts(), "8,8");
  check(transfer({pattern(0, 0, {512, 128}, {1, kLane})}, pattern(1, 0, {65536}, {1}), 1));
  EXPECT_EQ(counts(), "8,2");
  check(transfer({pattern(1, 0, {512, 128}, {1, 512})}, pattern(2, 0, {512, 128}, {1, 512}), 1));
  EXPECT_EQ(counts(), "2,2");
  // 16,384 rows of 18 bytes: 1,024.
  check(transfer({pattern(1, 0, {18, 128, 128}, {1, 32, 4096})},
                 pattern(0, 0, {18, 128, 128}, {1, 64, kLane}), 1));
  EXPECT_EQ(counts(), "1024,1024");
}

// A contiguous side beside more rows than a packet takes is cut further.
TEST_F(Rings, PacketsStayInsideTheirLimits) {
  check(transfer({pattern(1, 0, {4, 4096}, {1, 8})}, pattern(2, 0, {16384}, {1}), 1));
  EXPECT_EQ(counts(), "256,6");  // 256 rows per ring, 128 per half: 60, 60, 8
  check(transfer({pattern(1, 7, {300'000}, {1})}, pattern(2, 1, {300'000}, {1}), -1));
  EXPECT_EQ(counts(), "5,5 0,0");  // 65,536 bytes each
  check(transfer({pattern(1, 0, {70'000, 16}, {1, 70'001})}, pattern(2, 0, {1'120'000}, {1}), 1));
}

TEST_F(Rings, OddShapesAndBroadcasts) {
  check(transfer({pattern(1, 5, {7, 3, 5}, {1, 100, 1000})}, pattern(2, 3, {35, 3}, {1, 77}), -1));
  check(transfer({pattern(1, 5, {7, 3, 5}, {1, 100, 1000})}, pattern(2, 3, {35, 3}, {1, 77}), 1));
  check(transfer({pattern(1, 0, {2, 128, 16}, {1, 0, 2})}, pattern(2, 0, {4096}, {1}), 1));
  check(transfer({pattern(1, 1000, {4, 20}, {1, -40})}, pattern(2, 0, {4, 20}, {1, 64}), 1));
  // A transpose of bytes: steps of the innermost dimension other than 1.
  check(transfer({pattern(1, 0, {16, 16}, {16, 1})}, pattern(2, 0, {16, 16}, {1, 16}), 1));
  // 20 rows over 16 rings: 2 on the first four.
  check(transfer({pattern(1, 0, {4, 20}, {1, 8})}, pattern(2, 0, {4, 20}, {1, 16}), 1));
  EXPECT_EQ(counts(), "2,2 1,1");
  // Fewer rings.
  check(transfer({pattern(1, 0, {4, 20}, {1, 8})}, pattern(2, 0, {4, 20}, {1, 16}), 1), 3);
  check(transfer({pattern(1, 0, {4, 20}, {1, 8})}, pattern(2, 0, {4, 20}, {1, 16}), 1), 1);
  EXPECT_EQ(rings[0].tx.count, 20u);
}

TEST_F(Rings, SeveralSourcesFollowOneAnother) {
  auto to = pattern(2, 0, {64, 32}, {1, 100});
  for (int tiling : {-1, 1}) {
    check(transfer({pattern(1, 0, {64, 16}, {1, 128}), pattern(1, 1 << 20, {64, 16}, {1, 64})}, to,
                   tiling));
    check(transfer({pattern(1, 0, {100}, {1}), pattern(1, 4096, {1948}, {1})}, to, tiling));
  }
}

TEST_F(Rings, RandomPatterns) {
  std::mt19937 rng(20260);
  auto pick = [&](uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(rng);
  };
  for (int run = 0; run < 200; run++) {
    SCOPED_TRACE(run);
    // Both sides: factors of one length, in different shapes.
    uint64_t f[4] = {pick(1, 9), pick(1, 7), pick(1, 6), pick(1, 4)};
    auto shape = [&](uint32_t var) {
      std::vector<uint64_t> sizes(f, f + 4);
      if (pick(0, 1) != 0) {  // merge neighbours
        size_t at = pick(0, 2);
        sizes[at] *= sizes[at + 1];
        sizes.erase(sizes.begin() + static_cast<long>(at) + 1);
      }
      std::vector<int64_t> steps;
      uint64_t extent = 1;
      for (uint64_t size : sizes) {
        uint64_t gap = pick(0, 2) == 0 ? pick(0, 5) : 0;
        steps.push_back(static_cast<int64_t>(extent + gap));
        extent = (extent + gap) * size;
      }
      return pattern(var, pick(0, 1000), sizes, steps);
    };
    kbin_dma_pattern_t from = shape(1), to = shape(2);
    check(transfer({from}, to, pick(0, 1) == 0 ? -1 : static_cast<int32_t>(pick(1, 4))),
          static_cast<uint32_t>(pick(1, 16)));
  }
}

TEST_F(Rings, Casts) {
  // int8 to fp32, identity of a 2.21 program: M2S 16, S2M 8 (G8.2): types and row, row by row.
  auto t = transfer({pattern(1, 0, {128, 128}, {1, 128}, KBIN_DTYPE_INT8)},
                    pattern(0, 0, {512, 128}, {1, 262144}, KBIN_DTYPE_FP32), 1,
                    kbin_dma_desc_op_t::CAST);
  ASSERT_EQ(expand(t), NRT_SUCCESS);
  EXPECT_EQ(counts(), "16,8");
  for (uint32_t k = 0; k < 16; k++) {
    for (uint32_t i = 0; i < 8; i++) {
      const hal_dma_desc_t &types = rings[k].tx.descs[2 * i], &data = rings[k].tx.descs[2 * i + 1];
      EXPECT_EQ(types.len_ctrl, 1u << 24 | kFirst | kMeta);
      EXPECT_EQ(types.meta_ctrl, 4u << 23);
      EXPECT_EQ(types.address, 0x0a02u);  // fp32, int8
      EXPECT_EQ(data.len_ctrl, 1u << 24 | kLast | 128);
      EXPECT_EQ(data.address, l->address(1) + 128 * (8 * k + i));
      EXPECT_EQ(rings[k].rx.descs[i].len_ctrl, 1u << 24 | 512);
      EXPECT_EQ(rings[k].rx.descs[i].address, l->address(0) + (8 * k + i) * 262144);
    }
  }
  // Rows beyond a descriptor are cut between elements on both sides.
  clear();
  t = transfer({pattern(1, 0, {300'000}, {1}, KBIN_DTYPE_FP32)},
               pattern(2, 0, {150'000}, {1}, KBIN_DTYPE_BF16), -1);
  ASSERT_EQ(expand(t), NRT_SUCCESS);
  uint64_t tx = 0, rx = 0;
  for (uint32_t i = 0; i < rings[0].tx.count; i++)
    if ((rings[0].tx.descs[i].len_ctrl & kMeta) == 0)
      tx += hal_dma_desc_bytes(&rings[0].tx.descs[i]);
  for (uint32_t i = 0; i < rings[0].rx.count; i++)
    rx += hal_dma_desc_bytes(&rings[0].rx.descs[i]);
  EXPECT_EQ(tx, 300'000u);
  EXPECT_EQ(rx, 150'000u);
}

TEST_F(Rings, PlacesOfInputsAreKept) {
  auto t = transfer({pattern(3, 64, {32, 4}, {1, 128})}, pattern(2, 0, {128}, {1}), -1);
  ASSERT_EQ(expand(t), NRT_SUCCESS);
  ASSERT_EQ(rings[0].tx.num_io, 4u);
  EXPECT_EQ(rings[0].rx.num_io, 0u);
  for (uint32_t i = 0; i < 4; i++) {
    EXPECT_EQ(rings[0].tx.io[i].index, i);
    EXPECT_EQ(rings[0].tx.io[i].slot, 0u);
    EXPECT_EQ(rings[0].tx.io[i].offset, 64 + 128 * i);
  }
}

TEST_F(Rings, Refusals) {
  auto a = pattern(1, 0, {64, 2}, {1, 64}), b = pattern(2, 0, {64, 2}, {1, 64});
  expect_refusal(transfer({a}, pattern(2, 0, {64, 3}, {1, 64}), 1), "reads 128 bytes");
  expect_refusal(transfer({pattern(1, 0, {64, 3}, {1, 64})}, b, 1), "writes 128");
  expect_refusal(transfer({a}, pattern(2, (8 << 20) - 127, {64, 2}, {1, 64}), 1),
                 "lie outside its 8388608 bytes");
  expect_refusal(transfer({pattern(1, 10, {64, 2}, {1, -64})}, b, 1), "begins before it");
  expect_refusal(transfer({pattern(4, 0, {64, 2}, {1, 64})}, b, 1), "list");
  expect_refusal(transfer({pattern(99, 0, {64, 2}, {1, 64})}, b, 1), "id 99 does not exist");
  expect_refusal(transfer({pattern(1, 0, {64, 0}, {1, 64})}, b, 1), "size 0 in dimension 1");
  expect_refusal(transfer({pattern(1, 0, {1, 1ull << 40, 1ull << 40}, {1, 0, 0})}, b, 1),
                 "too many bytes");
  expect_refusal(transfer({}, b, 1), "0 sources");
  expect_refusal(transfer({a}, b, 1, kbin_dma_desc_op_t::TRANSPOSE), "operation transpose");
  expect_refusal(transfer({a}, b, 1, kbin_dma_desc_op_t::FMA), "operation fma");
  expect_refusal(transfer({a}, b, 1, kbin_dma_desc_op_t::ADD), "operation add");
  expect_refusal(transfer({a}, b, 1, kbin_dma_desc_op_t::MIN), "operation min");
  expect_refusal(transfer({a}, b, 1, kbin_dma_desc_op_t::MAX), "operation max");
  a.dtype = KBIN_DTYPE_FP32;
  b.dtype = KBIN_DTYPE_BF16;
  expect_refusal(transfer({a, a}, b, 1), "cast with 2 sources");
  expect_refusal(transfer({a}, b, 1), "32 elements");
  a.sizes[0] = 30;
  expect_refusal(transfer({a}, b, 1), "rows of 30 bytes for elements of 4");
}

TEST_F(Rings, BarrierStandsOnTheLastData) {
  vring_close_data(&rings[0]);  // nothing there
  ASSERT_EQ(expand(transfer({pattern(1, 0, {4, 3}, {1, 8})}, pattern(2, 0, {12}, {1}), -1)),
            NRT_SUCCESS);
  vring_close_data(&rings[0]);
  for (uint32_t i = 0; i < 3; i++)
    EXPECT_EQ(rings[0].tx.descs[i].meta_ctrl, i == 2 ? 0x05080003u : 0x01080003u);
}

TEST_F(Rings, PhysicalRings) {
  // neff-format.md 5.3: descriptors and capacity.
  const std::vector<std::pair<uint32_t, uint32_t>> recorded = {
      {0, 64},  {8, 64},  {9, 64},  {16, 64}, {18, 64},   {20, 64},  {31, 64},
      {32, 48}, {40, 64}, {60, 80}, {80, 96}, {252, 272}, {504, 528}};
  for (const auto &[count, capacity] : recorded)
    EXPECT_EQ(pring_capacity(count), capacity) << count;
  EXPECT_GE(pring_capacity(VRING_HALF_MAX), VRING_HALF_MAX + 16);

  ASSERT_EQ(expand(transfer({pattern(3, 8, {4, 40}, {1, 8})}, pattern(2, 0, {160}, {1}), -1)),
            NRT_SUCCESS);
  dmem_list_t *tracker = dmem_list_create();
  io_refs_t refs = {};
  pring_t ring;
  ASSERT_EQ(pring_create(&l->info->mr_sets[0], tracker, dma_mem_usage_type_t::DMA_RING_IO, "q",
                         &rings[0].tx, &refs, &ring),
            NRT_SUCCESS);
  EXPECT_EQ(ring.used, 40u);
  EXPECT_EQ(ring.allocated, 64u);
  EXPECT_EQ(ring.pa % 256, 0u);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::DMA_RING_IO), 1024u);
  const auto *descs = static_cast<const hal_dma_desc_t *>(m.dram(ring.pa, 1024));
  ASSERT_NE(descs, nullptr);
  EXPECT_EQ(memcmp(descs, rings[0].tx.descs, 40 * 16), 0);
  for (uint32_t i = 40; i < 64; i++)
    EXPECT_EQ(descs[i].len_ctrl, 0u);
  ASSERT_EQ(refs.count, 40u);
  EXPECT_EQ(refs.items[5].mem, ring.mem);
  EXPECT_EQ(refs.items[5].at, 5 * 16 + 8u);
  EXPECT_EQ(refs.items[5].offset, 8 + 5 * 8u);
  io_refs_free(&refs);
  dmem_list_destroy(tracker);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::DMA_RING_IO), 0u);
}

}  // namespace
