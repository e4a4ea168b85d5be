// SPDX-License-Identifier: Apache-2.0
// Handles: placement, references, statuses, the aligned fallback (device-memory.md 6, invariants
// 1 to 8 and 10 to 14; 9 is in tests/hal/test_arch.cc, the sentinel half of 8 in tests/tdrv).
#include <gmock/gmock.h>

#include <cerrno>
#include <map>
#include <random>
#include <thread>

#include "tests/dmem/machine.h"

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr dma_mem_location_t kHost = dma_mem_location_t::HOST_DRAM;
constexpr dma_mem_location_t kDevice = dma_mem_location_t::TONGA_DRAM;
constexpr dma_mem_usage_type_t kTensor = dma_mem_usage_type_t::TENSOR;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kGiB = 1 << 30;
constexpr uint64_t kV3Base[] = {0, 0x4000000000, 0x800000000000, 0x804000000000};

uint64_t pages(uint64_t size) {
  return (size + 4095) / 4096 * 4096;
}

// Bytes of all chunks the driver lists on a channel, without the carve-out.
uint64_t driver_bytes(machine *m, uint32_t channel) {
  std::vector<hal_chunk_t> chunks(100000);
  auto count = static_cast<uint32_t>(chunks.size());
  EXPECT_EQ(hal_dump_chunks(m->device, channel, chunks.data(), &count), 0);
  uint64_t total = 0;
  for (uint32_t i = 0; i < count; ++i)
    total += chunks[i].category == 13 ? 0 : chunks[i].size;
  return total;
}

}  // namespace

TEST(Invariant01, AllocationsLieInsideOneChannel) {
  machine m;
  m.open("trn2.3xlarge");
  std::mt19937_64 random(1);
  for (int i = 0; i < 400; ++i) {
    uint32_t core = random() % 8;
    uint32_t channel = random() % 4;
    size_t size = 1 + random() % (i % 2 == 0 ? 600 * 1024 : 80 * kMiB);
    dmem_t *mem = m.device_mem(size, 0, core, channel);
    ASSERT_NE(mem, nullptr);
    uint64_t pa = dmem_get_pa(mem);
    EXPECT_GE(pa, kV3Base[channel] + 16 * kMiB);
    EXPECT_LE(pa + size, kV3Base[channel] + 24 * kGiB);
  }
}

TEST(Invariant02, LiveAllocationsDoNotOverlap) {
  machine m;
  m.open("trn2.3xlarge");
  std::mt19937_64 random(2);
  std::map<uint64_t, uint64_t> extents;  // start -> page-rounded end
  std::vector<dmem_t *> live;
  for (int i = 0; i < 1500; ++i) {
    if (random() % 3 == 0 && !live.empty()) {
      size_t at = random() % live.size();
      extents.erase(live[at]->_pa);
      dmem_free(live[at]);
      live[at] = live.back();
      live.pop_back();
      continue;
    }
    dmem_t *mem = nullptr;
    if (i % 50 == 0) {
      ASSERT_EQ(dmem_alloc_contiguous_page(m.allocators[0], 64 * kMiB, &mem), NRT_SUCCESS);
      ASSERT_NE(mem, nullptr);
    } else {
      mem = m.device_mem(1 + random() % (2 * kMiB), random() % 2 == 0 ? 0 : 1 << (random() % 22));
    }
    uint64_t begin = mem->_pa;
    uint64_t end = begin + pages(mem->allocated_size);
    auto next = extents.lower_bound(begin);
    if (next != extents.end()) {
      EXPECT_LE(end, next->first);
    }
    if (next != extents.begin()) {
      EXPECT_LE(std::prev(next)->second, begin);
    }
    extents[begin] = end;
    // Scratchpad pages must go in their own order: keep them.
    if (i % 50 != 0)
      live.push_back(mem);
  }
}

TEST(Invariant03, AlignmentHolds) {
  machine m;
  m.open("trn2.3xlarge");
  for (bool by_hand : {false, true}) {
    if (by_hand) {
      const mock_fault_t fault = {req::MEM_ALLOC_V2MT64, 1, EINVAL, false};
      mock_set_faults(m.route.host, &fault, 1);
    }
    for (size_t alignment = 1; alignment <= 64 * kMiB; alignment *= 2) {
      for (size_t size : {size_t{1}, size_t{4096}, size_t{700001}}) {
        dmem_t *mem = m.device_mem(size, alignment);
        ASSERT_NE(mem, nullptr);
        EXPECT_EQ(dmem_get_pa(mem) % alignment, 0u);
        EXPECT_LE(mem->align_offset + size, mem->allocated_size);
        EXPECT_EQ(mem->_pa % 4096, 0u);
        EXPECT_EQ(dmem_get_pa(mem) >> 63, 0u);
        EXPECT_EQ(mem->size, size);
        if (by_hand) {
          EXPECT_GE(mem->align_offset, 1u);
          EXPECT_LE(mem->align_offset, alignment);
          EXPECT_EQ(mem->allocated_size, size + alignment);
        } else {
          EXPECT_EQ(mem->align_offset, 0u);
          EXPECT_EQ(mem->allocated_size, size);
        }
        dmem_free(mem);
      }
    }
  }
}

TEST(Invariant04, HostWindowBit) {
  for (const char *instance : {"trn1.2xlarge", "trn2.3xlarge"}) {
    machine m;
    m.open(instance);
    uint64_t bit = std::string(instance) == "trn1.2xlarge" ? uint64_t{1} << 44 : uint64_t{1} << 46;
    dmem_t *host = nullptr;
    ASSERT_EQ(dmem_alloc(m.allocators[0], 5000, kHost, 0, nullptr, kTensor, nullptr, &host),
              NRT_SUCCESS);
    EXPECT_NE(dmem_get_pa(host) & bit, 0u);
    EXPECT_EQ(dmem_get_pa(host) >> 63, 0u);
    EXPECT_EQ(dmem_get_pa(m.device_mem(5000)) & bit, 0u);
  }
}

// The mapping of a chunk, the driver's copies and the device's own view are the same bytes, at both
// ends of a channel.
TEST(Invariant05, MappingsShowTheDevicesBytes) {
  machine m;
  m.open("trn2.3xlarge");
  for (uint32_t channel = 0; channel < 4; ++channel) {
    dmem_t *first = m.device_mem(kMiB, 0, 0, channel);  // right above the carve-out
    EXPECT_EQ(dmem_get_pa(first), kV3Base[channel] + 16 * kMiB);
    dmem_t *small = m.device_mem(4096, 0, 0, channel);  // in the small pool
    EXPECT_EQ(dmem_get_pa(small), kV3Base[channel] + 23 * kGiB);
    for (dmem_t *mem : {first, small}) {
      const char in[] = "written through the bounce buffer";
      ASSERT_EQ(dmem_buf_copyin(mem, in, 11, sizeof(in)), NRT_SUCCESS);
      auto *va = static_cast<char *>(dmem_get_va(mem));
      ASSERT_NE(va, nullptr);
      EXPECT_STREQ(va + 11, in);
      va[mem->size - 1] = 'z';
      auto *dram = static_cast<char *>(mock_dram(m.route.host, 0, dmem_get_pa(mem), mem->size));
      ASSERT_NE(dram, nullptr);
      EXPECT_STREQ(dram + 11, in);
      EXPECT_EQ(dram[mem->size - 1], 'z');
    }
  }
}

// Driver 2.24.7 maps the wrong place for a chunk that touches its channel's end: refused; copies
// still work.
TEST(Invariant05, LastPageOfAChannelIsNotMapped) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_t *last = nullptr;
  for (int i = 0; i < 2048; ++i)
    last = m.device_mem(512 * 1024);
  ASSERT_EQ(dmem_get_pa(last) + last->size, 24 * kGiB);
  log_lines errors(NLOG_LEVEL_ERROR);
  EXPECT_EQ(dmem_get_va(last), nullptr);
  EXPECT_THAT(errors.lines, ElementsAre(HasSubstr("end with hbm 0")));
  char out = 'a';
  ASSERT_EQ(dmem_buf_copyin(last, &out, last->size - 1, 1), NRT_SUCCESS);
  char in = 0;
  ASSERT_EQ(dmem_buf_copyout(last, &in, last->size - 1, 1), NRT_SUCCESS);
  EXPECT_EQ(in, 'a');
}

TEST(Invariant06, DriverCountsPagesAndWeCountBytes) {
  machine m;
  m.open("trn2.3xlarge");
  const std::pair<size_t, uint64_t> rows[] = {{1, 4096}, {4095, 4096}, {4096, 4096}, {4097, 8192}};
  for (auto [size, rounded] : rows) {
    dmem_t *mem = m.device_mem(size);
    EXPECT_EQ(driver_bytes(&m, 0), rounded);
    EXPECT_EQ(m.table().hbm_total[0], size);
    dmem_free(mem);
    EXPECT_EQ(driver_bytes(&m, 0), 0u);
    EXPECT_EQ(m.table().hbm_total[0], 0u);
  }
}

TEST(Invariant07, SmallAndLargePools) {
  machine m;
  m.open("trn2.3xlarge");
  constexpr uint64_t small_pool = 23 * kGiB;
  EXPECT_GE(dmem_get_pa(m.device_mem(512 * 1024)), small_pool);
  EXPECT_LT(dmem_get_pa(m.device_mem(512 * 1024 + 1)), small_pool);
  // Main pool full: large ones go up. Small pool full: small ones go down.
  dmem_t *rest = m.device_mem(23 * kGiB - 16 * kMiB - 512 * 1024 - 4096);
  EXPECT_LT(dmem_get_pa(rest), small_pool);
  dmem_t *up = m.device_mem(600 * 1024);
  EXPECT_GE(dmem_get_pa(up), small_pool);
  dmem_free(rest);
  m.device_mem(kGiB - 512 * 1024 - 600 * 1024, 0);
  std::vector<dmem_t *> fill;
  for (int i = 0; i < 2050; ++i)
    fill.push_back(m.device_mem(512 * 1024));
  EXPECT_LT(dmem_get_pa(fill.back()), small_pool);
}

TEST(Invariant10, ReferencesAndOrderOfRelease) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_free(nullptr);
  dmem_t *mem = m.device_mem(8192);
  for (int i = 0; i < 5; ++i)
    dmem_acquire(mem);
  ASSERT_NE(dmem_get_va(mem), nullptr);
  m.route.events.clear();
  for (int i = 0; i < 5; ++i)
    dmem_free(mem);
  EXPECT_TRUE(m.route.events.empty());
  dmem_free(mem);
  ASSERT_EQ(m.route.events.size(), 2u);
  EXPECT_EQ(m.route.events[0].call, "munmap");
  EXPECT_EQ(m.route.events[1].request, req::MEM_FREE);
  // Never mapped: no munmap.
  mem = m.device_mem(8192);
  m.route.events.clear();
  dmem_free(mem);
  ASSERT_EQ(m.route.events.size(), 1u);
  EXPECT_EQ(m.route.events[0].request, req::MEM_FREE);
}

TEST(Invariant10, ConcurrentReferencesFreeOnce) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_t *mem = m.device_mem(8192);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    dmem_acquire(mem);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        dmem_acquire(mem);
        EXPECT_NE(dmem_get_va(mem), nullptr);
        dmem_free(mem);
      }
      dmem_free(mem);
    });
  }
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(m.calls("mmap"), 1u);  // mapped once, by one of them
  EXPECT_EQ(m.calls("ioctl", req::MEM_FREE), 0u);
  dmem_free(mem);
  EXPECT_EQ(m.calls("ioctl", req::MEM_FREE), 1u);
}

TEST(Invariant11, CountersEqualARecount) {
  machine m;
  m.open("trn2.3xlarge");
  std::mt19937_64 random(11);
  std::vector<dmem_t *> live;
  for (int i = 0; i < 1000; ++i) {
    if (random() % 2 == 0 && !live.empty()) {
      size_t at = random() % live.size();
      dmem_free(live[at]);
      live[at] = live.back();
      live.pop_back();
    } else {
      uint32_t core = random() % 8;
      auto usage = static_cast<dma_mem_usage_type_t>(random() % DMEM_USAGE_COUNT);
      uint32_t category = 0;
      bool host = random() % 4 == 0 && dmem_usage_category(usage, kHost, &category);
      dmem_t *mem = nullptr;
      ASSERT_EQ(
          dmem_alloc_aligned(m.allocators[core], 1 + random() % 100000, host ? kHost : kDevice,
                             core / 2, nullptr, usage, nullptr, random() % 2 == 0 ? 0 : 8192, &mem),
          NRT_SUCCESS);
      live.push_back(mem);
    }
    if (i % 20 != 0)
      continue;
    dmem_usage_table_t counted = m.table();
    dmem_usage_table_t expected = {};
    for (dmem_t *mem : live) {
      if (mem->mem_type == kHost)
        continue;
      expected.hbm_total[mem->tdram_channel] += mem->allocated_size;
      expected.core_total[mem->pcore->nc_id] += mem->allocated_size;
      expected.by_usage[mem->pcore->nc_id][static_cast<uint32_t>(mem->mem_usage_type)] +=
          mem->allocated_size;
    }
    ASSERT_EQ(memcmp(&counted, &expected, sizeof(counted)), 0);
    for (uint32_t hbm = 0; hbm < 4; ++hbm) {
      EXPECT_EQ(counted.hbm_total[hbm],
                counted.core_total[2 * hbm] + counted.core_total[2 * hbm + 1]);
    }
    uint64_t handles = 0;
    for (dmem_allocator_t *allocator : m.allocators)
      handles += dmem_allocator_live(allocator);
    EXPECT_EQ(handles, live.size());
  }
  for (dmem_t *mem : live)
    dmem_free(mem);
  dmem_usage_table_t empty = {};
  dmem_usage_table_t counted = m.table();
  EXPECT_EQ(memcmp(&counted, &empty, sizeof(counted)), 0);
}

TEST(Invariant12, DeviceOnlyUsagesAreRefusedOnHost) {
  machine m;
  m.open("trn2.3xlarge");
  for (uint32_t usage = 0; usage < DMEM_USAGE_COUNT; ++usage) {
    SCOPED_TRACE(usage);
    bool refused = usage == 11 || usage == 15 || usage == 16;
    m.route.events.clear();
    dmem_t *mem = nullptr;
    log_lines errors(NLOG_LEVEL_ERROR);
    EXPECT_EQ(dmem_alloc(m.allocators[0], 100, kHost, 0, nullptr,
                         static_cast<dma_mem_usage_type_t>(usage), nullptr, &mem),
              refused ? NRT_INVALID : NRT_SUCCESS);
    EXPECT_EQ(mem == nullptr, refused);
    EXPECT_EQ(m.route.events.empty(), refused);
    EXPECT_EQ(errors.lines.size(), refused ? 1u : 0u);
  }
}

TEST(Invariant12, BadArgumentsNeverReachTheDriver) {
  machine m;
  m.open("trn2.3xlarge");
  struct row {
    size_t size;
    dma_mem_location_t location;
    uint32_t channel;
    uint32_t usage;
    size_t alignment;
    const char *says;
  };
  const row rows[] = {{0, kDevice, 0, 12, 0, "size 0"},
                      {0, kHost, 0, 12, 0, "size 0"},
                      {1, dma_mem_location_t::INVALID, 0, 12, 0, "unknown location"},
                      {1, static_cast<dma_mem_location_t>(3), 0, 12, 0, "unknown location"},
                      {1, kDevice, 4, 12, 0, "no such HBM"},
                      {1, kHost, 4, 12, 0, "no such HBM"},
                      {1, kDevice, 0, 22, 0, "not permitted"},
                      {1, kDevice, 0, 4000000000, 0, "not permitted"},
                      {1, kDevice, 0, 12, 3, "power of two"},
                      {1, kDevice, 0, 12, SIZE_MAX, "power of two"}};
  for (const row &r : rows) {
    SCOPED_TRACE(r.says);
    log_lines errors(NLOG_LEVEL_ERROR);
    auto *mem = reinterpret_cast<dmem_t *>(1);
    EXPECT_EQ(
        dmem_alloc_aligned(m.allocators[0], r.size, r.location, r.channel, nullptr,
                           static_cast<dma_mem_usage_type_t>(r.usage), nullptr, r.alignment, &mem),
        NRT_INVALID);
    EXPECT_EQ(mem, nullptr);
    EXPECT_THAT(errors.lines, ElementsAre(HasSubstr(r.says)));
  }
  EXPECT_TRUE(m.route.events.empty());
}

TEST(Invariant13, InjectedFailures) {
  machine m;
  m.open("trn2.3xlarge");
  struct row {
    uint32_t request;
    int error;
    bool sticky;
    dma_mem_location_t location;
    size_t alignment;
    NRT_STATUS status;
  };
  const row rows[] = {
      {req::MEM_ALLOC_V2MT64, ENOMEM, false, kDevice, 0, NRT_RESOURCE},
      {req::MEM_ALLOC_V2MT64, ENOMEM, false, kDevice, 65536, NRT_RESOURCE},
      {req::MEM_ALLOC_V2MT64, ENOMEM, false, kHost, 0, NRT_FAIL_HOST_MEM_ALLOC},
      {req::MEM_ALLOC_V2MT64, ENOMEM, false, kHost, 65536, NRT_FAIL_HOST_MEM_ALLOC},
      {req::MEM_ALLOC_V2MT64, EINVAL, false, kDevice, 0, NRT_FAILURE},
      {req::MEM_ALLOC_V2MT64, EINVAL, false, kHost, 0, NRT_FAILURE},
      {req::MEM_ALLOC_V2MT64, EINVAL, true, kDevice, 65536, NRT_FAILURE},
      {req::MEM_GET_PA, EINVAL, false, kDevice, 0, NRT_FAILURE},
      {req::MEM_GET_PA, ENOMEM, false, kDevice, 65536, NRT_FAILURE},
      {req::MEM_GET_PA, EINVAL, false, kHost, 0, NRT_FAILURE},
  };
  uint64_t before = driver_bytes(&m, 0);
  dmem_usage_table_t table = m.table();
  for (const row &r : rows) {
    SCOPED_TRACE(testing::Message() << std::hex << r.request << " errno " << std::dec << r.error);
    const mock_fault_t fault = {r.request, 1, r.error, r.sticky};
    ASSERT_EQ(mock_set_faults(m.route.host, &fault, 1), 0);
    m.route.events.clear();
    log_lines errors(NLOG_LEVEL_ERROR);
    auto *mem = reinterpret_cast<dmem_t *>(1);
    EXPECT_EQ(dmem_alloc_aligned(m.allocators[0], 5000, r.location, 0, nullptr, kTensor, "hint",
                                 r.alignment, &mem),
              r.status);
    ASSERT_EQ(mock_set_faults(m.route.host, nullptr, 0), 0);
    EXPECT_EQ(mem, nullptr);
    EXPECT_EQ(errors.lines.size(), 1u);
    EXPECT_EQ(m.calls("ioctl", req::MEM_FREE), r.request == req::MEM_GET_PA ? 1u : 0u);
    dmem_usage_table_t after = m.table();
    EXPECT_EQ(memcmp(&table, &after, sizeof(table)), 0);
    EXPECT_EQ(dmem_allocator_live(m.allocators[0]), 0u);
    EXPECT_EQ(driver_bytes(&m, 0), before);
  }
  // None of this made the driver's alignment look missing.
  dmem_t *mem = m.device_mem(1, 65536);
  EXPECT_EQ(mem->align_offset, 0u);
}

TEST(Invariant13, RealShortageNamesEverything) {
  machine m;
  m.open("trn2.3xlarge");
  m.device_mem(20 * kGiB, 0, 4, 2);
  log_lines errors(NLOG_LEVEL_ERROR);
  dmem_t *mem = nullptr;
  EXPECT_EQ(dmem_alloc_aligned(m.allocators[5], 4 * kGiB, kDevice, 2, nullptr,
                               dma_mem_usage_type_t::WEIGHT, nullptr, 4096, &mem),
            NRT_RESOURCE);
  // Free: 24 GiB - 16 MiB - 20 GiB; the main pool's hole is 3 GiB - 16 MiB.
  EXPECT_THAT(
      errors.lines,
      ElementsAre(AllOf(HasSubstr("nd0 nc5 hbm 2"), HasSubstr("4294967296 bytes"),
                        HasSubstr("4.000GB"), HasSubstr("alignment 4096"), HasSubstr("weight"),
                        HasSubstr("free: 3.984GB"), HasSubstr("largest hole: 2.984GB"),
                        HasSubstr("held by this process: 20.000GB"))));
}

// A machine with less memory than its type: the driver tells on v3 and does not on v2.
TEST(Invariant13, ShortageOnSmallerMemory) {
  for (bool v3 : {true, false}) {
    machine m;
    mock_dev_options_t options = {};
    options.instance = v3 ? "trn2.3xlarge" : "trn1.2xlarge";
    options.hbm_size = 4 * kGiB;
    m.open(options);
    m.device_mem(2 * kGiB);
    log_lines errors(NLOG_LEVEL_ERROR);
    dmem_t *mem = nullptr;
    EXPECT_EQ(dmem_alloc(m.allocators[0], 2 * kGiB, kDevice, 0, nullptr, kTensor, nullptr, &mem),
              NRT_RESOURCE);
    EXPECT_THAT(errors.lines,
                ElementsAre(AllOf(HasSubstr("2147483648 bytes"),
                                  HasSubstr(v3 ? "free: 1.984GB, largest hole: 1.000GB"
                                               : "free: an unknown amount"),
                                  HasSubstr("held by this process: 2.000GB"))));
  }
}

TEST(Invariant14, FallbackLooksTheSame) {
  machine m;
  m.open("trn2.3xlarge");
  const mock_fault_t fault = {req::MEM_ALLOC_V2MT64, 1, EINVAL, false};
  ASSERT_EQ(mock_set_faults(m.route.host, &fault, 1), 0);
  setenv("NEURON_RT_LOG_LEVEL", "WARN", 1);
  nlog_configure_from_env();
  {
    log_lines warnings(NLOG_LEVEL_WARN);
    dmem_t *mem = m.device_mem(100000, 65536);
    EXPECT_EQ(dmem_get_pa(mem) % 65536, 0u);
    EXPECT_EQ(mem->size, 100000u);
    EXPECT_EQ(mem->allocated_size, 165536u);
    m.route.events.clear();
    dmem_t *second = m.device_mem(100000, 65536, 3, 1);      // all cores of the device
    EXPECT_EQ(m.calls("ioctl", req::MEM_ALLOC_V2MT64), 1u);  // not asked again
    EXPECT_EQ(dmem_get_pa(second) % 65536, 0u);
    EXPECT_EQ(warnings.lines.size(), 1u);
    // Copies, mapping and range checks count from the aligned start.
    std::vector<uint8_t> data(100000);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<uint8_t>(i * 31);
    ASSERT_EQ(dmem_buf_copyin(mem, data.data(), 0, data.size()), NRT_SUCCESS);
    auto *dram = static_cast<uint8_t *>(mock_dram(m.route.host, 0, dmem_get_pa(mem), 100000));
    EXPECT_EQ(memcmp(dram, data.data(), data.size()), 0);
    EXPECT_EQ(memcmp(dmem_get_va(mem), data.data(), data.size()), 0);
    log_lines errors(NLOG_LEVEL_ERROR);
    EXPECT_EQ(dmem_buf_copyin(mem, data.data(), 1, data.size()), NRT_INVALID);
    EXPECT_EQ(dmem_memset(mem, 99999, 7, 1), NRT_SUCCESS);
    EXPECT_EQ(dram[99999], 7);
    EXPECT_EQ(dmem_copy(mem, 0, second, 99990, 10), NRT_SUCCESS);
    uint8_t back[10];
    EXPECT_EQ(dmem_buf_copyout(second, back, 99990, 10), NRT_SUCCESS);
    EXPECT_EQ(memcmp(back, data.data(), 10), 0);
  }
  unsetenv("NEURON_RT_LOG_LEVEL");
  nlog_configure_from_env();
}

TEST(Invariant14, HostRefusalDoesNotDisableDeviceAlignment) {
  machine m;
  m.open("trn2.3xlarge");
  // Beyond a page by hand, below not at all; never the driver's alignment.
  dmem_t *host = nullptr;
  ASSERT_EQ(
      dmem_alloc_aligned(m.allocators[0], 100, kHost, 0, nullptr, kTensor, nullptr, 4096, &host),
      NRT_SUCCESS);
  EXPECT_EQ(host->allocated_size, 100u);
  EXPECT_EQ(dmem_get_pa(host) % 4096, 0u);
  ASSERT_EQ(
      dmem_alloc_aligned(m.allocators[0], 100, kHost, 0, nullptr, kTensor, nullptr, 65536, &host),
      NRT_SUCCESS);
  EXPECT_EQ(host->allocated_size, 65636u);
  EXPECT_EQ(dmem_get_pa(host) % 65536, 0u);
  const mock_fault_t fault = {req::MEM_ALLOC_V2MT64, 1, EINVAL, false};
  ASSERT_EQ(mock_set_faults(m.route.host, &fault, 1), 0);
  log_lines errors(NLOG_LEVEL_ERROR);
  EXPECT_EQ(
      dmem_alloc_aligned(m.allocators[0], 100, kHost, 0, nullptr, kTensor, nullptr, 65536, &host),
      NRT_FAILURE);
  dmem_t *device = m.device_mem(100, 65536);
  EXPECT_EQ(device->align_offset, 0u);
  EXPECT_EQ(device->allocated_size, 100u);
}

TEST(Invariant14, HugeAlignments) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_t *mem = m.device_mem(4096, 4 * kGiB);  // more than the driver takes
  EXPECT_EQ(dmem_get_pa(mem) % (4 * kGiB), 0u);
  log_lines errors(NLOG_LEVEL_ERROR);
  EXPECT_EQ(dmem_alloc_aligned(m.allocators[0], SIZE_MAX - 5, kDevice, 0, nullptr, kTensor, nullptr,
                               size_t{1} << 40, &mem),
            NRT_FAILURE);
  EXPECT_EQ(mem, nullptr);
  EXPECT_EQ(errors.lines.size(), 1u);
}

TEST(Contiguous, PagesAndRegion) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_t *page[3];
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(dmem_alloc_contiguous_page(m.allocators[3], 64 * kMiB, &page[i]), NRT_SUCCESS);
    // Core 3 lives on HBM 1, whose main pool ends at 0x45C0000000.
    EXPECT_EQ(dmem_get_pa(page[i]), 0x45C0000000 - (i + 1) * 64 * kMiB);
    EXPECT_EQ(page[i]->mem_usage_type, dma_mem_usage_type_t::SCRATCHPAD);
    EXPECT_EQ(page[i]->tdram_channel, 1u);
  }
  EXPECT_EQ(m.table().by_usage[3][11], 3 * 64 * kMiB);
  void *va = nullptr;
  ASSERT_EQ(dmem_map_region(page[2], 3 * 64 * kMiB, &va), NRT_SUCCESS);
  auto *bytes = static_cast<uint8_t *>(va);
  for (int i = 0; i < 3; ++i) {
    const char text[] = "page";
    ASSERT_EQ(dmem_buf_copyin(page[i], text, 100, sizeof(text)), NRT_SUCCESS);
    EXPECT_STREQ(reinterpret_cast<char *>(bytes + (2 - i) * 64 * kMiB + 100), text);
  }
  dmem_unmap_region(m.cores[3].get(), va, 3 * 64 * kMiB);
  // No room is no line here, only a status.
  dmem_t *block = m.device_mem(22 * kGiB, 0, 3, 1);
  log_lines errors(NLOG_LEVEL_ERROR);
  dmem_t *none = nullptr;
  EXPECT_EQ(dmem_alloc_contiguous_page(m.allocators[3], 2 * kGiB, &none), NRT_RESOURCE);
  EXPECT_EQ(none, nullptr);
  EXPECT_TRUE(errors.lines.empty());
  dmem_free(block);
  for (int i = 2; i >= 0; --i)
    dmem_free(page[i]);
}

TEST(Contiguous, NeedsItsFeature) {
  machine m;
  mock_dev_options_t options = {};
  options.hidden_features = HAL_FEATURE_CONTIGUOUS_SCRATCHPAD;
  m.open(options);
  log_lines errors(NLOG_LEVEL_ERROR);
  dmem_t *page = nullptr;
  EXPECT_EQ(dmem_alloc_contiguous_page(m.allocators[0], 64 * kMiB, &page), NRT_FAILURE);
  EXPECT_EQ(errors.lines.size(), 1u);
}

TEST(Lists, OwnReferencesAndFreeNewestFirst) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_list_t *list = dmem_list_create();
  ASSERT_NE(list, nullptr);
  dmem_t *mem[100];
  for (dmem_t *&one : mem) {
    ASSERT_EQ(dmem_alloc(m.allocators[0], 4096, kDevice, 0, list, kTensor, "tag", &one),
              NRT_SUCCESS);
    EXPECT_STREQ(one->hint, "tag");
    EXPECT_EQ(one->ref_count, 1u);
  }
  // A borrower adds a reference of its own.
  dmem_acquire(mem[0]);
  dmem_t *own = m.device_mem(100);
  dmem_acquire(own);
  ASSERT_EQ(dmem_list_add(list, own), NRT_SUCCESS);
  dmem_list_free(list);
  EXPECT_EQ(dmem_allocator_live(m.allocators[0]), 2u);
  EXPECT_EQ(own->ref_count, 1u);
  EXPECT_EQ(mem[0]->ref_count, 1u);
  dmem_list_free(list);  // empty now
  EXPECT_EQ(dmem_allocator_live(m.allocators[0]), 2u);
  ASSERT_EQ(dmem_list_add(list, own), NRT_SUCCESS);
  dmem_list_destroy(list);
  dmem_list_destroy(nullptr);
  dmem_list_free(nullptr);
  EXPECT_EQ(dmem_allocator_live(m.allocators[0]), 1u);
  dmem_free(mem[0]);

  // Newest first: the driver hands its last freed handle out first, so the next one is the oldest.
  list = dmem_list_create();
  dmem_t *oldest = nullptr;
  dmem_t *newest = nullptr;
  ASSERT_EQ(dmem_alloc(m.allocators[0], 1, kDevice, 0, list, kTensor, nullptr, &oldest),
            NRT_SUCCESS);
  ASSERT_EQ(dmem_alloc(m.allocators[0], 1, kDevice, 0, list, kTensor, nullptr, &newest),
            NRT_SUCCESS);
  uint64_t handle = oldest->mem_handle;
  dmem_list_destroy(list);
  EXPECT_EQ(m.device_mem(1)->mem_handle, handle);
}

TEST(Allocators, LeftoversAreFreedAndReported) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_allocator_t *model = nullptr;
  ASSERT_EQ(dmem_allocator_create(dmem_allocator_type_t::MODEL, m.cores[0].get(), &model),
            NRT_SUCCESS);
  dmem_t *mem[3];
  for (dmem_t *&one : mem) {
    ASSERT_EQ(dmem_alloc(model, 4096, kDevice, 0, nullptr, kTensor, nullptr, &one), NRT_SUCCESS);
    ASSERT_NE(dmem_get_va(one), nullptr);
  }
  dmem_free(mem[1]);
  dmem_allocator_note_oversized(model, 5);
  dmem_allocator_note_oversized(model, 3);
  EXPECT_EQ(dmem_allocator_largest_oversized(model), 5u);
  setenv("NEURON_RT_LOG_LEVEL", "WARN", 1);
  nlog_configure_from_env();
  {
    log_lines warnings(NLOG_LEVEL_WARN);
    dmem_allocator_destroy(model);
    EXPECT_THAT(warnings.lines, ElementsAre(HasSubstr("2 live handles (8192 bytes)")));
    dmem_allocator_t *empty = nullptr;
    ASSERT_EQ(dmem_allocator_create(dmem_allocator_type_t::MODEL, m.cores[0].get(), &empty),
              NRT_SUCCESS);
    dmem_allocator_destroy(empty);
    EXPECT_EQ(warnings.lines.size(), 1u);
  }
  unsetenv("NEURON_RT_LOG_LEVEL");
  nlog_configure_from_env();
  EXPECT_EQ(m.table().core_total[0], 0u);
  EXPECT_EQ(driver_bytes(&m, 0), 0u);
  EXPECT_EQ(m.calls("munmap"), 3u);
}

TEST(Allocators, ThreadsAllocateAndFree) {
  machine m;
  m.open("trn2.3xlarge");
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 6; ++t) {
    threads.emplace_back([&m, t] {
      uint32_t core = t / 2;  // two threads per allocator
      std::vector<dmem_t *> live;
      for (int i = 0; i < 100; ++i) {
        dmem_t *mem = m.device_mem(4096 * (1 + i % 7), i % 2 == 0 ? 0 : 16384, core, core / 2);
        ASSERT_NE(mem, nullptr);
        uint32_t value = t << 16 | static_cast<uint32_t>(i);
        ASSERT_EQ(dmem_buf_copyin(mem, &value, 4092, sizeof(value)), NRT_SUCCESS);
        live.push_back(mem);
      }
      for (int i = 0; i < 100; ++i) {
        uint32_t value = 0;
        ASSERT_EQ(dmem_buf_copyout(live[i], &value, 4092, sizeof(value)), NRT_SUCCESS);
        EXPECT_EQ(value, t << 16 | static_cast<uint32_t>(i));
        dmem_free(live[i]);
      }
    });
  }
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(m.table().hbm_total[0] + m.table().hbm_total[1], 0u);
}

TEST(Mapping, FailureIsOneLineAndNull) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_t *mem = m.device_mem(8192);
  const mock_fault_t fault = {req::MEM_GET_INFO, 1, EINVAL, false};
  ASSERT_EQ(mock_set_faults(m.route.host, &fault, 1), 0);
  log_lines errors(NLOG_LEVEL_ERROR);
  EXPECT_EQ(dmem_get_va(mem), nullptr);
  EXPECT_THAT(errors.lines, ElementsAre(HasSubstr("EINVAL")));
  void *va = dmem_get_va(mem);
  EXPECT_NE(va, nullptr);
  EXPECT_EQ(dmem_get_va(mem), va);
}

TEST(Pcore, Setup) {
  machine m;
  m.open("trn2.3xlarge");
  for (uint32_t nc = 0; nc < 8; ++nc) {
    EXPECT_EQ(m.cores[nc]->nc_id, nc);
    EXPECT_EQ(m.cores[nc]->core_index, nc);
    EXPECT_EQ(m.cores[nc]->hbm_index, nc / 2);
    EXPECT_EQ(m.cores[nc]->device_id, 0u);
  }
  physical_core_t core;
  log_lines errors(NLOG_LEVEL_ERROR);
  EXPECT_EQ(pcore_init(&core, m.device, 0, 8, m.stats), NRT_INVALID);
  const std::pair<mock_fault_t, NRT_STATUS> rows[] = {
      {{req::MEM_ALLOC_V2MT64, 1, ENOMEM, false}, NRT_FAIL_HOST_MEM_ALLOC},
      {{req::MEM_ALLOC_V2MT64, 1, EIO, false}, NRT_FAILURE},
      {{req::MEM_GET_INFO, 1, EINVAL, false}, NRT_FAILURE}};
  for (const auto &[fault, status] : rows) {
    ASSERT_EQ(mock_set_faults(m.route.host, &fault, 1), 0);
    m.route.events.clear();
    EXPECT_EQ(pcore_init(&core, m.device, 0, 1, m.stats), status);
    EXPECT_EQ(m.calls("ioctl", req::MEM_FREE), fault.request == req::MEM_GET_INFO ? 1u : 0u);
  }
  EXPECT_EQ(errors.lines.size(), 4u);
  ASSERT_EQ(mock_set_faults(m.route.host, nullptr, 0), 0);
  ASSERT_EQ(pcore_init(&core, m.device, 3, 1, m.stats), NRT_SUCCESS);
  EXPECT_EQ(core.core_index, 25u);
  pcore_fini(&core);
  pcore_fini(&core);  // nothing left to undo
}
