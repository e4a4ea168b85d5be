// SPDX-License-Identifier: Apache-2.0
// A physical ring: one half of a queue in device memory (dma-and-exec.md 2.1, 2.4).
#pragma once

#include "tdrv/vring.h"

struct pring_t {
  dmem_t *mem;  // 256-byte aligned; not owned
  uint64_t pa;
  uint32_t used, allocated;  // descriptors; those behind `used` are zero and never valid
};

// Descriptors to allocate for a static ring of `count`.
uint32_t pring_capacity(uint32_t count);

// Places and fills a ring; `tracker` owns its memory. The places of inputs and outputs in it are
// added to `refs`. NRT_RESOURCE, NRT_FAILURE.
NRT_STATUS pring_create(const vtpb_info_shared_mr_set_t *set, dmem_list_t *tracker,
                        dma_mem_usage_type_t usage, const char *name, const vring_half_t *half,
                        io_refs_t *refs, pring_t *out);
