// SPDX-License-Identifier: Apache-2.0
// From the records of a NEFF's stream to those an engine runs (verified-facts.md G7, G8.3,
// dma-and-exec.md 3.3).
#pragma once

#include "tdrv/instr_block.h"
#include "tdrv/io_ref.h"
#include "tdrv/program.h"

struct queue_sets_t;

struct translate_t {
  const vtpb_info_shared_t *info;
  uint32_t subgraph;
  const queue_sets_t *queues;
  io_refs_t *refs;  // `at` counts from the first translated record
};

// A translated stream and how its slots became slots of the image.
struct translated_t {
  instr_block_t main;
  program_patch_t *patches;  // offsets count from the first translated record
  uint32_t num_patches, patch_capacity;
};

// The DGE table of a subgraph, or NULL. NRT_INVALID: it has several.
NRT_STATUS translate_find_table(const vtpb_info_shared_t *info, uint32_t subgraph,
                                const mem_ref_t **out);

// NRT_INVALID: the line names engine, slot and opcode; NRT_RESOURCE: host memory. The result is the
// caller's on every path.
NRT_STATUS translate_stream(const translate_t *translate, const kbin_engine_t *engine,
                            translated_t *out);
void translated_free(translated_t *translated);
