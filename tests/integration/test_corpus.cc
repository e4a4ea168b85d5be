// SPDX-License-Identifier: Apache-2.0
// Real compiler output on a mocked trn2.3xlarge, in every order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/integration/stack.h"
#include "uapi/neuron_shared.h"

namespace {

constexpr uint64_t kHbmBase[] = {0, 0x4000000000, 0x800000000000, 0x804000000000};

struct live_t {
  H_NN h;
  plan_t plan;
};

// The facts that hold for every plan, over all loaded models together.
void expect_sound(stack &s, const std::vector<live_t> &live) {
  std::vector<chunk_t> chunks = s.chunks();
  struct range_t {
    uint64_t begin, end;
    std::string name;
  };
  std::vector<range_t> own;  // memory that belongs to one variable
  std::set<uint64_t> slots;
  for (const live_t &l : live) {
    EXPECT_EQ(s.plan(l.h), l.plan) << "model " << l.h << " moved";
    kmgr_model_t *model = kmgr_model_get(s.kmgr, l.h);
    ASSERT_NE(model, nullptr);
    for (uint32_t sg = 0; sg < model->placement->num_kbins; sg++) {
      const kbin_mem_ref_set_t *records = model->nn->kbins[sg]->mem_ref_set;
      for (uint32_t i = 0; i < records->nmem; i++) {
        const kbin_mem_ref &record = records->mem[i];
        const mem_ref_t *mr =
            lookup_memref_by_idx(model->placement->mr_sets[sg].mem_ref_set, record.var_id);
        ASSERT_NE(mr, nullptr);
        if (mr->type == MR_PTR || mr->type == MR_LIST || mr->type == MR_PTR_TABLE)
          continue;
        uint64_t addr = 0;
        ASSERT_EQ(mem_ref_to_addr(mr, 0, mr->size, &addr), NRT_SUCCESS);
        SCOPED_TRACE(record.name);
        if (mr->type == MR_SB) {
          uint32_t core = model->vnc * 2 + sg;
          uint64_t base = 0x2000000000 + (core & 1) * 0x1000000000ull +
                          ((core >> 1) & 1) * 0x4000000000ull + (core >> 2) * 0x800000000000ull;
          EXPECT_EQ(addr, base);
          continue;
        }
        if (record.alignment != 0) {
          EXPECT_EQ(addr % record.alignment, 0u);
        }
        // Inside one chunk of this logical core's HBM (contiguous arenas are adjacent chunks).
        uint64_t left = mr->size, at = addr;
        bool arena = false;
        while (left > 0) {
          auto c = std::find_if(chunks.begin(), chunks.end(),
                                [&](const chunk_t &x) { return at >= x.pa && at < x.pa + x.size; });
          ASSERT_NE(c, chunks.end()) << "no chunk at " << at;
          EXPECT_EQ(c->hbm, model->vnc);
          arena = c->category == NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE;
          uint64_t part = std::min(left, c->pa + c->size - at);
          if (!arena) {
            EXPECT_EQ(part, left) << "crosses a chunk";
          }
          at += part;
          left -= part;
        }
        EXPECT_EQ(arena, mr->type == MR_VIRTUAL_TMP_BUF);
        bool shared_slot =
            (mr->type == MR_INPUT || mr->type == MR_OUTPUT) && !slots.insert(addr).second;
        if (!arena && !shared_slot)
          own.push_back({addr, addr + mr->size, record.name});
      }
    }
    kmgr_model_put(s.kmgr, model);
  }
  std::sort(own.begin(), own.end(),
            [](const range_t &a, const range_t &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < own.size(); i++)
    EXPECT_LE(own[i - 1].end, own[i].begin) << own[i - 1].name << " and " << own[i].name;

  // Chunks: inside one pool, no overlap.
  for (size_t i = 0; i < chunks.size(); i++) {
    const chunk_t &c = chunks[i];
    if (c.category == NEURON_MEM_NCDEV_DEVICE)
      continue;  // the firmware's carve-out
    uint64_t base = kHbmBase[c.hbm];
    bool main = c.pa >= base + 16 * kMiB && c.pa + c.size <= base + 23 * kGiB;
    bool small = c.pa >= base + 23 * kGiB && c.pa + c.size <= base + 24 * kGiB;
    EXPECT_TRUE(main || small) << std::hex << c.pa;
    EXPECT_EQ(small, c.size <= 512 * kKiB) << std::hex << c.pa;
    if (i > 0) {
      EXPECT_LE(chunks[i - 1].pa + chunks[i - 1].size, c.pa);
    }
  }
}

}  // namespace

TEST(Corpus, EveryOrderTwiceOnOneCoreLeavesNothingBehind) {
  auto files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  ASSERT_TRUE(s.ok());
  std::vector<chunk_t> before = s.chunks();
  std::vector<dmem_usage_table_t> counters = s.counters();
  std::vector<size_t> order = {0, 1, 2};
  do {
    for (int round = 0; round < 2; round++) {
      SCOPED_TRACE(testing::Message() << order[0] << order[1] << order[2] << " round " << round);
      std::vector<live_t> live;
      for (size_t index : order) {
        H_NN h = 0;
        ASSERT_EQ(s.load(files[index], 0, &h), NRT_SUCCESS);
        live.push_back({h, s.plan(h)});
        expect_sound(s, live);
      }
      // First round: oldest first; second: newest first.
      while (!live.empty()) {
        auto leaving = round == 0 ? live.begin() : live.end() - 1;
        ASSERT_EQ(s.unload(leaving->h), NRT_SUCCESS);
        live.erase(leaving);
        expect_sound(s, live);
      }
      EXPECT_EQ(s.chunks(), before);
      EXPECT_TRUE(s.counters() == counters);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Corpus, SpreadsOverAllCores) {
  auto files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  ASSERT_TRUE(s.ok());
  std::vector<chunk_t> before = s.chunks();
  std::vector<live_t> live;
  for (int i = 0; i < 8; i++) {
    H_NN h = 0;
    ASSERT_EQ(s.load(files[static_cast<size_t>(i) % 3], -1, &h), NRT_SUCCESS);
    kmgr_model_t *model = kmgr_model_get(s.kmgr, h);
    EXPECT_EQ(model->vnc, static_cast<uint32_t>(i % 4));
    kmgr_model_put(s.kmgr, model);
    live.push_back({h, s.plan(h)});
    expect_sound(s, live);
  }
  for (const live_t &l : live)
    EXPECT_EQ(s.unload(l.h), NRT_SUCCESS);
  EXPECT_EQ(s.chunks(), before);
}

// neff-format.md 5.6: constants, inputs, outputs and scratch need of the three files.
TEST(Corpus, BytesAreThoseOfTheSheet) {
  auto files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  const struct {
    uint64_t constants, inputs, outputs;
    uint64_t pages;  // contiguous 64 MiB pages
  } expected[] = {
      {32768, 131072, 32768, 0}, {32768, 4303355904, 16777216, 1}, {16384, 9704452, 2048, 1}};
  for (size_t i = 0; i < files.size(); i++) {
    SCOPED_TRACE(i);
    stack s;
    ASSERT_TRUE(s.ok());
    size_t chunks_before = s.chunks().size();
    H_NN h = 0;
    ASSERT_EQ(s.load(files[i], 1, &h), NRT_SUCCESS);
    dmem_usage_table_t table = s.counters()[2];  // core 2, first of logical core 1
    auto usage = [&](uint32_t core, dma_mem_usage_type_t type) {
      return table.by_usage[core][static_cast<uint32_t>(type)];
    };
    for (uint32_t core : {2u, 3u})
      EXPECT_EQ(usage(core, dma_mem_usage_type_t::WEIGHT), expected[i].constants);
    EXPECT_EQ(usage(2, dma_mem_usage_type_t::SCRATCHPAD), expected[i].pages * 64 * kMiB);
    EXPECT_EQ(usage(3, dma_mem_usage_type_t::SCRATCHPAD), 0u);
    kmgr_model_t *model = kmgr_model_get(s.kmgr, h);
    uint64_t inputs = 0, outputs = 0;
    for (uint32_t k = 0; k < model->placement->num_io_slots; k++)
      (model->placement->io_slots[k].is_output ? outputs : inputs) +=
          model->placement->io_slots[k].size;
    EXPECT_EQ(inputs, expected[i].inputs);
    EXPECT_EQ(outputs, expected[i].outputs);
    kmgr_model_put(s.kmgr, model);
    EXPECT_EQ(s.unload(h), NRT_SUCCESS);
    EXPECT_EQ(s.chunks().size(), chunks_before);
  }
}

TEST(Corpus, BothBackEndsGiveTheSameAddresses) {
  auto files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack mock, kernel({.hw_exec = true, .kernel_back_end = true});
  ASSERT_TRUE(mock.ok() && kernel.ok());
  EXPECT_STREQ(hal_identity(mock.hal)->backend, "mock");
  EXPECT_STREQ(hal_identity(kernel.hal)->backend, "kernel");
  for (int32_t vnc = 0; vnc < 2; vnc++)
    for (const auto &file : files) {
      H_NN a = 0, b = 0;
      ASSERT_EQ(mock.load(file, vnc, &a), NRT_SUCCESS);
      ASSERT_EQ(kernel.load(file, vnc, &b), NRT_SUCCESS);
      EXPECT_EQ(mock.plan(a), kernel.plan(b));
    }
  EXPECT_EQ(mock.chunks(), kernel.chunks());
}

TEST(Corpus, OneParseForManyCores) {
  auto files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  ASSERT_TRUE(s.ok());
  for (int32_t vnc = 0; vnc < 4; vnc++) {
    H_NN h = 0;
    ASSERT_EQ(s.load(files[2], vnc, &h), NRT_SUCCESS);
  }
  kmgr_cache_stats_t stats;
  kmgr_cache_stats(s.kmgr, &stats);
  EXPECT_EQ(stats.parses, 1u);
  EXPECT_EQ(stats.hits, 3u);
}
