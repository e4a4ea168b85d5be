// SPDX-License-Identifier: Apache-2.0
// Scratchpad arenas: the layout rule, both modes on the mock, and invariants 17 to 25 of
// device-memory.md section 6.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <random>

#include "tests/tdrv/machine.h"

namespace {

const machine_options kV2 = {.instance = "trn1.2xlarge", .lnc = 1};
const machine_options kV2Paged = {.instance = "trn1.2xlarge", .lnc = 1, .contiguous = false};

// The arenas of a model with one subgraph.
struct arenas {
  arenas(machine &m, uint64_t local, uint64_t shared = 0) {
    status = tdrv_scratchpad_model_init(m.vcore()->tpbs, m.vcore()->num_tpbs, &local, &shared, 1,
                                        &model);
  }
  ~arenas() { tdrv_scratchpad_cleanup(&model); }
  arenas(const arenas &) = delete;
  arenas &operator=(const arenas &) = delete;

  // Device address of a byte of the local arena; all ones when no page holds [offset, +size).
  uint64_t address(uint64_t offset, uint64_t size = 1) {
    dmem_t *mem = nullptr;
    uint64_t in_page = 0;
    const tdrv_scratchpad_info_t &a = model.local[0];
    if (tdrv_scratchpad_get_mem(&a.tpb->scratchpad, a.model_pages, a.offset + offset, size, &mem,
                                &in_page) != NRT_SUCCESS)
      return ~0ull;
    return dmem_get_pa(mem) + in_page;
  }
  NRT_STATUS status;
  tdrv_scratchpad_model_t model = {};
};

std::vector<uint32_t> refs(const tdrv_scratchpad_t &s) {
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < s.num_pages; ++i)
    list.push_back(s.pages[i].refs);
  return list;
}

std::vector<uint64_t> bases(const tdrv_scratchpad_t &s) {
  std::vector<uint64_t> list;
  for (uint32_t i = 0; i < s.num_pages; ++i)
    list.push_back(dmem_get_pa(s.pages[i].mem));
  return list;
}

}  // namespace

TEST(ScratchpadLayout, PagedVectorOfTheSheet) {
  uint64_t at = 0, start = 0;
  std::vector<uint64_t> starts;
  for (uint64_t size : {384 * kMiB, 256 * kMiB, 128 * kMiB, 1 * kMiB}) {
    ASSERT_TRUE(tdrv_scratchpad_layout(at, size, 512 * kMiB, false, &start, &at));
    starts.push_back(start);
  }
  EXPECT_EQ(starts, (std::vector<uint64_t>{0, 512 * kMiB, 768 * kMiB, 896 * kMiB}));
  EXPECT_EQ(at, 897 * kMiB);
}

TEST(ScratchpadLayout, ContiguousVectorOfTheSheet) {
  uint64_t at = 0, start = 0;
  std::vector<uint64_t> starts;
  for (uint64_t size : {384 * kMiB, 256 * kMiB, 128 * kMiB, 1 * kMiB}) {
    ASSERT_TRUE(tdrv_scratchpad_layout(at, size, 64 * kMiB, true, &start, &at));
    starts.push_back(start);
  }
  EXPECT_EQ(starts, (std::vector<uint64_t>{0, 384 * kMiB, 640 * kMiB, 768 * kMiB}));
}

TEST(ScratchpadLayout, PageBoundaryIsNotPaddedAndAnArenaMaySpanPages) {
  uint64_t start = 1, next = 0;
  ASSERT_TRUE(tdrv_scratchpad_layout(512 * kMiB, 2048 * kMiB, 512 * kMiB, false, &start, &next));
  EXPECT_EQ(start, 512 * kMiB);
  EXPECT_EQ(next, 2560 * kMiB);
  ASSERT_TRUE(tdrv_scratchpad_layout(100, 412, 512, false, &start, &next));  // fits exactly
  EXPECT_EQ(start, 100u);
  ASSERT_TRUE(tdrv_scratchpad_layout(100, 413, 512, false, &start, &next));
  EXPECT_EQ(start, 512u);
}

TEST(ScratchpadLayout, OverflowIsReported) {
  uint64_t start = 7, next = 7;
  EXPECT_FALSE(tdrv_scratchpad_layout(~0ull - 10, 11, 512, true, &start, &next));
  EXPECT_FALSE(tdrv_scratchpad_layout(~0ull - 10, 100, 512, false, &start, &next));
  EXPECT_FALSE(tdrv_scratchpad_layout(1, ~0ull, 512, true, &start, &next));
  EXPECT_EQ(start, 7u);
  EXPECT_EQ(next, 7u);
}

TEST(ScratchpadInit, PageSizeIsAThirtyTwoBitNumber) {
  log_watch log;
  tdrv_scratchpad_t s;
  EXPECT_EQ(tdrv_scratchpad_init(&s, 0, false), NRT_INVALID);
  EXPECT_EQ(tdrv_scratchpad_init(&s, 1ull << 32, false), NRT_INVALID);
  EXPECT_EQ(log.take_errors().size(), 2u);
  ASSERT_EQ(tdrv_scratchpad_init(&s, 0xFFFFFFFF, true), NRT_SUCCESS);
  EXPECT_EQ(s.page_size, 0x4000000u);
  EXPECT_EQ(s.num_pages, 0u);
  tdrv_scratchpad_fini(&s);
}

TEST(ScratchpadMode, ContiguousOnlyWhereDeviceAndCoreSizeAllow) {
  struct row {
    machine_options options;
    bool contiguous;
  };
  const row rows[] = {
      {{.instance = "trn2.3xlarge", .lnc = 2}, true},
      {{.instance = "trn2.3xlarge", .lnc = 1}, false},
      {{.instance = "trn2.3xlarge", .lnc = 2, .contiguous = false}, false},
      {{.instance = "trn2.3xlarge", .lnc = 2, .hide_features = "0x80"}, false},
      {{.instance = "trn1.2xlarge", .lnc = 1}, true},
      {{.instance = "trn1.2xlarge", .lnc = 1, .hide_features = "0x80"}, false},
  };
  for (const row &r : rows) {
    machine m(r.options);
    EXPECT_EQ(m.tpb()->scratchpad.is_contiguous, r.contiguous)
        << r.options.instance << " lnc " << r.options.lnc;
    EXPECT_EQ(m.tpb()->scratchpad.page_size, r.contiguous ? 64 * kMiB : 512 * kMiB);
  }
}

TEST(ScratchpadContiguous, VectorOfTheSheetOnV2) {
  machine m(kV2);
  tdrv_scratchpad_t &s = m.tpb()->scratchpad;
  arenas a(m, 100 * kMiB);
  ASSERT_EQ(a.status, NRT_SUCCESS);
  EXPECT_EQ(bases(s), (std::vector<uint64_t>{0x3BC000000, 0x3B8000000}));
  EXPECT_EQ(a.address(0x6000000), 0x3BE000000u);
  uint64_t before = a.address(0);
  {
    arenas b(m, 200 * kMiB);
    ASSERT_EQ(b.status, NRT_SUCCESS);
    EXPECT_EQ(bases(s),
              (std::vector<uint64_t>{0x3BC000000, 0x3B8000000, 0x3B4000000, 0x3B0000000}));
    EXPECT_EQ(b.address(0), 0x3B0000000u);
    EXPECT_EQ(a.address(0), before);
    EXPECT_EQ(refs(s), (std::vector<uint32_t>{2, 2, 1, 1}));
  }
  EXPECT_EQ(refs(s), (std::vector<uint32_t>{1, 1}));
  EXPECT_EQ(a.address(0), 0x3B8000000u);
}

// Unloading the bigger model must not free pages under the smaller one, in either order.
TEST(ScratchpadContiguous, SmallModelBesideABiggerOneUsesItsOwnPageCount) {
  machine m(kV2);
  auto big = std::make_unique<arenas>(m, 200 * kMiB);
  ASSERT_EQ(big->status, NRT_SUCCESS);
  uint64_t allocations = m.allocations();
  arenas small(m, 100 * kMiB);
  ASSERT_EQ(small.status, NRT_SUCCESS);
  EXPECT_EQ(m.allocations(), allocations);
  EXPECT_EQ(small.address(0), 0x3B8000000u);  // end of pool - 2 pages, whatever else is loaded
  big.reset();
  EXPECT_EQ(bases(m.tpb()->scratchpad), (std::vector<uint64_t>{0x3BC000000, 0x3B8000000}));
  EXPECT_EQ(small.address(0), 0x3B8000000u);
}

TEST(ScratchpadContiguous, V3SecondChannel) {
  machine m({.instance = "trn2.3xlarge", .lnc = 2, .first_vnc = 1, .num_vncs = 1});
  arenas a(m, 65 * kMiB);
  ASSERT_EQ(a.status, NRT_SUCCESS);
  constexpr uint64_t kEnd = 0x45C0000000;  // end of main pool of channel 1
  EXPECT_EQ(bases(m.tpb()->scratchpad),
            (std::vector<uint64_t>{kEnd - 64 * kMiB, kEnd - 128 * kMiB}));
}

TEST(ScratchpadContiguous, Invariant21PagesDescendAndTheLinearFormHolds) {
  machine m(kV2);
  constexpr uint64_t kEnd = 15 * kGiB;
  arenas a(m, 130 * kMiB), b(m, 700 * kMiB), c(m, 64 * kMiB);
  auto base = bases(m.tpb()->scratchpad);
  ASSERT_EQ(base.size(), 11u);
  for (uint64_t k = 0; k < base.size(); ++k)
    EXPECT_EQ(base[k], kEnd - (k + 1) * 64 * kMiB);
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    uint64_t o = random() % (130 * kMiB);
    EXPECT_EQ(a.address(o), kEnd - 3 * 64 * kMiB + o);
    EXPECT_EQ(b.address(o), kEnd - 11 * 64 * kMiB + o);
    EXPECT_EQ(c.address(o % (64 * kMiB)), kEnd - 64 * kMiB + o % (64 * kMiB));
  }
  // Variables may cross pages, not the arena's end (rounded to pages).
  EXPECT_EQ(a.address(60 * kMiB, 70 * kMiB), kEnd - 3 * 64 * kMiB + 60 * kMiB);
  EXPECT_EQ(a.address(0, 192 * kMiB), kEnd - 3 * 64 * kMiB);
  EXPECT_EQ(a.address(0, 192 * kMiB + 1), ~0ull);
  EXPECT_EQ(a.address(192 * kMiB, 0), ~0ull);
  EXPECT_EQ(a.address(1, ~0ull), ~0ull);
}

TEST(ScratchpadContiguous, HostViewIsByteConsistentWithTheAddresses) {
  machine m(kV2);
  arenas small(m, 100 * kMiB), big(m, 200 * kMiB);
  ASSERT_EQ(big.status, NRT_SUCCESS);
  ASSERT_NE(small.model.local[0].va, nullptr);
  ASSERT_NE(big.model.local[0].va, nullptr);
  for (uint64_t o : {uint64_t{0}, 64 * kMiB - 1, 64 * kMiB, 99 * kMiB + 7}) {
    for (arenas *a : {&small, &big}) {
      auto value = static_cast<uint8_t>(o / 13 + (a == &big ? 101 : 7));
      static_cast<uint8_t *>(a->model.local[0].va)[o] = value;
      EXPECT_EQ(*static_cast<uint8_t *>(m.dram(a->address(o), 1)), value);
    }
  }
}

TEST(ScratchpadContiguous, ReleasedInDescendingIndexOrder) {
  machine m(kV2);
  auto before = m.chunks();
  {
    arenas a(m, 640 * kMiB);
    ASSERT_EQ(a.status, NRT_SUCCESS);
    EXPECT_EQ(m.tpb()->scratchpad.num_pages, 10u);
  }
  EXPECT_EQ(m.chunks(), before);
  // The driver hands out the frontier again only if its lowest page always came back first.
  arenas again(m, 64 * kMiB);
  EXPECT_EQ(bases(m.tpb()->scratchpad), (std::vector<uint64_t>{15 * kGiB - 64 * kMiB}));
}

TEST(ScratchpadContiguous, AllArenasOnTheFirstCoreOfTheLogicalCore) {
  machine m;
  uint64_t local[2] = {200 * kMiB, 50 * kMiB}, shared[2] = {100 * kMiB, 300 * kMiB};
  tdrv_scratchpad_model_t model;
  ASSERT_EQ(tdrv_scratchpad_model_init(m.vcore()->tpbs, 2, local, shared, 2, &model), NRT_SUCCESS);
  EXPECT_EQ(model.shared.size, 300 * kMiB);
  EXPECT_EQ(model.shared.offset, 0u);
  EXPECT_EQ(model.local[0].offset, 300 * kMiB);
  EXPECT_EQ(model.local[1].offset, 500 * kMiB);
  EXPECT_EQ(model.local[1].tpb, m.tpb(0));
  EXPECT_EQ(m.tpb(0)->scratchpad.num_pages, 9u);  // 550 MiB
  EXPECT_EQ(m.tpb(1)->scratchpad.num_pages, 0u);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::SCRATCHPAD, 0), 576 * kMiB);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::SCRATCHPAD, 1), 0u);
  tdrv_scratchpad_cleanup(&model);
  EXPECT_EQ(m.tpb(0)->scratchpad.num_pages, 0u);
}

TEST(ScratchpadContiguous, PageArithmeticOfTheServingRuns) {
  machine m;
  struct row {
    uint64_t local[2];
    uint64_t held;
  };
  // Figures of public logs: 688.29 + 28.07 MiB and 532721668 + 19013632 bytes.
  const row rows[] = {{{721724375, 29433528}, 768 * kMiB}, {{532721668, 19013632}, 576 * kMiB}};
  for (const row &r : rows) {
    uint64_t shared[2] = {};
    tdrv_scratchpad_model_t model;
    ASSERT_EQ(tdrv_scratchpad_model_init(m.vcore()->tpbs, 2, r.local, shared, 2, &model),
              NRT_SUCCESS);
    EXPECT_EQ(m.usage(dma_mem_usage_type_t::SCRATCHPAD, 0), r.held);
    tdrv_scratchpad_cleanup(&model);
  }
  machine paged({.contiguous = false});
  uint64_t shared[2] = {};
  tdrv_scratchpad_model_t model;
  ASSERT_EQ(tdrv_scratchpad_model_init(paged.vcore()->tpbs, 2, rows[1].local, shared, 2, &model),
            NRT_SUCCESS);
  EXPECT_EQ(paged.usage(dma_mem_usage_type_t::SCRATCHPAD, 0) +
                paged.usage(dma_mem_usage_type_t::SCRATCHPAD, 1),
            1024 * kMiB);
  tdrv_scratchpad_cleanup(&model);
}

TEST(ScratchpadPaged, SharedArenaFirstThenEachLocalOnItsOwnCore) {
  machine m({.contiguous = false});
  uint64_t local[2] = {384 * kMiB, 600 * kMiB}, shared[2] = {256 * kMiB, 128 * kMiB};
  tdrv_scratchpad_model_t model;
  ASSERT_EQ(tdrv_scratchpad_model_init(m.vcore()->tpbs, 2, local, shared, 2, &model), NRT_SUCCESS);
  EXPECT_EQ(model.shared.tpb, m.tpb(0));
  EXPECT_EQ(model.shared.size, 256 * kMiB);
  EXPECT_EQ(model.local[0].tpb, m.tpb(0));
  EXPECT_EQ(model.local[0].offset, 512 * kMiB);  // would not fit the rest of the page
  EXPECT_EQ(model.local[1].tpb, m.tpb(1));
  EXPECT_EQ(model.local[1].offset, 0u);
  EXPECT_EQ(m.tpb(0)->scratchpad.num_pages, 2u);
  EXPECT_EQ(m.tpb(1)->scratchpad.num_pages, 2u);
  EXPECT_EQ(model.shared.va, nullptr);
  tdrv_scratchpad_cleanup(&model);
}

TEST(ScratchpadPaged, VariableAcrossAPageIsNotFound) {
  machine m(kV2Paged);
  arenas a(m, 1024 * kMiB);
  EXPECT_NE(a.address(0, 512 * kMiB), ~0ull);
  EXPECT_EQ(a.address(0, 512 * kMiB + 1), ~0ull);
  EXPECT_NE(a.address(511 * kMiB, kMiB), ~0ull);
  EXPECT_EQ(a.address(511 * kMiB, kMiB + 1), ~0ull);
  EXPECT_NE(a.address(512 * kMiB, 512 * kMiB), ~0ull);
  EXPECT_EQ(a.address(1024 * kMiB, 1), ~0ull);
}

// Official example: what is shared and what becomes private, for two page sizes.
TEST(ScratchpadPaged, Invariant20OfficialExample) {
  struct row {
    uint64_t page, shared, private_bytes;
    uint32_t pages;
  };
  const row rows[] = {{512 * kMiB, 2 * kGiB, kGiB + 1536 * kMiB, 4}, {2 * kGiB, 2 * kGiB, 0, 1}};
  for (const row &r : rows) {
    machine m({.instance = "trn1.2xlarge", .lnc = 1, .contiguous = false, .page_size = r.page});
    auto before = m.chunks();
    plan pa, pb;
    uint32_t a0 = pa.virt("a0", 0, 512 * kMiB);
    uint32_t a1 = pa.virt("a1", 512 * kMiB, kGiB);
    uint32_t b0 = pb.virt("b0", 0, 100 * kMiB);
    uint32_t b1 = pb.virt("b1", 100 * kMiB, 1536 * kMiB);
    auto nn_a = model_of(pa), nn_b = model_of(pb);
    {
      loaded a(m, *nn_a);
      loaded b(m, *nn_b);
      ASSERT_EQ(a.status, NRT_SUCCESS);
      ASSERT_EQ(b.status, NRT_SUCCESS);
      EXPECT_EQ(m.usage(dma_mem_usage_type_t::SCRATCHPAD), r.shared);
      EXPECT_EQ(m.usage(dma_mem_usage_type_t::SCRATCHPAD_NOT_SHARED), r.private_bytes);
      EXPECT_EQ(m.tpb()->scratchpad.num_pages, r.pages);
      bool oversize = r.private_bytes != 0;
      EXPECT_EQ(a.var(a1)->mem->mem_usage_type == dma_mem_usage_type_t::SCRATCHPAD_NOT_SHARED,
                oversize);
      EXPECT_EQ(b.var(b1)->mem->mem_usage_type == dma_mem_usage_type_t::SCRATCHPAD_NOT_SHARED,
                oversize);
      // The ones that fit alias the same page.
      EXPECT_EQ(a.address(a0), b.address(b0));
    }
    EXPECT_EQ(m.chunks(), before);
  }
}

TEST(ScratchpadPaged, Invariant22PageBasesAreAligned) {
  machine m(kV2Paged);
  dmem_t *unaligned = nullptr;  // moves the frontier off the alignment
  ASSERT_EQ(dmem_alloc(m.tpb()->global_allocator, 600 * kKiB, dma_mem_location_t::TONGA_DRAM, 0,
                       nullptr, dma_mem_usage_type_t::TENSOR, nullptr, &unaligned),
            NRT_SUCCESS);
  arenas a(m, 1600 * kMiB);
  ASSERT_EQ(a.status, NRT_SUCCESS);
  for (uint64_t base : bases(m.tpb()->scratchpad))
    EXPECT_EQ(base % (4 * kMiB), 0u);
  dmem_free(unaligned);
}

TEST(ScratchpadPaged, Invariant23AtMost1024Pages) {
  machine m({.instance = "trn2.3xlarge", .lnc = 1, .page_size = 4 * kMiB});
  log_watch log;
  auto before = m.chunks();
  {
    arenas over(m, 4096 * kMiB + 1);
    EXPECT_EQ(over.status, NRT_RESOURCE);
    auto errors = log.take_errors();
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_THAT(errors[0], ::testing::HasSubstr("1025 pages"));
    EXPECT_THAT(errors[0], ::testing::HasSubstr("limit is 1024"));
  }
  EXPECT_EQ(m.chunks(), before);
  arenas full(m, 4096 * kMiB);
  EXPECT_EQ(full.status, NRT_SUCCESS);
  EXPECT_EQ(m.tpb()->scratchpad.num_pages, 1024u);
}

TEST(ScratchpadReserve, Invariant23FailureReleasesOnlyThisCallsPages) {
  for (bool contiguous : {false, true}) {
    machine m(
        {.instance = "trn1.2xlarge", .lnc = 1, .contiguous = contiguous, .page_size = 64 * kMiB});
    log_watch log;
    arenas first(m, 128 * kMiB);
    ASSERT_EQ(first.status, NRT_SUCCESS);
    auto held = m.chunks();
    for (uint32_t j = 1; j <= 3; ++j) {
      m.fail(NEURON_IOCTL_MEM_ALLOC_V2MT64, j, ENOMEM);
      arenas second(m, 320 * kMiB);
      EXPECT_EQ(second.status, NRT_RESOURCE) << j;
      EXPECT_EQ(log.take_errors().size(), 1u) << j;
      m.heal();
      EXPECT_EQ(m.chunks(), held) << j;
      EXPECT_EQ(refs(m.tpb()->scratchpad), (std::vector<uint32_t>{1, 1}));
    }
    arenas third(m, 320 * kMiB);
    EXPECT_EQ(third.status, NRT_SUCCESS);
    EXPECT_EQ(refs(m.tpb()->scratchpad), (std::vector<uint32_t>{2, 2, 1, 1, 1}));
  }
}

TEST(ScratchpadReserve, SecondCoreFailingUndoesTheFirst) {
  machine m({.contiguous = false});
  log_watch log;
  auto before = m.chunks();
  uint64_t local[2] = {600 * kMiB, 600 * kMiB}, shared[2] = {};
  tdrv_scratchpad_model_t model;
  m.fail(NEURON_IOCTL_MEM_ALLOC_V2MT64, 4, ENOMEM);
  EXPECT_EQ(tdrv_scratchpad_model_init(m.vcore()->tpbs, 2, local, shared, 2, &model), NRT_RESOURCE);
  EXPECT_EQ(model.num_reserved, 0u);
  EXPECT_EQ(log.take_errors().size(), 1u);
  m.heal();
  EXPECT_EQ(m.chunks(), before);
}

TEST(ScratchpadReserve, FullHbmIsAnErrorAfterRollback) {
  machine m({.instance = "trn1.2xlarge", .lnc = 1, .hbm_size = "4G"});
  log_watch log;
  auto before = m.chunks();
  {
    // Main pool: 3 GiB, of which the firmware holds 16 MiB: 47 pages fit.
    arenas over(m, 48 * 64 * kMiB);
    EXPECT_EQ(over.status, NRT_RESOURCE);
    auto errors = log.take_errors();
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_THAT(errors[0], ::testing::HasSubstr(std::to_string(47 * 64 * kMiB)));
  }
  EXPECT_EQ(m.chunks(), before);
  arenas full(m, 47 * 64 * kMiB);
  EXPECT_EQ(full.status, NRT_SUCCESS);
}

TEST(ScratchpadReserve, MappingFailureUndoesEverything) {
  machine m(kV2);
  log_watch log;
  auto before = m.chunks();
  m.fail(NEURON_IOCTL_MEM_GET_INFO, 1, EIO, true);
  {
    arenas a(m, 100 * kMiB);
    EXPECT_NE(a.status, NRT_SUCCESS);
  }
  EXPECT_EQ(log.take_errors().size(), 1u);
  m.heal();
  EXPECT_EQ(m.chunks(), before);
  EXPECT_EQ(m.tpb()->scratchpad.num_pages, 0u);
}

TEST(ScratchpadReserve, WholeHbmMustBelongToTheLogicalCore) {
  machine m({.instance = "trn2.3xlarge", .lnc = 2, .num_vncs = 2});
  log_watch log;
  uint64_t local[2] = {kMiB, kMiB}, shared[2] = {};
  tdrv_scratchpad_model_t model;
  tpb_t *half[] = {m.tpb(0)};
  EXPECT_EQ(tdrv_scratchpad_model_init(half, 1, local, shared, 1, &model), NRT_INVALID);
  tpb_t *mixed[] = {m.tpb(0, 0), m.tpb(0, 1)};
  EXPECT_EQ(tdrv_scratchpad_model_init(mixed, 2, local, shared, 2, &model), NRT_INVALID);
  EXPECT_EQ(log.take_errors().size(), 2u);
  EXPECT_EQ(m.tpb(0)->scratchpad.num_pages, 0u);
}

TEST(ScratchpadReserve, PageThatIsNotAdjacentIsRefused) {
  machine m(kV2);
  log_watch log;
  arenas first(m, 64 * kMiB);
  ASSERT_EQ(first.status, NRT_SUCCESS);
  // Someone else's page below ours, as another process on the same HBM would take it.
  dmem_t *foreign = nullptr;
  ASSERT_EQ(dmem_alloc_contiguous_page(m.tpb()->global_allocator, 64 * kMiB, &foreign),
            NRT_SUCCESS);
  {
    arenas second(m, 128 * kMiB);
    EXPECT_EQ(second.status, NRT_RESOURCE);
  }
  auto errors = log.take_errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0], ::testing::HasSubstr("not directly below"));
  EXPECT_EQ(refs(m.tpb()->scratchpad), (std::vector<uint32_t>{1}));
  dmem_free(foreign);
}

// Invariants 17, 18 and 19 over random load and unload sequences.
TEST(ScratchpadReserve, Invariants17To19OverRandomSequences) {
  for (bool contiguous : {false, true}) {
    machine m(
        {.instance = "trn1.2xlarge", .lnc = 1, .contiguous = contiguous, .page_size = 64 * kMiB});
    struct entry {
      std::unique_ptr<arenas> a;
      uint32_t pages;
      uint64_t first_address;
    };
    std::vector<entry> models;
    std::mt19937_64 random(11);
    for (int step = 0; step < 300; ++step) {
      uint32_t most = 0;
      for (const entry &e : models)
        most = std::max(most, e.pages);
      if (models.empty() || random() % 2 == 0) {
        auto pages = static_cast<uint32_t>(random() % 12);
        uint64_t bytes = pages == 0 ? 0 : (pages - 1) * 64 * kMiB + 1 + random() % (64 * kMiB);
        uint64_t allocations = m.allocations();
        entry e{std::make_unique<arenas>(m, bytes), pages, 0};
        ASSERT_EQ(e.a->status, NRT_SUCCESS);
        EXPECT_EQ(m.allocations() - allocations, pages > most ? pages - most : 0);
        e.first_address = pages == 0 ? 0 : e.a->address(0);
        models.push_back(std::move(e));
      } else {
        models.erase(models.begin() + static_cast<long>(random() % models.size()));
      }
      most = 0;
      std::vector<uint32_t> expected(12);
      for (const entry &e : models) {
        most = std::max(most, e.pages);
        for (uint32_t i = 0; i < e.pages; ++i)
          ++expected[i];
        if (e.pages != 0) {
          EXPECT_EQ(e.a->address(0), e.first_address);
        }
      }
      expected.resize(most);
      ASSERT_EQ(refs(m.tpb()->scratchpad), expected) << step;
    }
  }
}

TEST(ScratchpadReserve, Invariants24And25AreasOfOneModelDoNotOverlap) {
  for (bool contiguous : {false, true}) {
    machine m({.contiguous = contiguous});
    plan first, second;
    struct range {
      uint64_t begin, end;
      int area;
    };
    // Inside one area variables may alias on purpose: "a" and "b" share bytes.
    uint32_t ids[2][4];
    plan *plans[] = {&first, &second};
    for (int k = 0; k < 2; ++k) {
      ids[k][0] = plans[k]->virt("local a", 0, 10 * kMiB);
      ids[k][1] = plans[k]->virt("local b", 5 * kMiB, 90 * kMiB);
      ids[k][2] = plans[k]->virt("shared a", 0, 33 * kMiB, KBIN_BACKING_BUF_SHARED);
      ids[k][3] = plans[k]->virt("shared b", 30 * kMiB, 50 * kMiB, KBIN_BACKING_BUF_SHARED);
    }
    auto nn = model_of(first, second);
    loaded model(m, *nn);
    ASSERT_EQ(model.status, NRT_SUCCESS);
    std::vector<range> ranges;
    for (uint32_t k = 0; k < 2; ++k) {
      for (int v = 0; v < 4; ++v) {
        uint64_t at = model.address(ids[k][v], k);
        ranges.push_back({at, at + model.var(ids[k][v], k)->size, v < 2 ? static_cast<int>(k) : 2});
        EXPECT_EQ(model.var(ids[k][v], k)->shared_virtual_scratchpad, v >= 2);
      }
    }
    EXPECT_EQ(model.address(ids[0][1], 0) - model.address(ids[0][0], 0), 5 * kMiB);
    EXPECT_EQ(model.address(ids[0][2], 0), model.address(ids[1][2], 1));
    for (const range &x : ranges) {
      for (const range &y : ranges) {
        if (x.area != y.area) {
          EXPECT_TRUE(x.end <= y.begin || y.end <= x.begin);
        }
      }
    }
  }
}
