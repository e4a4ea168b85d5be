// SPDX-License-Identifier: Apache-2.0
#include "dmem/memlog.h"

#include <algorithm>
#include <cstdlib>

#include "dmem/dmem_impl.h"

namespace {

constexpr uint64_t kBlockEvents = 4096;

uint64_t block_count(uint64_t capacity) {
  return (capacity + kBlockEvents - 1) / kBlockEvents;
}

dmem_event_t *slot(const dmem_memlog_t *log, uint64_t number) {
  uint64_t at = number % log->capacity;
  return &log->blocks[at / kBlockEvents][at % kBlockEvents];
}

uint64_t held(const dmem_memlog_t *log) {
  return std::min(log->written, log->capacity);
}

}  // namespace

bool dmem_memlog_init(dmem_memlog_t *log, uint64_t capacity) {
  *log = dmem_memlog_t{};
  if (capacity == 0)
    return true;
  log->blocks = static_cast<dmem_event_t **>(calloc(block_count(capacity), sizeof(void *)));
  if (log->blocks == nullptr)
    return false;
  log->capacity = capacity;
  return true;
}

void dmem_memlog_fini(dmem_memlog_t *log) {
  for (uint64_t i = 0; i < block_count(log->capacity); ++i)
    free(log->blocks[i]);
  free(static_cast<void *>(log->blocks));
}

void dmem_memlog_append(dmem_memlog_t *log, const dmem_event_t *event) {
  if (log->capacity == 0) {
    ++log->lost;
    return;
  }
  uint64_t block = log->written % log->capacity / kBlockEvents;
  if (log->blocks[block] == nullptr) {
    log->blocks[block] = static_cast<dmem_event_t *>(calloc(kBlockEvents, sizeof(dmem_event_t)));
    if (log->blocks[block] == nullptr) {
      ++log->lost;
      return;
    }
  }
  *slot(log, log->written) = *event;
  ++log->written;
}

uint64_t dmem_memlog_copy(dmem_device_t *device, dmem_event_t *out, uint64_t capacity) {
  std::lock_guard<std::mutex> lock(device->mutex);
  const dmem_memlog_t *log = &device->log;
  uint64_t count = held(log);
  for (uint64_t i = 0; i < std::min(count, capacity); ++i)
    out[i] = *slot(log, log->written - count + i);
  return count;
}

uint64_t dmem_memlog_dropped(dmem_device_t *device) {
  std::lock_guard<std::mutex> lock(device->mutex);
  return device->log.written - held(&device->log) + device->log.lost;
}
