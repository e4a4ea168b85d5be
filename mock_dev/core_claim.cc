// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/core_claim.h"

#include <algorithm>
#include <cerrno>

int mock_core_claim(mock_host *host, int32_t tgid, uint32_t count, uint32_t start, uint32_t end,
                    uint32_t *first, uint32_t *available) {
  mock_state_t *state = host->state;
  mock_guard_t guard(&state->lock);
  uint32_t longest = 0;
  for (uint32_t i = start; i <= end;) {
    if (state->claims[i] != 0) {
      ++i;
      continue;
    }
    uint32_t run = 0;
    while (run < count && i + run <= end && state->claims[i + run] == 0)
      ++run;
    if (run == count) {
      std::fill_n(&state->claims[i], count, tgid);
      state->claim_count += count;
      *first = i;
      return 0;
    }
    longest = std::max(longest, run);
    // The core after the one that blocks is never tried as a start: so does the driver.
    i += run + 2;
  }
  *available = longest;
  return -EBUSY;
}

void mock_core_unclaim(mock_host *host, int32_t tgid, uint32_t core) {
  mock_state_t *state = host->state;
  mock_guard_t guard(&state->lock);
  if (core >= MOCK_MAX_CLAIMS || state->claims[core] != tgid)
    return;
  state->claims[core] = 0;
  state->claim_count--;
}

void mock_core_claims_drop(mock_host *host, int32_t tgid) {
  for (uint32_t core = 0; core < MOCK_MAX_CLAIMS; ++core)
    mock_core_unclaim(host, tgid, core);
}

int32_t mock_core_claim_owner(mock_host *host, uint32_t core) {
  mock_guard_t guard(&host->state->lock);
  return host->state->claims[core];
}
