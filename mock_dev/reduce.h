// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mock_dev/compute.h"

// 42: folds the fastest one to four dimensions of the source into one value each: add, multiply,
// maximum or minimum, in fp32 and in pattern order, seeded by the first element; negated last where
// the record says so. The destination has as many elements as the other dimensions of the source.
// See mock_compute_fn.
const char *mock_tensor_reduce(const mock_compute_t *compute, const isa_record *record);
