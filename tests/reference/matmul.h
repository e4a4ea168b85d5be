// SPDX-License-Identifier: Apache-2.0
// out[rows, columns] = x[rows, depth] @ y[depth, columns]: inputs whose values depend on their
// position alone, so that y (4 GiB in matmul_large.neff) need not be kept, and exact results.
#pragma once

#include <cstdint>
#include <vector>

struct matmul_shape {
  uint32_t rows, depth, columns;
};
constexpr matmul_shape kMatmulSmall = {128, 256, 128};
constexpr matmul_shape kMatmulLarge = {128, 32768, 65536};

// INTEGER: x in -2..2, y in -8..8 (verified-matmul.md 1): sums of up to 2^17 products are exact in
// fp32 whatever their order. REAL: x normal, y of random sign and mantissa over four binades.
enum class matmul_data { INTEGER, REAL };

// Columns of y and of the result, [first, first + count); both are multiples of 32.
struct matmul_columns {
  uint32_t first, count;
};

// fp16 bits: all of x; of y rows [row, row + count), whole ones or the part in `columns`.
void matmul_fill_x(const matmul_shape &shape, matmul_data data, uint64_t seed, uint16_t *out);
void matmul_fill_y(const matmul_shape &shape, matmul_data data, uint64_t seed, uint32_t row,
                   uint32_t count, uint16_t *out);
void matmul_fill_y(const matmul_shape &shape, matmul_data data, uint64_t seed, uint32_t row,
                   uint32_t count, matmul_columns columns, uint16_t *out);

// Every exact sum of INTEGER data, or those in `columns`, on as many threads as there are CPUs.
// depth is even and columns a multiple of 32; rows a multiple of 4.
std::vector<int32_t> matmul_exact_integer(const matmul_shape &shape, uint64_t seed);
std::vector<int32_t> matmul_exact_integer(const matmul_shape &shape, uint64_t seed,
                                          matmul_columns columns);
// One column in double precision: `rows` values.
std::vector<double> matmul_exact_column(const matmul_shape &shape, matmul_data data, uint64_t seed,
                                        uint32_t column);

// Limits of verified-matmul.md 1: how far a result (fp16 bits) may be from the exact value.
// `row_deviation`: standard deviation of the exact values of that row.
bool matmul_close(uint16_t result, double exact, double row_deviation);
