// SPDX-License-Identifier: Apache-2.0
// Data types against formulas written here in double precision: every code of the 8- and 16-bit
// types, every rounding boundary between two codes, both instruction sets.
#include "mock_dev/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/mock_dev/number_format.h"

namespace {

struct set_t {
  const char *name;
  const mock_dtype_kernels_t *kernels;
};
std::vector<set_t> sets() {
  std::vector<set_t> s = {{"portable", &mock_dtype_portable}};
  if (mock_cpu_has_avx2())
    s.push_back({"avx2", &mock_dtype_avx2});
  return s;
}

uint32_t raw(const number_format_t &f, const std::vector<uint8_t> &bytes, size_t i) {
  if (isa_dtype_size(f.dtype) == 1)
    return bytes[i];
  return bytes[2 * i] | static_cast<uint32_t>(bytes[2 * i + 1]) << 8;
}

// Stores all values at once; lengths that are no multiple of a vector are part of it.
std::vector<uint8_t> stored(const set_t &set, uint8_t dtype, const std::vector<float> &values) {
  std::vector<uint8_t> bytes(values.size() * isa_dtype_size(dtype));
  set.kernels->store[dtype](values.data(), values.size(), bytes.data());
  return bytes;
}
template <typename T>
T element(const std::vector<uint8_t> &bytes, size_t i) {
  T v;
  memcpy(&v, bytes.data() + i * sizeof v, sizeof v);
  return v;
}
uint32_t bits(float f) {
  uint32_t b;
  memcpy(&b, &f, 4);
  return b;
}
float value(uint32_t b) {
  float f;
  memcpy(&f, &b, 4);
  return f;
}

// Nearest even by definition, in double precision, which holds every fp32 and its half exactly.
template <typename T>
T to_integer(float f) {
  if (std::isnan(f))
    return 0;
  double low = std::floor(static_cast<double>(f)), d = static_cast<double>(f) - low;
  double r = d > 0.5 || (d == 0.5 && std::fmod(low, 2) != 0) ? low + 1 : low;
  if (r >= std::ldexp(1.0, std::numeric_limits<T>::digits))
    return std::numeric_limits<T>::max();
  if (r < static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  return static_cast<T>(r);
}

std::vector<float> interesting() {
  std::vector<float> v;
  for (double base : {0.0,
                      0.5,
                      1.0,
                      127.0,
                      128.0,
                      255.0,
                      256.0,
                      32767.0,
                      32768.0,
                      65535.0,
                      65536.0,
                      4194304.0,
                      8388608.0,
                      16777216.0,
                      2147483648.0,
                      4294967296.0,
                      9223372036854775808.0,
                      18446744073709551616.0,
                      1e30,
                      1e-40})
    for (double step : {-2.0, -1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5})
      for (double sign : {-1.0, 1.0}) {
        auto f = static_cast<float>(sign * (base + step));
        v.insert(v.end(), {f, std::nextafterf(f, INFINITY), std::nextafterf(f, -INFINITY)});
      }
  v.insert(v.end(), {INFINITY, -INFINITY, NAN, -NAN, -0.0f, value(0x7F800001)});
  std::mt19937 random(1);
  for (int i = 0; i < 20003; i++)
    v.push_back(value(static_cast<uint32_t>(random())));
  return v;
}

template <typename T>
void check_integer(uint8_t dtype) {
  std::vector<float> in = interesting();
  for (const set_t &set : sets()) {
    std::vector<uint8_t> bytes = stored(set, dtype, in);
    for (size_t i = 0; i < in.size(); i++)
      ASSERT_EQ(element<T>(bytes, i), to_integer<T>(in[i])) << set.name << " " << in[i];
    // Back: the double of any integer up to 32 bits is exact, so one rounding is left.
    std::vector<T> ints;
    std::mt19937_64 random(2);
    for (int i = 0; i < 20001; i++)
      ints.push_back(static_cast<T>(random() >> (random() % (8 * sizeof(T)))));
    ints.insert(ints.end(), {std::numeric_limits<T>::max(), std::numeric_limits<T>::min()});
    std::vector<float> out(ints.size());
    set.kernels->load[dtype](reinterpret_cast<uint8_t *>(ints.data()), ints.size(), out.data());
    for (size_t i = 0; i < ints.size(); i++) {
      long double exact = ints[i];
      ASSERT_EQ(out[i], static_cast<float>(exact)) << set.name << " " << i;
    }
  }
}

}  // namespace

TEST(Dtype, EveryCodeMeansWhatItsFormatSays) {
  for (const number_format_t &f : NUMBER_FORMATS)
    for (const set_t &set : sets()) {
      std::vector<uint8_t> bytes;
      for (uint32_t c = 0; c < f.codes(); c++) {
        bytes.push_back(static_cast<uint8_t>(c));
        if (f.codes() > 256)
          bytes.push_back(static_cast<uint8_t>(c >> 8));
      }
      std::vector<float> out(f.codes());
      set.kernels->load[f.dtype](bytes.data(), out.size(), out.data());
      for (uint32_t c = 0; c < f.codes(); c++) {
        double want = f.meaning(c);
        if (std::isnan(want))
          ASSERT_TRUE(std::isnan(out[c])) << set.name << " " << f.name << " " << c;
        else
          ASSERT_EQ(bits(out[c]), bits(static_cast<float>(want)))
              << set.name << " " << f.name << " " << c;
      }
      // And every code comes back, the infinities of types that saturate and NaNs apart.
      std::vector<uint8_t> back = stored(set, f.dtype, out);
      for (uint32_t c = 0; c < f.codes(); c++) {
        double want = f.meaning(c), got = f.meaning(raw(f, back, c));
        if (std::isnan(want))
          ASSERT_TRUE(std::isnan(got)) << set.name << " " << f.name << " " << c;
        else if (std::isinf(want) && f.saturates)
          ASSERT_EQ(got, std::copysign(f.largest, want)) << set.name << " " << f.name;
        else
          ASSERT_EQ(raw(f, back, c), c) << set.name << " " << f.name;
      }
    }
}

TEST(Dtype, RoundsToNearestEvenAtEveryBoundary) {
  for (const number_format_t &f : NUMBER_FORMATS) {
    std::vector<float> in;
    std::vector<uint32_t> want;
    uint32_t sign = f.codes() / 2;
    for (uint32_t c = 0; f.meaning(c) < f.largest; c++) {
      // Halfway between two neighbours is a double; as fp32 only where fp32 has a bit left.
      double half = (f.meaning(c) + f.meaning(c + 1)) / 2;
      auto h = static_cast<float>(half);
      ASSERT_EQ(h, half);
      uint32_t even = (c & 1) == 0 ? c : c + 1;
      for (uint32_t s : {0u, sign}) {
        float one = s != 0 ? -1.0f : 1.0f;
        in.insert(in.end(),
                  {one * h, one * std::nextafterf(h, 0), one * std::nextafterf(h, INFINITY)});
        want.insert(want.end(), {even | s, c | s, (c + 1) | s});
      }
    }
    // Beyond the largest value: up to half a step still rounds down, then infinity, or saturation.
    double step =
        f.largest - f.meaning(f.codes() / 2 - (f.has_infinity ? (1u << f.fraction_bits) : 1) - 2);
    uint32_t largest = f.codes() / 2 - (f.has_infinity ? (1u << f.fraction_bits) : 1) - 1;
    ASSERT_EQ(f.meaning(largest), f.largest);
    auto edge = static_cast<float>(f.largest + step / 2);
    uint32_t beyond = f.saturates ? largest : largest + 1;
    for (float x : {edge, std::nextafterf(edge, INFINITY), 3.4e38f, INFINITY}) {
      in.insert(in.end(), {x, -x});
      want.insert(want.end(), {beyond, beyond | sign});
    }
    in.push_back(std::nextafterf(edge, 0));
    want.push_back(largest);
    for (const set_t &set : sets()) {
      std::vector<uint8_t> bytes = stored(set, f.dtype, in);
      for (size_t i = 0; i < in.size(); i++)
        ASSERT_EQ(raw(f, bytes, i), want[i]) << set.name << " " << f.name << " " << in[i];
      for (float nan : {NAN, -NAN, value(0x7F800001), value(0xFFFFFFFF)}) {
        std::vector<uint8_t> one = stored(set, f.dtype, std::vector<float>(9, nan));
        for (size_t i = 0; i < 9; i++)
          ASSERT_TRUE(std::isnan(f.meaning(raw(f, one, i)))) << set.name << " " << f.name;
      }
    }
  }
}

TEST(Dtype, RoundedFp32HasElevenFractionBits) {
  std::mt19937 random(3);
  std::vector<float> in;
  for (int i = 0; i < 50001; i++)
    in.push_back(value(static_cast<uint32_t>(random())));
  for (uint32_t b : {0x3F800800u, 0x3F801800u, 0x3F8007FFu, 0x3F800801u, 0x7F7FFFFFu, 0x00000800u})
    in.push_back(value(b));
  for (const set_t &set : sets()) {
    std::vector<uint8_t> bytes = stored(set, ISA_DTYPE_FP32R, in);
    std::vector<float> out(in.size());
    set.kernels->load[ISA_DTYPE_FP32R](reinterpret_cast<uint8_t *>(in.data()), in.size(),
                                       out.data());
    for (size_t i = 0; i < in.size(); i++) {
      auto got = element<float>(bytes, i);
      if (std::isnan(in[i])) {
        ASSERT_TRUE(std::isnan(got) && std::isnan(out[i]));
        continue;
      }
      // One unit in the last of eleven places: 2^-11 of the binade, of the smallest for denormals.
      double x = in[i], unit = std::ldexp(1.0, std::max(std::ilogb(x == 0 ? 1.0 : x), -126) - 11);
      double want = std::nearbyint(x / unit) * unit;
      ASSERT_EQ(got, static_cast<float>(want)) << set.name << " " << in[i];
      ASSERT_EQ(out[i], got) << set.name;
    }
  }
}

TEST(Dtype, IntegersClampAndRoundToNearestEven) {
  check_integer<int8_t>(ISA_DTYPE_INT8);
  check_integer<uint8_t>(ISA_DTYPE_UINT8);
  check_integer<int16_t>(ISA_DTYPE_INT16);
  check_integer<uint16_t>(ISA_DTYPE_UINT16);
  check_integer<int32_t>(ISA_DTYPE_INT32);
  check_integer<uint32_t>(ISA_DTYPE_UINT32);
  check_integer<int64_t>(ISA_DTYPE_INT64);
  check_integer<uint64_t>(ISA_DTYPE_UINT64);
}

TEST(Dtype, BothInstructionSetsGiveTheSameBits) {
  if (!mock_cpu_has_avx2())
    GTEST_SKIP() << "skipped: no AVX2";
  std::vector<float> in = interesting();
  for (uint8_t dtype = 1; dtype < 16; dtype++) {
    std::vector<uint8_t> a = stored({"", &mock_dtype_portable}, dtype, in);
    std::vector<uint8_t> b = stored({"", &mock_dtype_avx2}, dtype, in);
    ASSERT_EQ(a, b) << int{dtype};
    std::vector<float> x(in.size()), y(in.size());
    const auto *bytes = reinterpret_cast<const uint8_t *>(in.data());
    size_t n = in.size() * 4 / isa_dtype_size(dtype) / 2;
    x.resize(n), y.resize(n);
    mock_dtype_portable.load[dtype](bytes, n, x.data());
    mock_dtype_avx2.load[dtype](bytes, n, y.data());
    ASSERT_EQ(memcmp(x.data(), y.data(), n * 4), 0) << int{dtype};
  }
}

TEST(Dtype, StridesGoAnywhere) {
  constexpr size_t kN = 1300;  // several pieces
  std::vector<uint8_t> memory(kN * 8 + 64);
  for (size_t i = 0; i < memory.size(); i++)
    memory[i] = static_cast<uint8_t>(i * 37 + i / 256);
  for (int64_t stride : {6, -6, 2, 0, 7}) {
    const uint8_t *src = memory.data() + (stride < 0 ? kN * 6 : 1);
    std::vector<float> out(kN);
    mock_dtype_load(ISA_DTYPE_INT16, src, stride, kN, out.data());
    std::vector<uint8_t> dst(kN * 16, 0xEE);
    mock_dtype_convert(ISA_DTYPE_INT16, src, stride, ISA_DTYPE_INT32, dst.data() + 3, 9, kN);
    for (size_t i = 0; i < kN; i++) {
      int16_t want = 0;
      int32_t got = 0;
      memcpy(&want, src + static_cast<int64_t>(i) * stride, 2);
      memcpy(&got, dst.data() + 3 + 9 * i, 4);
      ASSERT_EQ(out[i], want) << stride << " " << i;
      ASSERT_EQ(got, want) << stride << " " << i;
      ASSERT_EQ(dst[3 + 9 * i + 4], 0xEE);
    }
  }
  uint8_t one[3] = {1, 1, 1};
  float values[] = {4, 5, 6};
  mock_dtype_store(ISA_DTYPE_UINT8, values, 3, one + 1, 0);
  EXPECT_EQ(one[0], 1);
  EXPECT_EQ(one[1], 6);
  EXPECT_EQ(one[2], 1);
}

TEST(Dtype, EqualTypesMoveAsTheyAre) {
  // A signalling NaN and a fraction that rounding would cut stay.
  uint32_t in[] = {0x7F800001, 0x3F800001, 0xFFFFFFFF}, out[3] = {};
  for (uint8_t dtype : {ISA_DTYPE_FP32, ISA_DTYPE_FP32R, ISA_DTYPE_INT32}) {
    mock_dtype_convert(dtype, reinterpret_cast<uint8_t *>(in), 4, dtype,
                       reinterpret_cast<uint8_t *>(out), 4, 3);
    EXPECT_EQ(memcmp(in, out, sizeof in), 0);
  }
}
