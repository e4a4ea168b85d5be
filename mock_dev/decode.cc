// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/decode.h"

#include "base/checked.h"
#include "mock_dev/bar0.h"
#include "mock_dev/chunk.h"

namespace {

bool found(mock_target_kind_t kind, uint32_t index, uint64_t offset, mock_target_t *out) {
  out->kind = kind;
  out->index = index;
  out->offset = offset;
  return true;
}

// Inside the bytes of one partition. The aperture holds 128 of them, each followed by a gap.
bool in_partition(uint64_t at, uint64_t length, uint64_t stride, uint64_t size) {
  return range_within(at % stride, length, size);
}

bool in_core_memory(uint32_t arch, uint64_t at, uint64_t length) {
  if (at < NEURON_SBUF_APERTURE)
    return in_partition(
        at, length, NEURON_SBUF_PARTITION_STRIDE,
        arch == NEURON_ARCH_V2 ? NEURON_V2_SBUF_PARTITION_SIZE : NEURON_V3_SBUF_PARTITION_SIZE);
  at -= NEURON_SBUF_APERTURE;  // PSUM follows, as BAR0 and the memory file have it
  return at < NEURON_PSUM_APERTURE &&
         in_partition(at, length, NEURON_PSUM_PARTITION_STRIDE, NEURON_PSUM_PARTITION_SIZE);
}

bool decode_constants(uint32_t arch, uint64_t address, uint64_t length, mock_target_t *out) {
  uint64_t at = address - neuron_event_constants(arch);
  return range_within(at, length, NEURON_EVENT_CONSTANTS_SIZE) &&
         found(MOCK_TARGET_CONSTANTS, 0, at, out);
}

// Everything but the neighbours.
bool decode_own(mock_host *host, uint32_t device, uint64_t address, uint64_t length,
                mock_target_t *out) {
  const mock_state_t *state = host->state;
  *out = {};
  out->device = device;
  if (length == 0)
    return false;
  if (mock_host_resolve(host, device, address, length, &out->place)) {
    if (out->place.memory == &host->host_memory)
      return found(MOCK_TARGET_HOST, 0, out->place.offset, out);
    uint64_t at = out->place.offset;
    if (at < mock_memory_hbm_offset(state, state->hbms))
      return found(MOCK_TARGET_HBM, static_cast<uint32_t>(at / state->hbm_size),
                   at % state->hbm_size, out);
    return mock_decode_window(host, device, at, length, out);
  }
  uint64_t bar0 = neuron_apb_bar0_offset(state->arch, address);
  if (bar0 != NEURON_NO_ADDRESS)
    return mock_bar0_decode(host, device, bar0, length, out);
  return decode_constants(state->arch, address, length, out);
}

bool in_reach_of_neighbours(mock_target_kind_t kind) {
  return (mock_target_is_memory(kind) && kind != MOCK_TARGET_HOST) ||
         kind == MOCK_TARGET_CORE_EVENTS || kind == MOCK_TARGET_TOP_SP_EVENTS;
}

bool rows_in_partitions(const mock_state_t *state, const mock_rows_t *rows, uint64_t first) {
  for (uint32_t j = 0; j < rows->count[1]; ++j)
    for (uint32_t i = 0; i < rows->count[0]; ++i)
      if (!in_core_memory(state->arch,
                          first + static_cast<uint64_t>(i * rows->step[0] + j * rows->step[1]),
                          rows->bytes))
        return false;
  return true;
}

// `offset` in a core's window as the memory file has it: SBUF, then PSUM.
bool core_rows_decode(const mock_state_t *state, const mock_rows_t *rows, uint64_t offset,
                      uint64_t below, uint64_t length) {
  bool sbuf = offset < NEURON_SBUF_APERTURE;
  uint64_t start = sbuf ? 0 : NEURON_SBUF_APERTURE;
  uint64_t size = sbuf ? NEURON_SBUF_APERTURE : NEURON_PSUM_APERTURE;
  return below <= offset - start && range_within(offset - start - below, length, size) &&
         rows_in_partitions(state, rows, offset);
}

// 0: in no chunk of this device.
bool chunk_claim(mock_host *host, uint32_t device, uint64_t pa, uint64_t length, bool for_writing) {
  mock_device_t *d = mock_host_device(host, device);
  mock_guard_t guard(&d->lock);
  uint32_t n = mock_chunk_by_address(host, d, pa);
  if (n == 0)
    return false;
  mock_chunk_t *chunk = mock_chunk_at(host, d, n);
  if (mock_chunk_is_host(chunk) && !range_within(pa - chunk->pa, length, chunk->size))
    return false;
  if (for_writing)
    mock_chunk_touch(d, chunk, pa - chunk->pa, length);
  return true;
}

}  // namespace

bool mock_decode_window(mock_host *host, uint32_t device, uint64_t file_offset, uint64_t length,
                        mock_target_t *out) {
  const mock_state_t *state = host->state;
  *out = {};
  out->device = device;
  out->place = {&host->device_memory[device], file_offset};
  uint64_t at = file_offset - mock_memory_core_offset(state, 0);
  if (at < state->cores * NEURON_BAR0_TPB_STRIDE) {
    auto core = static_cast<uint32_t>(at / NEURON_BAR0_TPB_STRIDE);
    at %= NEURON_BAR0_TPB_STRIDE;
    if (range_within(at - NEURON_BAR0_EVENT_OFFSET, length, NEURON_EVENT_BLOCK_SIZE))
      return found(MOCK_TARGET_CORE_EVENTS, core, at - NEURON_BAR0_EVENT_OFFSET, out);
    uint64_t engine = at - NEURON_BAR0_EVENT_OFFSET - PROJECT_ENGINE_BLOCK;
    if (range_within(engine, length, ISA_ENGINE_COUNT * PROJECT_ENGINE_STRIDE))
      return found(MOCK_TARGET_ENGINE, core, engine, out);
    return in_core_memory(state->arch, at, length) && found(MOCK_TARGET_CORE, core, at, out);
  }
  at = file_offset - mock_memory_top_sp_offset(state, 0);
  auto top_sp = static_cast<uint32_t>(at / NEURON_TOP_SP_SIZE);
  at %= NEURON_TOP_SP_SIZE;
  if (range_within(at, length, NEURON_EVENT_BLOCK_SIZE))
    return found(MOCK_TARGET_TOP_SP_EVENTS, top_sp, at, out);
  return at >= NEURON_EVENT_BLOCK_SIZE && range_within(at, length, NEURON_TOP_SP_SIZE) &&
         found(MOCK_TARGET_TOP_SP, top_sp, at, out);
}

bool mock_decode(mock_host *host, uint32_t device, uint64_t address, uint64_t length,
                 mock_target_t *out) {
  uint32_t neighbours[NEURON_MAX_NEIGHBOURS];
  uint32_t links = 0;
  if (address >= neuron_neighbour_window(host->state->arch, 0))
    links = mock_instance_neighbours(host->instance, device, neighbours);
  for (uint32_t link = 0; link < links; ++link) {
    uint64_t window = neuron_neighbour_window(host->state->arch, link);
    if (window == NEURON_NO_ADDRESS || address - window >= NEURON_V3_NEIGHBOUR_WINDOW_SIZE)
      continue;
    if (decode_own(host, neighbours[link], address - window, length, out) &&
        in_reach_of_neighbours(out->kind))
      return true;
    out->kind = MOCK_TARGET_NONE;
    return false;
  }
  if (decode_own(host, device, address, length, out))
    return true;
  out->kind = MOCK_TARGET_NONE;
  return false;
}

bool mock_target_claim(mock_host *host, const mock_target_t *target, uint64_t length,
                       bool for_writing) {
  const mock_state_t *state = host->state;
  if (target->kind == MOCK_TARGET_HBM) {
    if (!for_writing)
      return true;
    uint64_t pa = neuron_hbm_base(state->arch, target->index) + target->offset;
    if (!chunk_claim(host, target->device, pa, length, true)) {
      // Memory nobody owns: whoever gets it next must not see this.
      mock_device_t *device = mock_host_device(host, target->device);
      mock_guard_t guard(&device->lock);
      device->exposed = 1;
    }
    return true;
  }
  if (target->kind != MOCK_TARGET_HOST)
    return true;
  uint64_t pa = neuron_host_window_bit(state->arch) + target->offset;
  if (chunk_claim(host, target->device, pa, length, for_writing))
    return true;
  for (uint32_t d = 0; d < state->device_count; ++d)
    if (d != target->device && chunk_claim(host, d, pa, length, for_writing))
      return true;
  return false;
}

bool mock_decode_rows(mock_host *host, uint32_t device, const mock_rows_t *rows, mock_span_t *out) {
  uint64_t below = 0, above = rows->bytes;
  for (int d = 0; d < 2; ++d) {
    int64_t reach = (rows->count[d] - int64_t{1}) * rows->step[d];
    reach < 0 ? below -= static_cast<uint64_t>(reach) : above += static_cast<uint64_t>(reach);
  }
  out->first = below;
  out->length = below + above;
  mock_target_t *target = &out->target;
  if (!mock_decode(host, device, rows->address, rows->bytes, target))
    return false;
  if (target->kind != MOCK_TARGET_CORE)  // no gaps: from end to end it has to be one thing
    return mock_target_is_memory(target->kind) &&
           mock_decode(host, device, rows->address - below, out->length, target);
  if (!core_rows_decode(host->state, rows, target->offset, below, out->length))
    return false;
  target->offset -= below;
  target->place.offset -= below;
  return true;
}
