// SPDX-License-Identifier: Apache-2.0
// The fault plan: which ioctl fails with what, instead of being carried out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mock_dev/host.h"

// 0, or -EINVAL: too many entries, nth 0, or an errno out of range.
int mock_faults_check(const mock_fault_t *faults, size_t count);

// True for the MOCK_FAULT_* values, which are no requests.
bool mock_fault_is_event(uint32_t request);

// The event of a name as the environment has it ("RESET"); 0: there is none.
uint32_t mock_fault_by_name(const char *name, size_t length);

// Counts one event (MOCK_FAULT_*); true: it has to go wrong. The caller may hold a device's lock.
bool mock_fault_event(mock_host *host, uint32_t event);
// The same; the errno of the plan, 0: nothing goes wrong.
uint32_t mock_fault_event_number(mock_host *host, uint32_t event);

// Counts one call; the errno it has to fail with (negative), or 0.
int mock_fault_next(mock_host *host, uint32_t request);
