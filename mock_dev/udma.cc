// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/udma.h"

#include <algorithm>
#include <cstring>

#include "mock_dev/chunk.h"
#include "mock_dev/core_kick.h"
#include "mock_dev/fault.h"
#include "mock_dev/notify.h"

namespace {

constexpr uint64_t PAGE = 0x1000;
static_assert(NEURON_UDMA_BLOCK_SIZE / PAGE == 64, "one bit per page in udma_written");
static_assert(NEURON_UDMA_QUEUE(NEURON_DMA_QUEUES_PER_ENGINE) <= NEURON_UDMA_RX);
constexpr uint32_t DUMMY_DESCS = 64;
constexpr uint32_t POINTER_RESET = NEURON_UDMA_FIRST_RING_ID << NEURON_UDMA_POINTER_RING_ID_SHIFT;
constexpr uint32_t STATE_FIELDS = 0x1111;  // one state in each of the four fields
constexpr uint32_t ADDRESS_LOW_BITS = 0x3f;

uint64_t side_of(uint64_t offset) {
  return offset & NEURON_UDMA_RX;
}

constexpr uint32_t QUEUE_RESETS = NEURON_UDMA_CURRENT / sizeof(uint32_t) + 1;
struct queue_resets_t {
  uint32_t word[QUEUE_RESETS];
};

constexpr queue_resets_t queue_resets() {
  queue_resets_t resets = {};
  resets.word[NEURON_UDMA_CONFIG / sizeof(uint32_t)] = NEURON_UDMA_CONFIG_RESET;
  for (uint64_t reg : {NEURON_UDMA_HEAD, NEURON_UDMA_TAIL, NEURON_UDMA_CURRENT})
    resets.word[reg / sizeof(uint32_t)] = POINTER_RESET;
  return resets;
}

// What a register holds after probe. Storage keeps the difference to it, so fresh memory is right.
uint32_t reset_value(uint64_t offset) {
  static constexpr queue_resets_t RESETS = queue_resets();
  uint64_t reg;
  if (mock_udma_queue_register(offset, nullptr, &reg))
    return reg <= NEURON_UDMA_CURRENT ? RESETS.word[reg / sizeof(uint32_t)] : 0;
  return (offset & ~NEURON_UDMA_RX) == NEURON_UDMA_STATE ? NEURON_UDMA_STATE_NORMAL * STATE_FIELDS
                                                         : 0;
}

uint32_t *cell_of(const mock_udma_work_t *work, uint32_t engine, uint64_t offset) {
  return reinterpret_cast<uint32_t *>(work->host->region + work->device->udma_registers +
                                      engine * NEURON_UDMA_BLOCK_SIZE + offset);
}

// Whether the scheduler of the core the engine belongs to runs its queues.
mock_udma_hold_t hold_of(const mock_udma_work_t *work, uint32_t engine) {
  uint32_t core = engine / NEURON_DMA_ENGINES_PER_CORE;
  return core < work->host->state->cores ? work->device->udma_hold[core] : MOCK_UDMA_FREE;
}

uint32_t *poisoned_of(const mock_udma_work_t *work, uint32_t engine, uint32_t queue,
                      uint64_t queue_base) {
  mock_udma_queue_t *q = &work->device->udma_queues[engine][queue];
  return side_of(queue_base) != 0 ? &q->poisoned_rx : &q->poisoned_tx;
}

void busy_set(mock_udma_work_t *work, uint32_t engine, uint32_t queue) {
  uint16_t *busy = &work->device->udma_busy[engine];
  *busy = static_cast<uint16_t>(*busy | 1u << queue);
}

void side_reset(mock_udma_work_t *work, uint32_t engine, uint64_t queue_base) {
  for (uint64_t reg : {NEURON_UDMA_HEAD, NEURON_UDMA_TAIL, NEURON_UDMA_CURRENT})
    mock_udma_put(work, engine, queue_base + reg, POINTER_RESET);
  mock_udma_put(work, engine, queue_base + NEURON_UDMA_COMPLETION_HEAD, 0);
  mock_udma_put(work, engine, queue_base + NEURON_UDMA_STATUS, 0);
  uint32_t queue;
  if (!mock_udma_queue_register(queue_base, &queue, nullptr))
    return;
  work->device->udma_queues[engine][queue].faulted = 0;
  *poisoned_of(work, engine, queue, queue_base) = 0;
}

// Counts descriptors that a transfer submits. False: too many.
bool chain(mock_udma_work_t *work, uint64_t count) {
  return !work->running || (work->chained += count) <= MOCK_UDMA_CHAIN_LIMIT;
}

// Pointers that move back submit descriptors anew.
bool software_control(mock_udma_work_t *work, uint32_t engine, uint32_t queue, uint64_t queue_base,
                      uint32_t value) {
  if ((value & NEURON_UDMA_RESET_QUEUE) != 0)
    side_reset(work, engine, queue_base);
  if ((value & NEURON_UDMA_RESET_TAIL) != 0)
    mock_udma_put(work, engine, queue_base + NEURON_UDMA_TAIL, POINTER_RESET);
  if ((value & NEURON_UDMA_RESET_HEAD) != 0)
    mock_udma_put(work, engine, queue_base + NEURON_UDMA_HEAD, POINTER_RESET);
  if ((value & NEURON_UDMA_RESET_CURRENT) != 0)
    mock_udma_put(work, engine, queue_base + NEURON_UDMA_CURRENT, POINTER_RESET);
  if ((value & NEURON_UDMA_RESET_HEAD) != 0)
    *poisoned_of(work, engine, queue, queue_base) = 0;
  busy_set(work, engine, queue);
  return chain(work, static_cast<uint64_t>(
                         std::max<int64_t>(mock_udma_pending_in(work, engine, queue_base), 0)));
}

// More than the ring has room for, or no ring at all: the engine stops.
bool doorbell(mock_udma_work_t *work, uint32_t engine, uint32_t queue, uint64_t queue_base,
              uint32_t count) {
  if (count == 0)
    return true;
  if (!chain(work, count))
    return false;
  if (mock_fault_event(work->host, MOCK_FAULT_DMA_ABORT)) {
    mock_udma_abort(work, engine);
    return true;
  }
  uint32_t length = mock_udma_get(work, engine, queue_base + NEURON_UDMA_LENGTH);
  uint32_t tail = mock_udma_get(work, engine, queue_base + NEURON_UDMA_TAIL);
  int64_t pending = mock_udma_pending_in(work, engine, queue_base);
  if (pending < 0 || count > length - pending) {
    mock_udma_abort(work, engine);
    return true;
  }
  mock_udma_put(work, engine, queue_base + NEURON_UDMA_TAIL,
                mock_udma_advance(tail, count, length));
  mock_udma_work_push(work, engine, queue);
  return true;
}

bool apply_queue(mock_udma_work_t *work, uint32_t engine, uint64_t offset, uint32_t queue,
                 uint64_t reg, uint32_t value) {
  uint64_t queue_base = offset - reg;
  bool rx = side_of(offset) != 0;
  switch (reg) {
    case NEURON_UDMA_TAIL_INCREMENT:
      return doorbell(work, engine, queue, queue_base, value & NEURON_UDMA_POINTER_INDEX);
    case NEURON_UDMA_STATUS:
    case NEURON_UDMA_HEAD:
    case NEURON_UDMA_TAIL:
    case NEURON_UDMA_CURRENT:
    case NEURON_UDMA_COMPLETION_HEAD:
      return true;  // read only
    case NEURON_UDMA_LENGTH:
      mock_udma_put(work, engine, offset, value & NEURON_UDMA_POINTER_INDEX);
      return true;
    case NEURON_UDMA_BASE_LOW:
    case NEURON_UDMA_COMPLETION_LOW:
      mock_udma_put(work, engine, offset, value & ~ADDRESS_LOW_BITS);
      return true;
    case NEURON_UDMA_CONFIG:
      mock_udma_put(work, engine, offset, value);
      mock_udma_work_push(work, engine, queue);
      return true;
    default:
      break;
  }
  if (reg == (rx ? NEURON_UDMA_RX_SOFTWARE_CONTROL : NEURON_UDMA_TX_SOFTWARE_CONTROL))
    return software_control(work, engine, queue, queue_base, value);
  mock_udma_put(work, engine, offset, value);
  return true;
}

void change_state(mock_udma_work_t *work, uint32_t engine, uint64_t side, uint32_t value) {
  uint32_t state;
  if ((value & NEURON_UDMA_TO_ABORT) != 0)
    state = NEURON_UDMA_STATE_ABORT;
  else if ((value & NEURON_UDMA_TO_DISABLED) != 0)
    state = NEURON_UDMA_STATE_IDLE;
  else if ((value & NEURON_UDMA_TO_NORMAL) != 0)
    state = NEURON_UDMA_STATE_NORMAL;
  else
    return;
  mock_udma_put(work, engine, side + NEURON_UDMA_STATE, state * STATE_FIELDS);
  for (uint32_t q = 0; q < NEURON_DMA_QUEUES_PER_ENGINE; ++q)
    mock_udma_work_push(work, engine, q);
}

bool apply_one(mock_udma_work_t *work, uint32_t engine, uint64_t offset, uint32_t value) {
  uint32_t queue;
  uint64_t reg;
  if (mock_udma_queue_register(offset, &queue, &reg))
    return apply_queue(work, engine, offset, queue, reg, value);
  uint64_t side = side_of(offset);
  if (offset - side == NEURON_UDMA_CHANGE_STATE)
    change_state(work, engine, side, value);
  else if (offset - side != NEURON_UDMA_STATE)
    mock_udma_put(work, engine, offset, value);
  return true;
}

bool apply_broadcast(mock_udma_work_t *work, const mock_target_t *target, uint32_t value) {
  uint64_t reg;
  uint32_t skip = 0;
  // Only doorbells carry a mask; other values use all 32 bits.
  if (mock_udma_queue_register(target->offset, nullptr, &reg) &&
      reg == NEURON_UDMA_TAIL_INCREMENT) {
    skip = value >> NEURON_UDMA_BROADCAST_SKIP_SHIFT;
    value &= NEURON_UDMA_BROADCAST_COUNT;
  }
  uint32_t first = target->index * NEURON_DMA_ENGINES_PER_CORE;
  for (uint32_t e = 0; e < NEURON_DMA_ENGINES_PER_CORE; ++e)
    if ((skip >> e & 1) == 0 && !apply_one(work, first + e, target->offset, value))
      return false;
  return true;
}

}  // namespace

int mock_udma_probe(mock_host *host, mock_device_t *device) {
  uint32_t chunk;
  int rc = mock_chunk_create_driver(host, device, MOCK_PAGE, 0, &chunk);
  if (rc == 0)
    device->udma_dummy = mock_chunk_at(host, device, chunk)->pa;
  return rc;
}

bool mock_udma_queue_register(uint64_t offset, uint32_t *queue, uint64_t *reg) {
  uint64_t at = (offset & ~NEURON_UDMA_RX) - NEURON_UDMA_QUEUE(0);
  uint64_t q = at / PAGE;
  if (q >= NEURON_DMA_QUEUES_PER_ENGINE)
    return false;
  if (queue != nullptr)
    *queue = static_cast<uint32_t>(q);
  if (reg != nullptr)
    *reg = at % PAGE;
  return true;
}

uint32_t mock_udma_get(const mock_udma_work_t *work, uint32_t engine, uint64_t offset) {
  uint32_t value = reset_value(offset);
  if ((work->device->udma_written[engine] >> (offset / PAGE) & 1) != 0)
    value ^= *cell_of(work, engine, offset);
  return value;
}

uint64_t mock_udma_get64(const mock_udma_work_t *work, uint32_t engine, uint64_t offset) {
  return mock_udma_get(work, engine, offset) |
         static_cast<uint64_t>(mock_udma_get(work, engine, offset + sizeof(uint32_t))) << 32;
}

void mock_udma_put(mock_udma_work_t *work, uint32_t engine, uint64_t offset, uint32_t value) {
  work->device->udma_written[engine] |= 1ull << (offset / PAGE);
  *cell_of(work, engine, offset) = value ^ reset_value(offset);
}

void mock_udma_work_init(mock_udma_work_t *work, mock_host *host, mock_device_t *device) {
  work->host = host;
  work->device = device;
  work->running = false;
  work->chained = work->epoch = 0;
  work->first = work->count = 0;
  memset(work->queued, 0, sizeof(work->queued));
}

void mock_udma_work_push(mock_udma_work_t *work, uint32_t engine, uint32_t queue) {
  busy_set(work, engine, queue);
  mock_udma_hold_t hold = hold_of(work, engine);
  if (hold == MOCK_UDMA_HELD_POISONED)
    mock_udma_poison_new(work, engine, queue);
  if (hold != MOCK_UDMA_FREE)
    return mock_core_kick_rings(work->host, work->device->index,
                                engine / NEURON_DMA_ENGINES_PER_CORE);
  uint32_t n = engine * NEURON_DMA_QUEUES_PER_ENGINE + queue;
  uint64_t bit = 1ull << (n % 64);
  if ((work->queued[n / 64] & bit) != 0)
    return;
  work->queued[n / 64] |= bit;
  work->order[(work->first + work->count++) % MOCK_UDMA_QUEUES] = static_cast<uint16_t>(n);
}

bool mock_udma_apply(mock_udma_work_t *work, const mock_target_t *target, uint32_t value) {
  work->epoch++;
  if (target->kind == MOCK_TARGET_UDMA_BROADCAST)
    return apply_broadcast(work, target, value);
  return apply_one(work, target->index, target->offset, value);
}

void mock_udma_abort(mock_udma_work_t *work, uint32_t engine) {
  uint32_t core = engine / NEURON_DMA_ENGINES_PER_CORE;
  if (core < work->host->state->cores)
    mock_notify_error(work->host, work->device, core, PROJECT_ERROR_DMA_ABORT,
                      ISA_ENGINE_COUNT + engine % NEURON_DMA_ENGINES_PER_CORE, 0, 0);
  for (uint64_t side : MOCK_UDMA_SIDES)
    mock_udma_put(work, engine, side + NEURON_UDMA_STATE, NEURON_UDMA_STATE_ABORT * STATE_FIELDS);
}

uint32_t mock_udma_advance(uint32_t pointer, uint32_t count, uint32_t length) {
  uint32_t index = (pointer & NEURON_UDMA_POINTER_INDEX) + count;
  uint32_t id = pointer >> NEURON_UDMA_POINTER_RING_ID_SHIFT;
  if (index >= length) {
    index -= length;
    ++id;  // two bits: the shift drops the rest
  }
  return index | id << NEURON_UDMA_POINTER_RING_ID_SHIFT;
}

int64_t mock_udma_pending(uint32_t head, uint32_t tail, uint32_t length) {
  uint32_t laps =
      (tail >> NEURON_UDMA_POINTER_RING_ID_SHIFT) - (head >> NEURON_UDMA_POINTER_RING_ID_SHIFT);
  int64_t from = head & NEURON_UDMA_POINTER_INDEX, to = tail & NEURON_UDMA_POINTER_INDEX;
  int64_t pending = (laps & 3) * static_cast<int64_t>(length) + to - from;
  return from < length && to < length && pending >= 0 && pending <= length ? pending : -1;
}

int64_t mock_udma_pending_in(const mock_udma_work_t *work, uint32_t engine, uint64_t queue_base) {
  return mock_udma_pending(mock_udma_get(work, engine, queue_base + NEURON_UDMA_HEAD),
                           mock_udma_get(work, engine, queue_base + NEURON_UDMA_TAIL),
                           mock_udma_get(work, engine, queue_base + NEURON_UDMA_LENGTH));
}

uint32_t mock_udma_read(mock_host *host, mock_device_t *device, uint32_t engine, uint64_t offset) {
  mock_udma_work_t work;
  work.host = host;
  work.device = device;
  return mock_udma_get(&work, engine, offset);
}

uint64_t mock_udma_read64(mock_host *host, mock_device_t *device, uint32_t engine,
                          uint64_t offset) {
  mock_udma_work_t work;
  work.host = host;
  work.device = device;
  return mock_udma_get64(&work, engine, offset);
}

void mock_udma_write(mock_host *host, mock_device_t *device, const mock_target_t *target,
                     uint32_t value) {
  mock_udma_work_t work;
  mock_udma_work_init(&work, host, device);
  mock_udma_apply(&work, target, value);
  mock_udma_drain(&work);
}

void mock_udma_ring_set(mock_host *host, mock_device_t *device, uint32_t engine, uint32_t queue,
                        uint64_t side, uint64_t base, uint32_t count) {
  mock_udma_work_t work;
  mock_udma_work_init(&work, host, device);
  uint64_t at = side + NEURON_UDMA_QUEUE(queue);
  side_reset(&work, engine, at);
  for (uint64_t reg :
       {NEURON_UDMA_COMPLETION_LOW, NEURON_UDMA_COMPLETION_HIGH,
        side != 0 ? NEURON_UDMA_RX_COMPLETION_CONFIG : NEURON_UDMA_TX_COMPLETION_CONFIG})
    mock_udma_put(&work, engine, at + reg, 0);
  mock_udma_put(&work, engine, at + NEURON_UDMA_BASE_LOW, static_cast<uint32_t>(base));
  mock_udma_put(&work, engine, at + NEURON_UDMA_BASE_HIGH, static_cast<uint32_t>(base >> 32));
  mock_udma_put(&work, engine, at + NEURON_UDMA_LENGTH, count);
  mock_udma_put(
      &work, engine, at + NEURON_UDMA_CONFIG,
      NEURON_UDMA_CONFIG_RESET | NEURON_UDMA_CONFIG_PREFETCH | NEURON_UDMA_CONFIG_SCHEDULE);
  mock_udma_queue_t *q = &device->udma_queues[engine][queue];
  (side != 0 ? q->rx_size : q->tx_size) = count;
}

void mock_udma_start(mock_host *host, mock_device_t *device, uint32_t engine, uint32_t queue,
                     uint32_t tx, uint32_t rx) {
  mock_udma_work_t work;
  mock_udma_work_init(&work, host, device);
  uint64_t at = NEURON_UDMA_QUEUE(queue);
  doorbell(&work, engine, queue, at + NEURON_UDMA_RX, rx);
  doorbell(&work, engine, queue, at, tx);
  mock_udma_drain(&work);
}

uint32_t mock_udma_state(mock_host *host, mock_device_t *device, uint32_t engine, uint64_t side) {
  uint32_t word = mock_udma_read(host, device, engine, side + NEURON_UDMA_STATE);
  if (word == NEURON_UDMA_STATE_NORMAL * STATE_FIELDS)
    return NEURON_UDMA_NORMAL;
  uint32_t state = NEURON_UDMA_IDLE;
  for (uint32_t field = 0; field < 4; ++field) {
    uint32_t value = word >> (4 * field) & 3;
    if (value == NEURON_UDMA_STATE_ABORT)
      return NEURON_UDMA_ABORT;
    if (value == NEURON_UDMA_STATE_NORMAL)
      state = NEURON_UDMA_NORMAL;
  }
  return state;
}

void mock_udma_state_set(mock_host *host, mock_device_t *device, uint32_t engine, uint32_t state) {
  uint32_t value;
  switch (state) {
    case NEURON_UDMA_DISABLED:
      value = NEURON_UDMA_TO_DISABLED;
      break;
    case NEURON_UDMA_NORMAL:
      value = NEURON_UDMA_TO_NORMAL;
      break;
    case NEURON_UDMA_ABORT:
      value = NEURON_UDMA_TO_ABORT;
      break;
    default:
      return;
  }
  mock_udma_work_t work;
  mock_udma_work_init(&work, host, device);
  change_state(&work, engine, 0, value);
  change_state(&work, engine, NEURON_UDMA_RX, value);
  mock_udma_drain(&work);
}

void mock_udma_reset(mock_host *host, mock_device_t *device, uint32_t engine) {
  mock_udma_work_t work;
  mock_udma_work_init(&work, host, device);
  for (uint32_t page = 0; page < NEURON_UDMA_BLOCK_SIZE / PAGE; ++page)
    if ((device->udma_written[engine] >> page & 1) != 0)
      memset(cell_of(&work, engine, page * PAGE), 0, PAGE);
  device->udma_written[engine] = 0;
  device->udma_busy[engine] = 0;
  for (mock_udma_queue_t &queue : device->udma_queues[engine])
    queue = {};
}

void mock_udma_queue_close(mock_host *host, mock_device_t *device, uint32_t engine,
                           uint32_t queue) {
  mock_udma_ring_set(host, device, engine, queue, 0, device->udma_dummy, DUMMY_DESCS);
  mock_udma_ring_set(host, device, engine, queue, NEURON_UDMA_RX, device->udma_dummy, DUMMY_DESCS);
  device->udma_queues[engine][queue].tgid = 0;
}

void mock_udma_process_close(mock_host *host, mock_device_t *device, int32_t tgid) {
  uint32_t arch = host->state->arch;
  uint32_t engines = neuron_arch_counts_get(arch).cores * NEURON_DMA_ENGINES_PER_CORE;
  for (uint32_t e = 0; e < engines; ++e) {
    for (uint32_t q = 0; q < NEURON_DMA_QUEUES_PER_ENGINE; ++q) {
      if (device->udma_queues[e][q].tgid != tgid || neuron_queue_is_sequencer(arch, e, q) != 0)
        continue;
      mock_udma_queue_close(host, device, e, q);
    }
  }
}
