// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/gemm_kernels.h"

const mock_gemm_kernels_t mock_gemm_portable = kernel_table();
