// SPDX-License-Identifier: Apache-2.0
#include "dmem/room.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/checked.h"
#include "uapi/neuron_shared.h"

namespace {

void add_block(dmem_pool_room_t *pool, uint64_t begin, uint64_t end) {
  if (begin >= end)
    return;
  pool->free_bytes += end - begin;
  pool->largest_block = std::max(pool->largest_block, end - begin);
}

// [begin, end) is free; no chunk can span the border between the main and the small pool.
void add_free(dmem_room_t *room, uint64_t begin, uint64_t end, uint64_t border) {
  add_block(&room->main, begin, std::min(end, border));
  add_block(&room->small, std::max(begin, border), end);
}

// Calls `chunk` for every chunk and `block(begin, end, border of the pools)` for what is before it
// and behind the last one, empty or not, in ascending order. False when the driver does not tell.
template <typename Chunk, typename Block>
bool walk(const physical_core_t *pcore, uint32_t channel, Chunk &&chunk, Block &&block) {
  uint64_t hbm_size = 0;
  uint32_t count = 0;
  if (hal_hbm_size(pcore->device, channel, &hbm_size) != 0)
    return false;
  hal_chunk_t *chunks = dmem_room_chunks(pcore, channel, &count);
  if (chunks == nullptr)
    return false;
  const hal_arch_t *arch = pcore->arch;
  uint64_t at = arch->hbm_base[channel];
  uint64_t end = at + hbm_size;
  uint64_t border = end - std::min(arch->hbm_small_pool, hbm_size);
  for (uint32_t i = 0; i < count; ++i) {
    block(at, chunks[i].pa, border);
    chunk(chunks[i]);
    at = std::max(at, chunks[i].pa + chunks[i].size);
  }
  block(at, end, border);
  free(chunks);
  return true;
}

}  // namespace

hal_chunk_t *dmem_room_chunks(const physical_core_t *pcore, uint32_t channel, uint32_t *count) {
  // The number may grow between asking for it and asking for the list.
  constexpr int kTries = 4;
  uint32_t capacity = 256;
  for (int i = 0; i < kTries; ++i) {
    auto *chunks = static_cast<hal_chunk_t *>(calloc(capacity, sizeof(hal_chunk_t)));
    if (chunks == nullptr)
      return nullptr;
    *count = capacity;
    int result = hal_dump_chunks(pcore->device, channel, chunks, count);
    if (result == 0)
      return chunks;
    free(chunks);
    if (result != -EAGAIN)
      return nullptr;
    capacity = *count + *count / 8 + 16;
  }
  return nullptr;
}

bool dmem_room_measure(const physical_core_t *pcore, uint32_t channel, dmem_room_t *out) {
  *out = dmem_room_t{};
  return walk(
      pcore, channel, [](const hal_chunk_t &) {},
      [out](uint64_t begin, uint64_t end, uint64_t border) { add_free(out, begin, end, border); });
}

bool dmem_room_available(const physical_core_t *pcore, uint32_t channel, uint64_t alignment,
                         bool contiguous, uint64_t *out) {
  uint64_t largest = 0;     // of aligned blocks
  uint64_t below = 0;       // free bytes directly below the lowest contiguous page
  uint64_t last_block = 0;  // length of the free block that ends at the next chunk
  bool page_seen = false;
  auto take = [&](uint64_t begin, uint64_t end) {
    uint64_t start = begin;
    if (alignment > 1 && !checked_round_up(begin, alignment, &start))
      return;
    if (start < end)
      largest = std::max(largest, end - start);
  };
  bool known = walk(
      pcore, channel,
      [&](const hal_chunk_t &chunk) {
        if (chunk.category == NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE && !page_seen) {
          page_seen = true;
          below = last_block;
        }
      },
      [&](uint64_t begin, uint64_t end, uint64_t border) {
        take(begin, std::min(end, border));
        take(std::max(begin, border), end);
        last_block = end > begin ? end - begin : 0;
        // Without a page the first one would end at the main pool's end.
        if (!page_seen && begin <= border && border <= end)
          below = border - begin;
      });
  *out = contiguous ? below : largest;
  return known;
}
