// SPDX-License-Identifier: Apache-2.0
// Large blocks that are written once from end to end: with huge pages the kernel is entered once
// for 2 MiB instead of once for 4 KiB.
#pragma once

#include <cstddef>

// From here on malloc gives a block a mapping of its own, whatever else the process has allocated
// (glibc's DEFAULT_MMAP_THRESHOLD_MAX): a hint about it says nothing about other blocks.
constexpr size_t PAGES_HUGE_MIN_BYTES = size_t{32} << 20;

// Hints that the block [block, block + bytes), fresh from malloc or new, be backed by huge pages.
// Nothing happens where it is smaller than PAGES_HUGE_MIN_BYTES or the kernel has none to give.
// Any thread.
void pages_hint_huge(void *block, size_t bytes);

// The pages of [begin, begin + bytes) are all written to right now: the kernel makes them in one
// go, which takes less time than one by one. Less than PAGES_FILL_MIN_BYTES is left alone, and so
// is everything where the kernel cannot (before Linux 5.14). Any thread.
constexpr size_t PAGES_FILL_MIN_BYTES = size_t{64} << 10;
void pages_fill(void *begin, size_t bytes);
