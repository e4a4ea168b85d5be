// SPDX-License-Identifier: Apache-2.0
// A virtual ring: the descriptors of one queue while they are put together on the host
// (dma-and-exec.md 2.1). TX and RX halves grow apart; a packet is added whole.
#pragma once

#include <cstdint>

#include "hal/udma.h"
#include "nrt/nrt_status.h"
#include "tdrv/io_ref.h"

constexpr uint32_t VRING_HALF_MAX = 16'777'200;  // descriptors (dma-and-exec.md 2.1)

// A descriptor that points into an input or output: at `offset` of slot `slot`'s tensor.
struct vring_io_t {
  uint32_t index;
  uint32_t slot;
  uint64_t offset;
};

struct vring_half_t {
  hal_dma_desc_t *descs;
  uint32_t count, capacity;
  uint64_t bytes;
  vring_io_t *io;
  uint32_t num_io, io_capacity;
};

struct vring_t {
  vring_half_t tx, rx;
  uint32_t packets;
};

// One end of a packet's piece of bytes.
struct vring_run_t {
  uint64_t address;
  uint32_t length;   // 1 to HAL_DMA_DESC_BYTES_MAX
  uint32_t io_slot;  // or IO_SLOT_NONE
  uint64_t io_offset;
};

// Element types (isa_dtype_t) of a packet that converts.
struct vring_cast_t {
  uint8_t src_dtype, dst_dtype;
};

// FIRST on the first TX descriptor, LAST on the last; `cast` (or NULL) puts one without data in
// front. NRT_RESOURCE: host memory; NRT_INVALID: a
// half beyond VRING_HALF_MAX.
NRT_STATUS vring_add_packet(vring_t *ring, const vring_cast_t *cast, const vring_run_t *tx,
                            uint32_t num_tx, const vring_run_t *rx, uint32_t num_rx);
// The bytes of the last packet are written before those of later ones. An empty ring has none.
void vring_close_data(vring_t *ring);
void vring_free(vring_t *ring);
