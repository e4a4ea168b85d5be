// SPDX-License-Identifier: Apache-2.0
// The activation tables of a subgraph as they lie in device memory: the directory of
// isa/project.h, then profiles, control words and buckets of each set (verified-facts.md G6).
// Pure functions, any thread.
#pragma once

#include <cstdint>

#include "kelf/kbin.h"

// Bytes the tables take; 0: the subgraph has no sets.
uint64_t act_tables_size(const kbin_t *kbin);

// Writes act_tables_size bytes to `out`, for tables that will lie at device address `address`
// (64-byte aligned), which is the address of the directory too.
void act_tables_build(const kbin_t *kbin, uint64_t address, uint8_t *out);
