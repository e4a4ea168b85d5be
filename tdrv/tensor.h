// SPDX-License-Identifier: Apache-2.0
// Tensors: views on reference-counted storage (device-memory.md 5). No type, no shape.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tdrv/tdrv.h"

enum class tensor_placement_t { DEVICE = 0, HOST = 1, VIRTUAL = 2 };

struct tensor_t;

// `name` may be NULL. NRT_INVALID: size 0, bad placement or core; NRT_RESOURCE: memory, or HOST
// placement on v3 and later. *out is NULL on failure.
NRT_STATUS tensor_allocate(tdrv_t *tdrv, tensor_placement_t placement, int vnc, size_t size,
                           const char *name, tensor_t **out);
NRT_STATUS tensor_allocate_empty(const char *name, tensor_t **out);
NRT_STATUS tensor_attach_buffer(tensor_t *tensor, void *buffer, size_t size);
NRT_STATUS tensor_allocate_slice(const tensor_t *source, size_t offset, size_t size,
                                 const char *name, tensor_t **out);
void tensor_free(tensor_t *tensor);

NRT_STATUS tensor_read(const tensor_t *tensor, void *buffer, size_t offset, size_t size);
NRT_STATUS tensor_write(tensor_t *tensor, const void *buffer, size_t offset, size_t size);
NRT_STATUS tensor_copy(const tensor_t *source, size_t source_offset, tensor_t *destination,
                       size_t destination_offset, size_t size);
NRT_STATUS tensor_memset(tensor_t *tensor, size_t offset, uint8_t value, size_t size);
size_t tensor_get_size(const tensor_t *tensor);
void *tensor_get_va(const tensor_t *tensor);
// Device tensors only, else NRT_INVALID.
NRT_STATUS tensor_get_device_address(const tensor_t *tensor, uint64_t *pa, uint64_t *allocated,
                                     uint32_t *hbm_index);
