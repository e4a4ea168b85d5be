// SPDX-License-Identifier: Apache-2.0
// Records 41, 43, 46, 47, 48, 49 against formulas in double precision (neuroncore-isa.md 4.4, 4.5,
// verified-attention.md 6, rulings.md 25).
#include "compute_fixture.h"

namespace {

class Elementwise : public Compute {};

isa_tensor_tensor tensor_tensor(uint8_t op, uint8_t dtype0, uint8_t dtype1, uint8_t out,
                                uint8_t channels, isa_pattern3 src0, isa_pattern3 src1,
                                isa_pattern3 dst) {
  isa_tensor_tensor r = {};
  r.in_dtypes = static_cast<uint8_t>(dtype0 | dtype1 << 4);
  r.out_dtype = out;
  r.op = op;
  r.channels = channels;
  r.src0 = src0;
  r.src1 = src1;
  r.dst = dst;
  return r;
}

isa_copy copy(uint8_t in, uint8_t out, uint8_t channels, isa_pattern4 src, isa_pattern4 dst) {
  isa_copy r = {};
  r.in_dtype = in;
  r.out_dtype = out;
  r.channels = channels;
  r.src = src;
  r.dst = dst;
  return r;
}

isa_tensor_scalar tensor_scalar(uint8_t op0, double s0, uint8_t op1, double s1, uint8_t reverse,
                                uint8_t channels, isa_pattern3 src, isa_pattern3 dst) {
  isa_tensor_scalar r = {};
  r.in_dtype = r.out_dtype = ISA_DTYPE_FP32;
  r.op0 = op0;
  r.op1 = op1;
  r.imm0 = static_cast<uint32_t>(encode(ISA_DTYPE_FP32, s0));
  r.imm1 = static_cast<uint32_t>(encode(ISA_DTYPE_FP32, s1));
  r.reverse = reverse;
  r.channels = channels;
  r.src = src;
  r.dst = dst;
  return r;
}

// What the sheets say an operation gives, before rounding to fp32.
double alu(uint8_t op, double a, double b) {
  switch (op) {
    case 0x00:
      return a;
    case 0x04:
      return a + b;
    case 0x05:
      return a - b;
    case 0x06:
      return a * b;
    case 0x07:
      return a / b;
    case 0x08:
      return std::isnan(a) || std::isnan(b) ? b : std::max(a, b);
    case 0x09:
      return std::isnan(a) || std::isnan(b) ? b : std::min(a, b);
    case 0x0D:
      return a != 0 && b != 0;
    case 0x0E:
      return a != 0 || b != 0;
    case 0x0F:
      return (a != 0) != (b != 0);
    case 0x12:
      return a == b;
    case 0x13:
      return a > b;
    case 0x14:
      return a >= b;
    case 0x15:
      return a <= b;
    case 0x16:
      return a < b;
    case 0x17:
      return std::fabs(a - b);
    case 0x18:
      return a != b;
    case 0x19:
      return std::fabs(a);
    case 0x1B:
      return a - b * std::floor(a / b);
    default:
      ADD_FAILURE() << "no formula for " << int{op};
      return 0;
  }
}
const uint8_t kOps[] = {0x00, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0D, 0x0E, 0x0F,
                        0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1B};

}  // namespace

// --- 41 ------------------------------------------------------------------------------------------

TEST_F(Elementwise, EveryOperationOnEveryPairOfSpecialValues) {
  const double kValues[] = {0.0, -0.0, 1.0, -1.5, 3.25, 1e30,  -1e30, INFINITY, -INFINITY, NAN,
                            2.0, 1e-3, 7.0, -7.0, 0.5,  1e-38, 3e38,  -2.0,     1e-40};
  const int n = std::size(kValues);
  for (uint8_t op : kOps) {
    for (int i = 0; i < n * n; i++) {
      put(sb(0, 0x4000), 0, i, kValues[i / n]);
      put(sb(0, 0x8000), 0, i, kValues[i % n]);
    }
    ASSERT_EQ(run(tensor_tensor(op, 0xA, 0xA, 0xA, 1, p3(0x4000, {n * n}), p3(0x8000, {n * n}),
                                p3(0xC000, {n * n})),
                  0x41),
              nullptr);
    for (int i = 0; i < n * n; i++) {
      double a = to_f32(kValues[i / n]), b = to_f32(kValues[i % n]);
      if (op == 0x1B && !(std::isfinite(b) && std::isfinite(a / b) && std::fabs(a / b) < 1e6))
        continue;  // the formula is exact for small quotients; see RemainderOfLargeQuotients
      double got = value(0xC000, 0, i), want = to_f32(alu(op, a, b));
      if ((op == 0x08 || op == 0x09) && a == 0 && b == 0)
        want = b;  // of two zeros the second
      if (op == 0x1B && want == 0)
        want = got == 0 ? got : want;
      EXPECT_TRUE(same_number(got, want))
          << "op " << int{op} << ": " << a << ", " << b << " gave " << got << ", not " << want;
    }
  }
}

TEST_F(Elementwise, PowerAndInverseRoot) {
  std::uniform_real_distribution<double> base(0.01, 90), exponent(-6, 6);
  for (int i = 0; i < 1000; i++) {
    put(0x4000, 0, i, base(random));
    put(0x8000, 0, i, exponent(random));
  }
  isa_pattern3 a = p3(0x4000, {1000}), b = p3(0x8000, {1000}), out = p3(0xC000, {1000});
  ASSERT_EQ(run(tensor_tensor(0x1A, 0xA, 0xA, 0xA, 1, a, b, out), 0x41), nullptr);
  for (int i = 0; i < 1000; i++) {
    double want = std::pow(value(0x4000, 0, i), value(0x8000, 0, i));
    EXPECT_NEAR(value(0xC000, 0, i) / want, 1, 1e-7);
  }
  ASSERT_EQ(run(tensor_tensor(0x1D, 0xA, 0xA, 0xA, 1, a, b, out), 0x41), nullptr);
  for (int i = 0; i < 1000; i++)
    EXPECT_NEAR(value(0xC000, 0, i) * std::sqrt(value(0x4000, 0, i)), 1, 2e-7);
}

TEST_F(Elementwise, RemainderOfLargeQuotients) {
  for (int i = 0; i < 100; i++) {
    put(0x4000, 0, i, std::ldexp(1 + i * 0.0078125, 40 + i % 20));
    put(0x8000, 0, i, (i % 2 ? -1 : 1) * (3 + i % 11));
  }
  ASSERT_EQ(run(tensor_tensor(0x1B, 0xA, 0xA, 0xA, 1, p3(0x4000, {100}), p3(0x8000, {100}),
                              p3(0xC000, {100})),
                0x41),
            nullptr);
  for (int i = 0; i < 100; i++) {
    auto a = static_cast<int64_t>(value(0x4000, 0, i)),
         b = static_cast<int64_t>(value(0x8000, 0, i));
    EXPECT_EQ(value(0xC000, 0, i), (a % b + b) % b);
  }
}

TEST_F(Elementwise, SixteenIsTheLeftOperand) {
  put(0x4000, 0, 0, 10);
  put(0x8000, 0, 0, 3);
  ASSERT_EQ(
      run(tensor_tensor(0x05, 0xA, 0xA, 0xA, 1, p3(0x4000, {1}), p3(0x8000, {1}), p3(0xC000, {1})),
          0x41),
      nullptr);
  EXPECT_EQ(value(0xC000, 0, 0), 7);
}

// Patterns of all kinds, types mixed, PSUM and SBUF, first partitions apart.
TEST_F(Elementwise, PatternsTypesAndPartitions) {
  const uint8_t kTypes[] = {ISA_DTYPE_FP32,  ISA_DTYPE_BF16,  ISA_DTYPE_FP16, ISA_DTYPE_INT32,
                            ISA_DTYPE_INT16, ISA_DTYPE_UINT8, ISA_DTYPE_INT8};
  struct layout_t {
    std::vector<int> counts, steps;
  };
  const layout_t kLayouts[] = {{{60}, {}},
                               {{60}, {3}},
                               {{60}, {-2}},
                               {{4, 15}, {0, 1}},
                               {{5, 12}, {1, 0}},
                               {{3, 4, 5}, {-1, 20, 90}},
                               {{60, 1, 1}, {0, 0, 0}},
                               {{15, 4}, {4, -64}}};
  for (int round = 0; round < 60; round++) {
    auto pick = [&](auto &from) { return from[random() % std::size(from)]; };
    uint8_t t0 = pick(kTypes), t1 = pick(kTypes), out = pick(kTypes);
    layout_t l0 = pick(kLayouts), l1 = pick(kLayouts);
    const layout_t kTargets[] = {{{60}, {}}, {{60}, {2}}, {{60}, {-3}}, {{6, 10}, {1, 9}}};
    layout_t to = pick(kTargets);
    uint32_t a0 = random() % 2 ? sb(0, 0x8000) : psum(0, 0x800);
    uint32_t a1 = random() % 2 ? sb(64, 0x9000) : psum(32, 0x1800);
    uint32_t a2 = random() % 2 ? sb(96, 0xA000) : psum(96, 0x2800);
    isa_pattern3 src0 = p3(a0, l0.counts, l0.steps), src1 = p3(a1, l1.counts, l1.steps);
    isa_pattern3 dst = p3(a2, to.counts, to.steps);
    randomize(src0, 32, t0);
    randomize(src1, 32, t1);
    const uint8_t kBasic[] = {0x04, 0x05, 0x06, 0x08, 0x09, 0x14};
    uint8_t op = pick(kBasic);
    ASSERT_EQ(run(tensor_tensor(op, t0, t1, out, 32, src0, src1, dst), 0x41), nullptr);
    for (uint32_t lane : {0u, 1u, 30u, 31u}) {
      std::vector<double> x = values(src0, lane, t0), y = values(src1, lane, t1);
      std::vector<int64_t> where = offsets(dst);
      for (size_t i = 0; i < 60; i++)
        ASSERT_EQ(bits(a2, lane, where[i], out), encode(out, to_f32(alu(op, x[i], y[i]))))
            << "round " << round << ", lane " << lane << ", element " << i;
    }
  }
}

TEST_F(Elementwise, WritesItsElementsAndNothingElse) {
  auto before = snapshot(sb(32, 0x5000), 64, 0x1000);
  ASSERT_EQ(run(tensor_tensor(0x04, 0xA, 0xA, 0xA, 32, p3(sb(0, 0x4000), {10}),
                              p3(sb(0, 0x4800), {10}), p3(sb(32, 0x5200), {10}, {5})),
                0x41),
            nullptr);
  EXPECT_EQ(snapshot(sb(32, 0x5000), 64, 0x1000), before);  // 0 + 0
  for (uint32_t lane = 0; lane < 32; lane++)
    for (int i = 0; i < 10; i++)
      put(sb(0, 0x4000), lane, i, 1);
  ASSERT_EQ(run(tensor_tensor(0x04, 0xA, 0xA, 0xA, 32, p3(sb(0, 0x4000), {10}),
                              p3(sb(0, 0x4800), {10}), p3(sb(32, 0x5200), {10}, {5})),
                0x41),
            nullptr);
  auto after = snapshot(sb(32, 0x5000), 64, 0x1000);
  for (size_t i = 0; i < after.size(); i++) {
    size_t lane = i / 0x1000, byte = i % 0x1000;
    bool inside = lane < 32 && byte >= 0x200 && byte < 0x200 + 10 * 20 && (byte - 0x200) % 20 < 4;
    EXPECT_EQ(after[i] != before[i], inside && byte % 4 >= 2) << lane << ", " << byte;  // 3F80
  }
}

TEST_F(Elementwise, InPlaceLongLanes) {
  const int n = 9000;  // more than one chunk
  for (int right = 0; right < 2; right++) {
    for (uint32_t lane = 0; lane < 3; lane++)
      for (int i = 0; i < n; i++) {
        put(0x4000, lane, i, i % 100 + lane);
        put(0x14000, lane, i, i % 7);
      }
    isa_pattern3 a = p3(0x4000, {n}), b = p3(0x14000, {n});
    ASSERT_EQ(run(tensor_tensor(0x05, 0xA, 0xA, 0xA, 3, a, b, right ? b : a), 0x41), nullptr);
    for (uint32_t lane = 0; lane < 3; lane++)
      for (int i = 0; i < n; i++)
        ASSERT_EQ(value(right ? 0x14000 : 0x4000, lane, i), i % 100 + int(lane) - i % 7);
  }
}

// A lane of up to one chunk is read as a whole before it is written.
TEST_F(Elementwise, OverlapIsReadFirst) {
  for (int i = 0; i < 2001; i++)
    put(0x4000, 0, i, i);
  ASSERT_EQ(run(tensor_tensor(0x04, 0xA, 0xA, 0xA, 1, p3(0x4000, {2000}),
                              p3(0x4000 + 1999 * 4, {2000}, {-1}), p3(0x4004, {2000})),
                0x41),
            nullptr);
  for (int i = 0; i < 2000; i++)
    ASSERT_EQ(value(0x4004, 0, i), 1999);
}

TEST_F(Elementwise, IntegersOnPoolAreExact) {
  const uint32_t kValues[] = {0,          1,          0xFFFFFFFF, 16777217, 0x7FFFFFFF,
                              0x80000000, 123456789u, 40503,      3};
  const int n = std::size(kValues);
  for (uint8_t dtype : {ISA_DTYPE_INT32, ISA_DTYPE_UINT32})
    for (uint8_t op : {0x04, 0x05, 0x06}) {
      for (int i = 0; i < n * n; i++) {
        put_bits(0x4000, 0, i, dtype, kValues[i / n]);
        put_bits(0x5000, 0, i, dtype, kValues[i % n]);
      }
      auto r = tensor_tensor(op, dtype, dtype, dtype, 1, p3(0x4000, {n * n}), p3(0x5000, {n * n}),
                             p3(0x6000, {n * n}));
      compute.engine = ISA_ENGINE_POOL;
      ASSERT_EQ(run(r, 0x41), nullptr);
      for (int i = 0; i < n * n; i++) {
        uint64_t a = kValues[i / n], b = kValues[i % n];
        uint64_t want = op == 4 ? a + b : op == 5 ? a - b : a * b;
        EXPECT_EQ(bits(0x6000, 0, i, dtype), want & 0xFFFFFFFF);
      }
      compute.engine = ISA_ENGINE_DVE;  // through fp32: 16777217 + 0 loses its last bit
      ASSERT_EQ(run(r, 0x41), nullptr);
      EXPECT_EQ(bits(0x6000, 0, 3 * n, dtype), op == 0x06 ? 0 : 16777216);
    }
}

// Whatever operation is let through is there to run.
TEST_F(Elementwise, OperationsAreWhatTheCheckSays) {
  uint32_t ran = 0;
  for (uint8_t engine : {ISA_ENGINE_DVE, ISA_ENGINE_POOL})
    for (uint8_t dtype : {ISA_DTYPE_FP32, ISA_DTYPE_INT32})
      for (uint32_t op = 0; op < 256; op++) {
        compute.engine = static_cast<isa_engine_t>(engine);
        const auto byte = static_cast<uint8_t>(op);
        auto tensor = tensor_tensor(byte, dtype, dtype, dtype, 1, p3(0x4000, {8}), p3(0x5000, {8}),
                                    p3(0x6000, {8}));
        ran += run(tensor, 0x41) == nullptr ? 1 : 0;
        auto scalar = tensor_scalar(byte, 1, byte, 0, 0, 1, p3(0x4000, {8}), p3(0x6000, {8}));
        ran += run(scalar, 0x43) == nullptr ? 1 : 0;
        auto reduce = copy(dtype, dtype, 1, p4(0x4000, {8}), p4(0x6000, {1}));
        reduce.op = byte;
        reduce.dimension = 2;
        ran += run(reduce, 0x42) == nullptr ? 1 : 0;
      }
  // 29 listed operations without 8 of bits; the four of a reduction.
  EXPECT_EQ(ran, 4u * (21 + 21 + 4));
}

// --- 43 ------------------------------------------------------------------------------------------

TEST_F(Elementwise, TwoStepsWithReverse) {
  for (int i = 0; i < 40; i++)
    put(0x4000, 0, i, i * 0.37 - 5);
  const uint8_t kPair[] = {0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x13, 0x16};
  for (uint8_t op0 : kPair)
    for (uint8_t op1 : kPair)
      for (uint8_t reverse = 0; reverse < 4; reverse++) {
        ASSERT_EQ(
            run(tensor_scalar(op0, 2.75, op1, -0.3, reverse, 1, p3(0x4000, {40}), p3(0x5000, {40})),
                0x43),
            nullptr);
        double s0 = to_f32(2.75), s1 = to_f32(-0.3);
        for (int i = 0; i < 40; i++) {
          double x = value(0x4000, 0, i);
          double y = to_f32(reverse & 1 ? alu(op0, s0, x) : alu(op0, x, s0));
          double z = to_f32(reverse & 2 ? alu(op1, s1, y) : alu(op1, y, s1));
          ASSERT_TRUE(same_number(value(0x5000, 0, i), z))
              << int{op0} << " " << int{op1} << " " << int{reverse} << " " << x;
        }
      }
}

TEST_F(Elementwise, ScalarsBehindPointersHaveTheirOwnPartition) {
  auto r =
      tensor_scalar(0x06, 0, 0x05, 0, 2, 32, p3(sb(0, 0x4000), {50}), p3(psum(96, 0x100), {50}));
  r.imm0_source = r.imm1_source = ISA_SOURCE_POINTER;
  r.imm0 = sb(64, 0x7FF0);
  r.imm1 = psum(32, 0x3FFC);
  for (uint32_t lane = 0; lane < 32; lane++) {
    put(sb(64, 0x7FF0), lane, 0, 3 + lane);
    put(psum(32, 0x3FFC), lane, 0, 1000 * (lane + 1));
    for (int i = 0; i < 50; i++)
      put(sb(0, 0x4000), lane, i, i + 0.5);
  }
  ASSERT_EQ(run(r, 0x43), nullptr);
  for (uint32_t lane = 0; lane < 32; lane++)
    for (int i = 0; i < 50; i++)
      ASSERT_EQ(value(psum(96, 0x100), lane, i), 1000 * (lane + 1.0) - (i + 0.5) * (3 + lane));
}

TEST_F(Elementwise, TensorScalarTypesLongLanesInPlace) {
  const int n = 5000;
  isa_tensor_scalar r =
      tensor_scalar(0x06, 0.5, 0x04, 0.25, 0, 2, p3(0x4000, {n}), p3(0x4000, {n}));
  r.in_dtype = r.out_dtype = ISA_DTYPE_BF16;
  for (uint32_t lane = 0; lane < 2; lane++)
    for (int i = 0; i < n; i++)
      put(0x4000, lane, i, i - 2500 + lane, ISA_DTYPE_BF16);
  std::vector<double> before = values(r.src, 1, ISA_DTYPE_BF16);
  ASSERT_EQ(run(r, 0x43), nullptr);
  for (int i = 0; i < n; i++)
    ASSERT_EQ(bits(0x4000, 1, i, ISA_DTYPE_BF16), encode(ISA_DTYPE_BF16, before[i] * 0.5 + 0.25));
}

TEST_F(Elementwise, BypassedSteps) {
  put(0x4000, 0, 0, 6);
  ASSERT_EQ(run(tensor_scalar(0x00, 9, 0x00, 9, 3, 1, p3(0x4000, {1}), p3(0x4000, {1})), 0x43),
            nullptr);
  EXPECT_EQ(value(0x4000, 0, 0), 6);
  ASSERT_EQ(run(tensor_scalar(0x05, 9, 0x00, 5, 3, 1, p3(0x4000, {1}), p3(0x4004, {1})), 0x43),
            nullptr);
  EXPECT_EQ(value(0x4004, 0, 0), 3);
}

// --- 46, 47, 48 ----------------------------------------------------------------------------------

// matmul_small: two fp16 rows in one PSUM region leave as 128 x int32.
TEST_F(Elementwise, CopyKeepsBits) {
  for (uint8_t dtype : {ISA_DTYPE_FP32, ISA_DTYPE_INT32, ISA_DTYPE_BF16, ISA_DTYPE_FP16,
                        ISA_DTYPE_UINT8, ISA_DTYPE_UINT64})
    for (auto [counts, steps, to] :
         {std::tuple{std::vector{128}, std::vector<int>{}, std::vector<int>{}},
          std::tuple{std::vector{128}, std::vector{-2}, std::vector{1}},
          std::tuple{std::vector{8, 16}, std::vector{16, 1}, std::vector{1, 8}},
          std::tuple{std::vector{2, 4, 4, 4}, std::vector{1, 0, 5, 100}, std::vector<int>{}}}) {
      isa_pattern4 src = p4(psum(0, 0x1800), counts, steps), dst = p4(sb(64, 0x8000), counts, to);
      for (uint32_t lane = 0; lane < 64; lane++)
        for (int64_t o : offsets(src))
          put_bits(src.addr4, lane, o, dtype, random() | uint64_t{random()} << 32);
      for (int64_t o : offsets(src))  // signalling NaN patterns
        put_bits(src.addr4, 63, o, dtype, 0x7F817F817F817F81);
      ASSERT_EQ(run(copy(dtype, dtype, 64, src, dst), 0x46), nullptr);
      auto from = offsets(src), where = offsets(dst);
      for (uint32_t lane = 0; lane < 64; lane++)
        for (size_t i = 0; i < where.size(); i++)
          ASSERT_EQ(bits(dst.addr4, lane, where[i], dtype), bits(src.addr4, lane, from[i], dtype));
    }
}

TEST_F(Elementwise, CopyMovesOverItself) {
  for (int shift : {-3, 0, 3}) {
    for (int i = 0; i < 8000; i++)
      put_bits(0x4100, 0, i, ISA_DTYPE_UINT16, i);
    ASSERT_EQ(run(copy(5, 5, 1, p4(0x4100, {8000}), p4(0x4100 + 2 * shift, {8000})), 0x46),
              nullptr);
    for (int i = 0; i < 8000; i++)
      ASSERT_EQ(bits(0x4100 + 2 * shift, 0, i, ISA_DTYPE_UINT16), i);
  }
}

TEST_F(Elementwise, CastGoesThroughFp32) {
  const uint8_t kTypes[] = {ISA_DTYPE_FP32,  ISA_DTYPE_BF16,  ISA_DTYPE_FP16,  ISA_DTYPE_INT32,
                            ISA_DTYPE_INT16, ISA_DTYPE_UINT8, ISA_DTYPE_UINT32};
  const double kValues[] = {0,       -0.0,     1,          1.00390625, 1.01171875, 2.5,
                            3.5,     -2.5,     1e5,        -1e5,       65519,      65520,
                            1e-6,    6e-8,     3e38,       -3e38,      INFINITY,   -INFINITY,
                            NAN,     16777217, 2147483647, 4294967295, 1e-40,      255.5,
                            1.0 / 3, -1.0 / 3, 127.5,      -128.5};
  const int n = std::size(kValues);
  for (uint8_t from : kTypes)
    for (uint8_t to : kTypes) {
      for (int i = 0; i < n; i++)
        put(0x4000, 0, i, kValues[i], from);
      ASSERT_EQ(run(copy(from, to, 1, p4(0x4000, {n}), p4(0x5000, {n})), 0x47), nullptr);
      for (int i = 0; i < n; i++) {
        double x = to_f32(value(0x4000, 0, i, from));
        if (std::isnan(x) && real_format(to).mantissa_bits != 0)
          EXPECT_TRUE(std::isnan(value(0x5000, 0, i, to)));
        else
          EXPECT_EQ(bits(0x5000, 0, i, to), encode(to, x))
              << int{from} << " to " << int{to} << ": " << kValues[i];
      }
    }
}

TEST_F(Elementwise, CastInPlaceShrinksAndGrows) {
  const int n = 5000;
  for (int i = 0; i < n; i++)
    put(0x4000, 0, i, i);
  ASSERT_EQ(run(copy(0xA, 7, 1, p4(0x4000, {n}), p4(0x4000, {n})), 0x47), nullptr);
  for (int i = 0; i < n; i++)
    ASSERT_EQ(bits(0x4000, 0, i, 7), encode(7, i));
  ASSERT_EQ(run(copy(7, 0xA, 1, p4(0x4000, {2048}), p4(0x4000, {2048})), 0x47), nullptr);
  for (int i = 0; i < 2048; i++)
    ASSERT_EQ(value(0x4000, 0, i), i);
}

TEST_F(Elementwise, Reciprocal) {
  const double kValues[] = {1, -3, 0.1, INFINITY, -0.0, 0.0, 7e37, 1e-39, NAN, 49};
  const int n = std::size(kValues);
  for (int i = 0; i < n; i++)
    put(0x4000, 5, i, kValues[i]);
  ASSERT_EQ(run(copy(0xA, 0xA, 6, p4(0x4000, {n}), p4(0x4000, {n})), 0x48), nullptr);
  for (int i = 0; i < n; i++)
    EXPECT_TRUE(same_number(value(0x4000, 5, i), to_f32(1 / to_f32(kValues[i])))) << kValues[i];
}

// --- 49 ------------------------------------------------------------------------------------------

TEST_F(Elementwise, MemsetStoresRawBits) {
  struct {
    uint8_t dtype;
    uint32_t value;
    double want;
  } const kCases[] = {{ISA_DTYPE_FP32, 0xCE6E6B28, -1e9}, {ISA_DTYPE_BF16, 0x00003F80, 1.0},
                      {ISA_DTYPE_INT32, 0xFFFFFFFF, -1},  {ISA_DTYPE_UINT8, 0x1FE, 254},
                      {ISA_DTYPE_FP16, 0x3C00, 1.0},      {ISA_DTYPE_INT32, 0, 0}};
  for (auto c : kCases)
    for (auto dst : {p4(psum(32, 0x800), {512}), p4(sb(32, 0x4000), {3, 5, 7, 2}, {2, 8, 64, 512}),
                     p4(sb(32, 0x8000), {2100}), p4(sb(32, 0x8000), {40}, {-3})}) {
      isa_memset r = {};
      r.dtype = c.dtype;
      r.value = c.value;
      r.channels = 32;
      r.dst = dst;
      r.count = static_cast<uint32_t>(offsets(dst).size());
      for (uint32_t lane = 0; lane < 33; lane++)
        for (int64_t o : offsets(dst))
          put_bits(dst.addr4, lane, o, c.dtype, 0x55555555);
      ASSERT_EQ(run(r, 0x49), nullptr);
      for (int64_t o : offsets(dst)) {
        ASSERT_EQ(value(dst.addr4, 0, o, c.dtype), c.want);
        ASSERT_EQ(value(dst.addr4, 31, o, c.dtype), c.want);
        ASSERT_NE(value(dst.addr4, 32, o, c.dtype), c.want);
      }
    }
}
