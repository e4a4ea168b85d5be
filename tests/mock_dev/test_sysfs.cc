// SPDX-License-Identifier: Apache-2.0
// sysfs files by uapi.md 11 and 12: served live, and written as a tree.
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

// total, present and peak of a counter.
std::string counter(mock_host_t *host, const std::string &dir) {
  std::string all;
  for (const char *file : {"/total", "/present", "/peak"})
    all += sysfs_get(host, dir + file);
  return all;
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

}  // namespace

TEST(Sysfs, Machine) {
  machine_t m("inf2.48xlarge");
  const std::map<std::string, std::string> expected = {
      {"/sys/module/neuron/version", "2.24.7.0\n"},
      {"/sys/class/dmi/id/product_name", "inf2.48xlarge\n"},
      {"/sys/devices/virtual/dmi/id/product_name", "inf2.48xlarge\n"},
      {CLASS + "node_id_2", "-1\n"},
      {CLASS + "node_id_4", "-1\n"},
      {CLASS + "server_id_2", std::string(16, '0') + "\n"},
      {CLASS + "server_id_4", std::string(16, '0') + "\n"},
      {CLASS + "ultraserver_mode", "\n"},
  };
  for (const auto &[path, text] : expected)
    EXPECT_EQ(sysfs_get(m.host, path), text) << path;
  const std::map<std::string, std::string> parameters = {
      {"mempool_min_alloc_size", "4096"},
      {"mempool_host_memory_size", "33554432"},
      {"mempool_small_pool_size", "1073741824"},
      {"mempool_small_alloc_max", "524288"},
      {"no_reset", "0"},
      {"wc_enable", "1"},
      {"dup_helper_enable", "1"},
      {"nc_per_dev_param", "1"},
      {"dev_nc_map", "1"},
      {"force_userver", "0"},
      {"force_die_flip", "0"},
      {"userver_ctl", "0"},
      {"userver_etimeout", "600"},
      {"nmetric_metric_post_delay", "150000"},
      {"nmetric_log_posts", "1"},
  };
  for (const auto &[name, value] : parameters)
    EXPECT_EQ(sysfs_get(m.host, "/sys/module/neuron/parameters/" + name), value + "\n") << name;
}

TEST(Sysfs, Chips) {
  struct row {
    const char *instance, *cores, *neighbours, *device_arch, *type, *name, *core_arch;
  };
  const row rows[] = {
      {"trn1.2xlarge", "2", "\n", "NDv2", "Trn1", "Trainium1", "NCv2"},
      {"inf2.24xlarge", "2", "1\n", "NDv3", "Inf2", "Inferentia2", "NCv2"},
      {"trn2.48xlarge", "8", "12, 1, 3, 4\n", "NDv3", "Trn2", "Trainium2", "NCv3"},
  };
  for (const row &r : rows) {
    SCOPED_TRACE(r.instance);
    machine_t m(r.instance);
    EXPECT_EQ(sysfs_get(m.host, DEVICE0 + "core_count"), r.cores);
    EXPECT_EQ(sysfs_get(m.host, DEVICE0 + "connected_devices"), r.neighbours);
    EXPECT_EQ(sysfs_get(m.host, DEVICE0 + "reset"), "1\n");  // ready
    std::string arch = DEVICE0 + "info/architecture/";
    EXPECT_EQ(sysfs_get(m.host, arch + "arch_type"), std::string(r.device_arch) + "\n");
    EXPECT_EQ(sysfs_get(m.host, arch + "instance_type"), std::string(r.type) + "\n");
    EXPECT_EQ(sysfs_get(m.host, arch + "device_name"), std::string(r.name) + "\n");
    int last = atoi(r.cores) - 1;
    std::string core = DEVICE0 + "neuron_core" + std::to_string(last) + "/info/architecture/";
    EXPECT_EQ(sysfs_get(m.host, core + "arch_type"), std::string(r.core_arch) + "\n");
    for (const char *ecc :
         {"sram_ecc_uncorrected", "mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected"})
      EXPECT_EQ(sysfs_get(m.host, DEVICE0 + "stats/hardware/" + ecc), "0\n");
  }
}

TEST(Sysfs, SerialsDiffer) {
  machine_t m("trn1.32xlarge");
  std::set<std::string> serials;
  for (int d = 0; d < 16; ++d) {
    std::string s = sysfs_get(m.host, CLASS + "neuron" + std::to_string(d) + "/info/serial_number");
    ASSERT_EQ(s.size(), 17u);
    EXPECT_EQ(s.find_first_not_of("0123456789abcdef"), 16u);
    serials.insert(s);
  }
  EXPECT_EQ(serials.size(), 16u);
}

TEST(Sysfs, PathsThatDoNotExist) {
  machine_t m("trn1.2xlarge");
  for (const char *tail :
       {"neuron1/core_count", "neuron00/core_count", "neuron/core_count", "neuron0/core_count/",
        "neuron0//core_count", "neuron0/neuron_core2/info/architecture/arch_type",
        "neuron0/stats/hardware/", "neuron0/stats/hardware/sram", "node_id_3", "", "neuron0/info"})
    EXPECT_EQ(sysfs_get(m.host, CLASS + tail), "<2>") << tail;
  EXPECT_EQ(sysfs_get(m.host, DEVICE0 + std::string(1000, 'x')), "<2>");
  EXPECT_EQ(sysfs_get(m.host, "/sys/devices/virtual/neuron_device/node_id_2"), "<2>");
  EXPECT_EQ(sysfs_get(m.host, "/sys/module/neuron/parameters/nothing"), "<2>");
}

TEST(Sysfs, Writes) {
  machine_t m("inf2.24xlarge");
  EXPECT_EQ(sysfs_put(m.host, DEVICE0 + "core_count", "1"), -EACCES);
  EXPECT_EQ(sysfs_put(m.host, "/sys/module/neuron/version", "1"), -EACCES);
  EXPECT_EQ(mock_open(m.host, PID, (DEVICE0 + "core_count").c_str(), O_RDWR), -EACCES);
  EXPECT_EQ(sysfs_put(m.host, DEVICE0 + "nothing", "1"), -ENOENT);
  EXPECT_EQ(sysfs_put(m.host, DEVICE0 + "info/serial_number", "1"), -EIO);

  // One switch for the whole machine.
  std::string delay = "info/notify_delay";
  EXPECT_EQ(sysfs_get(m.host, DEVICE0 + delay), "-1\n");
  for (const char *bad : {"", "1", "x", "0x", "0 0", "\n"})
    EXPECT_EQ(sysfs_put(m.host, DEVICE0 + delay, bad), -EINVAL) << bad;
  EXPECT_EQ(sysfs_get(m.host, DEVICE0 + delay), "-1\n");
  EXPECT_EQ(sysfs_put(m.host, DEVICE0 + delay, "0\n"), 2);
  EXPECT_EQ(sysfs_get(m.host, CLASS + "neuron5/" + delay), "0\n");

  int fd = mock_open(m.host, PID, (DEVICE0 + delay).c_str(), O_RDONLY);
  EXPECT_EQ(mock_write(m.host, PID, fd, "0", 1), -EBADF);
  fd = mock_open(m.host, PID, (DEVICE0 + delay).c_str(), O_WRONLY);
  char c;
  EXPECT_EQ(mock_read(m.host, PID, fd, &c, 1), -EBADF);
  bad_range_t range;
  EXPECT_EQ(mock_write(m.host, PID, fd, range.bad(), 2), -EFAULT);
  EXPECT_EQ(mock_write(m.host, PID, m.fd, "0", 1), -EINVAL);  // a device node
  EXPECT_EQ(mock_write(m.host, PID, -1, "0", 1), -EBADF);
}

// Page-rounded bytes by core and category; present is the size of the last change, up or down.
// A write of nothing never reaches the file, and bad memory is EFAULT, not a crash.
TEST(Sysfs, EdgesOfReadAndWrite) {
  machine_t m;
  ASSERT_EQ(alloc(m, {.size = 8192}).rc, 0);
  const std::string total = DEVICE0 + "neuron_core0/stats/memory_usage/device_mem/total";
  std::string before = sysfs_get(m.host, total);
  ASSERT_NE(before, "0\n");
  EXPECT_EQ(sysfs_put(m.host, total, ""), 0);
  EXPECT_EQ(sysfs_get(m.host, total), before);
  bad_range_t range;
  int fd = mock_open(m.host, PID, total.c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(mock_read(m.host, PID, fd, range.bad(), 64), -EFAULT);
  EXPECT_EQ(mock_read(m.host, PID, fd, nullptr, 64), -EFAULT);
  EXPECT_EQ(mock_write(m.host, PID, fd, range.bad(), 1), -EFAULT);
  char text[64] = {};
  EXPECT_EQ(mock_read(m.host, PID, fd, text, sizeof(text)), static_cast<ssize_t>(before.size()));
  EXPECT_EQ(text, before) << "failed reads did not move the position";
}

TEST(Sysfs, MemoryCounters) {
  machine_t m("trn2.3xlarge");
  std::string core = DEVICE0 + "neuron_core5/stats/memory_usage/";
  EXPECT_EQ(counter(m.host, core + "device_mem"), "0\n0\n0\n");
  chunk_t a = alloc(m, {.size = 5000, .channel = 2, .nc_id = 5, .category = 10});
  chunk_t b = alloc(m, {.size = 100 * 4096, .channel = 2, .nc_id = 5, .category = 18});
  ASSERT_EQ(a.rc, 0);
  ASSERT_EQ(b.rc, 0);
  EXPECT_EQ(counter(m.host, core + "device_mem/constants"), "8192\n8192\n8192\n");
  EXPECT_EQ(counter(m.host, core + "device_mem/dma_rings"), "409600\n409600\n409600\n");
  EXPECT_EQ(counter(m.host, core + "device_mem"), "417792\n409600\n417792\n");
  EXPECT_EQ(counter(m.host, DEVICE0 + "neuron_core4/stats/memory_usage/device_mem"), "0\n0\n0\n");
  ASSERT_EQ(mem_free(m, a.handle), 0);
  EXPECT_EQ(counter(m.host, core + "device_mem"), "409600\n8192\n417792\n");
  EXPECT_EQ(counter(m.host, core + "device_mem/constants"), "0\n8192\n8192\n");

  // Host chunks: their category is the device's, their bytes the core's.
  ASSERT_EQ(alloc(m, {.size = 1, .host = true, .nc_id = 5, .category = 4}).rc, 0);
  // Two copy rings of 128 KiB and a page are the driver's own.
  EXPECT_EQ(counter(m.host, core + "host_mem"), "270336\n4096\n270336\n");
  EXPECT_EQ(counter(m.host, DEVICE0 + "stats/memory_usage/host_mem/application_memory"),
            "4096\n4096\n4096\n");
  EXPECT_EQ(sysfs_get(m.host, core + "host_mem/tensors/total"), "<2>");

  // Writing anything zeroes the counter.
  EXPECT_EQ(sysfs_put(m.host, core + "device_mem/dma_rings/peak", "x"), 1);
  EXPECT_EQ(counter(m.host, core + "device_mem/dma_rings"), "0\n0\n0\n");
  EXPECT_EQ(counter(m.host, core + "device_mem"), "409600\n8192\n417792\n");
}

// Every category of uapi.md 5.6 has its directory.
TEST(Sysfs, Categories) {
  machine_t m("inf2.xlarge");
  const std::map<uint32_t, const char *> device = {{7, "uncategorized"},
                                                   {8, "model_code"},
                                                   {9, "tensors"},
                                                   {10, "constants"},
                                                   {11, "model_shared_scratchpad"},
                                                   {12, "runtime_memory"},
                                                   {14, "collectives"},
                                                   {15, "nonshared_scratchpad"},
                                                   {16, "notifications"},
                                                   {18, "dma_rings"},
                                                   {20, "uncategorized"}};
  const std::map<uint32_t, const char *> host = {
      {0, "uncategorized"},      {1, "dma_buffers"},   {2, "tensors"},    {3, "constants"},
      {4, "application_memory"}, {6, "notifications"}, {17, "dma_rings"}, {99, "uncategorized"}};
  for (bool is_host : {false, true}) {
    for (const auto &[category, name] : is_host ? host : device) {
      std::string dir = DEVICE0 + (is_host ? "stats/memory_usage/host_mem/"
                                           : "neuron_core1/stats/memory_usage/device_mem/");
      uint64_t before = std::stoull(sysfs_get(m.host, dir + name + "/total"));
      chunk_t c = alloc(m, {.size = 4096, .host = is_host, .nc_id = 1, .category = category});
      ASSERT_EQ(c.rc, 0);
      EXPECT_EQ(std::stoull(sysfs_get(m.host, dir + name + "/total")), before + 4096) << category;
    }
  }
  // The driver's own: 16 MiB of each channel, 16 datastores of 256 KiB at least.
  EXPECT_EQ(sysfs_get(m.host, DEVICE0 + "neuron_core1/stats/memory_usage/device_mem/driver_memory/"
                                        "total"),
            "16777216\n");
  EXPECT_GE(
      std::stoull(sysfs_get(m.host, DEVICE0 + "stats/memory_usage/host_mem/driver_memory/total")),
      16u * 262144);
}

TEST(Sysfs, StatusCounters) {
  machine_t m("trn1.2xlarge");
  const char *status[] = {"success",
                          "failure",
                          "timeout",
                          "exec_bad_input",
                          "hw_error",
                          "execute_completed_with_error",
                          "execute_completed_with_num_error",
                          "generic_error",
                          "resource_error",
                          "resource_nc_error",
                          "execute_failed_to_queue",
                          "invalid_error",
                          "unsupported_neff_version",
                          "oob_error",
                          "hw_collectives_error",
                          "hw_hbm_ue_error",
                          "hw_nc_ue_error",
                          "hw_dma_abort_error",
                          "execute_sw_nq_overflow",
                          "execute_sw_semaphore_error",
                          "execute_sw_event_error",
                          "execute_sw_psum_collision",
                          "execute_sw_sequencer_fatal",
                          "hw_repairable_hbm_ue_error"};
  const char *other[] = {"model_load_count", "reset_req_count", "reset_fail_count",
                         "inference_count",  "flop_count",      "nc_time_in_use"};
  for (const char *core : {"neuron_core0/", "neuron_core1/"}) {
    for (const char *file : {"/total", "/present"}) {
      for (const char *name : status)
        EXPECT_EQ(sysfs_get(m.host, DEVICE0 + core + "stats/status/" + name + file), "0\n") << name;
      for (const char *name : other)
        EXPECT_EQ(sysfs_get(m.host, DEVICE0 + core + "stats/other_info/" + name + file), "0\n")
            << name;
    }
    EXPECT_EQ(sysfs_get(m.host, DEVICE0 + core + "stats/status/success/peak"), "<2>");
    std::string pe = sysfs_get(m.host, DEVICE0 + core + "stats/tensor_engine/pe_cntrs");
    EXPECT_EQ(pe.rfind("xrow_grp,mm_active,wl_active,idle\n", 0), 0u);
    EXPECT_EQ(std::count(pe.begin(), pe.end(), '\n'), 5);
  }
}

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
  pid_t child = fork();
  if (child == 0) {
    mock_host_t *host;
    mock_dev_options_t o = with_tree("inf2.24xlarge", dir.path);
    _exit(mock_host_create(&o, &host) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
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
  pid_t child = fork();
  if (child == 0) {
    mock_host_t *host;
    mock_dev_options_t o = with_tree("inf2.24xlarge", dir.path);
    _exit(mock_host_create(&o, &host) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(dir.path / "sys/class/neuron_device/neuron5"));
  {
    machine_t m(with_tree("trn1.2xlarge", dir.path));
    EXPECT_EQ(file_text(dir.path / "sys/class/dmi/id/product_name"), "trn1.2xlarge\n");
    EXPECT_FALSE(fs::exists(dir.path / "sys/devices/virtual/neuron_device/neuron1"));
  }
  EXPECT_TRUE(fs::is_empty(dir.path));
}
