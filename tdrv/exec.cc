// SPDX-License-Identifier: Apache-2.0
#include "tdrv/exec.h"

#include <cstdlib>
#include <cstring>

#include "base/nlog.h"
#include "dmem/neffs.h"
#include "hal/exec.h"
#include "tdrv/exec_unit.h"
#include "tdrv/grow.h"

namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// --- cores: running while there are models ---

void stop_cores(exec_unit_t *unit) {
  for (exec_core_t &core : unit->cores)
    exec_core_stop(&core);
}

NRT_STATUS unit_acquire(exec_unit_t *unit) {
  exec_unit_guard guard(unit);
  NRT_STATUS status = NRT_SUCCESS;
  for (uint32_t k = 0; unit->users == 0 && status == NRT_SUCCESS && k < unit->vcore->num_tpbs; ++k)
    status = exec_core_start(&unit->cores[k], unit->vcore->tpbs[k]);
  if (status == NRT_SUCCESS)
    ++unit->users;
  else
    stop_cores(unit);
  return status;
}

void unit_release(exec_unit_t *unit) {
  exec_unit_guard guard(unit);
  if (--unit->users == 0)
    stop_cores(unit);
}

// --- names for reports and checks ---

struct name_list_t {
  hal_name_t *items;
  uint32_t count, capacity;
  bool failed;
};

void add_name(void *user, const program_range_t *range) {
  auto *list = static_cast<name_list_t *>(user);
  if (grow(&list->items, &list->capacity, uint64_t{list->count} + 1))
    list->items[list->count++] = {range->address,
                                  range->size,
                                  range->name,
                                  range->first_slot,
                                  range->kind == PROGRAM_RANGE_RECORDS,
                                  range->kind == PROGRAM_RANGE_UNDEFINED};
  else
    list->failed = true;
}

}  // namespace

// Names of all models on one core of the unit. Reports do without them when there is no memory.
void exec_names_update(exec_unit_t *unit, uint32_t k) {
  const exec_core_t *core = &unit->cores[k];
  if (!core->running)
    return;
  name_list_t list = {};
  for (const exec_model_t *model = unit->models; model != nullptr; model = model->next) {
    if (k < model->num_programs)
      program_for_each_range(model->programs[k], add_name, &list);
  }
  const program_range_t loops = {"resident loops", dmem_get_pa(core->block),
                                 sizeof(resident_block_t), 0, PROGRAM_RANGE_DATA};
  add_name(&list, &loops);
  if (list.failed ||
      hal_exec_names(core->tpb->pcore.device, core->tpb->pcore.nc_id, list.items, list.count) != 0)
    NLOG_WARN(NLOG_TDRV, "no host memory for the names of {} places on nc{}", list.count,
              core->tpb->pcore.nc_id);
  free(list.items);
}

namespace {

// The names the device has are no longer those of the loaded models. Checks may name a place at any
// time; a core's own report is asked for, and the names are told before it is. Lock held.
void models_changed(exec_unit_t *unit, uint32_t k) {
  const physical_core_t &pcore = unit->cores[k].tpb->pcore;
  if (hal_exec_checks(pcore.device))
    exec_names_update(unit, k);
  else
    (void)hal_exec_names(pcore.device, pcore.nc_id, nullptr, 0);
}

void enlist(exec_model_t *model) {
  exec_unit_t *unit = model->unit;
  exec_unit_guard guard(unit);
  model->next = unit->models;
  if (model->next != nullptr)
    model->next->prev = model;
  unit->models = model;
  for (uint32_t k = 0; k < model->num_programs; ++k)
    models_changed(unit, k);
}

void delist(exec_model_t *model) {
  exec_unit_t *unit = model->unit;
  exec_unit_guard guard(unit);
  if (model->prev != nullptr)
    model->prev->next = model->next;
  else if (unit->models == model)
    unit->models = model->next;
  else
    return;  // its load has failed
  if (model->next != nullptr)
    model->next->prev = model->prev;
  if (unit->posted == model)
    unit->posted = nullptr;
  for (uint32_t k = 0; k < model->num_programs; ++k)
    models_changed(unit, k);
}

NRT_STATUS stage(exec_model_t *model) {
  exec_unit_t *unit = model->unit;
  if (!unit->allowed)
    return NRT_SUCCESS;
  NRT_STATUS status = unit_acquire(unit);
  if (status != NRT_SUCCESS)
    return status;
  for (uint32_t k = 0; k < model->info->num_kbins && status == NRT_SUCCESS; ++k) {
    status = program_stage(model->info, k, &unit->cores[k].core, &model->programs[k]);
    if (status == NRT_SUCCESS)
      ++model->num_programs;
  }
  if (status == NRT_SUCCESS)
    return status;
  while (model->num_programs > 0)
    program_free(model->programs[--model->num_programs]);
  unit_release(unit);
  return status;
}

}  // namespace

exec_unit_t *exec_unit_create(vcore_t *vcore, const tdrv_options_t *options) {
  auto *unit = static_cast<exec_unit_t *>(calloc(1, sizeof(exec_unit_t)));
  if (unit == nullptr)
    return nullptr;
  unit->vcore = vcore;
  unit->allowed =
      options->hw_exec || hal_mock_host(hal_device_hal(vcore->tpbs[0]->pcore.device)) != nullptr;
  unit->timeout_ns = options->exec_timeout * kNsPerSecond;
  unit->full_timeout = options->wait_full_timeout;
  pthread_mutex_init(&unit->lock, nullptr);  // cannot fail with default attributes on Linux
  return unit;
}

void exec_unit_destroy(exec_unit_t *unit) {
  if (unit == nullptr)
    return;
  stop_cores(unit);
  pthread_mutex_destroy(&unit->lock);
  free(unit);
}

NRT_STATUS exec_model_load(vtpb_info_shared_t *info, const tdrv_neff_t *neff, exec_model_t **out) {
  *out = nullptr;
  auto *model = static_cast<exec_model_t *>(calloc(1, sizeof(exec_model_t)));
  if (model != nullptr)
    model->name = strdup(nlog_one_line(neff != nullptr ? neff->name : "").c_str());
  if (model == nullptr || model->name == nullptr) {
    free(model);
    NLOG_ERROR(NLOG_TDRV, "no host memory for the model's execution record");
    return NRT_RESOURCE;
  }
  model->unit = info->vcore->exec;
  model->info = info;
  model->id = neff != nullptr ? neff->ids[0] : 0;
  NRT_STATUS status = stage(model);
  if (status != NRT_SUCCESS) {
    free(model->name);
    free(model);
    return status;
  }
  if (model->num_programs > 0)
    enlist(model);
  for (uint32_t k = 0; k < info->num_kbins; ++k)
    dmem_log_neff(info->mr_sets[k].model_allocator);
  *out = model;
  return NRT_SUCCESS;
}

void exec_model_unload(exec_model_t *model) {
  if (model == nullptr)
    return;
  bool staged = model->num_programs > 0;
  if (staged)
    delist(model);
  while (model->num_programs > 0)
    program_free(model->programs[--model->num_programs]);
  if (staged)
    unit_release(model->unit);
  free(model->name);
  free(model);
}

const vtpb_info_shared_t *exec_model_info(const exec_model_t *model) {
  return model->info;
}
