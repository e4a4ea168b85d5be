// SPDX-License-Identifier: Apache-2.0
// Copies and sizes of tensors: overlap, cores that share an HBM and cores that do not, offsets
// beyond 4 GiB, nothing at all (device-memory.md 5.2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tdrv/tensor.h"
#include "tests/tdrv/machine.h"

namespace {

const machine_options kV2 = {.instance = "trn1.2xlarge", .lnc = 1, .num_vncs = 2};

std::vector<uint8_t> pattern(size_t size, uint32_t seed) {
  std::vector<uint8_t> data(size);
  for (size_t i = 0; i < size; ++i) {
    seed = seed * 1664525 + 1013904223;
    data[i] = static_cast<uint8_t>(seed >> 24);
  }
  return data;
}

tensor_t *make(machine &m, size_t size, int vnc = 0,
               tensor_placement_t placement = tensor_placement_t::DEVICE) {
  tensor_t *t = nullptr;
  EXPECT_EQ(tensor_allocate(m.tdrv, placement, vnc, size, "t", &t), NRT_SUCCESS);
  return t;
}

std::vector<uint8_t> content(const tensor_t *t, size_t offset, size_t size) {
  std::vector<uint8_t> bytes(size);
  EXPECT_EQ(tensor_read(t, bytes.data(), offset, size), NRT_SUCCESS);
  return bytes;
}

void fill(tensor_t *t, size_t offset, const std::vector<uint8_t> &bytes) {
  EXPECT_EQ(tensor_write(t, bytes.data(), offset, bytes.size()), NRT_SUCCESS);
}

}  // namespace

// As memmove would, whatever the distance: inside one piece, across pieces, in both directions.
TEST(TensorCopy, OverlapInsideOneStorage) {
  machine m(kV2);
  const size_t size = 3 * kMiB + 777;
  for (auto placement : {tensor_placement_t::DEVICE, tensor_placement_t::VIRTUAL}) {
    tensor_t *t = make(m, size, 0, placement);
    tensor_t *slice = nullptr;
    ASSERT_EQ(tensor_allocate_slice(t, 100, size - 100, "s", &slice), NRT_SUCCESS);
    for (auto [from, to, length] : {std::tuple<size_t, size_t, size_t>{0, 1, 4096},
                                    {1, 0, 4096},
                                    {5000, 5000, 4096},
                                    {0, 4096, 2 * kMiB + 5},
                                    {4096, 0, 2 * kMiB + 5},
                                    {0, kMiB + 1, 2 * kMiB},
                                    {kMiB + 1, 0, 2 * kMiB},
                                    {0, 65536, 65536},
                                    {7, 3, 0}}) {
      SCOPED_TRACE(testing::Message() << from << " to " << to << ", " << length);
      std::vector<uint8_t> expected = pattern(size, static_cast<uint32_t>(from + to));
      fill(t, 0, expected);
      ASSERT_EQ(tensor_copy(t, from, t, to, length), NRT_SUCCESS);
      memmove(expected.data() + to, expected.data() + from, length);
      EXPECT_TRUE(content(t, 0, size) == expected);
      // Through two views of the storage, whose own offsets do not tell.
      ASSERT_EQ(tensor_copy(t, from + 100, slice, to, length), NRT_SUCCESS);
      memmove(expected.data() + 100 + to, expected.data() + from + 100, length);
      EXPECT_TRUE(content(t, 0, size) == expected);
    }
    tensor_free(slice);
    tensor_free(t);
  }
}

TEST(TensorCopy, OverlapThatFails) {
  machine m(kV2);
  log_watch log;
  tensor_t *t = make(m, 8192);
  m.fail(0, 2, EIO);  // the second request: back to the device
  EXPECT_EQ(tensor_copy(t, 0, t, 1, 4096), NRT_FAILURE);
  m.heal();
  EXPECT_EQ(log.take_errors().size(), 1u);
  EXPECT_EQ(tensor_copy(t, 0, t, 1, 4096), NRT_SUCCESS);
  tensor_free(t);
}

// Two cores of one HBM (v3, logical cores of one core) copy; cores of two HBMs or devices do not.
TEST(TensorCopy, ForeignCores) {
  machine m({.instance = "trn2.48xlarge", .lnc = 1, .num_vncs = 9});
  log_watch log;
  std::vector<tensor_t *> t;
  for (int vnc = 0; vnc < 9; ++vnc)
    t.push_back(make(m, 4096, vnc));
  auto data = pattern(4096, 1);
  fill(t[0], 0, data);
  for (int vnc = 1; vnc < 9; ++vnc) {
    NRT_STATUS expected = vnc == 1 ? NRT_SUCCESS : NRT_INVALID;
    ASSERT_EQ(tensor_memset(t[vnc], 0, 0x55, 4096), NRT_SUCCESS);
    EXPECT_EQ(tensor_copy(t[0], 0, t[vnc], 0, 4096), expected) << vnc;
    EXPECT_EQ(content(t[vnc], 0, 4096), vnc == 1 ? data : std::vector<uint8_t>(4096, 0x55));
    EXPECT_EQ(log.take_errors().size(), vnc == 1 ? 0u : 1u);
  }
  // Host memory belongs to nobody: it goes between any two.
  tensor_t *host = make(m, 4096, -1, tensor_placement_t::VIRTUAL);
  EXPECT_EQ(tensor_copy(t[0], 0, host, 0, 4096), NRT_SUCCESS);
  EXPECT_EQ(tensor_copy(host, 0, t[8], 0, 4096), NRT_SUCCESS);
  EXPECT_EQ(content(t[8], 0, 4096), data);
  tensor_free(host);
  for (tensor_t *one : t)
    tensor_free(one);
}

TEST(TensorCopy, OffsetsBeyondFourGigabytes) {
  machine m;
  tensor_t *t = make(m, 9 * kGiB + 5), *small = make(m, 4096);
  auto data = pattern(3000, 4);
  fill(t, 8 * kGiB + 1, data);
  // Nothing wrapped to low memory.
  EXPECT_EQ(content(t, 1, 3000), std::vector<uint8_t>(3000, 0));
  EXPECT_EQ(content(t, 4 * kGiB + 1, 3000), std::vector<uint8_t>(3000, 0));
  ASSERT_EQ(tensor_copy(t, 8 * kGiB + 1, t, 4 * kGiB - 1500, 3000), NRT_SUCCESS);
  EXPECT_EQ(content(t, 4 * kGiB - 1500, 3000), data);
  ASSERT_EQ(tensor_copy(t, 4 * kGiB - 1500, small, 96, 3000), NRT_SUCCESS);
  EXPECT_EQ(content(small, 96, 3000), data);
  ASSERT_EQ(tensor_memset(t, 9 * kGiB, 0x77, 5), NRT_SUCCESS);
  EXPECT_EQ(content(t, 9 * kGiB, 5), std::vector<uint8_t>(5, 0x77));
  tensor_t *high = nullptr, *higher = nullptr;
  ASSERT_EQ(tensor_allocate_slice(t, 5 * kGiB, 4 * kGiB + 5, "high", &high), NRT_SUCCESS);
  ASSERT_EQ(tensor_allocate_slice(high, 3 * kGiB, kGiB + 5, "higher", &higher), NRT_SUCCESS);
  EXPECT_EQ(content(higher, 1, 3000), data);
  log_watch log;
  uint8_t byte = 0;
  EXPECT_EQ(tensor_read(higher, &byte, kGiB + 5, 1), NRT_INVALID);
  EXPECT_EQ(tensor_copy(t, 9 * kGiB + 4, small, 0, 2), NRT_INVALID);
  EXPECT_EQ(log.take_errors().size(), 2u);
  for (tensor_t *one : {t, small, high, higher})
    tensor_free(one);
}

// 0 bytes at any place inside, its end included: nothing moves, nothing is asked of the device.
TEST(TensorCopy, ZeroBytes) {
  machine m(kV2);
  log_watch log;
  tensor_t *t = make(m, 100), *other = make(m, 100, 1),
           *host = make(m, 100, -1, tensor_placement_t::VIRTUAL);
  uint64_t before = mock_ioctl_count(m.host(), 0);
  uint8_t byte = 0xAA;
  for (size_t at : {0, 50, 100}) {
    EXPECT_EQ(tensor_read(t, &byte, at, 0), NRT_SUCCESS);
    EXPECT_EQ(tensor_write(t, &byte, at, 0), NRT_SUCCESS);
    EXPECT_EQ(tensor_memset(t, at, 1, 0), NRT_SUCCESS);
    EXPECT_EQ(tensor_copy(t, at, t, 100 - at, 0), NRT_SUCCESS);
    EXPECT_EQ(tensor_copy(t, at, host, at, 0), NRT_SUCCESS);
    EXPECT_EQ(tensor_copy(host, at, t, at, 0), NRT_SUCCESS);
    tensor_t *slice = nullptr;
    EXPECT_EQ(tensor_allocate_slice(t, at, 0, "nothing", &slice), NRT_SUCCESS);
    EXPECT_EQ(tensor_get_size(slice), 0u);
    EXPECT_EQ(tensor_read(slice, &byte, 0, 0), NRT_SUCCESS);
    EXPECT_TRUE(log.take_errors().empty());
    EXPECT_EQ(tensor_read(slice, &byte, 0, 1), NRT_INVALID);
    EXPECT_EQ(log.take_errors().size(), 1u);
    tensor_free(slice);
  }
  EXPECT_EQ(byte, 0xAA);
  EXPECT_EQ(mock_ioctl_count(m.host(), 0), before);
  EXPECT_EQ(tensor_read(t, &byte, 101, 0), NRT_INVALID);
  EXPECT_EQ(tensor_copy(t, 0, other, 0, 0), NRT_INVALID);  // two HBMs, however little
  EXPECT_EQ(log.take_errors().size(), 2u);
  for (tensor_t *one : {t, other, host})
    tensor_free(one);
}

// A buffer may be attached while others read: each sees one of the two memories, none a freed one.
TEST(TensorThreads, AttachUnderReaders) {
  machine m(kV2);
  auto before = m.chunks();
  tensor_t *t = make(m, 64);
  ASSERT_EQ(tensor_memset(t, 0, 1, 64), NRT_SUCCESS);
  std::vector<std::vector<uint8_t>> buffers;
  for (uint8_t k = 2; k < 10; ++k)
    buffers.emplace_back(64, k);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int k = 0; k < 3; ++k) {
    readers.emplace_back([&] {
      while (!done) {
        uint8_t bytes[64];
        tensor_t *slice = nullptr;
        if (tensor_read(t, bytes, 0, 64) != NRT_SUCCESS || bytes[0] < 1 || bytes[0] > 9 ||
            std::count(bytes, bytes + 64, bytes[0]) != 64 || tensor_get_size(t) != 64 ||
            tensor_allocate_slice(t, 8, 8, nullptr, &slice) != NRT_SUCCESS)
          ++wrong;
        tensor_free(slice);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(tensor_attach_buffer(t, buffers[i % 8].data(), 64), NRT_SUCCESS);
    std::this_thread::yield();
  }
  done = true;
  for (std::thread &thread : readers)
    thread.join();
  EXPECT_EQ(wrong, 0);
  tensor_free(t);
  EXPECT_EQ(m.chunks(), before);
}
