// SPDX-License-Identifier: Apache-2.0
// Device memory handles (device-memory.md 2, mem-ref.md 5.4).
//
// A dmem_t is one driver chunk. Its usable device address is always _pa + align_offset; use
// dmem_get_pa. Handles are reference counted (1 at birth) and sit on their allocator's list.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmem/pcore.h"

// Values as in mem-ref.md 3.3. A separate type from kbin_mr_type_t on purpose: the kind of a
// variable and the usage of an allocation are different axes and do not convert (rulings.md 4).
enum class dma_mem_usage_type_t : uint32_t {
  GENERIC = 0,
  INSTR_PE = 1,
  INSTR_ACT = 2,
  INSTR_POOL = 3,
  IO = 4,
  DRAM_SPILL = 5,
  WEIGHT = 6,
  NOTIFICATION = 7,
  ACT_TABLE = 8,
  INSTR_DVE = 9,
  INSTR_SP = 10,
  SCRATCHPAD = 11,
  TENSOR = 12,
  UCODE_LIB = 13,
  POOL_STDIO = 14,
  CC = 15,
  SCRATCHPAD_NOT_SHARED = 16,
  XT_CC = 17,
  DMA_RING = 18,
  DMA_RING_SPILL = 19,
  DMA_RING_IO = 20,
  DMA_RING_COLLECTIVES = 21,
  MAX = 22,
};
constexpr uint32_t DMEM_USAGE_COUNT = 22;

enum class dma_mem_location_t : uint32_t { INVALID = 0, HOST_DRAM = 1, TONGA_DRAM = 2 };

enum class dmem_allocator_type_t : uint32_t { GLOBAL = 0, MODEL = 1 };

struct dmem_allocator_t;

// Allocated on a cache-line boundary.
struct dmem_t {
  const physical_core_t *pcore;
  uint64_t mem_handle;    // driver handle, 0 = none
  size_t size;            // requested bytes
  uint64_t _pa;           // chunk start as the driver gave it
  volatile void *_va;     // host mapping of the chunk start, NULL until mapped
  size_t align_offset;    // bytes from _pa to the aligned start (manual fallback only)
  size_t allocated_size;  // bytes asked of the driver
  dma_mem_location_t mem_type;
  dma_mem_usage_type_t mem_usage_type;
  uint32_t tdram_channel;  // HBM index
  uint8_t unused[60];      // keeps the counter on its own cache line
  volatile uint64_t ref_count;
  char *hint;  // own copy of a debug tag, or NULL
  ndl_copy_buf_t *cpy_buf;
  dmem_t *next;
  dmem_t *prev;
  dmem_allocator_t *allocator;
  uint64_t unnamed[2];
};
static_assert(sizeof(dmem_t) == 192);
static_assert(offsetof(dmem_t, mem_handle) == 8 && offsetof(dmem_t, size) == 16 &&
              offsetof(dmem_t, _pa) == 24 && offsetof(dmem_t, _va) == 32 &&
              offsetof(dmem_t, align_offset) == 40 && offsetof(dmem_t, allocated_size) == 48 &&
              offsetof(dmem_t, mem_type) == 56 && offsetof(dmem_t, mem_usage_type) == 60 &&
              offsetof(dmem_t, tdram_channel) == 64 && offsetof(dmem_t, ref_count) == 128 &&
              offsetof(dmem_t, hint) == 136 && offsetof(dmem_t, cpy_buf) == 144 &&
              offsetof(dmem_t, next) == 152 && offsetof(dmem_t, prev) == 160 &&
              offsetof(dmem_t, allocator) == 168);

// A caller-owned list of handles (garbage collection list). Holds one reference per entry. Not
// thread-safe: it has one owner.
struct dmem_list_t;
dmem_list_t *dmem_list_create();  // nullptr: out of memory
// Gives the caller's reference to the list (on success only). A borrower acquires one first.
NRT_STATUS dmem_list_add(dmem_list_t *list, dmem_t *mem);
// Drops one reference per entry, newest first, and clears the list, which stays usable.
void dmem_list_free(dmem_list_t *list);
// dmem_list_free, then the list object itself. NULL is fine.
void dmem_list_destroy(dmem_list_t *list);

NRT_STATUS dmem_allocator_create(dmem_allocator_type_t type, const physical_core_t *pcore,
                                 dmem_allocator_t **out);
// Entries still listed are a bug of the caller: they are freed and reported (device-memory.md 7.4).
void dmem_allocator_destroy(dmem_allocator_t *allocator);
// Largest `virtual` variable that fitted no scratchpad page, for the page-size advice.
void dmem_allocator_note_oversized(dmem_allocator_t *allocator, size_t size);
size_t dmem_allocator_largest_oversized(dmem_allocator_t *allocator);  // 0 = none
// Number of handles on the allocator's list.
uint64_t dmem_allocator_live(dmem_allocator_t *allocator);

// Allocates without alignment. `tracker` may be NULL; when given, the birth reference belongs to
// the list. `hint` may be NULL and is copied. *out is NULL on failure. NRT_INVALID: size 0, usage
// not permitted at the location, bad channel; NRT_RESOURCE: device memory; NRT_FAIL_HOST_MEM_ALLOC:
// host memory; NRT_FAILURE: other driver errors.
NRT_STATUS dmem_alloc(dmem_allocator_t *allocator, size_t size, dma_mem_location_t location,
                      uint32_t channel, dmem_list_t *tracker, dma_mem_usage_type_t usage,
                      const char *hint, dmem_t **out);

// Same with an alignment (power of two, 0 = none): the driver's aligned form, else over-allocation
// by hand (mem-ref.md 5.4, device-memory.md 2.4).
NRT_STATUS dmem_alloc_aligned(dmem_allocator_t *allocator, size_t size, dma_mem_location_t location,
                              uint32_t channel, dmem_list_t *tracker, dma_mem_usage_type_t usage,
                              const char *hint, size_t alignment, dmem_t **out);

// One page of the contiguous scratchpad (driver category 19) on the core's default HBM.
// NRT_RESOURCE with *full set: no room for it; that line in the log is the scratchpad's. `full` may
// be NULL.
NRT_STATUS dmem_alloc_contiguous_page(dmem_allocator_t *allocator, size_t size, dmem_t **out,
                                      bool *full = nullptr);

void dmem_acquire(dmem_t *mem);
// Drops one reference; the last one unmaps, then frees. NULL is fine.
void dmem_free(dmem_t *mem);

inline uint64_t dmem_get_pa(const dmem_t *mem) {
  return mem->_pa + mem->align_offset;
}
// Maps on first use; NULL (and one ERROR line) when the driver refuses. Thread-safe.
void *dmem_get_va(dmem_t *mem);
// Maps `length` bytes from a contiguous scratchpad page on, over its higher neighbours. The caller
// unmaps with dmem_unmap_region.
NRT_STATUS dmem_map_region(dmem_t *lowest_page, size_t length, void **va);
void dmem_unmap_region(const physical_core_t *pcore, void *va, size_t length);

// Copies between host memory and a handle; `offset` counts from the aligned start. Mapped handles
// are copied directly, others through the core's bounce buffer with overlap. NRT_INVALID: range
// outside the handle; NRT_FAILURE: the copy failed (on copy-out the buffer may be partly written).
NRT_STATUS dmem_buf_copyin(dmem_t *mem, const void *source, size_t offset, size_t size);
NRT_STATUS dmem_buf_copyout(dmem_t *mem, void *destination, size_t offset, size_t size);
NRT_STATUS dmem_memset(dmem_t *mem, size_t offset, uint8_t value, size_t size);
// Device to device, same device.
NRT_STATUS dmem_copy(dmem_t *source, size_t source_offset, dmem_t *destination,
                     size_t destination_offset, size_t size);
