// SPDX-License-Identifier: Apache-2.0
#include "tdrv/vring.h"

#include <cstdlib>

#include "base/nlog.h"
#include "tdrv/grow.h"

namespace {

NRT_STATUS make_room(vring_half_t *half, uint32_t more) {
  uint64_t wanted = uint64_t{half->count} + more;
  if (wanted > VRING_HALF_MAX) {
    NLOG_ERROR(NLOG_TDRV, "a ring would hold {} descriptors, the limit is {}", wanted,
               VRING_HALF_MAX);
    return NRT_INVALID;
  }
  if (grow(&half->descs, &half->capacity, wanted) &&
      grow(&half->io, &half->io_capacity, uint64_t{half->num_io} + more))
    return NRT_SUCCESS;
  NLOG_ERROR(NLOG_TDRV, "no host memory for a ring of {} descriptors", wanted);
  return NRT_RESOURCE;
}

void put(vring_half_t *half, const hal_dma_desc_t &desc, const vring_run_t *run) {
  if (run->io_slot != IO_SLOT_NONE)
    half->io[half->num_io++] = {half->count, run->io_slot, run->io_offset};
  half->descs[half->count++] = desc;
  half->bytes += run->length;
}

void free_half(vring_half_t *half) {
  free(half->descs);
  free(half->io);
  *half = {};
}

}  // namespace

NRT_STATUS vring_add_packet(vring_t *ring, const vring_cast_t *cast, const vring_run_t *tx,
                            uint32_t num_tx, const vring_run_t *rx, uint32_t num_rx) {
  NRT_STATUS status = make_room(&ring->tx, num_tx + 1);
  if (status == NRT_SUCCESS)
    status = make_room(&ring->rx, num_rx);
  if (status != NRT_SUCCESS)
    return status;
  if (cast != nullptr)
    ring->tx.descs[ring->tx.count++] = hal_dma_tx_cast(cast->src_dtype, cast->dst_dtype);
  for (uint32_t i = 0; i < num_tx; ++i)
    put(&ring->tx,
        hal_dma_tx(tx[i].address, tx[i].length, i == 0 && cast == nullptr, i + 1 == num_tx),
        &tx[i]);
  for (uint32_t i = 0; i < num_rx; ++i)
    put(&ring->rx, hal_dma_rx(rx[i].address, rx[i].length), &rx[i]);
  ++ring->packets;
  return NRT_SUCCESS;
}

void vring_close_data(vring_t *ring) {
  if (ring->tx.count != 0)
    hal_dma_write_barrier(&ring->tx.descs[ring->tx.count - 1]);
}

void vring_free(vring_t *ring) {
  free_half(&ring->tx);
  free_half(&ring->rx);
  ring->packets = 0;
}
