// SPDX-License-Identifier: Apache-2.0
// Core claims: one table for the machine, advisory (mock-device-semantics.md 10).
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

// Claims `count` consecutive free cores in [start, end] (machine-wide numbers) for `tgid`,
// searching as the driver does. 0: *first is the first claimed core. -EBUSY: *available is the
// longest run seen.
int mock_core_claim(mock_host *host, int32_t tgid, uint32_t count, uint32_t start, uint32_t end,
                    uint32_t *first, uint32_t *available);

// Gives one core back if `tgid` holds it.
void mock_core_unclaim(mock_host *host, int32_t tgid, uint32_t core);

// Drops every claim of the process.
void mock_core_claims_drop(mock_host *host, int32_t tgid);

// Owner of a core, 0 = none.
int32_t mock_core_claim_owner(mock_host *host, uint32_t core);
