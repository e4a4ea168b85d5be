// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/alu.h"

#include <cmath>

#include "isa/isa.h"

namespace {

struct bypass {
  static float of(float a, float) { return a; }
};
struct add {
  static float of(float a, float b) { return a + b; }
  static uint32_t of(uint32_t a, uint32_t b) { return a + b; }
};
struct subtract {
  static float of(float a, float b) { return a - b; }
  static uint32_t of(uint32_t a, uint32_t b) { return a - b; }
};
struct multiply {
  static float of(float a, float b) { return a * b; }
  static uint32_t of(uint32_t a, uint32_t b) { return a * b; }
};
struct divide {
  static float of(float a, float b) { return a / b; }
};
// A comparison with a NaN is false: the second operand.
struct max {
  static float of(float a, float b) { return a > b ? a : b; }
};
struct min {
  static float of(float a, float b) { return a < b ? a : b; }
};
struct logical_and {
  static float of(float a, float b) { return (a != 0) & (b != 0) ? 1.0f : 0.0f; }
};
struct logical_or {
  static float of(float a, float b) { return (a != 0) | (b != 0) ? 1.0f : 0.0f; }
};
struct logical_xor {
  static float of(float a, float b) { return (a != 0) != (b != 0) ? 1.0f : 0.0f; }
};
struct eq {
  static float of(float a, float b) { return a == b ? 1.0f : 0.0f; }
};
struct ne {
  static float of(float a, float b) { return a != b ? 1.0f : 0.0f; }
};
struct gt {
  static float of(float a, float b) { return a > b ? 1.0f : 0.0f; }
};
struct ge {
  static float of(float a, float b) { return a >= b ? 1.0f : 0.0f; }
};
struct le {
  static float of(float a, float b) { return a <= b ? 1.0f : 0.0f; }
};
struct lt {
  static float of(float a, float b) { return a < b ? 1.0f : 0.0f; }
};
struct abs_difference {
  static float of(float a, float b) { return std::fabs(a - b); }
};
struct absolute {
  static float of(float a, float) { return std::fabs(a); }
};
struct power {
  static float of(float a, float b) {
    return static_cast<float>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
};
// With the sign of the divisor, as the public documents describe it.
struct modulo {
  static float of(float a, float b) {
    float r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
};
struct rsqrt {
  static float of(float a, float) { return 1.0f / std::sqrt(a); }
};

template <typename OP, typename T>
void apply(const T *__restrict a, const T *__restrict b, T *__restrict out, size_t n) {
  for (size_t i = 0; i < n; i++)
    out[i] = OP::of(a[i], b[i]);
}

template <typename OP>
void fold(const float *rows, size_t stride, size_t n, float *into) {
  float sum[MOCK_ALU_ROWS];
  for (size_t r = 0; r < MOCK_ALU_ROWS; r++)
    sum[r] = into[r];
  for (size_t i = 0; i < n; i++)  // rows side by side: within one, each step waits for the last
    for (size_t r = 0; r < MOCK_ALU_ROWS; r++)
      sum[r] = OP::of(sum[r], rows[r * stride + i]);
  for (size_t r = 0; r < MOCK_ALU_ROWS; r++)
    into[r] = sum[r];
}

}  // namespace

mock_alu_fn mock_alu_find(uint8_t op) {
  switch (op) {
    case ISA_ALU_BYPASS:
      return apply<bypass, float>;
    case ISA_ALU_ADD:
      return apply<add, float>;
    case ISA_ALU_SUBTRACT:
      return apply<subtract, float>;
    case ISA_ALU_MULTIPLY:
      return apply<multiply, float>;
    case ISA_ALU_DIVIDE:
      return apply<divide, float>;
    case ISA_ALU_MAX:
      return apply<max, float>;
    case ISA_ALU_MIN:
      return apply<min, float>;
    case ISA_ALU_LOGICAL_AND:
      return apply<logical_and, float>;
    case ISA_ALU_LOGICAL_OR:
      return apply<logical_or, float>;
    case ISA_ALU_LOGICAL_XOR:
      return apply<logical_xor, float>;
    case ISA_ALU_EQ:
      return apply<eq, float>;
    case ISA_ALU_NE:
      return apply<ne, float>;
    case ISA_ALU_GT:
      return apply<gt, float>;
    case ISA_ALU_GE:
      return apply<ge, float>;
    case ISA_ALU_LE:
      return apply<le, float>;
    case ISA_ALU_LT:
      return apply<lt, float>;
    case ISA_ALU_ABS_DIFFERENCE:
      return apply<abs_difference, float>;
    case ISA_ALU_ABS:
      return apply<absolute, float>;
    case ISA_ALU_POW:
      return apply<power, float>;
    case ISA_ALU_MOD:
      return apply<modulo, float>;
    case ISA_ALU_RSQRT:
      return apply<rsqrt, float>;
    default:
      return nullptr;
  }
}

mock_alu_int_fn mock_alu_int_find(uint8_t op) {
  switch (op) {
    case ISA_ALU_ADD:
      return apply<add, uint32_t>;
    case ISA_ALU_SUBTRACT:
      return apply<subtract, uint32_t>;
    case ISA_ALU_MULTIPLY:
      return apply<multiply, uint32_t>;
    default:
      return nullptr;
  }
}

mock_alu_fold_fn mock_alu_fold_find(uint8_t op) {
  switch (op) {
    case ISA_ALU_ADD:
      return fold<add>;
    case ISA_ALU_MULTIPLY:
      return fold<multiply>;
    case ISA_ALU_MAX:
      return fold<max>;
    case ISA_ALU_MIN:
      return fold<min>;
    default:
      return nullptr;
  }
}

void mock_alu_scale_bias(const float *__restrict in, float scale, float bias, size_t n,
                         float *__restrict out) {
  for (size_t i = 0; i < n; i++)
    out[i] = in[i] * scale + bias;
}
