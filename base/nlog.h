// SPDX-License-Identifier: Apache-2.0
// The runtime's log. Line layout, levels, components and variables: nrt-api.md section 7.
//
// Rule (rulings.md 27): one ERROR line per failing public call. The function that detects a failure
// writes that line, with what, where and the limit; every caller above passes the status on and
// stays silent (or speaks at DEBUG). Layers below the device line (neff, kelf) never log errors:
// they fill a finding_sink, and kmgr writes its first finding.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

enum nlog_component {
  NLOG_NRT = 0,  // the C API
  NLOG_NMGR,     // kmgr: load orchestration, registry
  NLOG_TDRV,     // core: placement, memory, tensors
  NLOG_HAL,      // device access
  NLOG_NLOG,     // the log itself
  NLOG_COMPONENT_COUNT,
};

enum nlog_level {
  NLOG_LEVEL_DISABLED = 0,
  NLOG_LEVEL_ERROR = 1,
  NLOG_LEVEL_WARN = 2,
  NLOG_LEVEL_INFO = 3,
  NLOG_LEVEL_DEBUG = 4,
  NLOG_LEVEL_TRACE = 5,
};

// Reads NEURON_RT_LOG_LEVEL[_<COMP>] and NEURON_RT_LOG_LOCATION[_<COMP>] again and rebuilds the
// sinks. Called by nrt_init and by the first log statement. Unknown values print a notice and fall
// back to the default (ERROR, CONSOLE). Thread-safe.
void nlog_configure_from_env();

// True when a line of this level would be written. Cheap; safe before nlog_configure_from_env.
bool nlog_enabled(nlog_component component, nlog_level level);

// `text` without what could begin a line of its own: control characters become '?'. Names of files
// and tensors may hold anything.
std::string nlog_one_line(std::string_view text);

// Writes one line, made one by nlog_one_line. `function` is the emitting function's name. Never
// throws, never fails.
void nlog_write(nlog_component component, nlog_level level, const char *function,
                std::string_view message) noexcept;

// Writes a record of several lines as it is; names in it are the caller's to clean.
void nlog_write_block(nlog_component component, nlog_level level, const char *function,
                      std::string_view text) noexcept;

// Counts ERROR lines of the calling thread since start: lets tests prove "exactly one line".
unsigned long nlog_thread_error_count();

// A public call that works on several threads still writes one ERROR line. Its workers hold their
// lines back; the calling thread then writes the first one as its own.
struct nlog_held_error {
  bool set = false;
  nlog_component component = NLOG_NRT;
  const char *function = "";
  std::string message;  // the first line held, later ones are dropped
};

// From now on the calling thread's ERROR lines go to `into` (nullptr: to the log again). They are
// neither written nor counted. Returns the previous value.
nlog_held_error *nlog_hold_errors(nlog_held_error *into);
// Writes the held line, when there is one, from the calling thread.
void nlog_write_held(const nlog_held_error &held) noexcept;

// Test hook: when set, every line that passes its level goes here too. Returns the previous hook.
using nlog_hook = void (*)(void *user, nlog_component, nlog_level, const char *function,
                           std::string_view message);
void nlog_set_hook(nlog_hook hook, void *user);

#define NLOG_AT(component, level, ...)                                    \
  do {                                                                    \
    if (nlog_enabled(component, level))                                   \
      nlog_write(component, level, __func__, ::fmt::format(__VA_ARGS__)); \
  } while (0)

// Usage: NLOG_ERROR(NLOG_TDRV, "allocation of {} bytes failed", size);
#define NLOG_ERROR(component, ...) NLOG_AT(component, NLOG_LEVEL_ERROR, __VA_ARGS__)
#define NLOG_WARN(component, ...) NLOG_AT(component, NLOG_LEVEL_WARN, __VA_ARGS__)
#define NLOG_INFO(component, ...) NLOG_AT(component, NLOG_LEVEL_INFO, __VA_ARGS__)
#define NLOG_DEBUG(component, ...) NLOG_AT(component, NLOG_LEVEL_DEBUG, __VA_ARGS__)
#define NLOG_TRACE(component, ...) NLOG_AT(component, NLOG_LEVEL_TRACE, __VA_ARGS__)
