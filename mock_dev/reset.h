// SPDX-License-Identifier: Apache-2.0
// Resets of cores and of the whole device (mock-device-semantics.md 12).
//
// A reset takes the time the machine was told (`reset_ms`, 0 = none) and completes by itself:
// nobody runs in the background, whoever looks at the device after that time finds it done. So a
// reset survives the process that asked for it.
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

// Probe: the copy rings of all cores and the driver's fill buffer. -ENOMEM.
int mock_reset_probe(mock_host *host, mock_device_t *device);

// Starts a reset in the name of process `id`. 1: that process has one already, running or unread;
// -ENOMEM: too many. Does nothing on a machine without resets. No lock held.
int mock_reset_start(mock_host *host, mock_device_t *device, int32_t id, uint32_t nc_map);

// Waits for a request and forgets it. 0: done; 1: failed, or there is none; -EINTR: the caller is
// being terminated. On a machine without resets always 0. No lock held.
int mock_reset_wait(mock_host *host, mock_device_t *device, int32_t id, bool *known);

// A write to the sysfs file `reset`: resets the device unless somebody has it open; then it does
// nothing. The device is ready afterwards, or invalid. No lock held.
void mock_reset_device(mock_host *host, mock_device_t *device);

// Completes what is due. Device lock held.
void mock_reset_settle(mock_host *host, mock_device_t *device);

// False while the core has no copy rings: during a reset, and after one that failed. Cores that do
// not exist use the last one's. Device lock held.
bool mock_reset_can_copy(mock_host *host, mock_device_t *device, uint32_t core);

// One step of a wait for a device: 1 ms. False: SIGTERM is pending.
bool mock_reset_pause(void);
