// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/engine_notify.h"

#include "base/clock.h"
#include "mock_dev/fault.h"
#include "mock_dev/kernel_log.h"
#include "mock_dev/notify.h"

namespace {

constexpr uint64_t NS_PER_MS = 1000000;

void run_end(const mock_exec_record_t *x) {
  mock_core_t *core = x->core;
  uint64_t descriptors = mock_udma_outstanding(core->host, core->device, core->index);
  if (core->pending_count == 0 && descriptors == 0)
    return;
  mock_kernel_log(core->host,
                  "neuron: nd%u nc%u: the run ended before %u of its transfers and %llu of its "
                  "descriptors",
                  core->device->index, core->index, core->pending_count,
                  static_cast<unsigned long long>(descriptors));
  mock_notify_error(core->host, core->device, core->index, PROJECT_ERROR_DMA_IN_FLIGHT, x->engine,
                    x->pc, x->end);
}

const char *start(mock_exec_record_t *x) {
  mock_host *host = x->core->host;
  x->arch->runs++;
  __atomic_store_n(&x->arch->active, 1, __ATOMIC_RELEASE);
  if (mock_fault_event(host, MOCK_FAULT_ENGINE)) {
    x->error = PROJECT_ERROR_SEQUENCER_FATAL;
    return "stopped by the fault plan";
  }
  uint32_t ms = mock_fault_event_number(host, MOCK_FAULT_SLOW);
  if (ms != 0)
    x->core->engines[x->engine].pause_until = clock_now_ns() + ms * NS_PER_MS;
  return nullptr;
}

void end(const mock_exec_record_t *x) {
  mock_core_t *core = x->core;
  uint32_t error = mock_fault_event_number(core->host, MOCK_FAULT_ERROR_RECORD);
  if (error != 0)
    mock_notify_error(core->host, core->device, core->index, static_cast<project_error_t>(error),
                      x->engine, x->pc, x->end);
  __atomic_store_n(&x->arch->active, 0, __ATOMIC_RELEASE);
  if (!mock_core_active(core->device, core->index))
    run_end(x);
}

}  // namespace

const char *mock_engine_notify(mock_exec_record_t *x) {
  mock_core_t *core = x->core;
  const auto *r = reinterpret_cast<const isa_notify *>(x->record);
  if (r->queue >= NEURON_NQ_QUEUES_PER_TYPE)
    return "notification queue that does not exist";
  if (r->extended_hint == PROJECT_HINT_START) {
    const char *why = start(x);
    if (why != nullptr)
      return why;
  } else if (r->extended_hint == PROJECT_HINT_END && x->arch->active != 0) {
    end(x);
  }
  project_notification_t record = {};
  mock_notify_pc(&record, x->pc, r->h.debug_hint);
  record.type_flags = r->type & 0x1F;
  record.counter = static_cast<uint16_t>(x->arch->runs);
  record.extended_hint = r->extended_hint;
  record.timestamp = x->end;
  mock_notify(core->host, core->device, core->index, r->queue, record);
  return nullptr;
}
