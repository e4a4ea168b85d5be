// SPDX-License-Identifier: Apache-2.0
// The runtime's instructions around a translated program (verified-facts.md G7, G8.5): set-up and
// the barrier that starts a run, the barriers and clears that end it.
#pragma once

#include "tdrv/queue_set.h"

struct wrapper_t {
  isa_engine_t engine;
  uint64_t table_cell;  // device address of the 8 bytes with the DGE table's base; 0: no table
  uint64_t done;        // where the postamble branches to
  const queue_sets_t *queues;
  uint64_t tables;           // ACT: device address of its tables' directory; 0: none
  uint64_t tables_register;  // ACT: where that goes, low word; the high one behind it
};

void wrapper_preamble(const wrapper_t *wrapper, instr_block_t *block);
void wrapper_postamble(const wrapper_t *wrapper, instr_block_t *block);
