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

namespace {

constexpr char DEVICE_PREFIX[] = "/dev/neuron";
constexpr char CLASS_PREFIX[] = "/sys/class/neuron_device/neuron";
constexpr char VERSION_PATH[] = "/sys/module/neuron/version";
constexpr char PRODUCT_PATH[] = "/sys/class/dmi/id/product_name";

// Device number after `prefix`, as the kernel writes it; *rest is what follows. False: no device.
bool path_device(const mock_state_t *state, const char *path, const char *prefix, uint32_t *device,
                 const char **rest) {
  size_t length = strlen(prefix);
  if (strncmp(path, prefix, length) != 0)
    return false;
  const char *digits = path + length;
  if (*digits < '0' || *digits > '9' || (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'))
    return false;
  char *end;
  unsigned long n = strtoul(digits, &end, 10);
  if (n >= state->device_count)
    return false;
  *device = static_cast<uint32_t>(n);
  *rest = end;
  return true;
}

void neighbours_print(const mock_instance_t *instance, uint32_t device, char *text, size_t size) {
  uint32_t list[NEURON_MAX_NEIGHBOURS];
  uint32_t count = mock_instance_neighbours(instance, device, list);
  size_t used = 0;
  for (uint32_t i = 0; i < count; ++i)
    used +=
        static_cast<size_t>(snprintf(text + used, size - used, i == 0 ? "%u" : ", %u", list[i]));
  snprintf(text + used, size - used, "\n");
}

// Content of a sysfs file. False: no such file.
bool path_text(const mock_host *host, const char *path, char *text, size_t size) {
  const mock_state_t *state = host->state;
  uint32_t device;
  const char *rest;
  if (strcmp(path, VERSION_PATH) == 0) {
    snprintf(text, size, "%s\n", state->driver_version);
  } else if (strcmp(path, PRODUCT_PATH) == 0) {
    snprintf(text, size, "%s\n", host->instance->name);
  } else if (path_device(state, path, CLASS_PREFIX, &device, &rest)) {
    if (strcmp(rest, "/core_count") == 0)
      snprintf(text, size, "%u", state->cores);  // without a newline, as the driver writes it
    else if (strcmp(rest, "/connected_devices") == 0)
      neighbours_print(host->instance, device, text, size);
    else
      return false;
  } else {
    return false;
  }
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

// Open of the device lane: counted and attached before the descriptor exists.
int device_get(mock_device_t *device, int32_t tgid) {
  mock_guard_t guard(&device->lock);
  if (device->state == NEURON_DEVICE_INVALID)
    return -EINVAL;
  int rc = mock_process_attach(device, tgid);
  if (rc == 0)
    device->open_count++;
  return rc;
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
  mock_state_t *state = host->state;
  mock_file_t file = {};
  const char *rest;
  if (path == nullptr)
    return -EFAULT;
  file.access = static_cast<uint8_t>(flags & O_ACCMODE);
  if (path_device(state, path, DEVICE_PREFIX, &file.device, &rest) && *rest == '\0') {
    file.kind = MOCK_FILE_DEVICE;
    file.misc_lane = (flags & O_WRONLY) != 0 ? 1 : 0;
    if (file.misc_lane != 0)
      return file_open(state, tgid, &file);
    mock_device_t *device = mock_host_device(host, file.device);
    int rc = device_get(device, tgid);
    if (rc != 0)
      return rc;
    int fd = file_open(state, tgid, &file);
    if (fd < 0) {
      mock_process_flush(host, device, tgid);
      device_put(host, device);
    }
    return fd;
  }
  if (!path_text(host, path, file.text, sizeof(file.text)))
    return -ENOENT;
  if (file.access != O_RDONLY)
    return -EACCES;
  file.kind = MOCK_FILE_TEXT;
  file.length = static_cast<uint32_t>(strlen(file.text));
  return file_open(state, tgid, &file);
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
  if (last && was.kind == MOCK_FILE_DEVICE && was.misc_lane == 0)
    device_put(host, mock_host_device(host, was.device));
  return 0;
}

ssize_t mock_read(mock_host_t *host, int32_t tgid, int fd, void *buffer, size_t size) {
  (void)tgid;
  mock_guard_t guard(&host->state->lock);
  mock_file_t *file = file_of(host->state, fd);
  if (file == nullptr)
    return -EBADF;
  if (file->kind != MOCK_FILE_TEXT)
    return -EINVAL;  // the device node has no read operation
  size_t n = std::min<size_t>(size, file->length - file->position);
  if (n != 0 && buffer == nullptr)
    return -EFAULT;
  if (n != 0)
    memcpy(buffer, file->text + file->position, n);
  file->position += static_cast<uint32_t>(n);
  return static_cast<ssize_t>(n);
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
