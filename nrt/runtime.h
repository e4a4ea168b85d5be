// SPDX-License-Identifier: Apache-2.0
// The process's one runtime: its state (nrt-api.md 4.1), what nrt_init builds, and the frame every
// exported function runs in.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "base/nlog.h"
#include "hal/hal.h"
#include "kmgr/kmgr.h"
#include "nrt/execute.h"
#include "nrt/handles.h"
#include "tdrv/tensor.h"

struct model_object_t {
  H_NN h_nn = 0;
  execution_pool executions;
};

struct tensor_object_t {
  explicit tensor_object_t(tensor_t *t) : tensor(t) {}
  ~tensor_object_t() { tensor_free(tensor); }
  tensor_object_t(const tensor_object_t &) = delete;
  tensor_object_t &operator=(const tensor_object_t &) = delete;
  tensor_t *const tensor;
};

struct tensor_set_object_t {
  std::mutex mutex;
  std::map<std::string, void *, std::less<>> tensors;  // name -> tensor handle, not owned
  // Device memory for host tensors, by name, then by logical core; inputs and outputs (execute.cc).
  using copies_t = std::vector<std::pair<uint32_t, std::shared_ptr<tensor_object_t>>>;
  std::map<std::string, copies_t, std::less<>> copies[2];
};

struct runtime_t {
  // Set while initialised.
  hal_t *hal = nullptr;
  tdrv_t *tdrv = nullptr;
  kmgr_t *kmgr = nullptr;

  handle_table<model_object_t> models;
  handle_table<tensor_object_t> tensors;
  handle_table<tensor_set_object_t> sets;
};

// NRT_SUCCESS at once when already initialised. Logs its own failures under `api`.
NRT_STATUS runtime_init(const char *api, const char *framework_version, const char *fal_version);
// True when there was something to close.
bool runtime_close();

// NRT_SUCCESS: initialised now. Does not log, does not lock.
NRT_STATUS runtime_status();

// Holds the runtime open: nrt_close waits for the last lease. `status` tells why there is none.
class runtime_lease {
 public:
  runtime_lease();
  ~runtime_lease();
  runtime_lease(const runtime_lease &) = delete;
  runtime_lease &operator=(const runtime_lease &) = delete;

  NRT_STATUS status() const { return status_; }
  runtime_t &operator*() const { return *runtime_; }

 private:
  NRT_STATUS status_;
  runtime_t *runtime_ = nullptr;
};

// Writes the call's one ERROR line and hands the status back.
template <typename... Args>
NRT_STATUS api_fail(const char *api, NRT_STATUS status, fmt::format_string<Args...> format,
                    Args &&...args) {
  nlog_write(NLOG_NRT, NLOG_LEVEL_ERROR, api, fmt::format(format, std::forward<Args>(args)...));
  return status;
}

// "called before nrt_init" and its like, as the ERROR line of `api`.
NRT_STATUS api_refuse_state(const char *api, NRT_STATUS status);

// Calls `body` with the exported function's name first, if it wants it.
template <typename Body, typename... Args>
NRT_STATUS api_invoke(const char *api, Body &body, Args &&...args) {
  if constexpr (std::is_invocable_v<Body &, const char *, Args...>)
    return body(api, std::forward<Args>(args)...);
  else
    return body(std::forward<Args>(args)...);
}

// Runs `body`, keeping every exception on this side of the ABI.
template <typename Body>
NRT_STATUS api_call(const char *api, Body &&body) noexcept {
  try {
    return api_invoke(api, body);
  } catch (const std::bad_alloc &) {
    nlog_write(NLOG_NRT, NLOG_LEVEL_ERROR, api, "host memory is exhausted");
    return NRT_RESOURCE;
  } catch (const std::exception &e) {
    nlog_write(NLOG_NRT, NLOG_LEVEL_ERROR, api, e.what());
    return NRT_FAILURE;
  } catch (...) {
    nlog_write(NLOG_NRT, NLOG_LEVEL_ERROR, api, "unexpected exception");
    return NRT_FAILURE;
  }
}

// The same for calls that need an initialised runtime; `body` gets it.
template <typename Body>
NRT_STATUS api_guarded(const char *api, Body &&body) noexcept {
  return api_call(api, [&]() -> NRT_STATUS {
    runtime_lease lease;
    if (lease.status() != NRT_SUCCESS)
      return api_refuse_state(api, lease.status());
    return api_invoke(api, body, *lease);
  });
}

// Runs `body` with the runtime's machine when initialised, else with one opened for this call and
// without claims. `body` gets the machine and the runtime, or nullptr.
template <typename Body>
NRT_STATUS api_with_machine(const char *api, Body &&body) noexcept {
  return api_call(api, [&]() -> NRT_STATUS {
    runtime_lease lease;
    if (lease.status() == NRT_SUCCESS)
      return api_invoke(api, body, (*lease).hal, &*lease);
    hal_options_t options;
    NRT_STATUS status = hal_options_from_env(&options);
    hal_t *hal = nullptr;
    if (status == NRT_SUCCESS)
      status = hal_open(&options, &hal);
    if (status != NRT_SUCCESS)
      return status;
    struct closer {
      hal_t *hal;
      ~closer() { hal_close(hal); }
    } close_it{hal};
    return api_invoke(api, body, hal, static_cast<runtime_t *>(nullptr));
  });
}

// Looks a handle up; on failure writes the line and sets *status.
template <typename T>
std::shared_ptr<T> api_find(const char *api, const handle_table<T> &table, const void *handle,
                            const char *kind, NRT_STATUS *status) {
  *status = NRT_SUCCESS;
  if (handle == nullptr) {
    *status = api_fail(api, NRT_INVALID, "{} handle is NULL", kind);
    return nullptr;
  }
  std::shared_ptr<T> object = table.find(handle);
  if (object == nullptr)
    *status = api_fail(api, NRT_INVALID_HANDLE, "handle {} names no live {}", handle, kind);
  return object;
}

// One WARN line the first time a call without an implementation is used.
void api_warn_unsupported(const char *api, std::atomic<bool> *warned);
