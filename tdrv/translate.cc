// SPDX-License-Identifier: Apache-2.0
#include "tdrv/translate.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "base/nlog.h"
#include "base/pages.h"
#include "isa/isa_modes.h"
#include "isa/isa_table.h"
#include "isa/project.h"
#include "tdrv/dma_ring.h"
#include "tdrv/grow.h"
#include "tdrv/queue_set.h"

namespace {

struct stream_t {
  const translate_t *translate;
  const vtpb_info_shared_mr_set_t *set;
  const mem_ref_t *table;  // DGE table, or NULL
  isa_engine_t engine;
  const uint8_t *records;
  uint32_t slots;
  translated_t *out;
  uint32_t *first;  // per slot, and one behind the last: its first record in the image
};

void read_record(const stream_t *stream, uint32_t slot, void *record) {
  memcpy(record, stream->records + size_t{slot} * ISA_RECORD_BYTES, ISA_RECORD_BYTES);
}

// --- what may run --------------------------------------------------------------------------------

// Semaphores and events below these limits are the runtime's.
NRT_STATUS check_sync(uint8_t wait_mode, uint8_t wait_index, uint8_t update_mode,
                      uint8_t update_index) {
  uint8_t wait = wait_mode & static_cast<uint8_t>(~ISA_WAIT_REGISTER);
  bool sem_wait = wait >= ISA_WAIT_SEM_EQ && wait <= ISA_WAIT_SEM_GE;
  uint8_t update = update_mode & static_cast<uint8_t>(~(ISA_UPDATE_REGISTER | ISA_UPDATE_COMPLETE));
  bool event_update = update == ISA_UPDATE_EVENT_SET || update == ISA_UPDATE_EVENT_CLEAR;
  struct {
    bool used, semaphore;
    uint8_t index;
  } const uses[] = {{wait != ISA_WAIT_NONE, sem_wait, wait_index},
                    {update != ISA_UPDATE_NONE, !event_update, update_index}};
  for (const auto &use : uses) {
    uint32_t limit = use.semaphore ? PROJECT_SEM_COUNT : PROJECT_EVENT_COUNT;
    if (!use.used || use.index >= limit)
      continue;
    NLOG_ERROR(NLOG_TDRV, "uses {} {}; 0 to {} are the runtime's",
               use.semaphore ? "semaphore" : "event", use.index, limit - 1);
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

// Strictly as isa/ knows the record, and only what the mocked device runs.
NRT_STATUS check_form(const stream_t *stream, const isa_record *record) {
  if (!isa_is_executable(record->h.opcode, stream->engine)) {
    NLOG_ERROR(NLOG_TDRV, "this engine does not run it");
    return NRT_INVALID;
  }
  uint32_t offset = 0;
  const char *reason = isa_check(record, stream->engine, ISA_FORM_NEFF, &offset);
  if (reason == nullptr)
    reason = isa_modes_check(record, &offset);
  if (reason == nullptr)
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV, "byte {}: {}", offset, reason);
  return NRT_INVALID;
}

// Operands lie in the core's memories. Those with their address in a register are looked at by the
// device, when it is known.
NRT_STATUS check_operands(const stream_t *stream, const isa_record *record) {
  const translate_t *t = stream->translate;
  const hal_arch_t *arch = t->info->vcore->tpbs[t->subgraph]->pcore.arch;
  const auto sbuf_bytes = static_cast<uint32_t>(arch->sbuf_partition_size);
  isa_operand_t operands[ISA_MAX_OPERANDS];
  uint32_t count = isa_operands(record, operands);
  for (uint32_t i = 0; i < count; ++i) {
    bool psum;
    uint32_t partition, begin, end;
    if ((operands[i].addr4 & ISA_ADDR4_REGISTER) != 0 ||
        isa_operand_range(&operands[i], sbuf_bytes, &psum, &partition, &begin, &end))
      continue;
    NLOG_ERROR(NLOG_TDRV, "operand {} leaves {}: {} partitions of {} bytes", operands[i].role,
               psum ? "PSUM" : "SBUF", ISA_PARTITIONS,
               psum ? ISA_PSUM_PARTITION_BYTES : sbuf_bytes);
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

NRT_STATUS check_record(const stream_t *stream, const isa_record *record) {
  const isa_header &h = record->h;
  NRT_STATUS status = check_form(stream, record);
  if (status == NRT_SUCCESS)
    status = check_operands(stream, record);
  if (status != NRT_SUCCESS)
    return status;
  status = check_sync(h.wait_mode, h.wait_index, h.update_mode, h.update_index);
  if (status != NRT_SUCCESS || h.opcode != ISA_EVENT_SEMAPHORE)
    return status;
  isa_event_semaphore second;
  memcpy(&second, record, sizeof(second));
  return check_sync(second.wait_mode, second.wait_index, second.update_mode, second.update_index);
}

// --- addresses -----------------------------------------------------------------------------------

// Bytes that a pattern touches, from its lowest: rows of `row` bytes at two steps. isa_check has
// found no count of 0.
struct extent_t {
  int64_t below;  // of the lowest byte, relative to the pattern's start; not above 0
  uint64_t size;
  uint64_t reach;  // what a bound lets an offset register reach, `size` without one
};

template <typename count_t>
extent_t measure(const int32_t step[2], const count_t count[2], uint64_t unit, uint64_t row) {
  int64_t low = 0, high = 0;
  for (int i = 0; i < 2; ++i) {
    int64_t reach = static_cast<int64_t>(step[i]) * (count[i] - 1) * static_cast<int64_t>(unit);
    (reach < 0 ? low : high) += reach;
  }
  uint64_t size = static_cast<uint64_t>(high - low) + row;
  return {low, size, size};
}

// A place in a variable: `offset` is where the pattern starts.
NRT_STATUS resolve(const stream_t *stream, uint32_t var_id, uint64_t offset, const extent_t *extent,
                   mem_ref_place_t *out) {
  uint64_t below = static_cast<uint64_t>(-extent->below);
  if (below > offset) {
    NLOG_ERROR(NLOG_TDRV, "its pattern begins {} bytes before variable id {}", below - offset,
               var_id);
    return NRT_INVALID;
  }
  const translate_t *t = stream->translate;
  NRT_STATUS status =
      mem_ref_resolve(t->info, t->subgraph, var_id, offset - below, extent->size, out);
  if (status == NRT_SUCCESS && (!checked_add(out->address, below, &out->address) ||
                                !checked_add(out->io_offset, below, &out->io_offset))) {
    NLOG_ERROR(NLOG_TDRV, "the address of variable id {} does not fit 64 bits", var_id);
    return NRT_INVALID;
  }
  return status;
}

// A device address in a record about to be appended, `field` bytes into it.
NRT_STATUS put_place(const stream_t *stream, const mem_ref_place_t *place, size_t field,
                     isa_addr8 *out) {
  isa_addr8_set_device(out, place->address);
  if (place->io_slot == IO_SLOT_NONE)
    return NRT_SUCCESS;
  io_ref_t ref = {};
  ref.slot = place->io_slot;
  ref.engine = stream->engine;
  ref.offset = place->io_offset;
  ref.at = uint64_t{stream->out->main.count} * ISA_RECORD_BYTES + field;
  return io_refs_add(stream->translate->refs, &ref);
}

// An index into the DGE table, and what is reached from there. An offset register is checked when
// the record issues, against the bound; here the bound is.
NRT_STATUS check_table(const stream_t *stream, const isa_addr8 *a, const extent_t *extent) {
  uint32_t index = isa_addr8_id(*a);
  if (stream->table == nullptr || index >= stream->table->table_length) {
    NLOG_ERROR(NLOG_TDRV, "entry {} of the DGE table is addressed, it has {}", index,
               stream->table == nullptr ? 0 : stream->table->table_length);
    return NRT_INVALID;
  }
  bool from_register = a->mode == ISA_ADDR8_TABLE_REGISTER;
  extent_t whole = {0, extent->reach, 0};
  mem_ref_place_t ignored;
  return resolve(stream, stream->table->var_ids[index], from_register ? 0 : a->offset,
                 from_register ? &whole : extent, &ignored);
}

// Operand address of a record about to be appended: a variable, or else an entry of the DGE table.
NRT_STATUS translate_addr8(const stream_t *stream, const extent_t *extent, size_t field,
                           isa_addr8 *a) {
  if (a->mode != ISA_ADDR8_VARIABLE)
    return check_table(stream, a, extent);
  mem_ref_place_t place;
  NRT_STATUS status = resolve(stream, isa_addr8_id(*a), a->offset, extent, &place);
  return status == NRT_SUCCESS ? put_place(stream, &place, field, a) : status;
}

// --- one record each -----------------------------------------------------------------------------

// The bound of one side: how far its offset register may reach.
NRT_STATUS add_bound(const isa_dma_bound *sizes, bool source, uint8_t bound, extent_t *extent,
                     isa_move *move) {
  if (bound == 0)
    return NRT_SUCCESS;
  uint32_t size = source ? sizes->src_size : sizes->dst_size;
  if (extent->below < 0 || extent->size > size) {
    NLOG_ERROR(NLOG_TDRV, "its {} pattern of {} bytes{} does not fit the bound of {} bytes",
               source ? "source" : "destination", extent->size,
               extent->below < 0 ? " with a negative step" : "", size);
    return NRT_INVALID;
  }
  extent->reach = size;
  move->dst[move->count] = bound & ISA_DMA_BOUND_REGISTER;
  move->immediate[move->count++] = static_cast<uint32_t>(size - extent->size);
  return NRT_SUCCESS;
}

// The record 0xDA that follows a bounded 0xD4.
NRT_STATUS translate_bounds(stream_t *stream, uint32_t slot, const isa_dma *dma, extent_t *src,
                            extent_t *dst) {
  isa_dma_bound sizes = {};
  if (slot + 1 < stream->slots)
    read_record(stream, slot + 1, &sizes);
  if (sizes.h.opcode != ISA_PSEUDO_DMA_BOUND) {
    NLOG_ERROR(NLOG_TDRV, "it has a bound and no record 0xda follows");
    return NRT_INVALID;
  }
  isa_record raw;
  memcpy(&raw, &sizes, sizeof(raw));
  const char *reason = isa_check(&raw, stream->engine, ISA_FORM_NEFF, nullptr);
  if (reason != nullptr) {
    NLOG_ERROR(NLOG_TDRV, "the record 0xda behind it: {}", reason);
    return NRT_INVALID;
  }
  isa_move move = {};
  move.h = instr_header(ISA_MOVE);
  move.dtype = ISA_DTYPE_UINT32;
  move.source = 1;
  NRT_STATUS status = add_bound(&sizes, true, dma->src_bound, src, &move);
  if (status == NRT_SUCCESS)
    status = add_bound(&sizes, false, dma->dst_bound, dst, &move);
  if (status == NRT_SUCCESS)
    instr_append(&stream->out->main, &move);
  return status;
}

NRT_STATUS translate_dma(stream_t *stream, uint32_t slot) {
  isa_dma dma;
  read_record(stream, slot, &dma);
  extent_t src = measure(dma.src_step, dma.src_count, 1, isa_dma_row_bytes(dma.src_bytes));
  extent_t dst = measure(dma.dst_step, dma.dst_count, 1, isa_dma_row_bytes(dma.dst_bytes));
  NRT_STATUS status = NRT_SUCCESS;
  if (dma.src_bound != 0 || dma.dst_bound != 0)
    status = translate_bounds(stream, slot, &dma, &src, &dst);
  if (status == NRT_SUCCESS)
    status = translate_addr8(stream, &src, offsetof(isa_dma, src), &dma.src);
  if (status == NRT_SUCCESS)
    status = translate_addr8(stream, &dst, offsetof(isa_dma, dst), &dma.dst);
  if (status != NRT_SUCCESS)
    return status;
  if (dma.increment != 0 && dma.semaphore < PROJECT_SEM_COUNT) {
    NLOG_ERROR(NLOG_TDRV, "its completion raises semaphore {}; 0 to {} are the runtime's",
               dma.semaphore, PROJECT_SEM_COUNT - 1);
    return NRT_INVALID;
  }
  dma.h.opcode = ISA_DMAMEMCPY;
  instr_append(&stream->out->main, &dma);
  return NRT_SUCCESS;
}

NRT_STATUS translate_tensor_move(stream_t *stream, uint32_t slot) {
  isa_tensor_move move;
  read_record(stream, slot, &move);
  uint64_t element = isa_dtype_size(move.dtype);
  extent_t extent = measure(move.step, move.count, element, element);
  mem_ref_place_t place;
  NRT_STATUS status = resolve(stream, move.var_id, move.var_offset, &extent, &place);
  if (status == NRT_SUCCESS)
    status = put_place(stream, &place, offsetof(isa_tensor_move, address), &move.address);
  if (status != NRT_SUCCESS)
    return status;
  move.h.opcode = move.h.opcode == ISA_PSEUDO_TENSOR_LOAD ? ISA_TENSOR_LOAD : ISA_TENSOR_STORE;
  instr_append(&stream->out->main, &move);
  return NRT_SUCCESS;
}

// A branch whose distance is known once all slots have their place: the target slot stands in
// `offset` until then.
void append_branch(stream_t *stream, isa_compare_branch *branch, uint32_t target) {
  branch->offset = static_cast<int32_t>(target);
  instr_append(&stream->out->main, branch);
}

NRT_STATUS translate_branch(stream_t *stream, uint32_t slot) {
  isa_compare_branch branch;
  read_record(stream, slot, &branch);
  if (branch.target != ISA_TARGET_RELATIVE) {
    NLOG_ERROR(NLOG_TDRV, "a branch to {}: only distances fixed in the record can be translated",
               branch.target == ISA_TARGET_REGISTERS ? "an address in registers"
                                                     : "a distance in a register");
    return NRT_INVALID;
  }
  int64_t target = static_cast<int64_t>(slot) * ISA_RECORD_BYTES + branch.offset;
  if (target < 0 || target > static_cast<int64_t>(stream->slots) * ISA_RECORD_BYTES) {
    NLOG_ERROR(NLOG_TDRV, "its target, {} bytes away, is no slot of the {} of its stream",
               branch.offset, stream->slots);
    return NRT_INVALID;
  }
  auto to = static_cast<uint32_t>(target / ISA_RECORD_BYTES);
  if (to < stream->slots &&
      stream->records[size_t{to} * ISA_RECORD_BYTES] == ISA_PSEUDO_DMA_BOUND) {
    NLOG_ERROR(NLOG_TDRV, "its target, slot {}, belongs to the record before it", to);
    return NRT_INVALID;
  }
  append_branch(stream, &branch, to);
  return NRT_SUCCESS;
}

NRT_STATUS translate_pseudo(stream_t *stream, uint32_t slot) {
  isa_pseudo_inst pseudo;
  read_record(stream, slot, &pseudo);
  if (pseudo.sub_op != 1) {
    NLOG_ERROR(NLOG_TDRV, "sub-operation {} is not implemented, 1 (end of the program) is",
               pseudo.sub_op);
    return NRT_INVALID;
  }
  isa_compare_branch branch = {};
  branch.h = pseudo.h;
  branch.h.opcode = ISA_COMPARE_BRANCH;
  branch.target = ISA_TARGET_RELATIVE;
  append_branch(stream, &branch, stream->slots);
  return NRT_SUCCESS;
}

NRT_STATUS translate_trigger(stream_t *stream, uint32_t slot) {
  isa_dma_trigger trigger;
  read_record(stream, slot, &trigger);
  const queue_sets_t *queues = stream->translate->queues;
  const queue_set_t *set = nullptr;
  const block_counts_t *counts = queue_sets_find(queues, &trigger, stream->engine, &set);
  if (counts == nullptr) {  // queue_sets_init has been through the same stream
    NLOG_ERROR(NLOG_TDRV, "it names no block that has rings");
    return NRT_INVALID;
  }
  queue_set_trigger(queues, set, counts, &trigger.h, &stream->out->main);
  return NRT_SUCCESS;
}

NRT_STATUS check_table_load(const stream_t *stream, const isa_record *record) {
  isa_act_table_load load;
  memcpy(&load, record, sizeof(load));
  size_t sets = stream->set->kbin->act_function_sets.size();
  if (load.set < sets)
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV, "it loads function set {}, the subgraph has {}", load.set, sets);
  return NRT_INVALID;
}

// A function without a form of its own needs tables that the device evaluates. Whether the set they
// are in is the resident one is known when the record executes.
NRT_STATUS check_function(const stream_t *stream, const isa_record *record) {
  isa_activate activate;
  memcpy(&activate, record, sizeof(activate));
  if (isa_modes_function(activate.function))
    return NRT_SUCCESS;
  const auto &sets = stream->set->kbin->act_function_sets;
  for (const kbin_act_function_set_t &set : sets)
    for (const kbin_act_function_t &function : set.functions)
      if (function.func_id == activate.function && function.fma_indirection_src_sel == 0 &&
          !function.use_multipass)
        return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV,
             "byte {}: activation function {} has plain tables in none of the subgraph's {} sets",
             offsetof(isa_activate, function), activate.function, sets.size());
  return NRT_INVALID;
}

// Appends what becomes of a slot; *consumed slots of the stream went into it.
NRT_STATUS translate_slot(stream_t *stream, uint32_t slot, uint32_t *consumed) {
  isa_record record;
  read_record(stream, slot, &record);
  *consumed = 1;
  NRT_STATUS status = check_record(stream, &record);
  if (status != NRT_SUCCESS)
    return status;
  switch (record.h.opcode) {
    case ISA_PSEUDO_BRANCH_LABEL:
      return NRT_SUCCESS;
    case ISA_PSEUDO_DMA_DIRECT2D: {
      isa_dma dma;
      memcpy(&dma, &record, sizeof(dma));
      *consumed = dma.src_bound != 0 || dma.dst_bound != 0 ? 2 : 1;
      return translate_dma(stream, slot);
    }
    case ISA_PSEUDO_TENSOR_LOAD:
    case ISA_PSEUDO_TENSOR_STORE:
      return translate_tensor_move(stream, slot);
    case ISA_COMPARE_BRANCH:
      return translate_branch(stream, slot);
    case ISA_PSEUDO_INST:
      return translate_pseudo(stream, slot);
    case ISA_PSEUDO_DMATRIGGER:
      return translate_trigger(stream, slot);
    case ISA_PSEUDO_DMA_BOUND:
      NLOG_ERROR(NLOG_TDRV, "no bounded 0xd4 stands before it");
      return NRT_INVALID;
    case ISA_ACT_TABLE_LOAD:
      status = check_table_load(stream, &record);
      break;
    case ISA_ACTIVATE:
      status = check_function(stream, &record);
      break;
    default:
      break;
  }
  if (status == NRT_SUCCESS)
    instr_append(&stream->out->main, &record);
  return status;
}

// --- bookkeeping ---------------------------------------------------------------------------------

// N records for one slot are N - 1 inserted, none is a deleted slot; at the first one's place.
NRT_STATUS add_patch(translated_t *out, uint32_t before, uint32_t consumed) {
  uint32_t made = out->main.count - before;
  if (made == consumed)
    return NRT_SUCCESS;
  if (!grow(&out->patches, &out->patch_capacity, uint64_t{out->num_patches} + 1)) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for patch information");
    return NRT_RESOURCE;
  }
  program_patch_t *patch = &out->patches[out->num_patches++];
  patch->offset = before * ISA_RECORD_BYTES;
  patch->count = made > consumed ? made - consumed : consumed - made;
  patch->type = made > consumed ? PATCH_INSERT : PATCH_DELETE;
  patch->section = PROGRAM_MAIN;
  return NRT_SUCCESS;
}

NRT_STATUS translate_all(stream_t *stream, uint32_t *slot) {
  translated_t *out = stream->out;
  uint32_t consumed = 1;
  for (*slot = 0; *slot < stream->slots; *slot += consumed) {
    uint32_t before = out->main.count;
    NRT_STATUS status = translate_slot(stream, *slot, &consumed);
    for (uint32_t i = 0; i < consumed && *slot + i < stream->slots; ++i)
      stream->first[*slot + i] = before;
    if (status == NRT_SUCCESS)
      status = instr_block_status(&out->main);
    if (status == NRT_SUCCESS)
      status = add_patch(out, before, consumed);
    if (status != NRT_SUCCESS)
      return status;
  }
  stream->first[stream->slots] = out->main.count;
  return NRT_SUCCESS;
}

void settle_branches(const stream_t *stream) {
  instr_block_t *main = &stream->out->main;
  for (uint32_t i = 0; i < main->count; ++i) {
    if (main->records[i].h.opcode != ISA_COMPARE_BRANCH)
      continue;
    isa_compare_branch branch;
    memcpy(&branch, &main->records[i], sizeof(branch));
    uint32_t target = stream->first[static_cast<uint32_t>(branch.offset)];
    branch.offset = (static_cast<int32_t>(target) - static_cast<int32_t>(i)) *
                    static_cast<int32_t>(ISA_RECORD_BYTES);
    memcpy(&main->records[i], &branch, sizeof(branch));
  }
}

}  // namespace

NRT_STATUS translate_find_table(const vtpb_info_shared_t *info, uint32_t subgraph,
                                const mem_ref_t **out) {
  const vtpb_info_shared_mr_set_t *set = &info->mr_sets[subgraph];
  const kbin_mem_ref_set_t *records = set->kbin->mem_ref_set;
  *out = nullptr;
  for (uint32_t i = 0; set->tables.count != 0 && i < records->nmem; ++i) {
    if (records->mem[i].mr_type != MR_PTR_TABLE)
      continue;
    if (*out != nullptr) {
      NLOG_ERROR(NLOG_TDRV, "subgraph {} has the DGE tables {} and {}; an engine addresses one",
                 set->kbin->sg_name, (*out)->name, records->mem[i].name);
      return NRT_INVALID;
    }
    *out = lookup_memref_by_idx(set->mem_ref_set, records->mem[i].var_id);
  }
  return NRT_SUCCESS;
}

NRT_STATUS translate_stream(const translate_t *translate, const kbin_engine_t *engine,
                            translated_t *out) {
  *out = {};
  stream_t stream = {};
  stream.translate = translate;
  stream.set = &translate->info->mr_sets[translate->subgraph];
  stream.engine = static_cast<isa_engine_t>(engine->eng_type);
  stream.records = engine->instr.data();
  stream.slots = static_cast<uint32_t>(engine->instr.size() / ISA_RECORD_BYTES);
  stream.out = out;
  NRT_STATUS status = translate_find_table(translate->info, translate->subgraph, &stream.table);
  if (status != NRT_SUCCESS)
    return status;
  stream.first = static_cast<uint32_t *>(calloc(size_t{stream.slots} + 1, sizeof(uint32_t)));
  // Most slots become one record.
  if (stream.first == nullptr || !grow(&out->main.records, &out->main.capacity, stream.slots)) {
    free(stream.first);
    NLOG_ERROR(NLOG_TDRV, "no host memory to translate {} instructions", stream.slots);
    return NRT_RESOURCE;
  }
  pages_fill(out->main.records, size_t{stream.slots} * ISA_RECORD_BYTES);
  nlog_held_error reason;
  instr_place_t place = {stream.set->kbin->sg_name.c_str(), stream.engine, stream.records, 0};
  nlog_held_error *previous = nlog_hold_errors(&reason);
  status = translate_all(&stream, &place.slot);
  nlog_hold_errors(previous);
  if (status == NRT_SUCCESS)
    settle_branches(&stream);
  else
    instr_report(&place, reason);
  free(stream.first);
  return status;
}

void translated_free(translated_t *translated) {
  instr_block_free(&translated->main);
  free(translated->patches);
  *translated = {};
}
