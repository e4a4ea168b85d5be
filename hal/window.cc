// SPDX-License-Identifier: Apache-2.0
#include "hal/window.h"

#include <cerrno>

#include "hal/hal_impl.h"
#include "uapi/neuron_ioctl.h"

int hal_window_info(hal_device_t *device, uint32_t block, uint32_t block_id, uint32_t resource,
                    uint64_t *mmap_offset, uint64_t *size) {
  struct neuron_ioctl_resource_mmap_info arg = {};
  arg.block = block;
  arg.block_id = block_id;
  arg.resource = resource;
  int result = hal_device_request(device, NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg);
  if (result == 0) {
    *mmap_offset = arg.offset;
    *size = arg.size;
  }
  return result;
}

int hal_mem_find(hal_device_t *device, uint64_t pa, hal_chunk_place_t *out) {
  struct neuron_ioctl_mem_get_mc_mmap_info_v2 arg = {};
  arg.pa = pa;
  int result = hal_device_request(device, NEURON_IOCTL_MEM_MC_GET_INFO_V2, &arg);
  if (result == 0)
    *out = {arg.mmap_offset, arg.size, arg.mem_handle};
  if (result != -EINVAL)
    return result;
  struct neuron_ioctl_mem_get_mc_mmap_info old = {};
  old.pa = pa;
  result = hal_device_request(device, NEURON_IOCTL_MEM_MC_GET_INFO, &old);
  if (result == 0)
    *out = {old.mmap_offset, old.size, 0};
  return result;
}

int hal_dmabuf_export(hal_device_t *device, const void *va, uint64_t size, int *fd) {
  if (!hal_has(device->hal, HAL_FEATURE_DMABUF))
    return -EOPNOTSUPP;
  int32_t exported = -1;
  struct neuron_ioctl_dmabuf_fd arg = {};
  arg.va = reinterpret_cast<uint64_t>(va);
  arg.size = size;
  arg.fd = &exported;
  int result = hal_device_request(device, NEURON_IOCTL_DMABUF_FD, &arg);
  if (result == 0)
    *fd = exported;
  return result;
}
