// SPDX-License-Identifier: Apache-2.0
// sysfs read from real files below NEURON_RT_SYSFS_ROOT, and directories that cannot be had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hal/kernel.h"
#include "hal/mock.h"
#include "tests/hal/error_lines.h"
#include "tests/hal/mock_route.h"
#include "tests/mock_dev/sysfs_fixture.h"

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct variable_t {
  const char *name;
  variable_t(const char *n, const std::string &value) : name(n) { setenv(n, value.c_str(), 1); }
  ~variable_t() { unsetenv(name); }
};

NRT_STATUS open_mock(hal_t **hal) {
  hal_options_t options;
  options.mock = HAL_MOCK_ALWAYS;
  options.mock_instance = "inf2.xlarge";
  return hal_open(&options, hal);
}

// Nodes go to the mock, files to the file system: what a program on a machine would see.
hal_syscalls_t files_from_disk(mock_route *route) {
  hal_syscalls_t table = route->table();
  table.open = [](void *ctx, const char *path, int flags) {
    if (strncmp(path, "/dev/neuron", 11) != 0)
      return hal_libc_syscalls()->open(nullptr, path, flags);
    return mock_open(static_cast<mock_route *>(ctx)->host, getpid(), path, flags);
  };
  table.read = [](void *, int fd, void *buffer, size_t size) {
    return hal_libc_syscalls()->read(nullptr, fd, buffer, size);
  };
  table.close = [](void *ctx, int fd) {
    int rc = mock_close(static_cast<mock_route *>(ctx)->host, getpid(), fd);
    return rc == -EBADF ? hal_libc_syscalls()->close(nullptr, fd) : rc;
  };
  return table;
}

}  // namespace

TEST(SysfsRoot, KernelBackEndReadsTheGeneratedTree) {
  scratch_dir_t dir;
  mock_dev_options_t options = {};
  options.instance = "trn1.32xlarge";
  options.driver_version = "2.99.1.2";
  options.sysfs_dir = dir.path.c_str();
  mock_route route;
  ASSERT_EQ(mock_host_create(&options, &route.host), 0);
  hal_syscalls_t table = files_from_disk(&route);
  hal_t *hal = nullptr;
  void *be = hal_kernel_create(&table, dir.path.c_str());
  ASSERT_EQ(hal_open_with(hal_kernel_ops(), be, &hal), NRT_SUCCESS);
  EXPECT_STREQ(hal_identity(hal)->instance_type, "trn1.32xlarge");
  EXPECT_STREQ(hal_identity(hal)->driver_version, "2.99.1.2");
  EXPECT_EQ(hal_identity(hal)->device_count, 16u);
  hal_close(hal);
  mock_host_destroy(route.host);
}

// The two variables together: the mock writes the tree, the library reads it.
TEST(SysfsRoot, MockBackEndReadsFilesToo) {
  scratch_dir_t dir;
  {
    variable_t made("NEURON_MOCK_SYSFS_DIR", dir.path / "tree");
    variable_t root("NEURON_RT_SYSFS_ROOT", (dir.path / "tree").string() + "//");
    hal_t *hal = nullptr;
    ASSERT_EQ(open_mock(&hal), NRT_SUCCESS);
    EXPECT_STREQ(hal_identity(hal)->instance_type, "inf2.xlarge");
    hal_close(hal);
    EXPECT_FALSE(std::filesystem::exists(dir.path / "tree"));
  }
  // Files somebody wrote by hand.
  std::filesystem::create_directories(dir.path / "sys/class/dmi/id");
  std::ofstream(dir.path / "sys/class/dmi/id/product_name") << "trn9.huge\n";
  variable_t root("NEURON_RT_SYSFS_ROOT", dir.path);
  hal_t *hal = nullptr;
  ASSERT_EQ(open_mock(&hal), NRT_SUCCESS);
  EXPECT_STREQ(hal_identity(hal)->instance_type, "trn9.huge");
  EXPECT_STREQ(hal_identity(hal)->driver_version, "unknown") << "no such file there";
  hal_close(hal);
}

TEST(SysfsRoot, BadRoot) {
  scratch_dir_t dir;
  std::ofstream(dir.path / "file") << "x";
  const std::pair<std::string, const char *> rows[] = {{dir.path / "none", "ENOENT"},
                                                       {dir.path / "file", "ENOTDIR"}};
  for (const auto &[value, error] : rows) {
    variable_t root("NEURON_RT_SYSFS_ROOT", value);
    for (hal_mock_mode_t mode : {HAL_MOCK_NEVER, HAL_MOCK_ALWAYS}) {
      error_lines errors;
      hal_options_t options;
      options.mock = mode;
      hal_t *hal = nullptr;
      EXPECT_EQ(hal_open(&options, &hal), NRT_INVALID);
      EXPECT_EQ(hal, nullptr);
      EXPECT_THAT(errors.lines, ElementsAre(AllOf(HasSubstr("NEURON_RT_SYSFS_ROOT='" + value + "'"),
                                                  HasSubstr(error), HasSubstr("accepted"))));
    }
  }
}

TEST(SysfsDir, BadDirectory) {
  scratch_dir_t dir;
  std::ofstream(dir.path / "file") << "x";
  const std::pair<std::string, const char *> rows[] = {
      {dir.path / "a" / "b", "ENOENT"}, {dir.path / "file", "ENOTDIR"}, {dir.path, "ENOTEMPTY"}};
  for (const auto &[value, error] : rows) {
    variable_t made("NEURON_MOCK_SYSFS_DIR", value);
    error_lines errors;
    hal_t *hal = nullptr;
    EXPECT_EQ(open_mock(&hal), NRT_INVALID);
    EXPECT_THAT(errors.lines, ElementsAre(AllOf(HasSubstr("NEURON_MOCK_SYSFS_DIR='" + value + "'"),
                                                HasSubstr(error), HasSubstr("accepted"))));
  }
  variable_t made("NEURON_MOCK_SYSFS_DIR", std::string(5000, 'x'));
  error_lines errors;
  hal_t *hal = nullptr;
  EXPECT_EQ(open_mock(&hal), NRT_INVALID);
  EXPECT_THAT(errors.lines, ElementsAre(HasSubstr("NEURON_MOCK_SYSFS_DIR")));
}
