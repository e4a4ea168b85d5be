// SPDX-License-Identifier: Apache-2.0
// The program of the sample NEFF: output0 = x * y[0] + weights, where y[0] is the first row of y,
// the same on every row of x, and weights are the bytes of the weights variable, 32 a row.
// Each core computes its share of the 64 columns with its own weights.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/finding.h"
#include "isa/isa.h"
#include "tools/json_out.h"

constexpr uint32_t SAMPLE_ROWS = 128, SAMPLE_COLUMNS = 64, SAMPLE_WEIGHTS_ROW = 32;

using sample_streams_t = std::array<std::vector<uint8_t>, ISA_ENGINE_COUNT>;
// The streams of one core, assembled from text.
NRT_STATUS sample_program_streams(uint32_t core, uint32_t cores, finding_sink &findings,
                                  sample_streams_t *out);
// Entries of "dma_queue" of def.json, and of "dma" in an engine's JSON.
void sample_program_queues(json_out &json);
void sample_program_blocks(json_out &json, isa_engine_t engine, uint32_t core, uint32_t cores);

// Inputs to try it with and what must come out: values small enough to be exact. `weights`: those
// of each core. fp16, fp32 and fp32 in C order.
struct sample_data_t {
  std::vector<uint8_t> x, y, output;
};
sample_data_t sample_program_data(const std::vector<std::vector<uint8_t>> &weights);
