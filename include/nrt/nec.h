/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a collectives library calls back for (nrt-api.md 1.10). Present so that such a library
 * links; only nec_get_virtual_core_size answers truthfully. The others report failure in the form
 * their type allows: NRT_FAILURE, -1, false, 0 or nothing (nec_get_device_count: 0 devices).
 *
 * nec_get_version_info is declared by the original's header and exported by no library; it is left
 * out here.
 */
#ifndef NRT_NEC_H
#define NRT_NEC_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum nec_pod_type {
  NEC_POD_TYPE_NONE = 0,
  NEC_POD_TYPE_P2P = 1,
  NEC_POD_TYPE_SWITCH = 2,
  NEC_POD_TYPE_INVALID = 3,
} nec_pod_type_t;

/* A piece of host memory that device and collectives library share. */
typedef struct enc_host_mem {
  void *handle;
  void *va;
  uint64_t pa;
  size_t size;
} enc_host_mem_t;
NRT_ABI_SIZE(enc_host_mem_t, 32);
NRT_ABI_AT(enc_host_mem_t, pa, 16);
NRT_ABI_AT(enc_host_mem_t, size, 24);

void nec_inc_semaphore(volatile uint32_t *sem_inc_addr, uint32_t val);

/* Dynamic message sizes, in bytes, of one peer among `rank_n`. */
size_t nec_get_dynamic_send_size_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz, int dst_rank,
                                       int rank_n);
size_t nec_get_dynamic_send_offset_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz,
                                         int dst_rank, int rank_n);
size_t nec_get_dynamic_recv_offset_bytes(enc_host_mem_t *dyn_input, size_t data_type_sz,
                                         int src_rank, int rank_n);
void nec_set_recv_size_bytes(enc_host_mem_t *dyn_input, size_t recv_size_bytes, size_t data_type_sz,
                             int src_rank, int rank_n);

/* Devices and where they are. */
int nec_get_device_count(int *available_devices_array, uint32_t array_size);
int nec_get_device_pci_bdf(int neuron_dev, uint32_t *domain, uint32_t *bus_num, uint8_t *pci_slot,
                           uint8_t *dev_func);

/* Physical cores per logical core. Needs no nrt_init. */
NRT_STATUS nec_get_virtual_core_size(uint32_t *virtual_core_size);

/* Links between devices, by device index (mla) and routing id (rid). */
NRT_STATUS nec_build_port_and_rid_map(int local_nec_dev_id, int *mla_indexes, int *host_device_ids,
                                      int count);
bool nec_is_mla_available(int local_nec_dev_id, int mla_idx);
int nec_mla_idx_to_rid(int local_nec_dev_id, int mla_idx);
int nec_rid_to_mla_idx(int local_nec_dev_id, int rid);
int nec_get_peer_mla_idx(int local_nec_dev_id, int mla_idx, int port);
int nec_get_p2p_pod_peer_node(uint32_t nec_dev_id, int node, uint32_t port_distance,
                              int *peer_node);
NRT_STATUS nec_pod_node_can_access_peer_node(nec_pod_type_t pod_type, uint32_t local_rid,
                                             uint32_t local_node_id, uint32_t remote_rid,
                                             uint32_t remote_node_id, int *can_access_peer);

/* A line for the kernel log. */
void nec_ndl_printk(char *str, uint32_t size, uint32_t action);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
