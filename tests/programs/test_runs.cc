// SPDX-License-Identifier: Apache-2.0
// Programs of the corpus beside each other and again and again.
#include <gmock/gmock.h>

#include <thread>

#include "tests/programs/both_files.h"

namespace {

using Runs = BothFiles;

}  // namespace

TEST_F(Runs, SecondRunWithTheSameAndWithNewTensors) {
  session s;
  small_matmul m(small);
  ASSERT_TRUE(m.right(1));
  std::vector<uint16_t> first = m.output();
  ASSERT_EQ(m.run(), NRT_SUCCESS);
  EXPECT_EQ(m.output(), first);
  EXPECT_TRUE(m.right(2));
  EXPECT_NE(m.output(), first);
  for (uint64_t seed = 3; seed < 6; seed++) {
    m.p.renew();
    EXPECT_TRUE(m.right(seed));
  }
  m.fill(1);
  ASSERT_EQ(m.run(), NRT_SUCCESS);
  EXPECT_EQ(m.output(), first);
}

TEST_F(Runs, TwoModelsTakeTurnsOnOneCore) {
  session s;
  small_matmul m(small);
  attention_run a(attention);
  ASSERT_EQ(a.status(), NRT_SUCCESS);
  a.fill(attention_recipe_b(43));
  ASSERT_EQ(a.run(), NRT_SUCCESS);
  std::vector<uint8_t> first = a.p.read("output0");
  EXPECT_LE(a.figures().step, 5e-3);
  for (uint64_t round = 1; round <= 5; round++) {
    EXPECT_TRUE(m.right(round));
    ASSERT_EQ(a.run(), NRT_SUCCESS);
    EXPECT_EQ(a.p.read("output0"), first) << round;
  }
}

TEST_F(Runs, TwoLogicalCoresAtOnce) {
  session s;
  small_matmul m(small, 1);
  attention_run a(attention);
  ASSERT_EQ(m.status(), NRT_SUCCESS);
  ASSERT_EQ(a.status(), NRT_SUCCESS);
  a.fill(attention_recipe_b(44));
  ASSERT_EQ(a.run(), NRT_SUCCESS);
  std::vector<uint8_t> first = a.p.read("output0");
  std::thread other([&] {
    for (uint64_t seed = 1; seed <= 20; seed++)
      EXPECT_TRUE(m.right(seed));
  });
  for (int i = 0; i < 5; i++) {
    EXPECT_EQ(a.run(), NRT_SUCCESS);
    EXPECT_EQ(a.p.read("output0"), first) << i;
  }
  other.join();
}

// Sixteen threads, four of them on each logical core, each with a model and tensors of its own;
// odd ones in host memory where the machine allows that, even ones on the device.
TEST_F(Runs, SixteenThreads) {
  session s;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; t++)
    threads.emplace_back([&, t] {
      small_matmul m(small, t % 4);
      ASSERT_EQ(m.status(), NRT_SUCCESS);
      for (uint64_t round = 0; round < 10; round++)
        EXPECT_TRUE(m.right(100 * static_cast<uint64_t>(t) + round)) << "thread " << t;
    });
  for (std::thread &thread : threads)
    thread.join();
}

// Tensors of the client's own memory: staged through the slots that the load made.
TEST_F(Runs, TensorsInHostMemory) {
  session s;
  small_matmul m(small, 0, NRT_TENSOR_PLACEMENT_VIRTUAL);
  ASSERT_EQ(m.status(), NRT_SUCCESS);
  std::vector<std::vector<uint8_t>> buffers;
  for (const char *name : {"x", "y", "output0"}) {
    buffers.emplace_back(m.p.size(name));
    ASSERT_EQ(
        nrt_tensor_attach_buffer(m.p.tensor(name), buffers.back().data(), buffers.back().size()),
        NRT_SUCCESS);
  }
  for (uint64_t seed = 1; seed <= 5; seed++)
    EXPECT_TRUE(m.right(seed));
}
