// SPDX-License-Identifier: Apache-2.0
// Makes the nth event of one kind fail: a request to the mocked driver, an allocation of host
// memory, a mapping, a thread. The test's executable defines the functions concerned itself (malloc
// and its like, mmap, pthread_create) or has them wrapped by the linker (mock_*; see meson.build).
// Only events of the arming thread, and of threads made by a thread that counts, are counted.
#pragma once

#include <cstdint>
#include <string>

#include "mock_dev/mock_dev.h"

enum fault_kind_t { FAULT_IOCTL, FAULT_MEMORY, FAULT_MMAP, FAULT_THREAD };
const char *fault_kind_name(fault_kind_t kind);

// From now on the nth event (from 1) of this kind fails, once. 0: only count. `error` is what a
// request answers; the others have one way to fail.
void fault_arm(fault_kind_t kind, uint64_t nth, int error);

struct fault_report_t {
  uint64_t count;       // events seen while armed
  bool fired;           // one of them failed
  uint32_t request;     // the request that failed
  bool in_driver;       // it struck inside the mocked driver
  bool host_memory;     // it was an allocation of host memory
  int64_t kept_blocks;  // blocks from malloc that were not freed again while armed
  int64_t kept_bytes;   // their size; malloc's rounding lets it differ a little
  std::string where;    // of a failed allocation: addresses, for addr2line
};
fault_report_t fault_disarm();

// Blocks the program has from malloc now; 0 where a sanitizer owns malloc (it looks for leaks
// itself).
int64_t fault_live_blocks();
// False under a sanitizer: then only operator new is counted as an allocation.
bool fault_sees_malloc();

// The machine made last, while it lives.
mock_host_t *fault_machine();
