// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/notify.h"

#include <cstring>

#include "mock_dev/chunk.h"
#include "mock_dev/decode.h"
#include "mock_dev/fault.h"
#include "mock_dev/notification.h"

namespace {

constexpr uint32_t RECORD = sizeof(project_notification_t);
constexpr uint8_t HARDWARE_OVERFLOW = 0x40;

// Host pointer to a record of the ring; nullptr: no memory there. Device lock held.
uint8_t *slot_bytes(mock_host *host, mock_device_t *device, const mock_nq_registers_t *q,
                    uint32_t offset) {
  uint64_t pa = (static_cast<uint64_t>(q->address_high) << 32 | q->address_low) + offset;
  mock_target_t target;
  if (!mock_decode(host, device->index, pa, RECORD, &target) ||
      (target.kind != MOCK_TARGET_HBM && target.kind != MOCK_TARGET_HOST) ||
      target.device != device->index)
    return nullptr;
  uint32_t n = mock_chunk_by_address(host, device, pa);
  if (n != 0) {
    mock_chunk_t *chunk = mock_chunk_at(host, device, n);
    mock_chunk_touch(device, chunk, pa - chunk->pa, RECORD);
  } else if (target.kind == MOCK_TARGET_HOST) {
    return nullptr;
  } else {
    device->exposed = 1;
  }
  uint8_t *bytes = mock_memory_bytes(host, target.place.memory);
  return bytes == nullptr ? nullptr : bytes + target.place.offset;
}

// The half with the phase bit last: whoever polls for it then sees all of the record.
void record_write(uint8_t *slot, const project_notification_t *record) {
  uint64_t half[2];
  memcpy(half, record, RECORD);
  auto *to = reinterpret_cast<uint64_t *>(slot);
  __atomic_store_n(&to[1], half[1], __ATOMIC_RELAXED);
  __atomic_store_n(&to[0], half[0], __ATOMIC_RELEASE);
}

void overflow(mock_host *host, mock_device_t *device, uint32_t unit, const mock_nq_registers_t *q) {
  device->nq_cause[unit] |= PROJECT_NQ_CAUSE_OVERFLOW;
  uint32_t last = (q->tail == 0 ? q->size : q->tail) - RECORD;
  uint8_t *slot = slot_bytes(host, device, q, last);
  if (slot != nullptr)
    __atomic_fetch_or(slot + offsetof(project_notification_t, type_flags), HARDWARE_OVERFLOW,
                      __ATOMIC_RELEASE);
}

}  // namespace

void mock_notify_pc(project_notification_t *record, uint64_t pc, uint8_t hint) {
  uint64_t number = pc / ISA_RECORD_BYTES;
  record->pc_low = static_cast<uint16_t>(number);
  record->pc_high_hint = static_cast<uint8_t>((number >> 16 & 0xF) | hint << 4);
}

void mock_notify(mock_host *host, mock_device_t *device, uint32_t core, uint32_t queue,
                 project_notification_t record) {
  if (queue >= NEURON_NQ_QUEUES_PER_TYPE)
    return;
  if (mock_fault_event(host, MOCK_FAULT_NOTIFICATION))
    return;
  bool full = mock_fault_event(host, MOCK_FAULT_NQ_OVERFLOW);
  uint32_t unit = mock_nq_unit_core(core);
  mock_guard_t guard(&device->lock);
  mock_nq_registers_t *q = &device->nq_registers[unit][queue];
  if (q->size < RECORD || q->size % RECORD != 0 || q->tail >= q->size)
    return;
  uint32_t next = q->tail + RECORD == q->size ? 0 : q->tail + RECORD;
  if (full || next == q->head)
    return overflow(host, device, unit, q);
  uint8_t *slot = slot_bytes(host, device, q, q->tail);
  if (slot == nullptr || reinterpret_cast<uintptr_t>(slot) % sizeof(uint64_t) != 0)
    return;
  record.type_flags = static_cast<uint8_t>((record.type_flags & ~PROJECT_NOTIFY_PHASE) |
                                           (q->lap % 2 == 0 ? PROJECT_NOTIFY_PHASE : 0));
  record_write(slot, &record);
  q->tail = next;
  if (next == 0)
    q->lap++;
}

void mock_notify_error(mock_host *host, mock_device_t *device, uint32_t core, project_error_t error,
                       uint32_t source, uint64_t pc, uint64_t ps) {
  project_notification_t record = {};
  mock_notify_pc(&record, pc, 0);
  record.type_flags = PROJECT_NOTIFY_ERROR;
  record.counter = error;
  record.extended_hint = static_cast<uint16_t>(source);
  record.timestamp = ps;
  mock_notify(host, device, core, PROJECT_NQ_ERROR, record);
}
