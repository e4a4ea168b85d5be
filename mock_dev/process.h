// SPDX-License-Identifier: Apache-2.0
// Processes attached to a device: 16 slots keyed by tgid (uapi.md 10, mock-device-semantics.md 4).
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

// Slot of an attached process, or MOCK_NO_SLOT. Device lock held.
uint32_t mock_process_slot(const mock_device_t *device, int32_t tgid);

// One more open by the process. -EBUSY: all slots are taken. Device lock held.
int mock_process_attach(mock_device_t *device, int32_t tgid);

// What a close of a device-lane descriptor does for the closing process: its last one cleans up.
void mock_process_flush(mock_host *host, mock_device_t *device, int32_t tgid);

// Books a freed chunk on the process that frees it. Device lock held.
void mock_process_uncharge(mock_device_t *device, uint32_t slot, const mock_chunk_t *chunk);
void mock_process_charge(mock_device_t *device, uint32_t slot, const mock_chunk_t *chunk);
