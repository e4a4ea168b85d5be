// SPDX-License-Identifier: Apache-2.0
// Queue sets of def.json (neff-format.md 3.5).
#include <algorithm>

#include "base/checked.h"
#include "kelf/mla_resources.h"

namespace {

using simdjson::dom::element;

enum queue_key : size_t {
  KEY_TYPE,
  KEY_NUM_QUEUES,
  KEY_OWNER,
  KEY_SEMAPHORE,
  KEY_SEMAPHORE_SET,
  KEY_INSTANCES,
  KEY_FABRIC_PATH,
  KEY_DYNAMIC_DMA,
  KEY_INDIRECT,
  KEY_DGE,
  KEY_SYNC_SEMAPHORE,
  KEY_COUNT,
};

struct queue_type {
  std::string_view name;
  kbin_dma_queue_type_t type;
};

constexpr queue_type QUEUE_TYPES[] = {
    {"in", kbin_dma_queue_type_t::IN},
    {"out", kbin_dma_queue_type_t::OUT},
    {"data", kbin_dma_queue_type_t::DATA},
    {"dynamic", kbin_dma_queue_type_t::DYNAMIC},
    {"act_load", kbin_dma_queue_type_t::ACT_LOAD},
    {"embedding_update", kbin_dma_queue_type_t::EMBEDDING_UPDATE},
};

NRT_STATUS read_type(const json_field &field, const json_place &place, kbin_dma_queue_t *queue) {
  std::string_view text;
  NRT_STATUS status = json_string(field, JSON_REQUIRED, place, &text);
  if (status != NRT_SUCCESS)
    return status;
  for (const queue_type &t : QUEUE_TYPES) {
    if (t.name == text) {
      queue->type = t.type;
      return NRT_SUCCESS;
    }
  }
  return json_place(place, field.key).fail("unknown queue type \"{}\"", json_excerpt(text));
}

NRT_STATUS read_owner(const json_field &field, const json_place &place, kbin_dma_queue_t *queue) {
  std::string_view text;
  NRT_STATUS status = json_string(field, JSON_OPTIONAL, place, &text);
  if (status != NRT_SUCCESS || !field.present)
    return status;
  if (!kelf_engine_by_name(text, &queue->owner))
    return json_place(place, field.key)
        .fail("\"{}\" is no engine (pe, act, pool, dve, sp)", json_excerpt(text));
  return NRT_SUCCESS;
}

NRT_STATUS read_semaphores(const json_field &single, const json_field &several,
                           const json_field &sync, const json_place &place,
                           kbin_dma_queue_t *queue) {
  std::vector<uint64_t> set;
  uint64_t number = 0, sync_number = 0;
  NRT_STATUS status = json_uint(single, JSON_OPTIONAL, place, KELF_NUM_SEMAPHORES - 1, &number);
  if (status == NRT_SUCCESS)
    status = json_uint_list(several, JSON_OPTIONAL, place, KELF_NUM_SEMAPHORES - 1, &set);
  if (status == NRT_SUCCESS)
    status = json_uint(
        sync,
        queue->type == kbin_dma_queue_type_t::EMBEDDING_UPDATE ? JSON_REQUIRED : JSON_OPTIONAL,
        place, KELF_NUM_SEMAPHORES - 1, &sync_number);
  if (status != NRT_SUCCESS)
    return status;
  if (single.present && std::find(set.begin(), set.end(), number) == set.end())
    set.insert(set.begin(), number);
  if (set.size() > KELF_MAX_QUEUE_SEMAPHORES)
    return json_place(place, several.key)
        .fail("{} semaphores, the limit per queue set is {}", set.size(),
              KELF_MAX_QUEUE_SEMAPHORES);
  queue->semaphores.assign(set.begin(), set.end());
  return NRT_SUCCESS;
}

NRT_STATUS read_dynamic(const json_field &field, const json_place &place, kbin_dma_queue_t *queue) {
  if (!field.present)
    return NRT_SUCCESS;
  json_place here(place, field.key);
  json_field fields[] = {{"SB_scratch_partition_offset"}, {"SB_scratch_partition_size"}};
  NRT_STATUS status = json_pick(field.value, here, fields);
  if (status == NRT_SUCCESS)
    status = json_uint(fields[0], JSON_REQUIRED, here, UINT64_MAX, &queue->sb_scratch_offset);
  if (status == NRT_SUCCESS)
    status = json_uint(fields[1], JSON_REQUIRED, here, UINT64_MAX, &queue->sb_scratch_size);
  if (status != NRT_SUCCESS)
    return status;
  if (!range_within(queue->sb_scratch_offset, queue->sb_scratch_size, KELF_SB_PARTITION_STRIDE))
    return here.fail("scratch at {} with {} bytes passes the partition's {} bytes",
                     queue->sb_scratch_offset, queue->sb_scratch_size, KELF_SB_PARTITION_STRIDE);
  queue->dynamic_dma = true;
  return NRT_SUCCESS;
}

// A flag of which no sample is known: a boolean or a number.
NRT_STATUS read_flag(const json_field &field, const json_place &place, bool *out) {
  uint64_t number;
  if (field.present && field.value.is<uint64_t>()) {
    number = field.value.get_uint64().value_unsafe();
    *out = number != 0;
    return NRT_SUCCESS;
  }
  return json_bool(field, JSON_OPTIONAL, place, out);
}

// Rules that depend on the type.
NRT_STATUS check_type_rules(const mla_resources &res, const kbin_dma_queue_t &queue,
                            const json_place &place) {
  using type = kbin_dma_queue_type_t;
  if (!queue.queue_instances.empty() &&
      (queue.type == type::IN || queue.type == type::OUT || queue.type == type::EMBEDDING_UPDATE))
    return json_place(place, "queue_instances")
        .fail("not allowed for types in, out and embedding_update");
  if (queue.indirect_memcpy && queue.type != type::DATA)
    return json_place(place, "indirect_memcpy").fail("only for type data");
  if (queue.type == type::ACT_LOAD) {
    if (queue.num_queues != 1)
      return json_place(place, "num_queues")
          .fail("is {}, act_load has exactly 1", queue.num_queues);
    for (const kbin_dma_queue_t &other : res.kbin->queues) {
      if (other.type == type::ACT_LOAD)
        return place.fail("second act_load queue, \"{}\" is one already", json_excerpt(other.name));
    }
  }
  return NRT_SUCCESS;
}

// Blocks find queue sets by name or instance: neither may stand for two sets.
NRT_STATUS add_queue(mla_resources &res, kbin_dma_queue_t &&queue, const json_place &place) {
  std::vector<kbin_dma_queue_t> &queues = res.kbin->queues;
  if (!res.queue_by_name.emplace(queue.name, queues.size()).second)
    return place.fail("queue set given twice");
  for (const std::string &instance : queue.queue_instances) {
    auto [known, added] = res.queue_by_instance.emplace(instance, queues.size());
    if (!added)
      return json_place(place, "queue_instances")
          .fail("\"{}\" is an instance of \"{}\" already", json_excerpt(instance),
                json_excerpt(known->second < queues.size() ? queues[known->second].name
                                                           : queue.name));
  }
  queues.push_back(std::move(queue));
  return NRT_SUCCESS;
}

NRT_STATUS parse_one_queue(mla_resources &res, std::string_view name, element entry,
                           const json_place &place) {
  json_field f[KEY_COUNT] = {{"type"},
                             {"num_queues"},
                             {"owner"},
                             {"semaphore"},
                             {"semaphore_set"},
                             {"queue_instances"},
                             {"fabric_path"},
                             {"dynamic_dma"},
                             {"indirect_memcpy"},
                             {"dge"},
                             {"embedding_update_sync_semaphore"}};
  kbin_dma_queue_t queue{};
  queue.name = name;
  queue.owner = AL_HAL_TPB_ENG_TYPE_NUM;
  queue.num_queues = 1;
  std::string_view fabric = "main";
  NRT_STATUS status = json_pick(entry, place, f);
  if (status == NRT_SUCCESS)
    status = json_no_nul(name, place);
  if (status == NRT_SUCCESS)
    status = read_type(f[KEY_TYPE], place, &queue);
  if (status == NRT_SUCCESS)
    status =
        json_uint32(f[KEY_NUM_QUEUES], JSON_OPTIONAL, place, KELF_MAX_QUEUES, &queue.num_queues);
  if (status == NRT_SUCCESS && queue.num_queues == 0)
    status =
        json_place(place, "num_queues").fail("is 0, a set has 1 to {} queues", KELF_MAX_QUEUES);
  if (status == NRT_SUCCESS)
    status = read_owner(f[KEY_OWNER], place, &queue);
  if (status == NRT_SUCCESS)
    status = read_semaphores(f[KEY_SEMAPHORE], f[KEY_SEMAPHORE_SET], f[KEY_SYNC_SEMAPHORE], place,
                             &queue);
  if (status == NRT_SUCCESS)
    status = json_string_list(f[KEY_INSTANCES], JSON_OPTIONAL, place, &queue.queue_instances);
  if (status == NRT_SUCCESS)
    status = json_string(f[KEY_FABRIC_PATH], JSON_OPTIONAL, place, &fabric);
  if (status == NRT_SUCCESS && fabric != "main" && fabric != "alt")
    status = json_place(place, "fabric_path")
                 .fail("\"{}\" is neither \"main\" nor \"alt\"", json_excerpt(fabric));
  if (status == NRT_SUCCESS)
    status = read_dynamic(f[KEY_DYNAMIC_DMA], place, &queue);
  if (status == NRT_SUCCESS)
    status = json_bool(f[KEY_INDIRECT], JSON_OPTIONAL, place, &queue.indirect_memcpy);
  if (status == NRT_SUCCESS)
    status = read_flag(f[KEY_DGE], place, &queue.dge);
  if (status == NRT_SUCCESS)
    status = check_type_rules(res, queue, place);
  if (status == NRT_SUCCESS)
    status = add_queue(res, std::move(queue), place);
  return status;
}

}  // namespace

NRT_STATUS def_queues_parse(mla_resources &res, element value, const json_place &place) {
  simdjson::dom::object object;
  NRT_STATUS status = json_to_object(value, place, &object);
  if (status != NRT_SUCCESS) {
    res.queues_complete = false;
    return status;
  }
  json_steps steps(place.findings());
  size_t count = 0;
  for (simdjson::dom::key_value_pair item : object) {
    // Also keeps the duplicate search short whatever the file holds.
    if (++count > KELF_MAX_QUEUE_SETS) {
      (void)steps.stop(place.fail("{} queue sets, the limit per subgraph is {}", object.size(),
                                  KELF_MAX_QUEUE_SETS));
      break;
    }
    status = parse_one_queue(res, item.key, item.value, json_place(place, item.key));
    if (steps.stop(status))
      break;
  }
  if (steps.status() != NRT_SUCCESS)
    res.queues_complete = false;
  return steps.status();
}
