// SPDX-License-Identifier: Apache-2.0
#include "tools/predict.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/checked.h"
#include "tdrv/scratchpad.h"
#include "tools/predict_rings.h"

namespace {

using usage_t = dma_mem_usage_type_t;

constexpr uint64_t kSlot = 64;
constexpr uint8_t kDmaTrigger = 0xC1;   // queue name at 12, block id at 48
constexpr uint8_t kBranchLabel = 0xCC;  // not loaded
constexpr size_t kTriggerName = 12, kTriggerNameSize = 32, kTriggerBlock = 48;

constexpr usage_t kImageUsage[AL_HAL_TPB_ENG_TYPE_NUM] = {usage_t::INSTR_PE, usage_t::INSTR_ACT,
                                                          usage_t::INSTR_POOL, usage_t::INSTR_DVE,
                                                          usage_t::INSTR_SP};

uint64_t count_dge_tables(const kbin_t &kbin) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < kbin.mem_ref_set->nmem; i++)
    count += kbin.mem_ref_set->mem[i].mr_type == MR_PTR_TABLE ? 1 : 0;
  return count;
}

bool loads_tables(const kbin_t &kbin, al_hal_tpb_eng_type engine) {
  return (engine == AL_HAL_TPB_ENG_TYPE_ACT && !kbin.act_function_sets.empty()) ||
         (engine == AL_HAL_TPB_ENG_TYPE_DVE && !kbin.dve_config.empty());
}

// The runtime's own instructions before and after the program.
uint64_t wrapper_slots(const predict_params_t &params, const kbin_t &kbin,
                       al_hal_tpb_eng_type engine, const std::vector<predict_set_t> &sets) {
  uint64_t slots = params.engines[engine].wrapper_slots;
  if (count_dge_tables(kbin) != 0)
    slots += params.dge_table_slots;
  if (loads_tables(kbin, engine))
    slots += params.table_load_slots;
  for (const predict_set_t &set : sets) {
    if (set.owner != engine)
      continue;
    uint64_t inits = (set.rings.size() + params.rings_per_init - 1) / params.rings_per_init;
    slots += params.static_set_slots + params.init_slots * inits;
    if (set.queue->type == kbin_dma_queue_type_t::DATA)
      slots += params.credit_slots * (set.even ? 1 : 2);
  }
  return slots;
}

struct trigger_index {
  std::map<std::pair<std::string, uint32_t>, bool> even;  // by name in the stream and block id

  explicit trigger_index(const kbin_t &kbin) {
    std::map<std::string, uint32_t> rings;
    for (const kbin_dma_queue_t &queue : kbin.queues)
      rings[queue.name] = queue.num_queues;
    for (const kbin_dma_block_t &block : kbin.blocks) {
      const std::string &name = block.instance_name.empty() ? block.queue : block.instance_name;
      even[{name, block.id}] = predict_block_is_even(block, rings[block.queue]);
    }
  }
};

// Slots of the stream as it is loaded.
NRT_STATUS loaded_slots(const predict_params_t &params, const kbin_engine_t &engine,
                        const trigger_index &triggers, finding_sink &findings, uint64_t *out) {
  uint64_t slots = engine.instr.size() / kSlot;
  bool label = false;
  for (uint64_t i = 0; i < engine.instr.size() / kSlot; i++) {
    std::span<const uint8_t> slot = engine.instr.subspan(i * kSlot, kSlot);
    label = label || slot[0] == kBranchLabel;
    if (slot[0] != kDmaTrigger)
      continue;
    const char *text = reinterpret_cast<const char *>(&slot[kTriggerName]);
    std::string name(text, strnlen(text, kTriggerNameSize));
    uint32_t block = 0;
    memcpy(&block, &slot[kTriggerBlock], sizeof(block));
    auto known = triggers.even.find({name, block});
    if (known == triggers.even.end())
      return findings.add(NRT_INVALID, engine.instr_member,
                          "instruction {} triggers block {} of \"{}\", which no engine lists", i,
                          block, name);
    if (!known->second)
      slots += params.untiled_trigger_slots;
  }
  *out = slots - (label ? 1 : 0);
  return NRT_SUCCESS;
}

NRT_STATUS add_images(const predict_params_t &params, const kbin_t &kbin,
                      const std::vector<predict_set_t> &sets, finding_sink &findings,
                      std::vector<predict_item_t> *items) {
  trigger_index triggers(kbin);
  for (const kbin_engine_t &engine : kbin.engines) {
    uint64_t slots = 0;
    NRT_STATUS status = loaded_slots(params, engine, triggers, findings, &slots);
    if (status != NRT_SUCCESS)
      return status;
    slots += wrapper_slots(params, kbin, engine.eng_type, sets);
    items->push_back({kImageUsage[engine.eng_type], slots * kSlot, params.image_align});
  }
  return NRT_SUCCESS;
}

NRT_STATUS add_rings(const predict_params_t &params, const kbin_t &kbin,
                     const std::vector<predict_set_t> &sets, finding_sink &findings,
                     std::vector<predict_item_t> *items) {
  for (const predict_set_t &set : sets)
    for (const predict_ring_t &ring : set.rings)
      for (uint64_t descriptors : {ring.m2s, ring.s2m}) {
        uint64_t bytes = 0;
        if (!predict_ring_capacity(params, descriptors, &bytes) ||
            !checked_mul(bytes, params.descriptor_bytes, &bytes))
          return findings.add(NRT_INVALID, kbin.definition,
                              "a ring of \"{}\" with {} descriptors does not fit 64 bits",
                              set.queue->name, descriptors);
        items->push_back(
            {set.touches_io ? usage_t::DMA_RING_IO : usage_t::DMA_RING_SPILL, bytes, 0});
      }
  return NRT_SUCCESS;
}

uint64_t table_bytes(const kbin_dve_config_t &config) {
  return config.opcode_table.size() + config.datapath_table.size() + config.control_table.size() +
         config.control_fast_table.size() + config.control_slow_table.size();
}

void add_tables(const predict_params_t &params, const kbin_t &kbin,
                std::vector<predict_item_t> *items) {
  for (size_t i = 0; i < kbin.act_function_sets.size(); i++)
    items->push_back({usage_t::ACT_TABLE, params.act_set_bytes, 0});
  if (!kbin.act_function_sets.empty())
    items->push_back({usage_t::DMA_RING, params.act_queue_bytes, 0});
  if (!kbin.dve_config.empty()) {
    uint64_t bytes = params.dve_extra_bytes;
    for (const kbin_dve_config_t &config : kbin.dve_config)
      bytes += table_bytes(config);
    items->push_back({usage_t::GENERIC, bytes, 0});
    items->push_back({usage_t::DMA_RING, params.dve_queue_bytes, 0});
  }
  items->insert(items->end(), count_dge_tables(kbin), {usage_t::IO, params.dge_cell_bytes, 0});
}

// `shared` and `local`: where the core's arenas start.
void add_variables(const kbin_t &kbin, uint64_t shared, uint64_t local, uint64_t page_size,
                   predict_subgraph_t *out) {
  for (uint32_t i = 0; i < kbin.mem_ref_set->nmem; i++) {
    const kbin_mem_ref &record = kbin.mem_ref_set->mem[i];
    switch (record.mr_type) {
      case MR_BUFFER:
      case MR_BUFFER_STAGED:
        out->items.push_back({usage_t::WEIGHT, record.size, record.alignment});
        break;
      case MR_TMP_BUF:
        out->items.push_back({usage_t::SCRATCHPAD_NOT_SHARED, record.size, record.alignment});
        break;
      case MR_VIRTUAL_TMP_BUF: {
        uint64_t base = kbin_backing_buf_is_shared(record.virt.backing_buf) ? shared : local;
        if (range_within((base + record.virt.offset) % page_size, record.size, page_size))
          break;
        out->items.push_back({usage_t::SCRATCHPAD_NOT_SHARED, record.size, record.alignment});
        out->largest_oversized = std::max<uint64_t>(out->largest_oversized, record.size);
        break;
      }
      default:
        break;
    }
  }
}

// Arenas of the paged scratchpad: the shared one first, on the first core, then each core's own.
NRT_STATUS lay_out_scratchpad(const kelf_nn_t &nn, uint64_t page_size, finding_sink &findings,
                              std::vector<predict_subgraph_t> *out) {
  uint64_t shared_size = 0, shared_end = 0, ignored = 0;
  for (const auto &kbin : nn.kbins)
    shared_size = std::max(shared_size, kbin->mem_ref_set->shared_scratchpad_size);
  if (!tdrv_scratchpad_layout(0, shared_size, page_size, false, &ignored, &shared_end))
    return findings.add(NRT_INVALID, nn.kelf_member, "the shared scratchpad does not fit 64 bits");
  for (size_t i = 0; i < nn.kbins.size(); i++) {
    uint64_t local = 0;
    if (!tdrv_scratchpad_layout(i == 0 ? shared_end : 0,
                                nn.kbins[i]->mem_ref_set->local_scratchpad_size, page_size, false,
                                &local, &(*out)[i].scratchpad_end))
      return findings.add(NRT_INVALID, nn.kbins[i]->definition,
                          "the scratchpad does not fit 64 bits");
    add_variables(*nn.kbins[i], 0, local, page_size, &(*out)[i]);
  }
  return NRT_SUCCESS;
}

}  // namespace

const predict_params_t *predict_find(const std::string &release) {
  for (const predict_params_t &params : kPredictReleases)
    if (release == params.release)
      return &params;
  return nullptr;
}

std::string predict_releases() {
  std::string out;
  for (const predict_params_t &params : kPredictReleases)
    out += (out.empty() ? "" : ", ") + std::string(params.release);
  return out;
}

bool predict_add(const std::vector<predict_item_t> &items, predict_classes_t *classes) {
  for (const predict_item_t &item : items) {
    uint64_t &sum = (*classes)[static_cast<uint32_t>(item.usage)];
    if (!checked_add(sum, item.size, &sum))
      return false;
  }
  return true;
}

std::vector<predict_item_t> predict_core_base(const predict_params_t &params, uint32_t position,
                                              bool profiling) {
  std::vector<predict_item_t> items = {{usage_t::UCODE_LIB, params.ucode, 0},
                                       {usage_t::GENERIC, params.generic, 0},
                                       {usage_t::POOL_STDIO, params.pool_stdio, 0},
                                       {usage_t::DMA_RING, params.rings_runtime, 0}};
  for (uint32_t i = 0; i < AL_HAL_TPB_ENG_TYPE_NUM; i++) {
    const predict_engine_params_t &engine = params.engines[i];
    items.push_back({kImageUsage[i],
                     position == 0 ? engine.base_image_first : engine.base_image_other,
                     params.image_align});
  }
  if (!profiling)
    return items;
  for (uint64_t left = params.profiler_buffers; left != 0;) {
    uint64_t chunk = std::min(left, params.profiler_chunk);
    items.push_back({usage_t::NOTIFICATION, chunk, 0});
    left -= chunk;
  }
  return items;
}

NRT_STATUS predict_neff(const predict_params_t &params, const kelf_nn_t &nn, uint64_t page_size,
                        finding_sink &findings, std::vector<predict_subgraph_t> *out) {
  std::vector<predict_subgraph_t> cores(nn.kbins.size());
  for (size_t i = 0; i < nn.kbins.size(); i++) {
    const kbin_t &kbin = *nn.kbins[i];
    cores[i].name = kbin.sg_name;
    std::vector<predict_set_t> sets;
    NRT_STATUS status = predict_sets(params, kbin, findings, &sets);
    if (status == NRT_SUCCESS)
      status = add_images(params, kbin, sets, findings, &cores[i].items);
    if (status == NRT_SUCCESS)
      status = add_rings(params, kbin, sets, findings, &cores[i].items);
    if (status != NRT_SUCCESS)
      return status;
    add_tables(params, kbin, &cores[i].items);
  }
  NRT_STATUS status = lay_out_scratchpad(nn, page_size, findings, &cores);
  if (status != NRT_SUCCESS)
    return status;
  for (const auto *tensors : {&nn.inputs, &nn.outputs})
    for (const kelf_io_tensor_t &tensor : *tensors)
      cores.front().items.push_back({usage_t::TENSOR, tensor.size, 0});
  *out = std::move(cores);
  return NRT_SUCCESS;
}
