// SPDX-License-Identifier: Apache-2.0
// Placement against a bitmap that does first fit the slow and obvious way.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "mock_dev/extent_pool.h"
#include "mock_dev/handle_table.h"
#include "mock_dev/page_map.h"

namespace {

struct pool_t {
  std::vector<mock_extent_t> nodes;
  mock_extent_arena_t arena;
  mock_pool_t pool;

  pool_t(uint32_t first, uint32_t pages, uint32_t capacity = 0)
      : nodes(capacity != 0 ? capacity : pages / 2 + 3) {
    mock_extent_arena_init(&arena, static_cast<uint32_t>(nodes.size()));
    EXPECT_TRUE(mock_pool_init(space(), &pool, first, pages));
  }
  mock_extent_space_t space() { return {nodes.data(), &arena}; }
};

// One bool per page.
struct bitmap_t {
  uint32_t first;
  std::vector<bool> used;

  bool free_run(uint32_t at, uint32_t pages) const {
    if (at < first || at + pages > first + used.size())
      return false;
    for (uint32_t p = at; p < at + pages; ++p)
      if (used[p - first])
        return false;
    return true;
  }
  bool take(uint32_t pages, uint32_t order, uint32_t *at) {
    uint32_t step = 1u << order;
    for (uint32_t p = (first + step - 1) / step * step; p + pages <= first + used.size();
         p += step) {
      if (free_run(p, pages)) {
        mark(p, pages, true);
        *at = p;
        return true;
      }
    }
    return false;
  }
  void mark(uint32_t at, uint32_t pages, bool value) {
    for (uint32_t p = at; p < at + pages; ++p)
      used[p - first] = value;
  }
};

}  // namespace

TEST(Pool, SameAsBitmapFirstFit) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    std::mt19937 rng(seed);
    uint32_t first = seed % 3 == 0 ? 0 : rng() % 100;
    uint32_t pages = 600 + rng() % 3000;
    pool_t tree(first, pages);
    bitmap_t map{first, std::vector<bool>(pages)};
    std::vector<std::pair<uint32_t, uint32_t>> live;
    uint32_t served = 0, refused = 0;
    for (int i = 0; i < 6000; ++i) {
      uint32_t what = rng() % 100;
      uint32_t size = what % 10 == 0 ? 1 + rng() % 200 : 1 + rng() % 6;
      if (what < 55) {
        uint32_t order = rng() % 3 == 0 ? rng() % 9 : 0;
        uint32_t a = 0, b = 0;
        bool want = map.take(size, order, &b);
        ASSERT_EQ(mock_pool_take(tree.space(), &tree.pool, size, order, &a), want)
            << "seed " << seed << " step " << i;
        if (want) {
          ASSERT_EQ(a, b) << "seed " << seed << " step " << i << " order " << order;
          live.emplace_back(a, size);
        }
        ++(want ? served : refused);
      } else if (what < 60) {
        uint32_t at = first + rng() % pages;
        bool want = map.free_run(at, size);
        ASSERT_EQ(mock_pool_take_at(tree.space(), &tree.pool, at, size), want);
        if (want) {
          map.mark(at, size, true);
          live.emplace_back(at, size);
        }
      } else if (!live.empty()) {
        std::swap(live[rng() % live.size()], live.back());
        auto [at, n] = live.back();
        live.pop_back();
        ASSERT_TRUE(mock_pool_give(tree.space(), &tree.pool, at, n));
        map.mark(at, n, false);
      }
      uint32_t held = 0;
      for (auto &l : live)
        held += l.second;
      ASSERT_EQ(tree.pool.free_pages, pages - held);
    }
    EXPECT_GT(served, 500u);
    EXPECT_GT(refused, 10u);
    for (auto &[at, n] : live)
      ASSERT_TRUE(mock_pool_give(tree.space(), &tree.pool, at, n));
    // Everything is one extent again.
    uint32_t at;
    EXPECT_TRUE(mock_pool_take(tree.space(), &tree.pool, pages, 0, &at));
    EXPECT_EQ(at, first);
    EXPECT_FALSE(mock_pool_take(tree.space(), &tree.pool, 1, 0, &at));
  }
}

TEST(Pool, RefusesWhatItDoesNotOwn) {
  pool_t t(100, 50);
  uint32_t at;
  ASSERT_TRUE(mock_pool_take(t.space(), &t.pool, 10, 0, &at));
  EXPECT_EQ(at, 100u);
  EXPECT_FALSE(mock_pool_give(t.space(), &t.pool, 99, 2));    // starts before the pool
  EXPECT_FALSE(mock_pool_give(t.space(), &t.pool, 149, 2));   // ends after it
  EXPECT_FALSE(mock_pool_give(t.space(), &t.pool, 105, 10));  // half free already
  EXPECT_FALSE(mock_pool_give(t.space(), &t.pool, 120, 5));   // free already
  EXPECT_FALSE(mock_pool_give(t.space(), &t.pool, 100, 0));
  EXPECT_FALSE(mock_pool_take_at(t.space(), &t.pool, 105, 10));
  EXPECT_FALSE(mock_pool_take_at(t.space(), &t.pool, 145, 6));
  EXPECT_FALSE(mock_pool_take(t.space(), &t.pool, 41, 0, &at));
  EXPECT_FALSE(mock_pool_take(t.space(), &t.pool, 0, 0, &at));
  EXPECT_TRUE(mock_pool_give(t.space(), &t.pool, 100, 10));
  EXPECT_EQ(t.pool.free_pages, 50u);
}

TEST(Pool, LargestAlignments) {
  constexpr uint32_t GIB = 1u << 18;  // pages
  pool_t t(1, 5 * GIB, 64);
  uint32_t at;
  ASSERT_TRUE(mock_pool_take(t.space(), &t.pool, 1, 18, &at));
  EXPECT_EQ(at, GIB);
  ASSERT_TRUE(mock_pool_take(t.space(), &t.pool, GIB, 18, &at));
  EXPECT_EQ(at, 2 * GIB);
  ASSERT_TRUE(mock_pool_take(t.space(), &t.pool, GIB + 1, 0, &at));
  EXPECT_EQ(at, 3 * GIB);
  EXPECT_FALSE(mock_pool_take(t.space(), &t.pool, GIB, 18, &at));
  EXPECT_FALSE(mock_pool_take(t.space(), &t.pool, 1, 19, &at));  // no such order
}

TEST(PageMap, SameAsOrderedSet) {
  for (uint32_t pages : {1u, 63u, 64u, 65u, 4096u, 4097u, 300000u}) {
    std::mt19937 rng(pages);
    constexpr uint64_t OFFSET = 64;
    std::vector<uint8_t> region(OFFSET + mock_page_map_bytes(pages));
    mock_page_map_t map;
    mock_page_map_init(&map, OFFSET, pages);
    std::map<uint32_t, uint32_t> reference;
    for (int i = 0; i < 3000; ++i) {
      uint32_t page = rng() % pages;
      if (rng() % 3 == 0 && !reference.empty()) {
        auto it = reference.lower_bound(page);
        if (it == reference.end())
          it = reference.begin();
        mock_page_map_clear(&map, region.data(), it->first);
        reference.erase(it);
      } else {
        mock_page_map_set(&map, region.data(), page, i + 1);
        reference[page] = static_cast<uint32_t>(i + 1);
      }
      uint32_t probe = rng() % pages;
      auto above = reference.lower_bound(probe);
      uint32_t got = mock_page_map_at_or_above(&map, region.data(), probe);
      ASSERT_EQ(got, above == reference.end() ? MOCK_NO_PAGE : above->first);
      auto below = reference.upper_bound(probe);
      got = mock_page_map_at_or_below(&map, region.data(), probe);
      if (below == reference.begin()) {
        ASSERT_EQ(got, MOCK_NO_PAGE);
      } else {
        --below;
        ASSERT_EQ(got, below->first);
        ASSERT_EQ(mock_page_map_id(&map, region.data(), got), below->second);
      }
    }
    EXPECT_EQ(mock_page_map_at_or_above(&map, region.data(), pages), MOCK_NO_PAGE);
  }
}

TEST(HandleTable, LastFreedFirstOut) {
  std::vector<uint8_t> region(MOCK_HANDLE_BYTES);
  mock_handle_table_t t;
  mock_handle_table_init(&t, 0);
  for (uint32_t h = 1; h <= 5; ++h)
    EXPECT_EQ(mock_handle_create(&t, region.data(), 100 + h), h);
  mock_handle_remove(&t, region.data(), 2);
  mock_handle_remove(&t, region.data(), 4);
  EXPECT_EQ(mock_handle_find(&t, region.data(), 2), 0u);
  EXPECT_EQ(mock_handle_create(&t, region.data(), 7), 4u);
  EXPECT_EQ(mock_handle_create(&t, region.data(), 8), 2u);
  EXPECT_EQ(mock_handle_create(&t, region.data(), 9), 6u);
  EXPECT_EQ(mock_handle_find(&t, region.data(), 4), 7u);
  EXPECT_EQ(mock_handle_find(&t, region.data(), 0), 0u);
  EXPECT_EQ(mock_handle_find(&t, region.data(), 7), 0u);
  EXPECT_EQ(mock_handle_find(&t, region.data(), UINT64_MAX), 0u);
}

// 4194302 handles live at once; asking for one more breaks the table for good (5.3).
TEST(HandleTable, Exhaustion) {
  std::vector<uint8_t> region(MOCK_HANDLE_BYTES);
  mock_handle_table_t t;
  mock_handle_table_init(&t, 0);
  for (uint32_t h = 1; h <= 4194302; ++h)
    ASSERT_EQ(mock_handle_create(&t, region.data(), h), h);
  EXPECT_EQ(mock_handle_find(&t, region.data(), 4194302), 4194302u);
  EXPECT_EQ(mock_handle_create(&t, region.data(), 1), 0u);
  EXPECT_EQ(mock_handle_find(&t, region.data(), 1), 0u);
  mock_handle_remove(&t, region.data(), 10);
  EXPECT_EQ(mock_handle_find(&t, region.data(), 11), 0u);
}
