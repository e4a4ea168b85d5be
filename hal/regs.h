// SPDX-License-Identifier: Apache-2.0
// Registers in BAR0 and hardware counters (uapi.md 6.5). All functions: 0 or -errno, no log.
#pragma once

#include "hal/hal.h"

// Offsets count from the start of BAR0; -EINVAL without a request for one outside it. Any number of
// registers, in order; after a failed write those before it are written. The driver refuses to
// write doorbells and ring addresses (-EINVAL). One request per 100 registers, and one more for the
// first call on a device.
int hal_registers_read(hal_device_t *device, const uint64_t *offsets, uint32_t *values,
                       uint32_t count);
int hal_registers_write(hal_device_t *device, const uint64_t *offsets, const uint32_t *values,
                        uint32_t count);

// `addresses` are device addresses. -EPERM: the firmware does not answer.
int hal_hw_counters_read(hal_device_t *device, const uint64_t *addresses, uint32_t *values,
                         uint32_t count);
