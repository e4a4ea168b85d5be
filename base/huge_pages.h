// SPDX-License-Identifier: Apache-2.0
// Large blocks that are written once from end to end: with huge pages the kernel is entered once
// for 2 MiB instead of once for 4 KiB.
#pragma once

#include <cstddef>

// From here on malloc gives a block a mapping of its own, whatever else the process has allocated
// (glibc's DEFAULT_MMAP_THRESHOLD_MAX): a hint about it says nothing about other blocks.
constexpr size_t HUGE_PAGES_MIN_BYTES = size_t{32} << 20;

// Hints that the block [block, block + bytes), fresh from malloc or new, be backed by huge pages.
// Nothing happens where it is smaller than HUGE_PAGES_MIN_BYTES or the kernel has none to give.
// Any thread.
void huge_pages_hint(void *block, size_t bytes);
