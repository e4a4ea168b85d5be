// SPDX-License-Identifier: Apache-2.0
// Section 11: core locks, core init, model count.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S11_Locks, V2_AND_V3);
CONFORMANCE_SUITE(S11_CoreInit, V2_AND_V3);

namespace {

constexpr uint32_t READ = NEURON_IOCTL_CRWL_READER_ENTER, READ_END = NEURON_IOCTL_CRWL_READER_EXIT,
                   WRITE = NEURON_IOCTL_CRWL_WRITER_ENTER,
                   DOWNGRADE = NEURON_IOCTL_CRWL_WRITER_DOWNGRADE;

long lock(const fd_t &fd, uint32_t request, uint32_t core, char uuid) {
  neuron_ioctl_crwl arg = {};
  arg.nc_id = core;
  memset(arg.uuid.value, uuid, sizeof(arg.uuid.value));
  return fd.io(request, &arg);
}

struct cinit_t {
  long rc;
  uint32_t state;
};

cinit_t cinit(const fd_t &fd, uint32_t core, uint32_t state) {
  neuron_ioctl_cinit_set arg = {core, state, 99};
  long rc = fd.io(NEURON_IOCTL_CINIT_SET_STATE, &arg);
  return {rc, arg.new_state};
}

// Runs and says how long it took.
template <typename Call>
std::pair<long, std::chrono::duration<double>> timed(Call call) {
  auto start = std::chrono::steady_clock::now();
  long rc = call();
  return {rc, std::chrono::steady_clock::now() - start};
}

}  // namespace

TEST_P(S11_Locks, CoreOutOfRange) {
  for (uint32_t request : {READ, READ_END, WRITE, DOWNGRADE}) {
    EXPECT_EQ(lock(dev, request, 8, 'a'), -EINVAL);
    EXPECT_EQ(lock(dev, request, UINT32_MAX, 'a'), -EINVAL);
  }
  // 8 on every chip.
  EXPECT_EQ(lock(dev, WRITE, 7, 'a'), 0);
}

TEST_P(S11_Locks, WriterThenReaders) {
  EXPECT_EQ(lock(dev, WRITE, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, DOWNGRADE, 0, 'a'), 0);  // one reader
  EXPECT_EQ(lock(dev, READ, 0, 'a'), 0);       // two
  EXPECT_EQ(lock(dev, READ_END, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, READ_END, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, READ_END, 0, 'a'), -EINVAL);  // none left
  EXPECT_EQ(lock(dev, WRITE, 0, 'b'), 0);
  // Cores are independent.
  EXPECT_EQ(lock(dev, WRITE, 1, 'a'), 0);
}

// EALREADY holds the writer bit: the caller must still downgrade.
TEST_P(S11_Locks, WriterEnter_SameProcessAndUuid) {
  ASSERT_EQ(lock(dev, WRITE, 0, 'a'), 0);
  ASSERT_EQ(lock(dev, DOWNGRADE, 0, 'a'), 0);
  ASSERT_EQ(lock(dev, READ_END, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, WRITE, 0, 'a'), -EALREADY);
  EXPECT_EQ(lock(dev, DOWNGRADE, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, READ_END, 0, 'a'), 0);
}

TEST_P(S11_Locks, WriterEnter_OtherUuidTakesOver) {
  ASSERT_EQ(lock(dev, WRITE, 0, 'a'), 0);
  ASSERT_EQ(lock(dev, DOWNGRADE, 0, 'a'), 0);
  ASSERT_EQ(lock(dev, READ_END, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, WRITE, 0, 'b'), 0);
  EXPECT_EQ(lock(dev, DOWNGRADE, 0, 'a'), -ENOENT);
  EXPECT_EQ(lock(dev, DOWNGRADE, 0, 'b'), 0);
}

TEST_P(S11_Locks, WriterDowngrade) {
  NEEDS_BACKSTAGE();
  EXPECT_EQ(lock(dev, DOWNGRADE, 0, 'a'), -EINVAL);  // no writer
  ASSERT_EQ(lock(dev, WRITE, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, DOWNGRADE, 0, 'b'), -ENOENT);
  EXPECT_EQ(lock(open(OTHER), DOWNGRADE, 0, 'a'), -ENOENT);
  EXPECT_EQ(lock(dev, DOWNGRADE, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, DOWNGRADE, 0, 'a'), -EINVAL);
}

TEST_P(S11_Locks, ReaderEnter) {
  NEEDS_BACKSTAGE();
  EXPECT_EQ(lock(dev, READ, 0, 'a'), -ENOENT);  // nobody has written
  ASSERT_EQ(lock(dev, WRITE, 0, 'a'), 0);
  ASSERT_EQ(lock(dev, DOWNGRADE, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, READ, 0, 'b'), -ENOENT);
  EXPECT_EQ(lock(open(OTHER), READ, 0, 'a'), -ENOENT);
  EXPECT_EQ(lock(dev, READ, 0, 'a'), 0);
}

TEST_P(S11_Locks, ReaderExit) {
  NEEDS_BACKSTAGE();
  EXPECT_EQ(lock(dev, READ_END, 0, 'a'), -ENOENT);
  ASSERT_EQ(lock(dev, WRITE, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, READ_END, 0, 'a'), -EINVAL);  // a writer, no readers
  ASSERT_EQ(lock(dev, DOWNGRADE, 0, 'a'), 0);
  EXPECT_EQ(lock(dev, READ_END, 0, 'b'), -ENOENT);
  EXPECT_EQ(lock(open(OTHER), READ_END, 0, 'a'), -ENOENT);
  EXPECT_EQ(lock(dev, READ_END, 0, 'a'), 0);
  // Identity before the count.
  EXPECT_EQ(lock(dev, READ_END, 0, 'b'), -ENOENT);
}

TEST_P(S11_CoreInit, OutOfRange) {
  for (uint32_t state : {0u, 1u, 2u, 3u})
    EXPECT_EQ(cinit(dev, model().cores, state).rc, -E2BIG);
  EXPECT_EQ(cinit(dev, UINT32_MAX, 1).rc, -E2BIG);
}

TEST_P(S11_CoreInit, StartedFromInvalid) {
  for (uint32_t core = 0; core < model().cores; ++core) {
    cinit_t c = cinit(dev, core, NEURON_CINIT_STARTED);
    EXPECT_EQ(c.rc, 0);
    EXPECT_EQ(c.state, 1u);
  }
}

TEST_P(S11_CoreInit, CompletedOnlyFromStarted) {
  cinit_t c = cinit(dev, 0, NEURON_CINIT_COMPLETED);
  EXPECT_EQ(c.rc, 0);
  EXPECT_EQ(c.state, 3u);  // ignored: still invalid
  cinit(dev, 0, NEURON_CINIT_STARTED);
  EXPECT_EQ(cinit(dev, 0, NEURON_CINIT_COMPLETED).state, 2u);
  // From completed, "started" changes nothing and does not wait.
  EXPECT_EQ(cinit(dev, 0, NEURON_CINIT_STARTED).state, 2u);
}

TEST_P(S11_CoreInit, OtherValuesAreIgnored) {
  for (uint32_t state : {0u, 3u, 4u, UINT32_MAX}) {
    cinit_t c = cinit(dev, 1, state);
    EXPECT_EQ(c.rc, 0);
    EXPECT_EQ(c.state, 3u);
  }
  cinit(dev, 1, NEURON_CINIT_STARTED);
  for (uint32_t state : {0u, 3u, 4u})
    EXPECT_EQ(cinit(dev, 1, state).state, 1u);
}

TEST_P(S11_CoreInit, StartedWaitsForCompleted) {
  ASSERT_EQ(cinit(dev, 0, NEURON_CINIT_STARTED).state, 1u);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cinit(dev, 0, NEURON_CINIT_COMPLETED);
  });
  cinit_t c = cinit(dev, 0, NEURON_CINIT_STARTED);
  other.join();
  EXPECT_EQ(c.rc, 0);
  EXPECT_EQ(c.state, 2u);
}

TEST_P(S11_CoreInit, NotTiedToAProcess) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  cinit(other, 0, NEURON_CINIT_STARTED);
  cinit(other, 0, NEURON_CINIT_COMPLETED);
  backstage().exit(OTHER);
  EXPECT_EQ(cinit(dev, 0, NEURON_CINIT_STARTED).state, 2u);
}

TEST_P(S11_CoreInit, ModelStartedCount) {
  neuron_ioctl_nc_model_started_count arg = {};
  arg.nc_id = model().cores;
  EXPECT_EQ(io(NEURON_IOCTL_NC_MODEL_STARTED_COUNT, &arg), -E2BIG);
  arg.nc_id = model().cores - 1;
  arg.started_count = 99;
  EXPECT_EQ(io(NEURON_IOCTL_NC_MODEL_STARTED_COUNT, &arg), 0);
  EXPECT_EQ(arg.started_count, 0u);
}

TEST_P(S11_CoreInit, ArgumentReadOnly) {
  neuron_ioctl_cinit_set set = {0, 3, 0};
  EXPECT_EQ(io(NEURON_IOCTL_CINIT_SET_STATE, read_only_t(&set, sizeof(set)).page), 12);
  neuron_ioctl_nc_model_started_count count = {};
  EXPECT_EQ(io(NEURON_IOCTL_NC_MODEL_STARTED_COUNT, read_only_t(&count, sizeof(count)).page), 16);
}

// The waits, all of them at once: each blocks a thread for as long as the driver would.
TEST(S11_Waits, AllRunOut) {
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<target_t>> targets;
  for (const case_t &param : cases_of({"trn2.3xlarge"})) {
    targets.push_back(std::make_unique<target_t>(param));
    target_t *target = targets.back().get();
    fd_t fd = {target, SELF, target->ops->open(target->be, 0, HAL_LANE_DEVICE)};
    ASSERT_GE(fd.fd, 0);
    // Core 0: a writer; core 1: a reader; core 2: started and never completed.
    ASSERT_EQ(lock(fd, WRITE, 0, 'a'), 0);
    ASSERT_EQ(lock(fd, WRITE, 1, 'a'), 0);
    ASSERT_EQ(lock(fd, DOWNGRADE, 1, 'a'), 0);
    ASSERT_EQ(cinit(fd, 2, NEURON_CINIT_STARTED).state, 1u);
    for (uint32_t core : {0u, 1u}) {
      threads.emplace_back([fd, core] {
        auto [rc, time] = timed([&] { return lock(fd, WRITE, core, 'b'); });
        EXPECT_EQ(rc, -EBUSY) << core;
        EXPECT_GE(time.count(), 2.0);
      });
    }
    threads.emplace_back([fd] {
      auto [rc, time] = timed([&] { return lock(fd, READ, 0, 'a'); });
      EXPECT_EQ(rc, -EBUSY);
      EXPECT_GE(time.count(), 0.5);
    });
    threads.emplace_back([fd] {
      cinit_t c = {};
      auto [rc, time] = timed([&] {
        c = cinit(fd, 2, NEURON_CINIT_STARTED);
        return c.rc;
      });
      EXPECT_EQ(rc, 0);
      EXPECT_EQ(c.state, 1u);
      EXPECT_GE(time.count(), 5.0);
    });
  }
  for (std::thread &t : threads)
    t.join();
}
