// SPDX-License-Identifier: Apache-2.0
// Counters of finished executions, one per output tensor, with waiting (device-memory.md 5.2,
// output completion). One lock and one condition serve the whole process.
#pragma once

#include <cstdint>

#include "nrt/nrt_status.h"

struct completion_t {
  uint64_t count;  // read and written under the process-wide lock only
};

void completion_add(completion_t *completion);
void completion_reset(completion_t *completion);

// Waits until the count is at least `expected`. `timeout` in microseconds; negative: for ever, with
// one WARN line about `name` every `notice` microseconds. NRT_SUCCESS; NRT_TIMEOUT; NRT_CLOSED: the
// waiting was cancelled. *seen is the count at the end. Does not log errors.
NRT_STATUS completion_wait(const completion_t *completion, uint64_t expected, int64_t timeout,
                           int64_t notice, const char *name, uint64_t *seen);

// From begin to end nobody waits: waiters leave with NRT_CLOSED, and new ones do not wait. Pairs
// may nest across threads.
void completion_cancel_begin();
void completion_cancel_end();
