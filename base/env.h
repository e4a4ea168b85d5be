// SPDX-License-Identifier: Apache-2.0
// Typed reads of environment variables. A malformed value is refused with NRT_INVALID and one ERROR
// line naming the variable, the value and what is accepted; unset or empty gives the default.
#pragma once

#include <cstdint>
#include <string>

#include "nrt/nrt_status.h"

// true/false/1/0 in any case (nrt-api.md 6).
NRT_STATUS env_bool(const char *name, bool fallback, bool *out);

// Decimal or 0x-prefixed unsigned number inside [min, max].
NRT_STATUS env_u64(const char *name, uint64_t fallback, uint64_t min, uint64_t max, uint64_t *out);

// Text, or `fallback` when unset or empty.
std::string env_string(const char *name, const char *fallback);

// True when the variable is set and not empty.
bool env_is_set(const char *name);
