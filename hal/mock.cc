// SPDX-License-Identifier: Apache-2.0
#include "hal/mock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <string>

#include "base/nlog.h"
#include "hal/hal_impl.h"
#include "hal/sysfs.h"

namespace {

struct mock_backend_t {
  mock_host_t *host;
  std::string sysfs_root;
};

constexpr size_t kPathSize = 64;

mock_backend_t *self(void *be) {
  return static_cast<mock_backend_t *>(be);
}

// Asked at every call: after a fork the child is another process to the device, as it would be to
// the driver.
int32_t caller() {
  return getpid();
}

int backend_open(void *be, uint32_t device_index, hal_lane_t lane) {
  char path[kPathSize];
  snprintf(path, sizeof(path), "/dev/neuron%u", device_index);
  return mock_open(self(be)->host, caller(), path, lane == HAL_LANE_MISC ? O_WRONLY : O_RDWR);
}

int backend_close(void *be, int fd) {
  return mock_close(self(be)->host, caller(), fd);
}

long backend_ioctl(void *be, int fd, uint32_t request, void *arg) {
  return mock_ioctl(self(be)->host, caller(), fd, request, arg);
}

int backend_map(void *be, int fd, uint64_t offset, size_t length, int prot, void **va) {
  return mock_mmap(self(be)->host, caller(), fd, offset, length, prot, va);
}

int backend_unmap(void *be, void *va, size_t length) {
  return mock_munmap(self(be)->host, caller(), va, length);
}

ssize_t backend_read_file(void *be, const char *path, char *buffer, size_t size) {
  if (!self(be)->sysfs_root.empty())
    return hal_sysfs_read(hal_libc_syscalls(), self(be)->sysfs_root, path, buffer, size);
  mock_host_t *host = self(be)->host;
  int fd = mock_open(host, caller(), path, O_RDONLY);
  if (fd < 0)
    return fd;
  ssize_t got = mock_read(host, caller(), fd, buffer, size);
  mock_close(host, caller(), fd);
  return got;
}

// A sysfs file instead of the node: opening the node would attach this process to the device.
bool backend_device_present(void *be, uint32_t device_index) {
  char path[kPathSize];
  snprintf(path, sizeof(path), "/sys/class/neuron_device/neuron%u/core_count", device_index);
  int fd = mock_open(self(be)->host, caller(), path, O_RDONLY);
  if (fd < 0)
    return false;
  mock_close(self(be)->host, caller(), fd);
  return true;
}

void backend_destroy(void *be) {
  mock_host_destroy(self(be)->host);
  delete self(be);
}

std::string known_instances() {
  std::string list;
  for (const char *const *name = mock_instance_names(); *name != nullptr; ++name) {
    if (!list.empty())
      list += ", ";
    list += *name;
  }
  return list;
}

}  // namespace

const hal_ops_t *hal_mock_ops() {
  static const hal_ops_t ops = {
      "mock",        backend_open,      backend_close,          backend_ioctl,   backend_map,
      backend_unmap, backend_read_file, backend_device_present, backend_destroy,
  };
  return &ops;
}

void *hal_mock_create(mock_host_t *host, const char *sysfs_root) {
  return new (std::nothrow) mock_backend_t{host, sysfs_root};
}

NRT_STATUS hal_mock_create_from_env(const char *instance, void **be) {
  mock_dev_options_t options = {};
  char error[256] = "";
  if (mock_dev_options_from_env(&options, error, sizeof(error)) != 0) {
    NLOG_ERROR(NLOG_HAL, "mocked device: {}", error);
    return NRT_INVALID;
  }
  if (instance != nullptr)
    options.instance = instance;
  mock_host_t *host = nullptr;
  int result = mock_host_create(&options, &host);
  if (result == -EINVAL) {
    NLOG_ERROR(NLOG_HAL,
               "mocked device: instance '{}' is unknown or its options do not fit; "
               "instances: {}",
               options.instance != nullptr ? options.instance : "(default)", known_instances());
    return NRT_INVALID;
  }
  if (result == -ENOMEM) {
    NLOG_ERROR(NLOG_HAL, "mocked device: out of memory");
    return NRT_RESOURCE;
  }
  if (result != 0) {
    NLOG_ERROR(NLOG_HAL,
               "NEURON_MOCK_SYSFS_DIR='{}': {}; accepted is an empty directory of this machine's "
               "own, or a name in an existing directory",
               options.sysfs_dir, hal_error_name(result));
    return NRT_INVALID;
  }
  std::string root;
  NRT_STATUS status = hal_sysfs_root_from_env(&root);
  if (status != NRT_SUCCESS) {
    mock_host_destroy(host);
    return status;
  }
  *be = hal_mock_create(host, root.c_str());
  if (*be == nullptr) {
    mock_host_destroy(host);
    NLOG_ERROR(NLOG_HAL, "mocked device: out of memory");
    return NRT_RESOURCE;
  }
  return NRT_SUCCESS;
}

mock_host_t *hal_mock_host_of(void *be) {
  return self(be)->host;
}
