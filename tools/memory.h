// SPDX-License-Identifier: Apache-2.0
// What `neff memory` found out, whether measured by loading or predicted, and how it is shown.
#pragma once

#include <string>
#include <vector>

#include "tools/machine.h"
#include "tools/predict.h"

// One physical core of the logical cores in use.
struct memory_core_t {
  const tpb_t *tpb = nullptr;
  uint32_t logical_core = 0;
  std::string subgraph;  // of the files on it, "" = none
  predict_classes_t classes{};
  uint64_t scratchpad_end = 0;  // predictions: bytes of its arena

  const physical_core_t &pcore() const { return tpb->pcore; }
};

// What one subgraph of one file brings; scratchpad pages, which all files share, are not in it.
struct memory_share_t {
  size_t file = 0;
  size_t core = 0;  // index into memory_view_t::cores
  std::string subgraph;
  predict_classes_t classes{};
};

struct memory_tensor_t {
  uint64_t size = 0;
  int32_t core = 0;
};

// A thing that was to be placed, for `--fit` of a prediction.
struct memory_planned_t {
  size_t core = 0;
  predict_item_t item{};
  std::string owner;
};

struct memory_view_t {
  const predict_params_t *release = nullptr;  // NULL: measured
  bool profiling = false;                     // profiler buffers are in the figures
  uint64_t page_size = 0;                     // of the scratchpad
  bool contiguous = false;
  std::vector<placed_file> files;
  std::vector<memory_tensor_t> tensors;
  std::vector<memory_core_t> cores;
  std::vector<memory_share_t> shares;
  std::vector<memory_planned_t> planned;  // predictions only, in the order of placement
  uint64_t largest_oversized = 0;         // virtual variable that got an allocation of its own
  std::vector<std::string> notes;

  memory_core_t *core_of(const tpb_t *tpb);
};

// Adds the physical cores of every logical core that has a file or a tensor.
void memory_add_cores(const machine &m, memory_view_t *view);

// Loads files and tensors on the machine and reads the counters.
NRT_STATUS memory_measure(machine &m, const memory_arguments &arguments, memory_view_t *view,
                          finding_sink &findings, std::string *failed);
// Works out what `view->release` would hold.
NRT_STATUS memory_predict(machine &m, const memory_arguments &arguments, memory_view_t *view,
                          finding_sink &findings, std::string *failed);

uint64_t memory_total(const predict_classes_t &classes);  // saturates
// The page size in MiB that would spare private allocations, 0 = nothing to gain
// (device-memory.md 3.5).
uint64_t memory_page_advice(const memory_view_t &view);

struct memory_fit_t;  // memory_fit.h
// `fit` may be NULL. `table`: the runtime's own layout instead of one row per class
// (device-memory.md 4.2, 4.3).
void memory_print_text(const machine &m, const memory_view_t &view, const memory_fit_t *fit,
                       bool table);
void memory_print_json(const machine &m, const memory_view_t &view, const memory_fit_t *fit);
