// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/checked.h"
#include "dmem/accounting.h"
#include "dmem/report_table.h"
#include "tools/memory_fit.h"

namespace {

using usage_t = dma_mem_usage_type_t;

// The order of neff-format.md 5.6.
constexpr usage_t kOrder[] = {usage_t::GENERIC,
                              usage_t::INSTR_PE,
                              usage_t::INSTR_ACT,
                              usage_t::INSTR_POOL,
                              usage_t::INSTR_DVE,
                              usage_t::INSTR_SP,
                              usage_t::IO,
                              usage_t::DRAM_SPILL,
                              usage_t::WEIGHT,
                              usage_t::ACT_TABLE,
                              usage_t::SCRATCHPAD,
                              usage_t::SCRATCHPAD_NOT_SHARED,
                              usage_t::TENSOR,
                              usage_t::UCODE_LIB,
                              usage_t::POOL_STDIO,
                              usage_t::CC,
                              usage_t::XT_CC,
                              usage_t::DMA_RING,
                              usage_t::DMA_RING_SPILL,
                              usage_t::DMA_RING_IO,
                              usage_t::DMA_RING_COLLECTIVES,
                              usage_t::NOTIFICATION};
static_assert(std::size(kOrder) == DMEM_USAGE_COUNT);

uint64_t of(const predict_classes_t &classes, usage_t usage) {
  return classes[static_cast<uint32_t>(usage)];
}

// Totals by device and HBM.
std::map<std::pair<uint32_t, uint32_t>, uint64_t> hbm_totals(const memory_view_t &view) {
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> out;
  for (const memory_core_t &core : view.cores) {
    uint64_t &sum = out[{core.pcore().device_id, core.pcore().hbm_index}];
    if (!checked_add(sum, memory_total(core.classes), &sum))
      sum = UINT64_MAX;
  }
  return out;
}

void put_classes(json_out &json, const predict_classes_t &classes) {
  json.key("classes").begin_object();
  for (usage_t usage : kOrder)
    json.field(dmem_usage_key(usage), of(classes, usage));
  json.end_object().field("total", memory_total(classes));
}

void put_core(json_out &json, const memory_view_t &view, const memory_core_t &core) {
  json.begin_object().field("device", core.pcore().device_id).field("core", core.pcore().nc_id);
  json.field("hbm", core.pcore().hbm_index).field("logical_core", core.logical_core);
  json.key("subgraph");
  if (core.subgraph.empty())
    json.null();
  else
    json.value(core.subgraph);
  put_classes(json, core.classes);
  json.key("neffs").begin_array();
  for (const memory_share_t &share : view.shares) {
    if (&view.cores[share.core] != &core)
      continue;
    json.begin_object().field("neff", share.file).field("subgraph", share.subgraph);
    put_classes(json, share.classes);
    json.end_object();
  }
  json.end_array().end_object();
}

std::string headline(const memory_view_t &view) {
  if (view.release == nullptr)
    return "opennrt, measured by loading";
  return fmt::format("{}, predicted from the files", view.release->release);
}

void print_classes(const memory_view_t &view) {
  std::vector<std::string> headings = {"Class (bytes)"};
  std::vector<std::string> subgraphs = {"subgraph"}, totals = {"total"};
  for (const memory_core_t &core : view.cores) {
    headings.push_back(fmt::format(">ND {} NC {}", core.pcore().device_id, core.pcore().nc_id));
    subgraphs.push_back(core.subgraph.empty() ? "-" : core.subgraph);
    totals.push_back(std::to_string(memory_total(core.classes)));
  }
  tool_table table(headings);
  table.row(subgraphs);
  for (usage_t usage : kOrder) {
    std::vector<std::string> cells = {dmem_usage_key(usage)};
    for (const memory_core_t &core : view.cores)
      cells.push_back(std::to_string(of(core.classes, usage)));
    table.row(cells);
  }
  table.row(totals);
  table.print();
}

void print_shares(const memory_view_t &view) {
  tool_print("\nPer NEFF, without scratchpad pages:\n");
  tool_table table({">NEFF", "Subgraph", ">Device", ">Core", ">Bytes"});
  for (const memory_share_t &share : view.shares) {
    const physical_core_t &pcore = view.cores[share.core].pcore();
    table.row({std::to_string(share.file), share.subgraph, std::to_string(pcore.device_id),
               std::to_string(pcore.nc_id), std::to_string(memory_total(share.classes))});
  }
  table.print();
}

// NEFFs are numbered as the runtime does: one number per subgraph, from 1001.
constexpr uint32_t kFirstNeff = 1001;

void add_core_rows(const memory_view_t &view, size_t index, std::vector<dmem_report_row_t> *rows) {
  const memory_core_t &core = view.cores[index];
  uint32_t device = core.pcore().device_id;
  rows->push_back(
      dmem_report_row(dmem_row_kind_t::CORE, device, core.pcore().nc_id, core.classes.data()));
  for (size_t i = 0; i < view.shares.size(); i++)
    if (view.shares[i].core == index)
      rows->push_back(dmem_report_row(dmem_row_kind_t::NEFF, device,
                                      kFirstNeff + static_cast<uint32_t>(i),
                                      view.shares[i].classes.data()));
}

// One row per HBM, its cores and their NEFFs below it.
std::vector<dmem_report_row_t> table_rows(const memory_view_t &view) {
  std::vector<dmem_report_row_t> rows;
  for (const auto &[place, total] : hbm_totals(view)) {
    size_t head = rows.size();
    predict_classes_t sum{};
    rows.push_back({});
    for (size_t i = 0; i < view.cores.size(); i++) {
      const physical_core_t &pcore = view.cores[i].pcore();
      if (std::pair(pcore.device_id, pcore.hbm_index) != place)
        continue;
      add_core_rows(view, i, &rows);
      for (uint32_t u = 0; u < DMEM_USAGE_COUNT; u++)
        if (!checked_add(sum[u], view.cores[i].classes[u], &sum[u]))
          sum[u] = UINT64_MAX;
    }
    rows[head] = dmem_report_row(dmem_row_kind_t::HBM, place.first, place.second, sum.data());
  }
  return rows;
}

void print_table(const memory_view_t &view) {
  for (size_t i = 0; i < view.shares.size(); i++) {
    const memory_share_t &share = view.shares[i];
    const memory_core_t &core = view.cores[share.core];
    uint32_t device = core.pcore().device_id;
    dmem_report_row_t of_core =
        dmem_report_row(dmem_row_kind_t::CORE, device, core.pcore().nc_id, core.classes.data());
    dmem_report_row_t of_neff = dmem_report_row(
        dmem_row_kind_t::NEFF, device, kFirstNeff + static_cast<uint32_t>(i), share.classes.data());
    const std::string &name = view.files[share.file].path;
    tool_print(dmem_report_neff(device, &of_core, &of_neff, name.c_str()) + "\n");
  }
  tool_print("\n" + dmem_report_table(table_rows(view), false));
}

}  // namespace

void memory_print_json(const machine &m, const memory_view_t &view, const memory_fit_t *fit) {
  json_out json;
  json.begin_object().field("instance", m.identity().instance_type);
  json.field("arch", hal_arch(m.hal())->name).field("lnc", m.lnc());
  json.field("runtime", view.release == nullptr ? "opennrt" : view.release->release);
  json.field("predicted", view.release != nullptr).field("profiling", view.profiling);
  json.key("scratchpad").begin_object().field("contiguous", view.contiguous);
  json.field("page_size", view.page_size).key("advised_page_size_mib");
  uint64_t advice = memory_page_advice(view);
  if (advice != 0)
    json.value(advice);
  else
    json.null();
  json.end_object().key("neffs").begin_array();
  for (const placed_file &file : view.files)
    json.begin_object().field("file", file.path).field("logical_core", file.core).end_object();
  json.end_array().key("cores").begin_array();
  for (const memory_core_t &core : view.cores)
    put_core(json, view, core);
  json.end_array().key("hbms").begin_array();
  for (const auto &[place, total] : hbm_totals(view))
    json.begin_object()
        .field("device", place.first)
        .field("hbm", place.second)
        .field("total", total)
        .end_object();
  json.end_array().key("notes").begin_array();
  for (const std::string &note : view.notes)
    json.value(note);
  json.end_array();
  if (fit != nullptr)
    memory_put_fit(json, m, *fit);
  json.end_object();
  tool_print(json.text());
}

void memory_print_text(const machine &m, const memory_view_t &view, const memory_fit_t *fit,
                       bool table) {
  tool_print(fmt::format("Runtime: {}\nDevice: {}\n", headline(view), machine_text(m)));
  for (size_t i = 0; i < view.files.size(); i++)
    tool_print(fmt::format("NEFF {}: {}, logical core {}\n", i, tool_printable(view.files[i].path),
                           view.files[i].core));
  tool_print("\n");
  if (table) {
    print_table(view);
  } else {
    print_classes(view);
    if (view.files.size() > 1)
      print_shares(view);
  }
  tool_print("\n");
  for (const auto &[place, total] : hbm_totals(view))
    tool_print(fmt::format("Device {}, HBM {}: {} bytes ({})\n", place.first, place.second, total,
                           dmem_size_text(total)));
  tool_print(fmt::format("Scratchpad: {}, pages of {}\n", view.contiguous ? "contiguous" : "paged",
                         dmem_size_text(view.page_size)));
  if (view.profiling)
    tool_print("Profiler buffers are counted; --no-profiling leaves them out.\n");
  uint64_t advice = memory_page_advice(view);
  if (advice != 0)
    tool_print(
        fmt::format("Variables larger than a page have allocations of their own; "
                    "NEURON_SCRATCHPAD_PAGE_SIZE={} (and the compiler's option) would spare "
                    "them.\n",
                    advice));
  for (const std::string &note : view.notes)
    tool_print(fmt::format("Note: {}\n", tool_printable(note)));
  if (fit != nullptr)
    memory_print_fit(m, *fit);
}
