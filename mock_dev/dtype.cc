// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/dtype.h"

#include <cpuid.h>

#include <algorithm>
#include <cstring>

bool mock_cpu_has_avx2() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;  // F16C is no name every compiler knows
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 &&
           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  }();
  return has;
}

static const mock_dtype_kernels_t &kernels() {
  return mock_cpu_has_avx2() ? mock_dtype_avx2 : mock_dtype_portable;
}

template <uint32_t SIZE>
static void move(const uint8_t *src, int64_t src_stride, uint8_t *dst, int64_t dst_stride,
                 size_t n) {
  for (size_t i = 0; i < n; i++, src += src_stride, dst += dst_stride)
    memcpy(dst, src, SIZE);
}

void mock_dtype_move(uint32_t size, const uint8_t *src, int64_t src_stride, uint8_t *dst,
                     int64_t dst_stride, size_t n) {
  if (src_stride == size && dst_stride == size) {
    memmove(dst, src, n * size);
    return;
  }
  switch (size) {
    case 1:
      return move<1>(src, src_stride, dst, dst_stride, n);
    case 2:
      return move<2>(src, src_stride, dst, dst_stride, n);
    case 4:
      return move<4>(src, src_stride, dst, dst_stride, n);
    default:
      return move<8>(src, src_stride, dst, dst_stride, n);
  }
}

constexpr size_t kChunk = 512;  // elements gathered at a time

void mock_dtype_load(uint8_t dtype, const uint8_t *src, int64_t stride, size_t n, float *out) {
  uint32_t size = isa_dtype_size(dtype);
  auto load = kernels().load[dtype];
  if (stride == size)
    return load(src, n, out);
  uint8_t chunk[kChunk * 8];
  for (size_t done = 0; done < n; done += kChunk) {
    size_t part = std::min(kChunk, n - done);
    mock_dtype_move(size, src + static_cast<int64_t>(done) * stride, stride, chunk, size, part);
    load(chunk, part, out + done);
  }
}

void mock_dtype_store(uint8_t dtype, const float *in, size_t n, uint8_t *dst, int64_t stride) {
  uint32_t size = isa_dtype_size(dtype);
  auto store = kernels().store[dtype];
  if (stride == size)
    return store(in, n, dst);
  uint8_t chunk[kChunk * 8];
  for (size_t done = 0; done < n; done += kChunk) {
    size_t part = std::min(kChunk, n - done);
    store(in + done, part, chunk);
    mock_dtype_move(size, chunk, size, dst + static_cast<int64_t>(done) * stride, stride, part);
  }
}

static bool is_fp32_array(uint8_t dtype, const uint8_t *p, int64_t stride) {
  return dtype == ISA_DTYPE_FP32 && stride == sizeof(float) &&
         reinterpret_cast<uintptr_t>(p) % alignof(float) == 0;
}

void mock_dtype_convert(uint8_t from, const uint8_t *src, int64_t src_stride, uint8_t to,
                        uint8_t *dst, int64_t dst_stride, size_t n) {
  if (from == to)
    return mock_dtype_move(isa_dtype_size(from), src, src_stride, dst, dst_stride, n);
  if (is_fp32_array(from, src, src_stride))
    return mock_dtype_store(to, static_cast<const float *>(static_cast<const void *>(src)), n, dst,
                            dst_stride);
  if (is_fp32_array(to, dst, dst_stride))
    return mock_dtype_load(from, src, src_stride, n,
                           static_cast<float *>(static_cast<void *>(dst)));
  float chunk[kChunk];
  for (size_t done = 0; done < n; done += kChunk) {
    size_t part = std::min(kChunk, n - done);
    auto at = static_cast<int64_t>(done);
    mock_dtype_load(from, src + at * src_stride, src_stride, part, chunk);
    mock_dtype_store(to, chunk, part, dst + at * dst_stride, dst_stride);
  }
}
