// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/lanes.h"

const float *mock_lane_values(const mock_pattern_t *p, const uint8_t *lane, uint64_t first,
                              size_t n, float *scratch) {
  if (p->dtype == ISA_DTYPE_FP32 && isa_walk_contiguous(p)) {
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
