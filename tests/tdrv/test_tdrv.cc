// SPDX-License-Identifier: Apache-2.0
// Setting the core up: options, ranges, claims, and that failure undoes everything.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/tdrv/machine.h"

using ::testing::HasSubstr;

namespace {

constexpr int32_t kOther = 4242;  // another process

hal_t *open_mock(const char *instance) {
  hal_options_t options;
  options.mock = HAL_MOCK_ALWAYS;
  options.mock_instance = instance;
  hal_t *hal = nullptr;
  EXPECT_EQ(hal_open(&options, &hal), NRT_SUCCESS);
  return hal;
}

struct env_guard {
  explicit env_guard(const char *n, const char *value) : name(n) { setenv(n, value, 1); }
  ~env_guard() { unsetenv(name); }
  env_guard(const env_guard &) = delete;
  env_guard &operator=(const env_guard &) = delete;
  const char *name;
};

}  // namespace

TEST(Options, DefaultsAndValues) {
  tdrv_options_t o = {};
  o.lnc = 2;
  o.first_vnc = 3;
  ASSERT_EQ(tdrv_options_from_env(&o), NRT_SUCCESS);
  EXPECT_TRUE(o.want_contiguous_scratchpad);
  EXPECT_EQ(o.scratchpad_page_size, 512 * kMiB);
  EXPECT_TRUE(o.io_placement_at_load);
  EXPECT_EQ(o.exec_timeout, 30u);
  EXPECT_FALSE(o.wait_full_timeout || o.hw_exec);
  EXPECT_EQ(o.lnc, 2u);  // not its business
  EXPECT_EQ(o.first_vnc, 3u);
  env_guard a("NEURON_RT_CONTIGUOUS_SCRATCHPAD", "0"), b("NEURON_SCRATCHPAD_PAGE_SIZE", "3584"),
      c("NEURON_RT_IO_PLACEMENT", "bind"), d("NEURON_RT_ONE_TMPBUF_PAGE_SIZE_MB", "1024"),
      e("NEURON_RT_EXEC_TIMEOUT", "2147483647"), f("NEURON_RT_EXPERIMENTAL_HW_EXEC", "1"),
      g("NEURON_MOCK_WAIT_FULL_TIMEOUT", "true");
  ASSERT_EQ(tdrv_options_from_env(&o), NRT_SUCCESS);
  EXPECT_FALSE(o.want_contiguous_scratchpad);
  EXPECT_EQ(o.scratchpad_page_size, 3584 * kMiB);
  EXPECT_FALSE(o.io_placement_at_load);
  EXPECT_EQ(o.exec_timeout, 2147483647u);
  EXPECT_TRUE(o.wait_full_timeout && o.hw_exec);
}

TEST(Options, OlderNameOfThePageSize) {
  env_guard a("NEURON_RT_ONE_TMPBUF_PAGE_SIZE_MB", "1024");
  tdrv_options_t o = {};
  ASSERT_EQ(tdrv_options_from_env(&o), NRT_SUCCESS);
  EXPECT_EQ(o.scratchpad_page_size, 1024 * kMiB);
}

TEST(Options, BadValuesAreRefusedByName) {
  log_watch log;
  struct row {
    const char *name, *value;
  };
  for (const row &r :
       {row{"NEURON_SCRATCHPAD_PAGE_SIZE", "0"}, row{"NEURON_SCRATCHPAD_PAGE_SIZE", "4096"},
        row{"NEURON_SCRATCHPAD_PAGE_SIZE", "6"}, row{"NEURON_SCRATCHPAD_PAGE_SIZE", "big"},
        row{"NEURON_RT_ONE_TMPBUF_PAGE_SIZE_MB", "5000"},
        row{"NEURON_RT_CONTIGUOUS_SCRATCHPAD", "maybe"}, row{"NEURON_RT_IO_PLACEMENT", "later"},
        row{"NEURON_RT_EXEC_TIMEOUT", "-1"}, row{"NEURON_RT_EXEC_TIMEOUT", "2147483648"},
        row{"NEURON_RT_EXEC_TIMEOUT", "30s"}, row{"NEURON_RT_EXPERIMENTAL_HW_EXEC", "2"},
        row{"NEURON_MOCK_WAIT_FULL_TIMEOUT", "always"}}) {
    env_guard guard(r.name, r.value);
    tdrv_options_t o = {};
    EXPECT_EQ(tdrv_options_from_env(&o), NRT_INVALID) << r.name << "=" << r.value;
    auto errors = log.take_errors();
    ASSERT_EQ(errors.size(), 1u) << r.name << "=" << r.value;
    EXPECT_THAT(errors[0], HasSubstr(r.name));
    EXPECT_THAT(errors[0], HasSubstr(r.value));
  }
  env_guard small("NEURON_SCRATCHPAD_PAGE_SIZE", "64");  // public runs use it
  tdrv_options_t o = {};
  EXPECT_EQ(tdrv_options_from_env(&o), NRT_SUCCESS);
  EXPECT_EQ(o.scratchpad_page_size, 64 * kMiB);
}

TEST(Init, LogicalCoresMapToConsecutivePhysicalOnes) {
  machine m({.instance = "trn2.3xlarge", .lnc = 2, .first_vnc = 1, .num_vncs = 3});
  EXPECT_EQ(tdrv_vnc_count(m.tdrv), 3u);
  EXPECT_EQ(tdrv_vcore(m.tdrv, 3), nullptr);
  for (uint32_t v = 0; v < 3; ++v) {
    ASSERT_EQ(m.vcore(v)->num_tpbs, 2u);
    EXPECT_EQ(m.vcore(v)->vnc, v);
    for (uint32_t k = 0; k < 2; ++k) {
      EXPECT_EQ(m.tpb(k, v)->pcore.core_index, (1 + v) * 2 + k);
      EXPECT_EQ(m.tpb(k, v)->pcore.nc_id, (1 + v) * 2 + k);
      EXPECT_EQ(m.tpb(k, v)->pcore.hbm_index, 1 + v);
    }
  }
  EXPECT_EQ(tdrv_hal(m.tdrv), m.hal);
  EXPECT_EQ(tdrv_options(m.tdrv)->num_vncs, 3u);
}

TEST(Init, CoresOfSeveralDevices) {
  machine m({.instance = "inf2.24xlarge", .lnc = 1, .first_vnc = 3, .num_vncs = 6});
  const uint32_t device[] = {1, 2, 2, 3, 3, 4}, core[] = {1, 0, 1, 0, 1, 0};
  for (uint32_t v = 0; v < 6; ++v) {
    EXPECT_EQ(m.tpb(0, v)->pcore.device_id, device[v]);
    EXPECT_EQ(m.tpb(0, v)->pcore.nc_id, core[v]);
    EXPECT_EQ(m.tpb(0, v)->pcore.core_index, 3 + v);
  }
  EXPECT_EQ(m.tpb(0, 1)->pcore.stats, m.tpb(0, 2)->pcore.stats);  // one table per device
  EXPECT_NE(m.tpb(0, 0)->pcore.stats, m.tpb(0, 1)->pcore.stats);
}

TEST(Init, RangesOutsideTheMachineAreRefused) {
  log_watch log;
  hal_t *hal = open_mock("trn2.3xlarge");
  struct row {
    uint32_t lnc, first, count;
  };
  for (const row &r : {row{2, 0, 5}, row{2, 4, 1}, row{2, 0, 0}, row{1, 8, 1}, row{0, 0, 1},
                       row{3, 0, 1}, row{2, 0xFFFFFFFF, 2}}) {
    tdrv_options_t o = {r.lnc, r.first, r.count};
    tdrv_t *tdrv = nullptr;
    EXPECT_EQ(tdrv_init(hal, &o, &tdrv), NRT_INVALID);
    EXPECT_EQ(tdrv, nullptr);
    EXPECT_EQ(log.take_errors().size(), 1u);
  }
  hal_close(hal);
  hal = open_mock("trn1.2xlarge");
  tdrv_options_t o = {2, 0, 1};
  tdrv_t *tdrv = nullptr;
  EXPECT_EQ(tdrv_init(hal, &o, &tdrv), NRT_INVALID);
  hal_close(hal);
}

TEST(Init, CoresOfAnotherProcessAreNamed) {
  log_watch log;
  hal_t *hal = open_mock("trn2.3xlarge");
  mock_host_t *host = hal_mock_host(hal);
  int fd = mock_open(host, kOther, "/dev/neuron0", O_WRONLY);
  ASSERT_GE(fd, 0);
  neuron_ioctl_crwl_nc_map claim = {};
  claim.nc_count = 2;
  claim.start_nc_index = 4;
  claim.end_nc_index = 5;
  ASSERT_EQ(mock_ioctl(host, kOther, fd, NEURON_IOCTL_CRWL_NC_RANGE_MARK, &claim), 0);
  tdrv_options_t o = {2, 0, 4};
  tdrv_t *tdrv = nullptr;
  EXPECT_EQ(tdrv_init(hal, &o, &tdrv), NRT_FAILURE);
  auto errors = log.take_errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0], HasSubstr("nc0-nc7"));
  EXPECT_THAT(errors[0], HasSubstr("4 available"));
  o = {2, 0, 2};  // the free ones
  ASSERT_EQ(tdrv_init(hal, &o, &tdrv), NRT_SUCCESS);
  tdrv_close(tdrv);
  mock_close(host, kOther, fd);  // drops the claim
  o = {2, 0, 4};
  ASSERT_EQ(tdrv_init(hal, &o, &tdrv), NRT_SUCCESS);
  tdrv_close(tdrv);
  hal_close(hal);
}

TEST(Init, CloseReleasesTheClaimAndAllMemory) {
  hal_t *hal = open_mock("trn2.3xlarge");
  tdrv_options_t o = {2, 0, 4};
  for (int i = 0; i < 3; ++i) {
    tdrv_t *tdrv = nullptr;
    ASSERT_EQ(tdrv_init(hal, &o, &tdrv), NRT_SUCCESS);
    tdrv_close(tdrv);
  }
  hal_close(hal);
  tdrv_close(nullptr);
}

TEST(Init, EveryFailingRequestUndoesTheSetUp) {
  log_watch log;
  hal_t *hal = open_mock("trn2.3xlarge");
  mock_host_t *host = hal_mock_host(hal);
  tdrv_options_t o = {2, 0, 2};
  tdrv_t *tdrv = nullptr;
  uint32_t nth = 0;
  NRT_STATUS status;
  do {
    ++nth;
    mock_fault_t fault = {0, nth, EIO, false};
    ASSERT_EQ(mock_set_faults(host, &fault, 1), 0);
    status = tdrv_init(hal, &o, &tdrv);
    mock_set_faults(host, nullptr, 0);
    if (status == NRT_SUCCESS)
      break;
    EXPECT_EQ(tdrv, nullptr);
    EXPECT_EQ(log.take_errors().size(), 1u) << nth;
    ASSERT_LT(nth, 200u);
  } while (true);
  EXPECT_GT(nth, 3u);
  tdrv_close(tdrv);
  hal_close(hal);
}
