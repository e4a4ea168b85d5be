// SPDX-License-Identifier: Apache-2.0
// A mocked machine with one core ready for allocations and copies.
#pragma once

#include "dmem/accounting.h"
#include "dmem/dmem.h"

struct bench_machine {
  hal_t *hal = nullptr;
  hal_device_t *device = nullptr;
  dmem_device_t *stats = nullptr;
  physical_core_t core{};
  dmem_allocator_t *allocator = nullptr;

  bench_machine();
  bench_machine(const bench_machine &) = delete;
  bench_machine &operator=(const bench_machine &) = delete;
  ~bench_machine();

  // Device memory on the core's HBM; ends the process without.
  dmem_t *alloc(size_t size);
};
