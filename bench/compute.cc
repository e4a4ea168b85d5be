// SPDX-License-Identifier: Apache-2.0
// Records that compute, on memory that looks like a core's: products beside OpenBLAS on one thread,
// conversions of types beside memcpy. All memory is written to before anything is measured.
#include <cblas.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <random>

#include "bench/harness.h"
#include "mock_dev/dtype.h"
#include "mock_dev/pe.h"

namespace {

constexpr uint32_t kWeights = 0x4000, kMoving = 0x8000;  // bytes in a partition
constexpr uint32_t kBanks = 8;

template <typename RUN>
double seconds_per(size_t times, RUN run) {
  double start = bench_thread_seconds();
  for (size_t i = 0; i < times; i++)
    run(i);
  return (bench_thread_seconds() - start) / static_cast<double>(times);
}

// --- products ------------------------------------------------------------------------------------

struct product_t {
  uint32_t k, m, n;
  uint8_t dtype;
  const char *type;
  double target;  // of OpenBLAS' rate; 0: none
};

struct core_t {
  bench_buffer window{64u << 20};
  std::unique_ptr<mock_pe_t> pe = std::make_unique<mock_pe_t>();
  mock_compute_t compute{};
  core_t() {
    compute.window = window.data();
    compute.pe = pe.get();
  }
};

void run_record(core_t &core, const void *record) {
  const auto *r = static_cast<const isa_record *>(record);
  const char *why = mock_compute_find(r->h.opcode)(&core.compute, r);
  if (why != nullptr)
    bench_die(why);
}

// `loads` is how many MATMULs use one LDWEIGHTS.
void product(core_t &core, const product_t &p, uint32_t loads) {
  uint32_t size = isa_dtype_size(p.dtype);
  std::mt19937 random(1);
  std::vector<float> a(p.k * p.m), b(p.k * p.n), c(p.m * p.n);
  for (std::vector<float> *v : {&a, &b})
    for (float &f : *v)
      f = static_cast<float>(random() % 1024) / 512 - 1;
  for (uint32_t k = 0; k < p.k; k++) {
    uint8_t *lane = core.window.data() + static_cast<size_t>(k) * ISA_SBUF_PITCH;
    mock_dtype_store(p.dtype, &a[k * p.m], p.m, lane + kWeights, size);
    mock_dtype_store(p.dtype, &b[k * p.n], p.n, lane + kMoving, size);
  }
  isa_ldweights w{};
  w.h.opcode = ISA_LDWEIGHTS;
  w.src = {kWeights + (p.m - 1) * size, {-1, 0, 0}, {static_cast<uint16_t>(p.m), 1, 1}};
  isa_matmul x{};
  x.h.opcode = ISA_MATMUL;
  auto n = static_cast<uint16_t>(p.n);
  x.src = {kMoving, {1, 0, 0}, {n, 1, 1}};
  x.dst = {ISA_PSUM_BASE, {1, 0, 0}, {n, 1, 1}};
  w.dtype = x.dtype = p.dtype;
  w.fp32_mode = x.fp32_mode = p.dtype == ISA_DTYPE_FP32 ? 3 : 0;
  w.rows = x.rows = static_cast<uint8_t>(p.k);
  w.columns = x.columns = static_cast<uint8_t>(p.m);
  w.row_group = w.column_group = x.row_group = x.column_group = 0xF;

  double flop = 2.0 * p.k * p.m * p.n;
  auto times = static_cast<size_t>(2e10 / flop);
  auto record = [&](size_t i) {
    if (i % loads == 0)
      run_record(core, &w);
    x.dst.addr4 = ISA_PSUM_BASE + static_cast<uint32_t>(i) % kBanks * ISA_PSUM_BANK_BYTES;
    run_record(core, &x);
  };
  auto blas = [&](size_t) {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<int>(p.m),
                static_cast<int>(p.n), static_cast<int>(p.k), 1, a.data(), static_cast<int>(p.m),
                b.data(), static_cast<int>(p.n), 1, c.data(), static_cast<int>(p.n));
  };
  std::vector<bench_side> sides = {
      {"MATMUL", [&] { return flop / seconds_per(times, record) / 1e9; }},
      {"OpenBLAS sgemm", [&] { return flop / seconds_per(times, blas) / 1e9; }}};
  bench_interleave(&sides);
  bench_result result =
      bench_compare(fmt::format("MATMUL {}x{}x{} {}, {} per load", p.k, p.m, p.n, p.type, loads),
                    "GF/s", sides[0], sides[1]);
  result.lower_is_better = false;
  if (p.target > 0) {
    result.bound = bench_bound::at_least;
    result.target = p.target;
  }
  bench_report(result);
}

// --- conversions ---------------------------------------------------------------------------------

// Arrays as long as a row of a tile, of which a core has many; rates count bytes read and written.
void conversion(uint8_t from, uint8_t to, const char *name, size_t n) {
  bench_buffer src(n * isa_dtype_size(from), 0x41), dst(n * isa_dtype_size(to));
  size_t bytes = n * (isa_dtype_size(from) + isa_dtype_size(to));
  bench_buffer plain(bytes / 2), copy(bytes / 2);
  size_t times = (size_t{1} << 31) / bytes;
  auto convert = [&](size_t) {
    mock_dtype_convert(from, src.data(), isa_dtype_size(from), to, dst.data(), isa_dtype_size(to),
                       n);
  };
  auto move = [&](size_t) {
    memcpy(copy.data(), plain.data(), bytes / 2);
    asm volatile("" : : "r"(copy.data()) : "memory");
  };
  auto rate = [&](auto run) { return static_cast<double>(bytes) / seconds_per(times, run) / 1e9; };
  std::vector<bench_side> sides = {{"convert", [&] { return rate(convert); }},
                                   {"memcpy", [&] { return rate(move); }}};
  bench_interleave(&sides);
  bench_result result =
      bench_compare(fmt::format("convert {}, {} elements", name, n), "GB/s", sides[0], sides[1]);
  result.lower_is_better = false;
  bench_report(result);
}

}  // namespace

int main() {
  openblas_set_num_threads(1);
  core_t core;
  for (const product_t &p : {product_t{128, 128, 512, ISA_DTYPE_FP16, "fp16", 0.8},
                             product_t{128, 128, 512, ISA_DTYPE_BF16, "bf16", 0},
                             product_t{128, 128, 512, ISA_DTYPE_FP32, "fp32", 0},
                             product_t{128, 128, 128, ISA_DTYPE_FP16, "fp16", 0},
                             product_t{128, 128, 64, ISA_DTYPE_FP16, "fp16", 0}})
    product(core, p, 4);
  product(core, {128, 128, 512, ISA_DTYPE_FP16, "fp16", 0}, 1);
  product(core, {128, 128, 64, ISA_DTYPE_FP16, "fp16", 0}, 1);
  const struct {
    uint8_t from, to;
    const char *name;
  } conversions[] = {
      {ISA_DTYPE_FP16, ISA_DTYPE_FP32, "fp16 to fp32"},
      {ISA_DTYPE_FP32, ISA_DTYPE_FP16, "fp32 to fp16"},
      {ISA_DTYPE_BF16, ISA_DTYPE_FP32, "bf16 to fp32"},
      {ISA_DTYPE_FP32, ISA_DTYPE_BF16, "fp32 to bf16"},
      {ISA_DTYPE_FP8E4, ISA_DTYPE_FP32, "fp8e4 to fp32"},
      {ISA_DTYPE_FP32, ISA_DTYPE_FP8E4, "fp32 to fp8e4"},
      {ISA_DTYPE_INT8, ISA_DTYPE_FP16, "int8 to fp16"},
      {ISA_DTYPE_FP32, ISA_DTYPE_INT32, "fp32 to int32"},
  };
  for (const auto &c : conversions)
    for (size_t n : {size_t{512}, size_t{1} << 20})
      conversion(c.from, c.to, c.name, n);
  return 0;
}
