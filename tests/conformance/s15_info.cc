// SPDX-License-Identifier: Apache-2.0
// Section 15: information requests.
#include <unistd.h>

#include <set>
#include <tuple>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S15_Info, V2_AND_V3);
CONFORMANCE_SUITE(S15_Machine, "inf2.24xlarge", "inf2.48xlarge", "trn1.2xlarge", "trn1.32xlarge",
                  "trn2.3xlarge", "trn2.48xlarge");
CONFORMANCE_SUITE(S15_CoreMap, "trn2.3xlarge", "trn2.48xlarge");

namespace {

using place_t = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;  // domain, bus, slot, function

struct bdf_t {
  long rc;
  place_t place;
};

bdf_t bdf(const fd_t &fd, uint32_t index) {
  neuron_ioctl_device_bdf_ext arg = {};
  arg.nd_index = index;
  long rc = fd.io(NEURON_IOCTL_DEVICE_BDF_EXT, &arg);
  return {rc, {arg.domain, arg.bus_number, arg.slot, arg.func}};
}

struct map_storage_t {
  uint32_t num_entries;
  neuron_ioctl_nc_map_entry entries[160];
};

long core_map(const fd_t &fd, uint32_t entries, uint32_t version, void *map) {
  neuron_ioctl_get_logical_to_physical_nc_map arg = {};
  arg.map = static_cast<neuron_ioctl_nc_map *>(map);
  arg.max_map_entries = entries;
  arg.mapping_version = version;
  return fd.io(NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP, &arg);
}

// neuron_ioctl_get_apps_info with room for entries.
struct apps_t {
  struct {
    uint16_t apps_info_flags;
    uint32_t capacity;
    uint32_t size;
  } head;
  neuron_app_info apps[16];
};
static_assert(offsetof(apps_t, apps) == 16);

long apps_info(const fd_t &fd, uint16_t flags, uint32_t capacity, apps_t *out) {
  *out = {};
  out->head.apps_info_flags = flags;
  out->head.capacity = capacity;
  return fd.io(NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, out);
}

}  // namespace

TEST_P(S15_Info, DeviceInfo) {
  neuron_ioctl_device_info info = {};
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_INFO, &info), 0);
  EXPECT_EQ(info.architecture, v2() ? 2u : 3u);
  EXPECT_EQ(info.connected_device_count, 0u);
  // Only ever added to: any base will do, but there is one.
  EXPECT_LE(info.bar_address[0], UINT64_MAX - info.bar_size[0]);
}

TEST_P(S15_Info, Constants) {
  neuron_ioctl_device_basic_info basic = {};
  EXPECT_EQ(io_misc(NEURON_IOCTL_DEVICE_BASIC_INFO, &basic), 0);
  EXPECT_EQ(basic.architecture, v2() ? 2u : 3u);
  neuron_ioctl_compatible_version version = {};
  EXPECT_EQ(io_misc(NEURON_IOCTL_COMPATIBLE_VERSION, &version), 0);
  EXPECT_EQ(version.max, v2() ? 7u : 11u);
  EXPECT_EQ(version.min, v2() ? 5u : 10u);
  EXPECT_EQ(read_file("/sys/module/neuron/version").substr(0, 8), "2.24.7.0");
}

TEST_P(S15_Info, DriverInfoGet) {
  uint8_t bytes[64];
  memset(bytes, 0xee, sizeof(bytes));
  // Any size from 24 on is taken; 24 bytes are filled.
  for (uint32_t size : {24u, 25u, 64u}) {
    EXPECT_EQ(io_misc(_IOC(_IOC_READ, 'N', 110, size), bytes), 0) << size;
    neuron_ioctl_device_driver_info info;
    memcpy(&info, bytes, sizeof(info));
    EXPECT_EQ(info.architecture, v2() ? 2u : 3u);
    EXPECT_EQ(info.version, 0u);
    EXPECT_EQ(info.size, 24u);
    EXPECT_EQ(info.feature_flags1, 0xffu);
    EXPECT_EQ(bytes[24], 0xee);
  }
}

TEST_P(S15_Info, DriverInfoGet_Refused) {
  uint8_t bytes[64] = {};
  EXPECT_EQ(io_misc(_IOC(_IOC_READ, 'N', 110, 23), bytes), -EINVAL);
  EXPECT_EQ(io_misc(_IOC(_IOC_READ, 'N', 110, 8), bytes), -EINVAL);
  EXPECT_EQ(io_misc(_IOC(_IOC_NONE, 'N', 110, 24), bytes), -EINVAL);
  EXPECT_EQ(io_misc(_IOC(_IOC_WRITE, 'N', 110, 24), bytes), -524);
  EXPECT_EQ(io_misc(_IOC(_IOC_WRITE, 'N', 110, 8), bytes), -524);
}

TEST_P(S15_Info, DriverInfoSet) {
  NEEDS_BACKSTAGE();
  neuron_ioctl_device_driver_info info = {};
  EXPECT_EQ(inherited(dev, OTHER).io(NEURON_IOCTL_DRIVER_INFO_SET, &info), -EACCES);
  EXPECT_EQ(io(NEURON_IOCTL_DRIVER_INFO_SET, &info), -524);
  EXPECT_EQ(io_misc(NEURON_IOCTL_DRIVER_INFO_SET, &info), -524);
}

TEST_P(S15_Info, CoreMap_NotOnV2) {
  map_storage_t map = {};
  EXPECT_EQ(core_map(misc, 8, 0, &map), v2() ? -524 : 0);
  // On v2 before the checks of the argument.
  EXPECT_EQ(core_map(misc, 129, 1, &map), v2() ? -524 : -EINVAL);
}

TEST_P(S15_Info, DeviceInitAndRelease) {
  neuron_ioctl_device_init init = {7};
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_INIT, &init), 0);
  EXPECT_EQ(init.mem_regions, 7u);
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_RELEASE, nullptr), 0);
}

TEST_P(S15_Info, DeviceResetStatus) {
  uint8_t status[2] = {0xee, 0xee};
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_RESET_STATUS, status), 0);
  EXPECT_EQ(status[0], 1);
  EXPECT_EQ(status[1], 0xee);
}

TEST_P(S15_Info, DeviceAppPid) {
  NEEDS_BACKSTAGE();
  open(OTHER);
  int32_t pid = 0;
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_APP_PID, &pid), 0);
  EXPECT_EQ(pid, getpid());  // the first to attach
}

TEST_P(S15_Info, AllAppsInfo_OneEntryPerProcess) {
  NEEDS_BACKSTAGE();
  open(OTHER);
  open(THIRD);
  apps_t out;
  EXPECT_EQ(apps_info(dev, NEURON_APPS_INFO_ALL, 16, &out), 0);
  ASSERT_EQ(out.head.size, 3u);
  std::set<int32_t> pids = {out.apps[0].pid, out.apps[1].pid, out.apps[2].pid};
  EXPECT_EQ(pids, (std::set<int32_t>{getpid(), OTHER, THIRD}));
  // Up to the capacity.
  EXPECT_EQ(apps_info(dev, NEURON_APPS_INFO_ALL, 2, &out), 0);
  EXPECT_EQ(out.head.size, 2u);
  EXPECT_EQ(out.apps[2].pid, 0);
}

TEST_P(S15_Info, AllAppsInfo_LocksAndMemory) {
  alloc(dev, {.size = 3 * PAGE});
  alloc(dev, {.size = 5 * PAGE, .host = true});
  neuron_ioctl_crwl lock = {};
  lock.nc_id = 1;
  memset(lock.uuid.value, 'u', 32);
  ASSERT_EQ(io(NEURON_IOCTL_CRWL_WRITER_ENTER, &lock), 0);
  ASSERT_EQ(io(NEURON_IOCTL_CRWL_WRITER_DOWNGRADE, &lock), 0);
  apps_t out;
  EXPECT_EQ(apps_info(dev, NEURON_APPS_INFO_LOCK | NEURON_APPS_INFO_MEM_USAGE, 16, &out), 0);
  ASSERT_EQ(out.head.size, 1u);
  EXPECT_EQ(out.apps[0].nc_lock_map, 0x2);
  EXPECT_EQ(memcmp(out.apps[0].uuid_data[1].value, lock.uuid.value, 32), 0);
  EXPECT_EQ(out.apps[0].device_mem_size, 3 * PAGE);
  EXPECT_EQ(out.apps[0].host_mem_size, 5 * PAGE);
  // Each flag alone.
  EXPECT_EQ(apps_info(dev, NEURON_APPS_INFO_LOCK, 16, &out), 0);
  EXPECT_EQ(out.apps[0].nc_lock_map, 0x2);
  EXPECT_EQ(out.apps[0].device_mem_size, 0u);
  EXPECT_EQ(apps_info(dev, NEURON_APPS_INFO_MEM_USAGE, 16, &out), 0);
  EXPECT_EQ(out.apps[0].nc_lock_map, 0);
  EXPECT_EQ(out.apps[0].host_mem_size, 5 * PAGE);
}

TEST_P(S15_Info, AllAppsInfo_BadRoom) {
  apps_t out;
  EXPECT_EQ(apps_info(dev, NEURON_APPS_INFO_ALL, UINT32_MAX, &out), -ENOMEM);
  neuron_ioctl_get_apps_info head = {};
  head.apps_info_flags = NEURON_APPS_INFO_ALL;
  head.capacity = 16;
  EXPECT_GT(io(NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, read_only_t(&head, sizeof(head)).page), 0);
}

TEST_P(S15_Info, PodInfo) {
  neuron_ioctl_pod_info info;
  memset(&info, 0xee, sizeof(info));
  info.sz = 260;
  EXPECT_EQ(io_misc(NEURON_IOCTL_POD_INFO, &info), 0);
  EXPECT_EQ(info.pod_type, 0);
  EXPECT_EQ(info.pod_sz, 0);
  for (uint16_t size : {0, 259, 261, 268}) {
    info.sz = size;
    EXPECT_EQ(io_misc(NEURON_IOCTL_POD_INFO, &info), -EINVAL) << size;
  }
  EXPECT_EQ(io_misc(_IOC(_IOC_READ | _IOC_WRITE, 'N', 121, 261), &info), -EINVAL);
  EXPECT_EQ(io_misc(_IOC(_IOC_READ, 'N', 121, 260), &info), -EINVAL);
}

TEST_P(S15_Info, PodStatus) {
  neuron_ioctl_pod_status_v2 status;
  memset(&status, 0xee, sizeof(status));
  status.v1.sz = 268;
  EXPECT_EQ(io_misc(NEURON_IOCTL_POD_STATUS, &status), 0);
  EXPECT_EQ(status.v1.state, 4u);
  EXPECT_EQ(status.v1.node_id, -1);
  EXPECT_EQ(status.mode, 0xeeeeeeeeu);  // beyond the structure
  status.v1.sz = 276;
  EXPECT_EQ(io_misc(NEURON_IOCTL_POD_STATUS, &status), -EINVAL);
  EXPECT_EQ(io_misc(NEURON_IOCTL_POD_STATUS_V2, &status), 0);
  EXPECT_EQ(status.v1.state, 4u);
  EXPECT_EQ(status.v1.node_id, -1);
  status.v1.sz = 268;
  EXPECT_EQ(io_misc(NEURON_IOCTL_POD_STATUS_V2, &status), -EINVAL);
  EXPECT_EQ(io_misc(_IOC(_IOC_READ | _IOC_WRITE, 'N', 122, 272), &status), -EINVAL);
}

TEST_P(S15_Info, PodCtrl) {
  neuron_ioctl_pod_ctrl_v2 ctrl = {};
  for (uint32_t request : {0u, 1u, 2u, 3u}) {
    ctrl.v1 = {16, request, 0, 77};
    EXPECT_EQ(io_misc(NEURON_IOCTL_POD_CTRL, &ctrl), 0);
    EXPECT_EQ(ctrl.v1.state, v2() ? 4u : 77u);
    ctrl.v1 = {20, request, 0, 77};
    EXPECT_EQ(io_misc(NEURON_IOCTL_POD_CTRL_V2, &ctrl), 0);
    EXPECT_EQ(ctrl.v1.state, v2() ? 4u : 77u);
  }
  ctrl.v1.sz = 20;
  EXPECT_EQ(io_misc(NEURON_IOCTL_POD_CTRL, &ctrl), -EINVAL);
  ctrl.v1.sz = 16;
  EXPECT_EQ(io_misc(NEURON_IOCTL_POD_CTRL_V2, &ctrl), -EINVAL);
  EXPECT_EQ(io_misc(_IOC(_IOC_READ | _IOC_WRITE, 'N', 123, 24), &ctrl), -EINVAL);
}

TEST_P(S15_Info, ArgumentReadOnly) {
  uint8_t zero[300] = {};
  read_only_t page(zero, sizeof(zero));
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_INFO, page.page), 80);
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_BASIC_INFO, page.page), 8);
  EXPECT_EQ(io(NEURON_IOCTL_DRIVER_INFO_GET, page.page), 24);
  EXPECT_EQ(io(NEURON_IOCTL_COMPATIBLE_VERSION, page.page), 8);
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_BDF, page.page), 8);
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_BDF_EXT, page.page), 16);
  EXPECT_EQ(io(NEURON_IOCTL_HOST_DEVICE_ID, page.page), 4);
  EXPECT_EQ(io(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, page.page), 260);
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_APP_PID, page.page), 4);
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_RESET_STATUS, page.page), 1);
  neuron_ioctl_pod_info pod = {};
  pod.sz = 260;
  EXPECT_EQ(io(NEURON_IOCTL_POD_INFO, read_only_t(&pod, sizeof(pod)).page), 260);
  neuron_ioctl_pod_status_v2 status = {};
  status.v1.sz = 268;
  EXPECT_EQ(io(NEURON_IOCTL_POD_STATUS, read_only_t(&status, sizeof(status)).page), 268);
  status.v1.sz = 276;
  EXPECT_EQ(io(NEURON_IOCTL_POD_STATUS_V2, read_only_t(&status, sizeof(status)).page), 276);
}

TEST_P(S15_Machine, HostDeviceId) {
  for (uint32_t device = 0; target->ops->device_present(target->be, device); ++device) {
    neuron_ioctl_host_device_id id = {99};
    EXPECT_EQ(open(SELF, HAL_LANE_DEVICE, device).io(NEURON_IOCTL_HOST_DEVICE_ID, &id), 0);
    EXPECT_EQ(id.host_device_id, device);
  }
}

TEST_P(S15_Machine, RoutingIds) {
  // Device of each routing id (uapi.md 5.9); the request answers with the inverse.
  static const uint32_t trn1[] = {0, 4, 1, 5, 3, 7, 2, 6, 12, 8, 13, 9, 15, 11, 14, 10};
  static const uint32_t trn2[] = {0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10};
  neuron_ioctl_host_device_id_to_rid_map map = {};
  ASSERT_EQ(io_misc(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, &map), 0);
  bool inf2 = strncmp(GetParam().instance, "inf2", 4) == 0;
  for (uint32_t device = 0; device < map.count; ++device) {
    uint32_t id = map.host_did_to_rid_map[device];
    ASSERT_LT(id, 16u);
    EXPECT_EQ(inf2 ? id : v2() ? trn1[id] : trn2[id], device);
  }
  uint8_t wrong[300] = {};
  EXPECT_EQ(io_misc(_IOC(_IOC_READ | _IOC_WRITE, 'N', 115, 256), wrong), -EINVAL);
  EXPECT_EQ(io_misc(_IOC(_IOC_READ | _IOC_WRITE, 'N', 115, 264), wrong), -EINVAL);
}

TEST_P(S15_Machine, Bdf) {
  neuron_ioctl_host_device_id_to_rid_map map = {};
  ASSERT_EQ(io_misc(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP, &map), 0);
  std::set<place_t> places;
  for (uint32_t device = 0; device < map.count; ++device) {
    bdf_t from_first = bdf(misc, device);
    EXPECT_EQ(from_first.rc, 0);
    places.insert(from_first.place);
    // Relative to the opened device; the old request knows its own only.
    fd_t fd = open(SELF, HAL_LANE_DEVICE, device);
    EXPECT_EQ(bdf(fd, 0).place, from_first.place);
    neuron_ioctl_device_bdf own = {};
    EXPECT_EQ(fd.io(NEURON_IOCTL_DEVICE_BDF, &own), 0);
    EXPECT_EQ(own.bus_number, std::get<1>(from_first.place));
    EXPECT_EQ(own.slot, std::get<2>(from_first.place));
    EXPECT_EQ(own.func, std::get<3>(from_first.place));
    EXPECT_EQ(bdf(fd, map.count - device).rc, -EINVAL);
  }
  EXPECT_EQ(places.size(), map.count);
  for (uint32_t index : {map.count, 63u, 64u, UINT32_MAX})
    EXPECT_EQ(bdf(misc, index).rc, -EINVAL) << index;
}

TEST_P(S15_CoreMap, Table) {
  static const uint32_t rows[4][8] = {
      {4, 5, 6, 7, 2, 3, 0, 1},  // d/4 even, d even
      {2, 3, 0, 1, 4, 5, 6, 7},  // d/4 even, d odd
      {0, 1, 2, 3, 6, 7, 4, 5},  // d/4 odd, d even
      {6, 7, 4, 5, 0, 1, 2, 3},  // d/4 odd, d odd
  };
  map_storage_t map = {};
  ASSERT_EQ(core_map(misc, 128, 0, &map), 0);
  EXPECT_EQ(map.num_entries, 128u);
  for (uint32_t i = 0; i < 128; ++i) {
    uint32_t d = i / 8;
    EXPECT_EQ(map.entries[i].device_id, d);
    EXPECT_EQ(map.entries[i].device_nc_idx, rows[d / 4 % 2 * 2 + d % 2][i % 8]) << i;
  }
}

TEST_P(S15_CoreMap, Checks) {
  map_storage_t map = {};
  EXPECT_EQ(core_map(misc, 129, 0, &map), -EINVAL);
  EXPECT_EQ(core_map(misc, 8, 1, &map), -EINVAL);
  map.entries[8].device_nc_idx = 0xee;
  EXPECT_EQ(core_map(misc, 8, 0, &map), 0);
  EXPECT_EQ(map.num_entries, 8u);
  EXPECT_EQ(map.entries[8].device_nc_idx, 0xeeu);
  EXPECT_EQ(core_map(misc, 0, 0, &map), 0);
  EXPECT_EQ(map.num_entries, 0u);
  EXPECT_GT(core_map(misc, 8, 0, nullptr), 0);
  // The count is looked at before the map.
  EXPECT_EQ(core_map(misc, 129, 0, nullptr), -EINVAL);
}
