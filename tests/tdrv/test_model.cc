// SPDX-License-Identifier: Apache-2.0
// A whole model on a logical core: subgraphs, slots, all-or-nothing, and that loading and unloading
// leave no trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <iterator>
#include <thread>

#include "tests/tdrv/machine.h"

using ::testing::HasSubstr;

namespace {

const std::vector<uint8_t> kWeights = [] {
  std::vector<uint8_t> data(300000);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<uint8_t>(i * 7 + (i >> 9));
  return data;
}();

// Every kind, on one subgraph.
void fill_all_kinds(plan &p, uint32_t other_sg = ~0u) {
  p.add(MR_SB, "sb", 0);
  p.add(MR_BUFFER, "w0", 300000, 128, kWeights.data());
  p.add(MR_BUFFER, "w1", 64, 0, kWeights.data());
  p.add(MR_TMP_BUF, "tmp", 100000, 4096);
  p.virt("v0", 0, 70 * kMiB);
  p.virt("v1", 4096, 4096, KBIN_BACKING_BUF_SHARED);
  uint32_t in = p.add(MR_INPUT, "x", 4096);
  uint32_t out = p.add(MR_OUTPUT, "y", 2048);
  p.ptr("px", in, true);
  p.list(MR_LIST, "ids", {in, out});
  p.list(MR_PTR_TABLE, "table", {1, in, out, 4});
  if (other_sg != ~0u)
    p.remote("other w0", other_sg, 1);
}

std::unique_ptr<kelf_nn_t> all_kinds(uint32_t subgraphs) {
  plan first, second;
  fill_all_kinds(first, subgraphs == 2 ? 1 : ~0u);
  if (subgraphs == 1)
    return model_of(first);
  fill_all_kinds(second, 0);
  return model_of(first, second);
}

bool same_counters(const dmem_usage_table_t &a, const dmem_usage_table_t &b) {
  return memcmp(&a, &b, sizeof(a)) == 0;
}

}  // namespace

TEST(Model, Invariant27LoadThenUnloadLeavesNoTrace) {
  for (bool contiguous : {false, true}) {
    machine m({.contiguous = contiguous});
    auto nn = all_kinds(2);
    auto chunks = m.chunks();
    auto counters = m.counters();
    for (int i = 0; i < 20; ++i) {
      loaded model(m, *nn);
      ASSERT_EQ(model.status, NRT_SUCCESS);
      EXPECT_GT(m.chunks().size(), chunks.size());
      model.unload();
      ASSERT_EQ(m.chunks(), chunks);
      EXPECT_TRUE(same_counters(m.counters(), counters));
    }
  }
}

TEST(Model, BothSubgraphsResolveEverything) {
  machine m;
  auto nn = all_kinds(2);
  loaded model(m, *nn);
  ASSERT_EQ(model.status, NRT_SUCCESS);
  for (uint32_t sg = 0; sg < 2; ++sg) {
    for (uint32_t id : {0, 1, 2, 3, 4, 5, 6, 7, 8, 11})
      model.address(id, sg);
    EXPECT_EQ(memcmp(m.dram(model.address(1, sg), 300000), kWeights.data(), 300000), 0);
    EXPECT_EQ(model.address(1, sg) % 128, 0u);
    EXPECT_EQ(model.address(3, sg) % 4096, 0u);
    EXPECT_EQ(model.address(11, sg), model.address(1, 1 - sg));
    EXPECT_EQ(model.address(8, sg), model.address(6, sg));
  }
  EXPECT_NE(model.address(1, 0), model.address(1, 1));
  // State buffers of cores 0 and 1 of v3.
  EXPECT_EQ(model.address(0, 0), 0x2000000000u);
  EXPECT_EQ(model.address(0, 1), 0x3000000000u);
}

TEST(Model, SlotsAreAllocatedOnceAndAliasedByBothSubgraphs) {
  machine m;
  plan a, b;
  uint32_t xa = a.add(MR_INPUT, "x", 4096, 64), ya = a.add(MR_OUTPUT, "y", 100);
  uint32_t same_a = a.add(MR_OUTPUT, "x", 512);  // an output may carry an input's name
  uint32_t yb = b.add(MR_OUTPUT, "y", 100, 8192), xb = b.add(MR_INPUT, "x", 4096);
  uint32_t only_b = b.add(MR_INPUT, "z", 8);
  auto nn = model_of(a, b);
  nn->inputs.push_back({"x", 5000, "uint8", 0, {5000}});  // the container states more
  loaded model(m, *nn);
  ASSERT_EQ(model.status, NRT_SUCCESS);
  ASSERT_EQ(model.info->num_io_slots, 4u);
  EXPECT_EQ(model.address(xa, 0), model.address(xb, 1));
  EXPECT_EQ(model.address(ya, 0), model.address(yb, 1));
  EXPECT_NE(model.address(xa, 0), model.address(same_a, 0));
  EXPECT_EQ(model.address(ya, 0) % 8192, 0u);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::IO, 0), 5000u + 100 + 512 + 8);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::IO, 1), 0u);
  io_slot_t *x = vtpb_info_shared_find_io(model.info, "x", false);
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(x->size, 5000u);
  EXPECT_EQ(dmem_get_pa(x->mem), model.address(xa, 0));
  EXPECT_EQ(x->mem->mem_usage_type, dma_mem_usage_type_t::IO);
  EXPECT_EQ(x->mem->tdram_channel, 0u);
  EXPECT_EQ(vtpb_info_shared_find_io(model.info, "z", true), nullptr);
  EXPECT_EQ(model.address(only_b, 1),
            dmem_get_pa(vtpb_info_shared_find_io(model.info, "z", false)->mem));
  EXPECT_EQ(model.var(xa, 0)->size, 4096u);  // resolve keeps to the entry's own size
}

TEST(Model, TablesSeeTheSlotsAndMarkThem) {
  machine m;
  auto nn = all_kinds(1);
  loaded model(m, *nn);
  ASSERT_EQ(model.status, NRT_SUCCESS);
  mem_ref_t *t = model.var(10);
  const uint64_t expected[] = {model.address(1), model.address(6), model.address(7),
                               model.address(4)};
  const bool mask[] = {false, true, true, false};
  EXPECT_EQ(memcmp(t->addrs, expected, sizeof(expected)), 0);
  EXPECT_EQ(memcmp(t->var_id_needs_translation, mask, sizeof(mask)), 0);
  dmem_t *mem = model.info->mr_sets[0].tables.mem[t->pointers_to_tables_index];
  EXPECT_EQ(memcmp(m.dram(dmem_get_pa(mem), 32), expected, 32), 0);
}

TEST(Model, BindPlacementAllocatesNoSlots) {
  machine m({.io_at_load = false});
  plan p, q;
  uint32_t in = p.add(MR_INPUT, "x", 4096);
  uint32_t pointer = p.ptr("px", in, true);
  uint32_t table = p.list(MR_PTR_TABLE, "t", {in, 3});
  p.add(MR_TMP_BUF, "tmp", 64);
  uint32_t alias = q.remote("x of sg00", 0, in);
  uint32_t alias_table = q.list(MR_PTR_TABLE, "t", {alias});
  auto nn = model_of(p, q);
  loaded model(m, *nn);
  ASSERT_EQ(model.status, NRT_SUCCESS);
  EXPECT_EQ(model.info->num_io_slots, 1u);
  EXPECT_EQ(model.info->io_slots[0].mem, nullptr);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::IO, 0), 16u);  // the table only
  EXPECT_EQ(model.var(in)->physical_address, MEM_REF_NOT_STAGED);
  EXPECT_EQ(model.var(pointer)->ptr_mem_addr, MEM_REF_NOT_STAGED);
  EXPECT_EQ(model.var(table)->addrs[0], MEM_REF_NOT_STAGED);
  EXPECT_TRUE(model.var(table)->var_id_needs_translation[0]);
  EXPECT_FALSE(model.var(table)->var_id_needs_translation[1]);
  EXPECT_TRUE(model.var(alias_table, 1)->var_id_needs_translation[0]);
}

TEST(Model, RemoteAliasOfAnInputIsPlacedAndMarked) {
  machine m;
  plan p, q;
  uint32_t in = p.add(MR_INPUT, "x", 4096);
  uint32_t w = p.add(MR_TMP_BUF, "w", 64);
  uint32_t alias = q.remote("x of sg00", 0, in), alias_w = q.remote("w of sg00", 0, w);
  uint32_t table = q.list(MR_PTR_TABLE, "t", {alias, alias_w});
  auto nn = model_of(p, q);
  loaded model(m, *nn);
  ASSERT_EQ(model.status, NRT_SUCCESS);
  EXPECT_EQ(model.address(alias, 1), model.address(in, 0));
  EXPECT_TRUE(model.var(table, 1)->var_id_needs_translation[0]);
  EXPECT_FALSE(model.var(table, 1)->var_id_needs_translation[1]);
}

TEST(Model, NumberOfSubgraphsIsChecked) {
  machine two, one({.instance = "trn2.3xlarge", .lnc = 1});
  log_watch log;
  auto pair = all_kinds(2), single = all_kinds(1);
  {
    loaded model(one, *pair);
    EXPECT_EQ(model.status, NRT_LOAD_NOT_ENOUGH_NC);
    EXPECT_EQ(model.info, nullptr);
    auto errors = log.take_errors();
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_THAT(errors[0], HasSubstr("needs 2"));
    EXPECT_THAT(errors[0], HasSubstr("1 available"));
  }
  {
    loaded model(two, *single);  // one subgraph on a logical core of two is fine
    EXPECT_EQ(model.status, NRT_SUCCESS);
  }
  kelf_nn_t none;
  loaded model(two, none);
  EXPECT_EQ(model.status, NRT_INVALID);
  EXPECT_EQ(log.take_errors().size(), 1u);
}

TEST(Model, TwoFailingSubgraphsWriteOneLine) {
  machine m;
  log_watch log;
  auto before = m.chunks();
  for (int i = 0; i < 20; ++i) {
    plan a, b;
    a.add(MR_TMP_BUF, "bad of sg00", 0);
    b.add(MR_TMP_BUF, "bad of sg01", 0);
    auto nn = model_of(a, b);
    unsigned long own = nlog_thread_error_count();
    loaded model(m, *nn);
    EXPECT_EQ(model.status, NRT_INVALID);
    EXPECT_EQ(nlog_thread_error_count(), own + 1);
    auto errors = log.take_errors();
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_THAT(errors[0], HasSubstr("bad of sg00"));
  }
  plan a, b;
  a.add(MR_TMP_BUF, "good", 64);
  b.add(MR_TMP_BUF, "bad of sg01", 0);
  auto nn = model_of(a, b);
  loaded model(m, *nn);
  EXPECT_EQ(model.status, NRT_INVALID);
  auto errors = log.take_errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0], HasSubstr("bad of sg01"));
  EXPECT_EQ(m.chunks(), before);
}

// Both uploads run at the same time and both fail: still one line, written by the caller's thread.
TEST(Model, TwoFailingUploadsWriteOneLine) {
  machine m;
  log_watch log;
  auto nn = all_kinds(2);
  auto before = m.chunks();
  const mock_fault_t faults[] = {{NEURON_IOCTL_MEM_COPY, 1, EIO, true},
                                 {NEURON_IOCTL_MEM_COPY64, 1, EIO, true},
                                 {NEURON_IOCTL_MEM_COPY_ASYNC, 1, EIO, true},
                                 {NEURON_IOCTL_MEM_COPY_ASYNC64, 1, EIO, true}};
  ASSERT_EQ(mock_set_faults(m.host(), faults, std::size(faults)), 0);
  for (int i = 0; i < 20; ++i) {
    unsigned long own = nlog_thread_error_count();
    loaded model(m, *nn);
    EXPECT_EQ(model.status, NRT_FAILURE);
    EXPECT_EQ(nlog_thread_error_count(), own + 1);
    EXPECT_EQ(log.take_errors().size(), 1u);
  }
  m.heal();
  EXPECT_EQ(m.chunks(), before);
}

// Equal loads on equal machines give equal plans.
TEST(Model, AddressesAreTheSameInEveryRun) {
  auto nn = all_kinds(2);
  std::vector<uint64_t> first;
  for (int run = 0; run < 5; ++run) {
    machine m;
    loaded a(m, *nn), b(m, *nn);
    std::vector<uint64_t> plan;
    for (uint32_t id = 0; id < 9; ++id) {
      for (uint32_t sg = 0; sg < 2; ++sg) {
        plan.push_back(a.address(id, sg));
        plan.push_back(b.address(id, sg));
      }
    }
    if (run == 0)
      first = plan;
    EXPECT_EQ(plan, first);
  }
}

TEST(Model, Invariant29UnloadingOneLeavesTheOthersAlone) {
  machine m;
  auto nn = all_kinds(2);
  loaded first(m, *nn);
  auto second = std::make_unique<loaded>(m, *nn);
  loaded third(m, *nn);
  std::vector<uint64_t> addresses;
  for (uint32_t id = 0; id < 9; ++id) {
    addresses.push_back(first.address(id));
    addresses.push_back(third.address(id));
  }
  auto *byte = static_cast<uint8_t *>(mem_ref_get_va(first.var(4), 65 * kMiB, 1));
  ASSERT_NE(byte, nullptr);
  *byte = 0xC3;
  second.reset();
  std::vector<uint64_t> after;
  for (uint32_t id = 0; id < 9; ++id) {
    after.push_back(first.address(id));
    after.push_back(third.address(id));
  }
  EXPECT_EQ(after, addresses);
  EXPECT_EQ(*byte, 0xC3);
  EXPECT_EQ(memcmp(m.dram(first.address(1), 300000), kWeights.data(), 300000), 0);
  EXPECT_EQ(memcmp(m.dram(third.address(1, 1), 300000), kWeights.data(), 300000), 0);
}

TEST(Model, Invariant30WeightUsageIsTheSumOfTheFiles) {
  machine m;
  auto nn = all_kinds(2);
  loaded model(m, *nn);
  ASSERT_EQ(model.status, NRT_SUCCESS);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::WEIGHT, 0), 300064u);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::WEIGHT, 1), 300064u);
}

// Every request of a load fails in turn. Some failures are tolerated by design (the driver's
// aligned form has a fallback); all others must leave everything as it was.
TEST(Model, Invariant27EveryFailingRequestRollsBack) {
  for (int error : {ENOMEM, EIO}) {
    for (bool contiguous : {false, true}) {
      machine m({.contiguous = contiguous});
      auto nn = all_kinds(2);
      uint64_t requests = mock_ioctl_count(m.host(), 0);
      {
        loaded model(m, *nn);
        ASSERT_EQ(model.status, NRT_SUCCESS);
      }
      // Unloading included; an upper bound of what a load issues.
      requests = mock_ioctl_count(m.host(), 0) - requests;
      auto chunks = m.chunks();
      auto counters = m.counters();
      log_watch log;
      uint32_t refused = 0;
      for (uint32_t nth = 1; nth <= requests; ++nth) {
        m.fail(0, nth, error);
        loaded model(m, *nn);
        m.heal();
        auto errors = log.take_errors();
        if (model.status == NRT_SUCCESS) {
          EXPECT_TRUE(errors.empty()) << nth << ": " << errors[0];
          continue;
        }
        ++refused;
        ASSERT_EQ(errors.size(), 1u) << nth;
        EXPECT_THAT((std::vector<NRT_STATUS>{NRT_RESOURCE, NRT_FAILURE}),
                    ::testing::Contains(model.status));
        ASSERT_EQ(m.chunks(), chunks) << nth << ": " << errors[0];
        ASSERT_TRUE(same_counters(m.counters(), counters)) << nth;
      }
      EXPECT_GT(refused, 10u);
      loaded model(m, *nn);
      EXPECT_EQ(model.status, NRT_SUCCESS);
    }
  }
}

TEST(Model, LoadsAndUnloadsInParallel) {
  for (bool contiguous : {false, true}) {
    machine m({.num_vncs = 2, .contiguous = contiguous});
    auto nn = all_kinds(2);
    auto before = m.chunks();
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 8; ++i) {
          loaded model(m, *nn, t % 2);
          if (model.status != NRT_SUCCESS ||
              memcmp(m.dram(model.address(1), 300000), kWeights.data(), 300000) != 0)
            ++failures;
        }
      });
    }
    for (std::thread &t : threads)
      t.join();
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(m.chunks(), before);
  }
}
