// SPDX-License-Identifier: Apache-2.0
// What a checker of races and of uninitialised reads hears about one core. The thread that runs the
// core calls; every pointer has to be set. A core nobody watches has none: mock_core_t::watch.
#pragma once

#include <cstdint>

#include "isa/isa_table.h"

struct mock_target_t;
struct mock_transfer_t;

// Who acts: an engine, or MOCK_WATCH_TRANSFER + the number of a transfer (below
// MOCK_CORE_TRANSFERS, used again once it has ended).
constexpr uint32_t MOCK_WATCH_TRANSFER = 16;
// A ring of the core: + 16 * DMA engine + queue.
constexpr uint32_t MOCK_WATCH_RING = 256;

struct mock_watch_t {
  void *user;
  // The record at `pc` executes now: its waits held, its operands come next.
  void (*issue)(mock_watch_t *watch, uint32_t engine, uint64_t pc, const isa_record *record);
  // A wait of the next record held. `mode` is isa_wait_mode_t without the register bit, `value`
  // what it compared with.
  void (*acquire)(mock_watch_t *watch, uint32_t engine, uint8_t mode, uint32_t index,
                  int32_t value);
  void (*operand)(mock_watch_t *watch, uint32_t engine, const isa_operand_t *operand);
  // A scalar access at a device address.
  void (*scalar)(mock_watch_t *watch, uint32_t engine, uint64_t address, uint64_t bytes,
                 bool write);
  // The actor is about to change a semaphore, or an event (0 clear, 1 set). `raised`: to `value`,
  // by adding.
  void (*release)(mock_watch_t *watch, uint32_t actor, bool event, uint32_t index, bool raised,
                  int64_t value);
  // The record at hand has become a transfer; its bytes have moved, or never will.
  void (*transfer_issue)(mock_watch_t *watch, uint32_t actor, const mock_transfer_t *transfer);
  void (*transfer_end)(mock_watch_t *watch, uint32_t actor);
  // A packet of a ring is about to move; what it reads and writes. (Doorbells are scalar accesses
  // of engines.)
  void (*packet_begin)(mock_watch_t *watch, uint32_t actor);
  void (*packet_access)(mock_watch_t *watch, uint32_t actor, const mock_target_t *target,
                        uint64_t length, bool write);
  // A word of the events of a core, this or another one, was written by its address: by a scalar
  // store, a transfer or a packet.
  void (*register_written)(mock_watch_t *watch, uint32_t actor, uint32_t device, uint32_t core,
                           uint64_t offset);
};
