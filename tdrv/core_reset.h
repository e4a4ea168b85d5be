// SPDX-License-Identifier: Apache-2.0
// Bringing the process's cores to a known state before anything is set up on them
// (mock-device-semantics.md 11, 12 and 17, phase Reset). Private to this folder.
#pragma once

#include "tdrv/tdrv.h"

// Resets this process's cores, and no others, device by device; each device is waited for. Their
// claim and their devices must be there. NRT_FAILURE.
NRT_STATUS core_reset_all(tdrv_t *tdrv);

// Tells the driver that the initialisation of the cores begins or is complete. A core whose
// initialisation somebody else has begun is waited for by the driver, up to 5 seconds. NRT_FAILURE.
NRT_STATUS core_init_mark(tdrv_t *tdrv, bool complete);
