// SPDX-License-Identifier: Apache-2.0
// What the conformance tests run against: a machine behind a HAL back end's operations table
// (hal_ops_t), with device 0 open on both lanes. Expected values come from mock-device-semantics.md
// and uapi.md; names of tests say section and row.
//
// Tests see the device only as a program does. What no program can do alone (being another process,
// looking at device memory from behind) goes through backstage_t, which a real device would not
// have: such tests skip there.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "hal/hal.h"
#include "mock_dev/mock_dev.h"
#include "tests/hal/mock_route.h"
#include "uapi/neuron_ioctl.h"
#include "uapi/neuron_shared.h"

struct case_t {
  const char *backend;   // "mock" or "kernel"
  const char *instance;  // rulings.md 16
};

inline void PrintTo(const case_t &c, std::ostream *out) {
  *out << c.backend << ' ' << c.instance;
}

// Columns of mock-device-semantics.md 2.1.
struct model_t {
  uint32_t architecture;
  uint32_t cores;
  uint32_t top_sps;
  uint32_t channels;
  uint64_t channel_size;
  uint64_t base[4];
  uint64_t host_bit;
  uint32_t engines;
  uint32_t api_min, api_max;
};
const model_t &model_of(const char *instance);

constexpr uint64_t PAGE = 4096;
constexpr uint64_t KIB = 1024, MIB = KIB * KIB, GIB = KIB * MIB;
constexpr uint64_t RESERVED = 16 * MIB;
constexpr uint64_t SMALL_POOL = GIB;
constexpr uint64_t BAD_HANDLE = 999;

// Other processes a test plays; above the largest process id.
constexpr int32_t SELF = 0, OTHER = 0x7f000001, THIRD = 0x7f000002;

// The view from behind the driver. `host` is null when there is none.
struct backstage_t {
  mock_host_t *host = nullptr;
  bool available() const { return host != nullptr; }
  int open(int32_t pid, uint32_t device, hal_lane_t lane) const;
  int open_read_only(int32_t pid) const { return mock_open(host, pid, "/dev/neuron0", O_RDONLY); }
  int dup(int32_t pid, int fd) const { return mock_dup(host, pid, fd); }
  int close(int32_t pid, int fd) const { return mock_close(host, pid, fd); }
  long io(int32_t pid, int fd, uint32_t request, void *arg) const {
    return mock_ioctl(host, pid, fd, request, arg);
  }
  int map(int32_t pid, int fd, uint64_t offset, size_t length, int prot, void **va) const {
    return mock_mmap(host, pid, fd, offset, length, prot, va);
  }
  int unmap(int32_t pid, void *va, size_t length) const {
    return mock_munmap(host, pid, va, length);
  }
  void exit(int32_t pid) const { mock_process_exit(host, pid); }
  void *dram(uint64_t pa, uint64_t size) const { return mock_dram(host, 0, pa, size); }
  // Makes the next thing of this kind fail: MOCK_FAULT_RESET, MOCK_FAULT_MAILBOX.
  void fail_next(uint32_t what) const;
  // Lines of the kernel log so far.
  std::vector<std::string> kernel_log() const;
  // Bytes written to a sysfs file, or -errno.
  ssize_t write_file(const std::string &path, const std::string &text) const;
};

struct target_t {
  const hal_ops_t *ops = nullptr;
  void *be = nullptr;
  backstage_t backstage;
  mock_route route;  // kernel back end only
  bool owns_host = false;

  // `options`: how the machine differs from a fresh one of its type.
  explicit target_t(const case_t &c, mock_dev_options_t options = {});
  ~target_t();
  target_t(const target_t &) = delete;
  target_t &operator=(const target_t &) = delete;
};

// A descriptor as one process holds it.
struct fd_t {
  target_t *target;
  int32_t pid;
  int fd;
  long io(uint32_t request, void *arg) const {
    return pid == SELF ? target->ops->ioctl(target->be, fd, request, arg)
                       : target->backstage.io(pid, fd, request, arg);
  }
  int map(uint64_t offset, size_t length, int prot, void **va) const {
    return pid == SELF ? target->ops->map(target->be, fd, offset, length, prot, va)
                       : target->backstage.map(pid, fd, offset, length, prot, va);
  }
  int unmap(void *va, size_t length) const {
    return pid == SELF ? target->ops->unmap(target->be, va, length)
                       : target->backstage.unmap(pid, va, length);
  }
  int close() const {
    return pid == SELF ? target->ops->close(target->be, fd) : target->backstage.close(pid, fd);
  }
};

class Conformance : public testing::TestWithParam<case_t> {
 protected:
  void SetUp() override;
  void TearDown() override { target.reset(); }
  // Suites of machines that are set up differently.
  virtual void adjust(mock_dev_options_t *) const {}

  long io(uint32_t request, void *arg) const { return dev.io(request, arg); }
  long io_misc(uint32_t request, void *arg) const { return misc.io(request, arg); }
  fd_t open(int32_t pid, hal_lane_t lane = HAL_LANE_DEVICE, uint32_t device = 0);
  // The descriptor of `held` as the process `pid` would use it had it inherited it.
  fd_t inherited(const fd_t &held, int32_t pid) const { return {target.get(), pid, held.fd}; }
  const model_t &model() const { return model_of(GetParam().instance); }
  bool v2() const { return model().architecture == NEURON_ARCH_V2; }
  const backstage_t &backstage() const { return target->backstage; }
  // Content of a sysfs file, "" when there is none.
  std::string read_file(const std::string &path) const;
  // The number a sysfs file holds.
  uint64_t number_in(const std::string &path) const;

  std::unique_ptr<target_t> target;
  fd_t dev = {};   // device 0, device lane
  fd_t misc = {};  // device 0, misc lane
};

#define NEEDS_BACKSTAGE()       \
  if (!backstage().available()) \
  GTEST_SKIP() << "needs a view from behind the driver"

std::vector<case_t> cases_of(std::vector<const char *> instances);
std::string case_name(const testing::TestParamInfo<case_t> &info);

// One suite name per section of the sheet, over the instances named.
#define CONFORMANCE_SUITE(suite, ...)  \
  class suite : public Conformance {}; \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(cases_of({__VA_ARGS__})), case_name)
// The same, with a statement about `options` (mock_dev_options_t *).
#define CONFORMANCE_SUITE_WITH(suite, change, ...)                      \
  class suite : public Conformance {                                    \
    void adjust(mock_dev_options_t *options) const override { change; } \
  };                                                                    \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(cases_of({__VA_ARGS__})), case_name)
#define V2_AND_V3 "trn1.2xlarge", "trn2.3xlarge"

// A page a caller may write, followed by addresses nothing is mapped at.
struct hole_t {
  uint8_t *base;
  hole_t();
  ~hole_t();
  hole_t(const hole_t &) = delete;
  hole_t &operator=(const hole_t &) = delete;
  uint8_t *hole() const { return base + PAGE; }
  uint8_t *last(size_t bytes) const { return base + PAGE - bytes; }  // the last good bytes
};

// One argument in memory that can be read only.
struct read_only_t {
  void *page;
  read_only_t(const void *content, size_t size);
  ~read_only_t() { munmap(page, PAGE * 4); }
  read_only_t(const read_only_t &) = delete;
  read_only_t &operator=(const read_only_t &) = delete;
};
