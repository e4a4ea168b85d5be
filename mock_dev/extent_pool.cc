// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/extent_pool.h"

#include <algorithm>
#include <cstring>

namespace {

uint32_t priority_of(uint32_t node) {
  uint32_t h = node * 0x9e3779b1u;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ (h >> 16);
}

// Pages from the first multiple of 2^order on. 64 bits: rounding up may pass 2^32.
uint32_t run_at(const mock_extent_t *e, uint32_t order) {
  uint64_t mask = (1ull << order) - 1;
  uint64_t from = (e->start + mask) & ~mask;
  uint64_t end = static_cast<uint64_t>(e->start) + e->pages;
  return end > from ? static_cast<uint32_t>(end - from) : 0;
}

// Recomputes best[]; true when it changed.
bool node_pull(mock_extent_t *nodes, uint32_t n) {
  mock_extent_t *e = &nodes[n];
  const uint32_t *l = nodes[e->left].best;
  const uint32_t *r = nodes[e->right].best;
  uint32_t fresh[MOCK_ALIGN_ORDERS];
  for (uint32_t k = 0; k < MOCK_ALIGN_ORDERS; ++k)
    fresh[k] = std::max(run_at(e, k), std::max(l[k], r[k]));
  if (memcmp(fresh, e->best, sizeof(fresh)) == 0)
    return false;
  memcpy(e->best, fresh, sizeof(fresh));
  return true;
}

// Above the first node whose figures stay the same nothing can change either.
void path_pull(mock_extent_t *nodes, uint32_t n) {
  while (n != 0 && node_pull(nodes, n))
    n = nodes[n].parent;
}

void child_replace(mock_extent_t *nodes, mock_pool_t *pool, uint32_t parent, uint32_t from,
                   uint32_t to) {
  if (parent == 0)
    pool->root = to;
  else if (nodes[parent].left == from)
    nodes[parent].left = to;
  else
    nodes[parent].right = to;
  if (to != 0)
    nodes[to].parent = parent;
}

// Lifts n above its parent.
void rotate_up(mock_extent_t *nodes, mock_pool_t *pool, uint32_t n) {
  uint32_t p = nodes[n].parent;
  child_replace(nodes, pool, nodes[p].parent, p, n);
  if (nodes[p].left == n) {
    nodes[p].left = nodes[n].right;
    if (nodes[n].right != 0)
      nodes[nodes[n].right].parent = p;
    nodes[n].right = p;
  } else {
    nodes[p].right = nodes[n].left;
    if (nodes[n].left != 0)
      nodes[nodes[n].left].parent = p;
    nodes[n].left = p;
  }
  nodes[p].parent = n;
  node_pull(nodes, p);
  node_pull(nodes, n);
}

uint32_t node_get(mock_extent_space_t space) {
  mock_extent_arena_t *a = space.arena;
  uint32_t n = a->free_head;
  if (n != 0)
    a->free_head = space.nodes[n].right;
  else if (a->used + 1 < a->capacity)
    n = ++a->used;
  return n;
}

bool node_insert(mock_extent_space_t space, mock_pool_t *pool, uint32_t start, uint32_t pages) {
  mock_extent_t *nodes = space.nodes;
  uint32_t n = node_get(space);
  if (n == 0)
    return false;
  memset(&nodes[n], 0, sizeof(nodes[n]));
  nodes[n].start = start;
  nodes[n].pages = pages;
  uint32_t parent = 0;
  for (uint32_t at = pool->root; at != 0;) {
    parent = at;
    at = start < nodes[at].start ? nodes[at].left : nodes[at].right;
  }
  nodes[n].parent = parent;
  if (parent == 0)
    pool->root = n;
  else if (start < nodes[parent].start)
    nodes[parent].left = n;
  else
    nodes[parent].right = n;
  node_pull(nodes, n);
  while (nodes[n].parent != 0 && priority_of(n) > priority_of(nodes[n].parent))
    rotate_up(nodes, pool, n);
  path_pull(nodes, nodes[n].parent);
  return true;
}

void node_erase(mock_extent_space_t space, mock_pool_t *pool, uint32_t n) {
  mock_extent_t *nodes = space.nodes;
  for (;;) {
    uint32_t l = nodes[n].left, r = nodes[n].right;
    if (l == 0 || r == 0) {
      uint32_t parent = nodes[n].parent;
      child_replace(nodes, pool, parent, n, l != 0 ? l : r);
      path_pull(nodes, parent);
      break;
    }
    rotate_up(nodes, pool, priority_of(l) > priority_of(r) ? l : r);
  }
  nodes[n].right = space.arena->free_head;
  space.arena->free_head = n;
}

// Cuts [at, at + pages) out of extent n, which contains it.
bool node_carve(mock_extent_space_t space, mock_pool_t *pool, uint32_t n, uint32_t at,
                uint32_t pages) {
  mock_extent_t *e = &space.nodes[n];
  uint32_t before = at - e->start;
  uint32_t after = e->pages - before - pages;
  if (before == 0 && after == 0) {
    node_erase(space, pool, n);
  } else if (before == 0) {
    e->start = at + pages;
    e->pages = after;
    path_pull(space.nodes, n);
  } else {
    if (after != 0 && !node_insert(space, pool, at + pages, after))
      return false;
    e->pages = before;
    path_pull(space.nodes, n);
  }
  pool->free_pages -= pages;
  return true;
}

// Last extent that starts at or before `page`, and the first one after it.
void node_neighbours(const mock_extent_t *nodes, const mock_pool_t *pool, uint32_t page,
                     uint32_t *before, uint32_t *after) {
  *before = *after = 0;
  for (uint32_t n = pool->root; n != 0;) {
    if (nodes[n].start <= page) {
      *before = n;
      n = nodes[n].right;
    } else {
      *after = n;
      n = nodes[n].left;
    }
  }
}

bool pool_holds(const mock_pool_t *pool, uint32_t at, uint32_t pages) {
  return pages != 0 && at >= pool->first && pages <= pool->pages &&
         at - pool->first <= pool->pages - pages;
}

}  // namespace

void mock_extent_arena_init(mock_extent_arena_t *arena, uint32_t capacity) {
  arena->capacity = capacity;
  arena->used = 0;
  arena->free_head = 0;
}

bool mock_pool_init(mock_extent_space_t space, mock_pool_t *pool, uint32_t first, uint32_t pages) {
  pool->root = 0;
  pool->first = first;
  pool->pages = pages;
  pool->free_pages = pages;
  return pages == 0 || node_insert(space, pool, first, pages);
}

bool mock_pool_take(mock_extent_space_t space, mock_pool_t *pool, uint32_t pages, uint32_t order,
                    uint32_t *at) {
  const mock_extent_t *nodes = space.nodes;
  uint32_t n = pool->root;
  if (pages == 0 || order >= MOCK_ALIGN_ORDERS || n == 0 || nodes[n].best[order] < pages)
    return false;
  for (;;) {
    if (nodes[n].left != 0 && nodes[nodes[n].left].best[order] >= pages)
      n = nodes[n].left;
    else if (run_at(&nodes[n], order) >= pages)
      break;
    else
      n = nodes[n].right;
  }
  uint32_t mask = (1u << order) - 1;
  uint32_t found = (nodes[n].start + mask) & ~mask;
  if (!node_carve(space, pool, n, found, pages))
    return false;
  *at = found;
  return true;
}

bool mock_pool_take_at(mock_extent_space_t space, mock_pool_t *pool, uint32_t at, uint32_t pages) {
  if (!pool_holds(pool, at, pages))
    return false;
  uint32_t before, after;
  node_neighbours(space.nodes, pool, at, &before, &after);
  if (before == 0)
    return false;
  const mock_extent_t *e = &space.nodes[before];
  if (e->pages < pages || at - e->start > e->pages - pages)
    return false;
  return node_carve(space, pool, before, at, pages);
}

bool mock_pool_give(mock_extent_space_t space, mock_pool_t *pool, uint32_t at, uint32_t pages) {
  if (!pool_holds(pool, at, pages))
    return false;
  mock_extent_t *nodes = space.nodes;
  uint32_t before, after;
  node_neighbours(nodes, pool, at, &before, &after);
  if (before != 0 && nodes[before].start + nodes[before].pages > at)
    return false;
  if (after != 0 && at + pages > nodes[after].start)
    return false;
  bool joins_before = before != 0 && nodes[before].start + nodes[before].pages == at;
  bool joins_after = after != 0 && at + pages == nodes[after].start;
  if (joins_before && joins_after) {
    uint32_t gained = nodes[after].pages;
    node_erase(space, pool, after);
    nodes[before].pages += pages + gained;
    path_pull(nodes, before);
  } else if (joins_before) {
    nodes[before].pages += pages;
    path_pull(nodes, before);
  } else if (joins_after) {
    nodes[after].start = at;
    nodes[after].pages += pages;
    path_pull(nodes, after);
  } else if (!node_insert(space, pool, at, pages)) {
    return false;
  }
  pool->free_pages += pages;
  return true;
}
