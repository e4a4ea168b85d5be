// SPDX-License-Identifier: Apache-2.0
// Section 5.5: MEM_COPY_ASYNC*, MEM_COPY_ASYNC_WAIT and PROGRAM_ENGINE*.
#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S5_5_Async, V2_AND_V3);
CONFORMANCE_SUITE(S5_5_AsyncLimit, "trn2.3xlarge");
CONFORMANCE_SUITE(S5_5_Engine, V2_AND_V3);
CONFORMANCE_SUITE(S5_5_EngineV3, "trn2.3xlarge");

namespace {

struct async_t {
  long rc;
  int32_t wait;
};

async_t start(const fd_t &fd, uint64_t src, uint64_t dst, int32_t pwait, uint64_t size = 64,
              uint64_t src_at = 0, uint64_t dst_at = 0, void *prefetch = nullptr) {
  neuron_ioctl_mem_copy_async64 arg = {};
  arg.src_mem_handle = src;
  arg.dst_mem_handle = dst;
  arg.size = size;
  arg.src_offset = src_at;
  arg.dst_offset = dst_at;
  arg.host_prefetch_addr = reinterpret_cast<uint64_t>(prefetch);
  arg.pwait_handle = static_cast<decltype(arg.pwait_handle)>(pwait);
  arg.wait_handle = 77;
  long rc = fd.io(NEURON_IOCTL_MEM_COPY_ASYNC64, &arg);
  return {rc, static_cast<int32_t>(arg.wait_handle)};
}

long wait(const fd_t &fd, uint64_t src, uint64_t dst, uint32_t handle) {
  neuron_ioctl_mem_copy_async_wait arg = {};
  arg.src_mem_handle = src;
  arg.dst_mem_handle = dst;
  arg.pwait_handle = static_cast<decltype(arg.pwait_handle)>(handle);
  return fd.io(NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &arg);
}

long program(const fd_t &fd, uint32_t core, uint64_t dst, const void *buffer, uint64_t size,
             uint64_t offset = 0) {
  neuron_ioctl_program_engine_nc64 arg = {};
  arg.nc_id = core;
  arg.dst = dst;
  arg.buffer = const_cast<void *>(buffer);
  arg.size = size;
  arg.offset = offset;
  return fd.io(NEURON_IOCTL_PROGRAM_ENGINE_NC64, &arg);
}

}  // namespace

TEST_P(S5_5_Async, CopiesAndNumbersItsSlots) {
  chunk_t a = alloc(dev), b = alloc(dev);
  std::vector<uint8_t> data = pattern(64, 1);
  ASSERT_EQ(buf_write(dev, a.handle, 0, data.data(), 64), 0);
  async_t s = start(dev, a.handle, b.handle, -1);
  EXPECT_EQ(s.rc, 0);
  EXPECT_EQ(s.wait, 1);
  s = start(dev, a.handle, b.handle, 1);
  EXPECT_EQ(s.rc, 0);
  EXPECT_EQ(s.wait, 2);
  s = start(dev, a.handle, b.handle, 2);
  EXPECT_EQ(s.rc, 0);
  EXPECT_EQ(s.wait, 1);
  EXPECT_EQ(wait(dev, a.handle, b.handle, 1), 0);
  EXPECT_EQ(bytes_of(dev, b.handle, 0, 64), data);
}

TEST_P(S5_5_Async, PwaitZeroIsSynchronous) {
  chunk_t a = alloc(dev), b = alloc(dev);
  ASSERT_EQ(buf_write(dev, a.handle, 0, "sync", 4), 0);
  async_t s = start(dev, a.handle, b.handle, 0);
  EXPECT_EQ(s.rc, 0);
  EXPECT_EQ(s.wait, 0);
  EXPECT_EQ(bytes_of(dev, b.handle, 0, 4), std::vector<uint8_t>({'s', 'y', 'n', 'c'}));
}

TEST_P(S5_5_Async, NarrowForm) {
  NEEDS_BACKSTAGE();
  chunk_t a = alloc(dev), b = alloc(dev);
  ASSERT_EQ(buf_write(dev, a.handle, 8, "form", 4), 0);
  neuron_ioctl_mem_copy_async arg = {};
  arg.src_mem_handle = a.handle;
  arg.dst_mem_handle = b.handle;
  arg.size = 4;
  arg.src_offset = 8;
  arg.dst_offset = 16;
  arg.pwait_handle = static_cast<decltype(arg.pwait_handle)>(-1);
  EXPECT_EQ(inherited(dev, OTHER).io(NEURON_IOCTL_MEM_COPY_ASYNC, &arg), -EACCES);
  EXPECT_EQ(io(NEURON_IOCTL_MEM_COPY_ASYNC, &arg), 0);
  EXPECT_EQ(static_cast<int32_t>(arg.wait_handle), 1);
  EXPECT_EQ(wait(dev, a.handle, b.handle, 1), 0);
  EXPECT_EQ(bytes_of(dev, b.handle, 16, 4), std::vector<uint8_t>({'f', 'o', 'r', 'm'}));
  // The wide form is not gated.
  EXPECT_EQ(start(inherited(dev, OTHER), a.handle, b.handle, 0).rc, 0);
}

TEST_P(S5_5_Async, Checks) {
  chunk_t a = alloc(dev), b = alloc(dev);
  uint8_t arg[64] = {};
  for (uint32_t size : {0u, 8u, 40u, 64u})
    EXPECT_EQ(io(_IOC(_IOC_READ | _IOC_WRITE, 'N', 108, size), arg), -EINVAL) << size;
  EXPECT_EQ(start(dev, BAD_HANDLE, b.handle, -1).rc, -EINVAL);
  EXPECT_EQ(start(dev, a.handle, BAD_HANDLE, -1).rc, -EINVAL);
  EXPECT_EQ(start(dev, a.handle, b.handle, -1, PAGE + 1).rc, -EINVAL);
  EXPECT_EQ(start(dev, a.handle, b.handle, -1, 64, PAGE).rc, -EINVAL);
  EXPECT_EQ(start(dev, a.handle, b.handle, -1, 64, 0, UINT64_MAX).rc, -EINVAL);
  EXPECT_EQ(start(dev, a.handle, b.handle, 3).rc, -EINVAL);
  EXPECT_EQ(start(dev, a.handle, b.handle, -2).rc, -EINVAL);
  // Slots that nothing runs in.
  EXPECT_EQ(start(dev, a.handle, b.handle, 1).rc, -EINVAL);
  EXPECT_EQ(start(dev, a.handle, b.handle, 2).rc, -EINVAL);
  EXPECT_EQ(start(dev, a.handle, b.handle, -1, 0).rc, -EINVAL);
}

TEST_P(S5_5_AsyncLimit, Of2032Descriptors) {
  constexpr uint64_t LIMIT = 133169152;
  // Inside one chunk, so that its pages are touched once.
  chunk_t c = alloc(dev, {.size = LIMIT + 2 * PAGE});
  ASSERT_EQ(buf_write(dev, c.handle, 0, "part", 4), 0);
  EXPECT_EQ(start(dev, c.handle, c.handle, -1, LIMIT + 1, 0, PAGE).rc, -EINVAL);
  // Part of the data has moved by then.
  EXPECT_EQ(bytes_of(dev, c.handle, PAGE, 4), std::vector<uint8_t>({'p', 'a', 'r', 't'}));
  EXPECT_EQ(start(dev, c.handle, c.handle, -1, LIMIT, 0, PAGE).rc, 0);
}

TEST_P(S5_5_Async, Prefetch) {
  chunk_t a = alloc(dev), b = alloc(dev);
  std::vector<uint8_t> user(64);
  EXPECT_EQ(start(dev, a.handle, b.handle, -1, 64, 0, 0, user.data()).rc, 0);
}

TEST_P(S5_5_Async, SlotsArePerCoreAndShared) {
  NEEDS_BACKSTAGE();
  chunk_t core0 = alloc(dev, {.nc_id = 0}), core1 = alloc(dev, {.nc_id = 1});
  EXPECT_EQ(start(dev, core0.handle, core0.handle, -1, 64, 0, 128).wait, 1);
  // Another core's queue has slots of its own.
  EXPECT_EQ(start(dev, core1.handle, core1.handle, 1, 64, 0, 128).rc, -EINVAL);
  EXPECT_EQ(start(dev, core1.handle, core1.handle, -1, 64, 0, 128).wait, 1);
  // Another process sees the same slots.
  fd_t other = open(OTHER);
  EXPECT_EQ(wait(other, core0.handle, core0.handle, 1), 0);
  EXPECT_EQ(wait(dev, core0.handle, core0.handle, 1), -EINVAL);
}

// The core is the source's if that is device memory, else the destination's.
TEST_P(S5_5_Async, CoreOfTheCopy) {
  chunk_t device1 = alloc(dev, {.nc_id = 1}), device0 = alloc(dev, {.nc_id = 0});
  chunk_t host0 = alloc(dev, {.host = true, .nc_id = 0});
  ASSERT_EQ(start(dev, device1.handle, device0.handle, -1).wait, 1);  // core 1
  EXPECT_EQ(wait(dev, device0.handle, device1.handle, 1), -EINVAL);   // core 0
  EXPECT_EQ(wait(dev, device1.handle, host0.handle, 1), 0);           // core 1
  ASSERT_EQ(start(dev, host0.handle, device1.handle, -1).wait, 1);    // core 1
  EXPECT_EQ(wait(dev, host0.handle, device0.handle, 1), -EINVAL);     // core 0
  EXPECT_EQ(wait(dev, device1.handle, device0.handle, 1), 0);         // core 1
}

TEST_P(S5_5_Async, Wait_Checks) {
  NEEDS_BACKSTAGE();
  chunk_t a = alloc(dev), b = alloc(dev);
  ASSERT_EQ(start(dev, a.handle, b.handle, -1).wait, 1);
  EXPECT_EQ(wait(inherited(dev, OTHER), a.handle, b.handle, 1), -EACCES);
  EXPECT_EQ(wait(dev, BAD_HANDLE, b.handle, 1), -EINVAL);
  EXPECT_EQ(wait(dev, a.handle, BAD_HANDLE, 1), -EINVAL);
  for (uint32_t handle : {0u, 3u, UINT32_MAX})
    EXPECT_EQ(wait(dev, a.handle, b.handle, handle), -EINVAL) << handle;
  EXPECT_EQ(wait(dev, a.handle, b.handle, 2), -EINVAL);  // not in use
  EXPECT_EQ(wait(dev, a.handle, b.handle, 1), 0);
  EXPECT_EQ(wait(dev, a.handle, b.handle, 1), -EINVAL);  // freed by the first wait
}

TEST_P(S5_5_Async, ArgumentReadOnly) {
  chunk_t a = alloc(dev), b = alloc(dev);
  neuron_ioctl_mem_copy_async64 arg = {};
  arg.src_mem_handle = a.handle;
  arg.dst_mem_handle = b.handle;
  arg.size = 4;
  EXPECT_EQ(io(NEURON_IOCTL_MEM_COPY_ASYNC64, read_only_t(&arg, sizeof(arg)).page), 56);
}

TEST_P(S5_5_Engine, WritesTheStateBuffer) {
  std::vector<uint8_t> data = pattern(100000, 2);
  for (uint32_t core = 0; core < model().cores; ++core) {
    SCOPED_TRACE(core);
    static const uint64_t v3_core[] = {0x2000000000,   0x3000000000,   0x6000000000,
                                       0x7000000000,   0x802000000000, 0x803000000000,
                                       0x806000000000, 0x807000000000};
    uint64_t window = v2() ? 0xfffc0000000 + core * 0x4000000 : v3_core[core];
    EXPECT_EQ(program(dev, core, window + 0x40000, data.data(), data.size()), 0);
    neuron_ioctl_resource_mmap_info arg = {};
    arg.block = NEURON_MMAP_BLOCK_TPB;
    arg.block_id = core;
    arg.resource = NEURON_MMAP_RESOURCE_SBUF;
    ASSERT_EQ(io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg), 0);
    void *va = nullptr;
    ASSERT_EQ(dev.map(arg.offset, arg.size, PROT_READ | PROT_WRITE, &va), 0);
    EXPECT_EQ(memcmp(static_cast<uint8_t *>(va) + 0x40000, data.data(), data.size()), 0);
    EXPECT_EQ(dev.unmap(va, arg.size), 0);
  }
}

// The offset moves both the destination and the buffer.
TEST_P(S5_5_Engine, OffsetCountsOnBothSides) {
  std::vector<uint8_t> data = pattern(256, 3);
  uint64_t window = v2() ? 0xfffc0000000 : 0x2000000000;
  neuron_ioctl_program_engine first = {window, data.data(), 64, 0};
  EXPECT_EQ(io(NEURON_IOCTL_PROGRAM_ENGINE, &first), 0);
  neuron_ioctl_program_engine_nc second = {};
  second.nc_id = 1;
  second.dst = window;
  second.buffer = data.data();
  second.size = 64;
  second.offset = 64;
  EXPECT_EQ(io(NEURON_IOCTL_PROGRAM_ENGINE_NC, &second), 0);
  EXPECT_EQ(program(dev, 0, window, data.data(), 128, 128), 0);
  neuron_ioctl_resource_mmap_info arg = {};
  arg.resource = NEURON_MMAP_RESOURCE_SBUF;
  ASSERT_EQ(io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg), 0);
  void *va = nullptr;
  ASSERT_EQ(dev.map(arg.offset, arg.size, PROT_READ | PROT_WRITE, &va), 0);
  EXPECT_EQ(memcmp(va, data.data(), 256), 0);
  EXPECT_EQ(dev.unmap(va, arg.size), 0);
}

// v3 takes the populated memory of every channel: a raw write.
TEST_P(S5_5_Engine, MemoryIsAWindowOnV3Only) {
  std::vector<uint8_t> data = pattern(512, 4);
  for (uint32_t channel = 0; channel < model().channels; ++channel) {
    chunk_t c = alloc(dev, {.channel = channel});
    EXPECT_EQ(program(dev, 0, c.pa, data.data(), 512), v2() ? -ENOMEM : 0);
    if (!v2()) {
      EXPECT_EQ(bytes_of(dev, c.handle, 0, 512), data);
      uint64_t end = model().base[channel] + model().channel_size;
      EXPECT_EQ(program(dev, 0, end - 256, data.data(), 512), -ENOMEM);
      EXPECT_EQ(program(dev, 0, end - 512, data.data(), 512), 0);
    }
  }
}

TEST_P(S5_5_Engine, OutsideTheWindows) {
  uint8_t byte = 0;
  for (uint64_t dst : {uint64_t{0x900000000}, uint64_t{1} << 52, UINT64_MAX}) {
    SCOPED_TRACE(dst);
    EXPECT_EQ(program(dev, 0, dst, &byte, 1), -ENOMEM);
    neuron_ioctl_program_engine arg = {dst, &byte, 1, 0};
    EXPECT_EQ(io(NEURON_IOCTL_PROGRAM_ENGINE, &arg), -ENOMEM);
  }
}

TEST_P(S5_5_Engine, Staging) {
  uint64_t window = v2() ? 0xfffc0000000 : 0x2000000000;
  uint8_t byte = 0;
  EXPECT_EQ(program(dev, 0, window, &byte, 0), -ENOMEM);
  EXPECT_EQ(program(dev, 8, window, &byte, 1), -ENOMEM);
  EXPECT_EQ(program(dev, UINT32_MAX, window, &byte, 1), -ENOMEM);
  neuron_ioctl_program_engine arg = {window, &byte, 0, 0};
  EXPECT_EQ(io(NEURON_IOCTL_PROGRAM_ENGINE, &arg), -ENOMEM);
}

TEST_P(S5_5_Engine, Staging_AboveTheHostLimit) {
  hole_t hole;
  EXPECT_EQ(program(dev, 0, v2() ? 0xfffc0000000 : 0x2000000000, hole.base, 5 * GIB), -ENOMEM);
}

// TOP_SPs take writes: the set window of their semaphores.
TEST_P(S5_5_Engine, TopSpWindows) {
  for (uint32_t i = 0; i < model().top_sps; ++i) {
    uint64_t window = v2()    ? 0xfffd0000000 + i * 0x400000ull
                      : i < 8 ? 0x8280000000 + i * 0x40000000ull
                              : 0x808280000000 + (i - 8) * 0x40000000ull;
    uint32_t value = 900 + i;
    // Whole words only: the mock's choice.
    EXPECT_EQ(program(dev, 0, window + 0x1400 + 4 * 3, &value, 2), -EPERM) << i;
    EXPECT_EQ(program(dev, 0, window + 0x1400 + 4 * 3, &value, 4), 0) << i;
    neuron_ioctl_resource_mmap_info arg = {};
    arg.block = NEURON_MMAP_BLOCK_TOP_SP;
    arg.block_id = i;
    ASSERT_EQ(io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg), 0);
    void *va = nullptr;
    ASSERT_EQ(dev.map(arg.offset, arg.size, PROT_READ, &va), 0);
    EXPECT_EQ(static_cast<uint32_t *>(va)[(0x1000 + 4 * 3) / 4], value) << i;
    EXPECT_EQ(dev.unmap(va, arg.size), 0);
  }
}

// Windows of registers the mock has no model of: let through the range check, then ENOSYS.
TEST_P(S5_5_EngineV3, OtherWindows) {
  uint32_t word = 0;
  for (uint64_t die : {0ull, 0x800000000000ull})
    for (uint32_t i : {8u, 9u, 10u})  // ten TOP_SP windows on a die, eight of them used
      EXPECT_EQ(program(dev, 0, die + 0x8280000000 + i * 0x40000000ull, &word, 4),
                i < 10 ? -ENOSYS : -ENOMEM);
  for (uint64_t block : {0x1200000000, 0x5200000000, 0x801200000000, 0x805200000000}) {
    EXPECT_EQ(program(dev, 0, block, &word, 4), -ENOSYS);
    EXPECT_EQ(program(dev, 0, block + 0x34c0000 - 4, &word, 4), -ENOSYS);
    EXPECT_EQ(program(dev, 0, block + 0x34c0000, &word, 4), -ENOMEM);
  }
}

TEST_P(S5_5_Engine, UserFault) {
  uint64_t window = v2() ? 0xfffc0000000 : 0x2000000000;
  hole_t hole;
  EXPECT_EQ(program(dev, 0, window, hole.hole(), 128), 128);
  // Windows are looked at first.
  EXPECT_EQ(program(dev, 0, 1ull << 52, hole.hole(), 128), -ENOMEM);
}

TEST_P(S5_5_Engine, Variant) {
  uint8_t arg[64] = {};
  for (uint32_t size : {0u, 32u, 48u})
    EXPECT_EQ(io(_IOC(_IOC_READ | _IOC_WRITE, 'N', 105, size), arg), -EINVAL) << size;
  EXPECT_EQ(io(_IOC(_IOC_READ, 'N', 105, 40), arg), -EINVAL);
}
