// SPDX-License-Identifier: Apache-2.0
// A model placed on a logical core: per subgraph a variable table, an allocator and a tracker
// (vtpb_info_shared_mr_set_t, mem-ref.md 5.3), plus what the subgraphs share.
#pragma once

#include <cstdint>
#include <memory>

#include "kelf/kelf.h"
#include "tdrv/mem_ref.h"
#include "tdrv/tdrv.h"

struct vtpb_info_shared_mr_set_t {
  ht_t *mem_ref_set;
  dmem_allocator_t *model_allocator;
  dmem_list_t *gc_tracker;
  const kbin_t *kbin;
  tpb_t *tpb;
  mem_ref_tables_t tables;  // device tables of addresses, indexed by pointers_to_tables_index
};

// One input or output slot of a logical core (rulings.md 6).
struct io_slot_t {
  char *name;
  uint64_t size;
  bool is_output;
  dmem_t *mem;         // NULL with NEURON_RT_IO_PLACEMENT=bind
  uint64_t alignment;  // strictest of the entries
  ht_node_t ht_node;   // key = name
};

struct vtpb_info_shared_t {
  vcore_t *vcore;
  uint32_t num_kbins;
  vtpb_info_shared_mr_set_t mr_sets[TDRV_MAX_LNC];
  tdrv_scratchpad_model_t scratchpad;
  io_slot_t *io_slots;
  uint32_t num_io_slots;
  ht_t *io_index[2];  // by name: inputs, outputs
  dmem_list_t *io_tracker;
};

// How the memory reports name what a model holds: one number per subgraph.
struct tdrv_neff_t {
  const char *name;
  uint32_t ids[TDRV_MAX_LNC];
};

// Places a lowered model on a logical core: allocators and tables, arenas, bulk pass, remote pass,
// inputs and outputs, pointers, pointer tables. Payloads are uploaded by one thread per subgraph;
// any failure rolls everything back. NRT_LOAD_NOT_ENOUGH_NC: more subgraphs than physical cores;
// NRT_INVALID: neither one subgraph nor as many as cores; NRT_RESOURCE: device memory. `nn` must
// outlive the result. `neff` may be NULL: the model's memory then counts for its cores only.
NRT_STATUS vtpb_info_shared_init_vtpb(vcore_t *vcore, const kelf_nn_t *nn,
                                      const tdrv_options_t *options, const tdrv_neff_t *neff,
                                      vtpb_info_shared_t **out);
// The slot of an input (or output) name, or NULL.
io_slot_t *vtpb_info_shared_find_io(const vtpb_info_shared_t *info, const char *name,
                                    bool is_output);
// Reverse of the above. NULL is fine.
void vtpb_info_shared_free(vtpb_info_shared_t *info);
