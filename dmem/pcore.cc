// SPDX-License-Identifier: Apache-2.0
#include "dmem/pcore.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>

#include "base/nlog.h"
#include "dmem/dmem_impl.h"
#include "uapi/neuron_shared.h"

namespace {

// Chunk, address, mapping: 0 or -errno, with everything undone on failure.
int copy_buf_setup(physical_core_t *pcore, ndl_copy_buf_t *buf) {
  hal_mem_request_t request = {};
  request.size = DMEM_COPY_BUF_SIZE;
  request.location = HAL_LOCATION_HOST;
  request.hbm_index = pcore->hbm_index;
  request.nc_id = pcore->nc_id;
  request.category = NEURON_MEM_MISC_HOST;
  int result = hal_mem_alloc(pcore->device, &request, &buf->mem_handle);
  if (result != 0)
    return result;
  uint64_t cookie = 0;
  uint64_t pa = 0;
  void *va = nullptr;
  result = hal_mem_get_info(pcore->device, buf->mem_handle, &cookie, &pa);
  if (result == -ENOMEM)
    result = -EIO;  // whatever the driver says here, it is not out of memory
  if (result == 0) {
    result = hal_mem_map(pcore->device, cookie, DMEM_COPY_BUF_SIZE, PROT_READ | PROT_WRITE, &va);
  }
  if (result != 0) {
    hal_mem_free(pcore->device, buf->mem_handle);
    return result;
  }
  buf->va = static_cast<uint8_t *>(va);
  return 0;
}

}  // namespace

NRT_STATUS pcore_init(physical_core_t *pcore, hal_device_t *device, uint32_t device_position,
                      uint32_t nc_id, dmem_device_t *stats) {
  *pcore = physical_core_t{};
  const hal_arch_t *arch = hal_arch(hal_device_hal(device));
  if (nc_id >= arch->cores_per_device) {
    NLOG_ERROR(NLOG_TDRV, "nd{}: core {} does not exist; a device has {}", hal_device_index(device),
               nc_id, arch->cores_per_device);
    return NRT_INVALID;
  }
  pcore->device = device;
  pcore->arch = arch;
  pcore->device_id = hal_device_index(device);
  pcore->nc_id = nc_id;
  pcore->core_index = device_position * arch->cores_per_device + nc_id;
  pcore->hbm_index = hal_default_hbm(arch, nc_id);
  pcore->stats = stats;
  auto *buf = new (std::nothrow) ndl_copy_buf_t{};
  if (buf == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "nd{} nc{}: no host memory for the record of a core", pcore->device_id,
               nc_id);
    return NRT_RESOURCE;
  }
  int result = copy_buf_setup(pcore, buf);
  if (result != 0) {
    delete buf;
    NLOG_ERROR(NLOG_TDRV, "nd{} nc{}: no copy buffer of {} bytes in host memory: {}",
               pcore->device_id, nc_id, DMEM_COPY_BUF_SIZE, hal_error_name(result));
    return result == -ENOMEM ? NRT_FAIL_HOST_MEM_ALLOC : NRT_FAILURE;
  }
  pcore->copy_buf = buf;
  return NRT_SUCCESS;
}

void pcore_fini(physical_core_t *pcore) {
  if (pcore->copy_buf != nullptr) {
    hal_mem_unmap(pcore->device, pcore->copy_buf->va, DMEM_COPY_BUF_SIZE);
    hal_mem_free(pcore->device, pcore->copy_buf->mem_handle);
    delete pcore->copy_buf;
  }
  *pcore = physical_core_t{};
}
