// SPDX-License-Identifier: Apache-2.0
// What the files of dmem/ share; nobody else includes it.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "dmem/accounting.h"
#include "dmem/dmem.h"
#include "dmem/memlog.h"

// The driver rounds every chunk to pages of this size, and mappings must have that exact length.
constexpr uint64_t DMEM_PAGE_SIZE = 4096;

// Events sit in blocks that are allocated as the log grows: most processes never fill it.
struct dmem_memlog_t {
  dmem_event_t **blocks;
  uint64_t capacity;  // events; 0 = off
  uint64_t written;   // events ever accepted
  uint64_t lost;      // events without memory to keep them
};

struct dmem_device_t {
  uint32_t device_id;
  std::mutex mutex;  // guards table and log
  dmem_usage_table_t table;
  dmem_memlog_t log;
  // Set when the driver failed an aligned allocation that worked by hand; never cleared.
  std::atomic<bool> aligned_unavailable;
};

struct dmem_allocator_t {
  dmem_allocator_type_t type;
  const physical_core_t *pcore;
  std::mutex mutex;  // guards the list and the counters
  dmem_t *head;
  dmem_t *tail;
  uint64_t live;  // entries
  size_t largest_oversized;
  std::mutex map_mutex;  // a handle is mapped once, by one thread
};

struct ndl_copy_buf_t {
  std::mutex mutex;  // one copy at a time per core: two slots, one buffer
  uint64_t mem_handle;
  uint8_t *va;
};
constexpr size_t DMEM_COPY_BUF_SIZE = size_t{2} << 20;

// Adds (or takes away) the handle's bytes and logs the event.
void dmem_device_record(dmem_device_t *device, const dmem_t *mem, dmem_event_action_t action);

// False: out of memory.
bool dmem_memlog_init(dmem_memlog_t *log, uint64_t capacity);
void dmem_memlog_fini(dmem_memlog_t *log);
void dmem_memlog_append(dmem_memlog_t *log, const dmem_event_t *event);

void dmem_allocator_link(dmem_allocator_t *allocator, dmem_t *mem);
void dmem_allocator_unlink(dmem_t *mem);

// Room for one more entry, so that the add that follows cannot fail.
NRT_STATUS dmem_list_reserve(dmem_list_t *list);

// Writes the ERROR line of a device allocation that found no room.
void dmem_report_shortage(const physical_core_t *pcore, uint64_t size, uint64_t alignment,
                          dma_mem_usage_type_t usage, const char *hint, uint32_t channel);

// What an allocation is for, as log lines name it: the usage, and the owner when one was given.
std::string dmem_purpose(dma_mem_usage_type_t usage, const char *hint);

// Unmaps, gives the chunk back to the driver and frees the record. The handle is on no list.
void dmem_release(dmem_t *mem);

inline uint64_t dmem_mapped_length(const dmem_t *mem) {
  return (mem->allocated_size + DMEM_PAGE_SIZE - 1) & ~(DMEM_PAGE_SIZE - 1);
}

inline const char *dmem_location_name(dma_mem_location_t location) {
  return location == dma_mem_location_t::HOST_DRAM ? "host" : "device";
}
