// SPDX-License-Identifier: Apache-2.0
// Roundings of the reference models, by arithmetic on doubles: they share nothing with the device.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

// Nearest value of a format with `bits` significant bits and smallest exponent `low`, ties to even.
// The result is exact in a double.
inline double round_to(double value, int bits, int low) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // 0.5 <= |fraction| < 1
  int unit = exponent - bits;
  if (unit < low - bits + 1)
    unit = low - bits + 1;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

inline double fp16_round(double value) {
  double rounded = round_to(value, 11, -14);
  return std::fabs(rounded) > 65504 ? std::copysign(INFINITY, value) : rounded;
}
inline float bf16_round(double value) {
  return static_cast<float>(round_to(value, 8, -126));
}
// One unit of fp16 at the magnitude of `value`.
inline double fp16_unit(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, (exponent - 1 < -14 ? -14 : exponent - 1) - 10);
}

// `value` must be exact in fp16.
inline uint16_t fp16_bits(double value) {
  auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return 0x7E00;
  if (std::isinf(value))
    return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < std::ldexp(1.0, -14))
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(magnitude, 24)));
  int exponent = 0;
  double fraction = std::frexp(magnitude, &exponent);
  auto mantissa = static_cast<uint16_t>(std::ldexp(fraction * 2 - 1, 10));
  return static_cast<uint16_t>(sign | (exponent - 1 + 15) << 10 | mantissa);
}
inline double fp16_value(uint16_t bits) {
  int exponent = bits >> 10 & 0x1F;
  int mantissa = bits & 0x3FF;
  double magnitude;
  if (exponent == 0x1F)
    magnitude = mantissa != 0 ? NAN : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, -24);
  else
    magnitude = std::ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// `value` must be exact in bf16.
inline uint16_t bf16_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}
inline float bf16_value(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}
