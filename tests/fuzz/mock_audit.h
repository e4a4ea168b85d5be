// SPDX-License-Identifier: Apache-2.0
// Looks behind a mocked machine's requests: do its books agree with each other?
#pragma once

#include "mock_dev/host.h"

// Free space, chunk lists.
struct mock_audit_t {
  uint64_t free_pages = 0;  // of all pools
  uint64_t chunks = 0;
  uint64_t owned = 0;  // of these by a process
  bool operator==(const mock_audit_t &) const = default;
};

// Every page of every pool is free or in exactly one chunk; counts, process lists and handles agree
// with the chunks. Ends the process otherwise.
mock_audit_t mock_audit(mock_host *host);

// Nobody has anything open: no process, claim, descriptor, mapping or process's chunk is left.
void mock_audit_idle(mock_host *host);
