// SPDX-License-Identifier: Apache-2.0
// sysfs files by uapi.md 11 and 12, served live.
#include "tests/mock_dev/sysfs_fixture.h"

namespace {

const std::string CLASS = "/sys/class/neuron_device/";
const std::string DEVICE0 = CLASS + "neuron0/";

// total, present and peak of a counter.
std::string counter(mock_host_t *host, const std::string &dir) {
  std::string all;
  for (const char *file : {"/total", "/present", "/peak"})
    all += sysfs_get(host, dir + file);
  return all;
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

// Page-rounded bytes by core and category; present is the size of the last change, up or down.
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
