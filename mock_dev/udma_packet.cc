// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/udma_packet.h"

#include <algorithm>
#include <cstring>

#include "isa/project.h"
#include "mock_dev/port.h"

namespace {

bool checks_ring_ids(const mock_udma_work_t *work, uint32_t engine) {
  const mock_state_t *state = work->host->state;
  return state->arch == NEURON_ARCH_V2 || engine >= state->cores * NEURON_DMA_ENGINES_PER_CORE;
}

// Memory behind descriptors of a ring; nullptr: none, or not one. Whether it still belongs to
// anybody does not matter, a freed ring reads as zeros.
uint8_t *ring_bytes(const mock_udma_work_t *work, uint64_t address, uint64_t size,
                    mock_target_t *target) {
  if (!mock_decode(work->host, work->device->index, address, size, target) ||
      (target->kind != MOCK_TARGET_HBM && target->kind != MOCK_TARGET_HOST))
    return nullptr;
  uint8_t *bytes = mock_memory_bytes(work->host, target->place.memory);
  return bytes == nullptr ? nullptr : bytes + target->place.offset;
}

// From `skip` descriptors behind the head on. False: the side is switched off, has no more, or its
// registers make no sense.
bool ring_load(const mock_udma_work_t *work, uint32_t engine, uint64_t registers, uint32_t skip,
               mock_udma_ring_t *ring) {
  constexpr uint32_t ENABLED = NEURON_UDMA_CONFIG_PREFETCH | NEURON_UDMA_CONFIG_SCHEDULE;
  if ((mock_udma_get(work, engine, registers + NEURON_UDMA_CONFIG) & ENABLED) != ENABLED)
    return false;
  ring->registers = registers;
  ring->base = mock_udma_get64(work, engine, registers + NEURON_UDMA_BASE_LOW);
  ring->length = mock_udma_get(work, engine, registers + NEURON_UDMA_LENGTH);
  ring->head = mock_udma_get(work, engine, registers + NEURON_UDMA_HEAD);
  ring->count = 0;
  ring->completion_base = 0;
  uint64_t config = (registers & NEURON_UDMA_RX) != 0 ? NEURON_UDMA_RX_COMPLETION_CONFIG
                                                      : NEURON_UDMA_TX_COMPLETION_CONFIG;
  if (mock_udma_get(work, engine, registers + config) != 0)
    ring->completion_base = mock_udma_get64(work, engine, registers + NEURON_UDMA_COMPLETION_LOW);
  int64_t pending = mock_udma_pending(
      ring->head, mock_udma_get(work, engine, registers + NEURON_UDMA_TAIL), ring->length);
  if (pending <= skip)
    return false;
  ring->pending = static_cast<uint32_t>(pending) - skip;
  ring->head = mock_udma_advance(ring->head, skip, ring->length);
  mock_target_t target;
  ring->slots =
      ring_bytes(work, ring->base, uint64_t{ring->length} * NEURON_DMA_DESC_SIZE, &target);
  return true;
}

// Takes the next descriptor into the packet. False: it is not there, or of another lap.
bool ring_fetch(const mock_udma_work_t *work, uint32_t engine, mock_udma_ring_t *ring) {
  uint32_t at = mock_udma_advance(ring->head, ring->count, ring->length);
  uint64_t index = at & NEURON_UDMA_POINTER_INDEX;
  uint64_t offset = index * NEURON_DMA_DESC_SIZE;
  mock_target_t target;
  const uint8_t *slot = ring->slots != nullptr
                            ? ring->slots + offset
                            : ring_bytes(work, ring->base + offset, NEURON_DMA_DESC_SIZE, &target);
  if (slot == nullptr)
    return false;
  neuron_dma_desc *desc = &ring->descs[ring->count++];
  memcpy(desc, slot, sizeof(*desc));
  uint32_t id = desc->len_ctrl >> NEURON_DMA_DESC_RING_ID_SHIFT & 3;
  return (desc->len_ctrl & NEURON_DMA_DESC_RESERVED) == 0 &&
         (!checks_ring_ids(work, engine) || id == at >> NEURON_UDMA_POINTER_RING_ID_SHIFT);
}

// Plain copies only: no checksum or byte-swap descriptors.
bool tx_allowed(const neuron_dma_desc &d, bool first) {
  constexpr uint32_t FREE = NEURON_DMA_META_WRITE_BARRIER | NEURON_DMA_META_BLOCK_BITS;
  return ((d.len_ctrl & NEURON_DMA_DESC_FIRST) != 0) == first &&
         (d.len_ctrl & NEURON_DMA_DESC_META) == 0 &&
         (d.meta_ctrl & ~FREE) == (NEURON_DMA_META_COPY & ~FREE);
}

// The descriptor in front of a packet that casts (isa/project.h). False: it says something else.
bool cast_begin(const neuron_dma_desc &d, mock_udma_packet_t *p) {
  constexpr uint32_t MEANT = NEURON_DMA_DESC_LENGTH | NEURON_DMA_DESC_FIRST | NEURON_DMA_DESC_LAST;
  p->src_dtype = static_cast<uint8_t>(d.address);
  p->dst_dtype = static_cast<uint8_t>(d.address >> 8);
  return (d.len_ctrl & MEANT) == NEURON_DMA_DESC_FIRST && d.meta_ctrl == PROJECT_DMA_META_CAST &&
         d.address == project_dma_cast(p->src_dtype, p->dst_dtype) &&
         p->src_dtype != p->dst_dtype && isa_dtype_size(p->src_dtype) != 0 &&
         isa_dtype_size(p->dst_dtype) != 0;
}

bool casts(const mock_udma_packet_t *p) {
  return p->src_dtype != p->dst_dtype;
}

uint64_t element(uint8_t dtype) {  // bytes; of a plain copy: 1
  return std::max<uint64_t>(isa_dtype_size(dtype), 1);
}

mock_udma_find_t tx_collect(const mock_udma_work_t *work, mock_udma_packet_t *p) {
  mock_udma_ring_t *tx = &p->tx;
  uint64_t bytes = 0;
  while (tx->count < tx->pending) {
    if (tx->count == MOCK_UDMA_PACKET_DESCS || !ring_fetch(work, p->engine, tx))
      return MOCK_UDMA_FAULT;
    const neuron_dma_desc &d = tx->descs[tx->count - 1];
    if (tx->count == 1 && (d.len_ctrl & NEURON_DMA_DESC_META) != 0) {
      if (!cast_begin(d, p))
        return MOCK_UDMA_FAULT;
      continue;
    }
    bool first = tx->count == 1;
    bytes += mock_udma_desc_bytes(d);
    if (!tx_allowed(d, first) || bytes > NEURON_DMA_PACKET_BYTES_MAX ||
        mock_udma_desc_bytes(d) % element(p->src_dtype) != 0)
      return MOCK_UDMA_FAULT;
    if ((d.len_ctrl & NEURON_DMA_DESC_LAST) == 0)
      continue;
    p->bytes = bytes / element(p->src_dtype) * element(p->dst_dtype);
    return p->bytes > NEURON_DMA_PACKET_BYTES_MAX ? MOCK_UDMA_FAULT : MOCK_UDMA_READY;
  }
  return MOCK_UDMA_WAIT;
}

mock_udma_find_t rx_collect(const mock_udma_work_t *work, mock_udma_packet_t *p) {
  mock_udma_ring_t *rx = &p->rx;
  uint64_t room = 0;
  while (room < p->bytes) {
    if (rx->count == rx->pending)
      return MOCK_UDMA_WAIT;
    if (rx->count == MOCK_UDMA_PACKET_DESCS || !ring_fetch(work, p->engine, rx))
      return MOCK_UDMA_FAULT;
    const neuron_dma_desc &d = rx->descs[rx->count - 1];
    if ((d.len_ctrl & (NEURON_DMA_DESC_META | NEURON_DMA_DESC_CONCAT)) != 0 ||
        mock_udma_desc_bytes(d) % element(p->dst_dtype) != 0)
      return MOCK_UDMA_FAULT;
    room += mock_udma_desc_bytes(d);
  }
  return MOCK_UDMA_READY;
}

mock_udma_find_t collect(const mock_udma_work_t *work, mock_udma_packet_t *p) {
  p->src_dtype = p->dst_dtype = 0;
  p->bytes = 0;
  mock_udma_find_t found = tx_collect(work, p);
  return found == MOCK_UDMA_READY ? rx_collect(work, p) : found;
}

bool port_open(const mock_udma_work_t *work, const neuron_dma_desc &d, bool for_writing,
               mock_port_t *port) {
  return mock_port_open(work->host, work->device->index, d.address, mock_udma_desc_bytes(d),
                        for_writing, port);
}

// A finished descriptor in the completion ring, if there is one.
bool completion_write(const mock_udma_work_t *work, const mock_udma_ring_t *ring, uint32_t index,
                      const neuron_dma_desc &desc) {
  uint64_t address = ring->completion_base + static_cast<uint64_t>(index) * NEURON_DMA_DESC_SIZE;
  mock_target_t target;
  uint8_t *slot = ring_bytes(work, address, NEURON_DMA_DESC_SIZE, &target);
  if (slot == nullptr || !mock_target_claim(work->host, &target, NEURON_DMA_DESC_SIZE, true))
    return false;
  memcpy(slot, &desc, sizeof(desc));
  return true;
}

bool ring_complete(mock_udma_work_t *work, uint32_t engine, const mock_udma_ring_t *ring) {
  if (mock_udma_get(work, engine, ring->registers + NEURON_UDMA_HEAD) != ring->head)
    return true;  // the packet itself reset the queue
  uint64_t completion = ring->registers + NEURON_UDMA_COMPLETION_HEAD;
  uint32_t done = mock_udma_get(work, engine, completion);
  for (uint32_t i = 0; i < ring->count; ++i) {
    if (ring->completion_base != 0 && !completion_write(work, ring, done, ring->descs[i]))
      return false;
    done = done + 1 >= ring->length ? 0 : done + 1;
  }
  mock_udma_put(work, engine, completion, done);
  uint32_t head = mock_udma_advance(ring->head, ring->count, ring->length);
  mock_udma_put(work, engine, ring->registers + NEURON_UDMA_HEAD, head);
  mock_udma_put(work, engine, ring->registers + NEURON_UDMA_CURRENT, head);
  return true;
}

}  // namespace

mock_udma_find_t mock_udma_packet_find(const mock_udma_work_t *work, uint32_t engine,
                                       uint32_t queue, uint32_t tx_skip, uint32_t rx_skip,
                                       mock_udma_packet_t *p) {
  p->engine = engine;
  p->queue = queue;
  for (uint64_t side : MOCK_UDMA_SIDES)
    if (mock_udma_state(work->host, work->device, engine, side) != NEURON_UDMA_NORMAL)
      return MOCK_UDMA_WAIT;
  p->epoch = work->epoch;
  uint64_t registers = NEURON_UDMA_QUEUE(queue);
  if (!ring_load(work, engine, registers, tx_skip, &p->tx) ||
      !ring_load(work, engine, registers + NEURON_UDMA_RX, rx_skip, &p->rx))
    return MOCK_UDMA_WAIT;
  return collect(work, p);
}

mock_udma_find_t mock_udma_packet_next(const mock_udma_work_t *work, mock_udma_packet_t *p) {
  if (p->epoch != work->epoch)
    return mock_udma_packet_find(work, p->engine, p->queue, 0, 0, p);
  for (mock_udma_ring_t *ring : {&p->tx, &p->rx}) {
    ring->head = mock_udma_advance(ring->head, ring->count, ring->length);
    ring->pending -= ring->count;
    ring->count = 0;
  }
  return p->tx.pending == 0 || p->rx.pending == 0 ? MOCK_UDMA_WAIT : collect(work, p);
}

bool mock_udma_packet_move(mock_udma_work_t *work, const mock_udma_packet_t *p) {
  mock_port_t from = {}, to = {};
  uint32_t tx = casts(p) ? 1 : 0, rx = 0;
  while (from.left != 0 || tx < p->tx.count) {
    if (from.left == 0 && !port_open(work, p->tx.descs[tx++], false, &from))
      return false;
    if (to.left == 0 && !port_open(work, p->rx.descs[rx++], true, &to))
      return false;
    if (!(casts(p) ? mock_port_cast(&from, p->src_dtype, &to, p->dst_dtype)
                   : mock_port_move(work->host, work, &from, &to)))
      return false;
  }
  return to.left == 0;
}

void mock_udma_packet_poison(const mock_udma_work_t *work, const mock_udma_packet_t *p) {
  mock_port_t to;
  for (uint32_t i = 0; i < p->rx.count; ++i)
    if (port_open(work, p->rx.descs[i], true, &to) && to.bytes != nullptr)
      memset(to.bytes, 0xFF, to.left);
}

bool mock_udma_packet_complete(mock_udma_work_t *work, const mock_udma_packet_t *p) {
  return ring_complete(work, p->engine, &p->tx) && ring_complete(work, p->engine, &p->rx);
}
