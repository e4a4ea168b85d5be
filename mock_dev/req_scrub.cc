// SPDX-License-Identifier: Apache-2.0
// Overwriting a whole memory channel (mock-device-semantics.md 5.5).
//
// A channel is tens of gigabytes and mostly unallocated. The content of what no chunk owns is
// dropped and the pattern kept as the channel's fresh content (chunk.h), so only allocated memory
// is written.
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "mock_dev/call.h"
#include "mock_dev/chunk.h"
#include "mock_dev/udma.h"

namespace {

struct range_t {
  uint64_t offset, size;
};

constexpr uint32_t SCRUB_ENGINES = 16;
constexpr uint64_t BUFFER_SIZE = 64 * 1024;  // for the pattern and the descriptors

// Allocated ranges of the channel above the firmware's share, in the memory file; they count as
// written from now on. Device lock held.
std::vector<range_t> owned_ranges(const mock_call_t *call, uint32_t channel) {
  mock_host *host = call->host;
  mock_device_t *device = call->device;
  const mock_page_map_t *map = &device->chunk_map[channel];
  std::vector<range_t> ranges;
  uint32_t page = NEURON_HBM_RESERVED >> MOCK_PAGE_SHIFT;
  while ((page = mock_page_map_at_or_above(map, host->region, page)) != MOCK_NO_PAGE) {
    mock_chunk_t *chunk = mock_chunk_at(host, device, mock_page_map_id(map, host->region, page));
    chunk->dirty = true;
    ranges.push_back({mock_chunk_place(host, device, chunk).offset, chunk->size});
    ++page;
  }
  return ranges;
}

// Queue 0 of the engines that would write the channel. DMA lock held.
void queues_close(const mock_call_t *call, uint32_t channel) {
  bool v3 = call->host->state->arch == NEURON_ARCH_V3;
  for (uint32_t i = 0; i < SCRUB_ENGINES; ++i)  // v3: the upper half of each eight
    mock_udma_queue_close(call->host, call->device,
                          v3 ? channel * 32 + i / 4 * 8 + 4 + i % 4 : channel * SCRUB_ENGINES + i,
                          0);
}

int buffer_create(const mock_call_t *call, uint32_t nc_id, uint32_t *chunk) {
  if (nc_id >= NEURON_MAX_CORES)
    return -EINVAL;
  return mock_chunk_create_driver(call->host, call->device, BUFFER_SIZE, nc_id, chunk);
}

}  // namespace

long mock_req_hbm_scrub_start(const mock_call_t *call) {
  mock_host *host = call->host;
  mock_device_t *device = call->device;
  neuron_ioctl_hbm_scrub_start a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.hbm_index >= host->state->hbms)
    return -EPERM;
  mock_memory_t *memory = &host->device_memory[device->index];
  uint8_t *bytes = mock_memory_bytes(host, memory);
  if (bytes == nullptr)
    return -ENOMEM;
  std::vector<range_t> ranges;
  {
    mock_guard_t dma(&device->dma_lock);
    mock_guard_t guard(&device->lock);
    uint32_t *buffer = &device->scrub_buffers[a.hbm_index];
    int rc = *buffer != 0 ? 0 : buffer_create(call, a.nc_id, buffer);
    if (rc != 0)
      return rc;
    queues_close(call, a.hbm_index);
    // An allocation in progress reads it outside the lock.
    __atomic_store_n(&device->fresh_pattern[a.hbm_index], a.init_val, __ATOMIC_RELAXED);
    ranges = owned_ranges(call, a.hbm_index);
    fallocate(
        memory->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
        static_cast<off_t>(mock_memory_hbm_offset(host->state, a.hbm_index) + NEURON_HBM_RESERVED),
        static_cast<off_t>(host->state->hbm_size - NEURON_HBM_RESERVED));
  }
  // Outside the lock, like every copy.
  for (const range_t &r : ranges)
    if (a.init_val != 0)  // the holes read as zero
      mock_chunk_fill(bytes + r.offset, a.init_val, r.size);
  return 0;
}

long mock_req_hbm_scrub_wait(const mock_call_t *call) {
  mock_device_t *device = call->device;
  neuron_ioctl_hbm_scrub_wait a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.hbm_index >= call->host->state->hbms)
    return -EPERM;
  mock_guard_t guard(&device->lock);
  uint32_t *buffer = &device->scrub_buffers[a.hbm_index];
  if (*buffer == 0)
    return -EPERM;
  mock_chunk_destroy(call->host, device, *buffer);
  *buffer = 0;
  return 0;
}
