// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/datastore.h"

#include <fcntl.h>

#include <cerrno>

#include "mock_dev/chunk.h"

namespace {

mock_datastore_t *store_of(mock_device_t *device, int32_t tgid) {
  for (mock_datastore_t &s : device->datastores)
    if (s.owned != 0 && s.tgid == tgid)
      return &s;
  return nullptr;
}

void store_zero(mock_host *host, mock_device_t *device, const mock_datastore_t *store) {
  mock_place_t place = mock_chunk_place(host, device, mock_chunk_at(host, device, store->chunk));
  fallocate(place.memory->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(place.offset), NEURON_DATASTORE_SIZE);
}

void store_clear(mock_host *host, mock_device_t *device, mock_datastore_t *store) {
  store_zero(host, device, store);
  store->owned = 0;
  store->cleared = ++device->datastore_clock;
}

}  // namespace

int mock_datastore_probe(mock_host *host, mock_device_t *device) {
  for (mock_datastore_t &s : device->datastores) {
    int rc = mock_chunk_create_driver(host, device, NEURON_DATASTORE_SIZE, 0, &s.chunk);
    if (rc != 0)
      return rc;
  }
  return 0;
}

int mock_datastore_acquire(mock_host *host, mock_device_t *device, int32_t tgid, int32_t pid,
                           uint64_t *pa) {
  mock_datastore_t *store = store_of(device, pid == 0 ? tgid : pid);
  if (store == nullptr) {
    if (pid != 0)
      return -ENOENT;
    // Never used ones come first, then the one given back longest ago.
    for (mock_datastore_t &s : device->datastores)
      if (s.owned == 0 && (store == nullptr || s.cleared < store->cleared))
        store = &s;
    if (store == nullptr)
      return -ENOMEM;
    store->owned = 1;
    store->tgid = tgid;
  }
  *pa = mock_chunk_at(host, device, store->chunk)->pa;
  return 0;
}

void mock_datastore_release(mock_host *host, mock_device_t *device, int32_t tgid) {
  mock_datastore_t *store = store_of(device, tgid);
  if (store == nullptr)
    return;
  mock_place_t place = mock_chunk_place(host, device, mock_chunk_at(host, device, store->chunk));
  const uint8_t *bytes = mock_memory_bytes(host, place.memory);
  if (bytes != nullptr)
    mock_counters_fold(&device->counters, bytes + place.offset);
  store_clear(host, device, store);
}

void mock_datastore_reset(mock_host *host, mock_device_t *device) {
  for (mock_datastore_t &s : device->datastores)
    if (s.owned != 0)
      store_clear(host, device, &s);
    else  // a process may have written to a store it only mapped
      store_zero(host, device, &s);
}
