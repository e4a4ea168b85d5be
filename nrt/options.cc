// SPDX-License-Identifier: Apache-2.0
#include "nrt/options.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

const std::vector<std::string_view> &event_type_names() {
  // Documented names and those seen in captures (nrt-api.md 5.8). Where the two spell one event
  // differently, both are known.
  static const std::vector<std::string_view> names = {
      // hardware
      "nc_exec_running",
      "cc_running",
      "cc_exec_barrier",
      "numerical_err",
      "nrt_model_switch",
      "nc_model_switch",
      "timestamp_sync_point",
      "hw_notify",
      // software
      "cc_exec",
      "model_load",
      "nrt_load",
      "nrt_execute",
      "runtime_execute",
      "device_exec",
      "tensor_read",
      "tensor_write",
      "nrt_tensor_read",
      "nrt_tensor_write",
      "nrt_tensor_free",
      "dmem_buf_copyin",
      "dmem_buf_copyout",
      "nrt_dma_mem_alloc",
      "nrt_dma_mem_dealloc",
      "nrt_model_submit",
      "kbl_exec_pre",
      "kbl_exec_wait",
      "kbl_exec_post",
      "kmgr_exec_core",
      "nrta_execute_schedule",
      "nrt_profile_add_node_info",
      "exec_consume_gpsimd_stdio",
      "notification_consume_errors",
      "generic",
  };
  return names;
}

int event_type_index(std::string_view name) {
  const auto &names = event_type_names();
  auto it = std::find(names.begin(), names.end(), name);
  return it == names.end() ? -1 : static_cast<int>(it - names.begin());
}

const char **names_to_c(const std::vector<std::string_view> &names) {
  // One entry even when empty: NULL would look like a failure.
  auto **out =
      static_cast<const char **>(calloc(std::max<size_t>(names.size(), 1), sizeof(const char *)));
  if (out == nullptr)
    throw std::bad_alloc();
  for (size_t i = 0; i < names.size(); ++i) {
    out[i] = strndup(names[i].data(), names[i].size());
    if (out[i] == nullptr) {
      names_free(out, i);
      throw std::bad_alloc();
    }
  }
  return out;
}

void names_free(const char **names, size_t count) {
  if (names == nullptr)
    return;
  for (size_t i = 0; i < count; ++i)
    free(const_cast<char *>(names[i]));
  free(names);
}
