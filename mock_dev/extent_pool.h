// SPDX-License-Identifier: Apache-2.0
// Free space of one memory pool: a balanced tree of free extents, ordered by address.
//
// Every node carries, for each alignment from one page to 1 GiB, the longest run its subtree can
// offer at that alignment. That makes first fit, aligned or not, one walk down the tree: take the
// left subtree whenever it can serve the request. The tree is a treap whose priorities are a hash
// of the node number, so its shape needs no stored state and no pointers.
#pragma once

#include <cstdint>

constexpr uint32_t MOCK_PAGE_SHIFT = 12;
constexpr uint64_t MOCK_PAGE = 1ull << MOCK_PAGE_SHIFT;
constexpr uint32_t MOCK_ALIGN_ORDERS = 19;  // one page .. 2^18 pages (1 GiB)

struct mock_extent_t {
  uint32_t start;  // page number inside the pool's channel
  uint32_t pages;
  uint32_t left, right, parent;  // node numbers, 0 = none
  uint32_t best[MOCK_ALIGN_ORDERS];
};
static_assert(sizeof(mock_extent_t) == 96);

struct mock_extent_arena_t {
  uint32_t capacity;   // nodes, number 0 unused
  uint32_t used;       // nodes handed out at least once
  uint32_t free_head;  // chained through `right`
};

// Where this process sees the nodes; several pools share one arena.
struct mock_extent_space_t {
  mock_extent_t *nodes;
  mock_extent_arena_t *arena;
};

struct mock_pool_t {
  uint32_t root;
  uint32_t first;  // first page
  uint32_t pages;  // 0: no such pool
  uint32_t free_pages;
};

void mock_extent_arena_init(mock_extent_arena_t *arena, uint32_t capacity);

// Starts with everything free. False: the arena has no node left.
bool mock_pool_init(mock_extent_space_t space, mock_pool_t *pool, uint32_t first, uint32_t pages);

// First fit: lowest page number that is a multiple of 2^order and starts `pages` free pages.
bool mock_pool_take(mock_extent_space_t space, mock_pool_t *pool, uint32_t pages, uint32_t order,
                    uint32_t *at);

// Takes exactly [at, at + pages). False when any of it is in use or outside the pool.
bool mock_pool_take_at(mock_extent_space_t space, mock_pool_t *pool, uint32_t at, uint32_t pages);

// Gives pages back. False when some of them are free already or outside the pool.
bool mock_pool_give(mock_extent_space_t space, mock_pool_t *pool, uint32_t at, uint32_t pages);
