// SPDX-License-Identifier: Apache-2.0
#include "tdrv/io_ref.h"

#include <algorithm>
#include <cstdlib>

#include "base/nlog.h"
#include "tdrv/dma_ring.h"
#include "tdrv/grow.h"

namespace {

// Pointers may name pointers, and remote variables other subgraphs' pointers. Staging has checked
// the chains (pointers.cc); the bound only keeps this loop finite by itself.
constexpr uint32_t kMaxDepth = 32;

// The variable of another subgraph that a remote one stands for.
const mem_ref_t *remote_target(const vtpb_info_shared_t *info, uint32_t *subgraph,
                               const mem_ref_t *mr) {
  const kbin_mem_ref_set_t *records = info->mr_sets[*subgraph].kbin->mem_ref_set;
  for (uint32_t i = 0; i < records->nmem; ++i) {
    const kbin_mem_ref *record = &records->mem[i];
    if (record->var_id != mr->var_id || record->mr_type != MR_REMOTE)
      continue;
    *subgraph = record->remote.remote_vtpb_rel_sg_id;
    return *subgraph >= info->num_kbins ? nullptr
                                        : lookup_memref_by_idx(info->mr_sets[*subgraph].mem_ref_set,
                                                               record->remote.remote_var_id);
  }
  return nullptr;
}

}  // namespace

bool mem_ref_is_placed(const mem_ref_t *mr) {
  return mr->type != MR_LIST && mr->type != MR_PTR_TABLE && mr->type != MR_PTR &&
         mr->physical_address != MEM_REF_NOT_STAGED;
}

uint32_t mem_ref_io_slot(const vtpb_info_shared_t *info, uint32_t subgraph, const mem_ref_t *mr) {
  for (uint32_t depth = 0; mr != nullptr && depth < kMaxDepth; ++depth) {
    switch (mr->type) {
      case MR_INPUT:
      case MR_OUTPUT: {
        const io_slot_t *slot = vtpb_info_shared_find_io(info, mr->name, mr->type == MR_OUTPUT);
        return slot == nullptr ? IO_SLOT_NONE : static_cast<uint32_t>(slot - info->io_slots);
      }
      case MR_PTR:
        mr = lookup_memref_by_idx(info->mr_sets[subgraph].mem_ref_set,
                                  static_cast<uint32_t>(mr->mr_ptr_id));
        break;
      case MR_REMOTE:
        mr = remote_target(info, &subgraph, mr);
        break;
      default:
        return IO_SLOT_NONE;
    }
  }
  return IO_SLOT_NONE;
}

NRT_STATUS mem_ref_resolve(const vtpb_info_shared_t *info, uint32_t subgraph, uint32_t var_id,
                           uint64_t offset, uint64_t size, mem_ref_place_t *out) {
  const mem_ref_t *mr = lookup_memref_by_idx(info->mr_sets[subgraph].mem_ref_set, var_id);
  if (mr == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "variable id {} does not exist", var_id);
    return NRT_INVALID;
  }
  out->io_slot = mem_ref_io_slot(info, subgraph, mr);
  out->io_offset = offset;
  if (out->io_slot == IO_SLOT_NONE || mr->physical_address != MEM_REF_NOT_STAGED)
    return mem_ref_to_addr(mr, offset, size, &out->address);
  // Placed when tensors are bound: everything but the address is checked now.
  mem_ref_t unbound = *mr;
  unbound.physical_address = 0;
  return mem_ref_to_addr(&unbound, offset, size, &out->address);
}

NRT_STATUS io_refs_add(io_refs_t *refs, const io_ref_t *ref) {
  if (!grow(&refs->items, &refs->capacity, uint64_t{refs->count} + 1)) {
    NLOG_ERROR(NLOG_TDRV,
               "no host memory for more than {} places with addresses of inputs and "
               "outputs",
               refs->count);
    return NRT_RESOURCE;
  }
  refs->items[refs->count++] = *ref;
  return NRT_SUCCESS;
}

void io_refs_group(io_refs_t *refs, uint32_t num_slots, uint32_t *first) {
  std::sort(refs->items, refs->items + refs->count,
            [](const io_ref_t &a, const io_ref_t &b) { return a.slot < b.slot; });
  uint32_t at = 0;
  for (uint32_t slot = 0; slot <= num_slots; ++slot) {
    while (at < refs->count && refs->items[at].slot < slot)
      ++at;
    first[slot] = at;
  }
}

void io_refs_free(io_refs_t *refs) {
  free(refs->items);
  *refs = {};
}
