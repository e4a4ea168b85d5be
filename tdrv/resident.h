// SPDX-License-Identifier: Apache-2.0
// The resident loops of a core: what each of its five engines runs between two programs. An engine
// waits at the head of its loop; PE for the host's semaphore, the others for PE's event. It then
// reports START, takes the address of its image from the request and branches there; the image ends
// with a branch back to the record that reports END. Private to this folder.
#pragma once

#include <cstdint>

#include "isa/project.h"

// The block of a core in device memory: one loop per engine, then the request.
constexpr uint32_t RESIDENT_LOOP_SLOTS = 16;
struct resident_block_t {
  isa_record loops[ISA_ENGINE_COUNT][RESIDENT_LOOP_SLOTS];
  project_request_t request;
};

// Device addresses inside a block at `address`.
uint64_t resident_done(uint64_t address, uint32_t engine);  // where an image branches to
uint64_t resident_head(uint64_t address, uint32_t engine);  // where an engine begins
uint64_t resident_request(uint64_t address);

// Fills the block for device address `address`; the request is zero.
void resident_build(uint64_t address, resident_block_t *out);
