// SPDX-License-Identifier: Apache-2.0
#include "bench/harness.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

static double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double bench_thread_seconds() {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double bench_wall_seconds() {
  return seconds_of(CLOCK_MONOTONIC);
}

void bench_die(const std::string &what) {
  fmt::print(stderr, "bench: {}\n", what);
  exit(2);
}

bench_buffer::bench_buffer(size_t size, uint8_t fill) : size_(size) {
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    bench_die(fmt::format("no memory for a buffer of {} bytes", size));
  data_ = static_cast<uint8_t *>(memory);
  memset(data_, fill, size);
}

bench_buffer::~bench_buffer() {
  munmap(data_, size_);
}

void bench_interleave(std::vector<bench_side> *sides) {
  for (int round = -1; round < BENCH_ROUNDS; round++) {
    for (bench_side &side : *sides) {
      double value = side.run();
      if (round >= 0)
        side.values.push_back(value);
    }
  }
}

double bench_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double bench_ratio(const bench_side &first, const bench_side &second) {
  std::vector<double> ratios;
  for (size_t i = 0; i < first.values.size(); i++)
    ratios.push_back(first.values[i] / second.values[i]);
  return bench_median(ratios);
}

static bool is_met(const bench_result &r) {
  switch (r.bound) {
    case bench_bound::at_most:
      return r.ratio <= r.target;
    case bench_bound::below:
      return r.ratio < r.target;
    case bench_bound::at_least:
      return r.ratio >= r.target;
    case bench_bound::none:
      break;
  }
  return true;
}

static const char *bound_text(bench_bound bound) {
  switch (bound) {
    case bench_bound::at_most:
      return "<=";
    case bench_bound::below:
      return "<";
    case bench_bound::at_least:
      return ">=";
    case bench_bound::none:
      break;
  }
  return "";
}

void bench_report(const bench_result &r) {
  std::string line = fmt::format(R"({{"name":"{}","unit":"{}","value":{:.6g},"ratio":{:.6g})",
                                 r.name, r.unit, r.value, r.ratio);
  if (!r.baseline_name.empty())
    line += fmt::format(R"(,"baseline":"{}","baseline_value":{:.6g})", r.baseline_name, r.baseline);
  if (r.bound != bench_bound::none)
    line += fmt::format(R"(,"bound":"{}","target":{:g},"met":{})", bound_text(r.bound), r.target,
                        is_met(r));
  line += fmt::format(R"(,"better":"{}"}})", r.lower_is_better ? "lower" : "higher");
  fmt::print("{}\n", line);
  fflush(stdout);
}

bench_result bench_compare(const std::string &name, const std::string &unit, const bench_side &ours,
                           const bench_side &baseline) {
  bench_result result{};
  result.name = name;
  result.unit = unit;
  result.value = bench_median(ours.values);
  result.baseline_name = baseline.name;
  result.baseline = bench_median(baseline.values);
  result.ratio = bench_ratio(ours, baseline);
  return result;
}
