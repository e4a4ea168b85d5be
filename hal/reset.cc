// SPDX-License-Identifier: Apache-2.0
#include "hal/reset.h"

#include <unistd.h>

#include <cerrno>

#include "hal/hal_impl.h"
#include "uapi/neuron_ioctl.h"

int hal_cores_reset_start(hal_device_t *device, uint32_t nc_map, uint32_t *request_id) {
  struct neuron_ioctl_device_reset arg = {};
  arg.nc_map = nc_map;
  int result = hal_device_request(device, NEURON_IOCTL_NC_RESET, &arg);
  if (result == 0)
    *request_id = arg.request_id;
  return result;
}

int hal_cores_reset_wait(hal_device_t *device, uint32_t request_id) {
  struct neuron_ioctl_device_ready arg = {};
  arg.request_id = request_id;
  int result = hal_device_request(device, NEURON_IOCTL_NC_RESET_READY, &arg);
  if (result != 0)
    return result;
  return arg.result == 0 ? 0 : arg.result == -EINTR ? -EINTR : -EIO;
}

int hal_cores_reset(hal_device_t *device, uint32_t nc_map) {
  uint32_t id = 0;
  int result = hal_cores_reset_start(device, nc_map, &id);
  if (result == -EBUSY) {
    // Requests go by the process's number, so that is the one left over.
    hal_cores_reset_wait(device, static_cast<uint32_t>(getpid()));
    result = hal_cores_reset_start(device, nc_map, &id);
  }
  return result != 0 ? result : hal_cores_reset_wait(device, id);
}
