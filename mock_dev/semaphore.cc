// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/semaphore.h"

#include <algorithm>

namespace {

constexpr uint64_t WINDOW = NEURON_SEMAPHORE_SET - NEURON_SEMAPHORE_READ;
static_assert(NEURON_SEMAPHORE_INCREMENT - NEURON_SEMAPHORE_SET == WINDOW &&
              NEURON_SEMAPHORE_DECREMENT - NEURON_SEMAPHORE_INCREMENT == WINDOW &&
              NEURON_SEMAPHORE_DECREMENT + WINDOW == NEURON_EVENT_BLOCK_SIZE);

void saturating_add(uint32_t *cell, int64_t delta) {
  uint32_t old = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
  uint32_t next;
  do {
    int64_t sum = static_cast<int32_t>(old) + delta;
    next = static_cast<uint32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  } while (
      !__atomic_compare_exchange_n(cell, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

bool block_holds(uint64_t offset, uint64_t block, uint64_t *reg) {
  if (offset - block >= NEURON_EVENT_BLOCK_SIZE)
    return false;
  *reg = offset - block;
  return true;
}

}  // namespace

bool mock_semaphore_block_find(const mock_state_t *state, uint64_t offset, uint64_t *reg) {
  uint64_t first = mock_memory_core_offset(state, 0), top_sps = mock_memory_top_sp_offset(state, 0);
  if (offset < first)
    return false;
  if (offset < top_sps) {
    uint64_t window = offset - (offset - first) % NEURON_BAR0_TPB_STRIDE;
    return block_holds(offset, window + NEURON_BAR0_EVENT_OFFSET, reg);
  }
  uint64_t end = mock_memory_top_sp_offset(state, neuron_arch_counts_get(state->arch).top_sps);
  return offset < end && block_holds(offset, offset - (offset - top_sps) % NEURON_TOP_SP_SIZE, reg);
}

void mock_semaphore_write(uint8_t *block, uint64_t reg, uint32_t value) {
  // A cell of the read window, also for the windows that come after it.
  auto *cell = reinterpret_cast<uint32_t *>(
      block + (reg < NEURON_SEMAPHORE_SET ? reg : NEURON_SEMAPHORE_READ + reg % WINDOW));
  if (reg < NEURON_SEMAPHORE_READ ||
      (reg >= NEURON_SEMAPHORE_SET && reg < NEURON_SEMAPHORE_INCREMENT))
    __atomic_store_n(cell, value, __ATOMIC_RELEASE);
  else if (reg >= NEURON_SEMAPHORE_DECREMENT)
    saturating_add(cell, -static_cast<int64_t>(static_cast<int32_t>(value)));
  else if (reg >= NEURON_SEMAPHORE_INCREMENT)
    saturating_add(cell, static_cast<int32_t>(value));
}

uint32_t mock_semaphore_read(const uint8_t *block, uint64_t reg) {
  if (reg >= NEURON_SEMAPHORE_SET)
    return 0;
  return __atomic_load_n(reinterpret_cast<const uint32_t *>(block + reg), __ATOMIC_ACQUIRE);
}
