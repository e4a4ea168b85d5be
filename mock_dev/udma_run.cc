// SPDX-License-Identifier: Apache-2.0
// When packets move: at once, one queue after the other, or a packet at a time while the engines of
// a core are held. One order only within a ring, so every barrier holds.
#include <algorithm>

#include "mock_dev/udma_packet.h"

namespace {

constexpr uint32_t QUEUES = NEURON_DMA_QUEUES_PER_ENGINE;

// What was poisoned of a ring is counted from its head.
void poisoned_less(uint32_t *poisoned, uint32_t count) {
  *poisoned -= std::min(*poisoned, count);
}

// What was found at the head of a queue.
mock_udma_find_t packet_run(mock_udma_work_t *work, mock_udma_find_t found,
                            const mock_udma_packet_t *p) {
  if (found == MOCK_UDMA_READY &&
      (!mock_udma_packet_move(work, p) || !mock_udma_packet_complete(work, p)))
    found = MOCK_UDMA_FAULT;
  mock_udma_queue_t *q = &work->device->udma_queues[p->engine][p->queue];
  if (found == MOCK_UDMA_READY) {
    poisoned_less(&q->poisoned_tx, p->tx.count);
    poisoned_less(&q->poisoned_rx, p->rx.count);
  } else if (found == MOCK_UDMA_FAULT) {
    q->faulted = 1;
    mock_udma_abort(work, p->engine);
  }
  return found;
}

void queue_run(mock_udma_work_t *work, uint32_t engine, uint32_t queue) {
  mock_udma_packet_t p;
  mock_udma_find_t found = mock_udma_packet_find(work, engine, queue, 0, 0, &p);
  while (packet_run(work, found, &p) == MOCK_UDMA_READY)
    found = mock_udma_packet_next(work, &p);
}

uint64_t tx_pending(const mock_udma_work_t *work, uint32_t engine, uint32_t queue) {
  return static_cast<uint64_t>(
      std::max<int64_t>(mock_udma_pending_in(work, engine, NEURON_UDMA_QUEUE(queue)), 0));
}

// Queues of an engine with TX descriptors to take, as bits.
uint32_t busy_queues(const mock_udma_work_t *work, uint32_t engine) {
  uint16_t *busy = &work->device->udma_busy[engine];
  for (uint32_t bits = *busy; bits != 0; bits &= bits - 1) {
    auto queue = static_cast<uint32_t>(__builtin_ctz(bits));
    if (tx_pending(work, engine, queue) == 0)
      *busy = static_cast<uint16_t>(*busy & ~(1u << queue));
  }
  return *busy;
}

uint32_t first_engine(uint32_t core) {
  return core * NEURON_DMA_ENGINES_PER_CORE;
}

}  // namespace

void mock_udma_drain(mock_udma_work_t *work) {
  work->running = true;
  while (work->count != 0) {
    uint32_t n = work->order[work->first];
    work->first = (work->first + 1) % MOCK_UDMA_QUEUES;
    work->count--;
    work->queued[n / 64] &= ~(1ull << (n % 64));
    queue_run(work, n / QUEUES, n % QUEUES);
  }
}

void mock_udma_poison_new(mock_udma_work_t *work, uint32_t engine, uint32_t queue) {
  mock_udma_queue_t *q = &work->device->udma_queues[engine][queue];
  mock_udma_packet_t p;
  while (mock_udma_packet_find(work, engine, queue, q->poisoned_tx, q->poisoned_rx, &p) ==
         MOCK_UDMA_READY) {
    mock_udma_packet_poison(work, &p);
    q->poisoned_tx += p.tx.count;
    q->poisoned_rx += p.rx.count;
  }
}

void mock_udma_hold(mock_host *host, mock_device_t *device, uint32_t core, mock_udma_hold_t hold) {
  mock_guard_t guard(&device->dma_lock);
  device->udma_hold[core] = hold;
  if (hold != MOCK_UDMA_FREE)
    return;
  mock_udma_work_t work;
  mock_udma_work_init(&work, host, device);
  for (uint32_t e = first_engine(core); e < first_engine(core + 1); ++e)
    for (uint32_t bits = busy_queues(&work, e); bits != 0; bits &= bits - 1)
      mock_udma_work_push(&work, e, static_cast<uint32_t>(__builtin_ctz(bits)));
  mock_udma_drain(&work);
}

uint32_t mock_udma_ready(mock_host *host, mock_device_t *device, uint32_t core,
                         mock_udma_ref_t out[MOCK_UDMA_CORE_QUEUES]) {
  mock_guard_t guard(&device->dma_lock);
  mock_udma_work_t work;
  mock_udma_work_init(&work, host, device);
  uint32_t count = 0;
  mock_udma_packet_t p;
  for (uint32_t e = first_engine(core); e < first_engine(core + 1); ++e) {
    for (uint32_t bits = busy_queues(&work, e); bits != 0; bits &= bits - 1) {
      auto queue = static_cast<uint32_t>(__builtin_ctz(bits));
      if (mock_udma_packet_find(&work, e, queue, 0, 0, &p) != MOCK_UDMA_WAIT)
        out[count++] = {static_cast<uint16_t>(e), static_cast<uint16_t>(queue)};
    }
  }
  return count;
}

mock_udma_step_t mock_udma_step(mock_host *host, mock_device_t *device, uint32_t engine,
                                uint32_t queue, uint64_t *bytes) {
  mock_guard_t guard(&device->dma_lock);
  mock_udma_work_t work;
  mock_udma_work_init(&work, host, device);
  work.running = true;
  mock_udma_packet_t p;
  mock_udma_find_t found =
      packet_run(&work, mock_udma_packet_find(&work, engine, queue, 0, 0, &p), &p);
  mock_udma_drain(&work);  // queues of others that the packet set going
  *bytes = found == MOCK_UDMA_READY ? p.bytes : 0;
  if (found == MOCK_UDMA_FAULT)
    return MOCK_UDMA_STOPPED;
  return found == MOCK_UDMA_READY ? MOCK_UDMA_MOVED : MOCK_UDMA_NOTHING;
}

uint64_t mock_udma_outstanding(mock_host *host, mock_device_t *device, uint32_t core) {
  mock_guard_t guard(&device->dma_lock);
  mock_udma_work_t work;
  mock_udma_work_init(&work, host, device);
  uint64_t count = 0;
  for (uint32_t e = first_engine(core); e < first_engine(core + 1); ++e)
    for (uint32_t bits = busy_queues(&work, e); bits != 0; bits &= bits - 1)
      count += tx_pending(&work, e, static_cast<uint32_t>(__builtin_ctz(bits)));
  return count;
}
