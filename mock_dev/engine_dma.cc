// SPDX-License-Identifier: Apache-2.0
// Transfers of DMA records (B8): issued by an engine, moved at once, or later when engines and
// queues interleave.
#include "mock_dev/engine.h"
#include "mock_dev/watch.h"

namespace {

constexpr uint32_t TRACE_RECORD_TRANSFERS = 16 + NEURON_DMA_ENGINES_PER_CORE;  // + engine

mock_pending_t *slot_take(mock_core_t *core, uint32_t *n) {
  for (uint32_t i = 0; i < MOCK_CORE_TRANSFERS; ++i) {
    if (core->pending[i].used)
      continue;
    core->pending[i].used = true;
    core->pending_count++;
    *n = i;
    return &core->pending[i];
  }
  return nullptr;
}

void slot_free(mock_core_t *core, uint32_t n) {
  core->pending[n].used = false;
  core->pending_count--;
}

void trace(const mock_core_t *core, const mock_pending_t *pending) {
  mock_exec_event_t event = {core->device->index,
                             core->index,
                             TRACE_RECORD_TRANSFERS + pending->transfer.engine,
                             pending->pc,
                             reinterpret_cast<const uint8_t *>(&pending->record),
                             pending->issued,
                             pending->done,
                             pending->transfer.bytes};
  core->trace(core->trace_user, &event);
}

void transfer_end(mock_core_t *core, uint32_t n) {
  if (core->watch != nullptr)
    core->watch->transfer_end(core->watch, MOCK_WATCH_TRANSFER + n);
  slot_free(core, n);
}

}  // namespace

void mock_core_transfers_drop(mock_core_t *core) {
  for (uint32_t n = 0; n < MOCK_CORE_TRANSFERS; ++n)
    if (core->pending[n].used)
      transfer_end(core, n);
}

void mock_core_transfer_finish(mock_core_t *core, uint32_t n) {
  mock_pending_t *pending = &core->pending[n];
  const mock_transfer_t *transfer = &pending->transfer;
  uint32_t actor = MOCK_WATCH_TRANSFER + n;
  mock_dge_fault_t fault;
  core->now = pending->done;
  core->actor = actor;
  if (!mock_dge_move(core->host, transfer, &fault)) {
    mock_engine_fault(core, transfer->engine, pending->pc, &pending->record, fault.error,
                      fault.text);
    return transfer_end(core, n);
  }
  if (transfer->increment != 0)
    mock_core_semaphore(core, NEURON_SEMAPHORE_INCREMENT, transfer->semaphore, transfer->increment,
                        actor, pending->done);
  mock_engine_update(core, &core->arch[transfer->engine], &pending->record, MOCK_UPDATE_COMPLETE,
                     actor, pending->done);
  mock_count(&core->counts.transfers, 1);
  mock_count(&core->counts.transfer_bytes, transfer->skip ? 0 : transfer->bytes);
  if (core->trace != nullptr)
    trace(core, pending);
  transfer_end(core, n);
}

const char *mock_engine_dma(mock_exec_record_t *x) {
  mock_core_t *core = x->core;
  uint32_t n;
  mock_pending_t *pending = slot_take(core, &n);
  if (pending == nullptr)
    return "too many transfers";
  mock_dge_t dge = {core->host, core->device->index, core->index, x->engine, x->arch->registers};
  mock_dge_fault_t fault;
  bool late = core->options.seed != 0;
  if (!mock_dge_issue(&dge, reinterpret_cast<const isa_dma *>(x->record), &pending->transfer,
                      &fault) ||
      (late && !mock_dge_poison(core->host, &pending->transfer, &fault))) {
    slot_free(core, n);
    x->error = fault.error;
    return fault.text;
  }
  pending->record = *x->record;
  pending->pc = x->pc;
  pending->issued = x->end;
  pending->done = x->end + mock_sim_transfer_ps(pending->transfer.bytes);
  if (core->watch != nullptr)
    core->watch->transfer_issue(core->watch, MOCK_WATCH_TRANSFER + n, &pending->transfer);
  x->later = true;
  mock_engine_update(core, x->arch, x->record, MOCK_UPDATE_READ, x->engine, x->end);
  if (!late)
    mock_core_transfer_finish(core, n);
  return nullptr;
}
