// SPDX-License-Identifier: Apache-2.0
// Exported names without an implementation (nrt-api.md 9.2, 9.3). They exist so that every client
// links; each answers what its type allows and warns once. Calls that need an initialised runtime
// say so first.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "nrt/ndebug_stream.h"
#include "nrt/nec.h"
#include "nrt/nrt_async.h"
#include "nrt/nrt_async_sendrecv.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_sys_trace.h"
#include "nrt/runtime.h"

// Anywhere: warn once and answer.
#define UNSUPPORTED(answer)                \
  static std::atomic<bool> warned{false};  \
  api_warn_unsupported(__func__, &warned); \
  return answer

// Needs an initialised runtime.
#define UNSUPPORTED_GUARDED(answer)                              \
  if (NRT_STATUS state = runtime_status(); state != NRT_SUCCESS) \
    return api_refuse_state(__func__, state);                    \
  UNSUPPORTED(answer)

extern "C" {

// --- device ranges -------------------------------------------------------------------------------

// "No adaptor matches".
NRT_STATUS nrt_get_attached_efa_bdf(const void *, char *, size_t *) {
  UNSUPPORTED_GUARDED(NRT_FAILURE);
}

// --- execution around nrt_execute ----------------------------------------------------------------

NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK, void *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

// Nothing is ever queued, so the queue is drained.
NRT_STATUS nrt_async_drain_queued_execs(int32_t) {
  NRT_STATUS state = runtime_status();
  return state == NRT_SUCCESS ? NRT_SUCCESS : api_refuse_state(__func__, state);
}

// --- collectives ---------------------------------------------------------------------------------

NRT_STATUS nrt_build_global_comm(int32_t, uint32_t, uint32_t) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_cc_global_comm_init(uint32_t, uint32_t, uint32_t) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_cc_create_stream(uint32_t) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_barrier(int32_t, uint32_t, uint32_t) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_all_gather(int32_t, uint32_t, uint32_t, uint32_t, void *, void *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

void *nrt_get_libnccl_net(int *err, char *err_msg, size_t err_msg_size) {
  constexpr std::string_view message = "this runtime has no plug-in for a collectives library";
  if (err != nullptr)
    *err = NRT_INVALID;
  if (err_msg != nullptr && err_msg_size != 0) {
    size_t length = std::min(message.size(), err_msg_size - 1);
    memcpy(err_msg, message.data(), length);
    err_msg[length] = '\0';
  }
  UNSUPPORTED(nullptr);
}

// The mock has no pool engine that could run the image.
NRT_STATUS nrt_set_pool_eng_ucode(const nrt_ucode_info *ucode_info) {
  return api_with_machine(
      __func__, [&](const char *api, hal_t *hal, runtime_t *runtime) -> NRT_STATUS {
        if (ucode_info == nullptr)
          return api_fail(api, NRT_INVALID, "image description is NULL");
        if (runtime != nullptr)
          return api_fail(api, NRT_INVALID, "must come before nrt_init");
        if (std::string_view(hal_identity(hal)->backend) != "mock")
          return api_fail(api, NRT_INVALID, "custom code is not implemented on real devices");
        static std::atomic<bool> warned{false};
        api_warn_unsupported(api, &warned);
        return NRT_SUCCESS;
      });
}

// --- explicit asynchronous requests --------------------------------------------------------------

NRT_STATUS nrta_tensor_write(nrt_tensor_t *, const void *, uint64_t, uint64_t, int, int,
                             NRT_STATUS *, nrta_seq_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrta_tensor_read(void *, nrt_tensor_t *, uint64_t, uint64_t, int, int, NRT_STATUS *,
                            nrta_seq_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrta_tensor_copy(nrt_tensor_t *, uint64_t, nrt_tensor_t *, uint64_t, uint64_t, int, int,
                            NRT_STATUS *, nrta_seq_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrta_execute_schedule(nrt_model_t *, const nrt_tensor_set_t *, nrt_tensor_set_t *, int,
                                 NRT_STATUS *, nrta_seq_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *, nrt_tensor_list_t *, nrt_tensor_list_t *, nrt_dtype_t,
                           nrt_op_type_t, nrt_cc_op_type_t, nrt_cc_context_t **) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **, int, NRT_STATUS *, nrta_seq_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrta_is_completed(nrta_seq_t, bool *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrta_get_sequence(uint32_t, nrta_xu_t, int, nrta_seq_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrta_event_register_seq_id_completion(nrta_seq_t, int) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrta_event_register_xu_completion(int, nrta_xu_t, int, int) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

// --- send and receive: no communicator or request ever exists ------------------------------------

static NRT_STATUS no_limit(const char *api, int *num, std::atomic<bool> *warned) {
  if (num == nullptr)
    return api_fail(api, NRT_INVALID, "result pointer is NULL");
  api_warn_unsupported(api, warned);
  *num = 0;
  return NRT_SUCCESS;
}

NRT_STATUS nrt_async_sendrecv_get_max_num_communicators_per_lnc(int *num) {
  static std::atomic<bool> warned{false};
  return no_limit(__func__, num, &warned);
}

NRT_STATUS nrt_async_sendrecv_get_max_num_pending_request(int *num) {
  static std::atomic<bool> warned{false};
  return no_limit(__func__, num, &warned);
}

NRT_STATUS nrt_async_sendrecv_init(int) {
  UNSUPPORTED_GUARDED(NRT_FAILURE);
}

NRT_STATUS nrt_async_sendrecv_close(int) {
  UNSUPPORTED_GUARDED(NRT_FAILURE);
}

NRT_STATUS nrt_async_sendrecv_connect(const char *, int, int, nrt_async_sendrecv_comm_t **) {
  UNSUPPORTED_GUARDED(NRT_FAILURE);
}

NRT_STATUS nrt_async_sendrecv_accept(const char *, int, int, nrt_async_sendrecv_comm_t **) {
  UNSUPPORTED_GUARDED(NRT_FAILURE);
}

NRT_STATUS nrt_async_sendrecv_test_comm(nrt_async_sendrecv_comm_t *, bool *) {
  UNSUPPORTED_GUARDED(NRT_INVALID_HANDLE);
}

NRT_STATUS nrt_async_sendrecv_send_tensor(nrt_tensor_t *, size_t, size_t,
                                          nrt_async_sendrecv_comm_t *,
                                          nrt_async_sendrecv_request_t **) {
  UNSUPPORTED_GUARDED(NRT_INVALID_HANDLE);
}

NRT_STATUS nrt_async_sendrecv_recv_tensor(nrt_tensor_t *, size_t, size_t,
                                          nrt_async_sendrecv_comm_t *,
                                          nrt_async_sendrecv_request_t **) {
  UNSUPPORTED_GUARDED(NRT_INVALID_HANDLE);
}

NRT_STATUS nrt_async_sendrecv_test_request(nrt_async_sendrecv_request_t *, bool *, size_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID_HANDLE);
}

NRT_STATUS nrt_async_sendrecv_flush(int) {
  UNSUPPORTED_GUARDED(NRT_FAILURE);
}

// --- profiling and tracing -----------------------------------------------------------------------

NRT_STATUS nrt_trace_start(bool) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_trace_stop(const char *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_profile_start(nrt_model_t *, const char *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_profile_stop(const char *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_profile_continuous_save(uint32_t, nrt_profile_continuous_options_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_profile_continuous_stop(void) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_profile_session_start(int32_t) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_profile_session_stop(int32_t, uint64_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_profile_session_serialize(uint64_t, const char *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_profile_session_drop(uint64_t) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_profile_session_drop_all(int32_t) {
  UNSUPPORTED_GUARDED(NRT_SUCCESS);
}

NRT_STATUS nrt_inspect_begin(void) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_inspect_stop(void) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_inspect_get_instance_output_dir(const char *, char *, size_t) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

NRT_STATUS nrt_sys_trace_start(nrt_sys_trace_config_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

// Stopping what does not run is no failure.
NRT_STATUS nrt_sys_trace_stop(void) {
  UNSUPPORTED_GUARDED(NRT_SUCCESS);
}

NRT_STATUS nrt_sys_trace_fetch_events(char **, size_t *, const nrt_sys_trace_fetch_options_t *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

// No buffer was ever handed out.
void nrt_sys_trace_buffer_free(char *) {}

// --- debug stream --------------------------------------------------------------------------------

NRT_STATUS nrt_debug_client_connect(int, int *) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

void nrt_debug_client_connect_close(int) {}

NRT_STATUS nrt_debug_client_read_one_event(int, ndebug_stream_event_header_t *, void **) {
  UNSUPPORTED_GUARDED(NRT_INVALID);
}

// --- callbacks of a collectives library ----------------------------------------------------------

void nec_inc_semaphore(volatile uint32_t *, uint32_t) {
  UNSUPPORTED();
}

size_t nec_get_dynamic_send_size_bytes(enc_host_mem_t *, size_t, int, int) {
  UNSUPPORTED(0);
}

size_t nec_get_dynamic_send_offset_bytes(enc_host_mem_t *, size_t, int, int) {
  UNSUPPORTED(0);
}

size_t nec_get_dynamic_recv_offset_bytes(enc_host_mem_t *, size_t, int, int) {
  UNSUPPORTED(0);
}

void nec_set_recv_size_bytes(enc_host_mem_t *, size_t, size_t, int, int) {
  UNSUPPORTED();
}

int nec_get_device_count(int *, uint32_t) {
  UNSUPPORTED(0);
}

int nec_get_device_pci_bdf(int, uint32_t *, uint32_t *, uint8_t *, uint8_t *) {
  UNSUPPORTED(-1);
}

NRT_STATUS nec_build_port_and_rid_map(int, int *, int *, int) {
  UNSUPPORTED(NRT_FAILURE);
}

bool nec_is_mla_available(int, int) {
  UNSUPPORTED(false);
}

int nec_mla_idx_to_rid(int, int) {
  UNSUPPORTED(-1);
}

int nec_rid_to_mla_idx(int, int) {
  UNSUPPORTED(-1);
}

int nec_get_peer_mla_idx(int, int, int) {
  UNSUPPORTED(-1);
}

int nec_get_p2p_pod_peer_node(uint32_t, int, uint32_t, int *) {
  UNSUPPORTED(-1);
}

NRT_STATUS nec_pod_node_can_access_peer_node(nec_pod_type_t, uint32_t, uint32_t, uint32_t, uint32_t,
                                             int *) {
  UNSUPPORTED(NRT_FAILURE);
}

void nec_ndl_printk(char *, uint32_t, uint32_t) {
  UNSUPPORTED();
}

}  // extern "C"
