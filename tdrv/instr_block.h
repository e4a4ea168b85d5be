// SPDX-License-Identifier: Apache-2.0
// A growing run of instruction records and the runtime's own phrases in it (verified-facts.md G7,
// G8): doorbells, register writes, the barrier of the five engines.
#pragma once

#include <cstdint>

#include "base/nlog.h"
#include "isa/isa.h"
#include "nrt/nrt_status.h"

// Appending without memory does nothing but set `failed`: instr_block_status tells at the end.
struct instr_block_t {
  isa_record *records;
  uint32_t count, capacity;
  bool failed;
};
void instr_block_free(instr_block_t *block);
// NRT_RESOURCE with its line when an append failed.
NRT_STATUS instr_block_status(const instr_block_t *block);

void instr_append(instr_block_t *block, const void *record);  // 64 bytes
isa_header instr_header(isa_opcode_t opcode);

void instr_drain(instr_block_t *block);
// Waits until every engine has come this far.
void instr_barrier(instr_block_t *block, isa_engine_t engine);
void instr_clear_semaphores(instr_block_t *block, uint8_t first, uint8_t last);
// One 32-bit store, or two when `count` is 2.
void instr_write(instr_block_t *block, const isa_header *header, const uint64_t address[2],
                 const uint32_t value[2], uint32_t count);
// `pairs` (1 to 4) times two 32-bit stores: `inner` bytes apart, pairs `outer` bytes apart.
void instr_store_pairs(instr_block_t *block, uint64_t address, uint32_t inner, uint32_t outer,
                       const uint32_t *value, uint32_t pairs);
// The 64-bit word at `address` into two registers.
void instr_load_pair(instr_block_t *block, uint64_t address, uint8_t low, uint8_t high);
void instr_move_pair(instr_block_t *block, uint64_t value, uint8_t low, uint8_t high);
void instr_branch_registers(instr_block_t *block, uint8_t low, uint8_t high);

// A record of a NEFF's stream, for the line of a refusal.
struct instr_place_t {
  const char *subgraph;
  isa_engine_t engine;
  const uint8_t *records;  // of the stream
  uint32_t slot;
};
// Writes the held line with subgraph, engine, slot and opcode in front.
void instr_report(const instr_place_t *place, const nlog_held_error &reason);
