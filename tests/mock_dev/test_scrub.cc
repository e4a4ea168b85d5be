// SPDX-License-Identifier: Apache-2.0
// HBM_SCRUB_START and HBM_SCRUB_WAIT (mock-device-semantics.md 5.5).
#include "tests/mock_dev/dma_fixture.h"

namespace {

long start(machine_t &m, uint32_t channel, uint32_t pattern, uint32_t nc_id = 0) {
  neuron_ioctl_hbm_scrub_start a = {nc_id, channel, 0, pattern};
  return m.io(NEURON_IOCTL_HBM_SCRUB_START, &a);
}

long wait_for(machine_t &m, uint32_t channel) {
  neuron_ioctl_hbm_scrub_wait a = {0, channel};
  return m.io(NEURON_IOCTL_HBM_SCRUB_WAIT, &a);
}

void scrub(machine_t &m, uint32_t channel, uint32_t pattern) {
  EXPECT_EQ(start(m, channel, pattern), 0);
  EXPECT_EQ(wait_for(m, channel), 0);
}

uint32_t word(machine_t &m, const chunk_t &c, uint64_t offset) {
  uint32_t value = 0;
  EXPECT_EQ(buf_copy(m, c.handle, &value, offset, 4, false), 0);
  return value;
}

void fill(machine_t &m, const chunk_t &c, uint8_t value) {
  neuron_ioctl_memset64 a = {c.handle, 0, value, 4096};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEMSET64, &a), 0);
}

}  // namespace

class Scrub : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Chips, Scrub, testing::Values("trn1.2xlarge", "trn2.3xlarge"));

TEST_P(Scrub, Checks) {
  machine_t m(GetParam());
  uint32_t channels = strcmp(GetParam(), "trn1.2xlarge") == 0 ? 2 : 4;
  EXPECT_EQ(start(m, channels, 0), -EPERM);
  EXPECT_EQ(start(m, channels, 0, 99), -EPERM);  // the channel is looked at first
  EXPECT_EQ(start(m, 0, 0, 8), -EINVAL);         // what an allocation says to such a core
  EXPECT_EQ(wait_for(m, channels), -EPERM);
  EXPECT_EQ(wait_for(m, 0), -EPERM);  // none started
  EXPECT_EQ(start(m, channels - 1, 0), 0);
  EXPECT_EQ(wait_for(m, 0), -EPERM);
  EXPECT_EQ(wait_for(m, channels - 1), 0);
  EXPECT_EQ(wait_for(m, channels - 1), -EPERM);
  neuron_ioctl_hbm_scrub_start a = {};
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, m.fd, NEURON_IOCTL_HBM_SCRUB_START, &a), -EACCES);
}

TEST_P(Scrub, OverwritesAllocatedMemory) {
  machine_t m(GetParam());
  chunk_t first = alloc(m, {.size = 1 << 20});  // right behind the firmware's share
  chunk_t small = alloc(m, {.size = 8192});     // in the pool at the end
  chunk_t scratch = alloc(m, {.size = 1 << 20, .category = 19});
  chunk_t other = alloc(m, {.size = 1 << 20, .channel = 1});
  chunk_t host = alloc(m, {.size = 4096, .host = true});
  EXPECT_EQ(first.pa, 0x1000000u);
  for (const chunk_t &c : {first, small, scratch, other, host})
    fill(m, c, 0x11);
  scrub(m, 0, 0xcafe1234);
  for (const chunk_t &c : {first, small, scratch}) {
    EXPECT_EQ(word(m, c, 0), 0xcafe1234u);
    EXPECT_EQ(word(m, c, 4092), 0xcafe1234u);
  }
  EXPECT_EQ(word(m, first, (1 << 20) - 4), 0xcafe1234u);
  EXPECT_EQ(word(m, other, 0), 0x11111111u);
  EXPECT_EQ(word(m, host, 0), 0x11111111u);
}

TEST_P(Scrub, MemoryAllocatedLaterHoldsThePatternToo) {
  machine_t m(GetParam());
  scrub(m, 1, 0x01020304);
  chunk_t large = alloc(m, {.size = 1 << 20, .channel = 1});
  chunk_t small = alloc(m, {.size = 4096, .channel = 1});
  EXPECT_EQ(word(m, large, 4096), 0x01020304u);
  EXPECT_EQ(word(m, small, 0), 0x01020304u);
  EXPECT_EQ(word(m, alloc(m, {.channel = 0}), 0), 0u);
  // Written, freed, allocated again.
  fill(m, small, 0x77);
  EXPECT_EQ(mem_free(m, small.handle), 0);
  EXPECT_EQ(word(m, alloc(m, {.size = 4096, .channel = 1}), 0), 0x01020304u);
  // With zeros the traces of the first pattern go as well.
  scrub(m, 1, 0);
  EXPECT_EQ(word(m, large, 4096), 0u);
  EXPECT_EQ(mem_free(m, large.handle), 0);
  EXPECT_EQ(word(m, alloc(m, {.size = 1 << 20, .channel = 1}), 0), 0u);
}

// The firmware's 16 MiB stay, the first byte behind them does not.
TEST_P(Scrub, FromBehindTheReservedMemory) {
  machine_t m(GetParam());
  auto *reserved = static_cast<uint8_t *>(mock_dram(m.host, 0, 0xffffff, 1));
  auto *behind = static_cast<uint8_t *>(mock_dram(m.host, 0, 0x1000000, 1));
  *reserved = 0x42;
  *behind = 0x42;
  scrub(m, 0, 0);
  EXPECT_EQ(*reserved, 0x42);
  EXPECT_EQ(*behind, 0);
}

// Queue 0 of 16 engines of the channel is taken away from whoever had it.
TEST_P(Scrub, TakesEnginesOver) {
  machine_t m(GetParam());
  bool v2 = strcmp(GetParam(), "trn1.2xlarge") == 0;
  chunk_t ring = alloc(m, {.size = 1024});
  uint32_t engines = v2 ? 32 : 128;
  for (uint32_t e = 0; e < engines; ++e)
    for (uint32_t q = 0; q < 2; ++q)
      ASSERT_EQ(queue_init(m, e, q, ring.handle, 64, ring.handle, 64), 0);
  scrub(m, 1, 0);
  for (uint32_t e = 0; e < engines; ++e) {
    // v2: 16 to 31. v3: 32 + {4-7, 12-15, 20-23, 28-31}.
    bool taken = v2 ? e >= 16 : e / 32 == 1 && e % 8 >= 4;
    EXPECT_EQ(queue_states(m, e, 0).tx.base_addr != ring.pa, taken) << e;
    EXPECT_EQ(queue_states(m, e, 0).rx.base_addr != ring.pa, taken) << e;
    EXPECT_EQ(queue_states(m, e, 1).tx.base_addr, ring.pa) << e;
  }
}

TEST_P(Scrub, StrictMode) {
  mock_dev_options_t o = machine_t::of(GetParam());
  o.poison = true;
  machine_t m(o);
  chunk_t before = alloc(m, {.size = 4096});
  EXPECT_EQ(word(m, before, 0), 0xa5a5a5a5u);
  scrub(m, 0, 0);
  EXPECT_EQ(word(m, before, 0), 0u);
  EXPECT_EQ(word(m, alloc(m, {.size = 4096}), 0), 0u);  // somebody wrote this memory
  EXPECT_EQ(mem_free(m, before.handle), 0);
  EXPECT_EQ(word(m, alloc(m, {.size = 4096}), 0), 0u);
  EXPECT_EQ(word(m, alloc(m, {.channel = 1}), 0), 0xa5a5a5a5u);
}

// The buffers are host memory of the driver's until somebody waits.
TEST_P(Scrub, BuffersComeAndGo) {
  machine_t m(GetParam());
  // All of the host memory, then one page less than the buffers take.
  std::vector<uint64_t> handles;
  for (uint64_t size = 1ull << 31; size >= 4096; size /= 2) {
    chunk_t c = alloc(m, {.size = size, .host = true});
    while (c.rc == 0) {
      handles.push_back(c.handle);
      c = alloc(m, {.size = size, .host = true});
    }
  }
  EXPECT_EQ(start(m, 0, 0), -ENOMEM);
  EXPECT_EQ(wait_for(m, 0), -EPERM);
  for (uint64_t h : handles)
    EXPECT_EQ(mem_free(m, h), 0);
  EXPECT_EQ(start(m, 0, 0), 0);
  EXPECT_EQ(start(m, 0, 0), 0);  // again: the same buffers
  EXPECT_EQ(wait_for(m, 0), 0);
  EXPECT_EQ(wait_for(m, 0), -EPERM);
}
