// SPDX-License-Identifier: Apache-2.0
// Tensors and tensor sets (nrt-api.md 5.2, 5.3).
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/runtime.h"

namespace {

using tensor_ref = std::shared_ptr<tensor_object_t>;

tensor_ref find_tensor(const char *api, runtime_t &r, const nrt_tensor_t *handle,
                       NRT_STATUS *status) {
  return api_find(api, r.tensors, handle, "tensor", status);
}

// Gives a fresh tensor its handle; frees it when that fails.
NRT_STATUS publish(runtime_t &r, tensor_t *tensor, nrt_tensor_t **out) {
  tensor_ref object;
  try {
    object = std::make_shared<tensor_object_t>(tensor);
  } catch (...) {
    tensor_free(tensor);
    throw;
  }
  *out = static_cast<nrt_tensor_t *>(r.tensors.insert(std::move(object)));
  return NRT_SUCCESS;
}

// A batch moves nothing unless all of it is well-formed.
NRT_STATUS check_batches(const char *api, runtime_t &r, const nrt_tensor_batch_t *batches,
                         uint64_t num_batches, std::vector<tensor_ref> *tensors) {
  if (batches == nullptr && num_batches != 0)
    return api_fail(api, NRT_INVALID, "{} batches at NULL", num_batches);
  for (uint64_t b = 0; b < num_batches; ++b) {
    NRT_STATUS status;
    tensor_ref tensor = find_tensor(api, r, batches[b].tensor, &status);
    if (tensor == nullptr)
      return status;
    if (batches[b].ops == nullptr && batches[b].num_ops != 0)
      return api_fail(api, NRT_INVALID, "batch {}: {} operations at NULL", b, batches[b].num_ops);
    uint64_t size = tensor_get_size(tensor->tensor);
    for (uint32_t i = 0; i < batches[b].num_ops; ++i) {
      const nrt_tensor_batch_op_t &op = batches[b].ops[i];
      if (op.buffer == nullptr)
        return api_fail(api, NRT_INVALID, "batch {}, operation {}: buffer is NULL", b, i);
      if (!range_within(op.offset, op.size, size))
        return api_fail(api, NRT_INVALID,
                        "batch {}, operation {}: {} bytes at offset {} of a tensor of {}", b, i,
                        op.size, op.offset, size);
    }
    tensors->push_back(std::move(tensor));
  }
  return NRT_SUCCESS;
}

template <typename Move>
NRT_STATUS run_batches(const char *api, const nrt_tensor_batch_t *batches, uint64_t num_batches,
                       Move move) {
  return api_guarded(api, [&](runtime_t &r) -> NRT_STATUS {
    std::vector<tensor_ref> tensors;
    NRT_STATUS status = check_batches(api, r, batches, num_batches, &tensors);
    for (uint64_t b = 0; b < num_batches && status == NRT_SUCCESS; ++b) {
      for (uint32_t i = 0; i < batches[b].num_ops && status == NRT_SUCCESS; ++i)
        status = move(tensors[b]->tensor, batches[b].ops[i]);
    }
    return status;
  });
}

tensor_fence_t fence_of(bool unsafe) {
  return unsafe ? tensor_fence_t::SKIP : tensor_fence_t::WAIT;
}

// The counter calls ask for no state (nrt-api.md 4.1); without a runtime no handle is alive.
template <typename Use>
NRT_STATUS with_output(const char *api, const nrt_tensor_t *handle, Use use) {
  return api_call(api, [&]() -> NRT_STATUS {
    runtime_lease lease;
    if (handle == nullptr)
      return api_fail(api, NRT_INVALID, "tensor handle is NULL");
    if (lease.status() != NRT_SUCCESS)
      return api_fail(api, NRT_INVALID_HANDLE, "handle {} names no live tensor",
                      static_cast<const void *>(handle));
    NRT_STATUS status;
    tensor_ref object = find_tensor(api, *lease, handle, &status);
    return object == nullptr ? status : use(object->tensor);
  });
}

}  // namespace

extern "C" {

NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t tensor_placement, int vnc, size_t size,
                               const char *name, nrt_tensor_t **tensor) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (tensor == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    *tensor = nullptr;
    if (size > PTRDIFF_MAX)  // the driver would call it invalid, not too much
      return api_fail(api, NRT_RESOURCE, "no memory holds {} bytes", size);
    tensor_t *fresh = nullptr;
    NRT_STATUS status = tensor_allocate(r.tdrv, static_cast<tensor_placement_t>(tensor_placement),
                                        vnc, size, name, &fresh);
    return status == NRT_SUCCESS ? publish(r, fresh, tensor) : status;
  });
}

NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (tensor == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    *tensor = nullptr;
    tensor_t *fresh = nullptr;
    NRT_STATUS status = tensor_allocate_empty(name, &fresh);
    return status == NRT_SUCCESS ? publish(r, fresh, tensor) : status;
  });
}

NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    NRT_STATUS status;
    tensor_ref object = find_tensor(api, r, tensor, &status);
    if (object == nullptr)
      return status;
    if (buffer == nullptr || size == 0)
      return api_fail(api, NRT_INVALID, "buffer {} of {} bytes", buffer, size);
    return tensor_attach_buffer(object->tensor, buffer, size);
  });
}

NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset, size_t size,
                                     const char *name, nrt_tensor_t **tensor_slice) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (tensor_slice == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    NRT_STATUS status;
    tensor_ref source = find_tensor(api, r, tensor_source, &status);
    *tensor_slice = nullptr;
    if (source == nullptr)
      return status;
    tensor_t *fresh = nullptr;
    status = tensor_allocate_slice(source->tensor, offset, size, name, &fresh);
    return status == NRT_SUCCESS ? publish(r, fresh, tensor_slice) : status;
  });
}

void nrt_tensor_free(nrt_tensor_t **tensor) {
  if (tensor == nullptr)
    return;
  (void)api_call(__func__, [&]() -> NRT_STATUS {
    runtime_lease lease;  // without one, nrt_close has freed it already
    if (lease.status() == NRT_SUCCESS)
      (*lease).tensors.remove(*tensor);
    return NRT_SUCCESS;
  });
  *tensor = nullptr;
}

NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    NRT_STATUS status;
    tensor_ref object = find_tensor(api, r, tensor, &status);
    if (object == nullptr)
      return status;
    if (buf == nullptr)
      return api_fail(api, NRT_INVALID, "buffer is NULL");
    return tensor_read(object->tensor, buf, offset, size);
  });
}

NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    NRT_STATUS status;
    tensor_ref object = find_tensor(api, r, tensor, &status);
    if (object == nullptr)
      return status;
    if (buf == nullptr)
      return api_fail(api, NRT_INVALID, "buffer is NULL");
    return tensor_write(object->tensor, buf, offset, size);
  });
}

// `unsafe` skips waiting for the executions that use the tensors.
NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                 bool unsafe) {
  return run_batches(__func__, batches, num_batches,
                     [=](const tensor_t *tensor, const nrt_tensor_batch_op_t &op) {
                       return tensor_read(tensor, op.buffer, op.offset, op.size, fence_of(unsafe));
                     });
}

NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                  bool unsafe) {
  return run_batches(__func__, batches, num_batches,
                     [=](tensor_t *tensor, const nrt_tensor_batch_op_t &op) {
                       return tensor_write(tensor, op.buffer, op.offset, op.size, fence_of(unsafe));
                     });
}

NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
                           size_t dst_offset, size_t size) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    NRT_STATUS status;
    tensor_ref source = find_tensor(api, r, src, &status);
    if (source == nullptr)
      return status;
    tensor_ref destination = find_tensor(api, r, dst, &status);
    if (destination == nullptr)
      return status;
    return tensor_copy(source->tensor, src_offset, destination->tensor, dst_offset, size);
  });
}

NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    NRT_STATUS status;
    tensor_ref object = find_tensor(api, r, tensor, &status);
    if (object == nullptr)
      return status;
    return tensor_memset(object->tensor, offset, static_cast<uint8_t>(value & 0xff), size);
  });
}

size_t nrt_tensor_get_size(const nrt_tensor_t *tensor) {
  size_t size = 0;
  (void)api_call(__func__, [&]() -> NRT_STATUS {
    runtime_lease lease;
    if (lease.status() == NRT_SUCCESS) {
      if (tensor_ref object = (*lease).tensors.find(tensor); object != nullptr)
        size = tensor_get_size(object->tensor);
    }
    return NRT_SUCCESS;
  });
  return size;
}

void *nrt_tensor_get_va(const nrt_tensor_t *tensor) {
  void *va = nullptr;
  (void)api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    NRT_STATUS status;
    if (tensor_ref object = find_tensor(api, r, tensor, &status); object != nullptr)
      va = tensor_get_va(object->tensor);
    return status;
  });
  return va;
}

NRT_STATUS nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
                                                 nrt_tensor_device_allocation_info_t *alloc_info) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (alloc_info == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    NRT_STATUS status;
    tensor_ref object = find_tensor(api, r, tensor, &status);
    if (object == nullptr)
      return status;
    uint64_t pa = 0;
    uint64_t allocated = 0;
    uint32_t hbm = 0;
    status = tensor_get_device_address(object->tensor, &pa, &allocated, &hbm);
    if (status == NRT_SUCCESS)
      *alloc_info = {pa, allocated, static_cast<int>(hbm)};
    return status;
  });
}

NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *output_tensor, int64_t timeout,
                                              uint64_t expected_completion_count) {
  return with_output(__func__, output_tensor, [=](const tensor_t *tensor) {
    return tensor_check_output_completion(tensor, timeout, expected_completion_count);
  });
}

NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *output_tensor) {
  return with_output(__func__, output_tensor, [](tensor_t *tensor) {
    tensor_reset_output_completion(tensor);
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_memcpy_to_device(void *dest, const void *src, size_t size) {
  memcpy(dest, src, size);
  // Device mappings may be write-combining: the bytes must have left before a doorbell follows.
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#else
  __sync_synchronize();
#endif
  return NRT_SUCCESS;
}

NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (result == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    *result = nullptr;
    *result = r.sets.insert(std::make_shared<tensor_set_object_t>());
    return NRT_SUCCESS;
  });
}

void nrt_destroy_tensor_set(nrt_tensor_set_t **tensor_set) {
  if (tensor_set == nullptr)
    return;
  (void)api_call(__func__, [&]() -> NRT_STATUS {
    runtime_lease lease;
    if (lease.status() == NRT_SUCCESS)
      (*lease).sets.remove(*tensor_set);
    return NRT_SUCCESS;
  });
  *tensor_set = nullptr;
}

NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
                                        nrt_tensor_t *tensor) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    NRT_STATUS status;
    auto set = api_find(api, r.sets, tensor_set, "tensor set", &status);
    if (set == nullptr || find_tensor(api, r, tensor, &status) == nullptr)
      return status;
    if (tensor_name == nullptr)
      return api_fail(api, NRT_INVALID, "name is NULL");
    std::lock_guard lock(set->mutex);
    set->tensors.insert_or_assign(tensor_name, static_cast<void *>(tensor));
    return NRT_SUCCESS;
  });
}

NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
                                          nrt_tensor_t **tensor) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (tensor == nullptr || tensor_name == nullptr)
      return api_fail(api, NRT_INVALID, "{} is NULL",
                      tensor == nullptr ? "result pointer" : "name");
    NRT_STATUS status;
    auto set = api_find(api, r.sets, tensor_set, "tensor set", &status);
    if (set == nullptr)
      return status;
    std::lock_guard lock(set->mutex);
    auto it = set->tensors.find(std::string_view(tensor_name));
    if (it == set->tensors.end())
      return api_fail(api, NRT_FAILURE, "no tensor named '{}' among the {} of this set",
                      tensor_name, set->tensors.size());
    *tensor = static_cast<nrt_tensor_t *>(it->second);
    return NRT_SUCCESS;
  });
}

}  // extern "C"
