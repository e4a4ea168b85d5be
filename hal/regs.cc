// SPDX-License-Identifier: Apache-2.0
#include "hal/regs.h"

#include <algorithm>
#include <cerrno>

#include "hal/hal_impl.h"
#include "uapi/neuron_ioctl.h"

namespace {

constexpr uint32_t kPieceMax = 100;  // registers one BAR_READ takes
constexpr uint64_t kRegisterSize = 4;

// Where BAR0 begins for the driver, and its size: asked for once, because both are constant for the
// device. Two threads may both ask; they get the same answer.
int bar_of(hal_device_t *device, uint64_t *base, uint64_t *size) {
  *size = device->bar_size.load(std::memory_order_acquire);
  if (*size == 0) {
    struct neuron_ioctl_device_info info = {};
    int result = hal_device_request(device, NEURON_IOCTL_DEVICE_INFO, &info);
    if (result != 0)
      return result;
    device->bar_base.store(info.bar_address[0], std::memory_order_relaxed);
    device->bar_size.store(info.bar_size[0], std::memory_order_release);
    *size = info.bar_size[0];
  }
  *base = device->bar_base.load(std::memory_order_relaxed);
  return 0;
}

int access(hal_device_t *device, uint32_t request, const uint64_t *offsets, uint32_t *values,
           uint32_t count) {
  uint64_t base = 0, size = 0;
  int result = bar_of(device, &base, &size);
  if (result != 0)
    return result;
  for (uint32_t i = 0; i < count; ++i) {
    if (size < kRegisterSize || offsets[i] > size - kRegisterSize)
      return -EINVAL;  // the driver does not check reads
  }
  uint64_t addresses[kPieceMax];
  for (uint32_t done = 0; done < count && result == 0;) {
    uint32_t now = std::min(count - done, kPieceMax);
    for (uint32_t i = 0; i < now; ++i)
      addresses[i] = base + offsets[done + i];
    struct neuron_ioctl_bar_rw arg = {};
    arg.address = addresses;
    arg.data = values + done;
    arg.count = now;
    result = hal_device_request(device, request, &arg);
    done += now;
  }
  return result;
}

}  // namespace

int hal_registers_read(hal_device_t *device, const uint64_t *offsets, uint32_t *values,
                       uint32_t count) {
  return access(device, NEURON_IOCTL_BAR_READ, offsets, values, count);
}

int hal_registers_write(hal_device_t *device, const uint64_t *offsets, const uint32_t *values,
                        uint32_t count) {
  return access(device, NEURON_IOCTL_BAR_WRITE, offsets, const_cast<uint32_t *>(values), count);
}

int hal_hw_counters_read(hal_device_t *device, const uint64_t *addresses, uint32_t *values,
                         uint32_t count) {
  struct neuron_ioctl_read_hw_counters arg = {};
  arg.address = const_cast<uint64_t *>(addresses);
  arg.data = values;
  arg.count = count;
  return hal_device_request(device, NEURON_IOCTL_READ_HW_COUNTERS, &arg);
}
