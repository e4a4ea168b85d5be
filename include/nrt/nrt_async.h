/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explicit asynchronous requests (nrt-api.md 1.5, 5.6), in the form shipped from runtime 2.31 on.
 * Programs built against the 2.30 form pass other arguments and cannot be told apart.
 *
 * Not implemented yet: scheduling answers NRT_INVALID, no request ever exists.
 */
#ifndef NRT_NRT_ASYNC_H
#define NRT_NRT_ASYNC_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Execution units of a logical core. */
typedef enum {
  NRTA_XU_TENSOR_OP = 0,   /* 2 queues */
  NRTA_XU_COMPUTE = 1,     /* 1 queue */
  NRTA_XU_COLLECTIVES = 2, /* 3 queues */
  NRTA_XU_TYPE_NUM = 3,
} nrta_xu_t;

/* Names a request. Grows within one queue of one unit; otherwise opaque. */
typedef uint64_t nrta_seq_t;
typedef uint16_t nrta_xu_id_t;
#define NRTA_SEQ_NUM_MAX ((1ull << 48) - 1)

/*
 * Each call queues one request and returns. `ret` gets the request's own status when it completes;
 * `ret`, tensors and buffers must live until then. NRT_QUEUE_FULL: nothing queued, try again (no
 * log line). NRT_INVALID: queue number, arguments.
 */
NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset, uint64_t size,
                             int lnc_idx, int queue, NRT_STATUS *ret, nrta_seq_t *seq);
NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
                            int lnc_idx, int queue, NRT_STATUS *ret, nrta_seq_t *seq);
NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
                            uint64_t dst_offset, uint64_t size, int lnc_idx, int queue,
                            NRT_STATUS *ret, nrta_seq_t *seq);
NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *in,
                                 nrt_tensor_set_t *out, int queue, NRT_STATUS *ret,
                                 nrta_seq_t *seq);

/* Builds a one-shot context for a collective; nrta_cc_schedule consumes it and clears *ctx. */
NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *in, nrt_tensor_list_t *out,
                           nrt_dtype_t dtype, nrt_op_type_t op, nrt_cc_op_type_t cc_op,
                           nrt_cc_context_t **ctx);
NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **ctx, int queue, NRT_STATUS *ret, nrta_seq_t *seq);

/* NRT_INVALID: no such request. */
NRT_STATUS nrta_is_completed(nrta_seq_t seq, bool *is_completed);

/* Last completed request of a queue. */
NRT_STATUS nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq);

/* From 2.32: signals the caller's eventfd on completion; a negative descriptor ends it. */
NRT_STATUS nrta_event_register_seq_id_completion(nrta_seq_t seq, int fd);
NRT_STATUS nrta_event_register_xu_completion(int lnc, nrta_xu_t xu, int queue, int fd);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
