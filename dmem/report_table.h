// SPDX-License-Identifier: Apache-2.0
// The memory reports as text (device-memory.md 4.1-4.3). Pure functions of figures: what a running
// process holds and what a prediction says are printed by the same code. Thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dmem/accounting.h"

enum class dmem_row_kind_t : uint32_t { DEVICE, HBM, CORE, NEFF };

// One line of the table.
struct dmem_report_row_t {
  dmem_row_kind_t kind;
  uint32_t device_id;                // of DEVICE and HBM rows
  uint32_t id;                       // HBM index, core on its device, or NEFF id
  uint64_t bytes[DMEM_USAGE_COUNT];  // indexed by dma_mem_usage_type_t
};

dmem_report_row_t dmem_report_row(dmem_row_kind_t kind, uint32_t device_id, uint32_t id,
                                  const uint64_t bytes[DMEM_USAGE_COUNT]);

// True when a row of this kind has no figure for the column: tensors, shared scratchpad and
// profiler buffers belong to a core, never to a NEFF. They print as "n/a" and are in no NEFF total.
bool dmem_report_absent(dmem_row_kind_t kind, dmem_column_t column);
// Bytes of one column, and of all columns a row has. Saturate at UINT64_MAX.
uint64_t dmem_report_column(const dmem_report_row_t *row, dmem_column_t column);
uint64_t dmem_report_total(const dmem_report_row_t *row);

// The utilisation table: two lines of headings, then one line per row, each ending in a newline and
// all equally wide. The label takes 14 characters; cells follow a '|' each, 10 wide (11 for the two
// "Collectives"), their text centred. What does not fit widens its column. With `per_usage` the
// columns are the usages by key, not the documented groups.
// The "XT CC" column is part of the layout; its usage is counted under Runtime (device-memory.md
// 2.1), so that every NEFF total is the sum of the items of dmem_report_neff.
std::string dmem_report_table(std::span<const dmem_report_row_t> rows, bool per_usage);

// What one core holds after a load, and the share of the NEFF just loaded. `core` is a CORE row,
// `neff` a NEFF row. Lines end in newlines except the last; items are indented by one tab.
std::string dmem_report_neff(uint32_t device_id, const dmem_report_row_t *core,
                             const dmem_report_row_t *neff, const char *name);
