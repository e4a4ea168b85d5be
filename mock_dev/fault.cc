// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/fault.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace {

constexpr int MAX_ERRNO = 4095;  // what the kernel can return as an error

struct event_t {
  const char *name;
  uint32_t event;
};
constexpr event_t EVENTS[] = {
    {"RESET", MOCK_FAULT_RESET},
    {"MAILBOX", MOCK_FAULT_MAILBOX},
    {"NOTIFICATION", MOCK_FAULT_NOTIFICATION},
    {"NQ_OVERFLOW", MOCK_FAULT_NQ_OVERFLOW},
    {"DMA_ABORT", MOCK_FAULT_DMA_ABORT},
    {"ERROR_RECORD", MOCK_FAULT_ERROR_RECORD},
    {"ENGINE", MOCK_FAULT_ENGINE},
    {"SLOW", MOCK_FAULT_SLOW},
};

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
  return std::any_of(std::begin(EVENTS), std::end(EVENTS),
                     [=](const event_t &e) { return e.event == request; });
}

uint32_t mock_fault_by_name(const char *name, size_t length) {
  for (const event_t &e : EVENTS)
    if (strlen(e.name) == length && memcmp(e.name, name, length) == 0)
      return e.event;
  return 0;
}

bool mock_fault_event(mock_host *host, uint32_t event) {
  return next_fault(host, event) != 0;
}

uint32_t mock_fault_event_number(mock_host *host, uint32_t event) {
  return static_cast<uint32_t>(-next_fault(host, event));
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
