// SPDX-License-Identifier: Apache-2.0
// The scheduler of one core. Deterministic unless there is a seed: engines in order, each until it
// blocks. With a seed every step is drawn at random: a record of an engine, or a transfer that
// moves.
#include "mock_dev/core.h"

#include "base/clock.h"
#include "mock_dev/core_pool.h"
#include "mock_dev/core_rings.h"
#include "mock_dev/engine.h"
#include "mock_dev/engine_registers.h"
#include "mock_dev/semaphore.h"
#include "mock_dev/watch.h"

namespace {

constexpr uint32_t STEPS_PER_LOOK = 32;  // at the clock
constexpr uint32_t TURN_RECORDS = 1024;

thread_local mock_core_t *current;  // the core this thread runs

// A register of the core's events was written by what the core itself has set going.
void written(mock_core_t *core, uint64_t offset) {
  if (offset < NEURON_SEMAPHORE_READ) {
    if (offset / 4 < MOCK_SIM_COUNTERS)
      core->sim.events[offset / 4] = core->now;
    return;
  }
  auto index = static_cast<uint32_t>(offset % (NEURON_SEMAPHORE_SET - NEURON_SEMAPHORE_READ) / 4);
  uint64_t reg = NEURON_SEMAPHORE_READ + 4ull * index;
  mock_sim_semaphore(&core->sim, index,
                     static_cast<int32_t>(mock_semaphore_read(core->events, reg)), core->now);
}

bool time_over(mock_core_t *core) {
  if (--core->until_look != 0)
    return false;
  core->until_look = STEPS_PER_LOOK;
  return clock_now_ns() >= core->stop_at || __atomic_load_n(core->stop_all, __ATOMIC_RELAXED) != 0;
}

// One record of the engine whose turn it is, which lasts until it blocks or for TURN_RECORDS: one
// that loops must not keep the others waiting. A core that was given back continues where it was.
// Packets move before that. False: no engine has moved in its last turn.
bool ordered_step(mock_core_t *core) {
  mock_turn_t *turn = &core->turn;
  mock_core_rings_drain(core);
  while (turn->still < ISA_ENGINE_COUNT) {
    if (mock_engine_step(core, static_cast<isa_engine_t>(turn->engine)) == MOCK_STEP_RAN) {
      turn->still = 0;
      if (++turn->records < TURN_RECORDS)
        return true;
    } else {
      turn->still++;
    }
    turn->records = 0;
    turn->engine = (turn->engine + 1) % ISA_ENGINE_COUNT;
    if (turn->still == 0)
      return true;
  }
  return false;
}

uint32_t draw(mock_core_t *core, uint32_t below) {  // splitmix64
  uint64_t z = core->rng += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>((z ^ (z >> 31)) % below);
}

// With even seeds bytes nearly always move last, when no engine can go on: what does not wait for
// them shows then, the end of a run too.
bool moves_late(mock_core_t *core) {
  constexpr uint32_t EXCEPTION = 256;
  return core->options.seed % 2 == 0 && draw(core, EXCEPTION) != 0;
}

void unblock(mock_core_t *core) {
  for (mock_engine_run_t &run : core->engines)
    run.blocked = false;
}

uint32_t pending_at(const mock_core_t *core, uint32_t n) {
  uint32_t i = 0;
  while (!core->pending[i].used || n-- != 0)
    ++i;
  return i;
}

// One thing that can move, drawn from all. False: nothing can.
bool random_step(mock_core_t *core) {
  uint32_t rings = mock_core_rings_ready(core);
  for (;;) {
    uint32_t engines[ISA_ENGINE_COUNT], count = 0;
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
      if (!core->engines[e].blocked && mock_engine_enabled(&core->arch[e]))
        engines[count++] = e;
    uint32_t transfers = core->pending_count;
    if (count + transfers + rings == 0)
      return false;
    uint32_t n = draw(core, count + transfers + rings);
    if (n >= count && count != 0 && moves_late(core))
      n = draw(core, count);
    if (n < count) {
      if (mock_engine_step(core, static_cast<isa_engine_t>(engines[n])) != MOCK_STEP_RAN) {
        core->engines[engines[n]].blocked = true;  // also when it was halted meanwhile
        continue;
      }
    } else if (n < count + transfers) {
      mock_core_transfer_finish(core, pending_at(core, n - count));
    } else {
      mock_core_rings_step(core, core->ready[n - count - transfers]);
    }
    unblock(core);
    return true;
  }
}

// Maps the core's memory on first use.
bool window_open(mock_core_t *core) {
  if (core->window != nullptr)
    return true;
  mock_host *host = core->host;
  uint8_t *bytes = mock_memory_bytes(host, &host->device_memory[core->device->index]);
  if (bytes == nullptr)
    return false;
  core->window = bytes + mock_memory_core_offset(host->state, core->index);
  core->events = core->window + NEURON_BAR0_EVENT_OFFSET;
  return true;
}

// Nothing can run.
void refuse(mock_core_t *core) {
  constexpr isa_record NONE = {};
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
    if (mock_engine_enabled(&core->arch[e]))
      mock_engine_fault(core, static_cast<isa_engine_t>(e), mock_engine_pc(&core->arch[e]), &NONE,
                        PROJECT_ERROR_SEQUENCER_FATAL, "no host memory for the core");
}

// What was under way before a reset of the core is void.
void forget(mock_core_t *core) {
  uint32_t resets = __atomic_load_n(&core->device->engine_resets[core->index], __ATOMIC_ACQUIRE);
  if (resets == core->resets)
    return;
  core->resets = resets;
  mock_core_transfers_drop(core);
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
    if (!mock_engine_enabled(&core->arch[e]))
      __atomic_store_n(&core->arch[e].active, 0, __ATOMIC_RELAXED);
}

void begin(mock_core_t *core) {
  forget(core);
  if (!core->given_back && !mock_core_active(core->device, core->index))
    mock_sim_align(&core->sim);
  mock_core_rings_hold(core);
  unblock(core);
}

mock_core_result_t run(mock_core_t *core) {
  for (;;) {
    if (core->options.seed == 0 ? ordered_step(core) : random_step(core)) {
      if (time_over(core))
        return MOCK_CORE_TIME_OVER;
      continue;
    }
    core->turn = {};
    if (__atomic_exchange_n(&core->run, MOCK_RUN_BUSY, __ATOMIC_ACQ_REL) == MOCK_RUN_AGAIN) {
      unblock(core);
      continue;
    }
    forget(core);
    if (mock_core_active(core->device, core->index))
      return MOCK_CORE_QUIET;
    mock_core_rings_release(core);
    if (__atomic_load_n(&core->run, __ATOMIC_ACQUIRE) == MOCK_RUN_BUSY)
      return MOCK_CORE_QUIET;
    mock_core_rings_hold(core);
  }
}

}  // namespace

bool mock_core_active(const mock_device_t *device, uint32_t core) {
  for (const mock_engine_t &engine : device->engines[core])
    if (__atomic_load_n(&engine.active, __ATOMIC_ACQUIRE) != 0)
      return true;
  return false;
}

mock_core_result_t mock_core_run(mock_core_t *core, uint64_t stop_at) {
  core->stop_at = stop_at;
  core->until_look = STEPS_PER_LOOK;
  current = core;
  if (!window_open(core))
    refuse(core);
  begin(core);
  mock_core_result_t result = run(core);
  core->given_back = result == MOCK_CORE_TIME_OVER;
  current = nullptr;
  return result;
}

void mock_core_event_written(mock_host *host, uint32_t device, uint32_t core, uint64_t offset) {
  mock_core_t *own = current;
  if (own != nullptr && own->host == host) {
    if (own->device->index == device && own->index == core)
      written(own, offset);
    if (own->watch != nullptr)
      own->watch->register_written(own->watch, own->actor, device, core, offset);
  }
  mock_core_kick(host, device, core);
}

void mock_core_port_opened(mock_host *host, const mock_target_t *target, uint64_t length,
                           bool for_writing) {
  mock_core_t *own = current;
  if (own != nullptr && own->host == host && own->watch != nullptr && own->actor >= MOCK_WATCH_RING)
    own->watch->packet_access(own->watch, own->actor, target, length, for_writing);
}
