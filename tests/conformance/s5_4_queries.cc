// SPDX-License-Identifier: Apache-2.0
// Section 5.4: MEM_FREE and the questions about chunks.
#include <unistd.h>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S5_4_Free, V2_AND_V3);
CONFORMANCE_SUITE(S5_4_Queries, V2_AND_V3);
CONFORMANCE_SUITE(S5_4_Dump, V2_AND_V3);
CONFORMANCE_SUITE(S5_4_Resource, V2_AND_V3);

TEST_P(S5_4_Free, BadHandle) {
  EXPECT_EQ(free_chunk(dev, BAD_HANDLE), -EINVAL);
}

TEST_P(S5_4_Free, EndsChunkAndHandle) {
  chunk_t c = alloc(dev);
  EXPECT_EQ(free_chunk(dev, c.handle), 0);
  EXPECT_EQ(free_chunk(dev, c.handle), -EINVAL);
  EXPECT_EQ(pa_of(dev, c.handle).rc, -EINVAL);
  EXPECT_EQ(chunk_at(dev, c.pa).rc, -ENOMEM);
}

TEST_P(S5_4_Free, NoOwnerCheck) {
  NEEDS_BACKSTAGE();
  chunk_t c = alloc(dev);
  EXPECT_EQ(free_chunk(open(OTHER), c.handle), 0);
}

// A mapping stays valid and shows whatever is allocated there next.
TEST_P(S5_4_Free, WhileMapped) {
  chunk_t c = alloc(dev);
  void *va = nullptr;
  ASSERT_EQ(dev.map(c.pa, PAGE, PROT_READ | PROT_WRITE, &va), 0);
  ASSERT_EQ(free_chunk(dev, c.handle), 0);
  chunk_t next = alloc(dev);
  ASSERT_EQ(next.pa, c.pa);
  std::vector<uint8_t> data = pattern(PAGE, 3);
  ASSERT_EQ(buf_write(dev, next.handle, 0, data.data(), PAGE), 0);
  EXPECT_EQ(memcmp(va, data.data(), PAGE), 0);
  EXPECT_EQ(dev.unmap(va, PAGE), 0);
}

TEST_P(S5_4_Queries, GetPa) {
  chunk_t c = alloc(dev);
  EXPECT_EQ(pa_of(dev, c.handle).pa, v2() ? 0x3c0000000u : 0x5c0000000u);
  EXPECT_EQ(pa_of(dev, BAD_HANDLE).rc, -EINVAL);
  neuron_ioctl_mem_get_pa arg = {c.handle, nullptr};
  EXPECT_EQ(io(NEURON_IOCTL_MEM_GET_PA, &arg), 8);
  // A bad handle before the address that cannot be written.
  arg.mem_handle = BAD_HANDLE;
  EXPECT_EQ(io(NEURON_IOCTL_MEM_GET_PA, &arg), -EINVAL);
}

TEST_P(S5_4_Queries, GetInfo) {
  chunk_t c = alloc(dev, {.host = true});
  uint64_t offset = 0, pa = 0;
  neuron_ioctl_mem_get_info arg = {c.handle, &offset, &pa};
  EXPECT_EQ(io(NEURON_IOCTL_MEM_GET_INFO, &arg), 0);
  EXPECT_EQ(pa, c.pa);
  EXPECT_EQ(offset, c.pa);
  pa = 0;
  arg = {c.handle, nullptr, &pa};  // the offset is optional
  EXPECT_EQ(io(NEURON_IOCTL_MEM_GET_INFO, &arg), 0);
  EXPECT_EQ(pa, c.pa);
  arg = {c.handle, &offset, nullptr};  // the address is not
  EXPECT_EQ(io(NEURON_IOCTL_MEM_GET_INFO, &arg), 8);
  hole_t hole;
  arg = {c.handle, reinterpret_cast<uint64_t *>(hole.hole()), &pa};
  EXPECT_EQ(io(NEURON_IOCTL_MEM_GET_INFO, &arg), 8);
  arg = {BAD_HANDLE, nullptr, nullptr};
  EXPECT_EQ(io(NEURON_IOCTL_MEM_GET_INFO, &arg), -EINVAL);
}

TEST_P(S5_4_Queries, GetExtendedInfo) {
  chunk_t c = alloc(dev, {.size = 5000});
  info_t info = extended_info(dev, c.handle);
  EXPECT_EQ(info.rc, 0);
  EXPECT_NE(info.info.mem_handle, c.handle);  // an internal value
  EXPECT_EQ(info.info.host_memory, 0u);
  EXPECT_EQ(info.info.pa, c.pa);
  EXPECT_EQ(info.info.mmap_offset, c.pa);
  EXPECT_EQ(info.info.pid, static_cast<uint64_t>(getpid()));
  EXPECT_EQ(info.info.size, 8192u);
  info = extended_info(dev, alloc(dev, {.host = true}).handle);
  EXPECT_EQ(info.info.host_memory, 1u);
  EXPECT_EQ(extended_info(dev, BAD_HANDLE).rc, 22);
  EXPECT_EQ(extended_info(dev, 0).rc, 22);
}

TEST_P(S5_4_Queries, GetExtendedInfo_ArgumentReadOnly) {
  chunk_t c = alloc(dev);
  neuron_ioctl_mem_get_extended_info arg = {};
  arg.mem_handle = c.handle;
  EXPECT_EQ(io(NEURON_IOCTL_MEM_GET_EXTENDED_INFO, read_only_t(&arg, sizeof(arg)).page), 48);
}

TEST_P(S5_4_Queries, McGetInfo) {
  chunk_t c = alloc(dev, {.size = 2 * MIB});
  for (uint64_t inside : {c.pa, c.pa + 1, c.pa + 2 * MIB - 1}) {
    neuron_ioctl_mem_get_mc_mmap_info arg = {};
    arg.pa = inside;
    EXPECT_EQ(io(NEURON_IOCTL_MEM_MC_GET_INFO, &arg), 0);
    EXPECT_EQ(arg.mmap_offset, c.pa);
    EXPECT_EQ(arg.size, 2 * MIB);
    mc_t mc = chunk_at(dev, inside);
    EXPECT_EQ(mc.rc, 0);
    EXPECT_EQ(mc.info.mmap_offset, c.pa);
    EXPECT_EQ(mc.info.size, 2 * MIB);
    EXPECT_EQ(mc.info.mem_handle, c.handle);
  }
}

TEST_P(S5_4_Queries, McGetInfo_NoChunk) {
  chunk_t c = alloc(dev, {.size = 2 * MIB});
  for (uint64_t outside : {c.pa + 2 * MIB, uint64_t{1} << 60, UINT64_MAX}) {
    neuron_ioctl_mem_get_mc_mmap_info arg = {};
    arg.pa = outside;
    EXPECT_EQ(io(NEURON_IOCTL_MEM_MC_GET_INFO, &arg), -ENOMEM);
    EXPECT_EQ(chunk_at(dev, outside).rc, -ENOMEM);
  }
}

TEST_P(S5_4_Queries, McGetInfo_WrongSize) {
  uint8_t arg[64] = {};
  for (uint32_t size : {0u, 8u, 16u, 25u, 40u})
    EXPECT_EQ(io(_IOC(_IOC_READ | _IOC_WRITE, 'N', 111, size), arg), -EINVAL) << size;
}

TEST_P(S5_4_Queries, McGetInfo_ArgumentReadOnly) {
  neuron_ioctl_mem_get_mc_mmap_info_v2 arg = {};
  EXPECT_EQ(io(NEURON_IOCTL_MEM_MC_GET_INFO_V2, read_only_t(&arg, sizeof(arg)).page), 32);
  EXPECT_EQ(io(NEURON_IOCTL_MEM_MC_GET_INFO, read_only_t(&arg, sizeof(arg)).page), 24);
}

TEST_P(S5_4_Dump, ListsAllOwnersAscending) {
  NEEDS_BACKSTAGE();
  chunk_t large = alloc(dev, {.size = 2 * MIB, .category = NEURON_MEM_CODE_DEVICE});
  chunk_t small = alloc(open(OTHER), {.category = 1234});
  alloc(dev, {.host = true});  // not on the list
  alloc(dev, {.channel = 1});  // nor is another channel's
  chunks_t got = dump_chunks(dev, 0, 10);
  ASSERT_EQ(got.rc, 0);
  ASSERT_EQ(got.count, 3u);
  EXPECT_EQ(got.list[0].pa, 0u);
  EXPECT_EQ(got.list[0].size, RESERVED);
  EXPECT_EQ(got.list[0].mem_type, 13u);
  EXPECT_EQ(got.list[1].pa, large.pa);
  EXPECT_EQ(got.list[1].size, 2 * MIB);
  EXPECT_EQ(got.list[1].mem_type, 8u);
  EXPECT_EQ(got.list[2].pa, small.pa);
  EXPECT_EQ(got.list[2].size, PAGE);
  EXPECT_EQ(got.list[2].mem_type, 1234u);  // as passed
}

TEST_P(S5_4_Dump, TooSmallGivesTheCountOnly) {
  alloc(dev);
  alloc(dev);
  chunks_t got = dump_chunks(dev, 0, 2);
  EXPECT_EQ(got.rc, -EAGAIN);
  EXPECT_EQ(got.count, 3u);
  EXPECT_EQ(got.list[0].size, 0u);
  EXPECT_EQ(dump_chunks(dev, 0, 0).rc, -EAGAIN);
  EXPECT_EQ(dump_chunks(dev, 0, 3).rc, 0);
}

TEST_P(S5_4_Dump, UnknownChannelIsEmpty) {
  for (uint32_t channel : {model().channels, 100u, UINT32_MAX}) {
    chunks_t got = dump_chunks(dev, channel, 4);
    EXPECT_EQ(got.rc, 0);
    EXPECT_EQ(got.count, 0u);
  }
}

TEST_P(S5_4_Dump, HugeRoom) {
  neuron_ioctl_mem_chunk_info entry = {};
  neuron_ioctl_dump_mem_chunks arg = {0, UINT32_MAX, 0, &entry};
  EXPECT_EQ(io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &arg), -ENOMEM);
  EXPECT_EQ(entry.size, 0u);
}

TEST_P(S5_4_Dump, BadPointers) {
  hole_t hole;
  neuron_ioctl_dump_mem_chunks arg = {};
  arg.num_entries_in = 4;
  arg.data = reinterpret_cast<neuron_ioctl_mem_chunk_info *>(hole.hole());
  EXPECT_EQ(io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &arg), 24);
  arg.num_entries_in = 0;
  EXPECT_GT(io(NEURON_IOCTL_DUMP_MEM_CHUNKS, read_only_t(&arg, sizeof(arg)).page), 0);
}

// uapi.md 8: the tables of special mappings, written out.
TEST_P(S5_4_Resource, Table) {
  struct row_t {
    uint32_t block, id, resource;
    uint64_t offset, size;
  };
  std::vector<row_t> rows;
  for (uint32_t i = 0; i < model().cores; ++i) {
    uint64_t tpb = (v2() ? 0xfffc0000000 : 0x2000000000) + i * 0x4000000ull;
    rows.push_back({0, i, 0, tpb + 0x2700000, 0x2000});
    rows.push_back({0, i, 2, tpb, 0x2000000});
  }
  for (uint32_t i = 0; i < model().top_sps; ++i) {
    uint64_t sp = v2()    ? 0xfffd0000000 + i * 0x400000ull
                  : i < 8 ? 0x8280000000 + i * 0x40000000ull
                          : 0x808280000000 + (i - 8) * 0x40000000ull;
    rows.push_back({1, i, 0, sp, 0x2000});
    rows.push_back({1, i, 1, sp, 0x400000});
  }
  if (!v2()) {
    for (uint32_t i = 0; i < 4; ++i)
      rows.push_back({2, i, 3, model().base[i], 0x600000000});
  }
  for (const row_t &row : rows) {
    SCOPED_TRACE(testing::Message() << row.block << ' ' << row.id << ' ' << row.resource);
    neuron_ioctl_resource_mmap_info arg = {};
    arg.block = row.block;
    arg.block_id = row.id;
    arg.resource = row.resource;
    EXPECT_EQ(io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg), 0);
    EXPECT_EQ(arg.offset, row.offset);
    EXPECT_EQ(arg.size, row.size);
  }
}

TEST_P(S5_4_Resource, NoEntry) {
  struct {
    uint32_t block, id, resource;
  } rows[] = {
      {0, model().cores, 0},
      {0, model().cores, 2},
      {0, 0, 1},
      {0, 0, 3},
      {0, 0, 4},
      {1, model().top_sps, 0},
      {1, 0, 2},
      {1, 0, 3},
      {2, 0, 0},
      {2, 0, 2},
      {2, model().channels, 3},
      {3, 0, 0},
      {3, 0, 3},
      {0, UINT32_MAX, 0},
  };
  for (const auto &row : rows) {
    SCOPED_TRACE(testing::Message() << row.block << ' ' << row.id << ' ' << row.resource);
    neuron_ioctl_resource_mmap_info arg = {};
    arg.block = row.block;
    arg.block_id = row.id;
    arg.resource = row.resource;
    EXPECT_EQ(io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg), -EINVAL);
  }
  if (v2()) {
    neuron_ioctl_resource_mmap_info arg = {};
    arg.block = 2;
    arg.resource = 3;
    EXPECT_EQ(io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg), -EINVAL);  // v2 has no HBM entry
  }
}

TEST_P(S5_4_Resource, ArgumentReadOnly) {
  neuron_ioctl_resource_mmap_info arg = {};
  EXPECT_EQ(io(NEURON_IOCTL_RESOURCE_MMAP_INFO, read_only_t(&arg, sizeof(arg)).page), 32);
}
