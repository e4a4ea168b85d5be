// SPDX-License-Identifier: Apache-2.0
// Device memory for other hands: dma-buf descriptors and mapped HBMs (nrt-api.md 5.2).
#include "nrt/nrt.h"
#include "nrt/runtime.h"
#include "tdrv/export.h"

extern "C" {

NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int *fd) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (fd == nullptr || va == 0 || size == 0)
      return api_fail(api, NRT_INVALID, "{} bytes at {:#x}, result pointer {}", size, va,
                      static_cast<void *>(fd));
    return tdrv_export_dmabuf(r.tdrv, va, size, fd);
  });
}

NRT_STATUS nrt_get_hbm_mmap_va(int device_id, int hbm_idx, void **addr, size_t *size) {
  return api_guarded(__func__, [&](const char *api, runtime_t &r) -> NRT_STATUS {
    if (addr == nullptr || size == nullptr)
      return api_fail(api, NRT_INVALID, "result pointer is NULL");
    return tdrv_map_hbm(r.tdrv, device_id, hbm_idx, addr, size);
  });
}

}  // extern "C"
