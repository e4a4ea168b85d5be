// SPDX-License-Identifier: Apache-2.0
// nrt-api.md 5.2, 5.3: tensors and sets.
#include <cstring>
#include <numeric>

#include "nrt_test.h"

namespace {

constexpr uint64_t GiB = 1ull << 30;

std::vector<uint8_t> pattern(size_t size, uint8_t seed) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<uint8_t>(seed + i * 7 + i / 251);
  return bytes;
}

}  // namespace

using Tensor = NrtTest;
using TensorSet = NrtTest;

TEST_F(Tensor, AllocateRefusals) {
  nrt_tensor_t *t = reinterpret_cast<nrt_tensor_t *>(16);
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 0, "t", &t));
  EXPECT_EQ(nullptr, t);
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, -1, 64, "t", &t));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 4, 64, "t", &t));
  EXPECT_REFUSED(NRT_INVALID,
                 nrt_tensor_allocate(static_cast<nrt_tensor_placement_t>(3), 0, 64, "t", &t));
  EXPECT_REFUSED(NRT_INVALID,
                 nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", nullptr));
  // One HBM has 24 GiB.
  EXPECT_REFUSED(NRT_RESOURCE,
                 nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 25 * GiB, "t", &t));
  EXPECT_EQ(nullptr, t);
  EXPECT_REFUSED(NRT_RESOURCE, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, 0, 64, "t", &t));
  EXPECT_REFUSED(NRT_RESOURCE,
                 nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, SIZE_MAX, "t", &t));
}

TEST_F(Tensor, WriteReadAndBounds) {
  for (nrt_tensor_placement_t placement :
       {NRT_TENSOR_PLACEMENT_DEVICE, NRT_TENSOR_PLACEMENT_VIRTUAL}) {
    nrt_tensor_t *t = nullptr;
    const size_t size = 3 * 1048576 + 17;
    int vnc = placement == NRT_TENSOR_PLACEMENT_VIRTUAL ? -1 : 1;
    ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(placement, vnc, size, nullptr, &t));
    EXPECT_EQ(size, nrt_tensor_get_size(t));
    std::vector<uint8_t> sent = pattern(size, 3), got(size);
    EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_write(t, sent.data(), 0, size));
    EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(t, got.data(), 0, size));
    EXPECT_EQ(sent, got);
    EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(t, got.data(), size - 1, 1));
    EXPECT_EQ(sent.back(), got[0]);

    EXPECT_REFUSED(NRT_INVALID, nrt_tensor_read(t, got.data(), size, 1));
    EXPECT_REFUSED(NRT_INVALID, nrt_tensor_read(t, got.data(), 1, size));
    EXPECT_REFUSED(NRT_INVALID, nrt_tensor_write(t, sent.data(), SIZE_MAX, 2));
    EXPECT_REFUSED(NRT_INVALID, nrt_tensor_write(t, sent.data(), 2, SIZE_MAX));
    EXPECT_REFUSED(NRT_INVALID, nrt_tensor_memset(t, size - 4, 0, 5));
    EXPECT_REFUSED(NRT_INVALID, nrt_tensor_read(t, nullptr, 0, 1));
    EXPECT_REFUSED(NRT_INVALID, nrt_tensor_write(t, nullptr, 0, 1));
    EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(t, got.data(), 0, size));
    EXPECT_EQ(sent[1], got[1]);

    EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_memset(t, 5, 0x1a5, 1000));
    std::fill(sent.begin() + 5, sent.begin() + 1005, 0xa5);
    EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(t, got.data(), 0, size));
    EXPECT_EQ(sent, got);
    nrt_tensor_free(&t);
  }
}

TEST_F(Tensor, DeadAndForeignHandles) {
  nrt_tensor_t *t = device_tensor(64);
  nrt_tensor_t *copy = t;
  nrt_tensor_set_t *set = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&set));
  nrt_tensor_free(&t);
  EXPECT_EQ(nullptr, t);
  char byte = 0;
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_tensor_read(copy, &byte, 0, 1));
  EXPECT_REFUSED(NRT_INVALID_HANDLE,
                 nrt_tensor_write(static_cast<nrt_tensor_t *>(set), &byte, 0, 1));
  EXPECT_REFUSED(NRT_INVALID_HANDLE,
                 nrt_tensor_read(reinterpret_cast<nrt_tensor_t *>(&byte), &byte, 0, 1));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_read(nullptr, &byte, 0, 1));
  EXPECT_EQ(0u, nrt_tensor_get_size(copy));
  nrt_tensor_free(&copy);  // second free of the same tensor
  // A new tensor never takes a dead one's handle.
  nrt_tensor_t *again = device_tensor(64);
  EXPECT_NE(copy, again);
}

TEST_F(Tensor, Slices) {
  nrt_tensor_t *base = device_tensor(1000);
  std::vector<uint8_t> sent = pattern(1000, 9);
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(base, sent.data(), 0, 1000));
  nrt_tensor_t *slice = nullptr, *inner = nullptr, *bad = nullptr;
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_allocate_slice(base, 100, 500, "s", &slice));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_allocate_slice(slice, 50, 450, nullptr, &inner));
  EXPECT_EQ(450u, nrt_tensor_get_size(inner));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_allocate_slice(slice, 50, 451, "x", &bad));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_allocate_slice(slice, SIZE_MAX, 2, "x", &bad));
  EXPECT_EQ(nullptr, bad);
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_allocate_slice(nullptr, 0, 1, "x", &bad));

  nrt_tensor_device_allocation_info_t whole{}, part{};
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_get_device_allocation_info(base, &whole));
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_get_device_allocation_info(inner, &part));
  EXPECT_EQ(whole.physical_address + 150, part.physical_address);

  nrt_tensor_free(&base);  // the storage lives on
  nrt_tensor_free(&slice);
  std::vector<uint8_t> got(450);
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(inner, got.data(), 0, 450));
  EXPECT_TRUE(std::equal(got.begin(), got.end(), sent.begin() + 150));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_read(inner, got.data(), 1, 450));
  nrt_tensor_free(&inner);
}

TEST_F(Tensor, MemoryComesBack) {
  auto used = [] {
    nrt_vnc_memory_stats_t stats{};
    size_t written = 0;
    EXPECT_EQ(NRT_SUCCESS, nrt_get_vnc_memory_stats(0, &stats, sizeof(stats), &written));
    EXPECT_EQ(sizeof(stats), written);
    EXPECT_EQ(24 * GiB, stats.bytes_limit);  // one HBM
    return stats.bytes_used;
  };
  size_t before = used();
  nrt_tensor_t *t = device_tensor(10 << 20);
  EXPECT_EQ(before + (10 << 20), used());
  nrt_tensor_t *slice = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(t, 0, 64, "s", &slice));
  nrt_tensor_free(&t);
  EXPECT_EQ(before + (10 << 20), used());
  nrt_tensor_free(&slice);
  EXPECT_EQ(before, used());

  nrt_vnc_memory_stats_t stats{};
  size_t written = 99;
  stats.bytes_limit = 1;
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_vnc_memory_stats(0, &stats, 8, &written));
  EXPECT_EQ(8u, written);
  EXPECT_EQ(1u, stats.bytes_limit);
  EXPECT_REFUSED(NRT_INVALID, nrt_get_vnc_memory_stats(4, &stats, 16, &written));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_vnc_memory_stats(0, nullptr, 16, &written));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_vnc_memory_stats(0, &stats, 16, nullptr));
}

// Two logical cores of one physical core share an HBM: each counts its own bytes, both have the
// whole HBM as their limit.
TEST(MemoryStats, CoresThatShareAnHbm) {
  scoped_env lnc("NEURON_LOGICAL_NC_CONFIG", "1");
  ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  nrt_tensor_t *t[2] = {};
  for (int vnc = 0; vnc < 2; ++vnc)
    ASSERT_EQ(NRT_SUCCESS,
              nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, 1000 + vnc, "t", &t[vnc]));
  for (uint32_t vnc = 0; vnc < 2; ++vnc) {
    nrt_vnc_memory_stats_t stats{};
    size_t written = 0;
    EXPECT_QUIET(NRT_SUCCESS, nrt_get_vnc_memory_stats(vnc, &stats, sizeof(stats), &written));
    EXPECT_EQ(1000 + vnc, stats.bytes_used);
    EXPECT_EQ(24 * GiB, stats.bytes_limit);
  }
  for (nrt_tensor_t *&each : t)
    nrt_tensor_free(&each);
  nrt_close();
}

// A real shortage as a client sees it: one ERROR record, and everything as before.
TEST(MemoryStats, ShortageOnASmallHbm) {
  scoped_env size("NEURON_MOCK_HBM_SIZE", "3G");
  ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  nrt_tensor_t *held = nullptr, *refused = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, GiB, "held", &held));
  nrt_vnc_memory_stats_t before{}, after{};
  size_t written = 0;
  EXPECT_EQ(NRT_SUCCESS, nrt_get_vnc_memory_stats(1, &before, sizeof(before), &written));
  EXPECT_EQ(GiB, before.bytes_used);
  EXPECT_EQ(3 * GiB, before.bytes_limit);
  // 2 GiB less 16 MiB are free, but no block is larger than the small pool's 1 GiB.
  size_t errors = test_log().errors();
  EXPECT_EQ(NRT_RESOURCE,
            nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, GiB + 1, "logits", &refused));
  EXPECT_EQ(nullptr, refused);
  std::vector<std::string> lines = test_log().lines("ERROR");
  ASSERT_EQ(errors + 1, lines.size());
  for (const char *part : {"nd0 nc2 hbm 1", "1073741825 bytes", "alignment none",
                           "tensors 'logits'", "free: 1.984GB, largest hole: 1.000GB"})
    EXPECT_NE(std::string::npos, lines.back().find(part)) << part << " in " << lines.back();
  EXPECT_EQ(NRT_SUCCESS, nrt_get_vnc_memory_stats(1, &after, sizeof(after), &written));
  EXPECT_EQ(before.bytes_used, after.bytes_used);
  nrt_tensor_free(&held);
  nrt_close();
}

TEST_F(Tensor, BeyondFourGiB) {
  const uint64_t size = 6 * GiB;
  nrt_tensor_t *t = device_tensor(size);
  ASSERT_NE(nullptr, t);
  EXPECT_EQ(size, nrt_tensor_get_size(t));
  std::vector<uint8_t> sent = pattern(1 << 20, 77), got(1 << 20);
  const uint64_t offset = 4 * GiB - (1 << 19);  // across the 32-bit edge
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_write(t, sent.data(), offset, sent.size()));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(t, got.data(), offset, got.size()));
  EXPECT_EQ(sent, got);
  nrt_tensor_t *high = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(t, 4 * GiB, 2 * GiB, "high", &high));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(high, got.data(), 0, 1 << 19));
  EXPECT_EQ(0, memcmp(got.data(), sent.data() + (1 << 19), 1 << 19));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_memset(t, 5 * GiB, 0x42, 4096));
  uint8_t byte = 0;
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(high, &byte, GiB, 1));
  EXPECT_EQ(0x42, byte);
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(t, &byte, GiB, 1));  // nothing wrapped to low memory
  EXPECT_NE(0x42, byte);
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_read(t, &byte, size, 1));
  nrt_tensor_free(&high);
  nrt_tensor_free(&t);
}

TEST_F(Tensor, HostAddress) {
  nrt_tensor_t *t = device_tensor(8192);
  auto *va = static_cast<uint8_t *>(nrt_tensor_get_va(t));
  ASSERT_NE(nullptr, va);
  uint32_t word = 0x01020304;
  EXPECT_EQ(NRT_SUCCESS, nrt_memcpy_to_device(va + 100, &word, sizeof(word)));
  uint32_t got = 0;
  EXPECT_EQ(NRT_SUCCESS, nrt_tensor_read(t, &got, 100, sizeof(got)));
  EXPECT_EQ(word, got);
  word = 0x55667788;
  EXPECT_EQ(NRT_SUCCESS, nrt_tensor_write(t, &word, 200, sizeof(word)));
  EXPECT_EQ(0, memcmp(va + 200, &word, sizeof(word)));
  nrt_tensor_t *slice = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(t, 200, 8, "s", &slice));
  EXPECT_EQ(va + 200, nrt_tensor_get_va(slice));
  nrt_tensor_free(&slice);
  nrt_tensor_free(&t);
}

TEST_F(Tensor, EmptyAndAttached) {
  nrt_tensor_t *t = nullptr;
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_allocate_empty(nullptr, &t));
  EXPECT_EQ(0u, nrt_tensor_get_size(t));
  char byte = 0;
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_read(t, &byte, 0, 1));
  std::vector<uint8_t> buffer = pattern(256, 1), other = pattern(64, 2);
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_attach_buffer(t, nullptr, 16));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_attach_buffer(t, buffer.data(), 0));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_attach_buffer(t, buffer.data(), buffer.size()));
  EXPECT_EQ(256u, nrt_tensor_get_size(t));
  EXPECT_EQ(buffer.data(), nrt_tensor_get_va(t));
  byte = 0x7f;
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_write(t, &byte, 10, 1));
  EXPECT_EQ(0x7f, buffer[10]);
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_attach_buffer(t, other.data(), other.size()));
  EXPECT_EQ(64u, nrt_tensor_get_size(t));
  nrt_tensor_device_allocation_info_t info{};
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_get_device_allocation_info(t, &info));
  nrt_tensor_free(&t);
  EXPECT_EQ(pattern(64, 2), other);  // the caller's memory is the caller's

  // Attaching drops device storage.
  nrt_tensor_t *device = device_tensor(64);
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_attach_buffer(device, other.data(), other.size()));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_get_device_allocation_info(device, &info));
  nrt_tensor_free(&device);
}

TEST_F(Tensor, CopyBetweenPlaces) {
  std::vector<uint8_t> sent = pattern(5000, 5), got(5000);
  nrt_tensor_t *d0 = device_tensor(5000), *d0b = device_tensor(6000), *d1 = device_tensor(5000, 1);
  nrt_tensor_t *host = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 5000, "h", &host));
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(host, sent.data(), 0, 5000));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_copy(host, 0, d0, 0, 5000));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_copy(d0, 100, d0b, 1100, 4900));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_copy(d0b, 1100, host, 0, 4900));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(host, got.data(), 0, 4900));
  EXPECT_EQ(0, memcmp(got.data(), sent.data() + 100, 4900));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_copy(d0, 0, d1, 0, 16));  // cores 0 and 1: two HBMs
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_copy(d0, 1, d0b, 0, 5000));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_copy(d0b, 0, d0, 1, 5000));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_copy(nullptr, 0, d0, 0, 16));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_copy(d0, 0, nullptr, 0, 16));
  for (nrt_tensor_t *t : {d0, d0b, d1, host})
    nrt_tensor_free(&t);
}

TEST_F(Tensor, Batches) {
  nrt_tensor_t *a = device_tensor(1000), *b = device_tensor(1000, 2);
  std::vector<uint8_t> sent = pattern(1000, 8), got(1000);
  nrt_tensor_batch_op_t ops_a[] = {{0, 100, sent.data()}, {500, 500, sent.data() + 100}};
  nrt_tensor_batch_op_t ops_b[] = {{900, 100, sent.data() + 600}};
  nrt_tensor_batch_t batch[] = {{a, ops_a, 2}, {b, ops_b, 1}};
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_write_batch(batch, 2, false));
  nrt_tensor_batch_op_t read_a[] = {{500, 500, got.data()}, {0, 100, got.data() + 500}};
  nrt_tensor_batch_op_t read_b[] = {{900, 100, got.data() + 600}};
  nrt_tensor_batch_t reads[] = {{a, read_a, 2}, {b, read_b, 1}};
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read_batch(reads, 2, true));
  EXPECT_EQ(0, memcmp(got.data(), sent.data() + 100, 500));
  EXPECT_EQ(0, memcmp(got.data() + 500, sent.data(), 100));
  EXPECT_EQ(0, memcmp(got.data() + 600, sent.data() + 600, 100));

  // A bad piece anywhere: nothing moves.
  std::vector<uint8_t> zeros(1000);
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(a, zeros.data(), 0, 1000));
  ops_b[0].offset = 901;
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_write_batch(batch, 2, false));
  ops_b[0] = {900, 100, nullptr};
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_write_batch(batch, 2, false));
  batch[1].ops = nullptr;
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_write_batch(batch, 2, false));
  batch[1].tensor = nullptr;
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_write_batch(batch, 2, false));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_write_batch(nullptr, 2, false));
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(a, got.data(), 0, 1000));
  EXPECT_EQ(zeros, got);
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_write_batch(nullptr, 0, false));
  nrt_tensor_free(&a);
  nrt_tensor_free(&b);
}

TEST_F(Tensor, LongAndMissingNames) {
  std::string name(100000, 'n');
  nrt_tensor_t *t = nullptr;
  EXPECT_QUIET(NRT_SUCCESS,
               nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, name.c_str(), &t));
  nrt_tensor_free(&t);
}

TEST_F(TensorSet, AddGetReplace) {
  nrt_tensor_set_t *set = nullptr;
  EXPECT_QUIET(NRT_SUCCESS, nrt_allocate_tensor_set(&set));
  nrt_tensor_t *a = device_tensor(64), *b = device_tensor(64);
  std::string name = "x";
  EXPECT_QUIET(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(set, name.c_str(), a));
  name = "changed";  // the set has its own copy
  nrt_tensor_t *got = nullptr;
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_tensor_from_tensor_set(set, "x", &got));
  EXPECT_EQ(a, got);
  EXPECT_QUIET(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(set, "x", b));
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_tensor_from_tensor_set(set, "x", &got));
  EXPECT_EQ(b, got);
  got = a;
  EXPECT_REFUSED(NRT_FAILURE, nrt_get_tensor_from_tensor_set(set, "y", &got));
  EXPECT_EQ(a, got);
  EXPECT_REFUSED(NRT_INVALID, nrt_add_tensor_to_tensor_set(set, nullptr, a));
  EXPECT_REFUSED(NRT_INVALID, nrt_add_tensor_to_tensor_set(set, "z", nullptr));
  EXPECT_REFUSED(NRT_INVALID, nrt_add_tensor_to_tensor_set(nullptr, "z", a));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_tensor_from_tensor_set(set, nullptr, &got));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_tensor_from_tensor_set(set, "x", nullptr));
  EXPECT_REFUSED(NRT_INVALID, nrt_allocate_tensor_set(nullptr));
  nrt_tensor_set_t *dead = set;
  nrt_destroy_tensor_set(&set);
  EXPECT_EQ(nullptr, set);
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_get_tensor_from_tensor_set(dead, "x", &got));
  nrt_destroy_tensor_set(&dead);
  // The tensors were only borrowed.
  EXPECT_EQ(64u, nrt_tensor_get_size(b));
  nrt_tensor_free(&a);
  nrt_tensor_free(&b);
}
