// SPDX-License-Identifier: Apache-2.0
// Doorbells and set-up of queue sets, as instructions (verified-facts.md G7, G8.3). Registers of
// all engines are reached at once through the broadcast window, whose doorbells name the engines
// to leave out; where no window is known (second core of a v2) each engine is written by itself.
#include <algorithm>
#include <cstring>

#include "tdrv/queue_set.h"

namespace {

constexpr uint32_t kAllRings = (1u << DMA_EXPAND_RINGS) - 1;
constexpr uint32_t kBasesPerRecord = 4;

struct emitter_t {
  const hal_arch_t *arch;
  uint32_t nc_id;
  const queue_set_t *set;
  instr_block_t *block;
};

emitter_t emitter_of(const queue_sets_t *sets, const queue_set_t *set, instr_block_t *block) {
  const physical_core_t *core = &sets->info->mr_sets[sets->subgraph].tpb->pcore;
  return {core->arch, core->nc_id, set, block};
}

uint64_t address_of(const emitter_t *e, uint32_t engine, bool rx, hal_udma_register_t which) {
  return hal_udma_register(e->arch, e->nc_id, engine, e->set->ring, rx, which);
}

// Destination side first: descriptors must be there before bytes arrive. A value of 0 for an absent
// side.
void write_both(const emitter_t *e, uint32_t engine, hal_udma_register_t which, bool with_rx,
                uint32_t rx, bool with_tx, uint32_t tx) {
  isa_header h = instr_header(ISA_WRITE);
  uint64_t address[2];
  uint32_t value[2], count = 0;
  if (with_rx) {
    address[count] = address_of(e, engine, true, which);
    value[count++] = rx;
  }
  if (with_tx) {
    address[count] = address_of(e, engine, false, which);
    value[count++] = tx;
  }
  if (count != 0)
    instr_write(e->block, &h, address, value, count);
}

// The same registers of all rings of a set.
void write_all(const emitter_t *e, hal_udma_register_t which, uint32_t value) {
  if (address_of(e, HAL_UDMA_ALL, false, which) != UINT64_MAX &&
      e->set->queue->num_queues == DMA_EXPAND_RINGS) {
    write_both(e, HAL_UDMA_ALL, which, true, value, true, value);
    return;
  }
  for (uint32_t k = 0; k < e->set->queue->num_queues; ++k)
    write_both(e, k, which, true, value, true, value);
}

// `rx` and `tx` more descriptors on each of the rings in `rings`.
void ring_group(const emitter_t *e, uint32_t rings, uint32_t rx, uint32_t tx) {
  bool broadcast = address_of(e, HAL_UDMA_ALL, false, HAL_UDMA_DOORBELL) != UINT64_MAX;
  while (rx != 0 || tx != 0) {
    uint32_t rx_now = std::min(rx, HAL_UDMA_BROADCAST_MAX);
    uint32_t tx_now = std::min(tx, HAL_UDMA_BROADCAST_MAX);
    if (broadcast) {
      uint32_t skip = ~rings & kAllRings;
      write_both(e, HAL_UDMA_ALL, HAL_UDMA_DOORBELL, rx_now != 0,
                 hal_udma_doorbell_value(rx_now, skip), tx_now != 0,
                 hal_udma_doorbell_value(tx_now, skip));
    }
    for (uint32_t k = 0; !broadcast && k < DMA_EXPAND_RINGS; ++k)
      if ((rings >> k & 1) != 0)
        write_both(e, k, HAL_UDMA_DOORBELL, rx_now != 0, rx_now, tx_now != 0, tx_now);
    rx -= rx_now;
    tx -= tx_now;
  }
}

// What all rings get at once, then the rest of those that get more, equal ones together.
void ring_all(const emitter_t *e, const uint32_t *rx, const uint32_t *tx) {
  uint32_t rings = e->set->queue->num_queues;
  uint32_t base_rx = *std::min_element(rx, rx + rings);
  uint32_t base_tx = *std::min_element(tx, tx + rings);
  ring_group(e, (1u << rings) - 1, base_rx, base_tx);
  uint32_t done = 0;
  for (uint32_t k = 0; k < rings; ++k) {
    if ((done >> k & 1) != 0)
      continue;
    uint32_t group = 0;
    for (uint32_t i = k; i < rings; ++i)
      group |= rx[i] == rx[k] && tx[i] == tx[k] ? 1u << i : 0;
    done |= group;
    ring_group(e, group, rx[k] - base_rx, tx[k] - base_tx);
  }
}

// Bases and lengths of four engines at a time.
void write_rings(const emitter_t *e) {
  auto outer = static_cast<uint32_t>(hal_udma_stride(e->arch));
  for (uint32_t first = 0; first < e->set->queue->num_queues; first += kBasesPerRecord) {
    uint32_t count = std::min(e->set->queue->num_queues - first, kBasesPerRecord);
    uint32_t value[2 * kBasesPerRecord] = {};
    for (bool rx : {false, true}) {
      for (uint32_t i = 0; i < count; ++i) {
        uint64_t base = (rx ? e->set->rx : e->set->tx)[first + i].pa;
        value[2 * i] = static_cast<uint32_t>(base);
        value[2 * i + 1] = static_cast<uint32_t>(base >> 32);
      }
      instr_store_pairs(e->block, address_of(e, first, rx, HAL_UDMA_BASE), sizeof(uint32_t), outer,
                        value, count);
    }
    std::fill_n(value, 2 * count, HAL_UDMA_RING_LENGTH);
    instr_store_pairs(e->block, address_of(e, first, false, HAL_UDMA_LENGTH),
                      static_cast<uint32_t>(hal_udma_rx_offset()), outer, value, count);
  }
}

void set_up(const emitter_t *e) {
  write_all(e, HAL_UDMA_RESET, hal_udma_reset_value());
  write_rings(e);
  write_all(e, HAL_UDMA_CONFIG, hal_udma_config_value());
  if (e->set->queue->type != kbin_dma_queue_type_t::DATA)
    return;
  // Destinations of the whole program at once.
  uint32_t rx[DMA_EXPAND_RINGS], none[DMA_EXPAND_RINGS] = {};
  for (uint32_t k = 0; k < DMA_EXPAND_RINGS; ++k)
    rx[k] = e->set->rx[k].used;
  ring_all(e, rx, none);
}

}  // namespace

void queue_set_trigger(const queue_sets_t *sets, const queue_set_t *set,
                       const block_counts_t *counts, const isa_header *header,
                       instr_block_t *block) {
  emitter_t e = emitter_of(sets, set, block);
  uint32_t none[DMA_EXPAND_RINGS] = {};
  uint32_t before = block->count;
  bool data = set->queue->type == kbin_dma_queue_type_t::DATA;
  ring_all(&e, data ? none : counts->rx, counts->tx);
  if (block->count == before) {  // a block without anything in it still waits and updates
    isa_record nop = {};
    nop.h = instr_header(ISA_NOP);
    instr_append(block, &nop);
  }
  if (block->failed)
    return;
  isa_header *first = &block->records[before].h, *last = &block->records[block->count - 1].h;
  first->debug_command = header->debug_command;
  first->debug_hint = header->debug_hint;
  if (header->wait_mode != ISA_WAIT_NONE) {
    first->wait_mode = header->wait_mode;
    first->wait_index = header->wait_index;
    first->value = header->value;
  }
  if (header->update_mode != ISA_UPDATE_NONE) {
    last->update_mode = header->update_mode;
    last->update_index = header->update_index;
    last->value = header->value;
  }
}

void queue_sets_setup(const queue_sets_t *sets, isa_engine_t owner, instr_block_t *block) {
  for (uint32_t i = 0; i < sets->num_sets; ++i) {
    emitter_t e = emitter_of(sets, &sets->sets[i], block);
    if (sets->sets[i].owner == owner)
      set_up(&e);
  }
}
