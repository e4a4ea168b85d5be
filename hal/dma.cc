// SPDX-License-Identifier: Apache-2.0
#include "hal/dma.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>

#include "hal/hal_impl.h"
#include "uapi/neuron_address_map.h"
#include "uapi/neuron_ioctl.h"
#include "uapi/neuron_shared.h"

namespace {

bool engine_exists(const hal_device_t *device, uint32_t engine) {
  return engine < neuron_arch_counts_get(device->hal->arch->arch).dma_engines;
}

bool queue_exists(const hal_device_t *device, uint32_t engine, uint32_t queue) {
  return engine_exists(device, engine) && queue < NEURON_DMA_QUEUES_PER_ENGINE;
}

void fill_queue(struct neuron_ioctl_dma_queue_init *arg, const hal_dma_queue_t *queue) {
  arg->eng_id = queue->engine;
  arg->qid = queue->queue;
  arg->tx_desc_count = queue->tx_count;
  arg->rx_desc_count = queue->rx_count;
  arg->tx_handle = queue->tx_handle;
  arg->rx_handle = queue->rx_handle;
}

hal_dma_queue_state_t queue_state(const struct neuron_dma_queue_state &s) {
  return {s.hw_status,
          s.sw_status,
          s.base_addr,
          s.length,
          s.head_pointer,
          s.tail_pointer,
          s.completion_base_addr,
          s.completion_head};
}

}  // namespace

int hal_dma_engine_set_state(hal_device_t *device, uint32_t engine, uint32_t state) {
  if (!engine_exists(device, engine))
    return -EINVAL;
  struct neuron_ioctl_dma_eng_set_state arg = {};
  arg.eng_id = engine;
  arg.state = state;
  return hal_device_request(device, NEURON_IOCTL_DMA_ENG_SET_STATE, &arg);
}

int hal_dma_engine_get_state(hal_device_t *device, uint32_t engine, hal_dma_engine_state_t *out) {
  if (!engine_exists(device, engine))
    return -EINVAL;
  struct neuron_dma_eng_state state = {};
  struct neuron_ioctl_dma_eng_get_state arg = {};
  arg.eng_id = engine;
  arg.state = &state;
  int result = hal_device_request(device, NEURON_IOCTL_DMA_ENG_GET_STATE, &arg);
  if (result == 0)
    *out = {state.revision_id, state.max_queues, state.num_queues, state.tx_state, state.rx_state};
  return result;
}

int hal_dma_queue_init(hal_device_t *device, const hal_dma_queue_t *queue) {
  if (!queue_exists(device, queue->engine, queue->queue))
    return -EINVAL;
  struct neuron_ioctl_dma_queue_init arg = {};
  fill_queue(&arg, queue);
  return hal_device_request(device, NEURON_IOCTL_DMA_QUEUE_INIT, &arg);
}

int hal_dma_queues_init(hal_device_t *device, const hal_dma_queue_t *queues, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!queue_exists(device, queues[i].engine, queues[i].queue))
      return -EINVAL;
  }
  bool batches = hal_has(device->hal, HAL_FEATURE_BATCH_DMAQ_INIT);
  for (uint32_t done = 0; done < count;) {
    int result;
    uint32_t now = 1;
    if (batches) {
      struct neuron_ioctl_dma_queue_init_batch arg = {};
      now = std::min<uint32_t>(count - done, NEURON_DMA_BATCH_COUNT_LIMIT);
      arg.count = now;
      for (uint32_t i = 0; i < now; ++i)
        fill_queue(&arg.entries[i], &queues[done + i]);
      result = hal_device_request(device, NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, &arg);
    } else {
      result = hal_dma_queue_init(device, &queues[done]);
    }
    if (result != 0)
      return result;
    done += now;
  }
  return 0;
}

int hal_dma_queue_release(hal_device_t *device, uint32_t engine, uint32_t queue) {
  struct neuron_ioctl_dma_queue_release arg = {};
  arg.eng_id = engine;
  arg.qid = queue;
  return hal_device_request(device, NEURON_IOCTL_DMA_QUEUE_RELEASE, &arg);
}

int hal_dma_queue_copy_start(hal_device_t *device, uint32_t engine, uint32_t queue,
                             uint32_t tx_count, uint32_t rx_count) {
  if (!queue_exists(device, engine, queue) || rx_count == 0)
    return -EINVAL;
  struct neuron_ioctl_dma_queue_copy_start arg = {};
  arg.eng_id = engine;
  arg.qid = queue;
  arg.tx_desc_count = tx_count;
  arg.rx_desc_count = rx_count;
  return hal_device_request(device, NEURON_IOCTL_DMA_QUEUE_COPY_START, &arg);
}

int hal_dma_queue_ack(hal_device_t *device, uint32_t engine, uint32_t queue, uint32_t count) {
  if (!queue_exists(device, engine, queue))
    return -EINVAL;
  struct neuron_ioctl_dma_ack_completed arg = {};
  arg.eng_id = engine;
  arg.qid = queue;
  arg.count = count;
  return hal_device_request(device, NEURON_IOCTL_DMA_ACK_COMPLETED, &arg);
}

int hal_dma_queue_get_state(hal_device_t *device, uint32_t engine, uint32_t queue,
                            hal_dma_queue_state_t *tx, hal_dma_queue_state_t *rx) {
  if (!queue_exists(device, engine, queue))
    return -EINVAL;
  struct neuron_dma_queue_state raw_tx = {}, raw_rx = {};
  struct neuron_ioctl_dma_queue_get_state arg = {};
  arg.eng_id = engine;
  arg.qid = queue;
  arg.tx = &raw_tx;
  arg.rx = &raw_rx;
  int result = hal_device_request(device, NEURON_IOCTL_DMA_QUEUE_GET_STATE, &arg);
  if (result == 0) {
    *tx = queue_state(raw_tx);
    *rx = queue_state(raw_rx);
  }
  return result;
}

int hal_dma_descriptors_copyin(hal_device_t *device, uint64_t handle, uint64_t offset,
                               const void *descriptors, uint32_t count, hal_dma_ring_t ring) {
  void *buffer = const_cast<void *>(descriptors);  // read only, whatever the structure says
  auto type = static_cast<enum neuron_dma_queue_type>(ring);
  if (hal_has(device->hal, HAL_FEATURE_MEM_ALLOC64)) {
    struct neuron_ioctl_dma_copy_descriptors64 arg = {};
    arg.mem_handle = handle;
    arg.buffer = buffer;
    arg.num_descs = count;
    arg.offset = offset;
    arg.queue_type = type;
    return hal_device_request(device, NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, &arg);
  }
  if (offset > std::numeric_limits<uint32_t>::max())
    return -EOPNOTSUPP;
  struct neuron_ioctl_dma_copy_descriptors arg = {};
  arg.mem_handle = handle;
  arg.buffer = buffer;
  arg.num_descs = count;
  arg.offset = static_cast<uint32_t>(offset);
  arg.queue_type = type;
  return hal_device_request(device, NEURON_IOCTL_DMA_COPY_DESCRIPTORS, &arg);
}

int hal_dma_descriptors_copyout(hal_device_t *device, uint32_t engine, uint32_t queue,
                                hal_dma_ring_t ring, uint32_t first, uint32_t count,
                                void *descriptors) {
  if (!queue_exists(device, engine, queue))
    return -EINVAL;
  struct neuron_ioctl_dma_descriptor_copyout arg = {};
  arg.eng_id = engine;
  arg.qid = queue;
  arg.type = static_cast<enum neuron_dma_queue_type>(ring);
  arg.start_index = first;
  arg.count = count;
  arg.buffer = descriptors;
  return hal_device_request(device, NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT, &arg);
}
