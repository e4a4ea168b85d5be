// SPDX-License-Identifier: Apache-2.0
// Conversions of consecutive elements, compiled once per instruction set (dtype_portable.cc,
// dtype_avx2.cc): loops without branches, which the compiler vectorises. Everything is internal to
// the including file, so that code for one processor never ends up in the other's path.
#pragma once

#include <cstring>
#include <type_traits>

#include "mock_dev/dtype.h"

namespace {

inline uint32_t bits_of(float f) {
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  return b;
}
inline float float_of(uint32_t b) {
  float f;
  memcpy(&f, &b, sizeof f);
  return f;
}
template <typename T>
inline T get(const uint8_t *p, size_t i) {
  T v;
  memcpy(&v, p + i * sizeof v, sizeof v);
  return v;
}
template <typename T>
inline void put(uint8_t *p, size_t i, T v) {
  memcpy(p + i * sizeof v, &v, sizeof v);
}

constexpr uint32_t kSign = 0x80000000, kInfinity = 0x7F800000, kQuiet = 0x00400000;

// Fraction cut to 23 - shift bits, nearest even; may carry into the exponent, up to infinity.
inline uint32_t round_fraction(uint32_t bits, uint32_t shift) {
  return bits + ((1u << (shift - 1)) - 1) + (bits >> shift & 1);
}

// Small floating-point formats: sign, E exponent bits, M fraction bits.
template <typename T, uint32_t E, uint32_t M, bool SATURATES, uint32_t LARGEST, uint32_t NAN_BITS>
struct small_float {
  using type = T;
  static constexpr uint32_t kBias = (1u << (E - 1)) - 1, kShift = 23 - M;
  static constexpr uint32_t kMask = (1u << (E + M)) - 1;  // all but the sign
  static constexpr uint32_t kTopExponent = ((1u << E) - 1) << M;
  // E4M3 has one NaN and no infinity; the others keep the top exponent for both.
  static constexpr bool kHasInfinity = LARGEST < kTopExponent;

  static float decode(T raw) {
    uint32_t u = raw, a = u & kMask;
    // As if its exponent were fp32's, then scaled: exact, denormals included.
    float f = float_of(a << kShift) * float_of((254 - kBias) << 23);
    uint32_t special = a > kTopExponent ? a << kShift | kInfinity | kQuiet : kInfinity;
    uint32_t is_special = kHasInfinity ? a >= kTopExponent : a == kMask;
    if (!kHasInfinity)
      special = kInfinity | kQuiet;
    uint32_t b = is_special ? special : bits_of(f);
    return float_of(b | (u & ~kMask) << (31 - E - M));
  }

  static T encode(float f) {
    uint32_t b = bits_of(f), a = b & ~kSign;
    // The largest value, or the power of two that becomes infinity.
    constexpr uint32_t kRebias = (127 - kBias) << 23;
    constexpr uint32_t kLimit =
        SATURATES ? (LARGEST << kShift) + kRebias : (kTopExponent << kShift) + kRebias;
    constexpr uint32_t kSmallestNormal = (128 - kBias) << 23;
    constexpr uint32_t kDenormal = (151 - kBias - M) << 23;  // its last bit is ours
    uint32_t c = a < kLimit ? a : kLimit;
    uint32_t normal = (round_fraction(c, kShift) - kRebias) >> kShift;
    uint32_t denormal = bits_of(float_of(c) + float_of(kDenormal)) - kDenormal;
    uint32_t r = c < kSmallestNormal ? denormal : normal;
    // fp16 keeps the upper bits of a NaN, as the processor's own conversion does.
    uint32_t nan = sizeof(T) == 2 ? NAN_BITS | (a >> kShift & ((1u << M) - 1)) : NAN_BITS;
    r = a > kInfinity ? nan : r;
    return static_cast<T>(r | (b & kSign) >> (31 - E - M));
  }
};
using fp16 = small_float<uint16_t, 5, 10, false, 0x7BFF, 0x7E00>;
using fp8e3 = small_float<uint8_t, 3, 4, true, 0x6F, 0x78>;  // largest 15.5
using fp8e4 = small_float<uint8_t, 4, 3, true, 0x7E, 0x7F>;  // largest 448
using fp8e5 = small_float<uint8_t, 5, 2, true, 0x7B, 0x7E>;  // largest 57344

struct bf16 {
  using type = uint16_t;
  static float decode(uint16_t raw) { return float_of(static_cast<uint32_t>(raw) << 16); }
  static uint16_t encode(float f) {
    uint32_t b = bits_of(f);
    uint32_t r = (b & ~kSign) > kInfinity ? b | kQuiet : round_fraction(b, 16);
    return static_cast<uint16_t>(r >> 16);
  }
};
struct fp32 {
  using type = uint32_t;
  static float decode(uint32_t raw) { return float_of(raw); }
  static uint32_t encode(float f) { return bits_of(f); }
};
struct fp32r {
  using type = uint32_t;
  static uint32_t encode(float f) {
    uint32_t b = bits_of(f);
    uint32_t r = (b & ~kSign) > kInfinity ? b | kQuiet : round_fraction(b, 12);
    return r & ~0xFFFu;
  }
  static float decode(uint32_t raw) { return float_of(encode(float_of(raw))); }
};

// Nearest integer, ties to even; every value from 2^23 on is one. No call, and no rounding mode
// but the one everything else here relies on.
inline float nearest(float f) {
  float big = float_of((bits_of(f) & kSign) | 0x4B000000);
  float rounded = (f + big) - big;
  return (bits_of(f) & ~kSign) < 0x4B000000 ? rounded : f;
}
template <typename T>
struct integer {
  using type = T;
  static constexpr bool kSigned = std::is_signed_v<T>;
  static constexpr T kMax =
      static_cast<T>(static_cast<uint64_t>(~0ULL) >> (64 - 8 * sizeof(T) + (kSigned ? 1 : 0)));
  static constexpr T kMin = kSigned ? static_cast<T>(-kMax - 1) : T{0};

  static float decode(T raw) { return static_cast<float>(raw); }
  static T encode(float f) {
    float r = nearest(f);
    r = f == f ? r : 0.0F;
    if constexpr (sizeof(T) < 4) {  // bounds are exact
      r = r < static_cast<float>(kMin) ? static_cast<float>(kMin) : r;
      r = r > static_cast<float>(kMax) ? static_cast<float>(kMax) : r;
      return static_cast<T>(static_cast<int32_t>(r));
    } else {
      constexpr float kHalf = static_cast<float>(1ULL << (8 * sizeof(T) - 1));
      constexpr float kOver = kSigned ? kHalf : 2 * kHalf;  // the first value too large
      using wide = std::make_signed_t<T>;
      bool above = r >= kOver, below = r < static_cast<float>(kMin);
      r = above || below ? 0.0F : r;
      bool upper = !kSigned && r >= kHalf;  // processors convert to signed integers only
      T v = static_cast<T>(static_cast<wide>(upper ? r - kHalf : r));
      v = upper ? static_cast<T>(v + (kMax / 2 + 1)) : v;
      v = above ? kMax : v;
      return below ? kMin : v;
    }
  }
};

template <typename F>
void load(const uint8_t *__restrict src, size_t n, float *__restrict out) {
  for (size_t i = 0; i < n; i++)
    out[i] = F::decode(get<typename F::type>(src, i));
}
template <typename F>
void store(const float *__restrict in, size_t n, uint8_t *__restrict dst) {
  for (size_t i = 0; i < n; i++)
    put(dst, i, F::encode(in[i]));
}
template <>
void load<fp32>(const uint8_t *__restrict src, size_t n, float *__restrict out) {
  memcpy(out, src, n * sizeof(float));
}
template <>
void store<fp32>(const float *__restrict in, size_t n, uint8_t *__restrict dst) {
  memcpy(dst, in, n * sizeof(float));
}

// The table of a file's own functions, in the order of isa_dtype_t.
constexpr mock_dtype_kernels_t kernel_table() {
  return {{nullptr, load<integer<uint64_t>>, load<integer<int8_t>>, load<integer<uint8_t>>,
           load<integer<int16_t>>, load<integer<uint16_t>>, load<bf16>, load<fp16>,
           load<integer<int32_t>>, load<integer<uint32_t>>, load<fp32>, load<fp32r>,
           load<integer<int64_t>>, load<fp8e3>, load<fp8e4>, load<fp8e5>},
          {nullptr, store<integer<uint64_t>>, store<integer<int8_t>>, store<integer<uint8_t>>,
           store<integer<int16_t>>, store<integer<uint16_t>>, store<bf16>, store<fp16>,
           store<integer<int32_t>>, store<integer<uint32_t>>, store<fp32>, store<fp32r>,
           store<integer<int64_t>>, store<fp8e3>, store<fp8e4>, store<fp8e5>}};
}

}  // namespace
