// SPDX-License-Identifier: Apache-2.0
// The small floating-point types by their definition, in double precision: what tests compare the
// mock's conversions with.
#pragma once

#include <cmath>
#include <cstdint>

#include "isa/isa.h"

struct number_format_t {
  const char *name;
  uint8_t dtype;
  int exponent_bits, fraction_bits, bias;
  double largest;
  bool saturates, has_infinity;

  // What a code means. Infinity and NaN as such.
  double meaning(uint32_t code) const {
    int top = (1 << exponent_bits) - 1;
    auto fraction = static_cast<double>(code & ((1u << fraction_bits) - 1));
    int exponent = static_cast<int>(code >> fraction_bits) & top;
    double sign = (code >> (exponent_bits + fraction_bits) & 1) != 0 ? -1 : 1;
    if (exponent == top && has_infinity)
      return fraction == 0 ? sign * INFINITY : NAN;
    if (!has_infinity && (code & 0x7F) == 0x7F)
      return NAN;
    if (exponent == 0)
      return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign * std::ldexp(1 + std::ldexp(fraction, -fraction_bits), exponent - bias);
  }
  uint32_t codes() const { return 1u << (1 + exponent_bits + fraction_bits); }
};

inline constexpr number_format_t NUMBER_FORMATS[] = {
    {"bf16", ISA_DTYPE_BF16, 8, 7, 127, 3.3895313892515355e38, false, true},
    {"fp16", ISA_DTYPE_FP16, 5, 10, 15, 65504, false, true},
    {"fp8e3", ISA_DTYPE_FP8E3, 3, 4, 3, 15.5, true, true},
    {"fp8e4", ISA_DTYPE_FP8E4, 4, 3, 7, 448, true, false},
    {"fp8e5", ISA_DTYPE_FP8E5, 5, 2, 15, 57344, true, true},
};
