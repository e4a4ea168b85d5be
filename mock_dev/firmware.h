// SPDX-License-Identifier: Apache-2.0
// The device's firmware as the driver sees it: registers in the misc RAM and a mailbox
// (mock-device-semantics.md 2.3 and 9).
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

constexpr uint32_t MOCK_FIRMWARE_NOT_READY = 0xdeadbeef;
constexpr uint32_t MOCK_FIRMWARE_STATUS_RESETTING = 1u << 3;

enum mock_firmware_command_t : uint32_t {
  MOCK_FIRMWARE_READ_REGISTERS = 1,  // number chosen here; the real one is not known
  MOCK_FIRMWARE_POST_METRIC = 2,
};

// Probe: what the registers say after a start.
void mock_firmware_probe(mock_host *host, mock_device_t *device);

// One register at a multiple of 4 below MOCK_MISC_RAM_SIZE. Take the device's lock. Writing the
// reset request resets the cores in the reset map, writing the doorbell runs a command.
uint32_t mock_firmware_read(mock_host *host, mock_device_t *device, uint64_t offset);
void mock_firmware_write(mock_host *host, mock_device_t *device, uint64_t offset, uint32_t value);

// Runs a mailbox command. -EPERM: the firmware answers with an error, or not in time (fault plan,
// MOCK_FAULT_MAILBOX). Takes the device's lock.
int mock_firmware_command(mock_host *host, mock_device_t *device, mock_firmware_command_t command);

// Hardware side of a reset of the cores in the bit map: events and semaphores of the cores and
// their TOP_SPs go to zero, memory stays. Device lock held.
void mock_firmware_reset(mock_host *host, mock_device_t *device, uint32_t cores);

// Status bit "reset still running". Device lock held.
void mock_firmware_resetting(mock_device_t *device, bool running);
