// SPDX-License-Identifier: Apache-2.0
// The moving part of a UDMA engine: packets of TX descriptors, first to last, stream into RX
// descriptors in order. Queues run one packet at a time and in one order only, so every barrier
// holds.
#include <algorithm>
#include <cstring>

#include "mock_dev/port.h"
#include "mock_dev/udma.h"

namespace {

constexpr uint32_t MAX_DESCS = 65;  // of a packet, either side: 64 and one more

struct ring_t {
  uint64_t registers;  // of the queue, in the engine block
  uint64_t base, completion_base;
  uint32_t length, head, pending, count;
  neuron_dma_desc descs[MAX_DESCS];  // of the packet
};

struct packet_t {
  uint32_t engine, queue;
  ring_t tx, rx;
};

enum step_t { STEP_WAIT, STEP_READY, STEP_FAULT };

uint64_t desc_bytes(const neuron_dma_desc &d) {
  uint64_t length = d.len_ctrl & NEURON_DMA_DESC_LENGTH;
  return length == 0 ? NEURON_DMA_DESC_BYTES_LIMIT : length;
}

bool checks_ring_ids(const mock_udma_work_t *work, uint32_t engine) {
  const mock_state_t *state = work->host->state;
  return state->arch == NEURON_ARCH_V2 || engine >= state->cores * NEURON_DMA_ENGINES_PER_CORE;
}

// False: the side is switched off, empty, or its registers make no sense.
bool ring_load(const mock_udma_work_t *work, uint32_t engine, uint64_t registers, ring_t *ring) {
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
  ring->pending = pending < 0 ? 0 : static_cast<uint32_t>(pending);
  return ring->pending != 0;
}

// Memory behind a descriptor of a ring; nullptr: none. Whether it still belongs to anybody does not
// matter, a freed ring reads as zeros.
uint8_t *slot_bytes(const mock_udma_work_t *work, uint64_t address, mock_target_t *target) {
  if (!mock_decode(work->host, work->device->index, address, NEURON_DMA_DESC_SIZE, target) ||
      (target->kind != MOCK_TARGET_HBM && target->kind != MOCK_TARGET_HOST))
    return nullptr;
  uint8_t *bytes = mock_memory_bytes(work->host, target->place.memory);
  return bytes == nullptr ? nullptr : bytes + target->place.offset;
}

// Takes the next descriptor into the packet. False: it is not there, or of another lap.
bool ring_fetch(const mock_udma_work_t *work, uint32_t engine, ring_t *ring) {
  uint32_t at = mock_udma_advance(ring->head, ring->count, ring->length);
  uint64_t index = at & NEURON_UDMA_POINTER_INDEX;
  mock_target_t target;
  const uint8_t *slot = slot_bytes(work, ring->base + index * NEURON_DMA_DESC_SIZE, &target);
  if (slot == nullptr)
    return false;
  neuron_dma_desc *desc = &ring->descs[ring->count++];
  memcpy(desc, slot, sizeof(*desc));
  uint32_t id = desc->len_ctrl >> NEURON_DMA_DESC_RING_ID_SHIFT & 3;
  return (desc->len_ctrl & NEURON_DMA_DESC_RESERVED) == 0 &&
         (!checks_ring_ids(work, engine) || id == at >> NEURON_UDMA_POINTER_RING_ID_SHIFT);
}

// Plain copies only: no compute, checksum or byte-swap descriptors.
bool tx_allowed(const neuron_dma_desc &d, bool first) {
  constexpr uint32_t FREE = NEURON_DMA_META_WRITE_BARRIER | NEURON_DMA_META_BLOCK_BITS;
  return ((d.len_ctrl & NEURON_DMA_DESC_FIRST) != 0) == first &&
         (d.len_ctrl & NEURON_DMA_DESC_META) == 0 &&
         (d.meta_ctrl & ~FREE) == (NEURON_DMA_META_COPY & ~FREE);
}

step_t tx_collect(const mock_udma_work_t *work, packet_t *p, uint64_t *bytes) {
  ring_t *tx = &p->tx;
  *bytes = 0;
  while (tx->count < tx->pending) {
    if (tx->count == MAX_DESCS || !ring_fetch(work, p->engine, tx))
      return STEP_FAULT;
    const neuron_dma_desc &d = tx->descs[tx->count - 1];
    *bytes += desc_bytes(d);
    if (!tx_allowed(d, tx->count == 1) || *bytes > NEURON_DMA_PACKET_BYTES_MAX)
      return STEP_FAULT;
    if ((d.len_ctrl & NEURON_DMA_DESC_LAST) != 0)
      return STEP_READY;
  }
  return STEP_WAIT;
}

step_t rx_collect(const mock_udma_work_t *work, packet_t *p, uint64_t bytes) {
  ring_t *rx = &p->rx;
  uint64_t room = 0;
  while (room < bytes) {
    if (rx->count == rx->pending)
      return STEP_WAIT;
    if (rx->count == MAX_DESCS || !ring_fetch(work, p->engine, rx))
      return STEP_FAULT;
    const neuron_dma_desc &d = rx->descs[rx->count - 1];
    if ((d.len_ctrl & (NEURON_DMA_DESC_META | NEURON_DMA_DESC_CONCAT)) != 0)
      return STEP_FAULT;
    room += desc_bytes(d);
  }
  return STEP_READY;
}

step_t packet_collect(mock_udma_work_t *work, packet_t *p) {
  for (uint64_t side : MOCK_UDMA_SIDES)
    if (mock_udma_state(work->host, work->device, p->engine, side) != NEURON_UDMA_NORMAL)
      return STEP_WAIT;
  uint64_t registers = NEURON_UDMA_QUEUE(p->queue);
  if (!ring_load(work, p->engine, registers, &p->tx) ||
      !ring_load(work, p->engine, registers + NEURON_UDMA_RX, &p->rx))
    return STEP_WAIT;
  uint64_t bytes;
  step_t step = tx_collect(work, p, &bytes);
  return step == STEP_READY ? rx_collect(work, p, bytes) : step;
}

bool port_open(const mock_udma_work_t *work, const neuron_dma_desc &d, bool for_writing,
               mock_port_t *port) {
  return mock_port_open(work->host, work->device->index, d.address, desc_bytes(d), for_writing,
                        port);
}

// Bytes up to the first that has nowhere to come from or to go; a packet that ends inside an RX
// descriptor is a mistake of whoever built the rings.
bool packet_move(mock_udma_work_t *work, const packet_t *p) {
  mock_port_t from = {}, to = {};
  uint32_t tx = 0, rx = 0;
  while (from.left != 0 || tx < p->tx.count) {
    if (from.left == 0 && !port_open(work, p->tx.descs[tx++], false, &from))
      return false;
    if (to.left == 0 && !port_open(work, p->rx.descs[rx++], true, &to))
      return false;
    if (!mock_port_move(work->host, work, &from, &to))
      return false;
  }
  return to.left == 0;
}

// A finished descriptor in the completion ring, if there is one.
bool completion_write(const mock_udma_work_t *work, const ring_t *ring, uint32_t index,
                      const neuron_dma_desc &desc) {
  uint64_t address = ring->completion_base + static_cast<uint64_t>(index) * NEURON_DMA_DESC_SIZE;
  mock_target_t target;
  uint8_t *slot = slot_bytes(work, address, &target);
  if (slot == nullptr || !mock_target_claim(work->host, &target, NEURON_DMA_DESC_SIZE, true))
    return false;
  memcpy(slot, &desc, sizeof(desc));
  return true;
}

bool ring_complete(mock_udma_work_t *work, uint32_t engine, const ring_t *ring) {
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

void queue_run(mock_udma_work_t *work, uint32_t engine, uint32_t queue) {
  packet_t p;
  p.engine = engine;
  p.queue = queue;
  step_t step;
  while ((step = packet_collect(work, &p)) == STEP_READY) {
    if (!packet_move(work, &p) || !ring_complete(work, engine, &p.tx) ||
        !ring_complete(work, engine, &p.rx)) {
      step = STEP_FAULT;
      break;
    }
  }
  if (step != STEP_FAULT)
    return;
  work->device->udma_queues[engine][queue].faulted = 1;
  mock_udma_abort(work, engine);
}

}  // namespace

void mock_udma_drain(mock_udma_work_t *work) {
  work->running = true;
  while (work->count != 0) {
    uint32_t n = work->order[work->first];
    work->first = (work->first + 1) % MOCK_UDMA_QUEUES;
    work->count--;
    work->queued[n / 64] &= ~(1ull << (n % 64));
    queue_run(work, n / NEURON_DMA_QUEUES_PER_ENGINE, n % NEURON_DMA_QUEUES_PER_ENGINE);
  }
}
