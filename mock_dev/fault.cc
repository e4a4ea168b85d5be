// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/fault.h"

#include <cerrno>

namespace {

constexpr int MAX_ERRNO = 4095;  // what the kernel can return as an error

// "Any request" stands for no event.
int next_fault(mock_host *host, uint32_t what) {
  mock_state_t *state = host->state;
  if (__atomic_load_n(&state->fault_count, __ATOMIC_RELAXED) == 0)
    return 0;
  mock_guard_t guard(&state->lock);
  int error = 0;
  for (uint32_t i = 0; i < state->fault_count; ++i) {
    mock_fault_state_t *f = &state->faults[i];
    if (f->request != what && (f->request != 0 || mock_fault_is_event(what)))
      continue;
    f->seen++;
    bool due = f->sticky != 0 ? f->seen >= f->nth : f->seen == f->nth;
    if (due && error == 0)
      error = -f->error;
  }
  return error;
}

}  // namespace

int mock_faults_check(const mock_fault_t *faults, size_t count) {
  if (count > MOCK_MAX_FAULTS || (count != 0 && faults == nullptr))
    return -EINVAL;
  for (size_t i = 0; i < count; ++i)
    if (faults[i].nth == 0 || faults[i].error <= 0 || faults[i].error > MAX_ERRNO)
      return -EINVAL;
  return 0;
}

bool mock_fault_is_event(uint32_t request) {
  return request == MOCK_FAULT_RESET || request == MOCK_FAULT_MAILBOX;
}

bool mock_fault_event(mock_host *host, uint32_t event) {
  return next_fault(host, event) != 0;
}

int mock_fault_next(mock_host *host, uint32_t request) {
  return mock_fault_is_event(request) ? 0 : next_fault(host, request);
}

int mock_set_faults(mock_host_t *host, const mock_fault_t *faults, size_t count) {
  int rc = mock_faults_check(faults, count);
  if (rc != 0)
    return rc;
  mock_state_t *state = host->state;
  mock_guard_t guard(&state->lock);
  for (size_t i = 0; i < count; ++i)
    state->faults[i] = {faults[i].request, faults[i].nth, faults[i].error,
                        faults[i].sticky ? 1u : 0u, 0};
  __atomic_store_n(&state->fault_count, static_cast<uint32_t>(count), __ATOMIC_RELAXED);
  return 0;
}
