// SPDX-License-Identifier: Apache-2.0
// Section 9: what goes through the firmware's mailbox; 2.3: misc RAM.
#include "tests/conformance/bar.h"

CONFORMANCE_SUITE(S9_Metric, V2_AND_V3);
CONFORMANCE_SUITE(S9_HwCounters, V2_AND_V3);
CONFORMANCE_SUITE(S2_3_MiscRam, "inf2.48xlarge", "trn1.32xlarge", "trn2.48xlarge");

namespace {

uint64_t misc_ram(const model_t &m) {
  return m.architecture == 2 ? 0x30fa0000 : 0x6c84000;
}

long post_metric(const fd_t &fd, const void *data, uint32_t size) {
  neuron_ioctl_post_metric arg = {};
  arg.data = static_cast<uint32_t *>(const_cast<void *>(data));
  arg.data_size = size;
  return fd.io(NEURON_IOCTL_POST_METRIC, &arg);
}

long read_counters(const fd_t &fd, const void *addresses, void *data, uint32_t count) {
  neuron_ioctl_read_hw_counters arg = {};
  arg.address = static_cast<uint64_t *>(const_cast<void *>(addresses));
  arg.data = static_cast<uint32_t *>(data);
  arg.count = count;
  return fd.io(NEURON_IOCTL_READ_HW_COUNTERS, &arg);
}

}  // namespace

TEST_P(S9_Metric, StoredInMiscRam) {
  std::vector<uint8_t> data = pattern(128, 1);
  EXPECT_EQ(post_metric(dev, data.data(), 128), 0);
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t expected;
    memcpy(&expected, &data[4 * i], 4);
    EXPECT_EQ(reg(dev, misc_ram(model()) + 0x100 + 4 * i), expected);
  }
}

TEST_P(S9_Metric, Checks) {
  NEEDS_BACKSTAGE();
  hole_t hole;
  std::vector<uint8_t> data(256);
  EXPECT_EQ(post_metric(inherited(dev, OTHER), data.data(), 16), -EACCES);
  EXPECT_EQ(post_metric(dev, data.data(), 129), -E2BIG);
  EXPECT_EQ(post_metric(dev, hole.hole(), UINT32_MAX), -E2BIG);  // before the data
  EXPECT_EQ(post_metric(dev, hole.hole(), 16), 16);
}

TEST_P(S9_Metric, MailboxError) {
  NEEDS_BACKSTAGE();
  std::vector<uint8_t> data(64);
  backstage().fail_next(MOCK_FAULT_MAILBOX);
  EXPECT_EQ(post_metric(dev, data.data(), 64), -EPERM);
  EXPECT_EQ(post_metric(dev, data.data(), 64), 0);
}

// Device addresses, unlike BAR_READ.
TEST_P(S9_HwCounters, ReadsDeviceAddresses) {
  chunk_t c = alloc(dev);
  uint32_t words[2] = {0x12345678, 0x9abcdef0};
  ASSERT_EQ(buf_write(dev, c.handle, 64, words, 8), 0);
  uint64_t addresses[3] = {c.pa + 68, c.pa + 64, c.pa + 4};
  uint32_t data[4] = {1, 1, 1, 0xee};
  EXPECT_EQ(read_counters(dev, addresses, data, 3), 0);
  EXPECT_EQ(data[0], words[1]);
  EXPECT_EQ(data[1], words[0]);
  EXPECT_EQ(data[2], 0u);
  EXPECT_EQ(data[3], 0xeeu);
}

TEST_P(S9_HwCounters, UserFault) {
  hole_t hole;
  chunk_t c = alloc(dev);
  uint64_t address = c.pa;
  uint32_t data = 0;
  EXPECT_EQ(read_counters(dev, hole.hole(), &data, 1), 8);
  EXPECT_EQ(read_counters(dev, &address, hole.hole(), 1), 4);
}

TEST_P(S9_HwCounters, NoBufferIsSuccess) {
  hole_t hole;
  EXPECT_EQ(read_counters(dev, hole.hole(), hole.hole(), UINT32_MAX), 0);
}

TEST_P(S9_HwCounters, MailboxError) {
  NEEDS_BACKSTAGE();
  uint64_t address = alloc(dev).pa;
  uint32_t data = 0;
  backstage().fail_next(MOCK_FAULT_MAILBOX);
  EXPECT_EQ(read_counters(dev, &address, &data, 1), -EPERM);
  EXPECT_EQ(read_counters(dev, &address, &data, 1), 0);
}

TEST_P(S2_3_MiscRam, OfEachDevice) {
  neuron_ioctl_host_device_id_to_rid_map map = {};
  ASSERT_EQ(io(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, &map), 0);
  for (uint32_t device = 0; device < map.count; ++device) {
    fd_t fd = open(SELF, HAL_LANE_DEVICE, device);
    EXPECT_NE(reg(fd, misc_ram(model())), 0xdeadbeefu);
    EXPECT_EQ(reg(fd, misc_ram(model()) + 0x24), map.host_did_to_rid_map[device]);
    EXPECT_EQ(reg(fd, misc_ram(model()) + 0x1ec), 0u);       // no reset asked for
    EXPECT_EQ(reg(fd, misc_ram(model()) + 0x808) & 8u, 0u);  // none running
    // Its serial number, as sysfs shows it.
    char text[64];
    snprintf(text, sizeof(text), "%016llx\n",
             static_cast<unsigned long long>(reg64(fd, misc_ram(model()) + 0x38)));
    std::string path =
        "/sys/class/neuron_device/neuron" + std::to_string(device) + "/info/serial_number";
    EXPECT_EQ(read_file(path), text);
  }
}
