// SPDX-License-Identifier: Apache-2.0
// From an id to a record, and on to an address, against other ways to find the same record. Each
// asks for the same scattered ids in the same order; the records are the same ones.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <unordered_map>

#include "bench/harness.h"
#include "bench/table.h"

namespace {

constexpr size_t kAsked = size_t{1} << 20;

template <typename Find>
double lookup_ns(const std::vector<uint32_t> &ids, Find find) {
  uint64_t sum = 0;
  double start = bench_thread_seconds();
  for (uint32_t id : ids)
    sum += reinterpret_cast<uintptr_t>(find(id));
  double seconds = bench_thread_seconds() - start;
  bench_keep(sum);
  return seconds * 1e9 / static_cast<double>(ids.size());
}

template <typename Find>
double resolve_ns(const std::vector<uint32_t> &ids, Find find) {
  uint64_t sum = 0;
  double start = bench_thread_seconds();
  for (uint32_t id : ids) {
    uint64_t addr = 0;
    if (mem_ref_to_addr(find(id), id % BENCH_VAR_SIZE, 1, &addr) != NRT_SUCCESS)
      bench_die("a resolve went wrong");
    sum += addr;
  }
  double seconds = bench_thread_seconds() - start;
  bench_keep(sum);
  return seconds * 1e9 / static_cast<double>(ids.size());
}

void run(uint32_t count) {
  bench_table table(count);
  absl::flat_hash_map<uint32_t, mem_ref_t *> flat;
  std::unordered_map<uint32_t, mem_ref_t *> standard;
  flat.reserve(count);
  standard.reserve(count);
  for (uint32_t id = 0; id < count; id++) {
    flat.emplace(id, table.records[id]);
    standard.emplace(id, table.records[id]);
  }
  std::vector<uint32_t> ids = bench_make_ids(bench_ids::scattered, count, kAsked);
  auto ours = [&](uint32_t id) { return lookup_memref_by_idx(table.set, id); };
  auto in_flat = [&](uint32_t id) { return flat.find(id)->second; };
  auto in_standard = [&](uint32_t id) { return standard.find(id)->second; };
  auto in_array = [&](uint32_t id) { return table.records[id]; };

  for (bool resolve : {false, true}) {
    auto side = [&](const char *name, auto find) {
      return bench_side{name, [&ids, resolve, find] {
                          return resolve ? resolve_ns(ids, find) : lookup_ns(ids, find);
                        }};
    };
    std::vector<bench_side> sides = {side("opennrt", ours), side("absl::flat_hash_map", in_flat),
                                     side("std::unordered_map", in_standard),
                                     side("bare array", in_array)};
    bench_interleave(&sides);
    for (size_t i = 1; i < sides.size(); i++) {
      bench_result result = bench_compare(
          fmt::format("{} {} vs {}", resolve ? "lookup+resolve" : "lookup", count, sides[i].name),
          "ns", sides[0], sides[i]);
      if (i == 1) {
        result.bound = bench_bound::below;
        result.target = 1;
      }
      bench_report(result);
    }
  }
}

}  // namespace

int main() {
  for (uint32_t count : {100u, 10000u, 1000000u})
    run(count);
  return 0;
}
