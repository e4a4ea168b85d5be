// SPDX-License-Identifier: Apache-2.0
// From the access patterns of a static transfer to descriptors (dma-and-exec.md 2.5,
// verified-facts.md G8.2).
#pragma once

#include "kelf/kbin.h"
#include "tdrv/vring.h"

constexpr uint32_t DMA_EXPAND_RINGS = HAL_UDMA_ENGINES;

// Adds a transfer's packets to the rings: shared out over all of them when it names a number of
// tiling dimensions, else to the first. A side's rows are its runs of the innermost dimension, one
// descriptor each; a side whose rows follow one another gets two descriptors per ring of a shared
// transfer. More of them only where a descriptor's or a packet's limit asks for it. NRT_INVALID:
// sides of different length, an operation that is not implemented, a bad variable or range.
NRT_STATUS dma_expand_transfer(const vtpb_info_shared_t *info, uint32_t subgraph,
                               const kbin_dma_transfer_t *transfer, vring_t *rings,
                               uint32_t num_rings);
