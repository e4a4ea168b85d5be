// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/resource.h"

bool mock_resource_get(const mock_state_t *state, uint32_t block, uint32_t block_id,
                       uint32_t resource, mock_resource_t *out) {
  uint32_t bar;
  uint64_t bar_offset;
  if (neuron_special_mapping(state->arch, block, block_id, resource, &out->cookie, &out->length,
                             &bar, &bar_offset) != 0)
    return false;
  out->block = block;
  out->read_only = resource == NEURON_MMAP_RESOURCE_ALL;
  switch (block) {
    case NEURON_MMAP_BLOCK_TPB:
      out->memory_offset = mock_memory_core_offset(state, block_id);
      if (resource == NEURON_MMAP_RESOURCE_SEMAPHORE)
        out->memory_offset += NEURON_BAR0_EVENT_OFFSET;
      break;
    case NEURON_MMAP_BLOCK_TOP_SP:
      out->memory_offset = mock_memory_top_sp_offset(state, block_id);
      break;
    default:
      out->memory_offset = mock_memory_hbm_offset(state, block_id);
      out->length = state->hbm_size;
      break;
  }
  return true;
}

bool mock_resource_find(const mock_state_t *state, uint64_t cookie, uint64_t length,
                        mock_resource_t *out) {
  for (uint32_t block = NEURON_MMAP_BLOCK_TPB; block <= NEURON_MMAP_BLOCK_HBM; ++block)
    for (uint32_t id = 0; id < NEURON_MAX_TOP_SP; ++id)
      for (uint32_t r = NEURON_MMAP_RESOURCE_SEMAPHORE; r <= NEURON_MMAP_RESOURCE_DMEM; ++r)
        if (mock_resource_get(state, block, id, r, out) && out->cookie == cookie &&
            out->length == length)
          return true;
  return false;
}
