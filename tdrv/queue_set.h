// SPDX-License-Identifier: Apache-2.0
// The static queue sets of a subgraph: rings, what each block put into them, and the instructions
// that set them up and ring them (dma-and-exec.md 2, verified-facts.md G7, G8).
//
// A set is a named queue, or one of its instances, spread over the first engines of the core; each
// set has a ring index of its own. Its rings hold the blocks in the order the program triggers
// them, because a trigger hands over the next descriptors, whatever they are.
#pragma once

#include "isa/isa.h"
#include "tdrv/dma_expand.h"
#include "tdrv/instr_block.h"
#include "tdrv/pring.h"

// What one block adds to each ring of its set, completions included.
struct block_counts_t {
  uint32_t tx[DMA_EXPAND_RINGS], rx[DMA_EXPAND_RINGS], packets[DMA_EXPAND_RINGS];
};

struct queue_block_t {
  const char *name;  // of the set
  const kbin_dma_block_t *block;
  bool triggered;
  block_counts_t counts;  // of a triggered block
};

struct queue_set_t {
  const char *name;
  const kbin_dma_queue_t *queue;
  isa_engine_t owner;    // sets the rings up
  isa_engine_t trigger;  // rings them
  uint32_t ring;         // index on every engine
  bool touches_io;
  vring_t virtual_rings[DMA_EXPAND_RINGS];  // empty once committed
  pring_t tx[DMA_EXPAND_RINGS], rx[DMA_EXPAND_RINGS];
};

struct queue_sets_t {
  const vtpb_info_shared_t *info;
  uint32_t subgraph;
  queue_block_t *blocks;  // by name, id and listing engine
  uint32_t num_blocks;
  queue_set_t *sets;
  uint32_t num_sets, set_capacity;
};

// Rings for everything the streams of a subgraph trigger; blocks nobody triggers are left alone.
// NRT_INVALID: an unknown or dynamic queue, an unknown block, one that cannot be expanded, a
// trigger inside a loop or a branch, a queue that two engines trigger, more sets than rings. The
// result is the caller's on every path.
NRT_STATUS queue_sets_init(const vtpb_info_shared_t *info, uint32_t subgraph, queue_sets_t *out);
// Moves the rings to device memory.
NRT_STATUS queue_sets_commit(queue_sets_t *sets, dmem_list_t *tracker, io_refs_t *refs);
void queue_sets_free(queue_sets_t *sets);  // not the device memory

// Of a trigger that init has seen: its block's counters; NULL for others.
const block_counts_t *queue_sets_find(const queue_sets_t *sets, const isa_dma_trigger *trigger,
                                      isa_engine_t engine, const queue_set_t **set);

// Doorbells of one trigger. The header's wait stands on the first record, its update on the last.
void queue_set_trigger(const queue_sets_t *sets, const queue_set_t *set,
                       const block_counts_t *counts, const isa_header *header,
                       instr_block_t *block);
// What the owner of sets does before each run: reset, bases, lengths, destinations of `data` sets.
void queue_sets_setup(const queue_sets_t *sets, isa_engine_t owner, instr_block_t *block);
