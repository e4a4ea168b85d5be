// SPDX-License-Identifier: Apache-2.0
// One engine's sequencer: fetch, waits, execution, updates (dma-and-exec.md 3, neuroncore-isa.md
// 2). Called by the thread that runs the core.
#pragma once

#include <cstdint>

#include "mock_dev/core.h"

enum mock_step_t {
  MOCK_STEP_RAN,      // one record
  MOCK_STEP_BLOCKED,  // its record waits
  MOCK_STEP_IDLE,     // halted, stopped or never started
};
mock_step_t mock_engine_step(mock_core_t *core, isa_engine_t engine);

// A record on its way through execution.
struct mock_exec_record_t {
  mock_core_t *core;
  isa_engine_t engine;
  mock_engine_t *arch;
  isa_record *record;
  uint64_t pc;
  uint64_t next;          // pc of the next record; a branch changes it
  uint64_t start;         // simulated time, ps
  uint64_t end;           // when its results are there
  project_error_t error;  // what kind of error a refusal is; initially SEQUENCER
  bool later;             // a transfer makes its updates
};

// Executes one record. nullptr: done; otherwise why not, static text.
using mock_record_fn = const char *(*)(mock_exec_record_t *x);
// The records that do not compute (engine_control.cc, engine_dma.cc); nullptr: it is none of them.
mock_record_fn mock_engine_control_find(uint8_t opcode);
const char *mock_engine_dma(mock_exec_record_t *x);

// Stops the engine at its record: error record, line in the kernel log.
void mock_engine_fault(mock_core_t *core, isa_engine_t engine, uint64_t pc,
                       const isa_record *record, project_error_t error, const char *text);

// --- engine_sync.cc: semaphores and events of the core, as its own instructions use them ---------

// One condition. `value` is the immediate or the register number.
struct mock_wait_t {
  uint8_t mode, index;
  uint32_t value;
};
// The two conditions of a record; mode 0: none.
void mock_engine_waits(const isa_record *record, mock_wait_t waits[2]);
int32_t mock_wait_value(const mock_engine_t *arch, const mock_wait_t *wait);  // to compare with
int32_t mock_wait_seen(const mock_core_t *core, const mock_wait_t *wait);     // what is there now
bool mock_wait_holds(const mock_core_t *core, const mock_engine_t *arch, const mock_wait_t *wait);
inline bool mock_wait_is_event(uint8_t mode) {
  return (mode & ~ISA_WAIT_REGISTER) >= ISA_WAIT_EVENT_SET;
}
// Both waits of a record at once; false: one of them does not hold, nothing happened.
bool mock_engine_wait(mock_core_t *core, isa_engine_t engine, const isa_record *record);

enum mock_update_phase_t { MOCK_UPDATE_READ, MOCK_UPDATE_COMPLETE, MOCK_UPDATE_BOTH };
// Updates of a record that belong to the phase. `actor` as in check.h.
void mock_engine_update(mock_core_t *core, const mock_engine_t *arch, const isa_record *record,
                        mock_update_phase_t phase, uint32_t actor, uint64_t ps);
// Changes a semaphore through one of its windows (NEURON_SEMAPHORE_*).
void mock_core_semaphore(mock_core_t *core, uint64_t window, uint32_t index, uint32_t value,
                         uint32_t actor, uint64_t ps);

// --- transfers of DMA records (engine_dma.cc) ---

// Moves the bytes of a pending transfer, then its semaphore and updates.
void mock_core_transfer_finish(mock_core_t *core, uint32_t n);
void mock_core_transfers_drop(mock_core_t *core);

// Register operands of a computing record become immediate ones in *record (engine_address.cc);
// *changed: it has some.
const char *mock_engine_resolve(const mock_engine_t *arch, isa_record *record, bool *changed);

inline void mock_count(uint64_t *counter, uint64_t n) {
  __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);  // one thread writes
}
