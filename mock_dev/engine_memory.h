// SPDX-License-Identifier: Apache-2.0
// Scalar accesses of an engine to device addresses: memory and registers alike.
#pragma once

#include "mock_dev/engine.h"

// `size` bytes, 1 to 8, zero-extended. Registers take whole words.
const char *mock_scalar_load(mock_exec_record_t *x, uint64_t address, uint32_t size,
                             uint64_t *value);
// What a register write sets off is done when it returns.
const char *mock_scalar_store(mock_exec_record_t *x, uint64_t address, uint32_t size,
                              uint64_t value);
