// SPDX-License-Identifier: Apache-2.0
// Copies between host memory and handles (device-memory.md 2.5). Memory that the host can address
// is copied directly. The rest goes through the core's bounce buffer; from 16 KiB on, the two
// halves alternate, so that the device copies one while the host fills or empties the other.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "base/nlog.h"
#include "dmem/dmem_impl.h"

namespace {

constexpr size_t kHalf = DMEM_COPY_BUF_SIZE / 2;
constexpr size_t kSinglePass = 16383;  // largest copy made in one synchronous pass

size_t chunk_size(size_t total) {
  if (total <= kSinglePass)
    return 16384;
  if (total <= kHalf)
    return ((total + 1) / 2 + DMEM_PAGE_SIZE - 1) & ~(DMEM_PAGE_SIZE - 1);
  return kHalf;
}

bool can_overlap(const dmem_t *mem) {
  const hal_identity_t *identity = hal_identity(hal_device_hal(mem->pcore->device));
  return (identity->features & HAL_FEATURE_ASYNC_DMA) != 0;
}

NRT_STATUS check_range(const dmem_t *mem, const char *what, size_t offset, size_t size) {
  if (range_within(offset, size, mem->size))
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV, "nd{} nc{}: {} of {} bytes at offset {} leaves the {} memory of {} bytes",
             mem->pcore->device_id, mem->pcore->nc_id, what, size, offset,
             dmem_usage_name(mem->mem_usage_type), mem->size);
  return NRT_INVALID;
}

NRT_STATUS copy_failure(const dmem_t *mem, const char *what, size_t offset, size_t size,
                        int error) {
  NLOG_ERROR(NLOG_TDRV, "nd{} nc{}: {} of {} bytes at {:#x} failed: {}", mem->pcore->device_id,
             mem->pcore->nc_id, what, size, dmem_get_pa(mem) + offset, hal_error_name(error));
  return NRT_FAILURE;
}

// Address of the aligned start for the host, when direct access is possible; else nullptr. Host
// memory is mapped on the spot. *status: the mapping failed.
uint8_t *direct_access(dmem_t *mem, NRT_STATUS *status) {
  *status = NRT_SUCCESS;
  bool host = mem->mem_type == dma_mem_location_t::HOST_DRAM;
  if (!host && __atomic_load_n(&mem->_va, __ATOMIC_ACQUIRE) == nullptr)
    return nullptr;
  void *va = dmem_get_va(mem);
  if (va == nullptr)
    *status = NRT_FAILURE;
  return static_cast<uint8_t *>(va);
}

// A staged copy in progress: chunk i of the data uses half i % 2 of the buffer.
struct staged_t {
  const dmem_t *mem;
  ndl_copy_buf_t *buf;
  uint64_t base;  // offset of the data in the driver's chunk
  size_t size;    // of the data
  size_t chunk;
  bool in;  // to the device
  bool overlap;
  int pending;  // wait handle of the copy in flight, 0 or below: none
};

size_t staged_length(const staged_t *s, size_t index) {
  return std::min(s->chunk, s->size - index * s->chunk);
}

uint8_t *staged_half(const staged_t *s, size_t index) {
  return s->buf->va + (index % 2) * kHalf;
}

// Starts the copy of chunk `index`. When it returns, the copy before it is complete.
int staged_start(staged_t *s, size_t index) {
  hal_device_t *device = s->mem->pcore->device;
  uint64_t buffer_at = (index % 2) * kHalf;
  uint64_t device_at = s->base + index * s->chunk;
  uint64_t src = s->in ? s->buf->mem_handle : s->mem->mem_handle;
  uint64_t dst = s->in ? s->mem->mem_handle : s->buf->mem_handle;
  uint64_t src_at = s->in ? buffer_at : device_at;
  uint64_t dst_at = s->in ? device_at : buffer_at;
  size_t length = staged_length(s, index);
  if (!s->overlap)
    return hal_mem_copy(device, src, src_at, dst, dst_at, length);
  int handle = -1;
  int result = hal_mem_copy_async(device, src, src_at, dst, dst_at, length,
                                  s->pending > 0 ? s->pending : -1, &handle);
  if (result == 0)
    s->pending = handle;
  else if (s->pending > 0)  // may be in flight although the wait for the one before it failed
    hal_mem_copy_wait(device, src, dst, 3 - s->pending);
  return result;
}

// Waits for the copy in flight, if any. After a failure too: the slot must not stay taken.
int staged_finish(staged_t *s) {
  if (s->pending <= 0)
    return 0;
  uint64_t src = s->in ? s->buf->mem_handle : s->mem->mem_handle;
  uint64_t dst = s->in ? s->mem->mem_handle : s->buf->mem_handle;
  int result = hal_mem_copy_wait(s->mem->pcore->device, src, dst, s->pending);
  s->pending = -1;
  return result;
}

staged_t staged_begin(const dmem_t *mem, size_t offset, size_t size, bool in) {
  staged_t s = {};
  s.mem = mem;
  s.buf = mem->cpy_buf;
  s.base = mem->align_offset + offset;
  s.size = size;
  s.chunk = chunk_size(size);
  s.in = in;
  s.overlap = size > s.chunk && can_overlap(mem);
  s.pending = -1;
  return s;
}

int staged_copyin(staged_t *s, const uint8_t *source) {
  int result = 0;
  size_t count = (s->size + s->chunk - 1) / s->chunk;
  for (size_t i = 0; i < count && result == 0; ++i) {
    // Nothing reads this half any more: starting chunk i - 1 waited for chunk i - 2.
    memcpy(staged_half(s, i), source + i * s->chunk, staged_length(s, i));
    result = staged_start(s, i);
  }
  int finish = staged_finish(s);
  return result != 0 ? result : finish;
}

int staged_copyout(staged_t *s, uint8_t *destination) {
  size_t count = (s->size + s->chunk - 1) / s->chunk;
  auto deliver = [&](size_t index) {
    memcpy(destination + index * s->chunk, staged_half(s, index), staged_length(s, index));
  };
  if (!s->overlap) {
    for (size_t i = 0; i < count; ++i) {
      int result = staged_start(s, i);
      if (result != 0)
        return result;
      deliver(i);
    }
    return 0;
  }
  int result = 0;
  size_t started = 0;
  for (; started < count; ++started) {
    result = staged_start(s, started);
    if (result != 0)
      break;
    if (started != 0)
      deliver(started - 1);
  }
  // The copy still in flight is the last one, or the one before a failure: complete data either
  // way.
  int finish = staged_finish(s);
  if (started != 0 && finish == 0)
    deliver(started - 1);
  return result != 0 ? result : finish;
}

}  // namespace

NRT_STATUS dmem_buf_copyin(dmem_t *mem, const void *source, size_t offset, size_t size) {
  NRT_STATUS status = check_range(mem, "a write", offset, size);
  if (status != NRT_SUCCESS || size == 0)
    return status;
  uint8_t *direct = direct_access(mem, &status);
  if (status != NRT_SUCCESS)
    return status;
  if (direct != nullptr) {
    memcpy(direct + offset, source, size);
    return NRT_SUCCESS;
  }
  std::lock_guard<std::mutex> lock(mem->cpy_buf->mutex);
  staged_t staged = staged_begin(mem, offset, size, true);
  int result = staged_copyin(&staged, static_cast<const uint8_t *>(source));
  return result == 0 ? NRT_SUCCESS : copy_failure(mem, "a write", offset, size, result);
}

NRT_STATUS dmem_buf_copyout(dmem_t *mem, void *destination, size_t offset, size_t size) {
  NRT_STATUS status = check_range(mem, "a read", offset, size);
  if (status != NRT_SUCCESS || size == 0)
    return status;
  uint8_t *direct = direct_access(mem, &status);
  if (status != NRT_SUCCESS)
    return status;
  if (direct != nullptr) {
    memcpy(destination, direct + offset, size);
    return NRT_SUCCESS;
  }
  std::lock_guard<std::mutex> lock(mem->cpy_buf->mutex);
  staged_t staged = staged_begin(mem, offset, size, false);
  int result = staged_copyout(&staged, static_cast<uint8_t *>(destination));
  return result == 0 ? NRT_SUCCESS : copy_failure(mem, "a read", offset, size, result);
}

NRT_STATUS dmem_memset(dmem_t *mem, size_t offset, uint8_t value, size_t size) {
  NRT_STATUS status = check_range(mem, "a fill", offset, size);
  if (status != NRT_SUCCESS || size == 0)
    return status;
  int result =
      hal_memset(mem->pcore->device, mem->mem_handle, mem->align_offset + offset, value, size);
  return result == 0 ? NRT_SUCCESS : copy_failure(mem, "a fill", offset, size, result);
}

NRT_STATUS dmem_copy(dmem_t *source, size_t source_offset, dmem_t *destination,
                     size_t destination_offset, size_t size) {
  NRT_STATUS status = check_range(source, "a copy", source_offset, size);
  if (status == NRT_SUCCESS)
    status = check_range(destination, "a copy", destination_offset, size);
  if (status != NRT_SUCCESS || size == 0)
    return status;
  if (source->pcore->device != destination->pcore->device) {
    NLOG_ERROR(NLOG_TDRV, "a copy from nd{} to nd{} is not possible: one device only",
               source->pcore->device_id, destination->pcore->device_id);
    return NRT_INVALID;
  }
  int result =
      hal_mem_copy(source->pcore->device, source->mem_handle, source->align_offset + source_offset,
                   destination->mem_handle, destination->align_offset + destination_offset, size);
  return result == 0 ? NRT_SUCCESS
                     : copy_failure(destination, "a copy", destination_offset, size, result);
}
