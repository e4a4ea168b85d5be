/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Neuron runtime's main interface: lifecycle, models, tensors, tensor sets, execution
 * (nrt-api.md 1.1, 2, 4, 5). Implemented by libnrt.so.1.
 *
 * Rules for every function, unless its comment says otherwise:
 * - A NULL handle or output pointer answers NRT_INVALID, a handle that does not name a live object
 *   (any more) NRT_INVALID_HANDLE. Handles are checked, never followed blindly.
 * - Before nrt_init the answer is NRT_UNINITIALIZED, after nrt_close NRT_CLOSED, and in a child
 *   forked from an initialised process NRT_FAILURE.
 * - Any thread may call at any time. Calls on one object are not ordered for the caller.
 * - A failing call writes one ERROR line to the log. Output pointers keep their value on failure,
 *   except handles, which become NULL.
 * - Sizes and offsets count bytes. Core numbers ("vnc") are logical, counted from 0 within the
 *   cores this process owns.
 */
#ifndef NRT_NRT_H
#define NRT_NRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt_abi.h"
#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Interface numbers. They never followed the releases; nrt_get_version tells the release. */
#define NRT_MAJOR_VERSION 2
#define NRT_MINOR_VERSION 0

typedef struct nrt_model nrt_model_t;
typedef struct nrt_tensor nrt_tensor_t;
typedef void nrt_tensor_set_t;
typedef struct nrt_cc_context nrt_cc_context_t;

/* Where a tensor lives. */
typedef enum {
  NRT_TENSOR_PLACEMENT_DEVICE = 0,  /* HBM of a logical core */
  NRT_TENSOR_PLACEMENT_HOST = 1,    /* host pages the device can reach; at most 4 MiB, not on v3 */
  NRT_TENSOR_PLACEMENT_VIRTUAL = 2, /* ordinary process memory; the core number is ignored */
} nrt_tensor_placement_t;

/* Who calls. Reported to tools, otherwise without effect. */
typedef enum {
  NRT_FRAMEWORK_TYPE_INVALID = 0,
  NRT_FRAMEWORK_TYPE_NO_FW = 1,
  NRT_FRAMEWORK_TYPE_TENSORFLOW = 2,
  NRT_FRAMEWORK_TYPE_PYTORCH = 3,
  NRT_FRAMEWORK_TYPE_MXNET = 4,
  NRT_FRAMEWORK_TYPE_PRECHECK = 5,
} nrt_framework_type_t;

/* nrt_instance_info_t.family */
enum {
  NRT_INSTANCE_UNKNOWN = 0,
  NRT_INSTANCE_INF1 = 1,
  NRT_INSTANCE_TRN1 = 2,
  NRT_INSTANCE_TRN1N = 3,
  NRT_INSTANCE_INF2 = 4,
  NRT_INSTANCE_TRN2 = 5,
  NRT_INSTANCE_TRN2N = 6,
  NRT_INSTANCE_INF2E = 7,
  NRT_INSTANCE_TRN2P = 8,
  NRT_INSTANCE_TRN2U = 9,
  NRT_INSTANCE_TRN2E = 10,
  NRT_INSTANCE_TRN2EU = 11,
  NRT_INSTANCE_TRN2AC = 12,
  NRT_INSTANCE_TRN2UAC = 13,
  NRT_INSTANCE_TRN3 = 14,
  NRT_INSTANCE_TRN3PDS98 = 15,
};

/* nrt_instance_info_t.size. The last value moves when sizes are added. */
enum {
  NRT_INSTANCE_SIZE_1XL = 0,
  NRT_INSTANCE_SIZE_2XL = 1,
  NRT_INSTANCE_SIZE_4XL = 2,
  NRT_INSTANCE_SIZE_6XL = 3,
  NRT_INSTANCE_SIZE_8XL = 4,
  NRT_INSTANCE_SIZE_24XL = 5,
  NRT_INSTANCE_SIZE_32XL = 6,
  NRT_INSTANCE_SIZE_48XL = 7,
  NRT_INSTANCE_SIZE_3XL = 8,
  NRT_INSTANCE_SIZE_NUM = 9,
  NRT_INSTANCE_SIZE_UNKNOWN = NRT_INSTANCE_SIZE_NUM,
};

/* Element types. Not sequential: these are the numbers on the wire. */
typedef enum nrt_dtype {
  NRT_DTYPE_UNKNOWN = 0,
  NRT_DTYPE_INVALID = 0,
  NRT_DTYPE_UINT64 = 1,
  NRT_DTYPE_INT8 = 2,
  NRT_DTYPE_UINT8 = 3,
  NRT_DTYPE_INT16 = 4,
  NRT_DTYPE_UINT16 = 5,
  NRT_DTYPE_BFLOAT16 = 6,
  NRT_DTYPE_FLOAT16 = 7,
  NRT_DTYPE_INT32 = 8,
  NRT_DTYPE_UINT32 = 9,
  NRT_DTYPE_FLOAT32 = 10,
  NRT_DTYPE_FP32R = 11,
  NRT_DTYPE_INT64 = 12,
  NRT_DTYPE_FP8_E3 = 13,
  NRT_DTYPE_FP8_E4 = 14,
  NRT_DTYPE_FP8_E5 = 15,
} nrt_dtype_t;

/* Reduction of a collective. */
typedef enum nrt_op_type {
  NRT_OP_ADD = 0,
  NRT_OP_FMA = 1,
  NRT_OP_MAX = 2,
  NRT_OP_MIN = 3,
  NRT_OP_INVALID = 15,
} nrt_op_type_t;

typedef enum nrt_cc_op_type {
  NRT_CC_ALLGATHER = 0,
  NRT_CC_ALLREDUCE = 1,
  NRT_CC_REDUCESCATTER = 2,
} nrt_cc_op_type_t;

typedef struct nrt_instance_info {
  uint32_t family; /* NRT_INSTANCE_* */
  uint32_t size;   /* NRT_INSTANCE_SIZE_* */
  char arch_name[16];
  char device_revision[8];
} nrt_instance_info_t;
NRT_ABI_SIZE(nrt_instance_info_t, 32);
NRT_ABI_AT(nrt_instance_info_t, size, 4);
NRT_ABI_AT(nrt_instance_info_t, arch_name, 8);
NRT_ABI_AT(nrt_instance_info_t, device_revision, 24);

/* One piece of a batch transfer: bytes [offset, offset + size) of the tensor and their host side.
 */
typedef uint64_t nrt_tensor_batch_offset_t;
typedef uint64_t nrt_tensor_batch_size_t;
typedef struct nrt_tensor_batch_op {
  nrt_tensor_batch_offset_t offset;
  nrt_tensor_batch_size_t size;
  void *buffer;
} nrt_tensor_batch_op_t;
NRT_ABI_SIZE(nrt_tensor_batch_op_t, 24);
NRT_ABI_AT(nrt_tensor_batch_op_t, size, 8);
NRT_ABI_AT(nrt_tensor_batch_op_t, buffer, 16);

typedef struct nrt_tensor_batch {
  const nrt_tensor_t *tensor;
  const nrt_tensor_batch_op_t *ops;
  uint32_t num_ops;
} nrt_tensor_batch_t;
NRT_ABI_SIZE(nrt_tensor_batch_t, 24);
NRT_ABI_AT(nrt_tensor_batch_t, ops, 8);
NRT_ABI_AT(nrt_tensor_batch_t, num_ops, 16);

typedef struct nrt_tensor_device_allocation_info {
  uint64_t physical_address; /* device address of the tensor's first byte */
  size_t size;               /* bytes allocated, at least the tensor's size */
  int hbm_index;
} nrt_tensor_device_allocation_info_t;
NRT_ABI_SIZE(nrt_tensor_device_allocation_info_t, 24);
NRT_ABI_AT(nrt_tensor_device_allocation_info_t, size, 8);
NRT_ABI_AT(nrt_tensor_device_allocation_info_t, hbm_index, 16);

/* Grows at its end only. */
typedef struct nrt_vnc_memory_stats {
  size_t bytes_used;
  size_t bytes_limit;
} nrt_vnc_memory_stats_t;
NRT_ABI_SIZE(nrt_vnc_memory_stats_t, 16);
NRT_ABI_AT(nrt_vnc_memory_stats_t, bytes_limit, 8);

typedef struct nrt_cc_comm {
  uint32_t *replica_group;
  uint32_t rank;
  uint32_t rank_n;
  uint32_t ctx_device_id;
  uint32_t ctx_device_count;
  uint32_t vnc;
} nrt_cc_comm_t;
NRT_ABI_SIZE(nrt_cc_comm_t, 32);
NRT_ABI_AT(nrt_cc_comm_t, rank, 8);
NRT_ABI_AT(nrt_cc_comm_t, vnc, 24);

typedef struct nrt_tensor_list {
  nrt_tensor_t **tensors;
  size_t num_tensors;
} nrt_tensor_list_t;
NRT_ABI_SIZE(nrt_tensor_list_t, 16);
NRT_ABI_AT(nrt_tensor_list_t, num_tensors, 8);

/* --- lifecycle and identity (4) ----------------------------------------------------------------
 */

/*
 * Finds the devices, reads the NEURON_RT_* environment, claims this process's cores and sets the
 * runtime up. Version strings are free text and may be NULL. While initialised, a second call does
 * nothing and succeeds; there is no count of calls. After nrt_close it starts anew, with the
 * environment of that moment. A failure leaves nothing behind.
 *
 * NRT_INVALID: no devices, driver outside the supported range, a malformed variable, cores that do
 * not exist. NRT_FAILURE: cores taken by another process.
 */
NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version,
                    const char *fal_version);

/*
 * Unloads every model, drops every tensor's storage, releases the cores. All handles are dead
 * afterwards; giving one back still does no harm. No effect when not initialised. Leaves 0 in the
 * result register for callers that were told it returns a status.
 */
void nrt_close(void);

/*
 * Instance type and chip; copies at most `instance_info_len` bytes. Needs no nrt_init. Unknown
 * machine: the "unknown" values.
 */
NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t instance_info_len);

/* Logical cores of the machine, whoever uses them. Needs no nrt_init and claims nothing. */
NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count);
NRT_STATUS nrt_get_total_nc_count(uint32_t *vnc_count); /* former name */

/*
 * Logical cores of this process: those nrt_init took, or before it those the environment asks for.
 * Needs no nrt_init.
 */
NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count);
NRT_STATUS nrt_get_visible_nc_count(uint32_t *vnc_count); /* former name */

/* Number the host gives device `neuron_dev` of this process's view. */
NRT_STATUS nrt_host_device_id_get(int neuron_dev, uint32_t *host_device_id);

/*
 * Routing id of each device, indexed by host device number. *count: entries of room in, entries
 * filled out. NRT_INVALID when they do not fit.
 */
NRT_STATUS nrt_host_device_id_rid_map_get(uint32_t *count, uint32_t *host_did_to_rid_map);

/*
 * Bytes of device memory that this process holds on the physical cores of a logical one, and the
 * size of one HBM; logical cores that share an HBM each have all of it as their limit. Writes
 * min(stats_size_in, known) bytes and tells how many.
 */
NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats,
                                    size_t stats_size_in, size_t *stats_size_out);

/* --- models (5.1) ------------------------------------------------------------------------------
 */

/*
 * Loads a NEFF onto logical core `vnc`; -1 chooses the core with the fewest models. `vnc_count` is
 * ignored. The bytes may go away when the call returns. Blocks.
 *
 * NRT_INVALID: NULL, size 0, bad NEFF, core out of range. NRT_UNSUPPORTED_NEFF_VERSION: container
 * version or feature. NRT_LOAD_NOT_ENOUGH_NC: the model needs more cores than a logical core has.
 * NRT_RESOURCE: device memory.
 */
NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                    nrt_model_t **model);

/*
 * The same for a member of a world of `ctx_device_count` ranks. Only worlds of one rank are
 * implemented; others answer NRT_INVALID.
 */
NRT_STATUS nrt_load_collectives(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                                uint32_t ctx_device_id, uint32_t ctx_device_count,
                                nrt_model_t **model);

/*
 * Frees the model once calls that use it have ended. The handle is dead afterwards. After nrt_close
 * the call does nothing and answers NRT_CLOSED without a log line.
 */
NRT_STATUS nrt_unload(nrt_model_t *model);

/* Logical cores the model occupies: 1. */
NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count);
NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *vnc_count); /* former name */

/* --- tensors (5.2) ------------------------------------------------------------------------------
 */

/*
 * A tensor of `size` bytes. `name` may be NULL, is copied and only shows in logs. Contents are
 * undefined. NRT_INVALID: size 0, placement or core; NRT_RESOURCE: memory.
 */
NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t tensor_placement, int vnc, size_t size,
                               const char *name, nrt_tensor_t **tensor);

/* A tensor without storage, for nrt_tensor_attach_buffer. Size 0 until then. */
NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor);

/*
 * Lets the tensor show the caller's buffer, which must outlive it. Storage it had is dropped. May
 * be repeated. NRT_INVALID: NULL or size 0.
 */
NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size);

/*
 * A second view on bytes [offset, offset + size) of a tensor. Storage is shared and lives as long
 * as any view. NRT_INVALID: outside the source.
 */
NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset, size_t size,
                                     const char *name, nrt_tensor_t **tensor_slice);

/* Drops the view and sets *tensor to NULL. NULL, a pointer to NULL and a dead handle are ignored.
 */
void nrt_tensor_free(nrt_tensor_t **tensor);

/*
 * Blocking copies out of and into a tensor. A read waits for running executions that write the
 * tensor, a write (memset and copy too) also for those that read it. 0 bytes move nothing.
 * NRT_INVALID: outside the tensor, or an empty one.
 */
NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size);
NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size);

/*
 * Many pieces of many tensors in one call. All pieces are checked before the first byte moves; a
 * device error in the middle leaves earlier pieces done. `unsafe` skips the wait for executions
 * that use the tensors.
 */
NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                 bool unsafe);
NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                  bool unsafe);

/* Between any two tensors, as memmove; two device tensors must share an HBM, else NRT_INVALID. */
NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
                           size_t dst_offset, size_t size);

/* Fills bytes with the low 8 bits of `value`. */
NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size);

/* Bytes; 0 for an empty tensor, NULL or a dead handle. Needs no initialised runtime. */
size_t nrt_tensor_get_size(const nrt_tensor_t *tensor);

/*
 * Host address of the first byte, for CPU access or RDMA; for device tensors the mapping of their
 * memory. Valid while the storage lives. NULL on any failure.
 */
void *nrt_tensor_get_va(const nrt_tensor_t *tensor);

/*
 * Device address, allocation size and HBM of a device tensor; NRT_INVALID for others. Of a slice:
 * the address of its own first byte, and the size of the allocation it lies in.
 */
NRT_STATUS nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
                                                 nrt_tensor_device_allocation_info_t *alloc_info);

/*
 * Waits until the tensor was written by `expected_completion_count` executions since its counter
 * was reset; `timeout` in microseconds, negative for ever (with a WARN line every 30 seconds).
 * NRT_TIMEOUT: not in time; NRT_CLOSED: nrt_close was called meanwhile. A slice has a counter of
 * its own. Needs no initialised runtime; without one no handle is alive (NRT_INVALID_HANDLE).
 */
NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *output_tensor, int64_t timeout,
                                              uint64_t expected_completion_count);
NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *output_tensor);

/*
 * dma-buf descriptor that exports [va, va + size) to other devices; `va` comes from
 * nrt_tensor_get_va. The caller closes it. NRT_INVALID: no mapped device memory, exporting is off
 * (NEURON_RT_ENABLE_P2P=0), or the driver cannot; NRT_RESOURCE: no descriptor left.
 */
NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int *fd);

/*
 * CPU mapping of a whole HBM of device `device_id`, valid until nrt_close. NRT_INVALID_HANDLE: past
 * the device's last HBM; NRT_INVALID: not a device of this process, NEURON_RT_MAP_HBM is not set,
 * or the chip has no such mapping (Trn1, Inf2).
 */
NRT_STATUS nrt_get_hbm_mmap_va(int device_id, int hbm_idx, void **addr, size_t *size);

/* PCI address of the network adaptor nearest to a device address. Not implemented yet:
 * NRT_FAILURE ("no match"). */
NRT_STATUS nrt_get_attached_efa_bdf(const void *va, char *efa_bdf, size_t *len);

/* --- tensor sets (5.3) --------------------------------------------------------------------------
 */

/* An empty map from names to tensors. Works on one set need external ordering. */
NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result);

/* Frees the map, not the tensors, and sets the pointer to NULL. NULL and dead sets are ignored. */
void nrt_destroy_tensor_set(nrt_tensor_set_t **tensor_set);

/* Copies the name, borrows the tensor; replaces an entry of the same name. */
NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
                                        nrt_tensor_t *tensor);

/* The borrowed handle. NRT_FAILURE, and *tensor unchanged: no such name. */
NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
                                          nrt_tensor_t **tensor);

/* --- execution (5.4) ----------------------------------------------------------------------------
 */

/*
 * Runs the model once and returns when its outputs are there; nrt_execute_repeat runs it
 * `repeat_count` times on the same sets. Every input and output is in its set by name, at least as
 * large as the model says; other names are ignored. Tensors in memory of the model's logical core
 * are used in place, those in host memory are copied in and back. Any thread; runs on one logical
 * core take turns.
 *
 * NRT_INVALID: a tensor is missing, too small, without memory or on another core;
 * NRT_INVALID_HANDLE: model, set or tensor is gone; NRT_TIMEOUT: no progress
 * (NEURON_RT_EXEC_TIMEOUT), or a deadlock; NRT_EXEC_*: what the device reported, outputs are valid
 * only with NRT_EXEC_COMPLETED_WITH_NUM_ERR; NRT_EXEC_UNIT_UNRECOVERABLE: an earlier failure ended
 * execution on this core. After the others the core runs on.
 */
NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                       nrt_tensor_set_t *output_set);
NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                              nrt_tensor_set_t *output_set, int repeat_count);

/* --- collectives (5.5): not implemented yet, NRT_INVALID -----------------------------------------
 */

NRT_STATUS nrt_build_global_comm(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count);
NRT_STATUS nrt_cc_global_comm_init(uint32_t vnc, uint32_t g_device_id, uint32_t g_device_count);
NRT_STATUS nrt_cc_create_stream(uint32_t stream_id);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
