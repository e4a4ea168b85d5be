// SPDX-License-Identifier: Apache-2.0
// The mocked device behind the runtime: its switches, its counts, what it found.
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

#include "isa/isa.h"
#include "nrt/runtime.h"
#include "tdrv/dma_ring.h"
#include "tools/machine.h"
#include "tools/run.h"
#include "tools/trace.h"

namespace {

// nullptr: a real device.
mock_host_t *host_of(const runtime_lease &lease) {
  return hal_mock_host((*lease).hal);
}

// The loaded model behind a handle.
class model_lease {
 public:
  model_lease(runtime_t &runtime, nrt_model_t *handle) : kmgr_(runtime.kmgr) {
    auto object = runtime.models.find(handle);
    if (object != nullptr)
      model_ = kmgr_model_get(kmgr_, object->h_nn);
  }
  ~model_lease() {
    if (model_ != nullptr)
      kmgr_model_put(kmgr_, model_);
  }
  model_lease(const model_lease &) = delete;
  model_lease &operator=(const model_lease &) = delete;
  kmgr_model_t *get() const { return model_; }

 private:
  kmgr_t *kmgr_;
  kmgr_model_t *model_ = nullptr;
};

void subtract(const mock_exec_counts_t &before, mock_exec_counts_t *counts) {
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
    counts->records[e] -= before.records[e];
    for (uint32_t op = 0; op < 256; op++)
      counts->opcodes[e][op] -= before.opcodes[e][op];
  }
  counts->transfers -= before.transfers;
  counts->transfer_bytes -= before.transfer_bytes;
  counts->macs -= before.macs;
}

trace_names_t names_of(const vtpb_info_shared_mr_set_t &set) {
  trace_names_t names;
  for (uint32_t i = 0; i < set.kbin->mem_ref_set->nmem; i++) {
    const kbin_mem_ref &record = set.kbin->mem_ref_set->mem[i];
    const mem_ref_t *mr = lookup_memref_by_idx(set.mem_ref_set, record.var_id);
    if (mr == nullptr || mr->type == MR_PTR || mr->type == MR_LIST)
      continue;
    if (mr->type != MR_PTR_TABLE) {
      if (mr->physical_address != MEM_REF_NOT_STAGED)
        names.ranges[mr->physical_address] = {mr->size, mr->name};
      continue;
    }
    for (uint32_t k = 0; k < mr->table_length; k++) {
      const mem_ref_t *entry = lookup_memref_by_idx(set.mem_ref_set, mr->var_ids[k]);
      names.table.emplace_back(entry != nullptr ? entry->name : "?");
    }
  }
  return names;
}

}  // namespace

NRT_STATUS run_configure(const run_arguments &arguments, finding_sink &findings) {
  runtime_lease lease;
  mock_host_t *host = host_of(lease);
  bool asked = arguments.seed != 0 || arguments.strict || arguments.races ||
               arguments.exact_functions || !arguments.trace.empty();
  if (host == nullptr)
    return asked ? findings.add(NRT_INVALID, "device",
                                "--seed, --strict, --races, --exact-functions and --trace need "
                                "the mocked device")
                 : NRT_SUCCESS;
  mock_exec_options_t options{};
  mock_exec_options_get(host, &options);  // from the environment
  options.seed = arguments.seed != 0 ? arguments.seed : options.seed;
  options.strict |= arguments.strict ? 1 : 0;
  options.races |= arguments.races ? 1 : 0;
  options.exact_functions |= arguments.exact_functions ? 1 : 0;
  mock_exec_configure(host, &options);
  return NRT_SUCCESS;
}

void run_describe(nrt_model_t *handle, run_report_t *report) {
  runtime_lease lease;
  runtime_t &runtime = *lease;
  model_lease model(runtime, handle);
  report->device = machine_text(runtime.hal, tdrv_options(runtime.tdrv)->lnc);
  report->backend = hal_identity(runtime.hal)->backend;
  report->instance = hal_identity(runtime.hal)->instance_type;
  if (model.get() == nullptr)
    return;
  const neff_header_t &header = model.get()->nn->source->header;
  report->model = std::string(header.name, strnlen(header.name, sizeof(header.name)));
  report->logical_core = tdrv_options(runtime.tdrv)->first_vnc + model.get()->vnc;
  const vtpb_info_shared_t *placement = model.get()->placement;
  mock_host_t *host = host_of(lease);
  for (uint32_t i = 0; i < placement->num_kbins; i++) {
    const physical_core_t &pcore = placement->mr_sets[i].tpb->pcore;
    run_core_t core{pcore.device_id, pcore.nc_id, placement->mr_sets[i].kbin->sg_name, {}};
    if (host != nullptr)
      mock_exec_counts(host, core.device, core.core, &core.counts);
    report->cores.push_back(core);
  }
}

std::function<uint64_t()> run_records(const run_report_t &report) {
  runtime_lease lease;
  mock_host_t *host = host_of(lease);
  if (host == nullptr)
    return {};
  std::vector<std::pair<uint32_t, uint32_t>> cores;
  for (const run_core_t &core : report.cores)
    cores.emplace_back(core.device, core.core);
  auto count = [host, cores] {
    uint64_t records = 0;
    for (auto [device, core] : cores) {
      mock_exec_counts_t counts;
      mock_exec_counts(host, device, core, &counts);
      records = std::accumulate(std::begin(counts.records), std::end(counts.records), records);
    }
    return records;
  };
  return [count, before = count()] { return count() - before; };
}

void run_count(run_report_t *report) {
  runtime_lease lease;
  mock_host_t *host = host_of(lease);
  for (run_core_t &core : report->cores) {
    mock_exec_counts_t before = core.counts;
    if (host == nullptr)
      continue;
    mock_exec_counts(host, core.device, core.core, &core.counts);
    subtract(before, &core.counts);
  }
}

void run_findings(run_report_t *report) {
  runtime_lease lease;
  mock_host_t *host = host_of(lease);
  char text[1024];
  while (host != nullptr &&
         mock_exec_finding(host, text, sizeof(text), &report->findings_dropped) > 0)
    report->findings.emplace_back(text);
}

void run_trace(nrt_model_t *handle, trace_recorder *recorder) {
  runtime_lease lease;
  mock_host_t *host = host_of(lease);
  if (host == nullptr)
    return;
  mock_exec_trace(host, recorder != nullptr ? trace_recorder::record : nullptr, recorder);
  model_lease model(*lease, handle);
  if (recorder == nullptr || model.get() == nullptr)
    return;
  const vtpb_info_shared_t *placement = model.get()->placement;
  for (uint32_t i = 0; i < placement->num_kbins; i++) {
    const physical_core_t &pcore = placement->mr_sets[i].tpb->pcore;
    recorder->set_names(pcore.device_id, pcore.nc_id, names_of(placement->mr_sets[i]));
  }
}
