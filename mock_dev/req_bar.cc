// SPDX-License-Identifier: Apache-2.0
// Register requests (mock-device-semantics.md 9). Addresses are BAR0's base value plus an offset.
#include <algorithm>
#include <cerrno>

#include "mock_dev/bar0.h"
#include "mock_dev/call.h"

namespace {

constexpr uint32_t READ_LIMIT = 100;
constexpr uint32_t WRITE_GROUP = 512;  // registers fetched from the caller at once

bool is_register(uint64_t offset) {
  return offset % sizeof(uint32_t) == 0 && offset < MOCK_BAR0_SIZE;
}

int register_write(const mock_call_t *call, uint64_t offset, uint32_t value) {
  if (offset == MOCK_BAR0_SIZE)  // the driver's test lets the end pass; nothing is there
    return 0;
  if (!is_register(offset))
    return -EINVAL;
  mock_target_t target;
  if (mock_bar0_decode(call->host, call->device->index, offset, sizeof(value), &target) &&
      mock_bar0_blocked(&target))
    return -EINVAL;
  mock_bar0_write(call->host, call->device, offset, value);
  return 0;
}

}  // namespace

long mock_req_bar_read(const mock_call_t *call) {
  neuron_ioctl_bar_rw a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  // BAR 2 has registers on v1 only.
  if (static_cast<uint8_t>(a.bar) != 0 || a.count > READ_LIMIT)
    return -EINVAL;
  uint64_t address[READ_LIMIT];
  uint32_t data[READ_LIMIT];
  missing = static_cast<long>(mock_user_read(address, a.address, a.count * sizeof(address[0])));
  if (missing != 0)
    return missing;
  for (uint32_t i = 0; i < a.count; ++i)
    if (!is_register(address[i] - MOCK_BAR0_BASE))
      return -EINVAL;
  for (uint32_t i = 0; i < a.count; ++i)
    data[i] = mock_bar0_read(call->host, call->device, address[i] - MOCK_BAR0_BASE);
  return static_cast<long>(mock_user_write(a.data, data, a.count * sizeof(data[0])));
}

long mock_req_bar_write(const mock_call_t *call) {
  neuron_ioctl_bar_rw a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  if (static_cast<uint8_t>(a.bar) != 0)
    return -EINVAL;
  uint64_t address[WRITE_GROUP];
  uint32_t data[WRITE_GROUP];
  for (uint32_t done = 0; done < a.count;) {
    uint32_t n = std::min(WRITE_GROUP, a.count - done);
    missing = static_cast<long>(mock_user_read(address, a.address + done, n * sizeof(address[0])));
    if (missing == 0)
      missing = static_cast<long>(mock_user_read(data, a.data + done, n * sizeof(data[0])));
    if (missing != 0)
      return missing;
    for (uint32_t i = 0; i < n; ++i) {
      int rc = register_write(call, address[i] - MOCK_BAR0_BASE, data[i]);
      if (rc != 0)
        return rc;
    }
    done += n;
  }
  return 0;
}
