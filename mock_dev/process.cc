// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/process.h"

#include <algorithm>
#include <cerrno>

#include "mock_dev/chunk.h"
#include "mock_dev/core_lock.h"
#include "mock_dev/datastore.h"
#include "mock_dev/mmap.h"
#include "mock_dev/reset.h"
#include "mock_dev/udma.h"

uint32_t mock_process_slot(const mock_device_t *device, int32_t tgid) {
  for (uint32_t s = 0; s < NEURON_MAX_PROCESSES; ++s)
    if (device->slots[s].open_count != 0 && device->slots[s].tgid == tgid)
      return s;
  return MOCK_NO_SLOT;
}

int mock_process_attach(mock_device_t *device, int32_t tgid) {
  uint32_t s = mock_process_slot(device, tgid);
  if (s == MOCK_NO_SLOT) {
    s = 0;
    while (s < NEURON_MAX_PROCESSES && device->slots[s].open_count != 0)
      ++s;
    if (s == NEURON_MAX_PROCESSES)
      return -EBUSY;
    device->slots[s] = {};
    device->slots[s].tgid = tgid;
  }
  device->slots[s].open_count++;
  return 0;
}

namespace {

bool last_open(mock_device_t *device, int32_t tgid) {
  mock_guard_t guard(&device->lock);
  uint32_t s = mock_process_slot(device, tgid);
  return s != MOCK_NO_SLOT && device->slots[s].open_count == 1;
}

}  // namespace

void mock_process_flush(mock_host *host, mock_device_t *device, int32_t tgid) {
  if (last_open(device, tgid)) {
    bool known;
    mock_reset_wait(host, device, tgid, &known);
    mock_mappings_forget(host, device->index, tgid);
  }
  mock_guard_t dma(&device->dma_lock);
  mock_guard_t guard(&device->lock);
  uint32_t s = mock_process_slot(device, tgid);
  if (s == MOCK_NO_SLOT)
    return;
  mock_slot_t *slot = &device->slots[s];
  if (slot->open_count == 1) {
    mock_udma_process_close(host, device, tgid);
    mock_core_locks_drop(device, tgid);
    mock_datastore_release(host, device, tgid);
    while (slot->chunks != 0)
      mock_chunk_destroy(host, device, slot->chunks);
  }
  slot->open_count--;
}

void mock_process_charge(mock_device_t *device, uint32_t slot, const mock_chunk_t *chunk) {
  mock_slot_t *s = &device->slots[slot];
  (mock_chunk_is_host(chunk) ? s->host_bytes : s->device_bytes) += chunk->size;
}

void mock_process_uncharge(mock_device_t *device, uint32_t slot, const mock_chunk_t *chunk) {
  mock_slot_t *s = &device->slots[slot];
  uint64_t *bytes = mock_chunk_is_host(chunk) ? &s->host_bytes : &s->device_bytes;
  *bytes -= std::min(*bytes, chunk->size);
}
