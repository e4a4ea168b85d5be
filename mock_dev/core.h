// SPDX-License-Identifier: Apache-2.0
// The run state of one core: what this process keeps beside the architectural state of its engines
// (state.h). Owned by the thread that runs the core; only `run`, `next` and `counts` are looked at
// by others.
#pragma once

#include <cstdint>

#include "isa/isa_table.h"
#include "mock_dev/act.h"
#include "mock_dev/compute.h"
#include "mock_dev/core_names.h"
#include "mock_dev/dge.h"
#include "mock_dev/exec.h"
#include "mock_dev/host.h"
#include "mock_dev/pe.h"
#include "mock_dev/sim_time.h"
#include "mock_dev/udma.h"

struct mock_watch_t;  // for the race checker and strict mode (watch.h)

enum mock_core_run_t : uint32_t {
  MOCK_RUN_NONE,    // no thread has it, nobody knows of work
  MOCK_RUN_QUEUED,  // in the run queue
  MOCK_RUN_BUSY,    // a thread has it
  MOCK_RUN_AGAIN,   // the same, and something has changed since it looked
};

// Transfers of DMA records that may be under way at once; one more waits for its turn.
constexpr uint32_t MOCK_CORE_TRANSFERS = 128;

// A transfer that has been issued and not moved.
struct mock_pending_t {
  mock_transfer_t transfer;
  isa_record record;
  uint64_t pc;
  uint64_t issued, done;  // simulated time, ps
  bool used;
};

// Records of an engine that are remembered as checked.
constexpr uint32_t MOCK_ENGINE_CHECKED = 256;

// An engine as this process runs it.
struct mock_engine_run_t {
  const uint8_t *code;  // fetch cursor: host pointer to device address code_begin
  uint64_t code_begin, code_end;
  bool blocked;          // its record waits, nothing has changed since
  uint64_t pause_until;  // CLOCK_MONOTONIC in ns; 0: no pause
  const char *fault;     // why it stopped, static text
  uint64_t fault_pc;
  isa_record fault_record;
  isa_record checked[MOCK_ENGINE_CHECKED];  // by address; all bytes of those that were right
};

// Whose turn it is without a seed.
struct mock_turn_t {
  uint32_t engine;
  uint32_t records;  // of the turn so far
  uint32_t still;    // engines in a row that have not moved
};

struct mock_core_t {
  mock_host *host;
  mock_device_t *device;
  uint32_t index;       // of the core
  uint8_t *window;      // 64 MiB: SBUF, PSUM, events
  uint8_t *events;      // the event block in it
  mock_engine_t *arch;  // ISA_ENGINE_COUNT of them, shared state
  uint32_t sbuf_bytes;  // of a partition

  uint32_t run;       // mock_core_run_t; atomic
  mock_core_t *next;  // in the run queue
  mock_core_t *previous;

  mock_exec_options_t options;
  uint64_t options_taken;  // generation
  uint64_t resets;         // engine_resets as last seen
  uint64_t rng;
  uint64_t stop_at;          // CLOCK_MONOTONIC in ns: give the core back
  bool given_back;           // in the middle, because its time was over
  uint32_t until_look;       // steps until the clock is looked at
  const uint32_t *stop_all;  // the machine goes away

  mock_turn_t turn;
  mock_engine_run_t engines[ISA_ENGINE_COUNT];
  mock_pe_t pe;
  mock_act_t act;
  mock_watch_t *watch;  // nullptr: nobody watches
  mock_exec_event_fn trace;
  void *trace_user;

  mock_core_names_t names;  // under the lock of the machine's execution

  bool held;          // its DMA engines wait for this scheduler
  uint32_t rings;     // atomic: they may have something to do
  uint32_t actor;     // of what is being done, as in watch.h
  uint64_t now;       // simulated time of what is being done, ps
  uint64_t doorbell;  // of the last scalar store
  uint64_t ring_clock[NEURON_DMA_ENGINES_PER_CORE];
  mock_udma_ref_t ready[MOCK_UDMA_CORE_QUEUES];

  uint32_t pending_count;
  mock_pending_t pending[MOCK_CORE_TRANSFERS];

  mock_exec_counts_t counts;
  mock_sim_t sim;
};

enum mock_core_result_t { MOCK_CORE_QUIET, MOCK_CORE_TIME_OVER };

// Runs the engines until nothing can move or CLOCK_MONOTONIC reaches stop_at. The caller has set
// `run` to BUSY.
mock_core_result_t mock_core_run(mock_core_t *core, uint64_t stop_at);

// A run is under way: an engine has sent START and not END.
bool mock_core_active(const mock_device_t *device, uint32_t core);
