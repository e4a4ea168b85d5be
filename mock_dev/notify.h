// SPDX-License-Identifier: Apache-2.0
// The hardware that writes notifications (dma-and-exec.md 5.1, 6.2): records of 16 bytes into the
// ring that the registers of a core's queue name (notification.h).
#pragma once

#include <cstdint>

#include "isa/project.h"
#include "mock_dev/host.h"

// Appends a record to a hardware queue of a core; the phase bit is set here. A queue without memory
// swallows it. A full one too: the last record that did fit gets the overflow bit and the cause
// register of the core says so. Takes the device's lock.
void mock_notify(mock_host *host, mock_device_t *device, uint32_t core, uint32_t queue,
                 project_notification_t record);

// An error record. `source`: the engine, or ISA_ENGINE_COUNT + DMA engine of the core.
void mock_notify_error(mock_host *host, mock_device_t *device, uint32_t core, project_error_t error,
                       uint32_t source, uint64_t pc, uint64_t ps);

// The program counter as records carry it: 20 bits of the number of the record.
void mock_notify_pc(project_notification_t *record, uint64_t pc, uint8_t hint);
