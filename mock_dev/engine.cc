// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/engine.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "base/clock.h"
#include "isa/isa_modes.h"
#include "mock_dev/engine_registers.h"
#include "mock_dev/kernel_log.h"
#include "mock_dev/notify.h"
#include "mock_dev/watch.h"

namespace {

// Host pointer to the record at `pc`, nullptr: there is no memory. The cursor keeps the whole
// channel; elsewhere each record is looked up.
const uint8_t *fetch(mock_core_t *core, mock_engine_run_t *run, uint64_t pc) {
  if (pc - run->code_begin < run->code_end - run->code_begin &&
      run->code_end - pc >= ISA_RECORD_BYTES)
    return run->code + (pc - run->code_begin);
  run->code_begin = run->code_end = 0;
  mock_target_t target;
  if (pc % ISA_RECORD_BYTES != 0 ||
      !mock_decode(core->host, core->device->index, pc, ISA_RECORD_BYTES, &target) ||
      !mock_target_is_memory(target.kind) ||
      !mock_target_claim(core->host, &target, ISA_RECORD_BYTES, false))
    return nullptr;
  const uint8_t *bytes = mock_memory_bytes(core->host, target.place.memory);
  if (bytes == nullptr)
    return nullptr;
  bytes += target.place.offset;
  if (target.kind == MOCK_TARGET_HBM) {
    run->code_begin = pc - target.offset;
    run->code_end = run->code_begin + core->host->state->hbm_size;
    run->code = bytes - target.offset;
  }
  return bytes;
}

// Strictly as isa/ knows the record, and only what runs. What executes relies on both.
const char *well_formed(const isa_record *record, isa_engine_t engine) {
  const char *why = isa_check(record, engine, ISA_FORM_IMAGE, nullptr);
  return why != nullptr ? why : isa_modes_check(record, nullptr);
}

// A record that is the same as last time needs no second look.
const char *check(mock_engine_run_t *run, isa_engine_t engine, uint64_t pc,
                  const isa_record *record) {
  isa_record *seen = &run->checked[pc / ISA_RECORD_BYTES % MOCK_ENGINE_CHECKED];
  if (seen->h.opcode != 0 && memcmp(seen, record, sizeof(*record)) == 0)
    return nullptr;
  const char *why = well_formed(record, engine);
  if (why == nullptr)
    *seen = *record;
  return why;
}

uint64_t lane_elements(const isa_operand_t *operands, uint32_t count) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < count; ++i)
    most = std::max(most, isa_operand_elements(&operands[i]));
  return most;
}

// A record that computes.
const char *compute(mock_exec_record_t *x) {
  mock_core_t *core = x->core;
  mock_compute_fn fn = mock_compute_find(x->record->h.opcode);
  if (fn == nullptr)
    return "opcode not implemented";
  bool changed;
  const char *why = mock_engine_resolve(x->arch, x->record, &changed);
  if (why == nullptr && changed)
    why = well_formed(x->record, x->engine);
  if (why != nullptr)
    return why;
  isa_operand_t operands[ISA_MAX_OPERANDS];
  uint32_t count = isa_operands(x->record, operands);
  for (uint32_t i = 0; i < count; ++i) {
    bool psum;
    uint32_t partition, begin, end;
    if (!isa_operand_range(&operands[i], core->sbuf_bytes, &psum, &partition, &begin, &end))
      return "operand outside SBUF and PSUM";
    if (core->watch != nullptr)
      core->watch->operand(core->watch, x->engine, &operands[i]);
  }
  mock_compute_t c = {core->window,       &core->pe, &core->act,
                      x->arch->registers, x->engine, core->options.exact_functions != 0};
  why = fn(&c, x->record);
  if (why != nullptr)
    return why;
  uint64_t elements = lane_elements(operands, count);
  x->end = x->start + mock_sim_record_ps(elements);
  if (x->record->h.opcode == ISA_MATMUL) {
    const auto *m = reinterpret_cast<const isa_matmul *>(x->record);
    mock_count(&core->counts.macs, elements * m->rows * m->columns);
  }
  return nullptr;
}

void trace(const mock_exec_record_t *x, const isa_record *record) {
  mock_exec_event_t event = {x->core->device->index,
                             x->core->index,
                             x->engine,
                             x->pc,
                             reinterpret_cast<const uint8_t *>(record),
                             x->start,
                             x->end,
                             0};
  x->core->trace(x->core->trace_user, &event);
}

// A pause of the fault plan, a millisecond of it. False: it is over.
bool pause(mock_core_t *core, mock_engine_run_t *run) {
  constexpr timespec MS = {0, 1000000};
  if (clock_now_ns() >= run->pause_until) {
    run->pause_until = 0;
    return false;
  }
  nanosleep(&MS, nullptr);
  core->until_look = 1;
  return true;
}

const char *execute(mock_exec_record_t *x) {
  mock_record_fn control = mock_engine_control_find(x->record->h.opcode);
  return control != nullptr ? control(x) : compute(x);
}

}  // namespace

void mock_engine_fault(mock_core_t *core, isa_engine_t engine, uint64_t pc,
                       const isa_record *record, project_error_t error, const char *text) {
  // A reset makes what was under way void, and the program counter with it.
  const uint32_t *resets = &core->device->engine_resets[core->index];
  if (__atomic_load_n(resets, __ATOMIC_ACQUIRE) != core->resets)
    return;
  mock_engine_run_t *run = &core->engines[engine];
  run->fault = text;
  run->fault_pc = pc;
  run->fault_record = *record;
  mock_engine_stop(&core->arch[engine], PROJECT_ENGINE_FAULTED);
  if (__atomic_load_n(resets, __ATOMIC_ACQUIRE) != core->resets)
    return mock_engine_stop(&core->arch[engine], PROJECT_ENGINE_HALTED);
  mock_kernel_log(core->host, "neuron: nd%u nc%u engine %s stopped at 0x%llx, opcode 0x%02x: %s",
                  core->device->index, core->index, isa_engine_name(engine),
                  static_cast<unsigned long long>(pc), record->h.opcode, text);
  mock_notify_error(core->host, core->device, core->index, error, engine, pc,
                    core->sim.clock[engine]);
}

mock_step_t mock_engine_step(mock_core_t *core, isa_engine_t engine) {
  mock_engine_t *arch = &core->arch[engine];
  mock_engine_run_t *run = &core->engines[engine];
  if (!mock_engine_enabled(arch))
    return MOCK_STEP_IDLE;
  if (run->pause_until != 0 && pause(core, run))
    return MOCK_STEP_RAN;
  uint64_t pc = mock_engine_pc(arch);
  isa_record record = {};
  const uint8_t *code = fetch(core, run, pc);
  const char *why = "no memory at the program counter";
  if (code != nullptr) {
    memcpy(&record, code, sizeof(record));
    why = check(run, engine, pc, &record);
  }
  if (why != nullptr) {
    mock_engine_fault(core, engine, pc, &record, PROJECT_ERROR_SEQUENCER, why);
    return MOCK_STEP_RAN;
  }
  bool full = record.h.opcode == ISA_DMAMEMCPY && core->pending_count == MOCK_CORE_TRANSFERS;
  if (full || !mock_engine_wait(core, engine, &record)) {
    mock_engine_status_set(arch, PROJECT_ENGINE_WAITING);
    run->blocked = true;
    return MOCK_STEP_BLOCKED;
  }
  mock_engine_status_set(arch, PROJECT_ENGINE_RUNNING);
  if (core->watch != nullptr)
    core->watch->issue(core->watch, engine, pc, &record);
  uint64_t start = core->sim.clock[engine];
  isa_record resolved = record;
  mock_exec_record_t x = {core,
                          engine,
                          arch,
                          &resolved,
                          pc,
                          pc + ISA_RECORD_BYTES,
                          start,
                          start + mock_sim_record_ps(0),
                          PROJECT_ERROR_SEQUENCER,
                          false};
  core->now = x.end;
  core->actor = engine;
  why = execute(&x);
  if (why != nullptr) {
    mock_engine_fault(core, engine, pc, &record, x.error, why);
    return MOCK_STEP_RAN;
  }
  core->sim.clock[engine] = x.end;
  if (x.end > core->counts.time_ps)
    mock_count(&core->counts.time_ps, x.end - core->counts.time_ps);
  if (!x.later)
    mock_engine_update(core, arch, &record, MOCK_UPDATE_BOTH, engine, x.end);
  mock_engine_pc_set(arch, x.next);
  mock_count(&core->counts.records[engine], 1);
  mock_count(&core->counts.opcodes[engine][record.h.opcode], 1);
  if (core->trace != nullptr)
    trace(&x, &record);
  return MOCK_STEP_RAN;
}
