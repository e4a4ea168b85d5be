// SPDX-License-Identifier: Apache-2.0
// The machine's kernel log: the newest lines the driver would print. Any process writes and reads.
#pragma once

#include "mock_dev/host.h"

// Adds a line; what does not fit is cut. Takes the machine's lock: the caller may hold a device's.
__attribute__((format(printf, 2, 3))) void mock_kernel_log(mock_host *host, const char *format,
                                                           ...);
