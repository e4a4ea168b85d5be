// SPDX-License-Identifier: Apache-2.0
// Where operands lie, and which places of a staged program hold the address of an input or output:
// what a bind rewrites (mem-ref.md 8.11, rulings.md 6 to 8).
#pragma once

#include <cstdint>

#include "isa/isa.h"
#include "tdrv/model.h"

constexpr uint32_t IO_SLOT_NONE = ~0u;

// The address of `size` bytes of a variable. Of an input or output (a pointer to one, another
// subgraph's) `io_slot` is its index in info->io_slots and `io_offset` the offset into the tensor;
// without memory of its own yet, `address` equals that offset.
struct mem_ref_place_t {
  uint64_t address;
  uint32_t io_slot;
  uint64_t io_offset;
};
// Through lookup_memref_by_idx and mem_ref_to_addr, with their refusals: NRT_INVALID and one line.
NRT_STATUS mem_ref_resolve(const vtpb_info_shared_t *info, uint32_t subgraph, uint32_t var_id,
                           uint64_t offset, uint64_t size, mem_ref_place_t *out);
// A variable with device memory of its own, already placed.
bool mem_ref_is_placed(const mem_ref_t *mr);
// Index of the input or output slot a variable stands for, or IO_SLOT_NONE.
uint32_t mem_ref_io_slot(const vtpb_info_shared_t *info, uint32_t subgraph, const mem_ref_t *mr);

// One place of 8 bytes that holds tensor address + `offset`.
struct io_ref_t {
  uint32_t slot;
  isa_engine_t engine;  // of a record; its `mem` is the image and not known before staging
  uint64_t offset;
  dmem_t *mem;
  uint64_t at;     // byte in mem
  uint64_t *host;  // copy to keep in step, or NULL
};
struct io_refs_t {
  io_ref_t *items;
  uint32_t count, capacity;
};
NRT_STATUS io_refs_add(io_refs_t *refs, const io_ref_t *ref);  // NRT_RESOURCE
// Puts the references of a slot side by side; *first (num_slots + 1 of them) says where.
void io_refs_group(io_refs_t *refs, uint32_t num_slots, uint32_t *first);
void io_refs_free(io_refs_t *refs);
