// SPDX-License-Identifier: Apache-2.0
// Opened devices and the requests that concern a device as a whole.
#include <algorithm>
#include <cerrno>
#include <new>

#include "base/nlog.h"
#include "hal/hal_impl.h"
#include "uapi/neuron_ioctl.h"

NRT_STATUS hal_device_open(hal_t *hal, uint32_t index, hal_device_t **out) {
  *out = nullptr;
  if (index >= hal->identity.device_count) {
    NLOG_ERROR(NLOG_HAL, "device {} does not exist; this machine has {}", index,
               hal->identity.device_count);
    return NRT_INVALID;
  }
  std::lock_guard<std::mutex> lock(hal->mutex);
  hal_device_t *device = hal->devices[index];
  if (device != nullptr) {
    ++device->refs;
    *out = device;
    return NRT_SUCCESS;
  }
  uint32_t node = hal->identity.device_index[index];
  int fd = hal_seam_open(hal->ops, hal->be, node, HAL_LANE_DEVICE);
  if (fd < 0) {
    NLOG_ERROR(NLOG_HAL, "could not open nd{} (/dev/neuron{}): {}{}", node, node,
               hal_error_name(fd),
               fd == -EBUSY ? ": all 16 process slots of the device are taken" : "");
    return NRT_FAILURE;
  }
  device = new (std::nothrow) hal_device_t{hal, index, node, fd, 1};
  if (device == nullptr) {
    hal->ops->close(hal->be, fd);
    NLOG_ERROR(NLOG_HAL, "out of memory");
    return NRT_RESOURCE;
  }
  hal->devices[index] = device;
  *out = device;
  return NRT_SUCCESS;
}

void hal_device_close(hal_device_t *device) {
  if (device == nullptr)
    return;
  hal_t *hal = device->hal;
  std::lock_guard<std::mutex> lock(hal->mutex);
  if (--device->refs != 0)
    return;
  hal->devices[device->position] = nullptr;
  hal->ops->close(hal->be, device->fd);
  delete device;
}

uint32_t hal_device_index(const hal_device_t *device) {
  return device->index;
}

hal_t *hal_device_hal(const hal_device_t *device) {
  return device->hal;
}

int hal_core_init_state(hal_device_t *device, uint32_t nc_id, uint32_t state, uint32_t *new_state) {
  struct neuron_ioctl_cinit_set arg = {};
  arg.nc_id = nc_id;
  arg.state = state;
  int result = hal_device_request(device, NEURON_IOCTL_CINIT_SET_STATE, &arg);
  if (result == 0)
    *new_state = arg.new_state;
  return result;
}

int hal_host_device_id(hal_device_t *device, uint32_t *id) {
  struct neuron_ioctl_host_device_id arg = {};
  int result = hal_device_request(device, NEURON_IOCTL_HOST_DEVICE_ID, &arg);
  if (result == 0)
    *id = arg.host_device_id;
  return result;
}

int hal_routing_ids(hal_t *hal, uint32_t *count, uint32_t ids[HAL_MAX_DEVICES]) {
  struct neuron_ioctl_host_device_id_to_rid_map arg = {};
  static_assert(sizeof(arg.host_did_to_rid_map) == HAL_MAX_DEVICES * sizeof(uint32_t));
  int result =
      hal_request(hal->ops, hal->be, hal->misc_fd, NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, &arg);
  if (result != 0)
    return result;
  if (arg.count > HAL_MAX_DEVICES)
    return -EFAULT;  // a driver with more devices than its own map has room for
  *count = arg.count;
  std::copy_n(arg.host_did_to_rid_map, arg.count, ids);
  return 0;
}

long hal_device_ioctl(hal_device_t *device, uint32_t request, void *arg) {
  return hal_seam_ioctl(device->hal->ops, device->hal->be, device->fd, request, arg);
}
