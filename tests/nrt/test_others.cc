// SPDX-License-Identifier: Apache-2.0
// Option objects (nrt-api.md 5.7, 5.8) and the answers of what is not implemented (9.2, 9.3).
#include <nrt/ndebug_stream.h>
#include <nrt/nec.h>
#include <nrt/nrt_async.h>
#include <nrt/nrt_async_sendrecv.h>
#include <nrt/nrt_profile.h>
#include <nrt/nrt_sys_trace.h>

#include <cstring>
#include <set>

#include "nrt_test.h"

namespace {

std::set<std::string> take_names(const char **names, size_t count) {
  std::set<std::string> out(names, names + count);
  EXPECT_EQ(count, out.size());
  return out;
}

}  // namespace

// Needs no runtime: these run before any nrt_init of this program.
TEST(Options, InspectConfig) {
  nrt_inspect_config_t *c = nullptr;
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_allocate(&c));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_session_id(c, 9));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_output_dir(c, "/some/where"));
  EXPECT_REFUSED(NRT_INVALID, nrt_inspect_config_set_output_dir(c, ""));
  EXPECT_REFUSED(NRT_INVALID, nrt_inspect_config_set_output_dir(c, nullptr));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_capture_enabled_for_nc(c, 127, false));
  EXPECT_REFUSED(NRT_INVALID, nrt_inspect_config_set_capture_enabled_for_nc(c, 128, false));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_capture_enabled_for_event_type_string(
                                c, "nc_exec_running", false));
  EXPECT_REFUSED(NRT_INVALID,
                 nrt_inspect_config_set_capture_enabled_for_event_type_string(c, "tea", false));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_inspect_device_profile_mode(
                                c, NRT_INSPECT_DEVICE_PROFILE_MODE_SESSION));
  EXPECT_REFUSED(NRT_INVALID, nrt_inspect_config_set_inspect_device_profile_mode(
                                  c, static_cast<nrt_inspect_device_profile_mode_t>(3)));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_enable_inspect(c, true));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_enable_inspect_on_fail(c, true));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_sys_trace_max_events_per_nc(c, 5));

  const char **names = nullptr;
  size_t count = 0;
  const std::set<std::string> all = {"system_profile", "device_profile", "host_memory", "cpu_util"};
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_get_all_activity_types(&names, &count));
  EXPECT_EQ(all, take_names(names, count));
  for (size_t i = 0; i < count; ++i)
    free(const_cast<char *>(names[i]));  // libc's free() must do as well
  free(names);
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_activity(c, "all", false));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_activity(c, "cpu_util", true));
  EXPECT_REFUSED(NRT_INVALID, nrt_inspect_config_set_activity(c, "sleep", true));
  EXPECT_REFUSED(NRT_INVALID, nrt_inspect_config_set_activity(c, nullptr, true));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_get_enabled_activity_types(c, &names, &count));
  EXPECT_EQ(std::set<std::string>{"cpu_util"}, take_names(names, count));
  nrt_inspect_config_free_activity_types(names, count);
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_set_defaults(c));
  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_get_enabled_activity_types(c, &names, &count));
  EXPECT_EQ(all, take_names(names, count));
  nrt_inspect_config_free_activity_types(names, count);

  EXPECT_QUIET(NRT_SUCCESS, nrt_inspect_config_free(c));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_inspect_config_free(c));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_inspect_config_set_session_id(c, 1));
  EXPECT_REFUSED(NRT_INVALID, nrt_inspect_config_allocate(nullptr));
}

TEST(Options, SystemTraceConfig) {
  nrt_sys_trace_config_t *c = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_config_allocate(&c));
  size_t before = test_log().errors();
  for (uint32_t core = 0; core < 128; ++core)
    nrt_sys_trace_config_set_capture_enabled_for_nc(c, core, false);
  nrt_sys_trace_config_set_capture_enabled_for_nc(c, 0, true);
  nrt_sys_trace_config_set_max_events_per_nc(c, 10);
  EXPECT_EQ(before, test_log().errors());

  const char **names = nullptr;
  size_t count = 0;
  EXPECT_QUIET(NRT_SUCCESS, nrt_sys_trace_get_event_types(&names, &count));
  std::set<std::string> all = take_names(names, count);
  nrt_sys_trace_free_event_types(names, count);
  for (const char *name : {"nc_exec_running", "cc_running", "nrt_execute", "generic", "nrt_load"})
    EXPECT_EQ(1u, all.count(name)) << name;
  for (const std::string &name : all)
    EXPECT_QUIET(NRT_SUCCESS,
                 nrt_sys_trace_config_set_capture_enabled_for_event_type(c, name.c_str(), false));
  EXPECT_QUIET(NRT_SUCCESS,
               nrt_sys_trace_config_set_capture_enabled_for_event_type(c, "nrt_load", true));
  EXPECT_REFUSED(NRT_INVALID,
                 nrt_sys_trace_config_set_capture_enabled_for_event_type(c, "nothing", true));
  EXPECT_QUIET(NRT_SUCCESS, nrt_sys_trace_config_get_enabled_event_types(c, &names, &count));
  EXPECT_EQ(std::set<std::string>{"nrt_load"}, take_names(names, count));
  nrt_sys_trace_free_event_types(names, count);
  nrt_sys_trace_config_set_defaults(c);
  EXPECT_QUIET(NRT_SUCCESS, nrt_sys_trace_config_get_enabled_event_types(c, &names, &count));
  EXPECT_EQ(all, take_names(names, count));
  nrt_sys_trace_free_event_types(names, count);
  nrt_sys_trace_free_event_types(nullptr, 0);
  nrt_sys_trace_config_free(c);
  nrt_sys_trace_config_free(nullptr);

  nrt_sys_trace_fetch_options_t *f = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_options_allocate(&f));
  nrt_sys_trace_fetch_options_set_nc_idx(f, 1);
  nrt_sys_trace_fetch_options_set_max_events_per_nc(f, 100);
  nrt_sys_trace_fetch_options_set_defaults(f);
  nrt_sys_trace_fetch_options_free(f);
  nrt_sys_trace_buffer_free(nullptr);

  nrt_profile_continuous_options_t *p = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_profile_continuous_options_allocate(&p));
  EXPECT_QUIET(NRT_SUCCESS, nrt_profile_continuous_options_set_output_dir(p, "/x"));
  EXPECT_REFUSED(NRT_INVALID, nrt_profile_continuous_options_set_output_dir(p, ""));
  EXPECT_QUIET(NRT_SUCCESS, nrt_profile_continuous_options_free(p));
}

TEST(Unsupported, Unguarded) {
  EXPECT_EQ(0, nec_get_device_count(nullptr, 0));
  EXPECT_EQ(-1, nec_get_device_pci_bdf(0, nullptr, nullptr, nullptr, nullptr));
  EXPECT_FALSE(nec_is_mla_available(0, 0));
  EXPECT_EQ(-1, nec_mla_idx_to_rid(0, 0));
  EXPECT_EQ(0u, nec_get_dynamic_send_size_bytes(nullptr, 4, 0, 1));
  EXPECT_EQ(NRT_FAILURE, nec_build_port_and_rid_map(0, nullptr, nullptr, 0));
  nec_inc_semaphore(nullptr, 1);
  nec_ndl_printk(nullptr, 0, 0);
  uint32_t size = 0;
  EXPECT_EQ(NRT_SUCCESS, nec_get_virtual_core_size(&size));
  EXPECT_EQ(2u, size);
  EXPECT_REFUSED(NRT_INVALID, nec_get_virtual_core_size(nullptr));

  int err = 0;
  char message[8];
  memset(message, 'x', sizeof(message));
  EXPECT_EQ(nullptr, nrt_get_libnccl_net(&err, message, 6));
  EXPECT_NE(0, err);
  EXPECT_EQ('\0', message[5]);
  EXPECT_EQ('x', message[6]);
  EXPECT_EQ(nullptr, nrt_get_libnccl_net(nullptr, nullptr, 0));

  int number = 5;
  EXPECT_EQ(NRT_SUCCESS, nrt_async_sendrecv_get_max_num_pending_request(&number));
  EXPECT_EQ(0, number);

  nrt_ucode_info ucode{};
  EXPECT_EQ(NRT_SUCCESS, nrt_set_pool_eng_ucode(&ucode));
  EXPECT_REFUSED(NRT_INVALID, nrt_set_pool_eng_ucode(nullptr));
}

using UnsupportedInit = NrtTest;

// Each warns once in the life of the process and never writes an ERROR line.
TEST_F(UnsupportedInit, AnswersAndWarnsOnce) {
  setenv("NEURON_RT_LOG_LEVEL", "WARN", 1);
  nrt_close();
  ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  size_t errors = test_log().errors();
  size_t warnings = test_log().lines("WARN").size();
  int fd = -1;
  size_t size = 0;
  uint64_t session = 0;
  nrta_seq_t seq = 0;
  NRT_STATUS ret = NRT_SUCCESS;
  bool done = false;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(NRT_FAILURE, nrt_get_attached_efa_bdf(nullptr, nullptr, &size));
    EXPECT_EQ(NRT_INVALID, nrt_barrier(0, 0, 1));
    EXPECT_EQ(NRT_INVALID, nrt_build_global_comm(0, 0, 1));
    EXPECT_EQ(NRT_INVALID, nrt_trace_start(true));
    EXPECT_EQ(NRT_INVALID, nrt_profile_start(nullptr, "f"));
    EXPECT_EQ(NRT_INVALID, nrt_profile_session_start(0));
    EXPECT_EQ(NRT_INVALID, nrt_profile_session_stop(0, &session));
    EXPECT_EQ(NRT_SUCCESS, nrt_profile_session_drop_all(0));
    EXPECT_EQ(NRT_INVALID, nrt_inspect_begin());
    EXPECT_EQ(NRT_INVALID, nrt_sys_trace_start(nullptr));
    EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
    EXPECT_EQ(NRT_FAILURE, nrt_async_sendrecv_init(0));
    EXPECT_EQ(NRT_INVALID_HANDLE, nrt_async_sendrecv_test_comm(nullptr, &done));
    EXPECT_EQ(NRT_INVALID, nrt_debug_client_connect(0, &fd));
    EXPECT_EQ(NRT_INVALID, nrta_tensor_write(nullptr, &fd, 0, 4, 0, 0, &ret, &seq));
    EXPECT_EQ(NRT_INVALID, nrta_is_completed(1, &done));
    EXPECT_EQ(NRT_INVALID, nrta_event_register_xu_completion(0, NRTA_XU_COMPUTE, 0, 1));
  }
  EXPECT_EQ(errors, test_log().errors());
  EXPECT_EQ(warnings + 17, test_log().lines("WARN").size());
  unsetenv("NEURON_RT_LOG_LEVEL");

  EXPECT_QUIET(NRT_SUCCESS, nrt_async_drain_queued_execs(0));
  nrt_ucode_info ucode{};
  EXPECT_REFUSED(NRT_INVALID, nrt_set_pool_eng_ucode(&ucode));
}
