// SPDX-License-Identifier: Apache-2.0
#include "tdrv/dma_expand.h"

#include <algorithm>

#include "base/checked.h"
#include "base/nlog.h"

namespace {

// One side of a transfer: its bytes in the order of the pattern, innermost index fastest.
struct side_t {
  const kbin_dma_pattern_t *pattern;
  mem_ref_place_t place;  // of the pattern's start
  uint64_t total;         // bytes
  uint64_t row;           // bytes of a row
  bool contiguous;        // its rows follow one another
};

// A ring's share of a side while it is cut into descriptors.
struct cursor_t {
  const side_t *side;
  uint64_t at, end;  // bytes
  uint64_t cut;      // where a contiguous share is divided; `end`: nowhere
  vring_run_t runs[HAL_DMA_PACKET_DESCS_MAX];
  uint32_t count;
  uint64_t bytes;  // of `runs`
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

bool is_contiguous(const kbin_dma_pattern_t &pattern) {
  uint64_t extent = 1;
  for (uint32_t i = 0; i < pattern.ndims; ++i) {
    bool follows = pattern.steps[i] > 0 && static_cast<uint64_t>(pattern.steps[i]) == extent;
    if (pattern.sizes[i] != 1 && !follows)
      return false;
    extent *= pattern.sizes[i];  // the caller has checked the product
  }
  return true;
}

NRT_STATUS open_side(const vtpb_info_shared_t *info, uint32_t subgraph,
                     const kbin_dma_pattern_t &pattern, side_t *out) {
  *out = {};
  out->pattern = &pattern;
  out->total = 1;
  for (uint32_t i = 0; i < pattern.ndims; ++i) {
    if (pattern.sizes[i] == 0 || !checked_mul(out->total, pattern.sizes[i], &out->total)) {
      NLOG_ERROR(NLOG_TDRV,
                 "a pattern on variable id {} has size {} in dimension {}: no or too "
                 "many bytes",
                 pattern.var_id, pattern.sizes[i], i);
      return NRT_INVALID;
    }
  }
  out->row =
      pattern.ndims != 0 && (pattern.steps[0] == 1 || pattern.sizes[0] == 1) ? pattern.sizes[0] : 1;
  out->contiguous = is_contiguous(pattern);
  uint64_t begin = 0, end = 0;
  if (!kbin_dma_pattern_range(pattern, &begin, &end)) {
    NLOG_ERROR(NLOG_TDRV,
               "a pattern at offset {} of variable id {} begins before it or does not "
               "fit 63 bits",
               pattern.offset, pattern.var_id);
    return NRT_INVALID;
  }
  NRT_STATUS status =
      mem_ref_resolve(info, subgraph, pattern.var_id, begin, end - begin, &out->place);
  out->place.address += pattern.offset - begin;
  out->place.io_offset += pattern.offset - begin;
  return status;
}

// Byte `at` of the pattern: how far from its start, and how many bytes follow it there.
int64_t locate(const side_t *side, uint64_t at, uint64_t *left) {
  if (side->contiguous) {
    *left = side->total - at;
    return static_cast<int64_t>(at);
  }
  *left = side->row - at % side->row;
  int64_t offset = 0;
  for (uint32_t i = 0; i < side->pattern->ndims; ++i) {
    offset += static_cast<int64_t>(at % side->pattern->sizes[i]) * side->pattern->steps[i];
    at /= side->pattern->sizes[i];
  }
  return offset;
}

void take_run(cursor_t *cursor) {
  uint64_t left = 0;
  int64_t offset = locate(cursor->side, cursor->at, &left);
  uint64_t stop = cursor->at < cursor->cut ? cursor->cut : cursor->end;
  left = std::min({left, stop - cursor->at, uint64_t{HAL_DMA_DESC_BYTES_MAX}});
  const mem_ref_place_t &place = cursor->side->place;
  cursor->runs[cursor->count++] = {place.address + static_cast<uint64_t>(offset),
                                   static_cast<uint32_t>(left), place.io_slot,
                                   place.io_offset + static_cast<uint64_t>(offset)};
  cursor->at += left;
  cursor->bytes += left;
}

// Gives back what a side has more than the other.
void shorten(cursor_t *cursor, uint64_t bytes) {
  uint64_t excess = cursor->bytes - bytes;
  cursor->at -= excess;
  cursor->bytes = bytes;
  vring_run_t *last = &cursor->runs[cursor->count - 1];
  if (excess == last->length)
    --cursor->count;
  else
    last->length -= static_cast<uint32_t>(excess);
}

// A packet ends where both sides have a descriptor's end, or where a limit is reached.
NRT_STATUS next_packet(cursor_t *src, cursor_t *dst, vring_t *ring) {
  src->count = dst->count = 0;
  src->bytes = dst->bytes = 0;
  do {
    cursor_t *behind = src->bytes <= dst->bytes ? src : dst;
    if (behind->count == HAL_DMA_PACKET_DESCS_MAX ||
        behind->bytes + HAL_DMA_DESC_BYTES_MAX > HAL_DMA_PACKET_BYTES_MAX)
      break;
    take_run(behind);
  } while (src->bytes != dst->bytes);
  uint64_t both = std::min(src->bytes, dst->bytes);
  for (cursor_t *cursor : {src, dst})
    if (cursor->bytes > both)
      shorten(cursor, both);
  return vring_add_packet(ring, src->runs, src->count, dst->runs, dst->count);
}

void open_share(const side_t *side, uint64_t begin, uint64_t end, uint64_t cut, cursor_t *out) {
  out->side = side;
  out->at = begin;
  out->end = end;
  out->cut = side->contiguous ? cut : end;
}

NRT_STATUS add_share(const side_t *src, const side_t *dst, uint64_t begin, uint64_t end,
                     uint64_t cut, vring_t *ring) {
  cursor_t from, to;
  open_share(src, begin, end, cut, &from);
  open_share(dst, begin, end, cut, &to);
  NRT_STATUS status = NRT_SUCCESS;
  while (status == NRT_SUCCESS && from.at < from.end)
    status = next_packet(&from, &to, ring);
  return status;
}

// Rows of the outermost dimensions that are dealt; the innermost is never dealt.
uint64_t dealt_rows(const side_t *side, int32_t dims) {
  const kbin_dma_pattern_t &pattern = *side->pattern;
  uint64_t rows = 1;
  for (uint32_t i = 1, first = pattern.ndims - std::min<uint32_t>(dims, pattern.ndims);
       i < pattern.ndims; ++i)
    rows *= i >= first ? pattern.sizes[i] : 1;
  return rows;
}

// Rows to deal: those of a strided side. A contiguous side can be cut anywhere and is often written
// as one row.
uint64_t rows_to_deal(const side_t *src, const side_t *dst, int32_t dims) {
  uint64_t a = dealt_rows(src, dims), b = dealt_rows(dst, dims);
  if (src->contiguous != dst->contiguous)
    return src->contiguous ? b : a;
  return src->contiguous ? std::max(a, b) : std::min(a, b);
}

// Equal shares of rows, the first rings one more where they do not divide.
NRT_STATUS deal(const kbin_dma_transfer_t *transfer, const side_t *src, const side_t *dst,
                vring_t *rings, uint32_t num_rings) {
  uint64_t rows = rows_to_deal(src, dst, transfer->num_tiling_dimensions);
  uint64_t row = src->total / rows, at = 0;
  for (uint32_t k = 0; k < num_rings; ++k) {
    uint64_t share = rows / num_rings + (k < rows % num_rings ? 1 : 0);
    if (share == 0)
      break;
    uint64_t end = at + share * row;
    // Two descriptors: half of the rows each, or half of the only one.
    uint64_t cut = at + (share > 1 ? (share + 1) / 2 * row : (row + 1) / 2);
    NRT_STATUS status = add_share(src, dst, at, end, cut, &rings[k]);
    if (status != NRT_SUCCESS)
      return status;
    at = end;
  }
  return NRT_SUCCESS;
}

NRT_STATUS check_transfer(const kbin_dma_transfer_t *transfer) {
  if (transfer->op != kbin_dma_desc_op_t::COPY) {
    NLOG_ERROR(NLOG_TDRV, "operation {} of a static transfer is not implemented",
               op_name(transfer->op));
    return NRT_INVALID;
  }
  if (transfer->from.size() != 1) {
    NLOG_ERROR(NLOG_TDRV, "a copy with {} sources is not implemented", transfer->from.size());
    return NRT_INVALID;
  }
  uint8_t from = transfer->from[0].dtype, to = transfer->to.dtype;
  if (from != to && from != KBIN_DTYPE_NONE && to != KBIN_DTYPE_NONE) {
    NLOG_ERROR(NLOG_TDRV,
               "a static transfer that converts element type {} to {} is not "
               "implemented",
               from, to);
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

}  // namespace

NRT_STATUS dma_expand_transfer(const vtpb_info_shared_t *info, uint32_t subgraph,
                               const kbin_dma_transfer_t *transfer, vring_t *rings,
                               uint32_t num_rings) {
  NRT_STATUS status = check_transfer(transfer);
  side_t src, dst;
  if (status == NRT_SUCCESS)
    status = open_side(info, subgraph, transfer->from[0], &src);
  if (status == NRT_SUCCESS)
    status = open_side(info, subgraph, transfer->to, &dst);
  if (status != NRT_SUCCESS)
    return status;
  if (src.total != dst.total) {
    NLOG_ERROR(NLOG_TDRV, "a transfer reads {} bytes and writes {}", src.total, dst.total);
    return NRT_INVALID;
  }
  if (transfer->num_tiling_dimensions > 0 && num_rings > 1)
    return deal(transfer, &src, &dst, rings, num_rings);
  // Contiguous rows stay apart here: a row is a descriptor.
  src.contiguous = src.contiguous && src.row == src.total;
  dst.contiguous = dst.contiguous && dst.row == dst.total;
  return add_share(&src, &dst, 0, src.total, src.total, rings);
}
