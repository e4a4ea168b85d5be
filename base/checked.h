// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes and addresses. Each function returns false (and leaves *out alone) where
// plain arithmetic would wrap or lose bits.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

template <std::integral T>
[[nodiscard]] inline bool checked_add(T a, std::type_identity_t<T> b, T *out) {
  T r;
  if (__builtin_add_overflow(a, b, &r))
    return false;
  *out = r;
  return true;
}

template <std::integral T>
[[nodiscard]] inline bool checked_mul(T a, std::type_identity_t<T> b, T *out) {
  T r;
  if (__builtin_mul_overflow(a, b, &r))
    return false;
  *out = r;
  return true;
}

// Rounds up to a multiple of `to` (not zero).
template <std::unsigned_integral T>
[[nodiscard]] inline bool checked_round_up(T value, std::type_identity_t<T> to, T *out) {
  T r;
  if (__builtin_add_overflow(value, static_cast<T>(to - 1), &r))
    return false;
  *out = static_cast<T>(r - r % to);
  return true;
}

// Narrowing that keeps the value.
template <std::integral To, std::integral From>
[[nodiscard]] inline bool checked_cast(From value, To *out) {
  if (!std::in_range<To>(value))
    return false;
  *out = static_cast<To>(value);
  return true;
}

// True when [offset, offset + length) lies inside [0, size), without wrapping.
inline constexpr bool range_within(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

inline constexpr bool is_power_of_two(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}
