// SPDX-License-Identifier: Apache-2.0
#include "tdrv/wrapper.h"

#include "isa/project.h"

namespace {

// The share of semaphores an engine clears after a run, so that the next one finds them at 0.
struct share_t {
  uint8_t first, last;
};
constexpr share_t kShares[ISA_ENGINE_COUNT] = {
    {3, 53},     // PE
    {54, 104},   // ACT
    {105, 155},  // POOL
    {156, 206},  // DVE
    {207, 255},  // SP
};
static_assert(kShares[0].first == PROJECT_SEM_COUNT);

static_assert(PROJECT_ENGINE_TABLES_HIGH == PROJECT_ENGINE_TABLES_LOW + sizeof(uint32_t));

}  // namespace

void wrapper_preamble(const wrapper_t *wrapper, instr_block_t *block) {
  if (wrapper->table_cell != 0)
    instr_load_pair(block, wrapper->table_cell, PROJECT_TABLE_REGISTER, PROJECT_TABLE_REGISTER + 1);
  if (wrapper->tables != 0) {
    isa_header h = instr_header(ISA_WRITE);
    const uint64_t address[2] = {wrapper->tables_register,
                                 wrapper->tables_register + sizeof(uint32_t)};
    const uint32_t value[2] = {static_cast<uint32_t>(wrapper->tables),
                               static_cast<uint32_t>(wrapper->tables >> 32)};
    instr_write(block, &h, address, value, 2);
  }
  queue_sets_setup(wrapper->queues, wrapper->engine, block);
  instr_barrier(block, wrapper->engine);
}

void wrapper_postamble(const wrapper_t *wrapper, instr_block_t *block) {
  const share_t &share = kShares[wrapper->engine];
  instr_barrier(block, wrapper->engine);
  instr_clear_semaphores(block, share.first, share.last);
  instr_barrier(block, wrapper->engine);
  instr_move_pair(block, wrapper->done, PROJECT_BRANCH_REGISTER, PROJECT_BRANCH_REGISTER + 1);
  instr_branch_registers(block, PROJECT_BRANCH_REGISTER, PROJECT_BRANCH_REGISTER + 1);
}
