// SPDX-License-Identifier: Apache-2.0
// Allocations of one device: placement by the driver's rules (mock-device-semantics.md 5.1), the
// records, and the way back from an address to its chunk.
//
// The caller holds the device's lock in every function here.
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

struct mock_chunk_request_t {
  uint64_t size;   // bytes, rounded up to pages here; 0 fails with -ENOMEM
  uint64_t align;  // at most 0x7fffffff; up to one page it changes nothing; 0 for host memory
  bool host;
  uint32_t channel;  // device memory: checked by the caller
  uint32_t nc_id;    // core the bytes are charged to, below NEURON_MAX_CORES
  uint32_t category;
  mock_lifetime_t lifetime;
  uint32_t slot;  // process lifetime: the owner's slot
  int32_t tgid;
};

mock_chunk_t *mock_chunk_at(mock_host *host, mock_device_t *device, uint32_t chunk);

// -ENOMEM: no room (or not where the rules want it). Gives no handle.
int mock_chunk_create(mock_host *host, mock_device_t *device, const mock_chunk_request_t *request,
                      uint32_t *chunk);

// Host memory of the driver's own, charged to a core, with the life of the device. -ENOMEM.
int mock_chunk_create_driver(mock_host *host, mock_device_t *device, uint64_t size, uint32_t nc_id,
                             uint32_t *chunk);

// Writes `size` bytes, whole pages, with a pattern.
void mock_chunk_fill(uint8_t *at, uint32_t pattern, uint64_t size);

// Gives fresh device memory the channel's pattern: strict mode's, or the last scrub's. -ENOMEM.
int mock_chunk_poison(mock_host *host, mock_device_t *device, const mock_chunk_t *chunk);

// Frees the chunk, its handle and its memory's content.
void mock_chunk_destroy(mock_host *host, mock_device_t *device, uint32_t chunk);

// The handle of a chunk, created when it has none; 0: handles are exhausted.
uint32_t mock_chunk_handle(mock_host *host, mock_device_t *device, uint32_t chunk);

// Chunk number behind a handle, or 0.
uint32_t mock_chunk_by_handle(mock_host *host, mock_device_t *device, uint64_t handle);

// Chunk that contains the address, or 0.
uint32_t mock_chunk_by_address(mock_host *host, mock_device_t *device, uint64_t pa);

// Bytes from `pa` of the chunk that a copy or a mapping may reach: to the chunk's end, with the
// contiguous scratchpad to the end of the main pool.
uint64_t mock_chunk_reach(const mock_host *host, const mock_chunk_t *chunk);

// Offset + size inside the reach; a sum that wraps is outside.
bool mock_chunk_holds(const mock_host *host, const mock_chunk_t *chunk, uint64_t offset,
                      uint64_t size);

// A range from `offset` in the chunk is about to be written.
void mock_chunk_touch(mock_device_t *device, mock_chunk_t *chunk, uint64_t offset, uint64_t size);

// The chunk's place in its memory file.
mock_place_t mock_chunk_place(mock_host *host, const mock_device_t *device,
                              const mock_chunk_t *chunk);

inline bool mock_chunk_is_host(const mock_chunk_t *chunk) {
  return chunk->pool == MOCK_POOL_HOST;
}
