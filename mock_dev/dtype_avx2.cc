// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX2 and F16C: nothing in here may run before the processor was asked.
#include <immintrin.h>

#include "mock_dev/dtype_kernels.h"

namespace {

void load_fp16(const uint8_t *src, size_t n, float *out) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(
        out + i,
        _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i_u *>(src + 2 * i))));
  load<fp16>(src + 2 * i, n - i, out + i);
}

void store_fp16(const float *in, size_t n, uint8_t *dst) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i_u *>(dst + 2 * i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  store<fp16>(in + i, n - i, dst + 2 * i);
}

constexpr mock_dtype_kernels_t with_f16c() {
  mock_dtype_kernels_t table = kernel_table();
  table.load[ISA_DTYPE_FP16] = load_fp16;
  table.store[ISA_DTYPE_FP16] = store_fp16;
  return table;
}

}  // namespace

const mock_dtype_kernels_t mock_dtype_avx2 = with_f16c();
