// SPDX-License-Identifier: Apache-2.0
#include "tdrv/program.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "base/nlog.h"
#include "isa/project.h"
#include "tdrv/act_tables.h"
#include "tdrv/dma_ring.h"
#include "tdrv/io_ref.h"
#include "tdrv/translate.h"
#include "tdrv/wrapper.h"

struct program_t {
  const vtpb_info_shared_t *info;
  uint32_t subgraph;
  dmem_list_t *memory;  // owns every allocation below
  program_image_t images[ISA_ENGINE_COUNT];
  dmem_t *table_cell;  // NULL without a DGE table
  dmem_t *act_tables;  // NULL when nothing loads a set
  queue_sets_t queues;
  io_refs_t refs;   // grouped by slot
  uint32_t *first;  // references of slot s: [first[s], first[s + 1])
  uint64_t *bound;  // address each slot was bound to last; MEM_REF_NOT_STAGED: none for certain
};

namespace {

constexpr size_t kImageAlignment = 32768;
constexpr size_t kTablesAlignment = 64;
constexpr uint64_t kCellBytes = 8;

const vtpb_info_shared_mr_set_t *mr_set_of(const program_t *program) {
  return &program->info->mr_sets[program->subgraph];
}

NRT_STATUS host_memory_failure(const program_t *program) {
  NLOG_ERROR(NLOG_TDRV, "no host memory for the program of subgraph {}",
             mr_set_of(program)->kbin->sg_name);
  return NRT_RESOURCE;
}

NRT_STATUS allocate(const program_t *program, size_t size, size_t alignment,
                    dma_mem_usage_type_t usage, const char *hint, dmem_t **out) {
  const vtpb_info_shared_mr_set_t *set = mr_set_of(program);
  return dmem_alloc_aligned(set->model_allocator, size, dma_mem_location_t::TONGA_DRAM,
                            set->tpb->pcore.hbm_index, program->memory, usage, hint, alignment,
                            out);
}

// The cell with the base of the DGE table, and the table's own entries of inputs and outputs.
NRT_STATUS stage_table(program_t *program) {
  const vtpb_info_shared_mr_set_t *set = mr_set_of(program);
  const mem_ref_t *table = nullptr;
  NRT_STATUS status = translate_find_table(program->info, program->subgraph, &table);
  if (status != NRT_SUCCESS || table == nullptr)
    return status;
  dmem_t *mem = set->tables.mem[table->pointers_to_tables_index];
  if (mem == nullptr)  // an empty table: nothing can address it
    return NRT_SUCCESS;
  status =
      allocate(program, kCellBytes, 0, dma_mem_usage_type_t::IO, table->name, &program->table_cell);
  uint64_t base = dmem_get_pa(mem);
  if (status == NRT_SUCCESS)
    status = dmem_buf_copyin(program->table_cell, &base, 0, sizeof(base));
  for (uint32_t i = 0; status == NRT_SUCCESS && i < table->table_length; ++i) {
    if (!table->var_id_needs_translation[i])
      continue;
    io_ref_t ref = {};
    mem_ref_place_t place;
    status = mem_ref_resolve(program->info, program->subgraph, table->var_ids[i], 0, 0, &place);
    ref.slot = place.io_slot;
    ref.mem = mem;
    ref.at = i * sizeof(uint64_t);
    ref.host = &table->addrs[i];
    if (status == NRT_SUCCESS && ref.slot != IO_SLOT_NONE)
      status = io_refs_add(&program->refs, &ref);
  }
  return status;
}

bool loads_act_tables(const kbin_t *kbin) {
  for (const kbin_engine_t &engine : kbin->engines)
    for (size_t at = 0; at + ISA_RECORD_BYTES <= engine.instr.size(); at += ISA_RECORD_BYTES)
      if (engine.instr[at] == ISA_ACT_TABLE_LOAD)
        return true;
  return false;
}

NRT_STATUS stage_act_tables(program_t *program) {
  const kbin_t *kbin = mr_set_of(program)->kbin;
  uint64_t size = act_tables_size(kbin);
  if (size == 0 || !loads_act_tables(kbin))
    return NRT_SUCCESS;
  NRT_STATUS status = allocate(program, size, kTablesAlignment, dma_mem_usage_type_t::ACT_TABLE,
                               "activation tables", &program->act_tables);
  if (status != NRT_SUCCESS)
    return status;
  auto *bytes = static_cast<uint8_t *>(malloc(size));
  if (bytes == nullptr)
    return host_memory_failure(program);
  act_tables_build(kbin, dmem_get_pa(program->act_tables), bytes);
  status = dmem_buf_copyin(program->act_tables, bytes, 0, size);
  free(bytes);
  return status;
}

dma_mem_usage_type_t image_usage(isa_engine_t engine) {
  constexpr dma_mem_usage_type_t kUsage[ISA_ENGINE_COUNT] = {
      dma_mem_usage_type_t::INSTR_PE, dma_mem_usage_type_t::INSTR_ACT,
      dma_mem_usage_type_t::INSTR_POOL, dma_mem_usage_type_t::INSTR_DVE,
      dma_mem_usage_type_t::INSTR_SP};
  return kUsage[engine];
}

// Patches of preamble, program and postamble, offsets from the start of the image.
NRT_STATUS take_patches(const program_t *program, const translated_t *translated,
                        program_image_t *image) {
  uint32_t count = translated->num_patches + 2;
  image->patches = static_cast<program_patch_t *>(calloc(count, sizeof(program_patch_t)));
  if (image->patches == nullptr)
    return host_memory_failure(program);
  program_patch_t *at = image->patches;
  *at++ = {0, image->main_first, PATCH_INSERT, PROGRAM_PREAMBLE};
  for (uint32_t i = 0; i < translated->num_patches; ++i, ++at) {
    *at = translated->patches[i];
    at->offset += image->main_first * ISA_RECORD_BYTES;
  }
  uint32_t post = image->main_first + image->main_slots;
  *at = {post * ISA_RECORD_BYTES, image->slots - post, PATCH_INSERT, PROGRAM_POSTAMBLE};
  image->num_patches = count;
  return NRT_SUCCESS;
}

// Preamble, program and postamble: put together in device memory, not before.
using image_parts_t = std::array<const instr_block_t *, 3>;

NRT_STATUS upload_image(program_t *program, isa_engine_t engine, const image_parts_t &parts) {
  program_image_t *image = &program->images[engine];
  uint32_t slots = 0;
  for (const instr_block_t *part : parts)
    if (!checked_add(slots, part->count, &slots))
      return host_memory_failure(program);
  NRT_STATUS status =
      allocate(program, size_t{slots} * ISA_RECORD_BYTES, kImageAlignment, image_usage(engine),
               kbin_engine_name(static_cast<al_hal_tpb_eng_type>(engine)), &image->mem);
  if (status != NRT_SUCCESS)
    return status;
  image->pa = dmem_get_pa(image->mem);
  image->slots = slots;
  image->main_first = parts[0]->count;
  image->main_slots = parts[1]->count;
  for (uint32_t i = 0; i < program->refs.count; ++i) {
    io_ref_t *ref = &program->refs.items[i];
    if (ref->mem != nullptr || ref->engine != engine)
      continue;
    ref->mem = image->mem;
    ref->at += uint64_t{image->main_first} * ISA_RECORD_BYTES;
  }
  size_t offset = 0;
  for (const instr_block_t *part : parts) {
    size_t bytes = size_t{part->count} * ISA_RECORD_BYTES;
    if (status == NRT_SUCCESS && bytes != 0)
      status = dmem_buf_copyin(image->mem, part->records, offset, bytes);
    offset += bytes;
  }
  return status;
}

wrapper_t wrapper_of(const program_t *program, const program_core_t *core, isa_engine_t engine) {
  const physical_core_t *pcore = &mr_set_of(program)->tpb->pcore;
  wrapper_t wrapper = {};
  wrapper.engine = engine;
  wrapper.done = core->done[engine];
  wrapper.queues = &program->queues;
  if (program->table_cell != nullptr)
    wrapper.table_cell = dmem_get_pa(program->table_cell);
  if (engine == ISA_ENGINE_ACT && program->act_tables != nullptr) {
    wrapper.tables = dmem_get_pa(program->act_tables);
    wrapper.tables_register =
        hal_engine_register(pcore->arch, pcore->nc_id, engine, PROJECT_ENGINE_TABLES_LOW);
  }
  return wrapper;
}

NRT_STATUS stage_engine(program_t *program, const program_core_t *core,
                        const kbin_engine_t *engine) {
  auto type = static_cast<isa_engine_t>(engine->eng_type);
  program_image_t *image = &program->images[type];
  translate_t translate = {program->info, program->subgraph, &program->queues, &program->refs};
  translated_t translated;
  NRT_STATUS status = translate_stream(&translate, engine, &translated);
  wrapper_t wrapper = wrapper_of(program, core, type);
  instr_block_t preamble = {}, postamble = {};
  if (status == NRT_SUCCESS) {
    wrapper_preamble(&wrapper, &preamble);
    wrapper_postamble(&wrapper, &postamble);
    status = instr_block_status(&preamble);
  }
  if (status == NRT_SUCCESS)
    status = instr_block_status(&postamble);
  if (status == NRT_SUCCESS)
    status = upload_image(program, type, {&preamble, &translated.main, &postamble});
  if (status == NRT_SUCCESS)
    status = take_patches(program, &translated, image);
  instr_block_free(&preamble);
  instr_block_free(&postamble);
  translated_free(&translated);
  return status;
}

// Every slot begins as what staging wrote: its own memory, where it has some.
NRT_STATUS settle_refs(program_t *program) {
  uint32_t slots = program->info->num_io_slots;
  program->first = static_cast<uint32_t *>(calloc(size_t{slots} + 1, sizeof(uint32_t)));
  program->bound = static_cast<uint64_t *>(calloc(size_t{slots} + 1, sizeof(uint64_t)));
  if (program->first == nullptr || program->bound == nullptr)
    return host_memory_failure(program);
  io_refs_group(&program->refs, slots, program->first);
  for (uint32_t i = 0; i < slots; ++i) {
    const dmem_t *mem = program->info->io_slots[i].mem;
    program->bound[i] = mem == nullptr ? MEM_REF_NOT_STAGED : dmem_get_pa(mem);
  }
  return NRT_SUCCESS;
}

NRT_STATUS stage(program_t *program, const program_core_t *core) {
  program->memory = dmem_list_create();
  if (program->memory == nullptr)
    return host_memory_failure(program);
  NRT_STATUS status = queue_sets_init(program->info, program->subgraph, &program->queues);
  if (status == NRT_SUCCESS)
    status = queue_sets_commit(&program->queues, program->memory, &program->refs);
  if (status == NRT_SUCCESS)
    status = stage_table(program);
  if (status == NRT_SUCCESS)
    status = stage_act_tables(program);
  for (uint32_t e = 0; status == NRT_SUCCESS && e < ISA_ENGINE_COUNT; ++e) {
    kbin_engine_t idle = {};  // every engine takes part in the barriers
    idle.eng_type = static_cast<al_hal_tpb_eng_type>(e);
    const kbin_engine_t *engine = &idle;
    for (const kbin_engine_t &candidate : mr_set_of(program)->kbin->engines)
      engine = candidate.eng_type == idle.eng_type ? &candidate : engine;
    status = stage_engine(program, core, engine);
  }
  return status == NRT_SUCCESS ? settle_refs(program) : status;
}

// Slot of the stream that became record `at` of the image.
uint32_t stream_slot(const program_image_t *image, uint32_t at) {
  uint32_t slot = at - image->main_first;
  for (uint32_t i = 0; i < image->num_patches; ++i) {
    const program_patch_t &patch = image->patches[i];
    uint32_t place = patch.offset / ISA_RECORD_BYTES;
    if (patch.section != PROGRAM_MAIN || place > at)
      continue;
    if (patch.type == PATCH_DELETE)
      slot += patch.count;
    else if (patch.type == PATCH_INSERT)
      slot -= at - place < patch.count ? at - place : patch.count;
  }
  return slot;
}

}  // namespace

NRT_STATUS program_stage(const vtpb_info_shared_t *info, uint32_t subgraph,
                         const program_core_t *core, program_t **out) {
  *out = nullptr;
  auto *program = static_cast<program_t *>(calloc(1, sizeof(program_t)));
  if (program == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for the program of subgraph {}", subgraph);
    return NRT_RESOURCE;
  }
  program->info = info;
  program->subgraph = subgraph;
  NRT_STATUS status = stage(program, core);
  if (status != NRT_SUCCESS) {
    program_free(program);
    return status;
  }
  *out = program;
  return NRT_SUCCESS;
}

void program_free(program_t *program) {
  if (program == nullptr)
    return;
  for (program_image_t &image : program->images)
    free(image.patches);
  queue_sets_free(&program->queues);
  io_refs_free(&program->refs);
  free(program->first);
  free(program->bound);
  dmem_list_destroy(program->memory);
  free(program);
}

const program_image_t *program_image(const program_t *program, isa_engine_t engine) {
  return &program->images[engine];
}

bool program_find(const program_t *program, uint64_t pc, isa_engine_t *engine,
                  program_section_t *section, uint32_t *slot) {
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e) {
    const program_image_t *image = &program->images[e];
    if (pc < image->pa || pc - image->pa >= uint64_t{image->slots} * ISA_RECORD_BYTES)
      continue;
    auto at = static_cast<uint32_t>((pc - image->pa) / ISA_RECORD_BYTES);
    *engine = static_cast<isa_engine_t>(e);
    *section = PROGRAM_MAIN;
    if (at < image->main_first) {
      *section = PROGRAM_PREAMBLE;
      *slot = at;
    } else if (at >= image->main_first + image->main_slots) {
      *section = PROGRAM_POSTAMBLE;
      *slot = at - image->main_first - image->main_slots;
    } else {
      *slot = stream_slot(image, at);
    }
    return true;
  }
  return false;
}

NRT_STATUS program_bind(program_t *program, uint32_t slot, uint64_t address) {
  if (slot >= program->info->num_io_slots || program->bound[slot] == address)
    return NRT_SUCCESS;
  program->bound[slot] = MEM_REF_NOT_STAGED;  // until all of it is written
  for (uint32_t i = program->first[slot]; i < program->first[slot + 1]; ++i) {
    const io_ref_t *ref = &program->refs.items[i];
    uint64_t value = address + ref->offset;
    NRT_STATUS status = dmem_buf_copyin(ref->mem, &value, ref->at, sizeof(value));
    if (status != NRT_SUCCESS)
      return status;
    if (ref->host != nullptr)
      *ref->host = value;
  }
  program->bound[slot] = address;
  return NRT_SUCCESS;
}

namespace {

using range_fn = void (*)(void *, const program_range_t *);

void show(const char *name, uint64_t address, uint64_t size, program_range_kind_t kind,
          range_fn callback, void *user) {
  const program_range_t range = {name, address, size, 0, kind};
  if (size != 0)
    callback(user, &range);
}

// Variables where they are placed, inputs and outputs where they were bound last.
void show_variables(const program_t *program, range_fn callback, void *user) {
  struct walk_t {
    range_fn callback;
    void *user;
  } walk = {callback, user};
  ht_for_each(
      mr_set_of(program)->mem_ref_set,
      [](ht_node_t *node, void *u) {
        const mem_ref_t *mr = mem_ref_from_node(node);
        const auto *w = static_cast<const walk_t *>(u);
        bool scratch = mr->type == MR_TMP_BUF || mr->type == MR_VIRTUAL_TMP_BUF;
        uint64_t address;
        if (mr->type != MR_INPUT && mr->type != MR_OUTPUT && mem_ref_is_placed(mr) &&
            mem_ref_to_addr(mr, 0, mr->size, &address) == NRT_SUCCESS)
          show(mr->name, address, mr->size, scratch ? PROGRAM_RANGE_UNDEFINED : PROGRAM_RANGE_DATA,
               w->callback, w->user);
        return true;
      },
      &walk);
  for (uint32_t i = 0; i < program->info->num_io_slots; ++i) {
    const io_slot_t *slot = &program->info->io_slots[i];
    if (program->bound[i] != MEM_REF_NOT_STAGED)
      show(slot->name, program->bound[i], slot->size,
           slot->is_output ? PROGRAM_RANGE_UNDEFINED : PROGRAM_RANGE_DATA, callback, user);
  }
}

// Stretches of records whose slots in the stream follow each other.
void show_image(const program_t *program, isa_engine_t engine, range_fn callback, void *user) {
  constexpr const char *NAMES[ISA_ENGINE_COUNT][3] = {{"pe preamble", "pe postamble", "pe"},
                                                      {"act preamble", "act postamble", "act"},
                                                      {"pool preamble", "pool postamble", "pool"},
                                                      {"dve preamble", "dve postamble", "dve"},
                                                      {"sp preamble", "sp postamble", "sp"}};
  const program_image_t *image = &program->images[engine];
  program_range_t range = {};
  program_section_t section = PROGRAM_MAIN;
  for (uint32_t at = 0; at < image->slots; ++at) {
    uint64_t pc = image->pa + uint64_t{at} * ISA_RECORD_BYTES;
    isa_engine_t ignored;
    program_section_t now;
    uint32_t slot;
    program_find(program, pc, &ignored, &now, &slot);
    uint64_t length = range.size / ISA_RECORD_BYTES;
    if (length != 0 && (now != section || slot != range.first_slot + length)) {
      callback(user, &range);
      length = 0;
    }
    if (length == 0)
      range = {NAMES[engine][now], pc, 0, slot, PROGRAM_RANGE_RECORDS};
    section = now;
    range.size += ISA_RECORD_BYTES;
  }
  if (range.size != 0)
    callback(user, &range);
}

}  // namespace

void program_for_each_range(const program_t *program, range_fn callback, void *user) {
  show_variables(program, callback, user);
  auto name_memory = [&](const char *name, const dmem_t *mem) {
    show(name, mem == nullptr ? 0 : dmem_get_pa(mem), mem == nullptr ? 0 : mem->size,
         PROGRAM_RANGE_DATA, callback, user);
  };
  const mem_ref_tables_t &tables = mr_set_of(program)->tables;
  for (uint64_t i = 0; i < tables.count; ++i)
    name_memory("DGE table", tables.mem[i]);
  name_memory("DGE table's address", program->table_cell);
  name_memory("activation tables", program->act_tables);
  for (uint32_t i = 0; i < program->queues.num_sets; ++i) {
    const queue_set_t *set = &program->queues.sets[i];
    for (uint32_t k = 0; k < set->queue->num_queues; ++k) {
      name_memory(set->name, set->tx[k].mem);
      name_memory(set->name, set->rx[k].mem);
    }
  }
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
    show_image(program, static_cast<isa_engine_t>(e), callback, user);
}
