// SPDX-License-Identifier: Apache-2.0
// Discovery, versions, topology, pods (mock-device-semantics.md 2.4 and 15, uapi.md 5.9).
#include <set>

#include "tests/mock_dev/mock_fixture.h"

namespace {

struct instance_t {
  const char *name;
  uint32_t arch, devices, cores, api_min, api_max;
};

// rulings.md 16 and mock-device-semantics.md 2.1.
const instance_t INSTANCES[] = {
    {"inf2.xlarge", 2, 1, 2, 5, 7},      {"inf2.24xlarge", 2, 6, 2, 5, 7},
    {"inf2.48xlarge", 2, 12, 2, 5, 7},   {"trn1.2xlarge", 2, 1, 2, 5, 7},
    {"trn1.32xlarge", 2, 16, 2, 5, 7},   {"trn2.3xlarge", 3, 1, 8, 10, 11},
    {"trn2.48xlarge", 3, 16, 8, 10, 11},
};

std::vector<uint32_t> neighbours(machine_t &m, uint32_t device) {
  std::string path = "/dev/neuron" + std::to_string(device);
  int fd = mock_open(m.host, PID, path.c_str(), O_RDWR);
  neuron_ioctl_device_info a = {};
  EXPECT_EQ(mock_ioctl(m.host, PID, fd, NEURON_IOCTL_DEVICE_INFO, &a), 0);
  EXPECT_EQ(mock_close(m.host, PID, fd), 0);
  return {a.connected_devices, a.connected_devices + a.connected_device_count};
}

}  // namespace

TEST(Info, Instances) {
  const char *const *names = mock_instance_names();
  for (const instance_t &i : INSTANCES) {
    ASSERT_NE(*names, nullptr);
    EXPECT_STREQ(*names++, i.name);
    machine_t m(i.name);
    neuron_ioctl_device_basic_info basic = {};
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_DEVICE_BASIC_INFO, &basic), 0);
    EXPECT_EQ(basic.architecture, i.arch);
    EXPECT_LT(basic.revision, 240u);  // neither emulator
    neuron_ioctl_device_driver_info driver = {};
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_DRIVER_INFO_GET, &driver), 0);
    EXPECT_EQ(driver.architecture, i.arch);
    EXPECT_EQ(driver.revision, basic.revision);
    EXPECT_EQ(driver.version, 0u);
    EXPECT_EQ(driver.size, 24u);
    EXPECT_EQ(driver.feature_flags1, 0xffu);
    neuron_ioctl_compatible_version v = {};
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_COMPATIBLE_VERSION, &v), 0);
    EXPECT_EQ(v.min, i.api_min);
    EXPECT_EQ(v.max, i.api_max);
    neuron_ioctl_device_info info = {};
    EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_INFO, &info), 0);
    EXPECT_EQ(info.architecture, i.arch);
    EXPECT_GE(info.bar_size[0], i.arch == 3 ? 0xf4800000u : 0x30fa0804u);
    EXPECT_EQ(info.bar_size[1], 0u);
    for (uint32_t d = 0; d < i.devices; ++d) {
      std::string path = "/dev/neuron" + std::to_string(d);
      int fd = mock_open(m.host, PID, path.c_str(), O_RDWR);
      ASSERT_GE(fd, 0);
      neuron_ioctl_host_device_id id = {};
      EXPECT_EQ(mock_ioctl(m.host, PID, fd, NEURON_IOCTL_HOST_DEVICE_ID, &id), 0);
      EXPECT_EQ(id.host_device_id, d);
    }
    EXPECT_EQ(mock_open(m.host, PID, ("/dev/neuron" + std::to_string(i.devices)).c_str(), O_RDWR),
              -ENOENT);
    std::string count = std::to_string(i.cores);
    int fd = mock_open(m.host, PID, "/sys/class/neuron_device/neuron0/core_count", O_RDONLY);
    char text[8] = {};
    EXPECT_EQ(mock_read(m.host, PID, fd, text, 8), static_cast<ssize_t>(count.size()));
    EXPECT_EQ(text, count);
  }
  EXPECT_EQ(*names, nullptr);
}

TEST(Info, Topologies) {
  {
    machine_t m("trn1.32xlarge");
    EXPECT_EQ(neighbours(m, 0), (std::vector<uint32_t>{12, 3, 4, 1}));
    EXPECT_EQ(neighbours(m, 7), (std::vector<uint32_t>{3, 6, 11, 4}));
    EXPECT_EQ(neighbours(m, 13), (std::vector<uint32_t>{9, 12, 1, 14}));
  }
  {
    machine_t m("trn2.48xlarge");
    const std::vector<uint32_t> table[16] = {
        {12, 1, 3, 4},  {0, 13, 5, 2},  {14, 3, 1, 6},   {2, 15, 7, 0},
        {8, 5, 7, 0},   {4, 9, 1, 6},   {10, 7, 5, 2},   {6, 11, 3, 4},
        {4, 9, 11, 12}, {8, 5, 13, 10}, {6, 11, 9, 14},  {10, 7, 15, 8},
        {0, 13, 15, 8}, {12, 1, 9, 14}, {2, 15, 13, 10}, {14, 3, 11, 12}};
    for (uint32_t d = 0; d < 16; ++d) {
      EXPECT_EQ(neighbours(m, d), table[d]);
      // The same four as the 4x4 torus has.
      std::set<uint32_t> torus = {(d + 12) % 16, (d + 4) % 16, d / 4 * 4 + (d + 3) % 4,
                                  d / 4 * 4 + (d + 1) % 4};
      EXPECT_EQ(std::set<uint32_t>(table[d].begin(), table[d].end()), torus) << d;
    }
  }
  {
    machine_t m("inf2.48xlarge");
    EXPECT_EQ(neighbours(m, 0), (std::vector<uint32_t>{11, 1}));
    EXPECT_EQ(neighbours(m, 11), (std::vector<uint32_t>{10, 0}));
  }
  {
    machine_t m("inf2.24xlarge");
    EXPECT_EQ(neighbours(m, 0), (std::vector<uint32_t>{1}));
    EXPECT_EQ(neighbours(m, 3), (std::vector<uint32_t>{2, 4}));
    EXPECT_EQ(neighbours(m, 5), (std::vector<uint32_t>{4}));
  }
  machine_t m("trn2.3xlarge");
  EXPECT_TRUE(neighbours(m, 0).empty());
}

TEST(Info, RoutingIds) {
  // Device of routing id 0..15 (uapi.md 5.9); the request returns the inverse.
  const uint32_t trn1[16] = {0, 4, 1, 5, 3, 7, 2, 6, 12, 8, 13, 9, 15, 11, 14, 10};
  const uint32_t trn2[16] = {0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10};
  neuron_ioctl_host_device_id_to_rid_map a = {};
  {
    machine_t m("trn1.32xlarge");
    ASSERT_EQ(m.io_misc(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, &a), 0);
    EXPECT_EQ(a.count, 16u);
    for (uint32_t rid = 0; rid < 16; ++rid)
      EXPECT_EQ(a.host_did_to_rid_map[trn1[rid]], rid);
  }
  {
    machine_t m("trn2.48xlarge");
    ASSERT_EQ(m.io_misc(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, &a), 0);
    for (uint32_t rid = 0; rid < 16; ++rid)
      EXPECT_EQ(a.host_did_to_rid_map[trn2[rid]], rid);
  }
  machine_t m("inf2.48xlarge");
  ASSERT_EQ(m.io_misc(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, &a), 0);
  EXPECT_EQ(a.count, 12u);
  for (uint32_t d = 0; d < 12; ++d)
    EXPECT_EQ(a.host_did_to_rid_map[d], d);
}

TEST(Info, LogicalCoreMap) {
  struct {
    uint32_t count;
    neuron_ioctl_nc_map_entry e[128];
  } map = {};
  neuron_ioctl_get_logical_to_physical_nc_map a = {};
  a.map = reinterpret_cast<neuron_ioctl_nc_map *>(&map);
  a.max_map_entries = 128;
  machine_t m("trn2.48xlarge");
  ASSERT_EQ(m.io_misc(NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP, &a), 0);
  EXPECT_EQ(map.count, 128u);
  const uint32_t order[4][8] = {{4, 5, 6, 7, 2, 3, 0, 1},
                                {2, 3, 0, 1, 4, 5, 6, 7},
                                {0, 1, 2, 3, 6, 7, 4, 5},
                                {6, 7, 4, 5, 0, 1, 2, 3}};
  for (uint32_t i = 0; i < 128; ++i) {
    uint32_t d = i / 8;
    EXPECT_EQ(map.e[i].device_id, d);
    EXPECT_EQ(map.e[i].device_nc_idx, order[(d / 4 % 2) * 2 + d % 2][i % 8]) << i;
  }
  map = {};
  a.max_map_entries = 3;
  ASSERT_EQ(m.io_misc(NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP, &a), 0);
  EXPECT_EQ(map.count, 3u);
  EXPECT_EQ(map.e[3].device_nc_idx, 0u);
  EXPECT_EQ(map.e[2].device_nc_idx, 6u);
  a.max_map_entries = 129;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP, &a), -EINVAL);
  a.max_map_entries = 8;
  a.mapping_version = 1;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP, &a), -EINVAL);
  a.mapping_version = 0;
  a.map = nullptr;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP, &a), 4 + 8 * 8);
  machine_t v2("trn1.2xlarge");
  EXPECT_EQ(v2.io_misc(NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP, &a), -524);
}

TEST(Info, PciPlaces) {
  machine_t m("trn1.32xlarge");
  std::set<uint32_t> buses;
  for (uint32_t d = 0; d < 16; ++d) {
    neuron_ioctl_device_bdf_ext a = {};
    a.nd_index = d;
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_DEVICE_BDF_EXT, &a), 0);
    buses.insert(a.bus_number);
  }
  EXPECT_EQ(buses.size(), 16u);
  // Relative to the opened device.
  int fifth = mock_open(m.host, PID, "/dev/neuron5", O_RDWR);
  neuron_ioctl_device_bdf own = {};
  EXPECT_EQ(mock_ioctl(m.host, PID, fifth, NEURON_IOCTL_DEVICE_BDF, &own), 0);
  neuron_ioctl_device_bdf_ext a = {};
  EXPECT_EQ(mock_ioctl(m.host, PID, fifth, NEURON_IOCTL_DEVICE_BDF_EXT, &a), 0);
  EXPECT_EQ(a.bus_number, own.bus_number);
  a.nd_index = 10;
  EXPECT_EQ(mock_ioctl(m.host, PID, fifth, NEURON_IOCTL_DEVICE_BDF_EXT, &a), 0);
  a.nd_index = 11;
  EXPECT_EQ(mock_ioctl(m.host, PID, fifth, NEURON_IOCTL_DEVICE_BDF_EXT, &a), -EINVAL);
  a.nd_index = UINT32_MAX;
  EXPECT_EQ(mock_ioctl(m.host, PID, fifth, NEURON_IOCTL_DEVICE_BDF_EXT, &a), -EINVAL);
}

TEST(Info, Constants) {
  machine_t m;
  uint8_t done = 0;
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_RESET_STATUS, &done), 0);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_INIT, nullptr), 0);
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_RELEASE, nullptr), 0);
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_ENG_INIT, nullptr), 0);
  EXPECT_EQ(m.io(NEURON_IOCTL_NOTIFICATIONS_DESTROY_V1, nullptr), 0);
  neuron_ioctl_dma_queue_release release = {};
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_RELEASE, &release), 0);
}

TEST(Info, Printk) {
  machine_t m;
  char text[600] = "hello";
  neuron_ioctl_printk a = {text, 6, 0};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_PRINTK, &a), 0);
  a.size = 5;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_PRINTK, &a), -EBADMSG);
  a.size = 512;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_PRINTK, &a), 0);
  a.size = 513;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_PRINTK, &a), -EFAULT);
  a.size = 0;
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_PRINTK, &a), -EBADMSG);
  a = {nullptr, 6, 0};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_PRINTK, &a), 6);
  // What was accepted is in the log, nothing else.
  uint64_t next = 0;
  char line[600];
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(mock_kernel_log_read(m.host, &next, line, sizeof(line)), 5);
    EXPECT_STREQ(line, "hello");
  }
  EXPECT_EQ(mock_kernel_log_read(m.host, &next, line, sizeof(line)), -EAGAIN);
}

// The log keeps the newest 256 lines; a reader that is late goes on with the oldest of them.
TEST(Info, KernelLogIsARing) {
  machine_t m;
  uint64_t next = 0;
  char text[512], line[600];
  for (int i = 0; i < 300; ++i) {
    int n = snprintf(text, sizeof(text), "line %d 100%%s", i);
    neuron_ioctl_printk a = {text, static_cast<uint32_t>(n) + 1, 0};
    ASSERT_EQ(mock_ioctl(m.host, PID + 7, m.misc, NEURON_IOCTL_PRINTK, &a), 0);
  }
  EXPECT_EQ(mock_kernel_log_read(m.host, &next, line, sizeof(line)), 13);
  EXPECT_STREQ(line, "line 44 100%s");
  EXPECT_EQ(next, 45u);
  next = 299;
  EXPECT_EQ(mock_kernel_log_read(m.host, &next, line, 5), 14);  // cut
  EXPECT_STREQ(line, "line");
  EXPECT_EQ(mock_kernel_log_read(m.host, &next, line, sizeof(line)), -EAGAIN);
  // The longest line there can be.
  memset(text, 'x', sizeof(text) - 1);
  text[511] = '\0';
  neuron_ioctl_printk a = {text, 512, 0};
  ASSERT_EQ(m.io_misc(NEURON_IOCTL_PRINTK, &a), 0);
  EXPECT_EQ(mock_kernel_log_read(m.host, &next, line, sizeof(line)), 511);
  EXPECT_STREQ(line, text);
}

TEST(Info, NoPod) {
  for (const char *name : {"trn2.48xlarge", "trn1.32xlarge"}) {
    machine_t m(name);
    neuron_ioctl_pod_info info;
    memset(&info, 0xff, sizeof(info));
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_POD_INFO, &info), -EINVAL);
    info.sz = 260;
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_POD_INFO, &info), 0);
    EXPECT_EQ(info.pod_type, 0);
    EXPECT_EQ(info.pod_sz, 0);

    neuron_ioctl_pod_status_v2 status = {};
    status.v1.sz = 276;
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_POD_STATUS, &status), -EINVAL);
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_POD_STATUS_V2, &status), 0);
    EXPECT_EQ(status.v1.state, 4u);
    EXPECT_EQ(status.v1.node_id, -1);
    status = {};
    status.v1.sz = 268;
    status.mode = 77;
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_POD_STATUS_V2, &status), -EINVAL);
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_POD_STATUS, &status), 0);
    EXPECT_EQ(status.v1.state, 4u);
    EXPECT_EQ(status.mode, 77u);  // not part of this form

    neuron_ioctl_pod_ctrl_v2 ctrl = {};
    ctrl.v1.sz = 16;
    ctrl.v1.state = 99;
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_POD_CTRL_V2, &ctrl), -EINVAL);
    EXPECT_EQ(m.io_misc(NEURON_IOCTL_POD_CTRL, &ctrl), 0);
    EXPECT_EQ(ctrl.v1.state, name[3] == '1' ? 4u : 99u);
  }
}
