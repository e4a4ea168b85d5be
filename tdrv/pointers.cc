// SPDX-License-Identifier: Apache-2.0
// Pointer variables and device tables of addresses (rulings.md 7, 8; mem-ref.md 8.6).
#include <cstdlib>

#include "base/checked.h"
#include "base/nlog.h"
#include "tdrv/dma_ring.h"
#include "tdrv/mem_ref.h"

namespace {

// A pointer may name another pointer. No program needs a long chain, and the bound also ends
// cycles.
constexpr uint32_t kMaxPointerDepth = 16;

// The variable a pointer finally stands for. `*mr` is a pointer on entry.
NRT_STATUS follow_pointer(const ht_t *set, const mem_ref_t *pointer, const mem_ref_t **out) {
  const mem_ref_t *mr = pointer;
  for (uint32_t depth = 0; mr->type == MR_PTR; ++depth) {
    if (depth == kMaxPointerDepth) {
      NLOG_ERROR(NLOG_TDRV,
                 "pointer variable {} (id {}): its chain of pointers is a cycle or longer than {}",
                 pointer->name, pointer->var_id, kMaxPointerDepth);
      return NRT_INVALID;
    }
    const mem_ref_t *next = nullptr;
    // Ids come from a 32-bit field; the record stores them wider.
    next = lookup_memref_by_idx(set, static_cast<uint32_t>(mr->mr_ptr_id));
    if (next == nullptr) {
      NLOG_ERROR(NLOG_TDRV, "pointer variable {} (id {}) points to id {}, which does not exist",
                 mr->name, mr->var_id, mr->mr_ptr_id);
      return NRT_INVALID;
    }
    mr = next;
  }
  if (mr->type == MR_LIST || mr->type == MR_PTR_TABLE) {
    NLOG_ERROR(NLOG_TDRV, "pointer variable {} (id {}) points to {}, a {} without an address",
               pointer->name, pointer->var_id, mr->name, kbin_mr_type_name(mr->type));
    return NRT_INVALID;
  }
  *out = mr;
  return NRT_SUCCESS;
}

// True when the variable's address changes with every binding: an input, an output, or another
// subgraph's input or output under a local id.
bool is_bound_per_execution(const mem_ref_t *mr) {
  if (mr->type == MR_INPUT || mr->type == MR_OUTPUT)
    return true;
  if (mr->type != MR_REMOTE)
    return false;
  // An alias that is still unplaced after the remote pass can only be one of an unallocated slot.
  return mr->physical_address == MEM_REF_NOT_STAGED ||
         (mr->mem != nullptr && mr->mem->mem_usage_type == dma_mem_usage_type_t::IO);
}

NRT_STATUS fill_table(const ht_t *set, mem_ref_t *table) {
  for (uint32_t i = 0; i < table->table_length; ++i) {
    const mem_ref_t *entry = lookup_memref_by_idx(set, table->var_ids[i]);
    if (entry == nullptr) {
      NLOG_ERROR(NLOG_TDRV, "pointer table {} (id {}): entry {} names id {}, which does not exist",
                 table->name, table->var_id, i, table->var_ids[i]);
      return NRT_INVALID;
    }
    if (entry->type == MR_PTR) {
      NRT_STATUS status = follow_pointer(set, entry, &entry);
      if (status != NRT_SUCCESS)
        return status;
    }
    bool bound = is_bound_per_execution(entry);
    table->var_id_needs_translation[i] = bound;
    if (bound) {
      table->addrs[i] = entry->physical_address;  // all ones while there is no slot
      continue;
    }
    NRT_STATUS status = mem_ref_to_addr(entry, 0, 0, &table->addrs[i]);
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

NRT_STATUS upload_table(const mem_ref_stage_ctx_t *ctx, mem_ref_t *table, dmem_t **out) {
  *out = nullptr;
  if (table->table_length == 0)
    return NRT_SUCCESS;
  size_t bytes = table->table_length * sizeof(uint64_t);
  NRT_STATUS status = dmem_alloc_aligned(ctx->allocator, bytes, dma_mem_location_t::TONGA_DRAM,
                                         ctx->pcore->hbm_index, ctx->gc_tracker,
                                         dma_mem_usage_type_t::IO, table->name, 0, out);
  if (status != NRT_SUCCESS)
    return status;
  return dmem_buf_copyin(*out, table->addrs, 0, bytes);
}

}  // namespace

NRT_STATUS mr_pointer_init_pointer_vars(ht_t *mr_set, const kbin_mem_ref_set_t *records) {
  for (uint32_t i = 0; i < records->nmem; ++i) {
    if (records->mem[i].mr_type != MR_PTR)
      continue;
    mem_ref_t *mr = lookup_memref_by_idx(mr_set, records->mem[i].var_id);
    if (mr == nullptr || mr->type != MR_PTR)
      continue;  // not staged by the bulk pass: nothing to fill
    const mem_ref_t *target = nullptr;
    NRT_STATUS status = follow_pointer(mr_set, mr, &target);
    if (status != NRT_SUCCESS)
      return status;
    mr->ptr_mem_addr = target->physical_address;
    mr->is_io = mr->is_io || is_bound_per_execution(target);
  }
  return NRT_SUCCESS;
}

NRT_STATUS mem_ref_init_ptr_tables(const mem_ref_stage_ctx_t *ctx,
                                   const kbin_mem_ref_set_t *records) {
  uint64_t wanted = 0;
  for (uint32_t i = 0; i < records->nmem; ++i)
    wanted += records->mem[i].mr_type == MR_PTR_TABLE ? 1 : 0;
  if (wanted == 0)
    return NRT_SUCCESS;
  ctx->tables->mem = static_cast<dmem_t **>(calloc(wanted, sizeof(void *)));
  if (ctx->tables->mem == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for {} pointer tables", wanted);
    return NRT_RESOURCE;
  }
  for (uint32_t i = 0; i < records->nmem; ++i) {
    if (records->mem[i].mr_type != MR_PTR_TABLE)
      continue;
    mem_ref_t *table = lookup_memref_by_idx(ctx->mr_set, records->mem[i].var_id);
    if (table == nullptr || table->type != MR_PTR_TABLE)
      continue;
    NRT_STATUS status = fill_table(ctx->mr_set, table);
    if (status == NRT_SUCCESS)
      status = upload_table(ctx, table, &ctx->tables->mem[ctx->tables->count]);
    if (status != NRT_SUCCESS)
      return status;
    table->pointers_to_tables_index = ctx->tables->count++;
  }
  return NRT_SUCCESS;
}

void mem_ref_tables_free(mem_ref_tables_t *tables) {
  free(static_cast<void *>(tables->mem));
  *tables = {};
}
