// SPDX-License-Identifier: Apache-2.0
// plan and resolve: where things lie on a loaded machine.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "dmem/accounting.h"
#include "tdrv/dma_ring.h"
#include "tools/machine.h"

namespace {

// What the tables of a load say about one variable.
struct placed_var {
  const kbin_mem_ref *record = nullptr;
  const mem_ref_t *mr = nullptr;
  std::optional<uint64_t> address;
  const char *arena = nullptr;  // nullptr: nowhere of its own
  const char *usage = nullptr;
  std::optional<int> hbm;
  uint64_t extent = 0;  // bytes of device memory at `address` that are its own
};

std::optional<uint64_t> address_of(const vtpb_info_shared_mr_set_t &set, const mem_ref_t &mr,
                                   const dmem_t **mem) {
  switch (mr.type) {
    case MR_LIST:
      return std::nullopt;
    case MR_PTR_TABLE: {
      if (mr.pointers_to_tables_index >= set.tables.count)
        return std::nullopt;
      *mem = set.tables.mem[mr.pointers_to_tables_index];
      if (*mem == nullptr)
        return std::nullopt;
      return dmem_get_pa(*mem);
    }
    case MR_PTR:
      if (mr.ptr_mem_addr == MEM_REF_NOT_STAGED)
        return std::nullopt;
      return mr.ptr_mem_addr;
    default:
      *mem = mr.mem;
      if (mr.physical_address == MEM_REF_NOT_STAGED)
        return std::nullopt;
      return mr.physical_address;
  }
}

const char *arena_of(const mem_ref_t &mr, const dmem_t *mem) {
  switch (mr.type) {
    case MR_SB:
      return "sbuf";
    case MR_INPUT:
    case MR_OUTPUT:
      return "io";
    case MR_PTR:
    case MR_REMOTE:
    case MR_LIST:
      return nullptr;
    case MR_VIRTUAL_TMP_BUF:
      if (mr.shared_virtual_scratchpad)
        return "shared";
      return mem != nullptr && mem->mem_usage_type == dma_mem_usage_type_t::SCRATCHPAD ? "local"
                                                                                       : "private";
    default:
      return "model";
  }
}

placed_var place_of(const vtpb_info_shared_mr_set_t &set, const kbin_mem_ref &record) {
  placed_var var;
  var.record = &record;
  var.mr = lookup_memref_by_idx(set.mem_ref_set, record.var_id);
  if (var.mr == nullptr)
    return var;
  const dmem_t *mem = nullptr;
  var.address = address_of(set, *var.mr, &mem);
  if (!var.address)
    return var;
  var.arena = arena_of(*var.mr, mem);
  const hal_arch_t *arch = set.tpb->pcore.arch;
  int hbm = hal_hbm_of_address(arch, *var.address);
  if (hbm >= 0)
    var.hbm = hbm;
  if (mem != nullptr)
    var.usage = dmem_usage_name(mem->mem_usage_type);
  if (var.arena != nullptr && mem != nullptr)
    var.extent = var.mr->type == MR_PTR_TABLE ? mem->size : var.mr->size;
  return var;
}

// A pointer table's record has no size of its own: what it takes is its table in device memory.
uint64_t size_of(const placed_var &var) {
  if (var.mr == nullptr)
    return var.record->size;
  return var.mr->type == MR_PTR_TABLE ? var.mr->table_length * sizeof(uint64_t) : var.mr->size;
}

// "65536 bytes (64 KiB)".
std::string bytes_text(uint64_t bytes) {
  constexpr uint64_t kKiB = 1024;
  constexpr uint64_t kMiB = kKiB * kKiB;
  if (bytes < kKiB)
    return fmt::format("{} bytes", bytes);
  uint64_t unit = bytes < kMiB ? kKiB : kMiB;
  const char *name = bytes < kMiB ? "KiB" : "MiB";
  if (bytes % unit == 0)
    return fmt::format("{} bytes ({} {})", bytes, bytes / unit, name);
  return fmt::format("{} bytes ({:.1f} {})", bytes,
                     static_cast<double>(bytes) / static_cast<double>(unit), name);
}

const char *category_name(uint32_t category) {
  static const char *const kNames[] = {
      "unknown (host)", "code (host)",      "tensors (host)",      "constants (host)",
      "misc (host)",    "driver (host)",    "notification (host)", "unknown",
      "code",           "tensors",          "constants",           "scratchpad",
      "misc",           "driver",           "collectives",         "private scratchpad",
      "notification",   "dma rings (host)", "dma rings",           "contiguous scratchpad"};
  return category < std::size(kNames) ? kNames[category] : "?";
}

struct chunk_list {
  uint32_t device;
  uint32_t hbm;
  std::vector<hal_chunk_t> chunks;
};

// The driver's own view of the devices in use.
NRT_STATUS dump_chunks(const machine &m, std::vector<chunk_list> *out, finding_sink &findings) {
  std::map<uint32_t, hal_device_t *> devices;
  for (const loaded_file &file : m.files())
    for (uint32_t i = 0; i < file.model->placement->vcore->num_tpbs; i++) {
      const physical_core_t &pcore = file.model->placement->vcore->tpbs[i]->pcore;
      devices[pcore.device_id] = pcore.device;
    }
  for (const auto &[id, device] : devices)
    for (uint32_t hbm = 0; hbm < hal_arch(m.hal())->hbm_count; hbm++) {
      chunk_list list{id, hbm, std::vector<hal_chunk_t>(256)};
      int error = 0;
      do {
        auto count = static_cast<uint32_t>(list.chunks.size());
        error = hal_dump_chunks(device, hbm, list.chunks.data(), &count);
        if (error == -EAGAIN)
          count = std::max(count, static_cast<uint32_t>(list.chunks.size()) * 2);
        if (error == 0 || error == -EAGAIN)
          list.chunks.resize(count);
      } while (error == -EAGAIN);
      if (error != 0)
        return findings.add(NRT_FAILURE, "chunks", "device {}, HBM {}: the driver's list: {}", id,
                            hbm, hal_error_name(error));
      out->push_back(std::move(list));
    }
  return NRT_SUCCESS;
}

// True when the driver holds chunks for every byte of [address, address + size). A variable of the
// contiguous scratchpad may span pages.
bool covered(const std::vector<hal_chunk_t> &chunks, uint64_t address, uint64_t size) {
  for (const hal_chunk_t &chunk : chunks) {
    if (size == 0 || address < chunk.pa)
      break;
    if (address - chunk.pa >= chunk.size)
      continue;
    uint64_t here = std::min(size, chunk.size - (address - chunk.pa));
    address += here;
    size -= here;
  }
  return size == 0;
}

// One subgraph of one file on its physical core.
struct core_view {
  size_t file;
  uint32_t subgraph;
  const loaded_file *loaded;
  const vtpb_info_shared_mr_set_t *set;
  std::vector<placed_var> vars;
  const physical_core_t &pcore() const { return set->tpb->pcore; }
};

std::vector<core_view> view_cores(const machine &m) {
  std::vector<core_view> out;
  for (size_t f = 0; f < m.files().size(); f++) {
    const loaded_file &file = m.files()[f];
    for (uint32_t i = 0; i < file.model->placement->num_kbins; i++) {
      const auto &set = file.model->placement->mr_sets[i];
      core_view view{f, i, &file, &set, {}};
      for (uint32_t v = 0; v < set.kbin->mem_ref_set->nmem; v++)
        view.vars.push_back(place_of(set, set.kbin->mem_ref_set->mem[v]));
      out.push_back(std::move(view));
    }
  }
  return out;
}

// Every placed byte must lie in memory the driver has given out.
void confirm(const std::vector<core_view> &cores, const std::vector<chunk_list> &chunks,
             finding_sink &findings) {
  for (const core_view &core : cores)
    for (const placed_var &var : core.vars) {
      if (var.extent == 0 || !var.hbm)
        continue;
      bool found = false;
      for (const chunk_list &list : chunks)
        if (list.device == core.pcore().device_id && static_cast<int>(list.hbm) == *var.hbm)
          found = covered(list.chunks, *var.address, var.extent);
      if (!found)
        findings.add(NRT_FAILURE,
                     fmt::format("{}: var.{}", core.set->kbin->definition, var.record->name),
                     "{} bytes at 0x{:x} are not in any chunk of device {}, HBM {}", var.extent,
                     *var.address, core.pcore().device_id, *var.hbm);
    }
}

struct arena_view {
  const char *name;
  const tdrv_scratchpad_info_t *info;
};

std::vector<arena_view> arenas_of(const core_view &core) {
  const tdrv_scratchpad_model_t &model = core.loaded->model->placement->scratchpad;
  std::vector<arena_view> out;
  if (model.shared.tpb != nullptr && model.shared.size != 0)
    out.push_back({"shared", &model.shared});
  if (core.subgraph < model.num_subgraphs && model.local[core.subgraph].tpb != nullptr &&
      model.local[core.subgraph].size != 0)
    out.push_back({"local", &model.local[core.subgraph]});
  return out;
}

void put_machine(json_out &json, const machine &m) {
  json.field("instance", m.identity().instance_type).field("arch", hal_arch(m.hal())->name);
  json.field("backend", m.identity().backend).field("driver", m.identity().driver_version);
  json.field("lnc", m.lnc());
}

void put_var(json_out &json, const placed_var &var) {
  const kbin_mem_ref &record = *var.record;
  json.begin_object().field("var_id", record.var_id).field("name", record.name);
  json.field("kind", kbin_mr_type_name(record.mr_type));
  json.field("type", static_cast<uint32_t>(record.mr_type));
  json.field("size", size_of(var));
  json.field("alignment", record.alignment);
  auto put = [&](const char *key, const char *text) {
    json.key(key);
    if (text != nullptr)
      json.value(text);
    else
      json.null();
  };
  put("arena", var.arena);
  put("usage", var.usage);
  json.key("hbm");
  if (var.hbm)
    json.value(*var.hbm);
  else
    json.null();
  json.key("physical_address");
  if (var.address)
    json.hex(*var.address);
  else
    json.null();
  json.end_object();
}

void put_arena(json_out &json, const arena_view &arena) {
  const tdrv_scratchpad_t &pad = arena.info->tpb->scratchpad;
  json.begin_object().field("arena", arena.name).field("size", arena.info->size);
  json.field("offset", arena.info->offset).field("core", arena.info->tpb->pcore.nc_id);
  json.field("contiguous", pad.is_contiguous).field("page_size", pad.page_size);
  json.field("model_pages", arena.info->model_pages).key("pages").begin_array();
  for (uint32_t i = 0; i < pad.num_pages; i++) {
    json.begin_object().key("physical_address").hex(dmem_get_pa(pad.pages[i].mem));
    json.field("size", pad.pages[i].mem->size).field("refs", pad.pages[i].refs).end_object();
  }
  json.end_array().end_object();
}

void print_plan_json(const machine &m, const std::vector<core_view> &cores,
                     const std::vector<chunk_list> &chunks, const finding_sink &findings) {
  json_out json;
  json.begin_object();
  put_machine(json, m);
  json.key("neffs").begin_array();
  for (const loaded_file &file : m.files())
    json.begin_object()
        .field("file", file.path)
        .field("name", file.name)
        .field("uuid", file.uuid)
        .field("logical_core", m.logical_core(file.model->vnc))
        .end_object();
  json.end_array().key("cores").begin_array();
  for (const core_view &core : cores) {
    json.begin_object().field("neff", core.file).field("device", core.pcore().device_id);
    json.field("core", core.pcore().nc_id);
    json.field("logical_core", m.logical_core(core.loaded->model->vnc));
    json.field("subgraph", core.set->kbin->sg_name).key("vars").begin_array();
    for (const placed_var &var : core.vars)
      put_var(json, var);
    json.end_array().key("arenas").begin_array();
    for (const arena_view &arena : arenas_of(core))
      put_arena(json, arena);
    json.end_array().end_object();
  }
  json.end_array().key("chunks").begin_array();
  for (const chunk_list &list : chunks)
    for (const hal_chunk_t &chunk : list.chunks) {
      json.begin_object().field("device", list.device).field("hbm", list.hbm);
      json.key("physical_address").hex(chunk.pa).field("size", chunk.size);
      json.field("category", category_name(chunk.category)).end_object();
    }
  json.end_array();
  tool_put_findings(json, findings);
  json.end_object();
  tool_print(json.text());
}

void print_plan_text(const machine &m, const std::vector<core_view> &cores,
                     const std::vector<chunk_list> &chunks) {
  tool_print(fmt::format("Device: {}\n", machine_text(m)));
  for (size_t f = 0; f < m.files().size(); f++)
    tool_print(fmt::format("NEFF {}: {}, UUID {}, logical core {}\n", f,
                           tool_printable(m.files()[f].path), m.files()[f].uuid,
                           m.logical_core(m.files()[f].model->vnc)));
  for (const core_view &core : cores) {
    tool_print(fmt::format("\nNEFF {}, subgraph {} on device {}, core {}:\n", core.file,
                           tool_printable(core.set->kbin->sg_name), core.pcore().device_id,
                           core.pcore().nc_id));
    tool_table table({">Id", "Name", "Kind", ">Size", ">Align", "Arena", ">HBM", ">Address"});
    for (const placed_var &var : core.vars)
      table.row({std::to_string(var.record->var_id), var.record->name,
                 kbin_mr_type_name(var.record->mr_type), std::to_string(size_of(var)),
                 std::to_string(var.record->alignment), var.arena != nullptr ? var.arena : "-",
                 var.hbm ? std::to_string(*var.hbm) : "-",
                 var.address ? fmt::format("0x{:x}", *var.address) : "-"});
    table.print();
    for (const arena_view &arena : arenas_of(core)) {
      const tdrv_scratchpad_t &pad = arena.info->tpb->scratchpad;
      tool_print(
          fmt::format("  {} arena: {} at offset {} of core {}'s {} scratchpad, {} "
                      "page(s) of {}\n",
                      arena.name, bytes_text(arena.info->size), arena.info->offset,
                      arena.info->tpb->pcore.nc_id, pad.is_contiguous ? "contiguous" : "paged",
                      pad.num_pages, bytes_text(pad.page_size)));
    }
  }
  tool_print("\nChunks of the driver:\n");
  tool_table table({">Device", ">HBM", ">Address", ">Size", "Category"});
  for (const chunk_list &list : chunks)
    for (const hal_chunk_t &chunk : list.chunks)
      table.row({std::to_string(list.device), std::to_string(list.hbm),
                 fmt::format("0x{:x}", chunk.pa), std::to_string(chunk.size),
                 category_name(chunk.category)});
  table.print();
}

// The record a name or an id stands for; names first, so that a variable called "7" can be asked
// for.
const kbin_mem_ref *find_record(const kbin_mem_ref_set_t &records, const std::string &variable) {
  for (uint32_t i = 0; i < records.nmem; i++)
    if (variable == records.mem[i].name)
      return &records.mem[i];
  uint64_t id = 0;
  if (!tool_parse_u64(variable, &id))
    return nullptr;
  for (uint32_t i = 0; i < records.nmem; i++)
    if (records.mem[i].var_id == id)
      return &records.mem[i];
  return nullptr;
}

struct resolved {
  const core_view *core;
  const kbin_mem_ref *record;
  NRT_STATUS status;
  uint64_t address;
};

void print_resolved_json(const machine &m, const std::vector<resolved> &places,
                         const std::string &file, const std::string &variable, uint64_t offset,
                         uint64_t size, const finding_sink &findings) {
  json_out json;
  json.begin_object();
  put_machine(json, m);
  json.field("file", file).field("variable", variable).field("offset", offset).field("size", size);
  json.key("results").begin_array();
  for (const resolved &place : places) {
    const physical_core_t &pcore = place.core->pcore();
    json.begin_object().field("subgraph", place.core->set->kbin->sg_name);
    json.field("device", pcore.device_id).field("core", pcore.nc_id);
    json.field("logical_core", m.logical_core(place.core->loaded->model->vnc));
    json.field("var_id", place.record->var_id).field("name", place.record->name);
    json.field("kind", kbin_mr_type_name(place.record->mr_type));
    tool_put_status(json, place.status);
    json.key("physical_address");
    if (place.status == NRT_SUCCESS)
      json.hex(place.address);
    else
      json.null();
    int hbm = place.status == NRT_SUCCESS ? hal_hbm_of_address(pcore.arch, place.address) : -1;
    json.key("hbm");
    if (hbm >= 0)
      json.value(hbm);
    else
      json.null();
    json.end_object();
  }
  json.end_array();
  tool_put_findings(json, findings);
  json.end_object();
  tool_print(json.text());
}

void print_resolved_text(const machine &m, const std::vector<resolved> &places) {
  tool_print(fmt::format("Device: {}\n", machine_text(m)));
  tool_table table({"Subgraph", ">Device", ">Core", ">Id", "Name", "Kind", ">Address"});
  for (const resolved &place : places)
    table.row({place.core->set->kbin->sg_name, std::to_string(place.core->pcore().device_id),
               std::to_string(place.core->pcore().nc_id), std::to_string(place.record->var_id),
               place.record->name, kbin_mr_type_name(place.record->mr_type),
               place.status == NRT_SUCCESS ? fmt::format("0x{:x}", place.address) : "-"});
  table.print();
}

}  // namespace

int command_plan(const std::vector<std::string> &files, const machine_arguments &arguments) {
  finding_sink findings(true);
  machine m;
  std::string failed;
  NRT_STATUS status = m.load(files, arguments, findings, &failed);
  std::vector<chunk_list> chunks;
  if (status == NRT_SUCCESS)
    status = dump_chunks(m, &chunks, findings);
  if (status != NRT_SUCCESS)
    return tool_fail(arguments.json, failed, status, findings);
  std::vector<core_view> cores = view_cores(m);
  confirm(cores, chunks, findings);
  if (arguments.json)
    print_plan_json(m, cores, chunks, findings);
  else
    print_plan_text(m, cores, chunks);
  tool_report(failed, findings);
  return findings.empty() ? TOOL_OK : TOOL_FINDINGS;
}

int command_resolve(const std::string &file, const std::string &variable, uint64_t offset,
                    uint64_t size, const machine_arguments &arguments) {
  finding_sink findings(true);
  machine m;
  std::string failed;
  NRT_STATUS status = m.load({file}, arguments, findings, &failed);
  if (status != NRT_SUCCESS)
    return tool_fail(arguments.json, file, status, findings);

  std::vector<core_view> cores = view_cores(m);
  std::vector<resolved> places;
  for (const core_view &core : cores) {
    const kbin_mem_ref *record = find_record(*core.set->kbin->mem_ref_set, variable);
    if (record == nullptr)
      continue;
    resolved place{&core, record, NRT_INVALID, 0};
    const mem_ref_t *mr = lookup_memref_by_idx(core.set->mem_ref_set, record->var_id);
    if (mr != nullptr)
      place.status = mem_ref_to_addr(mr, offset, size, &place.address);
    if (place.status != NRT_SUCCESS)
      // The sentence names the variable.
      findings.add(place.status, core.set->kbin->definition, "{}",
                   tool_take_error(fmt::format("variable {} does not resolve", record->name)));
    places.push_back(place);
  }
  if (places.empty()) {
    findings.add(NRT_INVALID, variable, "no subgraph has a variable of this name or id");
    return tool_fail(arguments.json, file, NRT_INVALID, findings);
  }
  if (arguments.json)
    print_resolved_json(m, places, file, variable, offset, size, findings);
  else
    print_resolved_text(m, places);
  tool_report(file, findings);
  return findings.empty() ? TOOL_OK : TOOL_FINDINGS;
}
