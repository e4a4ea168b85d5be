// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/reduce.h"

#include <algorithm>
#include <bit>

#include "mock_dev/alu.h"
#include "mock_dev/lanes.h"

namespace {

constexpr size_t kPart = 1024;                  // elements of a lane read at a time
constexpr size_t kResults = ISA_MODES_RESULTS;  // of a lane at a time

struct reduction_t {
  mock_pattern_t src, dst;
  uint64_t group;  // source elements per result
  mock_alu_fold_fn fold;
  bool negate;
};

// Starts (from the group's first element) or goes on with one group of each row.
void fold_group(const reduction_t &r, const float *values, size_t n, bool start, float *sum) {
  for (size_t row = 0; start && row < MOCK_ALU_ROWS; row++)
    sum[row] = values[row * kPart];
  size_t seed = start ? 1 : 0;
  r.fold(values + seed, kPart, n - seed, sum);
}

void keep(const reduction_t &r, const float *sum, size_t result, float *out) {
  for (size_t row = 0; row < MOCK_ALU_ROWS; row++)
    out[row * kResults + result] = r.negate ? -sum[row] : sum[row];
}

// Results [first, first + n) of up to MOCK_ALU_ROWS lanes, to out[row * kResults].
void reduce_rows(const reduction_t &r, uint8_t *const *lanes, size_t rows, uint64_t first, size_t n,
                 float *out) {
  float values[MOCK_ALU_ROWS * kPart] = {};  // rows that are not there stay 0
  float sum[MOCK_ALU_ROWS];
  auto read = [&](uint64_t from, size_t part) {
    for (size_t row = 0; row < rows; row++)
      mock_pattern_load_f32(&r.src, lanes[row], from, part, values + row * kPart);
  };
  if (r.group > kPart) {
    for (size_t result = 0; result < n; result++) {
      for (uint64_t done = 0; done < r.group; done += kPart) {
        size_t part = std::min<uint64_t>(kPart, r.group - done);
        read((first + result) * r.group + done, part);
        fold_group(r, values, part, done == 0, sum);
      }
      keep(r, sum, result, out);
    }
    return;
  }
  const size_t group = r.group, most = kPart / group;
  for (size_t begin = 0; begin < n; begin += most) {
    size_t groups = std::min(most, n - begin);
    read((first + begin) * group, groups * group);
    for (size_t g = 0; g < groups; g++) {
      fold_group(r, values + g * group, group, true, sum);
      keep(r, sum, begin + g, out);
    }
  }
}

reduction_t reduction_of(const isa_copy &r) {
  uint64_t group = 1;
  for (int d = 0; d < r.dimension - 1; d++)
    group *= r.src.count[d];
  return {mock_pattern_of(r.src, r.in_dtype), mock_pattern_of(r.dst, r.out_dtype), group,
          mock_alu_fold_find(r.op), r.negate != 0};
}

}  // namespace

const char *mock_tensor_reduce(const mock_compute_t *compute, const isa_record *record) {
  const auto r = std::bit_cast<isa_copy>(*record);
  const reduction_t p = reduction_of(r);
  float results[MOCK_ALU_ROWS * kResults];
  for (uint32_t lane = 0; lane < r.channels; lane += MOCK_ALU_ROWS) {
    uint8_t *from[MOCK_ALU_ROWS], *to[MOCK_ALU_ROWS];
    const uint32_t rows = std::min<uint32_t>(MOCK_ALU_ROWS, r.channels - lane);
    for (uint32_t row = 0; row < rows; row++) {
      from[row] = mock_pattern_lane(&p.src, compute->window, lane + row);
      to[row] = mock_pattern_lane(&p.dst, compute->window, lane + row);
    }
    for (uint64_t first = 0; first < p.dst.total; first += kResults) {
      size_t n = std::min<uint64_t>(kResults, p.dst.total - first);
      reduce_rows(p, from, rows, first, n, results);
      for (uint32_t row = 0; row < rows; row++)
        mock_pattern_store_f32(&p.dst, to[row], first, n, results + row * kResults);
    }
  }
  return nullptr;
}
