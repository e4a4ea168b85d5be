// SPDX-License-Identifier: Apache-2.0
// Exclusive claims of cores. The driver numbers cores from core 0 of the device whose node was
// opened and counts absent nodes; callers number them by device position. Where node numbers have
// gaps the two differ, and a range of positions is several ranges for the driver.
#include <algorithm>
#include <cerrno>

#include "base/checked.h"
#include "hal/hal_impl.h"
#include "uapi/neuron_ioctl.h"

namespace {

constexpr uint32_t kWideCores = 512;
constexpr uint32_t kNarrowCores = 64;

// A run of cores that is consecutive for the caller and for the driver.
struct run_t {
  uint32_t first;  // caller's number
  uint32_t count;
  uint32_t driver;  // driver's number of `first`
};

// The longest such run that starts at core `first` and stays below `end`.
run_t run_at(const hal_t *hal, uint32_t first, uint32_t end) {
  const hal_identity_t &id = hal->identity;
  uint32_t cores = hal->arch->cores_per_device;
  uint32_t position = first / cores;
  uint32_t node = id.device_index[position];
  run_t run = {first, 0, (node - id.device_index[0]) * cores + first % cores};
  uint32_t last = position;
  while (last + 1 < id.device_count && id.device_index[last + 1] == id.device_index[last] + 1)
    ++last;
  run.count = std::min(end, (last + 1) * cores) - first;
  return run;
}

uint32_t core_count(const hal_t *hal) {
  return hal->identity.device_count * hal->arch->cores_per_device;
}

// Marks `count` cores somewhere in the run; *first is the driver's number of the first one.
int mark(hal_t *hal, uint32_t count, const run_t &run, uint32_t *first, uint32_t *available) {
  struct neuron_ioctl_crwl_nc_map_ext wide = {};
  struct neuron_ioctl_crwl_nc_map narrow = {};
  bool is_wide = hal_has(hal, HAL_FEATURE_BIG_CORE_MAPS);
  uint32_t last = run.driver + run.count - 1;
  if (last >= (is_wide ? kWideCores : kNarrowCores))
    return -EOPNOTSUPP;
  int result;
  if (is_wide) {
    wide.nc_count = count;
    wide.start_nc_index = run.driver;
    wide.end_nc_index = last;
    result =
        hal_request(hal->ops, hal->be, hal->misc_fd, NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &wide);
    *available = wide.max_nc_available;
  } else {
    narrow.nc_count = count;
    narrow.start_nc_index = run.driver;
    narrow.end_nc_index = last;
    result = hal_request(hal->ops, hal->be, hal->misc_fd, NEURON_IOCTL_CRWL_NC_RANGE_MARK, &narrow);
    *available = narrow.max_nc_available;
    wide.bitmap[0] = narrow.bitmap;
  }
  if (result != 0)
    return result;
  for (uint32_t core = 0; core < kWideCores; ++core) {
    if ((wide.bitmap[core / 64] >> (core % 64) & 1) != 0) {
      *first = core;
      return 0;
    }
  }
  return -EFAULT;  // the driver claims success and names no core
}

int unmark(hal_t *hal, const run_t &run) {
  struct neuron_ioctl_crwl_nc_map_ext wide = {};
  for (uint32_t core = run.driver; core < run.driver + run.count; ++core) {
    if (core >= kWideCores)
      return -EINVAL;
    wide.bitmap[core / 64] |= uint64_t{1} << (core % 64);
  }
  wide.nc_count = run.count;
  wide.start_nc_index = run.driver;
  wide.end_nc_index = run.driver + run.count - 1;
  if (hal_has(hal, HAL_FEATURE_BIG_CORE_MAPS)) {
    return hal_request(hal->ops, hal->be, hal->misc_fd, NEURON_IOCTL_CRWL_NC_RANGE_UNMARK_EXT0,
                       &wide);
  }
  struct neuron_ioctl_crwl_nc_map narrow = {};
  narrow.nc_count = wide.nc_count;
  narrow.start_nc_index = wide.start_nc_index;
  narrow.end_nc_index = wide.end_nc_index;
  narrow.bitmap = wide.bitmap[0];
  return hal_request(hal->ops, hal->be, hal->misc_fd, NEURON_IOCTL_CRWL_NC_RANGE_UNMARK, &narrow);
}

// Claims exactly [first, first + count), run by run; all or nothing.
int claim_exactly(hal_t *hal, uint32_t first, uint32_t count, uint32_t *available) {
  uint32_t end = first + count;
  uint32_t best = 0;
  for (uint32_t at = first; at < end;) {
    run_t run = run_at(hal, at, end);
    uint32_t driver_first = 0;
    uint32_t free_run = 0;
    int result = mark(hal, run.count, run, &driver_first, &free_run);
    if (result != 0) {
      if (at > first)
        hal_cores_release(hal, first, at - first);
      *available = std::max(best, free_run);
      return result;
    }
    best = std::max(best, run.count);
    at += run.count;
  }
  return 0;
}

}  // namespace

int hal_cores_claim(hal_t *hal, uint32_t count, uint32_t first, uint32_t last, uint32_t *claimed,
                    uint32_t *available) {
  *available = 0;
  if (count == 0 || first > last || last >= core_count(hal) || count > last - first + 1)
    return -EINVAL;
  if (count == last - first + 1) {
    int result = claim_exactly(hal, first, count, available);
    if (result == 0)
      *claimed = first;
    return result;
  }
  // A search stays inside runs: cores on both sides of a gap are no consecutive run for the driver.
  int result = -EBUSY;
  for (uint32_t at = first; at <= last;) {
    run_t run = run_at(hal, at, last + 1);
    uint32_t driver_first = 0;
    uint32_t free_run = 0;
    if (run.count >= count) {
      result = mark(hal, count, run, &driver_first, &free_run);
      if (result == 0) {
        *claimed = run.first + (driver_first - run.driver);
        return 0;
      }
      if (result != -EBUSY)
        return result;
    }
    *available = std::max(*available, free_run);
    at += run.count;
  }
  return result;
}

int hal_cores_release(hal_t *hal, uint32_t first, uint32_t count) {
  uint32_t end = 0;
  if (count == 0 || !checked_add(first, count, &end) || end > core_count(hal))
    return -EINVAL;
  int result = 0;
  for (uint32_t at = first; at < end;) {
    run_t run = run_at(hal, at, end);
    int one = unmark(hal, run);
    if (result == 0)
      result = one;
    at += run.count;
  }
  return result;
}
