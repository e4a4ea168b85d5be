// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/core_rings.h"

#include <algorithm>

#include "mock_dev/engine.h"
#include "mock_dev/watch.h"

namespace {

constexpr uint32_t TRACE_RINGS = 16;  // + DMA engine

void trace(const mock_core_t *core, uint32_t engine, uint64_t start, uint64_t end, uint64_t bytes) {
  static const isa_record NONE = {};
  mock_exec_event_t event = {core->device->index,
                             core->index,
                             TRACE_RINGS + engine,
                             0,
                             reinterpret_cast<const uint8_t *>(&NONE),
                             start,
                             end,
                             bytes};
  core->trace(core->trace_user, &event);
}

}  // namespace

void mock_core_rings_hold(mock_core_t *core) {
  if (core->held)
    return;
  core->held = true;
  mock_udma_hold(core->host, core->device, core->index,
                 core->options.seed == 0 ? MOCK_UDMA_HELD : MOCK_UDMA_HELD_POISONED);
}

void mock_core_rings_release(mock_core_t *core) {
  if (!core->held)
    return;
  core->held = false;
  mock_udma_hold(core->host, core->device, core->index, MOCK_UDMA_FREE);
}

uint32_t mock_core_rings_ready(mock_core_t *core) {
  if (__atomic_load_n(&core->rings, __ATOMIC_ACQUIRE) == 0)
    return 0;
  __atomic_store_n(&core->rings, 0, __ATOMIC_RELEASE);
  uint32_t count = mock_udma_ready(core->host, core->device, core->index, core->ready);
  if (count != 0)
    __atomic_store_n(&core->rings, 1, __ATOMIC_RELEASE);
  return count;
}

void mock_core_rings_step(mock_core_t *core, mock_udma_ref_t queue) {
  uint32_t engine = queue.engine % NEURON_DMA_ENGINES_PER_CORE;
  uint64_t start = std::max(core->ring_clock[engine], core->doorbell);
  // The bytes of a packet are known when it has moved: what it raises counts from its start.
  core->now = start + mock_sim_transfer_ps(0);
  core->actor = MOCK_WATCH_RING + engine * NEURON_DMA_QUEUES_PER_ENGINE + queue.queue;
  if (core->watch != nullptr)
    core->watch->packet_begin(core->watch, core->actor);
  uint64_t bytes = 0;
  mock_udma_step_t step =
      mock_udma_step(core->host, core->device, queue.engine, queue.queue, &bytes);
  if (step != MOCK_UDMA_MOVED)
    return;
  core->ring_clock[engine] = start + mock_sim_packet_ps(bytes);
  mock_count(&core->counts.transfers, 1);
  mock_count(&core->counts.transfer_bytes, bytes);
  if (core->trace != nullptr)
    trace(core, engine, start, core->ring_clock[engine] + mock_sim_transfer_ps(0), bytes);
}

void mock_core_rings_drain(mock_core_t *core) {
  while (uint32_t count = mock_core_rings_ready(core))
    for (uint32_t i = 0; i < count; ++i)
      mock_core_rings_step(core, core->ready[i]);
}
