// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/kernel_log.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

void mock_kernel_log(mock_host *host, const char *format, ...) {
  char line[MOCK_LOG_LINE];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  mock_state_t *state = host->state;
  mock_guard_t guard(&state->lock);
  memcpy(state->log[state->log_written++ % MOCK_LOG_LINES], line, sizeof(line));
}

int mock_kernel_log_read(mock_host_t *host, uint64_t *next, char *line, size_t size) {
  mock_state_t *state = host->state;
  mock_guard_t guard(&state->lock);
  uint64_t oldest = state->log_written - std::min<uint64_t>(state->log_written, MOCK_LOG_LINES);
  *next = std::max(*next, oldest);
  if (*next >= state->log_written)
    return -EAGAIN;
  return snprintf(line, size, "%s", state->log[(*next)++ % MOCK_LOG_LINES]);
}
