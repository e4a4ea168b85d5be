// SPDX-License-Identifier: Apache-2.0
// One core's memory and what tests of computing records need around it. Values and addresses are
// worked out here from the sheets, in double precision, without the code under test.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "mock_dev/compute.h"
#include "tests/mock_dev/checked.h"

// --- types ---------------------------------------------------------------------------------------

struct real_format_t {
  int exponent_bits, mantissa_bits;
};
inline real_format_t real_format(uint8_t dtype) {
  switch (dtype) {
    case ISA_DTYPE_BF16:
      return {8, 7};
    case ISA_DTYPE_FP16:
      return {5, 10};
    case ISA_DTYPE_FP32:
      return {8, 23};
    default:
      return {0, 0};
  }
}

inline double decode(uint8_t dtype, uint64_t bits) {
  switch (dtype) {
    case ISA_DTYPE_INT8:
      return static_cast<int8_t>(bits);
    case ISA_DTYPE_UINT8:
      return static_cast<uint8_t>(bits);
    case ISA_DTYPE_INT16:
      return static_cast<int16_t>(bits);
    case ISA_DTYPE_UINT16:
      return static_cast<uint16_t>(bits);
    case ISA_DTYPE_INT32:
      return static_cast<int32_t>(bits);
    case ISA_DTYPE_UINT32:
      return static_cast<uint32_t>(bits);
    default:
      break;
  }
  real_format_t f = real_format(dtype);
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  auto mantissa = static_cast<double>(bits & ((1ull << f.mantissa_bits) - 1));
  int exponent = static_cast<int>(bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  double sign = bits >> (f.mantissa_bits + f.exponent_bits) & 1 ? -1 : 1;
  if (exponent == (1 << f.exponent_bits) - 1)
    return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - f.mantissa_bits);
  return sign *
         std::ldexp(std::ldexp(1.0, f.mantissa_bits) + mantissa, exponent - bias - f.mantissa_bits);
}

// Nearest even; overflow to infinity; integers clamp, NaN gives 0 (rulings.md 25).
inline uint64_t encode(uint8_t dtype, double value) {
  real_format_t f = real_format(dtype);
  if (f.mantissa_bits == 0) {
    uint32_t bits = isa_dtype_size(dtype) * 8;
    bool is_signed =
        dtype == ISA_DTYPE_INT8 || dtype == ISA_DTYPE_INT16 || dtype == ISA_DTYPE_INT32;
    double low = is_signed ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0;
    double high = std::ldexp(1.0, static_cast<int>(bits) - (is_signed ? 1 : 0)) - 1;
    double v = std::isnan(value) ? 0 : std::clamp(std::nearbyint(value), low, high);
    return static_cast<uint64_t>(static_cast<int64_t>(v)) & ((1ull << bits) - 1);
  }
  int bias = (1 << (f.exponent_bits - 1)) - 1;
  uint64_t sign = std::signbit(value) ? 1ull << (f.exponent_bits + f.mantissa_bits) : 0;
  uint64_t infinity = ((1ull << f.exponent_bits) - 1) << f.mantissa_bits;
  if (std::isnan(value))
    return sign | infinity | 1ull << (f.mantissa_bits - 1);
  value = std::fabs(value);
  if (std::isinf(value))
    return sign | infinity;
  if (value == 0)
    return sign;
  int exponent;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);
  // In units of the last place; a carry runs into the exponent as it should.
  auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(value, f.mantissa_bits - exponent)));
  uint64_t bits = (static_cast<uint64_t>(exponent + bias - 1) << f.mantissa_bits) + units;
  return sign | std::min(bits, infinity);
}

inline double to_f32(double value) {
  return decode(ISA_DTYPE_FP32, encode(ISA_DTYPE_FP32, value));
}

// --- patterns ------------------------------------------------------------------------------------

template <typename PATTERN>
PATTERN pattern(uint32_t addr4, std::vector<int> counts, std::vector<int> steps = {}) {
  PATTERN p = {};
  p.addr4 = addr4;
  int run = 1;
  for (size_t i = 0; i < sizeof p.count / sizeof p.count[0]; i++) {
    p.count[i] = static_cast<uint16_t>(i < counts.size() ? counts[i] : 1);
    p.step[i] = static_cast<int16_t>(i < steps.size() ? steps[i] : run);
    run *= p.count[i];
  }
  return p;
}
inline isa_pattern3 p3(uint32_t addr4, std::vector<int> counts, std::vector<int> steps = {}) {
  return pattern<isa_pattern3>(addr4, counts, steps);
}
inline isa_pattern4 p4(uint32_t addr4, std::vector<int> counts, std::vector<int> steps = {}) {
  return pattern<isa_pattern4>(addr4, counts, steps);
}

// Element offsets in pattern order: index 0 fastest.
template <typename PATTERN>
std::vector<int64_t> offsets(const PATTERN &p) {
  constexpr size_t dims = sizeof p.count / sizeof p.count[0];
  std::vector<int64_t> out = {0};
  for (size_t d = 0; d < dims; d++) {
    std::vector<int64_t> next;
    for (int i = 0; i < p.count[d]; i++)
      for (int64_t o : out)
        next.push_back(o + static_cast<int64_t>(i) * p.step[d]);
    out = next;
  }
  return out;
}

inline constexpr uint32_t sb(uint32_t partition, uint32_t byte) {
  return partition << 18 | byte;
}
inline constexpr uint32_t psum(uint32_t partition, uint32_t byte) {
  return 0x02000000 + (partition << 15) + byte;
}

// --- the core ------------------------------------------------------------------------------------

class Compute : public testing::Test {
 protected:
  static constexpr size_t kWindow = 64 << 20;

  Compute() {
    void *va = mmap(nullptr, kWindow, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(va, MAP_FAILED);
    window = static_cast<uint8_t *>(va);
    compute.window = window;
    compute.registers = registers;
    compute.engine = ISA_ENGINE_DVE;
  }
  ~Compute() override { munmap(window, kWindow); }

  template <typename RECORD>
  const char *run(RECORD r, uint8_t opcode) {
    r.h.opcode = opcode;
    r.h.words = ISA_HEADER_WORDS;
    const auto *record = reinterpret_cast<const isa_record *>(&r);
    const char *why = stopped_before(record, compute.engine);
    return why != nullptr ? why : mock_compute_find(opcode)(&compute, record);
  }

  uint8_t *at(uint32_t addr4, uint32_t lane, int64_t element, uint8_t dtype) {
    uint32_t pitch = addr4 >> 25 & 1 ? 0x8000 : 0x40000;
    return window + addr4 + lane * pitch + element * isa_dtype_size(dtype);
  }
  uint64_t bits(uint32_t addr4, uint32_t lane, int64_t element, uint8_t dtype) {
    uint64_t v = 0;
    memcpy(&v, at(addr4, lane, element, dtype), isa_dtype_size(dtype));
    return v;
  }
  void put_bits(uint32_t addr4, uint32_t lane, int64_t element, uint8_t dtype, uint64_t v) {
    memcpy(at(addr4, lane, element, dtype), &v, isa_dtype_size(dtype));
  }
  double value(uint32_t addr4, uint32_t lane, int64_t element, uint8_t dtype = ISA_DTYPE_FP32) {
    return decode(dtype, bits(addr4, lane, element, dtype));
  }
  void put(uint32_t addr4, uint32_t lane, int64_t element, double v,
           uint8_t dtype = ISA_DTYPE_FP32) {
    put_bits(addr4, lane, element, dtype, encode(dtype, v));
  }
  // Elements of a lane in pattern order.
  template <typename PATTERN>
  std::vector<double> values(const PATTERN &p, uint32_t lane, uint8_t dtype) {
    std::vector<double> out;
    for (int64_t o : offsets(p))
      out.push_back(value(p.addr4, lane, o, dtype));
    return out;
  }
  // Random values with few bits, so that every type holds many of them.
  template <typename PATTERN>
  void randomize(const PATTERN &p, uint32_t lanes, uint8_t dtype) {
    std::uniform_int_distribution<int> whole(-400, 400);
    bool is_real = real_format(dtype).mantissa_bits != 0;
    for (uint32_t lane = 0; lane < lanes; lane++)
      for (int64_t o : offsets(p))
        put(p.addr4, lane, o, whole(random) / (is_real ? 16.0 : 4.0), dtype);
  }
  // Everything a record may write, so that stray writes show.
  std::vector<uint8_t> snapshot(uint32_t addr4, uint32_t lanes, uint32_t bytes) {
    std::vector<uint8_t> out;
    for (uint32_t lane = 0; lane < lanes; lane++) {
      const uint8_t *p = at(addr4, lane, 0, ISA_DTYPE_UINT8);
      out.insert(out.end(), p, p + bytes);
    }
    return out;
  }

  uint8_t *window = nullptr;
  uint32_t registers[PROJECT_REGISTERS] = {};
  mock_compute_t compute = {};
  std::mt19937 random{7};
};

inline bool same_number(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}
