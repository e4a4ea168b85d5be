// SPDX-License-Identifier: Apache-2.0
// Tiles against sums in double precision, and both instruction sets against each other.
#include "mock_dev/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

TEST(Gemm, BothInstructionSetsAgree) {
  if (mock_gemm_kernels() == &mock_gemm_portable)
    GTEST_SKIP() << "skipped: no AVX2";
  std::mt19937 random(5);
  for (bool exact : {true, false})
    for (uint32_t rows = 1; rows <= MOCK_GEMM_ROWS; rows++)
      for (size_t k : {0, 1, 2, 7, 128}) {
        std::vector<float> a(k * rows), b(k * MOCK_GEMM_COLUMNS), c(rows * 32), d;
        for (auto *v : {&a, &b, &c})
          for (float &f : *v) {
            f = static_cast<float>(static_cast<int32_t>(random())) * 1e-9F;
            if (exact)  // as 8- and 16-bit types: products of 11 bits are exact
              f = std::trunc(f * 1024) / 1024;
          }
        for (bool add : {false, true}) {
          std::vector<double> want(c.begin(), c.end());
          for (uint32_t r = 0; r < rows; r++)
            for (uint32_t n = 0; n < MOCK_GEMM_COLUMNS; n++) {
              double sum = add ? c[r * 32 + n] : 0;
              for (size_t i = 0; i < k; i++)
                sum += static_cast<double>(a[i * rows + r]) * b[i * MOCK_GEMM_COLUMNS + n];
              want[r * 32 + n] = sum;
            }
          std::vector<float> portable = c, avx2 = c;
          mock_gemm_portable.tile[rows](k, a.data(), b.data(), portable.data(), 128, add);
          mock_gemm_avx2.tile[rows](k, a.data(), b.data(), avx2.data(), 128, add);
          for (size_t i = 0; i < c.size(); i++) {
            ASSERT_NEAR(portable[i], want[i], 1e-4);
            ASSERT_NEAR(avx2[i], want[i], 1e-4);
          }
          if (exact) {
            ASSERT_EQ(portable, avx2);
          }
        }
      }
  std::vector<float> row(100);
  std::vector<int32_t> s(100, MOCK_ONE_HOT_EMPTY), t = s;
  for (int32_t k = 0; k < 4; k++) {
    for (float &f : row)
      f = random() % 3 == 0 ? 1.0F : random() % 5 == 0 ? 0.5F : random() % 2 == 0 ? -0.0F : 0.0F;
    mock_gemm_portable.one_hot(row.data(), row.size(), k, s.data());
    mock_gemm_avx2.one_hot(row.data(), row.size(), k, t.data());
    ASSERT_EQ(s, t);
  }
}
