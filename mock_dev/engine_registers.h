// SPDX-License-Identifier: Apache-2.0
// The registers by which an engine is set going (isa/project.h), from any thread.
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

// One register, `offset` in the block of a core and a multiple of 4.
uint32_t mock_engine_register_read(const mock_device_t *device, uint32_t core, uint64_t offset);
// Writing CONTROL makes the core runnable, or halts the engine before its next record.
void mock_engine_register_write(mock_host *host, mock_device_t *device, uint32_t core,
                                uint64_t offset, uint32_t value);

// All engines of a core halted, registers zero, what was under way forgotten.
// DMA lock held.
void mock_engine_reset(mock_host *host, mock_device_t *device, uint32_t core);

inline bool mock_engine_enabled(const mock_engine_t *engine) {
  return __atomic_load_n(&engine->control, __ATOMIC_ACQUIRE) != 0;
}
// A record that was being executed when the engine was halted may have left another status.
inline uint32_t mock_engine_status(const mock_engine_t *engine) {
  uint32_t status = __atomic_load_n(&engine->status, __ATOMIC_ACQUIRE);
  return mock_engine_enabled(engine) || status == PROJECT_ENGINE_FAULTED ? status
                                                                         : PROJECT_ENGINE_HALTED;
}
inline uint64_t mock_engine_pc(const mock_engine_t *engine) {
  return __atomic_load_n(&engine->pc, __ATOMIC_RELAXED);
}
inline void mock_engine_pc_set(mock_engine_t *engine, uint64_t pc) {
  __atomic_store_n(&engine->pc, pc, __ATOMIC_RELAXED);
}
inline void mock_engine_status_set(mock_engine_t *engine, project_engine_status_t status) {
  if (__atomic_load_n(&engine->status, __ATOMIC_RELAXED) != status)
    __atomic_store_n(&engine->status, status, __ATOMIC_RELEASE);
}
// Stops it, for a reason.
void mock_engine_stop(mock_engine_t *engine, project_engine_status_t status);
