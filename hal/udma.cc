// SPDX-License-Identifier: Apache-2.0
#include "hal/udma.h"

#include "isa/project.h"
#include "uapi/neuron_address_map.h"
#include "uapi/neuron_udma.h"

static_assert(sizeof(hal_dma_desc_t) == sizeof(neuron_dma_desc));
static_assert(HAL_UDMA_ENGINES == NEURON_DMA_ENGINES_PER_CORE);
static_assert(HAL_UDMA_BROADCAST_MAX == NEURON_UDMA_BROADCAST_COUNT);
static_assert(HAL_DMA_PACKET_BYTES_MAX == NEURON_DMA_PACKET_BYTES_MAX);

namespace {

uint32_t length_field(uint32_t length) {
  return (length & NEURON_DMA_DESC_LENGTH) | NEURON_UDMA_FIRST_RING_ID
                                                 << NEURON_DMA_DESC_RING_ID_SHIFT;
}

uint64_t event_block(const hal_arch_t *arch, uint32_t nc_id) {
  return nc_id < arch->cores_per_device ? arch->tpb_base[nc_id] + arch->event_offset : UINT64_MAX;
}

uint64_t register_offset(bool rx, hal_udma_register_t which) {
  switch (which) {
    case HAL_UDMA_RESET:
      return rx ? NEURON_UDMA_RX_SOFTWARE_CONTROL : NEURON_UDMA_TX_SOFTWARE_CONTROL;
    case HAL_UDMA_CONFIG:
      return NEURON_UDMA_CONFIG;
    case HAL_UDMA_BASE:
      return NEURON_UDMA_BASE_LOW;
    case HAL_UDMA_LENGTH:
      return NEURON_UDMA_LENGTH;
    default:
      return NEURON_UDMA_TAIL_INCREMENT;
  }
}

}  // namespace

hal_dma_desc_t hal_dma_tx(uint64_t address, uint32_t length, bool first, bool last) {
  return {length_field(length) | (first ? NEURON_DMA_DESC_FIRST : 0) |
              (last ? NEURON_DMA_DESC_LAST : 0),
          NEURON_DMA_META_COPY, address};
}

hal_dma_desc_t hal_dma_rx(uint64_t address, uint32_t length) {
  return {length_field(length), 0, address};
}

hal_dma_desc_t hal_dma_tx_cast(uint8_t src_dtype, uint8_t dst_dtype) {
  return {length_field(0) | NEURON_DMA_DESC_META | NEURON_DMA_DESC_FIRST, PROJECT_DMA_META_CAST,
          project_dma_cast(src_dtype, dst_dtype)};
}

uint32_t hal_dma_desc_bytes(const hal_dma_desc_t *desc) {
  uint32_t length = desc->len_ctrl & NEURON_DMA_DESC_LENGTH;
  return length == 0 ? HAL_DMA_DESC_BYTES_MAX : length;
}

void hal_dma_write_barrier(hal_dma_desc_t *tx) {
  tx->meta_ctrl |= NEURON_DMA_META_WRITE_BARRIER;
}

uint32_t hal_udma_doorbell_value(uint32_t count, uint32_t skip_mask) {
  return count | skip_mask << NEURON_UDMA_BROADCAST_SKIP_SHIFT;
}

uint32_t hal_udma_reset_value() {
  return NEURON_UDMA_RESET_QUEUE;
}

uint32_t hal_udma_config_value() {
  return NEURON_UDMA_CONFIG_RESET | NEURON_UDMA_CONFIG_PREFETCH | NEURON_UDMA_CONFIG_SCHEDULE;
}

uint64_t hal_udma_register(const hal_arch_t *arch, uint32_t nc_id, uint32_t engine, uint32_t queue,
                           bool rx, hal_udma_register_t which) {
  if (nc_id >= arch->cores_per_device)  // engines behind the cores' are the driver's
    return UINT64_MAX;
  uint64_t block = engine == HAL_UDMA_ALL
                       ? neuron_udma_broadcast_address(arch->arch, nc_id)
                       : neuron_udma_address(arch->arch, nc_id * HAL_UDMA_ENGINES + engine);
  if (block == NEURON_NO_ADDRESS)
    return UINT64_MAX;
  return block + (rx ? NEURON_UDMA_RX : 0) + NEURON_UDMA_QUEUE(queue) + register_offset(rx, which);
}

uint64_t hal_udma_stride(const hal_arch_t *arch) {
  return neuron_udma_address(arch->arch, 1) - neuron_udma_address(arch->arch, 0);
}

uint64_t hal_udma_rx_offset() {
  return NEURON_UDMA_RX;
}

uint64_t hal_semaphore_increment(const hal_arch_t *arch, uint32_t nc_id, uint32_t semaphore) {
  uint64_t block = event_block(arch, nc_id);
  return block == UINT64_MAX ? block
                             : block + NEURON_SEMAPHORE_INCREMENT + sizeof(uint32_t) * semaphore;
}

uint64_t hal_event_state(const hal_arch_t *arch, uint32_t nc_id, uint32_t event) {
  uint64_t block = event_block(arch, nc_id);
  return block == UINT64_MAX ? block : block + NEURON_EVENT_STATE + sizeof(uint32_t) * event;
}

uint64_t hal_constant_one(const hal_arch_t *arch) {
  return neuron_event_constants(arch->arch) + sizeof(uint32_t);
}

uint64_t hal_engine_register(const hal_arch_t *arch, uint32_t nc_id, uint32_t engine,
                             uint64_t reg) {
  uint64_t block = event_block(arch, nc_id);
  return block == UINT64_MAX ? block
                             : block + PROJECT_ENGINE_BLOCK + engine * PROJECT_ENGINE_STRIDE + reg;
}
