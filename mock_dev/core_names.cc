// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/core_names.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"

int mock_names_copy(const mock_name_t *names, size_t count, mock_core_names_t *out) {
  *out = {};
  if (count == 0)
    return 0;
  uint64_t bytes;
  if (!checked_mul(uint64_t{count}, uint64_t{sizeof(mock_name_t)}, &bytes))
    return -ENOMEM;
  uint64_t texts = bytes;
  for (size_t i = 0; i < count; ++i)
    if (!checked_add(bytes, uint64_t{strlen(names[i].name)} + 1, &bytes))
      return -ENOMEM;
  auto *list = static_cast<mock_name_t *>(malloc(bytes));
  if (list == nullptr)
    return -ENOMEM;
  char *text = reinterpret_cast<char *>(list) + texts;
  for (size_t i = 0; i < count; ++i) {
    size_t length = strlen(names[i].name) + 1;
    memcpy(text, names[i].name, length);
    list[i] = names[i];
    list[i].name = text;
    text += length;
  }
  std::sort(list, list + count,
            [](const mock_name_t &a, const mock_name_t &b) { return a.address < b.address; });
  *out = {list, count};
  return 0;
}

void mock_names_free(mock_core_names_t *names) {
  free(names->list);
  *names = {};
}

const mock_name_t *mock_names_find(const mock_core_names_t *names, uint64_t address) {
  const mock_name_t *end = names->list + names->count;
  const mock_name_t *after =
      std::upper_bound(static_cast<const mock_name_t *>(names->list), end, address,
                       [](uint64_t a, const mock_name_t &n) { return a < n.address; });
  if (after == names->list)
    return nullptr;
  const mock_name_t *found = after - 1;
  return address - found->address < found->size ? found : nullptr;
}
