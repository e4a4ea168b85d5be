// SPDX-License-Identifier: Apache-2.0
// Section 13: datastores.
#include <unistd.h>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S13_Datastore, V2_AND_V3);

namespace {

struct store_t {
  long rc;
  uint64_t offset;
  uint32_t size;
};

store_t acquire(const fd_t &fd, int32_t pid = 0) {
  neuron_ioctl_neuron_ds_info arg = {};
  arg.pid = pid;
  long rc = fd.io(NEURON_IOCTL_ACQUIRE_NEURON_DS, &arg);
  return {rc, arg.mmap_offset, arg.size};
}

long release(const fd_t &fd, int32_t pid = 0) {
  neuron_ioctl_neuron_ds_info arg = {};
  arg.pid = pid;
  return fd.io(NEURON_IOCTL_RELEASE_NEURON_DS, &arg);
}

// All bytes of a store, and a way to set them.
std::vector<uint8_t> content(const fd_t &fd, uint64_t offset, int fill = -1) {
  void *va = nullptr;
  EXPECT_EQ(fd.map(offset, 262144, PROT_READ | PROT_WRITE, &va), 0);
  if (va == nullptr)
    return {};
  if (fill >= 0)
    memset(va, fill, 262144);
  auto *bytes = static_cast<uint8_t *>(va);
  std::vector<uint8_t> out(bytes, bytes + 262144);
  EXPECT_EQ(fd.unmap(va, 262144), 0);
  return out;
}

}  // namespace

TEST_P(S13_Datastore, Acquire_OffsetAndSize) {
  store_t s = acquire(dev);
  EXPECT_EQ(s.rc, 0);
  EXPECT_EQ(s.size, 262144u);
  EXPECT_NE(s.offset & model().host_bit, 0u);  // host memory
  EXPECT_EQ(content(dev, s.offset), std::vector<uint8_t>(262144, 0));
}

TEST_P(S13_Datastore, Acquire_OwnIsReused) {
  store_t first = acquire(dev), second = acquire(dev);
  EXPECT_EQ(second.rc, 0);
  EXPECT_EQ(second.offset, first.offset);
  EXPECT_EQ(acquire(dev, getpid()).offset, first.offset);
}

TEST_P(S13_Datastore, Acquire_NeverUsedBeforeCleared) {
  NEEDS_BACKSTAGE();
  store_t first = acquire(dev);
  ASSERT_EQ(release(dev), 0);
  store_t second = acquire(open(OTHER));
  EXPECT_EQ(second.rc, 0);
  EXPECT_NE(second.offset, first.offset);
}

TEST_P(S13_Datastore, Acquire_LeastRecentlyClearedThenNone) {
  NEEDS_BACKSTAGE();
  std::vector<store_t> stores;
  // Not gated: descriptors inherited by unattached processes do.
  for (int32_t i = 0; i < 16; ++i) {
    stores.push_back(acquire(inherited(dev, OTHER + i)));
    ASSERT_EQ(stores.back().rc, 0);
    for (int32_t j = 0; j < i; ++j)
      EXPECT_NE(stores[j].offset, stores[i].offset);
  }
  EXPECT_EQ(acquire(dev).rc, -ENOMEM);
  for (int32_t i : {9, 2, 5})
    ASSERT_EQ(release(inherited(dev, OTHER + i)), 0);
  EXPECT_EQ(acquire(dev).offset, stores[9].offset);
  EXPECT_EQ(acquire(inherited(dev, OTHER + 16)).offset, stores[2].offset);
  EXPECT_EQ(acquire(inherited(dev, OTHER + 17)).offset, stores[5].offset);
  EXPECT_EQ(acquire(inherited(dev, OTHER + 18)).rc, -ENOMEM);
}

TEST_P(S13_Datastore, Acquire_OfAnotherProcess) {
  NEEDS_BACKSTAGE();
  EXPECT_EQ(acquire(dev, OTHER).rc, -ENOENT);
  EXPECT_EQ(acquire(dev, getpid()).rc, -ENOENT);  // pid is not 0, so none is taken
  store_t theirs = acquire(open(OTHER));
  store_t seen = acquire(dev, OTHER);
  EXPECT_EQ(seen.rc, 0);
  EXPECT_EQ(seen.offset, theirs.offset);
  EXPECT_EQ(seen.size, 262144u);
}

TEST_P(S13_Datastore, Release_ZeroesAndFrees) {
  store_t s = acquire(dev);
  content(dev, s.offset, 0x77);
  EXPECT_EQ(content(dev, s.offset), std::vector<uint8_t>(262144, 0x77));
  EXPECT_EQ(release(dev), 0);
  EXPECT_EQ(content(dev, s.offset), std::vector<uint8_t>(262144, 0));
  EXPECT_EQ(acquire(dev, getpid()).rc, -ENOENT);
}

TEST_P(S13_Datastore, Release_NoneIsSilent) {
  EXPECT_EQ(release(dev), 0);
  EXPECT_EQ(release(dev, 12345), 0);
  EXPECT_EQ(release(dev, -1), 0);
}

TEST_P(S13_Datastore, WritableByEveryProcess) {
  NEEDS_BACKSTAGE();
  store_t s = acquire(dev);
  content(open(OTHER), s.offset, 0x21);
  EXPECT_EQ(content(dev, s.offset), std::vector<uint8_t>(262144, 0x21));
}

TEST_P(S13_Datastore, ArgumentReadOnly) {
  neuron_ioctl_neuron_ds_info arg = {};
  EXPECT_EQ(io(NEURON_IOCTL_ACQUIRE_NEURON_DS, read_only_t(&arg, sizeof(arg)).page), 24);
}
