// SPDX-License-Identifier: Apache-2.0
// What the runtime calls address ranges of a core, sorted by address.
#pragma once

#include <cstddef>

#include "mock_dev/exec.h"

struct mock_core_names_t {
  mock_name_t *list;  // one allocation with the texts; nullptr: none
  size_t count;
};

// -ENOMEM.
int mock_names_copy(const mock_name_t *names, size_t count, mock_core_names_t *out);
void mock_names_free(mock_core_names_t *names);
// The range around an address; nullptr: none. Ranges that overlap: the last that begins before it.
const mock_name_t *mock_names_find(const mock_core_names_t *names, uint64_t address);
