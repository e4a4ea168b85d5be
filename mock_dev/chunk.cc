// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/chunk.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/checked.h"

namespace {

uint32_t record_get(mock_host *host, mock_device_t *device) {
  mock_chunk_arena_t *a = &device->chunks;
  uint32_t n = a->free_head;
  if (n != 0)
    a->free_head = mock_chunk_at(host, device, n)->next;
  else if (a->used < a->capacity)
    n = ++a->used;
  return n;
}

void record_put(mock_host *host, mock_device_t *device, uint32_t n) {
  mock_chunk_at(host, device, n)->next = device->chunks.free_head;
  device->chunks.free_head = n;
}

mock_pool_t *pool_of(mock_device_t *device, mock_pool_kind_t kind, uint32_t channel) {
  return kind == MOCK_POOL_MAIN ? &device->main_pool[channel] : &device->small_pool[channel];
}

// Page number of the chunk in its channel, or in host memory.
uint32_t first_page(const mock_host *host, const mock_chunk_t *chunk) {
  uint64_t base = mock_chunk_is_host(chunk) ? neuron_host_window_bit(host->state->arch)
                                            : neuron_hbm_base(host->state->arch, chunk->channel);
  return static_cast<uint32_t>((chunk->pa - base) >> MOCK_PAGE_SHIFT);
}

const mock_page_map_t *map_of(const mock_device_t *device, const mock_chunk_t *chunk) {
  return mock_chunk_is_host(chunk) ? &device->host_map : &device->chunk_map[chunk->channel];
}

int place_host(mock_host *host, uint32_t pages, mock_chunk_t *chunk) {
  uint32_t at;
  mock_guard_t guard(&host->state->lock);
  if (!mock_pool_take(mock_host_extents(host), &host->state->host_pool, pages, 0, &at))
    return -ENOMEM;
  chunk->pool = MOCK_POOL_HOST;
  chunk->pa =
      neuron_host_window_bit(host->state->arch) + (static_cast<uint64_t>(at) << MOCK_PAGE_SHIFT);
  return 0;
}

// Exactly below the previous scratchpad chunk, or nowhere.
int place_scratchpad(mock_extent_space_t space, mock_device_t *device, uint32_t channel,
                     uint32_t pages, uint32_t *at) {
  uint32_t bottom = device->scratch_bottom[channel];
  if (bottom < pages ||
      !mock_pool_take_at(space, &device->main_pool[channel], bottom - pages, pages))
    return -ENOMEM;
  *at = device->scratch_bottom[channel] = bottom - pages;
  return 0;
}

int place_device(mock_host *host, mock_device_t *device, const mock_chunk_request_t *request,
                 uint32_t pages, mock_chunk_t *chunk) {
  mock_extent_space_t space = mock_device_extents(host, device);
  uint32_t channel = request->channel;
  uint32_t at;
  if (request->category == NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE) {
    chunk->pool = MOCK_POOL_MAIN;
    int rc = place_scratchpad(space, device, channel, pages, &at);
    if (rc != 0)
      return rc;
  } else {
    // An alignment that is no power of two is searched by its largest power-of-two factor; the
    // driver then checks the address against the whole value and gives up if it does not divide.
    uint64_t align = std::max(request->align, MOCK_PAGE);
    uint32_t order = std::max(std::countr_zero(align), static_cast<int>(MOCK_PAGE_SHIFT));
    bool small_first = (static_cast<uint64_t>(pages) << MOCK_PAGE_SHIFT) <= NEURON_SMALL_ALLOC_MAX;
    chunk->pool = small_first ? MOCK_POOL_SMALL : MOCK_POOL_MAIN;
    order -= MOCK_PAGE_SHIFT;
    if (!mock_pool_take(space, pool_of(device, chunk->pool, channel), pages, order, &at)) {
      chunk->pool = small_first ? MOCK_POOL_MAIN : MOCK_POOL_SMALL;
      if (!mock_pool_take(space, pool_of(device, chunk->pool, channel), pages, order, &at))
        return -ENOMEM;
    }
    uint64_t pa = neuron_hbm_base(host->state->arch, channel) +
                  (static_cast<uint64_t>(at) << MOCK_PAGE_SHIFT);
    if (align > MOCK_PAGE && pa % align != 0) {
      mock_pool_give(space, pool_of(device, chunk->pool, channel), at, pages);
      return -ENOMEM;
    }
  }
  chunk->pa =
      neuron_hbm_base(host->state->arch, channel) + (static_cast<uint64_t>(at) << MOCK_PAGE_SHIFT);
  return 0;
}

void count(mock_device_t *device, const mock_chunk_t *chunk, bool added) {
  mock_counters_memory(&device->counters, mock_chunk_is_host(chunk), chunk->category, chunk->nc_id,
                       chunk->size, added);
}

// Memory nobody wrote reads as zero; this makes the rest of it do so, too.
void content_drop(mock_host *host, const mock_device_t *device, const mock_chunk_t *chunk) {
  mock_place_t place = mock_chunk_place(host, device, chunk);
  fallocate(place.memory->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(place.offset), static_cast<off_t>(chunk->size));
}

void slot_link(mock_host *host, mock_device_t *device, uint32_t n) {
  mock_chunk_t *chunk = mock_chunk_at(host, device, n);
  chunk->prev = chunk->next = 0;
  if (chunk->slot == MOCK_NO_SLOT)
    return;
  mock_slot_t *slot = &device->slots[chunk->slot];
  chunk->next = slot->chunks;
  if (slot->chunks != 0)
    mock_chunk_at(host, device, slot->chunks)->prev = n;
  slot->chunks = n;
}

void slot_unlink(mock_host *host, mock_device_t *device, const mock_chunk_t *chunk) {
  if (chunk->slot == MOCK_NO_SLOT)
    return;
  if (chunk->prev != 0)
    mock_chunk_at(host, device, chunk->prev)->next = chunk->next;
  else
    device->slots[chunk->slot].chunks = chunk->next;
  if (chunk->next != 0)
    mock_chunk_at(host, device, chunk->next)->prev = chunk->prev;
}

}  // namespace

mock_chunk_t *mock_chunk_at(mock_host *host, mock_device_t *device, uint32_t chunk) {
  return reinterpret_cast<mock_chunk_t *>(host->region + device->chunks.offset) + chunk;
}

int mock_chunk_create(mock_host *host, mock_device_t *device, const mock_chunk_request_t *request,
                      uint32_t *out) {
  uint64_t size;
  uint32_t pages;
  if (request->size == 0 || !checked_round_up(request->size, MOCK_PAGE, &size) ||
      !checked_cast(size >> MOCK_PAGE_SHIFT, &pages))
    return -ENOMEM;
  uint32_t n = record_get(host, device);
  if (n == 0)
    return -ENOMEM;
  mock_chunk_t *chunk = mock_chunk_at(host, device, n);
  *chunk = {};
  chunk->size = size;
  chunk->tgid = request->tgid;
  chunk->slot = request->slot;
  chunk->channel = request->channel;
  chunk->nc_id = request->nc_id;
  chunk->category = request->category;
  chunk->lifetime = request->lifetime;
  int rc = request->host ? place_host(host, pages, chunk)
                         : place_device(host, device, request, pages, chunk);
  if (rc != 0) {
    record_put(host, device, n);
    return rc;
  }
  mock_page_map_set(map_of(device, chunk), host->region, first_page(host, chunk), n);
  if (!request->host) {
    device->chunk_count[request->channel]++;
    if (device->exposed != 0)  // written while nobody had it
      content_drop(host, device, chunk);
  }
  slot_link(host, device, n);
  count(device, chunk, true);
  *out = n;
  return 0;
}

int mock_chunk_create_driver(mock_host *host, mock_device_t *device, uint64_t size, uint32_t nc_id,
                             uint32_t *chunk) {
  mock_chunk_request_t request = {};
  request.size = size;
  request.host = true;
  request.nc_id = nc_id;
  request.category = NEURON_MEM_NCDEV_HOST;
  request.lifetime = MOCK_LIFETIME_DEVICE;
  request.slot = MOCK_NO_SLOT;
  return mock_chunk_create(host, device, &request, chunk);
}

void mock_chunk_fill(uint8_t *at, uint32_t pattern, uint64_t size) {
  auto *words = reinterpret_cast<uint32_t *>(at);
  std::fill(words, words + size / sizeof(pattern), pattern);
}

int mock_chunk_poison(mock_host *host, mock_device_t *device, const mock_chunk_t *chunk) {
  uint32_t pattern =
      mock_chunk_is_host(chunk)
          ? 0
          : __atomic_load_n(&device->fresh_pattern[chunk->channel], __ATOMIC_RELAXED);
  if (pattern == 0)  // the file holds zeros
    return 0;
  mock_place_t place = mock_chunk_place(host, device, chunk);
  uint8_t *bytes = mock_memory_bytes(host, place.memory);
  if (bytes == nullptr)
    return -ENOMEM;
  mock_chunk_fill(bytes + place.offset, pattern, chunk->size);
  return 0;
}

void mock_chunk_destroy(mock_host *host, mock_device_t *device, uint32_t n) {
  mock_chunk_t *chunk = mock_chunk_at(host, device, n);
  uint32_t page = first_page(host, chunk);
  uint32_t pages = static_cast<uint32_t>(chunk->size >> MOCK_PAGE_SHIFT);
  if (chunk->handle != 0)
    mock_handle_remove(&device->handles, host->region, chunk->handle);
  mock_page_map_clear(map_of(device, chunk), host->region, page);
  slot_unlink(host, device, chunk);
  count(device, chunk, false);
  // Memory nobody wrote still reads as zero; anything else is dropped before the next owner comes.
  if (chunk->dirty || device->exposed != 0 ||
      (!mock_chunk_is_host(chunk) && device->fresh_pattern[chunk->channel] != 0))
    content_drop(host, device, chunk);
  if (mock_chunk_is_host(chunk)) {
    mock_guard_t guard(&host->state->lock);
    mock_pool_give(mock_host_extents(host), &host->state->host_pool, page, pages);
  } else {
    mock_pool_give(mock_device_extents(host, device), pool_of(device, chunk->pool, chunk->channel),
                   page, pages);
    device->chunk_count[chunk->channel]--;
    // The driver moves its mark up by the size whichever chunk goes: out of order, later requests
    // find their place taken or land in a gap.
    if (chunk->category == NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE)
      device->scratch_bottom[chunk->channel] += pages;
  }
  record_put(host, device, n);
}

uint32_t mock_chunk_handle(mock_host *host, mock_device_t *device, uint32_t n) {
  mock_chunk_t *chunk = mock_chunk_at(host, device, n);
  if (chunk->handle == 0)
    chunk->handle = mock_handle_create(&device->handles, host->region, n);
  return chunk->handle;
}

uint32_t mock_chunk_by_handle(mock_host *host, mock_device_t *device, uint64_t handle) {
  return mock_handle_find(&device->handles, host->region, handle);
}

uint32_t mock_chunk_by_address(mock_host *host, mock_device_t *device, uint64_t pa) {
  const mock_state_t *state = host->state;
  const mock_page_map_t *map = nullptr;
  uint64_t at = pa - neuron_host_window_bit(state->arch);
  if (at < MOCK_HOST_SIZE)
    map = &device->host_map;
  if (map == nullptr) {
    uint32_t h = neuron_hbm_near(state->arch, pa);
    at = pa - neuron_hbm_base(state->arch, h);
    if (at >= state->hbm_size)
      return 0;
    map = &device->chunk_map[h];
  }
  uint32_t page =
      mock_page_map_at_or_below(map, host->region, static_cast<uint32_t>(at >> MOCK_PAGE_SHIFT));
  if (page == MOCK_NO_PAGE)
    return 0;
  uint32_t n = mock_page_map_id(map, host->region, page);
  const mock_chunk_t *chunk = mock_chunk_at(host, device, n);
  return pa - chunk->pa < chunk->size ? n : 0;
}

uint64_t mock_chunk_reach(const mock_host *host, const mock_chunk_t *chunk) {
  if (mock_chunk_is_host(chunk) || chunk->category != NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE)
    return chunk->size;
  const mock_state_t *state = host->state;
  uint64_t end =
      neuron_hbm_base(state->arch, chunk->channel) + state->hbm_size - NEURON_HBM_SMALL_POOL;
  return end - chunk->pa;
}

bool mock_chunk_holds(const mock_host *host, const mock_chunk_t *chunk, uint64_t offset,
                      uint64_t size) {
  return range_within(offset, size, mock_chunk_reach(host, chunk));
}

void mock_chunk_touch(mock_device_t *device, mock_chunk_t *chunk, uint64_t offset, uint64_t size) {
  chunk->dirty = true;
  if (!range_within(offset, size, chunk->size))  // across the chunk that follows
    device->exposed = 1;
}

mock_place_t mock_chunk_place(mock_host *host, const mock_device_t *device,
                              const mock_chunk_t *chunk) {
  if (mock_chunk_is_host(chunk))
    return {&host->host_memory, chunk->pa - neuron_host_window_bit(host->state->arch)};
  return {&host->device_memory[device->index],
          mock_memory_hbm_offset(host->state, chunk->channel) +
              (chunk->pa - neuron_hbm_base(host->state->arch, chunk->channel))};
}
