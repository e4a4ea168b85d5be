// SPDX-License-Identifier: Apache-2.0
// nrt_execute of libnrt.so.1 on device tensors, as a program calls it, against the least its
// program's work takes (program.h). Wall clock: both sides keep both processors busy.
#include <fmt/format.h>
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "bench/harness.h"
#include "bench/model.h"
#include "bench/program.h"

namespace {

constexpr size_t kPiece = 8 << 20;

void must(NRT_STATUS status, const char *what) {
  if (status != NRT_SUCCESS)
    bench_die(fmt::format("{} answers {}", what, static_cast<int>(status)));
}

// Small integers as fp16, functions of their place, so that nobody has to keep them: every sum is
// exact in fp32.
int x_at(uint64_t row, uint64_t k) {
  return static_cast<int>((row * 7 + k * 13 + k / 64) % 5) - 2;
}
int y_at(uint64_t k, uint64_t column) {
  return static_cast<int>((k * 11 + column * 3 + column / 64) % 17) - 8;
}
uint16_t fp16_of(int v) {
  if (v == 0)
    return 0;
  int size = std::abs(v), exponent = std::ilogb(size);
  return static_cast<uint16_t>((v < 0 ? 0x8000 : 0) | (exponent + 15) << 10 |
                               ((size << (10 - exponent)) & 0x3FF));
}
double fp16_value(uint16_t h) {
  int exponent = h >> 10 & 31;
  double fraction = h & 0x3FF;
  double v = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (h & 0x8000) != 0 ? -v : v;
}

struct matrix_t {
  nrt_tensor_t *tensor = nullptr;
  uint64_t rows = 0, columns = 0;
  uint64_t bytes() const { return rows * columns * 2; }
};

struct run_t {
  nrt_model_t *model = nullptr;
  nrt_tensor_set_t *in = nullptr, *out = nullptr;
  matrix_t x, y, output;
};

// Rows repeat after `period`.
template <typename Value>
void fill(const matrix_t &m, Value value, uint64_t period) {
  std::vector<std::vector<uint16_t>> rows(period, std::vector<uint16_t>(m.columns));
  for (uint64_t r = 0; r < period; r++)
    for (uint64_t c = 0; c < m.columns; c++)
      rows[r][c] = fp16_of(value(r, c));
  for (uint64_t r = 0; r < m.rows; r++)
    must(nrt_tensor_write(m.tensor, rows[r % period].data(), r * m.columns * 2, m.columns * 2),
         "tensor_write");
}

run_t prepare(const std::vector<uint8_t> &file) {
  run_t r;
  must(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
  must(nrt_load(file.data(), file.size(), -1, -1, &r.model), "nrt_load");
  must(nrt_allocate_tensor_set(&r.in), "nrt_allocate_tensor_set");
  must(nrt_allocate_tensor_set(&r.out), "nrt_allocate_tensor_set");
  nrt_tensor_info_array_t *info = nullptr;
  must(nrt_get_model_tensor_info(r.model, &info), "nrt_get_model_tensor_info");
  for (uint64_t i = 0; i < info->tensor_count; i++) {
    const nrt_tensor_info_t &t = info->tensor_array[i];
    bool input = t.usage == NRT_TENSOR_USAGE_INPUT;
    matrix_t &m = !input ? r.output : strcmp(t.name, "x") == 0 ? r.x : r.y;
    if (t.ndim != 2 || t.size != uint64_t{t.shape[0]} * t.shape[1] * 2)
      bench_die(fmt::format("{} is no fp16 matrix", t.name));
    m.rows = t.shape[0], m.columns = t.shape[1];
    must(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, t.size, t.name, &m.tensor),
         "nrt_tensor_allocate");
    must(nrt_add_tensor_to_tensor_set(input ? r.in : r.out, t.name, m.tensor),
         "nrt_add_tensor_to_tensor_set");
  }
  nrt_free_model_tensor_info(info);
  fill(r.x, x_at, 5);
  fill(r.y, y_at, 17);
  std::vector<uint8_t> zero(kPiece);
  for (uint64_t at = 0; at < r.output.bytes(); at += kPiece)
    must(
        nrt_tensor_write(r.output.tensor, zero.data(), at, std::min(kPiece, r.output.bytes() - at)),
        "tensor_write");
  return r;
}

// A run that computes something else is not worth measuring.
void check(const run_t &r) {
  std::vector<uint16_t> row(r.output.columns);
  for (uint64_t m = 0; m < r.output.rows; m += 31) {
    must(nrt_tensor_read(r.output.tensor, row.data(), m * row.size() * 2, row.size() * 2),
         "tensor_read");
    for (uint64_t n = m; n < row.size(); n += row.size() / 8 + 1) {
      int64_t sum = 0;
      for (uint64_t k = 0; k < r.x.columns; k++)
        sum += x_at(m, k) * y_at(k, n);
      if (std::fabs(fp16_value(row[n]) - static_cast<double>(sum)) >
          std::fabs(static_cast<double>(sum)) / 2048)
        bench_die(fmt::format("output[{}, {}] is {}, not {}", m, n, fp16_value(row[n]), sum));
    }
  }
}

double resident_mib() {
  long pages = 0, resident = 0;
  FILE *statm = fopen("/proc/self/statm", "r");
  if (statm == nullptr || fscanf(statm, "%ld %ld", &pages, &resident) != 2)
    bench_die("no /proc/self/statm");
  fclose(statm);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1048576;
}

// `allowed` seconds beyond `target` times the baseline are no matter.
void run(const char *name, size_t times, double allowed, double target) {
  const char *directory = getenv("OPENNRT_CORPUS");
  std::string path = fmt::format("{}/{}.neff", directory != nullptr ? directory : "", name);
  if (directory == nullptr || access(path.c_str(), R_OK) != 0) {
    fmt::print(stderr, "bench: {}.neff skipped: no corpus (OPENNRT_CORPUS)\n", name);
    return;
  }
  std::vector<uint8_t> file = bench_read_file(path);
  bench_program program = bench_program_read(file);
  run_t r = prepare(file);
  auto execute = [&] { must(nrt_execute(r.model, r.in, r.out), "nrt_execute"); };
  execute();
  check(r);
  double data = static_cast<double>(r.x.bytes() + r.y.bytes() + r.output.bytes()) / 1048576;
  bench_result memory{};
  memory.name = fmt::format("resident beyond the tensors of {}", name);
  memory.unit = "MiB";
  memory.value = memory.ratio = resident_mib() - data;
  memory.bound = bench_bound::at_most;
  memory.target = 200;

  std::vector<double> products, copies;
  std::vector<bench_side> sides = {{"",
                                    [&] {
                                      double start = bench_wall_seconds();
                                      for (size_t i = 0; i < times; i++)
                                        execute();
                                      return (bench_wall_seconds() - start) /
                                             static_cast<double>(times);
                                    }},
                                   {"", [&] {
                                      products.push_back(bench_sgemm_seconds(program, times));
                                      copies.push_back(bench_memcpy_seconds(program, times));
                                      return products.back() + copies.back();
                                    }}};
  bench_interleave(&sides);
  double whole = bench_median(sides[0].values);
  for (double &value : sides[0].values)
    value -= allowed;
  sides[1].name = fmt::format("sgemm {:.0f} GF/s + memcpy {:.1f} GB/s",
                              program.flop / bench_median(products) / 1e9,
                              static_cast<double>(program.dma_bytes) / bench_median(copies) / 1e9);
  double unit = whole < 0.1 ? 1e6 : 1;
  bench_result result = bench_compare(
      allowed > 0 ? fmt::format("{}, {:.0f} us less for the ratio", name, allowed * 1e6) : name,
      unit == 1 ? "s" : "us", sides[0], sides[1]);
  result.value = whole * unit;
  result.baseline *= unit;
  result.bound = bench_bound::at_most;
  result.target = target;
  bench_report(result);
  bench_report(memory);
  check(r);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "small") == 0)
    run("matmul_small", 500, 50e-6, 3);
  else if (argc == 2 && strcmp(argv[1], "large") == 0)
    run("matmul_large", 1, 0, 2.5);
  else
    bench_die("usage: bench_execute small | large");
  return 0;
}
