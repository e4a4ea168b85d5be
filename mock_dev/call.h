// SPDX-License-Identifier: Apache-2.0
// One ioctl on its way through the mock, and the handlers it can reach. A handler returns what the
// ioctl returns: 0, -errno, or a positive number where the driver does.
#pragma once

#include <cstdint>

#include "mock_dev/host.h"
#include "mock_dev/user_copy.h"

struct mock_call_t {
  mock_host *host;
  mock_device_t *device;  // the device the descriptor is open on
  int32_t tgid;
  uint32_t request;
  void *arg;  // the caller's, not to be trusted
};

// Argument in and out; the number of bytes that could not be copied.
template <typename T>
inline long mock_call_in(const mock_call_t *call, T *value) {
  return static_cast<long>(mock_user_read(value, call->arg, sizeof(T)));
}
template <typename T>
inline long mock_call_out(const mock_call_t *call, const T *value) {
  return static_cast<long>(mock_user_write(call->arg, value, sizeof(T)));
}

// req_memory.cc
long mock_req_mem_alloc(const mock_call_t *call);
long mock_req_mem_free(const mock_call_t *call);
long mock_req_mem_get_pa(const mock_call_t *call);
long mock_req_mem_get_info(const mock_call_t *call);
long mock_req_mem_get_extended_info(const mock_call_t *call);
long mock_req_mem_mc_get_info(const mock_call_t *call);
long mock_req_resource_mmap_info(const mock_call_t *call);
long mock_req_dump_mem_chunks(const mock_call_t *call);

// req_copy.cc
long mock_req_mem_copy(const mock_call_t *call);
long mock_req_mem_copy_async(const mock_call_t *call);
long mock_req_mem_copy_async_wait(const mock_call_t *call);
long mock_req_mem_buf_copy(const mock_call_t *call);
long mock_req_mem_buf_zerocopy(const mock_call_t *call);
long mock_req_memset(const mock_call_t *call);
long mock_req_program_engine(const mock_call_t *call);

// req_info.cc
long mock_req_device_info(const mock_call_t *call);
long mock_req_device_basic_info(const mock_call_t *call);
long mock_req_driver_info_get(const mock_call_t *call);
long mock_req_compatible_version(const mock_call_t *call);
long mock_req_device_bdf(const mock_call_t *call);
long mock_req_device_bdf_ext(const mock_call_t *call);
long mock_req_host_device_id(const mock_call_t *call);
long mock_req_routing_id_map(const mock_call_t *call);
long mock_req_logical_core_map(const mock_call_t *call);
long mock_req_device_app_pid(const mock_call_t *call);
long mock_req_device_apps_info(const mock_call_t *call);
long mock_req_device_reset_status(const mock_call_t *call);
long mock_req_printk(const mock_call_t *call);
long mock_req_pod_info(const mock_call_t *call);
long mock_req_pod_status(const mock_call_t *call);
long mock_req_pod_ctrl(const mock_call_t *call);

// req_core.cc
long mock_req_core_mark(const mock_call_t *call);
long mock_req_core_unmark(const mock_call_t *call);
long mock_req_core_lock(const mock_call_t *call);
long mock_req_core_init(const mock_call_t *call);
long mock_req_model_started_count(const mock_call_t *call);
long mock_req_pid_state_dump(const mock_call_t *call);
long mock_req_datastore_acquire(const mock_call_t *call);
long mock_req_datastore_release(const mock_call_t *call);

// req_semaphore.cc
long mock_req_semaphore(const mock_call_t *call);
long mock_req_event(const mock_call_t *call);

// req_notification.cc
long mock_req_notifications_init_v1(const mock_call_t *call);
long mock_req_notifications_init_v2(const mock_call_t *call);

// req_dma.cc
long mock_req_dma_engine_set_state(const mock_call_t *call);
long mock_req_dma_engine_get_state(const mock_call_t *call);
long mock_req_dma_queue_init(const mock_call_t *call);
long mock_req_dma_queue_init_batch(const mock_call_t *call);
long mock_req_dma_queue_release(const mock_call_t *call);
long mock_req_dma_queue_copy_start(const mock_call_t *call);
long mock_req_dma_ack_completed(const mock_call_t *call);
long mock_req_dma_queue_get_state(const mock_call_t *call);

// req_descriptors.cc
long mock_req_dma_copy_descriptors(const mock_call_t *call);
long mock_req_dma_descriptor_copyout(const mock_call_t *call);

// req_bar.cc
long mock_req_bar_read(const mock_call_t *call);
long mock_req_bar_write(const mock_call_t *call);

// req_reset.cc
long mock_req_nc_reset(const mock_call_t *call);
long mock_req_nc_reset_ready(const mock_call_t *call);
long mock_req_device_reset(const mock_call_t *call);
long mock_req_device_ready(const mock_call_t *call);

// req_firmware.cc
long mock_req_post_metric(const mock_call_t *call);
long mock_req_read_hw_counters(const mock_call_t *call);

// req_scrub.cc
long mock_req_hbm_scrub_start(const mock_call_t *call);
long mock_req_hbm_scrub_wait(const mock_call_t *call);

// dmabuf.cc
long mock_req_dmabuf_fd(const mock_call_t *call);
