// SPDX-License-Identifier: Apache-2.0
// Section 9: registers, the kernel log.
#include "tests/conformance/bar.h"

CONFORMANCE_SUITE(S9_BarRead, V2_AND_V3);
CONFORMANCE_SUITE(S9_BarWrite, V2_AND_V3);
CONFORMANCE_SUITE(S9_Log, V2_AND_V3);

namespace {

// The set window of a core's semaphore, and its read window (2.3, 8).
uint64_t core_window(const model_t &m, uint32_t core) {
  return (m.architecture == 2 ? 0 : 0xd0000000) + core * 0x4000000ull;
}
uint64_t semaphore_set(const model_t &m, uint32_t core, uint32_t index) {
  return core_window(m, core) + 0x2700000 + 0x1400 + 4 * index;
}
uint64_t semaphore_get(const model_t &m, uint32_t core, uint32_t index) {
  return core_window(m, core) + 0x2700000 + 0x1000 + 4 * index;
}

uint64_t misc_ram(const model_t &m) {
  return m.architecture == 2 ? 0x30fa0000 : 0x6c84000;
}

uint32_t semaphore(const fd_t &fd, uint32_t core, uint32_t index) {
  neuron_ioctl_semaphore arg = {core, index, 0};
  EXPECT_EQ(fd.io(NEURON_IOCTL_SEMAPHORE_READ, &arg), 0);
  return arg.value;
}

long printk(const fd_t &fd, const void *text, uint32_t size) {
  neuron_ioctl_printk arg = {};
  arg.buffer = const_cast<void *>(text);
  arg.size = size;
  return fd.io(NEURON_IOCTL_PRINTK, &arg);
}

long pid_dump(const fd_t &fd, uint32_t core) {
  neuron_ioctl_nc_pid_state_dump arg = {sizeof(arg), core, 0, 0};
  return fd.io(NEURON_IOCTL_NC_PID_STATE_DUMP, &arg);
}

}  // namespace

TEST_P(S9_BarRead, ReadsRegisters) {
  std::vector<uint64_t> offsets;
  for (uint32_t i = 0; i < 100; ++i) {
    neuron_ioctl_semaphore arg = {1, i, i * 3 + 1};
    ASSERT_EQ(io(NEURON_IOCTL_SEMAPHORE_WRITE, &arg), 0);
    offsets.push_back(semaphore_get(model(), 1, i));
  }
  uint32_t data[100] = {};
  EXPECT_EQ(bar_read(dev, 0, offsets, data), 0);
  for (uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(data[i], i * 3 + 1);
}

TEST_P(S9_BarRead, Check1_Bar) {
  uint32_t data[101];
  for (uint32_t bar : {1u, 3u, 4u, 5u, 255u})
    EXPECT_EQ(bar_read(dev, bar, {misc_ram(model())}, data), -EINVAL) << bar;
  // v2 and v3 have no BAR2; the driver takes one address there and reads any number.
  EXPECT_EQ(bar_read(dev, 2, {misc_ram(model())}, data), -EINVAL);
  // The low eight bits count.
  EXPECT_EQ(bar_read(dev, 0x100, {misc_ram(model())}, data), 0);
}

TEST_P(S9_BarRead, Check2_Count) {
  uint32_t data[101];
  EXPECT_EQ(bar_read(dev, 0, std::vector<uint64_t>(100, misc_ram(model())), data), 0);
  EXPECT_EQ(bar_read(dev, 0, std::vector<uint64_t>(101, misc_ram(model())), data), -EINVAL);
  neuron_ioctl_bar_rw arg = {0, nullptr, nullptr, UINT32_MAX};  // before the pointers
  EXPECT_EQ(io(NEURON_IOCTL_BAR_READ, &arg), -EINVAL);
  arg.count = 0;
  EXPECT_EQ(io(NEURON_IOCTL_BAR_READ, &arg), 0);
}

TEST_P(S9_BarRead, Check4_UserFault) {
  hole_t hole;
  uint64_t address[2] = {bar0(dev) + misc_ram(model()), bar0(dev) + misc_ram(model())};
  uint32_t data[2];
  neuron_ioctl_bar_rw arg = {0, reinterpret_cast<uint64_t *>(hole.hole()), data, 2};
  EXPECT_EQ(io(NEURON_IOCTL_BAR_READ, &arg), 16);
  arg = {0, address, reinterpret_cast<uint32_t *>(hole.hole()), 2};
  EXPECT_EQ(io(NEURON_IOCTL_BAR_READ, &arg), 8);
}

TEST_P(S9_BarRead, Range) {
  uint32_t data[2];
  EXPECT_EQ(bar_read(dev, 0, {bar0_size(dev)}, data), -EINVAL);
  EXPECT_EQ(bar_read(dev, 0, {UINT64_MAX - bar0(dev)}, data), -EINVAL);
  EXPECT_EQ(bar_read(dev, 0, {misc_ram(model()), bar0_size(dev) + 0x1000}, data), -EINVAL);
}

TEST_P(S9_BarWrite, WritesInOrder) {
  EXPECT_EQ(bar_write(dev, 0,
                      {semaphore_set(model(), 0, 4), semaphore_set(model(), 1, 5),
                       semaphore_set(model(), 0, 4)},
                      {11, 22, 33}),
            0);
  EXPECT_EQ(semaphore(dev, 0, 4), 33u);
  EXPECT_EQ(semaphore(dev, 1, 5), 22u);
}

TEST_P(S9_BarWrite, NoLimitOfTheCount) {
  std::vector<uint64_t> offsets;
  std::vector<uint32_t> data;
  for (uint32_t i = 0; i < 1000; ++i) {
    offsets.push_back(semaphore_set(model(), 0, i % 256));
    data.push_back(i);
  }
  EXPECT_EQ(bar_write(dev, 0, offsets, data), 0);
  EXPECT_EQ(semaphore(dev, 0, 999 % 256), 999u);
}

TEST_P(S9_BarWrite, Check1_Gate) {
  NEEDS_BACKSTAGE();
  EXPECT_EQ(bar_write(inherited(dev, OTHER), 0, {semaphore_set(model(), 0, 0)}, {1}), -EACCES);
}

TEST_P(S9_BarWrite, Check2_Range) {
  EXPECT_EQ(bar_write(dev, 0, {bar0_size(dev) + 4}, {1}), -EINVAL);
  EXPECT_EQ(bar_write(dev, 0, {UINT64_MAX - bar0(dev)}, {1}), -EINVAL);
  EXPECT_EQ(bar_write(dev, 0, {UINT64_MAX}, {1}), -EINVAL);
  // The very end passes.
  EXPECT_EQ(bar_write(dev, 0, {bar0_size(dev)}, {1}), 0);
}

TEST_P(S9_BarWrite, Check3_BlockedOffsets) {
  std::vector<uint64_t> engines =
      v2() ? std::vector<uint64_t>{0x30000000, 0x303c0000, 0x30700000,
                                   0x30ac0000, 0x30600000, 0x30d00000}
           : std::vector<uint64_t>{0x82000000, 0x83f00000, 0x94000000, 0xa2000000, 0xb5f00000,
                                   0x6800000,  0x6900000,  0x46800000, 0x46900000};
  for (uint64_t engine : engines) {
    for (uint64_t queue : {0x1000, 0x10000, 0x21000, 0x30000}) {
      for (uint64_t r : {0x28, 0x2c, 0x44, 0x48, 0x38})
        EXPECT_EQ(bar_write(dev, 0, {engine + queue + r}, {0}), -EINVAL)
            << std::hex << engine + queue + r;
      // Beside them: configuration and software control.
      uint32_t config = reg(dev, engine + queue + 0x20);
      EXPECT_EQ(bar_write(dev, 0, {engine + queue + 0x20}, {config}), 0)
          << std::hex << engine + queue;
    }
  }
  for (uint64_t r : {0x1f0, 0x1f4, 0x1f8, 0x1fc, 0x800})
    EXPECT_EQ(bar_write(dev, 0, {misc_ram(model()) + r}, {0}), -EINVAL) << std::hex << r;
}

TEST_P(S9_BarWrite, Check4_OtherBars) {
  EXPECT_EQ(bar_write(dev, 2, {misc_ram(model())}, {0}), -EINVAL);
  EXPECT_EQ(bar_write(dev, 4, {0x1000000}, {0}), -EINVAL);
}

TEST_P(S9_BarWrite, EarlierWritesStay) {
  uint64_t blocked = misc_ram(model()) + 0x800;
  EXPECT_EQ(bar_write(dev, 0, {semaphore_set(model(), 0, 1), blocked, semaphore_set(model(), 0, 2)},
                      {7, 7, 7}),
            -EINVAL);
  EXPECT_EQ(semaphore(dev, 0, 1), 7u);
  EXPECT_EQ(semaphore(dev, 0, 2), 0u);
}

TEST_P(S9_Log, Printk) {
  EXPECT_EQ(printk(misc, "conformance\n", 13), 0);
  EXPECT_EQ(printk(dev, "", 1), 0);
  std::vector<char> text(600, 'x');
  text[511] = '\0';
  EXPECT_EQ(printk(misc, text.data(), 512), 0);
  EXPECT_EQ(printk(misc, text.data(), 513), -EFAULT);
  EXPECT_EQ(printk(misc, text.data(), UINT32_MAX), -EFAULT);
  EXPECT_EQ(printk(misc, text.data(), 511), -EBADMSG);  // no NUL at the end
  EXPECT_EQ(printk(misc, text.data(), 0), -EBADMSG);
  hole_t hole;
  EXPECT_EQ(printk(misc, hole.hole(), 16), 16);
  EXPECT_EQ(printk(misc, hole.hole(), 513), -EFAULT);  // before the text
}

TEST_P(S9_Log, Printk_IsALineOfTheKernelLog) {
  NEEDS_BACKSTAGE();
  ASSERT_EQ(printk(misc, "a conformance line", 19), 0);
  ASSERT_EQ(printk(misc, "not this one", 12), -EBADMSG);
  bool found = false;
  for (const std::string &line : backstage().kernel_log()) {
    found |= line.find("a conformance line") != std::string::npos;
    EXPECT_EQ(line.find("not this one"), std::string::npos);
  }
  EXPECT_TRUE(found);
}

TEST_P(S9_Log, PidStateDump) {
  for (uint32_t core : {512u, 513u, UINT32_MAX})
    EXPECT_EQ(pid_dump(misc, core), -ENOENT);
  EXPECT_EQ(pid_dump(misc, 0), 0);  // unclaimed
  EXPECT_EQ(pid_dump(misc, 511), 0);
  for (uint32_t core : {1u, 100u}) {
    neuron_ioctl_crwl_nc_map_ext arg = {};
    arg.nc_count = 1;
    arg.start_nc_index = arg.end_nc_index = core;
    ASSERT_EQ(io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &arg), 0);
  }
  EXPECT_EQ(pid_dump(misc, 1), 0);
  EXPECT_EQ(pid_dump(misc, 100), -EPERM);  // claimed, on a device that is not there
}
