// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/page_map.h"

#include <bit>

namespace {

void level_sizes(uint32_t pages, uint32_t words[MOCK_PAGE_MAP_LEVELS]) {
  uint64_t bits = pages;
  for (uint32_t l = 0; l < MOCK_PAGE_MAP_LEVELS; ++l) {
    bits = (bits + 63) / 64;
    words[l] = static_cast<uint32_t>(bits);
  }
}

struct levels_t {
  uint64_t *word[MOCK_PAGE_MAP_LEVELS];
  uint32_t *ids;
};

levels_t levels_of(const mock_page_map_t *map, uint8_t *region) {
  levels_t v;
  auto *at = reinterpret_cast<uint64_t *>(region + map->offset);
  for (uint32_t l = 0; l < MOCK_PAGE_MAP_LEVELS; ++l) {
    v.word[l] = at;
    at += map->level_words[l];
  }
  v.ids = reinterpret_cast<uint32_t *>(at);
  return v;
}

}  // namespace

uint64_t mock_page_map_bytes(uint32_t pages) {
  uint32_t words[MOCK_PAGE_MAP_LEVELS];
  level_sizes(pages, words);
  uint64_t bytes = 4ull * pages;
  for (uint32_t w : words)
    bytes += 8ull * w;
  return bytes;
}

void mock_page_map_init(mock_page_map_t *map, uint64_t offset, uint32_t pages) {
  map->offset = offset;
  map->pages = pages;
  level_sizes(pages, map->level_words);
}

void mock_page_map_set(const mock_page_map_t *map, uint8_t *region, uint32_t page, uint32_t id) {
  levels_t v = levels_of(map, region);
  v.ids[page] = id;
  for (auto *word : v.word) {
    word[page / 64] |= 1ull << (page % 64);
    page /= 64;
  }
}

void mock_page_map_clear(const mock_page_map_t *map, uint8_t *region, uint32_t page) {
  levels_t v = levels_of(map, region);
  v.ids[page] = 0;
  for (auto *word : v.word) {
    word[page / 64] &= ~(1ull << (page % 64));
    if (word[page / 64] != 0)
      break;
    page /= 64;
  }
}

uint32_t mock_page_map_id(const mock_page_map_t *map, uint8_t *region, uint32_t page) {
  return levels_of(map, region).ids[page];
}

uint32_t mock_page_map_at_or_below(const mock_page_map_t *map, uint8_t *region, uint32_t page) {
  levels_t v = levels_of(map, region);
  if (page >= map->pages)
    page = map->pages - 1;
  // Up until a word holds a mark at or before the position, then down along the last marks.
  int64_t position = page;
  for (uint32_t l = 0; l < MOCK_PAGE_MAP_LEVELS; ++l) {
    uint64_t word = v.word[l][position / 64] & (~0ull >> (63 - position % 64));
    if (word != 0) {
      uint64_t at = static_cast<uint64_t>(position) / 64 * 64 + (63 - std::countl_zero(word));
      while (l > 0) {
        --l;
        at = at * 64 + (63 - std::countl_zero(v.word[l][at]));
      }
      return static_cast<uint32_t>(at);
    }
    position = position / 64 - 1;
    if (position < 0)
      break;
  }
  return MOCK_NO_PAGE;
}

uint32_t mock_page_map_at_or_above(const mock_page_map_t *map, uint8_t *region, uint32_t page) {
  levels_t v = levels_of(map, region);
  uint64_t position = page;
  if (page >= map->pages)
    return MOCK_NO_PAGE;
  for (uint32_t l = 0; l < MOCK_PAGE_MAP_LEVELS; ++l) {
    if (position / 64 >= map->level_words[l])
      break;
    uint64_t word = v.word[l][position / 64] & (~0ull << (position % 64));
    if (word != 0) {
      uint64_t at = position / 64 * 64 + std::countr_zero(word);
      while (l > 0) {
        --l;
        at = at * 64 + std::countr_zero(v.word[l][at]);
      }
      return static_cast<uint32_t>(at);
    }
    position = position / 64 + 1;
  }
  return MOCK_NO_PAGE;
}
