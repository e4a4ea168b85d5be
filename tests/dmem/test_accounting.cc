// SPDX-License-Identifier: Apache-2.0
// Usages, number format and the log of events (device-memory.md 2.1, 4.1; 6, invariants 16 and 38).
#include <gmock/gmock.h>

#include <set>

#include "dmem/memlog.h"
#include "tests/dmem/machine.h"

TEST(Usage, Categories) {
  struct row {
    uint32_t host, device;
  };
  // device-memory.md 2.1 with the rows of POOL code and IO repaired; 20 = not permitted.
  const row rows[DMEM_USAGE_COUNT] = {{4, 12},  {1, 8},   {1, 8},   {1, 8},   {4, 12},  {4, 12},
                                      {3, 10},  {6, 16},  {4, 12},  {1, 8},   {1, 8},   {20, 11},
                                      {2, 9},   {1, 8},   {4, 12},  {20, 14}, {20, 15}, {4, 12},
                                      {17, 18}, {17, 18}, {17, 18}, {17, 18}};
  std::set<std::string> names;
  for (uint32_t i = 0; i < DMEM_USAGE_COUNT; ++i) {
    SCOPED_TRACE(i);
    auto usage = static_cast<dma_mem_usage_type_t>(i);
    uint32_t category = 99;
    EXPECT_EQ(dmem_usage_category(usage, dma_mem_location_t::HOST_DRAM, &category),
              rows[i].host != 20);
    EXPECT_EQ(category, rows[i].host != 20 ? rows[i].host : 99);
    ASSERT_TRUE(dmem_usage_category(usage, dma_mem_location_t::TONGA_DRAM, &category));
    EXPECT_EQ(category, rows[i].device);
    names.insert(dmem_usage_name(usage));
  }
  EXPECT_EQ(names.size(), DMEM_USAGE_COUNT);
  EXPECT_STREQ(dmem_usage_name(dma_mem_usage_type_t::WEIGHT), "weight");
  EXPECT_STREQ(dmem_usage_name(dma_mem_usage_type_t::MAX), "unknown");
  uint32_t category = 0;
  EXPECT_FALSE(
      dmem_usage_category(dma_mem_usage_type_t::MAX, dma_mem_location_t::TONGA_DRAM, &category));
  EXPECT_FALSE(
      dmem_usage_category(dma_mem_usage_type_t::TENSOR, dma_mem_location_t::INVALID, &category));
}

TEST(Usage, KeysAndColumns) {
  struct row {
    dma_mem_usage_type_t usage;
    const char *key;
    uint32_t column;
  };
  using usage = dma_mem_usage_type_t;
  // Keys: neff-format.md 5.1. Columns: device-memory.md 2.1 with POOL and IO repaired (rulings 4).
  const row rows[] = {{usage::GENERIC, "generic", 5},
                      {usage::INSTR_PE, "pe", 0},
                      {usage::INSTR_ACT, "act", 0},
                      {usage::INSTR_POOL, "pool", 0},
                      {usage::INSTR_DVE, "dve", 0},
                      {usage::INSTR_SP, "sp", 0},
                      {usage::IO, "io", 5},
                      {usage::DRAM_SPILL, "spill", 5},
                      {usage::WEIGHT, "weight", 1},
                      {usage::NOTIFICATION, "profiler_buffers", 11},
                      {usage::ACT_TABLE, "act_table", 5},
                      {usage::SCRATCHPAD, "shared_scratchpad", 3},
                      {usage::TENSOR, "tensor", 2},
                      {usage::UCODE_LIB, "ucode", 0},
                      {usage::POOL_STDIO, "pool_stdio", 5},
                      {usage::CC, "collectives", 10},
                      {usage::SCRATCHPAD_NOT_SHARED, "scratchpad", 4},
                      {usage::XT_CC, "xt_cc", 5},
                      {usage::DMA_RING, "dma_rings_runtime", 9},
                      {usage::DMA_RING_SPILL, "dma_rings_spill", 7},
                      {usage::DMA_RING_IO, "dma_rings_io", 6},
                      {usage::DMA_RING_COLLECTIVES, "dma_rings_collectives", 8}};
  std::set<std::string> keys;
  for (const row &r : rows) {
    EXPECT_STREQ(dmem_usage_key(r.usage), r.key);
    EXPECT_EQ(static_cast<uint32_t>(dmem_usage_column(r.usage)), r.column) << r.key;
    keys.insert(r.key);
  }
  EXPECT_EQ(keys.size(), DMEM_USAGE_COUNT);
  EXPECT_STREQ(dmem_usage_key(usage::MAX), "unknown");
}

TEST(Format, Sizes) {
  const std::pair<uint64_t, const char *> rows[] = {{0, "0.000B"},
                                                    {1, "1.000B"},
                                                    {1023, "1023.000B"},
                                                    {1024, "1.000KB"},
                                                    {4096, "4.000KB"},
                                                    {29248, "28.562KB"},
                                                    {1048576, "1.000MB"},
                                                    {236096, "230.562KB"},
                                                    {1 << 30, "1.000GB"},
                                                    {4294967296, "4.000GB"},
                                                    {uint64_t{1} << 42, "4096.000GB"}};
  for (auto [bytes, text] : rows)
    EXPECT_EQ(dmem_size_text(bytes), text);
  EXPECT_EQ(dmem_size_text(UINT64_MAX), "17179869184.000GB");
}

namespace {

class Invariant16 : public testing::Test {
 protected:
  void open(const char *events) {
    setenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", events, 1);
    m.open("trn2.3xlarge");
    unsetenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE");
  }
  machine m;
};

}  // namespace

TEST_F(Invariant16, RingOfEvents) {
  open("5");
  dmem_event_t events[8];
  EXPECT_EQ(dmem_memlog_copy(m.stats, events, 8), 0u);
  dmem_t *a = m.device_mem(100);
  dmem_t *b = nullptr;
  ASSERT_EQ(dmem_alloc_aligned(m.allocators[6], 5000, dma_mem_location_t::TONGA_DRAM, 3, nullptr,
                               dma_mem_usage_type_t::WEIGHT, "layer.0", 8192, &b),
            NRT_SUCCESS);
  dmem_t *host = nullptr;
  ASSERT_EQ(
      dmem_alloc(m.allocators[0], 70, dma_mem_location_t::HOST_DRAM, 0, nullptr,
                 dma_mem_usage_type_t::TENSOR, "a hint much longer than the log keeps", &host),
      NRT_SUCCESS);
  uint64_t a_pa = a->_pa;
  uint64_t b_pa = b->_pa;
  dmem_free(a);
  ASSERT_EQ(dmem_memlog_copy(m.stats, events, 8), 4u);
  EXPECT_EQ(dmem_memlog_dropped(m.stats), 0u);
  EXPECT_EQ(events[0].action, dmem_event_action_t::ALLOC);
  EXPECT_EQ(events[0].size, 100u);
  EXPECT_EQ(events[0].pa, a_pa);
  EXPECT_EQ(events[0].hbm_total, 100u);
  EXPECT_STREQ(events[0].hint, "");
  EXPECT_EQ(events[1].usage, dma_mem_usage_type_t::WEIGHT);
  EXPECT_EQ(events[1].hbm_index, 3u);
  EXPECT_EQ(events[1].nc_id, 6u);
  EXPECT_EQ(events[1].pa, b_pa);
  EXPECT_EQ(events[1].hbm_total, 5000u);
  EXPECT_STREQ(events[1].hint, "layer.0");
  EXPECT_EQ(events[2].location, dma_mem_location_t::HOST_DRAM);
  EXPECT_EQ(events[2].hbm_total, 100u);  // host memory does not count
  EXPECT_STREQ(events[2].hint, "a hint much longer than the");
  EXPECT_EQ(events[3].action, dmem_event_action_t::FREE);
  EXPECT_EQ(events[3].pa, a_pa);
  EXPECT_EQ(events[3].hbm_total, 0u);
  // The bound: oldest go first, in order.
  dmem_free(b);
  dmem_free(host);
  m.device_mem(300);
  EXPECT_EQ(dmem_memlog_copy(m.stats, events, 8), 5u);
  EXPECT_EQ(dmem_memlog_dropped(m.stats), 2u);
  EXPECT_EQ(events[0].location, dma_mem_location_t::HOST_DRAM);
  EXPECT_EQ(events[0].action, dmem_event_action_t::ALLOC);
  EXPECT_EQ(events[1].pa, a_pa);
  EXPECT_EQ(events[2].pa, b_pa);
  EXPECT_EQ(events[4].size, 300u);
  // Less room than events: the oldest ones.
  dmem_event_t two[2];
  EXPECT_EQ(dmem_memlog_copy(m.stats, two, 2), 5u);
  EXPECT_EQ(two[1].pa, a_pa);
}

TEST_F(Invariant16, ManyEvents) {
  open("10000");
  for (int i = 0; i < 6000; ++i)
    dmem_free(m.device_mem(1 + i));
  std::vector<dmem_event_t> events(10000);
  EXPECT_EQ(dmem_memlog_copy(m.stats, events.data(), events.size()), 10000u);
  EXPECT_EQ(dmem_memlog_dropped(m.stats), 2000u);
  for (size_t i = 0; i < events.size(); ++i) {
    ASSERT_EQ(events[i].size, 1001 + i / 2);
    ASSERT_EQ(events[i].action,
              i % 2 == 0 ? dmem_event_action_t::ALLOC : dmem_event_action_t::FREE);
  }
}

TEST_F(Invariant16, LogCanBeOff) {
  open("0");
  dmem_free(m.device_mem(1));
  EXPECT_EQ(dmem_memlog_copy(m.stats, nullptr, 0), 0u);
  EXPECT_EQ(dmem_memlog_dropped(m.stats), 2u);
}

TEST(Memlog, MalformedVariable) {
  setenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "lots", 1);
  log_lines errors(NLOG_LEVEL_ERROR);
  dmem_device_t *refused = nullptr;
  EXPECT_EQ(dmem_device_create(0, &refused), NRT_INVALID);
  EXPECT_EQ(refused, nullptr);
  EXPECT_THAT(errors.lines, testing::ElementsAre(testing::HasSubstr("lots")));
  unsetenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE");
}
