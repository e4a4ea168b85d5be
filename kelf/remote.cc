// SPDX-License-Identifier: Apache-2.0
// Variables of another subgraph, by index and name: a documented extension (README.md).
#include <cstring>
#include <map>
#include <string_view>

#include "kelf/mla_resources.h"

namespace {

// Kinds whose address stands once the subgraph is placed. Inputs and outputs move at bind, and
// every subgraph lists them itself.
bool may_be_shared(kbin_mr_type_t kind) {
  return kind == MR_SB || kind == MR_BUFFER || kind == MR_BUFFER_STAGED || kind == MR_TMP_BUF ||
         kind == MR_VIRTUAL_TMP_BUF;
}

using name_index = std::map<std::string_view, const kbin_mem_ref *>;

NRT_STATUS resolve_one(const kelf_nn_t &nn, kbin_t &kbin, const kbin_remote_request_t &request,
                       std::vector<name_index> &indexes, const json_place &vars) {
  kbin_mem_ref &record = kbin.mem_ref_set->mem[request.var_id];
  json_place at(vars, record.name);
  if (request.remote_sg >= nn.kbins.size())
    return json_place(at, "remote_sg")
        .fail("is {}, there are {} subgraphs", request.remote_sg, nn.kbins.size());
  const kbin_t &other = *nn.kbins[request.remote_sg];
  name_index &index = indexes[request.remote_sg];
  if (index.empty()) {
    for (uint32_t i = 0; i < other.mem_ref_set->nmem; i++)
      index.emplace(other.mem_ref_set->mem[i].name, &other.mem_ref_set->mem[i]);
  }
  auto target = index.find(request.remote_var);
  if (target == index.end())
    return json_place(at, "remote_var")
        .fail("subgraph {} (\"{}\") has no variable \"{}\"", request.remote_sg,
              json_excerpt(other.sg_name), json_excerpt(request.remote_var));
  if (!may_be_shared(target->second->mr_type))
    return json_place(at, "remote_var")
        .fail("\"{}\" of subgraph {} is of kind {}, which other subgraphs cannot use",
              json_excerpt(request.remote_var), request.remote_sg,
              kbin_mr_type_name(target->second->mr_type));
  record.remote.remote_vtpb_rel_sg_id = static_cast<uint32_t>(request.remote_sg);
  record.remote.remote_var_id = target->second->var_id;
  return NRT_SUCCESS;
}

// Transfers of remote variables could not be checked before their size was known.
NRT_STATUS check_pattern(const kelf_nn_t &nn, const kbin_t &kbin, const kbin_dma_block_t &block,
                         const kbin_dma_pattern_t &pattern, finding_sink &findings) {
  const kbin_mem_ref &record = kbin.mem_ref_set->mem[pattern.var_id];
  if (record.mr_type != MR_REMOTE)
    return NRT_SUCCESS;
  const kbin_mem_ref &target =
      nn.kbins[record.remote.remote_vtpb_rel_sg_id]->mem_ref_set->mem[record.remote.remote_var_id];
  uint64_t bytes = target.mr_type == MR_SB ? KELF_SB_APERTURE : target.size;
  uint64_t begin = 0, end = 0;
  if (kbin_dma_pattern_range(pattern, &begin, &end) && end > bytes)
    return findings.add(NRT_INVALID, kbin.definition,
                        "block {} of queue \"{}\": a pattern reaches byte {} of remote variable "
                        "\"{}\", which has {} bytes",
                        block.id, json_excerpt(block.queue), end - 1, json_excerpt(record.name),
                        bytes);
  return NRT_SUCCESS;
}

NRT_STATUS check_transfers(const kelf_nn_t &nn, const kbin_t &kbin, finding_sink &findings) {
  json_steps steps(findings);
  for (const kbin_dma_block_t &block : kbin.blocks) {
    for (const kbin_dma_transfer_t &transfer : block.desc) {
      if (steps.stop(check_pattern(nn, kbin, block, transfer.to, findings)))
        return steps.status();
      for (const kbin_dma_pattern_t &from : transfer.from) {
        if (steps.stop(check_pattern(nn, kbin, block, from, findings)))
          return steps.status();
      }
    }
  }
  return steps.status();
}

}  // namespace

NRT_STATUS kelf_resolve_vtpb_remote_variables(kelf_nn_t &nn, finding_sink &findings) {
  json_steps steps(findings);
  std::vector<name_index> indexes(nn.kbins.size());
  for (auto &kbin : nn.kbins) {
    json_place root(kbin->definition, findings), vars(root, "var");
    for (const kbin_remote_request_t &request : kbin->remote_requests) {
      if (steps.stop(resolve_one(nn, *kbin, request, indexes, vars)))
        return steps.status();
    }
  }
  if (steps.status() != NRT_SUCCESS)
    return steps.status();
  for (auto &kbin : nn.kbins) {
    if (!kbin->remote_requests.empty() && steps.stop(check_transfers(nn, *kbin, findings)))
      break;
  }
  return steps.status();
}
