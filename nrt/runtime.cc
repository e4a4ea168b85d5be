// SPDX-License-Identifier: Apache-2.0
#include "nrt/runtime.h"

#include <pthread.h>

#include "base/env.h"
#include "nrt/core_choice.h"
#include "tdrv/completion.h"

namespace {

constexpr const char *kAsyncVariable = "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS";

enum state_t : int {
  STATE_NEVER = 0,
  STATE_READY,
  STATE_CLOSED,
  STATE_FORKED,  // child of an initialised process: nothing works here until exec
};

// Readable without the lock, written under it (and by the fork handler, alone in its process).
std::atomic<int> g_state{STATE_NEVER};

// Shared: a call in progress. Exclusive: nrt_init and nrt_close. Writers first, or a busy process
// could never close.
pthread_rwlock_t g_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

// Never destroyed: late calls from other static destructors must find it.
runtime_t &instance() {
  static runtime_t *runtime = new runtime_t;
  return *runtime;
}

NRT_STATUS status_of(int state) {
  switch (state) {
    case STATE_READY:
      return NRT_SUCCESS;
    case STATE_CLOSED:
      return NRT_CLOSED;
    case STATE_FORKED:
      return NRT_FAILURE;
    default:
      return NRT_UNINITIALIZED;
  }
}

// The parent's threads, and whatever lock they held, do not exist in the child.
void after_fork_in_child() {
  static const pthread_rwlock_t fresh = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  g_lock = fresh;
  int ready = STATE_READY;
  g_state.compare_exchange_strong(ready, STATE_FORKED);
}

void register_fork_handler() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, after_fork_in_child); });
}

void tear_down(runtime_t &r) {
  // Handles first: tensors live in memory the layers below are about to give back.
  r.sets.clear();
  r.tensors.clear();
  r.models.clear();
  if (r.kmgr != nullptr)
    kmgr_destroy(r.kmgr);
  if (r.tdrv != nullptr)
    tdrv_close(r.tdrv);
  if (r.hal != nullptr)
    hal_close(r.hal);
  r.kmgr = nullptr;
  r.tdrv = nullptr;
  r.hal = nullptr;
}

// Results are the same, only that they are there when the call returns.
NRT_STATUS refuse_async() {
  uint64_t in_flight = 0;
  NRT_STATUS status = env_u64(kAsyncVariable, 0, 0, INT32_MAX, &in_flight);
  if (in_flight > 0)
    NLOG_WARN(NLOG_NRT, "{}={}: asynchronous execution is not implemented; runs are synchronous",
              kAsyncVariable, in_flight);
  return status;
}

NRT_STATUS set_up(runtime_t &r) {
  if (NRT_STATUS s = refuse_async(); s != NRT_SUCCESS)
    return s;
  hal_options_t hal_options;
  if (NRT_STATUS s = hal_options_from_env(&hal_options); s != NRT_SUCCESS)
    return s;
  kmgr_options_t kmgr_options;
  if (NRT_STATUS s = neff_open_options_from_env(&kmgr_options.neff); s != NRT_SUCCESS)
    return s;
  if (NRT_STATUS s = kelf_options_from_env(&kmgr_options.kelf); s != NRT_SUCCESS)
    return s;
  tdrv_options_t tdrv_options{};
  if (NRT_STATUS s = tdrv_options_from_env(&tdrv_options); s != NRT_SUCCESS)
    return s;
  if (NRT_STATUS s = hal_open(&hal_options, &r.hal); s != NRT_SUCCESS)
    return s;
  core_choice_t choice;
  if (NRT_STATUS s =
          core_choice_from_env(hal_arch(r.hal), hal_identity(r.hal)->device_count, &choice);
      s != NRT_SUCCESS)
    return s;
  if (NRT_STATUS s = core_choice_place(r.hal, &choice); s != NRT_SUCCESS)
    return s;
  tdrv_options.lnc = choice.lnc;
  tdrv_options.first_vnc = choice.first_vnc;
  tdrv_options.num_vncs = choice.num_vncs;
  tdrv_options.cores_claimed = choice.claimed;  // hal_close drops the claim should tdrv refuse it
  if (NRT_STATUS s = tdrv_init(r.hal, &tdrv_options, &r.tdrv); s != NRT_SUCCESS)
    return s;
  return kmgr_create(r.tdrv, &kmgr_options, &r.kmgr);
}

class exclusive_lock {
 public:
  exclusive_lock() { pthread_rwlock_wrlock(&g_lock); }
  ~exclusive_lock() { pthread_rwlock_unlock(&g_lock); }
  exclusive_lock(const exclusive_lock &) = delete;
  exclusive_lock &operator=(const exclusive_lock &) = delete;
};

}  // namespace

NRT_STATUS runtime_status() {
  return status_of(g_state.load(std::memory_order_acquire));
}

runtime_lease::runtime_lease() : status_(runtime_status()) {
  if (status_ != NRT_SUCCESS)
    return;
  pthread_rwlock_rdlock(&g_lock);
  status_ = runtime_status();  // nrt_close may have won
  if (status_ == NRT_SUCCESS)
    runtime_ = &instance();
  else
    pthread_rwlock_unlock(&g_lock);
}

runtime_lease::~runtime_lease() {
  if (runtime_ != nullptr)
    pthread_rwlock_unlock(&g_lock);
}

NRT_STATUS runtime_init(const char *api, const char *framework_version, const char *fal_version) {
  if (g_state.load(std::memory_order_acquire) == STATE_FORKED)
    return api_refuse_state(api, NRT_FAILURE);
  {
    // A second call must not wait for the calls in progress: one of them may wait for an execution
    // that would have to wait behind this one.
    runtime_lease lease;
    if (lease.status() == NRT_SUCCESS) {
      NLOG_INFO(NLOG_NRT, "already initialised");
      return NRT_SUCCESS;
    }
  }
  exclusive_lock lock;
  if (g_state.load(std::memory_order_acquire) == STATE_READY) {
    NLOG_INFO(NLOG_NRT, "already initialised");
    return NRT_SUCCESS;
  }
  nlog_configure_from_env();
  register_fork_handler();
  runtime_t &r = instance();
  NRT_STATUS status;
  try {
    status = set_up(r);
  } catch (...) {
    tear_down(r);
    throw;
  }
  if (status != NRT_SUCCESS) {
    tear_down(r);
    return status;
  }
  const hal_identity_t *identity = hal_identity(r.hal);
  NLOG_INFO(NLOG_NRT,
            "{} devices of {} ({} back end, driver {}), {} logical cores of {} physical cores from "
            "{} on; framework '{}', abstraction layer '{}'",
            identity->device_count, identity->instance_type, identity->backend,
            identity->driver_version, tdrv_vnc_count(r.tdrv), tdrv_options(r.tdrv)->lnc,
            tdrv_options(r.tdrv)->first_vnc, framework_version, fal_version);
  g_state.store(STATE_READY, std::memory_order_release);
  return NRT_SUCCESS;
}

bool runtime_close() {
  if (g_state.load(std::memory_order_acquire) != STATE_READY)
    return false;
  // Calls that wait for executions hold a lease: they are sent home before the lock waits for them.
  struct no_waiting {
    no_waiting() { completion_cancel_begin(); }
    ~no_waiting() { completion_cancel_end(); }
  } nobody_waits;
  exclusive_lock lock;
  if (g_state.load(std::memory_order_acquire) != STATE_READY)
    return false;
  g_state.store(STATE_CLOSED, std::memory_order_release);
  tear_down(instance());
  return true;
}

NRT_STATUS api_refuse_state(const char *api, NRT_STATUS status) {
  switch (status) {
    case NRT_UNINITIALIZED:
      return api_fail(api, status, "called before nrt_init");
    case NRT_CLOSED:
      return api_fail(api, status, "called after nrt_close");
    default:
      return api_fail(api, status,
                      "called in a process forked from an initialised one; initialise after the "
                      "fork, or exec");
  }
}

void api_warn_unsupported(const char *api, std::atomic<bool> *warned) {
  if (!warned->exchange(true))
    nlog_write(NLOG_NRT, NLOG_LEVEL_WARN, api, "is not implemented in this release");
}
