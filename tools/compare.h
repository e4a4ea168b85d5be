// SPDX-License-Identifier: Apache-2.0
// An output against a reference.
#pragma once

#include "tools/tensor_type.h"

struct compare_result_t {
  uint64_t elements = 0;
  uint64_t different = 0;  // |value - reference| > atol + rtol * |reference|, or one of them is NaN
  uint64_t first = 0;      // index of the first of them, C order
  double first_value = 0, first_reference = 0;
  double max_absolute = 0, max_relative = 0;  // over all elements whose difference is a number
};

// `data` holds elements of `dtype` in the shape of `reference`. NRT_INVALID: the reference holds no
// values of that kind: numbers for numbers, or the bits of the type itself; tolerances need values.
NRT_STATUS compare_tensors(uint32_t dtype, std::span<const uint8_t> data,
                           const npy_array &reference, double rtol, double atol,
                           const std::string &where, finding_sink &findings, compare_result_t *out);

// "[3, 17]".
std::string compare_index_text(uint64_t index, const std::vector<uint64_t> &shape);
