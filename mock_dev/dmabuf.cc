// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/dmabuf.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "mock_dev/call.h"
#include "mock_dev/process.h"

namespace {

// The record is the file's name, which every holder of the descriptor can read from /proc.
constexpr char NAME_FORMAT[] = "neuron-dmabuf:%" PRIu32 ":%" PRIx64 ":%" PRIx64;
constexpr char LINK_FORMAT[] =
    "/memfd:neuron-dmabuf:%" SCNu32 ":%" SCNx64 ":%" SCNx64 " (deleted)%n";

// The caller's tracked mapping around an address, on a device it is attached to.
bool mapping_find(const mock_call_t *call, uint64_t va, mock_dmabuf_t *out) {
  mock_host *host = call->host;
  bool found = false;
  {
    mock_guard_t guard(&host->view_lock);
    for (const mock_tracked_t &t : host->tracked) {
      if (t.tgid != call->tgid || va - t.va >= t.length)
        continue;
      out->device = t.device;
      out->pa = t.pa + (va - t.va);
      found = true;
    }
  }
  if (!found)
    return false;
  mock_device_t *device = mock_host_device(host, out->device);
  mock_guard_t guard(&device->lock);
  return mock_process_slot(device, call->tgid) != MOCK_NO_SLOT;
}

int file_create(const mock_dmabuf_t *what) {
  char name[128];
  snprintf(name, sizeof(name), NAME_FORMAT, what->device, what->pa, what->size);
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return -errno;
  // No file is larger; the record has the whole number.
  auto size = static_cast<off_t>(std::min<uint64_t>(what->size, INT64_MAX));
  if (ftruncate(fd, size) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

}  // namespace

int mock_dmabuf_info(int fd, mock_dmabuf_t *out) {
  char path[64], target[256];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  ssize_t length = readlink(path, target, sizeof(target) - 1);
  if (length < 0)
    return -EBADF;
  target[length] = '\0';
  int end = 0;
  mock_dmabuf_t what = {};
  if (sscanf(target, LINK_FORMAT, &what.device, &what.pa, &what.size, &end) != 3 || end != length)
    return -EBADF;
  *out = what;
  return 0;
}

long mock_req_dmabuf_fd(const mock_call_t *call) {
  neuron_ioctl_dmabuf_fd a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  mock_dmabuf_t what = {};
  if (!mapping_find(call, a.va, &what))
    return -EINVAL;
  what.size = a.size;
  int32_t fd = file_create(&what);
  if (fd < 0)
    return fd;
  missing = static_cast<long>(mock_user_write(a.fd, &fd, sizeof(fd)));
  if (missing != 0)
    close(fd);
  return missing;
}
