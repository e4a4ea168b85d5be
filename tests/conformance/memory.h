// SPDX-License-Identifier: Apache-2.0
// Memory requests as most tests send them.
#pragma once

#include "tests/conformance/target.h"

struct alloc_t {
  uint64_t size = PAGE;
  uint64_t align = 0;
  bool host = false;
  uint32_t channel = 0;
  uint32_t region = 0;
  uint32_t nc_id = 0;
  uint32_t category = NEURON_MEM_TENSORS_DEVICE;
};

struct chunk_t {
  long rc;
  uint64_t handle;
  uint64_t pa;
};

// MEM_ALLOC_V2MT64, the handle stored at `handle`.
long alloc_at(const fd_t &fd, const alloc_t &a, uint64_t *handle);
// The same; the address is asked for with MEM_GET_PA.
chunk_t alloc(const fd_t &fd, const alloc_t &a = {});
long free_chunk(const fd_t &fd, uint64_t handle);

struct pa_t {
  long rc;
  uint64_t pa;
};
pa_t pa_of(const fd_t &fd, uint64_t handle);

struct info_t {
  long rc;
  neuron_ioctl_mem_get_extended_info info;
};
info_t extended_info(const fd_t &fd, uint64_t handle);

struct mc_t {
  long rc;
  neuron_ioctl_mem_get_mc_mmap_info_v2 info;
};
mc_t chunk_at(const fd_t &fd, uint64_t pa);

struct chunks_t {
  long rc;
  uint32_t count;
  std::vector<neuron_ioctl_mem_chunk_info> list;
};
chunks_t dump_chunks(const fd_t &fd, uint32_t channel, uint32_t room);

// User buffer to chunk and back (MEM_BUF_COPY64).
long buf_write(const fd_t &fd, uint64_t handle, uint64_t offset, const void *buffer, uint64_t size);
long buf_read(const fd_t &fd, uint64_t handle, uint64_t offset, void *buffer, uint64_t size);
// A chunk's bytes from `offset` on.
std::vector<uint8_t> bytes_of(const fd_t &fd, uint64_t handle, uint64_t offset, size_t size);
std::vector<uint8_t> pattern(size_t size, uint32_t seed);

// What a process is charged (DEVICE_GET_ALL_APPS_INFO).
struct usage_t {
  bool found;
  neuron_app_info app;
};
usage_t usage_of(const fd_t &fd, int32_t pid);
