/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes of the Neuron runtime ABI (nrt-api.md 2.3). Values are fixed for ever; 8 and 12 are
 * unused. Clients compare mostly with 0; TensorFlow's adaptor and libfabric look at 2, 4, 9,
 * 10, 11.
 */
#ifndef NRT_NRT_STATUS_H
#define NRT_NRT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  NRT_SUCCESS = 0,
  NRT_FAILURE = 1,            /* anything without a better code */
  NRT_INVALID = 2,            /* bad argument, bad NEFF content, unsupported interface */
  NRT_INVALID_HANDLE = 3,     /* the handle does not name a live object */
  NRT_RESOURCE = 4,           /* out of device memory, buffers or slots; output buffer too small */
  NRT_TIMEOUT = 5,            /* an execution or a wait exceeded its limit */
  NRT_HW_ERROR = 6,           /* device failure */
  NRT_QUEUE_FULL = 7,         /* the execution queue has no room */
  NRT_LOAD_NOT_ENOUGH_NC = 9, /* the model needs more cores than there are */
  NRT_UNSUPPORTED_NEFF_VERSION = 10, /* container version or feature outside the supported range */
  NRT_FAIL_HOST_MEM_ALLOC = 11,      /* host memory for DMA missing (legacy code) */
  NRT_UNINITIALIZED = 13,            /* call made before nrt_init */
  NRT_CLOSED = 14,                   /* call made after nrt_close */
  NRT_QUEUE_EMPTY = 15,              /* nothing to read (debug stream) */
  NRT_EXEC_UNIT_UNRECOVERABLE = 101, /* the execution unit is dead until re-initialisation */
  NRT_EXEC_BAD_INPUT = 1002,
  NRT_EXEC_COMPLETED_WITH_NUM_ERR = 1003, /* finished, NaN seen */
  NRT_EXEC_COMPLETED_WITH_ERR = 1004,     /* finished with another logical or hardware error */
  NRT_EXEC_NC_BUSY = 1005,                /* core locked by someone else */
  NRT_EXEC_OOB = 1006,                    /* indirect access out of bounds */
  NRT_COLL_PENDING = 1100,
  NRT_EXEC_HW_ERR_COLLECTIVES = 1200,
  NRT_EXEC_HW_ERR_HBM_UE = 1201,
  NRT_EXEC_HW_ERR_NC_UE = 1202,
  NRT_EXEC_HW_ERR_DMA_ABORT = 1203,
  NRT_EXEC_SW_NQ_OVERFLOW = 1204,
  NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE = 1205,
  NRT_NETWORK_PROXY_FAILURE = 1206
} NRT_STATUS;

/*
 * Name of a status, e.g. "NRT_INVALID"; "UNKNOWN" for any other value. Static storage, any thread.
 * libnrt.so.1 keeps this symbol to itself, as the original does (nrt-api.md 1.12).
 */
const char *nrt_get_status_as_str(NRT_STATUS status);

#ifdef __cplusplus
}
#endif

#endif
