// SPDX-License-Identifier: Apache-2.0
// matmul_small.neff: right numbers whatever the schedule, and nothing to find for the checks.
#include "tests/programs/matmul_run.h"

namespace {

class MatmulSmall : public testing::Test {
 protected:
  void SetUp() override {
    file = corpus_file("matmul_small.neff");
    SKIP_WITHOUT(file);
  }
  std::vector<uint8_t> file;
};

}  // namespace

TEST_F(MatmulSmall, TwentyRandomInputs) {
  session s;
  small_matmul m(file);
  ASSERT_EQ(m.status(), NRT_SUCCESS);
  for (uint64_t seed = 1; seed <= 20; seed++)
    EXPECT_TRUE(m.right(seed));
}

// Twenty interleavings with late transfers, each on another input: the bits of the plain order.
TEST_F(MatmulSmall, EverySchedulingSeedGivesTheSameBits) {
  session s;
  small_matmul m(file);
  ASSERT_EQ(m.status(), NRT_SUCCESS);
  for (uint64_t seed = 1; seed <= 20; seed++) {
    s.configure({});
    ASSERT_TRUE(m.right(seed));
    std::vector<uint16_t> plain = m.output();
    s.configure({.seed = seed, .strict = 0, .races = 0, .exact_functions = 0});
    ASSERT_EQ(m.run(), NRT_SUCCESS) << seed;
    EXPECT_EQ(m.output(), plain) << seed;
  }
}

TEST_F(MatmulSmall, OutputIsCompleteOnlyWithBothCores) {
  // The second subgraph does nothing: its 64 columns stay as they were.
  std::vector<uint8_t> half = edit_file(file, [](neff_write_members &members) {
    for (const char *engine : {"PE", "Activation", "Pool", "DVE", "SP"})
      members[std::string("sg01/") + engine + ".bin"].resize(128);
  });
  session s;
  small_matmul m(half);
  ASSERT_EQ(m.status(), NRT_SUCCESS);
  m.fill(1);
  ASSERT_EQ(m.run(), NRT_SUCCESS);
  std::vector<uint16_t> out = m.output();
  for (uint32_t row = 0; row < 128; row++)
    for (uint32_t column = 0; column < 128; column++)
      EXPECT_EQ(out[row * 128 + column] == 0xFFFF, column >= 64) << row << "," << column;
}

// 12, 5, 7, 2 and 3 slots a subgraph (worked-program.md), without their branch labels; 5 transfers.
TEST_F(MatmulSmall, CountsAreThoseOfTheProgram) {
  session s;
  small_matmul m(file);
  ASSERT_TRUE(m.right(1));
  for (uint32_t subgraph = 0; subgraph < 2; subgraph++) {
    mock_exec_counts_t before, after;
    mock_exec_counts(s.host(), 0, m.p.core(subgraph), &before);
    ASSERT_EQ(m.run(), NRT_SUCCESS);
    mock_exec_counts(s.host(), 0, m.p.core(subgraph), &after);
    auto ran = [&](isa_engine_t engine, uint8_t opcode) {
      return after.opcodes[engine][opcode] - before.opcodes[engine][opcode];
    };
    EXPECT_EQ(ran(ISA_ENGINE_PE, ISA_LDWEIGHTS), 4u);
    EXPECT_EQ(ran(ISA_ENGINE_PE, ISA_MATMUL), 4u);
    EXPECT_EQ(ran(ISA_ENGINE_ACT, ISA_COPY), 2u);
    EXPECT_EQ(ran(ISA_ENGINE_POOL, ISA_DMAMEMCPY), 4u);
    EXPECT_EQ(ran(ISA_ENGINE_SP, ISA_DMAMEMCPY), 1u);
    EXPECT_EQ(after.transfers - before.transfers, 5u);
    // identity, x, two halves of y, output, as they arrive
    EXPECT_EQ(after.transfer_bytes - before.transfer_bytes, 128u * (256 + 512 + 128 + 128 + 128));
    // two transposes and two products
    EXPECT_EQ(after.macs - before.macs, 128u * 128 * (128 + 128 + 64 + 64));
  }
}
