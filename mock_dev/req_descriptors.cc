// SPDX-License-Identifier: Apache-2.0
// Descriptors into and out of ring memory (mock-device-semantics.md 6.3).
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "base/checked.h"
#include "mock_dev/call.h"
#include "mock_dev/chunk.h"
#include "mock_dev/process.h"
#include "mock_dev/udma.h"

namespace {

constexpr uint64_t PIECE = 64 * 1024;
constexpr uint64_t COPYOUT_BUFFER = 4ull << 20;  // what a kernel allocates in one piece
constexpr uint64_t V2_ROUTE_MASK = 0x1full << 44;

bool names_host_memory(uint32_t arch, uint64_t address) {
  uint64_t bit = neuron_host_window_bit(arch);
  return arch == NEURON_ARCH_V2 ? (address & V2_ROUTE_MASK) == bit : (address & bit) != 0;
}

// In a chunk of one of the devices the process is attached to.
bool address_known(const mock_call_t *call, uint64_t address) {
  mock_host *host = call->host;
  for (uint32_t i = 0; i < host->state->device_count; ++i) {
    // Nearly always memory of the device asked: it comes first.
    uint32_t d = i == 0 ? call->device->index : i - (i <= call->device->index ? 1 : 0);
    mock_device_t *device = mock_host_device(host, d);
    mock_guard_t guard(&device->lock);
    if (mock_process_slot(device, call->tgid) != MOCK_NO_SLOT &&
        mock_chunk_by_address(host, device, address) != 0)
      return true;
  }
  return false;
}

int descriptors_check(const mock_call_t *call, uint32_t queue_type, const neuron_dma_desc *descs,
                      uint64_t count) {
  if (queue_type != NEURON_DMA_QUEUE_TYPE_TX && queue_type != NEURON_DMA_QUEUE_TYPE_RX)
    return -EPERM;
  for (uint64_t i = 0; i < count; ++i)
    if (names_host_memory(call->host->state->arch, descs[i].address) &&
        !address_known(call, descs[i].address))
      return -EINVAL;
  return 0;
}

struct descriptors_plan_t {
  mock_place_t place;
  uint64_t size;
};

int descriptors_plan(const mock_call_t *call, const neuron_ioctl_dma_copy_descriptors64 *a,
                     descriptors_plan_t *plan) {
  mock_guard_t guard(&call->device->lock);
  uint32_t n = mock_chunk_by_handle(call->host, call->device, a->mem_handle);
  if (n == 0)
    return -EINVAL;
  mock_chunk_t *chunk = mock_chunk_at(call->host, call->device, n);
  plan->size = a->num_descs * uint64_t{NEURON_DMA_DESC_SIZE};
  if (!mock_chunk_holds(call->host, chunk, a->offset, plan->size))
    return -EINVAL;
  plan->place = mock_chunk_place(call->host, call->device, chunk);
  plan->place.offset += a->offset;
  mock_chunk_touch(call->device, chunk, a->offset, plan->size);
  return 0;
}

long descriptors_args_in(const mock_call_t *call, neuron_ioctl_dma_copy_descriptors64 *a) {
  if (call->request == NEURON_IOCTL_DMA_COPY_DESCRIPTORS64)
    return mock_call_in(call, a);
  neuron_ioctl_dma_copy_descriptors old = {};
  long missing = mock_call_in(call, &old);
  a->mem_handle = old.mem_handle;
  a->buffer = old.buffer;
  a->num_descs = old.num_descs;
  a->offset = old.offset;
  a->queue_type = old.queue_type;
  return missing;
}

// Where copying out starts, in memory. The driver reads a ring in device memory from its first
// descriptor, whatever was asked for, and believes a host ring to start where its chunk does.
int copyout_plan(const mock_call_t *call, uint64_t base, uint64_t start, uint64_t size,
                 mock_place_t *place) {
  mock_guard_t guard(&call->device->lock);
  uint32_t n = mock_chunk_by_address(call->host, call->device, base);
  if (n == 0)
    return -EINVAL;
  const mock_chunk_t *chunk = mock_chunk_at(call->host, call->device, n);
  bool host = mock_chunk_is_host(chunk);
  if (!host && size > COPYOUT_BUFFER)
    return -ENOMEM;
  uint64_t offset = host ? start * NEURON_DMA_DESC_SIZE : base - chunk->pa;
  if (!mock_chunk_holds(call->host, chunk, offset, size))  // a ring may be longer than its memory
    return -EINVAL;
  *place = mock_chunk_place(call->host, call->device, chunk);
  place->offset += offset;
  return 0;
}

}  // namespace

long mock_req_dma_copy_descriptors(const mock_call_t *call) {
  neuron_ioctl_dma_copy_descriptors64 a = {};
  long missing = descriptors_args_in(call, &a);
  if (missing != 0)
    return missing;
  descriptors_plan_t plan;
  int rc = descriptors_plan(call, &a, &plan);
  if (rc != 0)
    return rc;
  constexpr uint64_t PER_PIECE = PIECE / NEURON_DMA_DESC_SIZE;
  std::unique_ptr<neuron_dma_desc[]> staging(new (std::nothrow) neuron_dma_desc[PER_PIECE]);
  uint8_t *bytes = mock_memory_bytes(call->host, plan.place.memory);
  if (staging == nullptr || bytes == nullptr)
    return -ENOMEM;
  for (uint64_t done = 0; done < plan.size; done += PIECE) {
    uint64_t size = std::min(PIECE, plan.size - done);
    size_t left = mock_user_read(staging.get(), static_cast<uint8_t *>(a.buffer) + done, size);
    if (left != 0)
      return static_cast<long>(left);
    rc = descriptors_check(call, a.queue_type, staging.get(), size / NEURON_DMA_DESC_SIZE);
    if (rc != 0)
      return rc;
    memcpy(bytes + plan.place.offset + done, staging.get(), size);
  }
  return 0;
}

long mock_req_dma_descriptor_copyout(const mock_call_t *call) {
  neuron_ioctl_dma_descriptor_copyout a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.count == 0 || a.eng_id >= neuron_arch_counts_get(call->host->state->arch).dma_engines ||
      a.qid >= NEURON_DMA_QUEUES_PER_ENGINE)
    return -EINVAL;
  if (a.type != NEURON_DMA_QUEUE_TYPE_TX && a.type != NEURON_DMA_QUEUE_TYPE_RX)
    return -EINVAL;
  uint64_t ring =
      NEURON_UDMA_QUEUE(a.qid) + (a.type == NEURON_DMA_QUEUE_TYPE_RX ? NEURON_UDMA_RX : 0);
  uint64_t base;
  uint32_t length;
  {
    mock_guard_t guard(&call->device->dma_lock);
    base = mock_udma_read64(call->host, call->device, a.eng_id, ring + NEURON_UDMA_BASE_LOW);
    length = mock_udma_read(call->host, call->device, a.eng_id, ring + NEURON_UDMA_LENGTH);
  }
  if (static_cast<uint64_t>(a.start_index) + a.count > length)
    return -EFBIG;
  uint64_t size = a.count * uint64_t{NEURON_DMA_DESC_SIZE};
  mock_place_t place;
  int rc = copyout_plan(call, base, a.start_index, size, &place);
  if (rc != 0)
    return rc;
  const uint8_t *bytes = mock_memory_bytes(call->host, place.memory);
  if (bytes == nullptr)
    return -ENOMEM;
  return static_cast<long>(
      mock_user_from_file(place.memory->fd, bytes, place.offset, a.buffer, size, size));
}
