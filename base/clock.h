// SPDX-License-Identifier: Apache-2.0
// The clock that durations and deadlines are measured with. Header only: mock_dev uses it, too.
#pragma once

#include <time.h>

#include <cstdint>

// CLOCK_MONOTONIC, in ns.
inline uint64_t clock_now_ns() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
