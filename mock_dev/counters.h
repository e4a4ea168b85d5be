// SPDX-License-Identifier: Apache-2.0
// The statistics the driver keeps and its sysfs files show (mock-device-semantics.md 16, uapi.md
// 11). State only: sysfs prints it. The caller holds the device's lock in every function here.
#pragma once

#include <cstdint>

#include "uapi/neuron_datastore.h"
#include "uapi/neuron_shared.h"

// One counter directory. A file that is written to goes back to zero (mock_counter_t{}).
struct mock_counter_t {
  uint64_t total;    // running value
  uint64_t present;  // size of the last change, up or down
  uint64_t peak;     // highest total
};

// stats/memory_usage/host_mem/<name> of a device.
inline constexpr const char *MOCK_HOST_CATEGORY_NAMES[] = {
    "dma_buffers",   "tensors",       "constants", "application_memory",
    "driver_memory", "notifications", "dma_rings", "uncategorized"};
constexpr uint32_t MOCK_HOST_CATEGORIES = 8;

// stats/memory_usage/device_mem/<name> of a core.
inline constexpr const char *MOCK_DEVICE_CATEGORY_NAMES[] = {
    "model_code",     "tensors",       "constants",    "model_shared_scratchpad",
    "runtime_memory", "driver_memory", "collectives",  "nonshared_scratchpad",
    "notifications",  "dma_rings",     "uncategorized"};
constexpr uint32_t MOCK_DEVICE_CATEGORIES = 11;

// stats/status/<name> of a core.
inline constexpr const char *MOCK_STATUS_NAMES[] = {
    "success",
    "failure",
    "timeout",
    "exec_bad_input",
    "hw_error",
    "execute_completed_with_error",
    "execute_completed_with_num_error",
    "generic_error",
    "resource_error",
    "resource_nc_error",
    "execute_failed_to_queue",
    "invalid_error",
    "unsupported_neff_version",
    "oob_error",
    "hw_collectives_error",
    "hw_hbm_ue_error",
    "hw_nc_ue_error",
    "hw_dma_abort_error",
    "execute_sw_nq_overflow",
    "execute_sw_semaphore_error",
    "execute_sw_event_error",
    "execute_sw_psum_collision",
    "execute_sw_sequencer_fatal",
    "hw_repairable_hbm_ue_error",
};
static_assert(sizeof(MOCK_STATUS_NAMES) / sizeof(MOCK_STATUS_NAMES[0]) == NEURON_NDS_STATUS_COUNT);

// stats/other_info/<name> of a core.
enum mock_other_counter_t : uint32_t {
  MOCK_OTHER_MODEL_LOADS,
  MOCK_OTHER_RESET_REQUESTS,
  MOCK_OTHER_RESET_FAILURES,
  MOCK_OTHER_INFERENCES,
  MOCK_OTHER_FLOPS,
  MOCK_OTHER_TIME_IN_USE,
  MOCK_OTHER_COUNTERS,
};
inline constexpr const char *MOCK_OTHER_COUNTER_NAMES[] = {"model_load_count", "reset_req_count",
                                                           "reset_fail_count", "inference_count",
                                                           "flop_count",       "nc_time_in_use"};
static_assert(sizeof(MOCK_OTHER_COUNTER_NAMES) / sizeof(MOCK_OTHER_COUNTER_NAMES[0]) ==
              MOCK_OTHER_COUNTERS);

struct mock_core_counters_t {
  mock_counter_t host_mem, device_mem;  // bytes charged to the core
  mock_counter_t device_category[MOCK_DEVICE_CATEGORIES];
  mock_counter_t status[NEURON_NDS_STATUS_COUNT];  // no peak is shown
  mock_counter_t other[MOCK_OTHER_COUNTERS];       // nor here
};

struct mock_counters_t {
  mock_counter_t host_category[MOCK_HOST_CATEGORIES];
  mock_core_counters_t cores[NEURON_MAX_CORES];  // allocations may name cores that do not exist
};

void mock_counter_add(mock_counter_t *counter, uint64_t amount);
void mock_counter_subtract(mock_counter_t *counter, uint64_t amount);  // stops at 0

// Memory that came (`added`) or went: `size` bytes of a chunk, charged to core `nc_id` (below
// NEURON_MAX_CORES). Categories that do not exist on that side are uncategorized.
void mock_counters_memory(mock_counters_t *counters, bool host, uint32_t category, uint32_t nc_id,
                          uint64_t size, bool added);

// Adds what a process left in its datastore (NEURON_NDS_USED bytes at least).
void mock_counters_fold(mock_counters_t *counters, const uint8_t *store);
