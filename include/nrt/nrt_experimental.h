/* SPDX-License-Identifier: Apache-2.0 */
/* Model introspection and calls that may still change (nrt-api.md 1.4). Common rules: nrt.h. */
#ifndef NRT_NRT_EXPERIMENTAL_H
#define NRT_NRT_EXPERIMENTAL_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define NRT_TENSOR_NAME_MAX 256

typedef enum nrt_tensor_usage {
  NRT_TENSOR_USAGE_INPUT = 0,
  NRT_TENSOR_USAGE_OUTPUT = 1,
} nrt_tensor_usage_t;

typedef struct nrt_tensor_info {
  char name[NRT_TENSOR_NAME_MAX]; /* NUL-terminated; unique among inputs and among outputs */
  nrt_tensor_usage_t usage;
  size_t size; /* bytes of the whole tensor */
  nrt_dtype_t dtype;
  uint32_t *shape; /* ndim extents, NULL when ndim is 0 */
  uint32_t ndim;
} nrt_tensor_info_t;
NRT_ABI_SIZE(nrt_tensor_info_t, 296);
NRT_ABI_AT(nrt_tensor_info_t, usage, 256);
NRT_ABI_AT(nrt_tensor_info_t, size, 264);
NRT_ABI_AT(nrt_tensor_info_t, dtype, 272);
NRT_ABI_AT(nrt_tensor_info_t, shape, 280);
NRT_ABI_AT(nrt_tensor_info_t, ndim, 288);

typedef struct nrt_tensor_info_array {
  uint64_t tensor_count;
  nrt_tensor_info_t tensor_array[];
} nrt_tensor_info_array_t;
NRT_ABI_SIZE(nrt_tensor_info_array_t, 8);
NRT_ABI_AT(nrt_tensor_info_array_t, tensor_array, 8);

/*
 * Inputs, then outputs, of a model. The array is the caller's, does not depend on the model any
 * more and is freed by nrt_free_model_tensor_info only. NRT_RESOURCE: host memory.
 */
NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **tensor_info);

/* Never refused, not even after nrt_close. NULL is fine. */
NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *tensor_info);

/* Copies of the model that are loaded behind this handle: 1. */
NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count);

/* Grows at its end only. */
typedef struct nrt_model_info {
  uint32_t vnc; /* logical core the model sits on */
} nrt_model_info_t;
NRT_ABI_SIZE(nrt_model_info_t, 4);

/* Writes min(info_size_in, known) bytes and tells how many. NRT_INVALID: room for less than vnc. */
NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info, size_t info_size_in,
                              size_t *info_size_out);

/*
 * memcpy into mapped device memory (nrt_tensor_get_va), followed by a store barrier. Checks
 * nothing, needs no nrt_init, always succeeds.
 */
NRT_STATUS nrt_memcpy_to_device(void *dest, const void *src, size_t size);

/* Whole-process trace. Not implemented yet: NRT_INVALID. */
NRT_STATUS nrt_trace_start(bool trace_mem);
NRT_STATUS nrt_trace_stop(const char *filename);

/* Plug-in for a collectives library. There is none: NULL, *err = NRT_INVALID and a message. */
void *nrt_get_libnccl_net(int *err, char *err_msg, size_t err_msg_size);

typedef struct nrt_ucode_img {
  uint8_t *bin;
  size_t size;
} nrt_ucode_img;
NRT_ABI_SIZE(nrt_ucode_img, 16);

typedef struct nrt_ucode_info {
  nrt_ucode_img iram;
  nrt_ucode_img dram;
} nrt_ucode_info;
NRT_ABI_SIZE(nrt_ucode_info, 32);
NRT_ABI_AT(nrt_ucode_info, dram, 16);

/* Custom code for the pool engine; before nrt_init only. The image is not used: before nrt_init
 * accepted on the mock, afterwards NRT_INVALID. */
NRT_STATUS nrt_set_pool_eng_ucode(const nrt_ucode_info *ucode_info);

/* Result of a queued execution. Runs on a thread of the runtime. */
typedef void (*NRT_ASYNC_EXEC_STATUS_CALLBACK)(void *params, uint32_t model_id, uint32_t vnc,
                                               uint64_t job_id, NRT_STATUS status);

/* Queued execution through nrt_execute. Not implemented yet: registering answers NRT_INVALID;
 * draining succeeds, as nothing is ever queued. */
NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK callback, void *params);
NRT_STATUS nrt_async_drain_queued_execs(int32_t vnc);

/* Collectives outside models. Not implemented yet: NRT_INVALID. */
NRT_STATUS nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count);
NRT_STATUS nrt_all_gather(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count,
                          uint32_t rank_input_size, void *input, void *output);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
