// SPDX-License-Identifier: Apache-2.0
// Load orchestration: parse cache, core and architecture checks, registry, unload (rulings.md 14,
// 15). All functions are thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "kelf/kelf.h"
#include "neff/neff.h"
#include "tdrv/exec.h"
#include "tdrv/model.h"
#include "tdrv/tdrv.h"

using H_NN = uint32_t;     // a loaded model in the process registry
using H_MODEL = uint32_t;  // one subgraph's record on a physical core

// One loaded model. Reference counted: kmgr_model_get / kmgr_model_put.
struct kmgr_model_t {
  H_NN h_nn;
  uint32_t vnc;
  std::shared_ptr<const kelf_nn_t> nn;
  vtpb_info_shared_t *placement;
  exec_model_t *exec;
  H_MODEL h_models[TDRV_MAX_LNC];  // one per subgraph
};

struct kmgr_t;

struct kmgr_options_t {
  neff_open_options neff;
  kelf_options kelf;
};

NRT_STATUS kmgr_create(tdrv_t *tdrv, const kmgr_options_t *options, kmgr_t **out);
// Unloads what is still loaded, newest first.
void kmgr_destroy(kmgr_t *kmgr);

// Loads onto logical core `vnc`, or with -1 onto the one holding fewest models. Writes the one
// ERROR line on failure. The bytes may go away on return.
NRT_STATUS kmgr_load(kmgr_t *kmgr, const void *bytes, size_t size, int32_t vnc, H_NN *out);
// Waits until users of the model are gone. NRT_INVALID_HANDLE: unknown.
NRT_STATUS kmgr_unload(kmgr_t *kmgr, H_NN h_nn);

// NULL: unknown handle.
kmgr_model_t *kmgr_model_get(kmgr_t *kmgr, H_NN h_nn);
void kmgr_model_put(kmgr_t *kmgr, kmgr_model_t *model);
// Handles of all loaded models, ascending; returns their number, fills at most `capacity`.
size_t kmgr_models(kmgr_t *kmgr, H_NN *out, size_t capacity);

// Parse-cache counters, for tests and reports.
struct kmgr_cache_stats_t {
  uint64_t parses;     // containers parsed and lowered
  uint64_t hits;       // loads that reused a parse, waiting ones included
  uint64_t conflicts;  // same UUID, other content
};
void kmgr_cache_stats(kmgr_t *kmgr, kmgr_cache_stats_t *out);
