// SPDX-License-Identifier: Apache-2.0
// What the records that compute lane by lane share. A lane is worked off in chunks: everything of a
// chunk is read before any of it is written, and a lane whose operands overlap in another way than
// "the same elements" has to fit one chunk. Lanes follow each other in ascending order. Pure
// functions, any thread, no allocation.
#pragma once

#include "mock_dev/compute.h"
#include "mock_dev/pattern.h"

constexpr size_t MOCK_LANE_CHUNK = 2048;  // elements

// No byte between the first and the last of one pattern is the other's.
bool mock_lanes_apart(const mock_pattern_t *a, const mock_pattern_t *b);

// nullptr when elements can go from `src` to `dst`, which have equally many; else why not, static
// text.
const char *mock_lanes_check(const mock_pattern_t *src, const mock_pattern_t *dst);

// Elements [first, first + n) of a lane as fp32: where they are, when they stand there like that,
// otherwise converted into `scratch`. n <= MOCK_LANE_CHUNK.
const float *mock_lane_values(const mock_pattern_t *p, const uint8_t *lane, uint64_t first,
                              size_t n, float *scratch);

// The value of a lane behind a pointer to one value per lane, which has its own first partition.
float mock_lane_scalar(const mock_compute_t *compute, uint32_t addr4, uint8_t dtype, uint32_t lane);
