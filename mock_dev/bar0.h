// SPDX-License-Identifier: Apache-2.0
// BAR0: the host's window on a device's registers and core memories (mock-device-semantics.md 2.3,
// 6.2, 9).
#pragma once

#include <cstdint>

#include "mock_dev/decode.h"

// What DEVICE_INFO reports: a number to add register offsets to, and how far they reach.
constexpr uint64_t MOCK_BAR0_BASE = 0xffffc90000000000ull;
constexpr uint64_t MOCK_BAR0_SIZE = 0x100000000ull;

// Block around [offset, offset + length). False, and kind NONE: no block, or not one.
bool mock_bar0_decode(mock_host *host, uint32_t device, uint64_t offset, uint64_t length,
                      mock_target_t *out);

// One 32-bit register, `offset` a multiple of 4. Where no block is, reads give 0 and writes vanish.
// A write returns when all it set off is done: transfers of a doorbell among them. The caller
// holds no lock.
uint32_t mock_bar0_read(mock_host *host, mock_device_t *device, uint64_t offset);
void mock_bar0_write(mock_host *host, mock_device_t *device, uint64_t offset, uint32_t value);

// True for the registers BAR_WRITE refuses: ring addresses, doorbells, the firmware's mailbox.
bool mock_bar0_blocked(const mock_target_t *target);

// The same for a register or a word of memory that was decoded, `target->offset` a multiple of 4.
// False: there is none.
bool mock_target_read(mock_host *host, const mock_target_t *target, uint32_t *value);
bool mock_target_write(mock_host *host, const mock_target_t *target, uint32_t value);

// For a transfer, which holds a DMA lock: all but the UDMA engines.
bool mock_register_read(mock_host *host, const mock_target_t *target, uint32_t *value);
bool mock_register_write(mock_host *host, const mock_target_t *target, uint32_t value);
