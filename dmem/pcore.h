// SPDX-License-Identifier: Apache-2.0
// One physical NeuronCore as the memory layer sees it: which device, which HBM, where its
// allocations are counted, and the bounce buffer its copies share.
#pragma once

#include <cstdint>

#include "hal/hal.h"

struct dmem_device_t;   // accounting of one device (dmem/accounting.h)
struct ndl_copy_buf_t;  // 2 MiB host chunk shared by all copies of a core

struct physical_core_t {
  hal_device_t *device;
  const hal_arch_t *arch;
  uint32_t device_id;   // node number
  uint32_t nc_id;       // core on the device
  uint32_t core_index;  // number on the machine: device position * cores per device + nc_id
  uint32_t hbm_index;   // default HBM
  dmem_device_t *stats;
  ndl_copy_buf_t *copy_buf;
};

// Fills *pcore over an opened device. `stats` is shared by the cores of one device. The bounce
// buffer is allocated here (NRT_FAIL_HOST_MEM_ALLOC when the host has none).
NRT_STATUS pcore_init(physical_core_t *pcore, hal_device_t *device, uint32_t device_position,
                      uint32_t nc_id, dmem_device_t *stats);
void pcore_fini(physical_core_t *pcore);
