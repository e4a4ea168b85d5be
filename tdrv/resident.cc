// SPDX-License-Identifier: Apache-2.0
#include "tdrv/resident.h"

#include <cstddef>
#include <cstring>

#include "tdrv/instr_block.h"

namespace {

constexpr uint8_t kLow = PROJECT_BRANCH_REGISTER, kHigh = PROJECT_BRANCH_REGISTER + 1;

void notify(instr_block_t *block, uint32_t engine, uint16_t hint) {
  isa_notify r = {};
  r.h = instr_header(ISA_NOTIFY);
  r.queue = static_cast<uint8_t>(PROJECT_NQ_STATUS + engine);
  r.type = project_notify_explicit(engine);
  r.extended_hint = hint;
  instr_append(block, &r);
}

void no_operation(instr_block_t *block, isa_header header) {
  isa_record r = {};
  r.h = header;
  instr_append(block, &r);
}

// PE takes one off the host's semaphore and wakes the others.
void wait_for_host(instr_block_t *block) {
  isa_event_semaphore r = {};
  r.h = instr_header(ISA_EVENT_SEMAPHORE);
  r.h.wait_mode = ISA_WAIT_SEM_GE;
  r.h.wait_index = PROJECT_SEM_START;
  r.h.update_mode = ISA_UPDATE_SEM_DEC | ISA_UPDATE_COMPLETE;
  r.h.update_index = PROJECT_SEM_START;
  r.h.value = 1;
  instr_append(block, &r);
  for (uint32_t e = ISA_ENGINE_PE + 1; e < ISA_ENGINE_COUNT; ++e) {
    isa_header h = instr_header(ISA_NOP);
    h.update_mode = ISA_UPDATE_EVENT_SET | ISA_UPDATE_COMPLETE;
    h.update_index = static_cast<uint8_t>(PROJECT_EVENT_START + e);
    no_operation(block, h);
  }
}

void wait_for_pe(instr_block_t *block, uint32_t engine) {
  isa_header h = instr_header(ISA_NOP);
  h.wait_mode = ISA_WAIT_EVENT_SET_CLEAR;
  h.wait_index = static_cast<uint8_t>(PROJECT_EVENT_START + engine);
  no_operation(block, h);
}

// The engine's two words of the request into the branch registers.
void load_image_address(instr_block_t *block, uint64_t request, uint32_t engine) {
  isa_tensor_move r = {};
  r.h = instr_header(ISA_TENSOR_LOAD);
  r.dtype = ISA_DTYPE_UINT32;
  r.count[0] = 2;
  r.count[1] = 1;
  isa_addr8_set_device(
      &r.address, request + offsetof(project_request_t, image_low) + engine * sizeof(uint32_t));
  r.step[0] = static_cast<int32_t>(
      (offsetof(project_request_t, image_high) - offsetof(project_request_t, image_low)) /
      sizeof(uint32_t));
  r.reg[0] = kLow;
  r.reg[1] = kHigh;
  instr_append(block, &r);
}

void build_loop(uint64_t request, uint32_t engine, instr_block_t *block) {
  notify(block, engine, PROJECT_HINT_END);
  no_operation(block, instr_header(ISA_SET_ORDERING));
  if (engine == ISA_ENGINE_PE)
    wait_for_host(block);
  else
    wait_for_pe(block, engine);
  notify(block, engine, PROJECT_HINT_START);
  load_image_address(block, request, engine);
  instr_branch_registers(block, kLow, kHigh);
}

}  // namespace

uint64_t resident_done(uint64_t address, uint32_t engine) {
  return address + offsetof(resident_block_t, loops) +
         engine * sizeof(isa_record[RESIDENT_LOOP_SLOTS]);
}

uint64_t resident_head(uint64_t address, uint32_t engine) {
  return resident_done(address, engine) + sizeof(isa_record);
}

uint64_t resident_request(uint64_t address) {
  return address + offsetof(resident_block_t, request);
}

void resident_build(uint64_t address, resident_block_t *out) {
  memset(out, 0, sizeof(*out));
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e) {
    instr_block_t block = {out->loops[e], 0, RESIDENT_LOOP_SLOTS, false};  // never grows
    build_loop(resident_request(address), e, &block);
  }
}
