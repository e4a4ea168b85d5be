// SPDX-License-Identifier: Apache-2.0
// Filling a whole HBM (uapi.md 6.3). 0 or -errno, no log.
#pragma once

#include "hal/hal.h"

// Fills all of the channel but the firmware's share with `pattern`, allocated chunks included, and
// sets queue 0 of 16 engines up anew. -EOPNOTSUPP: the driver cannot; -EPERM: no such channel.
int hal_hbm_scrub_start(hal_device_t *device, uint32_t nc_id, uint32_t hbm_index, uint32_t pattern);
// -EPERM: no scrub of this channel was started, or it does not end.
int hal_hbm_scrub_wait(hal_device_t *device, uint32_t nc_id, uint32_t hbm_index);
