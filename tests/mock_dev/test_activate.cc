// SPDX-License-Identifier: Apache-2.0
// ACTIVATE (verified-facts.md G5, verified-attention.md 6) with tables made here, whose functions
// have closed forms, and in double precision; how tables in device memory are checked.
#include "compute_fixture.h"
#include "mock_dev/act.h"
#include "tests/mock_dev/mock_fixture.h"

namespace {

constexpr uint32_t kOctave = 40, kFolded = 41, kNegated = 42, kNegativeHalf = 43, kIndirect = 44,
                   kManyPasses = 45;

// Bucket numbers of the set below.
enum { SMALL, LARGE, LARGE_NEGATIVE, FIRST, OTHER_OCTAVE = FIRST + 4, BUCKETS };

// Functions of one set: below 1 a constant 100 + x, from 1 to 2 four cubics, from 2 to 3 one, from
// 3 on -7; negative arguments likewise, -9 from -3 on.
struct tables_t {
  std::vector<project_profile_t> profiles;
  float buckets[BUCKETS][8] = {};
  uint32_t control[2][8] = {};

  tables_t() {
    set(SMALL, 100, 1, 0, 0, 0);
    set(LARGE, -7, 0, 0, 0, 0);
    set(LARGE_NEGATIVE, -9, 0, 0, 0, 0);
    for (int i = 0; i < 4; i++)
      set(FIRST + i, 10 * i, 2, 0.5f, 0.25f, 1 + 0.25f * static_cast<float>(i));
    set(OTHER_OCTAVE, 5, 0, 0, 1, 2);
    control[0][0] = FIRST | 21 << 11 | 2 << 16;
    control[1][0] = OTHER_OCTAVE;
    profiles = {profile(kOctave),   profile(kFolded),     profile(kNegated), profile(kNegativeHalf),
                profile(kIndirect), profile(kManyPasses), profile(3),        profile(4)};
    profiles[1].symmetry_opt_en = 1;
    profiles[2].symmetry_opt_en = profiles[2].sym_invert_sign_point = 1;
    profiles[3].symmetry_opt_en = profiles[3].symmetry_opt_use_neg_region = 1;
    profiles[4].fma_indirection_src_sel = 2;
    profiles[5].use_multipass = 1;
    profiles[7].fma_indirection_src_sel = 2;
  }
  void set(int bucket, float d0, float d1, float d2, float d3, float x0) {
    const float row[] = {d0, d1, d2, d3, x0};
    memcpy(buckets[bucket], row, sizeof row);
  }
  static project_profile_t profile(uint32_t id) {
    project_profile_t p = {};
    p.func_id = id;
    p.small_pos_exp_threshold = p.small_neg_exp_threshold = 127;
    p.large_pos_exp_threshold = p.large_neg_exp_threshold = 128;
    p.large_pos_mantissa_threshold = p.large_neg_mantissa_threshold = 0x400000;
    p.large_pos_pwl_control = LARGE;
    p.large_neg_pwl_control = LARGE_NEGATIVE;
    p.fnan_result = 0x41100000;   // 9
    p.fpinf_result = 0x41200000;  // 10
    p.fninf_result = 0x41300000;  // 11
    p.fzero_result = 0x41400000;  // 12
    return p;
  }
  // The same by hand.
  double value(double x) const {
    double a = std::fabs(x);
    if (a < 1)
      return to_f32(100 + x);
    if (a >= 3)
      return x < 0 ? -9 : -7;
    int bucket = a >= 2 ? OTHER_OCTAVE : FIRST + static_cast<int>((a - 1) * 4);
    const float *d = buckets[bucket];
    double t = to_f32(x - d[4]);
    return to_f32(d[0] + to_f32(t * to_f32(d[1] + to_f32(t * to_f32(d[2] + to_f32(t * d[3]))))));
  }
};

// A directory of one set in device memory, to be spoilt by tests.
struct image_t {
  project_table_directory_t directory = {1, 0};
  project_table_set_t set = {};
  project_profile_t profiles[8];
  uint32_t control[2][8];
  float buckets[BUCKETS][8];
};

class Activate : public Compute {
 protected:
  Activate() {
    compute.engine = ISA_ENGINE_ACT;
    compute.act = act.get();
    alloc_t a;
    a.size = sizeof(image_t);
    chunk = alloc(m, a);
    EXPECT_EQ(chunk.rc, 0);
    std::copy(tables.profiles.begin(), tables.profiles.end(), image.profiles);
    memcpy(image.control, tables.control, sizeof image.control);
    memcpy(image.buckets, tables.buckets, sizeof image.buckets);
    image.set.profiles = chunk.pa + offsetof(image_t, profiles);
    image.set.control = chunk.pa + offsetof(image_t, control);
    image.set.buckets = chunk.pa + offsetof(image_t, buckets);
    image.set.profile_count = 8;
    image.set.control_count = 2;
    image.set.bucket_count = BUCKETS;
    EXPECT_STREQ(load(), nullptr);
  }
  const char *load() {
    EXPECT_EQ(buf_copy(m, chunk.handle, &image, 0, sizeof image, true), 0);
    return mock_act_table_load(m.host, 0, chunk.pa, 0, act.get());
  }
  static isa_activate record(uint8_t function, double scale, double bias, uint8_t channels,
                             isa_pattern3 src, isa_pattern3 dst) {
    isa_activate r = {};
    r.in_bias_dtype = 0xAA;
    r.out_dtype = 0xA;
    r.channels = channels;
    r.function = function;
    r.bias_source = ISA_BIAS_IMMEDIATE;
    r.scale = static_cast<uint32_t>(encode(ISA_DTYPE_FP32, scale));
    r.bias = static_cast<uint32_t>(encode(ISA_DTYPE_FP32, bias));
    r.src = src;
    r.dst = dst;
    return r;
  }
  double one(uint8_t function, double x) {
    put(0x4000, 0, 0, x);
    EXPECT_STREQ(run(record(function, 1, 0, 1, p3(0x4000, {1}), p3(0x4004, {1})), 0x21), nullptr);
    return value(0x4004, 0, 0);
  }

  machine_t m;
  chunk_t chunk = {};
  tables_t tables;
  image_t image;
  std::unique_ptr<mock_act_t> act = std::make_unique<mock_act_t>();
};

}  // namespace

// --- tables --------------------------------------------------------------------------------------

TEST_F(Activate, BucketsThresholdsAndSigns) {
  for (double x : {0.5, 1.0, 1.2499999, 1.25, 1.49, 1.5, 1.75, 1.9999999, 2.0, 2.9999998, 3.0, 3.1,
                   1e30, 1e-30, 1e-40})
    for (double sign : {1.0, -1.0}) {
      double v = to_f32(sign * x);
      EXPECT_EQ(one(kOctave, v), tables.value(v)) << v;
    }
}

TEST_F(Activate, SymmetryFoldsOneHalf) {
  for (double x : {0.5, 1.3, 2.5, 4.0}) {
    x = to_f32(x);
    EXPECT_EQ(one(kFolded, x), tables.value(x));
    EXPECT_EQ(one(kFolded, -x), tables.value(x));
    EXPECT_EQ(one(kNegated, x), tables.value(x));
    EXPECT_EQ(one(kNegated, -x), -tables.value(x));
    EXPECT_EQ(one(kNegativeHalf, x), tables.value(-x));
    EXPECT_EQ(one(kNegativeHalf, -x), tables.value(-x));
  }
}

TEST_F(Activate, SpecialValuesComeBeforeSymmetry) {
  for (uint32_t f : {kOctave, kFolded, kNegated, kNegativeHalf}) {
    auto id = static_cast<uint8_t>(f);
    EXPECT_EQ(one(id, NAN), 9);
    EXPECT_EQ(one(id, -NAN), 9);
    EXPECT_EQ(one(id, INFINITY), 10);
    EXPECT_EQ(one(id, -INFINITY), 11);
    EXPECT_EQ(one(id, 0.0), 12);
    EXPECT_EQ(one(id, -0.0), 12);
  }
}

// --- the record ----------------------------------------------------------------------------------

// Each lane its scale and bias, pointers with first partitions of their own, patterns and types.
TEST_F(Activate, PointersPatternsTypes) {
  for (uint8_t bias_dtype : {ISA_DTYPE_FP32, ISA_DTYPE_BF16}) {
    auto r = record(kOctave, 0, 0, 32, p3(psum(64, 0x800), {5, 8}, {-2, 11}),
                    p3(sb(0, 0x6000), {40}, {3}));
    r.src.addr4 += 40;
    r.in_bias_dtype = static_cast<uint8_t>(ISA_DTYPE_BF16 | bias_dtype << 4);
    r.out_dtype = ISA_DTYPE_FP16;
    r.scale_source = ISA_SOURCE_POINTER;
    r.scale = sb(96, 0x7000);
    r.bias_source = ISA_BIAS_POINTER;
    r.bias = sb(32, 0x7100);
    for (uint32_t lane = 0; lane < 32; lane++) {
      put(sb(96, 0x7000), lane, 0, 0.125 * (lane + 1));
      put(sb(32, 0x7100), lane, 0, 0.5 * lane - 6, bias_dtype);
      for (int64_t o : offsets(r.src))
        put(r.src.addr4, lane, o, (random() % 64) / 8.0 - 4, ISA_DTYPE_BF16);
    }
    ASSERT_STREQ(run(r, 0x21), nullptr);
    for (uint32_t lane = 0; lane < 32; lane++) {
      std::vector<double> x = values(r.src, lane, ISA_DTYPE_BF16);
      for (size_t i = 0; i < x.size(); i++) {
        double y = to_f32(to_f32(x[i] * (0.125 * (lane + 1))) + (0.5 * lane - 6));
        double want = y == 0 ? 12 : tables.value(y);
        ASSERT_EQ(bits(r.dst.addr4, lane, static_cast<int64_t>(3 * i), ISA_DTYPE_FP16),
                  encode(ISA_DTYPE_FP16, want))
            << lane << ", " << i << ": " << y;
      }
    }
  }
}

// 1 + 2^-12 squared has a last part that a fused multiply-add would keep.
TEST_F(Activate, MultiplyAndAddRoundEachByItself) {
  compute.exact_functions = true;
  image.profiles[0].func_id = 128;
  ASSERT_STREQ(load(), nullptr);
  double x = 1 + std::ldexp(1, -12);
  put(0x4000, 0, 0, x);
  ASSERT_STREQ(
      run(record(128, x, -(1 + std::ldexp(1, -11)), 1, p3(0x4000, {1}), p3(0x4004, {1})), 0x21),
      nullptr);
  EXPECT_EQ(value(0x4004, 0, 0), 0);
}

// Byte 15 says pointer with 0 and immediate with 1; the wrong reading of either gives other values.
TEST_F(Activate, WrongReadingsOfTheBiasDiffer) {
  put(sb(0, 0x4050), 0, 0, 0);
  put(sb(0, 0x4050), 0, 1, 1);  // the next column
  put(0x4000, 0, 0, 1.5);
  auto r = record(kOctave, 1, 0, 1, p3(0x4000, {1}), p3(0x5000, {1}));
  r.bias_source = ISA_BIAS_POINTER;
  r.bias = sb(0, 0x4050);
  ASSERT_STREQ(run(r, 0x21), nullptr);
  EXPECT_EQ(value(0x5000, 0, 0), tables.value(1.5));
  r.bias = sb(0, 0x4054);
  ASSERT_STREQ(run(r, 0x21), nullptr);
  EXPECT_EQ(value(0x5000, 0, 0), tables.value(2.5));
  r.bias = sb(0, 0x4050);
  r.bias_source = ISA_BIAS_IMMEDIATE;  // the address as a number, a denormal
  ASSERT_STREQ(run(r, 0x21), nullptr);
  EXPECT_EQ(value(0x5000, 0, 0), tables.value(1.5));
  r.bias = static_cast<uint32_t>(encode(ISA_DTYPE_FP32, 1));
  ASSERT_STREQ(run(r, 0x21), nullptr);
  EXPECT_EQ(value(0x5000, 0, 0), tables.value(2.5));
}

TEST_F(Activate, LongLanesInPlace) {
  const int n = 5000;
  for (int i = 0; i < n; i++)
    put(0x4000, 1, i, (i - 2500) / 500.0);
  std::vector<double> x = values(p3(0x4000, {n}), 1, ISA_DTYPE_FP32);
  ASSERT_STREQ(run(record(kNegated, 1, 0, 2, p3(0x4000, {n}), p3(0x4000, {n})), 0x21), nullptr);
  for (int i = 0; i < n; i++) {
    double v = x[static_cast<size_t>(i)];
    ASSERT_EQ(value(0x4000, 1, i), v == 0 ? 12 : v < 0 ? -tables.value(-v) : tables.value(v));
  }
}

TEST_F(Activate, Refuses) {
  auto good = record(kOctave, 1, 0, 1, p3(0x4000, {8}), p3(0x5000, {8}));
  auto expect = [&](isa_activate r, const char *text) {
    auto before = snapshot(0x5000, 1, 64);
    EXPECT_STREQ(run(r, 0x21), text);
    EXPECT_EQ(snapshot(0x5000, 1, 64), before);
  };
  auto r = good;
  r.function = 200;
  expect(r, "ACTIVATE: the function is not in the resident set of activation tables");
  for (uint32_t f : {kIndirect, kManyPasses, 4u}) {
    r.function = static_cast<uint8_t>(f);
    expect(r, "ACTIVATE: tables with indirect coefficients or several passes are not implemented");
  }
  r.function = 3;
  r.extra = 0x3E800000;
  expect(r, "ACTIVATE: the tables hold the slope 0.01 only");
  r.extra = 0x3C23D70A;
  EXPECT_STREQ(run(r, 0x21), nullptr);
  compute.exact_functions = true;
  r = good;
  expect(r, "ACTIVATE: no double-precision form for this function");
  compute.exact_functions = false;
  *act = {};
  expect(good, "ACTIVATE: no set of activation tables is resident");
  compute.act = nullptr;
  expect(good, "ACTIVATE: no set of activation tables is resident");
}

// --- loading -------------------------------------------------------------------------------------

TEST_F(Activate, SpoiltTablesAreRefused) {
  const image_t good = image;
  struct row_t {
    const char *text;
    void (*spoil)(image_t *image);
  };
  const row_t kRows[] = {
      {"activation tables: the model has no set of this number",
       [](image_t *i) { i->directory.set_count = 0; }},
      {"activation tables: a table of the set is empty or not in memory",
       [](image_t *i) { i->set.control = ~0ull - 8; }},
      {"activation tables: a table of the set is empty or not in memory",
       [](image_t *i) { i->set.profiles = 0x7000000000000; }},
      {"activation tables: a table of the set is empty or not in memory",
       [](image_t *i) { i->set.bucket_count = 0; }},
      {"activation tables: a set of more than 64 functions, 4096 control words or 2048 buckets",
       [](image_t *i) { i->set.profile_count = 65; }},
      {"activation tables: a set of more than 64 functions, 4096 control words or 2048 buckets",
       [](image_t *i) { i->set.bucket_count = 0xFFFFFFFF; }},
      {"activation tables: a function id is above 255 or stands there twice",
       [](image_t *i) { i->profiles[1].func_id = kOctave; }},
      {"activation tables: a function id is above 255 or stands there twice",
       [](image_t *i) { i->profiles[1].func_id = 256; }},
      {"activation tables: a function's bucket number is beyond the set's buckets",
       [](image_t *i) { i->profiles[7].large_neg_pwl_control = BUCKETS; }},
      {"activation tables: a function's threshold is out of range",
       [](image_t *i) { i->profiles[0].small_pos_exp_threshold = 256; }},
      {"activation tables: a function's threshold is out of range",
       [](image_t *i) { i->profiles[0].large_pos_mantissa_threshold = 1 << 23; }},
      {"activation tables: a function's exponents lead beyond the set's control table",
       [](image_t *i) { i->profiles[2].exp_offset = -1; }},
      {"activation tables: a function's exponents lead beyond the set's control table",
       [](image_t *i) { i->profiles[2].exp_offset = 1; }},
      {"activation tables: a function's exponents lead beyond the set's control table",
       [](image_t *i) { i->profiles[2].pwl_control_base_pos = 0xFFFFFFFF; }},
      {"activation tables: a control word leads beyond the set's buckets",
       [](image_t *i) { i->control[1][0] = BUCKETS; }},
      {"activation tables: a control word leads beyond the set's buckets",
       [](image_t *i) { i->control[0][0] = FIRST | 20 << 11 | 0xF << 16; }},
  };
  for (const row_t &row : kRows) {
    image = good;
    row.spoil(&image);
    const char *text = load();
    EXPECT_TRUE(text != nullptr && strcmp(text, row.text) == 0)
        << (text ? text : "nothing") << ", not " << row.text;
    EXPECT_EQ(act->function_count, 0u);
    EXPECT_EQ(mock_act_find(act.get(), kOctave), nullptr);
    image = good;
    ASSERT_STREQ(load(), nullptr);
  }
  for (uint64_t directory : {0x7000000000000ull, ~0ull, ~0ull - 7})
    EXPECT_STREQ(mock_act_table_load(m.host, 0, directory, 0, act.get()),
                 "activation tables: no directory at the engine's address");
}

// --- double precision ----------------------------------------------------------------------------

TEST_F(Activate, DoublePrecisionForms) {
  compute.exact_functions = true;
  *act = {};  // no tables needed
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  auto phi = [](double x) { return 0.5 * (1 + std::erf(x * M_SQRT1_2)); };
  auto softplus = [](double x) { return std::log(1 + std::exp(x)); };
  auto check = [&](uint8_t id, auto truth, double low = -4, double high = 4) {
    for (int i = 0; i < 60; i++) {
      double x = to_f32(low + (high - low) * (i + 0.37) / 60), want = truth(x);
      EXPECT_NEAR(one(id, x), want, 1.2e-7 * std::max(std::fabs(want), 1e-3))
          << int{id} << " " << x;
    }
  };
  // Derivatives by their difference quotient.
  auto slope = [](auto f) { return [f](double x) { return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5; }; };
  auto near = [&](uint8_t id, auto truth) {
    for (int i = 0; i < 60; i++) {
      double x = to_f32(-4 + 8 * (i + 0.37) / 60);
      EXPECT_NEAR(one(id, x), truth(x), 1e-7) << int{id} << " " << x;
    }
  };
  auto gelu = [=](double x) { return x * phi(x); };
  auto silu = [=](double x) { return x / (1 + std::exp(-x)); };
  auto gelu_sigmoid = [=](double x) { return x * sigmoid(1.702 * x); };
  check(1, [](double x) { return x; });
  check(2, [](double x) { return std::max(x, 0.0); });
  check(3, [](double x) { return x > 0 ? x : to_f32(0.01) * x; });
  check(5, sigmoid);
  check(6, [](double x) { return std::tanh(x); });
  check(
      7, [](double x) { return std::exp(x); }, -80, 80);
  check(
      8, [](double x) { return std::sqrt(x); }, 0, 1e6);
  check(9, softplus);
  check(
      10, [](double x) { return std::log(x); }, 0, 1e6);
  check(11, [](double) { return 1; });
  check(12, [](double x) { return x > 0; });
  check(13, [](double x) { return x > 0 ? 1 : to_f32(0.01); });
  check(19, [](double x) { return std::sin(x); });
  check(21, [](double x) { return std::erf(x); });
  near(22, slope([](double x) { return std::erf(x); }));
  check(23, gelu);
  check(24, [=](double x) { return x * std::tanh(softplus(x)); });
  check(25, [](double x) {
    return x * 0.5 * (1 + std::tanh(0.79788456 * (x + 0.044715 * x * x * x)));
  });
  check(26, gelu_sigmoid);
  check(28, [](double x) { return std::atan(x); });
  check(
      29, [](double x) { return 1 / std::sqrt(x); }, 0, 1e6);
  check(30, [](double x) { return x * x; });
  check(31, [](double x) { return x > 0 ? 1 : -1; });
  near(32, slope(gelu));
  check(33, [](double x) { return std::fabs(x); });
  check(34, [](double x) { return 1 / std::sqrt(std::fabs(x)); });
  check(35, [](double) { return 1; });
  check(36, silu);
  near(37, slope(silu));
  near(38, slope(gelu_sigmoid));
  check(128, [](double x) { return x; });
  check(129, [](double x) { return 1 / x; });
  check(130, [](double) { return 0; });
}

// What a load goes by is what there is.
TEST_F(Activate, DoublePrecisionFormsAreThoseOfTheCheck) {
  for (uint32_t id = 0; id < 256; id++)
    EXPECT_EQ(isa_modes_function(static_cast<uint8_t>(id)),
              mock_act_exact(static_cast<uint8_t>(id), 0, nullptr, 0, nullptr))
        << id;
}

TEST_F(Activate, DoublePrecisionTailsAndSlopes) {
  compute.exact_functions = true;
  *act = {};
  for (uint8_t id : {2, 3, 6, 7, 10, 23, 24, 25, 26, 29, 30, 31, 36, 37, 38, 128})
    EXPECT_TRUE(std::isnan(one(id, NAN))) << int{id};
  for (uint8_t id : {23, 24, 25, 26, 36, 37, 38, 32, 7, 5, 9})
    EXPECT_EQ(one(id, -INFINITY), 0) << int{id};
  for (uint8_t id : {23, 24, 25, 26, 36, 9, 7})
    EXPECT_EQ(one(id, INFINITY), INFINITY) << int{id};
  EXPECT_EQ(one(7, -1e9), 0);
  EXPECT_EQ(one(29, 0), INFINITY);
  EXPECT_EQ(one(35, INFINITY), 0);
  EXPECT_EQ(one(35, NAN), 0);
  EXPECT_EQ(one(31, 0), 0);
  EXPECT_EQ(one(12, 0), 1);
  put(0x4000, 0, 0, -2);
  for (uint8_t id : {3, 4}) {
    auto r = record(id, 1, 0, 1, p3(0x4000, {1}), p3(0x4004, {1}));
    r.extra = 0x3E800000;  // 0.25
    ASSERT_STREQ(run(r, 0x21), nullptr);
    EXPECT_EQ(value(0x4004, 0, 0), -0.5);
  }
}

// A resident set says what the engine can do, in double precision too.
TEST_F(Activate, DoublePrecisionKeepsToTheResidentSet) {
  compute.exact_functions = true;
  EXPECT_STREQ(run(record(7, 1, 0, 1, p3(0x4000, {1}), p3(0x4004, {1})), 0x21),
               "ACTIVATE: the function is not in the resident set of activation tables");
  EXPECT_EQ(one(3, -3), to_f32(-3 * to_f32(0.01)));
}
