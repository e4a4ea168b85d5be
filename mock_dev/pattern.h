// SPDX-License-Identifier: Apache-2.0
// Access patterns of engine operands (neuroncore-isa.md 3): up to four dimensions, index 0 fastest,
// signed steps in elements, ignored where the count is 1. Prepared once per record, used for each
// lane. Pure functions on memory of the caller's, any thread, no allocation; ranges were checked
// before (isa_operand_range).
#pragma once

#include "isa/isa_walk.h"
#include "mock_dev/dtype.h"

struct mock_pattern_t : isa_walk_t {
  uint32_t pitch;  // bytes from lane to lane
  uint8_t dtype;
};

// `dims` counts and steps as they stand in the record; marker bits of addr4 are left out.
void mock_pattern_make(uint32_t addr4, const int16_t *step, const uint16_t *count, uint32_t dims,
                       uint8_t dtype, mock_pattern_t *out);
template <typename PATTERN>  // isa_pattern1 to 4
inline mock_pattern_t mock_pattern_of(const PATTERN &pattern, uint8_t dtype) {
  mock_pattern_t p;
  mock_pattern_make(pattern.addr4, pattern.step, pattern.count,
                    sizeof pattern.count / sizeof pattern.count[0], dtype, &p);
  return p;
}
inline mock_pattern_t mock_pattern_of_operand(const isa_operand_t &operand) {
  mock_pattern_t p;
  mock_pattern_make(operand.addr4, operand.step, operand.count, 4, operand.dtype, &p);
  return p;
}

// First element of a lane. Steps may lead to lower addresses from there.
inline uint8_t *mock_pattern_lane(const mock_pattern_t *p, uint8_t *window, uint32_t lane) {
  return window + p->address + static_cast<uint64_t>(lane) * p->pitch;
}
// Elements [first, first + n) of a lane in pattern order, as fp32 or as they are (n * size bytes).
// `lane` comes from mock_pattern_lane. first + n is at most `total`.
void mock_pattern_load_f32(const mock_pattern_t *p, const uint8_t *lane, uint64_t first, size_t n,
                           float *out);
void mock_pattern_read(const mock_pattern_t *p, const uint8_t *lane, uint64_t first, size_t n,
                       void *out);
// Where the pattern meets an element twice, the later value stays.
void mock_pattern_store_f32(const mock_pattern_t *p, uint8_t *lane, uint64_t first, size_t n,
                            const float *in);
void mock_pattern_write(const mock_pattern_t *p, uint8_t *lane, uint64_t first, size_t n,
                        const void *in);
