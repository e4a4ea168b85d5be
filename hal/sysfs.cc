// SPDX-License-Identifier: Apache-2.0
#include "hal/sysfs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/env.h"
#include "base/nlog.h"

NRT_STATUS hal_sysfs_root_from_env(std::string *out) {
  *out = env_string("NEURON_RT_SYSFS_ROOT", "");
  if (out->empty())
    return NRT_SUCCESS;
  struct stat found;
  int error = stat(out->c_str(), &found) != 0 ? errno : S_ISDIR(found.st_mode) ? 0 : ENOTDIR;
  if (error != 0) {
    NLOG_ERROR(NLOG_HAL,
               "NEURON_RT_SYSFS_ROOT='{}': {}; accepted is a directory that holds what the root "
               "directory of a Neuron machine holds in sys/",
               *out, hal_error_name(error));
    return NRT_INVALID;
  }
  while (out->size() > 1 && out->back() == '/')
    out->pop_back();
  return NRT_SUCCESS;
}

ssize_t hal_sysfs_read(const hal_syscalls_t *sys, const std::string &root, const char *path,
                       char *buffer, size_t size) {
  int fd = sys->open(sys->ctx, (root + path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fd;
  size_t filled = 0;
  ssize_t got = 0;
  while (filled < size) {
    got = sys->read(sys->ctx, fd, buffer + filled, size - filled);
    if (got == -EINTR)
      continue;
    if (got <= 0)
      break;
    filled += static_cast<size_t>(got);
  }
  sys->close(sys->ctx, fd);
  return got < 0 ? got : static_cast<ssize_t>(filled);
}
