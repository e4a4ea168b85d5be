// SPDX-License-Identifier: Apache-2.0
#include "bench/program.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <thread>

#include "isa/isa.h"
#include "neff/neff.h"

namespace {

template <typename RECORD>
RECORD record_at(std::span<const uint8_t> stream, size_t offset) {
  RECORD r;
  memcpy(&r, stream.data() + offset, sizeof r);
  return r;
}

uint64_t rows_bytes(const uint16_t *count, uint16_t bytes) {
  return uint64_t{count[0]} * count[1] * (bytes == 0 ? 65536u : bytes);
}

void read_stream(std::span<const uint8_t> stream, bench_program *program,
                 std::vector<bench_product> *products) {
  for (size_t at = 0; at + ISA_RECORD_BYTES <= stream.size(); at += ISA_RECORD_BYTES) {
    if (stream[at] == ISA_MATMUL) {
      auto r = record_at<isa_matmul>(stream, at);
      bench_product p = {r.rows, r.columns, r.src.count[0] * r.src.count[1] * r.src.count[2]};
      products->push_back(p);
      program->flop += 2.0 * p.k * p.m * p.n;
    } else if (stream[at] == ISA_PSEUDO_DMA_DIRECT2D) {
      auto r = record_at<isa_dma>(stream, at);
      program->dma_bytes +=
          std::max(rows_bytes(r.src_count, r.src_bytes), rows_bytes(r.dst_count, r.dst_bytes));
    }
  }
}

// Operands of the largest record; the same ones for every product, which is the cache's best case.
struct operands_t {
  std::vector<float> a = std::vector<float>(128 * 128, 0.5F);
  std::vector<float> b = std::vector<float>(128 * 512, 0.25F);
  std::vector<float> c = std::vector<float>(128 * 512, 0.0F);
};

void multiply(const std::vector<bench_product> &products, operands_t *o) {
  for (const bench_product &p : products)
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, p.m, p.n, p.k, 1, o->a.data(), p.m,
                o->b.data(), p.n, 0, o->c.data(), p.n);
}

}  // namespace

bench_program bench_program_read(const std::vector<uint8_t> &file) {
  std::shared_ptr<const neff> open;
  finding_sink findings;
  if (neff_open(file, {}, findings, &open) != NRT_SUCCESS)
    bench_die("not a NEFF");
  bench_program program;
  for (int core = 0;; core++) {
    std::vector<bench_product> products;
    bool found = false;
    for (const char *engine : {"PE", "Activation", "Pool", "DVE", "SP"}) {
      const auto *stream = open->find(fmt::format("sg{:02}/{}.bin", core, engine));
      if (stream == nullptr)
        continue;
      found = true;
      read_stream(*stream, &program, &products);
    }
    if (!found)
      break;
    program.cores.push_back(products);
  }
  return program;
}

double bench_sgemm_seconds(const bench_program &program, size_t times) {
  openblas_set_num_threads(1);
  std::barrier start(static_cast<std::ptrdiff_t>(program.cores.size()));
  std::vector<double> seconds(program.cores.size());
  std::vector<std::thread> threads;
  for (size_t core = 0; core < program.cores.size(); core++)
    threads.emplace_back([&, core] {
      operands_t operands;
      multiply(program.cores[core], &operands);
      start.arrive_and_wait();
      double begin = bench_wall_seconds();
      for (size_t i = 0; i < times; i++)
        multiply(program.cores[core], &operands);
      seconds[core] = (bench_wall_seconds() - begin) / static_cast<double>(times);
    });
  for (std::thread &thread : threads)
    thread.join();
  return *std::max_element(seconds.begin(), seconds.end());
}

double bench_memcpy_seconds(const bench_program &program, size_t times) {
  constexpr uint64_t kLargest = 256 << 20;
  uint64_t size = std::min(program.dma_bytes, kLargest);
  static bench_buffer src(kLargest), dst(kLargest, 2);
  double begin = bench_wall_seconds();
  for (size_t i = 0; i < times; i++)
    for (uint64_t done = 0; done < program.dma_bytes; done += size) {
      memcpy(dst.data(), src.data(), std::min(size, program.dma_bytes - done));
      asm volatile("" : : "r"(dst.data()) : "memory");
    }
  return (bench_wall_seconds() - begin) / static_cast<double>(times);
}
