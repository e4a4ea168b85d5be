// SPDX-License-Identifier: Apache-2.0
// Inner loops of the PE array: products of small fp32 matrices that were packed before, at the
// processor's full rate. Pure functions, any thread, no allocation, no alignment asked for.
#pragma once

#include <cstddef>
#include <cstdint>

constexpr uint32_t MOCK_GEMM_ROWS = 6;      // of a tile, at most
constexpr uint32_t MOCK_GEMM_COLUMNS = 16;  // of a tile, always

// c[r][n] = sum over k of a[k * rows + r] * b[k * 16 + n], in the order of k; with `add` that sum
// is added to what c holds. Rows of c are `pitch` bytes apart.
using mock_gemm_tile_fn = void (*)(size_t k, const float *a, const float *b, float *c,
                                   int64_t pitch, bool add);

constexpr int32_t MOCK_ONE_HOT_EMPTY = -1, MOCK_ONE_HOT_NO = -2;

struct mock_gemm_kernels_t {
  mock_gemm_tile_fn tile[MOCK_GEMM_ROWS + 1];  // by rows, 1 to MOCK_GEMM_ROWS
  // Block i of 16 numbers goes to `to` plus i pitches.
  void (*deal)(const float *row, size_t blocks, float *to, int64_t pitch);
  // Row `k` of a matrix goes by: state[n], EMPTY before the first row, is the row of the only 1.0
  // among zeros of column n, EMPTY: zeros only, NO: something else.
  void (*one_hot)(const float *row, size_t n, int32_t k, int32_t *state);
};
// The same code twice. Sums are equal bit by bit where products are exact in fp32, as those of 16-
// and 8-bit types are: only AVX2 code fuses multiplication and addition.
extern const mock_gemm_kernels_t mock_gemm_portable;
extern const mock_gemm_kernels_t mock_gemm_avx2;  // AVX2 and FMA
const mock_gemm_kernels_t *mock_gemm_kernels();   // the best one here
