// SPDX-License-Identifier: Apache-2.0
// A PE array with memory, records as compilers emit them, and the sum they stand for.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "mock_dev/pe.h"
#include "tests/mock_dev/checked.h"
#include "tests/mock_dev/number_format.h"

constexpr uint32_t kWeights = 0x4000, kMoving = 0x8000;  // bytes in a partition
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class core_window_t {
 public:
  core_window_t() {
    void *memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    data_ = static_cast<uint8_t *>(memory);
  }
  ~core_window_t() { munmap(data_, kSize); }
  core_window_t(const core_window_t &) = delete;
  core_window_t &operator=(const core_window_t &) = delete;

  uint8_t *data() const { return data_; }
  uint8_t *sbuf(uint32_t lane, uint32_t byte) const {
    return data_ + static_cast<size_t>(lane) * ISA_SBUF_PITCH + byte;
  }
  uint8_t *psum(uint32_t lane, uint32_t byte) const {
    return data_ + ISA_PSUM_BASE + static_cast<size_t>(lane) * ISA_PSUM_PITCH + byte;
  }
  template <typename T>
  T get(const uint8_t *at) const {
    T v;
    memcpy(&v, at, sizeof v);
    return v;
  }
  template <typename T>
  void put(uint8_t *at, T v) const {
    memcpy(at, &v, sizeof v);
  }
  // Every byte of PSUM.
  std::vector<uint8_t> psum_bytes() const {
    std::vector<uint8_t> all;
    for (uint32_t lane = 0; lane < ISA_PARTITIONS; lane++)
      all.insert(all.end(), psum(lane, 0), psum(lane, 0) + ISA_PSUM_PARTITION_BYTES);
    return all;
  }
  void fill_psum(uint8_t byte) const {
    for (uint32_t lane = 0; lane < ISA_PARTITIONS; lane++)
      memset(psum(lane, 0), byte, ISA_PSUM_PARTITION_BYTES);
  }

 private:
  static constexpr size_t kSize = 64u << 20;
  uint8_t *data_;
};

// Numbers of a type with what they mean.
struct number_t {
  uint32_t code;
  double value;
};

class Pe : public ::testing::Test {
 protected:
  Pe() : pe_(new mock_pe_t{}) {
    compute_.window = window_.data();
    compute_.pe = pe_.get();
  }

  // A random number of the type, within 2^-4 to 2^4 or so, negative ones too.
  number_t random_number(uint8_t dtype) {
    if (dtype == ISA_DTYPE_UINT8) {
      uint32_t code = random_() & 0xFF;
      return {code, static_cast<double>(code)};
    }
    for (const number_format_t &f : NUMBER_FORMATS) {
      while (f.dtype == dtype) {
        uint32_t code = random_() & (f.codes() - 1);
        double value = f.meaning(code);
        if (std::isfinite(value) && std::fabs(value) < 16 &&
            (value == 0 || std::fabs(value) > 0.06))
          return {code, value};
      }
    }
    auto value = static_cast<float>(static_cast<double>(random_()) / 4294967296.0 * 8 - 4);
    uint32_t code = 0;
    if (dtype == ISA_DTYPE_FP32R)  // an 11-bit fraction, cut here
      value = static_cast<float>(std::trunc(value * 256) / 256);
    memcpy(&code, &value, 4);
    return {code, value};
  }

  // Fills lanes [first, first + lanes) with numbers at consecutive places.
  std::vector<std::vector<double>> fill(uint8_t dtype, uint32_t first, uint32_t lanes,
                                        uint32_t byte, uint32_t count) {
    std::vector<std::vector<double>> values(lanes, std::vector<double>(count));
    for (uint32_t l = 0; l < lanes; l++)
      for (uint32_t i = 0; i < count; i++) {
        number_t n = random_number(dtype);
        uint32_t size = isa_dtype_size(dtype);
        memcpy(window_.sbuf(first + l, byte + i * size), &n.code, size);
        values[l][i] = n.value;
      }
    return values;
  }

  // What compilers emit: the last of `columns` elements first.
  isa_ldweights weights(uint8_t dtype, uint32_t k, uint32_t columns) const {
    isa_ldweights r{};
    r.h.opcode = ISA_LDWEIGHTS;
    uint32_t size = isa_dtype_size(dtype);
    r.src = {kWeights + (columns - 1) * size, {-1, 0, 0}, {static_cast<uint16_t>(columns), 1, 1}};
    r.dtype = dtype;
    r.fp32_mode = dtype == ISA_DTYPE_FP32 ? 3 : 0;
    r.rows = static_cast<uint8_t>(k);
    r.columns = static_cast<uint8_t>(columns);
    r.row_group = r.column_group = 0xF;
    return r;
  }
  isa_matmul product(uint8_t dtype, uint32_t k, uint32_t columns, uint32_t n, uint8_t flags) const {
    isa_matmul r{};
    r.h.opcode = ISA_MATMUL;
    auto count = static_cast<uint16_t>(n);
    r.src = {kMoving, {1, 0, 0}, {count, 1, 1}};
    r.dst = {ISA_PSUM_BASE, {1, 0, 0}, {count, 1, 1}};
    r.dtype = dtype;
    r.fp32_mode = dtype == ISA_DTYPE_FP32 ? 3 : 0;
    r.rows = static_cast<uint8_t>(k);
    r.columns = static_cast<uint8_t>(columns);
    r.row_group = r.column_group = 0xF;
    r.flags = flags;
    return r;
  }
  template <typename RECORD>
  const char *try_run(const RECORD &r) {
    isa_record record;
    memcpy(&record, &r, sizeof record);
    const char *why = stopped_before(&record, ISA_ENGINE_PE);
    return why != nullptr ? why : mock_compute_find(r.h.opcode)(&compute_, &record);
  }
  template <typename RECORD>
  void run(const RECORD &r) {
    const char *why = try_run(r);
    ASSERT_EQ(why, nullptr) << why;
  }
  float psum(uint32_t lane, uint32_t byte) const {
    return window_.get<float>(window_.psum(lane, byte));
  }

  // Each fp32 addition errs by at most half a unit of what it adds up to.
  static void check(double got, const std::vector<std::vector<double>> &w, uint32_t m,
                    const std::vector<std::vector<double>> &x, uint32_t n, double before = 0) {
    double sum = before, size = std::fabs(before);
    for (size_t k = 0; k < x.size(); k++) {
      sum += w[k][m] * x[k][n];
      size += std::fabs(w[k][m] * x[k][n]);
    }
    ASSERT_NEAR(got, sum, (static_cast<double>(x.size()) + 2) * size * std::ldexp(1, -24))
        << "lane " << m << " element " << n;
  }

  core_window_t window_;
  std::unique_ptr<mock_pe_t> pe_;
  mock_compute_t compute_{};
  std::mt19937 random_{7};
};
