// SPDX-License-Identifier: Apache-2.0
#include "tools/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "dmem/accounting.h"
#include "dmem/oom_report.h"
#include "dmem/room.h"

namespace {

uint64_t missing(const memory_failure_t &failure) {
  return failure.size > failure.available ? failure.size - failure.available : 0;
}

std::string failure_text(const memory_failure_t &f) {
  std::string text = fmt::format("{}: {} of {} bytes ({})", tool_printable(f.what),
                                 dmem_usage_name(f.usage), f.size, dmem_size_text(f.size));
  if (f.alignment != 0)
    text += fmt::format(", alignment {},", f.alignment);
  text += fmt::format(
      " for device {}, core {} finds no room in HBM {}: at most {} bytes ({}) lie "
      "together there, {} bytes too few",
      f.device, f.core, f.hbm, f.available, dmem_size_text(f.available), missing(f));
  return text;
}

}  // namespace

NRT_STATUS memory_place_planned(machine &m, const memory_view_t &view, finding_sink &findings,
                                memory_fit_t *fit) {
  for (const memory_planned_t &planned : view.planned) {
    NRT_STATUS status = m.add_memory(*view.cores[planned.core].tpb, planned.item.size,
                                     planned.item.alignment, planned.item.usage, findings);
    if (status == NRT_RESOURCE)
      memory_note_failure(view, planned.owner, fit);
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

void memory_note_failure(const memory_view_t &view, const std::string &what, memory_fit_t *fit) {
  for (const memory_core_t &core : view.cores) {
    dmem_last_shortage_t last;
    if (!dmem_device_last_shortage(core.pcore().stats, &last))
      continue;
    memory_failure_t failure;
    failure.what = what;
    failure.usage = last.usage;
    failure.size = last.size;
    failure.alignment = last.alignment;
    failure.available = last.available;
    failure.device = core.pcore().device_id;
    failure.core = last.nc_id;
    failure.hbm = last.channel;
    fit->failure = std::move(failure);
    return;
  }
}

NRT_STATUS memory_measure_room(const memory_view_t &view, finding_sink &findings,
                               memory_fit_t *fit) {
  for (const memory_core_t &core : view.cores) {
    const physical_core_t *pcore = &core.pcore();
    bool known = std::any_of(fit->hbms.begin(), fit->hbms.end(), [&](const memory_hbm_t &hbm) {
      return hbm.pcore->device_id == pcore->device_id && hbm.pcore->hbm_index == pcore->hbm_index;
    });
    if (known)
      continue;
    dmem_room_t room;
    if (!dmem_room_measure(pcore, pcore->hbm_index, &room))
      return findings.add(NRT_FAILURE, "room", "device {}, HBM {}: the driver does not tell",
                          pcore->device_id, pcore->hbm_index);
    dmem_usage_table_t table;
    dmem_device_snapshot(pcore->stats, &table);
    fit->hbms.push_back({pcore, table.hbm_total[pcore->hbm_index], room.main.free_bytes,
                         room.small.free_bytes,
                         std::max(room.main.largest_block, room.small.largest_block)});
  }
  return NRT_SUCCESS;
}

void memory_put_fit(json_out &json, const machine &m, const memory_fit_t &fit) {
  json.key("fit").begin_object().field("instance", m.identity().instance_type);
  json.field("fits", !fit.failure.has_value()).key("failed");
  if (fit.failure) {
    const memory_failure_t &f = *fit.failure;
    json.begin_object().field("what", f.what).field("class", dmem_usage_key(f.usage));
    json.field("size", f.size).field("alignment", f.alignment).field("available", f.available);
    json.field("missing", missing(f)).field("device", f.device).field("core", f.core);
    json.field("hbm", f.hbm).end_object();
  } else {
    json.null();
  }
  json.key("hbms").begin_array();
  for (const memory_hbm_t &hbm : fit.hbms) {
    json.begin_object().field("device", hbm.pcore->device_id).field("hbm", hbm.pcore->hbm_index);
    json.field("held", hbm.held).field("left", hbm.left_main + hbm.left_small);
    json.field("left_main", hbm.left_main).field("left_small", hbm.left_small);
    json.field("largest_block", hbm.largest_block).end_object();
  }
  json.end_array().end_object();
}

void memory_print_fit(const machine &m, const memory_fit_t &fit) {
  if (fit.failure)
    tool_print(fmt::format("\n{}: does not fit. {}\nPlaced before that, bytes per HBM:\n",
                           m.identity().instance_type, failure_text(*fit.failure)));
  else
    tool_print(fmt::format("\n{}: fits. Bytes per HBM:\n", m.identity().instance_type));
  tool_table table(
      {">Device", ">HBM", ">Held", ">Left", ">Main pool", ">Small pool", ">Largest block"});
  for (const memory_hbm_t &hbm : fit.hbms)
    table.row({std::to_string(hbm.pcore->device_id), std::to_string(hbm.pcore->hbm_index),
               std::to_string(hbm.held), std::to_string(hbm.left_main + hbm.left_small),
               std::to_string(hbm.left_main), std::to_string(hbm.left_small),
               std::to_string(hbm.largest_block)});
  table.print();
}
