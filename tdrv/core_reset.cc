// SPDX-License-Identifier: Apache-2.0
#include "tdrv/core_reset.h"

#include "base/nlog.h"
#include "hal/reset.h"
#include "tdrv/state.h"

namespace {

constexpr uint32_t kInitStarted = 1, kInitCompleted = 2;  // uapi.md 5.7

// Cores of one device that belong to this process: [*first, *last], numbers on the device.
void cores_on(const tdrv_t *tdrv, uint32_t device, uint32_t *first, uint32_t *last) {
  uint32_t per_device = hal_arch(tdrv->hal)->cores_per_device;
  uint32_t base = (tdrv->first_device + device) * per_device;
  uint32_t end = tdrv->first_core + tdrv->num_cores;
  *first = tdrv->first_core > base ? tdrv->first_core - base : 0;
  *last = (end < base + per_device ? end - base : per_device) - 1;
}

}  // namespace

NRT_STATUS core_reset_all(tdrv_t *tdrv) {
  for (uint32_t i = 0; i < tdrv->num_devices; ++i) {
    uint32_t first, last;
    cores_on(tdrv, i, &first, &last);
    uint32_t map = ((2u << last) - 1) & ~((1u << first) - 1);
    hal_device_t *device = tdrv->devices[i].device;
    int result = hal_cores_reset(device, map);
    if (result != 0) {
      NLOG_ERROR(NLOG_TDRV,
                 "nd{} nc{}-nc{}: reset failed: {}; NEURON_RT_RESET_CORES=0 goes without",
                 hal_device_index(device), first, last, hal_error_name(result));
      return NRT_FAILURE;
    }
  }
  return NRT_SUCCESS;
}

NRT_STATUS core_init_mark(tdrv_t *tdrv, bool complete) {
  for (uint32_t i = 0; i < tdrv->num_devices; ++i) {
    uint32_t first, last;
    cores_on(tdrv, i, &first, &last);
    hal_device_t *device = tdrv->devices[i].device;
    for (uint32_t nc = first; nc <= last; ++nc) {
      uint32_t state = 0;
      int result =
          hal_core_init_state(device, nc, complete ? kInitCompleted : kInitStarted, &state);
      if (result != 0) {
        NLOG_ERROR(NLOG_TDRV, "nd{} nc{}: the {} of its initialisation cannot be marked: {}",
                   hal_device_index(device), nc, complete ? "end" : "begin",
                   hal_error_name(result));
        return NRT_FAILURE;
      }
    }
  }
  return NRT_SUCCESS;
}
