// SPDX-License-Identifier: Apache-2.0
// Writes to device addresses outside allocated memory: register windows of cores and TOP_SPs, and
// on v3 device memory itself (mock-device-semantics.md 5.5, PROGRAM_ENGINE).
#pragma once

#include "hal/hal.h"

// Copies `size` bytes from `buffer` to device address `dst` with the core's copy engine. 0 or
// -errno, no log. -EINVAL without a request: 0 bytes; -ENOMEM: the address lies in no window;
// -EOPNOTSUPP: more than 32 bits of size at a driver without 64-bit sizes.
int hal_program_engine(hal_device_t *device, uint32_t nc_id, uint64_t dst, const void *buffer,
                       uint64_t size);
