// SPDX-License-Identifier: Apache-2.0
// What the closed runtime would hold in device memory for a NEFF, from the files alone
// (neff-format.md 5, verified-facts.md G7 and G8). Pure functions; thread-safe.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/finding.h"
#include "dmem/dmem.h"
#include "kelf/kelf.h"
#include "tools/predict_params.h"

// nullptr: unknown.
const predict_params_t *predict_find(const std::string &release);
// "neuron-2.30, ..."
std::string predict_releases();

// One thing the runtime holds. Large ones (profiler buffers) are one entry per chunk.
struct predict_item_t {
  dma_mem_usage_type_t usage;
  uint64_t size;
  uint64_t alignment;  // power of two, 0 = none
};

// Bytes by dma_mem_usage_type_t.
using predict_classes_t = std::array<uint64_t, DMEM_USAGE_COUNT>;
// False when a sum does not fit 64 bits.
bool predict_add(const std::vector<predict_item_t> &items, predict_classes_t *classes);

// A core before any NEFF. `position`: 0 for the first core of its logical core.
std::vector<predict_item_t> predict_core_base(const predict_params_t &params, uint32_t position,
                                              bool profiling);

// One subgraph on its core.
struct predict_subgraph_t {
  std::string name;
  std::vector<predict_item_t> items;  // without scratchpad pages
  uint64_t scratchpad_end = 0;        // bytes of the core's paged scratchpad that it needs
  uint64_t largest_oversized = 0;     // virtual variable that fits no page, 0 = none
};

// All subgraphs of a NEFF, in order; inputs and outputs count as tensors of the first core. Bytes
// of `page_size` follow predict_params_t::scratchpad_page unless the environment says otherwise.
// NRT_INVALID: sizes beyond 64 bits.
NRT_STATUS predict_neff(const predict_params_t &params, const kelf_nn_t &nn, uint64_t page_size,
                        finding_sink &findings, std::vector<predict_subgraph_t> *out);
