// SPDX-License-Identifier: Apache-2.0
#include "tdrv/pring.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/nlog.h"

namespace {

constexpr uint32_t kSmall = 64, kSpare = 16, kGranule = 16;
constexpr size_t kAlignment = 256;

}  // namespace

uint32_t pring_capacity(uint32_t count) {
  if (count < kSmall / 2)
    return kSmall;
  return (count + kSpare + kGranule - 1) / kGranule * kGranule;  // count is below VRING_HALF_MAX
}

NRT_STATUS pring_create(const vtpb_info_shared_mr_set_t *set, dmem_list_t *tracker,
                        dma_mem_usage_type_t usage, const char *name, const vring_half_t *half,
                        io_refs_t *refs, pring_t *out) {
  *out = {};
  uint32_t allocated = pring_capacity(half->count);
  size_t bytes = size_t{allocated} * sizeof(hal_dma_desc_t);
  // Zeros behind the last descriptor: device memory may hold an earlier ring.
  auto *image = static_cast<hal_dma_desc_t *>(calloc(allocated, sizeof(hal_dma_desc_t)));
  if (image == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for a ring of {} bytes of queue {}", bytes, name);
    return NRT_RESOURCE;
  }
  if (half->count != 0)
    memcpy(image, half->descs, half->count * sizeof(hal_dma_desc_t));
  NRT_STATUS status =
      dmem_alloc_aligned(set->model_allocator, bytes, dma_mem_location_t::TONGA_DRAM,
                         set->tpb->pcore.hbm_index, tracker, usage, name, kAlignment, &out->mem);
  if (status == NRT_SUCCESS)
    status = dmem_buf_copyin(out->mem, image, 0, bytes);
  free(image);
  for (uint32_t i = 0; status == NRT_SUCCESS && i < half->num_io; ++i) {
    io_ref_t ref = {};
    ref.slot = half->io[i].slot;
    ref.offset = half->io[i].offset;
    ref.mem = out->mem;
    ref.at =
        uint64_t{half->io[i].index} * sizeof(hal_dma_desc_t) + offsetof(hal_dma_desc_t, address);
    status = io_refs_add(refs, &ref);
  }
  if (status != NRT_SUCCESS)
    return status;
  out->pa = dmem_get_pa(out->mem);
  out->used = half->count;
  out->allocated = allocated;
  return NRT_SUCCESS;
}
