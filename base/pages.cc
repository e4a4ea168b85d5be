// SPDX-License-Identifier: Apache-2.0
#include "base/pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace {

// The whole units of `unit` bytes inside the block: none reaches into what is not the block's.
void advise_inside(void *block, size_t bytes, uintptr_t unit, int advice) {
  auto begin = reinterpret_cast<uintptr_t>(block);
  uintptr_t first = (begin + unit - 1) & ~(unit - 1);
  uintptr_t last = (begin + bytes) & ~(unit - 1);
  (void)madvise(reinterpret_cast<void *>(first), last - first, advice);
}

}  // namespace

void pages_hint_huge(void *block, size_t bytes) {
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  if (bytes >= PAGES_HUGE_MIN_BYTES)
    advise_inside(block, bytes, kHugePage, MADV_HUGEPAGE);
}

void pages_fill(void *begin, size_t bytes) {
  constexpr uintptr_t kPage = 4096;
  if (bytes >= PAGES_FILL_MIN_BYTES)
    advise_inside(begin, bytes, kPage, MADV_POPULATE_WRITE);
}
