// SPDX-License-Identifier: Apache-2.0
#include "dmem/neffs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/nlog.h"
#include "dmem/dmem_impl.h"

namespace {

// Under the device's lock.
void add_core(const dmem_device_t *device, uint32_t core, dmem_holdings_t *out) {
  out->rows.push_back(dmem_report_row(dmem_row_kind_t::CORE, device->device_id, core,
                                      device->table.by_usage[core]));
  size_t first = out->rows.size();
  for (const dmem_allocator_t *a = device->neffs; a != nullptr; a = a->next_neff) {
    if (a->pcore->nc_id != core)
      continue;
    out->rows.push_back(
        dmem_report_row(dmem_row_kind_t::NEFF, device->device_id, a->neff_id, a->by_usage));
    out->names.push_back({a->neff_id, a->neff_name});
  }
  std::sort(out->rows.begin() + static_cast<ptrdiff_t>(first), out->rows.end(),
            [](const auto &a, const auto &b) { return a.id < b.id; });
}

}  // namespace

NRT_STATUS dmem_allocator_set_neff(dmem_allocator_t *allocator, uint32_t neff_id,
                                   const char *name) {
  char *copy = strdup(name);
  if (copy == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "out of host memory for the name of NEFF {}", neff_id);
    return NRT_RESOURCE;
  }
  dmem_device_t *device = allocator->pcore->stats;
  std::lock_guard<std::mutex> lock(device->mutex);
  if (allocator->neff_name == nullptr) {
    allocator->next_neff = device->neffs;
    device->neffs = allocator;
  }
  free(allocator->neff_name);
  allocator->neff_name = copy;
  allocator->neff_id = neff_id;
  return NRT_SUCCESS;
}

void dmem_allocator_forget_neff(dmem_allocator_t *allocator) {
  dmem_device_t *device = allocator->pcore->stats;
  std::lock_guard<std::mutex> lock(device->mutex);
  dmem_allocator_t **link = &device->neffs;
  while (*link != nullptr && *link != allocator)
    link = &(*link)->next_neff;
  if (*link != nullptr)
    *link = allocator->next_neff;
  free(allocator->neff_name);
  allocator->neff_name = nullptr;
}

void dmem_device_holdings(dmem_device_t *device, const hal_arch_t *arch, uint32_t hbm,
                          dmem_holdings_t *out) {
  *out = {};
  out->rows.push_back({dmem_row_kind_t::HBM, device->device_id, hbm, {}});
  std::lock_guard<std::mutex> lock(device->mutex);
  for (uint32_t core = 0; core < arch->cores_per_device; ++core) {
    if (hal_default_hbm(arch, core) != hbm)
      continue;
    for (uint32_t i = 0; i < DMEM_USAGE_COUNT; ++i)
      out->rows[0].bytes[i] += device->table.by_usage[core][i];
    add_core(device, core, out);
  }
  std::sort(out->names.begin(), out->names.end(),
            [](const auto &a, const auto &b) { return a.neff_id < b.neff_id; });
}

void dmem_log_neff(dmem_allocator_t *allocator) {
  if (!nlog_enabled(NLOG_TDRV, NLOG_LEVEL_INFO))
    return;
  const physical_core_t *pcore = allocator->pcore;
  dmem_device_t *device = pcore->stats;
  std::unique_lock<std::mutex> lock(device->mutex);
  if (allocator->neff_name == nullptr)
    return;
  dmem_report_row_t core = dmem_report_row(dmem_row_kind_t::CORE, device->device_id, pcore->nc_id,
                                           device->table.by_usage[pcore->nc_id]);
  dmem_report_row_t neff = dmem_report_row(dmem_row_kind_t::NEFF, device->device_id,
                                           allocator->neff_id, allocator->by_usage);
  std::string name = allocator->neff_name;
  lock.unlock();
  nlog_write_block(NLOG_TDRV, NLOG_LEVEL_INFO, __func__,
                   dmem_report_neff(device->device_id, &core, &neff, name.c_str()));
}
