// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/bar0.h"

#include "base/checked.h"
#include "mock_dev/core_kick.h"
#include "mock_dev/engine_registers.h"
#include "mock_dev/firmware.h"
#include "mock_dev/notification.h"
#include "mock_dev/semaphore.h"
#include "mock_dev/udma.h"

namespace {

constexpr uint64_t NOTIFICATION_BLOCK = 0x1000;

// Core windows and TOP_SPs: BAR0 shows them as the memory file holds them. False: neither.
bool file_offset_of(const mock_state_t *state, uint64_t offset, uint64_t *file_offset) {
  uint64_t at = offset - neuron_tpb_bar0_offset(state->arch, 0);
  if (at < state->cores * NEURON_BAR0_TPB_STRIDE) {
    *file_offset = mock_memory_core_offset(state, 0) + at;
    return true;
  }
  for (uint32_t t = 0; t < neuron_arch_counts_get(state->arch).top_sps; ++t) {
    at = offset - neuron_top_sp_bar0_offset(state->arch, t);
    if (at < NEURON_TOP_SP_SIZE) {
      *file_offset = mock_memory_top_sp_offset(state, t) + at;
      return true;
    }
  }
  return false;
}

bool udma_found(mock_target_kind_t kind, uint32_t index, uint64_t at, uint64_t length,
                mock_target_t *out) {
  if (!range_within(at, length, NEURON_UDMA_BLOCK_SIZE))
    return false;
  out->kind = kind;
  out->index = index;
  out->offset = at;
  return true;
}

bool decode_broadcast(uint32_t arch, uint32_t core, uint64_t offset, uint64_t length,
                      mock_target_t *out) {
  uint64_t window = neuron_udma_broadcast_bar0_offset(arch, core);
  return window != NEURON_NO_ADDRESS &&
         udma_found(MOCK_TARGET_UDMA_BROADCAST, core, offset - window, length, out);
}

bool decode_udma(uint32_t arch, uint64_t offset, uint64_t length, mock_target_t *out) {
  uint32_t engine = neuron_udma_engine_near(arch, offset);
  if (engine == UINT32_MAX)
    return arch == NEURON_ARCH_V2 && decode_broadcast(arch, 0, offset, length, out);
  // v3 has the broadcast window of a core behind the block of its first engine.
  return udma_found(MOCK_TARGET_UDMA, engine, offset - neuron_udma_bar0_offset(arch, engine),
                    length, out) ||
         decode_broadcast(arch, engine / NEURON_DMA_ENGINES_PER_CORE, offset, length, out);
}

bool in_notification_block(uint32_t arch, uint64_t offset, uint64_t length) {
  neuron_arch_counts counts = neuron_arch_counts_get(arch);
  for (uint32_t t = 0; t < counts.top_sps; ++t)
    if (range_within(offset - neuron_nq_top_sp_bar0_offset(arch, t), length, NOTIFICATION_BLOCK))
      return true;
  for (uint32_t core = 0; core < counts.cores; ++core) {
    if (range_within(offset - neuron_nq_core_bar0_offset(arch, core), length, NOTIFICATION_BLOCK))
      return true;
    for (uint32_t e = 0; e < NEURON_DMA_ENGINES_PER_CORE; ++e)
      if (range_within(offset - neuron_nq_dma_trace_bar0_offset(arch, core, e), length,
                       NOTIFICATION_BLOCK))
        return true;
  }
  return false;
}

uint64_t misc_ram(uint32_t arch) {
  return arch == NEURON_ARCH_V2 ? NEURON_V2_BAR0_MISC_RAM : NEURON_V3_BAR0_MISC_RAM;
}

bool is_events(const mock_target_t *target) {
  return target->kind == MOCK_TARGET_CORE_EVENTS || target->kind == MOCK_TARGET_TOP_SP_EVENTS;
}

// Start of the event block, or the memory word itself; nullptr when it cannot be mapped.
uint8_t *bytes_of(mock_host *host, const mock_target_t *target) {
  uint8_t *bytes = mock_memory_bytes(host, target->place.memory);
  if (bytes == nullptr)
    return nullptr;
  return bytes + target->place.offset - (is_events(target) ? target->offset : 0);
}

}  // namespace

bool mock_bar0_decode(mock_host *host, uint32_t device, uint64_t offset, uint64_t length,
                      mock_target_t *out) {
  const mock_state_t *state = host->state;
  *out = {};
  out->device = device;
  uint64_t file_offset;
  if (file_offset_of(state, offset, &file_offset))
    return mock_decode_window(host, device, file_offset, length, out);
  if (decode_udma(state->arch, offset, length, out))
    return true;
  uint64_t at = offset - misc_ram(state->arch);
  if (range_within(at, length, MOCK_MISC_RAM_SIZE)) {
    out->kind = MOCK_TARGET_MISC_RAM;
    out->offset = at;
    return true;
  }
  if (!in_notification_block(state->arch, offset, length))
    return false;
  out->kind = MOCK_TARGET_NOTIFICATION;
  out->offset = offset;
  return true;
}

bool mock_register_read(mock_host *host, const mock_target_t *target, uint32_t *value) {
  *value = 0;
  if (target->kind == MOCK_TARGET_CONSTANTS) {
    *value = target->offset == 0 ? 0 : 1;
    return true;
  }
  if (target->kind == MOCK_TARGET_MISC_RAM) {
    *value = mock_firmware_read(host, mock_host_device(host, target->device), target->offset);
    return true;
  }
  if (target->kind == MOCK_TARGET_NOTIFICATION)
    return mock_notification_register_read(host, mock_host_device(host, target->device),
                                           target->offset, value);
  if (target->kind == MOCK_TARGET_ENGINE) {
    *value = mock_engine_register_read(mock_host_device(host, target->device), target->index,
                                       target->offset);
    return true;
  }
  bool memory = mock_target_is_memory(target->kind);
  if (!memory && !is_events(target))
    return false;
  const uint8_t *bytes = bytes_of(host, target);
  if (bytes == nullptr)
    return false;
  *value = memory ? __atomic_load_n(reinterpret_cast<const uint32_t *>(bytes), __ATOMIC_ACQUIRE)
                  : mock_semaphore_read(bytes, target->offset);
  return true;
}

bool mock_register_write(mock_host *host, const mock_target_t *target, uint32_t value) {
  if (target->kind == MOCK_TARGET_MISC_RAM) {
    mock_firmware_write(host, mock_host_device(host, target->device), target->offset, value);
    return true;
  }
  if (target->kind == MOCK_TARGET_NOTIFICATION)
    return mock_notification_register_write(host, mock_host_device(host, target->device),
                                            target->offset, value);
  if (target->kind == MOCK_TARGET_ENGINE) {
    mock_engine_register_write(host, mock_host_device(host, target->device), target->index,
                               target->offset, value);
    return true;
  }
  bool memory = mock_target_is_memory(target->kind);
  if (!memory && !is_events(target))
    return false;
  uint8_t *bytes = bytes_of(host, target);
  if (bytes == nullptr)
    return false;
  if (memory)
    __atomic_store_n(reinterpret_cast<uint32_t *>(bytes), value, __ATOMIC_RELEASE);
  else
    mock_semaphore_write(bytes, target->offset, value);
  if (target->kind == MOCK_TARGET_CORE_EVENTS)
    mock_core_event_written(host, target->device, target->index, target->offset);
  return true;
}

bool mock_target_read(mock_host *host, const mock_target_t *target, uint32_t *value) {
  if (target->kind != MOCK_TARGET_UDMA)
    return mock_register_read(host, target, value);
  mock_device_t *device = mock_host_device(host, target->device);
  mock_guard_t guard(&device->dma_lock);
  *value = mock_udma_read(host, device, target->index, target->offset);
  return true;
}

bool mock_target_write(mock_host *host, const mock_target_t *target, uint32_t value) {
  if (target->kind != MOCK_TARGET_UDMA && target->kind != MOCK_TARGET_UDMA_BROADCAST)
    return mock_register_write(host, target, value);
  mock_device_t *device = mock_host_device(host, target->device);
  mock_guard_t guard(&device->dma_lock);
  mock_udma_write(host, device, target, value);
  return true;
}

uint32_t mock_bar0_read(mock_host *host, mock_device_t *device, uint64_t offset) {
  mock_target_t target;
  uint32_t value = 0;
  if (mock_bar0_decode(host, device->index, offset, sizeof(value), &target))
    mock_target_read(host, &target, &value);
  return value;
}

void mock_bar0_write(mock_host *host, mock_device_t *device, uint64_t offset, uint32_t value) {
  mock_target_t target;
  if (mock_bar0_decode(host, device->index, offset, sizeof(value), &target))
    mock_target_write(host, &target, value);
}

bool mock_bar0_blocked(const mock_target_t *target) {
  if (target->kind == MOCK_TARGET_MISC_RAM)
    return target->offset == NEURON_MISC_DOORBELL ||
           target->offset - NEURON_MISC_MAILBOX < 4 * sizeof(uint32_t);
  if (target->kind != MOCK_TARGET_UDMA)
    return false;
  uint64_t reg;
  if (!mock_udma_queue_register(target->offset, nullptr, &reg))
    return false;
  return reg == NEURON_UDMA_BASE_LOW || reg == NEURON_UDMA_BASE_HIGH ||
         reg == NEURON_UDMA_COMPLETION_LOW || reg == NEURON_UDMA_COMPLETION_HIGH ||
         reg == NEURON_UDMA_TAIL_INCREMENT;
}
