// SPDX-License-Identifier: Apache-2.0
// What a NEFF's records ask for, and the least it takes to do that: its products in OpenBLAS, one
// thread per physical core, and one memcpy of the bytes its DMAs move (rulings.md 28).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness.h"

struct bench_product {
  int k, m, n;
};

struct bench_program {
  std::vector<std::vector<bench_product>> cores;  // MATMULs in order, by physical core
  uint64_t dma_bytes = 0;
  double flop = 0;
};
// Reads the streams of the file; ends the process when it cannot.
bench_program bench_program_read(const std::vector<uint8_t> &file);

// Wall-clock seconds for one time around, from as many as `times`. Products find their operands in
// fp32 and in the cache.
double bench_sgemm_seconds(const bench_program &program, size_t times);
// One thread; memory that nobody has touched for a while when it is more than the caches hold.
double bench_memcpy_seconds(const bench_program &program, size_t times);
