// SPDX-License-Identifier: Apache-2.0
// Allocation, free and queries (mock-device-semantics.md 5.1 to 5.4).
#include "tests/mock_dev/mock_fixture.h"

namespace {

constexpr uint64_t MIB = 1 << 20;
constexpr uint64_t GIB = 1 << 30;
constexpr uint64_t V3_HOST_BIT = 0x400000000000;
constexpr uint64_t HBM = 24 * GIB;

mock_dev_options_t small_hbm(uint64_t size = 2 * GIB) {
  mock_dev_options_t o = {};
  o.hbm_size = size;
  return o;
}

std::vector<neuron_ioctl_mem_chunk_info> dump(machine_t &m, uint32_t channel) {
  std::vector<neuron_ioctl_mem_chunk_info> list(1000);
  neuron_ioctl_dump_mem_chunks a = {};
  a.hbm_index = channel;
  a.num_entries_in = 1000;
  a.data = list.data();
  EXPECT_EQ(m.io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &a), 0);
  list.resize(a.num_entries_out);
  return list;
}

}  // namespace

TEST(Alloc, SizesRoundToPages) {
  machine_t m;
  uint64_t expected = 0x5c0000000;
  for (uint64_t size : {1ull, 4095ull, 4096ull, 4097ull, 8192ull}) {
    chunk_t c = alloc(m, {.size = size});
    EXPECT_EQ(c.pa, expected) << size;
    expected += (size + 4095) / 4096 * 4096;
  }
}

TEST(Alloc, RefusalsInOrder) {
  machine_t m;
  EXPECT_EQ(alloc(m, {.size = 1ull << 63}).rc, -EINVAL);
  EXPECT_EQ(alloc(m, {.size = (1ull << 63) - 1}).rc, -ENOMEM);
  EXPECT_EQ(alloc(m, {.size = UINT64_MAX, .channel = 9}).rc, -EINVAL);
  EXPECT_EQ(alloc(m, {.size = 0, .channel = 4}).rc, -EINVAL);  // range checks come first
  EXPECT_EQ(alloc(m, {.size = 0, .nc_id = 8}).rc, -EINVAL);
  EXPECT_EQ(alloc(m, {.size = 0}).rc, -ENOMEM);
  EXPECT_EQ(alloc(m, {.size = 0, .host = true}).rc, -ENOMEM);
  EXPECT_EQ(alloc(m, {.host = true, .channel = 4}).rc, -EINVAL);  // host memory too
  EXPECT_EQ(alloc(m, {.align = 1, .host = true}).rc, -EINVAL);
  EXPECT_EQ(alloc(m, {.align = 0x80000000}).rc, -EINVAL);
  EXPECT_EQ(alloc(m, {.align = 0x80000000, .category = 19}).rc, 0);  // alignment ignored
  EXPECT_EQ(alloc(m, {.host = true, .category = 19}).rc, -EINVAL);
  EXPECT_EQ(alloc(m, {.size = 25 * GIB}).rc, -ENOMEM);
  EXPECT_EQ(alloc(m, {.category = 77}).rc, 0);  // categories are not checked
}

// v2 has two cores, but the limit for nc_id is 8 everywhere.
TEST(Alloc, CoreLimitIsEightOnV2) {
  machine_t m("trn1.2xlarge");
  EXPECT_EQ(alloc(m, {.nc_id = 7}).rc, 0);
  EXPECT_EQ(alloc(m, {.nc_id = 8}).rc, -EINVAL);
}

TEST(Alloc, Alignment) {
  machine_t m;
  EXPECT_EQ(alloc(m, {.size = MIB}).pa, 0x1000000u);
  EXPECT_EQ(alloc(m, {.size = MIB, .align = 4096}).pa, 0x1100000u);
  EXPECT_EQ(alloc(m, {.size = MIB, .align = 64}).pa, 0x1200000u);
  EXPECT_EQ(alloc(m, {.size = MIB, .align = 1ull << 30}).pa, 0x40000000u);
  EXPECT_EQ(alloc(m, {.size = MIB, .align = 4 * MIB}).pa, 0x1400000u);
  EXPECT_EQ(alloc(m, {.size = MIB}).pa, 0x1300000u);
  // Small ones in the small pool.
  EXPECT_EQ(alloc(m, {.size = 4096}).pa, 0x5c0000000u);
  EXPECT_EQ(alloc(m, {.size = 4096, .align = 65536}).pa, 0x5c0010000u);
  // No power of two: the addresses found (0x1500000, 0x5c0001000) are no multiples of five pages.
  // They are of three.
  EXPECT_EQ(alloc(m, {.size = MIB, .align = 5 * 4096}).rc, -ENOMEM);
  EXPECT_EQ(alloc(m, {.size = 4096, .align = 5 * 4096}).rc, -ENOMEM);
  EXPECT_EQ(alloc(m, {.size = 4096}).pa, 0x5c0001000u);  // nothing was lost on the way
  EXPECT_EQ(alloc(m, {.size = MIB, .align = 3 * 4096}).pa, 0x1500000u);
}

TEST(Alloc, ChannelsStartAtTheirBases) {
  machine_t m;
  const uint64_t bases[4] = {0, 0x4000000000, 0x800000000000, 0x804000000000};
  for (uint32_t h = 0; h < 4; ++h) {
    EXPECT_EQ(alloc(m, {.size = MIB, .channel = h}).pa, bases[h] + 0x1000000);
    EXPECT_EQ(alloc(m, {.size = 512 * 1024, .channel = h}).pa, bases[h] + 0x5c0000000);
    EXPECT_EQ(alloc(m, {.size = 512 * 1024 + 1, .channel = h}).pa, bases[h] + 0x1100000);
  }
}

// Each pool is the other's refuge.
TEST(Alloc, PoolsFallOver) {
  machine_t m(small_hbm());
  chunk_t big = alloc(m, {.size = GIB - 16 * MIB});  // the whole main pool
  EXPECT_EQ(big.pa, 0x1000000u);
  EXPECT_EQ(alloc(m, {.size = MIB}).pa, GIB);  // large, but only the small pool has room
  chunk_t rest = alloc(m, {.size = GIB - MIB});
  EXPECT_EQ(rest.pa, GIB + MIB);
  EXPECT_EQ(alloc(m, {.size = 4096}).rc, -ENOMEM);
  EXPECT_EQ(mem_free(m, big.handle), 0);
  EXPECT_EQ(alloc(m, {.size = 4096}).pa, 0x1000000u);  // small, but only the main pool has room
  EXPECT_EQ(alloc(m, {.size = 4096, .align = MIB}).pa, 0x1100000u);
  EXPECT_EQ(alloc(m, {.size = 4096}).pa, 0x1001000u);
}

TEST(Alloc, FirstFitReusesTheLowestHole) {
  machine_t m;
  std::vector<chunk_t> c;
  c.reserve(6);
  for (int i = 0; i < 6; ++i)
    c.push_back(alloc(m, {.size = 2 * MIB}));
  EXPECT_EQ(mem_free(m, c[1].handle), 0);
  EXPECT_EQ(mem_free(m, c[3].handle), 0);
  EXPECT_EQ(alloc(m, {.size = 3 * MIB}).pa, c[5].pa + 2 * MIB);
  EXPECT_EQ(alloc(m, {.size = MIB}).pa, c[1].pa);
  EXPECT_EQ(alloc(m, {.size = 2 * MIB}).pa, c[3].pa);
}

TEST(Alloc, ContiguousScratchpad) {
  machine_t m(small_hbm());
  alloc_t page = {.size = 64 * MIB, .category = 19};
  std::vector<chunk_t> p;
  for (int i = 0; i < 3; ++i) {
    p.push_back(alloc(m, page));
    EXPECT_EQ(p[i].pa, GIB - (i + 1) * 64 * MIB);
  }
  // Freed newest first it grows again from where it was.
  EXPECT_EQ(mem_free(m, p[2].handle), 0);
  EXPECT_EQ(alloc(m, page).pa, GIB - 3 * 64 * MIB);
  // The exact place below is taken by somebody else.
  chunk_t fill = alloc(m, {.size = GIB - 3 * 64 * MIB - 16 * MIB});
  EXPECT_EQ(fill.rc, 0);
  EXPECT_EQ(alloc(m, page).rc, -ENOMEM);
  EXPECT_EQ(mem_free(m, fill.handle), 0);
  EXPECT_EQ(alloc(m, page).pa, GIB - 4 * 64 * MIB);
}

TEST(Alloc, ContiguousScratchpadFreedOutOfOrder) {
  machine_t m(small_hbm());
  alloc_t page = {.size = 64 * MIB, .category = 19};
  chunk_t a = alloc(m, page), b = alloc(m, page);
  EXPECT_EQ(mem_free(m, a.handle), 0);
  EXPECT_EQ(alloc(m, page).rc, -ENOMEM);  // the next place is the one b still has
  EXPECT_EQ(mem_free(m, b.handle), 0);
  EXPECT_EQ(alloc(m, page).pa, GIB - 64 * MIB);
}

TEST(Alloc, HostMemory) {
  machine_t m;
  chunk_t a = alloc(m, {.size = 5000, .host = true});
  chunk_t b = alloc(m, {.size = 4096, .host = true});
  for (const chunk_t &c : {a, b}) {
    EXPECT_EQ(c.rc, 0);
    EXPECT_EQ(c.pa & V3_HOST_BIT, V3_HOST_BIT);
    EXPECT_LT(c.pa & ~V3_HOST_BIT, 1ull << 32);
    EXPECT_EQ(c.pa % 4096, 0u);
  }
  EXPECT_GE(b.pa, a.pa + 8192);
  machine_t v2("trn1.2xlarge");
  EXPECT_EQ(alloc(v2, {.host = true}).pa >> 32, 0x100000000000u >> 32);
}

TEST(Alloc, OlderForms) {
  machine_t m;
  uint64_t handle = 0;
  neuron_ioctl_mem_alloc v1 = {};
  v1.size = 4096;
  v1.mem_handle = &handle;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_ALLOC, &v1), 0);
  EXPECT_EQ(handle, 1u);
  neuron_ioctl_mem_alloc_v2 v2 = {};
  v2.size = MIB;
  v2.align = 4 * MIB;
  v2.dram_region = 3;  // one region per channel: forced to 0
  v2.mem_handle = &handle;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_ALLOC_V2, &v2), 0);
  EXPECT_EQ(handle, 2u);
  neuron_ioctl_mem_alloc_v2_mem_type mt = {};
  mt.size = 4096;
  mt.mem_type = 15;
  mt.mem_handle = &handle;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_ALLOC_V2MT, &mt), 0);
  auto list = dump(m, 0);
  ASSERT_EQ(list.size(), 4u);  // with the firmware's share
  EXPECT_EQ(list[1].pa, 0x1000000u);
  EXPECT_EQ(list[3].mem_type, 15u);
}

// The handle cannot be stored: +8, and the chunk is gone again.
TEST(Alloc, HandleCannotBeStored) {
  machine_t m;
  bad_range_t range;
  size_t before = dump(m, 0).size();
  EXPECT_EQ(alloc_raw(m.host, PID, m.fd, {}, nullptr), 8);
  EXPECT_EQ(alloc_raw(m.host, PID, m.fd, {}, reinterpret_cast<uint64_t *>(range.bad())), 8);
  EXPECT_EQ(dump(m, 0).size(), before);
  EXPECT_EQ(alloc(m, {}).handle, 1u);
}

TEST(Free, Rules) {
  machine_t m;
  chunk_t c = alloc(m, {});
  EXPECT_EQ(mem_free(m, 0), -EINVAL);
  EXPECT_EQ(mem_free(m, 2), -EINVAL);
  EXPECT_EQ(mem_free(m, 4194303), -EINVAL);
  EXPECT_EQ(mem_free(m, UINT64_MAX), -EINVAL);
  EXPECT_EQ(mem_free(m, c.handle), 0);
  EXPECT_EQ(mem_free(m, c.handle), -EINVAL);
  // The driver's own chunk behind a handle of MEM_MC_GET_INFO_V2 stays.
  neuron_ioctl_mem_get_mc_mmap_info_v2 mc = {};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_MC_GET_INFO_V2, &mc), 0);
  EXPECT_EQ(mem_free(m, mc.mem_handle), -EINVAL);
}

TEST(Free, AnyAttachedProcess) {
  machine_t m;
  chunk_t c = alloc(m, {});
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  neuron_ioctl_mem_free arg = {c.handle};
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, other, NEURON_IOCTL_MEM_FREE, &arg), 0);
  EXPECT_EQ(mem_free(m, c.handle), -EINVAL);
}

TEST(Query, Addresses) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  uint64_t pa = 0, offset = 0;
  bad_range_t range;
  auto *bad = reinterpret_cast<uint64_t *>(range.bad());

  neuron_ioctl_mem_get_pa get = {c.handle, nullptr};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_PA, &get), 8);
  get = {99, &pa};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_PA, &get), -EINVAL);

  neuron_ioctl_mem_get_info info = {c.handle, &offset, &pa};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_INFO, &info), 0);
  EXPECT_EQ(pa, 0x1000000u);
  EXPECT_EQ(offset, pa);
  pa = 0;
  info = {c.handle, nullptr, &pa};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_INFO, &info), 0);
  EXPECT_EQ(pa, 0x1000000u);
  info = {c.handle, &offset, nullptr};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_INFO, &info), 8);
  info = {c.handle, bad, &pa};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_INFO, &info), 8);
  info = {98, &offset, &pa};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_INFO, &info), -EINVAL);

  neuron_ioctl_mem_get_extended_info x = {};
  x.mem_handle = c.handle;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &x), 0);
  EXPECT_EQ(x.pa, 0x1000000u);
  EXPECT_EQ(x.mmap_offset, 0x1000000u);
  EXPECT_EQ(x.size, MIB);
  EXPECT_EQ(x.pid, static_cast<uint64_t>(PID));
  EXPECT_EQ(x.host_memory, 0u);
  EXPECT_EQ(mem_free(m, x.mem_handle), -EINVAL);  // the field is no handle any more
  x.mem_handle = alloc(m, {.size = 10, .host = true}).handle;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &x), 0);
  EXPECT_EQ(x.host_memory, 1u);
  EXPECT_EQ(x.size, 4096u);
  x.mem_handle = 0;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &x), 22);
}

TEST(Query, ChunkAroundAnAddress) {
  machine_t m;
  chunk_t a = alloc(m, {.size = MIB}), b = alloc(m, {.size = MIB});
  chunk_t h = alloc(m, {.size = 8192, .host = true});
  struct {
    uint64_t pa, start, size;
  } rows[] = {{a.pa, a.pa, MIB}, {a.pa + MIB - 1, a.pa, MIB},
              {b.pa, b.pa, MIB}, {h.pa + 5000, h.pa, 8192},
              {0, 0, 16 * MIB},  {16 * MIB - 1, 0, 16 * MIB}};
  for (const auto &r : rows) {
    neuron_ioctl_mem_get_mc_mmap_info v1 = {};
    v1.pa = r.pa;
    EXPECT_EQ(m.io(NEURON_IOCTL_MEM_MC_GET_INFO, &v1), 0) << std::hex << r.pa;
    EXPECT_EQ(v1.mmap_offset, r.start);
    EXPECT_EQ(v1.size, r.size);
  }
  for (uint64_t pa : {b.pa + MIB, HBM - 4096, HBM, UINT64_MAX, V3_HOST_BIT, h.pa + 8192,
                      uint64_t{0x2000000000}}) {
    neuron_ioctl_mem_get_mc_mmap_info v1 = {};
    v1.pa = pa;
    EXPECT_EQ(m.io(NEURON_IOCTL_MEM_MC_GET_INFO, &v1), -ENOMEM) << std::hex << pa;
  }
}

TEST(Query, DumpChunks) {
  machine_t m;
  EXPECT_EQ(dump(m, 7).size(), 0u);  // unknown channel
  auto list = dump(m, 2);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].pa, 0x800000000000u);
  EXPECT_EQ(list[0].size, 16 * MIB);
  EXPECT_EQ(list[0].mem_type, 13u);
  chunk_t small = alloc(m, {.channel = 2, .category = 10});
  chunk_t page = alloc(m, {.size = 64 * MIB, .channel = 2, .category = 19});
  chunk_t large = alloc(m, {.size = MIB, .channel = 2, .category = 9});
  alloc(m, {.host = true, .channel = 2});
  list = dump(m, 2);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[1].pa, large.pa);
  EXPECT_EQ(list[2].pa, page.pa);
  EXPECT_EQ(list[2].mem_type, 19u);
  EXPECT_EQ(list[3].pa, small.pa);
  EXPECT_EQ(list[3].size, 4096u);

  neuron_ioctl_mem_chunk_info two[2] = {};
  neuron_ioctl_dump_mem_chunks a = {};
  a.hbm_index = 2;
  a.num_entries_in = 2;
  a.data = two;
  EXPECT_EQ(m.io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &a), -EAGAIN);
  EXPECT_EQ(a.num_entries_out, 4u);
  EXPECT_EQ(two[0].size, 0u);
  a.num_entries_in = UINT32_MAX;
  EXPECT_EQ(m.io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &a), -ENOMEM);
  a.num_entries_in = 4;
  a.data = nullptr;
  EXPECT_EQ(m.io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &a), 96);
}

TEST(Content, FreshMemoryIsZeroAgain) {
  machine_t m;
  for (bool host : {false, true}) {
    std::vector<uint8_t> ones(256 * 1024, 0xff), back(ones.size(), 1);
    chunk_t c = alloc(m, {.size = ones.size(), .host = host});
    ASSERT_EQ(buf_copy(m, c.handle, ones.data(), 0, ones.size(), true), 0);
    ASSERT_EQ(mem_free(m, c.handle), 0);
    chunk_t d = alloc(m, {.size = ones.size(), .host = host});
    ASSERT_EQ(d.pa, c.pa);
    ASSERT_EQ(buf_copy(m, d.handle, back.data(), 0, back.size(), false), 0);
    EXPECT_EQ(back, std::vector<uint8_t>(back.size(), 0));
    // Written through a mapping.
    void *va;
    ASSERT_EQ(mock_mmap(m.host, PID, m.fd, d.pa, ones.size(), PROT_READ | PROT_WRITE, &va), 0);
    memset(va, 7, ones.size());
    ASSERT_EQ(mock_munmap(m.host, PID, va, ones.size()), 0);
    ASSERT_EQ(mem_free(m, d.handle), 0);
    d = alloc(m, {.size = ones.size(), .host = host});
    ASSERT_EQ(buf_copy(m, d.handle, back.data(), 0, back.size(), false), 0);
    EXPECT_EQ(back, std::vector<uint8_t>(back.size(), 0));
    ASSERT_EQ(mem_free(m, d.handle), 0);
  }
  // Written behind the driver.
  auto *raw = static_cast<uint8_t *>(mock_dram(m.host, 0, 0x5c0000000, 4096));
  ASSERT_NE(raw, nullptr);
  chunk_t c = alloc(m, {});
  raw[5] = 9;
  ASSERT_EQ(mem_free(m, c.handle), 0);
  c = alloc(m, {});
  EXPECT_EQ(raw[5], 0);
}

TEST(Content, StrictModePoisons) {
  mock_dev_options_t o = {};
  o.poison = true;
  machine_t m(o);
  chunk_t c = alloc(m, {.size = 8192});
  uint8_t back[8192];
  ASSERT_EQ(buf_copy(m, c.handle, back, 0, sizeof(back), false), 0);
  EXPECT_EQ(back[0], 0xa5);
  EXPECT_EQ(back[8191], 0xa5);
  c = alloc(m, {.size = 4096, .host = true});
  ASSERT_EQ(buf_copy(m, c.handle, back, 0, 4096, false), 0);
  EXPECT_EQ(back[0], 0);
}

TEST(Content, Dram) {
  machine_t m;
  EXPECT_NE(mock_dram(m.host, 0, 0, HBM), nullptr);
  EXPECT_NE(mock_dram(m.host, 0, HBM - 1, 1), nullptr);
  EXPECT_EQ(mock_dram(m.host, 0, HBM, 1), nullptr);
  EXPECT_EQ(mock_dram(m.host, 0, HBM - 1, 2), nullptr);
  EXPECT_EQ(mock_dram(m.host, 1, 0, 1), nullptr);
  EXPECT_EQ(mock_dram(m.host, 0, 0x2000000000, 1), nullptr);
}
