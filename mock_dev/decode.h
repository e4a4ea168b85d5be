// SPDX-License-Identifier: Apache-2.0
// What a device address means to the hardware that puts it on the bus (mock-device-semantics.md
// 2.3, device-memory.md 1.3 to 1.5).
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

enum mock_target_kind_t : uint8_t {
  MOCK_TARGET_NONE,  // nothing answers
  // Memory: `place` says where.
  MOCK_TARGET_HBM,     // index = channel
  MOCK_TARGET_HOST,    // host memory of the machine
  MOCK_TARGET_CORE,    // SBUF or PSUM; index = core
  MOCK_TARGET_TOP_SP,  // memory of a TOP_SP behind its events; index = TOP_SP
  // Registers: 4 bytes each, `offset` counts from the block's start.
  MOCK_TARGET_CORE_EVENTS,     // events and semaphores; index = core
  MOCK_TARGET_TOP_SP_EVENTS,   // index = TOP_SP
  MOCK_TARGET_ENGINE,          // registers of the sequencers (isa/project.h); index = core
  MOCK_TARGET_UDMA,            // index = engine
  MOCK_TARGET_UDMA_BROADCAST,  // queue registers of a core's 16 engines; index = core
  MOCK_TARGET_NOTIFICATION,    // offset = in BAR0: cores, TOP_SPs and engines have such blocks
  MOCK_TARGET_MISC_RAM,        // the firmware's
  MOCK_TARGET_CONSTANTS,       // reads as 0 and 1
};

struct mock_target_t {
  mock_target_kind_t kind;
  uint32_t device;  // may be a neighbour
  uint32_t index;
  uint64_t offset;     // in the channel, host memory, 64 MiB core window, TOP_SP or register block
  mock_place_t place;  // memory and events; otherwise unset
};

inline bool mock_target_is_memory(mock_target_kind_t kind) {
  return kind >= MOCK_TARGET_HBM && kind <= MOCK_TARGET_TOP_SP;
}

// Finds what lies at [address, address + length) as device `device` sees it. False, and kind NONE:
// nothing, or not one thing. An address that falls between the bytes of SBUF or PSUM partitions is
// nothing too. Of a neighbour only memory and events are in reach. Takes no locks.
bool mock_decode(mock_host *host, uint32_t device, uint64_t address, uint64_t length,
                 mock_target_t *out);

// The same for a range of one core's window or TOP_SP, given by its place in the device's memory
// file (mock_memory_core_offset and on).
bool mock_decode_window(mock_host *host, uint32_t device, uint64_t file_offset, uint64_t length,
                        mock_target_t *out);

// Before bytes move: host memory has to be allocated (false when it is not), and memory about to
// be written is marked, so that it is clean for its next owner. Takes locks of devices.
bool mock_target_claim(mock_host *host, const mock_target_t *target, uint64_t length,
                       bool for_writing);

// Rows of one side of a transfer: row (i, j) starts at address + i * step[0] + j * step[1].
struct mock_rows_t {
  uint64_t address;
  int64_t step[2];
  uint32_t count[2];  // not 0
  uint64_t bytes;     // of a row, not 0; at most 2^48
};

// The memory that holds all of them.
struct mock_span_t {
  mock_target_t target;  // from the lowest byte on
  uint64_t length;       // to the end of the highest
  uint64_t first;        // of row (0, 0), from the lowest byte
};

// False: the rows do not all lie in one channel, one core's SBUF, its PSUM, host memory or one
// TOP_SP, or one of them is not inside a partition. Takes no locks.
bool mock_decode_rows(mock_host *host, uint32_t device, const mock_rows_t *rows, mock_span_t *out);
