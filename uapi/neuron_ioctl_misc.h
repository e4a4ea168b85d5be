/* SPDX-License-Identifier: Apache-2.0 */
/* Argument structures: semaphores, events, notifications, registers, datastore, pod (uapi.md 6.5).
 */
#ifndef UAPI_NEURON_IOCTL_MISC_H
#define UAPI_NEURON_IOCTL_MISC_H

#include "uapi/neuron_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* SEMAPHORE_*. */
struct neuron_ioctl_semaphore {
  uint32_t nc_id;           /* in */
  uint32_t semaphore_index; /* in */
  uint32_t value;           /* in, out */
};
NEURON_ABI_SIZE(neuron_ioctl_semaphore, 12, 4);
NEURON_ABI_AT(neuron_ioctl_semaphore, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_semaphore, semaphore_index, 4);
NEURON_ABI_AT(neuron_ioctl_semaphore, value, 8);

/* EVENT_*: laid out like the semaphore request. */
struct neuron_ioctl_event {
  uint32_t nc_id;       /* in */
  uint32_t event_index; /* in */
  uint32_t value;       /* in, out */
};
NEURON_ABI_SIZE(neuron_ioctl_event, 12, 4);
NEURON_ABI_AT(neuron_ioctl_event, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_event, event_index, 4);
NEURON_ABI_AT(neuron_ioctl_event, value, 8);

/* NOTIFICATIONS_INIT_V1: queue of a core, always in host memory. */
struct neuron_ioctl_notifications_init_v1 {
  uint32_t nc_id;        /* in */
  uint32_t nq_type;      /* in: NEURON_NQ_TYPE_* */
  uint32_t engine_index; /* in */
  uint32_t size;         /* in: bytes, a power of two */
  uint64_t mmap_offset;  /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_notifications_init_v1, 24, 8);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v1, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v1, nq_type, 4);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v1, engine_index, 8);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v1, size, 12);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v1, mmap_offset, 16);

/* NOTIFICATIONS_INIT_V2: queue of a core or TOP_SP, in host or device memory. */
struct neuron_ioctl_notifications_init_v2 {
  uint32_t nq_dev_id;      /* in */
  uint32_t nq_dev_type;    /* in: NEURON_NQ_DEVICE_* */
  uint32_t nq_type;        /* in: NEURON_NQ_TYPE_* */
  uint32_t engine_index;   /* in */
  uint32_t size;           /* in: bytes, a power of two */
  uint32_t on_host_memory; /* in: 1 host, 0 device */
  uint32_t dram_channel;   /* in: HBM number, checked even for host memory */
  uint32_t dram_region;    /* in: ignored on v2 and v3 */
  uint64_t mmap_offset;    /* out: all ones when on the device */
  uint64_t mem_handle;     /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_notifications_init_v2, 48, 8);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v2, nq_dev_id, 0);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v2, nq_dev_type, 4);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v2, nq_type, 8);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v2, engine_index, 12);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v2, size, 16);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v2, on_host_memory, 20);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v2, dram_channel, 24);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v2, dram_region, 28);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v2, mmap_offset, 32);
NEURON_ABI_AT(neuron_ioctl_notifications_init_v2, mem_handle, 40);

/* NOTIFICATIONS_INIT_WITH_REALLOC_V2: V2 that can replace an existing queue. */
struct neuron_ioctl_notifications_init_with_realloc_v2 {
  uint32_t nq_dev_id;       /* in */
  uint32_t nq_dev_type;     /* in: NEURON_NQ_DEVICE_* */
  uint32_t nq_type;         /* in: NEURON_NQ_TYPE_* */
  uint32_t engine_index;    /* in */
  uint32_t size;            /* in: bytes, a power of two */
  uint32_t on_host_memory;  /* in: 1 host, 0 device */
  uint32_t dram_channel;    /* in: HBM number, checked even for host memory */
  uint32_t dram_region;     /* in: ignored on v2 and v3 */
  uint32_t force_alloc_mem; /* in */
  uint64_t mmap_offset;     /* out: all ones when on the device */
  uint64_t mem_handle;      /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_notifications_init_with_realloc_v2, 56, 8);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, nq_dev_id, 0);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, nq_dev_type, 4);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, nq_type, 8);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, engine_index, 12);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, size, 16);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, on_host_memory, 20);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, dram_channel, 24);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, dram_region, 28);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, force_alloc_mem, 32);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, mmap_offset, 40);
NEURON_ABI_AT(neuron_ioctl_notifications_init_with_realloc_v2, mem_handle, 48);

/* NOTIFICATIONS_DESTROY_V1: accepted and ignored. */
struct neuron_ioctl_notifications_destroy {
  uint64_t mmap_offset; /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_notifications_destroy, 8, 8);
NEURON_ABI_AT(neuron_ioctl_notifications_destroy, mmap_offset, 0);

/* Declared by the ABI, used by no request. */
struct neuron_ioctl_notifications_destroy_nq {
  uint32_t nq_dev_id;
  uint32_t nq_type;
  uint32_t engine_index;
};
NEURON_ABI_SIZE(neuron_ioctl_notifications_destroy_nq, 12, 4);
NEURON_ABI_AT(neuron_ioctl_notifications_destroy_nq, nq_dev_id, 0);
NEURON_ABI_AT(neuron_ioctl_notifications_destroy_nq, nq_type, 4);
NEURON_ABI_AT(neuron_ioctl_notifications_destroy_nq, engine_index, 8);

/* NOTIFICATIONS_QUEUE_INFO: always fails with EPERM. */
struct neuron_ioctl_notifications_queue_info {
  uint8_t nq_dev_id;
  uint8_t nq_dev_type;
  uint8_t nq_type;
  uint8_t engine_index;
  uint32_t head;
  uint32_t phase_bit;
};
NEURON_ABI_SIZE(neuron_ioctl_notifications_queue_info, 12, 4);
NEURON_ABI_AT(neuron_ioctl_notifications_queue_info, nq_dev_id, 0);
NEURON_ABI_AT(neuron_ioctl_notifications_queue_info, nq_dev_type, 1);
NEURON_ABI_AT(neuron_ioctl_notifications_queue_info, nq_type, 2);
NEURON_ABI_AT(neuron_ioctl_notifications_queue_info, engine_index, 3);
NEURON_ABI_AT(neuron_ioctl_notifications_queue_info, head, 4);
NEURON_ABI_AT(neuron_ioctl_notifications_queue_info, phase_bit, 8);

/* BAR_READ / BAR_WRITE: a list of registers; addresses are bar_address plus offset. */
struct neuron_ioctl_bar_rw {
  uint32_t bar;      /* in */
  uint64_t *address; /* in */
  uint32_t *data;    /* in, out */
  uint32_t count;    /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_bar_rw, 32, 8);
NEURON_ABI_AT(neuron_ioctl_bar_rw, bar, 0);
NEURON_ABI_AT(neuron_ioctl_bar_rw, address, 8);
NEURON_ABI_AT(neuron_ioctl_bar_rw, data, 16);
NEURON_ABI_AT(neuron_ioctl_bar_rw, count, 24);

/* READ_HW_COUNTERS. */
struct neuron_ioctl_read_hw_counters {
  uint64_t *address; /* in */
  uint32_t *data;    /* out */
  uint32_t count;    /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_read_hw_counters, 24, 8);
NEURON_ABI_AT(neuron_ioctl_read_hw_counters, address, 0);
NEURON_ABI_AT(neuron_ioctl_read_hw_counters, data, 8);
NEURON_ABI_AT(neuron_ioctl_read_hw_counters, count, 16);

/* POST_METRIC. */
struct neuron_ioctl_post_metric {
  uint32_t *data;     /* in */
  uint32_t data_size; /* in: bytes, 128 at most */
};
NEURON_ABI_SIZE(neuron_ioctl_post_metric, 16, 8);
NEURON_ABI_AT(neuron_ioctl_post_metric, data, 0);
NEURON_ABI_AT(neuron_ioctl_post_metric, data_size, 8);

/* ACQUIRE_NEURON_DS / RELEASE_NEURON_DS: a process's statistics page range. */
struct neuron_ioctl_neuron_ds_info {
  int32_t pid;          /* in: 0 = own */
  uint64_t mmap_offset; /* out */
  uint32_t size;        /* out: NEURON_DATASTORE_SIZE */
};
NEURON_ABI_SIZE(neuron_ioctl_neuron_ds_info, 24, 8);
NEURON_ABI_AT(neuron_ioctl_neuron_ds_info, pid, 0);
NEURON_ABI_AT(neuron_ioctl_neuron_ds_info, mmap_offset, 8);
NEURON_ABI_AT(neuron_ioctl_neuron_ds_info, size, 16);

/* First bytes of a datastore; written by the process that owns it. */
struct nds_header {
  char signature[4]; /* "nds" and a NUL */
  int32_t version;
};
NEURON_ABI_SIZE(nds_header, 8, 4);
NEURON_ABI_AT(nds_header, signature, 0);
NEURON_ABI_AT(nds_header, version, 4);

/* PRINTK: a line for the kernel log. */
struct neuron_ioctl_printk {
  void *buffer;    /* in */
  uint32_t size;   /* in: bytes with the NUL, 512 at most */
  uint32_t action; /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_printk, 16, 8);
NEURON_ABI_AT(neuron_ioctl_printk, buffer, 0);
NEURON_ABI_AT(neuron_ioctl_printk, size, 8);
NEURON_ABI_AT(neuron_ioctl_printk, action, 12);

/* POD_INFO. */
struct neuron_ioctl_pod_info {
  uint16_t sz;         /* in, out: 260 */
  uint8_t pod_type;    /* out: NEURON_POD_TYPE_* */
  uint8_t pod_id[256]; /* out */
  uint8_t pod_sz;      /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_pod_info, 260, 2);
NEURON_ABI_AT(neuron_ioctl_pod_info, sz, 0);
NEURON_ABI_AT(neuron_ioctl_pod_info, pod_type, 2);
NEURON_ABI_AT(neuron_ioctl_pod_info, pod_id, 3);
NEURON_ABI_AT(neuron_ioctl_pod_info, pod_sz, 259);

/* POD_STATUS. */
struct neuron_ioctl_pod_status {
  uint16_t sz;         /* in, out: 268, or 276 for V2 */
  uint8_t pod_id[256]; /* out */
  uint32_t state;      /* out: NEURON_POD_STATE_* */
  uint8_t pod_type;    /* out: NEURON_POD_TYPE_* */
  uint8_t pod_sz;      /* out */
  int8_t node_id;      /* out: -1 = none */
};
NEURON_ABI_SIZE(neuron_ioctl_pod_status, 268, 4);
NEURON_ABI_AT(neuron_ioctl_pod_status, sz, 0);
NEURON_ABI_AT(neuron_ioctl_pod_status, pod_id, 2);
NEURON_ABI_AT(neuron_ioctl_pod_status, state, 260);
NEURON_ABI_AT(neuron_ioctl_pod_status, pod_type, 264);
NEURON_ABI_AT(neuron_ioctl_pod_status, pod_sz, 265);
NEURON_ABI_AT(neuron_ioctl_pod_status, node_id, 266);

/* POD_STATUS_V2. */
struct neuron_ioctl_pod_status_v2 {
  struct neuron_ioctl_pod_status v1; /* in, out */
  uint32_t mode;                     /* out: NEURON_POD_MODE_* */
  uint32_t modes_supported;          /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_pod_status_v2, 276, 4);
NEURON_ABI_AT(neuron_ioctl_pod_status_v2, v1, 0);
NEURON_ABI_AT(neuron_ioctl_pod_status_v2, mode, 268);
NEURON_ABI_AT(neuron_ioctl_pod_status_v2, modes_supported, 272);

/* POD_CTRL. */
struct neuron_ioctl_pod_ctrl {
  uint16_t sz;      /* in: 16, or 20 for V2 */
  uint32_t ctrl;    /* in: NEURON_POD_CTRL_* */
  uint32_t timeout; /* in: seconds */
  uint32_t state;   /* out: NEURON_POD_STATE_* */
};
NEURON_ABI_SIZE(neuron_ioctl_pod_ctrl, 16, 4);
NEURON_ABI_AT(neuron_ioctl_pod_ctrl, sz, 0);
NEURON_ABI_AT(neuron_ioctl_pod_ctrl, ctrl, 4);
NEURON_ABI_AT(neuron_ioctl_pod_ctrl, timeout, 8);
NEURON_ABI_AT(neuron_ioctl_pod_ctrl, state, 12);

/* POD_CTRL_V2. */
struct neuron_ioctl_pod_ctrl_v2 {
  struct neuron_ioctl_pod_ctrl v1; /* in, out */
  uint32_t mode;                   /* in: NEURON_POD_MODE_* */
};
NEURON_ABI_SIZE(neuron_ioctl_pod_ctrl_v2, 20, 4);
NEURON_ABI_AT(neuron_ioctl_pod_ctrl_v2, v1, 0);
NEURON_ABI_AT(neuron_ioctl_pod_ctrl_v2, mode, 16);

#ifdef __cplusplus
}
#endif

#endif
