// SPDX-License-Identifier: Apache-2.0
// What `neff run` tells.
#include <fmt/format.h>

#include <algorithm>

#include "isa/isa_table.h"
#include "tools/run.h"

namespace {

struct times_t {
  double first = 0, median = 0, least = 0, most = 0;
};

times_t times_of(std::vector<double> seconds) {
  times_t t;
  if (seconds.empty())
    return t;
  t.first = seconds.front();
  std::sort(seconds.begin(), seconds.end());
  t.least = seconds.front();
  t.most = seconds.back();
  t.median = seconds[seconds.size() / 2];
  return t;
}

std::string time_text(double seconds) {
  if (seconds >= 1)
    return fmt::format("{:.3f} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3)
                         : fmt::format("{:.1f} us", seconds * 1e6);
}

std::string comparison_text(const run_comparison_t &c) {
  std::string text = fmt::format(
      "{} against {}: {} of {} differ, largest difference {:.6g} absolute, {:.6g} relative", c.name,
      c.file, c.result.different, c.result.elements, c.result.max_absolute, c.result.max_relative);
  if (c.result.different != 0)
    text += fmt::format("; first at {}: {:.9g}, reference {:.9g}",
                        compare_index_text(c.result.first, c.shape), c.result.first_value,
                        c.result.first_reference);
  return text;
}

// "MATMUL 4, LDWEIGHTS 4".
std::string opcodes_text(const uint64_t opcodes[256]) {
  std::string text;
  for (uint32_t op = 0; op < 256; op++) {
    if (opcodes[op] == 0)
      continue;
    const char *name = isa_opcode_name(static_cast<uint8_t>(op));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        name != nullptr ? name : fmt::format("0x{:02X}", op), opcodes[op]);
  }
  return text;
}

void print_counts(const run_report_t &report) {
  tool_print("\nExecuted, in all runs, the runtime's own records included:\n");
  tool_table table({">Device", ">Core", "Subgraph", "Engine", ">Records", "Opcodes"});
  for (const run_core_t &core : report.cores)
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++)
      table.row({std::to_string(core.device), std::to_string(core.core), core.subgraph,
                 isa_engine_name(e), std::to_string(core.counts.records[e]),
                 opcodes_text(core.counts.opcodes[e])});
  table.print();
  for (const run_core_t &core : report.cores)
    tool_print(fmt::format("  core {}: {} DMA transfers of {} bytes in all, {} multiply-adds\n",
                           core.core, core.counts.transfers, core.counts.transfer_bytes,
                           core.counts.macs));
}

void put_counts(json_out &json, const run_report_t &report) {
  json.key("cores").begin_array();
  for (const run_core_t &core : report.cores) {
    json.begin_object().field("device", core.device).field("core", core.core);
    json.field("subgraph", core.subgraph).field("transfers", core.counts.transfers);
    json.field("transfer_bytes", core.counts.transfer_bytes).field("macs", core.counts.macs);
    json.key("engines").begin_array();
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
      json.begin_object().field("engine", isa_engine_name(e));
      json.field("records", core.counts.records[e]).key("opcodes").begin_object();
      for (uint32_t op = 0; op < 256; op++)
        if (core.counts.opcodes[e][op] != 0)
          json.field(fmt::format("0x{:02X}", op), core.counts.opcodes[e][op]);
      json.end_object().end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void put_comparisons(json_out &json, const run_report_t &report) {
  json.key("comparisons").begin_array();
  for (const run_comparison_t &c : report.comparisons) {
    json.begin_object().field("name", c.name).field("file", c.file);
    json.field("elements", c.result.elements).field("different", c.result.different);
    json.field("max_absolute", c.result.max_absolute);
    json.field("max_relative", c.result.max_relative);
    json.key("first");
    if (c.result.different == 0) {
      json.null();
    } else {
      json.begin_object().field("index", compare_index_text(c.result.first, c.shape));
      json.field("value", c.result.first_value);
      json.field("reference", c.result.first_reference);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void run_print_text(const run_arguments &arguments, const run_report_t &report) {
  tool_print(fmt::format("Device: {}\n", report.device));
  tool_print(fmt::format("Model:  {} on logical core {}\n", tool_printable(report.model),
                         report.logical_core));
  times_t t = times_of(report.seconds);
  tool_print(fmt::format("Runs:   {} of {}", report.seconds.size(), arguments.repeat));
  if (report.seconds.size() == 1)
    tool_print(fmt::format(", {} host time", time_text(t.first)));
  else if (!report.seconds.empty())
    tool_print(fmt::format(", host time first {}, median {}, least {}, most {}", time_text(t.first),
                           time_text(t.median), time_text(t.least), time_text(t.most)));
  tool_print("\n");
  for (const run_comparison_t &comparison : report.comparisons)
    tool_print(fmt::format("Compare: {}\n", tool_printable(comparison_text(comparison))));
  if (!arguments.trace.empty())
    tool_print(fmt::format("Trace:  {} events in {}, {} beyond the limit left out\n",
                           report.trace_events, tool_printable(arguments.trace),
                           report.trace_dropped));
  if (arguments.races || arguments.strict)
    tool_print(
        fmt::format("Checks: {} finding(s)\n", report.findings.size() + report.findings_dropped));
  if (report.backend == "mock")
    print_counts(report);
}

void run_print_json(const run_arguments &arguments, const run_report_t &report,
                    const finding_sink &findings) {
  json_out json;
  json.begin_object().field("file", arguments.file).field("backend", report.backend);
  json.field("instance", report.instance).field("model", report.model);
  json.field("logical_core", report.logical_core);
  json.key("execution").begin_object();
  tool_put_status(json, report.status);
  if (report.status != NRT_SUCCESS)
    json.field("what", report.error);
  json.end_object();
  times_t t = times_of(report.seconds);
  json.field("runs", report.seconds.size()).key("host_seconds").begin_object();
  json.field("first", t.first);
  json.field("median", t.median);
  json.field("least", t.least);
  json.field("most", t.most);
  json.end_object();
  put_comparisons(json, report);
  json.key("device_findings").begin_array();
  for (const std::string &text : report.findings)
    json.value(text);
  json.end_array().field("device_findings_dropped", report.findings_dropped);
  json.field("trace_events", report.trace_events).field("trace_dropped", report.trace_dropped);
  if (report.backend == "mock")
    put_counts(json, report);
  tool_put_findings(json, findings);
  json.end_object();
  tool_print(json.text());
}
