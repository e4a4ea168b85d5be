// SPDX-License-Identifier: Apache-2.0
// The device's 16 datastores: host memory that processes fill with statistics
// (mock-device-semantics.md 13). The device's lock is held in every function here.
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

// Allocates the memory, at device start.
int mock_datastore_probe(mock_host *host, mock_device_t *device);

// The caller's own store (pid 0) or that of another process. -ENOMEM: all taken; -ENOENT: `pid`
// owns none.
int mock_datastore_acquire(mock_host *host, mock_device_t *device, int32_t tgid, int32_t pid,
                           uint64_t *pa);

// Gives a process's store back and zeroes it; without one nothing happens.
void mock_datastore_release(mock_host *host, mock_device_t *device, int32_t tgid);

// All of them: nobody has the device open any more.
void mock_datastore_reset(mock_host *host, mock_device_t *device);
