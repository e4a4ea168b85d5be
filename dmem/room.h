// SPDX-License-Identifier: Apache-2.0
// What the driver itself counts on one HBM, all processes included: chunks, and the free bytes
// between them. A total alone does not explain why a request fails, because a chunk lies in one of
// two pools and in one piece (device-memory.md 1.3, 7.15).
#pragma once

#include <cstdint>

#include "dmem/pcore.h"

struct dmem_pool_room_t {
  uint64_t free_bytes;
  uint64_t largest_block;
};

struct dmem_room_t {
  dmem_pool_room_t main, small;
};

// All chunks of the HBM, ascending; nullptr when they cannot be had. The caller frees the array.
hal_chunk_t *dmem_room_chunks(const physical_core_t *pcore, uint32_t channel, uint32_t *count);
// False when the driver does not tell. No log line.
bool dmem_room_measure(const physical_core_t *pcore, uint32_t channel, dmem_room_t *out);

// The most bytes that one chunk with `alignment` (0 = none) could have now. `contiguous`: a page of
// the contiguous scratchpad, which lies directly below the last one. False as above.
bool dmem_room_available(const physical_core_t *pcore, uint32_t channel, uint64_t alignment,
                         bool contiguous, uint64_t *out);
