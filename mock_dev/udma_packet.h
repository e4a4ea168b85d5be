// SPDX-License-Identifier: Apache-2.0
// Packets of a UDMA queue: TX descriptors, first to last, whose bytes stream into RX descriptors in
// order. The caller holds the device's DMA lock.
#pragma once

#include <cstdint>

#include "mock_dev/udma.h"

constexpr uint32_t MOCK_UDMA_PACKET_DESCS = 65;  // either side: 64 and one more

struct mock_udma_ring_t {
  uint64_t registers;  // of the queue, in the engine block
  uint64_t base, completion_base;
  const uint8_t *slots;            // of the whole ring; nullptr: not in one memory
  uint32_t length, head, pending;  // head: of the packet
  uint32_t count;                  // of the packet
  neuron_dma_desc descs[MOCK_UDMA_PACKET_DESCS];
};

struct mock_udma_packet_t {
  uint32_t engine, queue;
  uint8_t src_dtype, dst_dtype;  // differ in packets that cast; else 0
  uint64_t bytes;                // written
  uint64_t epoch;                // register writes when the rings were looked at
  mock_udma_ring_t tx, rx;
};

enum mock_udma_find_t {
  MOCK_UDMA_WAIT,  // no complete packet, or a side that is switched off
  MOCK_UDMA_READY,
  MOCK_UDMA_FAULT,  // descriptors the engine stops at
};

// The packet behind so many TX and RX descriptors from the head on. Leaves rings and registers
// alone.
mock_udma_find_t mock_udma_packet_find(const mock_udma_work_t *work, uint32_t engine,
                                       uint32_t queue, uint32_t tx_skip, uint32_t rx_skip,
                                       mock_udma_packet_t *out);

// The one behind a packet that was found at the head, and is complete.
mock_udma_find_t mock_udma_packet_next(const mock_udma_work_t *work, mock_udma_packet_t *packet);

// Moves the bytes, up to the first that has nowhere to come from or to go (false). A packet that
// ends inside an RX descriptor is a mistake of whoever built the rings: false, all moved.
bool mock_udma_packet_move(mock_udma_work_t *work, const mock_udma_packet_t *packet);

// 0xFF bytes wherever the packet will write memory.
void mock_udma_packet_poison(const mock_udma_work_t *work, const mock_udma_packet_t *packet);

// Takes a packet that was found at the head off both rings. False: the completion ring has no
// memory.
bool mock_udma_packet_complete(mock_udma_work_t *work, const mock_udma_packet_t *packet);

// Bytes a descriptor stands for.
inline uint64_t mock_udma_desc_bytes(const neuron_dma_desc &d) {
  uint64_t length = d.len_ctrl & NEURON_DMA_DESC_LENGTH;
  return length == 0 ? NEURON_DMA_DESC_BYTES_LIMIT : length;
}
