// SPDX-License-Identifier: Apache-2.0
// Section 5.1: where allocations land; 5.3: handles.
#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S5_1_Pools, V2_AND_V3);
CONFORMANCE_SUITE(S5_3_Handles, V2_AND_V3);

namespace {

constexpr uint32_t CONTIGUOUS = NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE;

}  // namespace

TEST_P(S5_1_Pools, Granularity) {
  chunk_t a = alloc(dev, {.size = 1}), b = alloc(dev, {.size = 4097}), c = alloc(dev);
  EXPECT_EQ(extended_info(dev, a.handle).info.size, 4096u);
  EXPECT_EQ(extended_info(dev, b.handle).info.size, 8192u);
  EXPECT_EQ(b.pa, a.pa + 4096);
  EXPECT_EQ(c.pa, b.pa + 8192);
}

TEST_P(S5_1_Pools, MainPool) {
  // From the reserved start to 1 GiB before the end of the channel, then nowhere.
  uint64_t main = model().channel_size - SMALL_POOL - RESERVED;
  chunk_t a = alloc(dev, {.size = main - 2 * GIB}), b = alloc(dev, {.size = 2 * GIB});
  EXPECT_EQ(a.pa, 0x1000000u);
  EXPECT_EQ(b.pa, model().channel_size - SMALL_POOL - 2 * GIB);
  EXPECT_EQ(alloc(dev, {.size = SMALL_POOL + PAGE}).rc, -ENOMEM);
}

TEST_P(S5_1_Pools, SmallPool) {
  chunk_t a = alloc(dev, {.size = 512 * KIB});
  EXPECT_EQ(a.pa, v2() ? 0x3c0000000u : 0x5c0000000u);
  // 2047 more fill the pool; the next one goes to the main pool.
  for (int i = 1; i < 2048; ++i)
    ASSERT_EQ(alloc(dev, {.size = 512 * KIB}).pa, a.pa + i * 512 * KIB);
  EXPECT_EQ(alloc(dev, {.size = 512 * KIB}).pa, 0x1000000u);
}

TEST_P(S5_1_Pools, ReservedChunk) {
  for (uint32_t channel = 0; channel < model().channels; ++channel) {
    chunks_t chunks = dump_chunks(dev, channel, 4);
    ASSERT_EQ(chunks.rc, 0);
    ASSERT_EQ(chunks.count, 1u);
    EXPECT_EQ(chunks.list[0].pa, model().base[channel]);
    EXPECT_EQ(chunks.list[0].size, 0x1000000u);
    EXPECT_EQ(chunks.list[0].mem_type, 13u);
  }
  // It has no handle: the first one goes to an allocation.
  EXPECT_EQ(alloc(dev).handle, 1u);
}

TEST_P(S5_1_Pools, Search_FirstFit) {
  chunk_t a = alloc(dev, {.size = 2 * MIB}), b = alloc(dev, {.size = MIB}),
          c = alloc(dev, {.size = 4 * MIB}), d = alloc(dev, {.size = MIB});
  ASSERT_EQ(free_chunk(dev, a.handle), 0);
  ASSERT_EQ(free_chunk(dev, c.handle), 0);
  // Too large for the first hole, fits the second.
  EXPECT_EQ(alloc(dev, {.size = 3 * MIB}).pa, c.pa);
  EXPECT_EQ(alloc(dev, {.size = MIB}).pa, a.pa);
  EXPECT_EQ(alloc(dev, {.size = 4 * MIB}).pa, d.pa + MIB);
  // Neighbouring holes join.
  ASSERT_EQ(free_chunk(dev, b.handle), 0);
  EXPECT_EQ(alloc(dev, {.size = 2 * MIB}).pa, a.pa + MIB);
}

TEST_P(S5_1_Pools, Search_LowestAlignedAddress) {
  ASSERT_EQ(alloc(dev, {.size = MIB}).pa, 0x1000000u);
  EXPECT_EQ(alloc(dev, {.size = MIB, .align = 4 * MIB}).pa, 0x1400000u);
  EXPECT_EQ(alloc(dev, {.size = MIB, .align = 2 * MIB}).pa, 0x1200000u);
  // Alignments up to a page change nothing.
  EXPECT_EQ(alloc(dev, {.size = MIB, .align = 4096}).pa, 0x1100000u);
  EXPECT_EQ(alloc(dev, {.size = MIB, .align = 3}).pa, 0x1300000u);
}

TEST_P(S5_1_Pools, Choice_BySizeAfterRounding) {
  uint64_t small = v2() ? 0x3c0000000 : 0x5c0000000;
  EXPECT_EQ(alloc(dev, {.size = 512 * KIB - 1}).pa, small);
  EXPECT_EQ(alloc(dev, {.size = 512 * KIB}).pa, small + 512 * KIB);
  EXPECT_EQ(alloc(dev, {.size = 512 * KIB + 1}).pa, 0x1000000u);
}

TEST_P(S5_1_Pools, Choice_LargeFallsBackToTheSmallPool) {
  ASSERT_EQ(alloc(dev, {.size = model().channel_size - SMALL_POOL - RESERVED}).rc, 0);
  EXPECT_EQ(alloc(dev, {.size = 2 * MIB}).pa, v2() ? 0x3c0000000u : 0x5c0000000u);
}

TEST_P(S5_1_Pools, FirstAddresses) {
  for (uint32_t channel = 0; channel < model().channels; ++channel) {
    uint64_t base = model().base[channel];
    EXPECT_EQ(alloc(dev, {.size = MIB, .channel = channel}).pa, base + 0x1000000);
    EXPECT_EQ(alloc(dev, {.size = PAGE, .channel = channel}).pa,
              base + (v2() ? 0x3c0000000 : 0x5c0000000));
  }
}

TEST_P(S5_1_Pools, Category19_GrowsDownFromTheMainPoolsEnd) {
  uint64_t end = model().channel_size - SMALL_POOL;
  chunk_t a = alloc(dev, {.size = 64 * MIB, .category = CONTIGUOUS});
  // Small sizes and alignments do not move it.
  chunk_t b = alloc(dev, {.size = PAGE, .align = GIB, .category = CONTIGUOUS});
  chunk_t c = alloc(dev, {.size = 64 * MIB, .category = CONTIGUOUS});
  EXPECT_EQ(a.pa, end - 64 * MIB);
  EXPECT_EQ(b.pa, end - 64 * MIB - PAGE);
  EXPECT_EQ(c.pa, end - 128 * MIB - PAGE);
  // Newest first gives the places back.
  EXPECT_EQ(free_chunk(dev, c.handle), 0);
  EXPECT_EQ(free_chunk(dev, b.handle), 0);
  EXPECT_EQ(alloc(dev, {.size = 64 * MIB, .category = CONTIGUOUS}).pa, end - 128 * MIB);
}

TEST_P(S5_1_Pools, Category19_EnomemWhenThePlaceIsTaken) {
  uint64_t main = model().channel_size - SMALL_POOL - RESERVED;
  chunk_t wall = alloc(dev, {.size = main - PAGE});
  ASSERT_EQ(wall.rc, 0);
  EXPECT_EQ(alloc(dev, {.size = 2 * PAGE, .category = CONTIGUOUS}).rc, -ENOMEM);
  EXPECT_EQ(alloc(dev, {.size = PAGE, .category = CONTIGUOUS}).rc, 0);
}

TEST_P(S5_1_Pools, Category19_EachChannelItsOwn) {
  for (uint32_t channel = 0; channel < model().channels; ++channel) {
    EXPECT_EQ(alloc(dev, {.size = MIB, .channel = channel, .category = CONTIGUOUS}).pa,
              model().base[channel] + model().channel_size - SMALL_POOL - MIB);
  }
}

TEST_P(S5_1_Pools, HostMemory) {
  chunk_t a = alloc(dev, {.size = 5000, .host = true});
  EXPECT_EQ(a.rc, 0);
  EXPECT_EQ(extended_info(dev, a.handle).info.size, 8192u);
  EXPECT_EQ(bytes_of(dev, a.handle, 0, 8192), std::vector<uint8_t>(8192, 0));
  // Cleared again for the next owner.
  std::vector<uint8_t> data = pattern(8192, 1);
  ASSERT_EQ(buf_write(dev, a.handle, 0, data.data(), data.size()), 0);
  ASSERT_EQ(free_chunk(dev, a.handle), 0);
  chunk_t b = alloc(dev, {.size = 5000, .host = true});
  EXPECT_EQ(bytes_of(dev, b.handle, 0, 8192), std::vector<uint8_t>(8192, 0));
}

TEST_P(S5_1_Pools, HostAddress) {
  chunk_t a = alloc(dev, {.host = true}), b = alloc(dev, {.host = true});
  EXPECT_NE(a.pa, b.pa);
  EXPECT_EQ(a.pa % PAGE, 0u);
  // Address and mmap offset are one number.
  info_t info = extended_info(dev, a.handle);
  EXPECT_EQ(info.info.pa, a.pa);
  EXPECT_EQ(info.info.mmap_offset, a.pa);
  EXPECT_EQ(chunk_at(dev, a.pa + 5).info.mmap_offset, a.pa);
}

TEST_P(S5_3_Handles, CountFromOne) {
  for (uint64_t i = 1; i <= 5; ++i)
    EXPECT_EQ(alloc(dev, {.host = i == 3}).handle, i);
}

TEST_P(S5_3_Handles, ZeroIsInvalid) {
  EXPECT_EQ(free_chunk(dev, 0), -EINVAL);
  EXPECT_EQ(pa_of(dev, 0).rc, -EINVAL);
}

TEST_P(S5_3_Handles, LastFreedIsUsedFirst) {
  for (int i = 0; i < 5; ++i)
    alloc(dev);
  for (uint64_t handle : {2, 4, 3})
    ASSERT_EQ(free_chunk(dev, handle), 0);
  for (uint64_t expected : {3, 4, 2, 6})
    EXPECT_EQ(alloc(dev).handle, expected);
}

TEST_P(S5_3_Handles, CreatedOnDemandByChunkQuery) {
  // The reserved chunk had none.
  mc_t reserved = chunk_at(dev, 0);
  EXPECT_EQ(reserved.info.mem_handle, 1u);
  EXPECT_EQ(chunk_at(dev, 0x1000).info.mem_handle, 1u);
  EXPECT_EQ(pa_of(dev, 1).pa, 0u);
  EXPECT_EQ(alloc(dev).handle, 2u);
}

TEST_P(S5_3_Handles, OutOfRange) {
  alloc(dev);
  for (uint64_t handle :
       {uint64_t{2}, uint64_t{4194303}, uint64_t{4194304}, uint64_t{1} << 32 | 1, UINT64_MAX}) {
    SCOPED_TRACE(handle);
    EXPECT_EQ(pa_of(dev, handle).rc, -EINVAL);
    EXPECT_EQ(free_chunk(dev, handle), -EINVAL);
    EXPECT_EQ(extended_info(dev, handle).rc, 22);
  }
}

TEST_P(S5_3_Handles, PerDevice) {
  chunk_t a = alloc(dev);
  EXPECT_EQ(free_chunk(dev, a.handle), 0);
  EXPECT_EQ(free_chunk(dev, a.handle), -EINVAL);  // ended by MEM_FREE
}

// A stale handle names whatever has the number now.
TEST_P(S5_3_Handles, StaleNamesTheNewChunk) {
  chunk_t a = alloc(dev);
  ASSERT_EQ(free_chunk(dev, a.handle), 0);
  chunk_t b = alloc(dev, {.size = 2 * MIB});
  EXPECT_EQ(b.handle, a.handle);
  EXPECT_EQ(pa_of(dev, a.handle).pa, b.pa);
}
