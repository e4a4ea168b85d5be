// SPDX-License-Identifier: Apache-2.0
#include "hal/sync.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "hal/hal_impl.h"
#include "hal/regs.h"
#include "uapi/neuron_address_map.h"
#include "uapi/neuron_ioctl.h"

namespace {

constexpr uint32_t kIndexMax = 0xffff;
constexpr uint32_t kClearPiece = 64;

// One structure serves both kinds.
static_assert(sizeof(struct neuron_ioctl_event) == sizeof(struct neuron_ioctl_semaphore) &&
              offsetof(struct neuron_ioctl_event, event_index) ==
                  offsetof(struct neuron_ioctl_semaphore, semaphore_index) &&
              offsetof(struct neuron_ioctl_event, value) ==
                  offsetof(struct neuron_ioctl_semaphore, value));

int access(hal_device_t *device, uint32_t request, uint32_t nc_id, uint32_t index, uint32_t in,
           uint32_t *out) {
  if (index > kIndexMax)
    return -EINVAL;
  struct neuron_ioctl_semaphore arg = {};
  arg.nc_id = nc_id;
  arg.semaphore_index = index;
  arg.value = in;
  int result = hal_device_request(device, request, &arg);
  if (result == 0 && out != nullptr)
    *out = arg.value;
  return result;
}

// The driver does not check the core of an event.
bool core_exists(const hal_device_t *device, uint32_t nc_id) {
  return nc_id < device->hal->arch->cores_per_device;
}

}  // namespace

int hal_semaphore_read(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t *value) {
  return access(device, NEURON_IOCTL_SEMAPHORE_READ, nc_id, index, 0, value);
}

int hal_semaphore_write(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t value) {
  return access(device, NEURON_IOCTL_SEMAPHORE_WRITE, nc_id, index, value, nullptr);
}

int hal_semaphore_increment(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t delta) {
  return access(device, NEURON_IOCTL_SEMAPHORE_INCREMENT, nc_id, index, delta, nullptr);
}

int hal_semaphore_decrement(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t delta) {
  return access(device, NEURON_IOCTL_SEMAPHORE_DECREMENT, nc_id, index, delta, nullptr);
}

int hal_event_get(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t *value) {
  return core_exists(device, nc_id) ? access(device, NEURON_IOCTL_EVENT_GET, nc_id, index, 0, value)
                                    : -E2BIG;
}

int hal_event_set(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t value) {
  return core_exists(device, nc_id)
             ? access(device, NEURON_IOCTL_EVENT_SET, nc_id, index, value, nullptr)
             : -E2BIG;
}

int hal_core_sync_clear(hal_device_t *device, uint32_t nc_id) {
  if (!core_exists(device, nc_id))
    return -E2BIG;
  uint32_t arch = device->hal->arch->arch;
  uint64_t block = neuron_tpb_bar0_offset(arch, nc_id) + NEURON_BAR0_EVENT_OFFSET;
  neuron_arch_counts counts = neuron_arch_counts_get(arch);
  const uint64_t window[2] = {block + NEURON_SEMAPHORE_SET, block + NEURON_EVENT_STATE};
  const uint32_t number[2] = {counts.semaphores, counts.events};
  int result = 0;
  for (uint32_t kind = 0; kind < 2; ++kind) {
    for (uint32_t first = 0; first < number[kind] && result == 0; first += kClearPiece) {
      uint64_t offsets[kClearPiece];
      uint32_t values[kClearPiece] = {};
      uint32_t count = std::min(kClearPiece, number[kind] - first);
      for (uint32_t i = 0; i < count; ++i)
        offsets[i] = window[kind] + (first + i) * sizeof(uint32_t);
      result = hal_registers_write(device, offsets, values, count);
    }
  }
  return result;
}
