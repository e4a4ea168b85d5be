// SPDX-License-Identifier: Apache-2.0
// What the closed runtime adds to a NEFF, per release: every parameter of `neff memory --as` in one
// table. A further release is one more row, once all its figures are known (neff-format.md 5,
// verified-facts.md G7, G8). docs/memory-prediction.md says where each figure comes from.
#pragma once

#include <cstdint>

#include "kelf/kbin.h"

// One engine. Slots are instructions of 64 bytes around the program, before and after it together,
// on a core with nothing to do.
struct predict_engine_params_t {
  uint32_t wrapper_slots;
  uint32_t base_image_first, base_image_other;  // bytes without any NEFF: first core of a logical
                                                // core, its other core
};

struct predict_params_t {
  const char *release;
  const char *recorded_on;  // architecture; on others the figures are an estimate

  // Images (G7, G8.3 to G8.5).
  predict_engine_params_t engines[AL_HAL_TPB_ENG_TYPE_NUM];
  uint32_t dge_table_slots;             // every engine of a core with a DGE table
  uint32_t table_load_slots;            // an engine that loads tables: ACT with sets, DVE
  uint32_t static_set_slots;            // owner of a static queue set: resets before and after
  uint32_t rings_per_init, init_slots;  // its ring bases and lengths, rounded up
  uint32_t credit_slots;                // `data` sets, per distinct count: before and after
  uint32_t untiled_trigger_slots;       // each 0xC1 whose rings get different counts

  // Rings (5.3, G8.2).
  uint64_t ring_small_capacity;  // for fewer descriptors than half of it
  uint64_t ring_spare, ring_granule;
  uint64_t descriptor_bytes;
  uint64_t contiguous_descriptors;  // of a share whose rows are contiguous

  // Tables and cells a core with work holds (5.2).
  uint64_t act_set_bytes;    // per activation set, whatever its real size
  uint64_t dve_extra_bytes;  // beside the DVE tables themselves
  uint64_t act_queue_bytes, dve_queue_bytes;
  uint64_t dge_cell_bytes;  // per DGE table

  // Every core, with or without a NEFF (5.2).
  uint64_t ucode, generic, pool_stdio, rings_runtime;
  uint64_t profiler_buffers, profiler_chunk;

  // Placement.
  uint64_t scratchpad_page, scratchpad_align;
  uint64_t image_align;
};

inline constexpr predict_params_t kPredictReleases[] = {
    {
        .release = "neuron-2.30",
        .recorded_on = "cayman",
        .engines = {{66 + 11, 1728, 1728},  // PE
                    {56 + 11, 1344, 1344},  // ACT
                    {61 + 11, 1728, 1728},  // POOL
                    {56 + 11, 1344, 1344},  // DVE; 66 with its tables
                    {49 + 9, 1536, 1280}},  // SP
        .dge_table_slots = 1,
        .table_load_slots = 10,
        .static_set_slots = 2,
        .rings_per_init = 4,
        .init_slots = 3,
        .credit_slots = 2,
        .untiled_trigger_slots = 1,
        .ring_small_capacity = 64,
        .ring_spare = 16,
        .ring_granule = 16,
        .descriptor_bytes = 16,
        .contiguous_descriptors = 2,
        .act_set_bytes = 83'968,
        .dve_extra_bytes = 1'024,
        .act_queue_bytes = 2'048,
        .dve_queue_bytes = 2'048,
        .dge_cell_bytes = 8,
        .ucode = 1'744'584,
        .generic = 12'288,
        .pool_stdio = 1'088,
        .rings_runtime = 28'672,
        .profiler_buffers = 2'554'331'136,
        .profiler_chunk = 64ull << 20,
        .scratchpad_page = 512ull << 20,
        .scratchpad_align = 4ull << 20,
        .image_align = 32'768,
    },
};
