// SPDX-License-Identifier: Apache-2.0
// The kernel back end: /dev/neuron<N> through a small syscall table.
//
// The table exists so that tests can route every call to another place (the mock's dispatcher, a
// recorder) and see exactly what the kernel would see.
#pragma once

#include "hal/hal.h"

// Convention of all entries: what the system call returns on success, -errno on failure. The ioctl
// entry passes the driver's positive results through.
struct hal_syscalls_t {
  int (*open)(void *ctx, const char *path, int flags);
  int (*close)(void *ctx, int fd);
  long (*ioctl)(void *ctx, int fd, uint32_t request, void *arg);
  ssize_t (*read)(void *ctx, int fd, void *buffer, size_t size);
  int (*mmap)(void *ctx, int fd, uint64_t offset, size_t length, int prot, void **va);
  int (*munmap)(void *ctx, void *va, size_t length);
  // Whether the path exists. Opening the node instead would not do: closing a misc-lane descriptor
  // drops the core claims of the whole process, and a device-lane one attaches it.
  bool (*exists)(void *ctx, const char *path);
  void *ctx;
};

// The C library's calls.
const hal_syscalls_t *hal_libc_syscalls();

const hal_ops_t *hal_kernel_ops();

// State of one kernel back end for hal_open_with. The table is copied; its ctx stays the caller's.
// Paths of sysfs files get `sysfs_root` in front. nullptr: out of memory.
void *hal_kernel_create(const hal_syscalls_t *table, const char *sysfs_root = "");
