// SPDX-License-Identifier: Apache-2.0
// Section 4: opening, closing and what the last close of a process cleans up (uapi.md 10).
#include <unistd.h>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S4_Open, V2_AND_V3);
CONFORMANCE_SUITE(S4_Close, V2_AND_V3);

namespace {

long claim(const fd_t &fd, uint32_t first, uint32_t last, uint32_t count) {
  neuron_ioctl_crwl_nc_map_ext arg = {};
  arg.nc_count = count;
  arg.start_nc_index = first;
  arg.end_nc_index = last;
  return fd.io(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &arg);
}

neuron_ioctl_crwl lock_of(uint32_t core, uint8_t fill) {
  neuron_ioctl_crwl arg = {};
  arg.nc_id = core;
  memset(arg.uuid.value, fill, sizeof(arg.uuid.value));
  return arg;
}

neuron_ioctl_neuron_ds_info datastore(const fd_t &fd) {
  neuron_ioctl_neuron_ds_info ds = {};
  EXPECT_EQ(fd.io(NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), 0);
  return ds;
}

uint32_t first_word(const fd_t &fd, uint64_t offset) {
  void *va = nullptr;
  EXPECT_EQ(fd.map(offset, NEURON_DATASTORE_SIZE, PROT_READ, &va), 0);
  if (va == nullptr)
    return 0xdead;
  uint32_t word = *static_cast<uint32_t *>(va);
  EXPECT_EQ(fd.unmap(va, NEURON_DATASTORE_SIZE), 0);
  return word;
}

void write_word(const fd_t &fd, uint64_t offset, uint32_t word) {
  void *va = nullptr;
  ASSERT_EQ(fd.map(offset, NEURON_DATASTORE_SIZE, PROT_READ | PROT_WRITE, &va), 0);
  *static_cast<uint32_t *>(va) = word;
  EXPECT_EQ(fd.unmap(va, NEURON_DATASTORE_SIZE), 0);
}

}  // namespace

TEST_P(S4_Open, Step4_AttachesTheProcess) {
  NEEDS_BACKSTAGE();
  EXPECT_FALSE(usage_of(dev, OTHER).found);
  fd_t other = open(OTHER);
  EXPECT_TRUE(usage_of(dev, OTHER).found);
  EXPECT_EQ(other.close(), 0);
  EXPECT_FALSE(usage_of(dev, OTHER).found);
  EXPECT_TRUE(usage_of(dev, getpid()).found);
}

TEST_P(S4_Open, Step4_SixteenSlots) {
  NEEDS_BACKSTAGE();
  std::vector<fd_t> fds;
  for (int32_t i = 0; i < 15; ++i)
    fds.push_back(open(OTHER + i));
  EXPECT_EQ(backstage().open(OTHER + 15, 0, HAL_LANE_DEVICE), -EBUSY);
  // A process that has a slot opens again; the misc lane needs none.
  fd_t again = open(OTHER);
  open(OTHER + 15, HAL_LANE_MISC);
  EXPECT_EQ(again.close(), 0);
  EXPECT_EQ(backstage().open(OTHER + 15, 0, HAL_LANE_DEVICE), -EBUSY);
  EXPECT_EQ(fds[3].close(), 0);
  open(OTHER + 15);
}

TEST_P(S4_Open, MiscLaneDoesNotAttach) {
  NEEDS_BACKSTAGE();
  open(OTHER, HAL_LANE_MISC);
  EXPECT_FALSE(usage_of(dev, OTHER).found);
}

TEST_P(S4_Open, NoSuchDevice) {
  EXPECT_EQ(target->ops->open(target->be, 1, HAL_LANE_DEVICE), -ENOENT);
  EXPECT_EQ(target->ops->open(target->be, 63, HAL_LANE_MISC), -ENOENT);
}

TEST_P(S4_Close, OnlyTheLastCloseOfAProcessCleansUp) {
  fd_t second = open(SELF);
  chunk_t c = alloc(dev);
  EXPECT_EQ(second.close(), 0);
  EXPECT_EQ(pa_of(dev, c.handle).rc, 0);
}

TEST_P(S4_Close, DuplicateCleansUpAndDetaches) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  chunk_t c = alloc(other);
  int copy = backstage().dup(OTHER, other.fd);
  ASSERT_GE(copy, 0);
  EXPECT_EQ(backstage().close(OTHER, copy), 0);
  // The descriptor is open, its process is not attached any more, its chunk is gone.
  EXPECT_EQ(pa_of(other, c.handle).rc, -EACCES);
  EXPECT_EQ(pa_of(dev, c.handle).rc, -EINVAL);
  EXPECT_EQ(extended_info(other, c.handle).rc, 22);
}

TEST_P(S4_Close, UnattachedProcessChangesNothing) {
  NEEDS_BACKSTAGE();
  chunk_t c = alloc(dev);
  int inherited = backstage().dup(OTHER, dev.fd);  // as a forked child holds it
  ASSERT_GE(inherited, 0);
  EXPECT_EQ(backstage().close(OTHER, inherited), 0);
  EXPECT_EQ(pa_of(dev, c.handle).rc, 0);
}

TEST_P(S4_Close, Row5_LocksHeldAsWriterAreCleared) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  neuron_ioctl_crwl lock = lock_of(1, 0x11);
  ASSERT_EQ(other.io(NEURON_IOCTL_CRWL_WRITER_ENTER, &lock), 0);
  EXPECT_EQ(other.close(), 0);
  EXPECT_EQ(io(NEURON_IOCTL_CRWL_WRITER_ENTER, &lock), 0);
}

TEST_P(S4_Close, Row6_DatastoreIsZeroedAndFreed) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  neuron_ioctl_neuron_ds_info ds = datastore(other);
  write_word(other, ds.mmap_offset, 0x12345678);
  EXPECT_EQ(first_word(dev, ds.mmap_offset), 0x12345678u);
  EXPECT_EQ(other.close(), 0);
  EXPECT_EQ(first_word(dev, ds.mmap_offset), 0u);
  neuron_ioctl_neuron_ds_info ask = {};
  ask.pid = OTHER;
  EXPECT_EQ(io(NEURON_IOCTL_ACQUIRE_NEURON_DS, &ask), -ENOENT);
}

TEST_P(S4_Close, Row7_ChunksAreFreed) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  chunk_t mine = alloc(dev), theirs = alloc(other), host = alloc(other, {.host = true});
  EXPECT_EQ(other.close(), 0);
  EXPECT_EQ(pa_of(dev, mine.handle).rc, 0);
  EXPECT_EQ(pa_of(dev, theirs.handle).rc, -EINVAL);
  EXPECT_EQ(pa_of(dev, host.handle).rc, -EINVAL);
  EXPECT_EQ(chunk_at(dev, theirs.pa).rc, -ENOMEM);
  // The space is free again.
  EXPECT_EQ(alloc(dev).pa, theirs.pa);
}

TEST_P(S4_Close, Exit_CleansUpLikeClose) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  open(OTHER);
  chunk_t theirs = alloc(other);
  backstage().exit(OTHER);
  EXPECT_EQ(pa_of(dev, theirs.handle).rc, -EINVAL);
  EXPECT_FALSE(usage_of(dev, OTHER).found);
}

TEST_P(S4_Close, LastReference_ZeroesAllDatastores) {
  neuron_ioctl_neuron_ds_info ds = datastore(dev);
  write_word(dev, ds.mmap_offset, 0x12345678);
  EXPECT_EQ(dev.close(), 0);
  dev = open(SELF);
  EXPECT_EQ(first_word(dev, ds.mmap_offset), 0u);
  // Unowned: this process gets the first store anew.
  neuron_ioctl_neuron_ds_info ask = {};
  ask.pid = getpid();
  EXPECT_EQ(io(NEURON_IOCTL_ACQUIRE_NEURON_DS, &ask), -ENOENT);
}

TEST_P(S4_Close, NotReleased_CoreClaims) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  ASSERT_EQ(claim(other, 0, 0, 1), 0);
  EXPECT_EQ(other.close(), 0);
  EXPECT_EQ(claim(misc, 0, 0, 1), -EBUSY);
}

TEST_P(S4_Close, NotReleased_CoreInitState) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  neuron_ioctl_cinit_set state = {0, NEURON_CINIT_STARTED, 0};
  ASSERT_EQ(other.io(NEURON_IOCTL_CINIT_SET_STATE, &state), 0);
  state = {0, NEURON_CINIT_COMPLETED, 0};
  ASSERT_EQ(other.io(NEURON_IOCTL_CINIT_SET_STATE, &state), 0);
  EXPECT_EQ(other.close(), 0);
  state = {0, NEURON_CINIT_STARTED, 0};
  EXPECT_EQ(io(NEURON_IOCTL_CINIT_SET_STATE, &state), 0);
  EXPECT_EQ(state.new_state, 2u);
}

TEST_P(S4_Close, Misc_DropsAllClaimsOfTheProcess) {
  ASSERT_EQ(claim(misc, 0, 0, 1), 0);
  fd_t second = open(SELF, HAL_LANE_MISC);
  ASSERT_EQ(claim(second, 1, 1, 1), 0);
  // Closing either drops both.
  EXPECT_EQ(second.close(), 0);
  EXPECT_EQ(claim(misc, 0, 1, 2), 0);
}

TEST_P(S4_Close, Misc_LeavesOtherProcessesClaims) {
  NEEDS_BACKSTAGE();
  ASSERT_EQ(claim(misc, 0, 0, 1), 0);
  EXPECT_EQ(open(OTHER, HAL_LANE_MISC).close(), 0);
  EXPECT_EQ(claim(misc, 0, 0, 1), -EBUSY);
}
