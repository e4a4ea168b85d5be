// SPDX-License-Identifier: Apache-2.0
// What a run does to memory, checked byte by byte: races (two accesses, one of them a write, that
// nothing orders) and reads of memory nobody wrote. One checker watches a whole machine, so that
// cores are checked against each other.
//
// Order comes from semaphores, events and streams only. PE completes its records one after the
// other; the other engines are pipelined: a later record of the same engine knows that an earlier
// one has finished only through a wait on what that one raised (verified-attention.md 5). A ring
// moves its packets in order; generated transfers are free. A wait for `>= n` knows of the updates
// up to the first one that reached n and of no later one, however late it looks.
//
// Functions may be called from any thread; each takes the checker's lock. Off costs nothing: nobody
// calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "isa/isa_table.h"

struct mock_check_t;

mock_check_t *mock_check_create(bool races, bool uninitialised);  // nullptr: out of memory
void mock_check_destroy(mock_check_t *check);                     // NULL is fine

// Where bytes are: a memory of the machine (MOCK memory index) and an offset into its file.
struct mock_check_range_t {
  uint32_t memory;
  uint64_t offset, length;
};

// Who acts. Numbers of the caller's choosing, kept for the checker's life.
using mock_check_actor_t = uint32_t;
// An engine of a core; `in_order`: its records complete one after the other.
mock_check_actor_t mock_check_engine(mock_check_t *check, uint32_t device, uint32_t core,
                                     isa_engine_t engine, bool in_order);
// A DMA ring: in order.
mock_check_actor_t mock_check_ring(mock_check_t *check, uint32_t device, uint32_t dma_engine,
                                   uint32_t queue);

// An engine begins a run: after everything that has ended. `undefined` (count ranges) holds nothing
// anybody wrote from then on: the core's SBUF and PSUM, scratch. Give it with the first engine.
void mock_check_start(mock_check_t *check, mock_check_actor_t actor,
                      const mock_check_range_t *undefined, size_t count);
void mock_check_end(mock_check_t *check, mock_check_actor_t actor);

// The record the actor works on from now on. `pc` and the opcode are what reports show.
void mock_check_record(mock_check_t *check, mock_check_actor_t actor, uint64_t pc, uint8_t opcode);
// Everything this actor has issued is complete (DRAIN).
void mock_check_drain(mock_check_t *check, mock_check_actor_t actor);

// Synchronisation. `index`: semaphore, or MOCK_CHECK_EVENT + event, of a core.
constexpr uint32_t MOCK_CHECK_EVENT = 256;
struct mock_check_sync_t {
  uint32_t device, core, index;
};
// A wait for `>= value` passed; `at_least` false: any other condition, all updates so far count.
void mock_check_acquire(mock_check_t *check, mock_check_actor_t actor, mock_check_sync_t sync,
                        bool at_least, int64_t value);
// The actor's current record raised a semaphore to `value`, or (`raised` false) changed it in
// another way.
void mock_check_release(mock_check_t *check, mock_check_actor_t actor, mock_check_sync_t sync,
                        bool raised, int64_t value);

// A generated transfer begins with what its engine knows and belongs to its record; it is an actor
// until its end. A ring learns at a doorbell what the one who rings knows.
mock_check_actor_t mock_check_transfer_begin(mock_check_t *check, mock_check_actor_t issuer);
void mock_check_transfer_end(mock_check_t *check, mock_check_actor_t transfer);
void mock_check_doorbell(mock_check_t *check, mock_check_actor_t ring, mock_check_actor_t ringer);

void mock_check_access(mock_check_t *check, mock_check_actor_t actor,
                       const mock_check_range_t *range, bool write);
// All lanes of an operand; `window` is where the core's window begins. No register markers.
void mock_check_operand(mock_check_t *check, mock_check_actor_t actor,
                        const mock_check_range_t *window, const isa_operand_t *operand);

// Findings in order, each pair of places once. `describe` turns a pc into words.
struct mock_check_site_t {
  const char *kind;               // "engine", "transfer", "ring"
  uint32_t device, core, engine;  // ring: DMA engine in `core`, queue in `engine`
  uint64_t pc;
  uint8_t opcode;
};
struct mock_check_finding_t {
  bool race;  // false: uninitialised
  mock_check_range_t range;
  mock_check_site_t first, second;  // uninitialised: only `second`
  bool first_writes, second_writes;
};
bool mock_check_next(mock_check_t *check, mock_check_finding_t *out);  // false: none left
uint64_t mock_check_dropped(mock_check_t *check);                      // findings beyond the limit
