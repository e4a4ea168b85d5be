// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/matmul.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>
#include <thread>

#include "tests/reference/floats.h"
#include "tests/reference/random.h"

namespace {

constexpr uint32_t kLanes = 4;  // values of y from one hash

// Which of the four values of a group, 16 bits each, belongs to a column.
uint64_t y_group(const matmul_shape &shape, uint64_t seed, uint32_t k, uint32_t column) {
  return position_hash(2 * seed + 1, uint64_t{k} * (shape.columns / kLanes) + column / kLanes);
}
int y_integer(uint64_t group, uint32_t lane) {
  return static_cast<int>((group >> 16 * lane & 0xFFFF) * 17 >> 16) - 8;
}
uint16_t y_real(uint64_t group, uint32_t lane) {
  auto bits = static_cast<uint16_t>(group >> 16 * lane);
  // Sign, mantissa, and one of four exponents: magnitudes from 1/8 to 2.
  return static_cast<uint16_t>((bits & 0x83FF) | (12 + (bits >> 10 & 3)) << 10);
}
int x_integer(uint64_t seed, uint64_t position) {
  return static_cast<int>((position_hash(2 * seed, position) >> 32) * 5 >> 32) - 2;
}
uint16_t x_real(uint64_t seed, uint64_t position) {
  uint64_t hash = position_hash(2 * seed, position);
  double u = static_cast<double>(hash >> 32) * 0x1p-32, v = static_cast<double>(hash & 0xFFFFFFFF);
  double normal = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v * 0x1p-32);
  return fp16_bits(fp16_round(normal));
}

void on_all_cpus(uint32_t items, const std::function<void(uint32_t)> &work) {
  std::atomic<uint32_t> next = 0;
  std::vector<std::thread> threads;
  for (uint32_t t = std::max(1u, std::thread::hardware_concurrency()); t > 0; t--)
    threads.emplace_back([&] {
      for (uint32_t i = next++; i < items; i = next++)
        work(i);
    });
  for (std::thread &thread : threads)
    thread.join();
}

// 4 rows by 32 columns; sums of 2,048 products of at most 16 fit 16 bits.
using v16 = int16_t __attribute__((vector_size(32)));
constexpr uint32_t kTileRows = 4, kTileColumns = 32, kTileDepth = 2047;

__attribute__((always_inline)) inline void tile(const int16_t *x, uint32_t x_pitch,
                                                const int16_t *y, uint32_t y_pitch, uint32_t depth,
                                                int32_t *out, uint32_t out_pitch) {
  v16 sum[kTileRows][2] = {};
  for (uint32_t k = 0; k < depth; k++) {
    v16 y0, y1;
    memcpy(&y0, y + k * y_pitch, sizeof(y0));
    memcpy(&y1, y + k * y_pitch + 16, sizeof(y1));
    for (uint32_t r = 0; r < kTileRows; r++) {
      int16_t value = x[r * x_pitch + k];
      sum[r][0] += value * y0;
      sum[r][1] += value * y1;
    }
  }
  for (uint32_t r = 0; r < kTileRows; r++)
    for (uint32_t c = 0; c < kTileColumns; c++)
      out[r * out_pitch + c] += sum[r][c / 16][c % 16];
}
void tile_any(const int16_t *x, uint32_t x_pitch, const int16_t *y, uint32_t y_pitch,
              uint32_t depth, int32_t *out, uint32_t out_pitch) {
  tile(x, x_pitch, y, y_pitch, depth, out, out_pitch);
}
#ifdef __x86_64__
__attribute__((target("avx2"))) void tile_avx2(const int16_t *x, uint32_t x_pitch, const int16_t *y,
                                               uint32_t y_pitch, uint32_t depth, int32_t *out,
                                               uint32_t out_pitch) {
  tile(x, x_pitch, y, y_pitch, depth, out, out_pitch);
}
#endif
auto choose_tile() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2"))
    return tile_avx2;
#endif
  return tile_any;
}

}  // namespace

void matmul_fill_x(const matmul_shape &shape, matmul_data data, uint64_t seed, uint16_t *out) {
  on_all_cpus(shape.rows, [&](uint32_t row) {
    for (uint64_t i = uint64_t{row} * shape.depth; i < uint64_t{row + 1} * shape.depth; i++)
      out[i] = data == matmul_data::INTEGER ? fp16_bits(x_integer(seed, i)) : x_real(seed, i);
  });
}

void matmul_fill_y(const matmul_shape &shape, matmul_data data, uint64_t seed, uint32_t row,
                   uint32_t count, uint16_t *out) {
  matmul_fill_y(shape, data, seed, row, count, {0, shape.columns}, out);
}

void matmul_fill_y(const matmul_shape &shape, matmul_data data, uint64_t seed, uint32_t row,
                   uint32_t count, matmul_columns columns, uint16_t *out) {
  std::array<uint16_t, 17> integers{};
  for (int i = 0; i < 17; i++)
    integers[static_cast<size_t>(i)] = fp16_bits(i - 8);
  on_all_cpus(count, [&](uint32_t k) {
    uint16_t *to = out + uint64_t{k} * columns.count;
    for (uint32_t c = 0; c < columns.count; c += kLanes) {
      uint64_t group = y_group(shape, seed, row + k, columns.first + c);
      for (uint32_t lane = 0; lane < kLanes; lane++)
        to[c + lane] = data == matmul_data::INTEGER
                           ? integers[static_cast<size_t>(y_integer(group, lane) + 8)]
                           : y_real(group, lane);
    }
  });
}

std::vector<int32_t> matmul_exact_integer(const matmul_shape &shape, uint64_t seed) {
  return matmul_exact_integer(shape, seed, {0, shape.columns});
}

std::vector<int32_t> matmul_exact_integer(const matmul_shape &shape, uint64_t seed,
                                          matmul_columns columns) {
  std::vector<int16_t> x(size_t{shape.rows} * shape.depth);
  for (size_t i = 0; i < x.size(); i++)
    x[i] = static_cast<int16_t>(x_integer(seed, i));
  std::vector<int32_t> out(size_t{shape.rows} * columns.count);
  auto run_tile = choose_tile();
  constexpr uint32_t kStrip = 512;  // columns of one piece of work: 2 MiB of y at a time
  on_all_cpus((columns.count + kStrip - 1) / kStrip, [&](uint32_t strip) {
    uint32_t first = strip * kStrip, width = std::min(kStrip, columns.count - first);
    std::vector<int16_t> y(size_t{kTileDepth} * width);
    for (uint32_t k = 0; k < shape.depth; k += kTileDepth) {
      uint32_t depth = std::min(kTileDepth, shape.depth - k);
      for (uint32_t i = 0; i < depth; i++)
        for (uint32_t c = 0; c < width; c += kLanes) {
          uint64_t group = y_group(shape, seed, k + i, columns.first + first + c);
          for (uint32_t lane = 0; lane < kLanes; lane++)
            y[size_t{i} * width + c + lane] = static_cast<int16_t>(y_integer(group, lane));
        }
      for (uint32_t c = 0; c < width; c += kTileColumns)
        for (uint32_t r = 0; r < shape.rows; r += kTileRows)
          run_tile(&x[size_t{r} * shape.depth + k], shape.depth, &y[c], width, depth,
                   &out[size_t{r} * columns.count + first + c], columns.count);
    }
  });
  return out;
}

std::vector<double> matmul_exact_column(const matmul_shape &shape, matmul_data data, uint64_t seed,
                                        uint32_t column) {
  std::vector<double> y(shape.depth), out(shape.rows);
  for (uint32_t k = 0; k < shape.depth; k++) {
    uint64_t group = y_group(shape, seed, k, column);
    y[k] = data == matmul_data::INTEGER ? y_integer(group, column % kLanes)
                                        : fp16_value(y_real(group, column % kLanes));
  }
  for (uint32_t row = 0; row < shape.rows; row++)
    for (uint32_t k = 0; k < shape.depth; k++) {
      uint64_t i = uint64_t{row} * shape.depth + k;
      out[row] +=
          y[k] * (data == matmul_data::INTEGER ? x_integer(seed, i) : fp16_value(x_real(seed, i)));
    }
  return out;
}

bool matmul_close(uint16_t result, double exact, double row_deviation) {
  double error = std::fabs(fp16_value(result) - exact);
  return error <= fp16_unit(exact) / 2 + 1e-5 * row_deviation;  // false for NaN
}
