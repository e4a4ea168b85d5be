// SPDX-License-Identifier: Apache-2.0
// Requests that allocate, free and look up memory (mock-device-semantics.md 5.2 to 5.4).
#include <cerrno>
#include <vector>

#include "mock_dev/call.h"
#include "mock_dev/chunk.h"
#include "mock_dev/notification.h"
#include "mock_dev/process.h"
#include "mock_dev/resource.h"

namespace {

constexpr uint64_t MAX_ALIGN = 0x7fffffff;
// What MEM_GET_EXTENDED_INFO leaves in the handle field: looks like a kernel address, is none.
constexpr uint64_t OPAQUE_BASE = 0xffff888000000000ull;
constexpr uint64_t MAX_DUMP_BYTES = 0x7fffffff;  // larger kernel buffers cannot be had

struct alloc_args_t {
  uint64_t size, align;
  uint32_t host_memory, dram_channel, nc_id, mem_type;
  uint64_t *mem_handle;
};

// Every form of the request, brought to one shape; the older ones have no alignment or category.
template <typename T>
long alloc_args_in(const mock_call_t *call, alloc_args_t *out) {
  T a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  *out = {};
  out->size = a.size;
  out->host_memory = a.host_memory;
  out->dram_channel = a.dram_channel;
  out->nc_id = a.nc_id;
  out->mem_handle = a.mem_handle;
  if constexpr (requires { a.align; })
    out->align = a.align;
  if constexpr (requires { a.mem_type; })
    out->mem_type = a.mem_type;
  else
    out->mem_type = a.host_memory != 0 ? NEURON_MEM_UNKNOWN_HOST : NEURON_MEM_UNKNOWN_DEVICE;
  return 0;
}

long alloc_args_get(const mock_call_t *call, alloc_args_t *out) {
  switch (call->request) {
    case NEURON_IOCTL_MEM_ALLOC:
      return alloc_args_in<neuron_ioctl_mem_alloc>(call, out) != 0 ? -EACCES : 0;
    case NEURON_IOCTL_MEM_ALLOC_V2:
      return alloc_args_in<neuron_ioctl_mem_alloc_v2>(call, out);
    case NEURON_IOCTL_MEM_ALLOC_V2MT:
      return alloc_args_in<neuron_ioctl_mem_alloc_v2_mem_type>(call, out);
    default:
      return alloc_args_in<neuron_ioctl_mem_alloc_v2_mem_type64>(call, out);
  }
}

int alloc_args_check(const mock_state_t *state, const alloc_args_t *a) {
  if (a->size > INT64_MAX || a->dram_channel >= state->hbms || a->nc_id >= NEURON_MAX_CORES)
    return -EINVAL;
  if (a->host_memory != 0 && a->align != 0)
    return -EINVAL;
  if (a->mem_type == NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE) {
    // In host memory the driver trips over it later; a driver without the feature has no such form.
    if (a->host_memory != 0 || (state->hidden & NEURON_FEATURE_CONTIGUOUS_SCRATCHPAD) != 0)
      return -EINVAL;
    return 0;
  }
  return a->host_memory == 0 && a->align > MAX_ALIGN ? -EINVAL : 0;
}

// Frees a chunk on behalf of a process.
void chunk_free(const mock_call_t *call, uint32_t n) {
  uint32_t slot = mock_process_slot(call->device, call->tgid);
  if (slot != MOCK_NO_SLOT)
    mock_process_uncharge(call->device, slot, mock_chunk_at(call->host, call->device, n));
  mock_chunk_destroy(call->host, call->device, n);
}

}  // namespace

long mock_req_mem_alloc(const mock_call_t *call) {
  mock_host *host = call->host;
  mock_device_t *device = call->device;
  alloc_args_t args;
  long rc = alloc_args_get(call, &args);
  if (rc != 0)
    return rc;
  rc = alloc_args_check(host->state, &args);
  if (rc != 0)
    return rc;
  mock_chunk_request_t request = {};
  request.size = args.size;
  request.align = args.align;
  request.host = args.host_memory != 0;
  request.channel = args.dram_channel;
  request.nc_id = args.nc_id;
  request.category = args.mem_type;
  request.lifetime = MOCK_LIFETIME_PROCESS;
  request.tgid = call->tgid;
  uint32_t n;
  uint64_t handle;
  mock_chunk_t chunk;
  {
    mock_guard_t guard(&device->lock);
    request.slot = mock_process_slot(device, call->tgid);
    if (request.slot == MOCK_NO_SLOT)
      return -EACCES;
    rc = mock_chunk_create(host, device, &request, &n);
    if (rc != 0)
      return rc;
    handle = mock_chunk_handle(host, device, n);
    if (handle == 0) {
      mock_chunk_destroy(host, device, n);
      return -ENOENT;
    }
    chunk = *mock_chunk_at(host, device, n);
    mock_process_charge(device, request.slot, &chunk);
  }
  // The handle is not out yet: nobody else touches the memory.
  rc = mock_chunk_poison(host, device, &chunk);
  if (rc == 0)
    rc = static_cast<long>(mock_user_write(args.mem_handle, &handle, sizeof(handle)));
  if (rc != 0) {
    mock_guard_t guard(&device->lock);
    if (mock_chunk_by_handle(host, device, handle) == n)
      chunk_free(call, n);
  }
  return rc;
}

long mock_req_mem_free(const mock_call_t *call) {
  neuron_ioctl_mem_free a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  mock_guard_t guard(&call->device->lock);
  uint32_t n = mock_chunk_by_handle(call->host, call->device, a.mem_handle);
  if (n == 0)
    return -EINVAL;
  const mock_chunk_t *chunk = mock_chunk_at(call->host, call->device, n);
  if (chunk->nq != 0) {  // the driver keeps the slot and the hardware pointed at freed memory
    mock_notification_free(call->host, call->device, n);
    return 0;
  }
  // The driver's own chunks can get a handle through MEM_MC_GET_INFO_V2; it would free them and
  // go on using them.
  if (chunk->lifetime == MOCK_LIFETIME_DEVICE)
    return -EINVAL;
  chunk_free(call, n);
  return 0;
}

namespace {

// Copy of the chunk behind a handle; false: no such handle.
bool chunk_look_up(const mock_call_t *call, uint64_t handle, mock_chunk_t *out) {
  mock_guard_t guard(&call->device->lock);
  uint32_t n = mock_chunk_by_handle(call->host, call->device, handle);
  if (n == 0)
    return false;
  *out = *mock_chunk_at(call->host, call->device, n);
  return true;
}

}  // namespace

long mock_req_mem_get_pa(const mock_call_t *call) {
  neuron_ioctl_mem_get_pa a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  mock_chunk_t chunk;
  if (!chunk_look_up(call, a.mem_handle, &chunk))
    return -EINVAL;
  return static_cast<long>(mock_user_write(a.pa, &chunk.pa, sizeof(chunk.pa)));
}

long mock_req_mem_get_info(const mock_call_t *call) {
  neuron_ioctl_mem_get_info a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  mock_chunk_t chunk;
  if (!chunk_look_up(call, a.mem_handle, &chunk))
    return -EINVAL;
  missing = static_cast<long>(mock_user_write(a.pa, &chunk.pa, sizeof(chunk.pa)));
  if (missing == 0 && a.mmap_offset != nullptr)
    missing = static_cast<long>(mock_user_write(a.mmap_offset, &chunk.pa, sizeof(chunk.pa)));
  return missing;
}

long mock_req_mem_get_extended_info(const mock_call_t *call) {
  neuron_ioctl_mem_get_extended_info a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  mock_chunk_t chunk;
  if (!chunk_look_up(call, a.mem_handle, &chunk))
    return EINVAL;  // positive, as the driver returns it
  a.mem_handle = OPAQUE_BASE + a.mem_handle * sizeof(chunk);
  a.host_memory = mock_chunk_is_host(&chunk) ? 1 : 0;
  a.mmap_offset = chunk.pa;
  a.pa = chunk.pa;
  a.pid = static_cast<uint64_t>(chunk.tgid);
  a.size = chunk.size;
  return mock_call_out(call, &a);
}

long mock_req_mem_mc_get_info(const mock_call_t *call) {
  bool v2 = _IOC_SIZE(call->request) == sizeof(neuron_ioctl_mem_get_mc_mmap_info_v2);
  size_t size = _IOC_SIZE(call->request);
  neuron_ioctl_mem_get_mc_mmap_info_v2 a = {};
  size_t missing = mock_user_read(&a, call->arg, size);
  if (missing != 0)
    return static_cast<long>(missing);
  {
    mock_guard_t guard(&call->device->lock);
    uint32_t n = mock_chunk_by_address(call->host, call->device, a.pa);
    if (n == 0)
      return -ENOMEM;
    const mock_chunk_t *chunk = mock_chunk_at(call->host, call->device, n);
    a.mmap_offset = chunk->pa;
    a.size = chunk->size;
    if (v2) {
      a.mem_handle = mock_chunk_handle(call->host, call->device, n);
      if (a.mem_handle == 0)
        return -ENOENT;
    }
  }
  return static_cast<long>(mock_user_write(call->arg, &a, size));
}

long mock_req_resource_mmap_info(const mock_call_t *call) {
  neuron_ioctl_resource_mmap_info a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  mock_resource_t resource;
  if (!mock_resource_get(call->host->state, a.block, a.block_id, a.resource, &resource))
    return -EINVAL;
  a.offset = resource.cookie;
  a.size = resource.length;
  return mock_call_out(call, &a);
}

long mock_req_dump_mem_chunks(const mock_call_t *call) {
  mock_host *host = call->host;
  mock_device_t *device = call->device;
  neuron_ioctl_dump_mem_chunks a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.num_entries_in * sizeof(neuron_ioctl_mem_chunk_info) > MAX_DUMP_BYTES)
    return -ENOMEM;
  std::vector<neuron_ioctl_mem_chunk_info> entries;
  {
    mock_guard_t guard(&device->lock);
    a.num_entries_out = a.hbm_index < host->state->hbms ? device->chunk_count[a.hbm_index] : 0;
    if (a.num_entries_out != 0 && a.num_entries_out <= a.num_entries_in) {
      const mock_page_map_t *map = &device->chunk_map[a.hbm_index];
      entries.reserve(a.num_entries_out);
      uint32_t page = mock_page_map_at_or_above(map, host->region, 0);
      while (page != MOCK_NO_PAGE) {
        uint32_t n = mock_page_map_id(map, host->region, page);
        const mock_chunk_t *chunk = mock_chunk_at(host, device, n);
        neuron_ioctl_mem_chunk_info e = {};
        e.pa = chunk->pa;
        e.size = chunk->size;
        e.mem_type = chunk->category;
        entries.push_back(e);
        page = mock_page_map_at_or_above(map, host->region, page + 1);
      }
    }
  }
  missing = mock_call_out(call, &a);
  if (missing != 0)
    return missing;
  if (a.num_entries_out > a.num_entries_in)
    return -EAGAIN;
  return static_cast<long>(
      mock_user_write(a.data, entries.data(), entries.size() * sizeof(entries[0])));
}
