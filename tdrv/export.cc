// SPDX-License-Identifier: Apache-2.0
#include "tdrv/export.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/nlog.h"
#include "hal/window.h"
#include "tdrv/state.h"

namespace {

constexpr uint32_t kBlockHbm = 2, kResourceMemory = 3;  // uapi.md 5.5

tdrv_device_t *find_device(tdrv_t *tdrv, int number) {
  for (uint32_t i = 0; i < tdrv->num_devices; ++i) {
    if (number >= 0 && hal_device_index(tdrv->devices[i].device) == static_cast<uint32_t>(number))
      return &tdrv->devices[i];
  }
  return nullptr;
}

NRT_STATUS map_hbm(tdrv_device_t *device, uint32_t hbm, tdrv_hbm_map_t *out) {
  uint64_t cookie = 0, size = 0;
  void *va = nullptr;
  int result = hal_window_info(device->device, kBlockHbm, hbm, kResourceMemory, &cookie, &size);
  bool offered = result == 0 && size != 0;
  if (offered)
    result = hal_mem_map(device->device, cookie, size, PROT_READ | PROT_WRITE, &va);
  if (result == 0 && offered) {
    *out = {va, size};
    return NRT_SUCCESS;
  }
  bool unsupported = !offered && (result == 0 || result == -EINVAL);
  NLOG_ERROR(NLOG_TDRV, "nd{} hbm{}: cannot be mapped: {}", hal_device_index(device->device), hbm,
             unsupported ? "this chip's driver offers no such mapping" : hal_error_name(result));
  return unsupported ? NRT_INVALID : NRT_FAILURE;
}

}  // namespace

NRT_STATUS tdrv_map_hbm(tdrv_t *tdrv, int device, int hbm, void **va, size_t *size) {
  tdrv_device_t *d = find_device(tdrv, device);
  if (d == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "nd{} is not a device of this process, which has nd{} to nd{}", device,
               hal_device_index(tdrv->devices[0].device),
               hal_device_index(tdrv->devices[tdrv->num_devices - 1].device));
    return NRT_INVALID;
  }
  uint32_t count = hal_arch(tdrv->hal)->hbm_count;
  if (hbm < 0 || static_cast<uint32_t>(hbm) >= count) {
    NLOG_ERROR(NLOG_TDRV, "nd{} hbm{}: there are 0 to {}", device, hbm, count - 1);
    return hbm < 0 ? NRT_INVALID : NRT_INVALID_HANDLE;
  }
  if (!tdrv->options.map_hbm) {
    NLOG_ERROR(NLOG_TDRV, "nd{} hbm{}: mapping needs NEURON_RT_MAP_HBM=1", device, hbm);
    return NRT_INVALID;
  }
  tdrv_hbm_map_t *map = &d->hbms[hbm];
  NRT_STATUS status = NRT_SUCCESS;
  pthread_mutex_lock(&tdrv->storages_lock);
  if (map->va == nullptr)
    status = map_hbm(d, static_cast<uint32_t>(hbm), map);
  pthread_mutex_unlock(&tdrv->storages_lock);
  if (status == NRT_SUCCESS) {
    *va = map->va;
    *size = map->size;
  }
  return status;
}

void tdrv_unmap_hbms(tdrv_t *tdrv) {
  for (uint32_t i = 0; tdrv->devices != nullptr && i < tdrv->num_devices; ++i) {
    for (tdrv_hbm_map_t &map : tdrv->devices[i].hbms) {
      if (map.va != nullptr)
        (void)hal_mem_unmap(tdrv->devices[i].device, map.va, map.size);
      map = {};
    }
  }
}

NRT_STATUS tdrv_export_dmabuf(tdrv_t *tdrv, uint64_t va, uint64_t size, int *fd) {
  if (!tdrv->options.p2p) {
    NLOG_ERROR(NLOG_TDRV, "dma-buf of {} bytes at {:#x}: refused by NEURON_RT_ENABLE_P2P=0", size,
               va);
    return NRT_INVALID;
  }
  // The driver looks among the mappings of all devices of the process, so any device will do.
  int result = hal_dmabuf_export(tdrv->devices[0].device, reinterpret_cast<void *>(va), size, fd);
  if (result == 0)
    return NRT_SUCCESS;
  bool unsupported = result == -EOPNOTSUPP || result == -EPROTONOSUPPORT;
  NLOG_ERROR(NLOG_TDRV, "dma-buf of {} bytes at {:#x}: {}", size, va,
             unsupported         ? "the driver or its kernel cannot export memory"
             : result == -EINVAL ? "the address lies in no mapped device memory"
                                 : hal_error_name(result));
  if (unsupported || result == -EINVAL)
    return NRT_INVALID;
  return result == -ENOMEM || result == -EMFILE || result == -ENFILE ? NRT_RESOURCE : NRT_FAILURE;
}
