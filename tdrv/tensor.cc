// SPDX-License-Identifier: Apache-2.0
#include "tdrv/tensor.h"

#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "base/nlog.h"
#include "tdrv/completion.h"
#include "tdrv/state.h"
#include "tdrv/tensor_storage.h"

struct tensor_t {
  char *name;                    // own copy, or NULL
  mutable pthread_mutex_t lock;  // of the three that follow: a buffer may be attached any time
  tensor_storage_t *storage;     // NULL: empty
  uint64_t offset, size;
  completion_t completion;
};

namespace {

constexpr size_t kHostTensorMax = 4ull << 20;  // documented limit of pinned host tensors
constexpr uint64_t kMovePiece = 1ull << 20;
constexpr int64_t kNoticeInterval = 30'000'000;  // microseconds

const char *label(const char *name) {
  return name != nullptr ? name : "(unnamed)";
}

const char *name_of(const tensor_t *tensor) {
  return label(tensor->name);
}

NRT_STATUS no_host_memory(const char *name, uint64_t size) {
  NLOG_ERROR(NLOG_TDRV, "tensor {}: no host memory ({} bytes)", label(name), size);
  return NRT_RESOURCE;
}

// A tensor as it was at one moment, with a reference to its storage.
struct view_t {
  tensor_storage_t *storage = nullptr;
  uint64_t offset = 0, size = 0;
  view_t() = default;
  view_t(const view_t &) = delete;
  view_t &operator=(const view_t &) = delete;
  ~view_t() { tensor_storage_release(storage); }
};

void view_of(const tensor_t *tensor, view_t *out) {
  pthread_mutex_lock(&tensor->lock);
  out->storage = tensor->storage;
  out->offset = tensor->offset;
  out->size = tensor->size;
  if (out->storage != nullptr)
    tensor_storage_acquire(out->storage);
  pthread_mutex_unlock(&tensor->lock);
}

// Takes the storage over (NULL for an empty tensor), also on failure.
NRT_STATUS view_create(tensor_storage_t *storage, uint64_t offset, uint64_t size, const char *name,
                       tensor_t **out) {
  auto *tensor = static_cast<tensor_t *>(calloc(1, sizeof(tensor_t)));
  if (tensor != nullptr && name != nullptr)
    tensor->name = strdup(name);
  if (tensor == nullptr || (name != nullptr && tensor->name == nullptr)) {
    free(tensor);
    tensor_storage_release(storage);
    return no_host_memory(name, sizeof(tensor_t));
  }
  pthread_mutex_init(&tensor->lock, nullptr);
  tensor->storage = storage;
  tensor->offset = offset;
  tensor->size = size;
  *out = tensor;
  return NRT_SUCCESS;
}

NRT_STATUS fill_dma(tdrv_t *tdrv, tensor_storage_t *storage, const vcore_t *vcore,
                    const char *name) {
  const tpb_t *tpb = vcore->tpbs[0];
  bool device = storage->kind == STORAGE_DEVICE;
  NRT_STATUS status =
      dmem_alloc(tpb->global_allocator, storage->size,
                 device ? dma_mem_location_t::TONGA_DRAM : dma_mem_location_t::HOST_DRAM,
                 tpb->pcore.hbm_index, nullptr, dma_mem_usage_type_t::TENSOR, name, &storage->mem);
  if (status != NRT_SUCCESS)
    return status;
  if (!device) {
    storage->host = dmem_get_va(storage->mem);
    if (storage->host == nullptr)
      return NRT_FAILURE;
  }
  tensor_storage_enlist(tdrv, storage);
  return NRT_SUCCESS;
}

NRT_STATUS check_host_placement(const tdrv_t *tdrv, size_t size, const char *name) {
  const hal_arch_t *arch = hal_arch(tdrv->hal);
  if (arch->arch > AL_HAL_TPB_ARCH_TYPE_SUNDA) {
    NLOG_ERROR(NLOG_TDRV, "tensor {}: {} has no pinned host tensors", label(name), arch->name);
    return NRT_RESOURCE;
  }
  if (size > kHostTensorMax) {
    NLOG_ERROR(NLOG_TDRV, "tensor {}: {} bytes of pinned host memory, the limit is {}", label(name),
               size, kHostTensorMax);
    return NRT_RESOURCE;
  }
  return NRT_SUCCESS;
}

bool is_device(const view_t &view) {
  return view.storage->kind == STORAGE_DEVICE;
}

// An access of [offset, offset + size) to a tensor that has bytes.
NRT_STATUS check_access(const tensor_t *tensor, const char *verb, uint64_t offset, uint64_t size,
                        view_t *out) {
  if (tensor == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "tensor {}: no tensor given", verb);
    return NRT_INVALID;
  }
  view_of(tensor, out);
  const tensor_storage_t *storage = out->storage;
  if (storage == nullptr || (storage->kind != STORAGE_MALLOC && storage->mem == nullptr)) {
    NLOG_ERROR(NLOG_TDRV, "tensor {}: {} has no memory", verb, name_of(tensor));
    return NRT_INVALID;
  }
  if (!range_within(offset, size, out->size)) {
    NLOG_ERROR(NLOG_TDRV, "tensor {}: {} bytes at offset {} lie outside the {} bytes of {}", verb,
               size, offset, out->size, name_of(tensor));
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

char *host_bytes(const view_t &view, uint64_t offset) {
  return static_cast<char *>(view.storage->host) + view.offset + offset;
}

NRT_STATUS check_buffer(const tensor_t *tensor, const char *verb, const void *buffer) {
  if (buffer != nullptr)
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV, "tensor {}: no buffer given for {}", verb, name_of(tensor));
  return NRT_INVALID;
}

// Moves bytes inside one chunk to a place that overlaps theirs, by way of the host: the driver's
// copies do not care for overlap.
NRT_STATUS move_within(dmem_t *mem, uint64_t from, uint64_t to, uint64_t size) {
  uint64_t piece = size < kMovePiece ? size : kMovePiece;
  void *buffer = malloc(piece);
  if (buffer == nullptr)
    return no_host_memory("copy", piece);
  NRT_STATUS status = NRT_SUCCESS;
  for (uint64_t done = 0; done < size && status == NRT_SUCCESS;) {
    uint64_t length = size - done < piece ? size - done : piece;
    uint64_t at = to < from ? done : size - done - length;  // never over bytes not yet read
    status = dmem_buf_copyout(mem, buffer, from + at, length);
    if (status == NRT_SUCCESS)
      status = dmem_buf_copyin(mem, buffer, to + at, length);
    done += length;
  }
  free(buffer);
  return status;
}

struct copy_side_t {
  const tensor_t *tensor;
  view_t view;
  uint64_t at;  // in the storage
};

NRT_STATUS copy_on_device(const copy_side_t &source, const copy_side_t &destination,
                          uint64_t size) {
  dmem_t *from = source.view.storage->mem, *to = destination.view.storage->mem;
  if (from->pcore->device != to->pcore->device || from->tdram_channel != to->tdram_channel) {
    NLOG_ERROR(NLOG_TDRV,
               "tensor copy: {} is on ND {} HBM {}, {} on ND {} HBM {}; a device copy stays on one "
               "HBM",
               name_of(source.tensor), from->pcore->device_id, from->tdram_channel,
               name_of(destination.tensor), to->pcore->device_id, to->tdram_channel);
    return NRT_INVALID;
  }
  uint64_t distance =
      source.at < destination.at ? destination.at - source.at : source.at - destination.at;
  if (size == 0 || (from == to && distance == 0))
    return NRT_SUCCESS;
  if (from == to && distance < size)
    return move_within(from, source.at, destination.at, size);
  return dmem_copy(from, source.at, to, destination.at, size);
}

}  // namespace

NRT_STATUS tensor_allocate(tdrv_t *tdrv, tensor_placement_t placement, int vnc, size_t size,
                           const char *name, tensor_t **out) {
  *out = nullptr;
  if (size == 0) {
    NLOG_ERROR(NLOG_TDRV, "tensor {}: size 0", label(name));
    return NRT_INVALID;
  }
  if (placement != tensor_placement_t::DEVICE && placement != tensor_placement_t::HOST &&
      placement != tensor_placement_t::VIRTUAL) {
    NLOG_ERROR(NLOG_TDRV, "tensor {}: placement {} is none of 0 (device), 1 (host), 2 (virtual)",
               label(name), static_cast<int>(placement));
    return NRT_INVALID;
  }
  const vcore_t *vcore = nullptr;
  if (placement != tensor_placement_t::VIRTUAL) {
    // Pinned host memory belongs to no core in particular: -1 stands for the first one.
    bool any = placement == tensor_placement_t::HOST && vnc == -1;
    vcore = any ? tdrv_vcore(tdrv, 0)
                : (vnc >= 0 ? tdrv_vcore(tdrv, static_cast<uint32_t>(vnc)) : nullptr);
    if (vcore == nullptr) {
      NLOG_ERROR(NLOG_TDRV, "tensor {}: logical core {} is not one of 0 to {}", label(name), vnc,
                 tdrv_vnc_count(tdrv) - 1);
      return NRT_INVALID;
    }
  }
  if (placement == tensor_placement_t::HOST) {
    NRT_STATUS status = check_host_placement(tdrv, size, name);
    if (status != NRT_SUCCESS)
      return status;
  }
  storage_kind_t kind = placement == tensor_placement_t::DEVICE ? STORAGE_DEVICE
                        : placement == tensor_placement_t::HOST ? STORAGE_HOST_DMA
                                                                : STORAGE_MALLOC;
  tensor_storage_t *storage = tensor_storage_create(kind, size);
  if (storage == nullptr)
    return no_host_memory(name, sizeof(tensor_storage_t));
  if (kind == STORAGE_MALLOC) {
    storage->host = calloc(1, size);
    if (storage->host == nullptr) {
      tensor_storage_release(storage);
      return no_host_memory(name, size);
    }
  } else {
    NRT_STATUS status = fill_dma(tdrv, storage, vcore, name);
    if (status != NRT_SUCCESS) {
      tensor_storage_release(storage);
      return status;
    }
  }
  return view_create(storage, 0, size, name, out);
}

NRT_STATUS tensor_allocate_empty(const char *name, tensor_t **out) {
  *out = nullptr;
  return view_create(nullptr, 0, 0, name, out);
}

NRT_STATUS tensor_attach_buffer(tensor_t *tensor, void *buffer, size_t size) {
  if (tensor == nullptr || buffer == nullptr || size == 0) {
    NLOG_ERROR(NLOG_TDRV, "tensor attach: a tensor, a buffer and a size above 0 are needed");
    return NRT_INVALID;
  }
  tensor_storage_t *storage = tensor_storage_create(STORAGE_MALLOC, size);
  if (storage == nullptr)
    return no_host_memory(tensor->name, sizeof(tensor_storage_t));
  storage->owned = false;
  storage->host = buffer;
  pthread_mutex_lock(&tensor->lock);
  tensor_storage_t *old = tensor->storage;
  tensor->storage = storage;
  tensor->offset = 0;
  tensor->size = size;
  pthread_mutex_unlock(&tensor->lock);
  tensor_storage_release(old);  // an access in flight holds it as long as it takes
  return NRT_SUCCESS;
}

NRT_STATUS tensor_allocate_slice(const tensor_t *source, size_t offset, size_t size,
                                 const char *name, tensor_t **out) {
  *out = nullptr;
  view_t view;
  NRT_STATUS status = check_access(source, "slice", offset, size, &view);
  if (status != NRT_SUCCESS)
    return status;
  tensor_storage_acquire(view.storage);
  return view_create(view.storage, view.offset + offset, size, name, out);
}

void tensor_free(tensor_t *tensor) {
  if (tensor == nullptr)
    return;
  tensor_storage_release(tensor->storage);
  pthread_mutex_destroy(&tensor->lock);
  free(tensor->name);
  free(tensor);
}

NRT_STATUS tensor_read(const tensor_t *tensor, void *buffer, size_t offset, size_t size,
                       tensor_fence_t fence) {
  view_t view;
  NRT_STATUS status = check_access(tensor, "read", offset, size, &view);
  if (status == NRT_SUCCESS)
    status = check_buffer(tensor, "read", buffer);
  if (status != NRT_SUCCESS || size == 0)
    return status;
  if (fence == tensor_fence_t::WAIT)
    tensor_storage_wait(view.storage, false);
  if (is_device(view))
    return dmem_buf_copyout(view.storage->mem, buffer, view.offset + offset, size);
  memmove(buffer, host_bytes(view, offset), size);
  return NRT_SUCCESS;
}

NRT_STATUS tensor_write(tensor_t *tensor, const void *buffer, size_t offset, size_t size,
                        tensor_fence_t fence) {
  view_t view;
  NRT_STATUS status = check_access(tensor, "write", offset, size, &view);
  if (status == NRT_SUCCESS)
    status = check_buffer(tensor, "write", buffer);
  if (status != NRT_SUCCESS || size == 0)
    return status;
  if (fence == tensor_fence_t::WAIT)
    tensor_storage_wait(view.storage, true);
  if (is_device(view))
    return dmem_buf_copyin(view.storage->mem, buffer, view.offset + offset, size);
  memmove(host_bytes(view, offset), buffer, size);
  return NRT_SUCCESS;
}

NRT_STATUS tensor_copy(const tensor_t *source, size_t source_offset, tensor_t *destination,
                       size_t destination_offset, size_t size) {
  copy_side_t from = {source, {}, 0}, to = {destination, {}, 0};
  NRT_STATUS status = check_access(source, "copy", source_offset, size, &from.view);
  if (status == NRT_SUCCESS)
    status = check_access(destination, "copy", destination_offset, size, &to.view);
  if (status != NRT_SUCCESS)
    return status;
  from.at = from.view.offset + source_offset;
  to.at = to.view.offset + destination_offset;
  tensor_storage_wait(from.view.storage, false);
  tensor_storage_wait(to.view.storage, true);
  if (is_device(from.view) && is_device(to.view))
    return copy_on_device(from, to, size);
  if (size == 0)
    return NRT_SUCCESS;
  if (is_device(from.view))
    return dmem_buf_copyout(from.view.storage->mem, host_bytes(to.view, destination_offset),
                            from.at, size);
  if (is_device(to.view))
    return dmem_buf_copyin(to.view.storage->mem, host_bytes(from.view, source_offset), to.at, size);
  memmove(host_bytes(to.view, destination_offset), host_bytes(from.view, source_offset), size);
  return NRT_SUCCESS;
}

NRT_STATUS tensor_memset(tensor_t *tensor, size_t offset, uint8_t value, size_t size) {
  view_t view;
  NRT_STATUS status = check_access(tensor, "memset", offset, size, &view);
  if (status != NRT_SUCCESS || size == 0)
    return status;
  tensor_storage_wait(view.storage, true);
  if (is_device(view))
    return dmem_memset(view.storage->mem, view.offset + offset, value, size);
  memset(host_bytes(view, offset), value, size);
  return NRT_SUCCESS;
}

size_t tensor_get_size(const tensor_t *tensor) {
  if (tensor == nullptr)
    return 0;
  view_t view;
  view_of(tensor, &view);
  return view.size;
}

void *tensor_get_va(const tensor_t *tensor) {
  if (tensor == nullptr)
    return nullptr;
  view_t view;
  view_of(tensor, &view);
  if (view.storage == nullptr)
    return nullptr;
  if (!is_device(view))
    return view.storage->host == nullptr ? nullptr : host_bytes(view, 0);
  if (view.storage->mem == nullptr)
    return nullptr;
  void *base = dmem_get_va(view.storage->mem);
  return base == nullptr ? nullptr : static_cast<char *>(base) + view.offset;
}

NRT_STATUS tensor_get_device_address(const tensor_t *tensor, uint64_t *pa, uint64_t *allocated,
                                     uint32_t *hbm_index) {
  view_t view;
  NRT_STATUS status = check_access(tensor, "address", 0, 0, &view);
  if (status != NRT_SUCCESS)
    return status;
  if (!is_device(view)) {
    NLOG_ERROR(NLOG_TDRV, "tensor address: {} is not in device memory", name_of(tensor));
    return NRT_INVALID;
  }
  const dmem_t *mem = view.storage->mem;
  if (pa != nullptr)
    *pa = dmem_get_pa(mem) + view.offset;
  if (allocated != nullptr)
    *allocated = mem->allocated_size;
  if (hbm_index != nullptr)
    *hbm_index = mem->tdram_channel;
  return NRT_SUCCESS;
}

dmem_t *tensor_get_memory(const tensor_t *tensor) {
  view_t view;
  view_of(tensor, &view);
  return view.storage != nullptr && is_device(view) ? view.storage->mem : nullptr;
}

NRT_STATUS tensor_access_begin(const tensor_t *tensor, bool write, tensor_access_t *out) {
  *out = {};
  view_t view;
  NRT_STATUS status = check_access(tensor, write ? "output" : "input", 0, 0, &view);
  if (status != NRT_SUCCESS)
    return status;
  tensor_storage_acquire(view.storage);
  tensor_storage_device_begin(view.storage, write);
  *out = {view.storage, view.offset, view.size, write};
  return NRT_SUCCESS;
}

void *tensor_access_host(const tensor_access_t *access) {
  const tensor_storage_t *storage = access->storage;
  return storage->kind == STORAGE_DEVICE ? nullptr
                                         : static_cast<char *>(storage->host) + access->offset;
}

uint64_t tensor_access_address(const tensor_access_t *access) {
  return dmem_get_pa(access->storage->mem) + access->offset;
}

const physical_core_t *tensor_access_core(const tensor_access_t *access) {
  const tensor_storage_t *storage = access->storage;
  return storage->kind == STORAGE_DEVICE ? storage->mem->pcore : nullptr;
}

void tensor_access_end(const tensor_access_t *access) {
  if (access->storage == nullptr)
    return;
  tensor_storage_device_end(access->storage, access->write);
  tensor_storage_release(access->storage);
}

void tensor_output_completed(tensor_t *tensor) {
  completion_add(&tensor->completion);
}

NRT_STATUS tensor_check_output_completion(const tensor_t *tensor, int64_t timeout,
                                          uint64_t expected) {
  uint64_t seen = 0;
  NRT_STATUS status = completion_wait(&tensor->completion, expected, timeout, kNoticeInterval,
                                      name_of(tensor), &seen);
  if (status != NRT_SUCCESS)
    NLOG_ERROR(NLOG_TDRV, "tensor {}: {} of {} executions completed {}", name_of(tensor), seen,
               expected,
               status == NRT_CLOSED ? "when the runtime was closed"
                                    : fmt::format("within {} microseconds", timeout));
  return status;
}

void tensor_reset_output_completion(tensor_t *tensor) {
  completion_reset(&tensor->completion);
}
