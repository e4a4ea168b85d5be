// SPDX-License-Identifier: Apache-2.0
// Descriptor generation: the transfer a direct 2-D DMA record (B8) stands for (verified-facts.md
// G2, G3, G7; neuroncore-isa.md 4.7). Addresses are settled when the record issues, bytes move
// later. The semaphore of the record is the caller's to raise, once the bytes have moved.
#pragma once

#include <cstdint>

#include "isa/isa.h"
#include "isa/project.h"
#include "mock_dev/decode.h"

// Who issues.
struct mock_dge_t {
  mock_host *host;
  uint32_t device, core;  // positions on the machine and on the device
  isa_engine_t engine;
  const uint32_t *registers;  // of the engine, PROJECT_REGISTERS of them
};

struct mock_dge_side_t {
  mock_rows_t rows;
  uint8_t dtype;
  // How the address came about.
  uint8_t mode;     // isa_addr8_mode_t
  uint32_t table;   // index into the DGE table; 0 with a device address
  uint64_t entry;   // what the table holds there; the address itself with a device address
  uint32_t offset;  // from there
  bool bounded;     // `bound` is the largest offset allowed
  uint32_t bound;
};

struct mock_transfer_t {
  mock_dge_side_t src, dst;
  uint64_t bytes;  // written
  uint32_t device, core;
  isa_engine_t engine;
  uint8_t semaphore, increment;
  bool cast;  // element by element; else as two streams of bytes
  bool skip;  // out of bounds and to be passed over: moves nothing
};

struct mock_dge_fault_t {
  project_error_t error;
  uint64_t address;  // device address of the row or table entry; PROJECT_ERROR_MEMORY only
  const char *text;  // static
};

// Reads the addresses, checks bounds. The record has passed isa_check and isa_modes_check. False:
// refused, *fault says why, nothing happens to memory.
bool mock_dge_issue(const mock_dge_t *dge, const isa_dma *record, mock_transfer_t *out,
                    mock_dge_fault_t *fault);

// Fills what a transfer will write with 0xFF bytes, NaN in every floating-point type. Registers are
// left alone. False: as mock_dge_move.
bool mock_dge_poison(mock_host *host, const mock_transfer_t *transfer, mock_dge_fault_t *fault);

// Moves the bytes. Rows are read and written in order, index 0 fastest; those that reach registers
// act, doorbells included. False: a row of either side has no memory behind it; nothing was moved
// unless a register stopped it. Takes locks of devices, so the caller may hold none. No allocation.
bool mock_dge_move(mock_host *host, const mock_transfer_t *transfer, mock_dge_fault_t *fault);
