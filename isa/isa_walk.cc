// SPDX-License-Identifier: Apache-2.0
#include "isa/isa_walk.h"

namespace {

struct span_t {
  int64_t begin, end;  // bytes in the core's window, on lane 0
};

span_t span_of(const isa_walk_t *w) {
  span_t s = {w->address, static_cast<int64_t>(w->address) + w->size};
  for (uint32_t d = 0; d < w->dims; d++) {
    int64_t reach = w->step[d] * static_cast<int64_t>(w->count[d] - 1);
    (reach < 0 ? s.begin : s.end) += reach;
  }
  return s;
}

bool same(const isa_walk_t *a, const isa_walk_t *b) {
  if (a->address != b->address || a->size != b->size || a->dims != b->dims)
    return false;
  for (uint32_t d = 0; d < a->dims; d++)
    if (a->count[d] != b->count[d] || a->step[d] != b->step[d] || a->step[d] == 0)
      return false;
  return true;
}

bool shrinks_in_place(const isa_walk_t *src, const isa_walk_t *dst) {
  return isa_walk_contiguous(src) && isa_walk_contiguous(dst) && dst->size <= src->size &&
         dst->address <= src->address;
}

}  // namespace

void isa_walk_make(uint32_t addr4, const int16_t *step, const uint16_t *count, uint32_t dims,
                   uint8_t size, isa_walk_t *out) {
  *out = {};
  out->address = addr4 & ISA_ADDR4_ADDRESS;
  out->size = size;
  out->total = 1;
  for (uint32_t i = 0; i < dims; i++) {
    out->total *= count[i];
    if (count[i] == 1)
      continue;
    int64_t bytes = static_cast<int64_t>(step[i]) * out->size;
    uint8_t d = out->dims;
    if (d > 0 && bytes == out->step[d - 1] * static_cast<int64_t>(out->count[d - 1])) {
      out->count[d - 1] *= count[i];
      continue;
    }
    out->count[d] = count[i];
    out->step[d] = bytes;
    out->dims++;
  }
  if (out->dims == 0) {
    out->count[0] = 1;
    out->step[0] = out->size;
    out->dims = 1;
  }
}

bool isa_walk_apart(const isa_walk_t *a, const isa_walk_t *b) {
  span_t x = span_of(a), y = span_of(b);
  return x.end <= y.begin || y.end <= x.begin;
}

bool isa_walk_in_order(const isa_walk_t *src, const isa_walk_t *dst) {
  return same(src, dst) || shrinks_in_place(src, dst) || isa_walk_apart(src, dst);
}
