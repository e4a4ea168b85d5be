// SPDX-License-Identifier: Apache-2.0
#include "kelf/kelf.h"

#include <algorithm>
#include <new>

#include "base/env.h"
#include "kelf/mla_resources.h"

namespace {

// For information only: a missing or odd file means "unknown".
uint64_t read_mac_count(const neff &source) {
  const std::span<const uint8_t> *member = source.find("hlo_stats.json");
  finding_sink ignored;
  json_document document;
  uint64_t count = 0;
  if (!member || json_parse(*member, json_place("hlo_stats.json", ignored), &document) ||
      document.root["HloMacCount"].get(count))
    return 0;
  return count;
}

kelf_io_tensor_t *find_tensor(std::vector<kelf_io_tensor_t> &list, std::string_view name) {
  auto at = std::lower_bound(
      list.begin(), list.end(), name,
      [](const kelf_io_tensor_t &t, std::string_view key) { return t.name < key; });
  return at != list.end() && at->name == name ? &*at : nullptr;
}

// An I/O variable and what neff.json says about it.
NRT_STATUS check_io_variable(kelf_nn_t &nn, const kbin_mem_ref &record, const json_place &vars,
                             std::vector<bool> *inputs_seen, std::vector<bool> *outputs_seen) {
  bool input = record.mr_type == MR_INPUT;
  std::vector<kelf_io_tensor_t> &list = input ? nn.inputs : nn.outputs;
  json_place at(vars, record.name);
  kelf_io_tensor_t *tensor = find_tensor(list, record.name);
  if (!tensor)
    return at.fail("neff.json has no {} of that name", input ? "input" : "output");
  (*(input ? inputs_seen : outputs_seen))[static_cast<size_t>(tensor - list.data())] = true;
  // The size of a type the host graph does not know is a guess (one byte per element): def.json
  // knows better, as long as whole elements fit.
  if (tensor->dtype == 0 && tensor->size != 0 && record.size % tensor->size == 0)
    tensor->size = record.size;
  if (tensor->size != record.size)
    return json_place(at, "size")
        .fail("is {}, neff.json describes {} bytes ({})", record.size, tensor->size,
              json_excerpt(tensor->dtype_name));
  return NRT_SUCCESS;
}

NRT_STATUS check_io(kelf_nn_t &nn, finding_sink &findings) {
  json_steps steps(findings);
  std::vector<bool> inputs_seen(nn.inputs.size()), outputs_seen(nn.outputs.size());
  for (const auto &kbin : nn.kbins) {
    json_place root(kbin->definition, findings), vars(root, "var");
    for (uint32_t i = 0; i < kbin->mem_ref_set->nmem; i++) {
      const kbin_mem_ref &record = kbin->mem_ref_set->mem[i];
      if ((record.mr_type == MR_INPUT || record.mr_type == MR_OUTPUT) &&
          steps.stop(check_io_variable(nn, record, vars, &inputs_seen, &outputs_seen)))
        return steps.status();
    }
  }
  for (bool input : {true, false}) {
    const std::vector<kelf_io_tensor_t> &list = input ? nn.inputs : nn.outputs;
    const std::vector<bool> &seen = input ? inputs_seen : outputs_seen;
    for (size_t i = 0; i < list.size(); i++) {
      if (!seen[i] &&
          steps.stop(findings.add(NRT_INVALID, "neff.json", "no subgraph has an {} variable \"{}\"",
                                  input ? "input" : "output", json_excerpt(list[i].name))))
        return steps.status();
    }
  }
  return steps.status();
}

NRT_STATUS load(std::shared_ptr<const neff> source, const kelf_options &options,
                finding_sink &findings, std::unique_ptr<kelf_nn_t> *out) {
  auto nn = std::make_unique<kelf_nn_t>();
  nn->source = source;
  json_steps steps(findings);
  if (steps.stop(neff_json_parse(*source, findings, nn.get())) || nn->kelf_member.empty())
    return steps.status();
  std::vector<kelf_graph> graphs;
  if (steps.stop(kelf_json_parse(*source, findings, nn.get(), &graphs)) || nn->target == 0)
    return steps.status();
  for (const kelf_graph &graph : graphs) {
    std::unique_ptr<kbin_t> kbin;
    if (steps.stop(kelf_load_from_neff(source, graph.name, graph.definition, nn->target, options,
                                       findings, &kbin)))
      return steps.status();
    if (kbin)
      nn->kbins.push_back(std::move(kbin));
  }
  // What compares the parts needs all of them.
  if (steps.status() != NRT_SUCCESS)
    return steps.status();
  if (steps.stop(kelf_resolve_vtpb_remote_variables(*nn, findings)) ||
      steps.stop(check_io(*nn, findings)))
    return steps.status();
  if (steps.status() != NRT_SUCCESS)
    return steps.status();
  nn->mac_count = read_mac_count(*source);
  *out = std::move(nn);
  return NRT_SUCCESS;
}

}  // namespace

NRT_STATUS kelf_options_from_env(kelf_options *out) {
  return env_bool("NEURON_RT_ALLOW_LEGACY_NEFF", false, &out->allow_legacy_neff);
}

NRT_STATUS kelf_load_nn(std::shared_ptr<const neff> source, const kelf_options &options,
                        finding_sink &findings, std::unique_ptr<kelf_nn_t> *out) {
  try {
    return load(std::move(source), options, findings, out);
  } catch (const std::bad_alloc &) {
    return findings.add(NRT_RESOURCE, "neff.json", "no memory to lower the model");
  }
}
