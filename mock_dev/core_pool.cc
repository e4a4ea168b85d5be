// SPDX-License-Identifier: Apache-2.0
// The short case is one caller that raises a semaphore and then waits for the core: it runs the
// core itself, and no thread is woken. A thread of the pool that has had work lately looks at the
// queue every LOOK_NS, so a core nobody waits for runs too. With a second core in the queue threads
// are woken at once.
#include "mock_dev/core_pool.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <mutex>

#include "base/clock.h"
#include "mock_dev/engine_registers.h"
#include "mock_dev/exec_state.h"
#include "mock_dev/watch_check.h"

namespace {

constexpr uint64_t LOOK_NS = 1000000;
constexpr uint32_t LOOKS = 100;          // without work, then the thread sleeps until it is woken
constexpr uint64_t SLICE_NS = 10000000;  // until another core in the queue has its turn
constexpr uint64_t NS_PER_S = 1000000000;

uint32_t fork_generation;

void after_fork_in_child() {
  __atomic_fetch_add(&fork_generation, 1, __ATOMIC_RELAXED);
}

bool is_own(const mock_exec_t *exec) {
  return exec->process == __atomic_load_n(&fork_generation, __ATOMIC_RELAXED);
}

timespec timespec_of(uint64_t ns) {
  return {static_cast<time_t>(ns / NS_PER_S), static_cast<long>(ns % NS_PER_S)};
}

// --- queue; lock held ---------------------------------------------------------------------------

void queue_push(mock_exec_t *exec, mock_core_t *core) {
  core->next = nullptr;
  core->previous = exec->last;
  (exec->last != nullptr ? exec->last->next : exec->first) = core;
  exec->last = core;
  exec->queued++;
}

// The caller runs it from here on.
void queue_take(mock_exec_t *exec, mock_core_t *core) {
  (core->previous != nullptr ? core->previous->next : exec->first) = core->next;
  (core->next != nullptr ? core->next->previous : exec->last) = core->previous;
  exec->queued--;
  exec->busy++;
  if (exec->wanted > exec->queued)
    exec->wanted = exec->queued;
  __atomic_exchange_n(&core->run, MOCK_RUN_BUSY, __ATOMIC_ACQ_REL);
}

void *thread_main(void *argument);

void thread_start(mock_exec_t *exec) {
  if (exec->thread_count == exec->thread_limit)
    return;
  pthread_t *thread = &exec->threads[exec->thread_count];
  sigset_t all, old;
  sigfillset(&all);  // signals are for the threads of the program
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int rc = pthread_create(thread, nullptr, thread_main, exec);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (rc != 0)
    return;  // callers of mock_core_wait do all the work
  char name[16];
  snprintf(name, sizeof(name), "mock-core-%u", exec->thread_count % MOCK_EXEC_MAX_THREADS);
  pthread_setname_np(*thread, name);
  exec->thread_count++;
}

// A core has come into the queue.
void announce(mock_exec_t *exec) {
  bool alone = exec->queued + exec->busy == 1;
  if (!alone)
    exec->wanted++;
  else if (exec->lingering != 0)
    return;
  if (exec->asleep >= (alone ? 1 : exec->wanted))
    pthread_cond_signal(&exec->work);
  else
    thread_start(exec);
}

void requeue(mock_exec_t *exec, mock_core_t *core) {
  __atomic_exchange_n(&core->run, MOCK_RUN_QUEUED, __ATOMIC_ACQ_REL);
  queue_push(exec, core);
  exec->wanted++;
}

// What changed for the core with the next run.
void settle(const mock_exec_t *exec, mock_core_t *core) {
  if (core->options_taken == exec->generation || core->pending_count != 0)
    return;
  bool idle = !mock_core_active(core->device, core->index);
  core->trace = exec->trace;
  core->trace_user = exec->trace_user;
  if (!idle)
    return;
  core->options_taken = exec->generation;
  core->options = exec->options;
  core->watch = exec->watcher != nullptr ? mock_watcher_core(exec->watcher, core) : nullptr;
  core->rng =
      core->options.seed ^ (uint64_t{core->device->index} << 40 | uint64_t{core->index} << 32);
}

// Runs a core that was taken; lock held before and after. True: it is quiet.
bool run(mock_exec_t *exec, mock_core_t *core, uint64_t stop_at) {
  settle(exec, core);
  pthread_mutex_unlock(&exec->lock);
  mock_core_result_t result = mock_core_run(core, stop_at);
  pthread_mutex_lock(&exec->lock);
  exec->busy--;
  uint32_t expected = MOCK_RUN_BUSY;
  bool quiet = result == MOCK_CORE_QUIET &&
               __atomic_compare_exchange_n(&core->run, &expected, MOCK_RUN_NONE, false,
                                           __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  if (!quiet)
    requeue(exec, core);
  if (exec->waiters != 0)
    pthread_cond_broadcast(&exec->done);
  return quiet;
}

// --- threads ------------------------------------------------------------------------------------

// Sleeps until there is a core to take, and takes it; nullptr: the machine goes away. Lock held.
mock_core_t *thread_wait(mock_exec_t *exec) {
  uint32_t looks = 0;
  for (;;) {
    if (exec->stop != 0)
      return nullptr;
    if (exec->wanted != 0 && exec->first != nullptr)
      break;
    exec->wanted = 0;
    exec->asleep++;
    int rc = 0;
    if (exec->lingering == 0 && looks < LOOKS) {
      exec->lingering++;
      timespec until = timespec_of(clock_now_ns() + LOOK_NS);
      rc = pthread_cond_timedwait(&exec->work, &exec->lock, &until);
      exec->lingering--;
    } else {
      pthread_cond_wait(&exec->work, &exec->lock);
    }
    exec->asleep--;
    looks = rc == ETIMEDOUT ? looks + 1 : 0;
    if (rc == ETIMEDOUT && exec->first != nullptr)
      break;
  }
  if (exec->stop != 0)
    return nullptr;
  mock_core_t *core = exec->first;
  queue_take(exec, core);
  return core;
}

void *thread_main(void *argument) {
  auto *exec = static_cast<mock_exec_t *>(argument);
  mock_exec_hold_t hold(exec);
  while (mock_core_t *core = thread_wait(exec))
    run(exec, core, clock_now_ns() + SLICE_NS);
  return nullptr;
}

}  // namespace

uint32_t mock_fork_generation() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, after_fork_in_child); });
  return __atomic_load_n(&fork_generation, __ATOMIC_RELAXED);
}

void mock_exec_stop(mock_exec_t *exec) {
  if (!is_own(exec))
    return;  // neither threads nor the state of the locks came along
  {
    mock_exec_hold_t hold(exec);
    __atomic_store_n(&exec->stop, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&exec->work);
  }
  for (uint32_t i = 0; i < exec->thread_count; ++i)
    pthread_join(exec->threads[i], nullptr);
  pthread_cond_destroy(&exec->work);
  pthread_cond_destroy(&exec->done);
  pthread_mutex_destroy(&exec->lock);
}

namespace {

// Makes the core runnable, or tells the thread that runs it to look again.
void wake(mock_host *host, uint32_t device, uint32_t core_index) {
  mock_exec_t *exec = host->exec;
  mock_core_t *core = mock_core_at(host, device, core_index);
  // Always a read-modify-write, so that whoever runs the core next sees what was written.
  uint32_t seen = __atomic_load_n(&core->run, __ATOMIC_ACQUIRE);
  while (seen != MOCK_RUN_NONE) {
    uint32_t next = seen == MOCK_RUN_BUSY ? static_cast<uint32_t>(MOCK_RUN_AGAIN) : seen;
    if (__atomic_compare_exchange_n(&core->run, &seen, next, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return;
  }
  mock_exec_hold_t hold(exec);  // a core leaves NONE only under the lock
  seen = __atomic_load_n(&core->run, __ATOMIC_ACQUIRE);
  if (seen != MOCK_RUN_NONE) {
    uint32_t next = seen == MOCK_RUN_QUEUED ? MOCK_RUN_QUEUED : MOCK_RUN_AGAIN;
    __atomic_exchange_n(&core->run, next, __ATOMIC_ACQ_REL);
    return;
  }
  mock_core_init(exec, core, host, device, core_index);
  __atomic_exchange_n(&core->run, MOCK_RUN_QUEUED, __ATOMIC_ACQ_REL);
  queue_push(exec, core);
  announce(exec);
}

}  // namespace

void mock_core_kick(mock_host *host, uint32_t device, uint32_t core_index) {
  if (mock_core_at(host, device, core_index) == nullptr || !is_own(host->exec))
    return;
  const mock_engine_t *engines = mock_host_device(host, device)->engines[core_index];
  if (std::any_of(engines, engines + ISA_ENGINE_COUNT,
                  [](const mock_engine_t &e) { return mock_engine_enabled(&e); }))
    wake(host, device, core_index);
}

void mock_core_kick_rings(mock_host *host, uint32_t device, uint32_t core_index) {
  mock_core_t *core = mock_core_at(host, device, core_index);
  if (core == nullptr || !is_own(host->exec))
    return;
  __atomic_store_n(&core->rings, 1, __ATOMIC_RELEASE);
  wake(host, device, core_index);
}

int mock_core_wait(mock_host_t *host, uint32_t device, uint32_t core_index, uint64_t timeout_ns) {
  mock_core_t *core = mock_core_at(host, device, core_index);
  if (core == nullptr || !is_own(host->exec))
    return -EINVAL;
  mock_exec_t *exec = host->exec;
  uint64_t now = clock_now_ns();
  uint64_t until = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
  mock_exec_hold_t hold(exec);
  for (;;) {
    uint32_t state = __atomic_load_n(&core->run, __ATOMIC_ACQUIRE);
    if (state == MOCK_RUN_NONE) {
      if (!mock_core_active(mock_host_device(host, device), core_index))
        return MOCK_CORE_IDLE;
      if (exec->queued + exec->busy == 0)
        return MOCK_CORE_STALLED;
    }
    if (clock_now_ns() >= until)
      return MOCK_CORE_BUSY;
    if (state == MOCK_RUN_QUEUED || (exec->thread_count == 0 && exec->first != nullptr)) {
      mock_core_t *take = exec->thread_count == 0 ? exec->first : core;
      queue_take(exec, take);
      if (!run(exec, take, std::min(until, clock_now_ns() + SLICE_NS)) && clock_now_ns() >= until)
        announce(exec);
      continue;
    }
    exec->waiters++;
    timespec deadline = timespec_of(until);
    pthread_cond_timedwait(&exec->done, &exec->lock, &deadline);
    exec->waiters--;
  }
}
