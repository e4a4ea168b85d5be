// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/lanes.h"

namespace {

struct span_t {
  int64_t begin, end;  // bytes in the core's window, on lane 0
};

span_t span_of(const mock_pattern_t *p) {
  span_t s = {p->address, static_cast<int64_t>(p->address) + p->size};
  for (uint32_t d = 0; d < p->dims; d++) {
    int64_t reach = p->step[d] * static_cast<int64_t>(p->count[d] - 1);
    (reach < 0 ? s.begin : s.end) += reach;
  }
  return s;
}

bool same_walk(const mock_pattern_t *a, const mock_pattern_t *b) {
  if (a->address != b->address || a->size != b->size || a->dims != b->dims)
    return false;
  for (uint32_t d = 0; d < a->dims; d++)
    if (a->count[d] != b->count[d] || a->step[d] != b->step[d] || a->step[d] == 0)
      return false;
  return true;
}

// Writing stays behind reading: what is read next has not been written yet.
bool shrinks_in_place(const mock_pattern_t *src, const mock_pattern_t *dst) {
  return mock_pattern_contiguous(src) && mock_pattern_contiguous(dst) && dst->size <= src->size &&
         dst->address <= src->address;
}

}  // namespace

bool mock_lanes_apart(const mock_pattern_t *a, const mock_pattern_t *b) {
  span_t x = span_of(a), y = span_of(b);
  return x.end <= y.begin || y.end <= x.begin;
}

const char *mock_lanes_check(const mock_pattern_t *src, const mock_pattern_t *dst) {
  if (src->total <= MOCK_LANE_CHUNK || same_walk(src, dst) || shrinks_in_place(src, dst))
    return nullptr;
  if (mock_lanes_apart(src, dst))
    return nullptr;
  return "source and destination overlap in different patterns of more than 2048 elements";
}
static_assert(MOCK_LANE_CHUNK == 2048);  // the text above

const float *mock_lane_values(const mock_pattern_t *p, const uint8_t *lane, uint64_t first,
                              size_t n, float *scratch) {
  if (p->dtype == ISA_DTYPE_FP32 && mock_pattern_contiguous(p)) {
    const uint8_t *at = lane + first * sizeof(float);
    if (reinterpret_cast<uintptr_t>(at) % alignof(float) == 0)
      return reinterpret_cast<const float *>(at);
  }
  mock_pattern_load_f32(p, lane, first, n, scratch);
  return scratch;
}

float mock_lane_scalar(const mock_compute_t *compute, uint32_t addr4, uint8_t dtype,
                       uint32_t lane) {
  int16_t step = 0;
  uint16_t count = 1;
  mock_pattern_t p;
  mock_pattern_make(addr4, &step, &count, 1, dtype, &p);
  float value;
  mock_dtype_load(dtype, mock_pattern_lane(&p, compute->window, lane), 0, 1, &value);
  return value;
}
