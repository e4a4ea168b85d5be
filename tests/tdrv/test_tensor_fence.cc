// SPDX-License-Identifier: Apache-2.0
// Host accesses against device accesses in flight, and completion counters (device-memory.md 5.2,
// invariant 34). Device accesses are played by the hook that execution uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "tdrv/completion.h"
#include "tdrv/tensor.h"
#include "tests/tdrv/machine.h"

namespace {

using namespace std::chrono_literals;

const machine_options kV2 = {.instance = "trn1.2xlarge", .lnc = 1, .num_vncs = 2};

// A call on another thread, of which one can see whether it waits.
class call {
 public:
  explicit call(std::function<NRT_STATUS()> body)
      : result_(std::async(std::launch::async, std::move(body))) {}
  // Long enough for a call that does not wait to have ended; a call that waits is never late.
  bool waits() { return result_.wait_for(50ms) == std::future_status::timeout; }
  // A call that was let go ends; the limit only turns a hang into a failure.
  bool ends() { return result_.wait_for(20s) == std::future_status::ready; }
  NRT_STATUS status() { return result_.get(); }

 private:
  std::future<NRT_STATUS> result_;
};

class Fence : public testing::TestWithParam<tensor_placement_t> {
 protected:
  void SetUp() override {
    m = std::make_unique<machine>(kV2);
    fresh = m->chunks();
    ASSERT_EQ(tensor_allocate(m->tdrv, GetParam(), 0, 4096, "t", &t), NRT_SUCCESS);
    ASSERT_EQ(tensor_allocate(m->tdrv, GetParam(), 0, 4096, "other", &other), NRT_SUCCESS);
  }
  void TearDown() override {
    tensor_free(t);
    tensor_free(other);
  }
  tensor_access_t begin(bool write) {
    tensor_access_t access;
    EXPECT_EQ(tensor_access_begin(t, write, &access), NRT_SUCCESS);
    return access;
  }
  std::function<NRT_STATUS()> read() {
    return [this] { return tensor_read(t, buffer, 0, 64); };
  }
  std::function<NRT_STATUS()> write() {
    return [this] { return tensor_write(t, buffer, 0, 64); };
  }
  void expect_waits(const tensor_access_t &access, std::function<NRT_STATUS()> body) {
    call c(std::move(body));
    EXPECT_TRUE(c.waits());
    tensor_access_end(&access);
    ASSERT_TRUE(c.ends());
    EXPECT_EQ(c.status(), NRT_SUCCESS);
  }
  void expect_passes(std::function<NRT_STATUS()> body) {
    call c(std::move(body));
    ASSERT_TRUE(c.ends());
    EXPECT_EQ(c.status(), NRT_SUCCESS);
  }
  std::unique_ptr<machine> m;
  std::vector<machine::chunk> fresh;
  tensor_t *t = nullptr, *other = nullptr;
  uint8_t buffer[64] = {};
};

std::string placement_name(const testing::TestParamInfo<tensor_placement_t> &info) {
  return info.param == tensor_placement_t::DEVICE ? "Device"
         : info.param == tensor_placement_t::HOST ? "Host"
                                                  : "Virtual";
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Placements, Fence,
                         testing::Values(tensor_placement_t::DEVICE, tensor_placement_t::HOST,
                                         tensor_placement_t::VIRTUAL),
                         placement_name);

TEST_P(Fence, Invariant34ReadWaitsForWritesOnly) {
  tensor_access_t reading = begin(false);
  expect_passes(read());
  tensor_access_end(&reading);
  expect_waits(begin(true), read());
}

TEST_P(Fence, Invariant34WriteWaitsForBoth) {
  expect_waits(begin(false), write());
  expect_waits(begin(true), write());
  expect_waits(begin(false), [this] { return tensor_memset(t, 0, 1, 64); });
  expect_waits(begin(true), [this] { return tensor_memset(t, 0, 1, 64); });
}

TEST_P(Fence, Invariant34UnsafeDoesNotWait) {
  tensor_access_t reading = begin(false), writing = begin(true);
  expect_passes([this] { return tensor_read(t, buffer, 0, 64, tensor_fence_t::SKIP); });
  expect_passes([this] { return tensor_write(t, buffer, 0, 64, tensor_fence_t::SKIP); });
  tensor_access_end(&reading);
  tensor_access_end(&writing);
}

TEST_P(Fence, CopyWaitsOnBothSides) {
  tensor_access_t reading = begin(false);
  expect_passes([this] { return tensor_copy(t, 0, other, 0, 64); });
  tensor_access_end(&reading);
  expect_waits(begin(true), [this] { return tensor_copy(t, 0, other, 0, 64); });
  expect_waits(begin(false), [this] { return tensor_copy(other, 0, t, 0, 64); });
}

// Only the end of the last one lets go.
TEST_P(Fence, AccessesAreCounted) {
  tensor_access_t a = begin(true), b = begin(true), c = begin(false);
  call reader(read()), writer(write());
  tensor_access_end(&a);
  EXPECT_TRUE(reader.waits());
  tensor_access_end(&b);
  EXPECT_TRUE(reader.ends());
  EXPECT_TRUE(writer.waits());
  tensor_access_end(&c);
  EXPECT_TRUE(writer.ends());
}

TEST_P(Fence, SlicesShareItAndOtherTensorsDoNot) {
  tensor_t *slice = nullptr;
  ASSERT_EQ(tensor_allocate_slice(t, 2048, 64, "slice", &slice), NRT_SUCCESS);
  tensor_access_t access = begin(true);
  expect_passes([this] { return tensor_write(other, buffer, 0, 64); });
  expect_waits(access, [&] { return tensor_read(slice, buffer, 0, 64); });
  tensor_free(slice);
}

// Requests that are wrong, and those that move nothing, answer at once.
TEST_P(Fence, BadRequestsDoNotWait) {
  log_watch log;
  tensor_access_t access = begin(true);
  EXPECT_EQ(tensor_read(t, buffer, 4096, 1), NRT_INVALID);
  EXPECT_EQ(tensor_write(t, nullptr, 0, 1), NRT_INVALID);
  EXPECT_EQ(tensor_read(t, buffer, 10, 0), NRT_SUCCESS);
  EXPECT_EQ(tensor_get_size(t), 4096u);
  EXPECT_NE(tensor_get_va(t), nullptr);
  tensor_access_end(&access);
}

// The memory stays until the device is done with it, whatever becomes of the tensor.
TEST_P(Fence, FreedAndReplacedTensorsKeepTheirMemory) {
  auto before = m->chunks();
  tensor_access_t first = begin(true);
  uint8_t mine[16] = {};
  ASSERT_EQ(tensor_attach_buffer(t, mine, sizeof(mine)), NRT_SUCCESS);
  expect_passes([&] { return tensor_write(t, buffer, 0, 16); });  // another storage, another fence
  EXPECT_EQ(m->chunks(), before);
  tensor_access_end(&first);
  tensor_access_t second = begin(false);
  tensor_free(t);
  t = nullptr;
  tensor_access_end(&second);
  tensor_free(other);
  other = nullptr;
  EXPECT_EQ(m->chunks(), fresh);
}

TEST(TensorAccess, NeedsMemory) {
  log_watch log;
  tensor_t *t = nullptr;
  ASSERT_EQ(tensor_allocate_empty("e", &t), NRT_SUCCESS);
  tensor_access_t access;
  EXPECT_EQ(tensor_access_begin(t, true, &access), NRT_INVALID);
  EXPECT_EQ(tensor_access_begin(nullptr, true, &access), NRT_INVALID);
  EXPECT_EQ(log.take_errors().size(), 2u);
  tensor_access_end(&access);  // of a begin that failed: nothing
  tensor_free(t);
}

// Device accesses that come and go under host accesses: everybody gets through, nothing is mixed
// up.
TEST(TensorAccess, ManyThreads) {
  machine m(kV2);
  tensor_t *t = nullptr;
  ASSERT_EQ(tensor_allocate(m.tdrv, tensor_placement_t::DEVICE, 0, 4096, "t", &t), NRT_SUCCESS);
  ASSERT_EQ(tensor_memset(t, 0, 0, 4096), NRT_SUCCESS);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        tensor_access_t access;
        if (tensor_access_begin(t, i % 2 == 0, &access) != NRT_SUCCESS)
          ++wrong;
        std::this_thread::yield();
        tensor_access_end(&access);
      }
    });
  }
  for (uint8_t k = 1; k < 4; ++k) {
    threads.emplace_back([&, k] {
      uint8_t data[64], back[64];
      memset(data, k, sizeof(data));
      for (int i = 0; i < 100; ++i) {
        if (tensor_write(t, data, k * 64u, 64) != NRT_SUCCESS ||
            tensor_read(t, back, k * 64u, 64) != NRT_SUCCESS || memcmp(data, back, 64) != 0)
          ++wrong;
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  tensor_free(t);
}

TEST(Completion, CountsExecutions) {
  log_watch log;
  tensor_t *t = nullptr, *slice = nullptr;
  uint8_t buffer[64];
  ASSERT_EQ(tensor_allocate_empty("out", &t), NRT_SUCCESS);
  ASSERT_EQ(tensor_attach_buffer(t, buffer, 64), NRT_SUCCESS);
  EXPECT_EQ(tensor_check_output_completion(t, 0, 0), NRT_SUCCESS);
  EXPECT_EQ(tensor_check_output_completion(t, 0, 1), NRT_TIMEOUT);
  EXPECT_THAT(log.take_errors(), testing::ElementsAre(testing::HasSubstr("0 of 1 executions")));
  tensor_output_completed(t);
  tensor_output_completed(t);
  EXPECT_EQ(tensor_check_output_completion(t, 0, 2), NRT_SUCCESS);
  EXPECT_EQ(tensor_check_output_completion(t, -1, 1), NRT_SUCCESS);
  EXPECT_EQ(tensor_check_output_completion(t, INT64_MAX, 2), NRT_SUCCESS);
  EXPECT_TRUE(log.take_errors().empty());
  // A slice counts for itself, from 0.
  ASSERT_EQ(tensor_allocate_slice(t, 0, 8, "s", &slice), NRT_SUCCESS);
  EXPECT_EQ(tensor_check_output_completion(slice, 1, 1), NRT_TIMEOUT);
  tensor_reset_output_completion(t);
  EXPECT_EQ(tensor_check_output_completion(t, 1000, 1), NRT_TIMEOUT);
  EXPECT_EQ(tensor_check_output_completion(t, INT64_MIN, 0), NRT_SUCCESS);
  tensor_free(slice);
  tensor_free(t);
}

TEST(Completion, Waits) {
  log_watch log;
  tensor_t *t = nullptr;
  ASSERT_EQ(tensor_allocate_empty("out", &t), NRT_SUCCESS);
  for (int64_t timeout : {int64_t{-1}, INT64_MAX, int64_t{60'000'000}}) {
    tensor_reset_output_completion(t);
    call c([&] { return tensor_check_output_completion(t, timeout, 2); });
    EXPECT_TRUE(c.waits());
    tensor_output_completed(t);
    EXPECT_TRUE(c.waits());
    tensor_output_completed(t);
    ASSERT_TRUE(c.ends());
    EXPECT_EQ(c.status(), NRT_SUCCESS);
  }
  EXPECT_TRUE(log.take_errors().empty());
  tensor_free(t);
}

TEST(Completion, CancelledWaitersLeave) {
  log_watch log;
  tensor_t *t = nullptr;
  ASSERT_EQ(tensor_allocate_empty("out", &t), NRT_SUCCESS);
  call c([&] { return tensor_check_output_completion(t, -1, 1); });
  EXPECT_TRUE(c.waits());
  completion_cancel_begin();
  ASSERT_TRUE(c.ends());
  EXPECT_EQ(c.status(), NRT_CLOSED);
  EXPECT_EQ(tensor_check_output_completion(t, -1, 1), NRT_CLOSED);
  EXPECT_EQ(tensor_check_output_completion(t, -1, 0), NRT_SUCCESS);
  completion_cancel_end();
  EXPECT_EQ(tensor_check_output_completion(t, 0, 1), NRT_TIMEOUT);
  tensor_free(t);
}

// "A warning every 30 s", with a shorter interval.
TEST(Completion, NoticesWhileItWaitsForEver) {
  static std::atomic<int> warnings;
  warnings = 0;
  setenv("NEURON_RT_LOG_LEVEL", "WARN", 1);
  setenv("NEURON_RT_LOG_LOCATION", "/dev/null", 1);
  nlog_configure_from_env();
  nlog_set_hook(
      [](void *, nlog_component, nlog_level level, const char *, std::string_view text) {
        if (level == NLOG_LEVEL_WARN && text.find("waiting for 3 executions") != text.npos)
          ++warnings;
      },
      nullptr);
  completion_t counter = {};
  uint64_t seen = 99;
  std::thread device([&] {
    while (warnings < 2)
      std::this_thread::yield();
    for (int i = 0; i < 3; ++i)
      completion_add(&counter);
  });
  EXPECT_EQ(completion_wait(&counter, 3, -1, 1000, "out", &seen), NRT_SUCCESS);
  device.join();
  EXPECT_EQ(seen, 3u);
  EXPECT_GE(warnings, 2);
  nlog_set_hook(nullptr, nullptr);
  setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
  unsetenv("NEURON_RT_LOG_LOCATION");
  nlog_configure_from_env();
}
