// SPDX-License-Identifier: Apache-2.0
// What the mocked device executed, as Chrome trace JSON (chrome://tracing, Perfetto): one process
// per physical core, one thread per engine and per source of transfers, over simulated time.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/finding.h"
#include "mock_dev/exec.h"

// Events beyond this are counted, not kept.
constexpr size_t TRACE_MAX_EVENTS = 4u << 20;

// What device addresses of a core belong to, and what its DGE table lists.
struct trace_names_t {
  struct range_t {
    uint64_t size;
    std::string name;
  };
  std::map<uint64_t, range_t> ranges;  // by address
  std::vector<std::string> table;
  // "name+0x40"; hexadecimal when it belongs to nothing.
  std::string at(uint64_t address) const;
};

class trace_recorder {
 public:
  // For mock_exec_trace: `user` is the recorder. Thread-safe.
  static void record(void *user, const mock_exec_event_t *event);

  void set_names(uint32_t device, uint32_t core, trace_names_t names);
  size_t events() const { return events_.size(); }
  uint64_t dropped() const { return dropped_; }
  std::string to_json() const;
  // NRT_FAILURE: the file cannot be written.
  NRT_STATUS write(const std::string &path, finding_sink &findings) const;

 private:
  struct event_t {
    uint32_t device, core, track;
    uint64_t pc, start_ps, end_ps, bytes;
    bool has_record;
    uint8_t record[64];
  };
  std::mutex mutex_;
  std::vector<event_t> events_;
  uint64_t dropped_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, trace_names_t> names_;
};
