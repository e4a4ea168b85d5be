// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/pattern.h"

#include <algorithm>

void mock_pattern_make(uint32_t addr4, const int16_t *step, const uint16_t *count, uint32_t dims,
                       uint8_t dtype, mock_pattern_t *out) {
  *out = mock_pattern_t{};
  isa_walk_make(addr4, step, count, dims, static_cast<uint8_t>(isa_dtype_size(dtype)), out);
  out->pitch = isa_addr4_is_psum(addr4) ? ISA_PSUM_PITCH : ISA_SBUF_PITCH;
  out->dtype = dtype;
}

// Calls visit(byte offset from the lane's first element, elements done so far, elements) for each
// stretch of the innermost dimension in [first, first + n).
template <typename VISIT>
static inline void walk(const mock_pattern_t *p, uint64_t first, size_t n, VISIT visit) {
  if (p->dims == 1) {
    if (n != 0)
      visit(static_cast<int64_t>(first) * p->step[0], size_t{0}, n);
    return;
  }
  uint64_t index[4] = {};
  int64_t offset = 0;
  for (uint32_t d = 0; d < p->dims; d++) {
    index[d] = first % p->count[d];
    first /= p->count[d];
    offset += static_cast<int64_t>(index[d]) * p->step[d];
  }
  for (size_t done = 0; done < n;) {
    size_t part = std::min<uint64_t>(n - done, p->count[0] - index[0]);
    visit(offset, done, part);
    done += part;
    offset -= static_cast<int64_t>(index[0]) * p->step[0];
    index[0] = 0;
    for (uint32_t d = 1; d < p->dims; d++) {
      offset += p->step[d];
      if (++index[d] < p->count[d])
        break;
      offset -= static_cast<int64_t>(p->count[d]) * p->step[d];
      index[d] = 0;
    }
  }
}

void mock_pattern_read(const mock_pattern_t *p, const uint8_t *lane, uint64_t first, size_t n,
                       void *out) {
  auto *to = static_cast<uint8_t *>(out);
  walk(p, first, n, [&](int64_t offset, size_t done, size_t part) {
    mock_dtype_move(p->size, lane + offset, p->step[0], to + done * p->size, p->size, part);
  });
}

void mock_pattern_write(const mock_pattern_t *p, uint8_t *lane, uint64_t first, size_t n,
                        const void *in) {
  const auto *from = static_cast<const uint8_t *>(in);
  walk(p, first, n, [&](int64_t offset, size_t done, size_t part) {
    mock_dtype_move(p->size, from + done * p->size, p->size, lane + offset, p->step[0], part);
  });
}

// Short stretches are put side by side first: converting is dearer per call than moving.
constexpr uint64_t kShort = 32;
constexpr size_t kChunk = 512;

void mock_pattern_load_f32(const mock_pattern_t *p, const uint8_t *lane, uint64_t first, size_t n,
                           float *out) {
  if (p->dims == 1 || p->count[0] >= kShort) {
    walk(p, first, n, [&](int64_t offset, size_t done, size_t part) {
      mock_dtype_load(p->dtype, lane + offset, p->step[0], part, out + done);
    });
    return;
  }
  uint8_t chunk[kChunk * 8];
  for (size_t done = 0; done < n; done += kChunk) {
    size_t part = std::min(kChunk, n - done);
    mock_pattern_read(p, lane, first + done, part, chunk);
    mock_dtype_load(p->dtype, chunk, p->size, part, out + done);
  }
}

void mock_pattern_store_f32(const mock_pattern_t *p, uint8_t *lane, uint64_t first, size_t n,
                            const float *in) {
  if (p->dims == 1 || p->count[0] >= kShort) {
    walk(p, first, n, [&](int64_t offset, size_t done, size_t part) {
      mock_dtype_store(p->dtype, in + done, part, lane + offset, p->step[0]);
    });
    return;
  }
  uint8_t chunk[kChunk * 8];
  for (size_t done = 0; done < n; done += kChunk) {
    size_t part = std::min(kChunk, n - done);
    mock_dtype_store(p->dtype, in + done, part, chunk, p->size);
    mock_pattern_write(p, lane, first + done, part, chunk);
  }
}
