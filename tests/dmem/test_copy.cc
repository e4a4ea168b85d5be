// SPDX-License-Identifier: Apache-2.0
// Copies (device-memory.md 2.5 and 6, invariant 15).
#include <gmock/gmock.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "tests/dmem/machine.h"

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr size_t kMiB = 1 << 20;

std::vector<uint8_t> pattern(size_t size, uint32_t seed) {
  std::vector<uint8_t> data(size);
  uint32_t x = seed * 2654435761u + 1;
  for (uint8_t &byte : data) {
    x = x * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(x >> 24);
  }
  return data;
}

const size_t kSizes[] = {
    1,        2,    4095,     4096,         16383,    16384,        16385,    524287,
    kMiB - 1, kMiB, kMiB + 1, 2 * kMiB - 1, 2 * kMiB, 2 * kMiB + 1, 3 * kMiB, 5 * kMiB + 12345};

}  // namespace

TEST(Invariant15, RoundTripsLeaveNeighboursAlone) {
  for (uint64_t hidden : {uint64_t{0}, HAL_FEATURE_ASYNC_DMA}) {
    machine m;
    mock_dev_options_t options = {};
    options.hidden_features = hidden;
    m.open(options);
    dmem_t *mem = m.device_mem(8 * kMiB);
    auto *dram = static_cast<uint8_t *>(mock_dram(m.route.host, 0, dmem_get_pa(mem), 8 * kMiB));
    ASSERT_NE(dram, nullptr);
    uint32_t seed = 0;
    for (size_t size : kSizes) {
      for (size_t offset : {size_t{0}, size_t{1}, size_t{4097}, size_t{1234567}}) {
        SCOPED_TRACE(testing::Message() << size << " bytes at " << offset);
        memset(dram + (offset == 0 ? 0 : offset - 1), 0xCC, size + 2);
        std::vector<uint8_t> data = pattern(size, ++seed);
        ASSERT_EQ(dmem_buf_copyin(mem, data.data(), offset, size), NRT_SUCCESS);
        ASSERT_EQ(memcmp(dram + offset, data.data(), size), 0);
        if (offset != 0) {
          EXPECT_EQ(dram[offset - 1], 0xCC);
        }
        EXPECT_EQ(dram[offset + size], 0xCC);
        std::vector<uint8_t> back(size + 2, 0xDD);
        ASSERT_EQ(dmem_buf_copyout(mem, back.data() + 1, offset, size), NRT_SUCCESS);
        EXPECT_EQ(memcmp(back.data() + 1, data.data(), size), 0);
        EXPECT_EQ(back[0], 0xDD);
        EXPECT_EQ(back[size + 1], 0xDD);
      }
    }
    EXPECT_EQ(m.calls("ioctl", req::MEM_COPY_ASYNC64) == 0, hidden != 0);
    EXPECT_EQ(m.calls("mmap"), 0u);
  }
}

// The chunking table: how many driver copies, and which kind.
TEST(Invariant15, Chunking) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_t *mem = m.device_mem(8 * kMiB);
  struct row {
    size_t size;
    size_t sync, async;
  };
  const row rows[] = {{1, 1, 0},        {16383, 1, 0},        {16384, 0, 2},
                      {100000, 0, 2},   {kMiB, 0, 2},         {kMiB + 1, 0, 2},
                      {2 * kMiB, 0, 2}, {2 * kMiB + 1, 0, 3}, {5 * kMiB, 0, 5}};
  std::vector<uint8_t> data(8 * kMiB);
  for (const row &r : rows) {
    for (bool in : {true, false}) {
      SCOPED_TRACE(testing::Message() << r.size << (in ? " in" : " out"));
      m.route.events.clear();
      ASSERT_EQ(in ? dmem_buf_copyin(mem, data.data(), 3, r.size)
                   : dmem_buf_copyout(mem, data.data(), 3, r.size),
                NRT_SUCCESS);
      EXPECT_EQ(m.calls("ioctl", req::MEM_COPY64), r.sync);
      EXPECT_EQ(m.calls("ioctl", req::MEM_COPY_ASYNC64), r.async);
      EXPECT_EQ(m.calls("ioctl", req::MEM_COPY_ASYNC_WAIT), r.async != 0 ? 1u : 0u);
      EXPECT_EQ(m.route.events.size(), r.sync + r.async + (r.async != 0 ? 1 : 0));
    }
  }
}

TEST(Invariant15, RangesAreCheckedBeforeAnyRequest) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_t *mem = m.device_mem(5000);
  dmem_t *other = m.device_mem(5000);
  uint8_t buffer[16] = {};
  m.route.events.clear();
  const std::pair<size_t, size_t> bad[] = {{5000, 1},         {4999, 2},     {0, 5001},
                                           {SIZE_MAX, 1},     {1, SIZE_MAX}, {SIZE_MAX, SIZE_MAX},
                                           {SIZE_MAX - 7, 8}, {5001, 0}};
  for (auto [offset, size] : bad) {
    SCOPED_TRACE(testing::Message() << size << " bytes at " << offset);
    log_lines errors(NLOG_LEVEL_ERROR);
    EXPECT_EQ(dmem_buf_copyin(mem, buffer, offset, size), NRT_INVALID);
    EXPECT_EQ(dmem_buf_copyout(mem, buffer, offset, size), NRT_INVALID);
    EXPECT_EQ(dmem_memset(mem, offset, 0, size), NRT_INVALID);
    EXPECT_EQ(dmem_copy(mem, offset, other, 0, size), NRT_INVALID);
    EXPECT_EQ(errors.lines.size(), 4u);
    if (size <= 5000) {
      EXPECT_EQ(dmem_copy(other, 0, mem, offset, size), NRT_INVALID);
    }
  }
  // Nothing to do is no request either.
  EXPECT_EQ(dmem_buf_copyin(mem, nullptr, 5000, 0), NRT_SUCCESS);
  EXPECT_EQ(dmem_buf_copyout(mem, nullptr, 0, 0), NRT_SUCCESS);
  EXPECT_EQ(dmem_memset(mem, 0, 1, 0), NRT_SUCCESS);
  EXPECT_EQ(dmem_copy(mem, 0, other, 5000, 0), NRT_SUCCESS);
  EXPECT_TRUE(m.route.events.empty());
}

TEST(Invariant15, ThreadsOnOneCoreDoNotMixData) {
  machine m;
  m.open("trn2.3xlarge");
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&m, t] {
      dmem_t *mem = m.device_mem(3 * kMiB);
      ASSERT_NE(mem, nullptr);
      for (uint32_t i = 0; i < 6; ++i) {
        size_t size = kSizes[(i * 5 + t) % 15];
        std::vector<uint8_t> data = pattern(size, t * 100 + i);
        ASSERT_EQ(dmem_buf_copyin(mem, data.data(), t, size), NRT_SUCCESS);
        std::vector<uint8_t> back(size);
        ASSERT_EQ(dmem_buf_copyout(mem, back.data(), t, size), NRT_SUCCESS);
        EXPECT_EQ(back, data);
      }
      dmem_free(mem);
    });
  }
  for (std::thread &t : threads)
    t.join();
}

TEST(Copy, MappedAndHostMemoryIsCopiedDirectly) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_t *mem = m.device_mem(3 * kMiB);
  ASSERT_NE(dmem_get_va(mem), nullptr);
  dmem_t *host = nullptr;
  ASSERT_EQ(dmem_alloc(m.allocators[0], 3 * kMiB, dma_mem_location_t::HOST_DRAM, 0, nullptr,
                       dma_mem_usage_type_t::TENSOR, nullptr, &host),
            NRT_SUCCESS);
  std::vector<uint8_t> data = pattern(2 * kMiB + 3, 5);
  for (dmem_t *one : {mem, host}) {
    ASSERT_EQ(dmem_buf_copyin(one, data.data(), 77, data.size()), NRT_SUCCESS);
    m.route.events.clear();  // host memory is mapped by the first copy
    std::vector<uint8_t> back(data.size());
    ASSERT_EQ(dmem_buf_copyout(one, back.data(), 77, back.size()), NRT_SUCCESS);
    EXPECT_EQ(back, data);
    EXPECT_TRUE(m.route.events.empty());
  }
  // The device sees the same bytes of both.
  dmem_t *third = m.device_mem(3 * kMiB, 0, 2, 1);
  ASSERT_EQ(dmem_copy(host, 77, third, 5, data.size()), NRT_SUCCESS);
  std::vector<uint8_t> back(data.size());
  ASSERT_EQ(dmem_buf_copyout(third, back.data(), 5, back.size()), NRT_SUCCESS);
  EXPECT_EQ(back, data);
}

TEST(Copy, FillAndDeviceToDevice) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_t *a = m.device_mem(200000);
  dmem_t *b = m.device_mem(200000, 0, 7, 3);
  ASSERT_EQ(dmem_memset(a, 3, 0x9A, 150001), NRT_SUCCESS);
  std::vector<uint8_t> back(200000);
  ASSERT_EQ(dmem_buf_copyout(a, back.data(), 0, back.size()), NRT_SUCCESS);
  for (size_t i = 0; i < back.size(); ++i)
    ASSERT_EQ(back[i], i >= 3 && i < 150004 ? 0x9A : 0) << i;
  ASSERT_EQ(dmem_copy(a, 0, b, 1000, 160000), NRT_SUCCESS);
  ASSERT_EQ(dmem_buf_copyout(b, back.data(), 0, back.size()), NRT_SUCCESS);
  for (size_t i = 0; i < back.size(); ++i)
    ASSERT_EQ(back[i], i >= 1003 && i < 151004 ? 0x9A : 0) << i;
}

// A failed copy is one status and one line; the slot is free again, and what was read before stays.
TEST(Copy, FailuresReleaseTheSlots) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_t *mem = m.device_mem(8 * kMiB);
  std::vector<uint8_t> data = pattern(5 * kMiB, 9);
  ASSERT_EQ(dmem_buf_copyin(mem, data.data(), 0, data.size()), NRT_SUCCESS);
  for (uint32_t nth = 1; nth <= 5; ++nth) {
    SCOPED_TRACE(nth);
    const mock_fault_t fault = {req::MEM_COPY_ASYNC64, nth, EIO, false};
    ASSERT_EQ(mock_set_faults(m.route.host, &fault, 1), 0);
    std::vector<uint8_t> back(data.size(), 0xDD);
    {
      log_lines errors(NLOG_LEVEL_ERROR);
      EXPECT_EQ(dmem_buf_copyout(mem, back.data(), 0, back.size()), NRT_FAILURE);
      EXPECT_THAT(errors.lines, ElementsAre(AllOf(HasSubstr("EIO"), HasSubstr("5242880 bytes"))));
    }
    // Chunks completed before the failure are delivered, later ones are not touched.
    size_t good = (nth - 1) * kMiB;
    EXPECT_EQ(memcmp(back.data(), data.data(), good), 0);
    EXPECT_EQ(back[good], 0xDD);
    EXPECT_EQ(back.back(), 0xDD);
    ASSERT_EQ(mock_set_faults(m.route.host, &fault, 1), 0);
    {
      log_lines errors(NLOG_LEVEL_ERROR);
      EXPECT_EQ(dmem_buf_copyin(mem, data.data(), 0, data.size()), NRT_FAILURE);
      EXPECT_EQ(errors.lines.size(), 1u);
    }
    ASSERT_EQ(mock_set_faults(m.route.host, nullptr, 0), 0);
    ASSERT_EQ(dmem_buf_copyin(mem, data.data(), 0, data.size()), NRT_SUCCESS);
    ASSERT_EQ(dmem_buf_copyout(mem, back.data(), 0, back.size()), NRT_SUCCESS);
    EXPECT_EQ(back, data);
  }
  const mock_fault_t faults[] = {{req::MEMSET64, 1, EINVAL, false},
                                 {req::MEM_COPY64, 1, EPERM, false},
                                 {req::MEM_COPY_ASYNC_WAIT, 1, EPERM, false}};
  ASSERT_EQ(mock_set_faults(m.route.host, faults, 3), 0);
  log_lines errors(NLOG_LEVEL_ERROR);
  EXPECT_EQ(dmem_memset(mem, 0, 0, 10), NRT_FAILURE);
  EXPECT_EQ(dmem_copy(mem, 0, mem, 100, 10), NRT_FAILURE);
  EXPECT_EQ(dmem_buf_copyout(mem, data.data(), 0, data.size()), NRT_FAILURE);
  EXPECT_EQ(errors.lines.size(), 3u);
}

TEST(Copy, OtherDeviceIsRefused) {
  machine m;
  m.open("trn1.32xlarge");
  hal_device_t *second = nullptr;
  ASSERT_EQ(hal_device_open(m.hal, 1, &second), NRT_SUCCESS);
  dmem_device_t *stats = nullptr;
  ASSERT_EQ(dmem_device_create(1, &stats), NRT_SUCCESS);
  physical_core_t core;
  ASSERT_EQ(pcore_init(&core, second, 1, 0, stats), NRT_SUCCESS);
  EXPECT_EQ(core.core_index, 2u);
  dmem_allocator_t *allocator = nullptr;
  ASSERT_EQ(dmem_allocator_create(dmem_allocator_type_t::GLOBAL, &core, &allocator), NRT_SUCCESS);
  dmem_t *there = nullptr;
  ASSERT_EQ(dmem_alloc(allocator, 100, dma_mem_location_t::TONGA_DRAM, 0, nullptr,
                       dma_mem_usage_type_t::TENSOR, nullptr, &there),
            NRT_SUCCESS);
  dmem_t *here = m.device_mem(100);
  m.route.events.clear();
  log_lines errors(NLOG_LEVEL_ERROR);
  EXPECT_EQ(dmem_copy(here, 0, there, 0, 10), NRT_INVALID);
  EXPECT_EQ(errors.lines.size(), 1u);
  EXPECT_TRUE(m.route.events.empty());
  dmem_free(there);
  dmem_allocator_destroy(allocator);
  pcore_fini(&core);
  dmem_device_destroy(stats);
  hal_device_close(second);
}
