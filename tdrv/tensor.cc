// SPDX-License-Identifier: Apache-2.0
#include "tdrv/tensor.h"

#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "base/nlog.h"
#include "tdrv/state.h"

enum storage_kind_t { STORAGE_MALLOC, STORAGE_HOST_DMA, STORAGE_DEVICE };

struct tensor_storage_t {
  storage_kind_t kind;
  bool owned;  // false: the caller's buffer
  uint64_t size;
  uint64_t refs;  // views; changed with atomic operations only
  void *host;     // host-addressable kinds: first byte
  dmem_t *mem;    // DMA kinds; NULL once the runtime has closed
  // DMA kinds are listed in their runtime, so that close can take the memory away.
  tdrv_t *tdrv;
  tensor_storage_t *next, *prev;
};

struct tensor_t {
  char *name;                 // own copy, or NULL
  tensor_storage_t *storage;  // NULL: empty
  uint64_t offset, size;
};

namespace {

constexpr size_t kHostTensorMax = 4ull << 20;  // documented limit of pinned host tensors

const char *name_of(const tensor_t *tensor) {
  return tensor->name != nullptr ? tensor->name : "(unnamed)";
}

const char *label(const char *name) {
  return name != nullptr ? name : "(unnamed)";
}

NRT_STATUS no_host_memory(const char *name, uint64_t size) {
  NLOG_ERROR(NLOG_TDRV, "tensor {}: no host memory ({} bytes)", label(name), size);
  return NRT_RESOURCE;
}

void enlist(tdrv_t *tdrv, tensor_storage_t *storage) {
  storage->tdrv = tdrv;
  pthread_mutex_lock(&tdrv->storages_lock);
  storage->next = tdrv->storages;
  if (storage->next != nullptr)
    storage->next->prev = storage;
  tdrv->storages = storage;
  pthread_mutex_unlock(&tdrv->storages_lock);
}

void delist(tensor_storage_t *storage) {
  tdrv_t *tdrv = storage->tdrv;
  if (tdrv == nullptr)
    return;
  pthread_mutex_lock(&tdrv->storages_lock);
  if (storage->prev != nullptr)
    storage->prev->next = storage->next;
  else
    tdrv->storages = storage->next;
  if (storage->next != nullptr)
    storage->next->prev = storage->prev;
  pthread_mutex_unlock(&tdrv->storages_lock);
}

void storage_acquire(tensor_storage_t *storage) {
  __atomic_add_fetch(&storage->refs, 1, __ATOMIC_RELAXED);
}

void storage_release(tensor_storage_t *storage) {
  if (storage == nullptr || __atomic_sub_fetch(&storage->refs, 1, __ATOMIC_ACQ_REL) != 0)
    return;
  delist(storage);
  if (storage->mem != nullptr)
    dmem_free(storage->mem);
  if (storage->kind == STORAGE_MALLOC && storage->owned)
    free(storage->host);
  free(storage);
}

tensor_storage_t *storage_create(storage_kind_t kind, uint64_t size) {
  auto *storage = static_cast<tensor_storage_t *>(calloc(1, sizeof(tensor_storage_t)));
  if (storage == nullptr)
    return nullptr;
  storage->kind = kind;
  storage->owned = true;
  storage->size = size;
  storage->refs = 1;
  return storage;
}

// Takes the storage over (NULL for an empty tensor), also on failure.
NRT_STATUS view_create(tensor_storage_t *storage, uint64_t offset, uint64_t size, const char *name,
                       tensor_t **out) {
  auto *tensor = static_cast<tensor_t *>(calloc(1, sizeof(tensor_t)));
  if (tensor != nullptr && name != nullptr)
    tensor->name = strdup(name);
  if (tensor == nullptr || (name != nullptr && tensor->name == nullptr)) {
    free(tensor);
    storage_release(storage);
    return no_host_memory(name, sizeof(tensor_t));
  }
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
  enlist(tdrv, storage);
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

bool is_device(const tensor_t *tensor) {
  return tensor->storage != nullptr && tensor->storage->kind == STORAGE_DEVICE;
}

// An access of [offset, offset + size) to a tensor that has bytes.
NRT_STATUS check_access(const tensor_t *tensor, const char *verb, uint64_t offset, uint64_t size) {
  if (tensor == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "tensor {}: no tensor given", verb);
    return NRT_INVALID;
  }
  const tensor_storage_t *storage = tensor->storage;
  if (storage == nullptr || (storage->kind != STORAGE_MALLOC && storage->mem == nullptr)) {
    NLOG_ERROR(NLOG_TDRV, "tensor {}: {} has no memory", verb, name_of(tensor));
    return NRT_INVALID;
  }
  if (!range_within(offset, size, tensor->size)) {
    NLOG_ERROR(NLOG_TDRV, "tensor {}: {} bytes at offset {} lie outside the {} bytes of {}", verb,
               size, offset, tensor->size, name_of(tensor));
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

char *host_bytes(const tensor_t *tensor, uint64_t offset) {
  return static_cast<char *>(tensor->storage->host) + tensor->offset + offset;
}

NRT_STATUS check_buffer(const tensor_t *tensor, const char *verb, const void *buffer) {
  if (buffer != nullptr)
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV, "tensor {}: no buffer given for {}", verb, name_of(tensor));
  return NRT_INVALID;
}

NRT_STATUS copy_on_device(const tensor_t *source, size_t source_offset, const tensor_t *destination,
                          size_t destination_offset, size_t size) {
  const dmem_t *from = source->storage->mem, *to = destination->storage->mem;
  if (from->pcore->device != to->pcore->device || from->tdram_channel != to->tdram_channel) {
    NLOG_ERROR(NLOG_TDRV,
               "tensor copy: {} is on ND {} HBM {}, {} on ND {} HBM {}; a device copy stays on one "
               "HBM",
               name_of(source), from->pcore->device_id, from->tdram_channel, name_of(destination),
               to->pcore->device_id, to->tdram_channel);
    return NRT_INVALID;
  }
  if (size == 0)
    return NRT_SUCCESS;
  return dmem_copy(source->storage->mem, source->offset + source_offset, destination->storage->mem,
                   destination->offset + destination_offset, size);
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
  tensor_storage_t *storage = storage_create(kind, size);
  if (storage == nullptr)
    return no_host_memory(name, sizeof(tensor_storage_t));
  if (kind == STORAGE_MALLOC) {
    storage->host = calloc(1, size);
    if (storage->host == nullptr) {
      storage_release(storage);
      return no_host_memory(name, size);
    }
  } else {
    NRT_STATUS status = fill_dma(tdrv, storage, vcore, name);
    if (status != NRT_SUCCESS) {
      storage_release(storage);
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
  tensor_storage_t *storage = storage_create(STORAGE_MALLOC, size);
  if (storage == nullptr)
    return no_host_memory(tensor->name, sizeof(tensor_storage_t));
  storage->owned = false;
  storage->host = buffer;
  storage_release(tensor->storage);
  tensor->storage = storage;
  tensor->offset = 0;
  tensor->size = size;
  return NRT_SUCCESS;
}

NRT_STATUS tensor_allocate_slice(const tensor_t *source, size_t offset, size_t size,
                                 const char *name, tensor_t **out) {
  *out = nullptr;
  NRT_STATUS status = check_access(source, "slice", offset, size);
  if (status != NRT_SUCCESS)
    return status;
  storage_acquire(source->storage);
  return view_create(source->storage, source->offset + offset, size, name, out);
}

void tensor_free(tensor_t *tensor) {
  if (tensor == nullptr)
    return;
  storage_release(tensor->storage);
  free(tensor->name);
  free(tensor);
}

NRT_STATUS tensor_read(const tensor_t *tensor, void *buffer, size_t offset, size_t size) {
  NRT_STATUS status = check_access(tensor, "read", offset, size);
  if (status == NRT_SUCCESS)
    status = check_buffer(tensor, "read", buffer);
  if (status != NRT_SUCCESS || size == 0)
    return status;
  if (is_device(tensor))
    return dmem_buf_copyout(tensor->storage->mem, buffer, tensor->offset + offset, size);
  memmove(buffer, host_bytes(tensor, offset), size);
  return NRT_SUCCESS;
}

NRT_STATUS tensor_write(tensor_t *tensor, const void *buffer, size_t offset, size_t size) {
  NRT_STATUS status = check_access(tensor, "write", offset, size);
  if (status == NRT_SUCCESS)
    status = check_buffer(tensor, "write", buffer);
  if (status != NRT_SUCCESS || size == 0)
    return status;
  if (is_device(tensor))
    return dmem_buf_copyin(tensor->storage->mem, buffer, tensor->offset + offset, size);
  memmove(host_bytes(tensor, offset), buffer, size);
  return NRT_SUCCESS;
}

NRT_STATUS tensor_copy(const tensor_t *source, size_t source_offset, tensor_t *destination,
                       size_t destination_offset, size_t size) {
  NRT_STATUS status = check_access(source, "copy", source_offset, size);
  if (status == NRT_SUCCESS)
    status = check_access(destination, "copy", destination_offset, size);
  if (status != NRT_SUCCESS)
    return status;
  if (is_device(source) && is_device(destination))
    return copy_on_device(source, source_offset, destination, destination_offset, size);
  if (is_device(source))
    return tensor_read(source, host_bytes(destination, destination_offset), source_offset, size);
  return tensor_write(destination, host_bytes(source, source_offset), destination_offset, size);
}

NRT_STATUS tensor_memset(tensor_t *tensor, size_t offset, uint8_t value, size_t size) {
  NRT_STATUS status = check_access(tensor, "memset", offset, size);
  if (status != NRT_SUCCESS || size == 0)
    return status;
  if (is_device(tensor))
    return dmem_memset(tensor->storage->mem, tensor->offset + offset, value, size);
  memset(host_bytes(tensor, offset), value, size);
  return NRT_SUCCESS;
}

size_t tensor_get_size(const tensor_t *tensor) {
  return tensor == nullptr ? 0 : tensor->size;
}

void *tensor_get_va(const tensor_t *tensor) {
  if (tensor == nullptr || tensor->storage == nullptr)
    return nullptr;
  if (!is_device(tensor))
    return tensor->storage->host == nullptr ? nullptr : host_bytes(tensor, 0);
  if (tensor->storage->mem == nullptr)
    return nullptr;
  void *base = dmem_get_va(tensor->storage->mem);
  return base == nullptr ? nullptr : static_cast<char *>(base) + tensor->offset;
}

NRT_STATUS tensor_get_device_address(const tensor_t *tensor, uint64_t *pa, uint64_t *allocated,
                                     uint32_t *hbm_index) {
  NRT_STATUS status = check_access(tensor, "address", 0, 0);
  if (status != NRT_SUCCESS)
    return status;
  if (!is_device(tensor)) {
    NLOG_ERROR(NLOG_TDRV, "tensor address: {} is not in device memory", name_of(tensor));
    return NRT_INVALID;
  }
  const dmem_t *mem = tensor->storage->mem;
  if (pa != nullptr)
    *pa = dmem_get_pa(mem) + tensor->offset;
  if (allocated != nullptr)
    *allocated = mem->allocated_size;
  if (hbm_index != nullptr)
    *hbm_index = mem->tdram_channel;
  return NRT_SUCCESS;
}

void tensor_release_all(tdrv_t *tdrv) {
  pthread_mutex_lock(&tdrv->storages_lock);
  for (tensor_storage_t *storage = tdrv->storages; storage != nullptr;) {
    tensor_storage_t *next = storage->next;
    dmem_free(storage->mem);
    storage->mem = nullptr;
    storage->host = nullptr;
    storage->tdrv = nullptr;
    storage->next = storage->prev = nullptr;
    storage = next;
  }
  tdrv->storages = nullptr;
  pthread_mutex_unlock(&tdrv->storages_lock);
}
