// SPDX-License-Identifier: Apache-2.0
// Collects the log lines of all threads while it lives.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/nlog.h"

class log_capture {
 public:
  // `level` is what NEURON_RT_LOG_LEVEL is set to meanwhile.
  explicit log_capture(const char *level = "ERROR");
  ~log_capture();
  log_capture(const log_capture &) = delete;
  log_capture &operator=(const log_capture &) = delete;

  std::vector<std::string> lines(nlog_level level) const;
  std::vector<std::string> errors() const { return lines(NLOG_LEVEL_ERROR); }
  void clear();

 private:
  struct line_t {
    nlog_level level;
    std::string text;
  };
  static void on_line(void *user, nlog_component component, nlog_level level, const char *function,
                      std::string_view message);

  mutable std::mutex mutex_;
  std::vector<line_t> lines_;
};
