// SPDX-License-Identifier: Apache-2.0
// What the files of execution share. Private to this folder.
#pragma once

#include <pthread.h>

#include "tdrv/exec.h"
#include "tdrv/exec_core.h"
#include "tdrv/exec_failure.h"

struct exec_model_t {
  exec_unit_t *unit;
  vtpb_info_shared_t *info;
  char *name;                         // without what could begin a line
  uint32_t id;                        // of its first subgraph
  program_t *programs[TDRV_MAX_LNC];  // one per subgraph
  uint32_t num_programs;              // 0: execution is not allowed on this device
  exec_model_t *next, *prev;          // in exec_unit_t::models
};

struct exec_unit_t {
  vcore_t *vcore;
  bool allowed;         // this device may execute
  uint64_t timeout_ns;  // without progress; 0: no limit
  bool full_timeout;    // a proven deadlock waits for it, too

  pthread_mutex_t lock;  // of all that follows; held for the whole of a run
  bool poisoned;
  uint32_t users;  // loaded models; the cores run while there are any
  exec_core_t cores[TDRV_MAX_LNC];
  exec_model_t *models;
  const exec_model_t *posted;  // whose images the requests name
  exec_harvest_t harvests[TDRV_MAX_LNC];
  exec_failure_t failure;  // of the run under way
};

class exec_unit_guard {
 public:
  explicit exec_unit_guard(exec_unit_t *unit) : unit_(unit) { pthread_mutex_lock(&unit_->lock); }
  ~exec_unit_guard() { pthread_mutex_unlock(&unit_->lock); }
  exec_unit_guard(const exec_unit_guard &) = delete;
  exec_unit_guard &operator=(const exec_unit_guard &) = delete;

 private:
  exec_unit_t *unit_;
};

// Tells the device what stands where on core `k`, for reports and checks. Lock held.
void exec_names_update(exec_unit_t *unit, uint32_t k);
