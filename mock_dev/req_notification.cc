// SPDX-License-Identifier: Apache-2.0
// Requests that make notification queues (mock-device-semantics.md 7).
#include <cerrno>

#include "base/checked.h"
#include "mock_dev/call.h"
#include "mock_dev/chunk.h"
#include "mock_dev/notification.h"

namespace {

constexpr uint64_t NOT_MAPPABLE = UINT64_MAX;  // what queues on the device have for an mmap offset

struct queue_t {
  uint64_t mmap_offset, mem_handle;
};

// Checks common to all forms; the driver keeps device and engine in 8 bits.
int queue_unit(const mock_state_t *state, uint32_t device_type, uint32_t device_id, uint32_t size,
               uint32_t *unit) {
  if (device_type != NEURON_NQ_DEVICE_CORE && device_type != NEURON_NQ_DEVICE_TOP_SP)
    return -ENOSYS;
  if (size != 0 && !is_power_of_two(size))
    return -EINVAL;
  bool core = device_type == NEURON_NQ_DEVICE_CORE;
  if (device_id >= (core ? state->cores : neuron_arch_counts_get(state->arch).top_sps))
    return -EINVAL;
  *unit = core ? mock_nq_unit_core(device_id) : mock_nq_unit_top_sp(device_id);
  return 0;
}

// `handle`: the caller is told it; it is made when the first one asks.
int queue_get(const mock_call_t *call, const mock_nq_request_t *request, bool handle,
              queue_t *out) {
  mock_guard_t guard(&call->device->lock);
  uint32_t n;
  int rc = mock_notification_init(call->host, call->device, request, &n);
  if (rc != 0)
    return rc;
  const mock_chunk_t *chunk = mock_chunk_at(call->host, call->device, n);
  out->mmap_offset = mock_chunk_is_host(chunk) ? chunk->pa : NOT_MAPPABLE;
  out->mem_handle = handle ? mock_chunk_handle(call->host, call->device, n) : 0;
  return handle && out->mem_handle == 0 ? -ENOENT : 0;
}

template <typename T>
long queue_request(const mock_call_t *call) {
  T a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  mock_nq_request_t request = {};
  int rc = queue_unit(call->host->state, a.nq_dev_type, static_cast<uint8_t>(a.nq_dev_id), a.size,
                      &request.unit);
  if (rc != 0)
    return rc;
  request.type = a.nq_type;
  request.engine = static_cast<uint8_t>(a.engine_index);
  request.size = a.size;
  request.host = a.on_host_memory != 0;
  request.channel = a.dram_channel;
  request.tgid = call->tgid;
  if constexpr (requires { a.force_alloc_mem; })
    request.replace = a.force_alloc_mem != 0;
  queue_t queue;
  rc = queue_get(call, &request, true, &queue);
  if (rc != 0)
    return rc;
  a.mmap_offset = queue.mmap_offset;
  a.mem_handle = queue.mem_handle;
  return mock_call_out(call, &a);
}

}  // namespace

// A core's queue in host memory; the oldest form.
long mock_req_notifications_init_v1(const mock_call_t *call) {
  neuron_ioctl_notifications_init_v1 a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  mock_nq_request_t request = {};
  int rc = queue_unit(call->host->state, NEURON_NQ_DEVICE_CORE, static_cast<uint8_t>(a.nc_id),
                      a.size, &request.unit);
  if (rc != 0)
    return rc;
  request.type = a.nq_type;
  request.engine = static_cast<uint8_t>(a.engine_index);
  request.size = a.size;
  request.host = true;
  request.tgid = call->tgid;
  queue_t queue;
  rc = queue_get(call, &request, false, &queue);
  if (rc != 0)
    return rc;
  a.mmap_offset = queue.mmap_offset;
  return mock_call_out(call, &a);
}

long mock_req_notifications_init_v2(const mock_call_t *call) {
  return call->request == NEURON_IOCTL_NOTIFICATIONS_INIT_V2
             ? queue_request<neuron_ioctl_notifications_init_v2>(call)
             : queue_request<neuron_ioctl_notifications_init_with_realloc_v2>(call);
}
