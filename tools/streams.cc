// SPDX-License-Identifier: Apache-2.0
#include "tools/streams.h"

#include "kmgr/checks.h"
#include "tools/tool.h"

NRT_STATUS streams_lower(std::span<const uint8_t> bytes, finding_sink &findings,
                         std::shared_ptr<const kelf_nn_t> *out) {
  kmgr_options_t options;
  NRT_STATUS status = neff_open_options_from_env(&options.neff);
  if (status == NRT_SUCCESS)
    status = kelf_options_from_env(&options.kelf);
  if (status != NRT_SUCCESS)
    return findings.add(status, "environment", "{}", tool_take_error("a variable is malformed"));
  return kmgr_parse(bytes, options, findings, out);
}

NRT_STATUS streams_load(const std::string &file, finding_sink &findings, neff_file_bytes *bytes,
                        std::shared_ptr<const kelf_nn_t> *out) {
  neff_file_bytes own;
  neff_file_bytes *read = bytes ? bytes : &own;
  const NRT_STATUS status = tool_read(file, findings, read);
  return status == NRT_SUCCESS ? streams_lower(read->span(), findings, out) : status;
}

isa_names_t streams_names(const kbin_t &kbin) {
  isa_names_t names;
  for (uint32_t i = 0; i < kbin.mem_ref_set->nmem; i++) {
    const kbin_mem_ref &var = kbin.mem_ref_set->mem[i];
    isa_names_add(&names, var.var_id, var.name);
    if (var.mr_type == MR_PTR_TABLE && names.table.empty())
      names.table.assign(var.list.list, var.list.list + var.list.length);
  }
  return names;
}

isa_engine_t streams_engine(std::string_view name) {
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
    if (name == isa_engine_name(e))
      return static_cast<isa_engine_t>(e);
  }
  return ISA_ENGINE_COUNT;
}
