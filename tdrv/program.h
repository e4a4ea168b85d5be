// SPDX-License-Identifier: Apache-2.0
// One subgraph made ready to run on its core: per engine an image in device memory (preamble,
// translated program, postamble), static DMA rings, activation tables, and the list of places that
// hold addresses of inputs and outputs (dma-and-exec.md 2, 3; verified-facts.md G7, G8).
#pragma once

#include <cstdint>

#include "isa/isa.h"
#include "tdrv/model.h"

// Where control comes from and goes to on this core: the resident loop (tdrv/exec.h).
struct program_core_t {
  uint64_t done[ISA_ENGINE_COUNT];  // device address the postamble of an engine branches to
};

// Sections of an engine's image, in slots.
enum program_section_t : uint32_t {
  PROGRAM_PREAMBLE = 0,
  PROGRAM_POSTAMBLE = 1,
  PROGRAM_MAIN = 2,
  PROGRAM_FUNCTION = 3,
};
// How slots of the stream became slots of the image (dma-and-exec.md 3.4), both ways.
enum program_patch_type_t : uint32_t { PATCH_INSERT = 0, PATCH_MODIFY = 1, PATCH_DELETE = 2 };
struct program_patch_t {
  uint32_t offset;  // bytes in the final image
  uint32_t count;   // slots
  program_patch_type_t type;
  program_section_t section;
};

struct program_image_t {
  dmem_t *mem;  // 32 KiB aligned
  uint64_t pa;  // of its first record: where the resident loop branches to
  uint32_t slots;
  uint32_t main_first, main_slots;  // of the translated program
  program_patch_t *patches;
  uint32_t num_patches;
};

struct program_t;  // program.cc

// Translates and stages one subgraph, whose variables are placed. All or nothing.
//
// Every operand's address comes from lookup_memref_by_idx and mem_ref_to_addr. NRT_INVALID: a
// record this runtime or chip cannot run (the line names opcode, engine and slot), a bad variable,
// queue or block, semaphores that collide with the runtime's; NRT_RESOURCE: memory. Thread-safe for
// different subgraphs.
NRT_STATUS program_stage(const vtpb_info_shared_t *info, uint32_t subgraph,
                         const program_core_t *core, program_t **out);
void program_free(program_t *program);  // NULL is fine. The core must not run it.

const program_image_t *program_image(const program_t *program, isa_engine_t engine);

// Slot of the NEFF's stream behind a device address in an image of this program: *slot, and the
// section. False: not in its images.
bool program_find(const program_t *program, uint64_t pc, isa_engine_t *engine,
                  program_section_t *section, uint32_t *slot);

// Makes every place that holds an address of this input or output (device tables, pointers, ring
// descriptors, records) point at a tensor at `address`. Does nothing when that is the address bound
// last. `slot` is an index into info->io_slots; a name the subgraph does not use is fine. The core
// must not run the program. Allocates nothing on the host. NRT_FAILURE: the device refused.
NRT_STATUS program_bind(program_t *program, uint32_t slot, uint64_t address);

// What stands at device addresses, for reports and checks: variables, images by stretches of the
// stream, tables, rings. An input or output is where it was bound last.
enum program_range_kind_t : uint32_t {
  PROGRAM_RANGE_DATA,
  PROGRAM_RANGE_UNDEFINED,  // holds nothing of use when a run begins: scratch, outputs
  PROGRAM_RANGE_RECORDS,
};
struct program_range_t {
  const char *name;
  uint64_t address, size;
  uint32_t first_slot;  // records: slot in the section of the one at `address`
  program_range_kind_t kind;
};
void program_for_each_range(const program_t *program,
                            void (*callback)(void *user, const program_range_t *range), void *user);
