// SPDX-License-Identifier: Apache-2.0
// Resolving (variable, offset) to a device address: the single funnel through which instruction and
// descriptor translation reach the plan (seed section 5, mem-ref.md 8.8). No allocation on either
// function. Rings are in queue_set.h.
#pragma once

#include <cstdint>

#include "tdrv/mem_ref.h"

// One hash lookup; NULL on a miss (the caller fails with NRT_INVALID).
mem_ref_t *lookup_memref_by_idx(const ht_t *mr_set, uint32_t var_id);

// *addr = physical address of byte `offset`. Refused with NRT_INVALID and one ERROR line that gives
// the first of these reasons: list or table kind, range outside the variable (wrap-around
// included), pointer with an offset, variable not staged.
NRT_STATUS mem_ref_to_addr(const mem_ref_t *mr, uint64_t offset, uint64_t size, uint64_t *addr);
