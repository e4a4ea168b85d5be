// SPDX-License-Identifier: Apache-2.0
// Who touched which byte last: the memory behind the checker (check.h). Segments of bytes with the
// same history, in rows of 256 KiB, so that a partition of SBUF is a row. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

// One access: the `n`-th thing an actor did, done at `site`.
struct mock_epoch_t {
  uint32_t actor, n, site;
};
constexpr uint32_t MOCK_EPOCH_NONE = UINT32_MAX;  // as an actor: nobody

struct mock_segment_t {
  uint32_t end;  // in the row
  mock_epoch_t write;
  std::vector<mock_epoch_t> reads;  // since the write; only those not ordered before a later one
};

constexpr uint32_t MOCK_SHADOW_ROW_SHIFT = 18;
constexpr uint64_t MOCK_SHADOW_ROW = 1ull << MOCK_SHADOW_ROW_SHIFT;

using mock_shadow_row_t = std::map<uint32_t, mock_segment_t>;  // by first byte

struct mock_shadow_t {
  std::unordered_map<uint64_t, mock_shadow_row_t> rows;
};

// Calls piece(row, begin, end, file offset of begin) for every row of [offset, offset + length).
template <typename piece_t>
void mock_shadow_pieces(mock_shadow_t *shadow, uint32_t memory, uint64_t offset, uint64_t length,
                        piece_t piece) {
  while (length != 0) {
    uint64_t begin = offset % MOCK_SHADOW_ROW;
    uint64_t n = length < MOCK_SHADOW_ROW - begin ? length : MOCK_SHADOW_ROW - begin;
    uint64_t key = static_cast<uint64_t>(memory) << 46 | offset >> MOCK_SHADOW_ROW_SHIFT;
    piece(&shadow->rows[key], static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + n),
          offset);
    offset += n;
    length -= n;
  }
}

// Makes `at` the start of a segment when it lies inside one; returns the first segment from `at`.
mock_shadow_row_t::iterator mock_shadow_split(mock_shadow_row_t *row, uint32_t at);

// Nobody has touched [begin, end) any more.
void mock_shadow_forget(mock_shadow_row_t *row, uint32_t begin, uint32_t end);
