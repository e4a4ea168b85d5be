// SPDX-License-Identifier: Apache-2.0
// Random numbers of the reference models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// The CPU generator of a well-known framework (verified-attention.md 4): normal deviates, drawn one
// tensor after the other from one MT19937.
class torch_random {
 public:
  explicit torch_random(uint32_t seed);
  // `count` is a multiple of 16.
  std::vector<float> normal(size_t count);

 private:
  uint32_t next();
  uint32_t state_[624];
  size_t index_ = 624;
};

// A hash of a position: the same value in whatever order positions are visited.
inline uint64_t position_hash(uint64_t seed, uint64_t position) {
  uint64_t z = (position + 1) * 0x9E3779B97F4A7C15 + seed * 0xD1B54A32D192ED03;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}
