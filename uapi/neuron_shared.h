/* SPDX-License-Identifier: Apache-2.0 */
/* Values shared by the driver and its users (uapi.md 5). */
#ifndef UAPI_NEURON_SHARED_H
#define UAPI_NEURON_SHARED_H

#include "uapi/neuron_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- 5.1 chips ------------------------------------------------------------------------------- */

enum neuron_arch {
  NEURON_ARCH_INVALID = 0,
  NEURON_ARCH_V1 = 1, /* Inf1 */
  NEURON_ARCH_V2 = 2, /* Trn1, Inf2 */
  NEURON_ARCH_V3 = 3, /* Trn2 */
};

#define NEURON_REVISION_EMULATOR 240
#define NEURON_REVISION_QEMU 255

#define NEURON_PCI_VENDOR 0x1d0f
#define NEURON_PCI_DEVICE_INF1_FIRST 0x7064
#define NEURON_PCI_DEVICE_INF1_LAST 0x7067
#define NEURON_PCI_DEVICE_TRN1 0x7164
#define NEURON_PCI_DEVICE_INF2 0x7264
#define NEURON_PCI_DEVICE_TRN2 0x7364

/* --- 5.2 driver features (DRIVER_INFO_GET, feature_flags1) ------------------------------------ */

#define NEURON_FEATURE_DMABUF 0x01ull
#define NEURON_FEATURE_ASYNC_DMA 0x02ull
#define NEURON_FEATURE_BATCH_DMAQ_INIT 0x04ull
#define NEURON_FEATURE_BIG_CORE_MAPS 0x08ull
#define NEURON_FEATURE_MEM_ALLOC_TYPE 0x10ull
#define NEURON_FEATURE_HBM_SCRUB 0x20ull
#define NEURON_FEATURE_MEM_ALLOC64 0x40ull
#define NEURON_FEATURE_CONTIGUOUS_SCRATCHPAD 0x80ull
#define NEURON_FEATURE_ZEROCOPY 0x100ull /* later drivers */
#define NEURON_FEATURES_2_24_7 0xffull   /* what driver 2.24.7 reports */

/* --- 5.3 DMA ---------------------------------------------------------------------------------- */

enum neuron_dma_queue_type {
  NEURON_DMA_QUEUE_TYPE_TX = 0, /* memory to stream */
  NEURON_DMA_QUEUE_TYPE_RX = 1, /* stream to memory */
  NEURON_DMA_QUEUE_TYPE_COMPLETION = 2,
};

enum neuron_udma_state {
  NEURON_UDMA_DISABLED = 0,
  NEURON_UDMA_IDLE = 1,
  NEURON_UDMA_NORMAL = 2,
  NEURON_UDMA_ABORT = 3,
  NEURON_UDMA_RESET = 4,
};

enum neuron_dma_queue_status {
  NEURON_DMA_QUEUE_DISABLED = 1,
  NEURON_DMA_QUEUE_ENABLED = 2,
  NEURON_DMA_QUEUE_ABORTED = 3,
};

#define NEURON_DMA_QUEUES_PER_ENGINE 16
#define NEURON_DMA_ENGINE_LIMIT 132      /* engine ids the ABI can name; counts: address map */
#define NEURON_DMA_BATCH_ENTRIES 256     /* length of the array */
#define NEURON_DMA_BATCH_COUNT_LIMIT 255 /* largest accepted count */
#define NEURON_DMA_DESC_SIZE 16
#define NEURON_DMA_DESC_BYTES_LIMIT \
  0x10000                      /* data of one descriptor; its length field holds 0 then */
#define NEURON_DMA_RING_MIN 32 /* descriptors, in multiples of 16 */
#define NEURON_DMA_RING_MAX 16777200
#define NEURON_DMA_RING_MULTIPLE 16
#define NEURON_DMA_RING_ALIGN 256 /* bytes */
#define NEURON_UDMA_REVISION 4

/* Handles of asynchronous copies. */
#define NEURON_DMA_WAIT_NONE (-1)
#define NEURON_DMA_WAIT_SYNC 0
#define NEURON_DMA_WAIT_ASYNC1 1
#define NEURON_DMA_WAIT_ASYNC2 2

/* --- 5.4 notifications ------------------------------------------------------------------------ */

enum neuron_nq_device {
  NEURON_NQ_DEVICE_CORE = 0,
  NEURON_NQ_DEVICE_TOP_SP = 1,
};

enum neuron_nq_type {
  NEURON_NQ_TYPE_TRACE = 0,  /* implicit */
  NEURON_NQ_TYPE_NOTIFY = 1, /* explicit */
  NEURON_NQ_TYPE_EVENT = 2,
  NEURON_NQ_TYPE_ERROR = 3,
  NEURON_NQ_TYPE_DMA_TRACE = 4,
  NEURON_NQ_TYPE_THROTTLE = 5,
};

#define NEURON_NQ_TYPE_COUNT 6
#define NEURON_NQ_QUEUES_PER_TYPE 16
#define NEURON_NQ_SLOTS 96 /* per core and per TOP_SP */

/* --- 5.5 special mappings --------------------------------------------------------------------- */

enum neuron_mmap_block {
  NEURON_MMAP_BLOCK_TPB = 0,
  NEURON_MMAP_BLOCK_TOP_SP = 1,
  NEURON_MMAP_BLOCK_HBM = 2,
};

enum neuron_mmap_resource {
  NEURON_MMAP_RESOURCE_SEMAPHORE = 0,
  NEURON_MMAP_RESOURCE_ALL = 1, /* a whole TOP_SP, read-only */
  NEURON_MMAP_RESOURCE_SBUF = 2,
  NEURON_MMAP_RESOURCE_DMEM = 3, /* a whole HBM */
};

/* --- 5.6 what a chunk is for (mem_type) ------------------------------------------------------- */

enum neuron_mem_category {
  NEURON_MEM_UNKNOWN_HOST = 0,
  NEURON_MEM_CODE_HOST = 1,
  NEURON_MEM_TENSORS_HOST = 2,
  NEURON_MEM_CONSTANTS_HOST = 3,
  NEURON_MEM_MISC_HOST = 4,
  NEURON_MEM_NCDEV_HOST = 5, /* the driver's own */
  NEURON_MEM_NOTIFICATION_HOST = 6,
  NEURON_MEM_UNKNOWN_DEVICE = 7,
  NEURON_MEM_CODE_DEVICE = 8,
  NEURON_MEM_TENSORS_DEVICE = 9,
  NEURON_MEM_CONSTANTS_DEVICE = 10,
  NEURON_MEM_SCRATCHPAD_DEVICE = 11,
  NEURON_MEM_MISC_DEVICE = 12,
  NEURON_MEM_NCDEV_DEVICE = 13, /* the driver's own, the reserved chunk among them */
  NEURON_MEM_COLLECTIVES_DEVICE = 14,
  NEURON_MEM_SCRATCHPAD_NONSHARED_DEVICE = 15,
  NEURON_MEM_NOTIFICATION_DEVICE = 16,
  NEURON_MEM_DMA_RINGS_HOST = 17,
  NEURON_MEM_DMA_RINGS_DEVICE = 18,
  NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE = 19, /* the only one that changes placement */
};

#define NEURON_MEM_CATEGORY_COUNT 20

/* --- 5.7 core initialisation, reset, applications --------------------------------------------- */

enum neuron_cinit_state {
  NEURON_CINIT_STARTED = 1,
  NEURON_CINIT_COMPLETED = 2,
  NEURON_CINIT_INVALID = 3,
};

#define NEURON_NC_MAP_DEVICE 0xffffffffu /* reset map: the whole device */

enum neuron_device_state {
  NEURON_DEVICE_RESETTING = 0,
  NEURON_DEVICE_READY = 1,
  NEURON_DEVICE_INVALID = 2,
};

#define NEURON_APPS_INFO_LOCK 0x1
#define NEURON_APPS_INFO_MEM_USAGE 0x2
#define NEURON_APPS_INFO_ALL 0xf

/* --- 5.8 pods (UltraServers) ------------------------------------------------------------------ */

enum neuron_pod_type {
  NEURON_POD_TYPE_NONE = 0,
  NEURON_POD_TYPE_P2P = 1,
  NEURON_POD_TYPE_SWITCH = 2,
};

enum neuron_pod_state {
  NEURON_POD_STATE_NOT_STARTED = 0,
  NEURON_POD_STATE_IN_PROGRESS = 1,
  NEURON_POD_STATE_ULTRASERVER = 2,
  NEURON_POD_STATE_FAILED = 3,
  NEURON_POD_STATE_SINGLE_NODE = 4,
};

enum neuron_pod_ctrl {
  NEURON_POD_CTRL_FORM = 0,
  NEURON_POD_CTRL_SINGLE_NODE = 1,
  NEURON_POD_CTRL_KILL_ELECTION = 2,
  NEURON_POD_CTRL_SET_MODE = 3,
};

enum neuron_pod_mode {
  NEURON_POD_MODE_UNSET = 0,
  NEURON_POD_MODE_4_NODES = 1,
  NEURON_POD_MODE_2_NODES_HORIZONTAL = 2,
  NEURON_POD_MODE_2_NODES_VERTICAL = 3,
  NEURON_POD_MODE_1_NODE = 4,
};

/* --- 5.9 limits and tables -------------------------------------------------------------------- */

#define NEURON_MAX_DEVICES 64
#define NEURON_MAX_CORES 8
#define NEURON_MAX_TOP_SP 16
#define NEURON_MAX_HBM 4
#define NEURON_MAX_REGIONS 4
#define NEURON_MAX_NEIGHBOURS 8
#define NEURON_MAX_BARS 2
#define NEURON_MAX_PROCESSES 16 /* attached to one device */
#define NEURON_MAX_APP_CORES 4  /* cores reported per neuron_app_info */
#define NEURON_MAX_CORE_MAP 128
#define NEURON_MAX_HANDLES 4194302u
#define NEURON_DATASTORE_SIZE 262144u
#define NEURON_DATASTORE_COUNT 16

#define NEURON_ERRNO_NOTSUPP 524 /* a kernel-internal errno that some requests let through */

/* Device index of a routing id (Trn1 and Trn2; other chips: the id itself). `trn2` selects the
 * table. Ids count on in blocks of 16. */
static inline uint32_t neuron_routing_id_to_device(int trn2, uint32_t routing_id) {
  static const uint8_t order[2][16] = {
      {0, 4, 1, 5, 3, 7, 2, 6, 12, 8, 13, 9, 15, 11, 14, 10},
      {0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10},
  };
  return (routing_id & ~15u) + order[trn2 ? 1 : 0][routing_id & 15u];
}

/* The inverse: routing id of a device. */
static inline uint32_t neuron_device_to_routing_id(int trn2, uint32_t device) {
  uint32_t id = device & ~15u;
  while (neuron_routing_id_to_device(trn2, id) != device)
    ++id;
  return id;
}

/* Physical core, inside its device, of flat logical core `logical` (v3; its device is logical / 8).
 * `die_flip`: UltraServer nodes 1 and 3. */
static inline uint32_t neuron_v3_physical_core(uint32_t logical, int die_flip) {
  static const uint8_t order[4][8] = {
      {4, 5, 6, 7, 2, 3, 0, 1},
      {2, 3, 0, 1, 4, 5, 6, 7},
      {0, 1, 2, 3, 6, 7, 4, 5},
      {6, 7, 4, 5, 0, 1, 2, 3},
  };
  uint32_t flat = die_flip ? logical ^ 6u : logical;
  uint32_t device = flat / 8;
  return order[(device / 4 % 2) * 2 + device % 2][flat % 8];
}

#ifdef __cplusplus
}
#endif

#endif
