// SPDX-License-Identifier: Apache-2.0
// What the files of hal/ share; nobody else includes it.
#pragma once

#include <atomic>
#include <mutex>

#include "hal/hal.h"

struct hal_device_t {
  hal_t *hal;
  uint32_t position;                                 // in hal_identity_t.device_index
  uint32_t index;                                    // node number
  int fd;                                            // device lane
  uint32_t refs;                                     // guarded by hal_t.mutex
  std::atomic<uint64_t> bar_base = 0, bar_size = 0;  // of BAR0; size 0: not asked yet (regs.cc)
};

struct hal_t {
  const hal_ops_t *ops;
  void *be;
  hal_identity_t identity;
  const hal_arch_t *arch;
  // Opened once and kept: closing any misc-lane descriptor drops the core claims of the process.
  int misc_fd;
  std::mutex mutex;
  hal_device_t *devices[HAL_MAX_DEVICES];  // opened ones, by position
  uint64_t findings_told;                  // by hal_exec_finding
};

// The seam with its retries (see seam.cc): all calls to the back end that may be interrupted go
// through these.
int hal_seam_open(const hal_ops_t *ops, void *be, uint32_t device_index, hal_lane_t lane);
long hal_seam_ioctl(const hal_ops_t *ops, void *be, int fd, uint32_t request, void *arg);
int hal_seam_map(const hal_ops_t *ops, void *be, int fd, uint64_t offset, size_t length, int prot,
                 void **va);

// Same as hal_seam_ioctl with the driver's positive results turned into -errno: 0 or -errno.
int hal_request(const hal_ops_t *ops, void *be, int fd, uint32_t request, void *arg);

inline int hal_device_request(const hal_device_t *device, uint32_t request, void *arg) {
  return hal_request(device->hal->ops, device->hal->be, device->fd, request, arg);
}

inline bool hal_has(const hal_t *hal, uint64_t feature) {
  return (hal->identity.features & feature) != 0;
}
