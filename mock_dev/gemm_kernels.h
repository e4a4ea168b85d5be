// SPDX-License-Identifier: Apache-2.0
// The loops of gemm.h, compiled once per instruction set (gemm_portable.cc, gemm_avx2.cc) and
// internal to each of these files.
#pragma once

#include "mock_dev/gemm.h"

namespace {

// As many numbers as a register holds, at any address.
#ifdef __AVX2__
constexpr uint32_t kLanes = 8;
#else
constexpr uint32_t kLanes = 4;
#endif
constexpr uint32_t kVectors = MOCK_GEMM_COLUMNS / kLanes;
using vector_t __attribute__((vector_size(4 * kLanes))) = float;
using unaligned_t __attribute__((vector_size(4 * kLanes), aligned(1), may_alias)) = float;

inline vector_t read(const float *p) {
  return *reinterpret_cast<const unaligned_t *>(p);
}
inline void write(float *p, vector_t v) {
  *reinterpret_cast<unaligned_t *>(p) = v;
}

// All sums of a tile stay in registers (of AVX2; without it some go to memory and back).
template <uint32_t ROWS>
void tile(size_t k, const float *a, const float *b, float *c, int64_t pitch, bool add) {
  vector_t sum[ROWS][kVectors] = {};
  auto *row = reinterpret_cast<char *>(c);
  // Lanes lie 32 KiB apart: no two rows of c share a place in the near caches.
  for (uint32_t r = 0; r < ROWS; r++)
    __builtin_prefetch(row + r * pitch, 1);
#pragma GCC unroll 2
  for (size_t i = 0; i < k; i++, a += ROWS, b += MOCK_GEMM_COLUMNS) {
    vector_t right[kVectors];
    for (uint32_t v = 0; v < kVectors; v++)
      right[v] = read(b + v * kLanes);
#pragma GCC unroll 6
    for (uint32_t r = 0; r < ROWS; r++)
      for (uint32_t v = 0; v < kVectors; v++)
        sum[r][v] += a[r] * right[v];
  }
#pragma GCC unroll 6
  for (uint32_t r = 0; r < ROWS; r++) {
    auto *to = reinterpret_cast<float *>(row + r * pitch);
    for (uint32_t v = 0; v < kVectors; v++, to += kLanes)
      write(to, add ? read(to) + sum[r][v] : sum[r][v]);
  }
}

void deal(const float *row, size_t blocks, float *to, int64_t pitch) {
  auto *at = reinterpret_cast<char *>(to);
  for (size_t i = 0; i < blocks; i++, row += MOCK_GEMM_COLUMNS, at += pitch)
    for (uint32_t v = 0; v < kVectors; v++)
      write(reinterpret_cast<float *>(at) + v * kLanes, read(row + v * kLanes));
}

void one_hot(const float *__restrict row, size_t n, int32_t k, int32_t *__restrict state) {
  for (size_t i = 0; i < n; i++) {
    int32_t s = state[i];
    int32_t one = s == MOCK_ONE_HOT_EMPTY ? k : MOCK_ONE_HOT_NO;
    int32_t other = row[i] == 0.0F ? s : MOCK_ONE_HOT_NO;
    state[i] = row[i] == 1.0F ? one : other;
  }
}

constexpr mock_gemm_kernels_t kernel_table() {
  return {{nullptr, tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>}, deal, one_hot};
}

}  // namespace
