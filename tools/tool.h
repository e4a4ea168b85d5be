// SPDX-License-Identifier: Apache-2.0
// What the commands of `neff` share: exit codes, streams, findings, tables, progress.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "neff/neff_file.h"
#include "tools/json_out.h"

constexpr int TOOL_OK = 0;
constexpr int TOOL_FINDINGS = 1;  // findings, or it did not work
constexpr int TOOL_USAGE = 2;

// The results' stream. tool_streams_init keeps it apart from standard output, which from then on
// leads to standard error: log lines of the layers below never land in a document.
FILE *tool_out();
void tool_streams_init();
// The layers below write the one ERROR line of a failure themselves. The tool holds it back, to say
// it with the file it belongs to. Takes the first line held since the last call, or `otherwise`.
void tool_hold_errors();
std::string tool_take_error(const std::string &otherwise);
// Flushes; TOOL_FINDINGS when something could not be written (disk full), else `code`.
int tool_finish(int code);
void tool_print(std::string_view text);
// To standard error. Unlike fmt::print it does not throw when that cannot be written either.
void tool_note(const std::string &text);

// Names come from files: control characters are shown, not sent to the terminal.
std::string tool_printable(std::string_view text);

// "FILE: where: what [NRT_INVALID]", one line.
std::string tool_finding_text(const std::string &file, const finding &f);
// One line per finding on standard error: "neff: FILE: where: what [NRT_INVALID]".
void tool_report(const std::string &file, const finding_sink &findings);
// {"status", "code", "where", "what"} each.
void tool_put_findings(json_out &json, const finding_sink &findings);
void tool_put_status(json_out &json, NRT_STATUS status);
// Reports a failure the way the command was asked to speak: {"file", "error": {...}} on the result
// stream with --json, lines on standard error in any case. Returns TOOL_FINDINGS.
int tool_fail(bool json, const std::string &file, NRT_STATUS status, const finding_sink &findings);

// Arguments that make no sense: a line and a hint on standard error, {"error"} with --json. Returns
// TOOL_USAGE.
int tool_usage(bool json, const std::string &what);

// Decimal or 0x-prefixed.
bool tool_parse_u64(const std::string &text, uint64_t *out);

// Columns as wide as their widest cell; numbers to the right.
class tool_table {
 public:
  // A heading that starts with '>' makes a right-aligned column.
  explicit tool_table(const std::vector<std::string> &headings);
  void row(std::vector<std::string> cells);
  void print(std::string_view indent = "  ") const;

 private:
  std::vector<std::string> headings_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// "[#####.....]  50%".
std::string tool_bar(uint64_t done, uint64_t total);

// Work that is done sooner shows no progress.
constexpr uint64_t TOOL_QUIET_NS = 1'000'000'000;

// A bar on standard error, on a terminal, once the work has taken a second.
class tool_progress {
 public:
  explicit tool_progress(std::string label);
  tool_progress(const tool_progress &) = delete;
  tool_progress &operator=(const tool_progress &) = delete;
  ~tool_progress();
  void update(uint64_t done, uint64_t total);

 private:
  std::string label_;
  bool terminal_;
  bool shown_ = false;
  uint64_t start_ns_;
  int last_percent_ = -1;
};

// Reads a file with a progress bar.
NRT_STATUS tool_read(const std::string &path, finding_sink &findings, neff_file_bytes *out);
