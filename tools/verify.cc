// SPDX-License-Identifier: Apache-2.0
// verify: everything that can be said about files without a machine.
#include <fmt/format.h>

#include "kmgr/checks.h"
#include "tools/commands.h"
#include "tools/tool.h"

namespace {

// All findings of one file, in the order a load would meet them. False: it cannot be read.
bool verify_file(const std::string &file, const kmgr_options_t &options, finding_sink &findings) {
  neff_file_bytes bytes;
  if (tool_read(file, findings, &bytes) != NRT_SUCCESS)
    return false;
  neff_header_t header{};
  neff_header_check(bytes.span(), findings, &header);
  size_t header_findings = findings.all().size();
  if (bytes.size < NEFF_HEADER_SIZE)
    return true;
  kmgr_check_lnc_size(header, findings);

  finding_sink rest(true);
  std::shared_ptr<const kelf_nn_t> nn;
  kmgr_parse(bytes.span(), options, rest, &nn);
  // Parsing checks the header once more and reports it first.
  for (size_t i = header_findings; i < rest.all().size(); i++) {
    const finding &f = rest.all()[i];
    findings.add(f.status, f.where, "{}", f.what);
  }
  return true;
}

struct place {
  std::string member;
  std::string location;  // key, variable or byte offset inside it
};

place split_where(const std::string &where) {
  if (where.starts_with("header+"))
    return {"header", where.substr(7)};
  size_t colon = where.find(": ");
  if (colon == std::string::npos)
    return {where, ""};
  return {where.substr(0, colon), where.substr(colon + 2)};
}

}  // namespace

int command_verify(const std::vector<std::string> &files, bool json) {
  kmgr_options_t options;
  finding_sink environment;
  NRT_STATUS status = neff_open_options_from_env(&options.neff);
  if (status == NRT_SUCCESS)
    status = kelf_options_from_env(&options.kelf);
  if (status != NRT_SUCCESS)
    environment.add(status, "environment", "{}", tool_take_error("a variable is malformed"));
  if (status != NRT_SUCCESS)
    return tool_fail(json, files.empty() ? "" : files.front(), status, environment);
  options.neff.validate_hash = true;

  bool all_good = true;
  json_out out;
  out.begin_object().key("files").begin_array();
  for (const std::string &file : files) {
    finding_sink findings(true);
    bool read = verify_file(file, options, findings);
    all_good = all_good && findings.empty();
    if (!read)  // no finding about a NEFF: what every command says of such a file
      tool_report(file, findings);
    if (!json && !read)
      continue;
    if (!json) {
      if (findings.empty())
        tool_print(fmt::format("{}: ok\n", tool_printable(file)));
      for (const finding &f : findings.all())
        tool_print(tool_finding_text(file, f));
      continue;
    }
    out.begin_object().field("file", file).field("ok", findings.empty());
    tool_put_status(out, findings.status());
    out.key("findings").begin_array();
    for (const finding &f : findings.all()) {
      place at = split_where(f.where);
      out.begin_object();
      tool_put_status(out, f.status);
      out.field("member", at.member).field("location", at.location).field("what", f.what);
      out.end_object();
    }
    out.end_array().end_object();
  }
  out.end_array().end_object();
  if (json)
    tool_print(out.text());
  return all_good ? TOOL_OK : TOOL_FINDINGS;
}
