// SPDX-License-Identifier: Apache-2.0
#include "tests/kmgr/log_capture.h"

#include <cstdlib>

log_capture::log_capture(const char *level) {
  setenv("NEURON_RT_LOG_LEVEL", level, 1);
  setenv("NEURON_RT_LOG_LOCATION", "/dev/null", 1);
  nlog_configure_from_env();
  nlog_set_hook(on_line, this);
}

log_capture::~log_capture() {
  nlog_set_hook(nullptr, nullptr);
  unsetenv("NEURON_RT_LOG_LEVEL");
  unsetenv("NEURON_RT_LOG_LOCATION");
  nlog_configure_from_env();
}

void log_capture::on_line(void *user, nlog_component, nlog_level level, const char *,
                          std::string_view message) {
  auto *self = static_cast<log_capture *>(user);
  std::lock_guard lock(self->mutex_);
  self->lines_.push_back({level, std::string(message)});
}

std::vector<std::string> log_capture::lines(nlog_level level) const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  for (const line_t &line : lines_) {
    if (line.level == level)
      found.push_back(line.text);
  }
  return found;
}

void log_capture::clear() {
  std::lock_guard lock(mutex_);
  lines_.clear();
}
