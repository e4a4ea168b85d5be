// SPDX-License-Identifier: Apache-2.0
// Every kind of variable, placed by a real load: on one and two physical cores, on v2 and v3, with
// contiguous and paged scratchpad. The expected addresses are worked out by hand from the pool
// layout (device-memory.md 1.3, 1.4, 3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "tests/integration/stack.h"
#include "tools/sample.h"

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr uint64_t kArenaLocal = kSampleLocal + kSampleMain;            // 4 MiB
constexpr uint64_t kArenaShared = kSampleSharedOffset + kSampleShared;  // 2 MiB + 4 KiB
constexpr uint64_t kPageContiguous = 64 * kMiB;

uint64_t align_up(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

void expect_weight(stack &s, H_NN h, uint32_t sg, uint32_t var, uint64_t size) {
  const uint8_t *bytes = s.dram(s.address(h, sg, var), size);
  ASSERT_NE(bytes, nullptr);
  for (uint64_t i = 0; i < size; i++)
    ASSERT_EQ(bytes[i], sample_weight(var, sg, 0, i)) << "variable " << var << " byte " << i;
}

void expect_io_contents(stack &s, H_NN h, uint32_t subgraphs) {
  for (uint32_t sg = 0; sg < subgraphs; sg++) {
    expect_weight(s, h, sg, SAMPLE_W_NPY, kSampleNpy);
    expect_weight(s, h, sg, SAMPLE_W_RAW, kSampleRaw);
    expect_weight(s, h, sg, SAMPLE_W_STAGED, kSampleStaged);
  }
}

// Pointers, lists, tables and remote variables of one subgraph.
void expect_links(stack &s, H_NN h, uint32_t sg, uint32_t subgraphs) {
  EXPECT_EQ(s.address(h, sg, SAMPLE_P_W), s.address(h, sg, SAMPLE_W_NPY));
  EXPECT_EQ(s.address(h, sg, SAMPLE_P_IN), s.address(h, sg, SAMPLE_IN0));
  EXPECT_EQ(s.address(h, sg, SAMPLE_FAR), s.address(h, (sg + 1) % subgraphs, SAMPLE_TMP));
  const mem_ref_t *far = s.var(h, sg, SAMPLE_FAR);
  EXPECT_TRUE(far->remote);
  EXPECT_EQ(far->size, kSampleTmp);

  const mem_ref_t *table = s.var(h, sg, SAMPLE_TABLE);
  ASSERT_EQ(table->type, MR_PTR_TABLE);
  ASSERT_EQ(table->table_length, 4u);
  const uint32_t ids[] = {SAMPLE_IN0, SAMPLE_IN1, SAMPLE_OUT0, SAMPLE_W_NPY};
  for (uint32_t i = 0; i < 4; i++) {
    EXPECT_EQ(table->addrs[i], s.address(h, sg, ids[i]));
    EXPECT_EQ(table->var_id_needs_translation[i], i < 3);
  }
  const mem_ref_t *list = s.var(h, sg, SAMPLE_LIST);
  ASSERT_EQ(list->length, 2u);
  EXPECT_EQ(list->list[0], SAMPLE_W_NPY);
  EXPECT_EQ(list->list[1], SAMPLE_TMP);

  log_capture log;
  uint64_t addr = 0;
  EXPECT_EQ(mem_ref_to_addr(list, 0, 0, &addr), NRT_INVALID);
  EXPECT_EQ(mem_ref_to_addr(table, 0, 0, &addr), NRT_INVALID);
  EXPECT_EQ(mem_ref_to_addr(s.var(h, sg, SAMPLE_P_W), 1, 4, &addr), NRT_INVALID);
  EXPECT_EQ(log.errors().size(), 3u);

  const mem_ref_t *dbg = s.var(h, sg, SAMPLE_DBG);
  ASSERT_NE(dbg->debug_tensor_md, nullptr);
  EXPECT_STREQ(dbg->debug_tensor_md->prefix_str, "trace");
  EXPECT_EQ(dbg->debug_tensor_md->pipe_id, 3u);
  EXPECT_STREQ(dbg->dtype, "float32");
  EXPECT_THAT(std::vector<uint64_t>(dbg->shape, dbg->shape + 8),
              ElementsAre(4, 8, 0, 0, 0, 0, 0, 0));
}

// The device's own copy of the pointer table: a chunk of 32 bytes (one page) that holds the
// entries.
void expect_table_on_device(stack &s, H_NN h, uint32_t sg) {
  const mem_ref_t *table = s.var(h, sg, SAMPLE_TABLE);
  bool found = false;
  for (const chunk_t &c : s.chunks()) {
    if (c.size != 4096 || c.device != 0)
      continue;
    const uint8_t *bytes = s.dram(c.pa, 32);
    found |= bytes != nullptr && memcmp(bytes, table->addrs, 32) == 0;
  }
  EXPECT_TRUE(found) << "no chunk holds the table of subgraph " << sg;
}

// One subgraph on a fresh HBM whose small pool starts at `small`: small chunks lie side by side in
// the order of the ids (first fit), page-rounded, aligned as asked.
void expect_small_pool_order(stack &s, H_NN h, uint64_t small) {
  uint64_t at = small;
  const struct {
    uint32_t var;
    uint64_t size, alignment;
  } order[] = {{SAMPLE_W_NPY, kSampleNpy, 32768},
               {SAMPLE_W_RAW, kSampleRaw, 4096},
               {SAMPLE_W_STAGED, kSampleStaged, 4096},
               {SAMPLE_TMP, kSampleTmp, 4096},
               {SAMPLE_DBG, kSampleDbg, 4096}};
  for (const auto &o : order) {
    at = align_up(at, o.alignment);
    EXPECT_EQ(s.address(h, 0, o.var), at) << o.var;
    at += align_up(o.size, 4096);
  }
}

void expect_io_slots(stack &s, H_NN h, uint64_t small) {
  std::set<uint64_t> seen;
  for (uint32_t var : {SAMPLE_IN0, SAMPLE_IN1, SAMPLE_OUT0}) {
    uint64_t addr = s.address(h, 0, var);
    EXPECT_GE(addr, small);
    EXPECT_LT(addr, small + kGiB);
    EXPECT_TRUE(seen.insert(addr).second);
  }
}

}  // namespace

TEST(Kinds, OneSubgraphOnV2) {
  stack s({.instance = "trn1.2xlarge", .lnc = 1});
  ASSERT_TRUE(s.ok());
  H_NN h = 0;
  ASSERT_EQ(s.load(sample_file({.target = "sunda", .subgraphs = 1}), 1, &h), NRT_SUCCESS);
  // Core 1 of a v2 device: HBM 1 at 64 GiB, main pool up to 15 GiB, then the small pool.
  constexpr uint64_t kHbm = 64 * kGiB;
  EXPECT_EQ(s.address(h, 0, SAMPLE_SB), 0xFFFC0000000ull + 0x4000000);
  EXPECT_EQ(s.var(h, 0, SAMPLE_SB)->size, 0x2000000u);
  uint64_t arena = kHbm + 15 * kGiB - kPageContiguous;
  EXPECT_EQ(s.address(h, 0, SAMPLE_V_SHARED), arena + kSampleSharedOffset);
  EXPECT_EQ(s.address(h, 0, SAMPLE_V_LOCAL), arena + kArenaShared);
  EXPECT_EQ(s.address(h, 0, SAMPLE_V_MAIN), arena + kArenaShared + kSampleLocal);
  expect_small_pool_order(s, h, kHbm + 15 * kGiB);
  expect_io_slots(s, h, kHbm + 15 * kGiB);
  expect_io_contents(s, h, 1);
  expect_links(s, h, 0, 1);
  expect_table_on_device(s, h, 0);
}

TEST(Kinds, TwoSubgraphsOnV3) {
  stack s;
  ASSERT_TRUE(s.ok());
  H_NN h = 0;
  ASSERT_EQ(s.load(sample_file(), 3, &h), NRT_SUCCESS);
  // Logical core 3 = physical cores 6 and 7, HBM 3.
  constexpr uint64_t kHbm = 0x804000000000;
  EXPECT_EQ(s.address(h, 0, SAMPLE_SB), 0x806000000000ull);
  EXPECT_EQ(s.address(h, 1, SAMPLE_SB), 0x807000000000ull);
  // Contiguous: all arenas on the first core, shared first, then the local ones.
  uint64_t arena = kHbm + 23 * kGiB - kPageContiguous;
  for (uint32_t sg = 0; sg < 2; sg++) {
    EXPECT_EQ(s.address(h, sg, SAMPLE_V_SHARED), arena + kSampleSharedOffset);
    EXPECT_TRUE(s.var(h, sg, SAMPLE_V_SHARED)->shared_virtual_scratchpad);
    EXPECT_FALSE(s.var(h, sg, SAMPLE_V_LOCAL)->shared_virtual_scratchpad);
    uint64_t local = arena + kArenaShared + sg * kArenaLocal;
    EXPECT_EQ(s.address(h, sg, SAMPLE_V_LOCAL), local);
    EXPECT_EQ(s.address(h, sg, SAMPLE_V_MAIN), local + kSampleLocal);
    expect_links(s, h, sg, 2);
    expect_table_on_device(s, h, sg);
  }
  // One slot per name for both subgraphs; everything else is each core's own.
  for (uint32_t var : {SAMPLE_IN0, SAMPLE_IN1, SAMPLE_OUT0})
    EXPECT_EQ(s.address(h, 0, var), s.address(h, 1, var));
  for (uint32_t var : {SAMPLE_W_NPY, SAMPLE_W_RAW, SAMPLE_W_STAGED, SAMPLE_TMP, SAMPLE_DBG})
    EXPECT_NE(s.address(h, 0, var), s.address(h, 1, var));
  expect_io_slots(s, h, kHbm + 23 * kGiB);
  expect_io_contents(s, h, 2);
}

TEST(Kinds, OneSubgraphOnV3WithTwoCores) {
  stack s;
  ASSERT_TRUE(s.ok());
  H_NN h = 0;
  ASSERT_EQ(s.load(sample_file({.subgraphs = 1}), 0, &h), NRT_SUCCESS);
  EXPECT_EQ(s.address(h, 0, SAMPLE_SB), 0x2000000000ull);
  uint64_t arena = 23 * kGiB - kPageContiguous;
  EXPECT_EQ(s.address(h, 0, SAMPLE_V_SHARED), arena + kSampleSharedOffset);
  EXPECT_EQ(s.address(h, 0, SAMPLE_V_LOCAL), arena + kArenaShared);
  expect_small_pool_order(s, h, 23 * kGiB);
  expect_io_contents(s, h, 1);
  expect_links(s, h, 0, 1);
}

TEST(Kinds, OneSubgraphOnV3WithOneCoreIsPaged) {
  stack s({.lnc = 1});
  ASSERT_TRUE(s.ok());
  H_NN h = 0;
  ASSERT_EQ(s.load(sample_file({.subgraphs = 1}), 5, &h), NRT_SUCCESS);
  // Physical core 5: HBM 2. The first page lands on the first 4 MiB boundary above the firmware's
  // 16 MiB.
  constexpr uint64_t kHbm = 0x800000000000;
  EXPECT_EQ(s.address(h, 0, SAMPLE_SB), 0x803000000000ull);
  uint64_t page = kHbm + 16 * kMiB;
  EXPECT_EQ(s.address(h, 0, SAMPLE_V_SHARED), page + kSampleSharedOffset);
  EXPECT_EQ(s.address(h, 0, SAMPLE_V_LOCAL), page + kArenaShared);
  EXPECT_EQ(s.address(h, 0, SAMPLE_V_MAIN), page + kArenaShared + kSampleLocal);
  expect_small_pool_order(s, h, kHbm + 23 * kGiB);
  expect_io_contents(s, h, 1);
  expect_links(s, h, 0, 1);
  // Core 4 shares the HBM but has pages of its own.
  H_NN other = 0;
  ASSERT_EQ(s.load(sample_file({.subgraphs = 1}), 4, &other), NRT_SUCCESS);
  EXPECT_EQ(s.address(other, 0, SAMPLE_V_SHARED), page + 512 * kMiB + kSampleSharedOffset);
}

TEST(Kinds, BindPlacementLeavesInputsAndOutputsWithoutAddress) {
  stack s({.io_at_load = false});
  ASSERT_TRUE(s.ok());
  H_NN h = 0;
  ASSERT_EQ(s.load(sample_file(), 0, &h), NRT_SUCCESS);
  log_capture log;
  uint64_t addr = 0;
  for (uint32_t var : {SAMPLE_IN0, SAMPLE_OUT0, SAMPLE_P_IN}) {
    EXPECT_EQ(mem_ref_to_addr(s.var(h, 0, var), 0, 4, &addr), NRT_INVALID);
    EXPECT_EQ(log.errors().size(), 1u) << var;
    log.clear();
  }
  const mem_ref_t *table = s.var(h, 1, SAMPLE_TABLE);
  EXPECT_EQ(table->addrs[0], MEM_REF_NOT_STAGED);
  EXPECT_TRUE(table->var_id_needs_translation[0]);
  EXPECT_EQ(table->addrs[3], s.address(h, 1, SAMPLE_W_NPY));
}

TEST(Kinds, OlderArchitectureLoadsWithTheSwitchOnly) {
  std::vector<uint8_t> file = sample_file({.target = "sunda", .subgraphs = 1});
  H_NN h = 0;
  {
    stack s;
    ASSERT_TRUE(s.ok());
    log_capture log;
    EXPECT_EQ(s.load(file, 0, &h), NRT_INVALID);
    EXPECT_THAT(log.errors(), ElementsAre(HasSubstr("compiled for sunda, this machine is cayman")));
  }
  stack s({.allow_legacy = true});
  ASSERT_TRUE(s.ok());
  ASSERT_EQ(s.load(file, 0, &h), NRT_SUCCESS);
  expect_io_contents(s, h, 1);
}

TEST(Kinds, AnyTargetLoadsEverywhere) {
  std::vector<uint8_t> file = sample_file({.target = "*", .subgraphs = 1});
  for (const char *instance : {"trn1.2xlarge", "trn2.3xlarge"}) {
    stack s({.instance = instance, .lnc = 1});
    ASSERT_TRUE(s.ok());
    H_NN h = 0;
    EXPECT_EQ(s.load(file, 0, &h), NRT_SUCCESS) << instance;
  }
}

TEST(Kinds, HashIsCheckedWhenAskedFor) {
  stack s({.validate_hash = true});
  ASSERT_TRUE(s.ok());
  std::vector<uint8_t> file = sample_file();
  H_NN h = 0;
  ASSERT_EQ(s.load(file, 0, &h), NRT_SUCCESS);
  ASSERT_EQ(s.unload(h), NRT_SUCCESS);
  file[172] ^= 1;  // first byte of the hash
  log_capture log;
  EXPECT_EQ(s.load(file, 0, &h), NRT_INVALID);
  EXPECT_EQ(log.errors().size(), 1u);
}

// The sample that `neff sample` writes: every kind of variable too, in its own sizes.
TEST(Kinds, TheToolsSampleLoadsOnEveryMachine) {
  const struct {
    const char *instance, *target;
    uint32_t lnc, cores;
  } rows[] = {{"trn1.2xlarge", "sunda", 1, 1},  {"trn1.2xlarge", "*", 1, 1},
              {"trn2.3xlarge", "cayman", 1, 1}, {"trn2.3xlarge", "cayman", 2, 1},
              {"trn2.3xlarge", "cayman", 2, 2}, {"trn2.3xlarge", "*", 2, 2}};
  for (const auto &row : rows) {
    SCOPED_TRACE(testing::Message() << row.instance << " " << row.target << " " << row.cores);
    neff_sample_options options;
    options.cores = row.cores;
    options.target = row.target;
    finding_sink findings;
    std::vector<uint8_t> file;
    ASSERT_EQ(neff_sample_build(options, findings, &file), NRT_SUCCESS);
    stack s({.instance = row.instance, .lnc = row.lnc});
    ASSERT_TRUE(s.ok());
    std::vector<chunk_t> before = s.chunks();
    H_NN h = 0;
    ASSERT_EQ(s.load(file, -1, &h), NRT_SUCCESS);
    plan_t plan = s.plan(h);
    for (uint32_t sg = 0; sg < row.cores; sg++) {
      std::string prefix = std::to_string(sg) + "/";
      for (const char *name : {"weights", "bias", "staged", "tmp", "spill0", "spill1", "exchange",
                               "x", "y", "output0", "SB"})
        EXPECT_EQ(plan.count(prefix + name), 1u) << name;
      EXPECT_EQ(plan[prefix + "spill1"].address, plan[prefix + "spill0"].address + 16384);
      EXPECT_EQ(plan[prefix + "exchange"].address, plan["0/exchange"].address);
      EXPECT_EQ(plan[prefix + "output0"].address, plan["0/output0"].address);
      if (row.cores == 2) {
        EXPECT_EQ(plan[prefix + "peer_tmp"].address, plan[std::to_string(1 - sg) + "/tmp"].address);
      }
      const uint8_t *bias = s.dram(plan[prefix + "bias"].address, 1000);
      ASSERT_NE(bias, nullptr);
      for (uint32_t i = 0; i < 1000; i++)
        ASSERT_EQ(bias[i], static_cast<uint8_t>(i * 31 + (i >> 8) * 7 + 100 + sg)) << i;
    }
    ASSERT_EQ(s.unload(h), NRT_SUCCESS);
    EXPECT_EQ(s.chunks(), before);
  }
}
