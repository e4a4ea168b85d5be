// SPDX-License-Identifier: Apache-2.0
// Records 42, 7E and 92 (neuroncore-isa.md 4.4, verified-attention.md 6, rulings.md 25) against
// loops over the definition.
#include "compute_fixture.h"

namespace {

class Reduce : public Compute {};
class Select : public Compute {};

isa_copy reduce(uint8_t op, uint8_t dimension, bool negate, uint8_t channels, isa_pattern4 src,
                isa_pattern4 dst) {
  isa_copy r = {};
  r.in_dtype = r.out_dtype = ISA_DTYPE_FP32;
  r.op = op;
  r.dimension = dimension;
  r.negate = negate;
  r.channels = channels;
  r.src = src;
  r.dst = dst;
  return r;
}

// One operation, rounded to fp32.
double step(uint8_t op, double a, double b) {
  if (op == 0x04)
    return to_f32(a + b);
  if (op == 0x06)
    return to_f32(a * b);
  if (std::isnan(a) || std::isnan(b))
    return b;
  return op == 0x08 ? std::max(a, b) : std::min(a, b);
}

isa_data4 data4(int32_t base, std::vector<int> counts, std::vector<int> steps) {
  isa_data4 d = {};
  d.base = base;
  for (size_t i = 0; i < 4; i++) {
    d.count[i] = static_cast<uint16_t>(i < counts.size() ? counts[i] : 1);
    d.step[i] = static_cast<int16_t>(i < steps.size() ? steps[i] : 1);
  }
  return d;
}

// base + sum of index * step + lane * multiplier, in int32.
std::vector<int32_t> numbers(const isa_data4 &d, int32_t multiplier, uint32_t lane) {
  std::vector<int32_t> out;
  for (int a3 = 0; a3 < d.count[3]; a3++)
    for (int a2 = 0; a2 < d.count[2]; a2++)
      for (int a1 = 0; a1 < d.count[1]; a1++)
        for (int a0 = 0; a0 < d.count[0]; a0++) {
          int64_t v = int64_t{d.base} + int64_t{a0} * d.step[0] + int64_t{a1} * d.step[1] +
                      int64_t{a2} * d.step[2] + int64_t{a3} * d.step[3] +
                      int64_t{lane} * multiplier;
          out.push_back(static_cast<int32_t>(static_cast<uint64_t>(v)));
        }
  return out;
}

isa_affine_select affine(uint8_t compare, isa_data4 mask, int32_t multiplier, uint8_t fill_register,
                         isa_pattern2 src, isa_pattern2 dst) {
  isa_affine_select r = {};
  r.channels = 128;
  r.dtypes = 0xAA;
  r.compare = compare;
  r.fill_register = fill_register;
  r.mask = mask;
  r.src = src;
  r.dst = dst;
  r.channel_multiplier = multiplier;
  return r;
}

isa_pattern2 p2(uint32_t addr4, std::vector<int> counts, std::vector<int> steps = {}) {
  return pattern<isa_pattern2>(addr4, counts, steps);
}

}  // namespace

// --- 42 ------------------------------------------------------------------------------------------

TEST_F(Reduce, DimensionsOperationsAndNegation) {
  const std::vector<int> kCounts = {6, 5, 4, 3};
  for (uint8_t op : {0x04, 0x06, 0x08, 0x09})
    for (int dims = 1; dims <= 4; dims++)
      for (bool negate : {false, true}) {
        isa_pattern4 src = p4(psum(0, 0x800), kCounts, {-1, 10, 51, 204});
        src.addr4 += 5 * 4;
        std::vector<int> left(kCounts.begin() + dims, kCounts.end());
        int group = 1, results = 1;
        for (int d = 0; d < 4; d++)
          (d < dims ? group : results) *= kCounts[static_cast<size_t>(d)];
        isa_pattern4 dst = p4(sb(32, 0x4000), {results}, {-2});
        dst.addr4 += 1000;
        for (uint32_t lane = 0; lane < 19; lane++)
          for (int64_t o : offsets(src))
            put(src.addr4, lane, o, 0.3 + 1.7 * (random() % 1000) / 1000.0);
        ASSERT_EQ(run(reduce(op, static_cast<uint8_t>(dims + 1), negate, 19, src, dst), 0x42),
                  nullptr);
        for (uint32_t lane : {0u, 7u, 8u, 18u}) {
          std::vector<double> x = values(src, lane, ISA_DTYPE_FP32);
          std::vector<int64_t> where = offsets(dst);
          for (size_t i = 0; i < where.size(); i++) {
            size_t begin = i * static_cast<size_t>(group);
            double sum = x[begin];
            for (size_t k = begin + 1; k < begin + static_cast<size_t>(group); k++)
              sum = step(op, sum, x[k]);
            ASSERT_EQ(value(dst.addr4, lane, where[i]), negate ? -sum : sum)
                << int{op} << ", " << dims << " dimensions, lane " << lane << ", " << i;
          }
        }
      }
}

// Sums run in pattern order, in fp32: 2^24 swallows every later 1, the other way round it does not.
TEST_F(Reduce, SequentialInFp32) {
  const int n = 3000;  // more than one part
  for (int i = 0; i < n; i++)
    put(0x4000, 0, i, i == 0 ? 16777216 : 1);
  ASSERT_EQ(run(reduce(4, 2, false, 1, p4(0x4000, {n}), p4(0x8000, {1})), 0x42), nullptr);
  EXPECT_EQ(value(0x8000, 0, 0), 16777216);
  ASSERT_EQ(run(reduce(4, 2, false, 1, p4(0x4000 + (n - 1) * 4, {n}, {-1}), p4(0x8000, {1})), 0x42),
            nullptr);
  EXPECT_EQ(value(0x8000, 0, 0), to_f32(16777216.0 + n - 1));
}

TEST_F(Reduce, NotANumberInTheMiddleIsForgotten) {
  const double x[] = {5, 9, NAN, 3, 4};
  for (int i = 0; i < 5; i++)
    put(0x4000, 0, i, x[i]);
  ASSERT_EQ(run(reduce(8, 2, false, 1, p4(0x4000, {5}), p4(0x5000, {1})), 0x42), nullptr);
  EXPECT_EQ(value(0x5000, 0, 0), 4);  // max(NaN, 3) is 3, the second operand
  ASSERT_EQ(run(reduce(8, 2, true, 1, p4(0x4000, {3}), p4(0x5000, {1})), 0x42), nullptr);
  EXPECT_TRUE(std::isnan(value(0x5000, 0, 0)));
}

// As in attn_v6: two PSUM lanes to SBUF lanes 32 and 33.
TEST_F(Reduce, TwoLanesToAnotherQuadrant) {
  isa_pattern4 src = p4(psum(0, 0x1000), {128});
  randomize(src, 3, ISA_DTYPE_FP32);
  ASSERT_EQ(run(reduce(8, 2, false, 2, src, p4(sb(32, 0x5000), {1})), 0x42), nullptr);
  for (uint32_t lane = 0; lane < 2; lane++) {
    std::vector<double> x = values(src, lane, ISA_DTYPE_FP32);
    EXPECT_EQ(value(sb(32, 0x5000), lane, 0), *std::max_element(x.begin(), x.end()));
  }
  EXPECT_EQ(bits(sb(32, 0x5000), 2, 0, ISA_DTYPE_FP32), 0u);
  EXPECT_EQ(bits(sb(0, 0x5000), 0, 0, ISA_DTYPE_FP32), 0u);
}

TEST_F(Reduce, TypesAndOntoItsOwnSource) {
  isa_copy r = reduce(4, 2, false, 10, p4(0x4000, {16, 32}), p4(0x4000, {32}));
  r.in_dtype = ISA_DTYPE_BF16;
  r.out_dtype = ISA_DTYPE_FP32;
  randomize(r.src, 10, ISA_DTYPE_BF16);
  std::vector<double> x = values(r.src, 9, ISA_DTYPE_BF16);
  ASSERT_EQ(run(r, 0x42), nullptr);
  for (size_t i = 0; i < 32; i++) {
    double sum = 0;
    for (size_t k = 0; k < 16; k++)
      sum += x[i * 16 + k];  // exact: few bits
    EXPECT_EQ(value(0x4000, 9, static_cast<int64_t>(i)), sum);
  }
}

TEST_F(Reduce, ManyResults) {
  isa_copy r = reduce(4, 2, false, 2, p4(0x4000, {2, 3000}), p4(0x10000, {3000}));
  randomize(r.src, 2, ISA_DTYPE_FP32);
  ASSERT_EQ(run(r, 0x42), nullptr);
  for (uint32_t lane = 0; lane < 2; lane++)
    for (int i = 0; i < 3000; i++)
      ASSERT_EQ(value(0x10000, lane, i),
                value(0x4000, lane, 2 * i) + value(0x4000, lane, 2 * i + 1));
}

// --- 7E ------------------------------------------------------------------------------------------

TEST_F(Select, IotaCountsLanesFromTheRecordsFirst) {
  for (uint8_t dtype : {ISA_DTYPE_INT32, ISA_DTYPE_UINT32, ISA_DTYPE_FP32, ISA_DTYPE_BF16,
                        ISA_DTYPE_INT8, ISA_DTYPE_UINT16}) {
    isa_iota r = {};
    r.pattern = data4(-700, {5, 4, 3, 40}, {7, -50, 1000, 13});
    r.out_dtype = dtype;
    r.channels = 32;
    r.channel_multiplier = 16777219;
    r.dst = p4(sb(96, 0x4000), {2400}, {});
    ASSERT_EQ(run(r, 0x7E), nullptr);
    for (uint32_t lane : {0u, 1u, 31u}) {
      std::vector<int32_t> want = numbers(r.pattern, r.channel_multiplier, lane);
      for (size_t i = 0; i < want.size(); i++) {
        // 32-bit integers keep every bit, other types go through fp32.
        double x =
            isa_dtype_size(dtype) == 4 && dtype != ISA_DTYPE_FP32 ? want[i] : to_f32(want[i]);
        ASSERT_EQ(bits(sb(96, 0x4000), lane, static_cast<int64_t>(i), dtype), encode(dtype, x))
            << int{dtype} << ", lane " << lane << ", " << i;
      }
    }
  }
}

TEST_F(Select, IotaWraps) {
  isa_iota r = {};
  r.pattern = data4(0x7FFFFFFF, {3}, {1});
  r.out_dtype = ISA_DTYPE_INT32;
  r.channels = 1;
  r.dst = p4(0x4000, {3}, {});
  ASSERT_EQ(run(r, 0x7E), nullptr);
  EXPECT_EQ(value(0x4000, 0, 1, ISA_DTYPE_INT32), -2147483648.0);
}

// --- 92 ------------------------------------------------------------------------------------------

TEST_F(Select, IdentityMatrixOfAttention) {
  registers[61] = 0x3F800000;
  for (uint8_t dtypes : {0xAA, 0x66}) {
    auto r = affine(3, data4(0, {128, 1, 1, 1}, {1, 1, 1, 1}), -1, 61, p2(0x58A8, {128}),
                    p2(0x58A8, {128}));
    r.dtypes = dtypes;
    for (uint32_t lane = 0; lane < 128; lane++)
      for (int i = 0; i < 128; i++)
        put(0x58A8, lane, i, 0, dtypes & 0xF);
    ASSERT_EQ(run(r, 0x92), nullptr);
    for (uint32_t lane = 0; lane < 128; lane++)
      for (int i = 0; i < 128; i++)
        ASSERT_EQ(value(0x58A8, lane, i, dtypes & 0xF), i == int(lane) ? 1 : 0);
  }
}

TEST_F(Select, ComparisonsPatternsAndTypes) {
  registers[5] = 0xC0480000;  // -3.125
  for (uint8_t compare = 0; compare < 4; compare++)
    for (uint8_t dtypes : {0xAA, 0x6A, 0xA7, 0x88}) {
      auto r = affine(compare, data4(20, {15, 2, 16}, {-3, 7, 1}), 2, 5,
                      p2(psum(64, 0x100), {24, 20}, {1, 61}), p2(sb(0, 0x4000), {20, 24}, {60, 1}));
      r.dtypes = dtypes;
      r.channels = 50;
      const uint8_t from = dtypes & 0xF, to = dtypes >> 4;
      randomize(r.src, 50, from);
      ASSERT_EQ(run(r, 0x92), nullptr);
      for (uint32_t lane : {0u, 13u, 49u}) {
        std::vector<double> x = values(r.src, lane, from);
        std::vector<int64_t> where = offsets(r.dst);
        std::vector<int32_t> k = numbers(r.mask, 2, lane);
        for (size_t i = 0; i < x.size(); i++) {
          bool holds = compare == 0   ? k[i] > 0
                       : compare == 1 ? k[i] >= 0
                       : compare == 2 ? k[i] == 0
                                      : k[i] != 0;
          ASSERT_EQ(bits(r.dst.addr4, lane, where[i], to), encode(to, holds ? x[i] : -3.125));
        }
      }
    }
}

// The readings that verified-attention.md 4 lists as wrong give another matrix each.
TEST_F(Select, WrongReadingsDiffer) {
  registers[61] = 0x3F800000;
  auto make = [&](uint8_t compare, int32_t multiplier, uint32_t fill) {
    registers[61] = fill;
    auto r = affine(compare, data4(0, {128, 1, 1, 1}, {1, 1, 1, 1}), multiplier, 61,
                    p2(0x4000, {128}), p2(0x8000, {128}));
    EXPECT_EQ(run(r, 0x92), nullptr);
    return snapshot(0x8000, 128, 512);
  };
  auto identity = make(3, -1, 0x3F800000);
  std::vector<std::vector<uint8_t>> wrong = {make(0, -1, 0x3F800000), make(1, -1, 0x3F800000),
                                             make(2, -1, 0x3F800000), make(3, 1, 0x3F800000),
                                             make(3, -1, 0x3F80)};
  for (auto &w : wrong)
    EXPECT_NE(w, identity);
}
