// SPDX-License-Identifier: Apache-2.0
// One allocation and one release of device memory while so many other chunks live: a chunk of
// random place and size goes, another of random size comes.
#include <fmt/format.h>

#include <memory>
#include <random>

#include "bench/harness.h"
#include "bench/machine.h"

namespace {

constexpr int kPairs = 20000;

class population {
 public:
  explicit population(size_t count) : chunks_(count) {
    for (dmem_t *&chunk : chunks_)
      chunk = machine_.alloc(random_size());
    // Gaps all over the memory, as after a long run.
    for (size_t i = 0; i < 2 * count; i++)
      replace_one();
  }
  ~population() {
    for (dmem_t *chunk : chunks_)
      dmem_free(chunk);
  }
  population(const population &) = delete;
  population &operator=(const population &) = delete;

  // Nanoseconds per allocation and release.
  double measure() {
    double start = bench_thread_seconds();
    for (int i = 0; i < kPairs; i++)
      replace_one();
    return (bench_thread_seconds() - start) * 1e9 / kPairs;
  }

 private:
  size_t random_size() { return (random_() % 32 + 1) * 4096; }
  void replace_one() {
    dmem_t *&chunk = chunks_[random_() % chunks_.size()];
    dmem_free(chunk);
    chunk = machine_.alloc(random_size());
  }

  bench_machine machine_;
  std::vector<dmem_t *> chunks_;
  std::mt19937 random_{20240517};
};

}  // namespace

int main() {
  std::vector<std::unique_ptr<population>> populations;
  std::vector<bench_side> sides;
  for (size_t count : {1000u, 10000u, 100000u}) {
    populations.push_back(std::make_unique<population>(count));
    sides.push_back(
        {fmt::format("{} live", count), [&p = *populations.back()] { return p.measure(); }});
  }
  bench_interleave(&sides);
  for (size_t i = 1; i < sides.size(); i++) {
    bench_result result =
        bench_compare("chunk alloc+free, " + sides[i].name, "ns", sides[i], sides[0]);
    if (i == 2) {
      result.bound = bench_bound::at_most;
      result.target = 2;
    }
    bench_report(result);
  }
  return 0;
}
