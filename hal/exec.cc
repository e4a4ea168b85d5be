// SPDX-License-Identifier: Apache-2.0
#include "hal/exec.h"

#include <time.h>

#include <cerrno>
#include <memory>
#include <new>

#include "hal/hal_impl.h"
#include "hal/regs.h"
#include "hal/udma.h"
#include "isa/project.h"
#include "mock_dev/exec.h"
#include "uapi/neuron_address_map.h"
#include "uapi/neuron_udma.h"

namespace {

constexpr uint64_t kPollNs = 50'000;  // a device is looked at this often

static_assert(HAL_CORE_IDLE == static_cast<int>(MOCK_CORE_IDLE) &&
              HAL_CORE_BUSY == static_cast<int>(MOCK_CORE_BUSY) &&
              HAL_CORE_STALLED == static_cast<int>(MOCK_CORE_STALLED));

bool core_exists(const hal_device_t *device, uint32_t nc_id) {
  return nc_id < device->hal->arch->cores_per_device;
}

uint64_t notification_block(const hal_device_t *device, uint32_t nc_id) {
  return core_exists(device, nc_id) ? neuron_nq_core_bar0_offset(device->hal->arch->arch, nc_id)
                                    : NEURON_NO_ADDRESS;
}

void short_sleep(uint64_t timeout_ns) {
  uint64_t ns = timeout_ns < kPollNs ? timeout_ns : kPollNs;
  struct timespec time = {0, static_cast<long>(ns)};
  nanosleep(&time, nullptr);
}

}  // namespace

uint64_t hal_engine_register(const hal_device_t *device, uint32_t nc_id, uint32_t engine,
                             uint64_t reg) {
  if (!core_exists(device, nc_id) || engine >= ISA_ENGINE_COUNT)
    return NEURON_NO_ADDRESS;
  return neuron_tpb_bar0_offset(device->hal->arch->arch, nc_id) + NEURON_BAR0_EVENT_OFFSET +
         PROJECT_ENGINE_BLOCK + engine * PROJECT_ENGINE_STRIDE + reg;
}

uint64_t hal_notification_head_register(const hal_device_t *device, uint32_t nc_id,
                                        uint32_t queue) {
  uint64_t block = notification_block(device, nc_id);
  return block == NEURON_NO_ADDRESS ? block : block + NEURON_NQ_STRIDE * queue + NEURON_NQ_HEAD;
}

uint64_t hal_notification_cause_register(const hal_device_t *device, uint32_t nc_id) {
  uint64_t block = notification_block(device, nc_id);
  return block == NEURON_NO_ADDRESS ? block : block + PROJECT_NQ_CAUSE;
}

void hal_core_dma_engines(const hal_device_t *device, uint32_t nc_id, uint32_t *first,
                          uint32_t *count) {
  bool exists = core_exists(device, nc_id);
  *first = exists ? nc_id * NEURON_DMA_ENGINES_PER_CORE : 0;
  *count = exists ? NEURON_DMA_ENGINES_PER_CORE : 0;
}

int hal_core_dma_reset(hal_device_t *device, uint32_t nc_id) {
  if (!core_exists(device, nc_id))
    return -E2BIG;
  constexpr uint64_t kControls[2] = {NEURON_UDMA_TX_SOFTWARE_CONTROL,
                                     NEURON_UDMA_RX + NEURON_UDMA_RX_SOFTWARE_CONTROL};
  uint32_t first, count;
  hal_core_dma_engines(device, nc_id, &first, &count);
  int result = 0;
  for (uint32_t engine = first; engine < first + count && result == 0; ++engine) {
    uint64_t block = neuron_udma_bar0_offset(device->hal->arch->arch, engine);
    uint64_t offsets[2 * HAL_UDMA_STATIC_QUEUES];
    uint32_t values[2 * HAL_UDMA_STATIC_QUEUES];
    for (uint32_t i = 0; i < 2 * HAL_UDMA_STATIC_QUEUES; ++i) {
      offsets[i] = block + NEURON_UDMA_QUEUE(i / 2) + kControls[i % 2];
      values[i] = hal_udma_reset_value();
    }
    result = hal_registers_write(device, offsets, values, 2 * HAL_UDMA_STATIC_QUEUES);
  }
  return result;
}

int hal_core_wait(hal_device_t *device, uint32_t nc_id, uint64_t timeout_ns,
                  hal_core_state_t *state) {
  if (!core_exists(device, nc_id))
    return -E2BIG;
  mock_host_t *host = hal_mock_host(device->hal);
  if (host == nullptr) {
    short_sleep(timeout_ns);
    *state = HAL_CORE_BUSY;
    return 0;
  }
  int result = mock_core_wait(host, device->position, nc_id, timeout_ns);
  if (result < 0)
    return result;
  *state = static_cast<hal_core_state_t>(result);
  return 0;
}

uint64_t hal_core_progress(hal_device_t *device, uint32_t nc_id) {
  mock_host_t *host = hal_mock_host(device->hal);
  if (host == nullptr || !core_exists(device, nc_id))
    return 0;
  mock_exec_counts_t counts;
  mock_exec_counts(host, device->position, nc_id, &counts);
  uint64_t progress = counts.transfers;
  for (uint64_t records : counts.records)
    progress += records;
  return progress;
}

uint64_t hal_core_time_ns(hal_device_t *device, uint32_t nc_id) {
  constexpr uint64_t kPsPerNs = 1000;
  mock_host_t *host = hal_mock_host(device->hal);
  if (host == nullptr || !core_exists(device, nc_id))
    return 0;
  mock_exec_counts_t counts;
  mock_exec_counts(host, device->position, nc_id, &counts);
  return counts.time_ps / kPsPerNs;
}

size_t hal_core_report(hal_device_t *device, uint32_t nc_id, char *text, size_t size) {
  mock_host_t *host = hal_mock_host(device->hal);
  if (host == nullptr || !core_exists(device, nc_id)) {
    if (size > 0)
      text[0] = '\0';
    return 0;
  }
  return mock_core_report(host, device->position, nc_id, text, size);
}

int hal_exec_names(hal_device_t *device, uint32_t nc_id, const hal_name_t *names, size_t count) {
  if (!core_exists(device, nc_id))
    return -E2BIG;
  mock_host_t *host = hal_mock_host(device->hal);
  if (host == nullptr)
    return 0;
  std::unique_ptr<mock_name_t[]> list(new (std::nothrow) mock_name_t[count]);
  if (list == nullptr)
    return -ENOMEM;
  for (size_t i = 0; i < count; ++i)
    list[i] = {names[i].address, names[i].size, names[i].name, names[i].first_slot,
               (names[i].records ? MOCK_NAME_RECORDS : 0) |
                   (names[i].undefined ? MOCK_NAME_UNDEFINED : 0)};
  return mock_exec_names(host, device->position, nc_id, list.get(), count);
}

bool hal_exec_checks(const hal_device_t *device) {
  mock_host_t *host = hal_mock_host(device->hal);
  return host != nullptr && mock_exec_checks(host) != 0;
}

int hal_exec_finding(hal_device_t *device, char *text, size_t size) {
  mock_host_t *host = hal_mock_host(device->hal);
  if (host == nullptr)
    return -EAGAIN;
  std::lock_guard guard(device->hal->mutex);
  int length = mock_exec_finding_at(host, device->hal->findings_told, text, size);
  device->hal->findings_told += length >= 0 ? 1 : 0;
  return length;
}
