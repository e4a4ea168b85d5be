// SPDX-License-Identifier: Apache-2.0
// The data types of the engines (isa_dtype_t): arrays of them to and from fp32, and raw moves.
// Rounding by rulings.md 25 and neuroncore-isa.md 5: nearest even everywhere; integers clamp and
// NaN gives 0; fp16 and bf16 overflow to infinity; fp8 saturates, infinity included; denormals are
// kept, NaN stays NaN. Pure functions, any thread, no allocation, no alignment asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/isa.h"

// A type that can be converted; everything below asks for such types.
inline bool mock_dtype_valid(uint8_t dtype) {
  return isa_dtype_size(dtype) != 0;
}

// `n` elements, `stride` bytes from one to the next (negative and 0 are fine), as fp32.
void mock_dtype_load(uint8_t dtype, const uint8_t *src, int64_t stride, size_t n, float *out);
// And back. With stride 0 the last element stays.
void mock_dtype_store(uint8_t dtype, const float *in, size_t n, uint8_t *dst, int64_t stride);

// Moves elements of `size` bytes (1, 2, 4, 8) as they are. Source and destination are disjoint or
// the same elements.
void mock_dtype_move(uint32_t size, const uint8_t *src, int64_t src_stride, uint8_t *dst,
                     int64_t dst_stride, size_t n);

// Elements of one type to another: bits as they are between equal types, through fp32 otherwise.
void mock_dtype_convert(uint8_t from, const uint8_t *src, int64_t src_stride, uint8_t to,
                        uint8_t *dst, int64_t dst_stride, size_t n);

// The conversions of consecutive elements, once per instruction set; same bits from both. The
// functions above take the best one the processor has.
struct mock_dtype_kernels_t {
  void (*load[16])(const uint8_t *src, size_t n, float *out);
  void (*store[16])(const float *in, size_t n, uint8_t *dst);
};
extern const mock_dtype_kernels_t mock_dtype_portable;
extern const mock_dtype_kernels_t mock_dtype_avx2;  // AVX2 and F16C
bool mock_cpu_has_avx2();                           // with F16C and FMA
