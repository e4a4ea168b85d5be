// SPDX-License-Identifier: Apache-2.0
// UDMA engines: 16 queues of a TX and an RX ring each, kept as the register blocks the hardware has
// (mock-device-semantics.md 6.2, dma-and-exec.md 1). A register nobody wrote costs no memory.
//
// The caller holds the device's DMA lock in every function here but those for the scheduler; where
// transfers can start (write, start, state_set) it must not hold the device's lock. Transfers run
// inside the call that starts them and are over when it returns, unless the core's engines are
// held.
#pragma once

#include <cstdint>

#include "mock_dev/decode.h"

// Probe: the ring of closed queues. -ENOMEM.
int mock_udma_probe(mock_host *host, mock_device_t *device);

// Splits an offset in an engine block. False: it is in no queue's part. `queue` and `reg` may be
// nullptr; `reg` is the same for TX and RX.
bool mock_udma_queue_register(uint64_t offset, uint32_t *queue, uint64_t *reg);

// One register, `offset` in the engine block and a multiple of 4. Write-only ones read as 0.
uint32_t mock_udma_read(mock_host *host, mock_device_t *device, uint32_t engine, uint64_t offset);

// A ring address of a queue: the register and the one behind it.
uint64_t mock_udma_read64(mock_host *host, mock_device_t *device, uint32_t engine, uint64_t offset);

// A write by the host to a register of an engine or of a broadcast window, and what follows.
void mock_udma_write(mock_host *host, mock_device_t *device, const mock_target_t *target,
                     uint32_t value);

// Gives one side (0 or NEURON_UDMA_RX) of a queue a ring and enables it: indexes 0, first ring id.
// `count` 0: no ring.
void mock_udma_ring_set(mock_host *host, mock_device_t *device, uint32_t engine, uint32_t queue,
                        uint64_t side, uint64_t base, uint32_t count);

// Hands over descriptors, RX first.
void mock_udma_start(mock_host *host, mock_device_t *device, uint32_t engine, uint32_t queue,
                     uint32_t tx, uint32_t rx);

// State of one side of an engine, NEURON_UDMA_*; setting it sets both sides.
uint32_t mock_udma_state(mock_host *host, mock_device_t *device, uint32_t engine, uint64_t side);
void mock_udma_state_set(mock_host *host, mock_device_t *device, uint32_t engine, uint32_t state);

// The engine as after probe: no rings, nobody's queues, state normal.
void mock_udma_reset(mock_host *host, mock_device_t *device, uint32_t engine);

// Moves a queue to a ring nobody else writes; it has no owner then.
void mock_udma_queue_close(mock_host *host, mock_device_t *device, uint32_t engine, uint32_t queue);

// A process is gone: its queues move to a ring nobody else writes.
void mock_udma_process_close(mock_host *host, mock_device_t *device, int32_t tgid);

// --- for the scheduler of a core: the caller holds no lock of devices ---------------------------

constexpr uint32_t MOCK_UDMA_CORE_QUEUES =
    NEURON_DMA_ENGINES_PER_CORE * NEURON_DMA_QUEUES_PER_ENGINE;
struct mock_udma_ref_t {
  uint16_t engine, queue;  // on the device
};

// How the 16 engines of a core go from now on. Letting them go runs what has been submitted.
void mock_udma_hold(mock_host *host, mock_device_t *device, uint32_t core, mock_udma_hold_t hold);

// Queues of the core's engines that a step would move, by engine and queue; their number.
uint32_t mock_udma_ready(mock_host *host, mock_device_t *device, uint32_t core,
                         mock_udma_ref_t out[MOCK_UDMA_CORE_QUEUES]);

enum mock_udma_step_t {
  MOCK_UDMA_NOTHING,  // no complete packet
  MOCK_UDMA_MOVED,
  MOCK_UDMA_STOPPED,  // a descriptor the engine cannot run: it is in the abort state now
};
// Runs the packet at the head of a queue; *bytes is what it wrote. What it sets going runs too,
// except on held engines.
mock_udma_step_t mock_udma_step(mock_host *host, mock_device_t *device, uint32_t engine,
                                uint32_t queue, uint64_t *bytes);

// TX descriptors that were submitted to the core's engines and are not done, those that wait for RX
// descriptors or for an engine that stopped included.
uint64_t mock_udma_outstanding(mock_host *host, mock_device_t *device, uint32_t core);

// --- between udma.cc and udma_run.cc ------------------------------------------------------------

// Descriptors that transfers may submit, by doorbells and by pointers they move back, until the
// call returns: descriptors that ring their own queue would never end.
constexpr uint64_t MOCK_UDMA_CHAIN_LIMIT = 65536;
constexpr uint64_t MOCK_UDMA_SIDES[] = {0, NEURON_UDMA_RX};
constexpr uint32_t MOCK_UDMA_QUEUES = NEURON_DMA_ENGINE_LIMIT * NEURON_DMA_QUEUES_PER_ENGINE;

// Queues that may have something to do, first come first served.
struct mock_udma_work_t {
  mock_host *host;
  mock_device_t *device;
  bool running;      // register writes come from a transfer
  uint64_t chained;  // descriptors submitted by such writes
  uint64_t epoch;    // counts the writes
  uint32_t first, count;
  uint16_t order[MOCK_UDMA_QUEUES];
  uint64_t queued[(MOCK_UDMA_QUEUES + 63) / 64];
};

void mock_udma_work_init(mock_udma_work_t *work, mock_host *host, mock_device_t *device);
// A queue that has something new to look at; held ones are not run.
void mock_udma_work_push(mock_udma_work_t *work, uint32_t engine, uint32_t queue);

// Register as it is stored, without side effects.
uint32_t mock_udma_get(const mock_udma_work_t *work, uint32_t engine, uint64_t offset);
uint64_t mock_udma_get64(const mock_udma_work_t *work, uint32_t engine, uint64_t offset);
void mock_udma_put(mock_udma_work_t *work, uint32_t engine, uint64_t offset, uint32_t value);

// A register write with its side effects; queues it sets going are added to `work`. False: a
// transfer submits too much.
bool mock_udma_apply(mock_udma_work_t *work, const mock_target_t *target, uint32_t value);

void mock_udma_abort(mock_udma_work_t *work, uint32_t engine);

// Ring pointers: index and ring id.
uint32_t mock_udma_advance(uint32_t pointer, uint32_t count, uint32_t length);
// Descriptors from head to tail, -1 when the two do not fit the length.
int64_t mock_udma_pending(uint32_t head, uint32_t tail, uint32_t length);
// The same for the queue with these registers, `queue_base` in the engine block.
int64_t mock_udma_pending_in(const mock_udma_work_t *work, uint32_t engine, uint64_t queue_base);

// Runs queues until nothing can move (udma_run.cc).
void mock_udma_drain(mock_udma_work_t *work);

// Poisons complete packets of a held queue that have not been yet.
void mock_udma_poison_new(mock_udma_work_t *work, uint32_t engine, uint32_t queue);
