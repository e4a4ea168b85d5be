// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/memory.h"

long alloc_at(const fd_t &fd, const alloc_t &a, uint64_t *handle) {
  neuron_ioctl_mem_alloc_v2_mem_type64 arg = {};
  arg.size = a.size;
  arg.align = a.align;
  arg.host_memory = a.host ? 1 : 0;
  arg.dram_channel = a.channel;
  arg.dram_region = a.region;
  arg.nc_id = a.nc_id;
  arg.mem_type = a.category;
  arg.mem_handle = handle;
  return fd.io(NEURON_IOCTL_MEM_ALLOC_V2MT64, &arg);
}

chunk_t alloc(const fd_t &fd, const alloc_t &a) {
  chunk_t c = {};
  c.rc = alloc_at(fd, a, &c.handle);
  if (c.rc == 0) {
    pa_t pa = pa_of(fd, c.handle);
    EXPECT_EQ(pa.rc, 0);
    c.pa = pa.pa;
  }
  return c;
}

long free_chunk(const fd_t &fd, uint64_t handle) {
  neuron_ioctl_mem_free arg = {handle};
  return fd.io(NEURON_IOCTL_MEM_FREE, &arg);
}

pa_t pa_of(const fd_t &fd, uint64_t handle) {
  pa_t out = {};
  neuron_ioctl_mem_get_pa arg = {handle, &out.pa};
  out.rc = fd.io(NEURON_IOCTL_MEM_GET_PA, &arg);
  return out;
}

info_t extended_info(const fd_t &fd, uint64_t handle) {
  info_t out = {};
  out.info.mem_handle = handle;
  out.rc = fd.io(NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &out.info);
  return out;
}

mc_t chunk_at(const fd_t &fd, uint64_t pa) {
  mc_t out = {};
  out.info.pa = pa;
  out.rc = fd.io(NEURON_IOCTL_MEM_MC_GET_INFO_V2, &out.info);
  return out;
}

chunks_t dump_chunks(const fd_t &fd, uint32_t channel, uint32_t room) {
  chunks_t out = {};
  out.list.resize(room);
  neuron_ioctl_dump_mem_chunks arg = {};
  arg.hbm_index = channel;
  arg.num_entries_in = room;
  arg.num_entries_out = 0xdead;
  arg.data = out.list.data();
  out.rc = fd.io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &arg);
  out.count = arg.num_entries_out;
  return out;
}

static long buf_copy(const fd_t &fd, uint64_t handle, uint64_t offset, void *buffer, uint64_t size,
                     bool to_chunk) {
  neuron_ioctl_mem_buf_copy64 arg = {};
  arg.mem_handle = handle;
  arg.buffer = buffer;
  arg.size = size;
  arg.offset = offset;
  arg.copy_to_mem_handle = to_chunk ? 1 : 0;
  return fd.io(NEURON_IOCTL_MEM_BUF_COPY64, &arg);
}

long buf_write(const fd_t &fd, uint64_t handle, uint64_t offset, const void *buffer,
               uint64_t size) {
  return buf_copy(fd, handle, offset, const_cast<void *>(buffer), size, true);
}

long buf_read(const fd_t &fd, uint64_t handle, uint64_t offset, void *buffer, uint64_t size) {
  return buf_copy(fd, handle, offset, buffer, size, false);
}

std::vector<uint8_t> bytes_of(const fd_t &fd, uint64_t handle, uint64_t offset, size_t size) {
  std::vector<uint8_t> bytes(size);
  EXPECT_EQ(buf_read(fd, handle, offset, bytes.data(), size), 0);
  return bytes;
}

std::vector<uint8_t> pattern(size_t size, uint32_t seed) {
  std::vector<uint8_t> bytes(size);
  uint32_t x = seed * 2654435761u + 1;
  for (uint8_t &b : bytes) {
    x = x * 1664525u + 1013904223u;
    b = static_cast<uint8_t>(x >> 24);
  }
  return bytes;
}

usage_t usage_of(const fd_t &fd, int32_t pid) {
  alignas(neuron_ioctl_get_apps_info)
      uint8_t storage[sizeof(neuron_ioctl_get_apps_info) + 16 * sizeof(neuron_app_info)] = {};
  auto *arg = reinterpret_cast<neuron_ioctl_get_apps_info *>(storage);
  arg->apps_info_flags = NEURON_APPS_INFO_ALL;
  arg->capacity = 16;
  EXPECT_EQ(fd.io(NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, arg), 0);
  for (uint32_t i = 0; i < arg->size && i < 16; ++i)
    if (arg->app_data[i].pid == pid)
      return {true, arg->app_data[i]};
  return {};
}
