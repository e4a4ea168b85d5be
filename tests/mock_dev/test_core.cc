// SPDX-License-Identifier: Apache-2.0
// Core claims, core locks, core init (mock-device-semantics.md 10 and 11).
#include <chrono>
#include <thread>

#include "tests/mock_dev/mock_fixture.h"

namespace {

struct claim_t {
  long rc;
  uint64_t bits[8];
  uint32_t available;
};

claim_t claim_as(machine_t &m, int32_t tgid, int fd, uint32_t count, uint32_t start, uint32_t end) {
  neuron_ioctl_crwl_nc_map_ext a = {};
  a.nc_count = count;
  a.start_nc_index = start;
  a.end_nc_index = end;
  claim_t c = {};
  c.rc = mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &a);
  memcpy(c.bits, a.bitmap, sizeof(c.bits));
  c.available = a.max_nc_available;
  return c;
}

claim_t claim(machine_t &m, uint32_t count, uint32_t start, uint32_t end) {
  return claim_as(m, PID, m.misc, count, start, end);
}

long unclaim_as(machine_t &m, int32_t tgid, int fd, uint64_t bits) {
  neuron_ioctl_crwl_nc_map_ext a = {};
  a.bitmap[0] = bits;
  return mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_CRWL_NC_RANGE_UNMARK_EXT0, &a);
}

}  // namespace

TEST(Claims, TakesTheFirstRunThatFits) {
  machine_t m;
  EXPECT_EQ(claim(m, 2, 0, 7).bits[0], 0x3u);
  EXPECT_EQ(claim(m, 2, 0, 7).bits[0], 0xcu);  // own claims block like anyone's
  EXPECT_EQ(claim(m, 2, 6, 7).bits[0], 0xc0u);
  claim_t c = claim(m, 3, 0, 7);
  EXPECT_EQ(c.rc, -EBUSY);
  EXPECT_EQ(c.available, 2u);
  EXPECT_EQ(claim(m, 2, 0, 7).bits[0], 0x30u);
  c = claim(m, 1, 0, 7);
  EXPECT_EQ(c.rc, -EBUSY);
  EXPECT_EQ(c.available, 0u);
}

// Free, claimed, free, free: two are there, and the search misses them.
TEST(Claims, NeverStartsRightAfterTheBlocker) {
  machine_t m;
  ASSERT_EQ(claim(m, 1, 1, 1).rc, 0);
  claim_t c = claim(m, 2, 0, 3);
  EXPECT_EQ(c.rc, -EBUSY);
  EXPECT_EQ(c.available, 1u);
  EXPECT_EQ(claim(m, 2, 1, 3).bits[0], 0xcu);  // starting at the blocker it finds them
}

TEST(Claims, Refusals) {
  machine_t m;
  EXPECT_EQ(claim(m, 1, 3, 2).rc, -EINVAL);
  EXPECT_EQ(claim(m, 1, 0, 512).rc, -EINVAL);
  EXPECT_EQ(claim(m, 1, 512, 512).rc, -EINVAL);
  claim_t none = claim(m, 0, 0, 7);
  EXPECT_EQ(none.rc, 0);
  EXPECT_EQ(none.bits[0], 0u);
  EXPECT_EQ(claim(m, 1, 511, 511).bits[7], 1ull << 63);  // cores that do not exist
  EXPECT_EQ(claim(m, 8, 0, 7).rc, 0);
  EXPECT_EQ(claim(m, 0, 0, 7).rc, -EBUSY);  // no free core in the range
}

TEST(Claims, NarrowForm) {
  machine_t m;
  neuron_ioctl_crwl_nc_map a = {2, 4, 63, 0, 0};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK, &a), 0);
  EXPECT_EQ(a.bitmap, 0x30u);
  a = {2, 4, 64, 0, 0};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK, &a), -EINVAL);
  a = {0, 0, 0, 0, 0x10};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_UNMARK, &a), 0);
  EXPECT_EQ(claim(m, 1, 4, 7).bits[0], 0x10u);
  a = {5, 4, 7, 0, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_CRWL_NC_RANGE_MARK, &a), -EBUSY);  // on the device lane too
  EXPECT_EQ(a.max_nc_available, 2u);
}

TEST(Claims, RelativeToTheOpenedDevice) {
  machine_t m("trn2.48xlarge");
  int third = mock_open(m.host, PID, "/dev/neuron3", O_WRONLY);
  EXPECT_EQ(claim_as(m, PID, third, 2, 0, 7).bits[0], 0x3u);
  claim_t c = claim(m, 2, 24, 31);  // cores 24 and 25 of the machine are taken
  EXPECT_EQ(c.bits[0], 0xcull << 24);
  EXPECT_EQ(claim_as(m, PID, third, 1, 0, 511 - 24).rc, 0);
  EXPECT_EQ(claim_as(m, PID, third, 1, 0, 512 - 24).rc, -EINVAL);  // beyond the table
  EXPECT_EQ(unclaim_as(m, PID, third, 0x3), 0);
  EXPECT_EQ(claim(m, 2, 24, 31).bits[0], 0x3ull << 24);
}

TEST(Claims, OnlyTheOwnerGivesBack) {
  machine_t m;
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_WRONLY);
  ASSERT_EQ(claim(m, 2, 0, 7).rc, 0);
  ASSERT_EQ(claim_as(m, PID + 1, other, 2, 0, 7).rc, 0);
  EXPECT_EQ(unclaim_as(m, PID + 1, other, 0xff), 0);
  EXPECT_EQ(claim_as(m, PID + 1, other, 2, 0, 7).bits[0], 0xcu);
}

TEST(Claims, BitmapCannotBeStored) {
  machine_t m;
  bad_range_t range;
  auto *a = reinterpret_cast<neuron_ioctl_crwl_nc_map_ext *>(range.base);
  *a = {};
  a->nc_count = 1;
  a->end_nc_index = 7;
  ASSERT_EQ(mprotect(range.base, range.good, PROT_READ), 0);
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, a), 80);
}

namespace {

std::vector<std::string> log_lines(machine_t &m, uint64_t *next) {
  std::vector<std::string> lines;
  char line[700];
  while (mock_kernel_log_read(m.host, next, line, sizeof(line)) >= 0)
    lines.emplace_back(line);
  return lines;
}

}  // namespace

TEST(Claims, PidStateDump) {
  machine_t m;
  uint64_t next = 0;
  neuron_ioctl_nc_pid_state_dump a = {};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_NC_PID_STATE_DUMP, &a), 0);
  a.nc_id = 512;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_NC_PID_STATE_DUMP, &a), -ENOENT);
  a.nc_id = 100;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_NC_PID_STATE_DUMP, &a), 0);
  ASSERT_EQ(claim(m, 1, 100, 100).rc, 0);
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_NC_PID_STATE_DUMP, &a), -EPERM);  // no such device
  EXPECT_TRUE(log_lines(m, &next).empty());
  // A claimed core of a device that exists: its owner, then who is attached.
  mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  ASSERT_EQ(claim(m, 1, 3, 3).rc, 0);
  a.nc_id = 3;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_NC_PID_STATE_DUMP, &a), 0);
  std::vector<std::string> lines = log_lines(m, &next);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[0].find("nd0 nc3: owner pid 100,"), std::string::npos);
  EXPECT_NE(lines[1].find("pid 100,"), std::string::npos);
  EXPECT_NE(lines[2].find("pid 101,"), std::string::npos);
  a.filter_log_owner = 1;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_NC_PID_STATE_DUMP, &a), 0);
  EXPECT_EQ(log_lines(m, &next).size(), 2u);
  a.log_dump_limit = 1;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_NC_PID_STATE_DUMP, &a), 0);
  EXPECT_EQ(log_lines(m, &next).size(), 1u);
}

namespace {

long lock_as(machine_t &m, int32_t tgid, uint32_t request, uint32_t core, uint8_t uuid) {
  neuron_ioctl_crwl a = {};
  a.nc_id = core;
  a.uuid.value[0] = uuid;
  return mock_ioctl(m.host, tgid, m.fd, request, &a);
}

constexpr uint32_t WRITE = NEURON_IOCTL_CRWL_WRITER_ENTER;
constexpr uint32_t DOWN = NEURON_IOCTL_CRWL_WRITER_DOWNGRADE;
constexpr uint32_t READ = NEURON_IOCTL_CRWL_READER_ENTER;
constexpr uint32_t EXIT = NEURON_IOCTL_CRWL_READER_EXIT;

}  // namespace

TEST(CoreLock, LifeCycle) {
  machine_t m;
  for (uint32_t r : {WRITE, DOWN, READ, EXIT})
    EXPECT_EQ(lock_as(m, PID, r, 8, 1), -EINVAL);
  EXPECT_EQ(lock_as(m, PID, DOWN, 0, 1), -EINVAL);  // no writer
  EXPECT_EQ(lock_as(m, PID, READ, 0, 1), -ENOENT);  // nobody's model
  EXPECT_EQ(lock_as(m, PID, WRITE, 0, 1), 0);
  EXPECT_EQ(lock_as(m, PID, DOWN, 0, 2), -ENOENT);
  EXPECT_EQ(lock_as(m, PID + 1, DOWN, 0, 1), -ENOENT);
  EXPECT_EQ(lock_as(m, PID, DOWN, 0, 1), 0);
  EXPECT_EQ(lock_as(m, PID, DOWN, 0, 1), -EINVAL);
  EXPECT_EQ(lock_as(m, PID, READ, 0, 1), 0);
  EXPECT_EQ(lock_as(m, PID, READ, 0, 2), -ENOENT);
  EXPECT_EQ(lock_as(m, PID + 1, READ, 0, 1), -ENOENT);
  EXPECT_EQ(lock_as(m, PID, EXIT, 0, 3), -ENOENT);
  EXPECT_EQ(lock_as(m, PID, EXIT, 0, 1), 0);
  EXPECT_EQ(lock_as(m, PID, EXIT, 0, 1), 0);
  EXPECT_EQ(lock_as(m, PID, EXIT, 0, 1), -EINVAL);  // no reader left
  // Same process and model again: told so, and still holding the writer bit.
  EXPECT_EQ(lock_as(m, PID, WRITE, 0, 1), -EALREADY);
  EXPECT_EQ(lock_as(m, PID, DOWN, 0, 1), 0);
  EXPECT_EQ(lock_as(m, PID, EXIT, 0, 1), 0);
  EXPECT_EQ(lock_as(m, PID, WRITE, 0, 2), 0);  // another model
}

TEST(CoreLock, WaitsThenBusy) {
  machine_t m;
  ASSERT_EQ(lock_as(m, PID, WRITE, 1, 1), 0);
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(lock_as(m, PID, READ, 1, 1), -EBUSY);
  auto waited = std::chrono::steady_clock::now() - start;
  EXPECT_GE(waited, std::chrono::milliseconds(450));
  // A lock that comes free while somebody waits.
  std::thread helper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(lock_as(m, PID, DOWN, 1, 1), 0);
    EXPECT_EQ(lock_as(m, PID, EXIT, 1, 1), 0);
  });
  EXPECT_EQ(lock_as(m, PID + 1, WRITE, 1, 9), 0);
  helper.join();
}

TEST(CoreLock, LastCloseClearsWriters) {
  machine_t m;
  int b = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  ASSERT_EQ(lock_as(m, PID + 1, WRITE, 0, 1), 0);
  ASSERT_EQ(mock_close(m.host, PID + 1, b), 0);
  EXPECT_EQ(lock_as(m, PID, WRITE, 0, 2), 0);
}

namespace {

long init_core(machine_t &m, uint32_t core, uint32_t state, uint32_t *now) {
  neuron_ioctl_cinit_set a = {core, state, 0};
  long rc = m.io(NEURON_IOCTL_CINIT_SET_STATE, &a);
  *now = a.new_state;
  return rc;
}

}  // namespace

TEST(CoreInit, States) {
  machine_t m;
  uint32_t now = 0;
  EXPECT_EQ(init_core(m, 8, 1, &now), -E2BIG);
  EXPECT_EQ(init_core(m, 0, 0, &now), 0);
  EXPECT_EQ(now, 3u);  // invalid at first; an unknown wish is ignored
  EXPECT_EQ(init_core(m, 0, 2, &now), 0);
  EXPECT_EQ(now, 3u);  // completed only comes after started
  EXPECT_EQ(init_core(m, 0, 1, &now), 0);
  EXPECT_EQ(now, 1u);
  EXPECT_EQ(init_core(m, 0, 3, &now), 0);
  EXPECT_EQ(now, 1u);
  EXPECT_EQ(init_core(m, 0, 2, &now), 0);
  EXPECT_EQ(now, 2u);
  EXPECT_EQ(init_core(m, 0, 1, &now), 0);
  EXPECT_EQ(now, 2u);
  EXPECT_EQ(init_core(m, 7, 1, &now), 0);  // each core for itself
  EXPECT_EQ(now, 1u);
  machine_t v2("trn1.2xlarge");
  EXPECT_EQ(init_core(v2, 2, 1, &now), -E2BIG);
}

TEST(CoreInit, SecondStarterWaitsForCompletion) {
  machine_t m;
  uint32_t now = 0;
  ASSERT_EQ(init_core(m, 0, 1, &now), 0);
  std::thread helper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    uint32_t done;
    EXPECT_EQ(init_core(m, 0, 2, &done), 0);
  });
  EXPECT_EQ(init_core(m, 0, 1, &now), 0);
  EXPECT_EQ(now, 2u);
  helper.join();
}

TEST(CoreInit, ModelStartedCount) {
  machine_t m;
  neuron_ioctl_nc_model_started_count a = {7, 55};
  EXPECT_EQ(m.io(NEURON_IOCTL_NC_MODEL_STARTED_COUNT, &a), 0);
  EXPECT_EQ(a.started_count, 0u);
  a.nc_id = 8;
  EXPECT_EQ(m.io(NEURON_IOCTL_NC_MODEL_STARTED_COUNT, &a), -E2BIG);
}
