// SPDX-License-Identifier: Apache-2.0
// Many threads load, use and unload models on one machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/integration/stack.h"

TEST(Threads, SixteenLoadAndUnload) {
  for (bool kernel : {false, true}) {
    stack s({.kernel_back_end = kernel});
    ASSERT_TRUE(s.ok());
    std::vector<chunk_t> chunks = s.chunks();
    std::vector<dmem_usage_table_t> counters = s.counters();
    std::vector<std::vector<uint8_t>> files = {sample_file(), sample_file({.variant = 1}),
                                               sample_file({.subgraphs = 1}),
                                               sample_file({.target = "*"})};
    log_capture log;
    {
      std::vector<std::jthread> threads;
      for (uint32_t t = 0; t < 16; t++)
        threads.emplace_back([&, t] {
          for (uint32_t i = 0; i < 8; i++) {
            H_NN h = 0;
            int32_t vnc = i % 3 == 0 ? -1 : static_cast<int32_t>((t + i) % 4);
            NRT_STATUS status = s.load(files[(t + i) % files.size()], vnc, &h);
            EXPECT_EQ(status, NRT_SUCCESS);
            if (status != NRT_SUCCESS)
              continue;
            EXPECT_EQ(s.address(h, 0, SAMPLE_P_W), s.address(h, 0, SAMPLE_W_NPY));
            EXPECT_EQ(s.unload(h), NRT_SUCCESS);
          }
        });
    }
    EXPECT_TRUE(log.errors().empty());
    EXPECT_EQ(s.chunks(), chunks);
    EXPECT_TRUE(s.counters() == counters);
  }
}

TEST(Threads, SameFileOnFourCoresIsParsedOnce) {
  stack s;
  ASSERT_TRUE(s.ok());
  std::vector<uint8_t> file = sample_file();
  std::vector<H_NN> models(4);
  {
    std::vector<std::jthread> threads;
    for (uint32_t v = 0; v < 4; v++)
      threads.emplace_back(
          [&, v] { EXPECT_EQ(s.load(file, static_cast<int32_t>(v), &models[v]), NRT_SUCCESS); });
  }
  kmgr_cache_stats_t stats;
  kmgr_cache_stats(s.kmgr, &stats);
  EXPECT_EQ(stats.parses, 1u);
  EXPECT_EQ(stats.hits, 3u);
}

TEST(BackEnds, GiveTheSameAddresses) {
  for (uint32_t lnc : {1u, 2u}) {
    stack mock({.lnc = lnc});
    stack kernel({.lnc = lnc, .hw_exec = true, .kernel_back_end = true});
    ASSERT_TRUE(mock.ok() && kernel.ok());
    for (uint32_t i = 0; i < 6; i++) {
      std::vector<uint8_t> file = sample_file({.subgraphs = lnc, .variant = i});
      H_NN a = 0, b = 0;
      ASSERT_EQ(mock.load(file, -1, &a), NRT_SUCCESS);
      ASSERT_EQ(kernel.load(file, -1, &b), NRT_SUCCESS);
      EXPECT_EQ(mock.plan(a), kernel.plan(b));
    }
    EXPECT_EQ(mock.chunks(), kernel.chunks());
  }
}
