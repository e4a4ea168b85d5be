// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mock_dev/core_claim.h"
#include "mock_dev/datastore.h"
#include "mock_dev/process.h"
#include "mock_dev/reset.h"
#include "mock_dev/sysfs_tree.h"
#include "mock_dev/user_copy.h"

namespace {

constexpr char DEVICE_PREFIX[] = "/dev/neuron";

// Device number of a device node's path, as the kernel writes it. False: no device.
bool path_device(const mock_state_t *state, const char *path, uint32_t *device) {
  size_t length = strlen(DEVICE_PREFIX);
  if (strncmp(path, DEVICE_PREFIX, length) != 0)
    return false;
  const char *digits = path + length;
  if (*digits < '0' || *digits > '9' || (digits[0] == '0' && digits[1] != '\0'))
    return false;
  char *end;
  unsigned long n = strtoul(digits, &end, 10);
  if (n >= state->device_count || *end != '\0')
    return false;
  *device = static_cast<uint32_t>(n);
  return true;
}

// Open file behind a descriptor. Host lock held.
mock_file_t *file_of(mock_state_t *state, int fd) {
  uint32_t i = static_cast<uint32_t>(fd) - static_cast<uint32_t>(MOCK_FD_BASE);
  if (i >= MOCK_MAX_FDS || state->fds[i].file == 0)
    return nullptr;
  return &state->files[state->fds[i].file - 1];
}

// Points the lowest free descriptor at a file. Host lock held.
int fd_get(mock_state_t *state, int32_t tgid, const mock_file_t *file) {
  for (uint32_t i = 0; i < MOCK_MAX_FDS; ++i) {
    if (state->fds[i].file != 0)
      continue;
    state->fds[i].file = static_cast<uint32_t>(file - state->files) + 1;
    state->fds[i].tgid = tgid;
    return MOCK_FD_BASE + static_cast<int>(i);
  }
  return -EMFILE;
}

int file_open(mock_state_t *state, int32_t tgid, const mock_file_t *like) {
  mock_guard_t guard(&state->lock);
  mock_file_t *file = std::find_if(state->files, state->files + MOCK_MAX_FDS,
                                   [](const mock_file_t &f) { return f.kind == MOCK_FILE_FREE; });
  if (file == state->files + MOCK_MAX_FDS)
    return -ENFILE;
  int fd = fd_get(state, tgid, file);
  if (fd < 0)
    return fd;
  *file = *like;
  file->references = 1;
  return fd;
}

void device_put(mock_host *host, mock_device_t *device) {
  mock_guard_t guard(&device->lock);
  if (--device->open_count == 0)
    mock_datastore_reset(host, device);
}

// One look at a device somebody opens, already counted: -EAGAIN while it is resetting.
int device_try(mock_host *host, mock_device_t *device, int32_t tgid, bool give_up) {
  mock_guard_t guard(&device->lock);
  mock_reset_settle(host, device);
  int rc;
  if (device->state == NEURON_DEVICE_RESETTING)
    rc = give_up ? -EINTR : -EAGAIN;
  else if (device->state == NEURON_DEVICE_INVALID)
    rc = -EINVAL;
  else
    rc = mock_process_attach(device, tgid);
  if (rc != 0 && rc != -EAGAIN)
    device->open_count--;
  return rc;
}

// Open of the device lane: counted, then attached, before the descriptor exists.
int device_get(mock_host *host, mock_device_t *device, int32_t tgid) {
  {
    mock_guard_t guard(&device->lock);
    device->open_count++;
  }
  int rc = device_try(host, device, tgid, false);
  while (rc == -EAGAIN)
    rc = device_try(host, device, tgid, !mock_reset_pause());
  return rc;
}

int node_open(mock_host *host, int32_t tgid, int flags, mock_file_t *file) {
  file->kind = MOCK_FILE_DEVICE;
  file->misc_lane = (flags & O_WRONLY) != 0 ? 1 : 0;
  if (file->misc_lane != 0)
    return file_open(host->state, tgid, file);
  mock_device_t *device = mock_host_device(host, file->device);
  int rc = device_get(host, device, tgid);
  if (rc != 0)
    return rc;
  int fd = file_open(host->state, tgid, file);
  if (fd < 0) {
    mock_process_flush(host, device, tgid);
    device_put(host, device);
  }
  return fd;
}

// The content is that of the moment of opening. Permissions bind everybody: to write a file that
// has no way to take it is refused even to root.
int sysfs_open(mock_host *host, int32_t tgid, mock_file_t *file) {
  if (file->access != O_RDONLY && (mock_sysfs_mode(&file->sysfs) & 0222) == 0)
    return -EACCES;
  file->kind = MOCK_FILE_TEXT;
  file->length = static_cast<uint32_t>(mock_sysfs_show(host, &file->sysfs, file->text));
  return file_open(host->state, tgid, file);
}

}  // namespace

mock_file_info_t mock_file_info(mock_host *host, int fd) {
  mock_guard_t guard(&host->state->lock);
  const mock_file_t *file = file_of(host->state, fd);
  if (file == nullptr)
    return {};
  return {file->kind, file->misc_lane != 0, file->access, file->device};
}

int mock_open(mock_host_t *host, int32_t tgid, const char *path, int flags) {
  if (path == nullptr)
    return -EFAULT;
  mock_file_t file = {};
  file.access = static_cast<uint8_t>(flags & O_ACCMODE);
  if (path_device(host->state, path, &file.device))
    return node_open(host, tgid, flags, &file);
  if (!mock_sysfs_find(host, path, &file.sysfs))
    return -ENOENT;
  return sysfs_open(host, tgid, &file);
}

int mock_dup(mock_host_t *host, int32_t tgid, int fd) {
  mock_guard_t guard(&host->state->lock);
  mock_file_t *file = file_of(host->state, fd);
  if (file == nullptr)
    return -EBADF;
  int copy = fd_get(host->state, tgid, file);
  if (copy >= 0)
    file->references++;
  return copy;
}

int mock_close(mock_host_t *host, int32_t tgid, int fd) {
  mock_state_t *state = host->state;
  mock_file_t *file;
  mock_file_t was;
  {
    mock_guard_t guard(&state->lock);
    file = file_of(state, fd);
    if (file == nullptr)
      return -EBADF;
    state->fds[fd - MOCK_FD_BASE] = {};
    was = *file;
  }
  // Every close flushes, that of a duplicate too, in the name of the process that closes.
  if (was.kind == MOCK_FILE_DEVICE) {
    if (was.misc_lane != 0)
      mock_core_claims_drop(host, tgid);
    else
      mock_process_flush(host, mock_host_device(host, was.device), tgid);
  }
  bool last;
  {
    mock_guard_t guard(&state->lock);
    last = --file->references == 0;
    if (last)
      *file = {};
  }
  if (was.kind == MOCK_FILE_DEVICE && was.misc_lane == 0) {
    if (last)
      device_put(host, mock_host_device(host, was.device));
    mock_sysfs_tree_update(host, was.device);
  }
  return 0;
}

ssize_t mock_read(mock_host_t *host, int32_t tgid, int fd, void *buffer, size_t size) {
  (void)tgid;
  mock_guard_t guard(&host->state->lock);
  mock_file_t *file = file_of(host->state, fd);
  if (file == nullptr)
    return -EBADF;
  if (file->access == O_WRONLY)
    return -EBADF;
  if (file->kind != MOCK_FILE_TEXT)
    return -EINVAL;  // the device node has no read operation
  size_t n = std::min<size_t>(size, file->length - file->position);
  if (mock_user_write(buffer, file->text + file->position, n) != 0)
    return -EFAULT;
  file->position += static_cast<uint32_t>(n);
  return static_cast<ssize_t>(n);
}

ssize_t mock_write(mock_host_t *host, int32_t tgid, int fd, const void *buffer, size_t size) {
  (void)tgid;
  mock_sysfs_ref_t ref;
  {
    mock_guard_t guard(&host->state->lock);
    const mock_file_t *file = file_of(host->state, fd);
    if (file == nullptr || file->access == O_RDONLY)
      return -EBADF;
    if (file->kind != MOCK_FILE_TEXT)
      return -EINVAL;  // the device node has no write operation
    ref = file->sysfs;
  }
  char text[MOCK_SYSFS_TEXT];
  size_t taken = std::min(size, sizeof(text) - 1);
  if (mock_user_read(text, buffer, taken) != 0)
    return -EFAULT;
  text[taken] = '\0';
  int rc = mock_sysfs_store(host, &ref, text);
  if (rc != 0)
    return rc;
  // A switch may be one for all devices.
  for (uint32_t d = 0; d < host->state->device_count; ++d)
    mock_sysfs_tree_update(host, d);
  return static_cast<ssize_t>(size);
}

void mock_process_exit(mock_host_t *host, int32_t tgid) {
  mock_state_t *state = host->state;
  for (uint32_t i = 0; i < MOCK_MAX_FDS; ++i) {
    bool mine;
    {
      mock_guard_t guard(&state->lock);
      mine = state->fds[i].file != 0 && state->fds[i].tgid == tgid;
    }
    if (mine)
      mock_close(host, tgid, MOCK_FD_BASE + static_cast<int>(i));
  }
  mock_guard_t guard(&host->view_lock);
  for (auto it = host->mappings.begin(); it != host->mappings.end();) {
    if (it->second.tgid == tgid) {
      munmap(reinterpret_cast<void *>(it->first), it->second.length);
      it = host->mappings.erase(it);
    } else {
      ++it;
    }
  }
}
