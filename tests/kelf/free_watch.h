// SPDX-License-Identifier: Apache-2.0
// Every block released through operator delete while `watching`, in order.
#pragma once

#include <cstddef>

constexpr size_t MAX_FREED = 64;
extern bool watching;
extern size_t freed_count;
extern const void *freed[MAX_FREED];
