// SPDX-License-Identifier: Apache-2.0
// asm: text into a stream, or into the streams of a NEFF.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "isa/isa_cursor.h"
#include "neff/neff_write.h"
#include "tools/commands.h"
#include "tools/streams.h"
#include "tools/tool.h"

namespace {

// Lines of one core: from a `.core` to the next.
struct section_t {
  int64_t core = -1;  // -1: the text has not said yet
  uint32_t first_line = 1;
  std::string text;
  isa_program_t program;
};

NRT_STATUS add_mistake(finding_sink &findings, uint32_t line, size_t column,
                       std::string_view what) {
  return findings.add(NRT_INVALID, fmt::format("{}:{}", line, column), "{}", what);
}

// Reads ".core N" when the line is one.
bool parse_core(std::string_view line, bool *found, uint64_t *core, isa_cursor_t *c) {
  c->line = line;
  *found = isa_cursor_peek_word(c) == ".core";
  if (!*found)
    return true;
  return isa_cursor_expect(c, ".core") && isa_cursor_number(c, 0, 4095, core) &&
         (isa_cursor_at_end(c) || isa_cursor_fail(c, "expected the end of the line"));
}

NRT_STATUS split(std::string_view text, finding_sink &findings, std::vector<section_t> *out) {
  out->assign(1, {});
  std::set<uint64_t> seen;
  for (uint32_t number = 1; !text.empty(); number++) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    isa_cursor_t c;
    bool found = false;
    uint64_t core = 0;
    if (!parse_core(line, &found, &core, &c))
      return add_mistake(findings, number, c.failed_at + 1, c.failed);
    if (!found) {
      out->back().text.append(line) += '\n';
      continue;
    }
    if (!seen.insert(core).second)
      return add_mistake(findings, number, 1, fmt::format("core {} a second time", core));
    out->push_back({static_cast<int64_t>(core), number + 1, "", {}});
  }
  return NRT_SUCCESS;
}

struct assembly_t {
  const asm_arguments *arguments;
  isa_engine_t engine;  // ISA_ENGINE_COUNT: not given
  const kelf_nn_t *nn;  // nullptr: no NEFF
  std::vector<section_t> sections;

  int64_t core_of(const section_t &section) const {
    return section.core >= 0 ? section.core : std::max<int64_t>(arguments->core, 0);
  }
  bool wants(const section_t &section, uint32_t e) const {
    return section.program.given[e] && (engine == ISA_ENGINE_COUNT || engine == e) &&
           (arguments->core < 0 || arguments->core == core_of(section));
  }
};

// Text before the first `.core` that only comments is no section.
bool has_nothing(const section_t &section) {
  return std::all_of(std::begin(section.program.given), std::end(section.program.given),
                     [](bool given) { return !given; });
}

NRT_STATUS assemble_section(const assembly_t &assembly, section_t *section,
                            finding_sink &findings) {
  isa_names_t names;
  const auto core = static_cast<uint64_t>(assembly.core_of(*section));
  if (assembly.nn && core < assembly.nn->kbins.size())
    names = streams_names(*assembly.nn->kbins[core]);
  // --engine names the stream of a text that does not, and chooses in one that does. What stands
  // before the first `.core` of several is no stream.
  const bool alone = section->core >= 0 || assembly.sections.size() == 1;
  const bool bare = alone && section->text.find(".engine") == std::string::npos;
  const isa_assemble_options_t options = {&names, bare ? assembly.engine : ISA_ENGINE_COUNT,
                                          ISA_FORM_NEFF, section->first_line};
  isa_text_error_t error;
  if (!isa_assemble(section->text, options, &section->program, &error))
    return add_mistake(findings, error.line, error.column, error.what);
  if (assembly.nn && core >= assembly.nn->kbins.size() && !has_nothing(*section))
    return findings.add(NRT_INVALID, fmt::format("core {}", core), "{} has cores 0 to {}",
                        assembly.arguments->into, assembly.nn->kbins.size() - 1);
  return NRT_SUCCESS;
}

std::span<const uint8_t> bytes_of(const std::vector<isa_record> &stream) {
  return {reinterpret_cast<const uint8_t *>(stream.data()), stream.size() * sizeof(isa_record)};
}

// The one stream that the text and the options name.
NRT_STATUS choose(const assembly_t &assembly, finding_sink &findings,
                  const std::vector<isa_record> **out) {
  std::string there;
  uint32_t n = 0;
  for (const section_t &section : assembly.sections) {
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
      if (!assembly.wants(section, e))
        continue;
      *out = &section.program.stream[e];
      there += fmt::format("{}core {} {}", n++ ? ", " : "", assembly.core_of(section),
                           isa_engine_name(e));
    }
  }
  if (n == 1)
    return NRT_SUCCESS;
  return findings.add(NRT_INVALID, "streams", "{}",
                      n == 0 ? std::string("there is none: --engine says whose it is")
                             : "more than one (" + there + "): --core and --engine choose");
}

// What the header of the new file has to say, as the old one says it.
neff_write_options options_like(const neff &source, std::span<const uint8_t> file) {
  const neff_header_t &header = source.header;
  const auto payload = file.subspan(NEFF_HEADER_SIZE);
  neff_write_options options;
  options.name.assign(header.name, strnlen(header.name, sizeof(header.name) - 1));
  options.version_major = header.neff_version_major;
  options.feature_bits = header.feature_bits;
  options.lnc_size = header.lnc_size;
  options.num_tpb = header.num_tpb;
  options.pkg_version = header.pkg_version;
  options.compress = source.compressed;
  options.word_reversed_md5 =
      neff_digest_check(header, payload) == neff_digest_form::md5_word_reversed;
  options.pad = payload.size() % 10240 == 0;
  return options;
}

NRT_STATUS replace_streams(const assembly_t &assembly, std::span<const uint8_t> file,
                           finding_sink &findings, uint32_t *replaced, std::vector<uint8_t> *out) {
  const neff &source = *assembly.nn->source;
  neff_write_members members;
  for (const auto &[name, bytes] : source.members)
    members[name].assign(bytes.begin(), bytes.end());
  *replaced = 0;
  for (const section_t &section : assembly.sections) {
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
      if (!assembly.wants(section, e))
        continue;
      const kbin_t &kbin = *assembly.nn->kbins[static_cast<size_t>(assembly.core_of(section))];
      const auto engine = std::find_if(kbin.engines.begin(), kbin.engines.end(),
                                       [&](const kbin_engine_t &k) { return k.eng_type == e; });
      if (engine == kbin.engines.end() || engine->instr_member.empty())
        return findings.add(NRT_INVALID, kbin.sg_name, "it has no stream for {}",
                            isa_engine_name(e));
      const auto bytes = bytes_of(section.program.stream[e]);
      members[engine->instr_member].assign(bytes.begin(), bytes.end());
      ++*replaced;
    }
  }
  if (*replaced == 0)
    return findings.add(NRT_INVALID, "streams", "there is none: --engine says whose it is");
  NRT_STATUS status = neff_write(members, options_like(source, file), findings, out);
  std::shared_ptr<const kelf_nn_t> again;
  return status == NRT_SUCCESS ? streams_lower(*out, findings, &again) : status;
}

int report(const asm_arguments &arguments, size_t bytes, uint64_t streams) {
  if (arguments.json) {
    json_out out;
    out.begin_object().field("file", arguments.output).field("bytes", bytes);
    out.field("streams", streams).end_object();
    tool_print(out.text());
  } else {
    tool_print(fmt::format("{}: {} bytes, {} stream{}\n", tool_printable(arguments.output), bytes,
                           streams, streams == 1 ? "" : "s"));
  }
  return TOOL_OK;
}

}  // namespace

int command_asm(const asm_arguments &arguments) {
  finding_sink findings;
  std::shared_ptr<const kelf_nn_t> nn;
  neff_file_bytes text, file;
  NRT_STATUS status = NRT_SUCCESS;
  if (!arguments.into.empty())
    status = streams_load(arguments.into, findings, &file, &nn);
  if (status != NRT_SUCCESS)
    return tool_fail(arguments.json, arguments.into, status, findings);

  assembly_t assembly{&arguments, streams_engine(arguments.engine), nn.get(), {}};
  status = tool_read(arguments.text, findings, &text);
  if (status == NRT_SUCCESS)
    status = split({reinterpret_cast<const char *>(text.data.get()), text.size}, findings,
                   &assembly.sections);
  for (section_t &section : assembly.sections) {
    if (status == NRT_SUCCESS)
      status = assemble_section(assembly, &section, findings);
  }
  const std::vector<isa_record> *stream = nullptr;
  std::vector<uint8_t> out;
  uint32_t replaced = 1;
  if (status == NRT_SUCCESS && nn)
    status = replace_streams(assembly, file.span(), findings, &replaced, &out);
  else if (status == NRT_SUCCESS)
    status = choose(assembly, findings, &stream);
  if (status != NRT_SUCCESS)
    return tool_fail(arguments.json, arguments.text, status, findings);

  const std::span<const uint8_t> bytes = nn ? std::span<const uint8_t>(out) : bytes_of(*stream);
  status = neff_file_write(arguments.output, bytes, findings);
  if (status != NRT_SUCCESS)
    return tool_fail(arguments.json, arguments.output, status, findings);
  return report(arguments, bytes.size(), replaced);
}
