// SPDX-License-Identifier: Apache-2.0
// Section 16: counters.
#include <unistd.h>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S16_Process, V2_AND_V3);

TEST_P(S16_Process, Bytes_RoundedSizes) {
  chunk_t a = alloc(dev, {.size = 5000}), b = alloc(dev, {.size = 1, .host = true});
  neuron_app_info app = usage_of(dev, getpid()).app;
  EXPECT_EQ(app.device_mem_size, 8192u);
  EXPECT_EQ(app.host_mem_size, 4096u);
  alloc(dev, {.size = PAGE, .channel = 1, .nc_id = 1});
  EXPECT_EQ(usage_of(dev, getpid()).app.device_mem_size, 12288u);
  ASSERT_EQ(free_chunk(dev, a.handle), 0);
  ASSERT_EQ(free_chunk(dev, b.handle), 0);
  app = usage_of(dev, getpid()).app;
  EXPECT_EQ(app.device_mem_size, 4096u);
  EXPECT_EQ(app.host_mem_size, 0u);
}

// A free is booked on the process that frees, which does not go below 0.
TEST_P(S16_Process, Bytes_FreeByAnotherProcess) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  chunk_t mine = alloc(dev, {.size = 4 * PAGE});
  chunk_t theirs = alloc(other, {.size = PAGE});
  ASSERT_EQ(free_chunk(other, mine.handle), 0);
  EXPECT_EQ(usage_of(dev, OTHER).app.device_mem_size, 0u);
  EXPECT_EQ(usage_of(dev, getpid()).app.device_mem_size, 4 * PAGE);
  ASSERT_EQ(free_chunk(dev, theirs.handle), 0);
  EXPECT_EQ(usage_of(dev, getpid()).app.device_mem_size, 3 * PAGE);
}
