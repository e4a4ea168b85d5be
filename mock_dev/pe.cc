// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/pe.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "mock_dev/pattern.h"

namespace {

constexpr uint32_t kQuarterBytes = MOCK_PE_QUARTER * 4;

// A rectangle of the array.
struct area_t {
  uint32_t row, rows, column, columns;
};

template <typename RECORD>  // isa_ldweights, isa_matmul
area_t area_of(const RECORD &r) {
  return {isa_pe_group_first(r.row_group), r.rows, isa_pe_group_first(r.column_group), r.columns};
}

// The last element first: storing its elements in this order leaves column 0 first.
void reverse(mock_pattern_t *p) {
  int64_t last = 0;
  for (uint32_t i = 0; i < p->dims; i++) {
    last += static_cast<int64_t>(p->count[i] - 1) * p->step[i];
    p->step[i] = -p->step[i];
  }
  p->address = static_cast<uint32_t>(p->address + last);
}

// Lanes lie 256 KiB apart, too far for the processor to guess the next one.
void prefetch(const uint8_t *lane, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 64)
    __builtin_prefetch(lane + i);
}

// A whole quarter of a row, in copies the compiler can see through.
void copy_quarter(const uint8_t *from, uint32_t size, uint8_t *to) {
  for (uint32_t i = 0; i < size; i++)
    memcpy(to + i * MOCK_PE_QUARTER, from + i * MOCK_PE_QUARTER, MOCK_PE_QUARTER);
}

// Visits the part of an area in each tile: visit(tile row, tile column, first row in the array,
// rows, columns).
template <typename VISIT>
void for_tiles(const area_t &a, VISIT visit) {
  for (uint32_t r = 0; r < a.rows; r += MOCK_PE_QUARTER)
    for (uint32_t c = 0; c < a.columns; c += MOCK_PE_QUARTER)
      visit((a.row + r) / MOCK_PE_QUARTER, (a.column + c) / MOCK_PE_QUARTER,
            std::min(MOCK_PE_QUARTER, a.rows - r), std::min(MOCK_PE_QUARTER, a.columns - c));
}

// The part of each number an fp32 mode takes: 1 what rounding to an 11-bit fraction leaves, 2 the
// rounded number, 3 and 0 all of it. Parts 1 and 2 add up to the number. Transposes move all of it.
void take_part(uint8_t dtype, uint8_t mode, uint8_t transpose, float *values, size_t n) {
  bool wide = dtype == ISA_DTYPE_FP32 || dtype == ISA_DTYPE_FP32R;
  if (!wide || transpose != 0 || mode == 0 || mode == 3)
    return;
  for (size_t i = 0; i < n; i++) {
    float high;
    mock_dtype_store(ISA_DTYPE_FP32R, &values[i], 1, reinterpret_cast<uint8_t *>(&high), 4);
    if (std::isinf(high) && !std::isinf(values[i])) {  // rounded beyond the largest number: cut
      uint32_t bits = std::bit_cast<uint32_t>(values[i]) & ~0xFFFu;
      high = std::bit_cast<float>(bits);
    }
    float low = std::isinf(high) ? 0.0F : values[i] - high;
    values[i] = mode == 1 ? low : high;
  }
}

// Row `row` of an area of the weights as fp32.
void weights_row(const mock_pe_t *pe, const area_t &a, uint32_t row, float *out) {
  for (uint32_t c = 0; c < a.columns; c += MOCK_PE_QUARTER) {
    uint32_t quarter = (a.column + c) / MOCK_PE_QUARTER;
    const mock_pe_tile_t &t = pe->tile[row / MOCK_PE_QUARTER][quarter];
    uint32_t n = std::min(MOCK_PE_QUARTER, a.columns - c);
    mock_dtype_load(t.dtype, pe->raw[row] + quarter * kQuarterBytes, isa_dtype_size(t.dtype), n,
                    out + c);
    take_part(t.dtype, t.fp32_mode, t.transpose, out + c, n);
  }
}

// Columns are dealt evenly to panels of at most MOCK_GEMM_ROWS: no panel is much narrower than the
// others, narrow ones are slow.
struct panels_t {
  uint32_t count, least, wider;  // the first `wider` have one more than `least`
};
panels_t panels_of(uint32_t columns) {
  uint32_t count = (columns + MOCK_GEMM_ROWS - 1) / MOCK_GEMM_ROWS;
  return {count, columns / count, columns % count};
}

// Overwrites what was packed of a moving operand.
void pack_weights(mock_pe_t *pe, const area_t &a) {
  if (pe->packed_rows == a.rows && pe->packed_columns == a.columns && pe->packed_row == a.row &&
      pe->packed_column == a.column)
    return;
  constexpr size_t kPitch = MOCK_PE_COLUMNS + 8;  // a copy of 8 may reach beyond the last column
  float *rows = pe->moving[0];
  static_assert(sizeof pe->moving >= MOCK_PE_ROWS * kPitch * sizeof(float));
  for (uint32_t k = 0; k < a.rows; k++)
    weights_row(pe, a, a.row + k, rows + k * kPitch);
  // Eight at a time: what a copy writes too much is overwritten by the next one.
  static_assert(MOCK_GEMM_ROWS <= 8);
  float *to = pe->packed;
  panels_t panels = panels_of(a.columns);
  for (uint32_t i = 0, m = 0; i < panels.count; i++) {
    uint32_t width = panels.least + (i < panels.wider ? 1 : 0);
    for (uint32_t k = 0; k < a.rows; k++, to += width)
      memcpy(to, rows + k * kPitch + m, 8 * sizeof(float));
    m += width;
  }
  pe->packed_row = a.row, pe->packed_column = a.column;
  pe->packed_rows = a.rows, pe->packed_columns = a.columns;
}

// A MATMUL on its way.
struct product_t {
  mock_pe_t *pe;
  const mock_gemm_kernels_t *kernels;
  uint8_t *window;
  area_t area;
  mock_pattern_t moving, dst;
  uint8_t fp32_mode, transpose;
  bool begin;
};

// Packs the moving operand; with `state` also finds its columns with a single 1.0.
void pack_moving(const product_t &p, int32_t *state) {
  auto n = static_cast<uint32_t>(p.moving.total);
  alignas(32) float row[MOCK_PE_MOVING] = {};
  for (uint32_t k = 0; k < p.area.rows; k++) {
    if (k + 1 < p.area.rows)
      prefetch(mock_pattern_lane(&p.moving, p.window, k + 1), n * p.moving.size);
    mock_pattern_load_f32(&p.moving, mock_pattern_lane(&p.moving, p.window, k), 0, n, row);
    take_part(p.moving.dtype, p.fp32_mode, p.transpose, row, n);
    if (state != nullptr)
      p.kernels->one_hot(row, n, static_cast<int32_t>(k), state);
    p.kernels->deal(row, (n + MOCK_GEMM_COLUMNS - 1) / MOCK_GEMM_COLUMNS,
                    &p.pe->moving[0][k * MOCK_GEMM_COLUMNS], sizeof p.pe->moving[0]);
  }
}

// Elements [first, first + n) of a destination lane: overwritten, or added to one after the other
// where the pattern meets an element again.
void accumulate(const product_t &p, uint8_t *lane, uint64_t first, size_t n, const float *values) {
  if (p.begin)
    return mock_pattern_store_f32(&p.dst, lane, first, n, values);
  const mock_pattern_t *d = &p.dst;
  for (size_t done = 0; done < n;) {
    uint64_t run = d->step[0] == 0 ? 1 : d->count[0] - (first + done) % d->count[0];
    size_t part = std::min<uint64_t>(n - done, run);
    float sum[MOCK_GEMM_COLUMNS];
    uint32_t counts[MOCK_GEMM_COLUMNS];
    if (d->dtype == ISA_DTYPE_UINT32) {
      mock_pattern_read(d, lane, first + done, part, counts);
      for (size_t i = 0; i < part; i++)
        counts[i] += static_cast<uint32_t>(values[done + i]);
      mock_pattern_write(d, lane, first + done, part, counts);
    } else {
      mock_pattern_load_f32(d, lane, first + done, part, sum);
      for (size_t i = 0; i < part; i++)
        sum[i] += values[done + i];
      mock_pattern_store_f32(d, lane, first + done, part, sum);
    }
    done += part;
  }
}

void multiply(const product_t &p) {
  auto n = static_cast<uint32_t>(p.dst.total);
  bool direct = isa_walk_contiguous(&p.dst) && p.dst.dtype == ISA_DTYPE_FP32;
  panels_t panels = panels_of(p.area.columns);
  for (uint32_t column = 0; column < n; column += MOCK_GEMM_COLUMNS) {
    uint32_t width = std::min(MOCK_GEMM_COLUMNS, n - column);
    const float *b = p.pe->moving[column / MOCK_GEMM_COLUMNS];
    for (uint32_t i = 0, m = 0; i < panels.count; i++) {
      uint32_t rows = panels.least + (i < panels.wider ? 1 : 0);
      const float *a = p.pe->packed + static_cast<size_t>(m) * p.area.rows;
      uint8_t *lane = mock_pattern_lane(&p.dst, p.window, m);
      if (direct && width == MOCK_GEMM_COLUMNS) {
        p.kernels->tile[rows](p.area.rows, a, b, reinterpret_cast<float *>(lane + column * 4UL),
                              p.dst.pitch, !p.begin);
      } else {
        alignas(32) float part[MOCK_GEMM_ROWS][MOCK_GEMM_COLUMNS];
        p.kernels->tile[rows](p.area.rows, a, b, part[0], sizeof part[0], false);
        for (uint32_t r = 0; r < rows; r++)
          accumulate(p, lane + static_cast<uint64_t>(r) * p.dst.pitch, column, width, part[r]);
      }
      m += rows;
    }
  }
}

// Where every column of the moving operand is a single 1.0, elements of the weights move as they
// are: element n of lane m is column m of the row that column n names. Eight lanes at a time, all
// of one quarter.
constexpr uint32_t kMoveLanes = 8;

template <typename T>
void move_elements(const product_t &p, const int32_t *state) {
  auto n = static_cast<uint32_t>(p.dst.total);
  T lines[kMoveLanes][MOCK_PE_MOVING];
  for (uint32_t m = 0; m < p.area.columns; m += kMoveLanes) {
    uint32_t c = p.area.column + m;
    uint32_t at = c / MOCK_PE_QUARTER * kQuarterBytes + c % MOCK_PE_QUARTER * sizeof(T);
    for (uint32_t i = 0; i < n; i++) {
      T column[kMoveLanes];
      memcpy(column, &p.pe->raw[p.area.row + static_cast<uint32_t>(state[i])][at], sizeof column);
      for (uint32_t lane = 0; lane < kMoveLanes; lane++)
        lines[lane][i] = column[lane];
    }
    for (uint32_t lane = 0; lane < std::min(kMoveLanes, p.area.columns - m); lane++)
      mock_pattern_write(&p.dst, mock_pattern_lane(&p.dst, p.window, m + lane), 0, n, lines[lane]);
  }
}

bool move_all(const product_t &p, const int32_t *state) {
  if (!p.begin)
    return false;
  for (uint64_t i = 0; i < p.dst.total; i++)
    if (state[i] < 0)
      return false;
  switch (p.dst.size) {
    case 1:
      move_elements<uint8_t>(p, state);
      break;
    case 2:
      move_elements<uint16_t>(p, state);
      break;
    default:
      move_elements<uint32_t>(p, state);
      break;
  }
  return true;
}

// Whether the weights that are there are those the MATMUL asks for.
const char *check_weights(const mock_pe_t *pe, const isa_matmul &r, const area_t &area) {
  const char *why = nullptr;
  for_tiles(area, [&](uint32_t row, uint32_t column, uint32_t rows, uint32_t columns) {
    const mock_pe_tile_t &t = pe->tile[row][column];
    if (rows > t.rows || columns > t.columns)
      why = "more rows or columns than weights were loaded for";
    else if (t.transpose != r.transpose)
      why = "transpose mode differs from that of the weights";
    else if (r.transpose != 0 && t.dtype != r.dtype)
      why = "transpose of weights of another type";
    else if ((t.dtype == ISA_DTYPE_UINT8) != (r.dtype == ISA_DTYPE_UINT8))
      why = "uint8 with another type";
  });
  return why;
}

uint8_t dst_dtype(const isa_matmul &r) {
  if (r.transpose != 0)
    return r.dtype;
  return r.dtype == ISA_DTYPE_UINT8 ? ISA_DTYPE_UINT32 : ISA_DTYPE_FP32;
}

}  // namespace

const char *mock_pe_ldweights(const mock_compute_t *compute, const isa_record *record) {
  isa_ldweights r;
  static_assert(sizeof r == sizeof *record);
  memcpy(&r, record, sizeof r);
  const area_t area = area_of(r);
  mock_pattern_t p = mock_pattern_of(r.src, r.dtype);
  reverse(&p);
  mock_pe_t *pe = compute->pe;
  for_tiles(area, [&](uint32_t row, uint32_t column, uint32_t rows, uint32_t columns) {
    pe->tile[row][column] = {static_cast<uint8_t>(rows), static_cast<uint8_t>(columns), r.dtype,
                             r.fp32_mode, r.transpose};
  });
  pe->packed_rows = 0;
  uint8_t line[MOCK_PE_COLUMNS * 4];
  for (uint32_t k = 0; k < area.rows; k++) {
    const uint8_t *from = mock_pattern_lane(&p, compute->window, k);
    if (k + 1 < area.rows)
      prefetch(from + p.pitch, area.columns * p.size);
    if (!isa_walk_contiguous(&p)) {
      mock_pattern_read(&p, from, 0, area.columns, line);
      from = line;
    }
    uint8_t *to = pe->raw[area.row + k] + area.column / MOCK_PE_QUARTER * kQuarterBytes;
    uint32_t c = 0;
    for (; c + MOCK_PE_QUARTER <= area.columns; c += MOCK_PE_QUARTER, to += kQuarterBytes)
      copy_quarter(from + c * p.size, p.size, to);
    memcpy(to, from + c * p.size, (area.columns - c) * p.size);
  }
  return nullptr;
}

const char *mock_pe_matmul(const mock_compute_t *compute, const isa_record *record) {
  isa_matmul r;
  static_assert(sizeof r == sizeof *record);
  memcpy(&r, record, sizeof r);
  product_t p{};
  p.pe = compute->pe;
  p.kernels = mock_gemm_kernels();
  p.window = compute->window;
  p.fp32_mode = r.fp32_mode, p.transpose = r.transpose;
  p.begin = (r.flags & ISA_MATMUL_BEGIN) != 0;
  p.area = area_of(r);
  const char *why = check_weights(p.pe, r, p.area);
  if (why != nullptr)
    return why;
  p.moving = mock_pattern_of(r.src, r.dtype);
  p.dst = mock_pattern_of(r.dst, dst_dtype(r));
  if (r.transpose != 0) {
    int32_t state[MOCK_PE_MOVING];
    std::fill(state, state + MOCK_PE_MOVING, MOCK_ONE_HOT_EMPTY);
    pack_moving(p, state);
    if (move_all(p, state))
      return nullptr;
  }
  pack_weights(p.pe, p.area);
  pack_moving(p, nullptr);
  multiply(p);
  return nullptr;
}
