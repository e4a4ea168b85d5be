// SPDX-License-Identifier: Apache-2.0
#include "tdrv/queue_set.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/nlog.h"
#include "isa/project.h"
#include "tdrv/grow.h"

namespace {

constexpr uint32_t kSemaphores = 256, kEvents = 256;  // of a core

const kbin_t *kbin_of(const queue_sets_t *sets) {
  return sets->info->mr_sets[sets->subgraph].kbin;
}

const physical_core_t *core_of(const queue_sets_t *sets) {
  return &sets->info->mr_sets[sets->subgraph].tpb->pcore;
}

// --- blocks by name ------------------------------------------------------------------------------

bool block_before(const queue_block_t &a, const queue_block_t &b) {
  int order = strcmp(a.name, b.name);
  if (order != 0)
    return order < 0;
  return a.block->id != b.block->id ? a.block->id < b.block->id : a.block->engine < b.block->engine;
}

NRT_STATUS index_blocks(queue_sets_t *sets) {
  const kbin_t *kbin = kbin_of(sets);
  if (kbin->blocks.empty())
    return NRT_SUCCESS;
  sets->blocks = static_cast<queue_block_t *>(calloc(kbin->blocks.size(), sizeof(queue_block_t)));
  if (sets->blocks == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for an index of {} blocks", kbin->blocks.size());
    return NRT_RESOURCE;
  }
  for (const kbin_dma_block_t &block : kbin->blocks) {
    const std::string &name = block.instance_name.empty() ? block.queue : block.instance_name;
    queue_block_t *entry = &sets->blocks[sets->num_blocks++];
    entry->name = name.c_str();
    entry->block = &block;
  }
  std::sort(sets->blocks, sets->blocks + sets->num_blocks, block_before);
  return NRT_SUCCESS;
}

// The block a trigger names: the one its own engine lists, else the only one there is.
queue_block_t *find_block(const queue_sets_t *sets, const char *name, uint32_t id,
                          isa_engine_t engine) {
  queue_block_t *end = sets->blocks + sets->num_blocks;
  queue_block_t *at = std::partition_point(sets->blocks, end, [&](const queue_block_t &entry) {
    int order = strcmp(entry.name, name);
    return order != 0 ? order < 0 : entry.block->id < id;
  });
  queue_block_t *found = nullptr;
  for (; at != end && at->block->id == id && strcmp(at->name, name) == 0; ++at)
    if (found == nullptr || static_cast<uint32_t>(at->block->engine) == engine)
      found = at;
  return found;
}

// --- sets ----------------------------------------------------------------------------------------

const kbin_dma_queue_t *find_queue(const kbin_t *kbin, const std::string &name) {
  for (const kbin_dma_queue_t &queue : kbin->queues)
    if (queue.name == name)
      return &queue;
  return nullptr;
}

queue_set_t *find_set(const queue_sets_t *sets, const char *name) {
  for (uint32_t i = 0; i < sets->num_sets; ++i)
    if (strcmp(sets->sets[i].name, name) == 0)
      return &sets->sets[i];
  return nullptr;
}

const char *queue_refusal(const kbin_dma_queue_t *queue) {
  if (queue == nullptr)
    return "def.json does not list it";
  if (queue->indirect_memcpy)
    return "indirect copies are not implemented";
  switch (queue->type) {
    case kbin_dma_queue_type_t::IN:
    case kbin_dma_queue_type_t::OUT:
    case kbin_dma_queue_type_t::DATA:
      return nullptr;
    case kbin_dma_queue_type_t::DYNAMIC:
      return "its type is \"dynamic\": it has no blocks to trigger";
    case kbin_dma_queue_type_t::ACT_LOAD:
      return "type \"act_load\" is not implemented";
    default:
      return "type \"embedding_update\" is not implemented";
  }
}

NRT_STATUS add_set(queue_sets_t *sets, const queue_block_t *entry, isa_engine_t engine,
                   queue_set_t **out) {
  const kbin_dma_queue_t *queue = find_queue(kbin_of(sets), entry->block->queue);
  const char *refusal = queue_refusal(queue);
  if (refusal != nullptr) {
    NLOG_ERROR(NLOG_TDRV, "queue \"{}\": {}", entry->block->queue, refusal);
    return NRT_INVALID;
  }
  if (sets->num_sets == HAL_UDMA_STATIC_QUEUES) {
    NLOG_ERROR(NLOG_TDRV, "queue \"{}\" is static set number {}; an engine has rings for {}",
               entry->name, sets->num_sets + 1, HAL_UDMA_STATIC_QUEUES);
    return NRT_INVALID;
  }
  if (!grow(&sets->sets, &sets->set_capacity, uint64_t{sets->num_sets} + 1)) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for queue \"{}\"", entry->name);
    return NRT_RESOURCE;
  }
  queue_set_t *set = &sets->sets[sets->num_sets];
  *set = {};
  set->name = entry->name;
  set->queue = queue;
  set->trigger = engine;
  set->owner =
      queue->owner == AL_HAL_TPB_ENG_TYPE_NUM ? engine : static_cast<isa_engine_t>(queue->owner);
  set->ring = sets->num_sets++;
  *out = set;
  return NRT_SUCCESS;
}

// --- blocks into rings ---------------------------------------------------------------------------

const char *block_refusal(const kbin_dma_block_t *block, uint32_t rings) {
  if (!block->remote_semaphores.empty())
    return "it raises semaphores of other cores, which is not implemented";
  if (block->event >= 0 && rings > 1)
    return "it sets an event from more than one ring, which is not implemented";
  if (block->semaphore >= 0 && static_cast<uint32_t>(block->semaphore) < PROJECT_SEM_COUNT)
    return "its semaphore is one of the runtime's";
  if (block->semaphore >= static_cast<int32_t>(kSemaphores))
    return "its semaphore is above 255";
  if (block->event >= 0 && static_cast<uint32_t>(block->event) < PROJECT_EVENT_COUNT)
    return "its event is one of the runtime's";
  return block->event >= static_cast<int32_t>(kEvents) ? "its event is above 255" : nullptr;
}

// A 1 to a semaphore's increment or an event's state: a packet of its own, behind the data.
NRT_STATUS add_completion(const queue_sets_t *sets, uint64_t target, vring_t *ring) {
  vring_run_t one = {hal_constant_one(core_of(sets)->arch), sizeof(uint32_t), IO_SLOT_NONE, 0};
  vring_run_t to = {target, sizeof(uint32_t), IO_SLOT_NONE, 0};
  return vring_add_packet(ring, nullptr, &one, 1, &to, 1);
}

NRT_STATUS add_completions(const queue_sets_t *sets, const kbin_dma_block_t *block, vring_t *ring) {
  const physical_core_t *core = core_of(sets);
  NRT_STATUS status = NRT_SUCCESS;
  if (block->semaphore >= 0)
    status = add_completion(
        sets,
        hal_semaphore_increment(core->arch, core->nc_id, static_cast<uint32_t>(block->semaphore)),
        ring);
  if (status == NRT_SUCCESS && block->event >= 0)
    status = add_completion(
        sets, hal_event_state(core->arch, core->nc_id, static_cast<uint32_t>(block->event)), ring);
  return status;
}

void count_rings(const queue_set_t *set, block_counts_t *counts, bool before) {
  for (uint32_t k = 0; k < set->queue->num_queues; ++k) {
    const vring_t &ring = set->virtual_rings[k];
    counts->tx[k] = before ? ring.tx.count : ring.tx.count - counts->tx[k];
    counts->rx[k] = before ? ring.rx.count : ring.rx.count - counts->rx[k];
    counts->packets[k] = before ? ring.packets : ring.packets - counts->packets[k];
  }
}

NRT_STATUS expand_block(queue_sets_t *sets, queue_set_t *set, queue_block_t *entry) {
  const kbin_dma_block_t *block = entry->block;
  uint32_t rings = set->queue->num_queues;
  const char *refusal = block_refusal(block, rings);
  if (refusal != nullptr) {
    NLOG_ERROR(NLOG_TDRV, "block {} of queue \"{}\": {}", block->id, entry->name, refusal);
    return NRT_INVALID;
  }
  count_rings(set, &entry->counts, true);
  NRT_STATUS status = NRT_SUCCESS;
  for (const kbin_dma_transfer_t &transfer : block->desc)
    if (status == NRT_SUCCESS)
      status =
          dma_expand_transfer(sets->info, sets->subgraph, &transfer, set->virtual_rings, rings);
  for (uint32_t k = 0; status == NRT_SUCCESS && k < rings; ++k) {
    vring_t *ring = &set->virtual_rings[k];
    if (ring->tx.count != entry->counts.tx[k])
      vring_close_data(ring);
    status = add_completions(sets, block, ring);
  }
  count_rings(set, &entry->counts, false);
  entry->triggered = true;
  return status;
}

// --- triggers ------------------------------------------------------------------------------------

struct walk_t {
  queue_sets_t *sets;
  isa_engine_t engine;
  const uint8_t *records;
  uint32_t slots;
};

NRT_STATUS take_trigger(const walk_t *walk, uint32_t slot) {
  isa_dma_trigger trigger;
  memcpy(&trigger, walk->records + size_t{slot} * ISA_RECORD_BYTES, sizeof(trigger));
  std::string name(trigger.queue, strnlen(trigger.queue, sizeof(trigger.queue)));
  queue_block_t *entry = find_block(walk->sets, name.c_str(), trigger.block, walk->engine);
  if (entry == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "no engine lists block {} of queue \"{}\"", trigger.block, name);
    return NRT_INVALID;
  }
  queue_set_t *set = find_set(walk->sets, entry->name);
  if (set == nullptr) {
    NRT_STATUS status = add_set(walk->sets, entry, walk->engine, &set);
    if (status != NRT_SUCCESS)
      return status;
  }
  if (set->trigger != walk->engine) {
    NLOG_ERROR(NLOG_TDRV, "queue \"{}\" is triggered by engine {} too: its rings have one order",
               name, kbin_engine_name(static_cast<al_hal_tpb_eng_type>(set->trigger)));
    return NRT_INVALID;
  }
  return expand_block(walk->sets, set, entry);
}

// A branch around or across a trigger would make the order of triggers another one than the
// stream's.
NRT_STATUS check_branch(const walk_t *walk, uint32_t slot) {
  isa_compare_branch branch;
  memcpy(&branch, walk->records + size_t{slot} * ISA_RECORD_BYTES, sizeof(branch));
  if (branch.target != ISA_TARGET_RELATIVE)
    return NRT_SUCCESS;  // refused by translation
  int64_t to = slot + branch.offset / static_cast<int64_t>(ISA_RECORD_BYTES);
  int64_t first = std::max<int64_t>(std::min<int64_t>(slot, to), 0);
  int64_t last = std::min<int64_t>(std::max<int64_t>(slot, to), walk->slots);
  for (int64_t i = first; i < last; ++i) {
    if (walk->records[static_cast<size_t>(i) * ISA_RECORD_BYTES] != ISA_PSEUDO_DMATRIGGER)
      continue;
    NLOG_ERROR(NLOG_TDRV,
               "it branches over the trigger in slot {}, so that the order of static "
               "transfers is not the stream's: not implemented",
               i);
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

NRT_STATUS walk_stream(const walk_t *walk, uint32_t *slot) {
  NRT_STATUS status = NRT_SUCCESS;
  for (*slot = 0; *slot < walk->slots; ++*slot) {
    uint8_t opcode = walk->records[size_t{*slot} * ISA_RECORD_BYTES];
    if (opcode == ISA_PSEUDO_DMATRIGGER)
      status = take_trigger(walk, *slot);
    else if (opcode == ISA_COMPARE_BRANCH)
      status = check_branch(walk, *slot);
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

}  // namespace

NRT_STATUS queue_sets_init(const vtpb_info_shared_t *info, uint32_t subgraph, queue_sets_t *out) {
  *out = {};
  out->info = info;
  out->subgraph = subgraph;
  NRT_STATUS status = index_blocks(out);
  for (const kbin_engine_t &engine : kbin_of(out)->engines) {
    if (status != NRT_SUCCESS)
      return status;
    walk_t walk = {out, static_cast<isa_engine_t>(engine.eng_type), engine.instr.data(),
                   static_cast<uint32_t>(engine.instr.size() / ISA_RECORD_BYTES)};
    instr_place_t place = {kbin_of(out)->sg_name.c_str(), walk.engine, walk.records, 0};
    nlog_held_error reason;
    nlog_held_error *previous = nlog_hold_errors(&reason);
    status = walk_stream(&walk, &place.slot);
    nlog_hold_errors(previous);
    if (status != NRT_SUCCESS)
      instr_report(&place, reason);
  }
  return status;
}

NRT_STATUS queue_sets_commit(queue_sets_t *sets, dmem_list_t *tracker, io_refs_t *refs) {
  const vtpb_info_shared_mr_set_t *mr_set = &sets->info->mr_sets[sets->subgraph];
  for (uint32_t i = 0; i < sets->num_sets; ++i) {
    queue_set_t *set = &sets->sets[i];
    for (const vring_t &ring : set->virtual_rings)
      set->touches_io = set->touches_io || ring.tx.num_io != 0 || ring.rx.num_io != 0;
    dma_mem_usage_type_t usage =
        set->touches_io ? dma_mem_usage_type_t::DMA_RING_IO : dma_mem_usage_type_t::DMA_RING_SPILL;
    for (uint32_t k = 0; k < set->queue->num_queues; ++k) {
      vring_t *ring = &set->virtual_rings[k];
      NRT_STATUS status =
          pring_create(mr_set, tracker, usage, set->name, &ring->tx, refs, &set->tx[k]);
      if (status == NRT_SUCCESS)
        status = pring_create(mr_set, tracker, usage, set->name, &ring->rx, refs, &set->rx[k]);
      if (status != NRT_SUCCESS)
        return status;
      vring_free(ring);
    }
  }
  return NRT_SUCCESS;
}

void queue_sets_free(queue_sets_t *sets) {
  for (uint32_t i = 0; i < sets->num_sets; ++i)
    for (vring_t &ring : sets->sets[i].virtual_rings)
      vring_free(&ring);
  free(sets->sets);
  free(sets->blocks);
  *sets = {};
}

const block_counts_t *queue_sets_find(const queue_sets_t *sets, const isa_dma_trigger *trigger,
                                      isa_engine_t engine, const queue_set_t **set) {
  char name[sizeof(trigger->queue) + 1] = {};
  memcpy(name, trigger->queue, sizeof(trigger->queue));
  const queue_block_t *entry = find_block(sets, name, trigger->block, engine);
  if (entry == nullptr || !entry->triggered)
    return nullptr;
  *set = find_set(sets, entry->name);
  return &entry->counts;
}
