// SPDX-License-Identifier: Apache-2.0
// Section 8: semaphores and events.
#include <climits>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S8_Semaphores, V2_AND_V3);
CONFORMANCE_SUITE(S8_Events, V2_AND_V3);

namespace {

constexpr uint32_t READ = NEURON_IOCTL_SEMAPHORE_READ, WRITE = NEURON_IOCTL_SEMAPHORE_WRITE,
                   INCREMENT = NEURON_IOCTL_SEMAPHORE_INCREMENT,
                   DECREMENT = NEURON_IOCTL_SEMAPHORE_DECREMENT, SET = NEURON_IOCTL_EVENT_SET,
                   GET = NEURON_IOCTL_EVENT_GET;

long run(const fd_t &fd, uint32_t request, uint32_t core, uint32_t index, uint32_t value) {
  neuron_ioctl_semaphore arg = {core, index, value};
  return fd.io(request, &arg);
}

uint32_t value_of(const fd_t &fd, uint32_t request, uint32_t core, uint32_t index) {
  neuron_ioctl_semaphore arg = {core, index, 0xdead};
  EXPECT_EQ(fd.io(request, &arg), 0);
  return arg.value;
}

}  // namespace

TEST_P(S8_Semaphores, Check1_Core) {
  for (uint32_t request : {READ, WRITE, INCREMENT, DECREMENT}) {
    EXPECT_EQ(run(dev, request, model().cores, 0, 0), -E2BIG);
    EXPECT_EQ(run(dev, request, UINT32_MAX, 0, 0), -E2BIG);
    // Before the index.
    EXPECT_EQ(run(dev, request, model().cores, 256, 0), -E2BIG);
    EXPECT_EQ(run(dev, request, model().cores - 1, 0, 0), 0);
  }
}

TEST_P(S8_Semaphores, Check2_Index) {
  for (uint32_t request : {READ, WRITE, INCREMENT, DECREMENT}) {
    EXPECT_EQ(run(dev, request, 0, 255, 0), 0);
    EXPECT_EQ(run(dev, request, 0, 256, 0), -EINVAL);
    EXPECT_EQ(run(dev, request, 0, 0xffff, 0), -EINVAL);
    EXPECT_EQ(run(dev, request, 0, 0x70100, 0), -EINVAL);
  }
}

TEST_P(S8_Semaphores, Check2_LowSixteenBits) {
  EXPECT_EQ(run(dev, WRITE, 0, 0x30005, 42), 0);
  EXPECT_EQ(value_of(dev, READ, 0, 5), 42u);
}

TEST_P(S8_Semaphores, Effect) {
  EXPECT_EQ(run(dev, WRITE, 0, 7, 100), 0);
  EXPECT_EQ(run(dev, INCREMENT, 0, 7, 5), 0);
  EXPECT_EQ(value_of(dev, READ, 0, 7), 105u);
  EXPECT_EQ(run(dev, DECREMENT, 0, 7, 25), 0);
  EXPECT_EQ(value_of(dev, READ, 0, 7), 80u);
  EXPECT_EQ(run(dev, WRITE, 0, 7, 1), 0);
  EXPECT_EQ(value_of(dev, READ, 0, 7), 1u);
}

TEST_P(S8_Semaphores, EachIsItsOwn) {
  uint32_t cores = model().cores;
  for (uint32_t core = 0; core < cores; ++core)
    for (uint32_t index : {0u, 1u, 128u, 255u})
      EXPECT_EQ(run(dev, WRITE, core, index, core * 1000 + index + 1), 0);
  for (uint32_t core = 0; core < cores; ++core)
    for (uint32_t index : {0u, 1u, 128u, 255u})
      EXPECT_EQ(value_of(dev, READ, core, index), core * 1000 + index + 1);
}

TEST_P(S8_Semaphores, SignedValues) {
  EXPECT_EQ(run(dev, WRITE, 0, 1, 0), 0);
  EXPECT_EQ(run(dev, DECREMENT, 0, 1, 3), 0);
  EXPECT_EQ(static_cast<int32_t>(value_of(dev, READ, 0, 1)), -3);
}

// Where the driver is silent, the mock's choice: values stop at the ends of 32 bits.
TEST_P(S8_Semaphores, Ends) {
  EXPECT_EQ(run(dev, WRITE, 0, 1, INT_MAX - 1), 0);
  EXPECT_EQ(run(dev, INCREMENT, 0, 1, 5), 0);
  EXPECT_EQ(value_of(dev, READ, 0, 1), static_cast<uint32_t>(INT_MAX));
  EXPECT_EQ(run(dev, WRITE, 0, 1, static_cast<uint32_t>(INT_MIN)), 0);
  EXPECT_EQ(run(dev, DECREMENT, 0, 1, 1), 0);
  EXPECT_EQ(value_of(dev, READ, 0, 1), static_cast<uint32_t>(INT_MIN));
}

// The read window of the core's mapped page shows the value (0x1000 in it).
TEST_P(S8_Semaphores, MappedReadWindow) {
  for (uint32_t core = 0; core < model().cores; ++core) {
    ASSERT_EQ(run(dev, WRITE, core, 9, 77 + core), 0);
    neuron_ioctl_resource_mmap_info arg = {};
    arg.block = NEURON_MMAP_BLOCK_TPB;
    arg.block_id = core;
    arg.resource = NEURON_MMAP_RESOURCE_SEMAPHORE;
    ASSERT_EQ(io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg), 0);
    void *va = nullptr;
    ASSERT_EQ(dev.map(arg.offset, arg.size, PROT_READ | PROT_WRITE, &va), 0);
    EXPECT_EQ(static_cast<uint32_t *>(va)[(0x1000 + 4 * 9) / 4], 77 + core);
    EXPECT_EQ(dev.unmap(va, arg.size), 0);
  }
}

TEST_P(S8_Semaphores, ArgumentReadOnly) {
  neuron_ioctl_semaphore arg = {0, 1, 0};
  EXPECT_EQ(io(READ, read_only_t(&arg, sizeof(arg)).page), 12);
  // The others write nothing back.
  arg.value = 5;
  EXPECT_EQ(io(WRITE, read_only_t(&arg, sizeof(arg)).page), 0);
  EXPECT_EQ(value_of(dev, READ, 0, 1), 5u);
}

TEST_P(S8_Semaphores, NotGated) {
  NEEDS_BACKSTAGE();
  EXPECT_EQ(run(inherited(dev, OTHER), WRITE, 0, 1, 9), 0);
  EXPECT_EQ(value_of(dev, READ, 0, 1), 9u);
}

TEST_P(S8_Events, Check_Index) {
  for (uint32_t request : {SET, GET}) {
    EXPECT_EQ(run(dev, request, 0, 255, 1), 0);
    EXPECT_EQ(run(dev, request, 0, 256, 1), 0);  // the driver accepts one too many
    EXPECT_EQ(run(dev, request, 0, 257, 1), -EINVAL);
    EXPECT_EQ(run(dev, request, 0, 0xffff, 1), -EINVAL);
  }
}

TEST_P(S8_Events, Check_Core) {
  for (uint32_t request : {SET, GET}) {
    EXPECT_EQ(run(dev, request, model().cores, 0, 1), -E2BIG);
    EXPECT_EQ(run(dev, request, UINT32_MAX, 0, 1), -E2BIG);
  }
}

TEST_P(S8_Events, Effect) {
  for (uint32_t core = 0; core < model().cores; ++core)
    EXPECT_EQ(run(dev, SET, core, 17, core + 1), 0);
  for (uint32_t core = 0; core < model().cores; ++core)
    EXPECT_EQ(value_of(dev, GET, core, 17), core + 1);
  EXPECT_EQ(run(dev, SET, 0, 17, 0), 0);
  EXPECT_EQ(value_of(dev, GET, 0, 17), 0u);
  EXPECT_EQ(value_of(dev, GET, 1, 17), 2u);
}

TEST_P(S8_Events, AreNotSemaphores) {
  EXPECT_EQ(run(dev, SET, 0, 3, 1), 0);
  EXPECT_EQ(run(dev, WRITE, 0, 3, 99), 0);
  EXPECT_EQ(value_of(dev, GET, 0, 3), 1u);
}

TEST_P(S8_Events, ArgumentReadOnly) {
  neuron_ioctl_semaphore arg = {0, 1, 1};
  EXPECT_EQ(io(SET, read_only_t(&arg, sizeof(arg)).page), 0);
  EXPECT_EQ(io(GET, read_only_t(&arg, sizeof(arg)).page), 12);
}
