// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/notification.h"

#include <algorithm>
#include <cerrno>

#include "mock_dev/chunk.h"

namespace {

constexpr uint32_t TYPES_SHIFT = 4;
static_assert(1u << TYPES_SHIFT == NEURON_NQ_QUEUES_PER_TYPE);
constexpr uint64_t MAX_ALIGN = 0x7fffffff;

// Hardware queue behind a slot. DMA traces of a core leave through the engines' own blocks.
mock_nq_registers_t *registers_of(mock_device_t *device, uint32_t unit, uint32_t slot) {
  uint32_t engine = slot % NEURON_NQ_QUEUES_PER_TYPE;
  if (unit < NEURON_MAX_CORES && slot >> TYPES_SHIFT == NEURON_NQ_TYPE_DMA_TRACE)
    return &device->nq_dma_trace[unit][engine];
  return &device->nq_registers[unit][engine];
}

// Core that is charged for a unit's queues.
uint32_t core_of(const mock_state_t *state, uint32_t unit) {
  if (unit < NEURON_MAX_CORES)
    return unit;
  return (unit - NEURON_MAX_CORES) / mock_top_sps_per_core(state);
}

int queue_create(mock_host *host, mock_device_t *device, const mock_nq_request_t *request,
                 uint32_t *chunk) {
  if (request->channel >= host->state->hbms || (!request->host && request->size > MAX_ALIGN))
    return -EINVAL;
  mock_chunk_request_t r = {};
  r.size = request->size;
  r.align = request->host ? 0 : request->size;
  r.host = request->host;
  r.channel = request->channel;
  r.nc_id = core_of(host->state, request->unit);
  r.category = request->host ? NEURON_MEM_NOTIFICATION_HOST : NEURON_MEM_NOTIFICATION_DEVICE;
  r.lifetime = MOCK_LIFETIME_DEVICE;
  r.slot = MOCK_NO_SLOT;
  r.tgid = request->tgid;
  int rc = mock_chunk_create(host, device, &r, chunk);
  if (rc != 0)
    return rc;
  rc = mock_chunk_poison(host, device, mock_chunk_at(host, device, *chunk));
  if (rc != 0)
    mock_chunk_destroy(host, device, *chunk);
  return rc;
}

uint64_t address_in(const mock_nq_registers_t *r) {
  return (static_cast<uint64_t>(r->address_high) << 32) | r->address_low;
}

// One register and how it takes a write.
struct nq_register_t {
  uint32_t *value;
  mock_nq_registers_t *queue;  // nullptr: the interrupt cause
  uint64_t reg;                // as of queue 0
};

bool register_in_block(mock_nq_registers_t *queues, uint32_t count, uint64_t block, uint64_t bar0,
                       nq_register_t *out) {
  uint64_t at = bar0 - block - NEURON_NQ_ADDRESS_LOW;
  if (block == NEURON_NO_ADDRESS || at >= count * NEURON_NQ_STRIDE)
    return false;
  mock_nq_registers_t *q = out->queue = &queues[at / NEURON_NQ_STRIDE];
  out->reg = NEURON_NQ_ADDRESS_LOW + at % NEURON_NQ_STRIDE;
  switch (out->reg) {
    case NEURON_NQ_ADDRESS_LOW:
      out->value = &q->address_low;
      return true;
    case NEURON_NQ_ADDRESS_HIGH:
      out->value = &q->address_high;
      return true;
    case NEURON_NQ_SIZE:
      out->value = &q->size;
      return true;
    case NEURON_NQ_HEAD:
      out->value = &q->head;
      return true;
    case NEURON_NQ_TAIL:
      out->value = &q->tail;
      return true;
    default:
      return false;
  }
}

// Queues and interrupt cause of a unit.
bool register_of_unit(mock_device_t *device, uint32_t unit, uint64_t block, uint64_t bar0,
                      nq_register_t *out) {
  if (block != NEURON_NO_ADDRESS && bar0 - block == PROJECT_NQ_CAUSE) {
    *out = {&device->nq_cause[unit], nullptr, PROJECT_NQ_CAUSE};
    return true;
  }
  return register_in_block(device->nq_registers[unit], NEURON_NQ_QUEUES_PER_TYPE, block, bar0, out);
}

bool register_at(const mock_state_t *state, mock_device_t *device, uint64_t bar0,
                 nq_register_t *out) {
  uint32_t arch = state->arch;
  for (uint32_t core = 0; core < state->cores; ++core) {
    if (register_of_unit(device, mock_nq_unit_core(core), neuron_nq_core_bar0_offset(arch, core),
                         bar0, out))
      return true;
    for (uint32_t e = 0; e < NEURON_DMA_ENGINES_PER_CORE; ++e)
      if (register_in_block(&device->nq_dma_trace[core][e], 1,
                            neuron_nq_dma_trace_bar0_offset(arch, core, e), bar0, out))
        return true;
  }
  for (uint32_t t = 0; t < neuron_arch_counts_get(arch).top_sps; ++t)
    if (register_of_unit(device, mock_nq_unit_top_sp(t), neuron_nq_top_sp_bar0_offset(arch, t),
                         bar0, out))
      return true;
  return false;
}

}  // namespace

int mock_notification_init(mock_host *host, mock_device_t *device, const mock_nq_request_t *request,
                           uint32_t *chunk) {
  uint8_t slot = static_cast<uint8_t>((request->type << TYPES_SHIFT) + request->engine);
  if (slot >= NEURON_NQ_SLOTS || request->engine >= NEURON_NQ_QUEUES_PER_TYPE)
    return -EINVAL;
  uint32_t *place = &device->nq_chunks[request->unit][slot];
  uint32_t old = *place;
  if (old != 0 && !request->replace) {
    *chunk = old;
    return 0;
  }
  int rc = queue_create(host, device, request, chunk);
  if (rc != 0)
    return rc;
  mock_chunk_t *c = mock_chunk_at(host, device, *chunk);
  c->nq = request->unit * NEURON_NQ_SLOTS + slot + 1;
  *place = *chunk;
  *registers_of(device, request->unit, slot) = {
      static_cast<uint32_t>(c->pa), static_cast<uint32_t>(c->pa >> 32), request->size, 0, 0, 0};
  if (old != 0) {
    mock_chunk_at(host, device, old)->nq = 0;
    mock_chunk_destroy(host, device, old);
  }
  return 0;
}

void mock_notification_free(mock_host *host, mock_device_t *device, uint32_t chunk) {
  mock_chunk_t *c = mock_chunk_at(host, device, chunk);
  uint32_t unit = (c->nq - 1) / NEURON_NQ_SLOTS, slot = (c->nq - 1) % NEURON_NQ_SLOTS;
  mock_nq_registers_t *r = registers_of(device, unit, slot);
  if (address_in(r) == c->pa)  // another type may have taken the hardware queue over
    r->address_low = r->address_high = r->size = 0;
  device->nq_chunks[unit][slot] = 0;
  c->nq = 0;
  mock_chunk_destroy(host, device, chunk);
}

void mock_notification_free_unit(mock_host *host, mock_device_t *device, uint32_t unit) {
  for (uint32_t chunk : device->nq_chunks[unit])
    if (chunk != 0)
      mock_notification_free(host, device, chunk);
}

bool mock_notification_register_read(mock_host *host, mock_device_t *device, uint64_t bar0,
                                     uint32_t *value) {
  mock_guard_t guard(&device->lock);
  nq_register_t at;
  if (!register_at(host->state, device, bar0, &at))
    return false;
  *value = *at.value;
  return true;
}

bool mock_notification_register_write(mock_host *host, mock_device_t *device, uint64_t bar0,
                                      uint32_t value) {
  mock_guard_t guard(&device->lock);
  nq_register_t at;
  if (!register_at(host->state, device, bar0, &at))
    return false;
  if (at.reg == PROJECT_NQ_CAUSE)
    *at.value &= ~value;
  else if (at.reg != NEURON_NQ_TAIL)  // the hardware's own
    *at.value = value;
  if (at.reg == NEURON_NQ_SIZE)  // a new ring
    at.queue->tail = at.queue->lap = 0;
  return true;
}
