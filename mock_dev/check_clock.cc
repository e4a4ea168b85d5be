// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/check_clock.h"

#include <algorithm>

void mock_clock_raise(mock_clock_t *clock, uint32_t actor, uint32_t n) {
  if (clock->known.size() <= actor)
    clock->known.resize(actor + 1);
  clock->known[actor] = std::max(clock->known[actor], n);
}

void mock_clock_join(mock_clock_t *clock, const mock_clock_t &other) {
  if (clock->known.size() < other.known.size())
    clock->known.resize(other.known.size());
  for (size_t i = 0; i < other.known.size(); ++i)
    clock->known[i] = std::max(clock->known[i], other.known[i]);
}

void mock_sync_raised(mock_sync_state_t *sync, const mock_clock_t &clock, int64_t value) {
  mock_clock_t all = mock_sync_all(*sync);
  mock_clock_join(&all, clock);
  // One that lowers the value, by wrapping around, starts anew.
  if (!sync->updates.empty() && sync->updates.back().value >= value) {
    mock_sync_changed(sync, clock);
    return;
  }
  sync->updates.push_back({value, std::move(all)});
}

void mock_sync_changed(mock_sync_state_t *sync, const mock_clock_t &clock) {
  mock_clock_t all = mock_sync_all(*sync);
  mock_clock_join(&all, clock);
  sync->updates.clear();
  sync->base = std::move(all);
}

const mock_clock_t &mock_sync_at_least(const mock_sync_state_t &sync, int64_t value) {
  auto reached = std::partition_point(
      sync.updates.begin(), sync.updates.end(),
      [value](const mock_sync_state_t::update_t &update) { return update.value < value; });
  return reached == sync.updates.end() ? mock_sync_all(sync) : reached->clock;
}

const mock_clock_t &mock_sync_all(const mock_sync_state_t &sync) {
  return sync.updates.empty() ? sync.base : sync.updates.back().clock;
}
