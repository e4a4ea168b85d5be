// SPDX-License-Identifier: Apache-2.0
// Requests that reset cores or the device and wait for it (mock-device-semantics.md 12).
#include <cerrno>

#include "mock_dev/call.h"
#include "mock_dev/reset.h"

long mock_req_nc_reset(const mock_call_t *call) {
  neuron_ioctl_device_reset a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  int rc = mock_reset_start(call->host, call->device, call->tgid, a.nc_map);
  if (rc != 0)
    return rc;
  a.request_id = static_cast<uint32_t>(call->tgid);
  return mock_call_out(call, &a);
}

long mock_req_nc_reset_ready(const mock_call_t *call) {
  neuron_ioctl_device_ready a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  bool known;
  a.result = mock_reset_wait(call->host, call->device, static_cast<int32_t>(a.request_id), &known);
  return mock_call_out(call, &a);
}

long mock_req_device_reset(const mock_call_t *call) {
  return mock_reset_start(call->host, call->device, call->tgid, NEURON_NC_MAP_DEVICE);
}

// The byte says "ready", also when there was nothing to wait for.
long mock_req_device_ready(const mock_call_t *call) {
  bool known;
  int result = mock_reset_wait(call->host, call->device, call->tgid, &known);
  uint8_t ready = result == 0 || !known ? 1 : 0;
  return mock_call_out(call, &ready);
}
