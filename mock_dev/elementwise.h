// SPDX-License-Identifier: Apache-2.0
// Records that work element by element (neuroncore-isa.md 4.4, verified-attention.md 6). See
// mock_compute_fn for what they take and answer.
#pragma once

#include "mock_dev/compute.h"

// 41: src0 op src1, src0 the left operand. 32-bit integers on the Pool engine are added, subtracted
// and multiplied exactly; everything else goes through fp32.
const char *mock_tensor_tensor(const mock_compute_t *compute, const isa_record *record);
// 43: (x op0 s0) op1 s1, each pair swapped by its reverse bit; scalars are fp32.
const char *mock_tensor_scalar(const mock_compute_t *compute, const isa_record *record);
// 46: bits as they are.
const char *mock_copy(const mock_compute_t *compute, const isa_record *record);
// 47: through fp32.
const char *mock_cast(const mock_compute_t *compute, const isa_record *record);
// 48: 1 / x in fp32.
const char *mock_reciprocal(const mock_compute_t *compute, const isa_record *record);
// 49: the raw bits of `value` everywhere.
const char *mock_memset(const mock_compute_t *compute, const isa_record *record);
