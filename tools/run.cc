// SPDX-License-Identifier: Apache-2.0
// run: a NEFF with real inputs, through the C API as a client has it.
#include "tools/run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/env.h"
#include "tools/machine.h"
#include "tools/run_progress.h"
#include "tools/trace.h"

namespace {

// A report of a failed run has a line per engine that stands still.
void add_lines(NRT_STATUS status, const std::string &where, std::string_view text,
               finding_sink &findings) {
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    findings.add(status, where, "{}", text.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

NRT_STATUS run_explain(NRT_STATUS status, const std::string &where, finding_sink &findings) {
  if (status == NRT_SUCCESS)
    return status;
  add_lines(status, where, tool_take_error("failed without a word"), findings);
  return status;
}

namespace {

void set(const char *name, const std::string &value) {
  setenv(name, value.c_str(), 1);
}

// The machine, told to nrt_init the way a client's user would. Lines of the runtime speak of these
// variables: returns where what they say comes from.
std::string choose_machine(const machine_arguments &arguments, std::span<const uint8_t> bytes) {
  std::string from;
  auto note = [&](const std::string &text) { from += (from.empty() ? "" : ", ") + text; };
  set("NEURON_RT_MOCK", arguments.device ? "never" : "always");
  if (!arguments.instance.empty()) {
    note("--instance " + arguments.instance);
    set("NEURON_MOCK_INSTANCE", arguments.instance);
  } else if (!env_is_set("NEURON_MOCK_INSTANCE")) {
    set("NEURON_MOCK_INSTANCE", machine_instance_for(bytes));
  }
  neff_header_t header{};
  finding_sink unread;
  bool readable = neff_header_check(bytes, unread, &header) == NRT_SUCCESS;
  bool asks = readable && (header.feature_bits & NEFF_FEATURE_VNC) != 0;
  if (arguments.lnc != 0) {
    note(fmt::format("--lnc {}", arguments.lnc));
    set("NEURON_LOGICAL_NC_CONFIG", std::to_string(arguments.lnc));
  } else if (asks && header.lnc_size != 0) {
    note(fmt::format("the file's logical cores of {}", header.lnc_size));
    set("NEURON_LOGICAL_NC_CONFIG", std::to_string(header.lnc_size));
  }
  unsetenv("NEURON_RT_VISIBLE_CORES");
  unsetenv("NEURON_RT_NUM_CORES");
  if (arguments.core > 0)
    note(fmt::format("--core {}", arguments.core));
  if (arguments.core >= 0)
    set("NEURON_RT_VISIBLE_CORES", std::to_string(arguments.core));
  else
    set("NEURON_RT_NUM_CORES", "1");
  return from.empty() ? "device" : "device for " + from;
}

run_tensor_t describe_tensor(const nrt_tensor_info_t &info) {
  run_tensor_t tensor;
  tensor.name = info.name;
  tensor.input = info.usage == NRT_TENSOR_USAGE_INPUT;
  tensor.dtype = info.dtype;
  tensor.size = info.size;
  tensor.shape.assign(info.shape, info.shape + info.ndim);
  return tensor;
}

}  // namespace

run_session::~run_session() {
  nrt_destroy_tensor_set(&inputs_);
  nrt_destroy_tensor_set(&outputs_);
  for (run_tensor_t &tensor : tensors_)
    nrt_tensor_free(&tensor.handle);
  if (model_ != nullptr)
    nrt_unload(model_);
  if (initialised_)
    nrt_close();
}

NRT_STATUS run_session::open(const run_arguments &arguments, finding_sink &findings) {
  neff_file_bytes bytes;
  NRT_STATUS status = tool_read(arguments.file, findings, &bytes);
  if (status != NRT_SUCCESS)
    return status;
  std::string where = choose_machine(arguments.machine, bytes.span());
  status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
  if (status != NRT_SUCCESS)
    return run_explain(status, where, findings);
  initialised_ = true;
  status = run_configure(arguments, findings);
  if (status != NRT_SUCCESS)
    return status;
  status = nrt_load(bytes.data.get(), bytes.size, 0, 1, &model_);
  if (status != NRT_SUCCESS)
    return run_explain(status, "load", findings);
  return describe(findings);
}

NRT_STATUS run_session::describe(finding_sink &findings) {
  nrt_tensor_info_array_t *info = nullptr;
  NRT_STATUS status = nrt_get_model_tensor_info(model_, &info);
  if (status != NRT_SUCCESS)
    return run_explain(status, "model", findings);
  for (uint64_t i = 0; i < info->tensor_count; i++)
    tensors_.push_back(describe_tensor(info->tensor_array[i]));
  nrt_free_model_tensor_info(info);
  status = nrt_allocate_tensor_set(&inputs_);
  if (status == NRT_SUCCESS)
    status = nrt_allocate_tensor_set(&outputs_);
  return run_explain(status, "model", findings);
}

run_tensor_t *run_session::find(const std::string &name, bool input) {
  for (run_tensor_t &tensor : tensors_)
    if (tensor.name == name && tensor.input == input)
      return &tensor;
  return nullptr;
}

NRT_STATUS run_session::allocate(run_tensor_t &tensor, finding_sink &findings) {
  NRT_STATUS status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, tensor.size,
                                          tensor.name.c_str(), &tensor.handle);
  if (status == NRT_SUCCESS)
    status = nrt_add_tensor_to_tensor_set(tensor.input ? inputs_ : outputs_, tensor.name.c_str(),
                                          tensor.handle);
  return run_explain(status, tensor.name, findings);
}

NRT_STATUS run_session::fill(const run_arguments &arguments, finding_sink &findings) {
  std::map<std::string, std::string> given;
  for (const std::string &text : arguments.inputs) {
    run_assignment_t input;
    run_parse_assignment(text, &input);
    given[input.name] = input.what;
  }
  for (run_tensor_t &tensor : tensors_) {
    NRT_STATUS status = allocate(tensor, findings);
    if (status != NRT_SUCCESS)
      return status;
    if (!tensor.input)
      continue;
    auto it = given.find(tensor.name);
    std::string what = it != given.end() ? it->second : arguments.random ? "random" : "zeros";
    status = run_fill(tensor, what, findings);
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

NRT_STATUS run_session::execute() {
  return nrt_execute(model_, inputs_, outputs_);
}

namespace {

std::string names_of(run_session &session, bool input) {
  std::vector<std::string> names;
  for (const run_tensor_t &tensor : session.tensors())
    if (tensor.input == input)
      names.push_back(tensor.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// A file for the only output: FILE.npy or raw:FILE without a name.
bool is_bare(const std::string &text) {
  return text.find('=') == std::string::npos &&
         (text.ends_with(".npy") || (text.starts_with("raw:") && text.size() > strlen("raw:")));
}

// Puts the output's name before files that have none.
NRT_STATUS name_outputs(run_session &session, finding_sink &findings, run_arguments *arguments) {
  std::string names = names_of(session, false);
  auto outputs = std::count_if(session.tensors().begin(), session.tensors().end(),
                               [](const run_tensor_t &tensor) { return !tensor.input; });
  auto name = [&](std::vector<std::string> *list, const char *option) {
    for (std::string &text : *list) {
      if (!is_bare(text))
        continue;
      if (outputs != 1)
        findings.add(NRT_INVALID, option, "'{}' names none of the {} outputs; NAME={} with {}",
                     text, outputs, text, names);
      else
        text = names + "=" + text;
    }
  };
  name(&arguments->outputs, "--output");
  name(&arguments->compares, "--compare");
  return findings.empty() ? NRT_SUCCESS : NRT_INVALID;
}

// Every name given exists, every input is given.
NRT_STATUS check_names(const run_arguments &arguments, run_session &session,
                       finding_sink &findings) {
  auto check = [&](const std::vector<std::string> &list, bool input, const char *option) {
    for (const std::string &text : list) {
      run_assignment_t given;
      run_parse_assignment(text, &given);
      if (session.find(given.name, input) == nullptr)
        findings.add(NRT_INVALID, option, "the model has no {} '{}'; it has {}",
                     input ? "input" : "output", given.name, names_of(session, input));
    }
  };
  check(arguments.inputs, true, "--input");
  check(arguments.outputs, false, "--output");
  check(arguments.compares, false, "--compare");
  std::vector<std::string> missing;
  for (const run_tensor_t &tensor : session.tensors()) {
    bool given = false;
    for (const std::string &text : arguments.inputs)
      given = given || text.starts_with(tensor.name + "=");
    if (tensor.input && !given && !arguments.zeros && !arguments.random)
      missing.push_back(tensor.name);
  }
  if (!missing.empty())
    findings.add(NRT_INVALID, "--input",
                 "nothing given for {}; --zeros or --random fills what is missing",
                 fmt::join(missing, ", "));
  return findings.empty() ? NRT_SUCCESS : NRT_INVALID;
}

// What only the end of the run needs, checked before it: a long run is not to end in a mistyped
// name.
NRT_STATUS check_files(const run_arguments &arguments, run_session &session, finding_sink &findings,
                       std::vector<run_reference_t> *references) {
  for (const std::string &text : arguments.outputs) {
    run_assignment_t output;
    run_parse_assignment(text, &output);
    run_check_output(output.what, findings);
  }
  if (!arguments.trace.empty())
    run_check_output(arguments.trace, findings);
  for (const std::string &text : arguments.compares) {
    run_assignment_t given;
    run_parse_assignment(text, &given);
    run_read_reference(*session.find(given.name, false), given.what, findings,
                       &references->emplace_back());
  }
  return findings.empty() ? NRT_SUCCESS : findings.all().front().status;
}

void execute(const run_arguments &arguments, run_session &session, run_report_t *report) {
  run_progress progress(arguments.repeat, !arguments.machine.json, run_records(*report));
  report->seconds.reserve(arguments.repeat);
  for (uint64_t i = 0; i < arguments.repeat; i++) {
    auto start = std::chrono::steady_clock::now();
    report->status = session.execute();
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (report->status != NRT_SUCCESS) {
      report->error = tool_take_error("failed without a word");
      return;
    }
    report->seconds.push_back(took.count());
    progress.update(i + 1);
  }
}

void use_output(const run_arguments &arguments, const std::vector<run_reference_t> &references,
                const run_tensor_t &tensor, run_report_t *report, finding_sink &findings) {
  std::vector<uint8_t> data;
  auto ready = [&](const std::string &name) {
    return name == tensor.name &&
           (!data.empty() || run_read(tensor, findings, &data) == NRT_SUCCESS);
  };
  for (const std::string &text : arguments.outputs) {
    run_assignment_t given;
    run_parse_assignment(text, &given);
    if (ready(given.name))
      run_write(tensor, data, given.what, findings);
  }
  for (const run_reference_t &reference : references) {
    run_comparison_t comparison;
    if (ready(reference.name) && run_compare(tensor, data, reference, arguments.rtol,
                                             arguments.atol, findings, &comparison) == NRT_SUCCESS)
      report->comparisons.push_back(std::move(comparison));
  }
}

bool all_well(const run_report_t &report, const finding_sink &findings) {
  bool well = report.status == NRT_SUCCESS && report.findings.empty() && findings.empty() &&
              report.findings_dropped == 0;
  for (const run_comparison_t &comparison : report.comparisons)
    well = well && comparison.result.different == 0;
  return well;
}

// Options that make no sense whatever the file holds.
std::optional<std::string> check_arguments(const run_arguments &arguments) {
  auto check = [](const std::vector<std::string> &list, bool may_be_bare, const char *option,
                  const char *form) -> std::optional<std::string> {
    for (const std::string &text : list) {
      run_assignment_t ignored;
      if (!(may_be_bare && is_bare(text)) && !run_parse_assignment(text, &ignored))
        return fmt::format("{}: '{}' is not {}", option, text, form);
    }
    return std::nullopt;
  };
  for (auto wrong : {check(arguments.inputs, false, "--input",
                           "NAME=FILE.npy, NAME=raw:FILE, NAME=zeros or NAME=random[:SEED]"),
                     check(arguments.outputs, true, "--output", "NAME=FILE.npy or NAME=raw:FILE"),
                     check(arguments.compares, true, "--compare", "NAME=FILE.npy")})
    if (wrong)
      return wrong;
  for (size_t i = 0; i < arguments.inputs.size(); i++)
    for (size_t j = 0; j < i; j++) {
      run_assignment_t one, other;
      run_parse_assignment(arguments.inputs[i], &one);
      run_parse_assignment(arguments.inputs[j], &other);
      if (one.name == other.name)
        return fmt::format("--input: '{}' is given twice", one.name);
    }
  bool tolerances = arguments.rtol != 0 || arguments.atol != 0;
  if (tolerances && arguments.compares.empty())
    return "--rtol and --atol belong to --compare";
  return std::nullopt;
}

}  // namespace

int command_run(const run_arguments &given) {
  bool json = given.machine.json;
  if (auto wrong = check_arguments(given))
    return tool_usage(json, *wrong);
  run_arguments arguments = given;
  finding_sink findings(true);
  run_session session;
  std::vector<run_reference_t> references;
  NRT_STATUS status = session.open(arguments, findings);
  if (status == NRT_SUCCESS)
    status = name_outputs(session, findings, &arguments);
  if (status == NRT_SUCCESS)
    status = check_names(arguments, session, findings);
  if (status == NRT_SUCCESS)
    status = check_files(arguments, session, findings, &references);
  if (status == NRT_SUCCESS)
    status = session.fill(arguments, findings);
  if (status != NRT_SUCCESS)
    return tool_fail(json, arguments.file, status, findings);

  run_report_t report;
  run_describe(session.model(), &report);
  trace_recorder recorder;
  run_trace(session.model(), arguments.trace.empty() ? nullptr : &recorder);
  execute(arguments, session, &report);
  run_trace(session.model(), nullptr);
  run_count(&report);
  run_findings(&report);
  if (report.status == NRT_SUCCESS)
    for (const run_tensor_t &tensor : session.tensors())
      if (!tensor.input)
        use_output(arguments, references, tensor, &report, findings);
  report.trace_events = recorder.events();
  report.trace_dropped = recorder.dropped();
  if (!arguments.trace.empty())
    recorder.write(arguments.trace, findings);

  if (json)
    run_print_json(arguments, report, findings);
  else
    run_print_text(arguments, report);
  if (report.status != NRT_SUCCESS)
    add_lines(report.status, "execution", report.error, findings);
  for (const std::string &text : report.findings)
    findings.add(NRT_EXEC_COMPLETED_WITH_ERR, "device", "{}", text);
  tool_report(arguments.file, findings);
  return all_well(report, findings) ? TOOL_OK : TOOL_FINDINGS;
}
