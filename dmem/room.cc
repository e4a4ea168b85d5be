// SPDX-License-Identifier: Apache-2.0
#include "dmem/room.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

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
  *out = dmem_room_t{};
  for (uint32_t i = 0; i < count; ++i) {
    add_free(out, at, chunks[i].pa, border);
    at = std::max(at, chunks[i].pa + chunks[i].size);
  }
  add_free(out, at, end, border);
  free(chunks);
  return true;
}
