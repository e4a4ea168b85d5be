// SPDX-License-Identifier: Apache-2.0
// The files written when device memory runs out (device-memory.md 2.8), in the directory
// NEURON_RT_OOM_DUMP_DIRECTORY:
//   nrt_mem_log_device_<d>_<hex>.csv            recent allocations and releases of this process
//   neuron_mem_log_device_<d>_hbm_<h>_<hex>.csv the driver's chunks, all processes
//   neuron_mem_table_device_<d>_hbm_<h>.log     the table of the report, replaced each time
// <hex> is the Unix time in seconds; _<pid> follows it when that name is taken.
#pragma once

#include <cstdint>
#include <string>

#include "dmem/pcore.h"

// Programs that meet failed allocations in a loop must not fill the disk: per device and process
// one set of files per second, and no more than this many.
constexpr uint32_t DMEM_DUMP_MAX_SETS = 16;

struct dmem_dump_limit_t {
  uint64_t last_second;
  uint32_t sets;
};
// True, and counted, when a set may be written at this time.
bool dmem_dump_due(dmem_dump_limit_t *limit, uint64_t second);

// Writes a set when one is due. `table` is what goes into the table file. Returns the line of the
// report that names the files, or says why there are none. A directory or file that cannot be
// written costs one WARN line, and that line says so, too.
std::string dmem_dump_write(const physical_core_t *pcore, uint32_t channel,
                            const std::string &table);
