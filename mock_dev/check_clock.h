// SPDX-License-Identifier: Apache-2.0
// Vector clocks of the checker (check.h): how far everybody's work is known to be finished, and
// what waits learn from semaphores. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

struct mock_clock_t {
  std::vector<uint32_t> known;  // by actor; missing entries are 0
};
inline uint32_t mock_clock_of(const mock_clock_t &clock, uint32_t actor) {
  return actor < clock.known.size() ? clock.known[actor] : 0;
}
void mock_clock_raise(mock_clock_t *clock, uint32_t actor, uint32_t n);  // to at least n
void mock_clock_join(mock_clock_t *clock, const mock_clock_t &other);

// What one semaphore or event carries from those who change it to those who wait for it.
struct mock_sync_state_t {
  struct update_t {
    int64_t value;
    mock_clock_t clock;  // of this update and all before it
  };
  mock_clock_t base;              // of everything before the first update below
  std::vector<update_t> updates;  // values only rise
};
void mock_sync_raised(mock_sync_state_t *sync, const mock_clock_t &clock, int64_t value);
void mock_sync_changed(mock_sync_state_t *sync, const mock_clock_t &clock);
// What a wait for `>= value` knows: the updates up to the first that reached it.
const mock_clock_t &mock_sync_at_least(const mock_sync_state_t &sync, int64_t value);
const mock_clock_t &mock_sync_all(const mock_sync_state_t &sync);
