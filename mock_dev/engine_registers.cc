// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/engine_registers.h"

#include "mock_dev/core_kick.h"

namespace {

constexpr uint32_t WORD_BITS = 32;

void half_set(uint64_t *pair, bool high, uint32_t value) {
  uint64_t old = __atomic_load_n(pair, __ATOMIC_RELAXED);
  uint64_t next = high ? (old & UINT32_MAX) | static_cast<uint64_t>(value) << WORD_BITS
                       : (old & ~uint64_t{UINT32_MAX}) | value;
  __atomic_store_n(pair, next, __ATOMIC_RELAXED);
}

uint32_t half_get(const uint64_t *pair, bool high) {
  return static_cast<uint32_t>(__atomic_load_n(pair, __ATOMIC_RELAXED) >> (high ? WORD_BITS : 0));
}

void start(mock_engine_t *engine) {
  __atomic_store_n(&engine->active, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&engine->status, PROJECT_ENGINE_RUNNING, __ATOMIC_RELAXED);
  __atomic_store_n(&engine->control, 1, __ATOMIC_RELEASE);
}

}  // namespace

void mock_engine_stop(mock_engine_t *engine, project_engine_status_t status) {
  __atomic_store_n(&engine->control, 0, __ATOMIC_RELEASE);
  mock_engine_status_set(engine, status);
}

uint32_t mock_engine_register_read(const mock_device_t *device, uint32_t core, uint64_t offset) {
  const mock_engine_t *engine = &device->engines[core][offset / PROJECT_ENGINE_STRIDE];
  switch (offset % PROJECT_ENGINE_STRIDE) {
    case PROJECT_ENGINE_PC_LOW:
      return half_get(&engine->pc, false);
    case PROJECT_ENGINE_PC_HIGH:
      return half_get(&engine->pc, true);
    case PROJECT_ENGINE_CONTROL:
      return __atomic_load_n(&engine->control, __ATOMIC_ACQUIRE);
    case PROJECT_ENGINE_STATUS:
      return mock_engine_status(engine);
    case PROJECT_ENGINE_TABLES_LOW:
      return half_get(&engine->tables, false);
    case PROJECT_ENGINE_TABLES_HIGH:
      return half_get(&engine->tables, true);
    default:
      return 0;
  }
}

void mock_engine_register_write(mock_host *host, mock_device_t *device, uint32_t core,
                                uint64_t offset, uint32_t value) {
  mock_engine_t *engine = &device->engines[core][offset / PROJECT_ENGINE_STRIDE];
  switch (offset % PROJECT_ENGINE_STRIDE) {
    case PROJECT_ENGINE_PC_LOW:
      return half_set(&engine->pc, false, value);
    case PROJECT_ENGINE_PC_HIGH:
      return half_set(&engine->pc, true, value);
    case PROJECT_ENGINE_CONTROL:
      if (value == 0) {
        mock_engine_stop(engine, PROJECT_ENGINE_HALTED);
        __atomic_store_n(&engine->active, 0, __ATOMIC_RELAXED);
        return;
      }
      start(engine);
      return mock_core_kick(host, device->index, core);
    case PROJECT_ENGINE_TABLES_LOW:
      return half_set(&engine->tables, false, value);
    case PROJECT_ENGINE_TABLES_HIGH:
      return half_set(&engine->tables, true, value);
    default:
      return;  // read only, or nothing
  }
}

void mock_engine_reset(mock_host *host, mock_device_t *device, uint32_t core) {
  __atomic_fetch_add(&device->engine_resets[core], 1, __ATOMIC_ACQ_REL);
  for (mock_engine_t &engine : device->engines[core]) {
    mock_engine_stop(&engine, PROJECT_ENGINE_HALTED);
    __atomic_store_n(&engine.active, 0, __ATOMIC_RELAXED);
    mock_engine_pc_set(&engine, 0);
    __atomic_store_n(&engine.tables, 0, __ATOMIC_RELAXED);
  }
  if (device->udma_hold[core] != MOCK_UDMA_FREE)
    mock_core_kick_rings(host, device->index, core);  // lets them go
}
