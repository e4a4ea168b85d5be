// SPDX-License-Identifier: Apache-2.0
// Section 12: resets that fail, take time or are switched off; 4: open meets them; 16: their
// counts.
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S12_Failing, V2_AND_V3);
CONFORMANCE_SUITE(S16_Reset, V2_AND_V3);
CONFORMANCE_SUITE_WITH(S12_NoReset, options->no_reset = true, V2_AND_V3);
CONFORMANCE_SUITE_WITH(S12_Sysfs, options->reset_ms = 30, V2_AND_V3);

namespace {

const std::string DEVICE = "/sys/class/neuron_device/neuron0/";

long reset(const fd_t &fd, uint32_t cores) {
  neuron_ioctl_device_reset arg = {cores, 0};
  return fd.io(NEURON_IOCTL_NC_RESET, &arg);
}

int32_t result_of(const fd_t &fd) {
  neuron_ioctl_device_ready arg = {static_cast<uint32_t>(getpid()), -99};
  EXPECT_EQ(fd.io(NEURON_IOCTL_NC_RESET_READY, &arg), 0);
  return arg.result;
}

long copy(const fd_t &fd, const chunk_t &from, const chunk_t &to) {
  neuron_ioctl_mem_copy64 arg = {from.handle, to.handle, 64, 0, 0};
  return fd.io(NEURON_IOCTL_MEM_COPY64, &arg);
}

std::string other_info(uint32_t core, const char *name) {
  return DEVICE + "neuron_core" + std::to_string(core) + "/stats/other_info/" + name + "/total";
}

}  // namespace

TEST_P(S12_Failing, ResultIsOne) {
  NEEDS_BACKSTAGE();
  backstage().fail_next(MOCK_FAULT_RESET);
  ASSERT_EQ(reset(dev, 1), 0);
  EXPECT_EQ(result_of(dev), 1);
  ASSERT_EQ(reset(dev, 1), 0);
  EXPECT_EQ(result_of(dev), 0);
}

// The driver would crash ([K]); the mock refuses copies on a core whose rings are gone.
TEST_P(S12_Failing, CopiesOnThatCore) {
  NEEDS_BACKSTAGE();
  chunk_t on0 = alloc(dev, {.nc_id = 0}), on1 = alloc(dev, {.nc_id = 1});
  backstage().fail_next(MOCK_FAULT_RESET);
  ASSERT_EQ(reset(dev, 1), 0);
  ASSERT_EQ(result_of(dev), 1);
  EXPECT_EQ(copy(dev, on1, on0), -EPERM);  // the destination's core
  EXPECT_EQ(copy(dev, on0, on1), 0);
  // All other checks come first.
  chunk_t bad = {0, BAD_HANDLE, 0};
  EXPECT_EQ(copy(dev, bad, on0), -EINVAL);
  ASSERT_EQ(reset(dev, 1), 0);
  ASSERT_EQ(result_of(dev), 0);
  EXPECT_EQ(copy(dev, on1, on0), 0);
}

TEST_P(S16_Reset, Requests_PerCore) {
  for (uint32_t core : {0u, 1u})
    EXPECT_EQ(number_in(other_info(core, "reset_req_count")), 0u);
  ASSERT_EQ(reset(dev, 2), 0);
  ASSERT_EQ(result_of(dev), 0);
  EXPECT_EQ(number_in(other_info(0, "reset_req_count")), 0u);
  EXPECT_EQ(number_in(other_info(1, "reset_req_count")), 1u);
  ASSERT_EQ(reset(dev, NEURON_NC_MAP_DEVICE), 0);
  ASSERT_EQ(result_of(dev), 0);
  for (uint32_t core = 0; core < model().cores; ++core)
    EXPECT_EQ(number_in(other_info(core, "reset_req_count")), core == 1 ? 2u : 1u);
}

TEST_P(S16_Reset, Failures_OnEveryCore) {
  NEEDS_BACKSTAGE();
  backstage().fail_next(MOCK_FAULT_RESET);
  ASSERT_EQ(reset(dev, 1), 0);
  ASSERT_EQ(result_of(dev), 1);
  for (uint32_t core = 0; core < model().cores; ++core)
    EXPECT_EQ(number_in(other_info(core, "reset_fail_count")), 1u);
}

TEST_P(S12_NoReset, SucceedsAndDoesNothing) {
  neuron_ioctl_cinit_set state = {0, NEURON_CINIT_STARTED, 0};
  ASSERT_EQ(io(NEURON_IOCTL_CINIT_SET_STATE, &state), 0);
  // No request is made: a second one is not "pending".
  EXPECT_EQ(reset(dev, 1), 0);
  EXPECT_EQ(reset(dev, NEURON_NC_MAP_DEVICE), 0);
  EXPECT_EQ(result_of(dev), 0);
  EXPECT_EQ(result_of(dev), 0);
  state = {0, NEURON_CINIT_INVALID, 0};
  ASSERT_EQ(io(NEURON_IOCTL_CINIT_SET_STATE, &state), 0);
  EXPECT_EQ(state.new_state, 1u);
}

TEST_P(S12_Sysfs, Write_WhileOpenDoesNotReset) {
  NEEDS_BACKSTAGE();
  backstage().write_file(DEVICE + "reset", "1");
  EXPECT_EQ(number_in(DEVICE + "reset"), 1u);  // still ready
}

TEST_P(S12_Sysfs, Write_ResetsAClosedDevice) {
  NEEDS_BACKSTAGE();
  ASSERT_EQ(dev.close(), 0);
  EXPECT_EQ(backstage().write_file(DEVICE + "reset", "1"), 1);
  EXPECT_EQ(number_in(DEVICE + "reset"), 0u);  // resetting
  // Section 4, open 2: waits for it.
  dev = open(SELF);
  EXPECT_EQ(number_in(DEVICE + "reset"), 1u);
  EXPECT_EQ(alloc(dev).rc, 0);
}

TEST_P(S12_Sysfs, Open_IsInterruptedWhileItWaits) {
  NEEDS_BACKSTAGE();
  ASSERT_EQ(dev.close(), 0);
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &term, &before), 0);
  ASSERT_EQ(pthread_kill(pthread_self(), SIGTERM), 0);
  ASSERT_EQ(backstage().write_file(DEVICE + "reset", "1"), 1);
  EXPECT_EQ(target->ops->open(target->be, 0, HAL_LANE_DEVICE), -EINTR);
  // The misc lane does not wait.
  EXPECT_GE(target->ops->open(target->be, 0, HAL_LANE_MISC), 0);
  timespec now = {};
  EXPECT_EQ(sigtimedwait(&term, nullptr, &now), SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  dev = open(SELF);
}

// Section 4, open 3: a device whose reset failed is invalid.
TEST_P(S12_Sysfs, Open_OfAnInvalidDevice) {
  NEEDS_BACKSTAGE();
  ASSERT_EQ(dev.close(), 0);
  backstage().fail_next(MOCK_FAULT_RESET);
  ASSERT_EQ(backstage().write_file(DEVICE + "reset", "1"), 1);
  EXPECT_EQ(target->ops->open(target->be, 0, HAL_LANE_DEVICE), -EINVAL);
  EXPECT_EQ(number_in(DEVICE + "reset"), 2u);
  // It was not counted as open: another reset is taken.
  ASSERT_EQ(backstage().write_file(DEVICE + "reset", "1"), 1);
  dev = open(SELF);
  EXPECT_EQ(number_in(DEVICE + "reset"), 1u);
}
