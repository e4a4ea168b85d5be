// SPDX-License-Identifier: Apache-2.0
// Requests about cores and datastores: claims, locks, init states (mock-device-semantics.md 10, 11,
// 13).
#include <time.h>

#include <cerrno>
#include <cstring>

#include "mock_dev/call.h"
#include "mock_dev/core_claim.h"
#include "mock_dev/core_lock.h"
#include "mock_dev/datastore.h"
#include "mock_dev/kernel_log.h"

namespace {

// How long the driver tries for a lock, and waits for another process's core init.
constexpr uint32_t WRITER_WAIT_MS = 2000;
constexpr uint32_t READER_WAIT_MS = 500;
constexpr uint32_t INIT_WAIT_MS = 5000;
constexpr uint32_t DUMP_LINES = 128;  // when the caller does not say

void sleep_ms() {
  timespec t = {0, 1000000};
  nanosleep(&t, nullptr);
}

// Both forms of the claim request; the first has one word of bits.
bool claim_is_wide(const mock_call_t *call) {
  return _IOC_SIZE(call->request) == sizeof(neuron_ioctl_crwl_nc_map_ext);
}

size_t claim_size(const mock_call_t *call) {
  return claim_is_wide(call) ? sizeof(neuron_ioctl_crwl_nc_map_ext)
                             : sizeof(neuron_ioctl_crwl_nc_map);
}
static_assert(offsetof(neuron_ioctl_crwl_nc_map, bitmap) ==
              offsetof(neuron_ioctl_crwl_nc_map_ext, bitmap));

}  // namespace

long mock_req_core_mark(const mock_call_t *call) {
  neuron_ioctl_crwl_nc_map_ext a = {};
  size_t size = claim_size(call);
  size_t missing = mock_user_read(&a, call->arg, size);
  if (missing != 0)
    return static_cast<long>(missing);
  // The table ends at 512 cores of the machine; the narrow form has bits for 64 and the driver
  // writes past them.
  uint32_t base = call->device->index * call->host->state->cores;
  uint32_t limit = claim_is_wide(call) ? MOCK_MAX_CLAIMS - base : 64;
  if (a.start_nc_index > a.end_nc_index || a.end_nc_index >= limit)
    return -EINVAL;
  uint32_t first = 0, available = 0;
  int rc = mock_core_claim(call->host, call->tgid, a.nc_count, base + a.start_nc_index,
                           base + a.end_nc_index, &first, &available);
  if (rc == 0) {
    memset(a.bitmap, 0, sizeof(a.bitmap));
    for (uint32_t core = first - base; core < first - base + a.nc_count; ++core)
      a.bitmap[core / 64] |= 1ull << (core % 64);
  } else {
    a.max_nc_available = available;
  }
  missing = mock_user_write(call->arg, &a, size);
  return missing != 0 ? static_cast<long>(missing) : rc;
}

long mock_req_core_unmark(const mock_call_t *call) {
  neuron_ioctl_crwl_nc_map_ext a = {};
  size_t missing = mock_user_read(&a, call->arg, claim_size(call));
  if (missing != 0)
    return static_cast<long>(missing);
  uint32_t base = call->device->index * call->host->state->cores;
  for (uint32_t core = 0; core < MOCK_MAX_CLAIMS; ++core)
    if ((a.bitmap[core / 64] >> (core % 64) & 1) != 0)
      mock_core_unclaim(call->host, call->tgid, base + core);
  return 0;
}

long mock_req_core_lock(const mock_call_t *call) {
  neuron_ioctl_crwl a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.nc_id >= NEURON_MAX_CORES)
    return -EINVAL;
  uint32_t tries = 1;
  if (call->request == NEURON_IOCTL_CRWL_WRITER_ENTER)
    tries = WRITER_WAIT_MS;
  else if (call->request == NEURON_IOCTL_CRWL_READER_ENTER)
    tries = READER_WAIT_MS;
  mock_core_lock_t *lock = &call->device->core_locks[a.nc_id];
  for (; tries != 0; --tries) {
    int rc;
    {
      mock_guard_t guard(&call->device->lock);
      switch (call->request) {
        case NEURON_IOCTL_CRWL_WRITER_ENTER:
          rc = mock_core_lock_write(lock, call->tgid, &a.uuid);
          break;
        case NEURON_IOCTL_CRWL_WRITER_DOWNGRADE:
          rc = mock_core_lock_downgrade(lock, call->tgid, &a.uuid);
          break;
        case NEURON_IOCTL_CRWL_READER_ENTER:
          rc = mock_core_lock_read(lock, call->tgid, &a.uuid);
          break;
        default:
          rc = mock_core_lock_read_end(lock, call->tgid, &a.uuid);
          break;
      }
    }
    if (rc != -EAGAIN)
      return rc;
    sleep_ms();
  }
  return -EBUSY;
}

long mock_req_core_init(const mock_call_t *call) {
  neuron_ioctl_cinit_set a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.nc_id >= call->host->state->cores)
    return -E2BIG;
  uint32_t *state = &call->device->core_init[a.nc_id];
  bool wait = false;
  {
    mock_guard_t guard(&call->device->lock);
    if (a.state == NEURON_CINIT_STARTED && *state == NEURON_CINIT_INVALID)
      *state = NEURON_CINIT_STARTED;  // the caller does the work
    else if (a.state == NEURON_CINIT_STARTED)
      wait = *state == NEURON_CINIT_STARTED;  // someone else does
    else if (a.state == NEURON_CINIT_COMPLETED && *state == NEURON_CINIT_STARTED)
      *state = NEURON_CINIT_COMPLETED;
    a.new_state = *state;
  }
  for (uint32_t i = 0; wait && i < INIT_WAIT_MS; ++i) {
    sleep_ms();
    mock_guard_t guard(&call->device->lock);
    a.new_state = *state;
    wait = *state == NEURON_CINIT_STARTED;
  }
  return mock_call_out(call, &a);
}

long mock_req_model_started_count(const mock_call_t *call) {
  neuron_ioctl_nc_model_started_count a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.nc_id >= call->host->state->cores)
    return -E2BIG;
  a.started_count = 0;  // only v1 counts
  return mock_call_out(call, &a);
}

namespace {

// What is known about a core's owner and the processes of its device, in at most `limit` lines.
void state_dump(const mock_call_t *call, mock_device_t *device, uint32_t core, int32_t owner,
                bool owner_only, uint32_t limit) {
  uint32_t n = device->index, nc = core % call->host->state->cores;
  mock_guard_t guard(&device->lock);
  const mock_core_lock_t *lock = &device->core_locks[nc];
  mock_kernel_log(call->host,
                  "nd%u nc%u: owner pid %d, init state %u, lock of pid %d: %s, %u readers", n, nc,
                  owner, device->core_init[nc], lock->tgid,
                  lock->writer != 0 ? "writer" : "no writer", lock->readers);
  for (const mock_slot_t &slot : device->slots) {
    if (slot.open_count == 0 || (owner_only && slot.tgid != owner))
      continue;
    if (--limit == 0)
      return;
    mock_kernel_log(call->host,
                    "nd%u: pid %d, opened %u times, host memory %llu, device memory %llu", n,
                    slot.tgid, slot.open_count, static_cast<unsigned long long>(slot.host_bytes),
                    static_cast<unsigned long long>(slot.device_bytes));
  }
}

}  // namespace

// All it does is to write to the kernel log.
long mock_req_pid_state_dump(const mock_call_t *call) {
  neuron_ioctl_nc_pid_state_dump a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.nc_id >= MOCK_MAX_CLAIMS)
    return -ENOENT;
  const mock_state_t *state = call->host->state;
  int32_t owner = mock_core_claim_owner(call->host, a.nc_id);
  if (owner == 0)
    return 0;
  uint32_t device = a.nc_id / state->cores;
  if (device >= state->device_count)
    return -EPERM;
  state_dump(call, mock_host_device(call->host, device), a.nc_id, owner, a.filter_log_owner != 0,
             a.log_dump_limit == 0 ? DUMP_LINES : a.log_dump_limit);
  return 0;
}

long mock_req_datastore_acquire(const mock_call_t *call) {
  neuron_ioctl_neuron_ds_info a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  {
    mock_guard_t guard(&call->device->lock);
    int rc = mock_datastore_acquire(call->host, call->device, call->tgid, a.pid, &a.mmap_offset);
    if (rc != 0)
      return rc;
  }
  a.size = NEURON_DATASTORE_SIZE;
  return mock_call_out(call, &a);
}

long mock_req_datastore_release(const mock_call_t *call) {
  neuron_ioctl_neuron_ds_info a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  // Only the owner gives a store back; for anybody else's the driver says nothing.
  if (a.pid != 0 && a.pid != call->tgid)
    return 0;
  mock_guard_t guard(&call->device->lock);
  mock_datastore_release(call->host, call->device, call->tgid);
  return 0;
}
