// SPDX-License-Identifier: Apache-2.0
// Running programs: the registers that set the engines of a core going, waiting for a core, and why
// it does not go on. All functions: 0 or -errno, no log; -E2BIG: no such core.
#pragma once

#include "hal/hal.h"

// BAR0 offsets, for hal_registers_read and hal_registers_write. All ones: no such core.
// Register PROJECT_ENGINE_* of an engine's sequencer (isa/project.h).
uint64_t hal_engine_register(const hal_device_t *device, uint32_t nc_id, uint32_t engine,
                             uint64_t reg);
// Head of a hardware notification queue: bytes the host has consumed up to.
uint64_t hal_notification_head_register(const hal_device_t *device, uint32_t nc_id, uint32_t queue);
// Interrupt causes of the core's notification block (PROJECT_NQ_CAUSE).
uint64_t hal_notification_cause_register(const hal_device_t *device, uint32_t nc_id);

// First DMA engine of a core and how many it has.
void hal_core_dma_engines(const hal_device_t *device, uint32_t nc_id, uint32_t *first,
                          uint32_t *count);

// Forgets what is in the queues that programs use (HAL_UDMA_STATIC_QUEUES of each of the core's DMA
// engines), so that nothing of a failed run moves later.
int hal_core_dma_reset(hal_device_t *device, uint32_t nc_id);

enum hal_core_state_t {
  HAL_CORE_IDLE,     // no run is under way
  HAL_CORE_BUSY,     // something may still move: look again
  HAL_CORE_STALLED,  // a run is under way and nothing on the machine can move
};
// Waits until the core is idle or stalled, at most `timeout_ns`. A device cannot tell: there this
// is a short sleep and the answer BUSY. Allocates nothing.
int hal_core_wait(hal_device_t *device, uint32_t nc_id, uint64_t timeout_ns,
                  hal_core_state_t *state);
// A number that changes as long as the core gets anything done. 0 where a device cannot tell.
uint64_t hal_core_progress(hal_device_t *device, uint32_t nc_id);
// How long a device would have needed so far for what the core has executed, counted on and on. 0
// where a device cannot tell.
uint64_t hal_core_time_ns(hal_device_t *device, uint32_t nc_id);
// Why a stalled core cannot go on, one line per engine. Returns the length, 0 where nobody knows;
// at most `size` bytes with the NUL are written.
size_t hal_core_report(hal_device_t *device, uint32_t nc_id, char *text, size_t size);

// What the runtime calls device addresses of a core, for reports and for finding accesses outside
// a variable. Replaces all of the core's; the texts are copied. Nothing to do for a real device.
struct hal_name_t {
  uint64_t address, size;
  const char *name;
  uint32_t first_slot;  // records: slot in the engine's stream of the one at `address`
  bool records;
  bool undefined;  // holds nothing of use when a run begins
};
// True: accesses of runs are compared with these names, so that they have to follow a tensor.
bool hal_exec_checks(const hal_device_t *device);
// What those checks have found on the machine since the last call, one finding per call. Its
// length, at most `size` bytes with the NUL are written; -EAGAIN: nothing more.
int hal_exec_finding(hal_device_t *device, char *text, size_t size);
int hal_exec_names(hal_device_t *device, uint32_t nc_id, const hal_name_t *names, size_t count);
