// SPDX-License-Identifier: Apache-2.0
// Descriptor rings of static transfers as the closed runtime builds them (neff-format.md 5.3 with
// verified-facts.md G8.2 in place of its rule 3).
#pragma once

#include <vector>

#include "base/finding.h"
#include "kelf/kbin.h"
#include "tools/predict_params.h"

// Descriptors on one ring, completions included.
struct predict_ring_t {
  uint64_t m2s = 0, s2m = 0;
};

// True when every ring of a set of `rings` gets the same number of descriptors from this block.
bool predict_block_is_even(const kbin_dma_block_t &block, uint32_t rings);

// Adds one block's descriptors, the completions too. False when a count does not fit 64 bits.
bool predict_add_block(const predict_params_t &params, const kbin_dma_block_t &block,
                       std::vector<predict_ring_t> *rings);

// Descriptors a ring is made for. False when that does not fit 64 bits.
bool predict_ring_capacity(const predict_params_t &params, uint64_t descriptors, uint64_t *out);

// One static queue set of a subgraph.
struct predict_set_t {
  const kbin_dma_queue_t *queue = nullptr;
  al_hal_tpb_eng_type owner = AL_HAL_TPB_ENG_TYPE_NUM;
  bool touches_io = false;  // an input or output is at one end of some transfer
  bool even = true;         // all its blocks are
  std::vector<predict_ring_t> rings;
};

// The sets that some block uses; others have no rings. NRT_INVALID: counts beyond 64 bits.
NRT_STATUS predict_sets(const predict_params_t &params, const kbin_t &kbin, finding_sink &findings,
                        std::vector<predict_set_t> *out);
