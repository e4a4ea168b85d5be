// SPDX-License-Identifier: Apache-2.0
// The same tests on both back ends: the mock's own, and the kernel's with its syscalls routed to a
// mocked machine. Expected values are those of mock-device-semantics.md 17.1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "base/nlog.h"
#include "hal/mock.h"
#include "tests/hal/backends_fixture.h"
#include "tests/hal/recorder.h"

INSTANTIATE_BACKENDS(Backends);

// rulings.md 16.
TEST_P(Backends, Instances) {
  struct row {
    const char *instance;
    uint32_t devices;
    uint32_t arch;
  };
  const row rows[] = {{"inf2.xlarge", 1, 2},   {"inf2.24xlarge", 6, 2},  {"inf2.48xlarge", 12, 2},
                      {"trn1.2xlarge", 1, 2},  {"trn1.32xlarge", 16, 2}, {"trn2.3xlarge", 1, 3},
                      {"trn2.48xlarge", 16, 3}};
  for (const row &r : rows) {
    SCOPED_TRACE(r.instance);
    open(r.instance);
    const hal_identity_t *id = hal_identity(hal);
    EXPECT_STREQ(id->backend, GetParam() == OWN ? "mock" : "kernel");
    EXPECT_STREQ(id->instance_type, r.instance);
    EXPECT_STREQ(id->driver_version, "2.24.7.0");
    EXPECT_EQ(id->device_count, r.devices);
    for (uint32_t i = 0; i < r.devices; ++i)
      EXPECT_EQ(id->device_index[i], i);
    EXPECT_EQ(hal_arch(hal), hal_arch_get(r.arch));
    EXPECT_EQ(id->api_min, r.arch == 2 ? 5u : 10u);
    EXPECT_EQ(id->api_max, r.arch == 2 ? 7u : 11u);
    EXPECT_EQ(id->features, 0xffu);
    EXPECT_EQ(hal_mock_host(hal), GetParam() == OWN ? host : nullptr);
    close();
  }
}

TEST_P(Backends, CheckValues) {
  open("trn2.3xlarge");
  uint64_t handle = 0;
  uint64_t pa = 0;
  EXPECT_EQ(alloc(4096, 0, 0, 9, &handle, &pa), 0);
  EXPECT_EQ(handle, 1u);
  EXPECT_EQ(pa, 0x5c0000000u);
  EXPECT_EQ(alloc(1 << 20, 0, 0, 9, &handle, &pa), 0);
  EXPECT_EQ(handle, 2u);
  EXPECT_EQ(pa, 0x1000000u);
  EXPECT_EQ(alloc(1 << 20, 2 << 20, 0, 9, &handle, &pa), 0);
  EXPECT_EQ(handle, 3u);
  EXPECT_EQ(pa, 0x1200000u);
  EXPECT_EQ(alloc(512 << 10, 0, 0, 9, &handle, &pa), 0);
  EXPECT_EQ(handle, 4u);
  EXPECT_EQ(pa, 0x5c0001000u);
  EXPECT_EQ(hal_mem_free(device, 2), 0);
  EXPECT_EQ(alloc(1, 0, 3, 9, &handle, &pa), 0);
  EXPECT_EQ(handle, 2u);
  EXPECT_EQ(pa, 0x8045c0000000u);
  EXPECT_EQ(alloc(64 << 20, 0, 0, 19, &handle, &pa), 0);
  EXPECT_EQ(pa, 0x5bc000000u);
  EXPECT_EQ(alloc(64 << 20, 0, 0, 19, &handle, &pa), 0);
  EXPECT_EQ(pa, 0x5b8000000u);
  EXPECT_EQ(alloc(1, 0, 4, 9, &handle, &pa), -EINVAL);
  EXPECT_EQ(alloc(1, 0, 0, 9, &handle, &pa, HAL_LOCATION_DEVICE, 8), -EINVAL);
  EXPECT_EQ(alloc(0, 0, 0, 9, &handle, &pa), -ENOMEM);
  EXPECT_EQ(alloc(1, 64, 0, 2, &handle, &pa, HAL_LOCATION_HOST), -EINVAL);
  EXPECT_EQ(hal_mem_free(device, 999), -EINVAL);

  // Mappings take the whole chunk only.
  uint64_t cookie = 0;
  EXPECT_EQ(hal_mem_get_info(device, 3, &cookie, &pa), 0);
  EXPECT_EQ(cookie, 0x1200000u);
  EXPECT_EQ(pa, 0x1200000u);
  void *va = nullptr;
  EXPECT_EQ(hal_mem_map(device, cookie, 0x80000, PROT_READ | PROT_WRITE, &va), -EPERM);
  ASSERT_EQ(hal_mem_map(device, cookie, 0x100000, PROT_READ | PROT_WRITE, &va), 0);
  static_cast<char *>(va)[0x1234] = 0x5a;
  char byte = 0;
  EXPECT_EQ(hal_mem_buf_copy(device, 3, &byte, 0x1234, 1, false), 0);
  EXPECT_EQ(byte, 0x5a);
  EXPECT_EQ(hal_mem_unmap(device, va, 0x100000), 0);

  // The driver's list: carve-out, then what is left above.
  hal_chunk_t chunks[8];
  uint32_t count = 8;
  ASSERT_EQ(hal_dump_chunks(device, 0, chunks, &count), 0);
  ASSERT_EQ(count, 6u);
  const hal_chunk_t expected[] = {{0, 0x1000000, 13},           {0x1200000, 0x100000, 9},
                                  {0x5b8000000, 0x4000000, 19}, {0x5bc000000, 0x4000000, 19},
                                  {0x5c0000000, 0x1000, 9},     {0x5c0001000, 0x80000, 9}};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(chunks[i].pa, expected[i].pa);
    EXPECT_EQ(chunks[i].size, expected[i].size);
    EXPECT_EQ(chunks[i].category, expected[i].category);
  }
  count = 5;
  EXPECT_EQ(hal_dump_chunks(device, 0, chunks, &count), -EAGAIN);
  EXPECT_EQ(count, 6u);
}

TEST_P(Backends, CopiesAndAsyncSlots) {
  open("trn2.3xlarge");
  uint64_t a = 0;
  uint64_t b = 0;
  uint64_t pa = 0;
  ASSERT_EQ(alloc(1 << 20, 0, 0, 9, &a, &pa), 0);
  ASSERT_EQ(alloc(1 << 20, 0, 1, 9, &b, &pa), 0);
  std::vector<uint8_t> data(1 << 20);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<uint8_t>(i * 7 + i / 256);
  ASSERT_EQ(hal_mem_buf_copy(device, a, data.data(), 0, data.size(), true), 0);
  ASSERT_EQ(hal_mem_copy(device, a, 100, b, 200, 70000), 0);
  std::vector<uint8_t> back(70000);
  ASSERT_EQ(hal_mem_buf_copy(device, b, back.data(), 200, back.size(), false), 0);
  EXPECT_EQ(memcmp(back.data(), data.data() + 100, back.size()), 0);
  ASSERT_EQ(hal_memset(device, b, 10, 0xEE, 20), 0);
  ASSERT_EQ(hal_mem_buf_copy(device, b, back.data(), 9, 22, false), 0);
  EXPECT_EQ(back[0], 0);
  EXPECT_EQ(back[1], 0xEE);
  EXPECT_EQ(back[20], 0xEE);
  EXPECT_EQ(back[21], 0);
  // 17.1: wait handles 1, 2, 1 for -1, 1, 2.
  int h = -1;
  ASSERT_EQ(hal_mem_copy_async(device, a, 0, b, 0, 4096, -1, &h), 0);
  EXPECT_EQ(h, 1);
  ASSERT_EQ(hal_mem_copy_async(device, a, 0, b, 4096, 4096, 1, &h), 0);
  EXPECT_EQ(h, 2);
  ASSERT_EQ(hal_mem_copy_async(device, a, 0, b, 8192, 4096, 2, &h), 0);
  EXPECT_EQ(h, 1);
  EXPECT_EQ(hal_mem_copy_wait(device, a, b, 2), -EINVAL);  // not in use any more
  EXPECT_EQ(hal_mem_copy_wait(device, a, b, 1), 0);
  ASSERT_EQ(hal_mem_copy_async(device, a, 0, b, 0, 4096, 0, &h), 0);
  EXPECT_EQ(h, 0);
  ASSERT_EQ(hal_mem_buf_copy(device, b, back.data(), 8192, 4096, false), 0);
  EXPECT_EQ(memcmp(back.data(), data.data(), 4096), 0);
  EXPECT_EQ(hal_mem_copy(device, a, 1 << 20, b, 0, 1), -EINVAL);
  // A bad pointer is a failure although the driver returns a positive number.
  EXPECT_EQ(hal_mem_buf_copy(device, a, nullptr, 0, 8, true), -EFAULT);
}

TEST_P(Backends, HiddenFeaturesChooseOlderForms) {
  struct row {
    uint64_t hidden;
    uint32_t alloc, copy, buf, set, mark;
  };
  const row rows[] = {
      {0, req::MEM_ALLOC_V2MT64, req::MEM_COPY64, req::MEM_BUF_COPY64, req::MEMSET64,
       req::NC_RANGE_MARK_EXT0},
      {HAL_FEATURE_MEM_ALLOC64, req::MEM_ALLOC_V2MT, req::MEM_COPY, req::MEM_BUF_COPY, req::MEMSET,
       req::NC_RANGE_MARK_EXT0},
      {HAL_FEATURE_MEM_ALLOC64 | HAL_FEATURE_MEM_ALLOC_TYPE | HAL_FEATURE_BIG_CORE_MAPS,
       req::MEM_ALLOC_V2, req::MEM_COPY, req::MEM_BUF_COPY, req::MEMSET, req::NC_RANGE_MARK},
  };
  for (const row &r : rows) {
    SCOPED_TRACE(testing::Message() << "hidden " << r.hidden);
    mock_dev_options_t options = {};
    options.hidden_features = r.hidden;
    open(options);
    EXPECT_EQ(hal_identity(hal)->features, 0xff & ~r.hidden);
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t pa = 0;
    ASSERT_EQ(alloc(4096, 1 << 20, 0, 9, &a, &pa), 0);
    EXPECT_EQ(pa % (1 << 20), 0u);
    ASSERT_EQ(alloc(4096, 0, 0, 9, &b, &pa), 0);
    char text[] = "round trip";
    char back[sizeof(text)] = "";
    ASSERT_EQ(hal_mem_buf_copy(device, a, text, 8, sizeof(text), true), 0);
    ASSERT_EQ(hal_mem_copy(device, a, 8, b, 100, sizeof(text)), 0);
    ASSERT_EQ(hal_mem_buf_copy(device, b, back, 100, sizeof(text), false), 0);
    EXPECT_STREQ(back, text);
    ASSERT_EQ(hal_memset(device, b, 100, 'x', 5), 0);
    ASSERT_EQ(hal_mem_buf_copy(device, b, back, 100, sizeof(text), false), 0);
    EXPECT_STREQ(back, "xxxxx trip");
    int h = -1;
    ASSERT_EQ(hal_mem_copy_async(device, a, 0, b, 0, 64, -1, &h), 0);
    ASSERT_EQ(hal_mem_copy_wait(device, a, b, h), 0);
    uint32_t claimed = 99;
    uint32_t available = 0;
    ASSERT_EQ(hal_cores_claim(hal, 2, 0, 7, &claimed, &available), 0);
    EXPECT_EQ(claimed, 0u);
    ASSERT_EQ(hal_cores_release(hal, 0, 2), 0);
    EXPECT_EQ(mock_ioctl_count(host, r.alloc), 2u);
    EXPECT_EQ(mock_ioctl_count(host, r.copy), 1u);
    EXPECT_EQ(mock_ioctl_count(host, r.buf), 3u);
    EXPECT_EQ(mock_ioctl_count(host, r.set), 1u);
    EXPECT_EQ(mock_ioctl_count(host, r.mark), 1u);
    close();
  }
}

TEST_P(Backends, Claims) {
  open("trn2.3xlarge");
  uint32_t claimed = 99;
  uint32_t available = 0;
  ASSERT_EQ(hal_cores_claim(hal, 2, 2, 7, &claimed, &available), 0);
  EXPECT_EQ(claimed, 2u);
  // Own claims block too; the longest free run is told.
  EXPECT_EQ(hal_cores_claim(hal, 8, 0, 7, &claimed, &available), -EBUSY);
  EXPECT_EQ(available, 4u);
  // Another process meets them.
  constexpr int32_t kOther = 7;
  int fd = mock_open(host, kOther, "/dev/neuron0", O_WRONLY);
  ASSERT_GE(fd, 0);
  bytes arg;
  arg.u32(1).u32(3).u32(3).u32(0).zeros(64);
  EXPECT_EQ(mock_ioctl(host, kOther, fd, req::NC_RANGE_MARK_EXT0, arg.data.data()), -EBUSY);
  ASSERT_EQ(hal_cores_release(hal, 2, 2), 0);
  EXPECT_EQ(mock_ioctl(host, kOther, fd, req::NC_RANGE_MARK_EXT0, arg.data.data()), 0);
  // And the other way round.
  EXPECT_EQ(hal_cores_claim(hal, 1, 3, 3, &claimed, &available), -EBUSY);
  EXPECT_EQ(available, 0u);
  mock_close(host, kOther, fd);  // drops its claims
  EXPECT_EQ(hal_cores_claim(hal, 8, 0, 7, &claimed, &available), 0);
}

TEST_P(Backends, ClaimsEndWithTheMachine) {
  open("trn1.32xlarge");
  uint32_t claimed = 99;
  uint32_t available = 0;
  ASSERT_EQ(hal_cores_claim(hal, 32, 0, 31, &claimed, &available), 0);
  EXPECT_EQ(claimed, 0u);
  if (GetParam() == OWN)
    return;  // the machine goes with its back end
  hal_device_close(device);
  device = nullptr;
  hal_close(hal);
  ASSERT_EQ(try_open(), NRT_SUCCESS);
  EXPECT_EQ(hal_cores_claim(hal, 32, 0, 31, &claimed, &available), 0);
}

TEST_P(Backends, ManyDevices) {
  open("trn1.32xlarge");
  hal_device_t *last = nullptr;
  ASSERT_EQ(hal_device_open(hal, 15, &last), NRT_SUCCESS);
  EXPECT_EQ(hal_device_index(last), 15u);
  EXPECT_EQ(hal_device_hal(last), hal);
  // Memory of one device is not the other's.
  uint64_t handle = 0;
  uint64_t pa = 0;
  hal_mem_request_t request = {1 << 20, 0, HAL_LOCATION_DEVICE, 1, 1, 9};
  ASSERT_EQ(hal_mem_alloc(last, &request, &handle), 0);
  ASSERT_EQ(hal_mem_get_pa(last, handle, &pa), 0);
  EXPECT_EQ(pa, 0x1001000000u);
  EXPECT_EQ(hal_mem_get_pa(device, handle, &pa), -EINVAL);
  hal_device_close(last);
}

TEST_P(Backends, Faults) {
  open("trn2.3xlarge");
  uint64_t handle = 0;
  uint64_t pa = 0;
  const mock_fault_t once[] = {{req::MEM_ALLOC_V2MT64, 2, ENOMEM, false},
                               {req::MEM_GET_PA, 1, EINTR, false}};
  ASSERT_EQ(mock_set_faults(host, once, 2), 0);
  EXPECT_EQ(alloc(1, 0, 0, 9, &handle, &pa), 0);  // the interrupted query is repeated
  EXPECT_EQ(alloc(1, 0, 0, 9, &handle, &pa), -ENOMEM);
  EXPECT_EQ(alloc(1, 0, 0, 9, &handle, &pa), 0);
  const mock_fault_t sticky[] = {{req::MEM_GET_PA, 1, EINTR, true}};
  ASSERT_EQ(mock_set_faults(host, sticky, 1), 0);
  EXPECT_EQ(hal_mem_get_pa(device, handle, &pa), -EINTR);
  ASSERT_EQ(mock_set_faults(host, nullptr, 0), 0);
  EXPECT_EQ(hal_mem_get_pa(device, handle, &pa), 0);
}

TEST_P(Backends, VersionRange) {
  mock_dev_options_t options = {};
  options.driver_version = "2.99.0.0";
  options.api_min = 12;
  options.api_max = 14;
  ASSERT_EQ(mock_host_create(&options, &host), 0);
  unsigned long errors = nlog_thread_error_count();
  EXPECT_EQ(try_open(), NRT_INVALID);
  EXPECT_EQ(nlog_thread_error_count(), errors + 1);
  EXPECT_EQ(hal, nullptr);
  if (GetParam() == ROUTED)
    mock_host_destroy(host);
  host = nullptr;  // a failed open has freed it with the back end
}

TEST_P(Backends, SizeOfAChannel) {
  mock_dev_options_t options = {};
  options.hbm_size = 4ull << 30;
  open(options);
  uint64_t size = 0;
  for (uint32_t hbm = 0; hbm < 4; ++hbm) {
    EXPECT_EQ(hal_hbm_size(device, hbm, &size), 0);
    EXPECT_EQ(size, 4ull << 30);
  }
  EXPECT_EQ(hal_hbm_size(device, 4, &size), -EINVAL);
  close();
  open("trn1.2xlarge");
  EXPECT_EQ(hal_hbm_size(device, 1, &size), 0);  // no such entry on v2: the chip's own size
  EXPECT_EQ(size, 16ull << 30);
}

TEST_P(Backends, CoreInit) {
  open("trn2.3xlarge");
  uint32_t state = 0;
  EXPECT_EQ(hal_core_init_state(device, 3, 1, &state), 0);
  EXPECT_EQ(state, 1u);
  EXPECT_EQ(hal_core_init_state(device, 3, 2, &state), 0);
  EXPECT_EQ(state, 2u);
  EXPECT_EQ(hal_core_init_state(device, 8, 1, &state), -E2BIG);
}

TEST_P(Backends, ThreadsShareADevice) {
  open("trn2.3xlarge");
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        hal_device_t *mine = nullptr;
        ASSERT_EQ(hal_device_open(hal, 0, &mine), NRT_SUCCESS);
        hal_mem_request_t request = {4096, 0, HAL_LOCATION_DEVICE, t, t * 2, 9};
        uint64_t handle = 0;
        ASSERT_EQ(hal_mem_alloc(mine, &request, &handle), 0);
        uint32_t claimed = 0;
        uint32_t available = 0;
        ASSERT_EQ(hal_cores_claim(hal, 1, t, t, &claimed, &available), 0);
        ASSERT_EQ(hal_cores_release(hal, t, 1), 0);
        ASSERT_EQ(hal_mem_free(mine, handle), 0);
        hal_device_close(mine);
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
}

// --- choice by environment -----------------------------------------------------------------------

namespace {

// Runs in a process of its own: the announcement is made once per process.
void open_and_exit(const char *mode, const char *instance) {
  setenv("NEURON_RT_MOCK", mode, 1);
  if (instance != nullptr)
    setenv("NEURON_MOCK_INSTANCE", instance, 1);
  else
    unsetenv("NEURON_MOCK_INSTANCE");
  hal_options_t options;
  hal_t *hal = nullptr;
  NRT_STATUS status = hal_options_from_env(&options);
  if (status == NRT_SUCCESS)
    status = hal_open(&options, &hal);
  if (hal != nullptr) {
    fprintf(stdout, "%s", hal_identity(hal)->instance_type);
    hal_close(hal);
    hal = nullptr;
    if (hal_open(&options, &hal) == NRT_SUCCESS)  // a second time: no second line
      hal_close(hal);
  }
  exit(status);
}

bool machine_has_devices() {
  return access("/dev/neuron0", F_OK) == 0;
}

constexpr const char *kLine =
    "^opennrt: no /dev/neuron\\* on this machine; using the mocked device trn1.2xlarge [^\n]*\n$";

}  // namespace

TEST(Choice, AutoSaysSoInOneLine) {
  if (machine_has_devices())
    GTEST_SKIP() << "this machine has devices";
  EXPECT_EXIT(open_and_exit("auto", "trn1.2xlarge"), testing::ExitedWithCode(NRT_SUCCESS),
              testing::MatchesRegex(kLine));
}

TEST(Choice, AlwaysIsSilent) {
  EXPECT_EXIT(open_and_exit("always", "trn1.2xlarge"), testing::ExitedWithCode(NRT_SUCCESS), "^$");
}

TEST(Choice, NeverRefuses) {
  if (machine_has_devices())
    GTEST_SKIP() << "this machine has devices";
  EXPECT_EXIT(open_and_exit("never", nullptr), testing::ExitedWithCode(NRT_INVALID),
              "no Neuron device");
}

TEST(Choice, UnknownInstance) {
  EXPECT_EXIT(open_and_exit("always", "trn9.huge"), testing::ExitedWithCode(NRT_INVALID),
              "trn9.huge");
}

TEST(Choice, OptionOverridesTheVariable) {
  setenv("NEURON_MOCK_INSTANCE", "trn1.2xlarge", 1);
  hal_options_t options;
  options.mock = HAL_MOCK_ALWAYS;
  options.mock_instance = "inf2.24xlarge";
  hal_t *hal = nullptr;
  ASSERT_EQ(hal_open(&options, &hal), NRT_SUCCESS);
  EXPECT_STREQ(hal_identity(hal)->instance_type, "inf2.24xlarge");
  EXPECT_NE(hal_mock_host(hal), nullptr);
  hal_close(hal);
  options.mock_instance = "trn9.huge";
  unsigned long errors = nlog_thread_error_count();
  EXPECT_EQ(hal_open(&options, &hal), NRT_INVALID);
  EXPECT_EQ(nlog_thread_error_count(), errors + 1);
  unsetenv("NEURON_MOCK_INSTANCE");
}

TEST(Choice, BadMockVariable) {
  setenv("NEURON_MOCK_API_RANGE", "seven", 1);
  hal_options_t options;
  options.mock = HAL_MOCK_ALWAYS;
  hal_t *hal = nullptr;
  unsigned long errors = nlog_thread_error_count();
  EXPECT_EQ(hal_open(&options, &hal), NRT_INVALID);
  EXPECT_EQ(nlog_thread_error_count(), errors + 1);
  unsetenv("NEURON_MOCK_API_RANGE");
}
