// SPDX-License-Identifier: Apache-2.0
// What runs under callgrind: so many resolves over a table of so many variables. callgrind counts
// what the two functions execute, callees included (bench/run.py names them).
#include <valgrind/callgrind.h>

#include <cstdlib>
#include <cstring>

#include "bench/harness.h"
#include "bench/table.h"

int main(int argc, char **argv) {
  if (argc != 4 || (strcmp(argv[1], "hot") != 0 && strcmp(argv[1], "scattered") != 0))
    bench_die("usage: resolve_count hot|scattered VARIABLES RESOLVES");
  auto kind = strcmp(argv[1], "hot") == 0 ? bench_ids::hot : bench_ids::scattered;
  auto count = static_cast<uint32_t>(strtoul(argv[2], nullptr, 10));
  size_t resolves = strtoul(argv[3], nullptr, 10);
  bench_table table(count);
  std::vector<uint32_t> ids = bench_make_ids(kind, count, resolves);
  uint64_t sum = 0;
  CALLGRIND_START_INSTRUMENTATION;
  for (size_t i = 0; i < resolves; i++) {
    // Offset and size run through the variable, its last byte included.
    uint64_t offset = i % BENCH_VAR_SIZE, addr = 0;
    const mem_ref_t *mr = lookup_memref_by_idx(table.set, ids[i]);
    if (mr == nullptr ||
        mem_ref_to_addr(mr, offset, BENCH_VAR_SIZE - offset, &addr) != NRT_SUCCESS ||
        addr != 0x100000000 + ids[i] * BENCH_VAR_SIZE + offset)
      bench_die("a resolve went wrong");
    sum += addr;
  }
  bench_keep(sum);
  return 0;
}
