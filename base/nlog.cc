// SPDX-License-Identifier: Apache-2.0
#include "base/nlog.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>

namespace {

constexpr const char *kComponentNames[NLOG_COMPONENT_COUNT] = {"NRT", "NMGR", "TDRV", "HAL",
                                                               "NLOG"};
constexpr const char *kLevelNames[] = {"", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"};

struct component_state {
  // ERROR goes to `errors` (stderr on the console), everything else to `rest` (stdout): tools parse
  // the standard output of client programs and must find errors apart from it.
  std::shared_ptr<spdlog::logger> errors;
  std::shared_ptr<spdlog::logger> rest;
};

struct log_state {
  std::shared_mutex mutex;
  std::array<component_state, NLOG_COMPONENT_COUNT> components;
  nlog_hook hook = nullptr;
  void *hook_user = nullptr;
};

// Never destroyed: statements may come from other static destructors.
log_state &state() {
  static log_state *s = new log_state;
  return *s;
}

// Levels are read without a lock by every statement. -1: not configured yet.
std::array<std::atomic<int>, NLOG_COMPONENT_COUNT> g_levels = {-1, -1, -1, -1, -1};
thread_local unsigned long t_error_count = 0;
thread_local nlog_held_error *t_held = nullptr;

spdlog::level::level_enum spdlog_level(nlog_level level) {
  switch (level) {
    case NLOG_LEVEL_ERROR:
      return spdlog::level::err;
    case NLOG_LEVEL_WARN:
      return spdlog::level::warn;
    case NLOG_LEVEL_INFO:
      return spdlog::level::info;
    case NLOG_LEVEL_DEBUG:
      return spdlog::level::debug;
    case NLOG_LEVEL_TRACE:
      return spdlog::level::trace;
    case NLOG_LEVEL_DISABLED:
      break;
  }
  return spdlog::level::off;
}

// Upper-case level word, right-aligned in five columns.
class level_flag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg &msg, const std::tm &,
              spdlog::memory_buf_t &dest) override {
    const char *word = "";
    switch (msg.level) {
      case spdlog::level::err:
        word = "ERROR";
        break;
      case spdlog::level::warn:
        word = " WARN";
        break;
      case spdlog::level::info:
        word = " INFO";
        break;
      case spdlog::level::debug:
        word = "DEBUG";
        break;
      default:
        word = "TRACE";
        break;
    }
    dest.append(word, word + 5);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<level_flag>();
  }
};

// "TDRV:function", padded to forty columns.
class origin_flag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg &msg, const std::tm &,
              spdlog::memory_buf_t &dest) override {
    std::string text(msg.logger_name.data(), msg.logger_name.size());
    text += ':';
    if (msg.source.funcname != nullptr)
      text += msg.source.funcname;
    text.resize(std::max<size_t>(text.size(), 45), ' ');
    dest.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<origin_flag>();
  }
};

std::unique_ptr<spdlog::formatter> make_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<level_flag>('*').add_flag<origin_flag>('&').set_pattern(
      "%Y-%b-%d %H:%M:%S.%f %5P:%-5t %* %& %v");
  return formatter;
}

// One reading of the environment: what it said already, and the files it opened.
struct configuration {
  std::set<std::string> told;
  std::map<std::string, spdlog::sink_ptr> files;

  void notice(const std::string &text) {
    if (told.insert(text).second)
      fprintf(stderr, "opennrt: %s\n", text.c_str());
  }

  // Components that log to one file share it. Throws when it cannot be opened.
  spdlog::sink_ptr file(const std::string &path) {
    spdlog::sink_ptr &sink = files[path];
    if (sink == nullptr) {
      // spdlog would make missing directories; a mistyped path should be told instead.
      std::filesystem::path parent = std::filesystem::path(path).parent_path();
      if (!parent.empty() && !std::filesystem::is_directory(parent))
        throw spdlog::spdlog_ex("no directory " + parent.string());
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path, false);
    }
    return sink;
  }
};

// Value of NEURON_RT_<base>_<COMP>, else of NEURON_RT_<base>; empty when neither is set.
std::string component_variable(const char *base, const char *component, std::string *name) {
  const std::string candidates[] = {fmt::format("NEURON_RT_{}_{}", base, component),
                                    fmt::format("NEURON_RT_{}", base)};
  for (const std::string &candidate : candidates) {
    const char *value = getenv(candidate.c_str());
    if (value != nullptr && value[0] != '\0') {
      *name = candidate;
      return value;
    }
  }
  return {};
}

nlog_level parse_level(const std::string &value, const std::string &name, configuration *config) {
  if (value.empty())
    return NLOG_LEVEL_ERROR;
  if (strcasecmp(value.c_str(), "QUIET") == 0 || strcasecmp(value.c_str(), "DISABLED") == 0)
    return NLOG_LEVEL_DISABLED;
  if (strcasecmp(value.c_str(), "WARNING") == 0)
    return NLOG_LEVEL_WARN;
  for (int level = NLOG_LEVEL_ERROR; level <= NLOG_LEVEL_TRACE; ++level) {
    if (strcasecmp(value.c_str(), kLevelNames[level]) == 0)
      return static_cast<nlog_level>(level);
  }
  config->notice(fmt::format(
      "{}='{}' is not a log level (QUIET, ERROR, WARN, INFO, DEBUG, TRACE); using ERROR", name,
      value));
  return NLOG_LEVEL_ERROR;
}

component_state make_sinks(const char *component, const std::string &location,
                           const std::string &name, configuration *config) {
  auto make_logger = [&](spdlog::sink_ptr sink) {
    sink->set_formatter(make_formatter());
    auto logger = std::make_shared<spdlog::logger>(component, std::move(sink));
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);
    logger->set_error_handler([](const std::string &) {});
    return logger;
  };
  try {
    if (strcasecmp(location.c_str(), "SYSLOG") == 0) {
      auto logger = make_logger(
          std::make_shared<spdlog::sinks::syslog_sink_mt>("opennrt", LOG_PID, LOG_USER, true));
      return {logger, logger};
    }
    if (!location.empty() && strcasecmp(location.c_str(), "CONSOLE") != 0) {
      auto logger = make_logger(config->file(location));
      return {logger, logger};
    }
  } catch (const std::exception &e) {
    config->notice(fmt::format("{}='{}' cannot be opened ({}); logging to the console", name,
                               location, e.what()));
  }
  return {make_logger(std::make_shared<spdlog::sinks::stderr_color_sink_mt>()),
          make_logger(std::make_shared<spdlog::sinks::stdout_color_sink_mt>())};
}

int level_of(nlog_component component) {
  int level = g_levels[component].load(std::memory_order_acquire);
  if (level >= 0)
    return level;
  nlog_configure_from_env();
  return g_levels[component].load(std::memory_order_acquire);
}

// A name in a message (of a file, a tensor) must not begin a line of its own.
bool breaks_line(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte < ' ' || byte == 0x7f;
}

void hold(nlog_held_error &held, nlog_component component, const char *function,
          std::string_view message) noexcept {
  if (held.set)
    return;
  held.set = true;
  held.component = component;
  held.function = function;
  try {
    held.message = message;
  } catch (...) {
    // Without memory for its text the line still counts.
  }
}

}  // namespace

void nlog_configure_from_env() {
  log_state &s = state();
  std::unique_lock lock(s.mutex);
  configuration config;
  for (int i = 0; i < NLOG_COMPONENT_COUNT; ++i) {
    std::string name;
    std::string location = component_variable("LOG_LOCATION", kComponentNames[i], &name);
    s.components[i] = make_sinks(kComponentNames[i], location, name, &config);
    std::string level = component_variable("LOG_LEVEL", kComponentNames[i], &name);
    g_levels[i].store(parse_level(level, name, &config), std::memory_order_release);
  }
}

bool nlog_enabled(nlog_component component, nlog_level level) {
  if (level == NLOG_LEVEL_ERROR)
    return true;  // counted and hooked even when quiet
  return level <= level_of(component);
}

std::string nlog_one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(line.begin(), line.end(), breaks_line, '?');
  return line;
}

void nlog_write(nlog_component component, nlog_level level, const char *function,
                std::string_view message) noexcept {
  if (std::none_of(message.begin(), message.end(), breaks_line)) {
    nlog_write_block(component, level, function, message);
    return;
  }
  try {
    nlog_write_block(component, level, function, nlog_one_line(message));
  } catch (...) {
    nlog_write_block(component, level, function, "(no host memory for the text)");
  }
}

void nlog_write_block(nlog_component component, nlog_level level, const char *function,
                      std::string_view text) noexcept {
  if (level == NLOG_LEVEL_ERROR && t_held != nullptr) {
    hold(*t_held, component, function, text);
    return;
  }
  if (level == NLOG_LEVEL_ERROR)
    ++t_error_count;
  bool wanted = level <= level_of(component);
  try {
    log_state &s = state();
    std::shared_lock lock(s.mutex);
    if (s.hook != nullptr)
      s.hook(s.hook_user, component, level, function, text);
    if (!wanted)
      return;
    const component_state &c = s.components[component];
    const auto &logger = level == NLOG_LEVEL_ERROR ? c.errors : c.rest;
    logger->log(spdlog::source_loc{"", 1, function}, spdlog_level(level),
                spdlog::string_view_t(text.data(), text.size()));
  } catch (...) {
    // A log line must never take the program down.
  }
}

unsigned long nlog_thread_error_count() {
  return t_error_count;
}

nlog_held_error *nlog_hold_errors(nlog_held_error *into) {
  nlog_held_error *previous = t_held;
  t_held = into;
  return previous;
}

void nlog_write_held(const nlog_held_error &held) noexcept {
  if (held.set)
    nlog_write_block(held.component, NLOG_LEVEL_ERROR, held.function, held.message);
}

void nlog_set_hook(nlog_hook hook, void *user) {
  log_state &s = state();
  std::unique_lock lock(s.mutex);
  s.hook = hook;
  s.hook_user = user;
}
