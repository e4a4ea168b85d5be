// SPDX-License-Identifier: Apache-2.0
#include "hal/notification.h"

#include <cerrno>

#include "hal/hal_impl.h"
#include "uapi/neuron_ioctl.h"
#include "uapi/neuron_shared.h"

namespace {

constexpr uint32_t kOwnerMax = 0xff;  // the driver keeps the low byte

}  // namespace

int hal_notification_init(hal_device_t *device, const hal_notification_request_t *request,
                          uint64_t *handle, uint64_t *mmap_offset) {
  if (request->type >= NEURON_NQ_TYPE_COUNT || request->queue >= NEURON_NQ_QUEUES_PER_TYPE ||
      request->owner_id > kOwnerMax || request->size == 0)
    return -EINVAL;
  struct neuron_ioctl_notifications_init_with_realloc_v2 arg = {};
  arg.nq_dev_id = request->owner_id;
  arg.nq_dev_type = request->owner;
  arg.nq_type = request->type;
  arg.engine_index = request->queue;
  arg.size = request->size;
  arg.on_host_memory = request->location == HAL_LOCATION_HOST ? 1 : 0;
  arg.dram_channel = request->hbm_index;
  arg.force_alloc_mem = request->fresh ? 1 : 0;
  int result = hal_device_request(device, NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2, &arg);
  if (result == 0) {
    *handle = arg.mem_handle;
    *mmap_offset = arg.mmap_offset;
  }
  return result;
}
