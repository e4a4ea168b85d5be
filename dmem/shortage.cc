// SPDX-License-Identifier: Apache-2.0
// What is said when device memory runs out: the request, and what the driver itself counts on that
// HBM (all processes), because a total alone does not explain why a smaller request fails.
#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/nlog.h"
#include "dmem/dmem_impl.h"

namespace {

struct room_t {
  uint64_t free_bytes;
  uint64_t largest_hole;
};

void add_hole(room_t *room, uint64_t begin, uint64_t end) {
  if (begin >= end)
    return;
  room->free_bytes += end - begin;
  room->largest_hole = std::max(room->largest_hole, end - begin);
}

// [begin, end) is free; no chunk can span the border between the main and the small pool.
void add_free(room_t *room, uint64_t begin, uint64_t end, uint64_t border) {
  add_hole(room, begin, std::min(end, border));
  add_hole(room, std::max(begin, border), end);
}

// All chunks of the HBM, ascending; nullptr when they cannot be had. The caller frees it.
hal_chunk_t *dump_chunks(const physical_core_t *pcore, uint32_t channel, uint32_t *count) {
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

bool measure(const physical_core_t *pcore, uint32_t channel, room_t *room) {
  uint64_t hbm_size = 0;
  uint32_t count = 0;
  if (hal_hbm_size(pcore->device, channel, &hbm_size) != 0)
    return false;
  hal_chunk_t *chunks = dump_chunks(pcore, channel, &count);
  if (chunks == nullptr)
    return false;
  const hal_arch_t *arch = pcore->arch;
  uint64_t at = arch->hbm_base[channel];
  uint64_t end = at + hbm_size;
  uint64_t border = end - std::min(arch->hbm_small_pool, hbm_size);
  *room = room_t{};
  for (uint32_t i = 0; i < count; ++i) {
    add_free(room, at, chunks[i].pa, border);
    at = std::max(at, chunks[i].pa + chunks[i].size);
  }
  add_free(room, at, end, border);
  free(chunks);
  return true;
}

}  // namespace

std::string dmem_purpose(dma_mem_usage_type_t usage, const char *hint) {
  if (hint == nullptr)
    return dmem_usage_name(usage);
  return fmt::format("{} '{}'", dmem_usage_name(usage), hint);
}

void dmem_report_shortage(const physical_core_t *pcore, uint64_t size, uint64_t alignment,
                          dma_mem_usage_type_t usage, const char *hint, uint32_t channel) {
  char wanted[32];
  char held[32];
  char free_text[32] = "an unknown amount";
  char hole[32] = "unknown";
  dmem_usage_table_t table;
  dmem_device_snapshot(pcore->stats, &table);
  dmem_format_size(size, wanted);
  dmem_format_size(table.hbm_total[channel], held);
  room_t room;
  // A hole that would have taken the request means that the channel is not what it seems (a smaller
  // one, on a chip whose driver does not tell): then no figure is better than a wrong one.
  if (measure(pcore, channel, &room) &&
      room.largest_hole < size + std::max<uint64_t>(alignment, DMEM_PAGE_SIZE)) {
    dmem_format_size(room.free_bytes, free_text);
    dmem_format_size(room.largest_hole, hole);
  }
  NLOG_ERROR(NLOG_TDRV,
             "nd{} nc{} hbm {}: out of device memory: {} bytes ({}), alignment {}, for {}; free: "
             "{}, largest hole: {}; held by this process: {}",
             pcore->device_id, pcore->nc_id, channel, size, wanted, alignment,
             dmem_purpose(usage, hint), free_text, hole, held);
}
