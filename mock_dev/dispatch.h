// SPDX-License-Identifier: Apache-2.0
// The table of requests: lane, attach gate, feature and handler of every 32-bit value.
#pragma once

#include <cstddef>
#include <cstdint>

// Request value of a name as in uapi.md without the prefix ("MEM_ALLOC_V2MT64"), MOCK_FAULT_* of
// the name of an event (fault.h); 0: unknown.
uint32_t mock_request_by_name(const char *name, size_t length);
