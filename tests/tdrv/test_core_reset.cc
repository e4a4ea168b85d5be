// SPDX-License-Identifier: Apache-2.0
// What nrt_init does to the cores it has claimed, and does not do to others
// (mock-device-semantics.md 11, 12, 17).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "tests/tdrv/machine.h"
#include "uapi/neuron_shared.h"

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr int32_t kOther = 4242;  // another process

hal_t *open_mock(const char *instance, const char *faults = "") {
  setenv("NEURON_MOCK_FAULT", faults, 1);
  hal_options_t options;
  options.mock = HAL_MOCK_ALWAYS;
  options.mock_instance = instance;
  hal_t *hal = nullptr;
  EXPECT_EQ(hal_open(&options, &hal), NRT_SUCCESS);
  unsetenv("NEURON_MOCK_FAULT");
  return hal;
}

// Another process with one device open.
struct other_t {
  mock_host_t *host;
  int fd;
  other_t(hal_t *hal, uint32_t device) : host(hal_mock_host(hal)) {
    fd = mock_open(host, kOther, ("/dev/neuron" + std::to_string(device)).c_str(), O_RDWR);
    EXPECT_GE(fd, 0);
  }
  ~other_t() { mock_close(host, kOther, fd); }
  other_t(const other_t &) = delete;
  other_t &operator=(const other_t &) = delete;
  uint32_t semaphore(uint32_t request, uint32_t core, uint32_t value = 0) {
    neuron_ioctl_semaphore a = {core, 5, value};
    EXPECT_EQ(mock_ioctl(host, kOther, fd, request, &a), 0);
    return a.value;
  }
  uint32_t mark_started(uint32_t core) {
    neuron_ioctl_cinit_set a = {core, NEURON_CINIT_STARTED, 0};
    EXPECT_EQ(mock_ioctl(host, kOther, fd, NEURON_IOCTL_CINIT_SET_STATE, &a), 0);
    return a.new_state;
  }
};

std::string resets_of(hal_t *hal, uint32_t device, uint32_t core) {
  std::string path = "/sys/class/neuron_device/neuron" + std::to_string(device) + "/neuron_core" +
                     std::to_string(core) + "/stats/other_info/reset_req_count/total";
  int fd = mock_open(hal_mock_host(hal), kOther, path.c_str(), O_RDONLY);
  char text[32] = {};
  EXPECT_GT(mock_read(hal_mock_host(hal), kOther, fd, text, sizeof(text) - 1), 0);
  mock_close(hal_mock_host(hal), kOther, fd);
  return text;
}

uint64_t resets(hal_t *hal) {
  return mock_ioctl_count(hal_mock_host(hal), NEURON_IOCTL_NC_RESET);
}

}  // namespace

// Logical cores 3 to 8 of two: physical 6 to 17, the end of device 0 to the start of device 2.
TEST(CoreReset, OwnCoresAndNoOthers) {
  hal_t *hal = open_mock("trn2.48xlarge");
  {
    other_t zero(hal, 0), two(hal, 2);
    for (uint32_t core = 0; core < 8; ++core) {
      zero.semaphore(NEURON_IOCTL_SEMAPHORE_WRITE, core, 100 + core);
      two.semaphore(NEURON_IOCTL_SEMAPHORE_WRITE, core, 200 + core);
    }
    tdrv_options_t o = {2, 3, 6};
    tdrv_t *tdrv = nullptr;
    ASSERT_EQ(tdrv_init(hal, &o, &tdrv), NRT_SUCCESS);
    EXPECT_EQ(resets(hal), 3u) << "one per device";
    for (uint32_t core = 0; core < 8; ++core) {
      SCOPED_TRACE(core);
      bool mine_on_0 = core >= 6, mine_on_2 = core < 2;
      EXPECT_EQ(zero.semaphore(NEURON_IOCTL_SEMAPHORE_READ, core), mine_on_0 ? 0 : 100 + core);
      EXPECT_EQ(two.semaphore(NEURON_IOCTL_SEMAPHORE_READ, core), mine_on_2 ? 0 : 200 + core);
      EXPECT_EQ(resets_of(hal, 0, core), mine_on_0 ? "1\n" : "0\n");
      EXPECT_EQ(resets_of(hal, 1, core), "1\n");
      EXPECT_EQ(resets_of(hal, 2, core), mine_on_2 ? "1\n" : "0\n");
      EXPECT_EQ(resets_of(hal, 3, core), "0\n");
    }
    // The driver knows that these cores are set up.
    EXPECT_EQ(zero.mark_started(6), static_cast<uint32_t>(NEURON_CINIT_COMPLETED));
    EXPECT_EQ(two.mark_started(1), static_cast<uint32_t>(NEURON_CINIT_COMPLETED));
    EXPECT_EQ(two.mark_started(2), static_cast<uint32_t>(NEURON_CINIT_STARTED)) << "was untouched";
    tdrv_close(tdrv);
  }
  hal_close(hal);
}

TEST(CoreReset, GoesWithout) {
  hal_t *hal = open_mock("trn1.2xlarge");
  {
    other_t other(hal, 0);
    other.semaphore(NEURON_IOCTL_SEMAPHORE_WRITE, 0, 7);
    setenv("NEURON_RT_RESET_CORES", "0", 1);
    tdrv_options_t o = {};
    ASSERT_EQ(tdrv_options_from_env(&o), NRT_SUCCESS);
    unsetenv("NEURON_RT_RESET_CORES");
    EXPECT_FALSE(o.reset_cores);
    o.lnc = 1;
    o.num_vncs = 2;
    tdrv_t *tdrv = nullptr;
    ASSERT_EQ(tdrv_init(hal, &o, &tdrv), NRT_SUCCESS);
    EXPECT_EQ(resets(hal), 0u);
    EXPECT_EQ(other.semaphore(NEURON_IOCTL_SEMAPHORE_READ, 0), 7u);
    EXPECT_EQ(other.mark_started(1), static_cast<uint32_t>(NEURON_CINIT_COMPLETED));
    tdrv_close(tdrv);
  }
  hal_close(hal);
}

TEST(CoreReset, Variable) {
  log_watch log;
  tdrv_options_t o = {};
  ASSERT_EQ(tdrv_options_from_env(&o), NRT_SUCCESS);
  EXPECT_TRUE(o.reset_cores);
  setenv("NEURON_RT_RESET_CORES", "sometimes", 1);
  EXPECT_EQ(tdrv_options_from_env(&o), NRT_INVALID);
  unsetenv("NEURON_RT_RESET_CORES");
  EXPECT_THAT(log.take_errors(),
              ElementsAre(AllOf(HasSubstr("NEURON_RT_RESET_CORES"), HasSubstr("sometimes"))));
}

// Device memory of others keeps its content and its place.
TEST(CoreReset, MemoryStays) {
  hal_t *hal = open_mock("trn1.2xlarge");
  {
    other_t other(hal, 0);
    uint64_t handle = 0;
    neuron_ioctl_mem_alloc_v2_mem_type64 a = {};
    a.size = 4096;
    a.mem_type = NEURON_MEM_TENSORS_DEVICE;
    a.mem_handle = &handle;
    ASSERT_EQ(mock_ioctl(other.host, kOther, other.fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a), 0);
    uint8_t sent[64], got[64] = {};
    memset(sent, 0x5d, sizeof(sent));
    neuron_ioctl_mem_buf_copy64 copy = {};
    copy.mem_handle = handle;
    copy.buffer = sent;
    copy.size = sizeof(sent);
    copy.copy_to_mem_handle = 1;
    ASSERT_EQ(mock_ioctl(other.host, kOther, other.fd, NEURON_IOCTL_MEM_BUF_COPY64, &copy), 0);
    tdrv_options_t o = {1, 0, 2};
    tdrv_t *tdrv = nullptr;
    ASSERT_EQ(tdrv_init(hal, &o, &tdrv), NRT_SUCCESS);
    copy.buffer = got;
    copy.copy_to_mem_handle = 0;
    ASSERT_EQ(mock_ioctl(other.host, kOther, other.fd, NEURON_IOCTL_MEM_BUF_COPY64, &copy), 0);
    EXPECT_EQ(memcmp(sent, got, sizeof(sent)), 0);
    tdrv_close(tdrv);
  }
  hal_close(hal);
}

TEST(CoreReset, Fails) {
  log_watch log;
  hal_t *hal = open_mock("inf2.24xlarge", "RESET:2:5");  // the second device's
  tdrv_options_t o = {1, 1, 3};                          // core 1 of device 0, both of device 1
  tdrv_t *tdrv = nullptr;
  EXPECT_EQ(tdrv_init(hal, &o, &tdrv), NRT_FAILURE);
  EXPECT_EQ(tdrv, nullptr);
  EXPECT_THAT(log.take_errors(),
              ElementsAre(AllOf(HasSubstr("nd1"), HasSubstr("nc0-nc1"), HasSubstr("reset failed"),
                                HasSubstr("EIO"), HasSubstr("NEURON_RT_RESET_CORES"))));
  // The claim and the devices are free again.
  ASSERT_EQ(tdrv_init(hal, &o, &tdrv), NRT_SUCCESS);
  tdrv_close(tdrv);
  hal_close(hal);
}

// A reset this process asked for earlier and never waited for.
TEST(CoreReset, LeftOverRequest) {
  hal_t *hal = open_mock("trn1.2xlarge");
  hal_device_t *device = nullptr;
  ASSERT_EQ(hal_device_open(hal, 0, &device), NRT_SUCCESS);
  neuron_ioctl_device_reset reset = {1, 0};
  ASSERT_EQ(hal_device_ioctl(device, NEURON_IOCTL_NC_RESET, &reset), 0);
  tdrv_options_t o = {1, 0, 2};
  tdrv_t *tdrv = nullptr;
  ASSERT_EQ(tdrv_init(hal, &o, &tdrv), NRT_SUCCESS);
  EXPECT_EQ(resets_of(hal, 0, 0), "2\n");
  EXPECT_EQ(resets_of(hal, 0, 1), "1\n");
  tdrv_close(tdrv);
  hal_device_close(device);
  hal_close(hal);
}

// A process that died while it initialised a core: the reset makes it anybody's again, at once.
TEST(CoreReset, HalfInitialisedCore) {
  hal_t *hal = open_mock("trn1.2xlarge");
  {
    other_t dead(hal, 0);
    EXPECT_EQ(dead.mark_started(0), static_cast<uint32_t>(NEURON_CINIT_STARTED));
  }
  tdrv_options_t o = {1, 0, 1};
  tdrv_t *tdrv = nullptr;
  ASSERT_EQ(tdrv_init(hal, &o, &tdrv), NRT_SUCCESS);
  {
    other_t other(hal, 0);
    EXPECT_EQ(other.mark_started(0), static_cast<uint32_t>(NEURON_CINIT_COMPLETED));
  }
  tdrv_close(tdrv);
  hal_close(hal);
}
