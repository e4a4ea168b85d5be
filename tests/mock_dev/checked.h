// SPDX-License-Identifier: Apache-2.0
// Records reach what executes them through the sequencer's checks only.
#pragma once

#include "isa/isa_modes.h"
#include "isa/isa_table.h"

// Why the sequencer stops at a record before anything executes it; nullptr: it does not.
inline const char *stopped_before(const isa_record *record, isa_engine_t engine) {
  const char *why = isa_check(record, engine, ISA_FORM_IMAGE, nullptr);
  return why != nullptr ? why : isa_modes_check(record, nullptr);
}
