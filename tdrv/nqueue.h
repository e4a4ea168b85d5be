// SPDX-License-Identifier: Apache-2.0
// A notification queue of a core, read by the host without requests: a ring in host memory whose
// records carry a phase bit that flips on every lap (dma-and-exec.md 5.3). Private to this folder.
#pragma once

#include <cstdint>

#include "dmem/pcore.h"
#include "isa/project.h"

struct nqueue_t {
  hal_device_t *device;
  uint32_t queue;  // hardware queue
  uint32_t size;   // bytes
  uint64_t handle;
  uint8_t *ring;  // NULL: not set up
  uint32_t head;  // byte of the next record to come
  uint32_t lap;
};

// Sets the queue up afresh: an empty ring, the hardware at its start. `size` is a power of two.
// NRT_RESOURCE: host memory; NRT_FAILURE.
NRT_STATUS nqueue_init(nqueue_t *queue, const physical_core_t *pcore, uint32_t number, bool errors,
                       uint32_t size);
void nqueue_fini(nqueue_t *queue);  // one that was never set up is fine

// Takes the next record. False: none has come.
bool nqueue_next(nqueue_t *queue, project_notification_t *out);
