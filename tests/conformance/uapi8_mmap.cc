// SPDX-License-Identifier: Apache-2.0
// uapi.md 8: mmap and its decision order.
#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(U8_Mmap, V2_AND_V3);
CONFORMANCE_SUITE(U8_Special, V2_AND_V3);
CONFORMANCE_SUITE(U8_WholeHbm, "trn2.3xlarge");

namespace {

constexpr int RW = PROT_READ | PROT_WRITE;

// Writes through one mapping, reads through another.
void expect_shared(const fd_t &fd, uint64_t offset, uint64_t size) {
  void *a = nullptr, *b = nullptr;
  ASSERT_EQ(fd.map(offset, size, RW, &a), 0);
  ASSERT_EQ(fd.map(offset, size, PROT_READ, &b), 0);
  std::vector<uint8_t> data = pattern(64, static_cast<uint32_t>(offset));
  memcpy(static_cast<uint8_t *>(a) + size - 64, data.data(), 64);
  EXPECT_EQ(memcmp(static_cast<uint8_t *>(b) + size - 64, data.data(), 64), 0);
  EXPECT_EQ(fd.unmap(a, size), 0);
  EXPECT_EQ(fd.unmap(b, size), 0);
}

// Whether the page may be written, found without a fault.
bool writable(void *va) {
  int zero = ::open("/dev/zero", O_RDONLY);
  EXPECT_GE(zero, 0);
  ssize_t got = read(zero, va, 1);
  ::close(zero);
  return got == 1;
}

neuron_ioctl_resource_mmap_info resource(const fd_t &fd, uint32_t block, uint32_t id,
                                         uint32_t kind) {
  neuron_ioctl_resource_mmap_info arg = {};
  arg.block = block;
  arg.block_id = id;
  arg.resource = kind;
  EXPECT_EQ(fd.io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg), 0);
  return arg;
}

}  // namespace

TEST_P(U8_Mmap, Step1_WholeChunk) {
  for (bool host : {false, true}) {
    chunk_t c = alloc(dev, {.size = 3 * PAGE, .host = host});
    void *va = nullptr;
    ASSERT_EQ(dev.map(c.pa, 3 * PAGE, RW, &va), 0);
    std::vector<uint8_t> data = pattern(3 * PAGE, host);
    memcpy(va, data.data(), data.size());
    EXPECT_EQ(bytes_of(dev, c.handle, 0, data.size()), data);
    EXPECT_EQ(dev.unmap(va, 3 * PAGE), 0);
  }
}

TEST_P(U8_Mmap, Step1_OffsetInsideMovesToTheStart) {
  chunk_t c = alloc(dev, {.size = 3 * PAGE});
  std::vector<uint8_t> data = pattern(3 * PAGE, 7);
  ASSERT_EQ(buf_write(dev, c.handle, 0, data.data(), data.size()), 0);
  void *va = nullptr;
  ASSERT_EQ(dev.map(c.pa + PAGE, 3 * PAGE, PROT_READ, &va), 0);
  EXPECT_EQ(memcmp(va, data.data(), data.size()), 0);
  EXPECT_EQ(dev.unmap(va, 3 * PAGE), 0);
}

TEST_P(U8_Mmap, Step1b_Category19MayRunPastTheChunk) {
  uint32_t contiguous = NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE;
  chunk_t a = alloc(dev, {.size = MIB, .category = contiguous});
  chunk_t b = alloc(dev, {.size = MIB, .category = contiguous});
  ASSERT_EQ(b.pa + MIB, a.pa);
  std::vector<uint8_t> data = pattern(PAGE, 9);
  ASSERT_EQ(buf_write(dev, a.handle, 0, data.data(), PAGE), 0);
  void *va = nullptr;
  ASSERT_EQ(dev.map(b.pa, 2 * MIB, PROT_READ, &va), 0);
  EXPECT_EQ(memcmp(static_cast<uint8_t *>(va) + MIB, data.data(), PAGE), 0);
  EXPECT_EQ(dev.unmap(va, 2 * MIB), 0);
  ASSERT_EQ(dev.map(b.pa, PAGE, PROT_READ, &va), 0);
  EXPECT_EQ(dev.unmap(va, PAGE), 0);
  // Not beyond the main pool.
  EXPECT_EQ(dev.map(b.pa, 2 * MIB + PAGE, PROT_READ, &va), -EPERM);
}

TEST_P(U8_Mmap, Step4_Eperm) {
  chunk_t c = alloc(dev, {.size = 2 * MIB});
  void *va = nullptr;
  EXPECT_EQ(dev.map(c.pa, MIB, PROT_READ, &va), -EPERM);             // part of a chunk
  EXPECT_EQ(dev.map(c.pa + MIB, MIB, PROT_READ, &va), -EPERM);       // its other part
  EXPECT_EQ(dev.map(c.pa, 2 * MIB + PAGE, PROT_READ, &va), -EPERM);  // more than it
  EXPECT_EQ(dev.map(c.pa + 2 * MIB, MIB, PROT_READ, &va), -EPERM);   // no chunk
  EXPECT_EQ(dev.map(1ull << 60, PAGE, PROT_READ, &va), -EPERM);
}

TEST_P(U8_Mmap, ForeignChunkIsReadOnly) {
  NEEDS_BACKSTAGE();
  chunk_t c = alloc(dev);
  fd_t other = open(OTHER);
  void *va = nullptr;
  ASSERT_EQ(buf_write(dev, c.handle, 0, "read", 4), 0);
  ASSERT_EQ(other.map(c.pa, PAGE, PROT_READ, &va), 0);
  EXPECT_EQ(memcmp(va, "read", 4), 0);
  EXPECT_EQ(other.unmap(va, PAGE), 0);
  ASSERT_EQ(other.map(c.pa, PAGE, RW, &va), 0);
  EXPECT_FALSE(writable(va));
  EXPECT_EQ(other.unmap(va, PAGE), 0);
  ASSERT_EQ(dev.map(c.pa, PAGE, RW, &va), 0);
  EXPECT_TRUE(writable(va));
  EXPECT_EQ(dev.unmap(va, PAGE), 0);
}

TEST_P(U8_Mmap, DeviceLifetimeChunkIsWritableByAnyone) {
  NEEDS_BACKSTAGE();
  neuron_ioctl_neuron_ds_info ds = {};
  ASSERT_EQ(io(NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), 0);
  fd_t other = open(OTHER);
  void *mine = nullptr, *theirs = nullptr;
  ASSERT_EQ(dev.map(ds.mmap_offset, ds.size, PROT_READ, &mine), 0);
  ASSERT_EQ(other.map(ds.mmap_offset, ds.size, RW, &theirs), 0);
  memcpy(theirs, "both", 4);
  EXPECT_EQ(memcmp(mine, "both", 4), 0);
  EXPECT_EQ(dev.unmap(mine, ds.size), 0);
  EXPECT_EQ(other.unmap(theirs, ds.size), 0);
}

TEST_P(U8_Special, Step2_StateBuffers) {
  for (uint32_t core = 0; core < model().cores; ++core) {
    auto r = resource(dev, NEURON_MMAP_BLOCK_TPB, core, NEURON_MMAP_RESOURCE_SBUF);
    expect_shared(dev, r.offset, r.size);
  }
}

TEST_P(U8_Special, Step2_WholeTopSpIsReadOnly) {
  for (uint32_t i : {0u, model().top_sps - 1}) {
    auto r = resource(dev, NEURON_MMAP_BLOCK_TOP_SP, i, NEURON_MMAP_RESOURCE_ALL);
    void *va = nullptr;
    ASSERT_EQ(dev.map(r.offset, r.size, PROT_READ, &va), 0);
    EXPECT_EQ(dev.unmap(va, r.size), 0);
    // Asking to write maps read-only all the same.
    ASSERT_EQ(dev.map(r.offset, r.size, RW, &va), 0);
    EXPECT_FALSE(writable(va));
    EXPECT_EQ(dev.unmap(va, r.size), 0);
  }
}

TEST_P(U8_Special, Step2_SemaphorePages) {
  for (uint32_t block : {NEURON_MMAP_BLOCK_TPB, NEURON_MMAP_BLOCK_TOP_SP}) {
    auto r = resource(dev, block, 0, NEURON_MMAP_RESOURCE_SEMAPHORE);
    void *va = nullptr;
    ASSERT_EQ(dev.map(r.offset, r.size, RW, &va), 0);
    EXPECT_EQ(dev.unmap(va, r.size), 0);
  }
}

TEST_P(U8_Special, Step2_OtherLengthIsEperm) {
  auto r = resource(dev, NEURON_MMAP_BLOCK_TPB, 1, NEURON_MMAP_RESOURCE_SBUF);
  void *va = nullptr;
  EXPECT_EQ(dev.map(r.offset, r.size / 2, RW, &va), -EPERM);
  EXPECT_EQ(dev.map(r.offset + PAGE, r.size, RW, &va), -EPERM);
}

// v3: the whole of an HBM. Cookie 0 also lies in the reserved chunk; the length decides.
TEST_P(U8_WholeHbm, Step2) {
  for (uint32_t channel = 0; channel < 4; ++channel) {
    chunk_t c = alloc(dev, {.size = 2 * MIB, .channel = channel});
    std::vector<uint8_t> data = pattern(PAGE, channel);
    ASSERT_EQ(buf_write(dev, c.handle, 0, data.data(), PAGE), 0);
    void *va = nullptr;
    ASSERT_EQ(dev.map(model().base[channel], 0x600000000, RW, &va), 0);
    uint64_t at = c.pa - model().base[channel];
    EXPECT_EQ(memcmp(static_cast<uint8_t *>(va) + at, data.data(), PAGE), 0);
    EXPECT_EQ(dev.unmap(va, 0x600000000), 0);
  }
  void *reserved = nullptr;
  EXPECT_EQ(dev.map(0, RESERVED, PROT_READ, &reserved), 0);
  EXPECT_EQ(dev.unmap(reserved, RESERVED), 0);
}
