// SPDX-License-Identifier: Apache-2.0
#include "tdrv/dma_ring.h"

#include "base/checked.h"
#include "base/nlog.h"

// Refusals are kept out of line so that the path that succeeds stays short and touches one cache
// line of the record.
namespace {

[[gnu::noinline, gnu::cold]] NRT_STATUS refuse_kind(const mem_ref_t *mr) {
  NLOG_ERROR(NLOG_TDRV, "variable {} (id {}): a {} has no device address of its own",
             mr->name != nullptr ? mr->name : "?", mr->var_id,
             mr->type == MR_LIST ? "list" : "pointer table");
  return NRT_INVALID;
}

bool has_no_address(const mem_ref_t *mr) {
  return mr->type == MR_LIST || mr->type == MR_PTR_TABLE;
}

constexpr uint32_t kind_bit(kbin_mr_type_t type) {
  return 1u << static_cast<uint32_t>(type);
}
constexpr uint32_t kSpecialKinds = kind_bit(MR_LIST) | kind_bit(MR_PTR_TABLE) | kind_bit(MR_PTR);
static_assert(KBIN_MR_TYPE_COUNT <= 32);

bool is_special(kbin_mr_type_t type) {
  return (kSpecialKinds >> static_cast<uint32_t>(type) & 1) != 0;
}

// Lists and tables have no bytes, so nearly every range misses them: their kind is the reason to
// give.
[[gnu::noinline, gnu::cold]] NRT_STATUS refuse_range(const mem_ref_t *mr, uint64_t offset,
                                                     uint64_t size) {
  if (has_no_address(mr))
    return refuse_kind(mr);
  NLOG_ERROR(NLOG_TDRV, "variable {} (id {}): {} bytes at offset {} lie outside its {} bytes",
             mr->name != nullptr ? mr->name : "?", mr->var_id, size, offset, mr->size);
  return NRT_INVALID;
}

[[gnu::noinline, gnu::cold]] NRT_STATUS refuse_pointer_offset(const mem_ref_t *mr,
                                                              uint64_t offset) {
  NLOG_ERROR(NLOG_TDRV, "pointer variable {} (id {}) resolves at offset 0 only, not at {}",
             mr->name != nullptr ? mr->name : "?", mr->var_id, offset);
  return NRT_INVALID;
}

[[gnu::noinline, gnu::cold]] NRT_STATUS refuse_unplaced(const mem_ref_t *mr) {
  NLOG_ERROR(NLOG_TDRV, "variable {} (id {}) has no device address: it has not been staged",
             mr->name != nullptr ? mr->name : "?", mr->var_id);
  return NRT_INVALID;
}

}  // namespace

mem_ref_t *lookup_memref_by_idx(const ht_t *mr_set, uint32_t var_id) {
  ht_node_t *node = ht_find(mr_set, var_id);
  return node == nullptr ? nullptr : mem_ref_from_node(node);
}

NRT_STATUS mem_ref_to_addr(const mem_ref_t *mr, uint64_t offset, uint64_t size, uint64_t *addr) {
  if (!range_within(offset, size, mr->size)) [[unlikely]]
    return refuse_range(mr, offset, size);
  // Kinds that need a second look, in one test.
  if (is_special(mr->type)) [[unlikely]] {
    if (has_no_address(mr))
      return refuse_kind(mr);
    if (offset != 0)
      return refuse_pointer_offset(mr, offset);
  }
  // For a pointer this reads ptr_mem_addr, which lies at the same place.
  if (mr->physical_address == MEM_REF_NOT_STAGED) [[unlikely]]
    return refuse_unplaced(mr);
  if (!checked_add(mr->physical_address, offset, addr)) [[unlikely]]
    return refuse_range(mr, offset, size);
  return NRT_SUCCESS;
}
