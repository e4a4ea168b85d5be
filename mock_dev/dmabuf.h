// SPDX-License-Identifier: Apache-2.0
// What a dma-buf descriptor of the mock stands for (mock-device-semantics.md 14).
//
// The descriptor is a real one: an empty, sealed memory file of the requested size, close-on-exec.
// An importer cannot reach device memory through it - the driver offers no mapping either - but can
// ask what it names and go on from there, with a DMA address or a mapping of its own.
#pragma once

#include <cstdint>

struct mock_dmabuf_t {
  uint32_t device;
  uint64_t pa;    // of the address the descriptor was made for; host memory: window bit included
  uint64_t size;  // as requested, never checked
};

// 0, or -EBADF: not a descriptor made by DMABUF_FD. Works in any process that holds it.
int mock_dmabuf_info(int fd, mock_dmabuf_t *out);
