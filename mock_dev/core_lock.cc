// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/core_lock.h"

#include <cerrno>
#include <cstring>

namespace {

bool lock_is(const mock_core_lock_t *lock, int32_t tgid, const neuron_uuid *uuid) {
  return lock->tgid == tgid && memcmp(&lock->uuid, uuid, sizeof(*uuid)) == 0;
}

}  // namespace

int mock_core_lock_write(mock_core_lock_t *lock, int32_t tgid, const neuron_uuid *uuid) {
  if (lock->writer != 0 || lock->readers != 0)
    return -EAGAIN;
  lock->writer = 1;
  if (lock_is(lock, tgid, uuid))
    return -EALREADY;
  lock->tgid = tgid;
  lock->uuid = *uuid;
  return 0;
}

int mock_core_lock_downgrade(mock_core_lock_t *lock, int32_t tgid, const neuron_uuid *uuid) {
  if (lock->writer == 0)
    return -EINVAL;
  if (!lock_is(lock, tgid, uuid))
    return -ENOENT;
  lock->writer = 0;
  lock->readers = 1;
  return 0;
}

int mock_core_lock_read(mock_core_lock_t *lock, int32_t tgid, const neuron_uuid *uuid) {
  if (lock->writer != 0)
    return -EAGAIN;
  if (!lock_is(lock, tgid, uuid))
    return -ENOENT;
  lock->readers++;
  return 0;
}

int mock_core_lock_read_end(mock_core_lock_t *lock, int32_t tgid, const neuron_uuid *uuid) {
  if (!lock_is(lock, tgid, uuid))
    return -ENOENT;
  if (lock->readers == 0)
    return -EINVAL;
  lock->readers--;
  return 0;
}

void mock_core_locks_drop(mock_device_t *device, int32_t tgid) {
  for (mock_core_lock_t &lock : device->core_locks)
    if (lock.writer != 0 && lock.tgid == tgid)
      lock = {};
}
