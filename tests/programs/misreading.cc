// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/misreading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "mock_dev/core_pool.h"
#include "mock_dev/pattern.h"
#include "mock_dev/semaphore.h"

constexpr uint64_t kPatience = 60'000'000'000;  // ns

misreading::misreading(mock_host_t *host, effect_t effect)
    : host_(host), effect_(std::move(effect)) {
  mock_exec_trace(host_, on_event, this);
}

misreading::~misreading() {
  mock_exec_trace(host_, nullptr, nullptr);
  for (uint32_t core = 0; core < 32; core++)  // a run has ended before its last records have
    if ((cores_ >> core & 1) != 0) {
      EXPECT_NE(mock_core_wait(host_, 0, core, kPatience), MOCK_CORE_BUSY);
    }
}

void misreading::on_event(void *user, const mock_exec_event_t *event) {
  auto *self = static_cast<misreading *>(user);
  if (event->engine >= ISA_ENGINE_COUNT)
    return;
  self->cores_ |= 1u << event->core;
  isa_record record;
  memcpy(&record, event->record, sizeof(record));
  self->effect_(mock_core_at(self->host_, event->device, event->core), event->engine, record);
}

void transpose_weights(mock_core_t *core, uint32_t, const isa_record &record) {
  isa_ldweights r;
  memcpy(&r, &record, sizeof(r));
  if (r.h.opcode != ISA_LDWEIGHTS || r.rows != MOCK_PE_ROWS || r.columns != MOCK_PE_COLUMNS)
    return;
  uint32_t size = isa_dtype_size(r.dtype);
  auto element = [&](uint32_t row, uint32_t column) {
    return core->pe.raw[row] + column / MOCK_PE_QUARTER * (MOCK_PE_QUARTER * 4) +
           column % MOCK_PE_QUARTER * size;
  };
  for (uint32_t row = 0; row < MOCK_PE_ROWS; row++)
    for (uint32_t column = 0; column < row; column++)
      std::swap_ranges(element(row, column), element(row, column) + size, element(column, row));
}

void clear_bank_at_begin(mock_core_t *core, uint32_t, const isa_record &record) {
  isa_matmul r;
  memcpy(&r, &record, sizeof(r));
  if (r.h.opcode != ISA_MATMUL || (r.flags & ISA_MATMUL_BEGIN) == 0)
    return;
  mock_pattern_t dst = mock_pattern_of(r.dst, r.transpose != 0 ? r.dtype : uint8_t{ISA_DTYPE_FP32});
  std::vector<uint8_t> written(dst.total * dst.size);
  uint32_t in_bank = dst.address % ISA_PSUM_BANK_BYTES;
  for (uint32_t lane = 0; lane < r.columns; lane++) {
    uint8_t *to = mock_pattern_lane(&dst, core->window, lane);
    mock_pattern_read(&dst, to, 0, dst.total, written.data());
    memset(to - in_bank, 0, ISA_PSUM_BANK_BYTES);
    mock_pattern_write(&dst, to, 0, dst.total, written.data());
  }
}

void use_up_weights(mock_core_t *core, uint32_t, const isa_record &record) {
  if (record.h.opcode != ISA_MATMUL)
    return;
  memset(core->pe.raw, 0, sizeof(core->pe.raw));
  core->pe.packed_rows = 0;
}

void wrap_counters(mock_core_t *core, uint32_t, const isa_record &) {
  for (uint64_t i = 0; i < 256; i++) {
    uint32_t value = mock_semaphore_read(core->events, NEURON_SEMAPHORE_READ + 4 * i);
    if (value > 255)
      mock_semaphore_write(core->events, NEURON_SEMAPHORE_SET + 4 * i, value & 255);
  }
}
