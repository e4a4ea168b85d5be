// SPDX-License-Identifier: Apache-2.0
// info: what a file says about itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>

#include "kelf/kelf.h"
#include "neff/neff.h"
#include "tools/commands.h"
#include "tools/tool.h"

namespace {

struct feature_name {
  unsigned bit;
  const char *name;
};

// Names as far as they are known (neff-format.md 1.4).
constexpr feature_name kFeatures[] = {
    {1, "collective_has_offset"},
    {2, "neff_feature_custom_ops"},
    {3, "neff_coalesced_ccops"},
    {4, "neff_queue_set_instances"},
    {5, "neff_has_functions"},
    {6, "neff_feature_dynamic_pwp"},
    {7, "neff_feature_indirect_memcpy_32b_sem_wait"},
    {8, "neff_feature_indirect_memcpy_bound_check"},
    {9, "neff_feature_DMA_desc_higher_dim"},
    {10, "neff_feature_vnc"},
    {11, "DVE performance mode"},
    {12, "neff_feature_DGE"},
    {13, "neff_feature_POOL_RSQRT"},
    {14, "neff_feature_remote_sem"},
    {15, "neff_feature_DGE_cast"},
    {16, "neff_feature_vector_DGE"},
    {17, "neff_feature_embedding_stride32"},
    {20, "neff_feature_SQI_no_rearm"},
    {21, "neff_feature_hardware_DGE"},
    {22, "neff_feature_partial_sb2sb_ccop"},
    {25, "neff_feature_large_tensor_support"},
};

std::string feature_text(unsigned bit) {
  for (const feature_name &feature : kFeatures)
    if (feature.bit == bit)
      return feature.name;
  return bit >= 27 && bit < 63 ? "unknown, unsupported" : "unnamed";
}

// A fixed-size field that may or may not be terminated.
template <size_t N, typename T>
std::string field_text(const T (&field)[N]) {
  const auto *text = reinterpret_cast<const char *>(field);
  return std::string(text, strnlen(text, N));
}

const char *digest_state(neff_digest_form form) {
  if (form == neff_digest_form::mismatch)
    return "mismatch";
  return form == neff_digest_form::none ? "none" : "ok";
}

struct facts {
  std::string file;
  uint64_t size = 0;
  neff_header_t header{};
  neff_digest_form digest = neff_digest_form::none;
  std::shared_ptr<const neff> source;
  std::unique_ptr<kelf_nn_t> nn;
};

using kind_counts = std::array<uint32_t, KBIN_MR_TYPE_COUNT>;

kind_counts count_kinds(const kbin_t &kbin) {
  kind_counts counts{};
  for (uint32_t i = 0; i < kbin.mem_ref_set->nmem; i++)
    counts[static_cast<uint32_t>(kbin.mem_ref_set->mem[i].mr_type)]++;
  return counts;
}

void put_tensors(json_out &json, const char *key, const std::vector<kelf_io_tensor_t> &tensors) {
  json.key(key).begin_array();
  for (const kelf_io_tensor_t &tensor : tensors) {
    json.begin_object().field("name", tensor.name).field("dtype", tensor.dtype_name);
    json.key("shape").begin_array();
    for (uint64_t dimension : tensor.shape)
      json.value(dimension);
    json.end_array().field("size", tensor.size).end_object();
  }
  json.end_array();
}

void put_subgraph(json_out &json, const kbin_t &kbin) {
  json.begin_object().field("name", kbin.sg_name).field("definition", kbin.definition);
  json.key("variables").begin_object();
  kind_counts counts = count_kinds(kbin);
  for (uint32_t kind = 0; kind < KBIN_MR_TYPE_COUNT; kind++)
    if (counts[kind] != 0)
      json.field(kbin_mr_type_name(static_cast<kbin_mr_type_t>(kind)), counts[kind]);
  json.end_object();
  json.field("local_scratchpad_size", kbin.mem_ref_set->local_scratchpad_size);
  json.field("shared_scratchpad_size", kbin.mem_ref_set->shared_scratchpad_size);
  json.field("queues", kbin.queues.size()).field("dma_blocks", kbin.blocks.size());
  json.key("engines").begin_array();
  for (const kbin_engine_t &engine : kbin.engines)
    json.begin_object()
        .field("engine", kbin_engine_name(engine.eng_type))
        .field("member", engine.instr_member)
        .field("bytes", engine.instr.size())
        .field("instructions", engine.ninstr)
        .end_object();
  json.end_array().end_object();
}

void print_json(const facts &f, const finding_sink &findings) {
  const neff_header_t &header = f.header;
  json_out json;
  json.begin_object().field("file", f.file).field("size", f.size);
  json.key("header").begin_object();
  json.field("name", field_text(header.name)).field("uuid", neff_uuid_text(header.uuid));
  json.field("pkg_version", +header.pkg_version).field("header_size", +header.header_size);
  json.field("data_size", +header.data_size);
  json.field("neff_version_major", +header.neff_version_major);
  json.field("neff_version_minor", +header.neff_version_minor);
  json.field("neff_build_version", field_text(header.neff_build_version));
  json.field("num_tpb", +header.num_tpb);
  json.field("requested_tpb_count", +header.requested_tpb_count);
  json.field("lnc_size", +header.lnc_size).key("feature_bits").hex(header.feature_bits);
  json.key("features").begin_array();
  for (unsigned bit = 0; bit < 64; bit++)
    if ((header.feature_bits >> bit & 1) != 0)
      json.begin_object().field("bit", bit).field("name", feature_text(bit)).end_object();
  json.end_array().end_object();
  json.key("digest").begin_object().field("state", digest_state(f.digest));
  json.field("form", neff_digest_form_name(f.digest)).end_object();
  if (f.source != nullptr) {
    json.key("archive").begin_object().field("compressed", f.source->compressed);
    json.field("members", f.source->order.size()).field("bytes", f.source->archive_bytes);
    json.field("tar_bytes", f.source->tar_bytes).field("dropped", f.source->dropped.size());
    json.end_object();
  }
  if (f.nn != nullptr) {
    json.key("kelf").begin_object().field("member", f.nn->kelf_member);
    json.field("target", f.nn->target_name).field("mac_count", f.nn->mac_count).end_object();
    put_tensors(json, "inputs", f.nn->inputs);
    put_tensors(json, "outputs", f.nn->outputs);
    json.key("subgraphs").begin_array();
    for (const auto &kbin : f.nn->kbins)
      put_subgraph(json, *kbin);
    json.end_array();
  }
  tool_put_findings(json, findings);
  json.end_object();
  tool_print(json.text());
}

void line(std::string_view label, const std::string &value) {
  tool_print(fmt::format("  {:<22}{}\n", fmt::format("{}:", label), value));
}

void print_header(const facts &f) {
  const neff_header_t &header = f.header;
  tool_print("NEFF header:\n");
  line("Name", tool_printable(field_text(header.name)));
  line("UUID", neff_uuid_text(header.uuid));
  line("Container version",
       fmt::format("{}.{}", +header.neff_version_major, +header.neff_version_minor));
  line("Packaging version", fmt::format("{}", +header.pkg_version));
  line("Header, payload", fmt::format("{}, {} bytes", +header.header_size, +header.data_size));
  std::string build = field_text(header.neff_build_version);
  if (!build.empty())
    line("Build label", tool_printable(build));
  line("TPBs", fmt::format("{}, requested {}", +header.num_tpb, +header.requested_tpb_count));
  line("Logical core size", fmt::format("{}", +header.lnc_size));
  line("Digest", fmt::format("{} ({})", digest_state(f.digest), neff_digest_form_name(f.digest)));
  line("Features", fmt::format("0x{:x}", +header.feature_bits));
  for (unsigned bit = 0; bit < 64; bit++)
    if ((header.feature_bits >> bit & 1) != 0)
      tool_print(fmt::format("{:24}bit {:<2} {}\n", "", bit, feature_text(bit)));
  if (f.source != nullptr)
    line("Archive", fmt::format("{}, {} members of {} bytes in all",
                                f.source->compressed ? "gzip" : "bare tar", f.source->order.size(),
                                f.source->archive_bytes));
}

void print_tensors(const char *title, const std::vector<kelf_io_tensor_t> &tensors) {
  tool_print(fmt::format("\n{}: {}\n", title, tensors.size()));
  if (tensors.empty())
    return;
  tool_table table({"Name", "Type", "Shape", ">Bytes"});
  for (const kelf_io_tensor_t &tensor : tensors)
    table.row({tensor.name, tensor.dtype_name, fmt::format("[{}]", fmt::join(tensor.shape, ", ")),
               std::to_string(tensor.size)});
  table.print();
}

void print_subgraph(const kbin_t &kbin) {
  tool_print(fmt::format("\nSubgraph {} ({}): {} variables\n", tool_printable(kbin.sg_name),
                         tool_printable(kbin.definition), kbin.mem_ref_set->nmem));
  kind_counts counts = count_kinds(kbin);
  tool_table kinds({"Kind", ">Count"});
  for (uint32_t kind = 0; kind < KBIN_MR_TYPE_COUNT; kind++)
    if (counts[kind] != 0)
      kinds.row(
          {kbin_mr_type_name(static_cast<kbin_mr_type_t>(kind)), std::to_string(counts[kind])});
  kinds.print();
  line("Scratchpad, own", fmt::format("{} bytes", kbin.mem_ref_set->local_scratchpad_size));
  line("Scratchpad, shared", fmt::format("{} bytes", kbin.mem_ref_set->shared_scratchpad_size));
  line("Queue sets", std::to_string(kbin.queues.size()));
  line("Static DMA blocks", std::to_string(kbin.blocks.size()));
  tool_table engines({"Engine", ">Bytes", ">Instructions", "Member"});
  for (const kbin_engine_t &engine : kbin.engines)
    engines.row({kbin_engine_name(engine.eng_type), std::to_string(engine.instr.size()),
                 std::to_string(engine.ninstr), engine.instr_member});
  engines.print();
}

void print_text(const facts &f) {
  print_header(f);
  if (f.nn == nullptr)
    return;
  tool_print("\nKelf:\n");
  line("Member", tool_printable(f.nn->kelf_member));
  line("Target",
       f.nn->target_name.empty() ? "none given (sunda)" : tool_printable(f.nn->target_name));
  line("Subgraphs", std::to_string(f.nn->kbins.size()));
  line("Multiply-adds", std::to_string(f.nn->mac_count));
  print_tensors("Inputs", f.nn->inputs);
  print_tensors("Outputs", f.nn->outputs);
  for (const auto &kbin : f.nn->kbins)
    print_subgraph(*kbin);
}

}  // namespace

int command_info(const std::string &file, bool json) {
  finding_sink findings(true);
  facts f;
  f.file = file;
  neff_open_options options;
  kelf_options lowering;
  NRT_STATUS status = neff_open_options_from_env(&options);
  if (status == NRT_SUCCESS)
    status = kelf_options_from_env(&lowering);
  if (status != NRT_SUCCESS)
    findings.add(status, "environment", "{}", tool_take_error("a variable is malformed"));
  neff_file_bytes bytes;
  if (status == NRT_SUCCESS)
    status = tool_read(file, findings, &bytes);
  if (status == NRT_SUCCESS && bytes.size < NEFF_HEADER_SIZE)
    status = neff_header_check(bytes.span(), findings, &f.header);
  if (status != NRT_SUCCESS)
    return tool_fail(json, file, status, findings);

  f.size = bytes.size;
  memcpy(&f.header, bytes.data.get(), sizeof(f.header));
  std::span<const uint8_t> payload = bytes.span().subspan(NEFF_HEADER_SIZE);
  if (f.header.data_size <= payload.size())
    payload = payload.first(f.header.data_size);
  f.digest = neff_digest_check(f.header, payload);
  neff_open(bytes.span(), options, findings, &f.source);
  bytes = {};  // members live in storage of their own
  if (f.source != nullptr && kelf_load_nn(f.source, lowering, findings, &f.nn) == NRT_SUCCESS)
    kelf_resolve_vtpb_remote_variables(*f.nn, findings);
  if (json)
    print_json(f, findings);
  else
    print_text(f);
  tool_report(file, findings);
  return findings.empty() ? TOOL_OK : TOOL_FINDINGS;
}
