// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/random.h"

#include <cmath>
#include <numbers>

torch_random::torch_random(uint32_t seed) {
  state_[0] = seed;
  for (uint32_t i = 1; i < 624; i++)
    state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
}

uint32_t torch_random::next() {
  if (index_ == 624) {
    for (size_t i = 0; i < 624; i++) {
      uint32_t y = (state_[i] & 0x80000000) | (state_[(i + 1) % 624] & 0x7FFFFFFF);
      state_[i] = state_[(i + 397) % 624] ^ y >> 1 ^ ((y & 1) != 0 ? 0x9908B0DF : 0);
    }
    index_ = 0;
  }
  uint32_t y = state_[index_++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9D2C5680;
  y ^= y << 15 & 0xEFC60000;
  return y ^ y >> 18;
}

std::vector<float> torch_random::normal(size_t count) {
  std::vector<float> x(count);
  for (float &u : x)
    u = static_cast<float>(next() & 0xFFFFFF) * 0x1p-24f;
  for (size_t i = 0; i + 16 <= count; i += 16)
    for (size_t j = i; j < i + 8; j++) {
      float radius = std::sqrt(-2 * std::log(1 - x[j]));
      float angle = 2 * std::numbers::pi_v<float> * x[j + 8];
      x[j] = radius * std::cos(angle);
      x[j + 8] = radius * std::sin(angle);
    }
  return x;
}
