// SPDX-License-Identifier: Apache-2.0
// The load-side variable record (seed section 4, mem-ref.md 5.1): flat, resolved once at load, read
// without allocation ever after.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dmem/dmem.h"
#include "kelf/kbin.h"
#include "tdrv/ht.h"

constexpr uint64_t MEM_REF_NOT_STAGED = ~0ull;  // address 0 is a legal device address

struct mem_ref_t {
  const char *name;  // own copy, behind the record
  kbin_mr_type_t type;
  size_t size;  // bound used by resolve
  uint32_t var_id;
  bool remote;
  bool shared_virtual_scratchpad;  // virtual variable in the shared arena
  union {
    struct {
      uint64_t physical_address;  // MEM_REF_NOT_STAGED until placed
      dmem_t *mem;                // not owned
      uint64_t mem_offset;        // inside mem, from its aligned start
      void *va;                   // host view, or NULL
    };
    struct {
      uint64_t ptr_mem_addr;  // MR_PTR: the target's base address (rulings.md 7)
      uint64_t mr_ptr_id;     // id of the target
      bool is_io;
    };
    struct {
      uint32_t length;
      uint32_t *list;  // own array
    };
    struct {
      uint32_t table_length;
      uint32_t *var_ids;               // own array
      bool *var_id_needs_translation;  // own array: entry is an input or output, rewritten at bind
      uint64_t *addrs;                 // own array: what the device table holds
      uint64_t pointers_to_tables_index;
    };
  };
  char dtype[KBIN_DTYPE_MAX];
  uint64_t shape[KBIN_SHAPE_MAX];
  kbin_debug_tensor_md_t *debug_tensor_md;  // own copy, or NULL
  ht_node_t ht_node;                        // key = var_id
};
static_assert(sizeof(mem_ref_t) == 208);
static_assert(offsetof(mem_ref_t, type) == 8 && offsetof(mem_ref_t, size) == 16 &&
              offsetof(mem_ref_t, var_id) == 24 && offsetof(mem_ref_t, remote) == 28 &&
              offsetof(mem_ref_t, shared_virtual_scratchpad) == 29 &&
              offsetof(mem_ref_t, physical_address) == 32 && offsetof(mem_ref_t, mem) == 40 &&
              offsetof(mem_ref_t, mem_offset) == 48 && offsetof(mem_ref_t, va) == 56 &&
              offsetof(mem_ref_t, ptr_mem_addr) == 32 && offsetof(mem_ref_t, is_io) == 48 &&
              offsetof(mem_ref_t, list) == 40 && offsetof(mem_ref_t, var_ids) == 40 &&
              offsetof(mem_ref_t, addrs) == 56 &&
              offsetof(mem_ref_t, pointers_to_tables_index) == 64 &&
              offsetof(mem_ref_t, dtype) == 72 && offsetof(mem_ref_t, shape) == 88 &&
              offsetof(mem_ref_t, debug_tensor_md) == 152 && offsetof(mem_ref_t, ht_node) == 160);

inline mem_ref_t *mem_ref_from_node(ht_node_t *node) {
  return reinterpret_cast<mem_ref_t *>(reinterpret_cast<char *>(node) -
                                       offsetof(mem_ref_t, ht_node));
}

struct tdrv_scratchpad_t;
struct tdrv_scratchpad_placement_t;

// The device tables of one subgraph; a record's pointers_to_tables_index counts in here. An empty
// table has no device memory (NULL).
struct mem_ref_tables_t {
  dmem_t **mem;  // malloc'd array; the handles belong to the tracker
  uint64_t count;
};
void mem_ref_tables_free(mem_ref_tables_t *tables);

// Everything staging one subgraph's variables needs.
struct mem_ref_stage_ctx_t {
  const physical_core_t *pcore;
  ht_t *mr_set;                 // filled: every record, placed or not
  dmem_allocator_t *allocator;  // MODEL
  dmem_list_t *gc_tracker;      // owns what staging allocates
  // Where this model's arenas are (tdrv/scratchpad.h); NULL when it has no virtual variables.
  const tdrv_scratchpad_placement_t *scratchpad;
  mem_ref_tables_t *tables;  // filled by the pass over pointer tables
};

// New record from a bridge record: own name, metadata and lists; address all ones. NRT_RESOURCE.
NRT_STATUS mem_ref_get_new_mr(const kbin_mem_ref *source, mem_ref_t **out);

// Frees one record: name, arrays of list kinds, metadata, block. Not its device memory. Table
// callback.
void mem_ref_free_one(ht_node_t *node);

// Bulk pass over all records, in two halves. The first places kinds 1, 2, 3, 4 and 8 (rulings.md 7)
// and inserts every record; inputs, outputs, pointers, lists, tables and remotes stay unplaced for
// the later passes. The second uploads payloads. Apart, so that the subgraphs of a model can be
// placed one after the other, which makes their addresses the same in every run, and filled side by
// side.
NRT_STATUS mem_ref_place_mr(const mem_ref_stage_ctx_t *ctx, const kbin_mem_ref_set_t *records);
NRT_STATUS mem_ref_upload_mr(const mem_ref_stage_ctx_t *ctx, const kbin_mem_ref_set_t *records);
// Both halves.
NRT_STATUS mem_ref_copy_and_stage_mr(const mem_ref_stage_ctx_t *ctx,
                                     const kbin_mem_ref_set_t *records);

// Second pass, after the tables of all subgraphs are filled: aliases of variables of other
// subgraphs.
NRT_STATUS mem_ref_create_remote_mrs(ht_t *local_set, const kbin_mem_ref_set_t *records,
                                     ht_t *const *remote_sets, uint32_t num_kbins);

// Third pass: MR_PTR gets its target's base address when the target is placed.
NRT_STATUS mr_pointer_init_pointer_vars(ht_t *mr_set, const kbin_mem_ref_set_t *records);

// Fourth pass: MR_PTR_TABLE gets its addresses, mask and a device table of 64-bit entries (usage
// IO).
NRT_STATUS mem_ref_init_ptr_tables(const mem_ref_stage_ctx_t *ctx,
                                   const kbin_mem_ref_set_t *records);

// Host address of [offset, offset + size) of a variable, or NULL (not mapped, unplaced, out of
// range).
void *mem_ref_get_va(const mem_ref_t *mr, uint64_t offset, uint64_t size);
