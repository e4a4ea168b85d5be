// SPDX-License-Identifier: Apache-2.0
// `neff run` in pieces: the runtime as a client has it (nrt.h), the tensors of a model, the mocked
// device behind it, and what comes out.
#pragma once

#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mock_dev/exec.h"
#include "neff/neff_file.h"
#include "tools/commands.h"
#include "tools/compare.h"
#include "tools/npy.h"
#include "tools/tool.h"

// "NAME=WHAT"; a name holds no '='.
struct run_assignment_t {
  std::string name, what;
};
// False: no '=', or nothing on one side of it.
bool run_parse_assignment(const std::string &text, run_assignment_t *out);

struct run_tensor_t {
  std::string name;
  bool input = false;
  uint32_t dtype = 0;
  uint64_t size = 0;  // bytes
  std::vector<uint64_t> shape;
  nrt_tensor_t *handle = nullptr;
};

// A file that an output will be compared with.
struct run_reference_t {
  std::string name, file;
  neff_file_bytes bytes;
  npy_array array;  // points into `bytes`
};

// What a finished comparison says.
struct run_comparison_t {
  std::string name, file;
  std::vector<uint64_t> shape;
  compare_result_t result;
};

// Records and transfers of one physical core during the runs.
struct run_core_t {
  uint32_t device = 0, core = 0;
  std::string subgraph;
  mock_exec_counts_t counts{};
};

struct run_report_t {
  std::string device;  // machine_text
  std::string backend, instance;
  std::string model;
  uint32_t logical_core = 0;
  std::vector<double> seconds;  // of each execution
  std::vector<run_core_t> cores;
  std::vector<run_comparison_t> comparisons;
  std::vector<std::string> findings;  // of --races and --strict
  uint64_t findings_dropped = 0;
  uint64_t trace_events = 0, trace_dropped = 0;
  NRT_STATUS status = NRT_SUCCESS;  // of the first execution that failed
  std::string error;
};

// The runtime, one loaded model and its tensors. Undone by the destructor.
class run_session {
 public:
  run_session() = default;
  run_session(const run_session &) = delete;
  run_session &operator=(const run_session &) = delete;
  ~run_session();

  // Initialises the runtime on the machine that the arguments ask for and loads the file.
  NRT_STATUS open(const run_arguments &arguments, finding_sink &findings);
  // Device tensors for all inputs and outputs, inputs filled.
  NRT_STATUS fill(const run_arguments &arguments, finding_sink &findings);
  NRT_STATUS execute();

  run_tensor_t *find(const std::string &name, bool input);
  std::vector<run_tensor_t> &tensors() { return tensors_; }
  nrt_model_t *model() const { return model_; }

 private:
  NRT_STATUS describe(finding_sink &findings);
  NRT_STATUS allocate(run_tensor_t &tensor, finding_sink &findings);

  bool initialised_ = false;
  nrt_model_t *model_ = nullptr;
  std::vector<run_tensor_t> tensors_;
  nrt_tensor_set_t *inputs_ = nullptr, *outputs_ = nullptr;
};

// The one ERROR record of the call that just failed: a finding for each of its lines.
NRT_STATUS run_explain(NRT_STATUS status, const std::string &where, finding_sink &findings);

// --- run_tensors.cc ------------------------------------------------------------------------------

// Fills an input: "FILE.npy", "raw:FILE", "zeros", "random" or "random:SEED".
NRT_STATUS run_fill(const run_tensor_t &tensor, const std::string &what, finding_sink &findings);
NRT_STATUS run_read(const run_tensor_t &tensor, finding_sink &findings, std::vector<uint8_t> *out);
// Writes a .npy file, or with "raw:FILE" the bytes alone.
NRT_STATUS run_write(const run_tensor_t &tensor, std::span<const uint8_t> data,
                     const std::string &file, finding_sink &findings);
// Reads what the tensor is to be compared with and refuses what it cannot be compared with.
NRT_STATUS run_read_reference(const run_tensor_t &tensor, const std::string &file,
                              finding_sink &findings, run_reference_t *out);
NRT_STATUS run_compare(const run_tensor_t &tensor, std::span<const uint8_t> data,
                       const run_reference_t &reference, double rtol, double atol,
                       finding_sink &findings, run_comparison_t *out);
// Whether a file could be made here ("raw:" is left out): for before a long run.
NRT_STATUS run_check_output(const std::string &file, finding_sink &findings);

// --- run_device.cc -------------------------------------------------------------------------------

// Sets the execution options of the mock; a machine without a mock takes the defaults only.
NRT_STATUS run_configure(const run_arguments &arguments, finding_sink &findings);
// Device, backend, model; cores with their counts so far.
void run_describe(nrt_model_t *model, run_report_t *report);
// Counts since `report` was described take the place of those in it.
void run_count(run_report_t *report);
// What --races and --strict have found.
void run_findings(run_report_t *report);
// Counts the records that the cores of `report` execute from now on; may be called by any thread
// while the runtime is initialised. Empty: a device that does not tell.
std::function<uint64_t()> run_records(const run_report_t &report);
// Records what the mock executes from now on; NULL: no longer.
void run_trace(nrt_model_t *model, class trace_recorder *recorder);

// --- run_report.cc -------------------------------------------------------------------------------

void run_print_text(const run_arguments &arguments, const run_report_t &report);
void run_print_json(const run_arguments &arguments, const run_report_t &report,
                    const finding_sink &findings);
