// SPDX-License-Identifier: Apache-2.0
// How parsers report bad input. A load stops at the first finding; `neff verify` collects them all.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nrt/nrt_status.h"

struct finding {
  NRT_STATUS status;  // what nrt_load answers for it
  std::string where;  // member, then key, variable or byte offset: "sg00/def.json: var.x.size"
  std::string what;   // what is wrong, with the value seen and the limit
};

// `text` made fit for one log line: control characters escaped, cut (with "...") at `limit` bytes.
// Names and values come from files and may hold anything.
std::string finding_line(std::string_view text, size_t limit);

// Longest place or message; what is longer is cut.
constexpr size_t FINDING_MAX_TEXT = 2048;

class finding_sink {
 public:
  // `collect` false: the caller stops at the first finding. True: it goes on where it can.
  explicit finding_sink(bool collect = false) : collect_(collect) {}

  bool collect() const { return collect_; }
  bool empty() const { return findings_.empty(); }
  const std::vector<finding> &all() const { return findings_; }

  // Status of the first finding, NRT_SUCCESS when there is none.
  NRT_STATUS status() const { return findings_.empty() ? NRT_SUCCESS : findings_.front().status; }

  // Records a finding and hands its status back, so that `return sink.add(...)` reads well.
  template <typename... Args>
  NRT_STATUS add(NRT_STATUS status, std::string_view where, fmt::format_string<Args...> format,
                 Args &&...args) {
    findings_.push_back(
        {status, finding_line(where, FINDING_MAX_TEXT),
         finding_line(fmt::format(format, std::forward<Args>(args)...), FINDING_MAX_TEXT)});
    return status;
  }

  // Takes over the findings of another sink (one per thread), in order.
  void merge(finding_sink &&other) {
    for (finding &f : other.findings_)
      findings_.push_back(std::move(f));
    other.findings_.clear();
  }

 private:
  bool collect_;
  std::vector<finding> findings_;
};
