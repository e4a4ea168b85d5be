// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/check_shadow.h"

mock_shadow_row_t::iterator mock_shadow_split(mock_shadow_row_t *row, uint32_t at) {
  auto next = row->lower_bound(at);
  if (next == row->begin())
    return next;
  auto before = std::prev(next);
  if (before->second.end <= at)
    return next;
  mock_segment_t tail = before->second;
  before->second.end = at;
  return row->emplace_hint(next, at, std::move(tail));
}

void mock_shadow_forget(mock_shadow_row_t *row, uint32_t begin, uint32_t end) {
  if (row->empty())
    return;
  mock_shadow_split(row, end);
  row->erase(mock_shadow_split(row, begin), row->lower_bound(end));
}
