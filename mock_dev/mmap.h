// SPDX-License-Identifier: Apache-2.0
// What the driver remembers of the mappings a process made of a device.
#pragma once

#include <cstdint>

struct mock_host;

// A process closed a device for the last time: the records go, the mappings stay. No device lock
// held.
void mock_mappings_forget(mock_host *host, uint32_t device, int32_t tgid);
