// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/handle_table.h"

namespace {

// A free slot holds the next free handle with this bit set; chunk numbers stay far below it.
constexpr uint32_t FREE_BIT = 0x80000000u;

uint32_t *slots_of(const mock_handle_table_t *table, uint8_t *region) {
  return reinterpret_cast<uint32_t *>(region + table->offset);
}

}  // namespace

void mock_handle_table_init(mock_handle_table_t *table, uint64_t offset) {
  *table = {};
  table->offset = offset;
  table->next = 1;
}

uint32_t mock_handle_create(mock_handle_table_t *table, uint8_t *region, uint32_t chunk) {
  uint32_t *slots = slots_of(table, region);
  uint32_t handle = table->free_head;
  if (handle != 0) {
    table->free_head = slots[handle] & ~FREE_BIT;
  } else if (table->next <= MOCK_HANDLE_LIMIT) {
    handle = table->next++;
  } else {
    table->broken = 1;
    return 0;
  }
  slots[handle] = chunk;
  table->live++;
  return handle;
}

uint32_t mock_handle_find(const mock_handle_table_t *table, uint8_t *region, uint64_t handle) {
  if (handle == 0 || handle >= table->next || table->broken != 0)
    return 0;
  uint32_t slot = slots_of(table, region)[handle];
  return (slot & FREE_BIT) != 0 ? 0 : slot;
}

void mock_handle_remove(mock_handle_table_t *table, uint8_t *region, uint32_t handle) {
  slots_of(table, region)[handle] = table->free_head | FREE_BIT;
  table->free_head = handle;
  table->live--;
}
