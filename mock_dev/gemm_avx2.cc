// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX2 and FMA: nothing in here may run before the processor was asked.
#include "mock_dev/gemm_kernels.h"

const mock_gemm_kernels_t mock_gemm_avx2 = kernel_table();
