// SPDX-License-Identifier: Apache-2.0
// Tensors: views on reference-counted storage (device-memory.md 5). No type, no shape.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tdrv/tdrv.h"

enum class tensor_placement_t { DEVICE = 0, HOST = 1, VIRTUAL = 2 };

struct tensor_t;

// Whether a host access waits for the device's accesses in flight (device-memory.md 5.2, fence): a
// read for its writes, a write for its reads and writes.
enum class tensor_fence_t { WAIT, SKIP };

// Every function may be called by several threads, on one tensor too; only tensor_free must be the
// last call with its tensor. A view (slice) outlives the tensor it was made of.

// `name` may be NULL. NRT_INVALID: size 0, bad placement or core; NRT_RESOURCE: memory, or HOST
// placement on v3 and later. *out is NULL on failure.
NRT_STATUS tensor_allocate(tdrv_t *tdrv, tensor_placement_t placement, int vnc, size_t size,
                           const char *name, tensor_t **out);
NRT_STATUS tensor_allocate_empty(const char *name, tensor_t **out);
// Puts the caller's buffer in place of what the tensor had; slices made before keep the old memory.
NRT_STATUS tensor_attach_buffer(tensor_t *tensor, void *buffer, size_t size);
// [offset, offset + size) of the source; 0 bytes are allowed, and an empty source is not.
NRT_STATUS tensor_allocate_slice(const tensor_t *source, size_t offset, size_t size,
                                 const char *name, tensor_t **out);
void tensor_free(tensor_t *tensor);

// Accesses inside [0, size of the view); 0 bytes move nothing. NRT_INVALID: outside, no memory, no
// buffer; NRT_FAILURE: the device refused.
NRT_STATUS tensor_read(const tensor_t *tensor, void *buffer, size_t offset, size_t size,
                       tensor_fence_t fence = tensor_fence_t::WAIT);
NRT_STATUS tensor_write(tensor_t *tensor, const void *buffer, size_t offset, size_t size,
                        tensor_fence_t fence = tensor_fence_t::WAIT);
// Between device tensors only inside one HBM, else NRT_INVALID. Ranges may overlap, as with
// memmove.
NRT_STATUS tensor_copy(const tensor_t *source, size_t source_offset, tensor_t *destination,
                       size_t destination_offset, size_t size);
NRT_STATUS tensor_memset(tensor_t *tensor, size_t offset, uint8_t value, size_t size);
size_t tensor_get_size(const tensor_t *tensor);
void *tensor_get_va(const tensor_t *tensor);
// Device tensors only, else NRT_INVALID.
NRT_STATUS tensor_get_device_address(const tensor_t *tensor, uint64_t *pa, uint64_t *allocated,
                                     uint32_t *hbm_index);
dmem_t *tensor_get_memory(const tensor_t *tensor);  // NULL: not in device memory

// An access by the device, from begin to end (execution). All views of the storage share its fence.
// The storage lives until the end, whatever happens to the tensor. NRT_INVALID: no memory.
struct tensor_storage_t;
struct tensor_access_t {
  tensor_storage_t *storage;
  uint64_t offset, size;  // the view, in the storage
  bool write;
};
NRT_STATUS tensor_access_begin(const tensor_t *tensor, bool write, tensor_access_t *out);
void tensor_access_end(const tensor_access_t *access);
// Where the view's bytes are: in host memory (first byte, else NULL), or in device memory of a
// core.
void *tensor_access_host(const tensor_access_t *access);
uint64_t tensor_access_address(const tensor_access_t *access);
const physical_core_t *tensor_access_core(const tensor_access_t *access);  // NULL: host memory

// One more execution has written this tensor.
void tensor_output_completed(tensor_t *tensor);
// Waits until `expected` executions have written the tensor since its last reset. `timeout` in
// microseconds, negative for ever. NRT_TIMEOUT: not in time; NRT_CLOSED: completion_cancel_begin.
NRT_STATUS tensor_check_output_completion(const tensor_t *tensor, int64_t timeout,
                                          uint64_t expected);
void tensor_reset_output_completion(tensor_t *tensor);
