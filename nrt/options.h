// SPDX-License-Identifier: Apache-2.0
// The plain-data objects behind the option handles of profiling and tracing.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

constexpr uint32_t OPTIONS_MAX_CORES = 128;
constexpr uint64_t OPTIONS_DEFAULT_EVENTS_PER_CORE = 1000000;
constexpr uint64_t OPTIONS_MAX_EVENT_TYPES = 64;

// Names of the event types this runtime knows, in a fixed order.
const std::vector<std::string_view> &event_type_names();
// Position in event_type_names, or -1.
int event_type_index(std::string_view name);

// What a trace captures.
struct trace_filter_t {
  uint64_t max_events_per_nc = OPTIONS_DEFAULT_EVENTS_PER_CORE;
  std::bitset<OPTIONS_MAX_CORES> cores = std::bitset<OPTIONS_MAX_CORES>().set();
  std::bitset<OPTIONS_MAX_EVENT_TYPES> events = std::bitset<OPTIONS_MAX_EVENT_TYPES>().set();
};

struct fetch_options_t {
  static constexpr uint64_t ALL = UINT64_MAX;
  uint64_t max_events_per_nc = ALL;
  uint64_t nc_idx = ALL;
};

struct continuous_options_t {
  std::string output_dir = "./output";
};

// Bits of inspect_config_t.activities, in the order of activity_names.
constexpr uint32_t ACTIVITY_COUNT = 4;
constexpr uint32_t ACTIVITY_ALL = 0xf;

struct inspect_config_t {
  int session_id = 1;
  std::string output_dir = "./output";
  trace_filter_t trace;
  uint32_t activities = ACTIVITY_ALL;
  bool enable_inspect = false;
  bool enable_inspect_on_fail = false;
  int device_profile_mode = 0;  // off, as in the newer of two contradicting sources
};

// malloc'd array of malloc'd copies. Throws bad_alloc, leaving nothing behind.
const char **names_to_c(const std::vector<std::string_view> &names);
void names_free(const char **names, size_t count);
