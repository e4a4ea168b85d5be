// SPDX-License-Identifier: Apache-2.0
// Tensors: views, slices, attached buffers, placements, addresses (device-memory.md 5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

#include "tdrv/tensor.h"
#include "tests/tdrv/machine.h"

namespace {

const machine_options kV2 = {.instance = "trn1.2xlarge", .lnc = 1, .num_vncs = 2};

std::vector<uint8_t> pattern(size_t size, uint8_t seed) {
  std::vector<uint8_t> data(size);
  for (size_t i = 0; i < size; ++i)
    data[i] = static_cast<uint8_t>(seed + i * 13 + (i >> 10));
  return data;
}

tensor_t *make(machine &m, tensor_placement_t placement, size_t size, int vnc = 0,
               const char *name = "t") {
  tensor_t *t = nullptr;
  EXPECT_EQ(tensor_allocate(m.tdrv, placement, vnc, size, name, &t), NRT_SUCCESS);
  return t;
}

}  // namespace

TEST(Tensor, WriteAndReadEveryPlacement) {
  machine m(kV2);
  auto before = m.chunks();
  for (auto placement :
       {tensor_placement_t::DEVICE, tensor_placement_t::HOST, tensor_placement_t::VIRTUAL}) {
    tensor_t *t = make(m, placement, 100001);
    auto data = pattern(50000, 3);
    EXPECT_EQ(tensor_get_size(t), 100001u);
    ASSERT_EQ(tensor_memset(t, 0, 0xEE, 100001), NRT_SUCCESS);
    ASSERT_EQ(tensor_write(t, data.data(), 777, data.size()), NRT_SUCCESS);
    std::vector<uint8_t> back(100001);
    ASSERT_EQ(tensor_read(t, back.data(), 0, back.size()), NRT_SUCCESS);
    EXPECT_EQ(memcmp(back.data() + 777, data.data(), data.size()), 0);
    EXPECT_EQ(back[776], 0xEE);
    EXPECT_EQ(back[777 + 50000], 0xEE);
    EXPECT_EQ(back[100000], 0xEE);
    tensor_free(t);
  }
  EXPECT_EQ(m.chunks(), before);
}

TEST(Tensor, AllocationIsChecked) {
  machine m(kV2), v3;
  log_watch log;
  tensor_t *t = reinterpret_cast<tensor_t *>(1);
  auto expect = [&](machine &mm, tensor_placement_t placement, int vnc, size_t size,
                    NRT_STATUS status) {
    t = reinterpret_cast<tensor_t *>(1);
    EXPECT_EQ(tensor_allocate(mm.tdrv, placement, vnc, size, "bad", &t), status);
    EXPECT_EQ(t, nullptr);
    EXPECT_EQ(log.take_errors().size(), 1u);
  };
  expect(m, tensor_placement_t::DEVICE, 0, 0, NRT_INVALID);
  expect(m, static_cast<tensor_placement_t>(3), 0, 8, NRT_INVALID);
  expect(m, tensor_placement_t::DEVICE, 2, 8, NRT_INVALID);
  expect(m, tensor_placement_t::DEVICE, -1, 8, NRT_INVALID);
  expect(m, tensor_placement_t::HOST, 7, 8, NRT_INVALID);
  expect(m, tensor_placement_t::HOST, 0, (4 << 20) + 1, NRT_RESOURCE);
  expect(m, tensor_placement_t::DEVICE, 0, 17 * kGiB, NRT_RESOURCE);
  expect(v3, tensor_placement_t::HOST, 0, 8, NRT_RESOURCE);
  ASSERT_EQ(tensor_allocate(m.tdrv, tensor_placement_t::HOST, -1, 8, nullptr, &t), NRT_SUCCESS);
  tensor_free(t);
  ASSERT_EQ(tensor_allocate(v3.tdrv, tensor_placement_t::VIRTUAL, -1, 8, nullptr, &t), NRT_SUCCESS);
  tensor_free(t);
}

TEST(Tensor, Invariant36DeviceInformation) {
  machine v2(kV2);
  machine v3({.instance = "trn2.3xlarge", .lnc = 2, .num_vncs = 4});
  for (int vnc = 0; vnc < 2; ++vnc) {
    tensor_t *t = make(v2, tensor_placement_t::DEVICE, 12345, vnc);
    uint64_t pa = 0, allocated = 0;
    uint32_t hbm = 99;
    ASSERT_EQ(tensor_get_device_address(t, &pa, &allocated, &hbm), NRT_SUCCESS);
    EXPECT_EQ(hbm, static_cast<uint32_t>(vnc));
    EXPECT_GE(allocated, 12345u);
    EXPECT_EQ(pa >> 36, static_cast<uint64_t>(vnc));  // channel 1 starts at 64 GiB
    tensor_free(t);
  }
  for (int vnc = 0; vnc < 4; ++vnc) {
    tensor_t *t = make(v3, tensor_placement_t::DEVICE, 64, vnc);
    uint32_t hbm = 99;
    ASSERT_EQ(tensor_get_device_address(t, nullptr, nullptr, &hbm), NRT_SUCCESS);
    EXPECT_EQ(hbm, static_cast<uint32_t>(vnc));  // physical core 2n lies on HBM n
    tensor_free(t);
  }
}

TEST(Tensor, HostTensorsHaveNoDeviceAddress) {
  machine m(kV2);
  log_watch log;
  uint64_t pa = 0;
  for (auto placement : {tensor_placement_t::HOST, tensor_placement_t::VIRTUAL}) {
    tensor_t *t = make(m, placement, 64);
    EXPECT_EQ(tensor_get_device_address(t, &pa, nullptr, nullptr), NRT_INVALID);
    EXPECT_EQ(log.take_errors().size(), 1u);
    tensor_free(t);
  }
  EXPECT_EQ(tensor_get_device_address(nullptr, &pa, nullptr, nullptr), NRT_INVALID);
}

TEST(Tensor, Invariants31And33SlicesShareStorageAndAddUp) {
  machine m(kV2);
  log_watch log;
  auto before = m.chunks();
  tensor_t *base = make(m, tensor_placement_t::DEVICE, 10000);
  tensor_t *slice = nullptr, *nested = nullptr, *bad = nullptr;
  ASSERT_EQ(tensor_allocate_slice(base, 1000, 5000, "slice", &slice), NRT_SUCCESS);
  ASSERT_EQ(tensor_allocate_slice(slice, 200, 4800, nullptr, &nested), NRT_SUCCESS);
  EXPECT_EQ(tensor_allocate_slice(slice, 200, 4801, nullptr, &bad), NRT_INVALID);
  EXPECT_EQ(bad, nullptr);
  EXPECT_EQ(tensor_allocate_slice(slice, ~0ull, 2, nullptr, &bad), NRT_INVALID);
  EXPECT_EQ(log.take_errors().size(), 2u);
  uint64_t base_pa = 0, slice_pa = 0, nested_pa = 0;
  tensor_get_device_address(base, &base_pa, nullptr, nullptr);
  tensor_get_device_address(slice, &slice_pa, nullptr, nullptr);
  tensor_get_device_address(nested, &nested_pa, nullptr, nullptr);
  EXPECT_EQ(slice_pa, base_pa + 1000);
  EXPECT_EQ(nested_pa, base_pa + 1200);
  auto *va = static_cast<char *>(tensor_get_va(base));
  ASSERT_NE(va, nullptr);
  EXPECT_EQ(tensor_get_va(base), va);
  EXPECT_EQ(tensor_get_va(slice), va + 1000);
  EXPECT_EQ(tensor_get_va(nested), va + 1200);
  // Aliasing both ways; a slice cannot reach beyond its own bytes.
  auto data = pattern(100, 5);
  ASSERT_EQ(tensor_write(nested, data.data(), 10, 100), NRT_SUCCESS);
  std::vector<uint8_t> back(100);
  ASSERT_EQ(tensor_read(base, back.data(), 1210, 100), NRT_SUCCESS);
  EXPECT_EQ(back, data);
  EXPECT_EQ(tensor_read(slice, back.data(), 4901, 100), NRT_INVALID);
  // The source may go first; the storage goes with the last view.
  tensor_free(base);
  tensor_free(slice);
  ASSERT_EQ(tensor_read(nested, back.data(), 10, 100), NRT_SUCCESS);
  EXPECT_EQ(back, data);
  EXPECT_NE(m.chunks(), before);
  tensor_free(nested);
  EXPECT_EQ(m.chunks(), before);
}

TEST(Tensor, AccessBoundsAreExact) {
  machine m(kV2);
  log_watch log;
  for (auto placement : {tensor_placement_t::DEVICE, tensor_placement_t::VIRTUAL}) {
    tensor_t *t = make(m, placement, 100);
    std::vector<uint8_t> buffer(200);
    EXPECT_EQ(tensor_read(t, buffer.data(), 0, 100), NRT_SUCCESS);
    EXPECT_EQ(tensor_read(t, buffer.data(), 100, 0), NRT_SUCCESS);
    EXPECT_EQ(log.take_errors().size(), 0u);
    EXPECT_EQ(tensor_read(t, buffer.data(), 1, 100), NRT_INVALID);
    EXPECT_EQ(tensor_write(t, buffer.data(), 101, 0), NRT_INVALID);
    EXPECT_EQ(tensor_write(t, buffer.data(), ~0ull, 2), NRT_INVALID);
    EXPECT_EQ(tensor_memset(t, 50, 0, 51), NRT_INVALID);
    EXPECT_EQ(tensor_read(t, nullptr, 0, 1), NRT_INVALID);
    EXPECT_EQ(tensor_write(nullptr, buffer.data(), 0, 1), NRT_INVALID);
    EXPECT_EQ(log.take_errors().size(), 6u);
    tensor_free(t);
  }
}

TEST(Tensor, EmptyTensor) {
  machine m(kV2);
  log_watch log;
  tensor_t *t = nullptr;
  ASSERT_EQ(tensor_allocate_empty("e", &t), NRT_SUCCESS);
  EXPECT_EQ(tensor_get_size(t), 0u);
  EXPECT_EQ(tensor_get_va(t), nullptr);
  char byte = 0;
  EXPECT_EQ(tensor_read(t, &byte, 0, 0), NRT_INVALID);
  EXPECT_EQ(tensor_write(t, &byte, 0, 1), NRT_INVALID);
  tensor_t *slice = nullptr;
  EXPECT_EQ(tensor_allocate_slice(t, 0, 0, nullptr, &slice), NRT_INVALID);
  EXPECT_EQ(log.take_errors().size(), 3u);
  tensor_free(t);
  tensor_free(nullptr);
  EXPECT_EQ(tensor_get_size(nullptr), 0u);
  EXPECT_EQ(tensor_get_va(nullptr), nullptr);
}

TEST(Tensor, Invariant32AttachReplacesTheStorage) {
  machine m(kV2);
  log_watch log;
  auto before = m.chunks();
  tensor_t *t = make(m, tensor_placement_t::DEVICE, 5000);
  EXPECT_NE(m.chunks(), before);
  std::vector<uint8_t> buffer = pattern(64, 1), other = pattern(32, 9);
  EXPECT_EQ(tensor_attach_buffer(t, nullptr, 8), NRT_INVALID);
  EXPECT_EQ(tensor_attach_buffer(t, buffer.data(), 0), NRT_INVALID);
  EXPECT_EQ(log.take_errors().size(), 2u);
  ASSERT_EQ(tensor_attach_buffer(t, buffer.data(), buffer.size()), NRT_SUCCESS);
  EXPECT_EQ(m.chunks(), before);  // the old memory is gone
  EXPECT_EQ(tensor_get_va(t), buffer.data());
  EXPECT_EQ(tensor_get_size(t), 64u);
  uint8_t value = 0xAB;
  ASSERT_EQ(tensor_write(t, &value, 7, 1), NRT_SUCCESS);
  EXPECT_EQ(buffer[7], 0xAB);
  ASSERT_EQ(tensor_attach_buffer(t, other.data(), other.size()), NRT_SUCCESS);
  EXPECT_EQ(tensor_get_va(t), other.data());
  tensor_free(t);
  EXPECT_EQ(other, pattern(32, 9));  // the caller's memory is neither freed nor changed
}

TEST(Tensor, CopyBetweenPlacements) {
  machine m(kV2);
  const tensor_placement_t all[] = {tensor_placement_t::DEVICE, tensor_placement_t::HOST,
                                    tensor_placement_t::VIRTUAL};
  for (auto from : all) {
    for (auto to : all) {
      tensor_t *a = make(m, from, 30000), *b = make(m, to, 20000);
      auto data = pattern(30000, static_cast<uint8_t>(static_cast<int>(from) * 3 + 1));
      ASSERT_EQ(tensor_write(a, data.data(), 0, data.size()), NRT_SUCCESS);
      ASSERT_EQ(tensor_memset(b, 0, 0, 20000), NRT_SUCCESS);
      ASSERT_EQ(tensor_copy(a, 12345, b, 321, 10000), NRT_SUCCESS);
      std::vector<uint8_t> back(20000);
      ASSERT_EQ(tensor_read(b, back.data(), 0, back.size()), NRT_SUCCESS);
      EXPECT_EQ(memcmp(back.data() + 321, data.data() + 12345, 10000), 0);
      EXPECT_EQ(back[320], 0);
      EXPECT_EQ(back[10321], 0);
      tensor_free(a);
      tensor_free(b);
    }
  }
}

TEST(Tensor, Invariant35CopyBetweenHbmsIsRefused) {
  machine m(kV2);
  log_watch log;
  tensor_t *a = make(m, tensor_placement_t::DEVICE, 64, 0);
  tensor_t *b = make(m, tensor_placement_t::DEVICE, 64, 1);
  ASSERT_EQ(tensor_memset(b, 0, 0x11, 64), NRT_SUCCESS);
  ASSERT_EQ(tensor_memset(a, 0, 0x22, 64), NRT_SUCCESS);
  EXPECT_EQ(tensor_copy(a, 0, b, 0, 64), NRT_INVALID);
  EXPECT_EQ(log.take_errors().size(), 1u);
  std::vector<uint8_t> back(64);
  ASSERT_EQ(tensor_read(b, back.data(), 0, 64), NRT_SUCCESS);
  EXPECT_EQ(back, std::vector<uint8_t>(64, 0x11));
  EXPECT_EQ(tensor_copy(a, 60, a, 0, 5), NRT_INVALID);
  EXPECT_EQ(tensor_copy(a, 0, a, 60, 5), NRT_INVALID);
  tensor_free(a);
  tensor_free(b);
}

TEST(Tensor, SizesBeyondFourGigabytes) {
  machine m;
  tensor_t *t = make(m, tensor_placement_t::DEVICE, 5 * kGiB + 3);
  EXPECT_EQ(tensor_get_size(t), 5 * kGiB + 3);
  auto data = pattern(300, 8);
  ASSERT_EQ(tensor_write(t, data.data(), 5 * kGiB - 297, 300), NRT_SUCCESS);
  std::vector<uint8_t> back(300);
  ASSERT_EQ(tensor_read(t, back.data(), 5 * kGiB - 297, 300), NRT_SUCCESS);
  EXPECT_EQ(back, data);
  uint64_t pa = 0;
  tensor_get_device_address(t, &pa, nullptr, nullptr);
  EXPECT_EQ(memcmp(m.dram(pa + 5 * kGiB - 297, 300), data.data(), 300), 0);
  tensor_free(t);
}

TEST(Tensor, Invariant37CloseTakesTheMemoryAndLateFreesAreHarmless) {
  log_watch log;
  hal_options_t options;
  options.mock = HAL_MOCK_ALWAYS;
  options.mock_instance = "trn1.2xlarge";
  hal_t *hal = nullptr;
  ASSERT_EQ(hal_open(&options, &hal), NRT_SUCCESS);
  tdrv_options_t o = {1, 0, 1};
  tdrv_t *tdrv = nullptr;
  ASSERT_EQ(tdrv_init(hal, &o, &tdrv), NRT_SUCCESS);
  tensor_t *device = nullptr, *slice = nullptr, *host = nullptr, *heap = nullptr;
  ASSERT_EQ(tensor_allocate(tdrv, tensor_placement_t::DEVICE, 0, 4096, "d", &device), NRT_SUCCESS);
  ASSERT_EQ(tensor_allocate_slice(device, 16, 16, "s", &slice), NRT_SUCCESS);
  ASSERT_EQ(tensor_allocate(tdrv, tensor_placement_t::HOST, 0, 4096, "h", &host), NRT_SUCCESS);
  ASSERT_EQ(tensor_allocate(tdrv, tensor_placement_t::VIRTUAL, 0, 64, "v", &heap), NRT_SUCCESS);
  uint64_t frees = mock_ioctl_count(hal_mock_host(hal), NEURON_IOCTL_MEM_FREE);
  tdrv_close(tdrv);
  // Both chunks and the core's bounce buffer.
  EXPECT_EQ(mock_ioctl_count(hal_mock_host(hal), NEURON_IOCTL_MEM_FREE) - frees, 3u);
  EXPECT_TRUE(log.take_errors().empty());
  char byte = 0;
  EXPECT_EQ(tensor_read(slice, &byte, 0, 1), NRT_INVALID);
  EXPECT_EQ(tensor_read(host, &byte, 0, 1), NRT_INVALID);
  EXPECT_EQ(tensor_get_va(device), nullptr);
  EXPECT_EQ(tensor_get_va(host), nullptr);
  EXPECT_EQ(tensor_write(heap, &byte, 0, 1), NRT_SUCCESS);
  for (tensor_t *t : {device, slice, host, heap})
    tensor_free(t);
  hal_close(hal);
}

TEST(Tensor, FailedAllocationLeavesNothing) {
  machine m(kV2);
  log_watch log;
  auto before = m.chunks();
  for (auto placement : {tensor_placement_t::DEVICE, tensor_placement_t::HOST}) {
    for (uint32_t nth = 1; nth < 20; ++nth) {
      m.fail(0, nth, EIO);
      tensor_t *t = nullptr;
      NRT_STATUS status = tensor_allocate(m.tdrv, placement, 0, 4096, "t", &t);
      m.heal();
      if (status == NRT_SUCCESS) {
        EXPECT_GT(nth, 1u);
        tensor_free(t);
        break;
      }
      EXPECT_EQ(t, nullptr);
      EXPECT_EQ(log.take_errors().size(), 1u) << nth;
    }
  }
  EXPECT_EQ(m.chunks(), before);
}

TEST(Tensor, ViewsOfOneStorageOnManyThreads) {
  machine m(kV2);
  auto before = m.chunks();
  tensor_t *base = make(m, tensor_placement_t::DEVICE, 64 * 1024);
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (uint32_t k = 0; k < 6; ++k) {
    threads.emplace_back([&, k] {
      for (int i = 0; i < 50; ++i) {
        tensor_t *slice = nullptr, *own = nullptr;
        std::vector<uint8_t> data = pattern(5000, static_cast<uint8_t>(k * 40 + i)), back(5000);
        if (tensor_allocate_slice(base, k * 8192, 8192, "s", &slice) != NRT_SUCCESS ||
            tensor_allocate(m.tdrv, tensor_placement_t::DEVICE, static_cast<int>(k % 2), 3000, "o",
                            &own) != NRT_SUCCESS ||
            tensor_write(slice, data.data(), 100, 5000) != NRT_SUCCESS ||
            tensor_read(slice, back.data(), 100, 5000) != NRT_SUCCESS || back != data)
          ++failures;
        tensor_free(own);
        tensor_free(slice);
      }
    });
  }
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(failures, 0);
  tensor_free(base);
  EXPECT_EQ(m.chunks(), before);
}
