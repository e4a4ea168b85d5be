// SPDX-License-Identifier: Apache-2.0
// Requests on DMA engines and queues (mock-device-semantics.md 6.3).
#include <cerrno>
#include <memory>
#include <new>

#include "mock_dev/call.h"
#include "mock_dev/chunk.h"
#include "mock_dev/udma.h"

namespace {

bool engine_present(const mock_call_t *call, uint32_t engine) {
  return engine < neuron_arch_counts_get(call->host->state->arch).dma_engines;
}

struct ring_memory_t {
  bool given;  // there is a chunk behind the handle; a bad handle is like none
  uint64_t pa, size;
};

ring_memory_t ring_memory(const mock_call_t *call, uint64_t handle) {
  mock_guard_t guard(&call->device->lock);
  uint32_t n = mock_chunk_by_handle(call->host, call->device, handle);
  if (n == 0)
    return {};
  const mock_chunk_t *chunk = mock_chunk_at(call->host, call->device, n);
  return {true, chunk->pa, chunk->size};
}

int ring_shape_check(const ring_memory_t *ring, uint32_t count) {
  if (!ring->given)
    return 0;
  return ring->pa % NEURON_DMA_RING_ALIGN == 0 && count % NEURON_DMA_RING_MULTIPLE == 0 ? 0
                                                                                        : -EPERM;
}

// DMA lock held.
int ring_start(const mock_call_t *call, const neuron_ioctl_dma_queue_init *a, uint64_t side,
               const ring_memory_t *ring, uint32_t count) {
  if (!ring->given)
    count = 0;
  else if (count < NEURON_DMA_RING_MIN || count > NEURON_DMA_RING_MAX)
    return -EINVAL;
  mock_udma_ring_set(call->host, call->device, a->eng_id, a->qid, side, ring->pa, count);
  return 0;
}

int queue_init(const mock_call_t *call, const neuron_ioctl_dma_queue_init *a) {
  if (a->eng_id >= NEURON_DMA_ENGINE_LIMIT || a->qid >= NEURON_DMA_QUEUES_PER_ENGINE)
    return -EINVAL;
  mock_guard_t guard(&call->device->dma_lock);
  // The owner changes whatever comes of the rest, and whoever had the queue before.
  call->device->udma_queues[a->eng_id][a->qid].tgid = call->tgid;
  ring_memory_t tx = ring_memory(call, a->tx_handle);
  ring_memory_t rx = ring_memory(call, a->rx_handle);
  ring_memory_t rxc = ring_memory(call, a->rxc_handle);
  if (rxc.given && a->rx_desc_count * uint64_t{NEURON_DMA_DESC_SIZE} > rxc.size)
    return -EINVAL;
  int rc = ring_shape_check(&tx, a->tx_desc_count);
  if (rc == 0)
    rc = ring_shape_check(&rx, a->rx_desc_count);
  if (rc != 0)
    return rc;
  if (rxc.given)
    return -EPERM;
  if (!engine_present(call, a->eng_id))
    return -EINVAL;
  rc = ring_start(call, a, 0, &tx, a->tx_desc_count);
  return rc != 0 ? rc : ring_start(call, a, NEURON_UDMA_RX, &rx, a->rx_desc_count);
}

neuron_dma_queue_state queue_state(const mock_call_t *call, uint32_t engine, uint32_t queue,
                                   uint64_t side) {
  auto reg = [&](uint64_t r) {
    return mock_udma_read(call->host, call->device, engine, side + NEURON_UDMA_QUEUE(queue) + r);
  };
  auto address = [&](uint64_t low) {
    return mock_udma_read64(call->host, call->device, engine,
                            side + NEURON_UDMA_QUEUE(queue) + low);
  };
  neuron_dma_queue_state s = {};
  s.hw_status = reg(NEURON_UDMA_STATUS);
  bool enabled = (reg(NEURON_UDMA_CONFIG) & NEURON_UDMA_CONFIG_SCHEDULE) != 0;
  s.sw_status = enabled ? NEURON_DMA_QUEUE_ENABLED : NEURON_DMA_QUEUE_DISABLED;
  if (call->device->udma_queues[engine][queue].faulted != 0)
    s.sw_status = NEURON_DMA_QUEUE_ABORTED;
  s.base_addr = address(NEURON_UDMA_BASE_LOW);
  s.length = reg(NEURON_UDMA_LENGTH) & NEURON_UDMA_POINTER_INDEX;
  s.head_pointer = reg(NEURON_UDMA_HEAD) & NEURON_UDMA_POINTER_INDEX;
  s.tail_pointer = reg(NEURON_UDMA_TAIL) & NEURON_UDMA_POINTER_INDEX;
  s.completion_base_addr = address(NEURON_UDMA_COMPLETION_LOW);
  s.completion_head = reg(NEURON_UDMA_COMPLETION_HEAD) & NEURON_UDMA_POINTER_INDEX;
  return s;
}

}  // namespace

long mock_req_dma_engine_set_state(const mock_call_t *call) {
  neuron_ioctl_dma_eng_set_state a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (!engine_present(call, a.eng_id))
    return -EINVAL;
  mock_guard_t guard(&call->device->dma_lock);
  mock_udma_state_set(call->host, call->device, a.eng_id, a.state);
  return 0;
}

long mock_req_dma_engine_get_state(const mock_call_t *call) {
  neuron_ioctl_dma_eng_get_state a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (!engine_present(call, a.eng_id))
    return -EINVAL;
  neuron_dma_eng_state s = {};
  s.revision_id = NEURON_UDMA_REVISION;
  s.max_queues = NEURON_DMA_QUEUES_PER_ENGINE;
  s.num_queues = NEURON_DMA_QUEUES_PER_ENGINE;
  {
    mock_guard_t guard(&call->device->dma_lock);
    s.tx_state = mock_udma_state(call->host, call->device, a.eng_id, 0);
    s.rx_state = mock_udma_state(call->host, call->device, a.eng_id, NEURON_UDMA_RX);
  }
  return static_cast<long>(mock_user_write(a.state, &s, sizeof(s)));
}

long mock_req_dma_queue_init(const mock_call_t *call) {
  neuron_ioctl_dma_queue_init a;
  return mock_call_in(call, &a) != 0 ? -EACCES : queue_init(call, &a);
}

long mock_req_dma_queue_init_batch(const mock_call_t *call) {
  std::unique_ptr<neuron_ioctl_dma_queue_init_batch> a(new (std::nothrow)
                                                           neuron_ioctl_dma_queue_init_batch);
  if (a == nullptr)
    return -ENOMEM;
  if (mock_call_in(call, a.get()) != 0)
    return -EACCES;
  if (a->count > NEURON_DMA_BATCH_COUNT_LIMIT)
    return -E2BIG;
  for (uint32_t i = 0; i < a->count; ++i) {
    int rc = queue_init(call, &a->entries[i]);
    if (rc != 0)
      return rc;
  }
  return 0;
}

// Reads its argument and does nothing with it.
long mock_req_dma_queue_release(const mock_call_t *call) {
  neuron_ioctl_dma_queue_release a;
  return mock_call_in(call, &a);
}

long mock_req_dma_queue_copy_start(const mock_call_t *call) {
  neuron_ioctl_dma_queue_copy_start a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.eng_id >= NEURON_DMA_ENGINE_LIMIT)
    return -EINVAL;
  if (!engine_present(call, a.eng_id) || a.qid >= NEURON_DMA_QUEUES_PER_ENGINE)
    return -EPERM;
  mock_guard_t guard(&call->device->dma_lock);
  const mock_udma_queue_t *queue = &call->device->udma_queues[a.eng_id][a.qid];
  if (a.tx_desc_count > queue->tx_size)
    return -EPERM;
  if (queue->rx_size == 0)  // the driver follows a null pointer
    return -EINVAL;
  if (a.rx_desc_count > queue->rx_size)
    return -EPERM;
  if (a.rx_desc_count == 0)
    return -EINVAL;
  mock_udma_start(call->host, call->device, a.eng_id, a.qid, a.tx_desc_count, a.rx_desc_count);
  return 0;
}

// Moves an index that only the driver's own bookkeeping reads.
long mock_req_dma_ack_completed(const mock_call_t *call) {
  neuron_ioctl_dma_ack_completed a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  return a.eng_id < NEURON_DMA_ENGINE_LIMIT && a.qid < NEURON_DMA_QUEUES_PER_ENGINE ? 0 : -EINVAL;
}

long mock_req_dma_queue_get_state(const mock_call_t *call) {
  neuron_ioctl_dma_queue_get_state a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (!engine_present(call, a.eng_id) || a.qid >= NEURON_DMA_QUEUES_PER_ENGINE)
    return -EINVAL;
  neuron_dma_queue_state tx, rx;
  {
    mock_guard_t guard(&call->device->dma_lock);
    tx = queue_state(call, a.eng_id, a.qid, 0);
    rx = queue_state(call, a.eng_id, a.qid, NEURON_UDMA_RX);
  }
  size_t left = mock_user_write(a.tx, &tx, sizeof(tx));
  return static_cast<long>(left != 0 ? left : mock_user_write(a.rx, &rx, sizeof(rx)));
}
