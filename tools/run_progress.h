// SPDX-License-Identifier: Apache-2.0
// What `neff run` shows while it executes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

// "running, 4 s, 1200 records", with a bar when there is more than one run. `records` NULL: a
// device that does not tell.
std::string run_progress_text(uint64_t done, uint64_t total, uint64_t seconds,
                              const uint64_t *records);

// A line on standard error, on a terminal, once a second has passed; kept up to date by a thread of
// its own, because one run may be long.
class run_progress {
 public:
  using counter = std::function<uint64_t()>;
  // `records` may be empty; it is called by that thread until the object is gone. Not `wanted`:
  // nothing is ever shown.
  run_progress(uint64_t total, bool wanted, counter records);
  run_progress(const run_progress &) = delete;
  run_progress &operator=(const run_progress &) = delete;
  ~run_progress();  // wipes the line
  void update(uint64_t done) { done_ = done; }

 private:
  void show();

  uint64_t total_;
  counter records_;
  uint64_t start_ns_;
  std::atomic<uint64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // under the mutex
  std::thread thread_;
};
