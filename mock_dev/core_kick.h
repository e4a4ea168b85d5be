// SPDX-License-Identifier: Apache-2.0
// Tells the scheduler that something a core may wait for has changed: events and semaphores, by a
// transfer, the host or another core.
#pragma once

#include <cstdint>

struct mock_host;
struct mock_target_t;

// Device on the machine, core on the device. Called with or without a DMA lock held, from any
// thread: takes no lock of devices, starts nothing on the caller's thread, allocates nothing.
void mock_core_kick(mock_host *host, uint32_t device, uint32_t core);

// The same after a write to a register of its event block.
void mock_core_event_written(mock_host *host, uint32_t device, uint32_t core, uint64_t offset);

// The same when one of its held DMA engines has been given descriptors.
void mock_core_kick_rings(mock_host *host, uint32_t device, uint32_t core);

// One end of a transfer is about to be used: for whoever watches the core this thread runs.
void mock_core_port_opened(mock_host *host, const mock_target_t *target, uint64_t length,
                           bool for_writing);
