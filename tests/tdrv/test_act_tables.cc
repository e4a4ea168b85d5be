// SPDX-License-Identifier: Apache-2.0
// Activation tables end to end: from the corpus files through the image in device memory to values,
// against the true functions within the figures of verified-attention.md 7 and verified-facts.md
// G6.
#include "tdrv/act_tables.h"

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "isa/project.h"
#include "kelf/kelf.h"
#include "mock_dev/act.h"
#include "neff/neff.h"
#include "tests/mock_dev/mock_fixture.h"
#include "tests/support/corpus.h"

namespace {

constexpr uint8_t kIdentity = 1, kRelu = 2, kLeaky = 3, kTanh = 6, kExp = 7, kLn = 10,
                  kDerivativeIdentity = 11, kDerivativeRelu = 12, kDerivativeLeaky = 13,
                  kRsqrt = 29, kSquare = 30, kSign = 31, kAbs = 33, kIsFinite = 35, kCopy = 128,
                  kZero = 130;

float f32(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
uint32_t bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}

class ActTables : public testing::Test {
 protected:
  // Lowers a corpus file and puts the tables of its first subgraph into device memory.
  void stage(const char *name) {
    std::vector<uint8_t> bytes = corpus_file(name);
    if (bytes.empty()) {
      printf("skipped: no corpus\n");
      GTEST_SKIP() << "skipped: no corpus";
    }
    finding_sink findings;
    std::shared_ptr<const neff> source;
    ASSERT_EQ(neff_open(bytes, {}, findings, &source), NRT_SUCCESS);
    ASSERT_EQ(kelf_load_nn(source, {}, findings, &nn), NRT_SUCCESS);
    image.resize(act_tables_size(nn->kbins[0].get()));
    ASSERT_FALSE(image.empty());
    alloc_t a;
    a.size = image.size();
    a.align = 64;
    chunk = alloc(m, a);
    ASSERT_EQ(chunk.rc, 0);
    act_tables_build(nn->kbins[0].get(), chunk.pa, image.data());
    upload();
  }
  void upload() { ASSERT_EQ(buf_copy(m, chunk.handle, image.data(), 0, image.size(), true), 0); }
  const char *load(uint32_t set) { return mock_act_table_load(m.host, 0, chunk.pa, set, &act); }

  float value(uint8_t id, float x) {
    const mock_act_function_t *f = mock_act_find(&act, id);
    if (f == nullptr) {
      ADD_FAILURE() << "no function " << int{id};
      return NAN;
    }
    float out;
    mock_act_evaluate(&act, f, &x, 1, &out);
    return out;
  }
  std::vector<float> values(uint8_t id, const std::vector<float> &x) {
    std::vector<float> out(x.size());
    const mock_act_function_t *f = mock_act_find(&act, id);
    EXPECT_NE(f, nullptr) << int{id};
    if (f != nullptr)
      mock_act_evaluate(&act, f, x.data(), x.size(), out.data());
    return out;
  }
  // Random mantissas and, where asked for, signs, exponents evenly in [low, high).
  std::vector<float> spread(int low, int high, bool both_signs, size_t n = 50000) {
    std::vector<float> x(n);
    for (float &v : x) {
      v = std::ldexp(f32(0x3F800000 | (random() & 0x7FFFFF)),
                     low + static_cast<int>(random() % static_cast<uint32_t>(high - low)));
      if (both_signs && random() % 2)
        v = -v;
    }
    return x;
  }
  std::vector<float> even(double low, double high, size_t n = 50000) {
    std::uniform_real_distribution<double> range(low, high);
    std::vector<float> x(n);
    for (float &v : x)
      v = static_cast<float>(range(random));
    return x;
  }
  double worst(uint8_t id, const std::vector<float> &x, double (*truth)(double), bool relative) {
    std::vector<float> got = values(id, x);
    double most = 0;
    for (size_t i = 0; i < x.size(); i++) {
      double want = truth(x[i]);
      double error = std::fabs(got[i] - want) / (relative ? std::fabs(want) : 1);
      most = std::isnan(error) ? INFINITY : std::max(most, error);
    }
    return most;
  }
  void expect_exact(uint8_t id, float (*truth)(float)) {
    if (exact_values.empty())
      exact_values = spread(-60, 60, true, 300000);
    const std::vector<float> &x = exact_values;
    std::vector<float> got = values(id, x);
    size_t wrong = 0;
    for (size_t i = 0; i < x.size(); i++)
      wrong += bits_of(got[i]) != bits_of(truth(x[i]));
    EXPECT_EQ(wrong, 0u) << int{id};
  }
  void expect_exact_family() {
    expect_exact(kIdentity, [](float x) { return x; });
    expect_exact(kCopy, [](float x) { return x; });
    expect_exact(kRelu, [](float x) { return x > 0 ? x : 0.0f; });
    expect_exact(kLeaky, [](float x) { return x > 0 ? x : x * 0.01f; });
    expect_exact(kSquare, [](float x) { return x * x; });
    expect_exact(kSign, [](float x) { return x > 0 ? 1.0f : -1.0f; });
    expect_exact(kAbs, [](float x) { return std::fabs(x); });
    expect_exact(kZero, [](float) { return 0.0f; });
    expect_exact(kIsFinite, [](float) { return 1.0f; });
    expect_exact(kDerivativeIdentity, [](float) { return 1.0f; });
    expect_exact(kDerivativeRelu, [](float x) { return x > 0 ? 1.0f : 0.0f; });
    expect_exact(kDerivativeLeaky, [](float x) { return x > 0 ? 1.0f : 0.01f; });
  }
  void expect_exp() {
    auto truth = +[](double x) { return std::exp(x); };
    double wide = worst(kExp, even(-87, 88), truth, true);
    EXPECT_LE(wide, 1.135e-5);  // 1.13e-5 in three digits
    EXPECT_GT(wide, 1e-6);      // from the tables, not from a library
    EXPECT_LE(worst(kExp, spread(-60, -19, true), truth, true), 6e-8);
    EXPECT_EQ(value(kExp, -1e9f), 0);
    EXPECT_EQ(value(kExp, -98.0f), 0);
    EXPECT_GT(value(kExp, -87.0f), 0);
    EXPECT_EQ(value(kExp, 88.73f), INFINITY);
    EXPECT_LT(value(kExp, 88.72f), INFINITY);
    EXPECT_EQ(value(kExp, 3e38f), INFINITY);
    EXPECT_EQ(value(kExp, 0), 1);
    EXPECT_EQ(value(kExp, INFINITY), INFINITY);
    EXPECT_EQ(value(kExp, -INFINITY), 0);
    EXPECT_TRUE(std::isnan(value(kExp, NAN)));
    EXPECT_EQ(value(kExp, 1e-40f), 1);
  }

  std::unique_ptr<kelf_nn_t> nn;
  std::vector<uint8_t> image;
  std::vector<float> exact_values;
  machine_t m;
  chunk_t chunk = {};
  mock_act_t act = {};
  std::mt19937 random{11};
};

}  // namespace

TEST_F(ActTables, SetOfTheMatmuls) {
  for (const char *name : {"matmul_small.neff", "matmul_large.neff"}) {
    stage(name);
    if (!nn)
      return;
    ASSERT_STREQ(load(0), nullptr);
    EXPECT_EQ(act.function_count, 15u);
    expect_exact_family();
    expect_exp();
    auto tanh = [](double x) { return std::tanh(x); };
    EXPECT_LE(worst(kTanh, even(-10, 10), tanh, true), 2.7e-7);
    EXPECT_LE(worst(kTanh, spread(-60, 60, true), tanh, true), 2.7e-7);
    EXPECT_EQ(value(kTanh, -0.5f), -value(kTanh, 0.5f));
    EXPECT_EQ(value(kTanh, INFINITY), 1);
    EXPECT_EQ(value(kTanh, -INFINITY), -1);
    EXPECT_EQ(value(kTanh, -20.0f), -1);
    EXPECT_EQ(mock_act_find(&act, kRsqrt), nullptr);
    EXPECT_STREQ(load(1), "activation tables: the model has no set of this number");
    EXPECT_EQ(act.function_count, 0u);
    EXPECT_EQ(mock_act_find(&act, kExp), nullptr);
  }
}

TEST_F(ActTables, SetsOfTheAttention) {
  stage("attn_v6.neff");
  if (!nn)
    return;
  ASSERT_STREQ(load(0), nullptr);
  EXPECT_EQ(act.function_count, 14u);
  expect_exact_family();
  auto rsqrt = [](double x) { return 1 / std::sqrt(x); };
  EXPECT_LE(worst(kRsqrt, spread(-20, 20, false), rsqrt, true), 4.4e-5);
  double wide = worst(kRsqrt, spread(-80, 90, false), rsqrt, true);
  EXPECT_LE(wide, 3.5e-3);  // 3e-3 in one digit
  EXPECT_GT(wide, 1e-4);
  EXPECT_EQ(bits_of(value(kRsqrt, 0)), 0x7F7F0000u);
  EXPECT_EQ(value(kRsqrt, INFINITY), 0);
  EXPECT_TRUE(std::isnan(value(kRsqrt, -1.0f)));
  EXPECT_TRUE(std::isnan(value(kRsqrt, -INFINITY)));
  EXPECT_EQ(bits_of(value(kRelu, INFINITY)), 0x7F7F0000u);  // 3.39e38, as the file has it
  EXPECT_EQ(value(kRelu, -INFINITY), 0);
  EXPECT_EQ(mock_act_find(&act, kExp), nullptr);

  ASSERT_STREQ(load(1), nullptr);
  EXPECT_EQ(act.function_count, 15u);
  EXPECT_EQ(mock_act_find(&act, kRsqrt), nullptr);
  expect_exact_family();
  expect_exp();
  auto ln = [](double x) { return std::log(x); };
  EXPECT_LE(worst(kLn, spread(1, 63, false), ln, true), 3.05e-5);
  EXPECT_LE(worst(kLn, spread(-63, -1, false), ln, true), 3.05e-5);
  EXPECT_LE(worst(kLn, even(0.5, 2), ln, false), 6.5e-8);
  EXPECT_TRUE(std::isnan(value(kLn, -1.0f)));
}

TEST_F(ActTables, SpecialValuesOfTheExactFamily) {
  stage("attn_v6.neff");
  if (!nn)
    return;
  ASSERT_STREQ(load(1), nullptr);
  const float denormal = f32(1);
  struct {
    uint8_t id;
    float zero, infinity, negative_infinity, nan, small, small_negative;
  } const kRows[] = {
      {kIdentity, 0, INFINITY, -INFINITY, NAN, denormal, -denormal},
      {kCopy, 0, INFINITY, -INFINITY, NAN, denormal, -denormal},
      {kAbs, 0, INFINITY, INFINITY, NAN, denormal, denormal},
      {kSign, 0, 1, -1, NAN, 1, -1},
      {kIsFinite, 1, 0, 0, 0, 1, 1},
      {kZero, 0, 0, 0, 0, 0, 0},
      {kDerivativeRelu, 1, 1, 0, NAN, 1, 0},
      {kSquare, 0, INFINITY, INFINITY, NAN, 0, 0},
  };
  auto same = [](float a, float b) { return std::isnan(b) ? std::isnan(a) : a == b; };
  for (auto &row : kRows) {
    EXPECT_TRUE(same(value(row.id, 0), row.zero)) << int{row.id};
    EXPECT_TRUE(same(value(row.id, -0.0f), row.zero)) << int{row.id};
    EXPECT_TRUE(same(value(row.id, INFINITY), row.infinity)) << int{row.id};
    EXPECT_TRUE(same(value(row.id, -INFINITY), row.negative_infinity)) << int{row.id};
    EXPECT_TRUE(same(value(row.id, NAN), row.nan)) << int{row.id};
    EXPECT_TRUE(same(value(row.id, -NAN), row.nan)) << int{row.id};
    EXPECT_TRUE(same(value(row.id, denormal), row.small)) << int{row.id};
    EXPECT_TRUE(same(value(row.id, -denormal), row.small_negative)) << int{row.id};
  }
}

// Many values at once and one at a time are the same.
TEST_F(ActTables, ArraysAndSingleValuesAgree) {
  stage("matmul_small.neff");
  if (!nn)
    return;
  ASSERT_STREQ(load(0), nullptr);
  std::vector<float> x(4000);
  for (float &v : x)
    v = f32(static_cast<uint32_t>(random()));
  for (uint8_t id : {kExp, kTanh, kCopy, kSign}) {
    std::vector<float> all = values(id, x);
    for (size_t i = 0; i < x.size(); i++)
      ASSERT_EQ(bits_of(all[i]), bits_of(value(id, x[i]))) << int{id} << " " << x[i];
  }
}

// The values come from device memory: one changed byte of a bucket, of a control word or of a
// profile changes them from the next load on.
TEST_F(ActTables, ChangedBytesInDeviceMemoryChangeValues) {
  stage("matmul_small.neff");
  if (!nn)
    return;
  ASSERT_STREQ(load(0), nullptr);
  project_table_set_t set;
  memcpy(&set, image.data() + sizeof(project_table_directory_t), sizeof set);
  const float x = 1.5f, before = value(kExp, x), other = value(kExp, 2.5f);
  // exp_offset -19, base 26: exponent 0 is control entry 45, which starts at bucket 426.
  uint32_t word;
  memcpy(&word, image.data() + (set.control - chunk.pa) + 45 * 32, sizeof word);
  ASSERT_EQ(word & 0x7FF, 426u);
  uint32_t bucket = 426 + (0x400000u >> (word >> 11 & 31));  // mantissa of 1.5
  size_t at = set.buckets - chunk.pa + size_t{bucket} * 32 + 2;
  auto flip = [&](size_t byte, uint8_t mask) {
    image[byte] = static_cast<uint8_t>(image[byte] ^ mask);
    upload();
  };
  flip(at, 0x10);
  EXPECT_EQ(value(kExp, x), before);  // resident still
  ASSERT_STREQ(load(0), nullptr);
  EXPECT_NE(value(kExp, x), before);
  EXPECT_EQ(value(kExp, 2.5f), other);
  flip(at, 0x10);
  ASSERT_STREQ(load(0), nullptr);
  EXPECT_EQ(value(kExp, x), before);
  flip(set.control - chunk.pa + 45 * 32, 1);
  ASSERT_STREQ(load(0), nullptr);
  EXPECT_NE(value(kExp, x), before);
  flip(set.control - chunk.pa + 45 * 32, 1);
  size_t zero = set.profiles - chunk.pa + offsetof(project_profile_t, fzero_result);
  flip(zero + 3, 0x80);
  ASSERT_STREQ(load(0), nullptr);
  EXPECT_EQ(value(kExp, 0), -1);
}

TEST_F(ActTables, ImageOfASubgraphWithoutSets) {
  stage("attn_v6.neff");
  if (!nn)
    return;
  EXPECT_EQ(act_tables_size(nn->kbins[1].get()), 0u);
}
