// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/dispatch.h"

#include <cerrno>
#include <cstring>

#include "mock_dev/call.h"
#include "mock_dev/fault.h"
#include "mock_dev/file.h"
#include "mock_dev/process.h"
#include "mock_dev/sysfs_tree.h"

namespace {

enum : uint8_t {
  MISC = 1,          // also on the misc lane
  GATE = 2,          // -EACCES for a process that is not attached
  GATE_OURS = GATE,  // the driver lacks the gate and crashes without a process slot
};

struct row_t {
  const char *name;
  uint32_t request;
  uint8_t flags;
  uint64_t feature;  // refused when one of these bits is hidden
  long (*handler)(const mock_call_t *call);
};

long succeed(const mock_call_t *) {
  return 0;
}
long refuse_notsupp(const mock_call_t *) {
  return -NEURON_ERRNO_NOTSUPP;
}
long refuse_eperm(const mock_call_t *) {
  return -EPERM;
}
long refuse_enotty(const mock_call_t *) {
  return -ENOTTY;
}

constexpr uint64_t ASYNC = NEURON_FEATURE_ASYNC_DMA;
constexpr uint64_t WIDE = NEURON_FEATURE_MEM_ALLOC64;
constexpr uint64_t MAPS = NEURON_FEATURE_BIG_CORE_MAPS;
constexpr uint64_t SCRUB = NEURON_FEATURE_HBM_SCRUB;

#define ROW(name, flags, feature, handler) \
  { #name, NEURON_IOCTL_##name, flags, feature, handler }

// By number; the first row of a number answers for the values that only the number selects.
constexpr row_t ROWS[] = {
    ROW(DEVICE_RESET, 0, 0, mock_req_device_reset),
    ROW(DEVICE_READY, 0, 0, mock_req_device_ready),
    ROW(DEVICE_INFO, 0, 0, mock_req_device_info),
    ROW(DEVICE_INIT, 0, 0, succeed),
    ROW(DEVICE_RELEASE, 0, 0, succeed),
    ROW(DEVICE_APP_PID, 0, 0, mock_req_device_app_pid),
    ROW(DEVICE_GET_ALL_APPS_INFO, 0, 0, mock_req_device_apps_info),
    ROW(BAR_READ, 0, 0, mock_req_bar_read),
    ROW(BAR_WRITE, GATE, 0, mock_req_bar_write),
    ROW(POST_METRIC, GATE, 0, mock_req_post_metric),
    ROW(MEM_ALLOC, GATE, 0, mock_req_mem_alloc),
    ROW(MEM_FREE, GATE, 0, mock_req_mem_free),
    ROW(MEM_COPY, GATE, 0, mock_req_mem_copy),
    ROW(MEM_COPY64, 0, WIDE, mock_req_mem_copy),
    ROW(MEM_BUF_COPY, 0, 0, mock_req_mem_buf_copy),
    ROW(MEM_BUF_COPY64, 0, WIDE, mock_req_mem_buf_copy),
    ROW(MEM_GET_PA, GATE, 0, mock_req_mem_get_pa),
    ROW(MEM_GET_INFO, GATE, 0, mock_req_mem_get_info),
    ROW(PROGRAM_ENGINE, 0, 0, mock_req_program_engine),
    ROW(MEMSET, 0, 0, mock_req_memset),
    ROW(MEMSET64, 0, WIDE, mock_req_memset),
    ROW(MEM_GET_EXTENDED_INFO, 0, 0, mock_req_mem_get_extended_info),
    ROW(DMA_ENG_INIT, GATE, 0, succeed),
    ROW(DMA_ENG_SET_STATE, GATE, 0, mock_req_dma_engine_set_state),
    ROW(DMA_ENG_GET_STATE, 0, 0, mock_req_dma_engine_get_state),
    ROW(DMA_QUEUE_INIT, GATE, 0, mock_req_dma_queue_init),
    ROW(DMA_QUEUE_RELEASE, GATE, 0, mock_req_dma_queue_release),
    ROW(DMA_QUEUE_COPY_START, 0, 0, mock_req_dma_queue_copy_start),
    ROW(DMA_ACK_COMPLETED, GATE, 0, mock_req_dma_ack_completed),
    ROW(DMA_QUEUE_GET_STATE, 0, 0, mock_req_dma_queue_get_state),
    ROW(DMA_COPY_DESCRIPTORS, GATE, 0, mock_req_dma_copy_descriptors),
    ROW(DMA_COPY_DESCRIPTORS64, 0, WIDE, mock_req_dma_copy_descriptors),
    ROW(DMA_DESCRIPTOR_COPYOUT, 0, 0, mock_req_dma_descriptor_copyout),
    ROW(DMA_QUIESCE_QUEUES, 0, 0, refuse_enotty),
    ROW(SEMAPHORE_INCREMENT, 0, 0, mock_req_semaphore),
    ROW(SEMAPHORE_DECREMENT, 0, 0, mock_req_semaphore),
    ROW(SEMAPHORE_READ, 0, 0, mock_req_semaphore),
    ROW(SEMAPHORE_WRITE, 0, 0, mock_req_semaphore),
    ROW(EVENT_SET, 0, 0, mock_req_event),
    ROW(EVENT_GET, 0, 0, mock_req_event),
    ROW(NOTIFICATIONS_INIT_V1, GATE, 0, mock_req_notifications_init_v1),
    ROW(NOTIFICATIONS_DESTROY_V1, 0, 0, succeed),
    ROW(NOTIFICATIONS_INIT_V2, GATE, 0, mock_req_notifications_init_v2),
    ROW(NOTIFICATIONS_INIT_WITH_REALLOC_V2, GATE, 0, mock_req_notifications_init_v2),
    ROW(NOTIFICATIONS_QUEUE_INFO, 0, 0, refuse_eperm),
    ROW(READ_HW_COUNTERS, 0, 0, mock_req_read_hw_counters),
    ROW(ACQUIRE_NEURON_DS, 0, 0, mock_req_datastore_acquire),
    ROW(RELEASE_NEURON_DS, 0, 0, mock_req_datastore_release),
    ROW(CRWL_READER_ENTER, 0, 0, mock_req_core_lock),
    ROW(CRWL_READER_EXIT, 0, 0, mock_req_core_lock),
    ROW(CRWL_WRITER_ENTER, 0, 0, mock_req_core_lock),
    ROW(CRWL_WRITER_DOWNGRADE, 0, 0, mock_req_core_lock),
    ROW(CRWL_NC_RANGE_MARK, MISC, 0, mock_req_core_mark),
    ROW(CRWL_NC_RANGE_MARK_EXT0, MISC, MAPS, mock_req_core_mark),
    ROW(CRWL_NC_RANGE_UNMARK, MISC, 0, mock_req_core_unmark),
    ROW(CRWL_NC_RANGE_UNMARK_EXT0, MISC, MAPS, mock_req_core_unmark),
    ROW(CINIT_SET_STATE, 0, 0, mock_req_core_init),
    ROW(NC_MODEL_STARTED_COUNT, 0, 0, mock_req_model_started_count),
    ROW(COMPATIBLE_VERSION, MISC, 0, mock_req_compatible_version),
    ROW(DEVICE_BASIC_INFO, MISC, 0, mock_req_device_basic_info),
    ROW(DEVICE_BDF, 0, 0, mock_req_device_bdf),
    ROW(MEM_ALLOC_V2, GATE_OURS, 0, mock_req_mem_alloc),
    ROW(MEM_ALLOC_V2MT, GATE_OURS, NEURON_FEATURE_MEM_ALLOC_TYPE, mock_req_mem_alloc),
    ROW(MEM_ALLOC_V2MT64, GATE_OURS, WIDE, mock_req_mem_alloc),
    ROW(NC_RESET, 0, 0, mock_req_nc_reset),
    ROW(NC_RESET_READY, 0, 0, mock_req_nc_reset_ready),
    ROW(PROGRAM_ENGINE_NC, 0, 0, mock_req_program_engine),
    ROW(PROGRAM_ENGINE_NC64, 0, WIDE, mock_req_program_engine),
    ROW(DEVICE_RESET_STATUS, 0, 0, mock_req_device_reset_status),
    ROW(DEVICE_BDF_EXT, MISC, 0, mock_req_device_bdf_ext),
    ROW(DMABUF_FD, MISC, NEURON_FEATURE_DMABUF, mock_req_dmabuf_fd),
    ROW(MEM_COPY_ASYNC, GATE, ASYNC, mock_req_mem_copy_async),
    ROW(MEM_COPY_ASYNC64, 0, ASYNC | WIDE, mock_req_mem_copy_async),
    ROW(MEM_COPY_ASYNC_WAIT, GATE, ASYNC, mock_req_mem_copy_async_wait),
    ROW(DRIVER_INFO_GET, MISC, 0, mock_req_driver_info_get),
    ROW(DRIVER_INFO_SET, MISC | GATE, 0, refuse_notsupp),
    ROW(MEM_MC_GET_INFO, 0, 0, mock_req_mem_mc_get_info),
    ROW(MEM_MC_GET_INFO_V2, 0, 0, mock_req_mem_mc_get_info),
    ROW(RESOURCE_MMAP_INFO, 0, 0, mock_req_resource_mmap_info),
    ROW(PRINTK, MISC, 0, mock_req_printk),
    ROW(HOST_DEVICE_ID, 0, 0, mock_req_host_device_id),
    ROW(HOST_DEVICE_ID_TO_RID_MAP, MISC, 0, mock_req_routing_id_map),
    ROW(DUMP_MEM_CHUNKS, 0, 0, mock_req_dump_mem_chunks),
    ROW(NC_PID_STATE_DUMP, MISC, 0, mock_req_pid_state_dump),
    ROW(HBM_SCRUB_START, GATE_OURS, SCRUB, mock_req_hbm_scrub_start),
    ROW(HBM_SCRUB_WAIT, 0, SCRUB, mock_req_hbm_scrub_wait),
    ROW(GET_LOGICAL_TO_PHYSICAL_NC_MAP, MISC, 0, mock_req_logical_core_map),
    ROW(POD_INFO, MISC, 0, mock_req_pod_info),
    ROW(POD_STATUS, MISC, 0, mock_req_pod_status),
    ROW(POD_STATUS_V2, MISC, 0, mock_req_pod_status),
    ROW(POD_CTRL, MISC, 0, mock_req_pod_ctrl),
    ROW(POD_CTRL_V2, MISC, 0, mock_req_pod_ctrl),
    ROW(MEM_BUF_ZEROCOPY64, 0, NEURON_FEATURE_ZEROCOPY | WIDE, mock_req_mem_buf_zerocopy),
    ROW(DMA_QUEUE_INIT_BATCH, 0, NEURON_FEATURE_BATCH_DMAQ_INIT, mock_req_dma_queue_init_batch),
};
#undef ROW
constexpr uint32_t ROW_COUNT = sizeof(ROWS) / sizeof(ROWS[0]);
static_assert(ROW_COUNT == 94);
static_assert(ROW_COUNT <= MOCK_MAX_REQUESTS);

// First row of every request number, so that a lookup compares two or three values.
struct index_t {
  uint8_t first[256];
  constexpr index_t() : first{} {
    for (auto &f : first)
      f = ROW_COUNT;
    for (uint32_t i = ROW_COUNT; i-- > 0;)
      first[ROWS[i].request & 0xff] = static_cast<uint8_t>(i);
  }
};
constexpr index_t INDEX;

const row_t *row_exact(uint32_t request) {
  for (uint32_t i = INDEX.first[request & 0xff];
       i < ROW_COUNT && ((ROWS[i].request ^ request) & 0xff) == 0; ++i)
    if (ROWS[i].request == request)
      return &ROWS[i];
  return nullptr;
}

// The driver picks some requests by number and looks at no more than this of the rest.
const row_t *row_by_number(uint32_t request) {
  uint32_t size = _IOC_SIZE(request), direction = _IOC_DIR(request);
  switch (_IOC_NR(request)) {
    case _IOC_NR(NEURON_IOCTL_DRIVER_INFO_GET):
      if (direction == _IOC_READ && size >= sizeof(neuron_ioctl_device_driver_info))
        return row_exact(NEURON_IOCTL_DRIVER_INFO_GET);
      return direction == _IOC_WRITE ? row_exact(NEURON_IOCTL_DRIVER_INFO_SET) : nullptr;
    case _IOC_NR(NEURON_IOCTL_MEM_MC_GET_INFO):
      if (size == sizeof(neuron_ioctl_mem_get_mc_mmap_info))
        return row_exact(NEURON_IOCTL_MEM_MC_GET_INFO);
      return size == sizeof(neuron_ioctl_mem_get_mc_mmap_info_v2)
                 ? row_exact(NEURON_IOCTL_MEM_MC_GET_INFO_V2)
                 : nullptr;
    case _IOC_NR(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP):
      return size == sizeof(neuron_ioctl_host_device_id_to_rid_map)
                 ? row_exact(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP)
                 : nullptr;
    case _IOC_NR(NEURON_IOCTL_MEM_BUF_ZEROCOPY64):
      return row_exact(NEURON_IOCTL_MEM_BUF_ZEROCOPY64);
    default:
      return nullptr;
  }
}

long dispatch(mock_host *host, int32_t tgid, const mock_file_info_t *file, uint32_t request,
              const row_t *exact, void *arg) {
  const row_t *row = exact != nullptr ? exact : row_by_number(request);
  if (row == nullptr || (file->misc_lane && (row->flags & MISC) == 0) ||
      (row->feature & host->state->hidden) != 0)
    return -EINVAL;
  mock_device_t *device = mock_host_device(host, file->device);
  // The gate lists exact values, and the misc lane never attaches.
  if (exact != nullptr && (row->flags & GATE) != 0 && !file->misc_lane) {
    mock_guard_t guard(&device->lock);
    if (mock_process_slot(device, tgid) == MOCK_NO_SLOT)
      return -EACCES;
  }
  mock_call_t call = {host, device, tgid, row->request, arg};
  return row->handler(&call);
}

}  // namespace

uint32_t mock_request_by_name(const char *name, size_t length) {
  uint32_t event = mock_fault_by_name(name, length);
  if (event != 0)
    return event;
  for (const row_t &row : ROWS)
    if (strlen(row.name) == length && memcmp(row.name, name, length) == 0)
      return row.request;
  return 0;
}

long mock_ioctl(mock_host_t *host, int32_t tgid, int fd, uint32_t request, void *arg) {
  mock_file_info_t file = mock_file_info(host, fd);
  if (file.kind == MOCK_FILE_FREE)
    return -EBADF;
  if (file.kind != MOCK_FILE_DEVICE)
    return -ENOTTY;
  mock_state_t *state = host->state;
  const row_t *exact = row_exact(request);
  __atomic_add_fetch(&state->request_total, 1, __ATOMIC_RELAXED);
  if (exact != nullptr)
    __atomic_add_fetch(&state->request_count[exact - ROWS], 1, __ATOMIC_RELAXED);
  int fault = mock_fault_next(host, request);
  if (fault != 0)
    return fault;
  long rc = dispatch(host, tgid, &file, request, exact, arg);
  mock_sysfs_tree_update(host, file.device);
  return rc;
}

uint64_t mock_ioctl_count(mock_host_t *host, uint32_t request) {
  if (request == 0)
    return __atomic_load_n(&host->state->request_total, __ATOMIC_RELAXED);
  const row_t *row = row_exact(request);
  return row == nullptr
             ? 0
             : __atomic_load_n(&host->state->request_count[row - ROWS], __ATOMIC_RELAXED);
}
