// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/target.h"

#include <cstdio>
#include <cstdlib>

#include "hal/kernel.h"
#include "hal/mock.h"

namespace {

constexpr model_t V2 = {
    2, 2, 6, 2, 16 * GIB, {0, 0x1000000000}, 0x100000000000, 34, 5, 7,
};
constexpr model_t V3 = {
    3,   8,  16, 4, 24 * GIB, {0, 0x4000000000, 0x800000000000, 0x804000000000}, 0x400000000000,
    132, 10, 11,
};

}  // namespace

const model_t &model_of(const char *instance) {
  return strncmp(instance, "trn2", 4) == 0 ? V3 : V2;
}

int backstage_t::open(int32_t pid, uint32_t device, hal_lane_t lane) const {
  char path[32];
  snprintf(path, sizeof(path), "/dev/neuron%u", device);
  return mock_open(host, pid, path, lane == HAL_LANE_MISC ? O_WRONLY : O_RDWR);
}

void backstage_t::fail_next(uint32_t what) const {
  mock_fault_t fault = {};
  fault.request = what;
  fault.nth = 1;
  fault.error = EIO;
  EXPECT_EQ(mock_set_faults(host, &fault, 1), 0);
}

std::vector<std::string> backstage_t::kernel_log() const {
  std::vector<std::string> lines;
  char line[1024];
  uint64_t next = 0;
  while (mock_kernel_log_read(host, &next, line, sizeof(line)) >= 0)
    lines.push_back(line);
  return lines;
}

ssize_t backstage_t::write_file(const std::string &path, const std::string &text) const {
  int fd = mock_open(host, getpid(), path.c_str(), O_WRONLY);
  if (fd < 0)
    return fd;
  ssize_t written = mock_write(host, getpid(), fd, text.data(), text.size());
  mock_close(host, getpid(), fd);
  return written;
}

target_t::target_t(const case_t &c, mock_dev_options_t options) {
  options.instance = c.instance;
  if (mock_host_create(&options, &backstage.host) != 0)
    return;
  if (strcmp(c.backend, "kernel") == 0) {
    ops = hal_kernel_ops();
    route.host = backstage.host;
    owns_host = true;
    hal_syscalls_t table = route.table();
    be = hal_kernel_create(&table);
  } else {
    ops = hal_mock_ops();
    be = hal_mock_create(backstage.host);
  }
}

target_t::~target_t() {
  if (be != nullptr)
    ops->destroy(be);
  if (owns_host)
    mock_host_destroy(backstage.host);
}

void Conformance::SetUp() {
  mock_dev_options_t options = {};
  adjust(&options);
  target = std::make_unique<target_t>(GetParam(), options);
  ASSERT_NE(target->be, nullptr);
  dev = open(SELF);
  misc = open(SELF, HAL_LANE_MISC);
}

fd_t Conformance::open(int32_t pid, hal_lane_t lane, uint32_t device) {
  int fd = pid == SELF ? target->ops->open(target->be, device, lane)
                       : target->backstage.open(pid, device, lane);
  EXPECT_GE(fd, 0);
  return {target.get(), pid, fd};
}

std::string Conformance::read_file(const std::string &path) const {
  char text[4096];
  ssize_t got = target->ops->read_file(target->be, path.c_str(), text, sizeof(text));
  return got < 0 ? std::string() : std::string(text, static_cast<size_t>(got));
}

uint64_t Conformance::number_in(const std::string &path) const {
  std::string text = read_file(path);
  char *end = nullptr;
  uint64_t n = strtoull(text.c_str(), &end, 10);
  EXPECT_TRUE(end != text.c_str() && (*end == '\n' || *end == '\0')) << path << ": " << text;
  return n;
}

std::vector<case_t> cases_of(std::vector<const char *> instances) {
  std::vector<case_t> cases;
  for (const char *backend : {"mock", "kernel"})
    for (const char *instance : instances)
      cases.push_back({backend, instance});
  return cases;
}

std::string case_name(const testing::TestParamInfo<case_t> &info) {
  std::string name = std::string(info.param.backend) + "_" + info.param.instance;
  for (char &c : name)
    if (c == '.')
      c = '_';
  return name;
}

hole_t::hole_t() {
  void *va = mmap(nullptr, 65 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(va, MAP_FAILED);
  base = static_cast<uint8_t *>(va);
  EXPECT_EQ(mprotect(base + PAGE, 64 * PAGE, PROT_NONE), 0);
}

hole_t::~hole_t() {
  munmap(base, 65 * PAGE);
}

read_only_t::read_only_t(const void *content, size_t size) {
  page = mmap(nullptr, PAGE * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(page, MAP_FAILED);
  if (size != 0)
    memcpy(page, content, size);
  EXPECT_EQ(mprotect(page, PAGE * 4, PROT_READ), 0);
}
