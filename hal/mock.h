// SPDX-License-Identifier: Apache-2.0
// The mock back end: the operations table over mock_dev, in this process.
#pragma once

#include "hal/hal.h"
#include "mock_dev/mock_dev.h"

const hal_ops_t *hal_mock_ops();

// State of one mock back end for hal_open_with. Takes ownership of `host` (destroyed with the back
// end). sysfs files come from the mocked machine, or from the file system below `sysfs_root`.
// nullptr: out of memory; `host` stays the caller's then.
void *hal_mock_create(mock_host_t *host, const char *sysfs_root = "");

// Builds the machine described by the NEURON_MOCK_* variables; `instance` (may be nullptr)
// overrides NEURON_MOCK_INSTANCE. A bad variable or an unknown instance gives NRT_INVALID and one
// ERROR line.
NRT_STATUS hal_mock_create_from_env(const char *instance, void **be);

mock_host_t *hal_mock_host_of(void *be);
