/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug events of a logical core (nrt-api.md 1.9, 5.9). One client per core; the descriptor may be
 * polled but not read. Not implemented yet: connecting answers NRT_INVALID.
 */
#ifndef NRT_NDEBUG_STREAM_H
#define NRT_NDEBUG_STREAM_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum ndebug_stream_event_type {
  NDEBUG_STREAM_EVENT_TYPE_INVALID = 0,
  NDEBUG_STREAM_EVENT_TYPE_DEBUG_TENSOR_READ = 1,
} ndebug_stream_event_type_t;

typedef struct ndebug_stream_event_header {
  uint64_t data_size; /* bytes of payload */
  uint32_t type;      /* ndebug_stream_event_type_t */
  char reserved[52];
} ndebug_stream_event_header_t;
NRT_ABI_SIZE(ndebug_stream_event_header_t, 64);
NRT_ABI_AT(ndebug_stream_event_header_t, type, 8);
NRT_ABI_AT(ndebug_stream_event_header_t, reserved, 12);

/* Payload of DEBUG_TENSOR_READ: this, then the tensor's bytes. */
typedef struct ndebug_stream_payload_debug_tensor_read {
  char prefix[512];
  uint32_t logical_nc_id;
  uint32_t pipe;
  char tensor_dtype[16];
  uint64_t tensor_shape[8];
  uint64_t tensor_data_size;
  char reserved0[416];
  char tensor_data[];
} ndebug_stream_payload_debug_tensor_read_t;
NRT_ABI_SIZE(ndebug_stream_payload_debug_tensor_read_t, 1024);
NRT_ABI_AT(ndebug_stream_payload_debug_tensor_read_t, logical_nc_id, 512);
NRT_ABI_AT(ndebug_stream_payload_debug_tensor_read_t, tensor_dtype, 520);
NRT_ABI_AT(ndebug_stream_payload_debug_tensor_read_t, tensor_shape, 536);
NRT_ABI_AT(ndebug_stream_payload_debug_tensor_read_t, tensor_data_size, 600);
NRT_ABI_AT(ndebug_stream_payload_debug_tensor_read_t, tensor_data, 1024);

/* NRT_INVALID also when the core has a client already. */
NRT_STATUS nrt_debug_client_connect(int logical_nc_idx, int *stream_fd);
void nrt_debug_client_connect_close(int stream_fd);

/* NRT_QUEUE_EMPTY: nothing there. *payload is malloc'd and the caller's. */
NRT_STATUS nrt_debug_client_read_one_event(int stream_fd, ndebug_stream_event_header_t *header,
                                           void **payload);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
