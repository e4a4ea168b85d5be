// SPDX-License-Identifier: Apache-2.0
// Resets of cores (uapi.md 6.2, mock-device-semantics.md 12). 0 or -errno, no log.
#pragma once

#include "hal/hal.h"

// Starts a reset of the cores whose bits are set in `nc_map`. Their DMA rings, notification queues
// and init state are gone then; memory and handles stay. -EBUSY: an earlier reset of this process
// was not waited for.
int hal_cores_reset_start(hal_device_t *device, uint32_t nc_map, uint32_t *request_id);
// Waits until it is done. -EIO: the reset failed, or nobody asked for it; -EINTR.
int hal_cores_reset_wait(hal_device_t *device, uint32_t request_id);
// Both; a reset left over by an earlier call is waited for first.
int hal_cores_reset(hal_device_t *device, uint32_t nc_map);
