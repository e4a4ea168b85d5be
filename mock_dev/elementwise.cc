// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/elementwise.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mock_dev/alu.h"
#include "mock_dev/lanes.h"

namespace {

bool is_int32(uint8_t dtype) {
  return dtype == ISA_DTYPE_INT32 || dtype == ISA_DTYPE_UINT32;
}

void tensor_tensor_int(const mock_compute_t *compute, mock_alu_int_fn op, uint32_t lanes,
                       const mock_pattern_t &src0, const mock_pattern_t &src1,
                       const mock_pattern_t &dst) {
  uint32_t a[MOCK_LANE_CHUNK], b[MOCK_LANE_CHUNK], out[MOCK_LANE_CHUNK];
  for (uint32_t lane = 0; lane < lanes; lane++) {
    const uint8_t *from0 = mock_pattern_lane(&src0, compute->window, lane);
    const uint8_t *from1 = mock_pattern_lane(&src1, compute->window, lane);
    uint8_t *to = mock_pattern_lane(&dst, compute->window, lane);
    for (uint64_t first = 0; first < dst.total; first += MOCK_LANE_CHUNK) {
      size_t n = std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total - first);
      mock_pattern_read(&src0, from0, first, n, a);
      mock_pattern_read(&src1, from1, first, n, b);
      op(a, b, out, n);
      mock_pattern_write(&dst, to, first, n, out);
    }
  }
}

void tensor_tensor_f32(const mock_compute_t *compute, mock_alu_fn op, uint32_t lanes,
                       const mock_pattern_t &src0, const mock_pattern_t &src1,
                       const mock_pattern_t &dst) {
  float a[MOCK_LANE_CHUNK], b[MOCK_LANE_CHUNK], out[MOCK_LANE_CHUNK];
  for (uint32_t lane = 0; lane < lanes; lane++) {
    const uint8_t *from0 = mock_pattern_lane(&src0, compute->window, lane);
    const uint8_t *from1 = mock_pattern_lane(&src1, compute->window, lane);
    uint8_t *to = mock_pattern_lane(&dst, compute->window, lane);
    for (uint64_t first = 0; first < dst.total; first += MOCK_LANE_CHUNK) {
      size_t n = std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total - first);
      op(mock_lane_values(&src0, from0, first, n, a), mock_lane_values(&src1, from1, first, n, b),
         out, n);
      mock_pattern_store_f32(&dst, to, first, n, out);
    }
  }
}

// Runs `map(values, n, out)` over all lanes of a record with one source.
template <typename MAP>
void map_lanes(const mock_compute_t *compute, const isa_copy &r, MAP map) {
  mock_pattern_t src = mock_pattern_of(r.src, r.in_dtype);
  mock_pattern_t dst = mock_pattern_of(r.dst, r.out_dtype);
  float in[MOCK_LANE_CHUNK], out[MOCK_LANE_CHUNK];
  for (uint32_t lane = 0; lane < r.channels; lane++) {
    const uint8_t *from = mock_pattern_lane(&src, compute->window, lane);
    uint8_t *to = mock_pattern_lane(&dst, compute->window, lane);
    for (uint64_t first = 0; first < dst.total; first += MOCK_LANE_CHUNK) {
      size_t n = std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total - first);
      map(mock_lane_values(&src, from, first, n, in), n, out);
      mock_pattern_store_f32(&dst, to, first, n, out);
    }
  }
}

// One of the two steps of 43.
struct scalar_step_t {
  uint8_t op;
  bool reverse;
  bool pointer;
  uint32_t value;  // fp32 bits or ADDR4
  float filled[MOCK_LANE_CHUNK];
};

void scalar_fill(const mock_compute_t *compute, uint32_t lane, size_t n, scalar_step_t *s) {
  if (s->op == ISA_ALU_BYPASS)
    return;
  float value = s->pointer ? mock_lane_scalar(compute, s->value, ISA_DTYPE_FP32, lane)
                           : std::bit_cast<float>(s->value);
  std::fill_n(s->filled, n, value);
}

void scalar_apply(const scalar_step_t &s, const float *in, float *out, size_t n) {
  if (s.op == ISA_ALU_BYPASS)
    memcpy(out, in, n * sizeof *in);
  else if (s.reverse)
    mock_alu_find(s.op)(s.filled, in, out, n);
  else
    mock_alu_find(s.op)(in, s.filled, out, n);
}

}  // namespace

const char *mock_tensor_tensor(const mock_compute_t *compute, const isa_record *record) {
  const auto r = std::bit_cast<isa_tensor_tensor>(*record);
  const uint8_t dtype0 = r.in_dtypes & 0xF, dtype1 = r.in_dtypes >> 4;
  mock_pattern_t src0 = mock_pattern_of(r.src0, dtype0), src1 = mock_pattern_of(r.src1, dtype1);
  mock_pattern_t dst = mock_pattern_of(r.dst, r.out_dtype);
  mock_alu_int_fn exact = mock_alu_int_find(r.op);
  if (compute->engine == ISA_ENGINE_POOL && exact != nullptr && is_int32(dtype0) &&
      is_int32(dtype1) && is_int32(r.out_dtype)) {
    tensor_tensor_int(compute, exact, r.channels, src0, src1, dst);
    return nullptr;
  }
  tensor_tensor_f32(compute, mock_alu_find(r.op), r.channels, src0, src1, dst);
  return nullptr;
}

const char *mock_tensor_scalar(const mock_compute_t *compute, const isa_record *record) {
  const auto r = std::bit_cast<isa_tensor_scalar>(*record);
  mock_pattern_t src = mock_pattern_of(r.src, r.in_dtype);
  mock_pattern_t dst = mock_pattern_of(r.dst, r.out_dtype);
  scalar_step_t step0 = {
      r.op0, (r.reverse & 1) != 0, r.imm0_source == ISA_SOURCE_POINTER, r.imm0, {}};
  scalar_step_t step1 = {
      r.op1, (r.reverse & 2) != 0, r.imm1_source == ISA_SOURCE_POINTER, r.imm1, {}};
  float in[MOCK_LANE_CHUNK], between[MOCK_LANE_CHUNK], out[MOCK_LANE_CHUNK];
  const size_t most = std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total);
  for (uint32_t lane = 0; lane < r.channels; lane++) {
    const uint8_t *from = mock_pattern_lane(&src, compute->window, lane);
    uint8_t *to = mock_pattern_lane(&dst, compute->window, lane);
    scalar_fill(compute, lane, most, &step0);
    scalar_fill(compute, lane, most, &step1);
    for (uint64_t first = 0; first < dst.total; first += MOCK_LANE_CHUNK) {
      size_t n = std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total - first);
      scalar_apply(step0, mock_lane_values(&src, from, first, n, in), between, n);
      scalar_apply(step1, between, out, n);
      mock_pattern_store_f32(&dst, to, first, n, out);
    }
  }
  return nullptr;
}

const char *mock_copy(const mock_compute_t *compute, const isa_record *record) {
  const auto r = std::bit_cast<isa_copy>(*record);
  mock_pattern_t src = mock_pattern_of(r.src, r.in_dtype);
  mock_pattern_t dst = mock_pattern_of(r.dst, r.out_dtype);
  const bool plain = isa_walk_contiguous(&src) && isa_walk_contiguous(&dst);
  uint64_t chunk[MOCK_LANE_CHUNK];
  for (uint32_t lane = 0; lane < r.channels; lane++) {
    const uint8_t *from = mock_pattern_lane(&src, compute->window, lane);
    uint8_t *to = mock_pattern_lane(&dst, compute->window, lane);
    if (plain) {
      memmove(to, from, dst.total * dst.size);
      continue;
    }
    for (uint64_t first = 0; first < dst.total; first += MOCK_LANE_CHUNK) {
      size_t n = std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total - first);
      mock_pattern_read(&src, from, first, n, chunk);
      mock_pattern_write(&dst, to, first, n, chunk);
    }
  }
  return nullptr;
}

const char *mock_cast(const mock_compute_t *compute, const isa_record *record) {
  const auto r = std::bit_cast<isa_copy>(*record);
  map_lanes(compute, r,
            [](const float *in, size_t n, float *out) { memcpy(out, in, n * sizeof *in); });
  return nullptr;
}

const char *mock_reciprocal(const mock_compute_t *compute, const isa_record *record) {
  const auto r = std::bit_cast<isa_copy>(*record);
  mock_alu_fn divide = mock_alu_find(ISA_ALU_DIVIDE);
  float ones[MOCK_LANE_CHUNK];
  std::fill_n(ones, MOCK_LANE_CHUNK, 1.0f);
  map_lanes(compute, r, [&](const float *in, size_t n, float *out) { divide(ones, in, out, n); });
  return nullptr;
}

const char *mock_memset(const mock_compute_t *compute, const isa_record *record) {
  const auto r = std::bit_cast<isa_memset>(*record);
  mock_pattern_t dst = mock_pattern_of(r.dst, r.dtype);
  uint32_t chunk[MOCK_LANE_CHUNK];
  const size_t most = std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total);
  mock_dtype_move(dst.size, reinterpret_cast<const uint8_t *>(&r.value), 0,
                  reinterpret_cast<uint8_t *>(chunk), dst.size, most);
  for (uint32_t lane = 0; lane < r.channels; lane++) {
    uint8_t *to = mock_pattern_lane(&dst, compute->window, lane);
    for (uint64_t first = 0; first < dst.total; first += MOCK_LANE_CHUNK)
      mock_pattern_write(&dst, to, first, std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total - first),
                         chunk);
  }
  return nullptr;
}
