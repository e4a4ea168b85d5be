// SPDX-License-Identifier: Apache-2.0
// Element types of model inputs and outputs, as files and people see them. `dtype` is an
// nrt_dtype_t value.
#pragma once

#include "tools/npy.h"

const char *tensor_type_name(uint32_t dtype);  // "bfloat16"; "unknown" for other values
uint32_t tensor_type_size(uint32_t dtype);     // bytes; 1 when unknown

// Whether an array of a .npy file holds elements of this type. NumPy has no bfloat16 and no fp8:
// they are stored as unsigned integers or raw bytes of their size.
bool tensor_type_accepts(uint32_t dtype, const npy_array &array);
// "float32", "uint16 or 2 raw bytes (bfloat16)": what tensor_type_accepts wants.
std::string tensor_type_stored_as(uint32_t dtype);
// Sets kind and item size for writing.
void tensor_type_to_npy(uint32_t dtype, npy_array *out);

// False for types whose values are not read here (fp8, unknown ones): only their bits compare.
bool tensor_type_has_values(uint32_t dtype);
// 64-bit integers lose bits above 53.
double tensor_type_value(uint32_t dtype, const uint8_t *element);
// The same for an element of a .npy file.
double tensor_type_npy_value(const npy_array &array, uint64_t index);

// Elements [first, first + count) of a random tensor: normal floats (mean 0, deviation 1), integers
// from -8 (unsigned: 0) to 8, random bits for types without values but never NaN. The same for the
// same seed and position.
void tensor_type_random(uint32_t dtype, uint64_t seed, uint64_t first, uint64_t count,
                        uint8_t *out);
