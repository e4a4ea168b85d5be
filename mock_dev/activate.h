// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mock_dev/compute.h"

// 21: out = f(in * scale + bias) in fp32, multiplied and added in two steps; f from the resident
// tables, or in double precision (compute->exact_functions), which needs no tables (but where a set
// is resident, the function has to be in it). See mock_compute_fn.
const char *mock_activate(const mock_compute_t *compute, const isa_record *record);
