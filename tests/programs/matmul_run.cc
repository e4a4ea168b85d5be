// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/matmul_run.h"

#include <cmath>

#include "tests/reference/floats.h"

void small_matmul::fill(uint64_t seed) {
  constexpr matmul_shape s = kMatmulSmall;
  std::vector<uint16_t> x(s.rows * s.depth), y(s.depth * s.columns);
  matmul_fill_x(s, matmul_data::REAL, seed, x.data());
  matmul_fill_y(s, matmul_data::REAL, seed, 0, s.depth, y.data());
  p.write("x", x.data(), 0, 2 * x.size());
  p.write("y", y.data(), 0, 2 * y.size());
  exact_.assign(s.rows * s.columns, 0);
  std::vector<double> right;
  for (uint16_t bits : y)
    right.push_back(fp16_value(bits));
  for (uint32_t row = 0; row < s.rows; row++)
    for (uint32_t k = 0; k < s.depth; k++) {
      double left = fp16_value(x[row * s.depth + k]);
      for (uint32_t column = 0; column < s.columns; column++)
        exact_[row * s.columns + column] += left * right[k * s.columns + column];
    }
}

NRT_STATUS small_matmul::run() {
  p.spoil("output0");
  return p.run();
}

uint32_t small_matmul::wrong(const std::vector<uint16_t> &out) const {
  constexpr matmul_shape s = kMatmulSmall;
  uint32_t count = 0;
  for (uint32_t row = 0; row < s.rows; row++) {
    double squares = 0;
    for (uint32_t column = 0; column < s.columns; column++)
      squares += exact_[row * s.columns + column] * exact_[row * s.columns + column];
    double deviation = std::sqrt(squares / s.columns);
    for (uint32_t i = row * s.columns; i < (row + 1) * s.columns; i++)
      count += matmul_close(out[i], exact_[i], deviation) ? 0 : 1;
  }
  return count;
}

testing::AssertionResult small_matmul::right(uint64_t seed) {
  fill(seed);
  NRT_STATUS status = run();
  if (status != NRT_SUCCESS)
    return testing::AssertionFailure() << nrt_get_status_as_str(status) << ", data seed " << seed;
  uint32_t bad = wrong();
  if (bad != 0)
    return testing::AssertionFailure() << bad << " wrong outputs, data seed " << seed;
  return testing::AssertionSuccess();
}
