/* SPDX-License-Identifier: Apache-2.0 */
/* Argument structures: discovery, versions, identity, core claims, locks, reset (uapi.md 6.1, 6.2).
 */
#ifndef UAPI_NEURON_IOCTL_DEVICE_H
#define UAPI_NEURON_IOCTL_DEVICE_H

#include "uapi/neuron_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * DEVICE_INFO: chip, neighbours and register windows. Entries of connected_devices beyond the
 * count hold nothing useful; bar_address values are only good as operands of BAR_READ and
 * BAR_WRITE.
 */
struct neuron_ioctl_device_info {
  uint32_t architecture;           /* out: NEURON_ARCH_* */
  uint32_t revision;               /* out */
  uint32_t connected_device_count; /* out */
  uint32_t connected_devices[8];   /* out */
  uint64_t bar_address[2];         /* out: BAR0, BAR2 */
  uint64_t bar_size[2];            /* out: bytes */
};
NEURON_ABI_SIZE(neuron_ioctl_device_info, 80, 8);
NEURON_ABI_AT(neuron_ioctl_device_info, architecture, 0);
NEURON_ABI_AT(neuron_ioctl_device_info, revision, 4);
NEURON_ABI_AT(neuron_ioctl_device_info, connected_device_count, 8);
NEURON_ABI_AT(neuron_ioctl_device_info, connected_devices, 12);
NEURON_ABI_AT(neuron_ioctl_device_info, bar_address, 48);
NEURON_ABI_AT(neuron_ioctl_device_info, bar_size, 64);

/* DEVICE_BASIC_INFO: the chip alone, for processes that do not attach. */
struct neuron_ioctl_device_basic_info {
  uint32_t architecture; /* out: NEURON_ARCH_* */
  uint32_t revision;     /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_device_basic_info, 8, 4);
NEURON_ABI_AT(neuron_ioctl_device_basic_info, architecture, 0);
NEURON_ABI_AT(neuron_ioctl_device_basic_info, revision, 4);

/* DRIVER_INFO_GET / _SET: chip and the driver's feature bits (NEURON_FEATURE_*). */
struct neuron_ioctl_device_driver_info {
  uint32_t architecture;   /* out: NEURON_ARCH_* */
  uint32_t revision;       /* out */
  uint32_t version;        /* out: of this layout: 0 */
  uint32_t size;           /* out: 24 */
  uint64_t feature_flags1; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_device_driver_info, 24, 8);
NEURON_ABI_AT(neuron_ioctl_device_driver_info, architecture, 0);
NEURON_ABI_AT(neuron_ioctl_device_driver_info, revision, 4);
NEURON_ABI_AT(neuron_ioctl_device_driver_info, version, 8);
NEURON_ABI_AT(neuron_ioctl_device_driver_info, size, 12);
NEURON_ABI_AT(neuron_ioctl_device_driver_info, feature_flags1, 16);

/* COMPATIBLE_VERSION: range of runtime API levels the driver accepts. max comes first. */
struct neuron_ioctl_compatible_version {
  uint32_t max; /* out */
  uint32_t min; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_compatible_version, 8, 4);
NEURON_ABI_AT(neuron_ioctl_compatible_version, max, 0);
NEURON_ABI_AT(neuron_ioctl_compatible_version, min, 4);

/* DEVICE_BDF: PCI place of the opened device, without domain. */
struct neuron_ioctl_device_bdf {
  uint32_t bus_number; /* out */
  uint8_t slot;        /* out */
  uint8_t func;        /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_device_bdf, 8, 4);
NEURON_ABI_AT(neuron_ioctl_device_bdf, bus_number, 0);
NEURON_ABI_AT(neuron_ioctl_device_bdf, slot, 4);
NEURON_ABI_AT(neuron_ioctl_device_bdf, func, 5);

/* DEVICE_BDF_EXT: PCI place of any device, counted from the opened one. */
struct neuron_ioctl_device_bdf_ext {
  uint32_t nd_index;   /* in: relative to the opened device */
  uint32_t domain;     /* out */
  uint32_t bus_number; /* out */
  uint8_t slot;        /* out */
  uint8_t func;        /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_device_bdf_ext, 16, 4);
NEURON_ABI_AT(neuron_ioctl_device_bdf_ext, nd_index, 0);
NEURON_ABI_AT(neuron_ioctl_device_bdf_ext, domain, 4);
NEURON_ABI_AT(neuron_ioctl_device_bdf_ext, bus_number, 8);
NEURON_ABI_AT(neuron_ioctl_device_bdf_ext, slot, 12);
NEURON_ABI_AT(neuron_ioctl_device_bdf_ext, func, 13);

/* HOST_DEVICE_ID: number of this device on the host. */
struct neuron_ioctl_host_device_id {
  uint32_t host_device_id; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_host_device_id, 4, 4);
NEURON_ABI_AT(neuron_ioctl_host_device_id, host_device_id, 0);

/* HOST_DEVICE_ID_TO_RID_MAP: routing id of every device. */
struct neuron_ioctl_host_device_id_to_rid_map {
  uint32_t count;                   /* out */
  uint32_t host_did_to_rid_map[64]; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_host_device_id_to_rid_map, 260, 4);
NEURON_ABI_AT(neuron_ioctl_host_device_id_to_rid_map, count, 0);
NEURON_ABI_AT(neuron_ioctl_host_device_id_to_rid_map, host_did_to_rid_map, 4);

/* GET_LOGICAL_TO_PHYSICAL_NC_MAP: asks for the core map; v3 only. */
struct neuron_ioctl_get_logical_to_physical_nc_map {
  struct neuron_ioctl_nc_map *map; /* out */
  uint32_t max_map_entries;        /* in: 128 at most */
  uint32_t mapping_version;        /* in: 0 */
};
NEURON_ABI_SIZE(neuron_ioctl_get_logical_to_physical_nc_map, 16, 8);
NEURON_ABI_AT(neuron_ioctl_get_logical_to_physical_nc_map, map, 0);
NEURON_ABI_AT(neuron_ioctl_get_logical_to_physical_nc_map, max_map_entries, 8);
NEURON_ABI_AT(neuron_ioctl_get_logical_to_physical_nc_map, mapping_version, 12);

/* Place of one logical core. */
struct neuron_ioctl_nc_map_entry {
  uint32_t device_id;     /* out */
  uint32_t device_nc_idx; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_nc_map_entry, 8, 4);
NEURON_ABI_AT(neuron_ioctl_nc_map_entry, device_id, 0);
NEURON_ABI_AT(neuron_ioctl_nc_map_entry, device_nc_idx, 4);

/* The map GET_LOGICAL_TO_PHYSICAL_NC_MAP fills; entry i places logical core i. */
struct neuron_ioctl_nc_map {
  uint32_t num_entries;                        /* out */
  struct neuron_ioctl_nc_map_entry mappings[]; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_nc_map, 4, 4);
NEURON_ABI_AT(neuron_ioctl_nc_map, num_entries, 0);
NEURON_ABI_AT(neuron_ioctl_nc_map, mappings, 4);

/* A model id; the driver only compares it. */
struct neuron_uuid {
  uint8_t value[32]; /* in */
};
NEURON_ABI_SIZE(neuron_uuid, 32, 1);
NEURON_ABI_AT(neuron_uuid, value, 0);

/* One process that uses the device. Three bytes of padding follow uuid_data. */
struct neuron_app_info {
  int32_t pid;                     /* out */
  uint8_t nc_lock_map;             /* out: bit per core whose lock is held */
  struct neuron_uuid uuid_data[4]; /* out */
  uint64_t host_mem_size;          /* out: bytes */
  uint64_t device_mem_size;        /* out: bytes */
};
NEURON_ABI_SIZE(neuron_app_info, 152, 8);
NEURON_ABI_AT(neuron_app_info, pid, 0);
NEURON_ABI_AT(neuron_app_info, nc_lock_map, 4);
NEURON_ABI_AT(neuron_app_info, uuid_data, 5);
NEURON_ABI_AT(neuron_app_info, host_mem_size, 136);
NEURON_ABI_AT(neuron_app_info, device_mem_size, 144);

/* DEVICE_GET_ALL_APPS_INFO: which processes use the device. */
struct neuron_ioctl_get_apps_info {
  uint16_t apps_info_flags;          /* in: NEURON_APPS_INFO_* */
  uint32_t capacity;                 /* in: entries of room */
  uint32_t size;                     /* out: entries filled */
  struct neuron_app_info app_data[]; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_get_apps_info, 16, 8);
NEURON_ABI_AT(neuron_ioctl_get_apps_info, apps_info_flags, 0);
NEURON_ABI_AT(neuron_ioctl_get_apps_info, capacity, 4);
NEURON_ABI_AT(neuron_ioctl_get_apps_info, size, 8);
NEURON_ABI_AT(neuron_ioctl_get_apps_info, app_data, 16);

/* DEVICE_INIT: kept for old callers; never read. */
struct neuron_ioctl_device_init {
  uint32_t mem_regions; /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_device_init, 4, 4);
NEURON_ABI_AT(neuron_ioctl_device_init, mem_regions, 0);

/* CRWL_NC_RANGE_MARK / UNMARK, first form: hosts of up to 64 cores. */
struct neuron_ioctl_crwl_nc_map {
  uint32_t nc_count;         /* in */
  uint32_t start_nc_index;   /* in: relative to the opened device */
  uint32_t end_nc_index;     /* in: inclusive */
  uint32_t max_nc_available; /* out: longest free run, on failure */
  uint64_t bitmap;           /* out of MARK, in to UNMARK */
};
NEURON_ABI_SIZE(neuron_ioctl_crwl_nc_map, 24, 8);
NEURON_ABI_AT(neuron_ioctl_crwl_nc_map, nc_count, 0);
NEURON_ABI_AT(neuron_ioctl_crwl_nc_map, start_nc_index, 4);
NEURON_ABI_AT(neuron_ioctl_crwl_nc_map, end_nc_index, 8);
NEURON_ABI_AT(neuron_ioctl_crwl_nc_map, max_nc_available, 12);
NEURON_ABI_AT(neuron_ioctl_crwl_nc_map, bitmap, 16);

/*
 * CRWL_NC_RANGE_MARK / UNMARK, wide form: up to 512 cores. Bit 0 of the map is the first core
 * of the device the request goes to.
 */
struct neuron_ioctl_crwl_nc_map_ext {
  uint32_t nc_count;         /* in */
  uint32_t start_nc_index;   /* in: relative to the opened device */
  uint32_t end_nc_index;     /* in: inclusive */
  uint32_t max_nc_available; /* out: longest free run, on failure */
  uint64_t bitmap[8];        /* out of MARK, in to UNMARK */
};
NEURON_ABI_SIZE(neuron_ioctl_crwl_nc_map_ext, 80, 8);
NEURON_ABI_AT(neuron_ioctl_crwl_nc_map_ext, nc_count, 0);
NEURON_ABI_AT(neuron_ioctl_crwl_nc_map_ext, start_nc_index, 4);
NEURON_ABI_AT(neuron_ioctl_crwl_nc_map_ext, end_nc_index, 8);
NEURON_ABI_AT(neuron_ioctl_crwl_nc_map_ext, max_nc_available, 12);
NEURON_ABI_AT(neuron_ioctl_crwl_nc_map_ext, bitmap, 16);

/* CRWL_READER_* / CRWL_WRITER_*: reader-writer lock of one core, tagged with a model id. */
struct neuron_ioctl_crwl {
  uint32_t nc_id;          /* in */
  struct neuron_uuid uuid; /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_crwl, 36, 4);
NEURON_ABI_AT(neuron_ioctl_crwl, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_crwl, uuid, 4);

/* CINIT_SET_STATE: proposes a core-initialisation state and returns the one that holds. */
struct neuron_ioctl_cinit_set {
  uint32_t nc_id;     /* in */
  uint32_t state;     /* in: NEURON_CINIT_* */
  uint32_t new_state; /* out: NEURON_CINIT_* */
};
NEURON_ABI_SIZE(neuron_ioctl_cinit_set, 12, 4);
NEURON_ABI_AT(neuron_ioctl_cinit_set, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_cinit_set, state, 4);
NEURON_ABI_AT(neuron_ioctl_cinit_set, new_state, 8);

/* NC_MODEL_STARTED_COUNT: models started on a core. Never counts on v2 and v3. */
struct neuron_ioctl_nc_model_started_count {
  uint32_t nc_id;         /* in */
  uint64_t started_count; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_nc_model_started_count, 16, 8);
NEURON_ABI_AT(neuron_ioctl_nc_model_started_count, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_nc_model_started_count, started_count, 8);

/* NC_RESET: starts a reset of the cores in the map. */
struct neuron_ioctl_device_reset {
  uint32_t nc_map;     /* in: bit per core, NEURON_NC_MAP_DEVICE for all */
  uint32_t request_id; /* out: the caller's tgid */
};
NEURON_ABI_SIZE(neuron_ioctl_device_reset, 8, 4);
NEURON_ABI_AT(neuron_ioctl_device_reset, nc_map, 0);
NEURON_ABI_AT(neuron_ioctl_device_reset, request_id, 4);

/* NC_RESET_READY: waits for a reset. */
struct neuron_ioctl_device_ready {
  uint32_t request_id; /* in */
  int32_t result;      /* out: 0 done, 1 failed or unknown, -4 interrupted */
};
NEURON_ABI_SIZE(neuron_ioctl_device_ready, 8, 4);
NEURON_ABI_AT(neuron_ioctl_device_ready, request_id, 0);
NEURON_ABI_AT(neuron_ioctl_device_ready, result, 4);

/* NC_PID_STATE_DUMP: makes the driver log who holds a core. */
struct neuron_ioctl_nc_pid_state_dump {
  uint32_t size;             /* in: unchecked */
  uint32_t nc_id;            /* in: global core number */
  uint32_t filter_log_owner; /* in */
  uint32_t log_dump_limit;   /* in: lines, 0 = 128 */
};
NEURON_ABI_SIZE(neuron_ioctl_nc_pid_state_dump, 16, 4);
NEURON_ABI_AT(neuron_ioctl_nc_pid_state_dump, size, 0);
NEURON_ABI_AT(neuron_ioctl_nc_pid_state_dump, nc_id, 4);
NEURON_ABI_AT(neuron_ioctl_nc_pid_state_dump, filter_log_owner, 8);
NEURON_ABI_AT(neuron_ioctl_nc_pid_state_dump, log_dump_limit, 12);

#ifdef __cplusplus
}
#endif

#endif
