// SPDX-License-Identifier: Apache-2.0
// memory: bytes per class that NEFFs hold together, measured by loading them or predicted for a
// release of the closed runtime.
#include "tools/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/checked.h"
#include "base/env.h"
#include "dmem/accounting.h"
#include "tools/memory_fit.h"

namespace {

constexpr int32_t kMaxCore = 4095;
constexpr uint64_t kMaxTensor = INT64_MAX;  // as in nrt_tensor_allocate
constexpr auto kScratchpad = static_cast<uint32_t>(dma_mem_usage_type_t::SCRATCHPAD);

// Splits "TEXT@7". Without a core *core stays; false when what follows the '@' is none.
bool split_core(const std::string &text, std::string *rest, int32_t *core) {
  size_t at = text.rfind('@');
  *rest = text.substr(0, at);
  if (at == std::string::npos)
    return true;
  uint64_t value = 0;
  if (!tool_parse_u64(text.substr(at + 1), &value) || value > kMaxCore)
    return false;
  *core = static_cast<int32_t>(value);
  return true;
}

// A file name may hold an '@' of its own: only a number behind the last one makes a core.
placed_file parse_file(const std::string &text, int32_t core) {
  placed_file file{text, core};
  if (!split_core(text, &file.path, &file.core) || file.path.empty())
    file = {text, core};
  return file;
}

// SIZE[K|M|G][@CORE].
NRT_STATUS parse_tensor(const std::string &text, int32_t core, finding_sink &findings,
                        memory_tensor_t *out) {
  std::string size;
  out->core = core;
  bool readable = split_core(text, &size, &out->core) && !size.empty();
  uint64_t unit = 1;
  if (readable && std::string_view("KMG").find(size.back()) != std::string_view::npos) {
    unit = uint64_t{1} << (size.back() == 'K' ? 10 : size.back() == 'M' ? 20 : 30);
    size.pop_back();
  }
  uint64_t number = 0;
  if (!readable || !tool_parse_u64(size, &number) || number == 0 ||
      !checked_mul(number, unit, &out->size) || out->size > kMaxTensor)
    return findings.add(NRT_INVALID, "--tensor",
                        "'{}' is not SIZE[K|M|G][@CORE] with a size from 1 to {} bytes and a "
                        "logical core up to {}",
                        text, kMaxTensor, kMaxCore);
  return NRT_SUCCESS;
}

vcore_t *vcore_at(const machine &m, int32_t core) {
  return tdrv_vcore(m.tdrv(), m.vnc_of(core));
}

predict_classes_t counters(const physical_core_t &pcore) {
  dmem_usage_table_t table;
  dmem_device_snapshot(pcore.stats, &table);
  predict_classes_t out;
  std::copy(std::begin(table.by_usage[pcore.nc_id]), std::end(table.by_usage[pcore.nc_id]),
            out.begin());
  return out;
}

void add_share(memory_view_t *view, size_t file, const memory_core_t &core,
               const std::string &subgraph, const predict_classes_t &classes) {
  memory_share_t share{file, static_cast<size_t>(&core - view->cores.data()), subgraph, classes};
  share.classes[kScratchpad] = 0;
  view->shares.push_back(std::move(share));
}

// What is measured of one file: the growth of the counters while it was loaded.
NRT_STATUS measure_file(machine &m, size_t index, const memory_arguments &arguments,
                        memory_view_t *view, finding_sink &findings) {
  std::vector<predict_classes_t> before;
  for (const memory_core_t &core : view->cores)
    before.push_back(counters(core.pcore()));
  NRT_STATUS status = m.add(view->files[index], arguments.machine, findings);
  if (m.is_open())
    memory_add_cores(m, view);
  if (status != NRT_SUCCESS)
    return status;
  before.resize(view->cores.size());
  const vtpb_info_shared_t &placement = *m.files().back().model->placement;
  for (uint32_t i = 0; i < placement.num_kbins; i++) {
    const vtpb_info_shared_mr_set_t &set = placement.mr_sets[i];
    memory_core_t *core = view->core_of(set.tpb);
    if (core->subgraph.empty())
      core->subgraph = set.kbin->sg_name;
    predict_classes_t grown = counters(core->pcore());
    for (uint32_t u = 0; u < DMEM_USAGE_COUNT; u++)
      grown[u] -= before[static_cast<size_t>(core - view->cores.data())][u];
    add_share(view, index, *core, set.kbin->sg_name, grown);
    view->largest_oversized = std::max<uint64_t>(
        view->largest_oversized, dmem_allocator_largest_oversized(set.model_allocator));
  }
  return NRT_SUCCESS;
}

// Files first, then tensors.
NRT_STATUS measure_all(machine &m, const memory_arguments &arguments, memory_view_t *view,
                       finding_sink &findings, std::string *failed) {
  for (size_t i = 0; i < view->files.size(); i++) {
    *failed = view->files[i].path;
    NRT_STATUS status = measure_file(m, i, arguments, view, findings);
    if (status != NRT_SUCCESS)
      return status;
  }
  for (size_t i = 0; i < view->tensors.size(); i++) {
    *failed = "--tensor " + arguments.tensors[i];
    NRT_STATUS status =
        m.add_tensor(m.vnc_of(view->tensors[i].core), view->tensors[i].size, findings);
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

NRT_STATUS plan(const memory_core_t &core, const predict_item_t &item, const std::string &owner,
                memory_view_t *view, finding_sink &findings) {
  auto index = static_cast<size_t>(&core - view->cores.data());
  view->planned.push_back({index, item, owner});
  if (!predict_add({item}, &view->cores[index].classes))
    return findings.add(NRT_INVALID, owner, "the core's {} do not fit 64 bits",
                        dmem_usage_name(item.usage));
  return NRT_SUCCESS;
}

NRT_STATUS plan_all(const memory_core_t &core, const std::vector<predict_item_t> &items,
                    const std::string &owner, memory_view_t *view, finding_sink &findings) {
  for (const predict_item_t &item : items) {
    NRT_STATUS status = plan(core, item, owner, view, findings);
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

// The scratchpad grows to what the largest file so far needs: pages, one allocation each.
NRT_STATUS plan_scratchpad(memory_core_t *core, uint64_t end, const std::string &owner,
                           memory_view_t *view, finding_sink &findings) {
  uint64_t page = view->page_size;
  uint64_t have = core->scratchpad_end / page + (core->scratchpad_end % page != 0 ? 1 : 0);
  uint64_t need = end / page + (end % page != 0 ? 1 : 0);
  core->scratchpad_end = std::max(core->scratchpad_end, end);
  if (need > TDRV_SCRATCHPAD_MAX_PAGES)
    return findings.add(NRT_RESOURCE, owner, "{} scratchpad pages of {} bytes, the limit is {}",
                        need, page, TDRV_SCRATCHPAD_MAX_PAGES);
  NRT_STATUS status = NRT_SUCCESS;
  for (; status == NRT_SUCCESS && have < need; have++)
    status = plan(*core, {dma_mem_usage_type_t::SCRATCHPAD, page, view->release->scratchpad_align},
                  owner, view, findings);
  return status;
}

void note_what_is_missing(const kelf_nn_t &nn, const std::string &file, memory_view_t *view) {
  bool collectives = false, libraries = false;
  for (const auto &kbin : nn.kbins) {
    collectives = collectives || !kbin->replica_groups.empty() || !kbin->src_target_pairs.empty();
    libraries = libraries || !kbin->ucode_libs.empty();
  }
  if (collectives)
    view->notes.push_back(fmt::format("{}: what collectives need is not predicted", file));
  if (libraries)
    view->notes.push_back(
        fmt::format("{}: what custom-operator libraries need is not predicted", file));
}

NRT_STATUS predict_file(const machine &m, size_t index, const kelf_nn_t &nn, memory_view_t *view,
                        finding_sink &findings) {
  const std::string &path = view->files[index].path;
  std::vector<predict_subgraph_t> subgraphs;
  NRT_STATUS status = predict_neff(*view->release, nn, view->page_size, findings, &subgraphs);
  if (status != NRT_SUCCESS)
    return status;
  const vcore_t *vcore = vcore_at(m, view->files[index].core);
  if (subgraphs.size() > vcore->num_tpbs)
    return findings.add(NRT_LOAD_NOT_ENOUGH_NC, nn.kelf_member,
                        "{} subgraphs, a logical core has {} cores", subgraphs.size(),
                        vcore->num_tpbs);
  note_what_is_missing(nn, path, view);
  for (size_t i = 0; i < subgraphs.size(); i++) {
    memory_core_t *core = view->core_of(vcore->tpbs[i]);
    predict_classes_t classes{};
    status = plan_scratchpad(core, subgraphs[i].scratchpad_end, path, view, findings);
    if (status == NRT_SUCCESS)
      status = plan_all(*core, subgraphs[i].items, path, view, findings);
    if (status != NRT_SUCCESS)
      return status;
    if (core->subgraph.empty())
      core->subgraph = subgraphs[i].name;
    (void)predict_add(subgraphs[i].items, &classes);  // plan_all has found the larger sum to fit
    add_share(view, index, *core, subgraphs[i].name, classes);
    view->largest_oversized = std::max(view->largest_oversized, subgraphs[i].largest_oversized);
  }
  return NRT_SUCCESS;
}

NRT_STATUS plan_bases(const memory_arguments &arguments, memory_view_t *view,
                      finding_sink &findings) {
  for (size_t i = 0; i < view->cores.size(); i++) {
    const memory_core_t &core = view->cores[i];
    uint32_t position = 0;
    for (size_t k = 0; k < i; k++)
      position += view->cores[k].logical_core == core.logical_core ? 1 : 0;
    NRT_STATUS status =
        plan_all(core, predict_core_base(*view->release, position, arguments.profiling),
                 view->release->release, view, findings);
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

// Reads the arguments and opens as many logical cores as they name.
NRT_STATUS read_arguments(memory_arguments *arguments, memory_view_t *view,
                          finding_sink &findings) {
  if (!arguments->release.empty()) {
    view->release = predict_find(arguments->release);
    if (view->release == nullptr)
      return findings.add(NRT_INVALID, "--as", "'{}' is not known; known are {}",
                          arguments->release, predict_releases());
    view->profiling = arguments->profiling;
  }
  int32_t core = arguments->machine.core;
  if (core < 0)
    return findings.add(NRT_INVALID, "--core", "{}: memory needs a logical core by its number",
                        core);
  for (const std::string &text : arguments->files)
    view->files.push_back(parse_file(text, core));
  for (const std::string &text : arguments->tensors) {
    NRT_STATUS status = parse_tensor(text, core, findings, &view->tensors.emplace_back());
    if (status != NRT_SUCCESS)
      return status;
  }
  int32_t first = view->files.front().core, last = first;
  auto widen = [&](int32_t used) {
    first = std::min(first, used);
    last = std::max(last, used);
  };
  for (const placed_file &file : view->files)
    widen(file.core);
  for (const memory_tensor_t &tensor : view->tensors)
    widen(tensor.core);
  arguments->machine.core = first;
  arguments->machine.num_cores = static_cast<uint32_t>(last - first + 1);
  return NRT_SUCCESS;
}

}  // namespace

memory_core_t *memory_view_t::core_of(const tpb_t *tpb) {
  for (memory_core_t &core : cores)
    if (core.tpb == tpb)
      return &core;
  return nullptr;
}

void memory_add_cores(const machine &m, memory_view_t *view) {
  if (!view->cores.empty())
    return;
  std::vector<int32_t> used;
  for (const placed_file &file : view->files)
    used.push_back(file.core);
  for (const memory_tensor_t &tensor : view->tensors)
    used.push_back(tensor.core);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (int32_t number : used) {
    const vcore_t *vcore = vcore_at(m, number);
    for (uint32_t i = 0; i < vcore->num_tpbs; i++)
      view->cores.push_back({vcore->tpbs[i], static_cast<uint32_t>(number), "", {}, 0});
  }
  const tdrv_scratchpad_t &pad = vcore_at(m, used.front())->tpbs[0]->scratchpad;
  if (view->release == nullptr) {
    view->page_size = pad.page_size;
    view->contiguous = pad.is_contiguous;
  }
}

NRT_STATUS memory_measure(machine &m, const memory_arguments &arguments, memory_view_t *view,
                          finding_sink &findings, std::string *failed) {
  NRT_STATUS status = measure_all(m, arguments, view, findings, failed);
  for (memory_core_t &core : view->cores)
    core.classes = counters(core.pcore());
  return status;
}

NRT_STATUS memory_predict(machine &m, const memory_arguments &arguments, memory_view_t *view,
                          finding_sink &findings, std::string *failed) {
  view->page_size = view->release->scratchpad_page;
  for (size_t i = 0; i < view->files.size(); i++) {
    *failed = view->files[i].path;
    std::shared_ptr<const kelf_nn_t> nn;
    NRT_STATUS status = m.inspect(view->files[i], arguments.machine, findings, &nn);
    if (status == NRT_SUCCESS && i == 0) {
      memory_add_cores(m, view);
      if (env_is_set("NEURON_SCRATCHPAD_PAGE_SIZE") ||
          env_is_set("NEURON_RT_ONE_TMPBUF_PAGE_SIZE_MB"))
        view->page_size = tdrv_options(m.tdrv())->scratchpad_page_size;
      status = plan_bases(arguments, view, findings);
    }
    if (status == NRT_SUCCESS)
      status = predict_file(m, i, *nn, view, findings);
    if (status != NRT_SUCCESS)
      return status;
  }
  for (size_t i = 0; i < view->tensors.size(); i++) {
    *failed = "--tensor " + arguments.tensors[i];
    const memory_core_t *core = view->core_of(vcore_at(m, view->tensors[i].core)->tpbs[0]);
    NRT_STATUS status = plan(*core, {dma_mem_usage_type_t::TENSOR, view->tensors[i].size, 0},
                             *failed, view, findings);
    if (status != NRT_SUCCESS)
      return status;
  }
  const char *here = hal_arch(m.hal())->name;
  if (std::string_view(here) != view->release->recorded_on)
    view->notes.push_back(
        fmt::format("the figures of {} were recorded on {}; on {} they are an "
                    "estimate",
                    view->release->release, view->release->recorded_on, here));
  return NRT_SUCCESS;
}

uint64_t memory_total(const predict_classes_t &classes) {
  uint64_t total = 0;
  for (uint64_t bytes : classes)
    if (!checked_add(total, bytes, &total))
      return UINT64_MAX;
  return total;
}

uint64_t memory_page_advice(const memory_view_t &view) {
  constexpr uint64_t kStep = 512ull << 20;
  uint64_t bytes = 0;
  if (!checked_round_up(view.largest_oversized, kStep, &bytes))
    return 0;
  return bytes >> 20;
}

namespace {

// Places what is looked at on the instance. NRT_RESOURCE with `fit->failure` set: no room.
NRT_STATUS try_fit(machine &m, const memory_view_t &view, NRT_STATUS status, finding_sink &findings,
                   const std::string &failed, memory_fit_t *fit) {
  if (view.release == nullptr && status == NRT_RESOURCE)
    memory_note_failure(view, failed, fit);
  if (view.release != nullptr && status == NRT_SUCCESS)
    status = memory_place_planned(m, view, findings, fit);
  if (status != NRT_SUCCESS && !fit->failure)
    return status;
  return memory_measure_room(view, findings, fit);
}

}  // namespace

int command_memory(const memory_arguments &given) {
  memory_arguments arguments = given;
  finding_sink findings;
  memory_view_t view;
  std::string failed = arguments.files.front();
  machine m;
  bool fitting = !arguments.fit.empty();
  if (fitting) {
    arguments.machine.instance = arguments.fit;
    // A request without room is a result here, not an incident to write reports about.
    setenv("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "0", 1);
  }
  if (read_arguments(&arguments, &view, findings) != NRT_SUCCESS) {
    const finding &wrong = findings.all().front();
    return tool_usage(arguments.machine.json, wrong.where + ": " + wrong.what);
  }
  NRT_STATUS status = view.release != nullptr
                          ? memory_predict(m, arguments, &view, findings, &failed)
                          : memory_measure(m, arguments, &view, findings, &failed);
  memory_fit_t fit;
  if (fitting && !view.cores.empty())
    status = try_fit(m, view, status, findings, failed, &fit);
  if (status != NRT_SUCCESS)
    return tool_fail(arguments.machine.json, failed, status, findings);
  if (arguments.machine.json)
    memory_print_json(m, view, fitting ? &fit : nullptr);
  else
    memory_print_text(m, view, fitting ? &fit : nullptr, arguments.table);
  return fit.failure ? TOOL_FINDINGS : TOOL_OK;
}
