// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/select.h"

#include <algorithm>
#include <bit>

#include "mock_dev/lanes.h"

namespace {

// Numbers of elements [first, first + n); `base` includes the lane's share. Wraps as int32 does.
void numbers(const isa_data4 &d, uint32_t base, uint64_t first, size_t n, int32_t *out) {
  uint32_t index[4];
  for (int i = 0; i < 4; i++) {
    index[i] = static_cast<uint32_t>(first % d.count[i]);
    first /= d.count[i];
  }
  const auto step = static_cast<uint32_t>(int32_t{d.step[0]});
  for (size_t done = 0; done < n;) {
    uint32_t start = base;
    for (int i = 0; i < 4; i++)
      start += index[i] * static_cast<uint32_t>(int32_t{d.step[i]});
    size_t run = std::min<size_t>(n - done, d.count[0] - index[0]);
    for (size_t i = 0; i < run; i++)
      out[done + i] = static_cast<int32_t>(start + static_cast<uint32_t>(i) * step);
    done += run;
    index[0] = 0;
    for (int i = 1; i < 4 && ++index[i] == d.count[i]; i++)
      index[i] = 0;
  }
}

uint32_t lane_base(const isa_data4 &d, int32_t multiplier, uint32_t lane) {
  return static_cast<uint32_t>(d.base) + lane * static_cast<uint32_t>(multiplier);
}

template <typename COMPARE>
void select(const int32_t *number, const float *in, float fill, size_t n, float *out,
            COMPARE compare) {
  for (size_t i = 0; i < n; i++)
    out[i] = compare(number[i], 0) ? in[i] : fill;
}

using select_fn = void (*)(const int32_t *, const float *, float, size_t, float *);

select_fn select_find(uint8_t compare) {
  switch (compare) {
    case ISA_SELECT_GT:
      return [](const int32_t *k, const float *in, float fill, size_t n, float *out) {
        select(k, in, fill, n, out, [](int32_t a, int32_t b) { return a > b; });
      };
    case ISA_SELECT_GE:
      return [](const int32_t *k, const float *in, float fill, size_t n, float *out) {
        select(k, in, fill, n, out, [](int32_t a, int32_t b) { return a >= b; });
      };
    case ISA_SELECT_EQ:
      return [](const int32_t *k, const float *in, float fill, size_t n, float *out) {
        select(k, in, fill, n, out, [](int32_t a, int32_t b) { return a == b; });
      };
    default:  // ISA_SELECT_NE
      return [](const int32_t *k, const float *in, float fill, size_t n, float *out) {
        select(k, in, fill, n, out, [](int32_t a, int32_t b) { return a != b; });
      };
  }
}

// Numbers stored as `dst` has them: integers of 32 bits as they are, negative ones as 0 where there
// is no sign; everything else through fp32.
void store_numbers(const mock_pattern_t *dst, uint8_t *lane, uint64_t first, size_t n,
                   int32_t *number) {
  if (dst->dtype == ISA_DTYPE_INT32 || dst->dtype == ISA_DTYPE_UINT32) {
    for (size_t i = 0; dst->dtype == ISA_DTYPE_UINT32 && i < n; i++)
      number[i] = std::max(number[i], 0);
    mock_pattern_write(dst, lane, first, n, number);
    return;
  }
  float values[MOCK_LANE_CHUNK];
  for (size_t i = 0; i < n; i++)
    values[i] = static_cast<float>(number[i]);
  mock_pattern_store_f32(dst, lane, first, n, values);
}

}  // namespace

const char *mock_iota(const mock_compute_t *compute, const isa_record *record) {
  const auto r = std::bit_cast<isa_iota>(*record);
  mock_pattern_t dst = mock_pattern_of(r.dst, r.out_dtype);
  int32_t number[MOCK_LANE_CHUNK];
  for (uint32_t lane = 0; lane < r.channels; lane++) {
    uint8_t *to = mock_pattern_lane(&dst, compute->window, lane);
    for (uint64_t first = 0; first < dst.total; first += MOCK_LANE_CHUNK) {
      size_t n = std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total - first);
      numbers(r.pattern, lane_base(r.pattern, r.channel_multiplier, lane), first, n, number);
      store_numbers(&dst, to, first, n, number);
    }
  }
  return nullptr;
}

const char *mock_affine_select(const mock_compute_t *compute, const isa_record *record) {
  const auto r = std::bit_cast<isa_affine_select>(*record);
  mock_pattern_t src = mock_pattern_of(r.src, r.dtypes & 0xF);
  mock_pattern_t dst = mock_pattern_of(r.dst, r.dtypes >> 4);
  select_fn choose = select_find(r.compare);
  const float fill = std::bit_cast<float>(compute->registers[r.fill_register]);
  int32_t number[MOCK_LANE_CHUNK];
  float in[MOCK_LANE_CHUNK], out[MOCK_LANE_CHUNK];
  for (uint32_t lane = 0; lane < r.channels; lane++) {
    const uint8_t *from = mock_pattern_lane(&src, compute->window, lane);
    uint8_t *to = mock_pattern_lane(&dst, compute->window, lane);
    for (uint64_t first = 0; first < dst.total; first += MOCK_LANE_CHUNK) {
      size_t n = std::min<uint64_t>(MOCK_LANE_CHUNK, dst.total - first);
      numbers(r.mask, lane_base(r.mask, r.channel_multiplier, lane), first, n, number);
      choose(number, mock_lane_values(&src, from, first, n, in), fill, n, out);
      mock_pattern_store_f32(&dst, to, first, n, out);
    }
  }
  return nullptr;
}
