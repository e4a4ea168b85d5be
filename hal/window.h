// SPDX-License-Identifier: Apache-2.0
// From addresses to what can be mapped or handed on: register windows, chunks by address, dma-buf
// (uapi.md 8). 0 or -errno, no log.
#pragma once

#include "hal/hal.h"

// `block` NEURON_MMAP_BLOCK_*, `resource` NEURON_MMAP_RESOURCE_*. The cookie is for hal_mem_map
// with exactly this size and is no device address. -EINVAL: this chip has no such window.
int hal_window_info(hal_device_t *device, uint32_t block, uint32_t block_id, uint32_t resource,
                    uint64_t *mmap_offset, uint64_t *size);

struct hal_chunk_place_t {
  uint64_t pa;      // start
  uint64_t size;    // page-rounded
  uint64_t handle;  // 0: the driver is too old to say
};
// The chunk that contains a device or host-window address. -ENOMEM: none does.
int hal_mem_find(hal_device_t *device, uint64_t pa, hal_chunk_place_t *out);

// A dma-buf descriptor for [va, va + size) inside a mapping made by hal_mem_map; the caller closes
// it. -EINVAL: no such mapping; -EOPNOTSUPP: the driver cannot.
int hal_dmabuf_export(hal_device_t *device, const void *va, uint64_t size, int *fd);
