// SPDX-License-Identifier: Apache-2.0
// Semaphores and events: requests, register windows, mappings (mock-device-semantics.md 8, uapi.md
// 8).
#include <thread>

#include "mock_dev/host.h"
#include "mock_dev/semaphore.h"
#include "tests/mock_dev/mock_fixture.h"

namespace {

constexpr uint32_t READ = NEURON_IOCTL_SEMAPHORE_READ;
constexpr uint32_t WRITE = NEURON_IOCTL_SEMAPHORE_WRITE;
constexpr uint32_t ADD = NEURON_IOCTL_SEMAPHORE_INCREMENT;
constexpr uint32_t SUB = NEURON_IOCTL_SEMAPHORE_DECREMENT;

long request(machine_t &m, uint32_t what, uint32_t core, uint32_t index, uint32_t *value) {
  neuron_ioctl_semaphore a = {core, index, *value};
  long rc = m.io(what, &a);
  *value = a.value;
  return rc;
}

void put(machine_t &m, uint32_t what, uint32_t core, uint32_t index, uint32_t value) {
  EXPECT_EQ(request(m, what, core, index, &value), 0);
}

uint32_t get(machine_t &m, uint32_t core, uint32_t index, uint32_t what = READ) {
  uint32_t value = 0xdead;
  EXPECT_EQ(request(m, what, core, index, &value), 0);
  return value;
}

// The page a process maps: table of uapi.md 8.
uint8_t *map_page(machine_t &m, int32_t tgid, uint64_t cookie) {
  int fd = mock_open(m.host, tgid, "/dev/neuron0", O_RDWR);
  void *va = nullptr;
  EXPECT_EQ(mock_mmap(m.host, tgid, fd, cookie, 0x2000, PROT_READ | PROT_WRITE, &va), 0);
  return static_cast<uint8_t *>(va);
}

}  // namespace

class Semaphores : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Chips, Semaphores, testing::Values("trn1.2xlarge", "trn2.3xlarge"));

TEST_P(Semaphores, ChecksInOrder) {
  machine_t m(GetParam());
  uint32_t cores = strcmp(GetParam(), "trn1.2xlarge") == 0 ? 2 : 8;
  uint32_t value = 1;
  for (uint32_t what : {READ, WRITE, ADD, SUB}) {
    EXPECT_EQ(request(m, what, cores, 0, &value), -E2BIG);
    EXPECT_EQ(request(m, what, cores, 256, &value), -E2BIG);  // the core is looked at first
    EXPECT_EQ(request(m, what, UINT32_MAX, 0, &value), -E2BIG);
    EXPECT_EQ(request(m, what, cores - 1, 256, &value), -EINVAL);
    EXPECT_EQ(request(m, what, 0, 0xffff, &value), -EINVAL);
    EXPECT_EQ(request(m, what, cores - 1, 255, &value), 0);
  }
  for (uint32_t what : {uint32_t(NEURON_IOCTL_EVENT_SET), uint32_t(NEURON_IOCTL_EVENT_GET)}) {
    EXPECT_EQ(request(m, what, 0, 257, &value), -EINVAL);
    EXPECT_EQ(request(m, what, cores, 257, &value), -EINVAL);  // the index is looked at first
    EXPECT_EQ(request(m, what, cores, 256, &value), -E2BIG);
    EXPECT_EQ(request(m, what, cores - 1, 256, &value), 0);  // accepted, one past the end
  }
}

TEST_P(Semaphores, SetIncrementDecrement) {
  machine_t m(GetParam());
  EXPECT_EQ(get(m, 0, 3), 0u);
  put(m, WRITE, 0, 3, 40);
  put(m, ADD, 0, 3, 5);
  put(m, SUB, 0, 3, 3);
  EXPECT_EQ(get(m, 0, 3), 42u);
  put(m, SUB, 0, 3, 50);
  EXPECT_EQ(static_cast<int32_t>(get(m, 0, 3)), -8);
  put(m, ADD, 0, 3, static_cast<uint32_t>(-2));  // deltas are signed
  EXPECT_EQ(static_cast<int32_t>(get(m, 0, 3)), -10);
  EXPECT_EQ(get(m, 0, 2), 0u);
  EXPECT_EQ(get(m, 0, 4), 0u);
  EXPECT_EQ(get(m, 1, 3), 0u);
  put(m, WRITE, 1, 0x50003, 9);  // the low 16 bits of the index count
  EXPECT_EQ(get(m, 1, 3), 9u);
  EXPECT_EQ(get(m, 1, 0xffff0003), 9u);
}

TEST_P(Semaphores, StopAtTheEndsOfTheRange) {
  machine_t m(GetParam());
  put(m, WRITE, 0, 0, 0x7ffffffe);
  put(m, ADD, 0, 0, 3);
  EXPECT_EQ(get(m, 0, 0), 0x7fffffffu);
  put(m, WRITE, 0, 0, 0x80000001);
  put(m, SUB, 0, 0, 3);
  EXPECT_EQ(get(m, 0, 0), 0x80000000u);
  put(m, WRITE, 0, 0, 0);
  put(m, SUB, 0, 0, 0x80000000);  // minus the smallest number
  EXPECT_EQ(get(m, 0, 0), 0x7fffffffu);
}

TEST_P(Semaphores, Events) {
  machine_t m(GetParam());
  uint32_t set = NEURON_IOCTL_EVENT_SET, look = NEURON_IOCTL_EVENT_GET;
  put(m, set, 1, 7, 1);
  put(m, set, 1, 0x10008, 1);
  EXPECT_EQ(get(m, 1, 7, look), 1u);
  EXPECT_EQ(get(m, 1, 8, look), 1u);
  EXPECT_EQ(get(m, 1, 9, look), 0u);
  EXPECT_EQ(get(m, 0, 7, look), 0u);
  put(m, set, 1, 7, 0);
  EXPECT_EQ(get(m, 1, 7, look), 0u);
  put(m, set, 1, 256, 3);
  EXPECT_EQ(get(m, 1, 256, look), 3u);
  EXPECT_EQ(get(m, 1, 0), 0u);  // not a semaphore
}

TEST_P(Semaphores, AnswerThatCannotBeStored) {
  machine_t m(GetParam());
  bad_range_t range;
  auto *a = reinterpret_cast<neuron_ioctl_semaphore *>(range.base);
  *a = {0, 1, 77};
  ASSERT_EQ(mprotect(range.base, range.good, PROT_READ), 0);
  EXPECT_EQ(m.io(WRITE, a), 0);
  EXPECT_EQ(m.io(NEURON_IOCTL_EVENT_SET, a), 0);
  EXPECT_EQ(m.io(READ, a), 12);
  EXPECT_EQ(m.io(NEURON_IOCTL_EVENT_GET, a), 12);
  EXPECT_EQ(get(m, 0, 1), 77u);
}

// A process that is not attached (a forked child) reaches them through an inherited descriptor.
TEST_P(Semaphores, NotGated) {
  machine_t m(GetParam());
  neuron_ioctl_semaphore a = {0, 9, 5};
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, m.fd, ADD, &a), 0);
  EXPECT_EQ(get(m, 0, 9), 5u);
  EXPECT_EQ(mock_ioctl(m.host, PID, m.misc, ADD, &a), -EINVAL);
}

TEST_P(Semaphores, MappedPageShowsTheValues) {
  machine_t m(GetParam());
  bool v2 = strcmp(GetParam(), "trn1.2xlarge") == 0;
  uint8_t *page = map_page(m, PID + 1, (v2 ? 0xfffc0000000 : 0x2000000000) + 0x4000000 + 0x2700000);
  put(m, WRITE, 1, 200, 0x12345678);
  put(m, NEURON_IOCTL_EVENT_SET, 1, 200, 1);
  uint32_t word;
  memcpy(&word, page + 0x1000 + 4 * 200, 4);
  EXPECT_EQ(word, 0x12345678u);
  memcpy(&word, page + 4 * 200, 4);
  EXPECT_EQ(word, 1u);
  for (uint64_t window : {0x1400, 0x1800, 0x1c00}) {
    memcpy(&word, page + window + 4 * 200, 4);
    EXPECT_EQ(word, 0u);
  }
}

TEST_P(Semaphores, NoUpdateIsLost) {
  machine_t m(GetParam());
  constexpr int ROUNDS = 2000;
  std::thread up([&] {
    for (int i = 0; i < ROUNDS; ++i)
      put(m, ADD, 0, 0, 3);
  });
  for (int i = 0; i < ROUNDS; ++i)
    put(m, SUB, 0, 0, 1);
  up.join();
  EXPECT_EQ(get(m, 0, 0), 2u * ROUNDS);
}

TEST(SemaphoreBlock, Windows) {
  alignas(8) uint8_t block[0x2000] = {};
  auto word = [&](uint64_t at) { return *reinterpret_cast<uint32_t *>(block + at); };
  mock_semaphore_write(block, 0x1400, 10);
  mock_semaphore_write(block, 0x1800, 4);
  mock_semaphore_write(block, 0x1c00, 1);
  EXPECT_EQ(word(0x1000), 13u);
  mock_semaphore_write(block, 0x1ffc, 7);
  EXPECT_EQ(word(0x13fc), static_cast<uint32_t>(-7));
  mock_semaphore_write(block, 0x17fc, 1);
  EXPECT_EQ(word(0x13fc), 1u);
  mock_semaphore_write(block, 0x1000, 99);  // the window for reading
  EXPECT_EQ(mock_semaphore_read(block, 0x1000), 13u);
  for (uint64_t reg : {0x1400, 0x1800, 0x1c00, 0x1ffc})
    EXPECT_EQ(mock_semaphore_read(block, reg), 0u);
  mock_semaphore_write(block, 0x3fc, 1);
  mock_semaphore_write(block, 0xffc, 5);
  EXPECT_EQ(mock_semaphore_read(block, 0x3fc), 1u);
  EXPECT_EQ(word(0xffc), 5u);
}

TEST(SemaphoreBlock, WhereTheyAre) {
  for (const char *name : {"trn1.2xlarge", "trn2.3xlarge"}) {
    machine_t m(name);
    const mock_state_t *state = m.host->state;
    uint32_t cores = state->cores, top_sps = cores == 2 ? 6 : 16;
    uint64_t memory = state->hbms * state->hbm_size, reg = 0;
    EXPECT_FALSE(mock_semaphore_block_find(state, 0x2700000, &reg));  // HBM
    for (uint64_t core = 0; core < cores; ++core) {
      uint64_t block = memory + core * 0x4000000 + 0x2700000;
      EXPECT_FALSE(mock_semaphore_block_find(state, block - 1, &reg));
      EXPECT_TRUE(mock_semaphore_block_find(state, block + 0x1804, &reg));
      EXPECT_EQ(reg, 0x1804u);
      EXPECT_FALSE(mock_semaphore_block_find(state, block + 0x2000, &reg));
    }
    for (uint64_t t = 0; t < top_sps; ++t) {
      uint64_t block = memory + cores * 0x4000000ull + t * 0x400000;
      EXPECT_TRUE(mock_semaphore_block_find(state, block, &reg));
      EXPECT_EQ(reg, 0u);
      EXPECT_TRUE(mock_semaphore_block_find(state, block + 0x1fff, &reg));
      EXPECT_FALSE(mock_semaphore_block_find(state, block + 0x2000, &reg));
    }
    EXPECT_FALSE(mock_semaphore_block_find(
        state, memory + cores * 0x4000000ull + top_sps * 0x400000ull, &reg));
  }
}
