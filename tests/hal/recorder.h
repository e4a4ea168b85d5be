// SPDX-License-Identifier: Apache-2.0
// A syscall table that plays a scripted driver and keeps every call. Sizes of arguments come from
// the fact sheet (uapi.md 4), not from the headers under test.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hal/kernel.h"

// Hand-built little-endian bytes of an argument.
struct bytes {
  std::vector<uint8_t> data;
  template <typename T>
  bytes &put(T value) {
    const auto *p = reinterpret_cast<const uint8_t *>(&value);
    data.insert(data.end(), p, p + sizeof(value));
    return *this;
  }
  bytes &u32(uint32_t v) { return put(v); }
  bytes &u64(uint64_t v) { return put(v); }
  bytes &ptr(const void *v) { return put(v); }
  bytes &zeros(size_t n) {
    data.insert(data.end(), n, 0);
    return *this;
  }
};

struct recorder {
  struct ioctl_call {
    int fd;
    uint32_t request;
    std::vector<uint8_t> arg;  // as passed in
  };
  struct open_call {
    std::string path;
    int flags;
    int fd;
  };

  std::map<uint32_t, size_t> sizes;                           // request -> real argument size
  std::map<uint32_t, std::function<long(void *)>> responses;  // default: 0
  std::map<std::string, std::string> files;                   // sysfs
  std::set<std::string> nodes;                                // /dev entries
  std::map<int, std::string> open_files;                      // fd -> rest of content
  std::vector<ioctl_call> ioctls;
  std::vector<open_call> opens;
  std::vector<int> closes;
  int open_error = 0;  // for nodes
  int next_fd = 10;

  std::vector<ioctl_call> of(uint32_t request) const {
    std::vector<ioctl_call> found;
    for (const ioctl_call &c : ioctls) {
      if (c.request == request)
        found.push_back(c);
    }
    return found;
  }

  hal_syscalls_t table() {
    hal_syscalls_t t = {};
    t.ctx = this;
    t.open = [](void *ctx, const char *path, int flags) {
      auto *r = static_cast<recorder *>(ctx);
      auto file = r->files.find(path);
      if (file == r->files.end()) {
        if (!r->nodes.contains(path))
          return -ENOENT;
        if (r->open_error != 0)
          return -r->open_error;
      }
      int fd = r->next_fd++;
      r->opens.push_back({path, flags, fd});
      if (file != r->files.end())
        r->open_files[fd] = file->second;
      return fd;
    };
    t.close = [](void *ctx, int fd) {
      static_cast<recorder *>(ctx)->closes.push_back(fd);
      return 0;
    };
    t.ioctl = [](void *ctx, int fd, uint32_t request, void *arg) -> long {
      auto *r = static_cast<recorder *>(ctx);
      ioctl_call c = {fd, request, {}};
      auto size = r->sizes.find(request);
      if (size == r->sizes.end())
        return -EINVAL;  // an unknown request
      const auto *p = static_cast<const uint8_t *>(arg);
      c.arg.assign(p, p + size->second);
      r->ioctls.push_back(c);
      auto response = r->responses.find(request);
      return response == r->responses.end() ? 0 : response->second(arg);
    };
    // One byte at a time: a short read is legal.
    t.read = [](void *ctx, int fd, void *buffer, size_t size) -> ssize_t {
      std::string &rest = static_cast<recorder *>(ctx)->open_files[fd];
      if (rest.empty() || size == 0)
        return 0;
      *static_cast<char *>(buffer) = rest[0];
      rest.erase(0, 1);
      return 1;
    };
    t.mmap = [](void *, int, uint64_t, size_t, int, void **) { return -EPERM; };
    t.munmap = [](void *, void *, size_t) { return 0; };
    t.exists = [](void *ctx, const char *path) {
      return static_cast<recorder *>(ctx)->nodes.contains(path);
    };
    return t;
  }
};

// Request values and argument sizes as the sheet prints them.
namespace req {
constexpr uint32_t MEM_ALLOC = 0x80084E15, MEM_ALLOC_V2 = 0x80084E66, MEM_ALLOC_V2MT = 0x80304E66,
                   MEM_ALLOC_V2MT64 = 0x80384E66, MEM_FREE = 0x80084E16, MEM_COPY = 0x80084E17,
                   MEM_COPY64 = 0x80284E17, MEM_BUF_COPY = 0xC0084E18, MEM_BUF_COPY64 = 0xC0284E18,
                   MEM_GET_PA = 0x80084E19, MEM_GET_INFO = 0x80084E1A, MEMSET = 0x80084E1C,
                   MEMSET64 = 0x80204E1C, MEM_GET_EXTENDED_INFO = 0x80084E1D,
                   NC_RANGE_MARK = 0x40084E55, NC_RANGE_MARK_EXT0 = 0xC0504E55,
                   NC_RANGE_UNMARK = 0x40084E56, NC_RANGE_UNMARK_EXT0 = 0x40504E56,
                   CINIT_SET_STATE = 0x40084E5B, COMPATIBLE_VERSION = 0x40084E5D,
                   DEVICE_BASIC_INFO = 0x40084E64, MEM_COPY_ASYNC = 0xC0304E6C,
                   MEM_COPY_ASYNC64 = 0xC0384E6C, MEM_COPY_ASYNC_WAIT = 0x40184E6D,
                   DRIVER_INFO_GET = 0x80184E6E, RESOURCE_MMAP_INFO = 0xC0204E70,
                   DUMP_MEM_CHUNKS = 0x80084E74;
}  // namespace req

// A driver of the given architecture, features and API range with `devices` nodes.
inline void script_driver(recorder *r, uint32_t arch, uint64_t features, uint32_t api_min,
                          uint32_t api_max, std::vector<int> devices = {0}) {
  r->sizes = {{req::MEM_ALLOC, 32},
              {req::MEM_ALLOC_V2, 40},
              {req::MEM_ALLOC_V2MT, 48},
              {req::MEM_ALLOC_V2MT64, 56},
              {req::MEM_FREE, 8},
              {req::MEM_COPY, 32},
              {req::MEM_COPY64, 40},
              {req::MEM_BUF_COPY, 32},
              {req::MEM_BUF_COPY64, 40},
              {req::MEM_GET_PA, 16},
              {req::MEM_GET_INFO, 24},
              {req::MEMSET, 24},
              {req::MEMSET64, 32},
              {req::MEM_GET_EXTENDED_INFO, 48},
              {req::NC_RANGE_MARK, 24},
              {req::NC_RANGE_MARK_EXT0, 80},
              {req::NC_RANGE_UNMARK, 24},
              {req::NC_RANGE_UNMARK_EXT0, 80},
              {req::CINIT_SET_STATE, 12},
              {req::COMPATIBLE_VERSION, 8},
              {req::DEVICE_BASIC_INFO, 8},
              {req::MEM_COPY_ASYNC, 48},
              {req::MEM_COPY_ASYNC64, 56},
              {req::MEM_COPY_ASYNC_WAIT, 24},
              {req::RESOURCE_MMAP_INFO, 32},
              {req::DRIVER_INFO_GET, 24},
              {req::DUMP_MEM_CHUNKS, 24}};
  for (int device : devices)
    r->nodes.insert("/dev/neuron" + std::to_string(device));
  r->files["/sys/module/neuron/version"] = "2.24.7.0\n";
  r->files["/sys/class/dmi/id/product_name"] = arch == 2 ? "trn1.2xlarge\n" : "trn2.3xlarge\n";
  r->responses[req::COMPATIBLE_VERSION] = [=](void *arg) {
    uint32_t answer[2] = {api_max, api_min};
    memcpy(arg, answer, sizeof(answer));
    return 0L;
  };
  r->responses[req::DRIVER_INFO_GET] = [=](void *arg) {
    bytes b;
    b.u32(arch).u32(7).u32(0).u32(24).u64(features);
    memcpy(arg, b.data.data(), 24);
    return 0L;
  };
}
