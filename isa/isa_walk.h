// SPDX-License-Identifier: Apache-2.0
// The elements of an operand on one lane (neuroncore-isa.md 3): loops, index 0 fastest, signed
// steps in elements, ignored where the count is 1. Here without the loops that say nothing.
#pragma once

#include <cstdint>

#include "isa/isa_table.h"

struct isa_walk_t {
  uint64_t total;     // elements
  uint64_t count[4];  // neighbouring dimensions merged where they walk on evenly
  int64_t step[4];    // bytes
  uint32_t address;   // of lane 0's first element, in the core's window
  uint8_t dims;       // in use, at least 1
  uint8_t size;       // bytes per element
};

// `dims` counts and steps as they stand in the record; marker bits of addr4 are left out.
void isa_walk_make(uint32_t addr4, const int16_t *step, const uint16_t *count, uint32_t dims,
                   uint8_t size, isa_walk_t *out);
inline isa_walk_t isa_walk_of(const isa_operand_t *operand) {
  isa_walk_t w;
  isa_walk_make(operand->addr4, operand->step, operand->count, 4, operand->element_bytes, &w);
  return w;
}

// All elements follow each other.
inline bool isa_walk_contiguous(const isa_walk_t *w) {
  return w->dims == 1 && w->step[0] == w->size;
}
// No byte between the first and the last of one is the other's.
bool isa_walk_apart(const isa_walk_t *a, const isa_walk_t *b);
// Elements written one after the other leave those alone that are read later: apart, the same ones,
// or shrinking in place.
bool isa_walk_in_order(const isa_walk_t *src, const isa_walk_t *dst);
