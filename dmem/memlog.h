// SPDX-License-Identifier: Apache-2.0
// Ring of the most recent allocations and frees of a device (device-memory.md 2.7). Its length is
// NEURON_RT_DEBUG_MEMLOG_MAX_SIZE events (default 1048576, 0 = off); the oldest are overwritten.
#pragma once

#include <cstdint>

#include "dmem/dmem.h"

struct dmem_device_t;

enum class dmem_event_action_t : uint32_t { ALLOC = 1, FREE = 2 };

struct dmem_event_t {
  dmem_event_action_t action;
  dma_mem_location_t location;
  dma_mem_usage_type_t usage;
  uint32_t hbm_index;
  uint32_t nc_id;
  char hint[28];  // cut where longer
  uint64_t size;  // bytes asked of the driver
  uint64_t pa;
  uint64_t align_offset;
  uint64_t hbm_total;  // of that HBM, after the event
};

// Copies up to `capacity` events, oldest first, and returns how many the ring holds.
uint64_t dmem_memlog_copy(dmem_device_t *device, dmem_event_t *out, uint64_t capacity);

// Events that are no longer in the ring.
uint64_t dmem_memlog_dropped(dmem_device_t *device);
