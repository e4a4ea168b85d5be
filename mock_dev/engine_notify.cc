// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/engine_notify.h"

#include "mock_dev/kernel_log.h"
#include "mock_dev/notify.h"

namespace {

void run_end(const mock_exec_record_t *x) {
  mock_core_t *core = x->core;
  if (core->pending_count == 0)
    return;
  mock_kernel_log(core->host, "neuron: nd%u nc%u: the run ended before %u of its transfers",
                  core->device->index, core->index, core->pending_count);
  mock_notify_error(core->host, core->device, core->index, PROJECT_ERROR_DMA_IN_FLIGHT, x->engine,
                    x->pc, x->end);
}

}  // namespace

const char *mock_engine_notify(mock_exec_record_t *x) {
  mock_core_t *core = x->core;
  const auto *r = reinterpret_cast<const isa_notify *>(x->record);
  if (r->queue >= NEURON_NQ_QUEUES_PER_TYPE)
    return "notification queue that does not exist";
  if (r->extended_hint == PROJECT_HINT_START) {
    x->arch->runs++;
    __atomic_store_n(&x->arch->active, 1, __ATOMIC_RELEASE);
  } else if (r->extended_hint == PROJECT_HINT_END && x->arch->active != 0) {
    __atomic_store_n(&x->arch->active, 0, __ATOMIC_RELEASE);
    if (!mock_core_active(core->device, core->index))
      run_end(x);
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
