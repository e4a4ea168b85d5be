// SPDX-License-Identifier: Apache-2.0
// Tables of live handles. A handle given to a client is a number in a pointer's clothes: it is
// never followed, only looked up, and never used twice, so a stale handle finds nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

// Unique over all tables, so that a handle of another kind is unknown too. Sixteen apart and above
// the zero page: they look like pointers to code that prints or sorts them.
inline uintptr_t handle_next() {
  static std::atomic<uintptr_t> next{0x4e5254000000};
  return next.fetch_add(16, std::memory_order_relaxed);
}

template <typename T>
class handle_table {
 public:
  void *insert(std::shared_ptr<T> object) {
    uintptr_t handle = handle_next();
    put_back(handle, std::move(object));
    return reinterpret_cast<void *>(handle);
  }

  // Under the handle it had before (an undone removal).
  void put_back(uintptr_t handle, std::shared_ptr<T> object) {
    std::unique_lock lock(mutex_);
    live_.emplace(handle, std::move(object));
  }

  // nullptr: no such handle. The result keeps the object alive when another thread removes it.
  std::shared_ptr<T> find(const void *handle) const {
    std::shared_lock lock(mutex_);
    auto it = live_.find(reinterpret_cast<uintptr_t>(handle));
    return it == live_.end() ? nullptr : it->second;
  }

  std::shared_ptr<T> remove(const void *handle) {
    std::unique_lock lock(mutex_);
    auto it = live_.find(reinterpret_cast<uintptr_t>(handle));
    if (it == live_.end())
      return nullptr;
    std::shared_ptr<T> object = std::move(it->second);
    live_.erase(it);
    return object;
  }

  void clear() {
    std::unordered_map<uintptr_t, std::shared_ptr<T>> gone;
    std::unique_lock lock(mutex_);
    gone.swap(live_);
    lock.unlock();  // objects die outside the lock
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<uintptr_t, std::shared_ptr<T>> live_;
};
