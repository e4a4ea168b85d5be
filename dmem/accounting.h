// SPDX-License-Identifier: Apache-2.0
// Bytes held per HBM, per core and per usage type (device-memory.md 2.7). Sizes are those passed to
// the driver, not rounded to pages. Host memory does not count.
#pragma once

#include <cstdint>
#include <string>

#include "dmem/dmem.h"

struct dmem_usage_table_t {
  uint64_t hbm_total[HAL_MAX_HBM];
  uint64_t by_usage[HAL_MAX_CORES][DMEM_USAGE_COUNT];
  uint64_t core_total[HAL_MAX_CORES];
};

// Reads NEURON_RT_DEBUG_MEMLOG_MAX_SIZE, NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG,
// NEURON_RT_DBG_VERBOSE_DEV_MEM and NEURON_RT_OOM_DUMP_DIRECTORY. NRT_INVALID: malformed;
// NRT_RESOURCE: host memory. One ERROR line; *out is then nullptr.
NRT_STATUS dmem_device_create(uint32_t device_id, dmem_device_t **out);
void dmem_device_destroy(dmem_device_t *device);
// Physical cores per logical core of this process, for the reports.
void dmem_device_set_lnc(dmem_device_t *device, uint32_t lnc);
// A consistent copy of all counters.
void dmem_device_snapshot(dmem_device_t *device, dmem_usage_table_t *out);

// Columns of the memory reports, numbered as in device-memory.md 2.1.
enum class dmem_column_t : uint32_t {
  MODEL_CODE = 0,
  MODEL_CONSTANTS = 1,
  TENSORS = 2,
  SHARED_SCRATCHPAD = 3,
  SCRATCHPAD = 4,
  RUNTIME = 5,
  DMA_RINGS_IO = 6,
  DMA_RINGS_SPILL = 7,
  DMA_RINGS_COLLECTIVES = 8,
  DMA_RINGS_RUNTIME = 9,
  COLLECTIVES = 10,
  PROFILER_BUFFERS = 11,
};
constexpr uint32_t DMEM_COLUMN_COUNT = 12;

// The word log lines use: "weight", "tensors", "shared scratchpad"...
const char *dmem_usage_name(dma_mem_usage_type_t usage);
// The class as a key of machine-readable output: "weight", "tensor", "dma_rings_io"...
// (neff-format.md 5.1). "unknown" beyond the last usage.
const char *dmem_usage_key(dma_mem_usage_type_t usage);
// The column of the reports that a usage is counted in; RUNTIME for an unknown one.
dmem_column_t dmem_usage_column(dma_mem_usage_type_t usage);
// Driver category for a usage at a location; false when the usage is not permitted there.
bool dmem_usage_category(dma_mem_usage_type_t usage, dma_mem_location_t location,
                         uint32_t *category);
// "28.562KB" style (device-memory.md 4.1).
std::string dmem_size_text(uint64_t bytes);
