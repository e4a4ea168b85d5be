// SPDX-License-Identifier: Apache-2.0
// dis: streams as text that asm reads back.
#include <fmt/format.h>

#include "tools/commands.h"
#include "tools/streams.h"
#include "tools/tool.h"

namespace {

using block_key = std::pair<std::string_view, uint32_t>;  // queue, id
using block_map = std::map<block_key, const kbin_dma_block_t *>;

struct core_t {
  const kbin_t *kbin;
  isa_names_t names;
  block_map blocks;
};

core_t core_of(const kbin_t &kbin) {
  core_t core{&kbin, streams_names(kbin), {}};
  for (const kbin_dma_block_t &block : kbin.blocks)
    core.blocks.emplace(block_key{block.queue, block.id}, &block);
  return core;
}

// The block that a trigger names; nullptr: not a trigger, or none of that name.
const kbin_dma_block_t *block_of(const core_t &core, const isa_record &record) {
  if (record.h.opcode != ISA_PSEUDO_DMATRIGGER)
    return nullptr;
  isa_dma_trigger trigger;
  memcpy(&trigger, &record, sizeof(trigger));
  const std::string_view queue(trigger.queue, strnlen(trigger.queue, sizeof(trigger.queue)));
  const auto found = core.blocks.find({queue, trigger.block});
  return found == core.blocks.end() ? nullptr : found->second;
}

std::string pattern_text(const kbin_dma_pattern_t &pattern, const isa_names_t &names) {
  // Offsets of 4 GiB and more have no place in a record.
  std::string text =
      pattern.offset <= UINT32_MAX
          ? isa_text_variable(pattern.var_id, static_cast<uint32_t>(pattern.offset), &names)
          : fmt::format("{}+{:#x}", isa_text_variable(pattern.var_id, 0, &names), pattern.offset);
  std::string steps, sizes;
  for (uint32_t d = 0; d < pattern.ndims; d++) {
    steps += fmt::format("{}{}", d ? "," : "", pattern.steps[d]);
    sizes += fmt::format("{}{}", d ? "," : "", pattern.sizes[d]);
  }
  return text + fmt::format(" step({}) size({})", steps, sizes);
}

const char *op_name(kbin_dma_desc_op_t op) {
  static constexpr const char *names[] = {"copy", "fma", "add", "min", "max", "transpose", "cast"};
  const auto n = static_cast<int32_t>(op);
  return n >= 0 && n < static_cast<int32_t>(std::size(names)) ? names[n] : "?";
}

// "copy x+0x100 step(1) size(4096) -> sbuf[p0, 0x4000] step(...) size(...)"
std::string transfer_text(const kbin_dma_transfer_t &transfer, const isa_names_t &names) {
  std::string text = op_name(transfer.op);
  for (const kbin_dma_pattern_t &from : transfer.from)
    text += " " + pattern_text(from, names);
  return text + " -> " + pattern_text(transfer.to, names);
}

std::string hex_text(const isa_record &record) {
  std::string out;
  for (uint32_t i = 0; i < sizeof(record); i++)
    out += fmt::format("{:02x}", reinterpret_cast<const uint8_t *>(&record)[i]);
  return out;
}

void print_block(const core_t &core, const isa_record &record) {
  if (record.h.opcode != ISA_PSEUDO_DMATRIGGER)
    return;
  const kbin_dma_block_t *block = block_of(core, record);
  if (!block) {
    tool_print("        # no such block\n");
    return;
  }
  std::string done;
  if (block->semaphore >= 0)
    done += fmt::format(", then sem{}", block->semaphore);
  if (block->event >= 0)
    done += fmt::format(", then event{}", block->event);
  tool_print(
      fmt::format("        # block {} of {}{}\n", block->id, tool_printable(block->queue), done));
  for (const kbin_dma_transfer_t &transfer : block->desc)
    tool_print(fmt::format("        #   {}\n", transfer_text(transfer, core.names)));
}

void print_engine(const core_t &core, const kbin_engine_t &engine, bool hex) {
  const auto type = static_cast<isa_engine_t>(engine.eng_type);
  const auto records = streams_records(engine);
  const isa_labels_t labels = isa_text_labels(records, type, ISA_FORM_NEFF);
  tool_print(fmt::format(".engine {}  # {}, {} slots\n", isa_engine_name(type),
                         tool_printable(engine.instr_member), records.size()));
  isa_text_context_t context{type, ISA_FORM_NEFF, &core.names, &labels, 0};
  for (; context.slot < records.size(); context.slot++) {
    const isa_record &record = records[context.slot];
    const auto label = labels.find(context.slot);
    if (label != labels.end())
      tool_print(label->second + ":\n");
    uint32_t offset = 0;
    const char *problem = isa_check(&record, type, ISA_FORM_NEFF, &offset);
    tool_print(fmt::format("        {}  # {}", isa_text_record(record, context), context.slot));
    if (problem)
      tool_print(fmt::format(": byte {}: {}", offset, problem));
    else if (hex)
      tool_print(": " + hex_text(record));
    tool_print("\n");
    print_block(core, record);
  }
  const auto behind = labels.find(records.size());
  if (behind != labels.end())
    tool_print(behind->second + ":\n");
}

void print_core(const core_t &core, uint32_t number, isa_engine_t only, bool hex) {
  std::set<uint32_t> used;
  for (const kbin_engine_t &engine : core.kbin->engines) {
    for (const isa_record &record : streams_records(engine))
      isa_text_used_variables(record, &used);
  }
  tool_print(fmt::format(".core {}  # {}\n", number, tool_printable(core.kbin->sg_name)));
  tool_print(isa_text_names(core.names, &used));
  for (const kbin_engine_t &engine : core.kbin->engines) {
    if (only == ISA_ENGINE_COUNT || only == static_cast<isa_engine_t>(engine.eng_type))
      print_engine(core, engine, hex);
  }
}

// --- JSON ----------------------------------------------------------------------------------------

void put_operands(json_out &out, const isa_record &record) {
  isa_operand_t operands[ISA_MAX_OPERANDS];
  const uint32_t n = isa_operands(&record, operands);
  out.key("operands").begin_array();
  for (uint32_t i = 0; i < n; i++) {
    const isa_operand_t &o = operands[i];
    out.begin_object().field("role", o.role).field("address", isa_text_addr4(o.addr4));
    out.field("dtype", isa_dtype_name(o.dtype)).field("lanes", o.lanes);
    out.field("elements", isa_operand_elements(&o)).field("write", o.write);
    out.field("also_read", o.also_read).end_object();
  }
  out.end_array();
}

void put_block(json_out &out, const core_t &core, const isa_record &record) {
  const kbin_dma_block_t *block = block_of(core, record);
  if (!block)
    return;
  out.key("block").begin_object().field("queue", block->queue).field("id", block->id);
  out.field("semaphore", block->semaphore).field("event", block->event);
  out.key("transfers").begin_array();
  for (const kbin_dma_transfer_t &transfer : block->desc)
    out.value(transfer_text(transfer, core.names));
  out.end_array().end_object();
}

void put_record(json_out &out, const core_t &core, const isa_record &record,
                const isa_text_context_t &context) {
  const char *name = isa_opcode_name(record.h.opcode);
  uint32_t offset = 0;
  const char *problem = isa_check(&record, context.engine, context.form, &offset);
  out.begin_object().field("slot", context.slot).field("opcode", record.h.opcode).key("name");
  if (name)
    out.value(name);
  else
    out.null();
  out.field("text", isa_text_record(record, context)).field("hex", hex_text(record));
  if (problem)
    out.key("problem").begin_object().field("byte", offset).field("what", problem).end_object();
  else
    put_operands(out, record);
  put_block(out, core, record);
  out.end_object();
}

void put_core(json_out &out, const core_t &core, uint32_t number, isa_engine_t only) {
  out.begin_object().field("core", number).field("subgraph", core.kbin->sg_name);
  out.key("engines").begin_array();
  for (const kbin_engine_t &engine : core.kbin->engines) {
    const auto type = static_cast<isa_engine_t>(engine.eng_type);
    if (only != ISA_ENGINE_COUNT && only != type)
      continue;
    const auto records = streams_records(engine);
    out.begin_object().field("engine", isa_engine_name(type)).field("member", engine.instr_member);
    out.key("records").begin_array();
    isa_text_context_t context{type, ISA_FORM_NEFF, &core.names, nullptr, 0};
    for (; context.slot < records.size(); context.slot++)
      put_record(out, core, records[context.slot], context);
    out.end_array().end_object();
  }
  out.end_array().end_object();
}

}  // namespace

int command_dis(const dis_arguments &arguments) {
  finding_sink findings;
  std::shared_ptr<const kelf_nn_t> nn;
  NRT_STATUS status = streams_load(arguments.file, findings, nullptr, &nn);
  if (status != NRT_SUCCESS)
    return tool_fail(arguments.json, arguments.file, status, findings);
  const isa_engine_t only = streams_engine(arguments.engine);
  if (!arguments.engine.empty() && only == ISA_ENGINE_COUNT)
    return tool_usage(arguments.json,
                      fmt::format("--engine: '{}' is none of pe, act, pool, dve, sp",
                                  tool_printable(arguments.engine)));
  const auto cores = static_cast<int64_t>(nn->kbins.size());
  if (arguments.core >= cores)
    return tool_usage(arguments.json, fmt::format("--core: the file has cores 0 to {}", cores - 1));
  json_out out;
  out.begin_object().field("file", arguments.file).key("cores").begin_array();
  for (int64_t c = 0; c < cores; c++) {
    if (arguments.core >= 0 && arguments.core != c)
      continue;
    const core_t core = core_of(*nn->kbins[static_cast<size_t>(c)]);
    if (arguments.json)
      put_core(out, core, static_cast<uint32_t>(c), only);
    else
      print_core(core, static_cast<uint32_t>(c), only, arguments.hex);
  }
  out.end_array().end_object();
  if (arguments.json)
    tool_print(out.text());
  return TOOL_OK;
}
