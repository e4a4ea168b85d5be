// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int mock_memfd(const char *name, uint64_t size) {
  int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd >= 0 && fd <= STDERR_FILENO) {
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    fd = moved;
  }
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}
