// SPDX-License-Identifier: Apache-2.0
// Misc RAM registers and the mailbox (mock-device-semantics.md 2.3 and 9).
#include "mock_dev/firmware.h"

#include "tests/mock_dev/mock_fixture.h"

namespace {

uint32_t reg(machine_t &m, uint64_t offset, uint32_t device = 0) {
  return mock_firmware_read(m.host, mock_host_device(m.host, device), offset);
}

void reg_write(machine_t &m, uint64_t offset, uint32_t value) {
  mock_firmware_write(m.host, mock_host_device(m.host, 0), offset, value);
}

long metric(machine_t &m, const void *data, uint32_t size) {
  neuron_ioctl_post_metric a = {static_cast<uint32_t *>(const_cast<void *>(data)), size};
  return m.io(NEURON_IOCTL_POST_METRIC, &a);
}

long counters(machine_t &m, const uint64_t *addresses, uint32_t *data, uint32_t count) {
  neuron_ioctl_read_hw_counters a = {const_cast<uint64_t *>(addresses), data, count};
  return m.io(NEURON_IOCTL_READ_HW_COUNTERS, &a);
}

void fail_mailbox(machine_t &m, uint32_t nth) {
  mock_fault_t fault = {MOCK_FAULT_MAILBOX, nth, ETIMEDOUT, false};
  EXPECT_EQ(mock_set_faults(m.host, &fault, 1), 0);
}

}  // namespace

TEST(Firmware, RegistersAtStart) {
  machine_t m("trn2.48xlarge");
  // Routing ids: the inverse of the table of uapi.md 5.9.
  EXPECT_EQ(reg(m, 0x24, 0), 0u);
  EXPECT_EQ(reg(m, 0x24, 3), 1u);
  EXPECT_EQ(reg(m, 0x24, 12), 4u);
  for (uint32_t d = 0; d < 16; ++d) {
    EXPECT_NE(reg(m, 0x00, d), 0u);
    EXPECT_NE(reg(m, 0x00, d), 0xdeadbeefu);
    for (uint32_t other = 0; other < d; ++other)  // serial numbers tell devices apart
      EXPECT_FALSE(reg(m, 0x38, d) == reg(m, 0x38, other) &&
                   reg(m, 0x3c, d) == reg(m, 0x3c, other));
  }
  for (uint64_t ecc : {0x40, 0x44, 0x48, 0x4c, 0x50, 0x64})
    EXPECT_EQ(reg(m, ecc), 0u);
  EXPECT_EQ(reg(m, 0x54), 0xdeadbeefu);  // power: not ready
  EXPECT_EQ(reg(m, 0x58), 0xdeadbeefu);
  EXPECT_EQ(reg(m, 0x808), 0u);
  EXPECT_EQ(reg(m, 0x1ec), 0u);
}

TEST(Firmware, RegistersThatAct) {
  machine_t m;
  reg_write(m, 0x1f0, 0x1234);  // mailbox addresses are kept
  EXPECT_EQ(reg(m, 0x1f0), 0x1234u);
  reg_write(m, 0x808, 0xff);  // the status is the firmware's
  EXPECT_EQ(reg(m, 0x808), 0u);
  reg_write(m, 0x1000, 1);  // behind the block
  EXPECT_EQ(reg(m, 0x1000), 0u);
  // A reset request is accepted, and only the cores in the map are reset.
  neuron_ioctl_semaphore s = {2, 0, 9};
  ASSERT_EQ(m.io(NEURON_IOCTL_SEMAPHORE_WRITE, &s), 0);
  s.nc_id = 3;
  ASSERT_EQ(m.io(NEURON_IOCTL_SEMAPHORE_WRITE, &s), 0);
  reg_write(m, 0x1d8, 1u << 2);
  reg_write(m, 0x1ec, 1);
  EXPECT_EQ(reg(m, 0x1ec), 0u);
  ASSERT_EQ(m.io(NEURON_IOCTL_SEMAPHORE_READ, &s), 0);
  EXPECT_EQ(s.value, 9u);
  s.nc_id = 2;
  ASSERT_EQ(m.io(NEURON_IOCTL_SEMAPHORE_READ, &s), 0);
  EXPECT_EQ(s.value, 0u);
}

TEST(Firmware, PostMetric) {
  machine_t m;
  std::vector<uint8_t> data(129);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<uint8_t>(i + 1);
  EXPECT_EQ(metric(m, data.data(), 129), -E2BIG);
  EXPECT_EQ(metric(m, nullptr, 129), -E2BIG);
  EXPECT_EQ(metric(m, nullptr, 128), 128);  // bytes not copied
  EXPECT_EQ(reg(m, 0x100), 0u);
  EXPECT_EQ(reg(m, 0x800), 0u);
  EXPECT_EQ(metric(m, data.data(), 128), 0);
  EXPECT_EQ(reg(m, 0x100), 0x04030201u);
  EXPECT_EQ(reg(m, 0x17c), 0x807f7e7du);
  EXPECT_EQ(reg(m, 0x180), 0u);
  EXPECT_EQ(reg(m, 0x800), 2u);  // mailbox command
  // A shorter one leaves the rest.
  uint8_t byte = 0xff;
  EXPECT_EQ(metric(m, &byte, 1), 0);
  EXPECT_EQ(reg(m, 0x100), 0x040302ffu);
  EXPECT_EQ(metric(m, nullptr, 0), 0);
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, m.fd, NEURON_IOCTL_POST_METRIC, nullptr), -EACCES);
}

TEST(Firmware, MailboxThatFails) {
  machine_t m;
  fail_mailbox(m, 2);
  uint32_t word = 0x11223344;
  EXPECT_EQ(metric(m, &word, 4), 0);
  word = 0x55667788;
  EXPECT_EQ(metric(m, &word, 4), -EPERM);
  EXPECT_EQ(reg(m, 0x100), 0x55667788u);  // stored before the mailbox was asked
  EXPECT_EQ(metric(m, &word, 4), 0);
  fail_mailbox(m, 1);
  uint64_t address = 0;
  uint32_t out = 99;
  EXPECT_EQ(counters(m, &address, &out, 1), -EPERM);
  EXPECT_EQ(out, 99u);
  EXPECT_EQ(counters(m, &address, &out, 1), 0);
}

TEST(Firmware, ReadHwCounters) {
  for (const char *name : {"trn1.2xlarge", "trn2.3xlarge"}) {
    machine_t m(name);
    bool v2 = strcmp(name, "trn1.2xlarge") == 0;
    neuron_ioctl_semaphore s = {1, 6, 4711};
    ASSERT_EQ(m.io(NEURON_IOCTL_SEMAPHORE_WRITE, &s), 0);
    // Device addresses (section 2.3): core 1's semaphore 6, the firmware's API version, nothing.
    uint64_t events = v2 ? 0xfffc4000000 + 0x2700000 : 0x3000000000 + 0x802700000;
    uint64_t misc_ram = v2 ? 0xffff0fa0000 : 0x8006c84000;
    uint64_t addresses[] = {events + 0x1000 + 24, misc_ram, 0xdead0000000};
    uint32_t data[4] = {1, 1, 1, 1};
    EXPECT_EQ(counters(m, addresses, data, 3), 0);
    EXPECT_EQ(data[0], 4711u);
    EXPECT_EQ(data[1], reg(m, 0));
    EXPECT_EQ(data[2], 0u);
    EXPECT_EQ(data[3], 1u);
    EXPECT_EQ(counters(m, nullptr, nullptr, 0), 0);
    EXPECT_EQ(counters(m, nullptr, data, 2), 16);
    EXPECT_EQ(counters(m, addresses, nullptr, 3), 12);
    // No buffer of that size: the driver says 0. Read the addresses it cannot.
    EXPECT_EQ(counters(m, nullptr, data, 0xffffffff), 0);
    EXPECT_EQ(counters(m, addresses, data, 0x10000000), -ENOMEM);
    bad_range_t range;
    EXPECT_EQ(counters(m, reinterpret_cast<uint64_t *>(range.tail(16)), data, 1000), 8000 - 16);
  }
}
