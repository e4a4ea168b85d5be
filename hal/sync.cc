// SPDX-License-Identifier: Apache-2.0
#include "hal/sync.h"

#include <cerrno>

#include "hal/hal_impl.h"
#include "uapi/neuron_ioctl.h"

namespace {

constexpr uint32_t kIndexMax = 0xffff;

int semaphore(hal_device_t *device, uint32_t request, uint32_t nc_id, uint32_t index,
              uint32_t *value) {
  if (index > kIndexMax)
    return -EINVAL;
  struct neuron_ioctl_semaphore arg = {};
  arg.nc_id = nc_id;
  arg.semaphore_index = index;
  arg.value = *value;
  int result = hal_device_request(device, request, &arg);
  if (result == 0)
    *value = arg.value;
  return result;
}

int event(hal_device_t *device, uint32_t request, uint32_t nc_id, uint32_t index, uint32_t *value) {
  // The driver does not check the core of an event.
  if (nc_id >= device->hal->arch->cores_per_device)
    return -E2BIG;
  if (index > kIndexMax)
    return -EINVAL;
  struct neuron_ioctl_event arg = {};
  arg.nc_id = nc_id;
  arg.event_index = index;
  arg.value = *value;
  int result = hal_device_request(device, request, &arg);
  if (result == 0)
    *value = arg.value;
  return result;
}

}  // namespace

int hal_semaphore_read(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t *value) {
  uint32_t read = 0;
  int result = semaphore(device, NEURON_IOCTL_SEMAPHORE_READ, nc_id, index, &read);
  if (result == 0)
    *value = read;
  return result;
}

int hal_semaphore_write(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t value) {
  return semaphore(device, NEURON_IOCTL_SEMAPHORE_WRITE, nc_id, index, &value);
}

int hal_semaphore_increment(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t delta) {
  return semaphore(device, NEURON_IOCTL_SEMAPHORE_INCREMENT, nc_id, index, &delta);
}

int hal_semaphore_decrement(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t delta) {
  return semaphore(device, NEURON_IOCTL_SEMAPHORE_DECREMENT, nc_id, index, &delta);
}

int hal_event_get(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t *value) {
  uint32_t read = 0;
  int result = event(device, NEURON_IOCTL_EVENT_GET, nc_id, index, &read);
  if (result == 0)
    *value = read;
  return result;
}

int hal_event_set(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t value) {
  return event(device, NEURON_IOCTL_EVENT_SET, nc_id, index, &value);
}
