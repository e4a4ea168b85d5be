// SPDX-License-Identifier: Apache-2.0
// Walking access patterns, against four nested loops over the definition (neuroncore-isa.md 3).
#include "mock_dev/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace {

struct shape_t {
  int16_t step[4];
  uint16_t count[4];
};

// Offsets in elements, in order.
std::vector<int64_t> offsets(const shape_t &s) {
  std::vector<int64_t> out;
  for (int d = 0; d < s.count[3]; d++)
    for (int c = 0; c < s.count[2]; c++)
      for (int b = 0; b < s.count[1]; b++)
        for (int a = 0; a < s.count[0]; a++)
          out.push_back(
              (s.count[0] > 1 ? a * s.step[0] : 0) + (s.count[1] > 1 ? b * s.step[1] : 0) +
              (s.count[2] > 1 ? c * s.step[2] : 0) + (s.count[3] > 1 ? d * s.step[3] : 0));
  return out;
}

const shape_t kShapes[] = {
    {{1, 1, 1, 1}, {512, 1, 1, 1}},   {{7, -9, 99, 5}, {1, 1, 1, 1}},
    {{-1, 0, -32, 0}, {32, 1, 4, 1}}, {{3, 50, 700, 9}, {16, 10, 3, 1}},
    {{0, 1, 0, 40}, {5, 8, 3, 4}},    {{-2, 64, -3, 500}, {20, 3, 7, 2}},
    {{1, 33, 0, 0}, {33, 20, 1, 1}},  {{1, 40, -160, 640}, {40, 4, 4, 2}},
    {{0, 0, 0, 0}, {3, 4, 5, 6}},     {{100, 10, 1, 0}, {2, 2, 2, 2}},
    {{17, 1, 1, 1}, {1500, 1, 1, 1}}, {{1, 2, 4, 8}, {2, 2, 2, 700}},
};

constexpr size_t kElements = 65536, kOrigin = 30000;

}  // namespace

TEST(Pattern, ElementsComeInOrderFromEveryStart) {
  std::vector<uint16_t> memory(kElements);
  for (size_t i = 0; i < kElements; i++)
    memory[i] = static_cast<uint16_t>(i * 40503);
  auto *window = reinterpret_cast<uint8_t *>(memory.data());
  std::mt19937 random(1);
  for (const shape_t &s : kShapes) {
    mock_pattern_t p;
    mock_pattern_make(kOrigin * 2, s.step, s.count, 4, ISA_DTYPE_UINT16, &p);
    std::vector<int64_t> want = offsets(s);
    ASSERT_EQ(p.total, want.size());
    for (int round = 0; round < 40; round++) {
      size_t first = round == 0 ? 0 : random() % want.size();
      size_t n = round == 0 ? want.size() : random() % (want.size() - first + 1);
      std::vector<uint16_t> raw(n + 1, 0xABCD);
      std::vector<float> values(n + 1, -1);
      mock_pattern_read(&p, mock_pattern_lane(&p, window, 0), first, n, raw.data());
      mock_pattern_load_f32(&p, mock_pattern_lane(&p, window, 0), first, n, values.data());
      for (size_t i = 0; i < n; i++) {
        uint16_t w = memory[static_cast<size_t>(static_cast<int64_t>(kOrigin) + want[first + i])];
        ASSERT_EQ(raw[i], w) << first << " " << i;
        ASSERT_EQ(values[i], w) << first << " " << i;
      }
      ASSERT_EQ(raw[n], 0xABCD);
      ASSERT_EQ(values[n], -1);
    }
  }
}

TEST(Pattern, StoresTouchTheirElementsOnlyAndTheLastValueStays) {
  std::mt19937 random(2);
  for (bool raw : {false, true})
    for (const shape_t &s : kShapes) {
      mock_pattern_t p;
      mock_pattern_make(kOrigin * 2, s.step, s.count, 4, ISA_DTYPE_UINT16, &p);
      std::vector<uint16_t> memory(kElements, 0x5555), want = memory;
      auto *lane = mock_pattern_lane(&p, reinterpret_cast<uint8_t *>(memory.data()), 0);
      std::vector<int64_t> at = offsets(s);
      size_t first = random() % at.size(), n = at.size() - first;
      std::vector<uint16_t> codes(n);
      std::vector<float> values(n);
      for (size_t i = 0; i < n; i++) {
        codes[i] = static_cast<uint16_t>(random());
        values[i] = codes[i];
        want[static_cast<size_t>(static_cast<int64_t>(kOrigin) + at[first + i])] = codes[i];
      }
      if (raw)
        mock_pattern_write(&p, lane, first, n, codes.data());
      else
        mock_pattern_store_f32(&p, lane, first, n, values.data());
      ASSERT_EQ(memory, want);
    }
}

TEST(Pattern, RandomShapesOfEverySize) {
  std::mt19937 random(3);
  for (int round = 0; round < 400; round++) {
    shape_t s{};
    for (int d = 0; d < 4; d++) {
      s.count[d] = static_cast<uint16_t>(1 + random() % (d == 0 ? 60 : 5));
      s.step[d] = static_cast<int16_t>(static_cast<int>(random() % 41) - 20);
      if (d > 0 && random() % 2 == 0)
        s.step[d] = static_cast<int16_t>(s.step[d - 1] * s.count[d - 1]);
    }
    for (uint8_t dtype : {ISA_DTYPE_UINT8, ISA_DTYPE_UINT16, ISA_DTYPE_UINT32, ISA_DTYPE_UINT64}) {
      uint32_t size = isa_dtype_size(dtype);
      std::vector<int64_t> at = offsets(s);
      int64_t low = *std::min_element(at.begin(), at.end());
      int64_t high = *std::max_element(at.begin(), at.end());
      std::vector<uint8_t> memory(static_cast<size_t>(high - low + 1) * size);
      for (uint8_t &b : memory)
        b = static_cast<uint8_t>(random());
      mock_pattern_t p;
      mock_pattern_make(static_cast<uint32_t>(-low) * size, s.step, s.count, 4, dtype, &p);
      std::vector<uint8_t> out(at.size() * size);
      mock_pattern_read(&p, mock_pattern_lane(&p, memory.data(), 0), 0, at.size(), out.data());
      for (size_t i = 0; i < at.size(); i++)
        ASSERT_EQ(memcmp(&out[i * size], &memory[static_cast<size_t>(at[i] - low) * size], size),
                  0);
    }
  }
}

TEST(Pattern, LanesAreOnePitchApart) {
  isa_pattern3 sbuf = {3u << 18 | 0x4000, {1, 0, 0}, {128, 1, 1}};
  isa_pattern4 psum = {ISA_PSUM_BASE + (64u << 15) + 0x800, {1, 1, 1, 1}, {64, 1, 1, 1}};
  mock_pattern_t a = mock_pattern_of(sbuf, ISA_DTYPE_FP16);
  mock_pattern_t b = mock_pattern_of(psum, ISA_DTYPE_FP32);
  uint8_t *window = nullptr;
  EXPECT_EQ(mock_pattern_lane(&a, window, 2) - window, (5 << 18) + 0x4000);
  EXPECT_EQ(mock_pattern_lane(&b, window, 3) - window, 0x02000000 + (67 << 15) + 0x800);
  EXPECT_TRUE(isa_walk_contiguous(&a));
  sbuf.step[0] = -1;
  a = mock_pattern_of(sbuf, ISA_DTYPE_FP16);
  EXPECT_FALSE(isa_walk_contiguous(&a));
  EXPECT_EQ(a.total, 128u);
}
