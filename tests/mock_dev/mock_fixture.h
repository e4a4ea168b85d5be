// SPDX-License-Identifier: Apache-2.0
// A mocked machine and the requests tests send to it, spelled as a process would spell them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "mock_dev/mock_dev.h"
#include "uapi/neuron_address_map.h"
#include "uapi/neuron_ioctl.h"

constexpr int32_t PID = 100;  // the process a test plays unless it says otherwise

struct machine_t {
  mock_host_t *host = nullptr;
  int fd = -1;    // device 0, device lane, opened by PID
  int misc = -1;  // device 0, misc lane

  explicit machine_t(mock_dev_options_t options = {}) {
    int rc = mock_host_create(&options, &host);
    EXPECT_EQ(rc, 0);
    if (rc != 0)
      return;
    fd = mock_open(host, PID, "/dev/neuron0", O_RDWR);
    misc = mock_open(host, PID, "/dev/neuron0", O_WRONLY);
    EXPECT_GE(fd, 0);
    EXPECT_GE(misc, 0);
  }
  explicit machine_t(const char *instance) : machine_t(of(instance)) {}
  ~machine_t() { mock_host_destroy(host); }
  machine_t(const machine_t &) = delete;
  machine_t &operator=(const machine_t &) = delete;

  static mock_dev_options_t of(const char *instance) {
    mock_dev_options_t o = {};
    o.instance = instance;
    return o;
  }

  long io(uint32_t request, void *arg) { return mock_ioctl(host, PID, fd, request, arg); }
  long io_misc(uint32_t request, void *arg) { return mock_ioctl(host, PID, misc, request, arg); }
};

struct alloc_t {
  uint64_t size = 4096;
  uint64_t align = 0;
  bool host = false;
  uint32_t channel = 0;
  uint32_t nc_id = 0;
  uint32_t category = NEURON_MEM_TENSORS_DEVICE;
};

struct chunk_t {
  long rc;
  uint64_t handle;
  uint64_t pa;
};

inline long alloc_raw(mock_host_t *host, int32_t tgid, int fd, const alloc_t &a, uint64_t *handle) {
  neuron_ioctl_mem_alloc_v2_mem_type64 arg = {};
  arg.size = a.size;
  arg.align = a.align;
  arg.host_memory = a.host ? 1 : 0;
  arg.dram_channel = a.channel;
  arg.nc_id = a.nc_id;
  arg.mem_type = a.category;
  arg.mem_handle = handle;
  return mock_ioctl(host, tgid, fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &arg);
}

inline chunk_t alloc_as(mock_host_t *host, int32_t tgid, int fd, const alloc_t &a) {
  chunk_t c = {};
  c.rc = alloc_raw(host, tgid, fd, a, &c.handle);
  if (c.rc == 0) {
    neuron_ioctl_mem_get_pa arg = {c.handle, &c.pa};
    EXPECT_EQ(mock_ioctl(host, tgid, fd, NEURON_IOCTL_MEM_GET_PA, &arg), 0);
  }
  return c;
}

inline chunk_t alloc(machine_t &m, const alloc_t &a) {
  return alloc_as(m.host, PID, m.fd, a);
}

inline long mem_free(machine_t &m, uint64_t handle) {
  neuron_ioctl_mem_free arg = {handle};
  return m.io(NEURON_IOCTL_MEM_FREE, &arg);
}

inline long buf_copy(machine_t &m, uint64_t handle, void *buffer, uint64_t offset, uint64_t size,
                     bool to_device) {
  neuron_ioctl_mem_buf_copy64 arg = {};
  arg.mem_handle = handle;
  arg.buffer = buffer;
  arg.size = size;
  arg.offset = offset;
  arg.copy_to_mem_handle = to_device ? 1 : 0;
  return m.io(NEURON_IOCTL_MEM_BUF_COPY64, &arg);
}

// An address range nothing is mapped at; the page before it is readable and writable.
struct bad_range_t {
  uint8_t *base;
  size_t good;
  explicit bad_range_t(size_t good_bytes = 4096) : good(good_bytes) {
    void *va =
        mmap(nullptr, good + 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(va, MAP_FAILED);
    base = static_cast<uint8_t *>(va);
    EXPECT_EQ(mprotect(base + good, 65536, PROT_NONE), 0);
  }
  ~bad_range_t() { munmap(base, good + 65536); }
  bad_range_t(const bad_range_t &) = delete;
  bad_range_t &operator=(const bad_range_t &) = delete;
  uint8_t *bad() { return base + good; }
  // The last n good bytes.
  uint8_t *tail(size_t n) { return base + good - n; }
};
