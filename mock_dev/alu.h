// SPDX-License-Identifier: Apache-2.0
// The ALU operations of the engines (neuroncore-isa.md 4.5) on arrays. Arithmetic is fp32, each
// operation rounded by itself; minimum and maximum with a NaN give the second operand (rulings.md
// 25); comparisons and logicals give 1.0 or 0.0. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

// out[i] = a[i] op b[i]; `out` is apart from both. Operations of one operand take it from `a`.
using mock_alu_fn = void (*)(const float *a, const float *b, float *out, size_t n);
// nullptr: no such operation, or one of the bit forms (opcodes 51, 53, 9E) only.
mock_alu_fn mock_alu_find(uint8_t op);

// The same on 32-bit integers, signed or not: exact, wraps. nullptr: not one of add, subtract,
// multiply.
using mock_alu_int_fn = void (*)(const uint32_t *a, const uint32_t *b, uint32_t *out, size_t n);
mock_alu_int_fn mock_alu_int_find(uint8_t op);

// Folds `n` values of each of MOCK_ALU_ROWS rows, `stride` values apart, into the row's sum, one
// after the other: into[r] = (..(into[r] op row[0]) op row[1]..).
constexpr size_t MOCK_ALU_ROWS = 8;
using mock_alu_fold_fn = void (*)(const float *rows, size_t stride, size_t n, float *into);
// nullptr: not one of add, multiply, max, min.
mock_alu_fold_fn mock_alu_fold_find(uint8_t op);

// out[i] = in[i] * scale + bias, rounded after each step; `out` is apart from `in`.
void mock_alu_scale_bias(const float *in, float scale, float bias, size_t n, float *out);
