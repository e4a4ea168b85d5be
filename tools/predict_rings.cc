// SPDX-License-Identifier: Apache-2.0
#include "tools/predict_rings.h"

#include <algorithm>

#include "base/checked.h"

namespace {

// Rows of a pattern: runs of its innermost dimension.
bool count_rows(const kbin_dma_pattern_t &pattern, uint32_t begin, uint32_t end, uint64_t *out) {
  uint64_t rows = 1;
  for (uint32_t i = begin; i < end; i++)
    if (!checked_mul(rows, pattern.sizes[i], &rows))
      return false;
  *out = rows;
  return true;
}

// A side of a dealt transfer: rows dealt over the rings, what each stands for, and whether a ring's
// share is one run.
struct side_t {
  uint64_t dealt;
  uint64_t rows_each;
  bool contiguous;
};

bool measure(const kbin_dma_transfer_t &transfer, const kbin_dma_pattern_t &pattern, side_t *out) {
  uint32_t first = kbin_dma_pattern_first_dealt(pattern, transfer.num_tiling_dimensions);
  out->contiguous = kbin_dma_pattern_is_contiguous(pattern);
  return count_rows(pattern, first, pattern.ndims, &out->dealt) &&
         count_rows(pattern, std::min(first, 1u), first, &out->rows_each);
}

// `other` is the dealt count of the opposite side: a contiguous side is often written as one row.
bool add_side(const predict_params_t &params, const kbin_dma_transfer_t &transfer,
              const kbin_dma_pattern_t &pattern, uint64_t other, bool converts,
              uint64_t predict_ring_t::*side, std::vector<predict_ring_t> *rings) {
  if (!kbin_dma_transfer_is_dealt(transfer, rings->size())) {
    uint64_t rows = 0;
    return count_rows(pattern, std::min(pattern.ndims, 1u), pattern.ndims, &rows) &&
           checked_add(rings->front().*side, rows, &(rings->front().*side));
  }
  side_t own{};
  if (!measure(transfer, pattern, &own))
    return false;
  uint64_t dealt = own.contiguous ? std::max(own.dealt, other) : own.dealt;
  for (size_t k = 0; k < rings->size(); k++) {
    uint64_t count = kbin_dma_share(dealt, k, rings->size());
    if (own.contiguous && !converts)
      count = count != 0 ? params.contiguous_descriptors : 0;
    else if (own.contiguous && !checked_mul(count, params.contiguous_descriptors, &count))
      return false;
    else if (!own.contiguous && !checked_mul(count, own.rows_each, &count))
      return false;
    uint64_t &total = (*rings)[k].*side;
    if (!checked_add(total, count, &total))
      return false;
  }
  return true;
}

bool add_transfer(const predict_params_t &params, const kbin_dma_transfer_t &transfer,
                  std::vector<predict_ring_t> *rings) {
  side_t to{};
  if (!measure(transfer, transfer.to, &to))
    return false;
  uint64_t from_dealt = 0;
  for (const kbin_dma_pattern_t &pattern : transfer.from) {
    side_t from{};
    if (!measure(transfer, pattern, &from))
      return false;
    from_dealt = std::max(from_dealt, from.dealt);
  }
  bool converts = false;
  for (const kbin_dma_pattern_t &pattern : transfer.from) {
    bool differs = kbin_dma_pattern_converts(pattern, transfer.to);
    converts = converts || differs;
    if (!add_side(params, transfer, pattern, to.dealt, differs, &predict_ring_t::m2s, rings))
      return false;
  }
  return add_side(params, transfer, transfer.to, from_dealt, converts, &predict_ring_t::s2m, rings);
}

bool is_io(const kbin_t &kbin, const kbin_dma_pattern_t &pattern) {
  if (pattern.var_id >= kbin.mem_ref_set->nmem)
    return false;
  kbin_mr_type_t type = kbin.mem_ref_set->mem[pattern.var_id].mr_type;
  return type == MR_INPUT || type == MR_OUTPUT;
}

bool touches_io(const kbin_t &kbin, const kbin_dma_block_t &block) {
  for (const kbin_dma_transfer_t &transfer : block.desc) {
    if (is_io(kbin, transfer.to))
      return true;
    for (const kbin_dma_pattern_t &from : transfer.from)
      if (is_io(kbin, from))
        return true;
  }
  return false;
}

}  // namespace

bool predict_block_is_even(const kbin_dma_block_t &block, uint32_t rings) {
  return rings <= 1 ||
         std::all_of(block.desc.begin(), block.desc.end(), [rings](const auto &transfer) {
           return kbin_dma_transfer_is_dealt(transfer, rings);
         });
}

bool predict_add_block(const predict_params_t &params, const kbin_dma_block_t &block,
                       std::vector<predict_ring_t> *rings) {
  if (rings->empty())
    return true;
  for (const kbin_dma_transfer_t &transfer : block.desc)
    if (!add_transfer(params, transfer, rings))
      return false;
  for (predict_ring_t &ring : *rings)
    if (!checked_add(ring.m2s, 1, &ring.m2s) || !checked_add(ring.s2m, 1, &ring.s2m))
      return false;
  return true;
}

bool predict_ring_capacity(const predict_params_t &params, uint64_t descriptors, uint64_t *out) {
  if (descriptors < params.ring_small_capacity / 2) {
    *out = params.ring_small_capacity;
    return true;
  }
  uint64_t capacity = 0;
  return checked_add(descriptors, params.ring_spare, &capacity) &&
         checked_round_up(capacity, params.ring_granule, out);
}

NRT_STATUS predict_sets(const predict_params_t &params, const kbin_t &kbin, finding_sink &findings,
                        std::vector<predict_set_t> *out) {
  for (const kbin_dma_queue_t &queue : kbin.queues) {
    predict_set_t set;
    set.queue = &queue;
    set.owner = queue.owner;
    set.rings.resize(queue.num_queues);
    bool used = false;
    for (const kbin_dma_block_t &block : kbin.blocks) {
      if (block.queue != queue.name)
        continue;
      used = true;
      if (set.owner == AL_HAL_TPB_ENG_TYPE_NUM)
        set.owner = block.engine;
      set.touches_io = set.touches_io || touches_io(kbin, block);
      set.even = set.even && predict_block_is_even(block, queue.num_queues);
      if (!predict_add_block(params, block, &set.rings))
        return findings.add(NRT_INVALID, kbin.definition,
                            "block {} of \"{}\": its descriptors cannot be counted in 64 bits",
                            block.id, queue.name);
    }
    if (used)
      out->push_back(std::move(set));
  }
  return NRT_SUCCESS;
}
