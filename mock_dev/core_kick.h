// SPDX-License-Identifier: Apache-2.0
// Tells the scheduler that something a core may wait for has changed: events and semaphores, by a
// transfer, the host or another core.
#pragma once

#include <cstdint>

struct mock_host;

// Device on the machine, core on the device. Called with or without a DMA lock held, from any
// thread: takes no lock of devices, starts nothing on the caller's thread, allocates nothing.
void mock_core_kick(mock_host *host, uint32_t device, uint32_t core);
