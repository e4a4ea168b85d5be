/* SPDX-License-Identifier: Apache-2.0 */
/* Argument structures: DMA engines and queues (uapi.md 6.4). */
#ifndef UAPI_NEURON_IOCTL_DMA_H
#define UAPI_NEURON_IOCTL_DMA_H

#include "uapi/neuron_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DMA_ENG_INIT: accepted and ignored. */
struct neuron_ioctl_dma_eng_init {
  uint32_t eng_id; /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_eng_init, 4, 4);
NEURON_ABI_AT(neuron_ioctl_dma_eng_init, eng_id, 0);

/* DMA_ENG_SET_STATE. */
struct neuron_ioctl_dma_eng_set_state {
  uint32_t eng_id; /* in */
  uint32_t state;  /* in: NEURON_UDMA_* */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_eng_set_state, 8, 4);
NEURON_ABI_AT(neuron_ioctl_dma_eng_set_state, eng_id, 0);
NEURON_ABI_AT(neuron_ioctl_dma_eng_set_state, state, 4);

/* DMA_ENG_GET_STATE. */
struct neuron_ioctl_dma_eng_get_state {
  uint32_t eng_id;                    /* in */
  struct neuron_dma_eng_state *state; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_eng_get_state, 16, 8);
NEURON_ABI_AT(neuron_ioctl_dma_eng_get_state, eng_id, 0);
NEURON_ABI_AT(neuron_ioctl_dma_eng_get_state, state, 8);

/* State of one UDMA engine. */
struct neuron_dma_eng_state {
  uint32_t revision_id; /* out */
  uint32_t max_queues;  /* out */
  uint32_t num_queues;  /* out */
  uint32_t tx_state;    /* out: NEURON_UDMA_* */
  uint32_t rx_state;    /* out: NEURON_UDMA_* */
};
NEURON_ABI_SIZE(neuron_dma_eng_state, 20, 4);
NEURON_ABI_AT(neuron_dma_eng_state, revision_id, 0);
NEURON_ABI_AT(neuron_dma_eng_state, max_queues, 4);
NEURON_ABI_AT(neuron_dma_eng_state, num_queues, 8);
NEURON_ABI_AT(neuron_dma_eng_state, tx_state, 12);
NEURON_ABI_AT(neuron_dma_eng_state, rx_state, 16);

/* DMA_QUEUE_INIT: gives a queue its rings. */
struct neuron_ioctl_dma_queue_init {
  uint32_t eng_id;        /* in */
  uint32_t qid;           /* in */
  uint32_t tx_desc_count; /* in */
  uint32_t rx_desc_count; /* in */
  uint64_t tx_handle;     /* in: 0 = no such ring */
  uint64_t rx_handle;     /* in: 0 = no such ring */
  uint64_t rxc_handle;    /* in: must be 0 */
  uint32_t axi_port;      /* in: no meaning on v2 and v3 */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_queue_init, 48, 8);
NEURON_ABI_AT(neuron_ioctl_dma_queue_init, eng_id, 0);
NEURON_ABI_AT(neuron_ioctl_dma_queue_init, qid, 4);
NEURON_ABI_AT(neuron_ioctl_dma_queue_init, tx_desc_count, 8);
NEURON_ABI_AT(neuron_ioctl_dma_queue_init, rx_desc_count, 12);
NEURON_ABI_AT(neuron_ioctl_dma_queue_init, tx_handle, 16);
NEURON_ABI_AT(neuron_ioctl_dma_queue_init, rx_handle, 24);
NEURON_ABI_AT(neuron_ioctl_dma_queue_init, rxc_handle, 32);
NEURON_ABI_AT(neuron_ioctl_dma_queue_init, axi_port, 40);

/*
 * DMA_QUEUE_INIT_BATCH: many queues at once. The array has one entry more than count may
 * reach.
 */
struct neuron_ioctl_dma_queue_init_batch {
  uint32_t count;                                  /* in */
  struct neuron_ioctl_dma_queue_init entries[256]; /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_queue_init_batch, 12296, 8);
NEURON_ABI_AT(neuron_ioctl_dma_queue_init_batch, count, 0);
NEURON_ABI_AT(neuron_ioctl_dma_queue_init_batch, entries, 8);

/* DMA_QUEUE_RELEASE: accepted, has no effect. */
struct neuron_ioctl_dma_queue_release {
  uint32_t eng_id; /* in */
  uint32_t qid;    /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_queue_release, 8, 4);
NEURON_ABI_AT(neuron_ioctl_dma_queue_release, eng_id, 0);
NEURON_ABI_AT(neuron_ioctl_dma_queue_release, qid, 4);

/* DMA_QUEUE_COPY_START: rings the doorbells. */
struct neuron_ioctl_dma_queue_copy_start {
  uint32_t eng_id;        /* in */
  uint32_t qid;           /* in */
  uint32_t tx_desc_count; /* in */
  uint32_t rx_desc_count; /* in: at least 1 */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_queue_copy_start, 16, 4);
NEURON_ABI_AT(neuron_ioctl_dma_queue_copy_start, eng_id, 0);
NEURON_ABI_AT(neuron_ioctl_dma_queue_copy_start, qid, 4);
NEURON_ABI_AT(neuron_ioctl_dma_queue_copy_start, tx_desc_count, 8);
NEURON_ABI_AT(neuron_ioctl_dma_queue_copy_start, rx_desc_count, 12);

/* DMA_ACK_COMPLETED: returns finished descriptors to the queue. */
struct neuron_ioctl_dma_ack_completed {
  uint32_t eng_id; /* in */
  uint32_t qid;    /* in */
  uint32_t count;  /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_ack_completed, 12, 4);
NEURON_ABI_AT(neuron_ioctl_dma_ack_completed, eng_id, 0);
NEURON_ABI_AT(neuron_ioctl_dma_ack_completed, qid, 4);
NEURON_ABI_AT(neuron_ioctl_dma_ack_completed, count, 8);

/* DMA_QUEUE_GET_STATE. Indexes are not range-checked by the driver. */
struct neuron_ioctl_dma_queue_get_state {
  uint32_t eng_id;                   /* in */
  uint32_t qid;                      /* in */
  struct neuron_dma_queue_state *tx; /* out */
  struct neuron_dma_queue_state *rx; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_queue_get_state, 24, 8);
NEURON_ABI_AT(neuron_ioctl_dma_queue_get_state, eng_id, 0);
NEURON_ABI_AT(neuron_ioctl_dma_queue_get_state, qid, 4);
NEURON_ABI_AT(neuron_ioctl_dma_queue_get_state, tx, 8);
NEURON_ABI_AT(neuron_ioctl_dma_queue_get_state, rx, 16);

/* State of one ring. Four bytes of padding follow tail_pointer and completion_head. */
struct neuron_dma_queue_state {
  uint32_t hw_status;            /* out */
  uint32_t sw_status;            /* out: NEURON_DMA_QUEUE_* */
  uint64_t base_addr;            /* out */
  uint32_t length;               /* out */
  uint32_t head_pointer;         /* out */
  uint32_t tail_pointer;         /* out */
  uint64_t completion_base_addr; /* out */
  uint32_t completion_head;      /* out */
};
NEURON_ABI_SIZE(neuron_dma_queue_state, 48, 8);
NEURON_ABI_AT(neuron_dma_queue_state, hw_status, 0);
NEURON_ABI_AT(neuron_dma_queue_state, sw_status, 4);
NEURON_ABI_AT(neuron_dma_queue_state, base_addr, 8);
NEURON_ABI_AT(neuron_dma_queue_state, length, 16);
NEURON_ABI_AT(neuron_dma_queue_state, head_pointer, 20);
NEURON_ABI_AT(neuron_dma_queue_state, tail_pointer, 24);
NEURON_ABI_AT(neuron_dma_queue_state, completion_base_addr, 32);
NEURON_ABI_AT(neuron_dma_queue_state, completion_head, 40);

/* DMA_COPY_DESCRIPTORS: fills part of a ring with 16-byte descriptors. */
struct neuron_ioctl_dma_copy_descriptors {
  uint64_t mem_handle; /* in */
  void *buffer;        /* in */
  uint32_t num_descs;  /* in */
  uint32_t offset;     /* in: bytes into the chunk */
  uint32_t queue_type; /* in: NEURON_DMA_QUEUE_TYPE_TX or _RX */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_copy_descriptors, 32, 8);
NEURON_ABI_AT(neuron_ioctl_dma_copy_descriptors, mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_dma_copy_descriptors, buffer, 8);
NEURON_ABI_AT(neuron_ioctl_dma_copy_descriptors, num_descs, 16);
NEURON_ABI_AT(neuron_ioctl_dma_copy_descriptors, offset, 20);
NEURON_ABI_AT(neuron_ioctl_dma_copy_descriptors, queue_type, 24);

/* DMA_COPY_DESCRIPTORS64. */
struct neuron_ioctl_dma_copy_descriptors64 {
  uint64_t mem_handle; /* in */
  void *buffer;        /* in */
  uint32_t num_descs;  /* in */
  uint64_t offset;     /* in: bytes into the chunk */
  uint32_t queue_type; /* in: NEURON_DMA_QUEUE_TYPE_TX or _RX */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_copy_descriptors64, 40, 8);
NEURON_ABI_AT(neuron_ioctl_dma_copy_descriptors64, mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_dma_copy_descriptors64, buffer, 8);
NEURON_ABI_AT(neuron_ioctl_dma_copy_descriptors64, num_descs, 16);
NEURON_ABI_AT(neuron_ioctl_dma_copy_descriptors64, offset, 24);
NEURON_ABI_AT(neuron_ioctl_dma_copy_descriptors64, queue_type, 32);

/* DMA_DESCRIPTOR_COPYOUT: reads descriptors back. */
struct neuron_ioctl_dma_descriptor_copyout {
  uint32_t eng_id;      /* in */
  uint32_t qid;         /* in */
  uint32_t type;        /* in: NEURON_DMA_QUEUE_TYPE_TX or _RX */
  uint32_t start_index; /* in */
  uint32_t count;       /* in: at least 1 */
  void *buffer;         /* out: 16 bytes each */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_descriptor_copyout, 32, 8);
NEURON_ABI_AT(neuron_ioctl_dma_descriptor_copyout, eng_id, 0);
NEURON_ABI_AT(neuron_ioctl_dma_descriptor_copyout, qid, 4);
NEURON_ABI_AT(neuron_ioctl_dma_descriptor_copyout, type, 8);
NEURON_ABI_AT(neuron_ioctl_dma_descriptor_copyout, start_index, 12);
NEURON_ABI_AT(neuron_ioctl_dma_descriptor_copyout, count, 16);
NEURON_ABI_AT(neuron_ioctl_dma_descriptor_copyout, buffer, 24);

/* Argument meant for DMA_QUIESCE_QUEUES, a request no driver answers (ENOTTY). */
struct neuron_ioctl_dma_quiesce_queues {
  uint32_t nc_id;          /* in */
  uint32_t engine_count;   /* in */
  uint32_t queue_mask[64]; /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_dma_quiesce_queues, 264, 4);
NEURON_ABI_AT(neuron_ioctl_dma_quiesce_queues, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_dma_quiesce_queues, engine_count, 4);
NEURON_ABI_AT(neuron_ioctl_dma_quiesce_queues, queue_mask, 8);

#ifdef __cplusplus
}
#endif

#endif
