// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/reset.h"

#include <csignal>
#include <ctime>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "mock_dev/chunk.h"
#include "mock_dev/fault.h"
#include "mock_dev/firmware.h"
#include "mock_dev/notification.h"
#include "mock_dev/udma.h"

namespace {

constexpr uint64_t COPY_RING_SIZE = 128 * 1024;
constexpr uint64_t FILL_BUFFER_SIZE = 64 * 1024;
constexpr uint32_t ALL_CORES = (1u << NEURON_MAX_CORES) - 1;
constexpr uint64_t NS_PER_MS = 1000000;

// Two rings and the page completions are written to.
constexpr uint64_t COPY_RING_SIZES[MOCK_COPY_RING_CHUNKS] = {COPY_RING_SIZE, COPY_RING_SIZE,
                                                             MOCK_PAGE};

void rings_free(mock_host *host, mock_device_t *device, uint32_t core) {
  for (uint32_t &chunk : device->copy_rings[core]) {
    if (chunk != 0)
      mock_chunk_destroy(host, device, chunk);
    chunk = 0;
  }
}

int rings_create(mock_host *host, mock_device_t *device, uint32_t core) {
  for (uint32_t i = 0; i < MOCK_COPY_RING_CHUNKS; ++i) {
    int rc = device->copy_rings[core][i] != 0
                 ? 0
                 : mock_chunk_create_driver(host, device, COPY_RING_SIZES[i], core,
                                            &device->copy_rings[core][i]);
    if (rc != 0) {
      rings_free(host, device, core);
      return rc;
    }
  }
  return 0;
}

mock_reset_t *request_of(mock_device_t *device, int32_t id) {
  for (mock_reset_t &r : device->resets)
    if (r.used != 0 && r.sysfs == 0 && r.id == id)
      return &r;
  return nullptr;
}

// Cores of resets that still run.
uint32_t cores_resetting(const mock_device_t *device) {
  uint32_t cores = 0;
  for (const mock_reset_t &r : device->resets)
    if (r.used != 0 && r.done == 0)
      cores |= r.cores;
  return cores;
}

bool any_running(const mock_device_t *device) {
  return std::any_of(std::begin(device->resets), std::end(device->resets),
                     [](const mock_reset_t &r) { return r.used != 0 && r.done == 0; });
}

// What the driver takes away from a core when its reset is asked for. The bit map may name cores
// that do not exist: they are counted and that is all.
void core_take_down(mock_host *host, mock_device_t *device, uint32_t core) {
  mock_counter_add(&device->counters.cores[core].other[MOCK_OTHER_RESET_REQUESTS], 1);
  if (core >= host->state->cores)
    return;
  rings_free(host, device, core);
  device->core_init[core] = NEURON_CINIT_INVALID;
  std::fill(std::begin(device->async_busy[core]), std::end(device->async_busy[core]), 0);
  mock_notification_free_unit(host, device, mock_nq_unit_core(core));
  uint32_t share = mock_top_sps_per_core(host->state);
  for (uint32_t t = 0; t < share; ++t)
    mock_notification_free_unit(host, device, mock_nq_unit_top_sp(core * share + t));
}

// DMA and device lock held.
int request_add(mock_host *host, mock_device_t *device, const mock_reset_t *like) {
  mock_reset_t *r = std::find_if(std::begin(device->resets), std::end(device->resets),
                                 [](const mock_reset_t &x) { return x.used == 0; });
  if (r == std::end(device->resets))
    return -ENOMEM;
  *r = *like;
  r->used = 1;
  r->done_at = clock_now_ns() + host->state->reset_ms * NS_PER_MS;
  for (uint32_t core = 0; core < NEURON_MAX_CORES; ++core)
    if ((r->cores >> core & 1) != 0)
      core_take_down(host, device, core);
  for (uint32_t e = 0; e < host->state->cores * NEURON_DMA_ENGINES_PER_CORE; ++e)
    if ((r->cores >> (e / NEURON_DMA_ENGINES_PER_CORE) & 1) != 0)
      mock_udma_reset(host, device, e);
  mock_firmware_reset(host, device, r->cores);
  mock_firmware_resetting(device, true);
  return 0;
}

void request_finish(mock_host *host, mock_device_t *device, mock_reset_t *r) {
  r->done = 1;
  bool failed = mock_fault_event(host, MOCK_FAULT_RESET);
  uint32_t busy = cores_resetting(device);
  for (uint32_t core = 0; core < host->state->cores && !failed; ++core)
    if ((r->cores >> core & 1) != 0 && (busy >> core & 1) == 0)
      failed = rings_create(host, device, core) != 0;
  r->failed = failed ? 1 : 0;
  if (failed)
    for (mock_core_counters_t &core : device->counters.cores)
      mock_counter_add(&core.other[MOCK_OTHER_RESET_FAILURES], 1);
  if (r->sysfs != 0) {
    device->state = failed ? NEURON_DEVICE_INVALID : NEURON_DEVICE_READY;
    r->used = 0;
  }
}

}  // namespace

int mock_reset_probe(mock_host *host, mock_device_t *device) {
  uint32_t fill;
  int rc = mock_chunk_create_driver(host, device, FILL_BUFFER_SIZE, 0, &fill);
  for (uint32_t core = 0; core < host->state->cores && rc == 0; ++core)
    rc = rings_create(host, device, core);
  return rc;
}

int mock_reset_start(mock_host *host, mock_device_t *device, int32_t id, uint32_t nc_map) {
  if (host->state->no_reset != 0)
    return 0;
  mock_guard_t dma(&device->dma_lock);
  mock_guard_t guard(&device->lock);
  if (request_of(device, id) != nullptr)
    return 1;
  mock_reset_t r = {};
  r.id = id;
  r.cores = nc_map & ALL_CORES;
  int rc = request_add(host, device, &r);
  mock_reset_settle(host, device);
  return rc;
}

int mock_reset_wait(mock_host *host, mock_device_t *device, int32_t id, bool *known) {
  *known = true;
  if (host->state->no_reset != 0)
    return 0;
  for (;;) {
    {
      mock_guard_t guard(&device->lock);
      mock_reset_settle(host, device);
      mock_reset_t *r = request_of(device, id);
      if (r == nullptr) {
        *known = false;
        return 1;
      }
      if (r->done != 0) {
        r->used = 0;
        return r->failed != 0 ? 1 : 0;
      }
    }
    if (!mock_reset_pause())
      return -EINTR;
  }
}

void mock_reset_device(mock_host *host, mock_device_t *device) {
  mock_guard_t dma(&device->dma_lock);
  mock_guard_t guard(&device->lock);
  mock_reset_settle(host, device);
  if (host->state->no_reset != 0 || device->open_count != 0 ||
      device->state == NEURON_DEVICE_RESETTING)
    return;
  mock_reset_t r = {};
  r.cores = ALL_CORES;
  r.sysfs = 1;
  if (request_add(host, device, &r) == 0)
    device->state = NEURON_DEVICE_RESETTING;
  mock_reset_settle(host, device);
}

void mock_reset_settle(mock_host *host, mock_device_t *device) {
  if (!any_running(device))
    return;
  uint64_t now = clock_now_ns();
  for (mock_reset_t &r : device->resets)
    if (r.used != 0 && r.done == 0 && now >= r.done_at)
      request_finish(host, device, &r);
  mock_firmware_resetting(device, any_running(device));
}

bool mock_reset_can_copy(mock_host *host, mock_device_t *device, uint32_t core) {
  mock_reset_settle(host, device);
  return device->copy_rings[std::min(core, host->state->cores - 1)][0] != 0;
}

bool mock_reset_pause(void) {
  sigset_t pending;
  if (sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1)
    return false;
  timespec t = {0, static_cast<long>(NS_PER_MS)};
  nanosleep(&t, nullptr);
  return true;
}
