// SPDX-License-Identifier: Apache-2.0
// matmul_large.neff, all of it: 275 thousand million multiply-adds on 4 GiB of y.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "tests/programs/session.h"
#include "tests/reference/floats.h"
#include "tests/reference/matmul.h"
#include "tests/support/process.h"

namespace {

constexpr matmul_shape kShape = kMatmulLarge;

class MatmulLarge : public testing::Test {
 protected:
  void SetUp() override {
    file = corpus_file("matmul_large.neff");
    SKIP_WITHOUT(file);
  }

  void fill(program &p, matmul_data data, uint64_t seed) {
    std::vector<uint16_t> x(uint64_t{kShape.rows} * kShape.depth);
    matmul_fill_x(kShape, data, seed, x.data());
    p.write("x", x.data(), 0, 2 * x.size());
    constexpr uint32_t kRows = 512;  // 64 MiB at a time
    std::vector<uint16_t> y(uint64_t{kRows} * kShape.columns);
    for (uint32_t row = 0; row < kShape.depth; row += kRows) {
      matmul_fill_y(kShape, data, seed, row, kRows, y.data());
      p.write("y", y.data(), uint64_t{row} * kShape.columns * 2, 2 * y.size());
    }
  }

  // Seconds, for the log.
  double run(program &p) {
    p.spoil("output0");
    auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(p.run(), NRT_SUCCESS);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  static void expect_exact(program &p, const std::vector<int32_t> &exact) {
    std::vector<uint16_t> out = p.read_as<uint16_t>("output0");
    ASSERT_EQ(out.size(), 8'388'608u);
    uint64_t wrong = 0, first = 0;
    for (size_t i = out.size(); i-- > 0;) {
      // -0 and 0 are the same number
      if (out[i] != fp16_bits(fp16_round(exact[i])) && !(exact[i] == 0 && out[i] == 0x8000)) {
        wrong++;
        first = i;
      }
    }
    EXPECT_EQ(wrong, 0u) << "first at row " << first / kShape.columns << ", column "
                         << first % kShape.columns << ": " << fp16_value(out[first]) << ", exact "
                         << exact[first];
  }

  std::vector<uint8_t> file;
};

}  // namespace

TEST_F(MatmulLarge, EveryOutputOfExactDataIsBitEqual) {
  session s;
  program p(file);
  ASSERT_EQ(p.status(), NRT_SUCCESS);
  fill(p, matmul_data::INTEGER, 1);
  mock_exec_counts_t before[2], after[2];
  for (uint32_t i = 0; i < 2; i++)
    mock_exec_counts(s.host(), 0, p.core(i), &before[i]);
  printf("executed in %.2f s\n", run(p));
  uint64_t macs = 0;
  for (uint32_t i = 0; i < 2; i++) {
    mock_exec_counts(s.host(), 0, p.core(i), &after[i]);
    macs += after[i].macs - before[i].macs;
    EXPECT_EQ(
        after[i].opcodes[ISA_ENGINE_PE][ISA_MATMUL] - before[i].opcodes[ISA_ENGINE_PE][ISA_MATMUL],
        16640u);
  }
  // HloMacCount, and the 256 transposes of each core
  EXPECT_EQ(macs, 274'877'906'944u + 2 * 256 * 128 * 128 * 128ull);

  // Each core has saved its x^T in a scratchpad of its own.
  for (uint32_t subgraph = 0; subgraph < 2; subgraph++)
    for (const std::string &name : p.scratch(subgraph)) {
      const auto *bytes =
          static_cast<const uint8_t *>(mock_dram(s.host(), 0, p.variable(subgraph, name), 524288));
      EXPECT_TRUE(std::any_of(bytes, bytes + 524288, [](uint8_t b) { return b != 0; })) << name;
    }

  std::vector<int32_t> exact = matmul_exact_integer(kShape, 1);
  expect_exact(p, exact);
  // Interleaved, with transfers as late as can be, under the checks; `make soak`: six more.
  std::vector<uint64_t> seeds = {2};
  if (process_is_soak())
    seeds = {1, 2, 3, 4, 5, 6};
  for (uint64_t seed : seeds) {
    SCOPED_TRACE(testing::Message() << "schedule " << seed);
    s.configure({.seed = seed, .strict = 1, .races = 1, .exact_functions = 0});
    printf("schedule %lu, checked: %.2f s\n", static_cast<unsigned long>(seed), run(p));
    expect_exact(p, exact);
    EXPECT_THAT(s.findings(), testing::IsEmpty());
  }
}

// 64 columns, spread over both cores, against double precision.
TEST_F(MatmulLarge, RealDataStaysWithinItsTolerance) {
  session s;
  program p(file);
  ASSERT_EQ(p.status(), NRT_SUCCESS);
  fill(p, matmul_data::REAL, 2);
  run(p);
  std::vector<uint16_t> out = p.read_as<uint16_t>("output0");
  std::vector<uint32_t> columns;
  std::vector<std::vector<double>> exact;
  for (uint32_t i = 0; i < 64; i++) {
    columns.push_back(i * 1024 + i * 17 % 1024);
    exact.push_back(matmul_exact_column(kShape, matmul_data::REAL, 2, columns.back()));
  }
  for (uint32_t row = 0; row < kShape.rows; row++) {
    double squares = 0;
    for (const auto &column : exact)
      squares += column[row] * column[row];
    double deviation = std::sqrt(squares / static_cast<double>(exact.size()));
    for (size_t i = 0; i < columns.size(); i++) {
      uint16_t got = out[uint64_t{row} * kShape.columns + columns[i]];
      EXPECT_TRUE(matmul_close(got, exact[i][row], deviation))
          << row << "," << columns[i] << ": " << fp16_value(got) << ", exact " << exact[i][row];
    }
  }
}

// Both cores write the same at the same places of their scratchpads: sharing one would not show.
TEST_F(MatmulLarge, EachCoreHasItsOwnScratchpad) {
  session s;
  program p(file);
  ASSERT_EQ(p.status(), NRT_SUCCESS);
  std::vector<std::pair<uint64_t, uint64_t>> places;
  for (uint32_t subgraph = 0; subgraph < 2; subgraph++)
    for (const std::string &name : p.scratch(subgraph))
      places.emplace_back(p.variable(subgraph, name), 524288);
  EXPECT_EQ(places.size(), 32u);
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); i++)
    EXPECT_GE(places[i].first, places[i - 1].first + places[i - 1].second);
}
