/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of the Neuron device node, /dev/neuron<N> (uapi.md 3 and 4).
 *
 * Reading a request value: the direction bits say nothing about who reads or writes the argument,
 * and macros that name a pointer type still take the address of the structure itself. Where one
 * number has several macros, the newer ones name the structure and differ by its size.
 *
 * Any result other than 0 is a failure: some requests answer with a positive number.
 */
#ifndef UAPI_NEURON_IOCTL_H
#define UAPI_NEURON_IOCTL_H

#include <linux/ioctl.h>

#include "uapi/neuron_ioctl_device.h"
#include "uapi/neuron_ioctl_dma.h"
#include "uapi/neuron_ioctl_mem.h"
#include "uapi/neuron_ioctl_misc.h"

#define NEURON_IOCTL_BASE 'N'

#define NEURON_IOCTL_DEVICE_RESET _IO(NEURON_IOCTL_BASE, 1)
#define NEURON_IOCTL_DEVICE_READY _IOR(NEURON_IOCTL_BASE, 2, uint8_t)
#define NEURON_IOCTL_DEVICE_INFO _IOR(NEURON_IOCTL_BASE, 3, struct neuron_ioctl_device_info *)
#define NEURON_IOCTL_DEVICE_INIT _IOR(NEURON_IOCTL_BASE, 4, struct neuron_ioctl_device_init *)
#define NEURON_IOCTL_DEVICE_RELEASE _IO(NEURON_IOCTL_BASE, 5)
#define NEURON_IOCTL_DEVICE_APP_PID _IOR(NEURON_IOCTL_BASE, 6, int32_t)
#define NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO \
  _IOR(NEURON_IOCTL_BASE, 7, struct neuron_ioctl_get_apps_info *)
#define NEURON_IOCTL_BAR_READ _IOR(NEURON_IOCTL_BASE, 11, struct neuron_ioctl_bar_rw *)
#define NEURON_IOCTL_BAR_WRITE _IOW(NEURON_IOCTL_BASE, 12, struct neuron_ioctl_bar_rw *)
#define NEURON_IOCTL_POST_METRIC _IOW(NEURON_IOCTL_BASE, 13, struct neuron_ioctl_post_metric *)
#define NEURON_IOCTL_MEM_ALLOC _IOR(NEURON_IOCTL_BASE, 21, struct neuron_ioctl_mem_alloc *)
#define NEURON_IOCTL_MEM_FREE _IOR(NEURON_IOCTL_BASE, 22, struct neuron_ioctl_mem_free *)
#define NEURON_IOCTL_MEM_COPY _IOR(NEURON_IOCTL_BASE, 23, struct neuron_ioctl_mem_copy *)
#define NEURON_IOCTL_MEM_COPY64 _IOR(NEURON_IOCTL_BASE, 23, struct neuron_ioctl_mem_copy64)
#define NEURON_IOCTL_MEM_BUF_COPY _IOWR(NEURON_IOCTL_BASE, 24, struct neuron_ioctl_mem_buf_copy *)
#define NEURON_IOCTL_MEM_BUF_COPY64 _IOWR(NEURON_IOCTL_BASE, 24, struct neuron_ioctl_mem_buf_copy64)
#define NEURON_IOCTL_MEM_GET_PA _IOR(NEURON_IOCTL_BASE, 25, struct neuron_ioctl_mem_get_pa *)
#define NEURON_IOCTL_MEM_GET_INFO _IOR(NEURON_IOCTL_BASE, 26, struct neuron_ioctl_mem_get_info *)
#define NEURON_IOCTL_PROGRAM_ENGINE \
  _IOWR(NEURON_IOCTL_BASE, 27, struct neuron_ioctl_program_engine *)
#define NEURON_IOCTL_MEMSET _IOR(NEURON_IOCTL_BASE, 28, struct neuron_ioctl_memset *)
#define NEURON_IOCTL_MEMSET64 _IOR(NEURON_IOCTL_BASE, 28, struct neuron_ioctl_memset64)
#define NEURON_IOCTL_MEM_GET_EXTENDED_INFO \
  _IOR(NEURON_IOCTL_BASE, 29, struct neuron_ioctl_mem_get_extended_info *)
#define NEURON_IOCTL_DMA_ENG_INIT _IOR(NEURON_IOCTL_BASE, 30, struct neuron_ioctl_dma_eng_init *)
#define NEURON_IOCTL_DMA_ENG_SET_STATE \
  _IOR(NEURON_IOCTL_BASE, 31, struct neuron_ioctl_dma_eng_set_state *)
#define NEURON_IOCTL_DMA_ENG_GET_STATE \
  _IOWR(NEURON_IOCTL_BASE, 32, struct neuron_ioctl_dma_eng_get_state *)
#define NEURON_IOCTL_DMA_QUEUE_INIT \
  _IOR(NEURON_IOCTL_BASE, 33, struct neuron_ioctl_dma_queue_init *)
#define NEURON_IOCTL_DMA_QUEUE_RELEASE \
  _IOR(NEURON_IOCTL_BASE, 34, struct neuron_ioctl_dma_queue_release *)
#define NEURON_IOCTL_DMA_QUEUE_COPY_START \
  _IOR(NEURON_IOCTL_BASE, 35, struct neuron_ioctl_dma_queue_copy_start *)
#define NEURON_IOCTL_DMA_ACK_COMPLETED \
  _IOR(NEURON_IOCTL_BASE, 36, struct neuron_ioctl_dma_ack_completed *)
#define NEURON_IOCTL_DMA_QUEUE_GET_STATE \
  _IOWR(NEURON_IOCTL_BASE, 37, struct neuron_ioctl_dma_queue_get_state *)
#define NEURON_IOCTL_DMA_COPY_DESCRIPTORS \
  _IOR(NEURON_IOCTL_BASE, 38, struct neuron_ioctl_dma_copy_descriptors *)
#define NEURON_IOCTL_DMA_COPY_DESCRIPTORS64 \
  _IOR(NEURON_IOCTL_BASE, 38, struct neuron_ioctl_dma_copy_descriptors64)
#define NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT \
  _IOWR(NEURON_IOCTL_BASE, 39, struct neuron_ioctl_dma_descriptor_copyout *)
#define NEURON_IOCTL_DMA_QUIESCE_QUEUES \
  _IOR(NEURON_IOCTL_BASE, 40, struct neuron_ioctl_dma_quiesce_queues *)
#define NEURON_IOCTL_SEMAPHORE_INCREMENT \
  _IOR(NEURON_IOCTL_BASE, 41, struct neuron_ioctl_semaphore *)
#define NEURON_IOCTL_SEMAPHORE_DECREMENT \
  _IOR(NEURON_IOCTL_BASE, 42, struct neuron_ioctl_semaphore *)
#define NEURON_IOCTL_SEMAPHORE_READ _IOWR(NEURON_IOCTL_BASE, 43, struct neuron_ioctl_semaphore *)
#define NEURON_IOCTL_SEMAPHORE_WRITE _IOR(NEURON_IOCTL_BASE, 44, struct neuron_ioctl_semaphore *)
#define NEURON_IOCTL_EVENT_SET _IOR(NEURON_IOCTL_BASE, 45, struct neuron_ioctl_event *)
#define NEURON_IOCTL_EVENT_GET _IOWR(NEURON_IOCTL_BASE, 46, struct neuron_ioctl_event *)
#define NEURON_IOCTL_NOTIFICATIONS_INIT_V1 \
  _IOR(NEURON_IOCTL_BASE, 51, struct neuron_ioctl_notifications_init_v1 *)
#define NEURON_IOCTL_NOTIFICATIONS_DESTROY_V1 \
  _IOR(NEURON_IOCTL_BASE, 52, struct neuron_ioctl_notifications_destroy *)
#define NEURON_IOCTL_NOTIFICATIONS_INIT_V2 \
  _IOR(NEURON_IOCTL_BASE, 53, struct neuron_ioctl_notifications_init_v2 *)
#define NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2 \
  _IOR(NEURON_IOCTL_BASE, 54, struct neuron_ioctl_notifications_init_with_realloc_v2 *)
#define NEURON_IOCTL_NOTIFICATIONS_QUEUE_INFO \
  _IOR(NEURON_IOCTL_BASE, 58, struct neuron_ioctl_notifications_queue_info *)
#define NEURON_IOCTL_READ_HW_COUNTERS \
  _IOR(NEURON_IOCTL_BASE, 61, struct neuron_ioctl_read_hw_counters *)
#define NEURON_IOCTL_ACQUIRE_NEURON_DS \
  _IOR(NEURON_IOCTL_BASE, 71, struct neuron_ioctl_neuron_ds_info *)
#define NEURON_IOCTL_RELEASE_NEURON_DS \
  _IOR(NEURON_IOCTL_BASE, 72, struct neuron_ioctl_neuron_ds_info *)
#define NEURON_IOCTL_CRWL_READER_ENTER _IOW(NEURON_IOCTL_BASE, 81, struct neuron_ioctl_crwl *)
#define NEURON_IOCTL_CRWL_READER_EXIT _IOW(NEURON_IOCTL_BASE, 82, struct neuron_ioctl_crwl *)
#define NEURON_IOCTL_CRWL_WRITER_ENTER _IOW(NEURON_IOCTL_BASE, 83, struct neuron_ioctl_crwl *)
#define NEURON_IOCTL_CRWL_WRITER_DOWNGRADE _IOW(NEURON_IOCTL_BASE, 84, struct neuron_ioctl_crwl *)
#define NEURON_IOCTL_CRWL_NC_RANGE_MARK \
  _IOW(NEURON_IOCTL_BASE, 85, struct neuron_ioctl_crwl_nc_map *)
#define NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0 \
  _IOWR(NEURON_IOCTL_BASE, 85, struct neuron_ioctl_crwl_nc_map_ext)
#define NEURON_IOCTL_CRWL_NC_RANGE_UNMARK \
  _IOW(NEURON_IOCTL_BASE, 86, struct neuron_ioctl_crwl_nc_map *)
#define NEURON_IOCTL_CRWL_NC_RANGE_UNMARK_EXT0 \
  _IOW(NEURON_IOCTL_BASE, 86, struct neuron_ioctl_crwl_nc_map_ext)
#define NEURON_IOCTL_CINIT_SET_STATE _IOW(NEURON_IOCTL_BASE, 91, struct neuron_ioctl_cinit_set *)
#define NEURON_IOCTL_NC_MODEL_STARTED_COUNT \
  _IOW(NEURON_IOCTL_BASE, 92, struct neuron_ioctl_nc_model_started_count *)
#define NEURON_IOCTL_COMPATIBLE_VERSION \
  _IOW(NEURON_IOCTL_BASE, 93, struct neuron_ioctl_compatible_version *)
#define NEURON_IOCTL_DEVICE_BASIC_INFO \
  _IOW(NEURON_IOCTL_BASE, 100, struct neuron_ioctl_device_basic_info *)
#define NEURON_IOCTL_DEVICE_BDF _IOR(NEURON_IOCTL_BASE, 101, struct neuron_ioctl_device_bdf *)
#define NEURON_IOCTL_MEM_ALLOC_V2 _IOR(NEURON_IOCTL_BASE, 102, struct neuron_ioctl_mem_alloc_v2 *)
#define NEURON_IOCTL_MEM_ALLOC_V2MT \
  _IOR(NEURON_IOCTL_BASE, 102, struct neuron_ioctl_mem_alloc_v2_mem_type)
#define NEURON_IOCTL_MEM_ALLOC_V2MT64 \
  _IOR(NEURON_IOCTL_BASE, 102, struct neuron_ioctl_mem_alloc_v2_mem_type64)
#define NEURON_IOCTL_NC_RESET _IOR(NEURON_IOCTL_BASE, 103, struct neuron_ioctl_device_reset *)
#define NEURON_IOCTL_NC_RESET_READY _IOR(NEURON_IOCTL_BASE, 104, struct neuron_ioctl_device_ready *)
#define NEURON_IOCTL_PROGRAM_ENGINE_NC \
  _IOWR(NEURON_IOCTL_BASE, 105, struct neuron_ioctl_program_engine_nc *)
#define NEURON_IOCTL_PROGRAM_ENGINE_NC64 \
  _IOWR(NEURON_IOCTL_BASE, 105, struct neuron_ioctl_program_engine_nc64)
#define NEURON_IOCTL_DEVICE_RESET_STATUS _IOR(NEURON_IOCTL_BASE, 106, uint8_t)
#define NEURON_IOCTL_DEVICE_BDF_EXT \
  _IOR(NEURON_IOCTL_BASE, 106, struct neuron_ioctl_device_bdf_ext *)
#define NEURON_IOCTL_DMABUF_FD _IOR(NEURON_IOCTL_BASE, 107, struct neuron_ioctl_dmabuf_fd *)
#define NEURON_IOCTL_MEM_COPY_ASYNC \
  _IOWR(NEURON_IOCTL_BASE, 108, struct neuron_ioctl_mem_copy_async)
#define NEURON_IOCTL_MEM_COPY_ASYNC64 \
  _IOWR(NEURON_IOCTL_BASE, 108, struct neuron_ioctl_mem_copy_async64)
#define NEURON_IOCTL_MEM_COPY_ASYNC_WAIT \
  _IOW(NEURON_IOCTL_BASE, 109, struct neuron_ioctl_mem_copy_async_wait)
#define NEURON_IOCTL_DRIVER_INFO_GET \
  _IOR(NEURON_IOCTL_BASE, 110, struct neuron_ioctl_device_driver_info)
#define NEURON_IOCTL_DRIVER_INFO_SET \
  _IOW(NEURON_IOCTL_BASE, 110, struct neuron_ioctl_device_driver_info)
#define NEURON_IOCTL_MEM_MC_GET_INFO \
  _IOWR(NEURON_IOCTL_BASE, 111, struct neuron_ioctl_mem_get_mc_mmap_info)
#define NEURON_IOCTL_MEM_MC_GET_INFO_V2 \
  _IOWR(NEURON_IOCTL_BASE, 111, struct neuron_ioctl_mem_get_mc_mmap_info_v2)
#define NEURON_IOCTL_RESOURCE_MMAP_INFO \
  _IOWR(NEURON_IOCTL_BASE, 112, struct neuron_ioctl_resource_mmap_info)
#define NEURON_IOCTL_PRINTK _IOW(NEURON_IOCTL_BASE, 113, struct neuron_ioctl_printk)
#define NEURON_IOCTL_HOST_DEVICE_ID _IOR(NEURON_IOCTL_BASE, 114, struct neuron_ioctl_host_device_id)
#define NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP \
  _IOWR(NEURON_IOCTL_BASE, 115, struct neuron_ioctl_host_device_id_to_rid_map)
#define NEURON_IOCTL_DUMP_MEM_CHUNKS \
  _IOR(NEURON_IOCTL_BASE, 116, struct neuron_ioctl_dump_mem_chunks *)
#define NEURON_IOCTL_NC_PID_STATE_DUMP \
  _IOWR(NEURON_IOCTL_BASE, 117, struct neuron_ioctl_nc_pid_state_dump)
#define NEURON_IOCTL_HBM_SCRUB_START \
  _IOWR(NEURON_IOCTL_BASE, 118, struct neuron_ioctl_hbm_scrub_start)
#define NEURON_IOCTL_HBM_SCRUB_WAIT \
  _IOWR(NEURON_IOCTL_BASE, 119, struct neuron_ioctl_hbm_scrub_wait)
#define NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP \
  _IOWR(NEURON_IOCTL_BASE, 120, struct neuron_ioctl_get_logical_to_physical_nc_map)
#define NEURON_IOCTL_POD_INFO _IOWR(NEURON_IOCTL_BASE, 121, struct neuron_ioctl_pod_info)
#define NEURON_IOCTL_POD_STATUS _IOWR(NEURON_IOCTL_BASE, 122, struct neuron_ioctl_pod_status)
#define NEURON_IOCTL_POD_STATUS_V2 _IOWR(NEURON_IOCTL_BASE, 122, struct neuron_ioctl_pod_status_v2)
#define NEURON_IOCTL_POD_CTRL _IOWR(NEURON_IOCTL_BASE, 123, struct neuron_ioctl_pod_ctrl)
#define NEURON_IOCTL_POD_CTRL_V2 _IOWR(NEURON_IOCTL_BASE, 123, struct neuron_ioctl_pod_ctrl_v2)
#define NEURON_IOCTL_MEM_BUF_ZEROCOPY64 \
  _IOWR(NEURON_IOCTL_BASE, 124, struct neuron_ioctl_mem_buf_copy64)
#define NEURON_IOCTL_DMA_QUEUE_INIT_BATCH \
  _IOR(NEURON_IOCTL_BASE, 133, struct neuron_ioctl_dma_queue_init_batch)

/* Calls X(NAME) for every request, NAME without the NEURON_IOCTL_ prefix. */
#define NEURON_IOCTL_LIST(X)            \
  X(DEVICE_RESET)                       \
  X(DEVICE_READY)                       \
  X(DEVICE_INFO)                        \
  X(DEVICE_INIT)                        \
  X(DEVICE_RELEASE)                     \
  X(DEVICE_APP_PID)                     \
  X(DEVICE_GET_ALL_APPS_INFO)           \
  X(BAR_READ)                           \
  X(BAR_WRITE)                          \
  X(POST_METRIC)                        \
  X(MEM_ALLOC)                          \
  X(MEM_FREE)                           \
  X(MEM_COPY)                           \
  X(MEM_COPY64)                         \
  X(MEM_BUF_COPY)                       \
  X(MEM_BUF_COPY64)                     \
  X(MEM_GET_PA)                         \
  X(MEM_GET_INFO)                       \
  X(PROGRAM_ENGINE)                     \
  X(MEMSET)                             \
  X(MEMSET64)                           \
  X(MEM_GET_EXTENDED_INFO)              \
  X(DMA_ENG_INIT)                       \
  X(DMA_ENG_SET_STATE)                  \
  X(DMA_ENG_GET_STATE)                  \
  X(DMA_QUEUE_INIT)                     \
  X(DMA_QUEUE_RELEASE)                  \
  X(DMA_QUEUE_COPY_START)               \
  X(DMA_ACK_COMPLETED)                  \
  X(DMA_QUEUE_GET_STATE)                \
  X(DMA_COPY_DESCRIPTORS)               \
  X(DMA_COPY_DESCRIPTORS64)             \
  X(DMA_DESCRIPTOR_COPYOUT)             \
  X(DMA_QUIESCE_QUEUES)                 \
  X(SEMAPHORE_INCREMENT)                \
  X(SEMAPHORE_DECREMENT)                \
  X(SEMAPHORE_READ)                     \
  X(SEMAPHORE_WRITE)                    \
  X(EVENT_SET)                          \
  X(EVENT_GET)                          \
  X(NOTIFICATIONS_INIT_V1)              \
  X(NOTIFICATIONS_DESTROY_V1)           \
  X(NOTIFICATIONS_INIT_V2)              \
  X(NOTIFICATIONS_INIT_WITH_REALLOC_V2) \
  X(NOTIFICATIONS_QUEUE_INFO)           \
  X(READ_HW_COUNTERS)                   \
  X(ACQUIRE_NEURON_DS)                  \
  X(RELEASE_NEURON_DS)                  \
  X(CRWL_READER_ENTER)                  \
  X(CRWL_READER_EXIT)                   \
  X(CRWL_WRITER_ENTER)                  \
  X(CRWL_WRITER_DOWNGRADE)              \
  X(CRWL_NC_RANGE_MARK)                 \
  X(CRWL_NC_RANGE_MARK_EXT0)            \
  X(CRWL_NC_RANGE_UNMARK)               \
  X(CRWL_NC_RANGE_UNMARK_EXT0)          \
  X(CINIT_SET_STATE)                    \
  X(NC_MODEL_STARTED_COUNT)             \
  X(COMPATIBLE_VERSION)                 \
  X(DEVICE_BASIC_INFO)                  \
  X(DEVICE_BDF)                         \
  X(MEM_ALLOC_V2)                       \
  X(MEM_ALLOC_V2MT)                     \
  X(MEM_ALLOC_V2MT64)                   \
  X(NC_RESET)                           \
  X(NC_RESET_READY)                     \
  X(PROGRAM_ENGINE_NC)                  \
  X(PROGRAM_ENGINE_NC64)                \
  X(DEVICE_RESET_STATUS)                \
  X(DEVICE_BDF_EXT)                     \
  X(DMABUF_FD)                          \
  X(MEM_COPY_ASYNC)                     \
  X(MEM_COPY_ASYNC64)                   \
  X(MEM_COPY_ASYNC_WAIT)                \
  X(DRIVER_INFO_GET)                    \
  X(DRIVER_INFO_SET)                    \
  X(MEM_MC_GET_INFO)                    \
  X(MEM_MC_GET_INFO_V2)                 \
  X(RESOURCE_MMAP_INFO)                 \
  X(PRINTK)                             \
  X(HOST_DEVICE_ID)                     \
  X(HOST_DEVICE_ID_TO_RID_MAP)          \
  X(DUMP_MEM_CHUNKS)                    \
  X(NC_PID_STATE_DUMP)                  \
  X(HBM_SCRUB_START)                    \
  X(HBM_SCRUB_WAIT)                     \
  X(GET_LOGICAL_TO_PHYSICAL_NC_MAP)     \
  X(POD_INFO)                           \
  X(POD_STATUS)                         \
  X(POD_STATUS_V2)                      \
  X(POD_CTRL)                           \
  X(POD_CTRL_V2)                        \
  X(MEM_BUF_ZEROCOPY64)                 \
  X(DMA_QUEUE_INIT_BATCH)

#define NEURON_IOCTL_COUNT 94

/* The whole 32-bit value of each request, as the driver compares it. */
#define NEURON_ABI_REQUEST(name, value) \
  NEURON_ABI_ASSERT(NEURON_IOCTL_##name == (value), #name " must be " #value)
NEURON_ABI_REQUEST(DEVICE_RESET, 0x00004E01u);
NEURON_ABI_REQUEST(DEVICE_READY, 0x80014E02u);
NEURON_ABI_REQUEST(DEVICE_INFO, 0x80084E03u);
NEURON_ABI_REQUEST(DEVICE_INIT, 0x80084E04u);
NEURON_ABI_REQUEST(DEVICE_RELEASE, 0x00004E05u);
NEURON_ABI_REQUEST(DEVICE_APP_PID, 0x80044E06u);
NEURON_ABI_REQUEST(DEVICE_GET_ALL_APPS_INFO, 0x80084E07u);
NEURON_ABI_REQUEST(BAR_READ, 0x80084E0Bu);
NEURON_ABI_REQUEST(BAR_WRITE, 0x40084E0Cu);
NEURON_ABI_REQUEST(POST_METRIC, 0x40084E0Du);
NEURON_ABI_REQUEST(MEM_ALLOC, 0x80084E15u);
NEURON_ABI_REQUEST(MEM_FREE, 0x80084E16u);
NEURON_ABI_REQUEST(MEM_COPY, 0x80084E17u);
NEURON_ABI_REQUEST(MEM_COPY64, 0x80284E17u);
NEURON_ABI_REQUEST(MEM_BUF_COPY, 0xC0084E18u);
NEURON_ABI_REQUEST(MEM_BUF_COPY64, 0xC0284E18u);
NEURON_ABI_REQUEST(MEM_GET_PA, 0x80084E19u);
NEURON_ABI_REQUEST(MEM_GET_INFO, 0x80084E1Au);
NEURON_ABI_REQUEST(PROGRAM_ENGINE, 0xC0084E1Bu);
NEURON_ABI_REQUEST(MEMSET, 0x80084E1Cu);
NEURON_ABI_REQUEST(MEMSET64, 0x80204E1Cu);
NEURON_ABI_REQUEST(MEM_GET_EXTENDED_INFO, 0x80084E1Du);
NEURON_ABI_REQUEST(DMA_ENG_INIT, 0x80084E1Eu);
NEURON_ABI_REQUEST(DMA_ENG_SET_STATE, 0x80084E1Fu);
NEURON_ABI_REQUEST(DMA_ENG_GET_STATE, 0xC0084E20u);
NEURON_ABI_REQUEST(DMA_QUEUE_INIT, 0x80084E21u);
NEURON_ABI_REQUEST(DMA_QUEUE_RELEASE, 0x80084E22u);
NEURON_ABI_REQUEST(DMA_QUEUE_COPY_START, 0x80084E23u);
NEURON_ABI_REQUEST(DMA_ACK_COMPLETED, 0x80084E24u);
NEURON_ABI_REQUEST(DMA_QUEUE_GET_STATE, 0xC0084E25u);
NEURON_ABI_REQUEST(DMA_COPY_DESCRIPTORS, 0x80084E26u);
NEURON_ABI_REQUEST(DMA_COPY_DESCRIPTORS64, 0x80284E26u);
NEURON_ABI_REQUEST(DMA_DESCRIPTOR_COPYOUT, 0xC0084E27u);
NEURON_ABI_REQUEST(DMA_QUIESCE_QUEUES, 0x80084E28u);
NEURON_ABI_REQUEST(SEMAPHORE_INCREMENT, 0x80084E29u);
NEURON_ABI_REQUEST(SEMAPHORE_DECREMENT, 0x80084E2Au);
NEURON_ABI_REQUEST(SEMAPHORE_READ, 0xC0084E2Bu);
NEURON_ABI_REQUEST(SEMAPHORE_WRITE, 0x80084E2Cu);
NEURON_ABI_REQUEST(EVENT_SET, 0x80084E2Du);
NEURON_ABI_REQUEST(EVENT_GET, 0xC0084E2Eu);
NEURON_ABI_REQUEST(NOTIFICATIONS_INIT_V1, 0x80084E33u);
NEURON_ABI_REQUEST(NOTIFICATIONS_DESTROY_V1, 0x80084E34u);
NEURON_ABI_REQUEST(NOTIFICATIONS_INIT_V2, 0x80084E35u);
NEURON_ABI_REQUEST(NOTIFICATIONS_INIT_WITH_REALLOC_V2, 0x80084E36u);
NEURON_ABI_REQUEST(NOTIFICATIONS_QUEUE_INFO, 0x80084E3Au);
NEURON_ABI_REQUEST(READ_HW_COUNTERS, 0x80084E3Du);
NEURON_ABI_REQUEST(ACQUIRE_NEURON_DS, 0x80084E47u);
NEURON_ABI_REQUEST(RELEASE_NEURON_DS, 0x80084E48u);
NEURON_ABI_REQUEST(CRWL_READER_ENTER, 0x40084E51u);
NEURON_ABI_REQUEST(CRWL_READER_EXIT, 0x40084E52u);
NEURON_ABI_REQUEST(CRWL_WRITER_ENTER, 0x40084E53u);
NEURON_ABI_REQUEST(CRWL_WRITER_DOWNGRADE, 0x40084E54u);
NEURON_ABI_REQUEST(CRWL_NC_RANGE_MARK, 0x40084E55u);
NEURON_ABI_REQUEST(CRWL_NC_RANGE_MARK_EXT0, 0xC0504E55u);
NEURON_ABI_REQUEST(CRWL_NC_RANGE_UNMARK, 0x40084E56u);
NEURON_ABI_REQUEST(CRWL_NC_RANGE_UNMARK_EXT0, 0x40504E56u);
NEURON_ABI_REQUEST(CINIT_SET_STATE, 0x40084E5Bu);
NEURON_ABI_REQUEST(NC_MODEL_STARTED_COUNT, 0x40084E5Cu);
NEURON_ABI_REQUEST(COMPATIBLE_VERSION, 0x40084E5Du);
NEURON_ABI_REQUEST(DEVICE_BASIC_INFO, 0x40084E64u);
NEURON_ABI_REQUEST(DEVICE_BDF, 0x80084E65u);
NEURON_ABI_REQUEST(MEM_ALLOC_V2, 0x80084E66u);
NEURON_ABI_REQUEST(MEM_ALLOC_V2MT, 0x80304E66u);
NEURON_ABI_REQUEST(MEM_ALLOC_V2MT64, 0x80384E66u);
NEURON_ABI_REQUEST(NC_RESET, 0x80084E67u);
NEURON_ABI_REQUEST(NC_RESET_READY, 0x80084E68u);
NEURON_ABI_REQUEST(PROGRAM_ENGINE_NC, 0xC0084E69u);
NEURON_ABI_REQUEST(PROGRAM_ENGINE_NC64, 0xC0284E69u);
NEURON_ABI_REQUEST(DEVICE_RESET_STATUS, 0x80014E6Au);
NEURON_ABI_REQUEST(DEVICE_BDF_EXT, 0x80084E6Au);
NEURON_ABI_REQUEST(DMABUF_FD, 0x80084E6Bu);
NEURON_ABI_REQUEST(MEM_COPY_ASYNC, 0xC0304E6Cu);
NEURON_ABI_REQUEST(MEM_COPY_ASYNC64, 0xC0384E6Cu);
NEURON_ABI_REQUEST(MEM_COPY_ASYNC_WAIT, 0x40184E6Du);
NEURON_ABI_REQUEST(DRIVER_INFO_GET, 0x80184E6Eu);
NEURON_ABI_REQUEST(DRIVER_INFO_SET, 0x40184E6Eu);
NEURON_ABI_REQUEST(MEM_MC_GET_INFO, 0xC0184E6Fu);
NEURON_ABI_REQUEST(MEM_MC_GET_INFO_V2, 0xC0204E6Fu);
NEURON_ABI_REQUEST(RESOURCE_MMAP_INFO, 0xC0204E70u);
NEURON_ABI_REQUEST(PRINTK, 0x40104E71u);
NEURON_ABI_REQUEST(HOST_DEVICE_ID, 0x80044E72u);
NEURON_ABI_REQUEST(HOST_DEVICE_ID_TO_RID_MAP, 0xC1044E73u);
NEURON_ABI_REQUEST(DUMP_MEM_CHUNKS, 0x80084E74u);
NEURON_ABI_REQUEST(NC_PID_STATE_DUMP, 0xC0104E75u);
NEURON_ABI_REQUEST(HBM_SCRUB_START, 0xC0104E76u);
NEURON_ABI_REQUEST(HBM_SCRUB_WAIT, 0xC0084E77u);
NEURON_ABI_REQUEST(GET_LOGICAL_TO_PHYSICAL_NC_MAP, 0xC0104E78u);
NEURON_ABI_REQUEST(POD_INFO, 0xC1044E79u);
NEURON_ABI_REQUEST(POD_STATUS, 0xC10C4E7Au);
NEURON_ABI_REQUEST(POD_STATUS_V2, 0xC1144E7Au);
NEURON_ABI_REQUEST(POD_CTRL, 0xC0104E7Bu);
NEURON_ABI_REQUEST(POD_CTRL_V2, 0xC0144E7Bu);
NEURON_ABI_REQUEST(MEM_BUF_ZEROCOPY64, 0xC0284E7Cu);
NEURON_ABI_REQUEST(DMA_QUEUE_INIT_BATCH, 0xB0084E85u);

#endif
