// SPDX-License-Identifier: Apache-2.0
// The sysfs files as a tree of real files.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "tests/mock_dev/sysfs_fixture.h"

namespace {

namespace fs = std::filesystem;

const std::string CLASS = "/sys/class/neuron_device/";
const std::string DEVICE0 = CLASS + "neuron0/";

// Regular files below a directory, relative to it; links are not followed.
std::set<std::string> files_below(const fs::path &dir) {
  std::set<std::string> found;
  for (const auto &entry : fs::recursive_directory_iterator(dir))
    if (entry.is_regular_file() && !entry.is_symlink())
      found.insert(fs::relative(entry.path(), dir).string());
  return found;
}

// Files are replaced, so a file that was rewritten has another inode.
std::map<std::string, ino_t> inodes(const fs::path &dir) {
  std::map<std::string, ino_t> found;
  for (const std::string &name : files_below(dir)) {
    struct stat s;
    EXPECT_EQ(stat((dir / name).c_str(), &s), 0);
    found[name] = s.st_ino;
  }
  return found;
}

// The files rewritten since `before`, without the common prefix of device 0.
std::set<std::string> rewritten(const fs::path &dir, const std::map<std::string, ino_t> &before) {
  const std::string prefix = "sys/devices/virtual/neuron_device/neuron0/";
  std::set<std::string> names;
  for (const auto &[name, inode] : inodes(dir))
    if (before.at(name) != inode)
      names.insert(name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name);
  return names;
}

mock_dev_options_t with_tree(const char *instance, const fs::path &dir) {
  mock_dev_options_t o = {};
  o.instance = instance;
  o.sysfs_dir = dir.c_str();
  return o;
}

int create_at(const fs::path &dir, mock_host_t **host) {
  mock_dev_options_t o = with_tree("trn2.3xlarge", dir);
  return mock_host_create(&o, host);
}

// The tree of an inf2.24xlarge whose process was killed.
void leave_tree(const fs::path &dir) {
  pid_t child = fork();
  if (child == 0) {
    mock_host_t *host;
    mock_dev_options_t o = with_tree("inf2.24xlarge", dir);
    _exit(mock_host_create(&o, &host) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

}  // namespace

// Every file of the tree, no more and no less, holds what the mock serves under its path.
TEST(SysfsTree, HoldsEveryFile) {
  for (const char *instance : {"trn2.3xlarge", "inf2.48xlarge"}) {
    SCOPED_TRACE(instance);
    scratch_dir_t dir;
    machine_t m(with_tree(instance, dir.path));
    std::set<std::string> files = files_below(dir.path / "sys");
    for (const std::string &name : files) {
      std::string served = sysfs_get(m.host, "/sys/" + name);
      EXPECT_EQ(file_text(dir.path / "sys" / name), served) << name;
    }
    for (const char *name :
         {"module/neuron/version", "module/neuron/parameters/no_reset",
          "class/neuron_device/ultraserver_mode", "devices/virtual/dmi/id/product_name",
          "devices/virtual/neuron_device/neuron0/stats/power/utilization"})
      EXPECT_EQ(files.count(name), 1u) << name;
    // Links as on a real machine.
    EXPECT_EQ(file_text(dir.path / "sys/class/dmi/id/product_name"), std::string(instance) + "\n");
    fs::path link = dir.path / "sys/class/neuron_device/neuron0";
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(file_text(link / "core_count"), instance[0] == 't' ? "8" : "2");
    struct stat s;
    ASSERT_EQ(stat((link / "core_count").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 07777, 0400u);
    ASSERT_EQ(stat((link / "info/serial_number").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 07777, 0444u);
  }
}

TEST(SysfsTree, FollowsASwitch) {
  scratch_dir_t dir;
  machine_t m(with_tree("inf2.24xlarge", dir.path));
  fs::path last = dir.path / "sys/class/neuron_device/neuron5/info/notify_delay";
  EXPECT_EQ(file_text(last), "-1\n");
  EXPECT_EQ(sysfs_put(m.host, DEVICE0 + "info/notify_delay", "0"), 1);
  EXPECT_EQ(file_text(last), "0\n");
}

// A request rewrites the files whose content it changed, and no other.
TEST(SysfsTree, FollowsEveryChange) {
  scratch_dir_t dir;
  machine_t m(with_tree("inf2.xlarge", dir.path));
  fs::path core = dir.path / "sys/class/neuron_device/neuron0/neuron_core1/stats/memory_usage";
  auto before = inodes(dir.path);
  chunk_t a = alloc(m, {.size = 3 * 4096, .channel = 1, .nc_id = 1, .category = 9});
  ASSERT_EQ(a.rc, 0);
  std::set<std::string> expected;
  for (const char *file : {"total", "present", "peak"}) {
    expected.insert(std::string("neuron_core1/stats/memory_usage/device_mem/") + file);
    expected.insert(std::string("neuron_core1/stats/memory_usage/device_mem/tensors/") + file);
  }
  // The driver's 16 MiB are the core's, too: its peak moves, so does every file of the total.
  EXPECT_EQ(rewritten(dir.path, before), expected);
  EXPECT_EQ(file_text(core / "device_mem/tensors/total"), "12288\n");
  EXPECT_EQ(file_text(core / "device_mem/total"), "16789504\n");

  // Nothing changed: nothing written.
  before = inodes(dir.path);
  uint64_t pa;
  neuron_ioctl_mem_get_pa get = {a.handle, &pa};
  ASSERT_EQ(m.io(NEURON_IOCTL_MEM_GET_PA, &get), 0);
  EXPECT_EQ(mem_free(m, 999), -EINVAL);
  EXPECT_EQ(rewritten(dir.path, before), std::set<std::string>{});

  // The last close frees what the process had.
  ASSERT_EQ(mock_close(m.host, PID, m.fd), 0);
  EXPECT_EQ(file_text(core / "device_mem/tensors/total"), "0\n");
  EXPECT_EQ(file_text(core / "device_mem/tensors/peak"), "12288\n");
  EXPECT_EQ(file_text(core / "device_mem/total"), "16777216\n");
  // So does a write through the mock.
  EXPECT_EQ(
      sysfs_put(m.host, DEVICE0 + "neuron_core1/stats/memory_usage/device_mem/tensors/peak", "0"),
      1);
  EXPECT_EQ(file_text(core / "device_mem/tensors/peak"), "0\n");
}

TEST(SysfsTree, ThreadsLeaveTheLastValue) {
  scratch_dir_t dir;
  machine_t m(with_tree("trn2.3xlarge", dir.path));
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&m, t] {
      for (int i = 0; i < 20; ++i) {
        chunk_t c = alloc(m, {.size = 4096, .channel = t, .nc_id = t});
        if (i % 2 == 1)
          mem_free(m, c.handle);
      }
    });
  }
  for (std::thread &t : threads)
    t.join();
  for (uint32_t t = 0; t < 4; ++t) {
    std::string file =
        "neuron_core" + std::to_string(t) + "/stats/memory_usage/device_mem/tensors/total";
    EXPECT_EQ(file_text(dir.path / "sys/class/neuron_device/neuron0" / file), "40960\n");
    EXPECT_EQ(sysfs_get(m.host, DEVICE0 + file), "40960\n");
  }
}

TEST(SysfsTree, RemovesWhatItMade) {
  scratch_dir_t dir;
  { machine_t m(with_tree("trn1.2xlarge", dir.path)); }
  EXPECT_TRUE(fs::is_empty(dir.path)) << "an existing directory stays";
  fs::path made = dir.path / "made";
  {
    machine_t m(with_tree("trn1.2xlarge", made));
    EXPECT_EQ(file_text(made / "sys/module/neuron/version"), "2.24.7.0\n");
  }
  EXPECT_FALSE(fs::exists(made));
}

TEST(SysfsTree, FindsItsDirectoryAgain) {
  scratch_dir_t dir;
  fs::path before = fs::current_path();
  fs::current_path(dir.path);
  {
    machine_t m(with_tree("trn1.2xlarge", "relative"));
    fs::current_path(before);
  }
  EXPECT_TRUE(fs::is_empty(dir.path));
}

TEST(SysfsTree, DirectoriesItCannotHave) {
  scratch_dir_t dir;
  mock_host_t *host = nullptr;
  EXPECT_EQ(create_at(dir.path / "no" / "parent", &host), -ENOENT);
  std::ofstream(dir.path / "file") << "mine";
  EXPECT_EQ(create_at(dir.path / "file", &host), -ENOTDIR);
  EXPECT_EQ(create_at(dir.path, &host), -ENOTEMPTY);
  EXPECT_EQ(host, nullptr);
  EXPECT_EQ(files_below(dir.path), std::set<std::string>{"file"}) << "nothing was added";
  EXPECT_EQ(file_text(dir.path / "file"), "mine");
}

TEST(SysfsTree, OneMachineEach) {
  scratch_dir_t dir;
  mock_host_t *second = nullptr;
  {
    machine_t m(with_tree("trn1.2xlarge", dir.path));
    EXPECT_EQ(create_at(dir.path, &second), -EBUSY);
    EXPECT_EQ(file_text(dir.path / "sys/class/dmi/id/product_name"), "trn1.2xlarge\n");
  }
  EXPECT_EQ(create_at(dir.path, &second), 0);
  mock_host_destroy(second);
}

// Files of others below the tree stay, and so do the directories that hold them.
TEST(SysfsTree, LeavesWhatOthersPutThere) {
  scratch_dir_t dir;
  fs::path own = dir.path / "own";
  const std::string device = "sys/devices/virtual/neuron_device/neuron0/";
  {
    machine_t m(with_tree("trn1.2xlarge", own));
    std::ofstream(own / device / "notes") << "mine";
    std::ofstream(own / "sys" / "class" / "notes") << "mine";
    fs::create_directory_symlink(dir.path, own / "sys" / "class" / "elsewhere");
  }
  EXPECT_EQ(files_below(own), (std::set<std::string>{device + "notes", "sys/class/notes"}));
  EXPECT_TRUE(fs::is_symlink(own / "sys" / "class" / "elsewhere"));
}

// The same when a machine takes over what a killed one left.
TEST(SysfsTree, TakesOverOnlyWhatAMachineLeft) {
  scratch_dir_t dir;
  leave_tree(dir.path);
  std::ofstream(dir.path / "sys" / "notes") << "mine";
  { machine_t m(with_tree("trn1.2xlarge", dir.path)); }
  EXPECT_EQ(files_below(dir.path), std::set<std::string>{"sys/notes"});
}

// A directory that was moved away is still the one to clean up; what took its place is not.
TEST(SysfsTree, ReplacedDirectoryIsNotTouched) {
  scratch_dir_t dir;
  fs::path made = dir.path / "made", moved = dir.path / "moved";
  {
    machine_t m(with_tree("trn1.2xlarge", made));
    fs::rename(made, moved);
    fs::create_directories(made / "sys");
    std::ofstream(made / "sys" / "important") << "mine";
    fs::create_directory(dir.path / "empty");
  }
  EXPECT_EQ(files_below(dir.path), std::set<std::string>{"made/sys/important"});
  {
    machine_t m(with_tree("trn1.2xlarge", dir.path / "again"));
    fs::remove_all(dir.path / "again");
    fs::create_directory(dir.path / "again");
    EXPECT_EQ(alloc(m, {}).rc, 0) << "the machine works without its files";
  }
  EXPECT_TRUE(fs::exists(dir.path / "again")) << "not the one it made";
}

// A child that drops its copy of the machine does not take the parent's files along.
TEST(SysfsTree, ForkedChildLeavesTheFiles) {
  scratch_dir_t dir;
  machine_t m(with_tree("trn1.2xlarge", dir.path));
  std::set<std::string> before = files_below(dir.path);
  pid_t child = fork();
  if (child == 0) {
    mock_host_destroy(m.host);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(files_below(dir.path), before);
  mock_host_t *second = nullptr;
  EXPECT_EQ(create_at(dir.path, &second), -EBUSY);
}

// A machine whose process was killed leaves its files; the next one replaces them.
TEST(SysfsTree, LeftBehind) {
  scratch_dir_t dir;
  leave_tree(dir.path);
  EXPECT_TRUE(fs::exists(dir.path / "sys/class/neuron_device/neuron5"));
  {
    machine_t m(with_tree("trn1.2xlarge", dir.path));
    EXPECT_EQ(file_text(dir.path / "sys/class/dmi/id/product_name"), "trn1.2xlarge\n");
    EXPECT_FALSE(fs::exists(dir.path / "sys/devices/virtual/neuron_device/neuron1"));
  }
  EXPECT_TRUE(fs::is_empty(dir.path));
}
