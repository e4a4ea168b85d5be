// SPDX-License-Identifier: Apache-2.0
// From a NEFF's members to lowered subgraphs (neff-format.md 3, mem-ref.md 7, 8.1, 8.2). Needs no
// device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kelf/kbin.h"
#include "nrt/nrt_status.h"

// Targets as numbers: al_hal_tpb_arch_type, which belongs to hal/, below this folder.
constexpr uint32_t KELF_TARGET_SUNDA = 2;
constexpr uint32_t KELF_TARGET_CAYMAN = 3;
constexpr uint32_t KELF_TARGET_MARIANA = 4;

// One input or output as neff.json describes it.
struct kelf_io_tensor_t {
  std::string name;
  uint64_t size;           // bytes: product(shape) * element size
  std::string dtype_name;  // as written
  uint32_t dtype;          // nrt_dtype_t value, 0 = unknown (1 byte per element)
  std::vector<uint64_t> shape;
};

struct kelf_nn_t {
  std::shared_ptr<const neff> source;
  std::vector<kelf_io_tensor_t> inputs, outputs;  // sorted by name, unique
  std::vector<std::unique_ptr<kbin_t>> kbins;     // in the kelf member's order
  std::string kelf_member;
  uint32_t target = 0;      // al_hal_tpb_arch_type value or KBIN_TARGET_ANY
  std::string target_name;  // as written
  uint64_t mac_count = 0;
};

struct kelf_options {
  bool allow_legacy_neff = false;  // NEURON_RT_ALLOW_LEGACY_NEFF
};
NRT_STATUS kelf_options_from_env(kelf_options *out);

// Parses, checks and lowers everything. Findings name member and key or variable. In collect mode
// goes on past independent findings (next variable, next subgraph) and returns the first status at
// the end.
NRT_STATUS kelf_load_nn(std::shared_ptr<const neff> source, const kelf_options &options,
                        finding_sink &findings, std::unique_ptr<kelf_nn_t> *out);

// One subgraph: reads its def.json and lowers it. `definition` is the member's path. kelf_load_nn
// calls it for one subgraph after the other; calls from several threads at once, each with its own
// sink, are fine.
NRT_STATUS kelf_load_from_neff(std::shared_ptr<const neff> source, const std::string &sg_name,
                               const std::string &definition, uint32_t target,
                               const kelf_options &options, finding_sink &findings,
                               std::unique_ptr<kbin_t> *out);

// Fills remote_vtpb_rel_sg_id / remote_var_id of every MR_REMOTE record from the entry's
// `remote_sg` and `remote_var` (rulings.md 11). Unmatched: NRT_INVALID.
NRT_STATUS kelf_resolve_vtpb_remote_variables(kelf_nn_t &nn, finding_sink &findings);
