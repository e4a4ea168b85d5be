// SPDX-License-Identifier: Apache-2.0
// Which loaded NEFF holds what: the figures of the MODEL allocators of a device (device-memory.md
// 4.2, 4.3). Whoever loads a NEFF names its allocators; here they are only counted and printed.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dmem/report_table.h"

// Names the NEFF whose memory a MODEL allocator holds, until the allocator goes. The name is
// copied. NRT_RESOURCE and one ERROR line without host memory.
NRT_STATUS dmem_allocator_set_neff(dmem_allocator_t *allocator, uint32_t neff_id, const char *name);

struct dmem_neff_name_t {
  uint32_t neff_id;
  std::string name;
};

// One moment of one HBM: its row, then each of its cores that this process uses or that holds
// something, followed by the NEFFs on it. The HBM's figures are the sums of its cores'.
struct dmem_holdings_t {
  std::vector<dmem_report_row_t> rows;
  std::vector<dmem_neff_name_t> names;  // of the NEFF rows, ascending ids
};
void dmem_device_holdings(dmem_device_t *device, const hal_arch_t *arch, uint32_t hbm,
                          dmem_holdings_t *out);

// The block of one core after a load, as one record at INFO (component TDRV). Without effect for an
// allocator that has no name.
void dmem_log_neff(dmem_allocator_t *allocator);
