// SPDX-License-Identifier: Apache-2.0
#include "hal/program.h"

#include <cerrno>
#include <limits>

#include "hal/hal_impl.h"
#include "uapi/neuron_ioctl.h"

int hal_program_engine(hal_device_t *device, uint32_t nc_id, uint64_t dst, const void *buffer,
                       uint64_t size) {
  if (size == 0)
    return -EINVAL;
  if (hal_has(device->hal, HAL_FEATURE_MEM_ALLOC64)) {
    struct neuron_ioctl_program_engine_nc64 arg = {};
    arg.nc_id = nc_id;
    arg.dst = dst;
    arg.buffer = const_cast<void *>(buffer);
    arg.size = size;
    return hal_device_request(device, NEURON_IOCTL_PROGRAM_ENGINE_NC64, &arg);
  }
  if (size > std::numeric_limits<uint32_t>::max())
    return -EOPNOTSUPP;
  struct neuron_ioctl_program_engine_nc arg = {};
  arg.nc_id = nc_id;
  arg.dst = dst;
  arg.buffer = const_cast<void *>(buffer);
  arg.size = static_cast<uint32_t>(size);
  return hal_device_request(device, NEURON_IOCTL_PROGRAM_ENGINE_NC, &arg);
}
