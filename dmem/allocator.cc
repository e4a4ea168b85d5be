// SPDX-License-Identifier: Apache-2.0
// Allocators (lists of the live handles of one owner) and caller-owned lists of references.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/nlog.h"
#include "dmem/dmem_impl.h"

struct dmem_list_t {
  dmem_t **entries;
  size_t count;
  size_t capacity;
};

NRT_STATUS dmem_allocator_create(dmem_allocator_type_t type, const physical_core_t *pcore,
                                 dmem_allocator_t **out) {
  auto *allocator = new (std::nothrow) dmem_allocator_t{};
  *out = allocator;
  if (allocator == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "nd{} nc{}: out of host memory for an allocator", pcore->device_id,
               pcore->nc_id);
    return NRT_RESOURCE;
  }
  allocator->type = type;
  allocator->pcore = pcore;
  return NRT_SUCCESS;
}

void dmem_allocator_destroy(dmem_allocator_t *allocator) {
  if (allocator == nullptr)
    return;
  uint64_t handles = 0;
  uint64_t total = 0;
  while (allocator->head != nullptr) {
    dmem_t *mem = allocator->head;
    ++handles;
    total += mem->allocated_size;
    dmem_allocator_unlink(mem);
    dmem_release(mem);
  }
  if (handles != 0) {
    NLOG_WARN(NLOG_TDRV, "nd{} nc{}: {} allocator destroyed with {} live handles ({} bytes); freed",
              allocator->pcore->device_id, allocator->pcore->nc_id,
              allocator->type == dmem_allocator_type_t::GLOBAL ? "global" : "model", handles,
              total);
  }
  dmem_allocator_forget_neff(allocator);
  delete allocator;
}

void dmem_allocator_note_oversized(dmem_allocator_t *allocator, size_t size) {
  std::lock_guard<std::mutex> lock(allocator->mutex);
  allocator->largest_oversized = std::max(allocator->largest_oversized, size);
}

size_t dmem_allocator_largest_oversized(dmem_allocator_t *allocator) {
  std::lock_guard<std::mutex> lock(allocator->mutex);
  return allocator->largest_oversized;
}

uint64_t dmem_allocator_live(dmem_allocator_t *allocator) {
  std::lock_guard<std::mutex> lock(allocator->mutex);
  return allocator->live;
}

void dmem_allocator_link(dmem_allocator_t *allocator, dmem_t *mem) {
  std::lock_guard<std::mutex> lock(allocator->mutex);
  mem->allocator = allocator;
  mem->next = nullptr;
  mem->prev = allocator->tail;
  if (allocator->tail != nullptr)
    allocator->tail->next = mem;
  else
    allocator->head = mem;
  allocator->tail = mem;
  ++allocator->live;
}

void dmem_allocator_unlink(dmem_t *mem) {
  dmem_allocator_t *allocator = mem->allocator;
  std::lock_guard<std::mutex> lock(allocator->mutex);
  if (mem->prev != nullptr)
    mem->prev->next = mem->next;
  else
    allocator->head = mem->next;
  if (mem->next != nullptr)
    mem->next->prev = mem->prev;
  else
    allocator->tail = mem->prev;
  mem->next = nullptr;
  mem->prev = nullptr;
  --allocator->live;
}

dmem_list_t *dmem_list_create() {
  return new (std::nothrow) dmem_list_t{};
}

NRT_STATUS dmem_list_reserve(dmem_list_t *list) {
  if (list->count < list->capacity)
    return NRT_SUCCESS;
  size_t capacity = list->capacity == 0 ? 32 : list->capacity * 2;
  auto **entries = static_cast<dmem_t **>(
      realloc(static_cast<void *>(list->entries), capacity * sizeof(void *)));
  if (entries == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "out of host memory for a list of {} handles", capacity);
    return NRT_RESOURCE;
  }
  list->entries = entries;
  list->capacity = capacity;
  return NRT_SUCCESS;
}

NRT_STATUS dmem_list_add(dmem_list_t *list, dmem_t *mem) {
  NRT_STATUS status = dmem_list_reserve(list);
  if (status == NRT_SUCCESS)
    list->entries[list->count++] = mem;
  return status;
}

void dmem_list_free(dmem_list_t *list) {
  if (list == nullptr)
    return;
  while (list->count != 0)
    dmem_free(list->entries[--list->count]);
}

void dmem_list_destroy(dmem_list_t *list) {
  if (list == nullptr)
    return;
  dmem_list_free(list);
  free(static_cast<void *>(list->entries));
  delete list;
}
