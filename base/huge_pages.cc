// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

void huge_pages_hint(void *block, size_t bytes) {
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  if (bytes < HUGE_PAGES_MIN_BYTES)
    return;
  // Whole huge pages inside the block: none of them reaches into what is not the block's.
  auto begin = reinterpret_cast<uintptr_t>(block);
  uintptr_t first = (begin + kHugePage - 1) & ~(kHugePage - 1);
  uintptr_t last = (begin + bytes) & ~(kHugePage - 1);
  (void)madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);
}
