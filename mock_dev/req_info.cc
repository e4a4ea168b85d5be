// SPDX-License-Identifier: Apache-2.0
// Requests that tell about the device, the machine and its users (mock-device-semantics.md 15).
#include <cerrno>

#include "mock_dev/bar0.h"
#include "mock_dev/call.h"
#include "mock_dev/kernel_log.h"

namespace {

constexpr uint32_t REVISION = 1;  // neither of the emulator's values
constexpr uint32_t FIRST_BUS = 0x10;
constexpr uint32_t PRINTK_LIMIT = 512;
constexpr uint64_t MAX_APPS_BYTES = 0x7fffffff;

}  // namespace

long mock_req_device_info(const mock_call_t *call) {
  neuron_ioctl_device_info a = {};
  a.architecture = call->host->state->arch;
  a.revision = REVISION;
  a.connected_device_count =
      mock_instance_neighbours(call->host->instance, call->device->index, a.connected_devices);
  a.bar_address[0] = MOCK_BAR0_BASE;
  a.bar_size[0] = MOCK_BAR0_SIZE;
  return mock_call_out(call, &a);
}

long mock_req_device_basic_info(const mock_call_t *call) {
  neuron_ioctl_device_basic_info a = {call->host->state->arch, REVISION};
  return mock_call_out(call, &a);
}

long mock_req_driver_info_get(const mock_call_t *call) {
  neuron_ioctl_device_driver_info a = {};
  a.architecture = call->host->state->arch;
  a.revision = REVISION;
  a.size = sizeof(a);
  a.feature_flags1 = call->host->state->features;
  return mock_call_out(call, &a);
}

long mock_req_compatible_version(const mock_call_t *call) {
  neuron_ioctl_compatible_version a = {};
  a.max = call->host->state->api_max;
  a.min = call->host->state->api_min;
  return mock_call_out(call, &a);
}

long mock_req_device_bdf(const mock_call_t *call) {
  neuron_ioctl_device_bdf a = {};
  a.bus_number = FIRST_BUS + call->device->index;
  return mock_call_out(call, &a);
}

long mock_req_device_bdf_ext(const mock_call_t *call) {
  neuron_ioctl_device_bdf_ext a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  uint64_t index = static_cast<uint64_t>(a.nd_index) + call->device->index;
  if (index >= call->host->state->device_count)
    return -EINVAL;
  a.domain = 0;
  a.bus_number = FIRST_BUS + static_cast<uint32_t>(index);
  a.slot = 0;
  a.func = 0;
  return mock_call_out(call, &a);
}

long mock_req_host_device_id(const mock_call_t *call) {
  neuron_ioctl_host_device_id a = {call->device->index};
  return mock_call_out(call, &a);
}

long mock_req_routing_id_map(const mock_call_t *call) {
  neuron_ioctl_host_device_id_to_rid_map a = {};
  a.count = call->host->state->device_count;
  for (uint32_t d = 0; d < a.count; ++d)
    a.host_did_to_rid_map[d] = mock_instance_routing_id(call->host->instance, d);
  return mock_call_out(call, &a);
}

long mock_req_logical_core_map(const mock_call_t *call) {
  if (call->host->state->arch != NEURON_ARCH_V3)
    return -NEURON_ERRNO_NOTSUPP;
  neuron_ioctl_get_logical_to_physical_nc_map a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.max_map_entries > NEURON_MAX_CORE_MAP || a.mapping_version != 0)
    return -EINVAL;
  struct {
    uint32_t num_entries;
    neuron_ioctl_nc_map_entry mappings[NEURON_MAX_CORE_MAP];
  } map = {};
  static_assert(offsetof(neuron_ioctl_nc_map, mappings) == offsetof(decltype(map), mappings));
  map.num_entries = a.max_map_entries;
  for (uint32_t i = 0; i < map.num_entries; ++i)
    map.mappings[i] = {i / NEURON_MAX_CORES, neuron_v3_physical_core(i, 0)};
  size_t size = sizeof(map.num_entries) + map.num_entries * sizeof(map.mappings[0]);
  return static_cast<long>(mock_user_write(a.map, &map, size));
}

long mock_req_device_app_pid(const mock_call_t *call) {
  int32_t pid = 0;
  {
    mock_guard_t guard(&call->device->lock);
    const mock_slot_t *slot = &call->device->slots[0];
    if (slot->open_count != 0)
      pid = slot->tgid;
  }
  return mock_call_out(call, &pid);
}

namespace {

// Device lock held.
void app_locks(const mock_device_t *device, int32_t tgid, neuron_app_info *out) {
  for (uint32_t core = 0; core < NEURON_MAX_APP_CORES; ++core) {
    const mock_core_lock_t *lock = &device->core_locks[core];
    if (lock->tgid != tgid || (lock->writer == 0 && lock->readers == 0))
      continue;
    out->nc_lock_map = static_cast<uint8_t>(out->nc_lock_map | (1u << core));
    out->uuid_data[core] = lock->uuid;
  }
}

}  // namespace

long mock_req_device_apps_info(const mock_call_t *call) {
  neuron_ioctl_get_apps_info a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.capacity * sizeof(neuron_app_info) > MAX_APPS_BYTES)
    return -ENOMEM;
  neuron_app_info apps[NEURON_MAX_PROCESSES] = {};
  a.size = 0;
  {
    mock_guard_t guard(&call->device->lock);
    for (const mock_slot_t &slot : call->device->slots) {
      if (slot.open_count == 0 || a.size >= a.capacity)
        continue;
      neuron_app_info *app = &apps[a.size++];
      app->pid = slot.tgid;
      if ((a.apps_info_flags & NEURON_APPS_INFO_LOCK) != 0)
        app_locks(call->device, slot.tgid, app);
      if ((a.apps_info_flags & NEURON_APPS_INFO_MEM_USAGE) != 0) {
        app->host_mem_size = slot.host_bytes;
        app->device_mem_size = slot.device_bytes;
      }
    }
  }
  missing = mock_call_out(call, &a);
  if (missing != 0)
    return missing;
  uint8_t *data = static_cast<uint8_t *>(call->arg) + sizeof(a);
  return static_cast<long>(mock_user_write(data, apps, a.size * sizeof(apps[0])));
}

long mock_req_device_reset_status(const mock_call_t *call) {
  uint8_t done = 1;
  return mock_call_out(call, &done);
}

long mock_req_printk(const mock_call_t *call) {
  neuron_ioctl_printk a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.size > PRINTK_LIMIT)
    return -EFAULT;
  if (a.size == 0)
    return -EBADMSG;
  char text[PRINTK_LIMIT];
  missing = static_cast<long>(mock_user_read(text, a.buffer, a.size));
  if (missing != 0)
    return missing;
  if (text[a.size - 1] != '\0')
    return -EBADMSG;
  mock_kernel_log(call->host, "%s", text);
  return 0;
}

// No machine of the mock is part of a pod.
long mock_req_pod_info(const mock_call_t *call) {
  neuron_ioctl_pod_info a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.sz != sizeof(a))
    return -EINVAL;
  a = {};
  a.sz = sizeof(a);
  a.pod_type = NEURON_POD_TYPE_NONE;
  return mock_call_out(call, &a);
}

long mock_req_pod_status(const mock_call_t *call) {
  size_t size = _IOC_SIZE(call->request);
  neuron_ioctl_pod_status_v2 a = {};
  size_t missing = mock_user_read(&a, call->arg, size);
  if (missing != 0)
    return static_cast<long>(missing);
  if (a.v1.sz != size)
    return -EINVAL;
  a = {};
  a.v1.sz = static_cast<uint16_t>(size);
  a.v1.state = NEURON_POD_STATE_SINGLE_NODE;
  a.v1.pod_type = NEURON_POD_TYPE_NONE;
  a.v1.node_id = -1;
  a.mode = NEURON_POD_MODE_UNSET;
  return static_cast<long>(mock_user_write(call->arg, &a, size));
}

long mock_req_pod_ctrl(const mock_call_t *call) {
  size_t size = _IOC_SIZE(call->request);
  neuron_ioctl_pod_ctrl_v2 a = {};
  size_t missing = mock_user_read(&a, call->arg, size);
  if (missing != 0)
    return static_cast<long>(missing);
  if (a.v1.sz != size)
    return -EINVAL;
  if (call->host->state->arch == NEURON_ARCH_V2)
    a.v1.state = NEURON_POD_STATE_SINGLE_NODE;
  return static_cast<long>(mock_user_write(call->arg, &a, size));
}
