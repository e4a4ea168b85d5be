// SPDX-License-Identifier: Apache-2.0
// What is said when device memory runs out (device-memory.md 2.8). One ERROR record (rulings.md
// 27): its first line names the request, where, and what is free; the lines below it are the rest
// of the report. NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG=0 leaves the first line only.
#pragma once

#include <cstdint>

#include "dmem/dmem.h"

struct dmem_shortage_t {
  const physical_core_t *pcore;
  uint32_t channel;
  uint64_t size;
  uint64_t alignment;  // 0 = none
  dma_mem_usage_type_t usage;
  const char *hint;  // whose memory it was to be, or NULL
  // The chunk had to lie at one certain place: a block that is large enough elsewhere is no help.
  bool one_place;
  const char *remark;  // further words for the first line, or NULL
};

// Writes the report and, within the limits of dmem_dump_due, the dump files. Never fails.
void dmem_report_shortage(const dmem_shortage_t *shortage) noexcept;

// The request that last found no room on a device, for whoever has to say by how much.
struct dmem_last_shortage_t {
  uint64_t size, alignment;
  dma_mem_usage_type_t usage;
  uint32_t nc_id, channel;
  uint64_t available;  // most bytes such a request could have had, 0 when the driver did not tell
};
// False: there was none yet.
bool dmem_device_last_shortage(dmem_device_t *device, dmem_last_shortage_t *out);
