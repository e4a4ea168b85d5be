// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/firmware.h"

#include <cerrno>
#include <cstring>

#include "mock_dev/engine_registers.h"
#include "mock_dev/fault.h"
#include "mock_dev/reset.h"

namespace {

constexpr uint32_t API_VERSION = 1;

uint32_t *word(mock_device_t *device, uint64_t offset) {
  return &device->misc_ram[offset / sizeof(uint32_t)];
}

void clear_events(uint8_t *block) {
  memset(block, 0, NEURON_EVENT_BLOCK_SIZE);
}

// What the firmware does when its doorbell rings. Device lock held.
int run_command(mock_host *host, mock_device_t *device, uint32_t command) {
  *word(device, NEURON_MISC_DOORBELL) = command;
  return mock_fault_event(host, MOCK_FAULT_MAILBOX) ? -EPERM : 0;
}

}  // namespace

void mock_firmware_probe(mock_host *host, mock_device_t *device) {
  uint64_t serial = mock_instance_serial(device->index);
  *word(device, NEURON_MISC_API_VERSION) = API_VERSION;
  *word(device, NEURON_MISC_ROUTING_ID) = mock_instance_routing_id(host->instance, device->index);
  *word(device, NEURON_MISC_SERIAL_LOW) = static_cast<uint32_t>(serial);
  *word(device, NEURON_MISC_SERIAL_HIGH) = static_cast<uint32_t>(serial >> 32);
  for (uint32_t i = 0; i < 2; ++i)  // nothing measures power
    *word(device, NEURON_MISC_POWER + 4 * i) = MOCK_FIRMWARE_NOT_READY;
  // The rest says zero: no memory errors, no repairs, no reset under way.
}

uint32_t mock_firmware_read(mock_host *host, mock_device_t *device, uint64_t offset) {
  if (offset >= MOCK_MISC_RAM_SIZE)
    return 0;
  mock_guard_t guard(&device->lock);
  mock_reset_settle(host, device);
  return *word(device, offset);
}

void mock_firmware_write(mock_host *host, mock_device_t *device, uint64_t offset, uint32_t value) {
  if (offset >= MOCK_MISC_RAM_SIZE || offset == NEURON_MISC_STATUS)
    return;
  mock_guard_t guard(&device->lock);
  if (offset == NEURON_MISC_DOORBELL) {
    run_command(host, device, value);
  } else if (offset == NEURON_MISC_RESET_REQUEST) {
    if (value != 0)  // accepted at once: it reads as 0 again
      mock_firmware_reset(host, device, *word(device, NEURON_MISC_RESET_MAP));
  } else {
    *word(device, offset) = value;
  }
}

int mock_firmware_command(mock_host *host, mock_device_t *device, mock_firmware_command_t command) {
  mock_guard_t guard(&device->lock);
  return run_command(host, device, command);
}

void mock_firmware_reset(mock_host *host, mock_device_t *device, uint32_t cores) {
  const mock_state_t *state = host->state;
  *word(device, NEURON_MISC_RESET_MAP) = cores;
  *word(device, NEURON_MISC_RESET_REQUEST) = 0;
  uint8_t *bytes = mock_memory_bytes(host, &host->device_memory[device->index]);
  if (bytes == nullptr)
    return;
  uint32_t share = mock_top_sps_per_core(state);
  for (uint32_t core = 0; core < state->cores; ++core) {
    if ((cores >> core & 1) == 0)
      continue;
    clear_events(bytes + mock_memory_core_offset(state, core) + NEURON_BAR0_EVENT_OFFSET);
    mock_engine_reset(host, device, core);
    for (uint32_t t = 0; t < share; ++t)
      clear_events(bytes + mock_memory_top_sp_offset(state, core * share + t));
  }
}

void mock_firmware_resetting(mock_device_t *device, bool running) {
  *word(device, NEURON_MISC_STATUS) = running ? MOCK_FIRMWARE_STATUS_RESETTING : 0;
}
