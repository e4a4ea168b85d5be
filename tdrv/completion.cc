// SPDX-License-Identifier: Apache-2.0
#include "tdrv/completion.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/nlog.h"

namespace {

using clock_type = std::chrono::steady_clock;

struct shared_t {
  std::mutex lock;
  std::condition_variable changed;
  uint32_t cancelled = 0;  // begun and not ended
};

// Never destroyed: threads may wait while the process ends.
shared_t &shared() {
  static shared_t *state = new shared_t;
  return *state;
}

// `from` plus microseconds, at most the end of time.
clock_type::time_point later(clock_type::time_point from, int64_t microseconds) {
  auto room =
      std::chrono::duration_cast<std::chrono::microseconds>(clock_type::time_point::max() - from);
  return microseconds >= room.count() ? clock_type::time_point::max()
                                      : from + std::chrono::microseconds(microseconds);
}

}  // namespace

void completion_add(completion_t *completion) {
  shared_t &s = shared();
  std::lock_guard guard(s.lock);
  ++completion->count;
  s.changed.notify_all();
}

void completion_reset(completion_t *completion) {
  std::lock_guard guard(shared().lock);
  completion->count = 0;
}

NRT_STATUS completion_wait(const completion_t *completion, uint64_t expected, int64_t timeout,
                           int64_t notice, const char *name, uint64_t *seen) {
  shared_t &s = shared();
  std::unique_lock guard(s.lock);
  auto settled = [&] { return completion->count >= expected || s.cancelled != 0; };
  auto start = clock_type::now();
  if (timeout >= 0) {
    s.changed.wait_until(guard, later(start, timeout), settled);
  } else {
    for (auto next = later(start, notice); !s.changed.wait_until(guard, next, settled);
         next = later(next, notice)) {
      uint64_t count = completion->count;
      guard.unlock();  // the log is slow
      NLOG_WARN(NLOG_TDRV, "tensor {}: still waiting for {} executions, {} completed", name,
                expected, count);
      guard.lock();
    }
  }
  *seen = completion->count;
  if (*seen >= expected)
    return NRT_SUCCESS;
  return s.cancelled != 0 ? NRT_CLOSED : NRT_TIMEOUT;
}

void completion_cancel_begin() {
  shared_t &s = shared();
  std::lock_guard guard(s.lock);
  ++s.cancelled;
  s.changed.notify_all();
}

void completion_cancel_end() {
  std::lock_guard guard(shared().lock);
  --shared().cancelled;
}
