// SPDX-License-Identifier: Apache-2.0
// Measuring and reporting. Figures are processor time of the calling thread where one thread does
// it all, so that what else the machine does counts as little as possible; the sides of a
// comparison take turns (ruling 28).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

constexpr int BENCH_ROUNDS = 5;

// Processor time of this thread, in seconds.
double bench_thread_seconds();
// Wall clock, for what runs on several threads.
double bench_wall_seconds();
// Keeps a value alive without touching memory.
inline void bench_keep(uint64_t value) {
  asm volatile("" : : "r"(value));
}
// Prints "bench: what" on stderr and ends the process with status 2.
[[noreturn]] void bench_die(const std::string &what);
// Size of memory of its own, every page written.
class bench_buffer {
 public:
  explicit bench_buffer(size_t size, uint8_t fill = 1);
  bench_buffer(const bench_buffer &) = delete;
  bench_buffer &operator=(const bench_buffer &) = delete;
  ~bench_buffer();
  uint8_t *data() const { return data_; }

 private:
  uint8_t *data_;
  size_t size_;
};

// One side of a comparison: `run` answers one measurement.
struct bench_side {
  std::string name;
  std::function<double()> run;
  std::vector<double> values = {};
};
// One round unmeasured, then BENCH_ROUNDS rounds in which each side runs once.
void bench_interleave(std::vector<bench_side> *sides);
double bench_median(std::vector<double> values);
// Median over the rounds of first / second.
double bench_ratio(const bench_side &first, const bench_side &second);

enum class bench_bound { none, at_most, at_least, below };

// One line of the report. `value` and `baseline` have the unit, `ratio` is what a target is about.
struct bench_result {
  std::string name;
  std::string unit;
  double value = 0;
  std::string baseline_name = {};  // empty: none, and no `baseline`
  double baseline = 0;
  double ratio = 0;
  bench_bound bound = bench_bound::none;
  double target = 0;
  bool lower_is_better = true;  // of `ratio`
};
// Prints one JSON object in one line.
void bench_report(const bench_result &result);
// Ours against a baseline.
bench_result bench_compare(const std::string &name, const std::string &unit, const bench_side &ours,
                           const bench_side &baseline);
