// SPDX-License-Identifier: Apache-2.0
#include "tdrv/mem_ref.h"

#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "base/nlog.h"
#include "tdrv/dma_ring.h"
#include "tdrv/tdrv.h"

namespace {

constexpr uint64_t kStateBufferSize = 0x2000000;  // the aperture, larger than the SRAM behind it

void free_record(mem_ref_t *mr) {
  if (mr == nullptr)
    return;
  if (mr->type == MR_LIST) {
    free(mr->list);
  } else if (mr->type == MR_PTR_TABLE) {
    free(mr->var_ids);
    free(mr->var_id_needs_translation);
    free(mr->addrs);
  }
  free(mr->debug_tensor_md);
  free(mr);
}

template <typename T>
T *array_alloc(uint32_t length) {
  return static_cast<T *>(calloc(length == 0 ? 1 : length, sizeof(T)));
}

// Fills the placement union. False without memory.
bool init_placement(mem_ref_t *mr, const kbin_mem_ref *source) {
  mr->physical_address = MEM_REF_NOT_STAGED;
  if (mr->type == MR_PTR) {
    mr->mr_ptr_id = source->ptr.var_id;
    mr->is_io = source->ptr.io_ref;
  } else if (mr->type == MR_LIST) {
    mr->physical_address = 0;  // all eight bytes: `length` covers only half of the sentinel
    mr->length = source->list.length;
    mr->list = array_alloc<uint32_t>(mr->length);
    if (mr->list == nullptr)
      return false;
    if (mr->length != 0)
      memcpy(mr->list, source->list.list, mr->length * sizeof(uint32_t));
  } else if (mr->type == MR_PTR_TABLE) {
    mr->physical_address = 0;
    mr->table_length = source->list.length;
    mr->var_ids = array_alloc<uint32_t>(mr->table_length);
    mr->var_id_needs_translation = array_alloc<bool>(mr->table_length);
    mr->addrs = array_alloc<uint64_t>(mr->table_length);
    mr->pointers_to_tables_index = ~0ull;
    if (mr->var_ids == nullptr || mr->var_id_needs_translation == nullptr || mr->addrs == nullptr)
      return false;
    if (mr->table_length != 0)
      memcpy(mr->var_ids, source->list.list, mr->table_length * sizeof(uint32_t));
    for (uint32_t i = 0; i < mr->table_length; ++i)
      mr->addrs[i] = MEM_REF_NOT_STAGED;
  }
  return true;
}

NRT_STATUS insert_record(ht_t *set, mem_ref_t *mr) {
  if (ht_insert(set, mr->var_id, &mr->ht_node) == NRT_SUCCESS)
    return NRT_SUCCESS;
  const mem_ref_t *other = lookup_memref_by_idx(set, mr->var_id);
  NLOG_ERROR(NLOG_TDRV, "variables {} and {} have the same id {}", other->name, mr->name,
             mr->var_id);
  return NRT_INVALID;
}

void log_staged(const mem_ref_stage_ctx_t *ctx, const mem_ref_t *mr, bool copied) {
  NLOG_DEBUG(NLOG_TDRV,
             "Staged memref {{{}}} id {{{}}} to {{0x{:x}}}. mem.addr {{0x{:x}}}, HBM: {} ({})",
             mr->name, mr->var_id, mr->physical_address,
             mr->mem != nullptr ? dmem_get_pa(mr->mem) : mr->physical_address,
             mr->mem != nullptr ? mr->mem->tdram_channel : ctx->pcore->hbm_index,
             copied ? "alloc+copy" : "alloc only");
}

// Own memory of the subgraph, on the core's default HBM.
NRT_STATUS place_private(const mem_ref_stage_ctx_t *ctx, const kbin_mem_ref *source,
                         mem_ref_t *mr) {
  if (source->size == 0) {
    NLOG_ERROR(NLOG_TDRV, "variable {} (id {}, {}) has size 0 and cannot be placed", mr->name,
               mr->var_id, kbin_mr_type_name(mr->type));
    return NRT_INVALID;
  }
  if (source->alignment != 0 && !is_power_of_two(source->alignment)) {
    NLOG_ERROR(NLOG_TDRV, "variable {} (id {}): alignment {} is not a power of two", mr->name,
               mr->var_id, source->alignment);
    return NRT_INVALID;
  }
  bool scratch = mr->type == MR_TMP_BUF || mr->type == MR_VIRTUAL_TMP_BUF;
  dmem_t *mem = nullptr;
  NRT_STATUS status = dmem_alloc_aligned(
      ctx->allocator, source->size, dma_mem_location_t::TONGA_DRAM, ctx->pcore->hbm_index,
      ctx->gc_tracker,
      scratch ? dma_mem_usage_type_t::SCRATCHPAD_NOT_SHARED : dma_mem_usage_type_t::WEIGHT,
      mr->name, source->alignment, &mem);
  if (status != NRT_SUCCESS)
    return status;
  mr->mem = mem;
  mr->mem_offset = 0;
  mr->physical_address = dmem_get_pa(mem);
  return NRT_SUCCESS;
}

// A page of the arena, or private memory when no page can hold the variable.
NRT_STATUS place_virtual(const mem_ref_stage_ctx_t *ctx, const kbin_mem_ref *source,
                         mem_ref_t *mr) {
  bool shared = kbin_backing_buf_is_shared(source->virt.backing_buf);
  const tdrv_scratchpad_info_t *arena = nullptr;
  if (ctx->scratchpad != nullptr)
    arena = shared ? ctx->scratchpad->shared : ctx->scratchpad->local;
  if (arena == nullptr || !range_within(source->virt.offset, source->size, arena->size)) {
    NLOG_ERROR(NLOG_TDRV,
               "virtual variable {} (id {}): {} bytes at offset {} lie outside the {} arena of {} "
               "bytes",
               mr->name, mr->var_id, source->size, source->virt.offset, shared ? "shared" : "local",
               arena != nullptr ? arena->size : 0);
    return NRT_INVALID;
  }
  // Cannot wrap: the layout checked offset + size of the whole arena.
  NRT_STATUS status = tdrv_scratchpad_get_mem(&arena->tpb->scratchpad, arena->model_pages,
                                              arena->offset + source->virt.offset, source->size,
                                              &mr->mem, &mr->mem_offset);
  if (status != NRT_SUCCESS) {
    dmem_allocator_note_oversized(ctx->allocator, source->size);
    return place_private(ctx, source, mr);
  }
  mr->physical_address = dmem_get_pa(mr->mem) + mr->mem_offset;
  mr->shared_virtual_scratchpad = shared;
  if (arena->va != nullptr)
    mr->va = static_cast<char *>(arena->va) + source->virt.offset;
  return NRT_SUCCESS;
}

bool has_payload(const kbin_mem_ref *source, const mem_ref_t *mr) {
  return (mr->type == MR_BUFFER || mr->type == MR_BUFFER_STAGED || mr->type == MR_TMP_BUF) &&
         source->buffer != nullptr;
}

NRT_STATUS place(const mem_ref_stage_ctx_t *ctx, const kbin_mem_ref *source, mem_ref_t *mr) {
  NRT_STATUS status = NRT_SUCCESS;
  switch (mr->type) {
    case MR_SB:
      mr->physical_address = aws_hal_stpb_get_axi_offset(ctx->pcore->arch, ctx->pcore->nc_id, 0);
      mr->size = kStateBufferSize;
      break;
    case MR_VIRTUAL_TMP_BUF:
      status = place_virtual(ctx, source, mr);
      break;
    case MR_BUFFER:
    case MR_BUFFER_STAGED:
    case MR_TMP_BUF:
      status = place_private(ctx, source, mr);
      break;
    default:
      return NRT_SUCCESS;  // placed by a later pass, or has no address at all
  }
  if (status == NRT_SUCCESS && !has_payload(source, mr))
    log_staged(ctx, mr, false);
  return status;
}

// Kinds whose address another subgraph may share. The others hold no storage of their own.
bool can_be_aliased(kbin_mr_type_t type) {
  switch (type) {
    case MR_SB:
    case MR_BUFFER_STAGED:
    case MR_BUFFER:
    case MR_TMP_BUF:
    case MR_INPUT:
    case MR_OUTPUT:
    case MR_VIRTUAL_TMP_BUF:
      return true;
    default:
      return false;
  }
}

NRT_STATUS find_remote_target(const kbin_mem_ref *source, ht_t *const *remote_sets,
                              uint32_t num_kbins, mem_ref_t **out) {
  if (source->remote.remote_vtpb_rel_sg_id >= num_kbins) {
    NLOG_ERROR(NLOG_TDRV, "remote variable {} (id {}) names subgraph {}, the model has {}",
               source->name, source->var_id, source->remote.remote_vtpb_rel_sg_id, num_kbins);
    return NRT_INVALID;
  }
  mem_ref_t *target = lookup_memref_by_idx(remote_sets[source->remote.remote_vtpb_rel_sg_id],
                                           source->remote.remote_var_id);
  if (target == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "remote variable {} (id {}): subgraph {} has no variable with id {}",
               source->name, source->var_id, source->remote.remote_vtpb_rel_sg_id,
               source->remote.remote_var_id);
    return NRT_INVALID;
  }
  if (!can_be_aliased(target->type)) {
    NLOG_ERROR(NLOG_TDRV,
               "remote variable {} (id {}) names {} of subgraph {}, a {} without memory of its own",
               source->name, source->var_id, target->name, source->remote.remote_vtpb_rel_sg_id,
               kbin_mr_type_name(target->type));
    return NRT_INVALID;
  }
  *out = target;
  return NRT_SUCCESS;
}

// The record of a remote variable: the bulk pass has inserted it already, unplaced, unless the
// caller runs this pass alone.
NRT_STATUS get_remote_record(ht_t *local_set, const kbin_mem_ref *source, mem_ref_t **out) {
  *out = lookup_memref_by_idx(local_set, source->var_id);
  if (*out != nullptr)
    return NRT_SUCCESS;
  mem_ref_t *mr = nullptr;
  NRT_STATUS status = mem_ref_get_new_mr(source, &mr);
  if (status != NRT_SUCCESS)
    return status;
  status = insert_record(local_set, mr);
  if (status != NRT_SUCCESS) {
    free_record(mr);
    return status;
  }
  *out = mr;
  return NRT_SUCCESS;
}

}  // namespace

NRT_STATUS mem_ref_get_new_mr(const kbin_mem_ref *source, mem_ref_t **out) {
  *out = nullptr;
  // The name stands behind the record, in the same block.
  const char *name = source->name != nullptr ? source->name : "";
  size_t name_bytes = strlen(name) + 1;
  auto *mr = static_cast<mem_ref_t *>(calloc(1, sizeof(mem_ref_t) + name_bytes));
  bool ok = mr != nullptr;
  if (ok) {
    mr->type = source->mr_type;
    mr->size = source->size;
    mr->var_id = source->var_id;
    memcpy(mr->dtype, source->dtype, sizeof(mr->dtype));
    memcpy(mr->shape, source->shape, sizeof(mr->shape));
    mr->name = static_cast<char *>(memcpy(mr + 1, name, name_bytes));
    ok = init_placement(mr, source);
  }
  if (ok && source->dtensor_md != nullptr) {
    mr->debug_tensor_md =
        static_cast<kbin_debug_tensor_md_t *>(malloc(sizeof(kbin_debug_tensor_md_t)));
    ok = mr->debug_tensor_md != nullptr;
    if (ok)
      *mr->debug_tensor_md = *source->dtensor_md;
  }
  if (!ok) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for the record of variable {} (id {})",
               source->name != nullptr ? source->name : "?", source->var_id);
    free_record(mr);
    return NRT_RESOURCE;
  }
  *out = mr;
  return NRT_SUCCESS;
}

void mem_ref_free_one(ht_node_t *node) {
  free_record(mem_ref_from_node(node));
}

NRT_STATUS mem_ref_place_mr(const mem_ref_stage_ctx_t *ctx, const kbin_mem_ref_set_t *records) {
  for (uint32_t i = 0; i < records->nmem; ++i) {
    mem_ref_t *mr = nullptr;
    NRT_STATUS status = mem_ref_get_new_mr(&records->mem[i], &mr);
    if (status != NRT_SUCCESS)
      return status;
    // Inserted first: from here on the table owns the record, whatever happens to its placement.
    status = insert_record(ctx->mr_set, mr);
    if (status != NRT_SUCCESS) {
      free_record(mr);
      return status;
    }
    status = place(ctx, &records->mem[i], mr);
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

NRT_STATUS mem_ref_upload_mr(const mem_ref_stage_ctx_t *ctx, const kbin_mem_ref_set_t *records) {
  for (uint32_t i = 0; i < records->nmem; ++i) {
    const kbin_mem_ref *source = &records->mem[i];
    if (source->buffer == nullptr)
      continue;
    const mem_ref_t *mr = lookup_memref_by_idx(ctx->mr_set, source->var_id);
    if (mr == nullptr || !has_payload(source, mr))
      continue;
    NRT_STATUS status = dmem_buf_copyin(mr->mem, source->buffer, 0, source->size);
    if (status != NRT_SUCCESS)
      return status;
    log_staged(ctx, mr, true);
  }
  return NRT_SUCCESS;
}

NRT_STATUS mem_ref_copy_and_stage_mr(const mem_ref_stage_ctx_t *ctx,
                                     const kbin_mem_ref_set_t *records) {
  NRT_STATUS status = mem_ref_place_mr(ctx, records);
  return status == NRT_SUCCESS ? mem_ref_upload_mr(ctx, records) : status;
}

NRT_STATUS mem_ref_create_remote_mrs(ht_t *local_set, const kbin_mem_ref_set_t *records,
                                     ht_t *const *remote_sets, uint32_t num_kbins) {
  for (uint32_t i = 0; i < records->nmem; ++i) {
    const kbin_mem_ref *source = &records->mem[i];
    if (source->mr_type != MR_REMOTE)
      continue;
    mem_ref_t *target = nullptr, *mr = nullptr;
    NRT_STATUS status = find_remote_target(source, remote_sets, num_kbins, &target);
    if (status == NRT_SUCCESS)
      status = get_remote_record(local_set, source, &mr);
    if (status != NRT_SUCCESS)
      return status;
    mr->remote = true;
    mr->shared_virtual_scratchpad = target->shared_virtual_scratchpad;
    mr->size = target->size;
    mr->physical_address = target->physical_address;
    mr->mem = target->mem;
    mr->mem_offset = target->mem_offset;
    mr->va = target->va;
  }
  return NRT_SUCCESS;
}

void *mem_ref_get_va(const mem_ref_t *mr, uint64_t offset, uint64_t size) {
  if (!range_within(offset, size, mr->size))
    return nullptr;
  if (mr->type == MR_PTR || mr->type == MR_LIST || mr->type == MR_PTR_TABLE)
    return nullptr;  // their unions hold no host view
  if (mr->physical_address == MEM_REF_NOT_STAGED)
    return nullptr;
  if (mr->va != nullptr)
    return static_cast<char *>(mr->va) + offset;
  if (mr->mem == nullptr || !range_within(mr->mem_offset, mr->size, mr->mem->size))
    return nullptr;
  void *base = dmem_get_va(mr->mem);
  return base == nullptr ? nullptr : static_cast<char *>(base) + mr->mem_offset + offset;
}
