// SPDX-License-Identifier: Apache-2.0
#include "hal/scrub.h"

#include <cerrno>

#include "hal/hal_impl.h"
#include "uapi/neuron_ioctl.h"

int hal_hbm_scrub_start(hal_device_t *device, uint32_t nc_id, uint32_t hbm_index,
                        uint32_t pattern) {
  if (!hal_has(device->hal, HAL_FEATURE_HBM_SCRUB))
    return -EOPNOTSUPP;
  struct neuron_ioctl_hbm_scrub_start arg = {};
  arg.nc_id = nc_id;
  arg.hbm_index = hbm_index;
  arg.init_val = pattern;
  return hal_device_request(device, NEURON_IOCTL_HBM_SCRUB_START, &arg);
}

int hal_hbm_scrub_wait(hal_device_t *device, uint32_t nc_id, uint32_t hbm_index) {
  if (!hal_has(device->hal, HAL_FEATURE_HBM_SCRUB))
    return -EOPNOTSUPP;
  struct neuron_ioctl_hbm_scrub_wait arg = {};
  arg.nc_id = nc_id;
  arg.hbm_index = hbm_index;
  return hal_device_request(device, NEURON_IOCTL_HBM_SCRUB_WAIT, &arg);
}
