// SPDX-License-Identifier: Apache-2.0
// Everything that moves bytes (mock-device-semantics.md 5.5).
#include <numeric>

#include "tests/mock_dev/mock_fixture.h"

namespace {

constexpr uint64_t MIB = 1 << 20;

std::vector<uint8_t> pattern(size_t size, uint8_t seed = 1) {
  std::vector<uint8_t> v(size);
  for (size_t i = 0; i < size; ++i)
    v[i] = static_cast<uint8_t>(seed + i * 7 + i / 251);
  return v;
}

std::vector<uint8_t> read_chunk(machine_t &m, uint64_t handle, uint64_t offset, size_t size) {
  std::vector<uint8_t> v(size, 0xee);
  EXPECT_EQ(buf_copy(m, handle, v.data(), offset, size, false), 0);
  return v;
}

long copy64(machine_t &m, uint64_t src, uint64_t src_offset, uint64_t dst, uint64_t dst_offset,
            uint64_t size) {
  neuron_ioctl_mem_copy64 a = {};
  a.src_mem_handle = src;
  a.dst_mem_handle = dst;
  a.size = size;
  a.src_offset = src_offset;
  a.dst_offset = dst_offset;
  return m.io(NEURON_IOCTL_MEM_COPY64, &a);
}

long async64(machine_t &m, uint64_t src, uint64_t dst, uint64_t size, uint32_t pwait,
             uint32_t *handle) {
  neuron_ioctl_mem_copy_async64 a = {};
  a.src_mem_handle = src;
  a.dst_mem_handle = dst;
  a.size = size;
  a.pwait_handle = pwait;
  long rc = m.io(NEURON_IOCTL_MEM_COPY_ASYNC64, &a);
  *handle = a.wait_handle;
  return rc;
}

long async_wait(machine_t &m, uint64_t src, uint64_t dst, uint32_t handle) {
  neuron_ioctl_mem_copy_async_wait a = {};
  a.src_mem_handle = src;
  a.dst_mem_handle = dst;
  a.pwait_handle = handle;
  return m.io(NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &a);
}

constexpr uint32_t NONE = 0xffffffff;

}  // namespace

TEST(BufCopy, RoundTripsAtAwkwardSizes) {
  machine_t m;
  for (bool host : {false, true}) {
    chunk_t c = alloc(m, {.size = 4 * MIB, .host = host});
    for (size_t size : {size_t{1}, size_t{4095}, size_t{4097}, size_t{65535}, size_t{65536},
                        size_t{65537}, size_t{1000003}}) {
      for (uint64_t offset : {0ull, 1ull, 4093ull}) {
        auto data = pattern(size, static_cast<uint8_t>(size + offset));
        ASSERT_EQ(buf_copy(m, c.handle, data.data(), offset, size, true), 0);
        ASSERT_EQ(read_chunk(m, c.handle, offset, size), data);
      }
    }
  }
}

TEST(BufCopy, OldForm) {
  machine_t m;
  chunk_t c = alloc(m, {});
  auto data = pattern(100);
  neuron_ioctl_mem_buf_copy a = {c.handle, data.data(), 100, 8, 1};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_BUF_COPY, &a), 0);
  EXPECT_EQ(read_chunk(m, c.handle, 8, 100), data);
  a.offset = 4000;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_BUF_COPY, &a), -EINVAL);
}

TEST(BufCopy, Bounds) {
  machine_t m;
  chunk_t c = alloc(m, {.size = 5000});  // 8192 after rounding: that is the limit
  uint8_t data[8192] = {};
  EXPECT_EQ(buf_copy(m, c.handle, data, 0, 8192, true), 0);
  EXPECT_EQ(buf_copy(m, c.handle, data, 1, 8192, true), -EINVAL);
  EXPECT_EQ(buf_copy(m, c.handle, data, 8192, 0, true), 0);
  EXPECT_EQ(buf_copy(m, c.handle, data, 8193, 0, true), -EINVAL);
  EXPECT_EQ(buf_copy(m, c.handle, data, UINT64_MAX, 2, true), -EINVAL);  // the sum wraps
  EXPECT_EQ(buf_copy(m, 77, data, 0, 1, true), -EINVAL);
}

// The scratchpad may be written up to the end of the main pool, whatever the chunk's size.
TEST(BufCopy, ScratchpadReach) {
  machine_t m;
  alloc_t page = {.size = 64 * MIB, .category = 19};
  chunk_t upper = alloc(m, page), lower = alloc(m, page);
  auto data = pattern(8192);
  ASSERT_EQ(buf_copy(m, lower.handle, data.data(), 64 * MIB - 4096, 8192, true), 0);
  EXPECT_EQ(read_chunk(m, upper.handle, 0, 4096),
            std::vector<uint8_t>(data.begin() + 4096, data.end()));
  EXPECT_EQ(buf_copy(m, lower.handle, data.data(), 128 * MIB - 4096, 4096, true), 0);
  EXPECT_EQ(buf_copy(m, lower.handle, data.data(), 128 * MIB - 4096, 4097, true), -EINVAL);
  EXPECT_EQ(buf_copy(m, upper.handle, data.data(), 64 * MIB - 1, 2, true), -EINVAL);
}

// 64-bit sizes lose their high half; exactly 4 GiB is nothing at all.
TEST(BufCopy, SizesFrom4GiBAreCut) {
  machine_t m;
  constexpr uint64_t FOUR_GIB = 1ull << 32;
  chunk_t c = alloc(m, {.size = FOUR_GIB + 4096});
  ASSERT_EQ(c.rc, 0);
  auto data = pattern(4096);
  EXPECT_EQ(buf_copy(m, c.handle, nullptr, 0, FOUR_GIB, true), 0);
  EXPECT_EQ(buf_copy(m, c.handle, data.data(), 0, FOUR_GIB + 100, true), 0);
  auto back = read_chunk(m, c.handle, 0, 101);
  EXPECT_TRUE(std::equal(back.begin(), back.begin() + 100, data.begin()));
  EXPECT_EQ(back[100], 0);
  EXPECT_EQ(buf_copy(m, c.handle, data.data(), 0, FOUR_GIB + 8192, true), -EINVAL);
}

// Device chunks move in 64 KiB pieces: whole pieces before the fault stay, the broken one does not
// begin; what is missing of it is the result.
TEST(BufCopy, FaultInTheMiddle) {
  machine_t m;
  constexpr size_t GOOD = 3 * 65536 + 4096;
  bad_range_t range(GOOD);
  auto data = pattern(GOOD);
  memcpy(range.base, data.data(), GOOD);
  chunk_t c = alloc(m, {.size = MIB});
  EXPECT_EQ(buf_copy(m, c.handle, range.base, 0, 4 * 65536, true), 65536 - 4096);
  auto back = read_chunk(m, c.handle, 0, 4 * 65536);
  EXPECT_TRUE(std::equal(back.begin(), back.begin() + 3 * 65536, data.begin()));
  EXPECT_EQ(std::count(back.begin() + 3 * 65536, back.end(), 0), 65536);

  // The other way: the caller keeps what could be stored.
  auto fresh = pattern(4 * 65536, 99);
  ASSERT_EQ(buf_copy(m, c.handle, fresh.data(), 0, fresh.size(), true), 0);
  EXPECT_EQ(buf_copy(m, c.handle, range.base, 0, 4 * 65536, false), 65536 - 4096);
  EXPECT_TRUE(std::equal(fresh.begin(), fresh.begin() + GOOD, range.base));

  // Host chunks take everything up to the fault.
  chunk_t h = alloc(m, {.size = MIB, .host = true});
  memcpy(range.base, data.data(), GOOD);
  EXPECT_EQ(buf_copy(m, h.handle, range.base, 0, 4 * 65536, true), 65536 - 4096);
  back = read_chunk(m, h.handle, 0, GOOD);
  EXPECT_EQ(back, data);
  EXPECT_EQ(buf_copy(m, h.handle, range.bad(), 0, 1000, false), 1000);
}

TEST(BufCopy, ReadOnlyDestination) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  bad_range_t range(65536);
  ASSERT_EQ(mprotect(range.base, 65536, PROT_READ), 0);
  EXPECT_EQ(buf_copy(m, c.handle, range.base, 0, 65536, false), 65536);
  EXPECT_EQ(buf_copy(m, c.handle, range.base, 0, 65536, true), 0);  // to read from is fine
}

TEST(ZeroCopy, Rules) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  auto data = pattern(700001);
  neuron_ioctl_mem_buf_copy64 a = {c.handle, data.data(), data.size(), 5, 1};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_BUF_ZEROCOPY64, &a), 0);
  EXPECT_EQ(read_chunk(m, c.handle, 5, data.size()), data);
  std::vector<uint8_t> back(data.size());
  a.buffer = back.data();
  a.copy_to_mem_handle = 0;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_BUF_ZEROCOPY64, &a), 0);
  EXPECT_EQ(back, data);
  a.size = 0;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_BUF_ZEROCOPY64, &a), -EINVAL);
  a.size = MIB;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_BUF_ZEROCOPY64, &a), -EINVAL);
  a.size = 10;
  a.mem_handle = 55;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_BUF_ZEROCOPY64, &a), -EINVAL);
  bad_range_t range;
  a = {c.handle, range.tail(100), 200, 0, 1};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_BUF_ZEROCOPY64, &a), -ENOMEM);
  a = {c.handle, nullptr, 200, 0, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_BUF_ZEROCOPY64, &a), -ENOMEM);
}

TEST(MemCopy, AnyMixOfHostAndDevice) {
  machine_t m;
  for (bool from_host : {false, true}) {
    for (bool to_host : {false, true}) {
      chunk_t s = alloc(m, {.size = 300000, .host = from_host});
      chunk_t d = alloc(m, {.size = 300000, .host = to_host, .channel = to_host ? 0u : 1u});
      auto data = pattern(200000);
      ASSERT_EQ(buf_copy(m, s.handle, data.data(), 10, data.size(), true), 0);
      ASSERT_EQ(copy64(m, s.handle, 10, d.handle, 777, data.size()), 0);
      EXPECT_EQ(read_chunk(m, d.handle, 777, data.size()), data);
      EXPECT_EQ(read_chunk(m, d.handle, 0, 777), std::vector<uint8_t>(777));  // neighbours stay
      EXPECT_EQ(read_chunk(m, d.handle, 777 + data.size(), 100), std::vector<uint8_t>(100));
    }
  }
}

TEST(MemCopy, Refusals) {
  machine_t m;
  chunk_t a = alloc(m, {.size = 8192}), b = alloc(m, {.size = 4096});
  EXPECT_EQ(copy64(m, 9, 0, b.handle, 0, 1), -EINVAL);
  EXPECT_EQ(copy64(m, a.handle, 0, 9, 0, 1), -EINVAL);
  EXPECT_EQ(copy64(m, a.handle, 8192, b.handle, 0, 1), -EINVAL);
  EXPECT_EQ(copy64(m, a.handle, 0, b.handle, 0, 4097), -EINVAL);
  EXPECT_EQ(copy64(m, a.handle, UINT64_MAX, b.handle, 0, 2), -EINVAL);
  EXPECT_EQ(copy64(m, a.handle, 0, b.handle, 0, 0), -EINVAL);
  EXPECT_EQ(copy64(m, a.handle, 4096, b.handle, 0, 4096), 0);
  neuron_ioctl_mem_copy old = {a.handle, b.handle, 100, 0, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_COPY, &old), 0);
  old.size = 0;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_COPY, &old), -EINVAL);
}

// Overlap goes upwards in 64 KiB pieces without protection: moving up by one piece repeats the
// first one.
TEST(MemCopy, OverlapGoesUpwards) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  auto data = pattern(4 * 65536);
  ASSERT_EQ(buf_copy(m, c.handle, data.data(), 0, data.size(), true), 0);
  ASSERT_EQ(copy64(m, c.handle, 0, c.handle, 65536, 3 * 65536), 0);
  auto back = read_chunk(m, c.handle, 0, 4 * 65536);
  for (int piece = 0; piece < 4; ++piece)
    EXPECT_TRUE(std::equal(data.begin(), data.begin() + 65536, back.begin() + piece * 65536));
  // Moving down is safe.
  ASSERT_EQ(buf_copy(m, c.handle, data.data(), 0, data.size(), true), 0);
  ASSERT_EQ(copy64(m, c.handle, 1000, c.handle, 0, data.size() - 1000), 0);
  back = read_chunk(m, c.handle, 0, data.size() - 1000);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), data.begin() + 1000));
}

TEST(Async, Slots) {
  machine_t m;
  chunk_t h = alloc(m, {.size = MIB, .host = true}), d = alloc(m, {.size = MIB});
  uint32_t w;
  EXPECT_EQ(async64(m, h.handle, d.handle, 100, 3, &w), -EINVAL);
  EXPECT_EQ(async64(m, h.handle, d.handle, 100, 0xfffffffe, &w), -EINVAL);
  EXPECT_EQ(async64(m, h.handle, d.handle, 100, 1, &w), -EINVAL);  // slot not in use
  EXPECT_EQ(async64(m, h.handle, d.handle, 100, 2, &w), -EINVAL);
  EXPECT_EQ(async64(m, h.handle, d.handle, 0, NONE, &w), -EINVAL);
  EXPECT_EQ(async64(m, h.handle, d.handle, MIB + 1, NONE, &w), -EINVAL);
  EXPECT_EQ(async_wait(m, h.handle, d.handle, 1), -EINVAL);

  EXPECT_EQ(async64(m, h.handle, d.handle, 100, 0, &w), 0);  // synchronous
  EXPECT_EQ(w, 0u);
  EXPECT_EQ(async_wait(m, h.handle, d.handle, 0), -EINVAL);

  EXPECT_EQ(async64(m, h.handle, d.handle, 100, NONE, &w), 0);
  EXPECT_EQ(w, 1u);
  EXPECT_EQ(async64(m, h.handle, d.handle, 100, 1, &w), 0);  // waits for 1, becomes 2
  EXPECT_EQ(w, 2u);
  EXPECT_EQ(async_wait(m, h.handle, d.handle, 1), -EINVAL);  // 1 was waited for
  EXPECT_EQ(async_wait(m, 99, d.handle, 2), -EINVAL);
  EXPECT_EQ(async_wait(m, h.handle, d.handle, 3), -EINVAL);
  EXPECT_EQ(async_wait(m, h.handle, d.handle, 2), 0);
  EXPECT_EQ(async_wait(m, h.handle, d.handle, 2), -EINVAL);
}

// A slot belongs to a core: the source's when it is device memory, else the destination's.
TEST(Async, SlotsArePerCore) {
  machine_t m;
  chunk_t h = alloc(m, {.size = 4096, .host = true, .nc_id = 5});
  chunk_t d0 = alloc(m, {.nc_id = 0}), d1 = alloc(m, {.nc_id = 1});
  uint32_t w;
  ASSERT_EQ(async64(m, h.handle, d0.handle, 64, NONE, &w), 0);
  EXPECT_EQ(async_wait(m, h.handle, d1.handle, 1), -EINVAL);
  EXPECT_EQ(async64(m, h.handle, d1.handle, 64, 1, &w), -EINVAL);
  EXPECT_EQ(async_wait(m, d0.handle, d1.handle, 1), 0);  // core 0 by its source
  ASSERT_EQ(async64(m, d1.handle, d0.handle, 64, NONE, &w), 0);
  EXPECT_EQ(async_wait(m, h.handle, d0.handle, 1), -EINVAL);
  EXPECT_EQ(async_wait(m, h.handle, d1.handle, 1), 0);
  // v2: core 0 has one queue, all others the second.
  machine_t v2("trn1.2xlarge");
  h = alloc(v2, {.size = 4096, .host = true});
  chunk_t d3 = alloc(v2, {.nc_id = 3});
  d1 = alloc(v2, {.nc_id = 1});
  ASSERT_EQ(async64(v2, h.handle, d3.handle, 64, NONE, &w), 0);
  EXPECT_EQ(async_wait(v2, h.handle, d1.handle, 1), 0);
}

TEST(Async, MovesTheBytes) {
  machine_t m;
  chunk_t h = alloc(m, {.size = MIB, .host = true}), d = alloc(m, {.size = MIB});
  auto data = pattern(MIB);
  ASSERT_EQ(buf_copy(m, h.handle, data.data(), 0, MIB, true), 0);
  neuron_ioctl_mem_copy_async a = {};
  a.src_mem_handle = h.handle;
  a.dst_mem_handle = d.handle;
  a.size = 500000;
  a.src_offset = 100;
  a.dst_offset = 300;
  a.pwait_handle = NONE;
  a.host_prefetch_addr = 0x10;  // a hint: a bad one changes nothing
  ASSERT_EQ(m.io(NEURON_IOCTL_MEM_COPY_ASYNC, &a), 0);
  EXPECT_EQ(a.wait_handle, 1u);
  ASSERT_EQ(async_wait(m, h.handle, d.handle, 1), 0);
  EXPECT_EQ(read_chunk(m, d.handle, 300, 500000),
            std::vector<uint8_t>(data.begin() + 100, data.begin() + 500100));
}

// 2032 descriptors of 64 KiB fit the ring; beyond, part of the data has moved and no slot is taken.
TEST(Async, RingLimit) {
  machine_t m;
  constexpr uint64_t LIMIT = 133169152;
  chunk_t s = alloc(m, {.size = LIMIT + 4096}), d = alloc(m, {.size = LIMIT + 4096});
  uint8_t mark[2] = {1, 2};
  ASSERT_EQ(buf_copy(m, s.handle, mark, LIMIT - 1, 2, true), 0);
  uint32_t w;
  EXPECT_EQ(async64(m, s.handle, d.handle, LIMIT + 1, NONE, &w), -EINVAL);
  EXPECT_EQ(read_chunk(m, d.handle, LIMIT - 1, 2), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(async_wait(m, s.handle, d.handle, 1), -EINVAL);
  // Synchronous ones fill the same ring.
  mark[0] = 3;
  ASSERT_EQ(buf_copy(m, s.handle, mark, LIMIT - 1, 2, true), 0);
  EXPECT_EQ(async64(m, s.handle, d.handle, LIMIT + 1, 0, &w), -EINVAL);
  EXPECT_EQ(read_chunk(m, d.handle, LIMIT - 1, 2), (std::vector<uint8_t>{3, 0}));
  EXPECT_EQ(async64(m, s.handle, d.handle, LIMIT, 0, &w), 0);
  EXPECT_EQ(w, 0u);
}

TEST(Memset, Rules) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  neuron_ioctl_memset64 a = {c.handle, 100, 0x12345678, 200000};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEMSET64, &a), 0);
  auto back = read_chunk(m, c.handle, 99, 200002);
  EXPECT_EQ(back[0], 0);
  EXPECT_EQ(std::count(back.begin() + 1, back.end() - 1, 0x78), 200000);
  EXPECT_EQ(back[200001], 0);
  a.size = 0;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEMSET64, &a), -EINVAL);
  a.size = MIB;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEMSET64, &a), -EINVAL);
  a.size = UINT64_MAX;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEMSET64, &a), -EINVAL);
  a.mem_handle = 0;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEMSET64, &a), -EINVAL);
  neuron_ioctl_memset old = {c.handle, 0, 0x1ff, 1};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEMSET, &old), 0);
  EXPECT_EQ(read_chunk(m, c.handle, 0, 2), (std::vector<uint8_t>{0xff, 0}));
}

namespace {

long program(machine_t &m, uint64_t dst, const void *buffer, uint64_t size, uint64_t offset = 0,
             uint32_t nc_id = 0) {
  neuron_ioctl_program_engine_nc64 a = {};
  a.nc_id = nc_id;
  a.dst = dst;
  a.buffer = const_cast<void *>(buffer);
  a.size = size;
  a.offset = offset;
  return m.io(NEURON_IOCTL_PROGRAM_ENGINE_NC64, &a);
}

}  // namespace

// Semaphores and events of a core and of a TOP_SP: their windows act, as under any other write.
TEST(ProgramEngine, Registers) {
  for (const char *name : {"trn1.2xlarge", "trn2.3xlarge"}) {
    machine_t m(name);
    bool v2 = strcmp(name, "trn1.2xlarge") == 0;
    uint64_t events = v2 ? 0xfffc4000000 + 0x2700000 : 0x3000000000 + 0x802700000;  // core 1
    auto semaphore = [&](uint32_t index) {
      neuron_ioctl_semaphore a = {1, index, 0};
      EXPECT_EQ(m.io(NEURON_IOCTL_SEMAPHORE_READ, &a), 0);
      return a.value;
    };
    uint32_t words[2] = {7, 9};
    EXPECT_EQ(program(m, events + 0x1400 + 4 * 20, words, 8), 0);  // set 20 and 21
    EXPECT_EQ(program(m, events + 0x1800 + 4 * 21, words, 4), 0);  // 21 up by 7
    EXPECT_EQ(program(m, events + 0x1c00 + 4 * 20, words + 1, 4), 0);
    EXPECT_EQ(static_cast<int32_t>(semaphore(20)), -2);
    EXPECT_EQ(semaphore(21), 16u);
    // Words only, inside the block only, and nothing of a list that cannot be read.
    EXPECT_EQ(program(m, events + 0x1402, words, 4), -EPERM);
    EXPECT_EQ(program(m, events + 0x1400, words, 2), -EPERM);
    EXPECT_EQ(program(m, events - 4, words, 8), -EPERM);
    EXPECT_EQ(program(m, events + 0x1ffc, words, 8), -EPERM);
    bad_range_t range;
    memset(range.tail(8), 1, 8);
    EXPECT_EQ(program(m, events + 0x1400, range.tail(8), 12), 4);
    EXPECT_EQ(semaphore(0), 0u);
    // The mapped page of TOP_SP 1 shows its semaphore.
    uint64_t top_sp = v2 ? 0xfffd0400000 : 0x82c0000000;
    void *va;
    ASSERT_EQ(mock_mmap(m.host, PID, m.fd, top_sp, 0x2000, PROT_READ, &va), 0);
    EXPECT_EQ(program(m, top_sp + 0x1800, words, 4), 0);
    EXPECT_EQ(program(m, top_sp + 0x1800, words, 4), 0);
    uint32_t value;
    memcpy(&value, static_cast<uint8_t *>(va) + 0x1000, 4);
    EXPECT_EQ(value, 14u);
  }
}

TEST(ProgramEngine, WindowsV3) {
  machine_t m;
  auto data = pattern(4096);
  // HBM: a raw physical write.
  chunk_t c = alloc(m, {.size = MIB, .channel = 3});
  EXPECT_EQ(program(m, c.pa, data.data(), 1000, 24), 0);
  EXPECT_EQ(read_chunk(m, c.handle, 24, 1000),
            std::vector<uint8_t>(data.begin() + 24, data.begin() + 1024));
  EXPECT_EQ(program(m, 0x600000000 - 100, data.data(), 100), 0);
  EXPECT_EQ(program(m, 0x600000000 - 100, data.data(), 101), -ENOMEM);
  // State buffer of core 5 shows in its mapping.
  EXPECT_EQ(program(m, 0x803000000000 + 0x40000, data.data(), 4096), 0);
  neuron_ioctl_resource_mmap_info r = {0, 5, 2, 0, 0};
  ASSERT_EQ(m.io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &r), 0);
  void *va;
  ASSERT_EQ(mock_mmap(m.host, PID, m.fd, r.offset, r.size, PROT_READ, &va), 0);
  EXPECT_EQ(memcmp(static_cast<uint8_t *>(va) + 0x40000, data.data(), 4096), 0);
  EXPECT_EQ(mock_munmap(m.host, PID, va, r.size), 0);
  // Inside a window but without memory behind it: 9th TOP_SP slot, preprocessing, instruction RAM.
  EXPECT_EQ(program(m, 0x8280000000 + 9 * 0x40000000ull, data.data(), 4), -ENOSYS);
  EXPECT_EQ(program(m, 0x1200000000, data.data(), 4), -ENOSYS);
  EXPECT_EQ(program(m, 0x2040000000, data.data(), 4), -ENOSYS);
  // Outside.
  EXPECT_EQ(program(m, 0x2000000000 + 0x804000000, data.data(), 4), -ENOMEM);
  EXPECT_EQ(program(m, 0x1000000000, data.data(), 4), -ENOMEM);
  EXPECT_EQ(program(m, UINT64_MAX, data.data(), 4, 4), -ENOMEM);
  // Staging.
  EXPECT_EQ(program(m, c.pa, data.data(), 0), -ENOMEM);
  EXPECT_EQ(program(m, c.pa, data.data(), 4, 0, 8), -ENOMEM);
}

TEST(ProgramEngine, HbmIsNoWindowOnV2) {
  machine_t m("trn1.2xlarge");
  uint32_t word = 5;
  EXPECT_EQ(program(m, 0x1000000, &word, 4), -ENOMEM);
  EXPECT_EQ(program(m, 0xfffc0000000, &word, 4), 0);
  EXPECT_EQ(program(m, 0xfffd0000000 + 5 * 0x400000, &word, 4), 0);
  EXPECT_EQ(program(m, 0xfffd0000000 + 6 * 0x400000, &word, 4), -ENOMEM);
}

// What is copied lies at buffer + offset, an address near NULL here.
TEST(ProgramEngine, NullBuffer) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  EXPECT_EQ(program(m, c.pa, nullptr, 8, 32), 8);
  EXPECT_EQ(program(m, 0x3000000000 + 0x802701400, nullptr, 8, 32), 8);  // semaphores of core 1
}

TEST(ProgramEngine, FaultsMoveNothing) {
  machine_t m;
  bad_range_t range(3 * 65536);
  memset(range.base, 3, 3 * 65536);
  chunk_t c = alloc(m, {.size = MIB});
  EXPECT_EQ(program(m, c.pa, range.base, 4 * 65536), 65536);
  EXPECT_EQ(read_chunk(m, c.handle, 0, 65536), std::vector<uint8_t>(65536));
  EXPECT_EQ(program(m, c.pa, range.tail(10), 30), 20);
  neuron_ioctl_program_engine old = {c.pa, range.base, 3 * 65536, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_PROGRAM_ENGINE, &old), 0);
  neuron_ioctl_program_engine_nc nc = {7, c.pa, range.base, 16, 3 * 65536 - 8};
  EXPECT_EQ(m.io(NEURON_IOCTL_PROGRAM_ENGINE_NC, &nc), 8);
}
