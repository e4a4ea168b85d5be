// SPDX-License-Identifier: Apache-2.0
// Life of a handle: allocation, references, mapping, release.
#include "dmem/dmem.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "base/checked.h"
#include "base/nlog.h"
#include "dmem/dmem_impl.h"
#include "dmem/oom_report.h"
#include "uapi/neuron_shared.h"

namespace {

constexpr size_t kCacheLine = 64;
static_assert(sizeof(dmem_t) % kCacheLine == 0);

// Largest alignment the driver takes.
constexpr uint64_t kDriverAlignLimit = std::numeric_limits<int32_t>::max();

struct request_t {
  dmem_allocator_t *allocator;
  size_t size;
  dma_mem_location_t location;
  uint32_t channel;
  dma_mem_usage_type_t usage;
  uint32_t category;
  size_t alignment;
  const char *hint;
  bool *full;  // not NULL: set where the channel has no room, instead of a line in the log
};

// What the driver gave.
struct chunk_t {
  uint64_t handle;
  uint64_t pa;
  size_t size;
  size_t align_offset;
};

bool on_host(const request_t *request) {
  return request->location == dma_mem_location_t::HOST_DRAM;
}

NRT_STATUS validate(const request_t *request) {
  const physical_core_t *pcore = request->allocator->pcore;
  const char *wrong = nullptr;
  if (request->size == 0)
    wrong = "size 0";
  else if (request->location != dma_mem_location_t::HOST_DRAM &&
           request->location != dma_mem_location_t::TONGA_DRAM)
    wrong = "unknown location";
  else if (request->category >= NEURON_MEM_CATEGORY_COUNT)
    wrong = "this usage is not permitted there";
  else if (request->channel >= pcore->arch->hbm_count)
    wrong = "no such HBM";
  else if (request->alignment != 0 && !is_power_of_two(request->alignment))
    wrong = "alignment is not a power of two";
  if (wrong == nullptr)
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV,
             "nd{} nc{}: refused {} memory for {} (usage {}), {} bytes, alignment {}, hbm {} of "
             "{}: {}",
             pcore->device_id, pcore->nc_id, dmem_location_name(request->location),
             dmem_purpose(request->usage, request->hint), static_cast<uint32_t>(request->usage),
             request->size, request->alignment, request->channel, pcore->arch->hbm_count, wrong);
  return NRT_INVALID;
}

// One driver allocation. 0 or -errno.
int driver_alloc(const request_t *request, size_t size, uint64_t alignment, chunk_t *chunk) {
  const physical_core_t *pcore = request->allocator->pcore;
  hal_mem_request_t hal_request = {};
  hal_request.size = size;
  hal_request.alignment = alignment;
  hal_request.location = on_host(request) ? HAL_LOCATION_HOST : HAL_LOCATION_DEVICE;
  hal_request.hbm_index = request->channel;
  hal_request.nc_id = pcore->nc_id;
  hal_request.category = request->category;
  *chunk = chunk_t{};
  chunk->size = size;
  return hal_mem_alloc(pcore->device, &hal_request, &chunk->handle);
}

// The driver's aligned form where it has one and the memory is on the device. By hand otherwise:
// one alignment more than asked, the aligned start is found once the address is known.
int aligned_alloc_chunk(const request_t *request, chunk_t *chunk, bool *by_hand) {
  dmem_device_t *stats = request->allocator->pcore->stats;
  size_t alignment = request->alignment;
  *by_hand = false;
  // Host chunks start on a page and the driver refuses any alignment for them.
  if (alignment == 0 || (on_host(request) && alignment <= DMEM_PAGE_SIZE))
    return driver_alloc(request, request->size, 0, chunk);
  bool ask_driver = !on_host(request) && alignment <= kDriverAlignLimit &&
                    !stats->aligned_unavailable.load(std::memory_order_relaxed);
  int refused = 0;
  if (ask_driver) {
    refused = driver_alloc(request, request->size, alignment, chunk);
    if (refused == 0 || refused == -ENOMEM)
      return refused;
  }
  size_t padded = 0;
  if (!checked_add(request->size, alignment, &padded))
    return -EINVAL;
  int result = driver_alloc(request, padded, 0, chunk);
  if (result != 0)
    return result;
  *by_hand = true;
  // Only now is it certain that the alignment was what the driver did not like.
  if (ask_driver && !stats->aligned_unavailable.exchange(true)) {
    NLOG_WARN(NLOG_TDRV,
              "nd{}: the driver does not allocate with alignments ({}); aligning by hand from "
              "now on",
              request->allocator->pcore->device_id, hal_error_name(refused));
  }
  return 0;
}

NRT_STATUS report_failure(const request_t *request, const char *step, int error) {
  const physical_core_t *pcore = request->allocator->pcore;
  bool full = error == -ENOMEM;
  if (full && !on_host(request)) {
    if (request->full != nullptr) {
      *request->full = true;
    } else {
      dmem_shortage_t shortage = {};
      shortage.pcore = pcore;
      shortage.channel = request->channel;
      shortage.size = request->size;
      shortage.alignment = request->alignment;
      shortage.usage = request->usage;
      shortage.hint = request->hint;
      dmem_report_shortage(&shortage);
    }
    return NRT_RESOURCE;
  }
  NLOG_ERROR(NLOG_TDRV,
             "nd{} nc{}: {} memory for {}, {} bytes, alignment {}, hbm {}: {} failed: {}",
             pcore->device_id, pcore->nc_id, dmem_location_name(request->location),
             dmem_purpose(request->usage, request->hint), request->size, request->alignment,
             request->channel, step, hal_error_name(error));
  return full ? NRT_FAIL_HOST_MEM_ALLOC : NRT_FAILURE;
}

NRT_STATUS get_chunk(const request_t *request, chunk_t *chunk) {
  hal_device_t *device = request->allocator->pcore->device;
  bool by_hand = false;
  int result = aligned_alloc_chunk(request, chunk, &by_hand);
  if (result != 0)
    return report_failure(request, "allocation", result);
  result = hal_mem_get_pa(device, chunk->handle, &chunk->pa);
  if (result != 0) {
    hal_mem_free(device, chunk->handle);
    // Whatever the driver says here, it is not out of memory.
    return report_failure(request, "address query", result == -ENOMEM ? -EIO : result);
  }
  if (by_hand) {
    uint64_t mask = request->alignment - 1;
    chunk->align_offset = ((chunk->pa + request->alignment) & ~mask) - chunk->pa;
  }
  return NRT_SUCCESS;
}

void free_record(dmem_t *mem) {
  free(mem->hint);
  free(mem);
}

// An empty record with its own copy of the hint.
dmem_t *new_record(const char *hint) {
  auto *mem = static_cast<dmem_t *>(aligned_alloc(kCacheLine, sizeof(dmem_t)));
  if (mem == nullptr)
    return nullptr;
  memset(mem, 0, sizeof(*mem));
  if (hint != nullptr) {
    mem->hint = strdup(hint);
    if (mem->hint == nullptr) {
      free(mem);
      return nullptr;
    }
  }
  return mem;
}

NRT_STATUS allocate(const request_t *request, dmem_list_t *tracker, dmem_t **out) {
  *out = nullptr;
  NRT_STATUS status = validate(request);
  if (status != NRT_SUCCESS)
    return status;
  if (tracker != nullptr) {
    status = dmem_list_reserve(tracker);
    if (status != NRT_SUCCESS)
      return status;
  }
  const physical_core_t *pcore = request->allocator->pcore;
  dmem_t *mem = new_record(request->hint);
  if (mem == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "nd{} nc{}: out of host memory for a memory record", pcore->device_id,
               pcore->nc_id);
    return NRT_RESOURCE;
  }
  chunk_t chunk;
  status = get_chunk(request, &chunk);
  if (status != NRT_SUCCESS) {
    free_record(mem);
    return status;
  }
  mem->pcore = pcore;
  mem->mem_handle = chunk.handle;
  mem->size = request->size;
  mem->_pa = chunk.pa;
  mem->align_offset = chunk.align_offset;
  mem->allocated_size = chunk.size;
  mem->mem_type = request->location;
  mem->mem_usage_type = request->usage;
  mem->tdram_channel = request->channel;
  mem->ref_count = 1;
  mem->cpy_buf = pcore->copy_buf;
  dmem_allocator_link(request->allocator, mem);
  dmem_device_record(pcore->stats, mem, dmem_event_action_t::ALLOC);
  if (tracker != nullptr)
    dmem_list_add(tracker, mem);
  *out = mem;
  return NRT_SUCCESS;
}

// Driver 2.24.7 maps a wrong address for a chunk that ends where its channel ends, without an
// error (mock-device-semantics.md 2.2).
bool ends_with_its_channel(const dmem_t *mem) {
  const hal_arch_t *arch = mem->pcore->arch;
  return mem->mem_type == dma_mem_location_t::TONGA_DRAM &&
         mem->_pa + dmem_mapped_length(mem) == arch->hbm_base[mem->tdram_channel] + arch->hbm_size;
}

NRT_STATUS map_chunk(const dmem_t *mem, size_t length, void **va) {
  const physical_core_t *pcore = mem->pcore;
  uint64_t cookie = 0;
  uint64_t pa = 0;
  int result = hal_mem_get_info(pcore->device, mem->mem_handle, &cookie, &pa);
  if (result == 0)
    result = hal_mem_map(pcore->device, cookie, length, PROT_READ | PROT_WRITE, va);
  if (result == 0)
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV, "nd{} nc{}: mapping {} bytes of {} memory at {:#x} failed: {}",
             pcore->device_id, pcore->nc_id, length, dmem_usage_name(mem->mem_usage_type), mem->_pa,
             hal_error_name(result));
  return NRT_FAILURE;
}

}  // namespace

NRT_STATUS dmem_alloc(dmem_allocator_t *allocator, size_t size, dma_mem_location_t location,
                      uint32_t channel, dmem_list_t *tracker, dma_mem_usage_type_t usage,
                      const char *hint, dmem_t **out) {
  return dmem_alloc_aligned(allocator, size, location, channel, tracker, usage, hint, 0, out);
}

NRT_STATUS dmem_alloc_aligned(dmem_allocator_t *allocator, size_t size, dma_mem_location_t location,
                              uint32_t channel, dmem_list_t *tracker, dma_mem_usage_type_t usage,
                              const char *hint, size_t alignment, dmem_t **out) {
  request_t request = {};
  request.allocator = allocator;
  request.size = size;
  request.location = location;
  request.channel = channel;
  request.usage = usage;
  if (!dmem_usage_category(usage, location, &request.category))
    request.category = NEURON_MEM_CATEGORY_COUNT;
  request.alignment = alignment;
  request.hint = hint;
  return allocate(&request, tracker, out);
}

NRT_STATUS dmem_alloc_contiguous_page(dmem_allocator_t *allocator, size_t size, dmem_t **out,
                                      bool *full) {
  bool ignored = false;
  request_t request = {};
  request.allocator = allocator;
  request.size = size;
  request.location = dma_mem_location_t::TONGA_DRAM;
  request.channel = allocator->pcore->hbm_index;
  request.usage = dma_mem_usage_type_t::SCRATCHPAD;
  request.category = NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE;
  request.full = full != nullptr ? full : &ignored;
  *request.full = false;
  return allocate(&request, nullptr, out);
}

void dmem_acquire(dmem_t *mem) {
  __atomic_fetch_add(&mem->ref_count, 1, __ATOMIC_RELAXED);
}

void dmem_free(dmem_t *mem) {
  if (mem == nullptr || __atomic_sub_fetch(&mem->ref_count, 1, __ATOMIC_ACQ_REL) != 0)
    return;
  dmem_allocator_unlink(mem);
  dmem_release(mem);
}

void dmem_release(dmem_t *mem) {
  const physical_core_t *pcore = mem->pcore;
  if (mem->_va != nullptr)
    hal_mem_unmap(pcore->device, const_cast<void *>(mem->_va), dmem_mapped_length(mem));
  // Before the driver may give the memory to another thread: the log shows one holder at a time.
  dmem_device_record(pcore->stats, mem, dmem_event_action_t::FREE);
  int result = hal_mem_free(pcore->device, mem->mem_handle);
  if (result != 0) {
    NLOG_WARN(NLOG_TDRV, "nd{} nc{}: the driver did not take back {} bytes at {:#x}: {}",
              pcore->device_id, pcore->nc_id, mem->allocated_size, mem->_pa,
              hal_error_name(result));
  }
  free_record(mem);
}

void *dmem_get_va(dmem_t *mem) {
  volatile void *va = __atomic_load_n(&mem->_va, __ATOMIC_ACQUIRE);
  if (va == nullptr) {
    std::lock_guard<std::mutex> lock(mem->allocator->map_mutex);
    va = mem->_va;
    if (va == nullptr) {
      if (ends_with_its_channel(mem)) {
        NLOG_ERROR(NLOG_TDRV,
                   "nd{} nc{}: {} bytes at {:#x} end with hbm {}; the driver cannot map such "
                   "memory",
                   mem->pcore->device_id, mem->pcore->nc_id, mem->allocated_size, mem->_pa,
                   mem->tdram_channel);
        return nullptr;
      }
      void *mapped = nullptr;
      if (map_chunk(mem, dmem_mapped_length(mem), &mapped) != NRT_SUCCESS)
        return nullptr;
      va = mapped;
      __atomic_store_n(&mem->_va, va, __ATOMIC_RELEASE);
    }
  }
  return static_cast<uint8_t *>(const_cast<void *>(va)) + mem->align_offset;
}

NRT_STATUS dmem_map_region(dmem_t *lowest_page, size_t length, void **va) {
  *va = nullptr;
  return map_chunk(lowest_page, length, va);
}

void dmem_unmap_region(const physical_core_t *pcore, void *va, size_t length) {
  hal_mem_unmap(pcore->device, va, length);
}
