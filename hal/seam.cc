// SPDX-License-Identifier: Apache-2.0
// One place for the two things every call to the driver needs: repeating interrupted calls, and
// reading its unusual results.
#include <sched.h>

#include <cerrno>
#include <cstring>

#include "base/nlog.h"
#include "hal/hal_impl.h"
#include "uapi/neuron_ioctl.h"

namespace {

// Repeats are bounded: a driver that never stops asking for one must not hang its caller. (An open
// during a device reset answers EINTR for as long as a blocked SIGTERM is pending.)
constexpr int kInterruptedLimit = 1000;
constexpr int kAgainLimit = 64;

// Requests whose EAGAIN is an answer (array too small, election not possible now), no hiccup.
bool again_is_answer(uint32_t request) {
  return request == NEURON_IOCTL_DUMP_MEM_CHUNKS || request == NEURON_IOCTL_POD_CTRL ||
         request == NEURON_IOCTL_POD_CTRL_V2;
}

template <typename Call>
long repeat(bool repeat_again, Call call) {
  int interrupted = 0;
  int again = 0;
  for (;;) {
    long result = call();
    if (result == -EINTR && ++interrupted < kInterruptedLimit)
      continue;
    if (result == -EAGAIN && repeat_again && ++again < kAgainLimit) {
      sched_yield();
      continue;
    }
    return result;
  }
}

}  // namespace

int hal_seam_open(const hal_ops_t *ops, void *be, uint32_t device_index, hal_lane_t lane) {
  return static_cast<int>(repeat(true, [&] { return ops->open(be, device_index, lane); }));
}

long hal_seam_ioctl(const hal_ops_t *ops, void *be, int fd, uint32_t request, void *arg) {
  long result = repeat(!again_is_answer(request), [&] { return ops->ioctl(be, fd, request, arg); });
  NLOG_TRACE(NLOG_HAL, "{}: ioctl fd {} request {:#010x}: {}", ops->name, fd, request, result);
  return result;
}

int hal_seam_map(const hal_ops_t *ops, void *be, int fd, uint64_t offset, size_t length, int prot,
                 void **va) {
  return static_cast<int>(repeat(true, [&] { return ops->map(be, fd, offset, length, prot, va); }));
}

int hal_request(const hal_ops_t *ops, void *be, int fd, uint32_t request, void *arg) {
  long result = hal_seam_ioctl(ops, be, fd, request, arg);
  if (result <= 0)
    return static_cast<int>(result);
  // A positive result is a failure too: the number of bytes the driver could not copy, except for
  // two requests that return a code of their own (uapi.md 3).
  if (request == NEURON_IOCTL_MEM_GET_EXTENDED_INFO && result == EINVAL)
    return -EINVAL;
  if (request == NEURON_IOCTL_NC_RESET && result == 1)
    return -EBUSY;
  return -EFAULT;
}

const char *hal_error_name(int error) {
  int number = error < 0 ? -error : error;
  if (number == 524)  // leaks out of the kernel, unknown to the C library
    return "ENOTSUPP";
  const char *name = strerrorname_np(number);
  return name != nullptr ? name : "unknown error";
}
