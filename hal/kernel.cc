// SPDX-License-Identifier: Apache-2.0
#include "hal/kernel.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <string>

#include "hal/sysfs.h"

namespace {

struct kernel_backend_t {
  hal_syscalls_t sys;
  std::string sysfs_root;
};

constexpr size_t kPathSize = 32;

void node_path(uint32_t device_index, char (&path)[kPathSize]) {
  snprintf(path, sizeof(path), "/dev/neuron%u", device_index);
}

kernel_backend_t *self(void *be) {
  return static_cast<kernel_backend_t *>(be);
}

int kernel_open(void *be, uint32_t device_index, hal_lane_t lane) {
  char path[kPathSize];
  node_path(device_index, path);
  const hal_syscalls_t &sys = self(be)->sys;
  return sys.open(sys.ctx, path, (lane == HAL_LANE_MISC ? O_WRONLY : O_RDWR) | O_CLOEXEC);
}

int kernel_close(void *be, int fd) {
  const hal_syscalls_t &sys = self(be)->sys;
  return sys.close(sys.ctx, fd);
}

long kernel_ioctl(void *be, int fd, uint32_t request, void *arg) {
  const hal_syscalls_t &sys = self(be)->sys;
  return sys.ioctl(sys.ctx, fd, request, arg);
}

int kernel_map(void *be, int fd, uint64_t offset, size_t length, int prot, void **va) {
  const hal_syscalls_t &sys = self(be)->sys;
  return sys.mmap(sys.ctx, fd, offset, length, prot, va);
}

int kernel_unmap(void *be, void *va, size_t length) {
  const hal_syscalls_t &sys = self(be)->sys;
  return sys.munmap(sys.ctx, va, length);
}

ssize_t kernel_read_file(void *be, const char *path, char *buffer, size_t size) {
  return hal_sysfs_read(&self(be)->sys, self(be)->sysfs_root, path, buffer, size);
}

bool kernel_device_present(void *be, uint32_t device_index) {
  char path[kPathSize];
  node_path(device_index, path);
  const hal_syscalls_t &sys = self(be)->sys;
  return sys.exists(sys.ctx, path);
}

void kernel_destroy(void *be) {
  delete self(be);
}

int libc_open(void *, const char *path, int flags) {
  int fd = open(path, flags);
  return fd < 0 ? -errno : fd;
}

int libc_close(void *, int fd) {
  return close(fd) < 0 ? -errno : 0;
}

long libc_ioctl(void *, int fd, uint32_t request, void *arg) {
  int result = ioctl(fd, request, arg);
  return result < 0 ? -errno : result;
}

ssize_t libc_read(void *, int fd, void *buffer, size_t size) {
  ssize_t got = read(fd, buffer, size);
  return got < 0 ? -errno : got;
}

int libc_mmap(void *, int fd, uint64_t offset, size_t length, int prot, void **va) {
  void *mapped = mmap(nullptr, length, prot, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED)
    return -errno;
  *va = mapped;
  return 0;
}

int libc_munmap(void *, void *va, size_t length) {
  return munmap(va, length) < 0 ? -errno : 0;
}

bool libc_exists(void *, const char *path) {
  return access(path, F_OK) == 0;
}

}  // namespace

const hal_syscalls_t *hal_libc_syscalls() {
  static const hal_syscalls_t table = {libc_open, libc_close,  libc_ioctl,  libc_read,
                                       libc_mmap, libc_munmap, libc_exists, nullptr};
  return &table;
}

const hal_ops_t *hal_kernel_ops() {
  static const hal_ops_t ops = {
      "kernel",     kernel_open,      kernel_close,          kernel_ioctl,   kernel_map,
      kernel_unmap, kernel_read_file, kernel_device_present, kernel_destroy,
  };
  return &ops;
}

void *hal_kernel_create(const hal_syscalls_t *table, const char *sysfs_root) {
  return new (std::nothrow) kernel_backend_t{*table, sysfs_root};
}
