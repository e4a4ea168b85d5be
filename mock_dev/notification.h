// SPDX-License-Identifier: Apache-2.0
// Notification queues: rings a core or TOP_SP writes 16-byte records into, and the hardware
// registers that say where (mock-device-semantics.md 2.3 and 7). The driver keeps 96 slots per
// unit; a queue belongs to the device, not to the process that asked first.
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

struct mock_nq_request_t {
  uint32_t unit;    // mock_nq_unit_core or mock_nq_unit_top_sp
  uint32_t type;    // NEURON_NQ_TYPE_*; the slot number wraps at 256 as in the driver
  uint32_t engine;  // hardware queue, below NEURON_NQ_QUEUES_PER_TYPE
  uint32_t size;    // bytes
  bool host;
  uint32_t channel;
  bool replace;  // new memory even when the slot is used
  int32_t tgid;  // who asks
};

inline uint32_t mock_nq_unit_core(uint32_t core) {
  return core;
}
inline uint32_t mock_nq_unit_top_sp(uint32_t top_sp) {
  return NEURON_MAX_CORES + top_sp;
}

// The queue's chunk: the existing one, whatever was asked for, or a new one. -EINVAL: no such slot,
// channel or alignment; -ENOMEM: no room. A replaced queue is freed when the new one is in place.
// Device lock held.
int mock_notification_init(mock_host *host, mock_device_t *device, const mock_nq_request_t *request,
                           uint32_t *chunk);

// Frees one queue's memory: hardware that points there is disabled first, the slot becomes empty.
// Device lock held.
void mock_notification_free(mock_host *host, mock_device_t *device, uint32_t chunk);

// All queues of a unit. Device lock held.
void mock_notification_free_unit(mock_host *host, mock_device_t *device, uint32_t unit);

// Registers of the hardware queues by BAR0 offset, a multiple of 4; false: no such register. They
// take the device's lock.
bool mock_notification_register_read(mock_host *host, mock_device_t *device, uint64_t bar0,
                                     uint32_t *value);
bool mock_notification_register_write(mock_host *host, mock_device_t *device, uint64_t bar0,
                                      uint32_t value);
