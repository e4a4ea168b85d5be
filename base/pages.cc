// SPDX-License-Identifier: Apache-2.0
#include "base/pages.h"

#include <sys/mman.h>

#include <cstdint>

void pages_hint_huge(void *block, size_t bytes) {
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  if (bytes < PAGES_HUGE_MIN_BYTES)
    return;
  // Whole huge pages inside the block: none of them reaches into what is not the block's.
  auto begin = reinterpret_cast<uintptr_t>(block);
  uintptr_t first = (begin + kHugePage - 1) & ~(kHugePage - 1);
  uintptr_t last = (begin + bytes) & ~(kHugePage - 1);
  (void)madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);
}

void pages_fill(void *begin, size_t bytes) {
  constexpr uintptr_t kPage = 4096;
  if (bytes < PAGES_FILL_MIN_BYTES)
    return;
  auto at = reinterpret_cast<uintptr_t>(begin);
  uintptr_t first = (at + kPage - 1) & ~(kPage - 1), last = (at + bytes) & ~(kPage - 1);
  (void)madvise(reinterpret_cast<void *>(first), last - first, MADV_POPULATE_WRITE);
}
