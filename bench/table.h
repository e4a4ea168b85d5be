// SPDX-License-Identifier: Apache-2.0
// A variable table of `count` placed records with the ids 0, 1, 2 ..., as a load leaves it, and ids
// to ask it for.
#pragma once

#include <cstdint>
#include <vector>

#include "tdrv/dma_ring.h"

struct bench_table {
  ht_t *set = nullptr;
  std::vector<mem_ref_t *> records;  // by id

  explicit bench_table(uint32_t count);
  bench_table(const bench_table &) = delete;
  bench_table &operator=(const bench_table &) = delete;
  ~bench_table();
};

constexpr uint64_t BENCH_VAR_SIZE = 4096;

enum class bench_ids {
  hot,        // 16 ids again and again
  scattered,  // all of the table, each id as likely as any other
};
std::vector<uint32_t> bench_make_ids(bench_ids kind, uint32_t count, size_t length);
