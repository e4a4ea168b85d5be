// SPDX-License-Identifier: Apache-2.0
// What programs write, and where: descriptors, the registers of a core's queues and engines as
// device addresses, words that raise semaphores (dma-and-exec.md 1, verified-facts.md G7, G8). No
// request to the driver is made here.
#pragma once

#include <cstdint>

#include "hal/arch.h"

struct hal_dma_desc_t {
  uint32_t len_ctrl;
  uint32_t meta_ctrl;
  uint64_t address;
};
static_assert(sizeof(hal_dma_desc_t) == 16);

constexpr uint32_t HAL_DMA_DESC_BYTES_MAX = 65536;
constexpr uint32_t HAL_DMA_PACKET_BYTES_MAX = 0xfffff;
constexpr uint32_t HAL_DMA_PACKET_DESCS_MAX = 60;  // of either side (dma-and-exec.md 1.3)

// Descriptors of a static ring: first lap's ring id. `length` is 1 to HAL_DMA_DESC_BYTES_MAX.
hal_dma_desc_t hal_dma_tx(uint64_t address, uint32_t length, bool first, bool last);
hal_dma_desc_t hal_dma_rx(uint64_t address, uint32_t length);
// Stands in front of a packet whose elements change from one type (isa_dtype_t) to another: it
// holds FIRST in place of the packet's first data descriptor.
hal_dma_desc_t hal_dma_tx_cast(uint8_t src_dtype, uint8_t dst_dtype);
uint32_t hal_dma_desc_bytes(const hal_dma_desc_t *desc);
// What follows in the ring is written after this TX descriptor's bytes.
void hal_dma_write_barrier(hal_dma_desc_t *tx);

constexpr uint32_t HAL_UDMA_ENGINES = 16;              // of a core
constexpr uint32_t HAL_UDMA_ALL = HAL_UDMA_ENGINES;    // the broadcast window reaches all of them
constexpr uint32_t HAL_UDMA_STATIC_QUEUES = 14;        // 14 is the sequencers', 15 collectives'
constexpr uint32_t HAL_UDMA_BROADCAST_MAX = 0xffff;    // of a doorbell in the broadcast window
constexpr uint32_t HAL_UDMA_RING_LENGTH = 0x00fffff0;  // what the closed runtime writes
uint32_t hal_udma_doorbell_value(uint32_t count, uint32_t skip_mask);  // broadcast window

enum hal_udma_register_t {
  HAL_UDMA_RESET,   // takes hal_udma_reset_value
  HAL_UDMA_CONFIG,  // takes hal_udma_config_value
  HAL_UDMA_BASE,    // low word, the high one behind it
  HAL_UDMA_LENGTH,
  HAL_UDMA_DOORBELL,
};
uint32_t hal_udma_reset_value();
uint32_t hal_udma_config_value();  // on
// Device address of a register of queue `queue` of engine `engine` (of the core, or HAL_UDMA_ALL).
// All ones: none is known (the broadcast window of the second core of a v2).
uint64_t hal_udma_register(const hal_arch_t *arch, uint32_t nc_id, uint32_t engine, uint32_t queue,
                           bool rx, hal_udma_register_t which);
uint64_t hal_udma_stride(const hal_arch_t *arch);  // bytes from an engine's registers to the next's
uint64_t hal_udma_rx_offset();                     // bytes from a TX register to its RX twin

// Writing V raises the semaphore by V. All ones: no such core.
uint64_t hal_semaphore_increment(const hal_arch_t *arch, uint32_t nc_id, uint32_t semaphore);
uint64_t hal_event_state(const hal_arch_t *arch, uint32_t nc_id, uint32_t event);
// A word that reads as 1.
uint64_t hal_constant_one(const hal_arch_t *arch);
// Register `reg` (PROJECT_ENGINE_*, isa/project.h) of an instruction engine. All ones: no such
// core.
uint64_t hal_engine_register(const hal_arch_t *arch, uint32_t nc_id, uint32_t engine, uint64_t reg);
