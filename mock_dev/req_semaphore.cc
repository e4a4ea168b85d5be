// SPDX-License-Identifier: Apache-2.0
// Requests on the semaphores and events of a core (mock-device-semantics.md 8).
#include <cerrno>

#include "mock_dev/call.h"
#include "mock_dev/core_kick.h"
#include "mock_dev/semaphore.h"

namespace {

// Event block of a core of the device; nullptr when its memory cannot be mapped.
uint8_t *core_block(const mock_call_t *call, uint32_t core) {
  uint8_t *bytes = mock_memory_bytes(call->host, &call->host->device_memory[call->device->index]);
  if (bytes == nullptr)
    return nullptr;
  return bytes + mock_memory_core_offset(call->host->state, core) + NEURON_BAR0_EVENT_OFFSET;
}

uint64_t write_window(uint32_t request) {
  switch (request) {
    case NEURON_IOCTL_SEMAPHORE_INCREMENT:
      return NEURON_SEMAPHORE_INCREMENT;
    case NEURON_IOCTL_SEMAPHORE_DECREMENT:
      return NEURON_SEMAPHORE_DECREMENT;
    default:
      return NEURON_SEMAPHORE_SET;
  }
}

}  // namespace

long mock_req_semaphore(const mock_call_t *call) {
  neuron_ioctl_semaphore a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.nc_id >= call->host->state->cores)
    return -E2BIG;
  uint16_t index = static_cast<uint16_t>(a.semaphore_index);
  if (index >= neuron_arch_counts_get(call->host->state->arch).semaphores)
    return -EINVAL;
  uint8_t *block = core_block(call, a.nc_id);
  if (block == nullptr)
    return -ENOMEM;
  if (call->request != NEURON_IOCTL_SEMAPHORE_READ) {
    mock_semaphore_write(block, write_window(call->request) + 4ull * index, a.value);
    mock_core_kick(call->host, call->device->index, a.nc_id);
    return 0;
  }
  a.value = mock_semaphore_read(block, NEURON_SEMAPHORE_READ + 4ull * index);
  return mock_call_out(call, &a);
}

long mock_req_event(const mock_call_t *call) {
  neuron_ioctl_event a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  // One more than there are passes, as in the driver: the word after the last event.
  uint16_t index = static_cast<uint16_t>(a.event_index);
  if (index > neuron_arch_counts_get(call->host->state->arch).events)
    return -EINVAL;
  if (a.nc_id >= call->host->state->cores)  // the driver does not look
    return -E2BIG;
  uint8_t *block = core_block(call, a.nc_id);
  if (block == nullptr)
    return -ENOMEM;
  if (call->request == NEURON_IOCTL_EVENT_SET) {
    mock_semaphore_write(block, NEURON_EVENT_STATE + 4ull * index, a.value);
    mock_core_kick(call->host, call->device->index, a.nc_id);
    return 0;
  }
  a.value = mock_semaphore_read(block, NEURON_EVENT_STATE + 4ull * index);
  return mock_call_out(call, &a);
}
