// SPDX-License-Identifier: Apache-2.0
#include "tdrv/nqueue.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/nlog.h"
#include "hal/notification.h"

namespace {

constexpr uint32_t kRecord = sizeof(project_notification_t);
constexpr uint32_t kTypeExplicit = 1, kTypeError = 3;  // uapi.md 5.4

NRT_STATUS fail(const nqueue_t *queue, const physical_core_t *pcore, const char *what, int error) {
  NLOG_ERROR(NLOG_TDRV, "nd{} nc{}: notification queue {} of {} bytes {}: {}", pcore->device_id,
             pcore->nc_id, queue->queue, queue->size, what, hal_error_name(error));
  return error == -ENOMEM ? NRT_RESOURCE : NRT_FAILURE;
}

}  // namespace

NRT_STATUS nqueue_init(nqueue_t *queue, const physical_core_t *pcore, uint32_t number, bool errors,
                       uint32_t size) {
  *queue = {};
  queue->device = pcore->device;
  queue->queue = number;
  queue->size = size;
  hal_notification_request_t request = {};
  request.owner = HAL_NOTIFICATION_CORE;
  request.owner_id = pcore->nc_id;
  request.type = errors ? kTypeError : kTypeExplicit;
  request.queue = number;
  request.size = size;
  request.location = HAL_LOCATION_HOST;
  request.fresh = true;  // another one's queue would be in the middle of a lap
  uint64_t mmap_offset = 0;
  int result = hal_notification_init(queue->device, &request, &queue->handle, &mmap_offset);
  if (result != 0)
    return fail(queue, pcore, "was refused", result);
  void *va = nullptr;
  result = hal_mem_map(queue->device, mmap_offset, size, PROT_READ | PROT_WRITE, &va);
  if (result != 0) {
    (void)hal_mem_free(queue->device, queue->handle);
    return fail(queue, pcore, "cannot be mapped", result);
  }
  queue->ring = static_cast<uint8_t *>(va);
  memset(queue->ring, 0, size);  // phase 0: nothing has come
  return NRT_SUCCESS;
}

void nqueue_fini(nqueue_t *queue) {
  if (queue->ring == nullptr)
    return;
  (void)hal_mem_unmap(queue->device, queue->ring, queue->size);
  int result = hal_mem_free(queue->device, queue->handle);
  if (result != 0)
    NLOG_WARN(NLOG_TDRV, "nd{}: the driver did not take back notification queue {}: {}",
              hal_device_index(queue->device), queue->queue, hal_error_name(result));
  *queue = {};
}

bool nqueue_next(nqueue_t *queue, project_notification_t *out) {
  // The half with the phase is written last.
  const auto *words = reinterpret_cast<const uint64_t *>(queue->ring + queue->head);
  uint64_t half[2];
  half[0] = __atomic_load_n(&words[0], __ATOMIC_ACQUIRE);
  half[1] = __atomic_load_n(&words[1], __ATOMIC_RELAXED);
  memcpy(out, half, kRecord);
  bool first_phase = (out->type_flags & PROJECT_NOTIFY_PHASE) != 0;
  if (first_phase != (queue->lap % 2 == 0))
    return false;
  queue->head += kRecord;
  if (queue->head == queue->size) {
    queue->head = 0;
    ++queue->lap;
  }
  return true;
}
