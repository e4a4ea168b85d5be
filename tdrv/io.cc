// SPDX-License-Identifier: Apache-2.0
#include "tdrv/io.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "base/nlog.h"
#include "tdrv/dma_ring.h"

namespace {

bool is_io(kbin_mr_type_t type) {
  return type == MR_INPUT || type == MR_OUTPUT;
}

io_slot_t *slot_from_node(ht_node_t *node) {
  return reinterpret_cast<io_slot_t *>(reinterpret_cast<char *>(node) -
                                       offsetof(io_slot_t, ht_node));
}

// Upper bound of the number of slots: every input and output of every subgraph.
uint64_t count_entries(const vtpb_info_shared_t *info) {
  uint64_t count = 0;
  for (uint32_t k = 0; k < info->num_kbins; ++k) {
    const kbin_mem_ref_set_t *set = info->mr_sets[k].kbin->mem_ref_set;
    for (uint32_t i = 0; i < set->nmem; ++i)
      count += is_io(set->mem[i].mr_type) ? 1 : 0;
  }
  return count;
}

NRT_STATUS host_memory_failure(uint64_t count) {
  NLOG_ERROR(NLOG_TDRV, "no host memory for {} input and output slots", count);
  return NRT_RESOURCE;
}

// The slot of an entry's name: found, or added at the end of the array.
NRT_STATUS collect(vtpb_info_shared_t *info, const kbin_mem_ref *entry) {
  bool is_output = entry->mr_type == MR_OUTPUT;
  if (entry->alignment != 0 && !is_power_of_two(entry->alignment)) {
    NLOG_ERROR(NLOG_TDRV, "{} {} (id {}): alignment {} is not a power of two",
               is_output ? "output" : "input", entry->name, entry->var_id, entry->alignment);
    return NRT_INVALID;
  }
  io_slot_t *slot = vtpb_info_shared_find_io(info, entry->name, is_output);
  if (slot == nullptr) {
    slot = &info->io_slots[info->num_io_slots];
    *slot = {};
    slot->is_output = is_output;
    slot->name = strdup(entry->name);
    if (slot->name == nullptr)
      return host_memory_failure(1);
    ++info->num_io_slots;
    (void)ht_insert_buf(info->io_index[is_output ? 1 : 0], slot->name, strlen(slot->name),
                        &slot->ht_node);  // absent: just looked up
  }
  slot->size = std::max<uint64_t>(slot->size, entry->size);
  slot->alignment = std::max<uint64_t>(slot->alignment, entry->alignment);
  return NRT_SUCCESS;
}

// Host tensors of the size the container states are staged in the slot, so that counts too.
void include_stated_sizes(vtpb_info_shared_t *info, const std::vector<kelf_io_tensor_t> &tensors,
                          bool is_output) {
  for (const kelf_io_tensor_t &tensor : tensors) {
    io_slot_t *slot = vtpb_info_shared_find_io(info, tensor.name.c_str(), is_output);
    if (slot != nullptr)
      slot->size = std::max(slot->size, tensor.size);
  }
}

NRT_STATUS allocate_slot(vtpb_info_shared_t *info, io_slot_t *slot) {
  if (slot->size == 0) {
    NLOG_ERROR(NLOG_TDRV, "{} {} has size 0 and cannot be placed",
               slot->is_output ? "output" : "input", slot->name);
    return NRT_INVALID;
  }
  const physical_core_t *core = &info->vcore->tpbs[0]->pcore;
  return dmem_alloc_aligned(info->mr_sets[0].model_allocator, slot->size,
                            dma_mem_location_t::TONGA_DRAM, core->hbm_index, info->io_tracker,
                            dma_mem_usage_type_t::IO, slot->name, slot->alignment, &slot->mem);
}

void point_records_at_slots(vtpb_info_shared_t *info) {
  for (uint32_t k = 0; k < info->num_kbins; ++k) {
    const kbin_mem_ref_set_t *set = info->mr_sets[k].kbin->mem_ref_set;
    for (uint32_t i = 0; i < set->nmem; ++i) {
      if (!is_io(set->mem[i].mr_type))
        continue;
      mem_ref_t *mr = lookup_memref_by_idx(info->mr_sets[k].mem_ref_set, set->mem[i].var_id);
      const io_slot_t *slot =
          vtpb_info_shared_find_io(info, set->mem[i].name, set->mem[i].mr_type == MR_OUTPUT);
      if (mr == nullptr || slot == nullptr || slot->mem == nullptr)
        continue;
      mr->mem = slot->mem;
      mr->mem_offset = 0;
      mr->physical_address = dmem_get_pa(slot->mem);
    }
  }
}

}  // namespace

io_slot_t *vtpb_info_shared_find_io(const vtpb_info_shared_t *info, const char *name,
                                    bool is_output) {
  const ht_t *index = info->io_index[is_output ? 1 : 0];
  ht_node_t *node = index == nullptr ? nullptr : ht_find_buf(index, name, strlen(name));
  return node == nullptr ? nullptr : slot_from_node(node);
}

NRT_STATUS io_slots_init(vtpb_info_shared_t *info, const kelf_nn_t *nn, bool allocate) {
  uint64_t entries = count_entries(info);
  if (entries == 0)
    return NRT_SUCCESS;
  info->io_slots = static_cast<io_slot_t *>(calloc(entries, sizeof(io_slot_t)));
  info->io_tracker = dmem_list_create();
  bool ok = info->io_slots != nullptr && info->io_tracker != nullptr;
  for (ht_t *&index : info->io_index)
    ok = ok && ht_init(&index, 2 * entries, nullptr) == NRT_SUCCESS;
  if (!ok)
    return host_memory_failure(entries);
  for (uint32_t k = 0; k < info->num_kbins; ++k) {
    const kbin_mem_ref_set_t *set = info->mr_sets[k].kbin->mem_ref_set;
    for (uint32_t i = 0; i < set->nmem; ++i) {
      if (!is_io(set->mem[i].mr_type))
        continue;
      NRT_STATUS status = collect(info, &set->mem[i]);
      if (status != NRT_SUCCESS)
        return status;
    }
  }
  include_stated_sizes(info, nn->inputs, false);
  include_stated_sizes(info, nn->outputs, true);
  for (uint32_t i = 0; allocate && i < info->num_io_slots; ++i) {
    NRT_STATUS status = allocate_slot(info, &info->io_slots[i]);
    if (status != NRT_SUCCESS)
      return status;
  }
  point_records_at_slots(info);
  return NRT_SUCCESS;
}

void io_slots_free(vtpb_info_shared_t *info) {
  for (ht_t *&index : info->io_index) {
    ht_destroy(index);
    index = nullptr;
  }
  for (uint32_t i = 0; i < info->num_io_slots; ++i)
    free(info->io_slots[i].name);
  free(info->io_slots);
  info->io_slots = nullptr;
  info->num_io_slots = 0;
  dmem_list_destroy(info->io_tracker);
  info->io_tracker = nullptr;
}
