// SPDX-License-Identifier: Apache-2.0
// The arithmetic of `neff memory --as`: expected values are recorded figures of the closed runtime
// (neff-format.md 5.3, 5.4, 5.6; verified-facts.md G7, G8) and its trace of attn_v6.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>

#include "base/checked.h"
#include "dmem/accounting.h"
#include "kmgr/checks.h"
#include "tests/neff/neff_test.h"
#include "tests/tools/trace.h"
#include "tools/predict.h"
#include "tools/predict_rings.h"
#include "tools/sample.h"

namespace {

const predict_params_t &params() {
  return *predict_find("neuron-2.30");
}

kbin_dma_pattern_t pattern(std::vector<uint64_t> sizes, std::vector<int64_t> steps,
                           uint8_t dtype = KBIN_DTYPE_NONE) {
  kbin_dma_pattern_t out{};
  out.ndims = static_cast<uint32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), out.sizes);
  std::copy(steps.begin(), steps.end(), out.steps);
  out.dtype = dtype;
  return out;
}

// Rows of the state buffer, one per partition.
kbin_dma_pattern_t strided(uint64_t bytes, uint64_t rows, uint8_t dtype = KBIN_DTYPE_NONE) {
  return pattern({bytes, rows}, {1, 262144}, dtype);
}

kbin_dma_pattern_t contiguous(uint64_t bytes, uint64_t rows, uint8_t dtype = KBIN_DTYPE_NONE) {
  return pattern({bytes, rows}, {1, static_cast<int64_t>(bytes)}, dtype);
}

kbin_dma_block_t block(const kbin_dma_pattern_t &from, const kbin_dma_pattern_t &to, int tiling) {
  kbin_dma_transfer_t transfer{};
  transfer.from = {from};
  transfer.to = to;
  transfer.num_tiling_dimensions = tiling;
  kbin_dma_block_t out{};
  out.desc.push_back(transfer);
  return out;
}

// "M2S,S2M" of every ring; one figure when all are the same.
std::string counts(const std::vector<kbin_dma_block_t> &blocks) {
  std::vector<predict_ring_t> rings(16);
  for (const kbin_dma_block_t &b : blocks)
    EXPECT_TRUE(predict_add_block(params(), b, &rings));
  std::string out;
  for (const predict_ring_t &ring : rings) {
    std::string text = fmt::format("{},{}", ring.m2s, ring.s2m);
    if (out.size() < text.size() || out.substr(out.size() - text.size()) != text)
      out += (out.empty() ? "" : " ") + text;
  }
  return out;
}

TEST(PredictRings, AbsentTilingPutsEverythingOnRingZero) {
  // attn_v6: 2 rows of the state buffer into 8 contiguous bytes, 20 times: 60 and 40 on engine 0,
  // the completion descriptor on the others (G7).
  std::vector<kbin_dma_block_t> blocks(20, block(strided(4, 2), pattern({8, 1}, {1, 8}), -1));
  EXPECT_EQ(counts(blocks), "60,40 20,20");
  EXPECT_FALSE(predict_block_is_even(blocks[0], 16));
  EXPECT_TRUE(predict_block_is_even(blocks[0], 1));
}

TEST(PredictRings, TiledRowsAreDealt) {
  EXPECT_EQ(counts({block(strided(512, 128), strided(512, 128), 1)}), "9,9");
  EXPECT_TRUE(predict_block_is_even(block(strided(512, 128), strided(512, 128), 1), 16));
  // A contiguous side is 2 + 1 whatever the size.
  EXPECT_EQ(counts({block(contiguous(2, 128), strided(2, 128), 1)}), "3,9");
  EXPECT_EQ(counts({block(contiguous(8000, 128), strided(8000, 128), 1)}), "3,9");
  EXPECT_EQ(counts({block(strided(8000, 128), pattern({8000 * 128}, {1}), 1)}), "9,3");
  // 16,384 rows of 18 bytes: 1,024 + 1.
  kbin_dma_pattern_t many = pattern({18, 128, 128}, {1, 64, 262144});
  EXPECT_EQ(counts({block(many, many, 1)}), "1025,1025");
  // int8 to fp32: M2S 16 + 1, S2M 8 + 1.
  EXPECT_EQ(
      counts({block(contiguous(128, 128, KBIN_DTYPE_INT8), strided(512, 128, KBIN_DTYPE_FP32), 1)}),
      "17,9");
}

TEST(PredictRings, RecordedSumsOfOneFile) {
  kbin_dma_pattern_t many = pattern({18, 128, 128}, {1, 64, 262144});
  std::vector<kbin_dma_block_t> blocks(4, block(many, many, 1));
  for (int i = 0; i < 60; i++)
    blocks.push_back(block(strided(256, 128), strided(256, 128), 1));
  for (int i = 0; i < 2; i++)
    blocks.push_back(block(contiguous(256, 128), strided(256, 128), 1));
  EXPECT_EQ(counts(blocks), "4646,4658");
}

TEST(PredictRings, Capacity) {
  const std::map<uint64_t, uint64_t> recorded = {{8, 64},  {9, 64},    {16, 64},  {18, 64},
                                                 {20, 64}, {32, 48},   {40, 64},  {60, 80},
                                                 {80, 96}, {252, 272}, {504, 528}};
  for (const auto &[descriptors, capacity] : recorded) {
    uint64_t got = 0;
    EXPECT_TRUE(predict_ring_capacity(params(), descriptors, &got));
    EXPECT_EQ(got, capacity) << descriptors;
  }
  uint64_t got = 0;
  EXPECT_FALSE(predict_ring_capacity(params(), UINT64_MAX - 3, &got));
}

TEST(PredictRings, CountsBeyond64BitsAreRefused) {
  std::vector<predict_ring_t> rings(16);
  kbin_dma_pattern_t huge = pattern({1, 1ull << 40, 1ull << 40}, {1, 0, 0});
  EXPECT_FALSE(predict_add_block(params(), block(huge, huge, -1), &rings));
  EXPECT_FALSE(predict_add_block(params(), block(huge, huge, 2), &rings));
}

// --- whole files ------------------------------------------------------------------------------

std::shared_ptr<const kelf_nn_t> parse(const bytes_t &bytes) {
  finding_sink findings;
  std::shared_ptr<const kelf_nn_t> nn;
  EXPECT_EQ(kmgr_parse(bytes, {}, findings, &nn), NRT_SUCCESS);
  for (const finding &f : findings.all())
    ADD_FAILURE() << f.where << ": " << f.what;
  return nn;
}

std::vector<predict_subgraph_t> predict(const kelf_nn_t &nn, uint64_t page = 512ull << 20) {
  finding_sink findings;
  std::vector<predict_subgraph_t> out;
  EXPECT_EQ(predict_neff(params(), nn, page, findings, &out), NRT_SUCCESS);
  return out;
}

uint64_t bytes_of(const std::vector<predict_item_t> &items, const char *key) {
  predict_classes_t classes{};
  EXPECT_TRUE(predict_add(items, &classes));
  for (uint32_t u = 0; u < DMEM_USAGE_COUNT; u++)
    if (strcmp(dmem_usage_key(static_cast<dma_mem_usage_type_t>(u)), key) == 0)
      return classes[u];
  ADD_FAILURE() << key;
  return 0;
}

// A sample whose sg00 has static sets, one transfer per block.
struct set_t {
  const char *name, *type, *owner, *engine_file;
  int blocks;
  const char *transfer;  // from, to and more of it
};

constexpr const char *kInput =  // 32 contiguous bytes, as in neff-format.md 4.3
    R"("from":"x","from_off":0,"from_sizes":[32,1],"from_steps":[1,32],)"
    R"("to":"SB","to_off":0,"to_sizes":[32,1],"to_steps":[1,32])";
constexpr const char *kSpill =  // attn_v6
    R"("from":"SB","from_off":0,"from_sizes":[4,2],"from_steps":[1,262144],)"
    R"("to":"tmp","to_off":0,"to_sizes":[8,1],"to_steps":[1,8])";
constexpr const char *kTiled =
    R"("from":"SB","from_off":0,"from_sizes":[4,128],"from_steps":[1,262144],)"
    R"("to":"tmp","to_off":0,"to_sizes":[4,128],"to_steps":[1,8],"num_tiling_dimensions":1)";

void put_text(neff_write_members &members, const std::string &member, const std::string &text) {
  members[member].assign(text.begin(), text.end());
}

bytes_t sample_with(const std::vector<set_t> &sets, bool dge_table = true) {
  neff_sample_options options;
  options.edit_members = [&](neff_write_members &members) {
    std::string queues;
    int semaphore = 8;
    for (const set_t &set : sets) {
      std::string dma, semaphores;
      bytes_t &stream = members[fmt::format("sg00/{}.bin", set.engine_file)];
      for (int i = 0; i < 16; i++)
        semaphores += fmt::format("{}{}", i == 0 ? "" : ",", semaphore++);
      for (int i = 0; i < set.blocks; i++) {
        dma += fmt::format(R"({}{{"id":{},"queue":"{}","semaphore":8,"desc":[{{{}}}]}})",
                           i == 0 ? "" : ",", i, set.name, set.transfer);
        bytes_t slot(64);
        slot[0] = 0xC1;
        memcpy(&slot[12], set.name, strlen(set.name));
        slot[48] = static_cast<uint8_t>(i);
        stream.insert(stream.end(), slot.begin(), slot.end());
      }
      put_text(members, fmt::format("sg00/{}.json", set.engine_file),
               fmt::format(R"({{"instr":"{}.bin","dma":[{}]}})", set.engine_file, dma));
      queues +=
          fmt::format(R"({}"{}":{{"type":"{}","owner":"{}","num_queues":16,"semaphore_set":[{}]}})",
                      queues.empty() ? "" : ",", set.name, set.type, set.owner, semaphores);
    }
    EXPECT_TRUE(neff_sample_replace(members, "sg00/def.json", "\"dma_queue\": {}",
                                    "\"dma_queue\": {" + queues + "}"));
    EXPECT_TRUE(dge_table ||
                neff_sample_replace(members, "sg00/def.json", "\"dge-table\"", "\"list\""));
  };
  finding_sink findings;
  bytes_t bytes;
  EXPECT_EQ(neff_sample_build(options, findings, &bytes), NRT_SUCCESS);
  return bytes;
}

// neff-format.md 5.4: image minus .bin. The file of 4.3 had a DGE table, sets of 9 and 16 blocks.
TEST(PredictImages, WrappersOfStaticSets) {
  auto nn = parse(sample_with({{"qSPIO0", "in", "sp", "SP", 9, kInput},
                               {"qPoolIO0", "in", "pool", "Pool", 16, kInput},
                               {"qDVESpillReload0", "data", "dve", "DVE", 20, kSpill}}));
  auto items = predict(*nn)[0].items;
  const uint64_t label_and_start = 128;  // the sample's streams before the triggers
  EXPECT_EQ(bytes_of(items, "sp") - label_and_start - 9 * 64, 5'184);
  EXPECT_EQ(bytes_of(items, "pool") - label_and_start - 16 * 64, 6'528);
  // attn_v6's DVE loads tables, the sample's does not: ten slots less than 7,360.
  EXPECT_EQ(bytes_of(items, "dve") - label_and_start - 20 * 64, 7'360 - 640);
  // The DGE table's slot on an engine without a set.
  EXPECT_EQ(bytes_of(items, "pe") - label_and_start, 4'928);
  // 33,024 is attn_v6's spill ring figure, 65,024 that of the file of 4.3.
  EXPECT_EQ(bytes_of(items, "dma_rings_spill"), 33'024);
  EXPECT_EQ(bytes_of(items, "dma_rings_io"), 65'024);
  EXPECT_EQ(bytes_of(items, "io"), 8);
}

TEST(PredictImages, IdleEngines) {
  auto items = predict(*parse(sample_with({}, false)))[0].items;
  EXPECT_EQ(bytes_of(items, "pe"), 4'992);
  EXPECT_EQ(bytes_of(items, "act"), 4'352);
  EXPECT_EQ(bytes_of(items, "pool"), 4'672);
  EXPECT_EQ(bytes_of(items, "sp"), 3'776);
  EXPECT_EQ(bytes_of(items, "io"), 0);
  EXPECT_EQ(bytes_of(items, "dma_rings_spill") + bytes_of(items, "dma_rings_io"), 0);
}

// One trigger record, one credit before and after, where all rings get the same (G8.3).
TEST(PredictImages, EvenSharesNeedOneRecord) {
  auto even = predict(*parse(sample_with({{"q0", "data", "dve", "DVE", 5, kTiled}})))[0].items;
  auto odd = predict(*parse(sample_with({{"q0", "data", "dve", "DVE", 5, kSpill}})))[0].items;
  EXPECT_EQ(bytes_of(odd, "dve") - bytes_of(even, "dve"), (5 + 2) * 64);
  EXPECT_EQ(bytes_of(even, "dma_rings_spill"), 65'536 / 2);  // 16 rings, both sides small
}

TEST(PredictImages, TriggerOfAnUnknownBlockIsRefused) {
  neff_sample_options options;
  options.edit_members = [](neff_write_members &members) {
    bytes_t &stream = members["sg01/SP.bin"];
    stream.resize(192);
    stream[128] = 0xC1;
    memcpy(&stream[140], "qNone", 5);
  };
  finding_sink findings;
  bytes_t bytes;
  ASSERT_EQ(neff_sample_build(options, findings, &bytes), NRT_SUCCESS);
  auto nn = parse(bytes);
  std::vector<predict_subgraph_t> out;
  EXPECT_EQ(predict_neff(params(), *nn, 512ull << 20, findings, &out), NRT_INVALID);
  ASSERT_EQ(findings.all().size(), 1u);
  EXPECT_EQ(findings.all()[0].where, "sg01/SP.bin");
}

// --- the trace of attn_v6 (G7 last item, G8.9) --------------------------------------------------

TEST(PredictTrace, EveryClassOfBothCores) {
  REQUIRE_CORPUS(neff_path, "attn_v6.neff");
  REQUIRE_CORPUS(trace_path, "attn_v6.ntff");
  trace_t trace(trace_path);
  ASSERT_EQ(trace.subgraphs.size(), 2u);
  auto cores = predict(*parse(slurp(neff_path)));
  ASSERT_EQ(cores.size(), 2u);
  for (uint32_t i = 0; i < 2; i++) {
    EXPECT_EQ(cores[i].name, text(only(trace.subgraphs[i], 1)));
    std::vector<predict_item_t> items = predict_core_base(params(), i, true);
    items.insert(items.end(), cores[i].items.begin(), cores[i].items.end());
    uint32_t seen = 0;
    for (const field_t &field : fields(trace.subgraphs[i])) {
      if (field.number != 11)
        continue;
      std::string name = text(only(field.bytes, 3));
      uint64_t bytes = only(field.bytes, 2).value;
      std::replace(name.begin(), name.end(), ' ', '_');
      seen++;
      if (name == "shared_scratchpad") {
        uint64_t pages = 0;
        EXPECT_TRUE(checked_round_up(cores[i].scratchpad_end, 512ull << 20, &pages));
        EXPECT_EQ(pages, bytes);
      } else {
        EXPECT_EQ(bytes_of(items, name.c_str()), bytes) << cores[i].name << " " << name;
      }
    }
    EXPECT_EQ(seen, DMEM_USAGE_COUNT);
  }
}

TEST(PredictTrace, EveryBlockOnEveryRing) {
  REQUIRE_CORPUS(neff_path, "attn_v6.neff");
  REQUIRE_CORPUS(trace_path, "attn_v6.ntff");
  trace_t trace(trace_path);
  ASSERT_EQ(trace.subgraphs.size(), 2u);
  auto nn = parse(slurp(neff_path));
  std::map<uint64_t, const kbin_dma_block_t *> blocks;
  for (const kbin_dma_block_t &b : nn->kbins[0]->blocks)
    blocks[b.id] = &b;
  int rings_seen = 0, blocks_seen = 0;
  for (const field_t &field : fields(trace.subgraphs[0])) {
    if (field.number != 7 || text(only(field.bytes, 4)) != "qDVESpillReload0")
      continue;
    size_t ring = only(field.bytes, 1).value % 16;
    rings_seen++;
    for (const field_t &entry : fields(field.bytes)) {
      if (entry.number != 8)
        continue;
      blocks_seen++;
      auto found = blocks.find(only(entry.bytes, 1).value);
      ASSERT_NE(found, blocks.end());
      std::vector<predict_ring_t> rings(16);
      ASSERT_TRUE(predict_add_block(params(), *found->second, &rings));
      EXPECT_EQ(rings[ring].m2s, only(entry.bytes, 3).value);
      EXPECT_EQ(rings[ring].s2m, only(entry.bytes, 4).value);
    }
  }
  EXPECT_EQ(rings_seen, 16);
  EXPECT_EQ(blocks_seen, 320);
}

}  // namespace
