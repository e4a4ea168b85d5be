// SPDX-License-Identifier: Apache-2.0
// What the records that compute lane by lane share. A lane is worked off in chunks: everything of a
// chunk is read before any of it is written; isa_modes_check has seen to it that this does. Lanes
// follow each other in ascending order. Pure functions, any thread, no allocation.
#pragma once

#include "isa/isa_modes.h"
#include "mock_dev/compute.h"
#include "mock_dev/pattern.h"

constexpr size_t MOCK_LANE_CHUNK = ISA_MODES_LANE;  // elements

// Elements [first, first + n) of a lane as fp32: where they are, when they stand there like that,
// otherwise converted into `scratch`. n <= MOCK_LANE_CHUNK.
const float *mock_lane_values(const mock_pattern_t *p, const uint8_t *lane, uint64_t first,
                              size_t n, float *scratch);

// The value of a lane behind a pointer to one value per lane, which has its own first partition.
float mock_lane_scalar(const mock_compute_t *compute, uint32_t addr4, uint8_t dtype, uint32_t lane);
