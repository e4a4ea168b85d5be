// SPDX-License-Identifier: Apache-2.0
// Whether what `neff memory` looks at fits an instance: it is placed on the mocked driver, whose
// pools decide (device-memory.md 1.3, 4.5).
#pragma once

#include <optional>

#include "tools/memory.h"

// What one HBM holds after everything was placed, or up to the first failure.
struct memory_hbm_t {
  const physical_core_t *pcore = nullptr;  // a core of it
  uint64_t held = 0;                       // by this process, bytes asked for
  uint64_t left_main = 0, left_small = 0;  // free bytes of the two pools
  uint64_t largest_block = 0;              // one chunk can have at most this
};

struct memory_failure_t {
  std::string what;  // the file or tensor
  dma_mem_usage_type_t usage{};
  uint64_t size = 0, alignment = 0;
  uint64_t available = 0;  // most that such a request could have had
  uint32_t device = 0, core = 0, hbm = 0;
};

struct memory_fit_t {
  std::optional<memory_failure_t> failure;
  std::vector<memory_hbm_t> hbms;
};

// Predictions: places every planned item. NRT_RESOURCE: one found no room (in `fit->failure`).
NRT_STATUS memory_place_planned(machine &m, const memory_view_t &view, finding_sink &findings,
                                memory_fit_t *fit);
// The request that found no room while `what` was placed.
void memory_note_failure(const memory_view_t &view, const std::string &what, memory_fit_t *fit);
// Fills `fit->hbms`. NRT_FAILURE when the driver does not tell.
NRT_STATUS memory_measure_room(const memory_view_t &view, finding_sink &findings,
                               memory_fit_t *fit);

void memory_put_fit(json_out &json, const machine &m, const memory_fit_t &fit);
void memory_print_fit(const machine &m, const memory_fit_t &fit);
