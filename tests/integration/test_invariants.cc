// SPDX-License-Identifier: Apache-2.0
// The invariants of device-memory.md 6 that the whole stack can show without execution, by number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tdrv/tensor.h"
#include "tests/integration/stack.h"
#include "uapi/neuron_shared.h"

using testing::ElementsAre;

namespace {

constexpr uint64_t kPage = 64 * kMiB;

// A model whose arenas need exactly `mib` MiB on one core: one large local variable.
std::vector<uint8_t> file_with_scratch(uint64_t mib, uint32_t variant = 0) {
  sample_t sample = sample_make({.subgraphs = 1, .variant = variant});
  // The shared arena takes 2 MiB + 4 KiB in front; v_main then fills up to the wanted total.
  uint64_t total = mib * kMiB - (kSampleSharedOffset + kSampleShared);
  sample.replace("sg00/def.json", R"("size": 3145728, "backing_variable_off": 1048576)",
                 fmt::format(R"("size": {}, "backing_variable_off": 1048576)", total - kMiB));
  return sample_bytes(sample);
}

std::vector<chunk_t> with_category(const std::vector<chunk_t> &chunks, uint32_t category) {
  std::vector<chunk_t> found;
  std::copy_if(chunks.begin(), chunks.end(), std::back_inserter(found),
               [&](const chunk_t &c) { return c.category == category; });
  return found;
}

std::vector<chunk_t> scratch_chunks(stack &s) {
  return with_category(s.chunks(), NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE);
}

std::vector<uint32_t> page_refs(stack &s, uint32_t vnc = 0) {
  const tdrv_scratchpad_t &pad = tdrv_vcore(s.tdrv, vnc)->tpbs[0]->scratchpad;
  std::vector<uint32_t> refs;
  for (uint32_t i = 0; i < pad.num_pages; i++)
    refs.push_back(pad.pages[i].refs);
  return refs;
}

uint64_t usage(const dmem_usage_table_t &t, uint32_t core, dma_mem_usage_type_t type) {
  return t.by_usage[core][static_cast<uint32_t>(type)];
}

// Small random numbers without a library's opinion on them.
uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525 + 1013904223;
  return *state >> 16;
}

}  // namespace

TEST(Invariant01, EveryAllocationLiesInsideOneChannelAboveTheFirmware) {
  for (const char *instance : {"trn1.2xlarge", "trn2.3xlarge"}) {
    bool v2 = strcmp(instance, "trn1.2xlarge") == 0;
    stack s({.instance = instance, .lnc = v2 ? 1u : 2u});
    ASSERT_TRUE(s.ok());
    auto file = sample_file({.target = "*", .subgraphs = v2 ? 1u : 2u});
    H_NN h = 0;
    for (int i = 0; i < 8; i++)
      ASSERT_EQ(s.load(file, -1, &h), NRT_SUCCESS);
    const uint64_t v2_base[] = {0, 0x1000000000};
    const uint64_t v3_base[] = {0, 0x4000000000, 0x800000000000, 0x804000000000};
    uint32_t seen = 0;
    for (const chunk_t &c : s.chunks()) {
      if (c.category == NEURON_MEM_NCDEV_DEVICE)
        continue;
      uint64_t base = v2 ? v2_base[c.hbm] : v3_base[c.hbm];
      EXPECT_GE(c.pa, base + 16 * kMiB);
      EXPECT_LE(c.pa + c.size, base + (v2 ? 16 : 24) * kGiB);
      EXPECT_EQ(c.pa >> 63, 0u);
      seen++;
    }
    EXPECT_GT(seen, 8u * 8u);
  }
}

TEST(Invariant02, NoTwoLiveAllocationsOverlap) {
  stack s;
  ASSERT_TRUE(s.ok());
  std::vector<std::vector<uint8_t>> files = {sample_file(), file_with_scratch(100),
                                             file_with_scratch(200, 1)};
  std::vector<H_NN> live;
  uint32_t random = 7;
  for (int step = 0; step < 60; step++) {
    if (live.size() < 3 || next_random(&random) % 2 == 0) {
      H_NN h = 0;
      ASSERT_EQ(s.load(files[next_random(&random) % 3],
                       static_cast<int32_t>(next_random(&random) % 4), &h),
                NRT_SUCCESS);
      live.push_back(h);
    } else {
      size_t i = next_random(&random) % live.size();
      ASSERT_EQ(s.unload(live[i]), NRT_SUCCESS);
      live.erase(live.begin() + static_cast<long>(i));
    }
    std::vector<chunk_t> chunks = s.chunks();
    for (size_t i = 1; i < chunks.size(); i++) {
      if (chunks[i].hbm == chunks[i - 1].hbm) {
        ASSERT_LE(chunks[i - 1].pa + chunks[i - 1].size, chunks[i].pa) << "step " << step;
      }
    }
  }
}

TEST(Invariant05, AddressAndMappingShowTheSameBytesInEveryChannel) {
  for (const char *instance : {"trn1.2xlarge", "trn2.3xlarge"}) {
    stack s({.instance = instance, .lnc = 1});
    ASSERT_TRUE(s.ok());
    hal_device_t *device = nullptr;
    ASSERT_EQ(hal_device_open(s.hal, 0, &device), NRT_SUCCESS);
    const hal_arch_t *arch = hal_arch(s.hal);
    for (uint32_t hbm = 0; hbm < arch->hbm_count; hbm++) {
      // One chunk at the bottom of the main pool, one at the bottom of the small pool.
      for (uint64_t size : {1 * kMiB, 4 * kKiB}) {
        hal_mem_request_t request{};
        request.size = size;
        request.location = HAL_LOCATION_DEVICE;
        request.hbm_index = hbm;
        request.nc_id = hbm * arch->cores_per_hbm;
        request.category = NEURON_MEM_TENSORS_DEVICE;
        uint64_t handle = 0, cookie = 0, pa = 0;
        ASSERT_EQ(hal_mem_alloc(device, &request, &handle), 0);
        ASSERT_EQ(hal_mem_get_info(device, handle, &cookie, &pa), 0);
        void *va = nullptr;
        ASSERT_EQ(hal_mem_map(device, cookie, size, PROT_READ | PROT_WRITE, &va), 0);
        static_cast<uint8_t *>(va)[0] = 0x5A;
        static_cast<uint8_t *>(va)[size - 1] = 0xA5;
        EXPECT_EQ(s.dram(pa, 1)[0], 0x5A);
        EXPECT_EQ(s.dram(pa + size - 1, 1)[0], 0xA5);
        s.dram(pa + 1, 1)[0] = 0x77;
        EXPECT_EQ(static_cast<uint8_t *>(va)[1], 0x77);
        EXPECT_EQ(hal_mem_unmap(device, va, size), 0);
        EXPECT_EQ(hal_mem_free(device, handle), 0);
      }
    }
    hal_device_close(device);
  }
}

TEST(Invariant08, UnplacedIsRefusedAndAddressZeroIsNot) {
  stack s({.io_at_load = false});
  ASSERT_TRUE(s.ok());
  H_NN h = 0;
  ASSERT_EQ(s.load(sample_file(), 0, &h), NRT_SUCCESS);
  mem_ref_t *in = s.var(h, 0, SAMPLE_IN0);
  log_capture log;
  uint64_t addr = 1;
  EXPECT_EQ(mem_ref_to_addr(in, 0, 4, &addr), NRT_INVALID);
  EXPECT_EQ(log.errors().size(), 1u);
  in->physical_address = 0;  // what a bind to the first byte of channel 0 would write
  EXPECT_EQ(mem_ref_to_addr(in, 8, 4, &addr), NRT_SUCCESS);
  EXPECT_EQ(addr, 8u);
  in->physical_address = MEM_REF_NOT_STAGED;
}

TEST(Invariant11, CountersAddUpAndMatchTheDriversList) {
  stack s;
  ASSERT_TRUE(s.ok());
  uint32_t random = 99;
  std::vector<H_NN> live;
  std::vector<std::vector<uint8_t>> files = {sample_file(), file_with_scratch(70)};
  for (int step = 0; step < 40; step++) {
    if (live.empty() || next_random(&random) % 3 != 0) {
      H_NN h = 0;
      ASSERT_EQ(s.load(files[next_random(&random) % 2],
                       static_cast<int32_t>(next_random(&random) % 4), &h),
                NRT_SUCCESS);
      live.push_back(h);
    } else {
      ASSERT_EQ(s.unload(live.back()), NRT_SUCCESS);
      live.pop_back();
    }
    dmem_usage_table_t t = s.counters()[0];
    uint64_t rounded[HAL_MAX_HBM] = {}, count[HAL_MAX_HBM] = {};
    for (const chunk_t &c : s.chunks()) {
      if (c.category == NEURON_MEM_NCDEV_DEVICE)
        continue;
      rounded[c.hbm] += c.size;
      count[c.hbm]++;
    }
    for (uint32_t hbm = 0; hbm < 4; hbm++) {
      EXPECT_EQ(t.hbm_total[hbm], t.core_total[2 * hbm] + t.core_total[2 * hbm + 1]);
      // The driver rounds each chunk up to a page, the counters do not.
      EXPECT_LE(t.hbm_total[hbm], rounded[hbm]);
      EXPECT_LT(rounded[hbm] - t.hbm_total[hbm], 4096 * count[hbm] + 1);
    }
    for (uint32_t core = 0; core < 8; core++)
      EXPECT_EQ(t.core_total[core],
                std::accumulate(t.by_usage[core], t.by_usage[core] + DMEM_USAGE_COUNT, 0ull));
  }
}

TEST(Invariant17, PagesAreTheLargestNeedAndCountTheirModels) {
  stack s;
  ASSERT_TRUE(s.ok());
  struct model_t {
    H_NN h;
    uint64_t pages;
  };
  std::vector<model_t> live;
  uint32_t random = 3;
  for (int step = 0; step < 60; step++) {
    if (live.empty() || (live.size() < 6 && next_random(&random) % 2 == 0)) {
      uint64_t pages = 1 + next_random(&random) % 5;
      H_NN h = 0;
      ASSERT_EQ(s.load(file_with_scratch(pages * 64 - 10, static_cast<uint32_t>(step)), 0, &h),
                NRT_SUCCESS);
      live.push_back({h, pages});
    } else {
      size_t i = next_random(&random) % live.size();
      ASSERT_EQ(s.unload(live[i].h), NRT_SUCCESS);
      live.erase(live.begin() + static_cast<long>(i));
    }
    uint64_t largest = 0;
    for (const model_t &m : live)
      largest = std::max(largest, m.pages);
    std::vector<uint32_t> refs(largest);
    for (const model_t &m : live)
      for (uint64_t p = 0; p < m.pages; p++)
        refs[p]++;
    ASSERT_EQ(page_refs(s), refs) << "step " << step;
    ASSERT_EQ(scratch_chunks(s).size(), largest);
  }
}

TEST(Invariant18, AModelThatNeedsNoMorePagesAllocatesNone) {
  stack s;
  ASSERT_TRUE(s.ok());
  H_NN big = 0, small = 0, none = 0;
  ASSERT_EQ(s.load(file_with_scratch(200), 0, &big), NRT_SUCCESS);
  std::vector<chunk_t> pages = scratch_chunks(s);
  ASSERT_EQ(pages.size(), 4u);
  // Exactly the chunks of the other kinds: 5 constants and temporaries, 3 slots, 1 table, programs.
  constexpr uint64_t kOthers = 9 + kSampleProgramChunks;
  uint64_t before = s.allocations();
  ASSERT_EQ(s.load(file_with_scratch(100, 1), 0, &small), NRT_SUCCESS);
  EXPECT_EQ(s.allocations() - before, kOthers);
  ASSERT_EQ(s.load(file_with_scratch(256, 2), 0, &none), NRT_SUCCESS);
  EXPECT_EQ(s.allocations() - before, 2 * kOthers);
  EXPECT_EQ(scratch_chunks(s), pages);
}

TEST(Invariant19, AddressesNeverChangeThroughLaterLoadsAndUnloads) {
  for (bool contiguous : {true, false}) {
    stack s({.page_size = 64 * kMiB, .contiguous = contiguous});
    ASSERT_TRUE(s.ok());
    H_NN kept = 0;
    ASSERT_EQ(s.load(file_with_scratch(100), 0, &kept), NRT_SUCCESS);
    plan_t plan = s.plan(kept);
    std::vector<H_NN> others;
    for (uint64_t mib : {50, 300, 20, 500, 128}) {
      H_NN h = 0;
      ASSERT_EQ(s.load(file_with_scratch(mib, static_cast<uint32_t>(mib)), 0, &h), NRT_SUCCESS);
      others.push_back(h);
      EXPECT_EQ(s.plan(kept), plan);
    }
    for (size_t i : {3, 0, 1, 4, 2}) {
      ASSERT_EQ(s.unload(others[i]), NRT_SUCCESS);
      EXPECT_EQ(s.plan(kept), plan);
    }
  }
}

TEST(Invariant20, PagedArenasNeverCrossAPageAndOversizeVariablesArePrivate) {
  stack s({.lnc = 1, .page_size = 4 * kMiB});
  ASSERT_TRUE(s.ok());
  sample_t sample = sample_make({.subgraphs = 1});
  // The local arena (5 MiB) starts on page 1, behind the shared one: v_main lies at 2..5 MiB of it
  // and so crosses from page 1 to page 2.
  sample.replace("sg00/def.json", R"("size": 3145728, "backing_variable_off": 1048576)",
                 R"("size": 3145728, "backing_variable_off": 2097152)");
  std::vector<chunk_t> before = s.chunks();
  dmem_usage_table_t base = s.counters()[0];
  H_NN h = 0;
  ASSERT_EQ(s.load(sample_bytes(sample), 0, &h), NRT_SUCCESS);
  std::vector<chunk_t> chunks = s.chunks();
  std::vector<chunk_t> pages = with_category(chunks, NEURON_MEM_SCRATCHPAD_DEVICE);
  ASSERT_EQ(pages.size(), 3u);  // shared 1, local ceil(5 / 4) = 2
  auto page_of = [&](uint32_t var) {
    uint64_t at = s.address(h, 0, var), size = s.var(h, 0, var)->size;
    for (size_t i = 0; i < pages.size(); i++) {
      if (at >= pages[i].pa && at + size <= pages[i].pa + pages[i].size)
        return static_cast<int>(i);
    }
    return -1;
  };
  EXPECT_EQ(page_of(SAMPLE_V_SHARED), 0);
  EXPECT_EQ(page_of(SAMPLE_V_LOCAL), 1);
  EXPECT_EQ(page_of(SAMPLE_V_MAIN), -1);
  for (const chunk_t &p : pages) {
    EXPECT_EQ(p.pa % (4 * kMiB), 0u);  // invariant 22
    EXPECT_EQ(p.size, 4 * kMiB);
  }
  // v_main: one chunk of its own, usage 16, beside tmp and dbg.
  std::vector<chunk_t> own = with_category(chunks, NEURON_MEM_SCRATCHPAD_NONSHARED_DEVICE);
  EXPECT_EQ(own.size(), 3u);
  EXPECT_EQ(std::count_if(own.begin(), own.end(),
                          [&](const chunk_t &c) {
                            return c.pa == s.address(h, 0, SAMPLE_V_MAIN) && c.size == kSampleMain;
                          }),
            1);
  EXPECT_EQ(usage(s.counters()[0], 0, dma_mem_usage_type_t::SCRATCHPAD_NOT_SHARED) -
                usage(base, 0, dma_mem_usage_type_t::SCRATCHPAD_NOT_SHARED),
            kSampleMain + kSampleTmp + kSampleDbg);
  ASSERT_EQ(s.unload(h), NRT_SUCCESS);
  EXPECT_EQ(s.chunks(), before);
}

TEST(Invariant21, ContiguousPagesAreAdjacentDescendingAndLinear) {
  stack s;
  ASSERT_TRUE(s.ok());
  constexpr uint64_t kEnd = 0x4000000000 + 23 * kGiB;  // HBM 1, logical core 1
  H_NN small = 0, big = 0;
  ASSERT_EQ(s.load(file_with_scratch(100), 1, &small), NRT_SUCCESS);   // 2 pages
  ASSERT_EQ(s.load(file_with_scratch(200, 1), 1, &big), NRT_SUCCESS);  // 4 pages
  std::vector<chunk_t> pages = scratch_chunks(s);
  ASSERT_EQ(pages.size(), 4u);
  for (uint64_t k = 0; k < 4; k++)  // ascending list, page 0 is the highest
    EXPECT_EQ(pages[3 - k].pa, kEnd - (k + 1) * kPage);
  EXPECT_THAT(page_refs(s, 1), ElementsAre(2, 2, 1, 1));

  constexpr uint64_t kLocal = kSampleSharedOffset + kSampleShared;
  for (auto [h, n] : {std::pair{small, 2ull}, {big, 4ull}}) {
    uint64_t arena = kEnd - n * kPage;
    EXPECT_EQ(s.address(h, 0, SAMPLE_V_SHARED), arena + kSampleSharedOffset);
    EXPECT_EQ(s.address(h, 0, SAMPLE_V_LOCAL), arena + kLocal);
    EXPECT_EQ(s.address(h, 0, SAMPLE_V_MAIN), arena + kLocal + kMiB);
    // v_main spans pages; its host view shows the same bytes as its addresses, end to end.
    const mem_ref_t *mr = s.var(h, 0, SAMPLE_V_MAIN);
    auto *va = static_cast<uint8_t *>(mem_ref_get_va(mr, 0, mr->size));
    ASSERT_NE(va, nullptr);
    for (uint64_t at : {uint64_t{0}, kPage - 1, kPage, kPage + 1, mr->size - 1}) {
      va[at] = static_cast<uint8_t>(at + n);
      EXPECT_EQ(*s.dram(arena + kLocal + kMiB + at, 1), static_cast<uint8_t>(at + n));
    }
  }
  ASSERT_EQ(s.unload(big), NRT_SUCCESS);
  pages = scratch_chunks(s);
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[0].pa, kEnd - 2 * kPage);
  ASSERT_EQ(s.unload(small), NRT_SUCCESS);
  EXPECT_TRUE(scratch_chunks(s).empty());
}

TEST(Invariant27, LoadThenUnloadRestoresEverythingEveryTime) {
  for (const char *instance : {"trn1.2xlarge", "trn2.3xlarge"}) {
    bool v2 = strcmp(instance, "trn1.2xlarge") == 0;
    stack s({.instance = instance, .lnc = v2 ? 1u : 2u});
    ASSERT_TRUE(s.ok());
    auto file = sample_file({.target = "*", .subgraphs = v2 ? 1u : 2u});
    std::vector<chunk_t> chunks = s.chunks();
    std::vector<dmem_usage_table_t> counters = s.counters();
    for (int i = 0; i < 50; i++) {
      H_NN h = 0;
      ASSERT_EQ(s.load(file, -1, &h), NRT_SUCCESS);
      EXPECT_NE(s.chunks(), chunks);
      ASSERT_EQ(s.unload(h), NRT_SUCCESS);
      ASSERT_EQ(s.chunks(), chunks) << i;
      ASSERT_TRUE(s.counters() == counters) << i;
    }
  }
}

TEST(Invariant29, UnloadingOneModelLeavesOthersAndTensorsAlone) {
  stack s;
  ASSERT_TRUE(s.ok());
  H_NN a = 0, b = 0, c = 0;
  ASSERT_EQ(s.load(sample_file(), 0, &a), NRT_SUCCESS);
  ASSERT_EQ(s.load(sample_file({.variant = 1}), 0, &b), NRT_SUCCESS);
  ASSERT_EQ(s.load(sample_file({.variant = 2}), 0, &c), NRT_SUCCESS);
  tensor_t *tensor = nullptr;
  ASSERT_EQ(tensor_allocate(s.tdrv, tensor_placement_t::DEVICE, 0, 10000, "t", &tensor),
            NRT_SUCCESS);
  std::vector<uint8_t> written(10000), read(10000);
  std::iota(written.begin(), written.end(), static_cast<uint8_t>(0));
  ASSERT_EQ(tensor_write(tensor, written.data(), 0, written.size()), NRT_SUCCESS);
  uint64_t pa = 0, allocated = 0;
  uint32_t hbm = 9;
  ASSERT_EQ(tensor_get_device_address(tensor, &pa, &allocated, &hbm), NRT_SUCCESS);
  plan_t plan_b = s.plan(b);
  ASSERT_EQ(s.unload(a), NRT_SUCCESS);
  ASSERT_EQ(s.unload(c), NRT_SUCCESS);
  EXPECT_EQ(s.plan(b), plan_b);
  for (uint32_t sg = 0; sg < 2; sg++) {
    const uint8_t *bytes = s.dram(s.address(b, sg, SAMPLE_W_NPY), kSampleNpy);
    for (uint64_t i = 0; i < kSampleNpy; i++)
      ASSERT_EQ(bytes[i], sample_weight(SAMPLE_W_NPY, sg, 1, i));
  }
  uint64_t pa_after = 0;
  ASSERT_EQ(tensor_get_device_address(tensor, &pa_after, &allocated, &hbm), NRT_SUCCESS);
  EXPECT_EQ(pa_after, pa);
  ASSERT_EQ(tensor_read(tensor, read.data(), 0, read.size()), NRT_SUCCESS);
  EXPECT_EQ(read, written);
  tensor_free(tensor);
}

TEST(Invariant30, WeightUsageIsTheSumOfTheFileVariables) {
  stack s;
  ASSERT_TRUE(s.ok());
  H_NN h = 0;
  for (uint64_t models = 1; models <= 3; models++) {
    ASSERT_EQ(s.load(sample_file({.variant = static_cast<uint32_t>(models)}), 2, &h), NRT_SUCCESS);
    dmem_usage_table_t t = s.counters()[4];
    EXPECT_EQ(usage(t, 4, dma_mem_usage_type_t::WEIGHT), models * kSampleWeights);
    EXPECT_EQ(usage(t, 5, dma_mem_usage_type_t::WEIGHT), models * kSampleWeights);
    EXPECT_EQ(usage(t, 0, dma_mem_usage_type_t::WEIGHT), 0u);
  }
}
