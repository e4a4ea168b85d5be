// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/activate.h"

#include <algorithm>
#include <bit>

#include "mock_dev/act.h"
#include "mock_dev/alu.h"
#include "mock_dev/lanes.h"

namespace {

constexpr float kSlope = 0.01f;  // of the leaky forms, unless the record gives one

// How f is evaluated.
struct function_t {
  const mock_act_t *act;
  const mock_act_function_t *tables;  // nullptr: in double precision
  uint8_t id;
  float slope;
};

void evaluate(const function_t &f, const float *in, size_t n, float *out) {
  if (f.tables != nullptr)
    mock_act_evaluate(f.act, f.tables, in, n, out);
  else
    mock_act_exact(f.id, f.slope, in, n, out);
}

float slope_of(const isa_activate &r) {
  const bool given = r.extra != 0 || r.function == ISA_FUNCTION_PARAMETRIC_RELU;
  return isa_activate_has_slope(r.function) && given ? std::bit_cast<float>(r.extra) : kSlope;
}

const char *find_function(const mock_compute_t *compute, const isa_activate &r, function_t *f) {
  f->act = compute->act;
  f->id = r.function;
  const bool resident = f->act != nullptr && f->act->function_count != 0;
  f->tables = resident ? mock_act_find(f->act, r.function) : nullptr;
  if (resident && f->tables == nullptr)
    return "ACTIVATE: the function is not in the resident set of activation tables";
  f->slope = slope_of(r);
  if (compute->exact_functions) {
    f->tables = nullptr;
    return mock_act_exact(r.function, 0, nullptr, 0, nullptr)
               ? nullptr
               : "ACTIVATE: no double-precision form for this function";
  }
  if (!resident)
    return "ACTIVATE: no set of activation tables is resident";
  const project_profile_t &p = f->tables->profile;
  if (p.fma_indirection_src_sel != 0 || p.use_multipass != 0)
    return "ACTIVATE: tables with indirect coefficients or several passes are not implemented";
  if (f->slope != kSlope)
    return "ACTIVATE: the tables hold the slope 0.01 only";
  return nullptr;
}

}  // namespace

const char *mock_activate(const mock_compute_t *compute, const isa_record *record) {
  const auto r = std::bit_cast<isa_activate>(*record);
  const uint8_t bias_dtype = r.in_bias_dtype >> 4;
  mock_pattern_t src = mock_pattern_of(r.src, r.in_bias_dtype & 0xF);
  mock_pattern_t dst = mock_pattern_of(r.dst, r.out_dtype);
  function_t f;
  const char *wrong = find_function(compute, r, &f);
  if (wrong != nullptr)
    return wrong;
  float in[MOCK_LANE_CHUNK], out[MOCK_LANE_CHUNK];
  for (uint32_t lane = 0; lane < r.channels; lane++) {
    const uint8_t *from = mock_pattern_lane(&src, compute->window, lane);
    uint8_t *to = mock_pattern_lane(&dst, compute->window, lane);
    float scale = r.scale_source == ISA_SOURCE_IMMEDIATE
                      ? std::bit_cast<float>(r.scale)
                      : mock_lane_scalar(compute, r.scale, ISA_DTYPE_FP32, lane);
    float bias = r.bias_source == ISA_BIAS_IMMEDIATE
                     ? std::bit_cast<float>(r.bias)
                     : mock_lane_scalar(compute, r.bias, bias_dtype, lane);
    for (uint64_t first = 0; first < dst.total; first += MOCK_LANE_CHUNK) {
      size_t n = std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total - first);
      mock_alu_scale_bias(mock_lane_values(&src, from, first, n, in), scale, bias, n, out);
      evaluate(f, out, n, out);
      mock_pattern_store_f32(&dst, to, first, n, out);
    }
  }
  return nullptr;
}
