// SPDX-License-Identifier: Apache-2.0
// Records that number their elements: base + sum of index * step + lane * multiplier, in int32,
// lanes counted from the record's first (neuroncore-isa.md 4.4, verified-attention.md 6). See
// mock_compute_fn.
#pragma once

#include "mock_dev/compute.h"

// 7E: stores the numbers, cast to the destination's type.
const char *mock_iota(const mock_compute_t *compute, const isa_record *record);
// 92: the source where its number compares with 0 as the record says, else the fill value, fp32
// bits in a register.
const char *mock_affine_select(const mock_compute_t *compute, const isa_record *record);
