// SPDX-License-Identifier: Apache-2.0
// Memory handles of one device: 1, 2, 3, ... ; the one freed last is given out first.
#pragma once

#include <cstdint>

#include "uapi/neuron_shared.h"

constexpr uint32_t MOCK_HANDLE_LIMIT = NEURON_MAX_HANDLES;  // largest handle ever given out

struct mock_handle_table_t {
  uint64_t offset;  // of the slots in the state region: u32 each, slot h for handle h
  uint32_t next;    // lowest number never used
  uint32_t free_head;
  uint32_t live;
  uint32_t broken;  // the numbers ran out once: every lookup fails from then on
};

constexpr uint64_t MOCK_HANDLE_BYTES = (MOCK_HANDLE_LIMIT + 1ull) * 4;

// The memory at `offset` has to read as zero.
void mock_handle_table_init(mock_handle_table_t *table, uint64_t offset);

// A handle for chunk number `chunk` (not 0); 0 when the table is exhausted.
uint32_t mock_handle_create(mock_handle_table_t *table, uint8_t *region, uint32_t chunk);

// Chunk number, or 0.
uint32_t mock_handle_find(const mock_handle_table_t *table, uint8_t *region, uint64_t handle);

void mock_handle_remove(mock_handle_table_t *table, uint8_t *region, uint32_t handle);
