// SPDX-License-Identifier: Apache-2.0
// Copies between host and device memory against memcpy of as many bytes. All memory is written to
// before anything is measured.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/harness.h"
#include "bench/machine.h"

namespace {

constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr size_t kLarge = kMiB;        // targets count from here on
constexpr size_t kBytes = 128 * kMiB;  // moved per measurement, at least

template <typename Copy>
double gigabytes_per_second(size_t size, Copy copy) {
  size_t times = std::max<size_t>(1, kBytes / size);
  double start = bench_thread_seconds();
  for (size_t i = 0; i < times; i++)
    copy();
  return static_cast<double>(size * times) / 1e9 / (bench_thread_seconds() - start);
}

void must(NRT_STATUS status) {
  if (status != NRT_SUCCESS)
    bench_die("a copy failed");
}

std::string size_text(size_t size) {
  return size < kMiB ? fmt::format("{} KiB", size / kKiB) : fmt::format("{} MiB", size / kMiB);
}

void run(bench_machine &machine, size_t size) {
  bench_buffer host(size), other(size, 2);
  dmem_t *mapped = machine.alloc(size), *bounced = machine.alloc(size);
  void *va = dmem_get_va(mapped);
  if (va == nullptr)
    bench_die("device memory cannot be mapped");
  memset(va, 3, size);
  must(dmem_buf_copyin(bounced, host.data(), 0, size));
  auto side = [size](const char *name, auto copy) {
    return bench_side{name, [size, copy] { return gigabytes_per_second(size, copy); }};
  };
  std::vector<bench_side> sides = {
      side("memcpy",
           [&] {
             memcpy(other.data(), host.data(), size);
             asm volatile("" : : "r"(other.data()) : "memory");
           }),
      side("mapped in", [&] { must(dmem_buf_copyin(mapped, host.data(), 0, size)); }),
      side("mapped out", [&] { must(dmem_buf_copyout(mapped, host.data(), 0, size)); }),
      side("bounce in", [&] { must(dmem_buf_copyin(bounced, host.data(), 0, size)); }),
      side("bounce out", [&] { must(dmem_buf_copyout(bounced, host.data(), 0, size)); }),
  };
  bench_interleave(&sides);
  for (size_t i = 1; i < sides.size(); i++) {
    bench_result result = bench_compare(fmt::format("copy {} {}", sides[i].name, size_text(size)),
                                        "GB/s", sides[i], sides[0]);
    result.lower_is_better = false;
    if (size >= kLarge) {
      result.bound = bench_bound::at_least;
      result.target = i <= 2 ? 0.7 : 0.25;
    }
    bench_report(result);
  }
  dmem_free(mapped);
  dmem_free(bounced);
}

}  // namespace

int main() {
  bench_machine machine;
  for (size_t size = 4 * kKiB; size <= 64 * kMiB; size *= 4)
    run(machine, size);
  return 0;
}
