// SPDX-License-Identifier: Apache-2.0
#include "tdrv/instr_block.h"

#include <cstdlib>
#include <cstring>

#include "isa/isa_table.h"
#include "isa/project.h"
#include "tdrv/grow.h"

namespace {

constexpr uint8_t kUpdateAtEnd = ISA_UPDATE_COMPLETE;
constexpr uint32_t kLastArrival = 8;  // additions of one barrier

// What an engine waits for twice: its turn to arrive and its turn to leave (G7). PE opens and ends.
struct turns_t {
  uint32_t arrive, leave;
};
constexpr turns_t kTurns[ISA_ENGINE_COUNT] = {
    {0, kLastArrival},  // PE
    {1, 7},             // ACT
    {2, 6},             // POOL
    {3, 5},             // DVE
    {4, 4},             // SP: the last to arrive
};

void event_semaphore(instr_block_t *block, uint32_t wait, uint8_t update, uint32_t value) {
  isa_event_semaphore r = {};
  r.h = instr_header(ISA_EVENT_SEMAPHORE);
  if (wait != 0) {
    r.wait_mode = ISA_WAIT_SEM_EQ;
    r.wait_index = PROJECT_SEM_BARRIER;
    r.wait_value = wait;
  }
  r.update_mode = update | kUpdateAtEnd;
  r.update_index = PROJECT_SEM_BARRIER;
  r.update_value = value;
  instr_append(block, &r);
}

// Pseudo records no runtime of ours translates (dma-and-exec.md 3.3).
const char *pseudo_name(uint8_t opcode) {
  switch (opcode) {
    case 0xC2:
      return "DMA re-arm";
    case 0xC4:
      return "indirect DMA copy";
    case 0xC8:
    case 0xCB:
    case 0xD9:
    case 0xDB:
    case 0xDC:
      return "collective operation";
    case 0xCA:
      return "embedding update";
    case 0xCF:
      return "swap of a queue set";
    case 0xD1:
      return "begin of a function";
    case 0xD2:
      return "return of a function";
    case 0xD3:
      return "call of a function";
    default:
      return "unknown";
  }
}

}  // namespace

void instr_block_free(instr_block_t *block) {
  free(block->records);
  *block = {};
}

NRT_STATUS instr_block_status(const instr_block_t *block) {
  if (!block->failed)
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV, "no host memory for an image of more than {} instructions", block->count);
  return NRT_RESOURCE;
}

void instr_append(instr_block_t *block, const void *record) {
  if (!grow(&block->records, &block->capacity, uint64_t{block->count} + 1)) {
    block->failed = true;
    return;
  }
  memcpy(&block->records[block->count++], record, ISA_RECORD_BYTES);
}

isa_header instr_header(isa_opcode_t opcode) {
  isa_header h = {};
  h.opcode = opcode;
  h.words = ISA_HEADER_WORDS;
  return h;
}

void instr_drain(instr_block_t *block) {
  isa_drain r = {};
  r.h = instr_header(ISA_DRAIN);
  instr_append(block, &r);
}

void instr_barrier(instr_block_t *block, isa_engine_t engine) {
  const turns_t &turn = kTurns[engine];
  instr_drain(block);
  if (engine == ISA_ENGINE_PE) {
    event_semaphore(block, 0, ISA_UPDATE_SEM_ADD, 1);
    event_semaphore(block, turn.leave, ISA_UPDATE_SEM_WRITE, 0);
  } else {
    event_semaphore(block, turn.arrive, ISA_UPDATE_SEM_INC, 1);
    if (turn.leave != turn.arrive)
      event_semaphore(block, turn.leave, ISA_UPDATE_SEM_INC, 1);
  }
  instr_drain(block);
}

void instr_clear_semaphores(instr_block_t *block, uint8_t first, uint8_t last) {
  isa_sem_range_clear r = {};
  r.h = instr_header(ISA_SEM_RANGE_CLEAR);
  r.mode = 1;
  r.first = first;
  r.last = last;
  instr_append(block, &r);
}

void instr_write(instr_block_t *block, const isa_header *header, const uint64_t address[2],
                 const uint32_t value[2], uint32_t count) {
  isa_write r = {};
  r.h = *header;
  for (uint32_t i = 0; i < count; ++i) {
    r.size[i] = sizeof(uint32_t);
    isa_addr8_set_device(&r.address[i], address[i]);
    r.value[i] = value[i];
  }
  instr_append(block, &r);
}

void instr_store_pairs(instr_block_t *block, uint64_t address, uint32_t inner, uint32_t outer,
                       const uint32_t *value, uint32_t pairs) {
  isa_tensor_move r = {};
  r.h = instr_header(ISA_TENSOR_STORE);
  r.dtype = ISA_DTYPE_UINT32;
  r.kind = 1;
  r.count[0] = 2;
  r.count[1] = static_cast<uint8_t>(pairs);
  isa_addr8_set_device(&r.address, address);
  r.step[0] = static_cast<int32_t>(inner / sizeof(uint32_t));
  r.step[1] = static_cast<int32_t>(outer / sizeof(uint32_t));
  memcpy(r.immediate, value, 2 * pairs * sizeof(uint32_t));
  instr_append(block, &r);
}

void instr_load_pair(instr_block_t *block, uint64_t address, uint8_t low, uint8_t high) {
  isa_tensor_move r = {};
  r.h = instr_header(ISA_TENSOR_LOAD);
  r.dtype = ISA_DTYPE_UINT32;
  r.count[0] = 2;
  r.count[1] = 1;
  isa_addr8_set_device(&r.address, address);
  r.step[0] = 1;
  r.reg[0] = low;
  r.reg[1] = high;
  instr_append(block, &r);
}

void instr_move_pair(instr_block_t *block, uint64_t value, uint8_t low, uint8_t high) {
  isa_move r = {};
  r.h = instr_header(ISA_MOVE);
  r.count = 2;
  r.dtype = ISA_DTYPE_UINT32;
  r.source = 1;
  r.dst[0] = low;
  r.dst[1] = high;
  r.immediate[0] = static_cast<uint32_t>(value);
  r.immediate[1] = static_cast<uint32_t>(value >> 32);
  instr_append(block, &r);
}

void instr_branch_registers(instr_block_t *block, uint8_t low, uint8_t high) {
  isa_compare_branch r = {};
  r.h = instr_header(ISA_COMPARE_BRANCH);
  r.compare = ISA_BRANCH_ALWAYS;
  r.target = ISA_TARGET_REGISTERS;
  r.target_reg[0] = low;
  r.target_reg[1] = high;
  instr_append(block, &r);
}

void instr_report(const instr_place_t *place, const nlog_held_error &reason) {
  uint8_t opcode = place->records[size_t{place->slot} * ISA_RECORD_BYTES];
  const char *name = isa_opcode_name(opcode);
  NLOG_ERROR(NLOG_TDRV, "subgraph {}, engine {}, slot {}, opcode {:#04x} ({}): {}", place->subgraph,
             isa_engine_name(place->engine), place->slot, opcode,
             name == nullptr ? pseudo_name(opcode) : name, reason.message);
}
