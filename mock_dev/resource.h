// SPDX-License-Identifier: Apache-2.0
// The special table: register ranges and whole channels that can be mapped (uapi.md 8).
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

struct mock_resource_t {
  uint32_t block;   // NEURON_MMAP_BLOCK_*
  uint64_t cookie;  // mmap offset
  uint64_t length;
  uint64_t memory_offset;  // in the device's memory file
  bool read_only;
};

// False: the chip has no such entry.
bool mock_resource_get(const mock_state_t *state, uint32_t block, uint32_t block_id,
                       uint32_t resource, mock_resource_t *out);

// The entry with exactly this cookie and length.
bool mock_resource_find(const mock_state_t *state, uint64_t cookie, uint64_t length,
                        mock_resource_t *out);
