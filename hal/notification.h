// SPDX-License-Identifier: Apache-2.0
// Notification queues (uapi.md 6.5, mock-device-semantics.md 7). A queue belongs to its core or
// TOP_SP, not to the process: it outlives it and goes with a reset.
#pragma once

#include "hal/hal.h"

enum hal_notification_owner_t { HAL_NOTIFICATION_CORE = 0, HAL_NOTIFICATION_TOP_SP = 1 };

struct hal_notification_request_t {
  hal_notification_owner_t owner;
  uint32_t owner_id;  // core or TOP_SP on the device
  uint32_t type;      // NEURON_NQ_TYPE_*
  uint32_t queue;     // hardware queue, 0 to 15; give each type of an owner its own
  uint32_t size;      // bytes, a power of two
  hal_location_t location;
  uint32_t hbm_index;  // device memory
  bool fresh;  // a new ring even if there is one; else an existing queue is returned as it is
};

// *mmap_offset: for hal_mem_map, all ones for a queue in device memory. 0 or -errno, no log.
// -EINVAL without a request: type or queue out of range (the driver would alias them), size 0. The
// request came with API level 6, the lowest this library works with.
int hal_notification_init(hal_device_t *device, const hal_notification_request_t *request,
                          uint64_t *handle, uint64_t *mmap_offset);
