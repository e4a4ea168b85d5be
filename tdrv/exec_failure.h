// SPDX-License-Identifier: Apache-2.0
// Why a run failed: the worst status of its cores and one text for the log (dma-and-exec.md 4.4).
// Without allocations, like everything on the path of a run. Private to this folder.
#pragma once

#include <fmt/format.h>

#include <cstddef>

#include "isa/project.h"
#include "tdrv/program.h"

struct exec_failure_t {
  NRT_STATUS status;
  uint32_t unlisted;  // error records beyond those in the text
  uint32_t listed;
  size_t length;
  char text[8192];  // lines; the first one is the failure's
};

void exec_failure_clear(exec_failure_t *failure);
// The worse of two: unit, hardware, 1200 to 1206, errors of the program, time, numerical, none.
NRT_STATUS exec_status_worse(NRT_STATUS a, NRT_STATUS b);
inline void exec_failure_status(exec_failure_t *failure, NRT_STATUS status) {
  failure->status = exec_status_worse(failure->status, status);
}

// Appends a line; what does not fit is cut.
template <typename... Args>
void exec_failure_line(exec_failure_t *failure, fmt::format_string<Args...> format,
                       Args &&...args) {
  size_t room = sizeof(failure->text) - failure->length;
  if (failure->length > 0 && room > 1) {
    failure->text[failure->length++] = '\n';
    --room;
  }
  auto result =
      fmt::format_to_n(failure->text + failure->length, room, format, std::forward<Args>(args)...);
  failure->length += result.size < room ? result.size : room;
}

// One record of the error queue of the core that runs `program`: status and, for those that have
// one, a line.
void exec_failure_record(exec_failure_t *failure, const char *core,
                         const project_notification_t *record, const program_t *program);

// Writes the log's one ERROR record, headed by `what`, and hands the status back.
NRT_STATUS exec_failure_log(exec_failure_t *failure, const char *what);
