// SPDX-License-Identifier: Apache-2.0
// Execution of one machine in the process that made it: run queue, threads, switches.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <vector>

#include "mock_dev/core.h"

struct mock_watcher_t;  // watch_check.h

constexpr uint32_t MOCK_EXEC_MAX_THREADS = 64;

struct mock_exec_t {
  // Guards everything but the cores. Innermost of all locks: nothing is called with it held.
  pthread_mutex_t lock;
  pthread_cond_t work;  // threads of the pool
  pthread_cond_t done;  // callers of mock_core_wait
  uint32_t process;     // fork generation it was made in

  mock_exec_options_t options;
  uint32_t checks;      // atomic, written under the lock: the options ask for checks
  uint64_t generation;  // of the options, trace and names
  mock_exec_event_fn trace;
  void *trace_user;
  mock_watcher_t *watcher;                 // checks the next runs; nullptr: nobody
  std::vector<mock_watcher_t *> watchers;  // all ever made: cores may still use an older one

  mock_core_t *first, *last;  // run queue
  uint32_t queued, busy;      // cores in it; cores that a thread runs
  uint32_t wanted;            // queued cores that a thread of the pool shall take at once
  uint32_t waiters;
  uint32_t asleep;     // threads without a core
  uint32_t lingering;  // of these, how many look at the queue every now and then
  uint32_t stop;       // atomic
  pthread_t threads[MOCK_EXEC_MAX_THREADS];
  uint32_t thread_count, thread_limit;

  uint32_t cores;     // per device
  mock_core_t *core;  // of all devices
  uint64_t core_bytes;
};

// The lock, for a scope.
struct mock_exec_hold_t {
  explicit mock_exec_hold_t(mock_exec_t *e) : exec(e) { pthread_mutex_lock(&exec->lock); }
  ~mock_exec_hold_t() { pthread_mutex_unlock(&exec->lock); }
  mock_exec_hold_t(const mock_exec_hold_t &) = delete;
  mock_exec_hold_t &operator=(const mock_exec_hold_t &) = delete;
  mock_exec_t *exec;
};

// --- between exec.cc and core_pool.cc ---

// A number that differs between a process and its children.
uint32_t mock_fork_generation(void);
// Ends the threads, and what they wait with.
void mock_exec_stop(mock_exec_t *exec);
// First use of a core. Lock held.
void mock_core_init(mock_exec_t *exec, mock_core_t *core, mock_host *host, uint32_t device,
                    uint32_t index);
