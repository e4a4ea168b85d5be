// SPDX-License-Identifier: Apache-2.0
#include "tdrv/dma_expand.h"

#include <algorithm>
#include <iterator>

#include "base/checked.h"
#include "base/nlog.h"
#include "isa/isa.h"

namespace {

// One side of a transfer, in elements in the order of the pattern, innermost index fastest. An
// element is a byte, or what a cast converts.
struct side_t {
  const kbin_dma_pattern_t *pattern;
  mem_ref_place_t place;  // of the pattern's start
  uint8_t dtype;          // isa_dtype_t of a cast
  uint32_t unit;          // bytes per element
  uint64_t total;         // elements
  uint64_t row;           // elements of a row
  bool contiguous;        // its rows follow one another
};

// A part of a side while it is cut into descriptors.
struct cursor_t {
  const side_t *side;
  uint64_t at, end;  // elements
  uint64_t cut;      // where a contiguous share is divided; `end`: nowhere
  vring_run_t runs[HAL_DMA_PACKET_DESCS_MAX];
  uint32_t count;
  uint64_t taken;  // elements of `runs`
};

const char *op_name(kbin_dma_desc_op_t op) {
  switch (op) {
    case kbin_dma_desc_op_t::COPY:
      return "copy";
    case kbin_dma_desc_op_t::FMA:
      return "fma";
    case kbin_dma_desc_op_t::ADD:
      return "add";
    case kbin_dma_desc_op_t::MIN:
      return "min";
    case kbin_dma_desc_op_t::MAX:
      return "max";
    case kbin_dma_desc_op_t::TRANSPOSE:
      return "transpose";
    case kbin_dma_desc_op_t::CAST:
      return "cast";
    default:
      return "unknown";
  }
}

uint8_t isa_dtype_of(uint8_t dtype) {
  constexpr uint8_t kTypes[] = {
      ISA_DTYPE_INVALID, ISA_DTYPE_FP8E3,  ISA_DTYPE_FP8E4,  ISA_DTYPE_FP8E5,
      ISA_DTYPE_FP16,    ISA_DTYPE_FP32,   ISA_DTYPE_FP32R,  ISA_DTYPE_BF16,
      ISA_DTYPE_UINT8,   ISA_DTYPE_UINT16, ISA_DTYPE_UINT32, ISA_DTYPE_UINT64,
      ISA_DTYPE_INT8,    ISA_DTYPE_INT16,  ISA_DTYPE_INT32,  ISA_DTYPE_INT64};
  static_assert(std::size(kTypes) == KBIN_DTYPE_INT64 + 1);
  return dtype < std::size(kTypes) ? kTypes[dtype] : static_cast<uint8_t>(ISA_DTYPE_INVALID);
}

NRT_STATUS measure_side(const kbin_dma_pattern_t &pattern, side_t *out) {
  uint64_t total = 1;
  for (uint32_t i = 0; i < pattern.ndims; ++i) {
    if (pattern.sizes[i] == 0 || !checked_mul(total, pattern.sizes[i], &total)) {
      NLOG_ERROR(NLOG_TDRV,
                 "a pattern on variable id {} has size {} in dimension {}: no or too many bytes",
                 pattern.var_id, pattern.sizes[i], i);
      return NRT_INVALID;
    }
  }
  bool dense = pattern.ndims != 0 && (pattern.steps[0] == 1 || pattern.sizes[0] == 1);
  uint64_t row = dense ? pattern.sizes[0] : 1;
  if (row % out->unit != 0) {
    NLOG_ERROR(NLOG_TDRV,
               "a pattern on variable id {} has rows of {} bytes for elements of {} bytes",
               pattern.var_id, row, out->unit);
    return NRT_INVALID;
  }
  out->total = total / out->unit;
  out->row = row / out->unit;
  out->contiguous = kbin_dma_pattern_is_contiguous(pattern);
  return NRT_SUCCESS;
}

NRT_STATUS open_side(const vtpb_info_shared_t *info, uint32_t subgraph,
                     const kbin_dma_pattern_t &pattern, bool casts, side_t *out) {
  *out = {};
  out->pattern = &pattern;
  out->dtype = isa_dtype_of(pattern.dtype);
  out->unit = casts ? isa_dtype_size(out->dtype) : 1;
  NRT_STATUS status = measure_side(pattern, out);
  if (status != NRT_SUCCESS)
    return status;
  uint64_t begin = 0, end = 0;
  if (!kbin_dma_pattern_range(pattern, &begin, &end)) {
    NLOG_ERROR(NLOG_TDRV,
               "a pattern at offset {} of variable id {} begins before it or does not fit 63 bits",
               pattern.offset, pattern.var_id);
    return NRT_INVALID;
  }
  status = mem_ref_resolve(info, subgraph, pattern.var_id, begin, end - begin, &out->place);
  out->place.address += pattern.offset - begin;
  out->place.io_offset += pattern.offset - begin;
  return status;
}

// Element `at` of the pattern: its byte from the start, and how many elements follow it there.
int64_t locate(const side_t *side, uint64_t at, uint64_t *left) {
  if (side->contiguous) {
    *left = side->total - at;
    return static_cast<int64_t>(at * side->unit);
  }
  *left = side->row - at % side->row;
  uint64_t byte = at * side->unit;
  int64_t offset = 0;
  for (uint32_t i = 0; i < side->pattern->ndims; ++i) {
    offset += static_cast<int64_t>(byte % side->pattern->sizes[i]) * side->pattern->steps[i];
    byte /= side->pattern->sizes[i];
  }
  return offset;
}

void take_run(cursor_t *cursor) {
  const side_t *side = cursor->side;
  uint64_t left = 0;
  int64_t offset = locate(side, cursor->at, &left);
  uint64_t stop = cursor->at < cursor->cut ? cursor->cut : cursor->end;
  left = std::min({left, stop - cursor->at, uint64_t{HAL_DMA_DESC_BYTES_MAX / side->unit}});
  cursor->runs[cursor->count++] = {side->place.address + static_cast<uint64_t>(offset),
                                   static_cast<uint32_t>(left * side->unit), side->place.io_slot,
                                   side->place.io_offset + static_cast<uint64_t>(offset)};
  cursor->at += left;
  cursor->taken += left;
}

bool is_full(const cursor_t *cursor) {
  return cursor->count == HAL_DMA_PACKET_DESCS_MAX ||
         cursor->taken * cursor->side->unit + HAL_DMA_DESC_BYTES_MAX > HAL_DMA_PACKET_BYTES_MAX;
}

// Gives back what a side has more than the other.
void shorten(cursor_t *cursor, uint64_t elements) {
  uint64_t excess = cursor->taken - elements;
  cursor->at -= excess;
  cursor->taken = elements;
  vring_run_t *last = &cursor->runs[cursor->count - 1];
  auto bytes = static_cast<uint32_t>(excess * cursor->side->unit);
  if (bytes == last->length)
    --cursor->count;
  else
    last->length -= bytes;
}

// A packet ends where both sides have a descriptor's end, or where a limit is reached.
NRT_STATUS next_packet(cursor_t *src, cursor_t *dst, bool casts, vring_t *ring) {
  src->count = dst->count = 0;
  src->taken = dst->taken = 0;
  do {
    cursor_t *behind = src->taken <= dst->taken ? src : dst;
    if (is_full(behind))
      break;
    take_run(behind);
  } while (src->taken != dst->taken);
  uint64_t both = std::min(src->taken, dst->taken);
  for (cursor_t *cursor : {src, dst})
    if (cursor->taken > both)
      shorten(cursor, both);
  vring_cast_t cast = {src->side->dtype, dst->side->dtype};
  return vring_add_packet(ring, casts ? &cast : nullptr, src->runs, src->count, dst->runs,
                          dst->count);
}

// Elements that go together to one ring: from `src_at` on to `dst_at` on. `half` of them make the
// first of the two descriptors of a contiguous side.
struct share_t {
  uint64_t src_at, dst_at, count, half;
};

void open_cursor(const side_t *side, uint64_t at, const share_t &share, cursor_t *out) {
  out->side = side;
  out->at = at;
  out->end = at + share.count;
  out->cut = side->contiguous ? at + share.half : out->end;
}

NRT_STATUS add_share(const side_t *src, const side_t *dst, const share_t &share, bool casts,
                     vring_t *ring) {
  cursor_t from, to;
  open_cursor(src, share.src_at, share, &from);
  open_cursor(dst, share.dst_at, share, &to);
  NRT_STATUS status = NRT_SUCCESS;
  while (status == NRT_SUCCESS && from.at < from.end)
    status = next_packet(&from, &to, casts, ring);
  return status;
}

// Rows of the dimensions that are dealt.
uint64_t dealt_rows(const side_t *side, int32_t dims) {
  const kbin_dma_pattern_t &pattern = *side->pattern;
  uint64_t rows = 1;
  for (uint32_t i = kbin_dma_pattern_first_dealt(pattern, dims); i < pattern.ndims; ++i)
    rows *= pattern.sizes[i];
  return rows;
}

// Rows to deal of one source: those of a strided side. A contiguous side can be cut anywhere and is
// often written as one row.
uint64_t rows_to_deal(const side_t *src, const side_t *dst, int32_t dims) {
  uint64_t a = dealt_rows(src, dims), b = dealt_rows(dst, dims);
  uint64_t each = dst->total / b;  // elements of a dealt row of the destination
  if (src->total != dst->total) {  // one source of several
    if (src->total % each != 0)
      return a;
    b = src->total / each;
  }
  if (src->contiguous != dst->contiguous)
    return src->contiguous ? b : a;
  return src->contiguous ? std::max(a, b) : std::min(a, b);
}

// One share of the rows to each ring.
NRT_STATUS deal(const side_t *src, const side_t *dst, uint64_t dst_at, int32_t dims, bool casts,
                vring_t *rings, uint32_t num_rings) {
  uint64_t rows = rows_to_deal(src, dst, dims);
  uint64_t row = src->total / rows;
  share_t share = {0, dst_at, 0, 0};
  for (uint32_t k = 0; k < num_rings; ++k) {
    uint64_t count = kbin_dma_share(rows, k, num_rings);
    if (count == 0)
      break;
    share.count = count * row;
    share.half = count > 1 ? (count + 1) / 2 * row : (row + 1) / 2;
    NRT_STATUS status = add_share(src, dst, share, casts, &rings[k]);
    if (status != NRT_SUCCESS)
      return status;
    share.src_at += share.count;
    share.dst_at += share.count;
  }
  return NRT_SUCCESS;
}

bool is_cast(const kbin_dma_transfer_t *transfer) {
  return std::any_of(transfer->from.begin(), transfer->from.end(), [transfer](const auto &from) {
    return kbin_dma_pattern_converts(from, transfer->to);
  });
}

NRT_STATUS check_transfer(const kbin_dma_transfer_t *transfer) {
  if (transfer->op != kbin_dma_desc_op_t::COPY && transfer->op != kbin_dma_desc_op_t::CAST) {
    NLOG_ERROR(NLOG_TDRV, "operation {} of a static transfer is not implemented",
               op_name(transfer->op));
    return NRT_INVALID;
  }
  if (transfer->from.empty() || (is_cast(transfer) && transfer->from.size() != 1)) {
    NLOG_ERROR(NLOG_TDRV, "a {} with {} sources is not implemented",
               is_cast(transfer) ? "cast" : "copy", transfer->from.size());
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

NRT_STATUS check_length(const kbin_dma_transfer_t *transfer, uint64_t from, const side_t *dst) {
  if (from == dst->total)
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV, "a transfer reads {} {} from {} sources and writes {}", from,
             is_cast(transfer) ? "elements" : "bytes", transfer->from.size(), dst->total);
  return NRT_INVALID;
}

}  // namespace

NRT_STATUS dma_expand_transfer(const vtpb_info_shared_t *info, uint32_t subgraph,
                               const kbin_dma_transfer_t *transfer, vring_t *rings,
                               uint32_t num_rings) {
  NRT_STATUS status = check_transfer(transfer);
  bool casts = is_cast(transfer);
  side_t src, dst;
  if (status == NRT_SUCCESS)
    status = open_side(info, subgraph, transfer->to, casts, &dst);
  if (status != NRT_SUCCESS)
    return status;
  int32_t dims = transfer->num_tiling_dimensions;
  bool dealt = kbin_dma_transfer_is_dealt(*transfer, num_rings);
  // Rows stay apart where nothing is dealt, and in a cast, whose packets are rows.
  bool apart = !dealt || casts;
  dst.contiguous = dst.contiguous && (!apart || dst.row == dst.total);
  uint64_t at = 0;
  for (const kbin_dma_pattern_t &from : transfer->from) {
    status = open_side(info, subgraph, from, casts, &src);
    if (status != NRT_SUCCESS)
      return status;
    if (src.total > dst.total - at)
      return check_length(transfer, at + src.total, &dst);
    src.contiguous = src.contiguous && (!apart || src.row == src.total);
    status = dealt ? deal(&src, &dst, at, dims, casts, rings, num_rings)
                   : add_share(&src, &dst, {0, at, src.total, src.total}, casts, rings);
    if (status != NRT_SUCCESS)
      return status;
    at += src.total;
  }
  return check_length(transfer, at, &dst);
}
