// SPDX-License-Identifier: Apache-2.0
// Section 5.5: MEM_COPY*, MEM_BUF_COPY*, MEMSET*; 5.4's bounds rule.
#include <functional>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S5_5_Copy, V2_AND_V3);
CONFORMANCE_SUITE(S5_5_BufCopy, V2_AND_V3);
CONFORMANCE_SUITE(S5_5_Memset, V2_AND_V3);
CONFORMANCE_SUITE(S5_4_Bounds, V2_AND_V3);

namespace {

long copy64(const fd_t &fd, uint64_t src, uint64_t src_at, uint64_t dst, uint64_t dst_at,
            uint64_t size) {
  neuron_ioctl_mem_copy64 arg = {src, dst, size, src_at, dst_at};
  return fd.io(NEURON_IOCTL_MEM_COPY64, &arg);
}

long copy32(const fd_t &fd, uint64_t src, uint32_t src_at, uint64_t dst, uint32_t dst_at,
            uint32_t size) {
  neuron_ioctl_mem_copy arg = {src, dst, size, src_at, dst_at};
  return fd.io(NEURON_IOCTL_MEM_COPY, &arg);
}

long memset64(const fd_t &fd, uint64_t handle, uint64_t offset, uint32_t value, uint64_t size) {
  neuron_ioctl_memset64 arg = {};
  arg.mem_handle = handle;
  arg.offset = offset;
  arg.value = value;
  arg.size = size;
  return fd.io(NEURON_IOCTL_MEMSET64, &arg);
}

long zerocopy(const fd_t &fd, uint64_t handle, uint64_t offset, void *buffer, uint64_t size,
              bool to_chunk) {
  neuron_ioctl_mem_buf_copy64 arg = {};
  arg.mem_handle = handle;
  arg.buffer = buffer;
  arg.size = size;
  arg.offset = offset;
  arg.copy_to_mem_handle = to_chunk;
  return fd.io(NEURON_IOCTL_MEM_BUF_ZEROCOPY64, &arg);
}

}  // namespace

TEST_P(S5_5_Copy, AnyMixOfLocations) {
  std::vector<uint8_t> data = pattern(200000, 1);
  for (bool from_host : {false, true}) {
    for (bool to_host : {false, true}) {
      SCOPED_TRACE(testing::Message() << from_host << to_host);
      chunk_t src = alloc(dev, {.size = 200000, .host = from_host, .channel = 1, .nc_id = 1});
      chunk_t dst = alloc(dev, {.size = 300000, .host = to_host});
      ASSERT_EQ(buf_write(dev, src.handle, 0, data.data(), data.size()), 0);
      EXPECT_EQ(copy64(dev, src.handle, 3, dst.handle, 70001, 199997), 0);
      EXPECT_EQ(bytes_of(dev, dst.handle, 70001, 199997),
                std::vector<uint8_t>(data.begin() + 3, data.end()));
      EXPECT_EQ(bytes_of(dev, dst.handle, 0, 70001), std::vector<uint8_t>(70001, 0));
      EXPECT_EQ(copy32(dev, src.handle, 5, dst.handle, 1, 1000), 0);
      EXPECT_EQ(bytes_of(dev, dst.handle, 1, 1000),
                std::vector<uint8_t>(data.begin() + 5, data.begin() + 1005));
    }
  }
}

// 64 KiB pieces in ascending order without protection: an upward overlap repeats the first piece.
TEST_P(S5_5_Copy, OverlapRunsInPieces) {
  chunk_t c = alloc(dev, {.size = 4 * 65536});
  std::vector<uint8_t> data = pattern(4 * 65536, 2);
  ASSERT_EQ(buf_write(dev, c.handle, 0, data.data(), data.size()), 0);
  ASSERT_EQ(copy64(dev, c.handle, 0, c.handle, 65536, 3 * 65536), 0);
  std::vector<uint8_t> first(data.begin(), data.begin() + 65536);
  for (uint64_t piece = 0; piece < 4; ++piece)
    EXPECT_EQ(bytes_of(dev, c.handle, piece * 65536, 65536), first) << piece;
}

TEST_P(S5_5_Copy, Check1_Gate32BitFormOnly) {
  NEEDS_BACKSTAGE();
  chunk_t c = alloc(dev, {.size = 2 * PAGE});
  fd_t child = inherited(dev, OTHER);
  EXPECT_EQ(copy32(child, c.handle, 0, c.handle, PAGE, 4), -EACCES);
  EXPECT_EQ(copy64(child, c.handle, 0, c.handle, PAGE, 4), 0);
}

TEST_P(S5_5_Copy, Check2_Variant) {
  uint8_t arg[64] = {};
  for (uint32_t size : {0u, 24u, 32u, 48u})
    EXPECT_EQ(io(_IOC(_IOC_READ, 'N', 23, size), arg), -EINVAL) << size;
  EXPECT_EQ(io(_IOC(_IOC_WRITE, 'N', 23, 40), arg), -EINVAL);
}

TEST_P(S5_5_Copy, Check3_Handles) {
  chunk_t c = alloc(dev);
  EXPECT_EQ(copy64(dev, BAD_HANDLE, 0, c.handle, 0, 4), -EINVAL);
  EXPECT_EQ(copy64(dev, c.handle, 0, BAD_HANDLE, 0, 4), -EINVAL);
  EXPECT_EQ(copy32(dev, BAD_HANDLE, 0, c.handle, 0, 4), -EINVAL);
  EXPECT_EQ(copy32(dev, c.handle, 0, 0, 0, 4), -EINVAL);
}

TEST_P(S5_5_Copy, Check4_Bounds) {
  chunk_t small = alloc(dev), large = alloc(dev, {.size = 4 * PAGE});
  ASSERT_EQ(memset64(dev, large.handle, 0, 0x33, 4 * PAGE), 0);
  EXPECT_EQ(copy64(dev, small.handle, 0, large.handle, 0, PAGE + 1), -EINVAL);
  EXPECT_EQ(copy64(dev, small.handle, PAGE, large.handle, 0, 1), -EINVAL);
  EXPECT_EQ(copy64(dev, large.handle, 0, small.handle, 0, PAGE + 1), -EINVAL);
  EXPECT_EQ(copy32(dev, large.handle, 0, small.handle, 1, PAGE), -EINVAL);
  EXPECT_EQ(copy32(dev, small.handle, UINT32_MAX, large.handle, 0, 2), -EINVAL);
  EXPECT_EQ(bytes_of(dev, large.handle, 0, PAGE), std::vector<uint8_t>(PAGE, 0x33));
  EXPECT_EQ(copy64(dev, large.handle, 3 * PAGE, small.handle, 0, PAGE), 0);
}

TEST_P(S5_5_Copy, SizeZero) {
  chunk_t a = alloc(dev, {.size = 128 * KIB}), b = alloc(dev, {.size = 128 * KIB});
  EXPECT_EQ(copy64(dev, a.handle, 0, b.handle, 0, 0), -EINVAL);
  EXPECT_EQ(copy32(dev, a.handle, 0, b.handle, 0, 0), -EINVAL);
}

TEST_P(S5_4_Bounds, EveryCopyRequest) {
  chunk_t c = alloc(dev, {.size = 2 * PAGE}), other = alloc(dev, {.size = 8 * PAGE});
  std::vector<uint8_t> buffer(8 * PAGE);
  struct {
    const char *name;
    std::function<long(uint64_t, uint64_t)> run;
  } requests[] = {
      {"copy from",
       [&](uint64_t at, uint64_t n) { return copy64(dev, c.handle, at, other.handle, 0, n); }},
      {"copy to",
       [&](uint64_t at, uint64_t n) { return copy64(dev, other.handle, 0, c.handle, at, n); }},
      {"write",
       [&](uint64_t at, uint64_t n) { return buf_write(dev, c.handle, at, buffer.data(), n); }},
      {"read",
       [&](uint64_t at, uint64_t n) { return buf_read(dev, c.handle, at, buffer.data(), n); }},
      {"memset", [&](uint64_t at, uint64_t n) { return memset64(dev, c.handle, at, 1, n); }},
      {"zerocopy", [&](uint64_t at,
                       uint64_t n) { return zerocopy(dev, c.handle, at, buffer.data(), n, true); }},
  };
  for (const auto &request : requests) {
    SCOPED_TRACE(request.name);
    EXPECT_EQ(request.run(0, 2 * PAGE), 0);
    EXPECT_EQ(request.run(2 * PAGE - 1, 1), 0);
    EXPECT_EQ(request.run(0, 2 * PAGE + 1), -EINVAL);
    EXPECT_EQ(request.run(1, 2 * PAGE), -EINVAL);
    EXPECT_EQ(request.run(2 * PAGE, 1), -EINVAL);
    // Sums that wrap.
    EXPECT_EQ(request.run(UINT64_MAX, 1), -EINVAL);
    EXPECT_EQ(request.run(UINT64_MAX - PAGE + 1, 2 * PAGE), -EINVAL);
    EXPECT_EQ(request.run(PAGE, UINT64_MAX - PAGE + 1), -EINVAL);
  }
}

// Category 19 reaches on to the end of the main pool.
TEST_P(S5_4_Bounds, Category19) {
  uint32_t contiguous = NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE;
  chunk_t a = alloc(dev, {.size = MIB, .category = contiguous});
  chunk_t b = alloc(dev, {.size = MIB, .category = contiguous});
  std::vector<uint8_t> data = pattern(PAGE, 4);
  EXPECT_EQ(buf_write(dev, b.handle, MIB, data.data(), PAGE), 0);
  EXPECT_EQ(bytes_of(dev, a.handle, 0, PAGE), data);
  EXPECT_EQ(memset64(dev, b.handle, 2 * MIB - 1, 1, 1), 0);
  EXPECT_EQ(memset64(dev, b.handle, 2 * MIB, 1, 1), -EINVAL);
  EXPECT_EQ(memset64(dev, a.handle, 0, 1, MIB + 1), -EINVAL);
  EXPECT_EQ(memset64(dev, b.handle, UINT64_MAX, 1, 2), -EINVAL);
}

TEST_P(S5_5_BufCopy, BothDirectionsBothForms) {
  for (bool host : {false, true}) {
    chunk_t c = alloc(dev, {.size = 300000, .host = host});
    std::vector<uint8_t> data = pattern(200000, host), back(200000);
    EXPECT_EQ(buf_write(dev, c.handle, 77, data.data(), data.size()), 0);
    EXPECT_EQ(buf_read(dev, c.handle, 77, back.data(), back.size()), 0);
    EXPECT_EQ(back, data);
    neuron_ioctl_mem_buf_copy arg = {};
    arg.mem_handle = c.handle;
    arg.buffer = data.data();
    arg.size = 1000;
    arg.offset = 5;
    arg.copy_to_mem_handle = 2;  // any value but 0
    EXPECT_EQ(io(NEURON_IOCTL_MEM_BUF_COPY, &arg), 0);
    arg.buffer = back.data();
    arg.copy_to_mem_handle = 0;
    EXPECT_EQ(io(NEURON_IOCTL_MEM_BUF_COPY, &arg), 0);
    EXPECT_EQ(memcmp(back.data(), data.data(), 1000), 0);
  }
}

TEST_P(S5_5_BufCopy, Checks) {
  uint8_t arg[64] = {};
  for (uint32_t size : {0u, 32u, 48u})
    EXPECT_EQ(io(_IOC(_IOC_READ | _IOC_WRITE, 'N', 24, size), arg), -EINVAL) << size;
  uint8_t byte = 0;
  EXPECT_EQ(buf_write(dev, BAD_HANDLE, 0, &byte, 1), -EINVAL);
  // Handle and bounds before the buffer.
  hole_t hole;
  EXPECT_EQ(buf_write(dev, BAD_HANDLE, 0, hole.hole(), 1), -EINVAL);
  chunk_t c = alloc(dev);
  EXPECT_EQ(buf_write(dev, c.handle, PAGE, hole.hole(), 1), -EINVAL);
}

TEST_P(S5_5_BufCopy, UserFault) {
  hole_t hole;
  for (bool host : {false, true}) {
    chunk_t c = alloc(dev, {.host = host});
    EXPECT_EQ(buf_write(dev, c.handle, 0, hole.hole(), 16), 16);
    EXPECT_EQ(buf_read(dev, c.handle, 0, hole.hole(), 16), 16);
    EXPECT_EQ(buf_write(dev, c.handle, 0, nullptr, 16), 16);
  }
}

TEST_P(S5_5_BufCopy, UserFault_EarlierPiecesAreDone) {
  chunk_t c = alloc(dev, {.size = 256 * KIB});
  size_t good = 2 * 65536;
  auto *area = static_cast<uint8_t *>(
      mmap(nullptr, good + 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(area, MAP_FAILED);
  ASSERT_EQ(mprotect(area + good, 65536, PROT_NONE), 0);
  std::vector<uint8_t> data = pattern(good, 8);
  memcpy(area, data.data(), good);
  EXPECT_EQ(buf_write(dev, c.handle, 0, area, good + 65536), 65536);
  EXPECT_EQ(bytes_of(dev, c.handle, 0, good), data);
  EXPECT_EQ(bytes_of(dev, c.handle, good, 65536), std::vector<uint8_t>(65536, 0));
  memset(area, 0, good);
  EXPECT_GT(buf_read(dev, c.handle, 0, area, good + 65536), 0);
  EXPECT_EQ(memcmp(area, data.data(), good), 0);
  munmap(area, good + 65536);
}

TEST_P(S5_5_BufCopy, ReadIntoReadOnlyMemory) {
  chunk_t c = alloc(dev);
  EXPECT_EQ(buf_read(dev, c.handle, 0, read_only_t(nullptr, 0).page, 64), 64);
}

// The driver keeps 32 bits of the size.
TEST_P(S5_5_BufCopy, SizesFrom4GiBAreCut) {
  chunk_t c = alloc(dev, {.size = 5 * GIB});
  std::vector<uint8_t> data = pattern(4096, 5);
  EXPECT_EQ(buf_write(dev, c.handle, 0, data.data(), 4 * GIB), 0);
  EXPECT_EQ(bytes_of(dev, c.handle, 0, 4096), std::vector<uint8_t>(4096, 0));
  EXPECT_EQ(buf_write(dev, c.handle, 0, data.data(), 4 * GIB + 100), 0);
  data.resize(100);
  data.resize(4096);
  EXPECT_EQ(bytes_of(dev, c.handle, 0, 4096), data);
  // The bounds look at all of it.
  EXPECT_EQ(buf_write(dev, c.handle, 0, data.data(), 6 * GIB), -EINVAL);
}

TEST_P(S5_5_BufCopy, Zerocopy) {
  chunk_t c = alloc(dev, {.size = 512 * KIB});
  std::vector<uint8_t> data = pattern(400000, 6), back(400000);
  EXPECT_EQ(zerocopy(dev, c.handle, 9, data.data(), data.size(), true), 0);
  EXPECT_EQ(zerocopy(dev, c.handle, 9, back.data(), back.size(), false), 0);
  EXPECT_EQ(back, data);
}

TEST_P(S5_5_BufCopy, Zerocopy_Checks) {
  hole_t hole;
  chunk_t c = alloc(dev);
  EXPECT_EQ(zerocopy(dev, BAD_HANDLE, 0, hole.hole(), 4, true), -EINVAL);
  EXPECT_EQ(zerocopy(dev, c.handle, PAGE - 3, hole.hole(), 4, true), -EINVAL);
  EXPECT_EQ(zerocopy(dev, c.handle, 0, hole.hole(), 4, true), -ENOMEM);
  EXPECT_EQ(zerocopy(dev, c.handle, 0, hole.hole(), 4, false), -ENOMEM);
  EXPECT_EQ(zerocopy(dev, c.handle, 0, hole.base, 0, true), -EINVAL);
}

TEST_P(S5_5_Memset, FillsWithTheLowByte) {
  for (bool host : {false, true}) {
    chunk_t c = alloc(dev, {.size = 512 * KIB, .host = host});
    EXPECT_EQ(memset64(dev, c.handle, 3, 0x123456a7, 200000), 0);
    std::vector<uint8_t> expected(200003, 0xa7);
    expected[0] = expected[1] = expected[2] = 0;
    expected.push_back(0);
    EXPECT_EQ(bytes_of(dev, c.handle, 0, 200004), expected);
    neuron_ioctl_memset arg = {c.handle, 1, 0xfffffe01, 4};
    EXPECT_EQ(io(NEURON_IOCTL_MEMSET, &arg), 0);
    EXPECT_EQ(bytes_of(dev, c.handle, 0, 6), std::vector<uint8_t>({0, 1, 1, 1, 1, 0xa7}));
  }
}

TEST_P(S5_5_Memset, Checks) {
  chunk_t c = alloc(dev);
  uint8_t arg[64] = {};
  for (uint32_t size : {0u, 24u, 40u})
    EXPECT_EQ(io(_IOC(_IOC_READ, 'N', 28, size), arg), -EINVAL) << size;
  EXPECT_EQ(memset64(dev, BAD_HANDLE, 0, 0, 4), -EINVAL);
  EXPECT_EQ(memset64(dev, c.handle, 0, 0, PAGE + 1), -EINVAL);
  neuron_ioctl_memset narrow = {BAD_HANDLE, 0, 0, 4};
  EXPECT_EQ(io(NEURON_IOCTL_MEMSET, &narrow), -EINVAL);
  narrow = {c.handle, PAGE, 0, 1};
  EXPECT_EQ(io(NEURON_IOCTL_MEMSET, &narrow), -EINVAL);
}

TEST_P(S5_5_Memset, SizeZero) {
  chunk_t c = alloc(dev, {.size = 128 * KIB});
  EXPECT_EQ(memset64(dev, c.handle, 0, 0, 0), -EINVAL);
  neuron_ioctl_memset narrow = {c.handle, 0, 0, 0};
  EXPECT_EQ(io(NEURON_IOCTL_MEMSET, &narrow), -EINVAL);
}
