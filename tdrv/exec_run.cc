// SPDX-License-Identifier: Apache-2.0
// One run of a model: exec_model_run of exec.h.
#include <time.h>

#include <algorithm>

#include "base/clock.h"
#include "base/nlog.h"
#include "hal/exec.h"
#include "tdrv/exec_unit.h"

namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kSliceNs = 100'000'000;  // progress is looked at this often

// "nd0 nc1", for lines.
struct core_name_t {
  explicit core_name_t(const exec_core_t *core) {
    const physical_core_t &pcore = core->tpb->pcore;
    auto end = fmt::format_to_n(text, sizeof(text) - 1, "nd{} nc{}", pcore.device_id, pcore.nc_id);
    *end.out = '\0';
  }
  char text[32];
};

NRT_STATUS log_failure(const exec_model_t *model) {
  return exec_failure_log(&model->unit->failure,
                          fmt::format("model {} '{}'", model->id, model->name).c_str());
}

// --- handing work over ---

NRT_STATUS copy_inputs(const exec_model_t *model, const exec_io_t *io) {
  NRT_STATUS status = NRT_SUCCESS;
  for (uint32_t i = 0; i < model->info->num_io_slots && status == NRT_SUCCESS; ++i) {
    const io_slot_t *slot = &model->info->io_slots[i];
    if (io[i].copy != nullptr && !slot->is_output)
      status = dmem_buf_copyin(io[i].copy, tensor_access_host(&io[i].access), 0, slot->size);
  }
  return status;
}

NRT_STATUS copy_outputs(const exec_model_t *model, const exec_io_t *io) {
  NRT_STATUS status = NRT_SUCCESS;
  for (uint32_t i = 0; i < model->info->num_io_slots && status == NRT_SUCCESS; ++i) {
    const io_slot_t *slot = &model->info->io_slots[i];
    if (io[i].copy != nullptr && slot->is_output)
      status = dmem_buf_copyout(io[i].copy, tensor_access_host(&io[i].access), 0, slot->size);
  }
  return status;
}

NRT_STATUS bind(const exec_model_t *model, const exec_io_t *io) {
  NRT_STATUS status = NRT_SUCCESS;
  for (uint32_t i = 0; i < model->info->num_io_slots; ++i) {
    uint64_t address =
        io[i].copy != nullptr ? dmem_get_pa(io[i].copy) : tensor_access_address(&io[i].access);
    for (uint32_t k = 0; k < model->num_programs && status == NRT_SUCCESS; ++k)
      status = program_bind(model->programs[k], i, address);
  }
  return status;
}

void post(const exec_model_t *model) {
  exec_unit_t *unit = model->unit;
  if (unit->posted == model)
    return;
  for (uint32_t k = 0; k < model->num_programs; ++k) {
    uint64_t images[ISA_ENGINE_COUNT];
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
      images[e] = program_image(model->programs[k], static_cast<isa_engine_t>(e))->pa;
    exec_core_post(&unit->cores[k], images);
  }
  unit->posted = model;
}

// What was begun and cannot be taken back: nothing is trusted any more (dma-and-exec.md 4.1).
void poison(exec_unit_t *unit) {
  unit->poisoned = true;
  for (uint32_t k = 0; k < unit->vcore->num_tpbs; ++k)
    (void)exec_core_halt(&unit->cores[k]);
}

// All cores are staged before the first one is told (dma-and-exec.md 4.1).
NRT_STATUS hand_over(const exec_model_t *model, const exec_io_t *io) {
  exec_unit_t *unit = model->unit;
  NRT_STATUS status = bind(model, io);
  for (uint32_t k = 0; k < model->num_programs; ++k)
    if (hal_exec_checks(unit->cores[k].tpb->pcore.device))
      exec_names_update(unit, k);
  if (status == NRT_SUCCESS)
    post(model);
  for (uint32_t k = 0; k < model->num_programs; ++k) {
    const physical_core_t &pcore = unit->cores[k].tpb->pcore;
    unit->harvests[k] = {};
    unit->harvests[k].begin_ns = hal_core_time_ns(pcore.device, pcore.nc_id);
  }
  for (uint32_t k = 0; k < model->num_programs && status == NRT_SUCCESS; ++k) {
    int result = exec_core_doorbell(&unit->cores[k]);
    if (result == 0)
      continue;
    NLOG_ERROR(NLOG_TDRV, "{}: the run of model {} '{}' cannot be started: {}",
               core_name_t(&unit->cores[k]).text, model->id, model->name, hal_error_name(result));
    status = NRT_FAILURE;
  }
  if (status != NRT_SUCCESS)
    poison(unit);
  return status;
}

// --- waiting ---

// How waiting for a core ended; what went wrong is told in the failure.
enum wait_result_t { WAIT_OVER, WAIT_LATE };

bool core_complete(const exec_harvest_t *harvest) {
  return harvest->complete == ISA_ENGINE_COUNT;
}

uint64_t progress_of(const exec_model_t *model) {
  uint64_t progress = 0;
  for (uint32_t k = 0; k < model->num_programs; ++k) {
    const physical_core_t &pcore = model->unit->cores[k].tpb->pcore;
    progress += model->unit->harvests[k].records + hal_core_progress(pcore.device, pcore.nc_id);
  }
  return progress;
}

// What the run has taken of the time a device would need. 0 where that is not known.
uint64_t time_of(const exec_model_t *model) {
  uint64_t longest = 0;
  for (uint32_t k = 0; k < model->num_programs; ++k) {
    const physical_core_t &pcore = model->unit->cores[k].tpb->pcore;
    uint64_t now = hal_core_time_ns(pcore.device, pcore.nc_id);
    longest = std::max(longest, now - model->unit->harvests[k].begin_ns);
  }
  return longest;
}

void tell_missing(const exec_model_t *model, uint32_t k) {
  constexpr const char *kEngines[ISA_ENGINE_COUNT] = {"PE", "ACT", "POOL", "DVE", "SP"};
  const exec_core_t *core = &model->unit->cores[k];
  const exec_harvest_t *harvest = &model->unit->harvests[k];
  exec_failure_t *failure = &model->unit->failure;
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e) {
    uint64_t pc = 0;
    isa_engine_t engine;
    program_section_t section;
    uint32_t slot;
    if (harvest->engines[e] == EXEC_END_PENDING && exec_core_pc(core, e, &pc) == 0 &&
        program_find(model->programs[k], pc, &engine, &section, &slot) && section == PROGRAM_MAIN)
      exec_failure_line(failure, "{}: {} has not reported its end, it is at instruction {}",
                        core_name_t(core).text, kEngines[e], slot);
    else if (harvest->engines[e] != EXEC_COMPLETE)
      exec_failure_line(failure, "{}: {} has not reported its {}", core_name_t(core).text,
                        kEngines[e], harvest->engines[e] == EXEC_START_PENDING ? "start" : "end");
  }
}

// Nothing can come any more: the device's own report.
void tell_stalled(exec_unit_t *unit, uint32_t k) {
  exec_failure_t *failure = &unit->failure;
  const exec_core_t *core = &unit->cores[k];
  char report[2048];
  exec_names_update(unit, k);
  hal_core_report(core->tpb->pcore.device, core->tpb->pcore.nc_id, report, sizeof(report));
  exec_failure_line(failure, "{}: deadlock, nothing can move", core_name_t(core).text);
  std::string_view lines(report);
  while (!lines.empty() && lines.back() == '\n')
    lines.remove_suffix(1);
  if (!lines.empty())
    exec_failure_line(failure, "{}", lines);
}

// Waits until a core is complete, or cannot become so. WAIT_LATE: the time is over, for all.
wait_result_t wait_for_core(const exec_model_t *model, uint32_t k) {
  exec_unit_t *unit = model->unit;
  exec_core_t *core = &unit->cores[k];
  exec_harvest_t *harvest = &unit->harvests[k];
  const physical_core_t &pcore = core->tpb->pcore;
  uint64_t progress = 0, since = 0;
  bool looked = false;
  for (;;) {
    hal_core_state_t state = HAL_CORE_BUSY;
    uint64_t slice =
        unit->timeout_ns != 0 && unit->timeout_ns < kSliceNs ? unit->timeout_ns : kSliceNs;
    int result = hal_core_wait(pcore.device, pcore.nc_id, slice, &state);
    exec_core_harvest(core, harvest);
    if (core_complete(harvest) || harvest->out_of_order)
      return WAIT_OVER;
    if (result != 0) {
      exec_failure_line(&unit->failure, "{}: waiting failed: {}", core_name_t(core).text,
                        hal_error_name(result));
      exec_failure_status(&unit->failure, NRT_FAILURE);
      return WAIT_OVER;
    }
    if (state != HAL_CORE_BUSY && !unit->full_timeout) {
      if (state == HAL_CORE_STALLED)
        tell_stalled(unit, k);
      tell_missing(model, k);
      return WAIT_OVER;
    }
    if (unit->timeout_ns != 0 && time_of(model) >= unit->timeout_ns) {
      exec_failure_line(&unit->failure,
                        "{}: the program has run for {} s of the device's time and has not ended "
                        "(NEURON_RT_EXEC_TIMEOUT)",
                        core_name_t(core).text, unit->timeout_ns / kNsPerSecond);
      tell_missing(model, k);
      return WAIT_LATE;
    }
    uint64_t now = clock_now_ns(), seen = progress_of(model);
    if (!looked || seen != progress) {
      looked = true;
      progress = seen;
      since = now;
    } else if (unit->timeout_ns != 0 && now - since >= unit->timeout_ns) {
      exec_failure_line(&unit->failure, "{}: no progress for {} s (NEURON_RT_EXEC_TIMEOUT)",
                        core_name_t(core).text, unit->timeout_ns / kNsPerSecond);
      if (state == HAL_CORE_STALLED)
        tell_stalled(unit, k);
      tell_missing(model, k);
      return WAIT_LATE;
    } else if (state != HAL_CORE_BUSY) {
      // Told to wait it out: the answer would come at once, again and again.
      struct timespec pause = {0, 1'000'000};
      nanosleep(&pause, nullptr);
    }
  }
}

// --- what came of it ---

void judge_core(const exec_model_t *model, uint32_t k) {
  exec_unit_t *unit = model->unit;
  exec_core_t *core = &unit->cores[k];
  const exec_harvest_t *harvest = &unit->harvests[k];
  exec_failure_t *failure = &unit->failure;
  core_name_t name(core);
  // The error queue is read in any case.
  project_notification_t record;
  bool overflow = harvest->overflow;
  while (nqueue_next(&core->errors, &record)) {
    overflow = overflow || (record.type_flags & PROJECT_NOTIFY_OVERFLOW) != 0;
    exec_failure_record(failure, name.text, &record, model->programs[k]);
  }
  if (!core_complete(harvest) || harvest->out_of_order)
    overflow = exec_core_take_overflow(core) || overflow;
  if (overflow) {
    exec_failure_line(failure, "{}: a notification queue was full, records are lost", name.text);
    exec_failure_status(failure, NRT_EXEC_SW_NQ_OVERFLOW);
  } else if (harvest->out_of_order) {
    exec_failure_line(failure, "{}: engine {} reports what it is not due to report", name.text,
                      harvest->out_of_order_engine);
    exec_failure_status(failure, NRT_FAILURE);
  } else if (!core_complete(harvest)) {
    exec_failure_status(failure, NRT_TIMEOUT);
  }
  if (failure->status == NRT_SUCCESS || failure->status == NRT_EXEC_COMPLETED_WITH_NUM_ERR)
    return;
  int engine = exec_core_aborted_dma(core);
  if (engine >= 0) {
    exec_failure_line(failure, "{}: DMA engine {} has aborted", name.text, engine);
    exec_failure_status(failure, NRT_EXEC_HW_ERR_DMA_ABORT);
  }
}

// After a failure other models shall run: every core of the unit begins anew.
void restart(exec_unit_t *unit) {
  for (uint32_t k = 0; k < unit->vcore->num_tpbs; ++k) {
    nlog_held_error held;  // the run's own line comes first, and is the only one
    nlog_held_error *previous = nlog_hold_errors(&held);
    NRT_STATUS status = exec_core_restart(&unit->cores[k]);
    nlog_hold_errors(previous);
    if (status == NRT_SUCCESS)
      continue;
    exec_failure_line(&unit->failure, "{}", held.message);
    exec_failure_status(&unit->failure, NRT_EXEC_UNIT_UNRECOVERABLE);
    return poison(unit);
  }
}

NRT_STATUS collect(const exec_model_t *model) {
  exec_unit_t *unit = model->unit;
  exec_failure_clear(&unit->failure);
  wait_result_t waited = WAIT_OVER;
  for (uint32_t k = 0; k < model->num_programs && waited == WAIT_OVER; ++k)
    waited = wait_for_core(model, k);
  for (uint32_t k = 0; k < model->num_programs; ++k)
    judge_core(model, k);
  exec_failure_t *failure = &unit->failure;
  if (failure->status != NRT_SUCCESS && failure->status != NRT_EXEC_COMPLETED_WITH_NUM_ERR) {
    restart(unit);
    return failure->status;
  }
  for (uint32_t k = 0; k < model->num_programs; ++k) {
    int result = exec_core_write_heads(&unit->cores[k]);
    if (result == 0)
      continue;
    exec_failure_line(failure, "{}: the notification queues cannot be given back: {}",
                      core_name_t(&unit->cores[k]).text, hal_error_name(result));
    exec_failure_status(failure, NRT_FAILURE);
    restart(unit);
    return failure->status;
  }
  return failure->status;
}

// What the mock's checks have found: the program's mistakes, not those of the run.
void tell_findings(const exec_unit_t *unit) {
  hal_device_t *device = unit->cores[0].tpb->pcore.device;
  char text[1024];
  while (hal_exec_checks(device) && hal_exec_finding(device, text, sizeof(text)) > 0)
    NLOG_WARN(NLOG_TDRV, "{}", text);
}

}  // namespace

NRT_STATUS exec_model_run(exec_model_t *model, const exec_io_t *io) {
  exec_unit_t *unit = model->unit;
  if (!unit->allowed) {
    NLOG_ERROR(NLOG_TDRV,
               "model {} '{}': programs made by this runtime have not run on a real device yet; "
               "NEURON_RT_EXPERIMENTAL_HW_EXEC=1 tries it",
               model->id, model->name);
    return NRT_INVALID;
  }
  exec_unit_guard guard(unit);
  if (unit->poisoned) {
    NLOG_ERROR(NLOG_TDRV,
               "model {} '{}': an earlier failure has ended execution on logical core {} until the "
               "runtime is initialised again",
               model->id, model->name, unit->vcore->vnc);
    return NRT_EXEC_UNIT_UNRECOVERABLE;
  }
  NRT_STATUS status = copy_inputs(model, io);
  if (status == NRT_SUCCESS)
    status = hand_over(model, io);
  if (status != NRT_SUCCESS)
    return status;  // its line is written
  status = collect(model);
  tell_findings(unit);
  if (status == NRT_SUCCESS)
    return copy_outputs(model, io);
  if (status == NRT_EXEC_COMPLETED_WITH_NUM_ERR) {
    NRT_STATUS copied = copy_outputs(model, io);
    if (copied != NRT_SUCCESS)
      return copied;
  }
  return log_failure(model);
}
