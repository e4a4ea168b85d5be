// SPDX-License-Identifier: Apache-2.0
#include "kelf/kbin.h"

#include <algorithm>
#include <cstdlib>

#include "base/checked.h"
#include "base/pages.h"

const char *kbin_mr_type_name(kbin_mr_type_t type) {
  switch (type) {
    case MR_INVALID:
      return "MR_INVALID";
    case MR_SB:
      return "MR_SB";
    case MR_BUFFER_STAGED:
      return "MR_BUFFER_STAGED";
    case MR_BUFFER:
      return "MR_BUFFER";
    case MR_TMP_BUF:
      return "MR_TMP_BUF";
    case MR_INPUT:
      return "MR_INPUT";
    case MR_OUTPUT:
      return "MR_OUTPUT";
    case MR_PTR:
      return "MR_PTR";
    case MR_VIRTUAL_TMP_BUF:
      return "MR_VIRTUAL_TMP_BUF";
    case MR_LIST:
      return "MR_LIST";
    case MR_PTR_TABLE:
      return "MR_PTR_TABLE";
    case MR_REMOTE:
      return "MR_REMOTE";
  }
  return "MR_?";
}

const char *kbin_backing_buf_name(kbin_backing_buf_t buf) {
  switch (buf) {
    case KBIN_BACKING_BUF_LOCAL:
      return "local";
    case KBIN_BACKING_BUF_SHARED:
      return "shared";
    case KBIN_BACKING_BUF_SHARDED:
      return "sharded";
    case KBIN_BACKING_BUF_MAIN:
      return "main";
  }
  return "?";
}

const char *kbin_engine_name(al_hal_tpb_eng_type type) {
  switch (type) {
    case AL_HAL_TPB_ENG_TYPE_PE:
      return "pe";
    case AL_HAL_TPB_ENG_TYPE_ACT:
      return "act";
    case AL_HAL_TPB_ENG_TYPE_POOL:
      return "pool";
    case AL_HAL_TPB_ENG_TYPE_DVE:
      return "dve";
    case AL_HAL_TPB_ENG_TYPE_SP:
      return "sp";
    case AL_HAL_TPB_ENG_TYPE_NUM:
      break;
  }
  return "none";
}

uint32_t kbin_dtype_size(uint8_t dtype) {
  switch (dtype) {
    case KBIN_DTYPE_FP8E3:
    case KBIN_DTYPE_FP8E4:
    case KBIN_DTYPE_FP8E5:
    case KBIN_DTYPE_UINT8:
    case KBIN_DTYPE_INT8:
      return 1;
    case KBIN_DTYPE_FP16:
    case KBIN_DTYPE_BF16:
    case KBIN_DTYPE_UINT16:
    case KBIN_DTYPE_INT16:
      return 2;
    case KBIN_DTYPE_FP32:
    case KBIN_DTYPE_FP32R:
    case KBIN_DTYPE_UINT32:
    case KBIN_DTYPE_INT32:
      return 4;
    case KBIN_DTYPE_UINT64:
    case KBIN_DTYPE_INT64:
      return 8;
    default:
      return 0;
  }
}

bool kbin_dma_pattern_range(const kbin_dma_pattern_t &pattern, uint64_t *begin, uint64_t *end) {
  int64_t first, last;
  if (pattern.ndims == 0 || pattern.ndims > 4 || !checked_cast(pattern.offset, &first))
    return false;
  last = first;
  for (uint32_t i = 0; i < pattern.ndims; i++) {
    int64_t count, extent;
    if (pattern.sizes[i] == 0 || !checked_cast(pattern.sizes[i] - 1, &count) ||
        !checked_mul(count, pattern.steps[i], &extent))
      return false;
    int64_t *bound = extent < 0 ? &first : &last;
    if (!checked_add(*bound, extent, bound))
      return false;
  }
  if (first < 0 || last == INT64_MAX)
    return false;
  *begin = static_cast<uint64_t>(first);
  *end = static_cast<uint64_t>(last) + 1;
  return true;
}

bool kbin_dma_pattern_is_contiguous(const kbin_dma_pattern_t &pattern) {
  uint64_t extent = 1;
  for (uint32_t i = 0; i < pattern.ndims; i++) {
    bool follows = pattern.steps[i] > 0 && static_cast<uint64_t>(pattern.steps[i]) == extent;
    if (pattern.sizes[i] != 1 && !follows)
      return false;
    if (!checked_mul(extent, pattern.sizes[i], &extent))
      return false;
  }
  return true;
}

uint32_t kbin_dma_pattern_first_dealt(const kbin_dma_pattern_t &pattern,
                                      int32_t num_tiling_dimensions) {
  auto dealt = static_cast<uint32_t>(std::max(num_tiling_dimensions, 0));
  return pattern.ndims > dealt ? std::max(pattern.ndims - dealt, 1u) : std::min(pattern.ndims, 1u);
}

bool kbin_dma_pattern_converts(const kbin_dma_pattern_t &from, const kbin_dma_pattern_t &to) {
  return from.dtype != to.dtype && from.dtype != KBIN_DTYPE_NONE && to.dtype != KBIN_DTYPE_NONE;
}

bool kbin_dma_transfer_is_dealt(const kbin_dma_transfer_t &transfer, size_t rings) {
  return transfer.num_tiling_dimensions > 0 && rings > 1;
}

uint64_t kbin_dma_share(uint64_t rows, uint64_t k, uint64_t rings) {
  return rows / rings + (k < rows % rings ? 1 : 0);
}

kbin_mem_ref_set_t *kbin_mem_ref_set_alloc(uint32_t nmem) {
  size_t bytes;
  if (!checked_mul(size_t{nmem}, sizeof(kbin_mem_ref), &bytes) ||
      !checked_add(bytes, sizeof(kbin_mem_ref_set_t), &bytes))
    return nullptr;
  auto *set = static_cast<kbin_mem_ref_set_t *>(calloc(1, bytes));
  if (!set)
    return nullptr;
  pages_hint_huge(set, bytes);
  set->nmem = nmem;
  return set;
}

void kbin_mem_ref_set_free(kbin_mem_ref_set_t *set) {
  if (!set)
    return;
  for (uint32_t i = 0; i < set->nmem; i++) {
    kbin_mem_ref *record = &set->mem[i];
    free(record->name);
    free(record->dtensor_md);
    if (record->mr_type == MR_LIST || record->mr_type == MR_PTR_TABLE)
      free(record->list.list);
  }
  free(set);
}

kbin_t::~kbin_t() {
  kbin_mem_ref_set_free(mem_ref_set);
}
