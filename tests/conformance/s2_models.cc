// SPDX-License-Identifier: Apache-2.0
// Section 2: what each chip has, as far as requests show it.
#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S2_1_Counts, V2_AND_V3);
CONFORMANCE_SUITE(S2_2_Bar4, V2_AND_V3);
CONFORMANCE_SUITE(S2_4_Topology, "inf2.xlarge", "inf2.24xlarge", "inf2.48xlarge", "trn1.2xlarge",
                  "trn1.32xlarge", "trn2.3xlarge", "trn2.48xlarge");

namespace {

neuron_ioctl_device_info device_info(const fd_t &fd) {
  neuron_ioctl_device_info info = {};
  EXPECT_EQ(fd.io(NEURON_IOCTL_DEVICE_INFO, &info), 0);
  return info;
}

long mmap_info(const fd_t &fd, uint32_t block, uint32_t id, uint32_t resource) {
  neuron_ioctl_resource_mmap_info arg = {};
  arg.block = block;
  arg.block_id = id;
  arg.resource = resource;
  return fd.io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg);
}

}  // namespace

TEST_P(S2_1_Counts, Architecture) {
  uint32_t expected = v2() ? 2 : 3;
  EXPECT_EQ(device_info(dev).architecture, expected);
  neuron_ioctl_device_basic_info basic = {};
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_BASIC_INFO, &basic), 0);
  EXPECT_EQ(basic.architecture, expected);
  neuron_ioctl_device_driver_info driver = {};
  EXPECT_EQ(io(NEURON_IOCTL_DRIVER_INFO_GET, &driver), 0);
  EXPECT_EQ(driver.architecture, expected);
  EXPECT_EQ(driver.revision, basic.revision);
  EXPECT_EQ(device_info(dev).revision, basic.revision);
}

TEST_P(S2_1_Counts, Cores) {
  for (uint32_t core = 0; core < 10; ++core) {
    neuron_ioctl_nc_model_started_count arg = {};
    arg.nc_id = core;
    EXPECT_EQ(io(NEURON_IOCTL_NC_MODEL_STARTED_COUNT, &arg), core < (v2() ? 2u : 8u) ? 0 : -E2BIG)
        << core;
  }
  EXPECT_EQ(read_file("/sys/class/neuron_device/neuron0/core_count"), v2() ? "2" : "8");
}

TEST_P(S2_1_Counts, TopSps) {
  uint32_t count = v2() ? 6 : 16;
  for (uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(mmap_info(dev, NEURON_MMAP_BLOCK_TOP_SP, i, NEURON_MMAP_RESOURCE_SEMAPHORE),
              i < count ? 0 : -EINVAL)
        << i;
  }
}

TEST_P(S2_1_Counts, Channels) {
  uint32_t count = v2() ? 2 : 4;
  for (uint32_t channel = 0; channel < 6; ++channel) {
    EXPECT_EQ(alloc(dev, {.channel = channel}).rc, channel < count ? 0 : -EINVAL) << channel;
  }
}

// The one request that fits a channel without its reserved start and its small pool, and no larger.
TEST_P(S2_1_Counts, ChannelSize) {
  uint64_t main = (v2() ? 16 : 24) * GIB - GIB - 16 * MIB;
  for (uint32_t channel = 0; channel < model().channels; ++channel) {
    EXPECT_EQ(alloc(dev, {.size = main + PAGE, .channel = channel}).rc, -ENOMEM);
    chunk_t c = alloc(dev, {.size = main, .channel = channel});
    EXPECT_EQ(c.rc, 0);
    EXPECT_EQ(c.pa, model().base[channel] + 16 * MIB);
  }
}

TEST_P(S2_1_Counts, OneRegionPerChannel) {
  // Other regions are taken as region 0.
  chunk_t c = alloc(dev, {.size = MIB, .region = 3});
  EXPECT_EQ(c.rc, 0);
  EXPECT_EQ(c.pa, 0x1000000u);
}

TEST_P(S2_1_Counts, ChannelBases) {
  static const uint64_t v3_base[] = {0, 0x4000000000, 0x800000000000, 0x804000000000};
  static const uint64_t v2_base[] = {0, 0x1000000000};
  for (uint32_t channel = 0; channel < (v2() ? 2u : 4u); ++channel) {
    uint64_t base = v2() ? v2_base[channel] : v3_base[channel];
    mc_t reserved = chunk_at(dev, base);
    EXPECT_EQ(reserved.rc, 0);
    EXPECT_EQ(reserved.info.mmap_offset, base);
  }
}

TEST_P(S2_1_Counts, ReservedStart) {
  for (uint32_t channel = 0; channel < model().channels; ++channel) {
    EXPECT_EQ(chunk_at(dev, model().base[channel]).info.size, 16 * MIB);
    EXPECT_EQ(chunk_at(dev, model().base[channel] + 16 * MIB - 1).rc, 0);
    EXPECT_EQ(chunk_at(dev, model().base[channel] + 16 * MIB).rc, -ENOMEM);
  }
}

TEST_P(S2_1_Counts, SmallPoolAtTheEnd) {
  for (uint32_t channel = 0; channel < model().channels; ++channel) {
    chunk_t c = alloc(dev, {.size = PAGE, .channel = channel});
    EXPECT_EQ(c.pa, model().base[channel] + (v2() ? 16 : 24) * GIB - GIB);
  }
}

TEST_P(S2_1_Counts, HostWindowBit) {
  chunk_t c = alloc(dev, {.host = true});
  EXPECT_EQ(c.rc, 0);
  uint64_t bit = v2() ? 0x100000000000 : 0x400000000000;
  EXPECT_EQ(c.pa & bit, bit);
  EXPECT_LT(c.pa & ~bit, 4 * GIB);
}

TEST_P(S2_1_Counts, Bars) {
  neuron_ioctl_device_info info = device_info(dev);
  // Lower bound of BAR0: the highest register used (2.3); BAR2 does not exist.
  EXPECT_GE(info.bar_size[0], v2() ? 0x30fa0804u : 0xf4800000u);
  EXPECT_EQ(info.bar_size[1], 0u);
}

TEST_P(S2_1_Counts, RuntimeApiRange) {
  neuron_ioctl_compatible_version version = {};
  EXPECT_EQ(io_misc(NEURON_IOCTL_COMPATIBLE_VERSION, &version), 0);
  EXPECT_EQ(version.min, v2() ? 5u : 10u);
  EXPECT_EQ(version.max, v2() ? 7u : 11u);
}

// The last page of a channel: the driver loses its way there ([K]); the mock maps it correctly.
TEST_P(S2_2_Bar4, LastPageOfAChannel) {
  for (uint32_t channel = 0; channel < model().channels; ++channel) {
    uint64_t end = model().base[channel] + model().channel_size;
    uint64_t main = model().channel_size - SMALL_POOL - RESERVED;
    ASSERT_EQ(alloc(dev, {.size = main, .channel = channel}).rc, 0);
    // The main pool is full, so this lies in the small one.
    ASSERT_EQ(alloc(dev, {.size = SMALL_POOL - PAGE, .channel = channel}).pa, end - SMALL_POOL);
    chunk_t last = alloc(dev, {.channel = channel});
    ASSERT_EQ(last.pa, end - PAGE);
    std::vector<uint8_t> data = pattern(PAGE, channel);
    void *va = nullptr;
    ASSERT_EQ(dev.map(last.pa, PAGE, PROT_READ | PROT_WRITE, &va), 0);
    memcpy(va, data.data(), PAGE);
    EXPECT_EQ(bytes_of(dev, last.handle, 0, PAGE), data);
    EXPECT_EQ(dev.unmap(va, PAGE), 0);
  }
}

// Every channel's chunks map to that channel, whatever BAR4's translation.
TEST_P(S2_2_Bar4, EachChannel) {
  for (uint32_t channel = 0; channel < model().channels; ++channel) {
    for (uint64_t size : {PAGE, 2 * MIB}) {
      chunk_t c = alloc(dev, {.size = size, .channel = channel});
      std::vector<uint8_t> data = pattern(PAGE, 16 + channel);
      ASSERT_EQ(buf_write(dev, c.handle, size - PAGE, data.data(), PAGE), 0);
      void *va = nullptr;
      ASSERT_EQ(dev.map(c.pa, size, PROT_READ, &va), 0);
      EXPECT_EQ(memcmp(static_cast<uint8_t *>(va) + size - PAGE, data.data(), PAGE), 0);
      EXPECT_EQ(dev.unmap(va, size), 0);
      if (backstage().available()) {
        EXPECT_EQ(memcmp(backstage().dram(c.pa + size - PAGE, PAGE), data.data(), PAGE), 0);
      }
    }
  }
}

TEST_P(S2_4_Topology, DevicesPerInstance) {
  static const std::pair<const char *, uint32_t> counts[] = {
      {"inf2.xlarge", 1},    {"inf2.24xlarge", 6}, {"inf2.48xlarge", 12}, {"trn1.2xlarge", 1},
      {"trn1.32xlarge", 16}, {"trn2.3xlarge", 1},  {"trn2.48xlarge", 16},
  };
  uint32_t count = 0;
  for (const auto &row : counts)
    if (strcmp(row.first, GetParam().instance) == 0)
      count = row.second;
  neuron_ioctl_host_device_id_to_rid_map map = {};
  EXPECT_EQ(io_misc(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, &map), 0);
  EXPECT_EQ(map.count, count);
  for (uint32_t device = 0; device < 20; ++device)
    EXPECT_EQ(target->ops->device_present(target->be, device), device < count) << device;
  EXPECT_EQ(target->ops->open(target->be, count, HAL_LANE_DEVICE), -ENOENT);
}

TEST_P(S2_4_Topology, Neighbours) {
  using list_t = std::vector<uint32_t>;
  // Four neighbours by core-pair link.
  static const std::vector<list_t> trn2 = {
      {12, 1, 3, 4},  {0, 13, 5, 2},  {14, 3, 1, 6},   {2, 15, 7, 0},
      {8, 5, 7, 0},   {4, 9, 1, 6},   {10, 7, 5, 2},   {6, 11, 3, 4},
      {4, 9, 11, 12}, {8, 5, 13, 10}, {6, 11, 9, 14},  {10, 7, 15, 8},
      {0, 13, 15, 8}, {12, 1, 9, 14}, {2, 15, 13, 10}, {14, 3, 11, 12}};
  // (d-4), previous in the row of four, (d+4), next in the row.
  static const std::vector<list_t> trn1 = {
      {12, 3, 4, 1},  {13, 0, 5, 2},  {14, 1, 6, 3},   {15, 2, 7, 0},
      {0, 7, 8, 5},   {1, 4, 9, 6},   {2, 5, 10, 7},   {3, 6, 11, 4},
      {4, 11, 12, 9}, {5, 8, 13, 10}, {6, 9, 14, 11},  {7, 10, 15, 8},
      {8, 15, 0, 13}, {9, 12, 1, 14}, {10, 13, 2, 15}, {11, 14, 3, 12}};
  static const std::vector<list_t> ring = {{11, 1}, {0, 2}, {1, 3}, {2, 4},  {3, 5},  {4, 6},
                                           {5, 7},  {6, 8}, {7, 9}, {8, 10}, {9, 11}, {10, 0}};
  static const std::vector<list_t> chain = {{1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4}};
  static const std::vector<list_t> alone = {{}};
  std::string name = GetParam().instance;
  const std::vector<list_t> &expected = name == "trn2.48xlarge"   ? trn2
                                        : name == "trn1.32xlarge" ? trn1
                                        : name == "inf2.48xlarge" ? ring
                                        : name == "inf2.24xlarge" ? chain
                                                                  : alone;
  for (uint32_t device = 0; device < expected.size(); ++device) {
    SCOPED_TRACE(device);
    neuron_ioctl_device_info info = device_info(open(SELF, HAL_LANE_DEVICE, device));
    list_t got(info.connected_devices,
               info.connected_devices + std::min(info.connected_device_count, 8u));
    EXPECT_EQ(got, expected[device]);
    std::string text;
    for (uint32_t n : expected[device])
      text += (text.empty() ? "" : ", ") + std::to_string(n);
    std::string path =
        "/sys/class/neuron_device/neuron" + std::to_string(device) + "/connected_devices";
    EXPECT_EQ(read_file(path), text + "\n");
  }
}
