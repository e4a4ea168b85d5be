// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/sim_time.h"

#include <algorithm>
#include <iterator>

void mock_sim_align(mock_sim_t *sim) {
  uint64_t latest = *std::max_element(std::begin(sim->clock), std::end(sim->clock));
  std::fill(std::begin(sim->clock), std::end(sim->clock), latest);
}

void mock_sim_semaphore(mock_sim_t *sim, uint32_t index, int32_t value, uint64_t ps) {
  mock_sim_counter_t *c = &sim->semaphores[index];
  if (c->count != 0 && value <= c->ring[(c->count - 1) % MOCK_SIM_HISTORY].value)
    c->count = 0;
  // A transfer that was issued later may end earlier: the value was there when both had ended.
  uint64_t last = c->count == 0 ? 0 : c->ring[(c->count - 1) % MOCK_SIM_HISTORY].ps;
  c->ring[c->count % MOCK_SIM_HISTORY] = {std::max(ps, last), value};
  c->count++;
}

uint64_t mock_sim_reached(const mock_sim_t *sim, uint32_t index, uint8_t mode, int32_t value) {
  const mock_sim_counter_t *c = &sim->semaphores[index];
  if (c->count == 0)
    return 0;
  uint32_t last = c->count - 1;
  if (mode != ISA_WAIT_SEM_GE && mode != ISA_WAIT_SEM_GT)
    return c->ring[last % MOCK_SIM_HISTORY].ps;
  // The first entry that satisfies it.
  uint32_t low = c->count - std::min(c->count, MOCK_SIM_HISTORY), high = last;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int32_t at = c->ring[middle % MOCK_SIM_HISTORY].value;
    if (mode == ISA_WAIT_SEM_GE ? at >= value : at > value)
      high = middle;
    else
      low = middle + 1;
  }
  return c->ring[low % MOCK_SIM_HISTORY].ps;
}
