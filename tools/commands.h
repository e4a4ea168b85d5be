// SPDX-License-Identifier: Apache-2.0
// The sub-commands of `neff`. Each prints its results and returns an exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neff/neff_write.h"
#include "tools/sample.h"

int command_info(const std::string &file, bool json);
int command_ls(const std::string &file, bool details, bool json);

struct extract_arguments {
  std::string file;
  std::vector<std::string> members;  // names, or directories ending in '/'; none = all
  std::string directory;
  bool json = false;
};
int command_extract(const extract_arguments &arguments);

struct pack_arguments {
  std::string directory;
  std::string output;
  neff_write_options options;
  bool lnc_given = false;       // else: the number of subgraphs
  bool features_given = false;  // else: what the subgraphs and the target call for
  bool force = false;           // write content that a load would refuse, too
  bool json = false;
};
int command_pack(const pack_arguments &arguments);

struct dis_arguments {
  std::string file;
  int64_t core = -1;   // -1 = all
  std::string engine;  // "" = all
  bool hex = false;
  bool json = false;
};
int command_dis(const dis_arguments &arguments);

struct asm_arguments {
  std::string text;
  std::string output;
  std::string into;    // NEFF whose streams are replaced; "": one stream, bare
  int64_t core = -1;   // -1 = as the text says, else 0
  std::string engine;  // "" = as the text says
  bool json = false;
};
int command_asm(const asm_arguments &arguments);

int command_verify(const std::vector<std::string> &files, bool json);
// `data`: directory for inputs and the output they give, "" = none.
int command_sample(const neff_sample_options &options, const std::string &output,
                   const std::string &data, bool json);

// Where `plan` and `resolve` place files.
struct machine_arguments {
  std::string instance;  // "" = NEURON_MOCK_INSTANCE, else one that fits the first file
  bool device = false;   // a real device instead of the mocked one
  int32_t core = 0;      // logical core, -1 = each file where the fewest models are
  uint32_t lnc = 0;      // physical cores per logical core, 0 = what the first file asks for
  bool json = false;
  uint32_t num_cores = 1;  // logical cores opened, from `core` on
};
int command_plan(const std::vector<std::string> &files, const machine_arguments &arguments);
int command_resolve(const std::string &file, const std::string &variable, uint64_t offset,
                    uint64_t size, const machine_arguments &arguments);

struct memory_arguments {
  std::vector<std::string> files;    // FILE or FILE@CORE
  std::string release;               // "" = this runtime, measured
  bool profiling = true;             // of a release: count its profiler buffers
  std::vector<std::string> tensors;  // SIZE[K|M|G][@CORE]
  std::string fit;                   // instance to fit into, "" = none
  bool table = false;                // in the runtime's own layout
  machine_arguments machine;
};
int command_memory(const memory_arguments &arguments);

struct run_arguments {
  std::string file;
  std::vector<std::string> inputs;   // NAME=FILE.npy, raw:FILE, zeros, random or random:SEED
  std::vector<std::string> outputs;  // NAME=FILE.npy or raw:FILE, NAME= only when there are several
  std::vector<std::string> compares;   // NAME=FILE.npy, likewise
  bool zeros = false, random = false;  // inputs that are not given
  double rtol = 0, atol = 0;
  uint64_t repeat = 1;
  uint64_t seed = 0;  // of the mock's scheduling, 0 = in order
  bool strict = false, races = false, exact_functions = false;
  std::string trace;  // file, "" = none
  machine_arguments machine;
};
int command_run(const run_arguments &arguments);
