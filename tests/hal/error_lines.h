// SPDX-License-Identifier: Apache-2.0
// The ERROR lines written while it lives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/nlog.h"

struct error_lines {
  std::vector<std::string> lines;
  error_lines() {
    nlog_set_hook(
        [](void *user, nlog_component, nlog_level level, const char *, std::string_view text) {
          if (level == NLOG_LEVEL_ERROR)
            static_cast<error_lines *>(user)->lines.emplace_back(text);
        },
        this);
  }
  ~error_lines() { nlog_set_hook(nullptr, nullptr); }
};
