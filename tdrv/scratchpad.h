// SPDX-License-Identifier: Apache-2.0
// Scratchpad arenas (device-memory.md 3, mem-ref.md 5.5, 8.4): one per physical core, shared by all
// models on it. Paged or contiguous; pages are reference counted; a model uses a prefix of them.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "dmem/dmem.h"

constexpr uint32_t TDRV_SCRATCHPAD_MAX_PAGES = 1024;
constexpr uint64_t TDRV_SCRATCHPAD_CONTIGUOUS_PAGE = 64ull << 20;
constexpr uint64_t TDRV_SCRATCHPAD_PAGED_DEFAULT = 512ull << 20;
constexpr uint64_t TDRV_SCRATCHPAD_PAGE_ALIGN = 4ull << 20;

struct tdrv_scratchpad_page_t {
  dmem_t *mem;
  uint32_t refs;
};
static_assert(sizeof(tdrv_scratchpad_page_t) == 16);

struct tdrv_scratchpad_t {
  pthread_mutex_t lock;
  uint64_t page_size;
  uint32_t num_pages;
  bool is_contiguous;
  tdrv_scratchpad_page_t pages[TDRV_SCRATCHPAD_MAX_PAGES];
};
static_assert(sizeof(tdrv_scratchpad_t) == 16440);

struct tpb_t;

// `page_size` 0 or above 32 bits: NRT_INVALID. Contiguous mode forces 64 MiB. Allocates no page.
NRT_STATUS tdrv_scratchpad_init(tdrv_scratchpad_t *scratchpad, uint64_t page_size, bool contiguous);
void tdrv_scratchpad_fini(tdrv_scratchpad_t *scratchpad);

// Where one arena of a model lies: which core's pages, at which byte, and how many pages of that
// core the model references (the contiguous form counts pages from its own top,
// device-memory.md 7.6).
struct tdrv_scratchpad_info_t {
  tpb_t *tpb;
  uint64_t size;
  uint64_t offset;
  uint32_t model_pages;
  void *va;  // contiguous mode: host view of the arena's first byte; NULL when there is none
};

constexpr uint32_t TDRV_MAX_LNC = 2;

// A model's arenas on one logical core: one shared, one local per subgraph.
struct tdrv_scratchpad_model_t {
  tdrv_scratchpad_info_t shared;
  tdrv_scratchpad_info_t local[TDRV_MAX_LNC];
  uint32_t num_subgraphs;
  // Clean-up record: pages referenced per core.
  struct {
    tpb_t *tpb;
    uint32_t pages;
    void *va;  // contiguous mode: host view of the whole region
    uint64_t va_size;
  } reserved[TDRV_MAX_LNC];
  uint32_t num_reserved;
};

// What staging one subgraph sees.
struct tdrv_scratchpad_placement_t {
  const tdrv_scratchpad_info_t *shared;
  const tdrv_scratchpad_info_t *local;
};

// Sizes, lays out and reserves the arenas of one model: shared first on the first core, then locals
// (each on its own core, or all on the first in contiguous mode). All or nothing.
NRT_STATUS tdrv_scratchpad_model_init(tpb_t *const *tpbs, uint32_t num_tpbs,
                                      const uint64_t *local_sizes, const uint64_t *shared_sizes,
                                      uint32_t num_subgraphs, tdrv_scratchpad_model_t *out);
void tdrv_scratchpad_cleanup(tdrv_scratchpad_model_t *model);

// Page and in-page offset of [offset, offset + size) of an arena. `model_pages` as above.
// NRT_INVALID: outside, or (paged) across a page end; not logged, the caller falls back to a
// private allocation.
NRT_STATUS tdrv_scratchpad_get_mem(tdrv_scratchpad_t *scratchpad, uint32_t model_pages,
                                   uint64_t offset, uint64_t size, dmem_t **mem,
                                   uint64_t *in_page_offset);

// Pure layout rule of one arena (device-memory.md 3.3): where an arena of `size` starts when the
// running offset is `current`. False on overflow.
bool tdrv_scratchpad_layout(uint64_t current, uint64_t size, uint64_t page_size, bool contiguous,
                            uint64_t *start, uint64_t *next);
