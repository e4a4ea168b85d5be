// SPDX-License-Identifier: Apache-2.0
// Waits and updates (neuroncore-isa.md 2.2). Storage is the event block, where everybody else finds
// it too (semaphore.h).
#include <algorithm>

#include "mock_dev/engine.h"
#include "mock_dev/semaphore.h"
#include "mock_dev/watch.h"

namespace {

constexpr uint8_t UPDATE_ACTION = 0x0F;

uint32_t *event_cell(const mock_core_t *core, uint32_t index) {
  return reinterpret_cast<uint32_t *>(core->events + NEURON_EVENT_STATE + 4ull * index);
}

// What the wait does when it passes. False: somebody else was faster.
bool consume(mock_core_t *core, const mock_wait_t *wait) {
  uint32_t *cell = event_cell(core, wait->index);
  if (wait->mode == ISA_WAIT_EVENT_SET_CLEAR)
    return __atomic_exchange_n(cell, 0, __ATOMIC_ACQ_REL) != 0;
  if (wait->mode == ISA_WAIT_EVENT_CLEAR_SET)
    return __atomic_exchange_n(cell, 1, __ATOMIC_ACQ_REL) == 0;
  return true;
}

uint64_t reached(const mock_core_t *core, const mock_engine_t *arch, const mock_wait_t *wait) {
  if (mock_wait_is_event(wait->mode))
    return core->sim.events[wait->index];
  return mock_sim_reached(&core->sim, wait->index, wait->mode & ~ISA_WAIT_REGISTER,
                          mock_wait_value(arch, wait));
}

void event_write(mock_core_t *core, uint32_t index, uint32_t value, uint32_t actor, uint64_t ps) {
  if (core->watch != nullptr)
    core->watch->release(core->watch, actor, true, index, value != 0, value);
  core->sim.events[index] = ps;
  mock_semaphore_write(core->events, NEURON_EVENT_STATE + 4ull * index, value);
}

void update(mock_core_t *core, const mock_engine_t *arch, uint8_t mode, uint32_t index,
            uint32_t value, uint32_t actor, uint64_t ps) {
  if ((mode & ISA_UPDATE_REGISTER) != 0)
    value = arch->registers[value % PROJECT_REGISTERS];
  switch (mode & UPDATE_ACTION) {
    case ISA_UPDATE_EVENT_SET:
      return event_write(core, index, 1, actor, ps);
    case ISA_UPDATE_EVENT_CLEAR:
      return event_write(core, index, 0, actor, ps);
    case ISA_UPDATE_SEM_INC:
      return mock_core_semaphore(core, NEURON_SEMAPHORE_INCREMENT, index, 1, actor, ps);
    case ISA_UPDATE_SEM_DEC:
      return mock_core_semaphore(core, NEURON_SEMAPHORE_DECREMENT, index, 1, actor, ps);
    case ISA_UPDATE_SEM_ADD:
      return mock_core_semaphore(core, NEURON_SEMAPHORE_INCREMENT, index, value, actor, ps);
    case ISA_UPDATE_SEM_SUB:
      return mock_core_semaphore(core, NEURON_SEMAPHORE_DECREMENT, index, value, actor, ps);
    case ISA_UPDATE_SEM_WRITE:
      return mock_core_semaphore(core, NEURON_SEMAPHORE_SET, index, value, actor, ps);
    default:
      return;
  }
}

bool in_phase(uint8_t mode, mock_update_phase_t phase) {
  return phase == MOCK_UPDATE_BOTH ||
         ((mode & ISA_UPDATE_COMPLETE) != 0) == (phase == MOCK_UPDATE_COMPLETE);
}

}  // namespace

void mock_engine_waits(const isa_record *record, mock_wait_t waits[2]) {
  const isa_header &h = record->h;
  waits[0] = {h.wait_mode, h.wait_index, h.value};
  waits[1] = {};
  if (h.opcode == ISA_EVENT_SEMAPHORE) {
    const auto *a0 = reinterpret_cast<const isa_event_semaphore *>(record);
    waits[1] = {a0->wait_mode, a0->wait_index, a0->wait_value};
  }
}

int32_t mock_wait_value(const mock_engine_t *arch, const mock_wait_t *wait) {
  return static_cast<int32_t>((wait->mode & ISA_WAIT_REGISTER) != 0
                                  ? arch->registers[wait->value % PROJECT_REGISTERS]
                                  : wait->value);
}

int32_t mock_wait_seen(const mock_core_t *core, const mock_wait_t *wait) {
  uint64_t reg = mock_wait_is_event(wait->mode) ? NEURON_EVENT_STATE : NEURON_SEMAPHORE_READ;
  return static_cast<int32_t>(mock_semaphore_read(core->events, reg + 4ull * wait->index));
}

bool mock_wait_holds(const mock_core_t *core, const mock_engine_t *arch, const mock_wait_t *wait) {
  if (wait->mode == ISA_WAIT_NONE)
    return true;
  int32_t seen = mock_wait_seen(core, wait), value = mock_wait_value(arch, wait);
  switch (wait->mode & ~ISA_WAIT_REGISTER) {
    case ISA_WAIT_SEM_EQ:
      return seen == value;
    case ISA_WAIT_SEM_LT:
      return seen < value;
    case ISA_WAIT_SEM_LE:
      return seen <= value;
    case ISA_WAIT_SEM_GT:
      return seen > value;
    case ISA_WAIT_SEM_GE:
      return seen >= value;
    case ISA_WAIT_EVENT_SET:
    case ISA_WAIT_EVENT_SET_CLEAR:
      return seen != 0;
    case ISA_WAIT_EVENT_CLEAR:
    case ISA_WAIT_EVENT_CLEAR_SET:
      return seen == 0;
    default:
      return false;  // isa_check lets none through
  }
}

bool mock_engine_wait(mock_core_t *core, isa_engine_t engine, const isa_record *record) {
  const mock_engine_t *arch = &core->arch[engine];
  mock_wait_t waits[2];
  mock_engine_waits(record, waits);
  for (const mock_wait_t &wait : waits)
    if (!mock_wait_holds(core, arch, &wait))
      return false;
  for (const mock_wait_t &wait : waits) {
    if (wait.mode == ISA_WAIT_NONE)
      continue;
    if (!consume(core, &wait))
      return false;
    uint64_t *clock = &core->sim.clock[engine];
    *clock = std::max(*clock, reached(core, arch, &wait));
    if (core->watch != nullptr)
      core->watch->acquire(core->watch, engine, wait.mode & ~ISA_WAIT_REGISTER, wait.index,
                           mock_wait_value(arch, &wait));
  }
  return true;
}

void mock_core_semaphore(mock_core_t *core, uint64_t window, uint32_t index, uint32_t value,
                         uint32_t actor, uint64_t ps) {
  uint64_t reg = NEURON_SEMAPHORE_READ + 4ull * index;
  auto old = static_cast<int32_t>(mock_semaphore_read(core->events, reg));
  auto change = static_cast<int32_t>(value);
  if (core->watch != nullptr) {
    bool raised = window == NEURON_SEMAPHORE_INCREMENT && change > 0;
    int64_t next = window == NEURON_SEMAPHORE_INCREMENT   ? int64_t{old} + change
                   : window == NEURON_SEMAPHORE_DECREMENT ? int64_t{old} - change
                                                          : change;
    core->watch->release(core->watch, actor, false, index, raised, next);
  }
  mock_semaphore_write(core->events, window + 4ull * index, value);
  mock_sim_semaphore(&core->sim, index,
                     static_cast<int32_t>(mock_semaphore_read(core->events, reg)), ps);
}

void mock_engine_update(mock_core_t *core, const mock_engine_t *arch, const isa_record *record,
                        mock_update_phase_t phase, uint32_t actor, uint64_t ps) {
  const isa_header &h = record->h;
  if (h.update_mode != ISA_UPDATE_NONE && in_phase(h.update_mode, phase))
    update(core, arch, h.update_mode, h.update_index, h.value, actor, ps);
  if (h.opcode != ISA_EVENT_SEMAPHORE)
    return;
  const auto *a0 = reinterpret_cast<const isa_event_semaphore *>(record);
  if (a0->update_mode != ISA_UPDATE_NONE && in_phase(a0->update_mode, phase))
    update(core, arch, a0->update_mode, a0->update_index, a0->update_value, actor, ps);
}
