// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/engine_memory.h"

#include <cstring>

#include "mock_dev/bar0.h"
#include "mock_dev/watch.h"

namespace {

constexpr uint32_t WORD = sizeof(uint32_t);
constexpr const char *NOTHING_THERE = "nothing at the device address";

const char *open(mock_exec_record_t *x, uint64_t address, uint32_t size, bool write,
                 mock_target_t *target) {
  const mock_core_t *core = x->core;
  if (!mock_decode(core->host, core->device->index, address, size, target) ||
      !mock_target_claim(core->host, target, size, write))
    return NOTHING_THERE;
  if (!mock_target_is_memory(target->kind) && (size % WORD != 0 || target->offset % WORD != 0))
    return "registers take whole words";
  if (core->watch != nullptr)
    core->watch->scalar(core->watch, x->engine, address, size, write);
  return nullptr;
}

bool is_word(const mock_target_t *target, uint32_t size) {
  return size == WORD && target->offset % WORD == 0;
}

void word_next(mock_target_t *target) {
  target->offset += WORD;
  target->place.offset += WORD;
}

}  // namespace

const char *mock_scalar_load(mock_exec_record_t *x, uint64_t address, uint32_t size,
                             uint64_t *value) {
  mock_host *host = x->core->host;
  mock_target_t target;
  *value = 0;
  const char *why = open(x, address, size, false, &target);
  if (why != nullptr)
    return why;
  if (mock_target_is_memory(target.kind) && !is_word(&target, size)) {
    const uint8_t *bytes = mock_memory_bytes(host, target.place.memory);
    if (bytes == nullptr)
      return NOTHING_THERE;
    memcpy(value, bytes + target.place.offset, size);
    return nullptr;
  }
  for (uint32_t at = 0; at < size; at += WORD) {
    uint32_t word;
    if (!mock_target_read(host, &target, &word))
      return "register that cannot be read";
    *value |= static_cast<uint64_t>(word) << 8 * at;
    word_next(&target);
  }
  return nullptr;
}

const char *mock_scalar_store(mock_exec_record_t *x, uint64_t address, uint32_t size,
                              uint64_t value) {
  mock_host *host = x->core->host;
  mock_target_t target;
  x->core->doorbell = x->end;
  const char *why = open(x, address, size, true, &target);
  if (why != nullptr)
    return why;
  if (mock_target_is_memory(target.kind) && !is_word(&target, size)) {
    uint8_t *bytes = mock_memory_bytes(host, target.place.memory);
    if (bytes == nullptr)
      return NOTHING_THERE;
    memcpy(bytes + target.place.offset, &value, size);
    return nullptr;
  }
  for (uint32_t at = 0; at < size; at += WORD) {
    if (!mock_target_write(host, &target, static_cast<uint32_t>(value >> 8 * at)))
      return "register that cannot be written";
    word_next(&target);
  }
  return nullptr;
}
