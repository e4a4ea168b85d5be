// SPDX-License-Identifier: Apache-2.0
// What the files of dmem/ share; nobody else includes it.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "dmem/accounting.h"
#include "dmem/dmem.h"
#include "dmem/memlog.h"
#include "dmem/oom_dump.h"
#include "dmem/oom_report.h"

// The driver rounds every chunk to pages of this size, and mappings must have that exact length.
constexpr uint64_t DMEM_PAGE_SIZE = 4096;

// Events sit in blocks that are allocated as the log grows: most processes never fill it.
struct dmem_memlog_t {
  dmem_event_t **blocks;
  uint64_t capacity;  // events; 0 = off
  uint64_t written;   // events ever accepted
  uint64_t lost;      // events without memory to keep them
};

// How shortages are reported, read from the environment once.
struct dmem_report_options_t {
  bool enabled;           // NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG
  bool per_usage;         // NEURON_RT_DBG_VERBOSE_DEV_MEM
  std::string directory;  // NEURON_RT_OOM_DUMP_DIRECTORY
};

struct dmem_device_t {
  uint32_t device_id;
  std::atomic<uint32_t> lnc;  // physical cores per logical core, 0 = not told
  dmem_report_options_t report;
  std::mutex mutex;  // guards all below up to the flag, and the figures of `neffs`
  dmem_usage_table_t table;
  dmem_memlog_t log;
  dmem_dump_limit_t dumps;
  dmem_allocator_t *neffs;  // MODEL allocators that have a name
  dmem_last_shortage_t last_shortage;
  bool had_shortage;
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
  uint64_t
      by_usage[DMEM_USAGE_COUNT];  // device bytes; guarded by the device's lock, as is the rest
  char *neff_name;                 // NULL: none given
  uint32_t neff_id;
  dmem_allocator_t *next_neff;
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

// Takes the allocator off its device's list.
void dmem_allocator_forget_neff(dmem_allocator_t *allocator);

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
