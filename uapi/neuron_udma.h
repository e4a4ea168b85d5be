/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a UDMA engine understands: descriptors, queue registers, engine registers. Facts:
 * mock-device-semantics.md 6, dma-and-exec.md 1, verified-facts.md G7. Where the register blocks
 * are: neuron_address_map.h.
 */
#ifndef UAPI_NEURON_UDMA_H
#define UAPI_NEURON_UDMA_H

#include "uapi/neuron_shared.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- descriptors ------------------------------------------------------------------------------ */

/* 16 bytes, little endian. TX names where bytes come from, RX where they go. */
struct neuron_dma_desc {
  uint32_t len_ctrl;
  uint32_t meta_ctrl; /* TX only; RX: a second buffer, unused */
  uint64_t address;
};
NEURON_ABI_SIZE(neuron_dma_desc, 16, 8);
NEURON_ABI_AT(neuron_dma_desc, len_ctrl, 0);
NEURON_ABI_AT(neuron_dma_desc, meta_ctrl, 4);
NEURON_ABI_AT(neuron_dma_desc, address, 8);

/* len_ctrl */
#define NEURON_DMA_DESC_LENGTH 0x0000ffffu   /* bytes, 0 = 65536 */
#define NEURON_DMA_DESC_RESERVED 0x007f0000u /* zero */
#define NEURON_DMA_DESC_META 0x00800000u     /* TX: a compute descriptor, no data */
#define NEURON_DMA_DESC_RING_ID_SHIFT 24     /* 2 bits */
#define NEURON_DMA_DESC_FIRST 0x04000000u    /* TX: of a packet */
#define NEURON_DMA_DESC_LAST 0x08000000u
#define NEURON_DMA_DESC_INTERRUPT 0x10000000u
#define NEURON_DMA_DESC_STRONG_ORDER 0x20000000u /* RX, v3 */
#define NEURON_DMA_DESC_BARRIER 0x40000000u      /* TX: waits for everything earlier */
#define NEURON_DMA_DESC_CONCAT 0x80000000u       /* TX; RX: a semaphore is embedded */

/* meta_ctrl */
#define NEURON_DMA_META_COPY 0x01080003u /* a plain copy */
#define NEURON_DMA_META_WRITE_BARRIER 0x04000000u
#define NEURON_DMA_META_BLOCK_BITS 0x00000003u /* last and first block */

#define NEURON_DMA_PACKET_BYTES_MAX 0xfffffu

/* --- registers of a queue --------------------------------------------------------------------- */

/* TX queue q at block + NEURON_UDMA_QUEUE(q), RX at NEURON_UDMA_RX further up. */
#define NEURON_UDMA_BLOCK_SIZE 0x40000ull
#define NEURON_UDMA_RX 0x20000ull
#define NEURON_UDMA_QUEUE(q) (0x1000ull + 0x1000ull * (q))

#define NEURON_UDMA_CONFIG 0x20ull
#define NEURON_UDMA_STATUS 0x24ull
#define NEURON_UDMA_BASE_LOW 0x28ull
#define NEURON_UDMA_BASE_HIGH 0x2cull
#define NEURON_UDMA_LENGTH 0x30ull         /* descriptors, 24 bits */
#define NEURON_UDMA_HEAD 0x34ull           /* index 23-0, ring id 31-30 */
#define NEURON_UDMA_TAIL_INCREMENT 0x38ull /* the doorbell */
#define NEURON_UDMA_TAIL 0x3cull
#define NEURON_UDMA_CURRENT 0x40ull
#define NEURON_UDMA_COMPLETION_LOW 0x44ull
#define NEURON_UDMA_COMPLETION_HIGH 0x48ull
#define NEURON_UDMA_COMPLETION_HEAD 0x4cull
#define NEURON_UDMA_TX_COMPLETION_CONFIG 0xa0ull
#define NEURON_UDMA_RX_COMPLETION_CONFIG 0x54ull
#define NEURON_UDMA_TX_SOFTWARE_CONTROL 0xb0ull
#define NEURON_UDMA_RX_SOFTWARE_CONTROL 0x64ull

#define NEURON_UDMA_CONFIG_RESET 0x03000000u
#define NEURON_UDMA_CONFIG_PREFETCH 0x00010000u
#define NEURON_UDMA_CONFIG_SCHEDULE 0x00020000u
#define NEURON_UDMA_POINTER_INDEX 0x00ffffffu
#define NEURON_UDMA_POINTER_RING_ID_SHIFT 30
#define NEURON_UDMA_FIRST_RING_ID 1u
#define NEURON_UDMA_RESET_TAIL 0x002u
#define NEURON_UDMA_RESET_HEAD 0x004u
#define NEURON_UDMA_RESET_CURRENT 0x008u
#define NEURON_UDMA_RESET_QUEUE 0x100u

/* --- registers of an engine; RX at NEURON_UDMA_RX further up --------------------------------- */

#define NEURON_UDMA_STATE 0x200ull        /* 2 bits at 0, 4, 8, 12 */
#define NEURON_UDMA_CHANGE_STATE 0x204ull /* one of the NEURON_UDMA_TO_* */
#define NEURON_UDMA_STATE_IDLE 0u
#define NEURON_UDMA_STATE_NORMAL 1u
#define NEURON_UDMA_STATE_ABORT 2u
#define NEURON_UDMA_TO_NORMAL 0x1u
#define NEURON_UDMA_TO_DISABLED 0x2u
#define NEURON_UDMA_TO_ABORT 0x4u

/* Doorbell value in a broadcast window: descriptors, and the engines to leave out. */
#define NEURON_UDMA_BROADCAST_COUNT 0x0000ffffu
#define NEURON_UDMA_BROADCAST_SKIP_SHIFT 16

#ifdef __cplusplus
}
#endif

#endif
