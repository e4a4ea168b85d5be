// SPDX-License-Identifier: Apache-2.0
// Reader/writer locks of the cores (mock-device-semantics.md 11). One try each; the callers wait
// and try again. The device's lock is held in every function here.
#pragma once

#include <cstdint>

#include "mock_dev/state.h"

// 0; -EALREADY with the writer bit taken (same process, same UUID as before); -EAGAIN: in use.
int mock_core_lock_write(mock_core_lock_t *lock, int32_t tgid, const neuron_uuid *uuid);
int mock_core_lock_downgrade(mock_core_lock_t *lock, int32_t tgid, const neuron_uuid *uuid);
// -EAGAIN: a writer is present.
int mock_core_lock_read(mock_core_lock_t *lock, int32_t tgid, const neuron_uuid *uuid);
int mock_core_lock_read_end(mock_core_lock_t *lock, int32_t tgid, const neuron_uuid *uuid);

// Clears the locks a process holds as writer.
void mock_core_locks_drop(mock_device_t *device, int32_t tgid);
