// SPDX-License-Identifier: Apache-2.0
// One process's view of a mocked machine: where the state and the memory files are mapped.
#pragma once

#include <pthread.h>

#include <map>
#include <vector>

#include "mock_dev/mock_dev.h"
#include "mock_dev/state.h"

// A mapping handed out by mock_mmap, keyed by its address.
struct mock_mapping_t {
  size_t length;
  int32_t tgid;
};

// What the driver remembers of a mapping. Unmapping a part of it does not change the record, and
// the process's last close of the device drops it.
struct mock_tracked_t {
  uintptr_t va;
  size_t length;
  int32_t tgid;
  uint32_t device;
  uint64_t pa;
};

struct mock_memory_t {
  int fd = -1;
  uint64_t size = 0;
  uint8_t *bytes = nullptr;  // mapped on first use
};

struct mock_sysfs_tree;
struct mock_exec_t;

struct mock_host {
  uint8_t *region = nullptr;
  mock_state_t *state = nullptr;
  int state_fd = -1;
  const mock_instance_t *instance = nullptr;
  mock_memory_t host_memory;
  mock_memory_t device_memory[NEURON_MAX_DEVICES];
  mock_sysfs_tree *sysfs_tree = nullptr;
  mock_exec_t *exec = nullptr;  // run states of the cores, threads (core_pool.h)
  pthread_mutex_t view_lock;    // `bytes` above, `mappings` and `tracked`
  std::map<uintptr_t, mock_mapping_t> mappings;
  std::vector<mock_tracked_t> tracked;
};

inline mock_device_t *mock_host_device(mock_host *host, uint32_t index) {
  return reinterpret_cast<mock_device_t *>(host->region + host->state->device_offset[index]);
}

inline mock_extent_space_t mock_host_extents(mock_host *host) {
  return {reinterpret_cast<mock_extent_t *>(host->region + host->state->host_extents_offset),
          &host->state->host_extents};
}

inline mock_extent_space_t mock_device_extents(mock_host *host, mock_device_t *device) {
  return {reinterpret_cast<mock_extent_t *>(host->region + device->extents_offset),
          &device->extents};
}

// TOP_SPs belong to cores in equal shares, in order.
inline uint32_t mock_top_sps_per_core(const mock_state_t *state) {
  return neuron_arch_counts_get(state->arch).top_sps / state->cores;
}

// A device's memory file: the channels one after the other, then the register windows of the
// cores (64 MiB each, as BAR0 shows them), then those of the TOP_SPs.
uint64_t mock_memory_hbm_offset(const mock_state_t *state, uint32_t channel);
uint64_t mock_memory_core_offset(const mock_state_t *state, uint32_t core);
uint64_t mock_memory_top_sp_offset(const mock_state_t *state, uint32_t top_sp);

// Device address of a place in a device's memory file.
uint64_t mock_memory_address(const mock_state_t *state, uint64_t offset);

// Start of a memory file as this process sees it; nullptr when it cannot be mapped.
uint8_t *mock_memory_bytes(mock_host *host, mock_memory_t *memory);

// Where an address lives: the memory file and the offset in it. False: no memory behind
// [pa, pa + size) (it has to lie in one channel, one window or the host range).
struct mock_place_t {
  mock_memory_t *memory;
  uint64_t offset;
};
bool mock_host_resolve(mock_host *host, uint32_t device, uint64_t pa, uint64_t size,
                       mock_place_t *out);
