// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mock_audit.h"

#include "mock_dev/chunk.h"
#include "tests/fuzz/support.h"

namespace {

// What walking the chunks of one device adds up to.
struct tally_t {
  uint64_t pages[NEURON_MAX_HBM][2] = {};  // main, small pool
  uint64_t count[NEURON_MAX_HBM] = {};
  uint64_t host_pages = 0, chunks = 0, handles = 0, owned = 0;
};

void check_chunk(mock_host *host, mock_device_t *device, uint32_t id, uint64_t base, uint32_t page,
                 tally_t *tally) {
  const mock_chunk_t *chunk = mock_chunk_at(host, device, id);
  FUZZ_CHECK(chunk->pa == base + (uint64_t{page} << MOCK_PAGE_SHIFT) && chunk->size != 0 &&
                 chunk->size % MOCK_PAGE == 0,
             "chunk {}: {:#x}, {} bytes", id, chunk->pa, chunk->size);
  if (chunk->handle != 0) {
    tally->handles++;
    FUZZ_CHECK(mock_chunk_by_handle(host, device, chunk->handle) == id, "handle {} of chunk {}",
               chunk->handle, id);
  }
  FUZZ_CHECK((chunk->lifetime == MOCK_LIFETIME_PROCESS) == (chunk->slot != MOCK_NO_SLOT),
             "chunk {}: slot {}", id, chunk->slot);
  tally->owned += chunk->slot != MOCK_NO_SLOT ? 1 : 0;
  tally->chunks++;
}

void walk(mock_host *host, mock_device_t *device, const mock_page_map_t *map, uint64_t base,
          bool host_memory, uint32_t channel, tally_t *tally) {
  uint32_t page = 0, end = 0;
  while (page < map->pages &&
         (page = mock_page_map_at_or_above(map, host->region, page)) != MOCK_NO_PAGE) {
    FUZZ_CHECK(page >= end, "chunks overlap at page {}", page);
    uint32_t id = mock_page_map_id(map, host->region, page);
    check_chunk(host, device, id, base, page, tally);
    const mock_chunk_t *chunk = mock_chunk_at(host, device, id);
    uint64_t pages = chunk->size >> MOCK_PAGE_SHIFT;
    FUZZ_CHECK((chunk->pool == MOCK_POOL_HOST) == host_memory && pages <= map->pages - page,
               "chunk {} of {} pages at {}", id, pages, page);
    end = page + static_cast<uint32_t>(pages);
    if (host_memory) {
      tally->host_pages += pages;
    } else {
      FUZZ_CHECK(chunk->channel == channel, "chunk {} is on channel {}", id, chunk->channel);
      tally->pages[channel][chunk->pool == MOCK_POOL_SMALL] += pages;
      tally->count[channel]++;
    }
    page = end;
  }
}

// The lists of the process slots hold exactly the chunks that belong to a process.
uint64_t count_owned(mock_host *host, mock_device_t *device, uint64_t limit) {
  uint64_t owned = 0;
  for (uint32_t s = 0; s < NEURON_MAX_PROCESSES; s++) {
    uint32_t before = 0;
    for (uint32_t n = device->slots[s].chunks; n != 0;) {
      const mock_chunk_t *chunk = mock_chunk_at(host, device, n);
      FUZZ_CHECK(chunk->slot == s && chunk->prev == before && ++owned <= limit,
                 "list of slot {} at chunk {}", s, n);
      before = n;
      n = chunk->next;
    }
    FUZZ_CHECK(device->slots[s].open_count != 0 || device->slots[s].chunks == 0,
               "slot {} is free and has chunks", s);
  }
  return owned;
}

void audit_device(mock_host *host, mock_device_t *device, mock_audit_t *sum, uint64_t *host_pages) {
  mock_guard_t guard(&device->lock);
  const mock_state_t *state = host->state;
  tally_t tally;
  walk(host, device, &device->host_map, neuron_host_window_bit(state->arch), true, 0, &tally);
  for (uint32_t h = 0; h < state->hbms; h++) {
    walk(host, device, &device->chunk_map[h], neuron_hbm_base(state->arch, h), false, h, &tally);
    const mock_pool_t *pools[2] = {&device->main_pool[h], &device->small_pool[h]};
    for (uint32_t p = 0; p < 2; p++) {
      FUZZ_CHECK(pools[p]->free_pages + tally.pages[h][p] == pools[p]->pages,
                 "HBM {} pool {}: {} free + {} used of {} pages", h, p, pools[p]->free_pages,
                 tally.pages[h][p], pools[p]->pages);
      sum->free_pages += pools[p]->free_pages;
    }
    FUZZ_CHECK(device->chunk_count[h] == tally.count[h], "HBM {}: count {}, {} chunks", h,
               device->chunk_count[h], tally.count[h]);
  }
  FUZZ_CHECK(device->handles.live == tally.handles, "{} live handles, {} chunks have one",
             device->handles.live, tally.handles);
  FUZZ_CHECK(count_owned(host, device, tally.owned) == tally.owned, "{} chunks have an owner",
             tally.owned);
  sum->chunks += tally.chunks;
  sum->owned += tally.owned;
  *host_pages += tally.host_pages;
}

}  // namespace

mock_audit_t mock_audit(mock_host *host) {
  mock_audit_t sum;
  uint64_t host_pages = 0;
  for (uint32_t d = 0; d < host->state->device_count; d++)
    audit_device(host, mock_host_device(host, d), &sum, &host_pages);
  mock_guard_t guard(&host->state->lock);
  const mock_pool_t *pool = &host->state->host_pool;
  FUZZ_CHECK(pool->free_pages + host_pages == pool->pages, "host: {} free + {} used of {} pages",
             pool->free_pages, host_pages, pool->pages);
  sum.free_pages += pool->free_pages;
  return sum;
}

void mock_audit_idle(mock_host *host) {
  const mock_state_t *state = host->state;
  for (uint32_t d = 0; d < state->device_count; d++) {
    const mock_device_t *device = mock_host_device(host, d);
    FUZZ_CHECK(device->open_count == 0, "device {} has {} opens", d, device->open_count);
    for (const mock_slot_t &slot : device->slots)
      FUZZ_CHECK(slot.open_count == 0 && slot.chunks == 0, "process {} is attached", slot.tgid);
    for (const mock_datastore_t &store : device->datastores)
      FUZZ_CHECK(store.owned == 0, "process {} has a datastore", store.tgid);
    for (const mock_core_lock_t &lock : device->core_locks)
      FUZZ_CHECK(lock.writer == 0, "process {} writes a core", lock.tgid);
  }
  FUZZ_CHECK(state->claim_count == 0, "{} cores claimed", state->claim_count);
  for (int32_t owner : state->claims)
    FUZZ_CHECK(owner == 0, "process {} claims a core", owner);
  for (const mock_fd_t &fd : state->fds)
    FUZZ_CHECK(fd.file == 0, "process {} has a descriptor", fd.tgid);
  for (const mock_file_t &file : state->files)
    FUZZ_CHECK(file.kind == MOCK_FILE_FREE, "{} references to a file", file.references);
  FUZZ_CHECK(host->mappings.empty(), "{} mappings", host->mappings.size());
}
