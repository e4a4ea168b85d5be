// SPDX-License-Identifier: Apache-2.0
// Semaphores and events of a core, by request. TOP_SP semaphores are reached by mapping their
// window (hal/window.h). All functions: 0 or -errno, no log; -EINVAL without a request for an index
// above 0xffff, of which the driver would keep the low half; -E2BIG: no such core.
#pragma once

#include "hal/hal.h"

int hal_semaphore_read(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t *value);
int hal_semaphore_write(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t value);
int hal_semaphore_increment(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t delta);
int hal_semaphore_decrement(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t delta);

int hal_event_get(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t *value);
int hal_event_set(hal_device_t *device, uint32_t nc_id, uint32_t index, uint32_t value);

// All semaphores and events of the core to 0, through their registers: a handful of requests.
int hal_core_sync_clear(hal_device_t *device, uint32_t nc_id);
