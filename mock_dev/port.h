// SPDX-License-Identifier: Apache-2.0
// One end of a transfer: consecutive bytes at a device address, in memory or in registers.
#pragma once

#include <cstdint>
#include <cstring>

#include "mock_dev/decode.h"

struct mock_udma_work_t;

struct mock_port_t {
  mock_target_t target;
  uint64_t left;
  uint64_t done;
  uint8_t *bytes;   // memory; nullptr for registers
  uint8_t word[4];  // the register being read or put together
};

// False: nothing at [address, address + length), or registers and not whole words of them. Memory
// about to be written is marked. Takes locks of devices.
bool mock_port_open(mock_host *host, uint32_t device, uint64_t address, uint64_t length,
                    bool for_writing, mock_port_t *port);

// Moves bytes until one of the two is at its end, or fewer: the caller repeats. Registers act.
// `work`: of the queue whose transfer this is, DMA lock of its device held; nullptr: of no queue,
// no DMA lock held. False: a register that nobody can read or write.
bool mock_port_move(mock_host *host, mock_udma_work_t *work, mock_port_t *from, mock_port_t *to);

// The same for elements that change their data type (isa_dtype_t). Both ends consist of whole ones.
// False: one of them is registers.
bool mock_port_cast(mock_port_t *from, uint8_t from_dtype, mock_port_t *to, uint8_t to_dtype);

// Copies between memories of the device, which may overlap. A word that somebody polls appears at
// once.
inline void mock_bytes_move(uint8_t *to, const uint8_t *from, uint64_t n) {
  uint32_t word;
  if (n == sizeof(word) && reinterpret_cast<uintptr_t>(to) % sizeof(word) == 0) {
    memcpy(&word, from, sizeof(word));
    __atomic_store_n(reinterpret_cast<uint32_t *>(to), word, __ATOMIC_RELEASE);
  } else {
    memmove(to, from, n);
  }
}
