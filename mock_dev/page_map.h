// SPDX-License-Identifier: Apache-2.0
// Which chunk covers an address: for one memory range, the chunk number at each first page plus a
// bitmap of first pages with summary levels above it. "Last first page at or below P" and "first
// one at or above P" take one step per level, whatever the number of chunks.
#pragma once

#include <cstdint>

constexpr uint32_t MOCK_PAGE_MAP_LEVELS = 4;  // 64^4 pages: 64 GiB
constexpr uint32_t MOCK_NO_PAGE = UINT32_MAX;

struct mock_page_map_t {
  uint64_t offset;  // of the map's memory in the state region
  uint32_t pages;
  uint32_t level_words[MOCK_PAGE_MAP_LEVELS];
};

// Bytes of state a map of that many pages needs.
uint64_t mock_page_map_bytes(uint32_t pages);

// The memory at `offset` has to read as zero.
void mock_page_map_init(mock_page_map_t *map, uint64_t offset, uint32_t pages);

void mock_page_map_set(const mock_page_map_t *map, uint8_t *region, uint32_t page, uint32_t id);
void mock_page_map_clear(const mock_page_map_t *map, uint8_t *region, uint32_t page);
uint32_t mock_page_map_id(const mock_page_map_t *map, uint8_t *region, uint32_t page);

// Marked page at or below / at or above `page`; MOCK_NO_PAGE when there is none.
uint32_t mock_page_map_at_or_below(const mock_page_map_t *map, uint8_t *region, uint32_t page);
uint32_t mock_page_map_at_or_above(const mock_page_map_t *map, uint8_t *region, uint32_t page);
