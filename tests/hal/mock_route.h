// SPDX-License-Identifier: Apache-2.0
// The kernel back end's syscall table routed to a mocked machine, with a log of the traffic.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <vector>

#include "hal/kernel.h"
#include "mock_dev/mock_dev.h"

struct mock_route {
  struct event {
    std::string call;  // "open", "ioctl", "mmap", "munmap", "close", "read"
    uint32_t request;  // ioctl only
  };
  mock_host_t *host = nullptr;
  std::mutex mutex;
  std::vector<event> events;

  void note(const char *call, uint32_t request = 0) {
    std::lock_guard<std::mutex> lock(mutex);
    events.push_back({call, request});
  }

  hal_syscalls_t table() {
    hal_syscalls_t t = {};
    t.ctx = this;
    t.open = [](void *ctx, const char *path, int flags) {
      self(ctx)->note("open");
      return mock_open(self(ctx)->host, getpid(), path, flags);
    };
    t.close = [](void *ctx, int fd) {
      self(ctx)->note("close");
      return mock_close(self(ctx)->host, getpid(), fd);
    };
    t.ioctl = [](void *ctx, int fd, uint32_t request, void *arg) {
      self(ctx)->note("ioctl", request);
      return mock_ioctl(self(ctx)->host, getpid(), fd, request, arg);
    };
    t.read = [](void *ctx, int fd, void *buffer, size_t size) {
      self(ctx)->note("read");
      return mock_read(self(ctx)->host, getpid(), fd, buffer, size);
    };
    t.mmap = [](void *ctx, int fd, uint64_t offset, size_t length, int prot, void **va) {
      self(ctx)->note("mmap");
      return mock_mmap(self(ctx)->host, getpid(), fd, offset, length, prot, va);
    };
    t.munmap = [](void *ctx, void *va, size_t length) {
      self(ctx)->note("munmap");
      return mock_munmap(self(ctx)->host, getpid(), va, length);
    };
    // A sysfs file stands for the node: opening the node would attach this process.
    t.exists = [](void *ctx, const char *path) {
      std::string node(path);
      std::string file = "/sys/class/neuron_device/" + node.substr(node.rfind('/') + 1);
      int fd = mock_open(self(ctx)->host, getpid(), (file + "/core_count").c_str(), O_RDONLY);
      if (fd < 0)
        return false;
      mock_close(self(ctx)->host, getpid(), fd);
      return true;
    };
    return t;
  }

 private:
  static mock_route *self(void *ctx) { return static_cast<mock_route *>(ctx); }
};
