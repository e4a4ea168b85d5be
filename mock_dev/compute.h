// SPDX-License-Identifier: Apache-2.0
// Records that compute, as pure functions on the memory of one core: no scheduling, no waits, no
// updates, no device memory. The sequencer has turned register operands into immediate ones,
// checked the record (isa_check, isa_modes_check) and found every operand inside SBUF or PSUM
// (isa_operand_range).
#pragma once

#include <cstdint>

#include "isa/isa.h"
#include "isa/project.h"

struct mock_pe_t;   // the PE array: its stationary operand (pe.h)
struct mock_act_t;  // the resident set of activation tables (act.h)

struct mock_compute_t {
  uint8_t *window;  // of the core: an engine address without marker bits is an offset in here
  mock_pe_t *pe;
  mock_act_t *act;
  const uint32_t *registers;  // of the engine, PROJECT_REGISTERS of them
  isa_engine_t engine;
  bool exact_functions;  // activation functions in double precision instead of from the tables
};

// Executes one record. nullptr: done. Otherwise why it cannot be, static text, nothing written.
using mock_compute_fn = const char *(*)(const mock_compute_t *compute, const isa_record *record);

// nullptr: this opcode does not compute (or is not implemented).
mock_compute_fn mock_compute_find(uint8_t opcode);
