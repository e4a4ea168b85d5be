// SPDX-License-Identifier: Apache-2.0
// The inner loop of table evaluation.
#include <bit>

#include "mock_dev/act.h"

namespace {

constexpr uint32_t kSign = 0x80000000, kInfinity = 0x7F800000, kMantissa = 0x7FFFFF;

// What a profile says of special arguments and symmetry, as masks.
struct shape_t {
  uint32_t keep, set;  // argument bits that stay, that are set: which half is evaluated
  uint32_t flip;       // kSign: the other half gets the negated result
  uint32_t nan, positive_infinity, negative_infinity, zero;
};

shape_t shape_of(const project_profile_t &p) {
  shape_t s = {~0u, 0, 0, p.fnan_result, p.fpinf_result, p.fninf_result, p.fzero_result};
  if (p.symmetry_opt_en == 0)
    return s;
  if (p.symmetry_opt_use_neg_region != 0)
    s.set = kSign;
  else
    s.keep = ~kSign;
  s.flip = p.sym_invert_sign_point != 0 ? kSign : 0;
  return s;
}

inline uint32_t bucket_of(const mock_act_function_t *f, uint32_t x) {
  uint32_t magnitude = x & ~kSign, negative = x >> 31;
  uint32_t word = f->control[negative][magnitude >> 23];
  word = magnitude >= f->large_limit[negative] ? f->large_word[negative] : word;
  return (word & 0x7FF) +
         ((x & kMantissa) >> (word >> 11 & 0x1F) & ((1u << (word >> 16 & 0xF)) - 1));
}

inline uint32_t special(const shape_t &s, uint32_t x, uint32_t result) {
  uint32_t magnitude = x & ~kSign;
  result = magnitude == 0 ? s.zero : result;
  result = x == kInfinity ? s.positive_infinity : result;
  result = x == (kInfinity | kSign) ? s.negative_infinity : result;
  return magnitude > kInfinity ? s.nan : result;
}

}  // namespace

void mock_act_evaluate(const mock_act_t *act, const mock_act_function_t *f, const float *in,
                       size_t n, float *out) {
  const shape_t s = shape_of(f->profile);
  for (size_t i = 0; i < n; i++) {
    uint32_t given = std::bit_cast<uint32_t>(in[i]);
    uint32_t x = (given & s.keep) | s.set;
    const float *d = act->buckets[bucket_of(f, x)];
    float t = std::bit_cast<float>(x) - d[4];
    float cubic = d[0] + t * (d[1] + t * (d[2] + t * d[3]));
    uint32_t result = std::bit_cast<uint32_t>(cubic) ^ ((given ^ x) & s.flip);
    out[i] = std::bit_cast<float>(special(s, given, result));
  }
}
