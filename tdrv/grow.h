// SPDX-License-Identifier: Apache-2.0
// Growth of a malloc'd array of plain records.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>

// Room for `wanted` records; capacity doubles. False: no host memory, nothing changed.
template <typename T>
[[nodiscard]] bool grow(T **items, uint32_t *capacity, uint64_t wanted) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (wanted <= *capacity)
    return true;
  uint64_t size = *capacity == 0 ? 16 : uint64_t{*capacity} * 2;
  size = size < wanted ? wanted : size;
  if (size > std::numeric_limits<uint32_t>::max())
    return false;
  void *room = realloc(static_cast<void *>(*items), size * sizeof(T));
  if (room == nullptr)
    return false;
  *items = static_cast<T *>(room);
  *capacity = static_cast<uint32_t>(size);
  return true;
}
