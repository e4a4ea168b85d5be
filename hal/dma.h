// SPDX-License-Identifier: Apache-2.0
// DMA engines, their queues and descriptors (uapi.md 6.4, mock-device-semantics.md 6). All
// functions: 0 or -errno, no log. -EINVAL without a request where the driver would not check: an
// engine this chip does not have, a queue above 15, zero destination descriptors.
#pragma once

#include "hal/hal.h"

enum hal_dma_ring_t { HAL_DMA_RING_TX = 0, HAL_DMA_RING_RX = 1 };

struct hal_dma_engine_state_t {
  uint32_t revision, max_queues, num_queues;
  uint32_t tx_state, rx_state;  // NEURON_UDMA_*
};

// `state`: NEURON_UDMA_DISABLED, _NORMAL or _ABORT.
int hal_dma_engine_set_state(hal_device_t *device, uint32_t engine, uint32_t state);
int hal_dma_engine_get_state(hal_device_t *device, uint32_t engine, hal_dma_engine_state_t *out);

struct hal_dma_queue_t {
  uint32_t engine, queue;
  uint32_t tx_count, rx_count;    // ring lengths in descriptors, multiples of 16
  uint64_t tx_handle, rx_handle;  // chunks that hold the rings; 0 = none
};

// The driver takes an invalid handle for "no ring" and does not say so.
int hal_dma_queue_init(hal_device_t *device, const hal_dma_queue_t *queue);
// All of them in order; in batches where the driver has the request, else one by one. On failure
// those before the failing one stay set up.
int hal_dma_queues_init(hal_device_t *device, const hal_dma_queue_t *queues, uint32_t count);
int hal_dma_queue_release(hal_device_t *device, uint32_t engine, uint32_t queue);

// Submits descriptors that are in the rings; returns before they have moved anything.
int hal_dma_queue_copy_start(hal_device_t *device, uint32_t engine, uint32_t queue,
                             uint32_t tx_count, uint32_t rx_count);
// Hands completed descriptors back to the driver's bookkeeping.
int hal_dma_queue_ack(hal_device_t *device, uint32_t engine, uint32_t queue, uint32_t count);

struct hal_dma_queue_state_t {
  uint32_t hw_status, sw_status;  // the ring's register; NEURON_DMA_QUEUE_*
  uint64_t base;                  // of the ring, device address
  uint32_t length, head, tail;    // descriptors
  uint64_t completion_base;
  uint32_t completion_head;
};
int hal_dma_queue_get_state(hal_device_t *device, uint32_t engine, uint32_t queue,
                            hal_dma_queue_state_t *tx, hal_dma_queue_state_t *rx);

// `count` descriptors of 16 bytes into the chunk of a ring, from byte `offset` on. -EINVAL: a host
// address among them belongs to no chunk; descriptors before it may be written.
int hal_dma_descriptors_copyin(hal_device_t *device, uint64_t handle, uint64_t offset,
                               const void *descriptors, uint32_t count, hal_dma_ring_t ring);
// And back out of a queue's ring. Rings in device memory are read from their start whatever
// `first` says (driver 2.24.7).
int hal_dma_descriptors_copyout(hal_device_t *device, uint32_t engine, uint32_t queue,
                                hal_dma_ring_t ring, uint32_t first, uint32_t count,
                                void *descriptors);
