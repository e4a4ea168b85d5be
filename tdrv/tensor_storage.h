// SPDX-License-Identifier: Apache-2.0
// The memory behind tensors: reference-counted, shared by all views of it, with the fence that
// keeps host accesses and device accesses apart (device-memory.md 5.2). Private to this folder.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "dmem/dmem.h"

struct tdrv_t;

enum storage_kind_t { STORAGE_MALLOC, STORAGE_HOST_DMA, STORAGE_DEVICE };

struct tensor_storage_t {
  storage_kind_t kind;
  bool owned;  // false: the caller's buffer
  uint64_t size;
  uint64_t refs;  // views and accesses in flight; changed with atomic operations only
  void *host;     // host-addressable kinds: first byte
  dmem_t *mem;    // DMA kinds; NULL once the runtime has closed

  // The fence: accesses by the device in flight.
  pthread_mutex_t lock;
  pthread_cond_t idle;  // a count came to 0
  uint32_t device_reads, device_writes;

  // DMA kinds are listed in their runtime, so that close can take the memory away.
  tdrv_t *tdrv;
  tensor_storage_t *next, *prev;
};

// Without memory yet; one reference. nullptr: out of memory.
tensor_storage_t *tensor_storage_create(storage_kind_t kind, uint64_t size);
void tensor_storage_acquire(tensor_storage_t *storage);
// The last one frees the storage and the memory it owns. NULL is fine.
void tensor_storage_release(tensor_storage_t *storage);

// Puts the storage on the list of a runtime (DMA kinds, once they have their memory).
void tensor_storage_enlist(tdrv_t *tdrv, tensor_storage_t *storage);

// An access by the device begins or has ended. Counts may overlap freely.
void tensor_storage_device_begin(tensor_storage_t *storage, bool write);
void tensor_storage_device_end(tensor_storage_t *storage, bool write);

// Waits until the host may read (no device write in flight) or write (no device access at all).
void tensor_storage_wait(tensor_storage_t *storage, bool write);
