// SPDX-License-Identifier: Apache-2.0
// What a request could have had: the main pool of a v3 HBM is [16 MiB, 23 GiB)
// (device-memory.md 1.3).
#include "dmem/room.h"

#include "dmem/oom_report.h"
#include "tests/dmem/machine.h"

namespace {

constexpr uint64_t kMiB = 1ull << 20, kGiB = 1ull << 30;
constexpr auto kDevice = dma_mem_location_t::TONGA_DRAM;

struct Room : testing::Test {
  void SetUp() override { m.open("trn2.3xlarge"); }
  void TearDown() override { m.close(); }

  uint64_t available(uint64_t alignment, bool contiguous) {
    uint64_t bytes = 0;
    EXPECT_TRUE(dmem_room_available(m.cores[0].get(), 0, alignment, contiguous, &bytes));
    return bytes;
  }
  dmem_t *alloc(uint64_t size) {
    dmem_t *mem = nullptr;
    EXPECT_EQ(dmem_alloc(m.allocators[0], size, kDevice, 0, nullptr, dma_mem_usage_type_t::TENSOR,
                         nullptr, &mem),
              NRT_SUCCESS);
    return mem;
  }

  machine m;
};

TEST_F(Room, LargestAlignedBlock) {
  EXPECT_EQ(available(0, false), 23 * kGiB - 16 * kMiB);
  EXPECT_EQ(available(kGiB, false), 22 * kGiB);
  dmem_t *low = alloc(5 * kMiB);
  EXPECT_EQ(available(0, false), 23 * kGiB - 21 * kMiB);
  EXPECT_EQ(available(4 * kMiB, false), 23 * kGiB - 24 * kMiB);
  // Only the hole in front and the small pool are left.
  dmem_t *rest = alloc(23 * kGiB - 21 * kMiB);
  dmem_free(low);
  EXPECT_EQ(available(0, false), kGiB);
  dmem_t *small = alloc(kGiB - 2 * kMiB);
  EXPECT_EQ(available(0, false), 5 * kMiB);
  EXPECT_EQ(available(4 * kMiB, false), 5 * kMiB);
  EXPECT_EQ(available(64 * kMiB, false), 0);
  dmem_free(small);
  dmem_free(rest);
}

TEST_F(Room, BelowTheContiguousPages) {
  dmem_t *low = alloc(5 * kMiB);
  EXPECT_EQ(available(0, true), 23 * kGiB - 21 * kMiB);
  dmem_t *page = nullptr;
  ASSERT_EQ(dmem_alloc_contiguous_page(m.allocators[0], 64 * kMiB, &page), NRT_SUCCESS);
  EXPECT_EQ(available(0, true), 23 * kGiB - (21 + 64) * kMiB);
  dmem_t *rest = alloc(23 * kGiB - (21 + 64) * kMiB);
  EXPECT_EQ(available(0, true), 0);
  dmem_free(rest);
  dmem_free(page);
  dmem_free(low);
}

TEST_F(Room, LastShortage) {
  dmem_last_shortage_t last;
  EXPECT_FALSE(dmem_device_last_shortage(m.stats, &last));
  dmem_t *low = alloc(5 * kMiB), *mem = nullptr;
  log_lines errors(NLOG_LEVEL_ERROR);
  EXPECT_EQ(dmem_alloc_aligned(m.allocators[1], 23 * kGiB, kDevice, 0, nullptr,
                               dma_mem_usage_type_t::WEIGHT, nullptr, 4 * kMiB, &mem),
            NRT_RESOURCE);
  ASSERT_TRUE(dmem_device_last_shortage(m.stats, &last));
  EXPECT_EQ(last.size, 23 * kGiB);
  EXPECT_EQ(last.alignment, 4 * kMiB);
  EXPECT_EQ(last.usage, dma_mem_usage_type_t::WEIGHT);
  EXPECT_EQ(last.nc_id, 1u);
  EXPECT_EQ(last.channel, 0u);
  EXPECT_EQ(last.available, 23 * kGiB - 24 * kMiB);
  dmem_free(low);
}

}  // namespace
