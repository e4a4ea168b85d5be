// SPDX-License-Identifier: Apache-2.0
// One physical core as execution sees it: its resident loops and request in device memory, its
// notification queues, its engines running. Private to this folder; the execution unit's lock
// (exec.h) covers all calls but those on an idle core's own set-up.
#pragma once

#include "tdrv/nqueue.h"
#include "tdrv/program.h"
#include "tdrv/resident.h"
#include "tdrv/tdrv.h"

struct exec_core_t {
  tpb_t *tpb;
  bool running;  // engines are in their loops, or in a program
  dmem_t *block;
  resident_block_t *mapped;  // the block
  program_core_t core;
  nqueue_t status[ISA_ENGINE_COUNT];
  nqueue_t errors;
};

// Device memory, queues, engines set going at the heads of their loops. Everything is undone on
// failure. NRT_RESOURCE: memory; NRT_FAILURE.
NRT_STATUS exec_core_start(exec_core_t *core, tpb_t *tpb);
// Halts the engines and gives everything back. A core that never started is fine.
void exec_core_stop(exec_core_t *core);

// Writes the request: where each engine's image is. No driver request.
void exec_core_post(exec_core_t *core, const uint64_t images[ISA_ENGINE_COUNT]);
// Lets the core run what was posted. One driver request. 0 or -errno.
int exec_core_doorbell(exec_core_t *core);

// The engines stop where they are. 0 or -errno.
int exec_core_halt(exec_core_t *core);
// After a failed run: engines halted, semaphores, events and DMA queues back to rest, notifications
// read to their end, engines at the heads of their loops. NRT_FAILURE with its line: it cannot be
// done.
NRT_STATUS exec_core_restart(exec_core_t *core);

// What one run of the core has reported so far.
enum exec_engine_state_t : uint8_t { EXEC_START_PENDING, EXEC_END_PENDING, EXEC_COMPLETE };
struct exec_harvest_t {
  exec_engine_state_t engines[ISA_ENGINE_COUNT];
  uint32_t complete;  // engines
  uint64_t records;   // read
  uint64_t begin_ns;  // hal_core_time_ns before the run
  bool overflow;      // a record said that later ones are lost
  bool out_of_order;  // START or END when it was not due
  uint32_t out_of_order_engine;
};
void exec_core_harvest(exec_core_t *core, exec_harvest_t *harvest);
// Device address of an engine's next record. 0 or -errno.
int exec_core_pc(const exec_core_t *core, uint32_t engine, uint64_t *pc);
// Tells the hardware how far the queues have been read: one driver request. 0 or -errno.
int exec_core_write_heads(exec_core_t *core);

// Whether the core's notification hardware has lost records since last asked.
bool exec_core_take_overflow(exec_core_t *core);
// A DMA engine of the core that has stopped, -1: none.
int exec_core_aborted_dma(exec_core_t *core);
