// SPDX-License-Identifier: Apache-2.0
// What the mocked device executes of the records it knows: isa_table.h says which records there
// are, this says which of their modes run. One definition for the load of a file and for the device
// that fetches an image.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/isa.h"

// Transfers of more bytes are refused: a row count and a row size of 16 bits each, twice, would
// keep an engine busy for days.
constexpr uint64_t ISA_MODES_DMA_BYTES = 1ull << 32;
// So are transfers of more rows on either side: a row is looked up and moved by itself, and a
// transfer is not given up in the middle when a run's time is over.
constexpr uint64_t ISA_MODES_DMA_ROWS = 1ull << 24;
// Elements of a lane that are read before the first of them is written; results of a reduction that
// are kept back until all its elements were read. Longer operands may not overlap in any way.
constexpr uint64_t ISA_MODES_LANE = 2048, ISA_MODES_RESULTS = 512;

// Looks at everything that the record alone tells. Not what registers, memory or the resident
// tables hold: an operand with its address in a register is looked at when the record has been
// resolved. nullptr: it runs. Otherwise what does not, static text, and *offset (may be NULL) is
// the byte in the record. The record must have passed isa_check, in either form.
const char *isa_modes_check(const isa_record *record, uint32_t *offset);

// Whether an activation function has a form of its own, which needs no tables (neuroncore-isa.md
// 4.3).
bool isa_modes_function(uint8_t id);
