// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/bar.h"

static neuron_ioctl_device_info device_info(const fd_t &fd) {
  neuron_ioctl_device_info info = {};
  EXPECT_EQ(fd.io(NEURON_IOCTL_DEVICE_INFO, &info), 0);
  return info;
}

uint64_t bar0(const fd_t &fd) {
  return device_info(fd).bar_address[0];
}

uint64_t bar0_size(const fd_t &fd) {
  return device_info(fd).bar_size[0];
}

static long bar_rw(const fd_t &fd, uint32_t request, uint32_t bar, std::vector<uint64_t> addresses,
                   uint32_t *data) {
  uint64_t base = bar0(fd);
  for (uint64_t &address : addresses)
    address += base;
  neuron_ioctl_bar_rw arg = {};
  arg.bar = bar;
  arg.address = addresses.data();
  arg.data = data;
  arg.count = static_cast<uint32_t>(addresses.size());
  return fd.io(request, &arg);
}

long bar_read(const fd_t &fd, uint32_t bar, const std::vector<uint64_t> &offsets, uint32_t *data) {
  return bar_rw(fd, NEURON_IOCTL_BAR_READ, bar, offsets, data);
}

long bar_write(const fd_t &fd, uint32_t bar, const std::vector<uint64_t> &offsets,
               const std::vector<uint32_t> &data) {
  std::vector<uint32_t> copy = data;
  return bar_rw(fd, NEURON_IOCTL_BAR_WRITE, bar, offsets, copy.data());
}

uint32_t reg(const fd_t &fd, uint64_t offset) {
  uint32_t value = 0xeeeeeeee;
  EXPECT_EQ(bar_read(fd, 0, {offset}, &value), 0) << std::hex << offset;
  return value;
}

uint64_t reg64(const fd_t &fd, uint64_t low_offset) {
  uint32_t words[2] = {};
  EXPECT_EQ(bar_read(fd, 0, {low_offset, low_offset + 4}, words), 0) << std::hex << low_offset;
  return words[0] | static_cast<uint64_t>(words[1]) << 32;
}
