// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/port.h"

#include <algorithm>
#include <cstring>

#include "mock_dev/bar0.h"
#include "mock_dev/core_kick.h"
#include "mock_dev/dtype.h"
#include "mock_dev/udma.h"

namespace {

constexpr uint32_t WORD = sizeof(uint32_t);
static_assert(sizeof(mock_port_t::word) == WORD);
constexpr uint32_t BOUNCE = 256;

mock_target_t port_register(const mock_port_t *port, uint64_t at) {
  mock_target_t target = port->target;
  target.offset += at;
  target.place.offset += at;
  return target;
}

bool register_read(mock_host *host, const mock_udma_work_t *work, const mock_target_t *target,
                   uint32_t *value) {
  if (work == nullptr)
    return mock_target_read(host, target, value);
  if (target->kind != MOCK_TARGET_UDMA)
    return mock_register_read(host, target, value);
  *value = mock_udma_get(work, target->index, target->offset);
  return true;
}

bool register_write(mock_host *host, mock_udma_work_t *work, const mock_target_t *target,
                    uint32_t value) {
  if (work == nullptr)
    return mock_target_write(host, target, value);
  bool udma = target->kind == MOCK_TARGET_UDMA || target->kind == MOCK_TARGET_UDMA_BROADCAST;
  return udma ? mock_udma_apply(work, target, value) : mock_register_write(host, target, value);
}

bool port_take(mock_host *host, const mock_udma_work_t *work, mock_port_t *port, uint8_t *to,
               uint64_t n) {
  if (port->bytes != nullptr) {
    memcpy(to, port->bytes + port->done, n);
    return true;
  }
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t at = port->done + i;
    if (at % WORD == 0) {
      mock_target_t target = port_register(port, at);
      uint32_t value;
      if (!register_read(host, work, &target, &value))
        return false;
      memcpy(port->word, &value, WORD);
    }
    to[i] = port->word[at % WORD];
  }
  return true;
}

bool port_give(mock_host *host, mock_udma_work_t *work, mock_port_t *port, const uint8_t *from,
               uint64_t n) {
  if (port->bytes != nullptr) {
    memcpy(port->bytes + port->done, from, n);
    return true;
  }
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t at = port->done + i;
    port->word[at % WORD] = from[i];
    if (at % WORD != WORD - 1)
      continue;
    mock_target_t target = port_register(port, at - (WORD - 1));
    uint32_t value;
    memcpy(&value, port->word, WORD);
    if (!register_write(host, work, &target, value))
      return false;
  }
  return true;
}

}  // namespace

bool mock_port_open(mock_host *host, uint32_t device, uint64_t address, uint64_t length,
                    bool for_writing, mock_port_t *port) {
  *port = {};
  port->left = length;
  if (!mock_decode(host, device, address, length, &port->target) ||
      !mock_target_claim(host, &port->target, length, for_writing))
    return false;
  mock_core_port_opened(host, &port->target, length, for_writing);
  if (!mock_target_is_memory(port->target.kind))
    return port->target.offset % WORD == 0 && length % WORD == 0;
  uint8_t *bytes = mock_memory_bytes(host, port->target.place.memory);
  if (bytes == nullptr)
    return false;
  port->bytes = bytes + port->target.place.offset;
  return true;
}

bool mock_port_move(mock_host *host, mock_udma_work_t *work, mock_port_t *from, mock_port_t *to) {
  uint64_t n = std::min(from->left, to->left);
  if (from->bytes != nullptr && to->bytes != nullptr) {
    mock_bytes_move(to->bytes + to->done, from->bytes + from->done, n);
  } else {
    uint8_t bounce[BOUNCE];
    n = std::min<uint64_t>(n, BOUNCE);
    if (!port_take(host, work, from, bounce, n) || !port_give(host, work, to, bounce, n))
      return false;
  }
  for (mock_port_t *port : {from, to}) {
    port->done += n;
    port->left -= n;
  }
  return true;
}

bool mock_port_cast(mock_port_t *from, uint8_t from_dtype, mock_port_t *to, uint8_t to_dtype) {
  if (from->bytes == nullptr || to->bytes == nullptr)
    return false;
  uint32_t from_size = isa_dtype_size(from_dtype), to_size = isa_dtype_size(to_dtype);
  uint64_t n = std::min(from->left / from_size, to->left / to_size);
  mock_dtype_convert(from_dtype, from->bytes + from->done, from_size, to_dtype,
                     to->bytes + to->done, to_size, n);
  from->done += n * from_size;
  from->left -= n * from_size;
  to->done += n * to_size;
  to->left -= n * to_size;
  return true;
}
