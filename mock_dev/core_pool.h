// SPDX-License-Identifier: Apache-2.0
// Which thread runs which core, and when. A core is run by one thread at a time: by a thread of the
// pool, or by a caller of mock_core_wait (exec.h). Everything here belongs to the process that made
// the machine: a child after fork runs nothing.
#pragma once

#include <cstdint>

#include "mock_dev/core_kick.h"
#include "mock_dev/host.h"

struct mock_core_t;

// -EINVAL: more threads than there can be; -ENOMEM. Threads are made when there is work for them.
int mock_exec_create(mock_host *host, const mock_dev_options_t *options);
// Ends the threads. NULL of a machine that was never made is fine.
void mock_exec_destroy(mock_host *host);

// The run state of a core; nullptr: no such core.
mock_core_t *mock_core_at(mock_host *host, uint32_t device, uint32_t core);
