// SPDX-License-Identifier: Apache-2.0
// Requests the firmware answers (mock-device-semantics.md 9).
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "mock_dev/bar0.h"
#include "mock_dev/call.h"
#include "mock_dev/firmware.h"

namespace {

constexpr uint32_t METRIC_LIMIT = 128;
constexpr uint64_t MAX_KERNEL_BYTES = 0x7fffffff;

// What the firmware finds at a device address: the register or word there, 0 where nothing is.
uint32_t register_at(const mock_call_t *call, uint64_t address) {
  mock_target_t target;
  uint32_t value = 0;
  if (address % sizeof(value) == 0 &&
      mock_decode(call->host, call->device->index, address, sizeof(value), &target))
    mock_register_read(call->host, &target, &value);
  return value;
}

}  // namespace

long mock_req_post_metric(const mock_call_t *call) {
  neuron_ioctl_post_metric a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.data_size > METRIC_LIMIT)
    return -E2BIG;
  uint8_t data[METRIC_LIMIT] = {};
  missing = static_cast<long>(mock_user_read(data, a.data, a.data_size));
  if (missing != 0)
    return missing;
  {
    mock_guard_t guard(&call->device->lock);
    memcpy(&call->device->misc_ram[NEURON_MISC_METRICS / sizeof(uint32_t)], data, a.data_size);
  }
  return mock_firmware_command(call->host, call->device, MOCK_FIRMWARE_POST_METRIC);
}

long mock_req_read_hw_counters(const mock_call_t *call) {
  neuron_ioctl_read_hw_counters a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (a.count * sizeof(uint32_t) > MAX_KERNEL_BYTES)
    return 0;  // the driver forgets to report that it has no buffer
  if (a.count * sizeof(uint64_t) > MAX_KERNEL_BYTES)
    return -ENOMEM;
  // Page by page, so that a wild count costs no more than the caller's list is long.
  constexpr uint32_t GROUP = 512;
  std::vector<uint32_t> values;
  for (uint32_t done = 0; done < a.count; done += GROUP) {
    uint64_t addresses[GROUP];
    uint32_t n = std::min(GROUP, a.count - done);
    size_t absent = mock_user_read(addresses, a.address + done, n * sizeof(addresses[0]));
    if (absent != 0)
      return static_cast<long>(absent + (a.count - done - n) * sizeof(addresses[0]));
    for (uint32_t i = 0; i < n; ++i)
      values.push_back(register_at(call, addresses[i]));
  }
  int rc = mock_firmware_command(call->host, call->device, MOCK_FIRMWARE_READ_REGISTERS);
  if (rc != 0)
    return rc;
  return static_cast<long>(
      mock_user_write(a.data, values.data(), values.size() * sizeof(values[0])));
}
