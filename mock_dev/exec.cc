// SPDX-License-Identifier: Apache-2.0
// Execution of a machine: making and ending it, its switches, its counts.
#include "mock_dev/exec.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "mock_dev/core_pool.h"
#include "mock_dev/exec_state.h"
#include "mock_dev/kernel_log.h"
#include "mock_dev/watch_check.h"

namespace {

uint32_t cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return std::clamp<uint32_t>(static_cast<uint32_t>(CPU_COUNT(&set)), 1, MOCK_EXEC_MAX_THREADS);
}

bool condition_init(pthread_cond_t *condition) {
  pthread_condattr_t attr;
  if (pthread_condattr_init(&attr) != 0)
    return false;
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  bool ok = pthread_cond_init(condition, &attr) == 0;
  pthread_condattr_destroy(&attr);
  return ok;
}

// Who checks runs with these options. Without memory nobody does. Lock held, or nobody else there.
void watcher_set(mock_host *host, const mock_exec_options_t *options) {
  mock_exec_t *exec = host->exec;
  bool checks = options->races != 0 || options->strict != 0;
  __atomic_store_n(&exec->checks, checks ? 1u : 0u, __ATOMIC_RELAXED);
  exec->watcher = nullptr;
  if (!checks)
    return;
  mock_watcher_t *watcher = mock_watcher_create(host, options);
  if (watcher == nullptr)
    return mock_kernel_log(host, "neuron: no host memory to check runs");
  exec->watchers.push_back(watcher);
  exec->watcher = watcher;
}

}  // namespace

int mock_exec_create(mock_host *host, const mock_dev_options_t *options) {
  if (options->threads > MOCK_EXEC_MAX_THREADS)
    return -EINVAL;
  mock_exec_t *exec = new (std::nothrow) mock_exec_t();
  if (exec == nullptr)
    return -ENOMEM;
  exec->process = mock_fork_generation();
  exec->thread_limit = options->threads != 0 ? options->threads : cpus();
  exec->options = {options->seed, options->poison ? 1u : 0u, options->races ? 1u : 0u,
                   options->exact_functions ? 1u : 0u};
  exec->generation = 1;
  const mock_state_t *state = host->state;
  exec->cores = state->cores;
  exec->core_bytes = sizeof(mock_core_t) * state->device_count * state->cores;
  // Most of a core's state is never touched: pages come when they are.
  void *cores = mmap(nullptr, exec->core_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (cores == MAP_FAILED) {
    delete exec;
    return -ENOMEM;
  }
  exec->core = static_cast<mock_core_t *>(cores);
  if (pthread_mutex_init(&exec->lock, nullptr) != 0 || !condition_init(&exec->work) ||
      !condition_init(&exec->done)) {
    munmap(cores, exec->core_bytes);
    delete exec;
    return -ENOMEM;
  }
  host->exec = exec;
  watcher_set(host, &exec->options);
  return 0;
}

void mock_exec_destroy(mock_host *host) {
  mock_exec_t *exec = host->exec;
  if (exec == nullptr)
    return;
  mock_exec_stop(exec);
  for (uint32_t i = 0; i < host->state->device_count * exec->cores; ++i)
    if (exec->core[i].names.list != nullptr)
      mock_names_free(&exec->core[i].names);
  for (mock_watcher_t *watcher : exec->watchers)
    mock_watcher_destroy(watcher);
  munmap(exec->core, exec->core_bytes);
  delete exec;
  host->exec = nullptr;
}

void mock_core_init(mock_exec_t *exec, mock_core_t *core, mock_host *host, uint32_t device,
                    uint32_t index) {
  if (core->host != nullptr)
    return;
  core->host = host;
  core->device = mock_host_device(host, device);
  core->index = index;
  core->arch = core->device->engines[index];
  core->sbuf_bytes = host->state->arch == NEURON_ARCH_V2 ? NEURON_V2_SBUF_PARTITION_SIZE
                                                         : NEURON_V3_SBUF_PARTITION_SIZE;
  core->stop_all = &exec->stop;
}

mock_core_t *mock_core_at(mock_host *host, uint32_t device, uint32_t core) {
  mock_exec_t *exec = host->exec;
  if (exec == nullptr || device >= host->state->device_count || core >= exec->cores)
    return nullptr;
  return &exec->core[device * exec->cores + core];
}

void mock_exec_configure(mock_host_t *host, const mock_exec_options_t *options) {
  mock_exec_hold_t hold(host->exec);
  host->exec->options = *options;
  host->exec->generation++;
  watcher_set(host, options);
}

namespace {

mock_watcher_t *watcher_of(mock_host_t *host) {
  mock_exec_hold_t hold(host->exec);
  return host->exec->watcher;
}

}  // namespace

int mock_exec_finding(mock_host_t *host, char *text, size_t size, uint64_t *dropped) {
  mock_watcher_t *watcher = watcher_of(host);
  if (dropped != nullptr)
    *dropped = 0;
  return watcher != nullptr ? mock_watcher_finding(watcher, text, size, dropped) : -EAGAIN;
}

int mock_exec_finding_at(mock_host_t *host, uint64_t index, char *text, size_t size) {
  mock_watcher_t *watcher = watcher_of(host);
  return watcher != nullptr ? mock_watcher_finding_at(watcher, index, text, size) : -EAGAIN;
}

void mock_exec_options_get(mock_host_t *host, mock_exec_options_t *out) {
  mock_exec_hold_t hold(host->exec);
  *out = host->exec->options;
}

int mock_exec_checks(const mock_host_t *host) {
  return __atomic_load_n(&host->exec->checks, __ATOMIC_RELAXED) != 0;
}

void mock_exec_trace(mock_host_t *host, mock_exec_event_fn fn, void *user) {
  mock_exec_hold_t hold(host->exec);
  host->exec->trace = fn;
  host->exec->trace_user = user;
  host->exec->generation++;
}

void mock_exec_counts(mock_host_t *host, uint32_t device, uint32_t core, mock_exec_counts_t *out) {
  *out = {};
  const mock_core_t *c = mock_core_at(host, device, core);
  if (c == nullptr)
    return;
  auto *to = reinterpret_cast<uint64_t *>(out);
  const auto *from = reinterpret_cast<const uint64_t *>(&c->counts);
  for (size_t i = 0; i < sizeof(*out) / sizeof(*to); ++i)
    to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}
