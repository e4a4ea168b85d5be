// SPDX-License-Identifier: Apache-2.0
#include "tools/tool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/nlog.h"

static FILE *g_out = stdout;
static nlog_held_error g_held;

FILE *tool_out() {
  return g_out;
}

void tool_streams_init() {
  int results = dup(STDOUT_FILENO);
  if (results < 0)
    return;
  FILE *stream = fdopen(results, "w");
  if (stream == nullptr) {
    close(results);
    return;
  }
  g_out = stream;
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

void tool_note(const std::string &text) {
  fputs(text.c_str(), stderr);
}

void tool_hold_errors() {
  nlog_hold_errors(&g_held);
}

std::string tool_take_error(const std::string &otherwise) {
  std::string text = g_held.set ? g_held.message : otherwise;
  g_held = {};
  return text;
}

void tool_print(std::string_view text) {
  fwrite(text.data(), 1, text.size(), g_out);
}

int tool_finish(int code) {
  if (fflush(g_out) == 0 && ferror(g_out) == 0)
    return code;
  tool_note(fmt::format("neff: the results cannot be written: {}\n", strerror(errno)));
  return TOOL_FINDINGS;
}

std::string tool_printable(std::string_view text) {
  return finding_line(text, SIZE_MAX);
}

std::string tool_finding_text(const std::string &file, const finding &f) {
  std::string where = f.where == finding_line(file, FINDING_MAX_TEXT) ? "" : f.where + ": ";
  return fmt::format("{}: {}{} [{}]\n", tool_printable(file), where, f.what,
                     nrt_get_status_as_str(f.status));
}

void tool_report(const std::string &file, const finding_sink &findings) {
  for (const finding &f : findings.all())
    tool_note("neff: " + tool_finding_text(file, f));
}

void tool_put_status(json_out &json, NRT_STATUS status) {
  json.field("status", nrt_get_status_as_str(status)).field("code", static_cast<int>(status));
}

void tool_put_findings(json_out &json, const finding_sink &findings) {
  json.key("findings").begin_array();
  for (const finding &f : findings.all()) {
    json.begin_object();
    tool_put_status(json, f.status);
    json.field("where", f.where).field("what", f.what).end_object();
  }
  json.end_array();
}

int tool_fail(bool json, const std::string &file, NRT_STATUS status, const finding_sink &findings) {
  tool_report(file, findings);
  if (json) {
    json_out document;
    document.begin_object().field("file", file).key("error").begin_object();
    tool_put_status(document, status);
    tool_put_findings(document, findings);
    document.end_object().end_object();
    tool_print(document.text());
  }
  return TOOL_FINDINGS;
}

int tool_usage(bool json, const std::string &what) {
  tool_note(fmt::format("neff: {}\nRun with --help for more.\n", what));
  if (json) {
    json_out document;
    document.begin_object().key("error").begin_object();
    document.field("status", "usage").field("what", what).end_object().end_object();
    tool_print(document.text());
  }
  return TOOL_USAGE;
}

bool tool_parse_u64(const std::string &text, uint64_t *out) {
  bool hex = text.starts_with("0x") || text.starts_with("0X");
  std::string digits = hex ? text.substr(2) : text;
  const char *accepted = hex ? "0123456789abcdefABCDEF" : "0123456789";
  if (digits.empty() || digits.find_first_not_of(accepted) != std::string::npos)
    return false;
  errno = 0;
  *out = strtoull(digits.c_str(), nullptr, hex ? 16 : 10);
  return errno == 0;
}

tool_table::tool_table(const std::vector<std::string> &headings) {
  for (const std::string &heading : headings) {
    right_.push_back(heading.starts_with('>'));
    headings_.push_back(right_.back() ? heading.substr(1) : heading);
  }
}

void tool_table::row(std::vector<std::string> cells) {
  for (std::string &cell : cells)
    cell = tool_printable(cell);
  rows_.push_back(std::move(cells));
}

// Code points, close enough to columns for the names that occur.
static size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

void tool_table::print(std::string_view indent) const {
  std::vector<size_t> widths;
  for (const std::string &heading : headings_)
    widths.push_back(width_of(heading));
  for (const auto &cells : rows_)
    for (size_t i = 0; i < cells.size(); i++)
      widths[i] = std::max(widths[i], width_of(cells[i]));
  auto print_line = [&](const std::vector<std::string> &cells) {
    std::string line(indent);
    for (size_t i = 0; i < cells.size(); i++) {
      std::string fill(widths[i] - width_of(cells[i]), ' ');
      line += right_[i] ? fill + cells[i] : cells[i] + fill;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    tool_print(line + "\n");
  };
  print_line(headings_);
  for (const auto &cells : rows_)
    print_line(cells);
}

static int percent_of(uint64_t done, uint64_t total) {
  return static_cast<int>(static_cast<double>(done) * 100 / static_cast<double>(total));
}

std::string tool_bar(uint64_t done, uint64_t total) {
  constexpr int kWidth = 30;
  int percent = percent_of(done, total), filled = percent * kWidth / 100;
  return fmt::format("[{:#<{}}{:.<{}}] {:3}%", "", filled, "", kWidth - filled, percent);
}

tool_progress::tool_progress(std::string label)
    : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) == 1), start_ns_(clock_now_ns()) {}

tool_progress::~tool_progress() {
  if (shown_)
    tool_note(fmt::format("\r\033[K"));
}

void tool_progress::update(uint64_t done, uint64_t total) {
  if (!terminal_ || total == 0)
    return;
  int percent = percent_of(done, total);
  if (clock_now_ns() - start_ns_ < TOOL_QUIET_NS || percent == last_percent_)
    return;
  last_percent_ = percent;
  shown_ = true;
  tool_note(fmt::format("\r{} {}", label_, tool_bar(done, total)));
}

NRT_STATUS tool_read(const std::string &path, finding_sink &findings, neff_file_bytes *out) {
  tool_progress progress("reading " + path);
  return neff_file_read(path, findings, out,
                        [&](uint64_t done, uint64_t total) { progress.update(done, total); });
}
