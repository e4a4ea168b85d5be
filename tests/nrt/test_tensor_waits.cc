// SPDX-License-Identifier: Apache-2.0
// Tensors through the C API: completion counters, waiting and closing, pinned host tensors by chip,
// batches with nothing in them, many threads (nrt-api.md 4.1, 5.2).
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "nrt_test.h"

using TensorWaits = NrtTest;

namespace {

using namespace std::chrono_literals;

// Starts a thread that waits for `t`, and returns when that thread sleeps in the call.
std::future<NRT_STATUS> check_later(nrt_tensor_t *t, int64_t timeout, uint64_t expected) {
  auto thread = std::make_shared<std::atomic<pid_t>>(0);
  std::future<NRT_STATUS> result = std::async(std::launch::async, [=] {
    *thread = gettid();
    return nrt_tensor_check_output_completion(t, timeout, expected);
  });
  while (*thread == 0)
    std::this_thread::yield();
  const std::string stat = "/proc/self/task/" + std::to_string(*thread) + "/stat";
  char state = 'R';
  while (state != 'S' && result.wait_for(1ms) == std::future_status::timeout) {
    std::string line;
    std::getline(std::ifstream(stat), line);
    size_t name_end = line.rfind(')');
    state = name_end == std::string::npos ? 'R' : line[name_end + 2];
  }
  return result;
}

nrt_tensor_t *host_tensor(size_t size, int vnc = 0) {
  nrt_tensor_t *t = nullptr;
  EXPECT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, vnc, size, "h", &t));
  return t;
}

}  // namespace

TEST_F(TensorWaits, CompletionCounter) {
  nrt_tensor_t *t = device_tensor(64);
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_check_output_completion(t, 0, 0));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_check_output_completion(t, -1, 0));
  // No execution has written it.
  EXPECT_REFUSED(NRT_TIMEOUT, nrt_tensor_check_output_completion(t, 0, 1));
  auto start = std::chrono::steady_clock::now();
  EXPECT_REFUSED(NRT_TIMEOUT, nrt_tensor_check_output_completion(t, 20000, 1));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_reset_output_completion(t));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_check_output_completion(nullptr, 0, 0));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_reset_output_completion(nullptr));
  nrt_tensor_t *dead = t;
  nrt_tensor_free(&t);
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_tensor_check_output_completion(dead, 0, 0));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_tensor_reset_output_completion(dead));
}

// Other calls go on meanwhile, a second nrt_init included; nrt_close ends the waiting.
TEST_F(TensorWaits, CloseSendsWaitersHome) {
  nrt_tensor_t *t = device_tensor(64);
  std::future<NRT_STATUS> waiter = check_later(t, -1, 1);
  EXPECT_EQ(std::future_status::timeout, waiter.wait_for(0ms));
  uint32_t word = 7;
  EXPECT_QUIET(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_write(t, &word, 0, sizeof(word)));
  size_t errors = test_log().errors();
  nrt_close();
  ASSERT_EQ(std::future_status::ready, waiter.wait_for(20s));
  EXPECT_EQ(NRT_CLOSED, waiter.get());
  EXPECT_EQ(errors + 1, test_log().errors());
  // After the close no handle is alive; these calls ask for no state.
  EXPECT_EQ(NRT_INVALID_HANDLE, nrt_tensor_check_output_completion(t, -1, 0));
  EXPECT_EQ(NRT_INVALID, nrt_tensor_check_output_completion(nullptr, -1, 0));
  // Waiting works again in the next life.
  ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  t = device_tensor(64);
  EXPECT_REFUSED(NRT_TIMEOUT, nrt_tensor_check_output_completion(t, 1000, 1));
}

// Freed by another thread while it is waited for: the waiter keeps it.
TEST_F(TensorWaits, FreedUnderAWaiter) {
  nrt_tensor_t *t = device_tensor(64), *copy = t;
  std::future<NRT_STATUS> waiter = check_later(t, 300000, 1);
  nrt_tensor_free(&copy);
  ASSERT_EQ(std::future_status::ready, waiter.wait_for(20s));
  EXPECT_EQ(NRT_TIMEOUT, waiter.get());
}

TEST(TensorHost, OnTrn1) {
  scoped_env instance("NEURON_MOCK_INSTANCE", "trn1.2xlarge");
  ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  nrt_tensor_t *t = nullptr;
  const size_t limit = 4 << 20;
  nrt_tensor_t *host = host_tensor(limit, -1), *other = host_tensor(100, 1);
  EXPECT_REFUSED(NRT_RESOURCE,
                 nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, 0, limit + 1, "h", &t));
  EXPECT_EQ(nullptr, t);
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, 2, 64, "h", &t));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -2, 64, "h", &t));
  // Host memory: its address is plain memory, and it has no place in an HBM.
  auto *va = static_cast<uint8_t *>(nrt_tensor_get_va(host));
  ASSERT_NE(nullptr, va);
  va[limit - 1] = 0x3c;
  uint8_t byte = 0;
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(host, &byte, limit - 1, 1));
  EXPECT_EQ(0x3c, byte);
  nrt_tensor_device_allocation_info_t info{};
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_get_device_allocation_info(host, &info));
  // Between host and the device memory of either core.
  nrt_tensor_t *device = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 100, "d", &device));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_copy(host, limit - 100, device, 0, 100));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_copy(device, 99, other, 7, 1));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(other, &byte, 7, 1));
  EXPECT_EQ(0x3c, byte);
  for (nrt_tensor_t *one : {host, other, device})
    nrt_tensor_free(&one);
  nrt_close();
}

// Two logical cores of one HBM share it; the sheet's "same core" is the header's older wording.
TEST(TensorForeignCores, SameHbm) {
  scoped_env lnc("NEURON_LOGICAL_NC_CONFIG", "1");
  ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  nrt_tensor_t *t[3] = {};
  for (int vnc = 0; vnc < 3; ++vnc)
    ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, 64, "t", &t[vnc]));
  uint32_t word = 0x11223344, got = 0;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(t[0], &word, 60, 4));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_copy(t[0], 60, t[1], 0, 4));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(t[1], &got, 0, 4));
  EXPECT_EQ(word, got);
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_copy(t[0], 60, t[2], 0, 4));
  nrt_close();
}

TEST_F(TensorWaits, ZeroSizes) {
  nrt_tensor_t *t = device_tensor(10), *slice = nullptr;
  uint8_t byte = 5;
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(t, &byte, 10, 0));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_write(t, &byte, 0, 0));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_memset(t, 10, 1, 0));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_copy(t, 10, t, 0, 0));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_read(t, &byte, 11, 0));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_allocate_slice(t, 10, 0, "s", &slice));
  EXPECT_EQ(0u, nrt_tensor_get_size(slice));
  nrt_tensor_batch_op_t op = {10, 0, &byte};
  nrt_tensor_batch_t batches[] = {{t, &op, 1}, {t, nullptr, 0}};
  for (bool unsafe : {false, true}) {
    EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read_batch(batches, 2, unsafe));
    EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_write_batch(batches, 2, unsafe));
    EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read_batch(nullptr, 0, unsafe));
  }
  EXPECT_EQ(5, byte);
  nrt_tensor_t *empty = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_empty("e", &empty));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_write(empty, &byte, 0, 0));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_allocate_slice(empty, 0, 0, "s", &slice));
  EXPECT_REFUSED(NRT_INVALID, nrt_tensor_copy(empty, 0, t, 0, 0));
  EXPECT_EQ(nullptr, nrt_tensor_get_va(empty));
  nrt_tensor_free(&empty);  // must not crash
  EXPECT_EQ(nullptr, empty);
  nrt_tensor_free(&empty);
  nrt_tensor_free(nullptr);
}

// The device refuses in the middle: what the batch did before it stays, the status is the device's.
TEST_F(TensorWaits, BatchThatFailsHalfway) {
  nrt_close();
  // A device copy of a small tensor is one MEM_COPY64; the second one fails.
  scoped_env fault("NEURON_MOCK_FAULT", "MEM_COPY64:2:5");
  ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  nrt_tensor_t *a = device_tensor(64), *b = device_tensor(64);
  uint8_t ones[8];
  memset(ones, 1, sizeof(ones));
  nrt_tensor_batch_op_t op = {0, 8, ones};
  nrt_tensor_batch_t batches[] = {{a, &op, 1}, {b, &op, 1}};
  EXPECT_REFUSED(NRT_FAILURE, nrt_tensor_write_batch(batches, 2, false));
  uint8_t got[8] = {};
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(a, got, 0, 8));
  EXPECT_EQ(0, memcmp(got, ones, 8));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_read(b, got, 0, 8));
  EXPECT_NE(0, memcmp(got, ones, 8));
}

// Threads that make, use, slice and free tensors; each handle in one hand, storages in several.
TEST_F(TensorWaits, ManyThreads) {
  nrt_vnc_memory_stats_t before{}, after{};
  size_t written = 0;
  nrt_tensor_t *shared = device_tensor(8 * 4096);
  ASSERT_EQ(NRT_SUCCESS, nrt_get_vnc_memory_stats(0, &before, sizeof(before), &written));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t k = 0; k < 8; ++k) {
    threads.emplace_back([&, k] {
      std::vector<uint8_t> sent(4096), got(4096);
      for (int i = 0; i < 40; ++i) {
        memset(sent.data(), static_cast<int>(k * 40 + i), sent.size());
        nrt_tensor_t *slice = nullptr, *own = nullptr;
        if (nrt_tensor_allocate_slice(shared, k * 4096, 4096, "s", &slice) != NRT_SUCCESS ||
            nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 4096, "o", &own) != NRT_SUCCESS ||
            nrt_tensor_write(slice, sent.data(), 0, 4096) != NRT_SUCCESS ||
            nrt_tensor_copy(slice, 0, own, 0, 4096) != NRT_SUCCESS ||
            nrt_tensor_read(own, got.data(), 0, 4096) != NRT_SUCCESS || got != sent)
          ++wrong;
        nrt_tensor_free(&slice);
        nrt_tensor_free(&own);
      }
    });
  }
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(0, wrong);
  ASSERT_EQ(NRT_SUCCESS, nrt_get_vnc_memory_stats(0, &after, sizeof(after), &written));
  EXPECT_EQ(before.bytes_used, after.bytes_used);
  nrt_tensor_free(&shared);
}

TEST(TensorUninitialised, EveryCall) {
  auto *t = reinterpret_cast<nrt_tensor_t *>(0x1000);
  nrt_tensor_t *out = nullptr;
  char byte = 0;
  EXPECT_NE(NRT_SUCCESS, nrt_tensor_read(t, &byte, 0, 1));
  EXPECT_EQ(NRT_INVALID_HANDLE, nrt_tensor_check_output_completion(t, -1, 1));
  EXPECT_EQ(NRT_INVALID_HANDLE, nrt_tensor_reset_output_completion(t));
  EXPECT_EQ(0u, nrt_tensor_get_size(t));
  EXPECT_EQ(0u, nrt_tensor_get_size(nullptr));
  EXPECT_EQ(nullptr, nrt_tensor_get_va(t));
  NRT_STATUS refused = nrt_tensor_allocate_empty("e", &out);
  EXPECT_TRUE(refused == NRT_UNINITIALIZED || refused == NRT_CLOSED);
  EXPECT_EQ(refused, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 8, "v", &out));
  EXPECT_EQ(refused, nrt_tensor_attach_buffer(t, &byte, 1));
  EXPECT_EQ(refused, nrt_tensor_allocate_slice(t, 0, 1, "s", &out));
  EXPECT_EQ(refused, nrt_tensor_write(t, &byte, 0, 1));
  EXPECT_EQ(refused, nrt_tensor_copy(t, 0, t, 0, 1));
  EXPECT_EQ(refused, nrt_tensor_memset(t, 0, 0, 1));
  EXPECT_EQ(refused, nrt_tensor_read_batch(nullptr, 0, false));
  EXPECT_EQ(refused, nrt_tensor_write_batch(nullptr, 0, false));
  nrt_tensor_free(&t);
  EXPECT_EQ(nullptr, t);
}
