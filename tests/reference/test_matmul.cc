// SPDX-License-Identifier: Apache-2.0
// The models of the matmul files against closed formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/reference/floats.h"
#include "tests/reference/matmul.h"

// Values of IEEE 754 binary16 by their definition.
TEST(Floats, EveryFp16ValueRoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    double value = fp16_value(static_cast<uint16_t>(bits));
    if (!std::isnan(value)) {
      EXPECT_EQ(fp16_bits(value), bits);
      EXPECT_EQ(fp16_round(value), value);
    }
  }
  EXPECT_EQ(fp16_value(0x3C00), 1.0);
  EXPECT_EQ(fp16_value(0x7BFF), 65504.0);
  EXPECT_EQ(fp16_value(0x0001), std::ldexp(1.0, -24));
}

TEST(Floats, RoundsToNearestEven) {
  EXPECT_EQ(fp16_round(2049), 2048.0);  // tie: even
  EXPECT_EQ(fp16_round(2051), 2052.0);
  EXPECT_EQ(fp16_round(2049.0001), 2050.0);
  EXPECT_EQ(fp16_round(-2049), -2048.0);
  EXPECT_EQ(fp16_round(65519.99), 65504.0);
  EXPECT_EQ(fp16_round(65520), INFINITY);
  EXPECT_EQ(fp16_round(std::ldexp(1.0, -25)), 0.0);  // tie with the smallest denormal
  EXPECT_EQ(fp16_round(std::ldexp(1.5, -25)), std::ldexp(1.0, -24));
  EXPECT_EQ(bf16_round(256.0 + 1), 256.0f);
  EXPECT_EQ(bf16_round(256.0 + 3), 260.0f);
  EXPECT_EQ(bf16_bits(1.0f), 0x3F80);
  EXPECT_EQ(bf16_value(0xC2F7), -123.5f);
}

TEST(Floats, UnitOfFp16) {
  EXPECT_EQ(fp16_unit(64), 0.0625);  // worked-program.md
  EXPECT_EQ(fp16_unit(127.9), 0.0625);
  EXPECT_EQ(fp16_unit(1), std::ldexp(1.0, -10));
  EXPECT_EQ(fp16_unit(1e-6), std::ldexp(1.0, -24));
}

namespace {

std::vector<uint16_t> all_of_x(const matmul_shape &s, matmul_data data) {
  std::vector<uint16_t> x(size_t{s.rows} * s.depth);
  matmul_fill_x(s, data, 7, x.data());
  return x;
}
std::vector<uint16_t> all_of_y(const matmul_shape &s, matmul_data data) {
  std::vector<uint16_t> y(size_t{s.depth} * s.columns);
  matmul_fill_y(s, data, 7, 0, s.depth, y.data());
  return y;
}

}  // namespace

TEST(Matmul, IntegersCoverTheirRangeEvenly) {
  matmul_shape s{128, 512, 1024};
  std::map<double, size_t> x, y;
  for (uint16_t bits : all_of_x(s, matmul_data::INTEGER))
    x[fp16_value(bits)]++;
  for (uint16_t bits : all_of_y(s, matmul_data::INTEGER))
    y[fp16_value(bits)]++;
  EXPECT_EQ(x.size(), 5u);
  EXPECT_EQ(y.size(), 17u);
  EXPECT_EQ(x.begin()->first, -2);
  EXPECT_EQ(y.begin()->first, -8);
  for (const auto &[value, count] : x)
    EXPECT_NEAR(static_cast<double>(count), 65536 / 5.0, 65536 * 0.01) << value;
  for (const auto &[value, count] : y)
    EXPECT_NEAR(static_cast<double>(count), 524288 / 17.0, 524288 * 0.002) << value;
}

TEST(Matmul, RealDataIsWhatTheSheetAsksFor) {
  matmul_shape s{128, 512, 1024};
  double sum = 0, squares = 0;
  for (uint16_t bits : all_of_x(s, matmul_data::REAL)) {
    sum += fp16_value(bits);
    squares += fp16_value(bits) * fp16_value(bits);
  }
  EXPECT_NEAR(sum / 65536, 0, 0.02);
  EXPECT_NEAR(squares / 65536, 1, 0.02);
  std::set<int> binades;
  size_t negative = 0;
  for (uint16_t bits : all_of_y(s, matmul_data::REAL)) {
    binades.insert(std::ilogb(fp16_value(bits)));
    negative += bits >> 15;
  }
  EXPECT_EQ(binades.size(), 4u);
  EXPECT_NEAR(static_cast<double>(negative), 262144, 3000);
}

// Rows of y asked for in pieces are those of the whole.
TEST(Matmul, RowsDoNotDependOnThePiece) {
  matmul_shape s{4, 64, 128};
  std::vector<uint16_t> whole = all_of_y(s, matmul_data::REAL), piece(3 * 128);
  matmul_fill_y(s, matmul_data::REAL, 7, 17, 3, piece.data());
  EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + 17 * 128));
}

// Fast sums and columns against the definition, over more than one piece of depth and of columns.
TEST(Matmul, FastSumsEqualTheDefinition) {
  matmul_shape s{8, 5000, 544};
  std::vector<uint16_t> x = all_of_x(s, matmul_data::INTEGER),
                        y = all_of_y(s, matmul_data::INTEGER);
  std::vector<double> xs, ys;
  for (uint16_t bits : x)
    xs.push_back(fp16_value(bits));
  for (uint16_t bits : y)
    ys.push_back(fp16_value(bits));
  std::vector<int32_t> sums = matmul_exact_integer(s, 7);
  for (uint32_t column : {0u, 1u, 31u, 32u, 511u, 512u, 543u}) {
    std::vector<double> one = matmul_exact_column(s, matmul_data::INTEGER, 7, column);
    for (uint32_t row = 0; row < s.rows; row++) {
      double sum = 0;
      for (uint32_t k = 0; k < s.depth; k++)
        sum += xs[size_t{row} * s.depth + k] * ys[size_t{k} * s.columns + column];
      EXPECT_EQ(sums[size_t{row} * s.columns + column], sum) << row << "," << column;
      EXPECT_EQ(one[row], sum) << row << "," << column;
    }
  }
  // Parts are parts of the whole.
  constexpr matmul_columns part = {512, 32};
  std::vector<int32_t> some = matmul_exact_integer(s, 7, part);
  std::vector<uint16_t> cells(size_t{s.depth} * part.count);
  matmul_fill_y(s, matmul_data::INTEGER, 7, 0, s.depth, part, cells.data());
  ASSERT_EQ(some.size(), size_t{s.rows} * part.count);
  for (uint32_t c = 0; c < part.count; c++) {
    for (uint32_t row = 0; row < s.rows; row++)
      EXPECT_EQ(some[size_t{row} * part.count + c], sums[size_t{row} * s.columns + part.first + c]);
    for (uint32_t k = 0; k < s.depth; k++)
      EXPECT_EQ(cells[size_t{k} * part.count + c], y[size_t{k} * s.columns + part.first + c]);
  }
}

TEST(Matmul, ColumnsOfRealDataEqualTheDefinition) {
  matmul_shape s{4, 300, 64};
  std::vector<uint16_t> x = all_of_x(s, matmul_data::REAL), y = all_of_y(s, matmul_data::REAL);
  std::vector<double> column = matmul_exact_column(s, matmul_data::REAL, 7, 33);
  for (uint32_t row = 0; row < s.rows; row++) {
    double sum = 0;
    for (uint32_t k = 0; k < s.depth; k++)
      sum += fp16_value(x[size_t{row} * s.depth + k]) * fp16_value(y[size_t{k} * s.columns + 33]);
    EXPECT_EQ(column[row], sum);
  }
}

TEST(Matmul, ToleranceIsHalfAUnitAndALittle) {
  EXPECT_TRUE(matmul_close(fp16_bits(64), 64 + 0.03125, 10));
  EXPECT_TRUE(matmul_close(fp16_bits(64), 64 + 0.03125 + 0.9e-4, 10));
  EXPECT_FALSE(matmul_close(fp16_bits(64), 64 + 0.03125 + 1.1e-4, 10));
  EXPECT_FALSE(matmul_close(0x7E00, 64, 10));
}
