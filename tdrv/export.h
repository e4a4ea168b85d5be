// SPDX-License-Identifier: Apache-2.0
// Device memory for other hands: whole HBMs mapped for the CPU, and dma-buf descriptors for other
// devices (device-memory.md 1.6, 2.4).
#pragma once

#include "tdrv/tdrv.h"

// Address and size of HBM `hbm` of the device with node number `device`, mapped on first use and
// until tdrv_close. NRT_INVALID: not a device of this process, the option map_hbm is off, or the
// chip has no such mapping; NRT_INVALID_HANDLE: past the last HBM; NRT_FAILURE. Thread-safe.
NRT_STATUS tdrv_map_hbm(tdrv_t *tdrv, int device, int hbm, void **va, size_t *size);

// A dma-buf descriptor for [va, va + size) of a mapping this library handed out; the caller closes
// it. NRT_INVALID: no such mapping, the option p2p is off, or the driver cannot; NRT_RESOURCE: no
// descriptor or memory left; NRT_FAILURE.
NRT_STATUS tdrv_export_dmabuf(tdrv_t *tdrv, uint64_t va, uint64_t size, int *fd);

// Undoes the mappings. Private to tdrv_close.
void tdrv_unmap_hbms(tdrv_t *tdrv);
