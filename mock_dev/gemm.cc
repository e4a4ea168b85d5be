// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/gemm.h"

#include "mock_dev/dtype.h"

const mock_gemm_kernels_t *mock_gemm_kernels() {
  return mock_cpu_has_avx2() ? &mock_gemm_avx2 : &mock_gemm_portable;
}
