// SPDX-License-Identifier: Apache-2.0
// Memory requests. Each function chooses among the forms of its request by the driver's feature
// bits (uapi.md 7); bit MEM_ALLOC64 announces all forms with 64-bit sizes at once.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>

#include "base/checked.h"
#include "hal/hal_impl.h"
#include "hal/window.h"
#include "uapi/neuron_ioctl.h"
#include "uapi/neuron_shared.h"

static_assert(HAL_FEATURE_DMABUF == NEURON_FEATURE_DMABUF &&
              HAL_FEATURE_ASYNC_DMA == NEURON_FEATURE_ASYNC_DMA &&
              HAL_FEATURE_BATCH_DMAQ_INIT == NEURON_FEATURE_BATCH_DMAQ_INIT &&
              HAL_FEATURE_BIG_CORE_MAPS == NEURON_FEATURE_BIG_CORE_MAPS &&
              HAL_FEATURE_MEM_ALLOC_TYPE == NEURON_FEATURE_MEM_ALLOC_TYPE &&
              HAL_FEATURE_HBM_SCRUB == NEURON_FEATURE_HBM_SCRUB &&
              HAL_FEATURE_MEM_ALLOC64 == NEURON_FEATURE_MEM_ALLOC64 &&
              HAL_FEATURE_CONTIGUOUS_SCRATCHPAD == NEURON_FEATURE_CONTIGUOUS_SCRATCHPAD);

namespace {

// The driver cuts MEM_BUF_COPY64 to 32 bits of size and its 32-bit forms cannot say more; pieces of
// 1 GiB keep every request far from that.
constexpr uint64_t kPiece = uint64_t{1} << 30;

// One asynchronous copy has room for this many descriptors of 64 KiB; the driver notices a longer
// one only after moving part of it.
constexpr uint64_t kAsyncLimit = uint64_t{2032} * 65536;

// API level at which allocation learned alignments (uapi.md 9).
constexpr uint32_t kAlignedAllocLevel = 3;

bool wide(const hal_device_t *device) {
  return hal_has(device->hal, HAL_FEATURE_MEM_ALLOC64);
}

bool fits32(uint64_t value) {
  return value <= std::numeric_limits<uint32_t>::max();
}

// Bytes of the next piece; the driver's own bounds check wraps, so ends are checked here.
uint64_t piece_of(uint64_t size) {
  return std::min(size, kPiece);
}

bool end_wraps(uint64_t offset, uint64_t size) {
  uint64_t end;
  return !checked_add(offset, size, &end);
}

template <typename Arg>
void fill_alloc(Arg *arg, const hal_mem_request_t *request, uint64_t *handle) {
  arg->size = request->size;
  arg->host_memory = request->location == HAL_LOCATION_HOST ? 1 : 0;
  arg->dram_channel = request->hbm_index;
  arg->nc_id = request->nc_id;
  arg->mem_handle = handle;
}

// The five fields that all four copy requests share; the narrow forms hold what fits32 let through.
template <typename Arg>
void set_range(Arg *arg, uint64_t src, uint64_t src_offset, uint64_t dst, uint64_t dst_offset,
               uint64_t size) {
  arg->src_mem_handle = src;
  arg->dst_mem_handle = dst;
  arg->size = static_cast<decltype(arg->size)>(size);
  arg->src_offset = static_cast<decltype(arg->src_offset)>(src_offset);
  arg->dst_offset = static_cast<decltype(arg->dst_offset)>(dst_offset);
}

int copy_piece(hal_device_t *device, uint64_t src, uint64_t src_offset, uint64_t dst,
               uint64_t dst_offset, uint64_t size) {
  if (wide(device)) {
    struct neuron_ioctl_mem_copy64 arg = {};
    set_range(&arg, src, src_offset, dst, dst_offset, size);
    return hal_device_request(device, NEURON_IOCTL_MEM_COPY64, &arg);
  }
  if (!fits32(src_offset) || !fits32(dst_offset))
    return -EOPNOTSUPP;
  struct neuron_ioctl_mem_copy arg = {};
  set_range(&arg, src, src_offset, dst, dst_offset, size);
  return hal_device_request(device, NEURON_IOCTL_MEM_COPY, &arg);
}

template <typename Arg>
void fill_buf_copy(Arg *arg, uint64_t handle, void *buffer, uint64_t offset, uint64_t size,
                   bool to_device) {
  arg->mem_handle = handle;
  arg->buffer = buffer;
  arg->size = static_cast<decltype(arg->size)>(size);
  arg->offset = static_cast<decltype(arg->offset)>(offset);
  arg->copy_to_mem_handle = to_device ? 1 : 0;
}

int buf_copy_piece(hal_device_t *device, uint64_t handle, void *buffer, uint64_t offset,
                   uint64_t size, bool to_device) {
  if (wide(device)) {
    struct neuron_ioctl_mem_buf_copy64 arg = {};
    fill_buf_copy(&arg, handle, buffer, offset, size, to_device);
    return hal_device_request(device, NEURON_IOCTL_MEM_BUF_COPY64, &arg);
  }
  if (!fits32(offset))
    return -EOPNOTSUPP;
  struct neuron_ioctl_mem_buf_copy arg = {};
  fill_buf_copy(&arg, handle, buffer, offset, size, to_device);
  return hal_device_request(device, NEURON_IOCTL_MEM_BUF_COPY, &arg);
}

int memset_piece(hal_device_t *device, uint64_t handle, uint64_t offset, uint8_t value,
                 uint64_t size) {
  if (wide(device)) {
    struct neuron_ioctl_memset64 arg = {};
    arg.mem_handle = handle;
    arg.offset = offset;
    arg.value = value;
    arg.size = size;
    return hal_device_request(device, NEURON_IOCTL_MEMSET64, &arg);
  }
  struct neuron_ioctl_memset arg = {};
  arg.mem_handle = handle;
  arg.offset = offset;
  arg.value = value;
  arg.size = static_cast<uint32_t>(size);
  return hal_device_request(device, NEURON_IOCTL_MEMSET, &arg);
}

}  // namespace

int hal_mem_alloc(hal_device_t *device, const hal_mem_request_t *request, uint64_t *handle) {
  const hal_t *hal = device->hal;
  if (request->category == NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE &&
      !hal_has(hal, HAL_FEATURE_CONTIGUOUS_SCRATCHPAD))
    return -EOPNOTSUPP;
  if (hal_has(hal, HAL_FEATURE_MEM_ALLOC64)) {
    struct neuron_ioctl_mem_alloc_v2_mem_type64 arg = {};
    fill_alloc(&arg, request, handle);
    arg.align = request->alignment;
    arg.mem_type = request->category;
    return hal_device_request(device, NEURON_IOCTL_MEM_ALLOC_V2MT64, &arg);
  }
  if (hal_has(hal, HAL_FEATURE_MEM_ALLOC_TYPE)) {
    struct neuron_ioctl_mem_alloc_v2_mem_type arg = {};
    fill_alloc(&arg, request, handle);
    arg.align = request->alignment;
    arg.mem_type = request->category;
    return hal_device_request(device, NEURON_IOCTL_MEM_ALLOC_V2MT, &arg);
  }
  // Older forms cannot carry a category: the driver then counts the chunk as unknown, which only
  // shows in its statistics.
  if (hal->identity.api_max >= kAlignedAllocLevel) {
    struct neuron_ioctl_mem_alloc_v2 arg = {};
    fill_alloc(&arg, request, handle);
    arg.align = request->alignment;
    return hal_device_request(device, NEURON_IOCTL_MEM_ALLOC_V2, &arg);
  }
  if (request->alignment != 0)
    return -EOPNOTSUPP;
  struct neuron_ioctl_mem_alloc arg = {};
  fill_alloc(&arg, request, handle);
  return hal_device_request(device, NEURON_IOCTL_MEM_ALLOC, &arg);
}

int hal_mem_free(hal_device_t *device, uint64_t handle) {
  struct neuron_ioctl_mem_free arg = {};
  arg.mem_handle = handle;
  return hal_device_request(device, NEURON_IOCTL_MEM_FREE, &arg);
}

int hal_mem_get_pa(hal_device_t *device, uint64_t handle, uint64_t *pa) {
  struct neuron_ioctl_mem_get_pa arg = {};
  arg.mem_handle = handle;
  arg.pa = pa;
  return hal_device_request(device, NEURON_IOCTL_MEM_GET_PA, &arg);
}

int hal_mem_get_info(hal_device_t *device, uint64_t handle, uint64_t *mmap_offset, uint64_t *pa) {
  struct neuron_ioctl_mem_get_info arg = {};
  arg.mem_handle = handle;
  arg.mmap_offset = mmap_offset;
  arg.pa = pa;
  return hal_device_request(device, NEURON_IOCTL_MEM_GET_INFO, &arg);
}

int hal_mem_map(hal_device_t *device, uint64_t mmap_offset, size_t length, int prot, void **va) {
  return hal_seam_map(device->hal->ops, device->hal->be, device->fd, mmap_offset, length, prot, va);
}

int hal_mem_unmap(hal_device_t *device, void *va, size_t length) {
  return device->hal->ops->unmap(device->hal->be, va, length);
}

int hal_mem_buf_copy(hal_device_t *device, uint64_t handle, void *buffer, uint64_t offset,
                     uint64_t size, bool to_device) {
  if (end_wraps(offset, size))
    return -EINVAL;
  auto *bytes = static_cast<uint8_t *>(buffer);
  for (uint64_t done = 0; done < size;) {
    uint64_t piece = piece_of(size - done);
    int result = buf_copy_piece(device, handle, bytes + done, offset + done, piece, to_device);
    if (result != 0)
      return result;
    done += piece;
  }
  return 0;
}

int hal_mem_buf_zerocopy(hal_device_t *device, uint64_t handle, void *buffer, uint64_t offset,
                         uint64_t size, bool to_device) {
  if (size == 0 || end_wraps(offset, size))
    return -EINVAL;
  struct neuron_ioctl_mem_buf_copy64 arg = {};
  fill_buf_copy(&arg, handle, buffer, offset, size, to_device);
  return hal_device_request(device, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, &arg);
}

int hal_mem_copy(hal_device_t *device, uint64_t src, uint64_t src_offset, uint64_t dst,
                 uint64_t dst_offset, uint64_t size) {
  if (end_wraps(src_offset, size) || end_wraps(dst_offset, size))
    return -EINVAL;
  for (uint64_t done = 0; done < size;) {
    uint64_t piece = piece_of(size - done);
    int result = copy_piece(device, src, src_offset + done, dst, dst_offset + done, piece);
    if (result != 0)
      return result;
    done += piece;
  }
  return 0;
}

int hal_mem_copy_async(hal_device_t *device, uint64_t src, uint64_t src_offset, uint64_t dst,
                       uint64_t dst_offset, uint64_t size, int wait_for, int *wait_handle) {
  if (!hal_has(device->hal, HAL_FEATURE_ASYNC_DMA))
    return -EOPNOTSUPP;
  // Zero bytes would move 64 KiB.
  if (size == 0 || size > kAsyncLimit || end_wraps(src_offset, size) || end_wraps(dst_offset, size))
    return -EINVAL;
  int result;
  if (wide(device)) {
    struct neuron_ioctl_mem_copy_async64 arg = {};
    set_range(&arg, src, src_offset, dst, dst_offset, size);
    arg.pwait_handle = static_cast<uint32_t>(wait_for);
    result = hal_device_request(device, NEURON_IOCTL_MEM_COPY_ASYNC64, &arg);
    *wait_handle = static_cast<int>(arg.wait_handle);
    return result;
  }
  if (!fits32(src_offset) || !fits32(dst_offset))
    return -EOPNOTSUPP;
  struct neuron_ioctl_mem_copy_async arg = {};
  set_range(&arg, src, src_offset, dst, dst_offset, size);
  arg.pwait_handle = static_cast<uint32_t>(wait_for);
  result = hal_device_request(device, NEURON_IOCTL_MEM_COPY_ASYNC, &arg);
  *wait_handle = static_cast<int>(arg.wait_handle);
  return result;
}

int hal_mem_copy_wait(hal_device_t *device, uint64_t src, uint64_t dst, int wait_handle) {
  struct neuron_ioctl_mem_copy_async_wait arg = {};
  arg.src_mem_handle = src;
  arg.dst_mem_handle = dst;
  arg.pwait_handle = static_cast<uint32_t>(wait_handle);
  return hal_device_request(device, NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &arg);
}

int hal_memset(hal_device_t *device, uint64_t handle, uint64_t offset, uint8_t value,
               uint64_t size) {
  if (end_wraps(offset, size))
    return -EINVAL;
  for (uint64_t done = 0; done < size;) {
    uint64_t piece = piece_of(size - done);
    int result = memset_piece(device, handle, offset + done, value, piece);
    if (result != 0)
      return result;
    done += piece;
  }
  return 0;
}

// The caller's array is the driver's array.
static_assert(sizeof(hal_chunk_t) == sizeof(struct neuron_ioctl_mem_chunk_info) &&
              offsetof(hal_chunk_t, pa) == offsetof(struct neuron_ioctl_mem_chunk_info, pa) &&
              offsetof(hal_chunk_t, size) == offsetof(struct neuron_ioctl_mem_chunk_info, size) &&
              offsetof(hal_chunk_t, category) ==
                  offsetof(struct neuron_ioctl_mem_chunk_info, mem_type));

int hal_dump_chunks(hal_device_t *device, uint32_t hbm_index, hal_chunk_t *chunks,
                    uint32_t *count) {
  if (hbm_index >= device->hal->arch->hbm_count)
    return -EINVAL;  // the driver does not check
  struct neuron_ioctl_dump_mem_chunks arg = {};
  arg.hbm_index = hbm_index;
  arg.num_entries_in = *count;
  arg.data = reinterpret_cast<struct neuron_ioctl_mem_chunk_info *>(chunks);
  int result = hal_device_request(device, NEURON_IOCTL_DUMP_MEM_CHUNKS, &arg);
  if (result == 0 || result == -EAGAIN)
    *count = arg.num_entries_out;
  return result;
}

int hal_hbm_size(hal_device_t *device, uint32_t hbm_index, uint64_t *size) {
  const hal_arch_t *arch = device->hal->arch;
  if (hbm_index >= arch->hbm_count)
    return -EINVAL;
  uint64_t cookie = 0, mapped = 0;
  int result = hal_window_info(device, NEURON_MMAP_BLOCK_HBM, hbm_index, NEURON_MMAP_RESOURCE_DMEM,
                               &cookie, &mapped);
  if (result != 0 && result != -EINVAL)
    return result;
  *size = result == 0 && mapped != 0 ? mapped : arch->hbm_size;
  return 0;
}
