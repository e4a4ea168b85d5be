// SPDX-License-Identifier: Apache-2.0
// Bytes held per HBM, per core and per usage type (device-memory.md 2.7). Sizes are those passed to
// the driver, not rounded to pages. Host memory does not count.
#pragma once

#include <cstdint>

#include "dmem/dmem.h"

struct dmem_usage_table_t {
  uint64_t hbm_total[HAL_MAX_HBM];
  uint64_t by_usage[HAL_MAX_CORES][DMEM_USAGE_COUNT];
  uint64_t core_total[HAL_MAX_CORES];
};

// nullptr after one ERROR line: no memory, or a malformed NEURON_RT_DEBUG_MEMLOG_MAX_SIZE.
// Reads NEURON_RT_DEBUG_MEMLOG_MAX_SIZE. NRT_INVALID: malformed; NRT_RESOURCE: host memory. One
// ERROR line.
NRT_STATUS dmem_device_create(uint32_t device_id, dmem_device_t **out);
void dmem_device_destroy(dmem_device_t *device);
// A consistent copy of all counters.
void dmem_device_snapshot(dmem_device_t *device, dmem_usage_table_t *out);

const char *dmem_usage_name(
    dma_mem_usage_type_t usage);  // "weight", "tensors", "shared scratchpad"...
// Driver category for a usage at a location; false when the usage is not permitted there.
bool dmem_usage_category(dma_mem_usage_type_t usage, dma_mem_location_t location,
                         uint32_t *category);
// "28.562KB" style (device-memory.md 4.1).
void dmem_format_size(uint64_t bytes, char out[32]);
