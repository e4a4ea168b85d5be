// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/counters.h"

#include <algorithm>
#include <cstring>

namespace {

// Position of a category among the names; the last name is "uncategorized".
uint32_t host_category(uint32_t category) {
  switch (category) {
    case NEURON_MEM_CODE_HOST:
      return 0;
    case NEURON_MEM_TENSORS_HOST:
      return 1;
    case NEURON_MEM_CONSTANTS_HOST:
      return 2;
    case NEURON_MEM_MISC_HOST:
      return 3;
    case NEURON_MEM_NCDEV_HOST:
      return 4;
    case NEURON_MEM_NOTIFICATION_HOST:
      return 5;
    case NEURON_MEM_DMA_RINGS_HOST:
      return 6;
    default:
      return MOCK_HOST_CATEGORIES - 1;
  }
}

uint32_t device_category(uint32_t category) {
  switch (category) {
    case NEURON_MEM_CODE_DEVICE:
      return 0;
    case NEURON_MEM_TENSORS_DEVICE:
      return 1;
    case NEURON_MEM_CONSTANTS_DEVICE:
      return 2;
    case NEURON_MEM_SCRATCHPAD_DEVICE:
    case NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE:
      return 3;
    case NEURON_MEM_MISC_DEVICE:
      return 4;
    case NEURON_MEM_NCDEV_DEVICE:
      return 5;
    case NEURON_MEM_COLLECTIVES_DEVICE:
      return 6;
    case NEURON_MEM_SCRATCHPAD_NONSHARED_DEVICE:
      return 7;
    case NEURON_MEM_NOTIFICATION_DEVICE:
      return 8;
    case NEURON_MEM_DMA_RINGS_DEVICE:
      return 9;
    default:
      return MOCK_DEVICE_CATEGORIES - 1;
  }
}

void change(mock_counter_t *counter, uint64_t amount, bool added) {
  if (added)
    mock_counter_add(counter, amount);
  else
    mock_counter_subtract(counter, amount);
}

// What a datastore says, added when it says something.
void fold(mock_counter_t *counter, const uint8_t *store, uint32_t core, uint32_t id,
          uint64_t scale) {
  uint64_t value;
  memcpy(&value, store + neuron_nds_core_counter(core, id), sizeof(value));
  if (value != 0)
    mock_counter_add(counter, value * scale);
}

}  // namespace

void mock_counter_add(mock_counter_t *counter, uint64_t amount) {
  counter->total += amount;
  counter->present = amount;
  counter->peak = std::max(counter->peak, counter->total);
}

void mock_counter_subtract(mock_counter_t *counter, uint64_t amount) {
  counter->total -= std::min(counter->total, amount);
  counter->present = amount;
}

void mock_counters_memory(mock_counters_t *counters, bool host, uint32_t category, uint32_t nc_id,
                          uint64_t size, bool added) {
  mock_core_counters_t *core = &counters->cores[nc_id];
  change(host ? &core->host_mem : &core->device_mem, size, added);
  change(host ? &counters->host_category[host_category(category)]
              : &core->device_category[device_category(category)],
         size, added);
}

void mock_counters_fold(mock_counters_t *counters, const uint8_t *store) {
  for (uint32_t c = 0; c < NEURON_MAX_CORES; ++c) {
    mock_core_counters_t *core = &counters->cores[c];
    for (uint32_t id = 0; id < NEURON_NDS_STATUS_COUNT; ++id)
      fold(&core->status[id], store, c, id, 1);
    fold(&core->other[MOCK_OTHER_MODEL_LOADS], store, c, NEURON_NDS_MODEL_LOAD_COUNT, 1);
    fold(&core->other[MOCK_OTHER_INFERENCES], store, c, NEURON_NDS_INFERENCE_COUNT, 1);
    fold(&core->other[MOCK_OTHER_FLOPS], store, c, NEURON_NDS_MAC_COUNT, 2);
    fold(&core->other[MOCK_OTHER_TIME_IN_USE], store, c, NEURON_NDS_NC_TIME_IN_USE, 1);
  }
}
