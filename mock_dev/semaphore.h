// SPDX-License-Identifier: Apache-2.0
// Event blocks: the 8 KiB of registers that hold the events and semaphores of a core or TOP_SP
// (uapi.md 8, mock-device-semantics.md 8). The one place that knows what a write to them does;
// ioctls, BAR0, DMA and instructions all come here. Storage is the device's memory file, so a
// mapping shows the same values; a plain store through a mapping bypasses these rules (README.md).
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

// True when `offset` into the device's memory file lies in an event block; *reg is then the offset
// inside the block.
bool mock_semaphore_block_find(const mock_state_t *state, uint64_t offset, uint64_t *reg);

// One 32-bit register access at a multiple of 4 below NEURON_EVENT_BLOCK_SIZE; `block` is the start
// of the event block in memory. Atomic against every other access made here, from any thread or
// process. No lock needed.
//
// Writing: the set window stores, the increment and decrement windows add and subtract a signed
// number and stop at the ends of the 32-bit range, the read window keeps its value, every other
// word stores. Reading: the three windows for writing read as zero.
void mock_semaphore_write(uint8_t *block, uint64_t reg, uint32_t value);
uint32_t mock_semaphore_read(const uint8_t *block, uint64_t reg);
