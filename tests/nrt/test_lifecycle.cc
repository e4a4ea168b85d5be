// SPDX-License-Identifier: Apache-2.0
// nrt-api.md 4: states, identity, cores.
#include <nrt/nrt_profile.h>
#include <nrt/nrt_sys_trace.h>
#include <sys/wait.h>

#include <cstring>
#include <functional>
#include <thread>

#include "nrt_test.h"

namespace {

NRT_STATUS init() {
  return nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
}

// Exit code of `body` in a forked child.
int in_child(const std::function<int()> &body) {
  pid_t pid = fork();
  if (pid == 0)
    _exit(body());
  int status = 0;
  EXPECT_EQ(pid, waitpid(pid, &status, 0));
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

uint32_t visible() {
  uint32_t count = 0;
  EXPECT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&count));
  return count;
}

uint32_t total() {
  uint32_t count = 0;
  EXPECT_EQ(NRT_SUCCESS, nrt_get_total_vnc_count(&count));
  return count;
}

}  // namespace

// Runs first in this program: nothing has been initialised yet.
TEST(Lifecycle, BeforeInit) {
  nrt_tensor_t *tensor = nullptr;
  nrt_model_t *model = nullptr;
  nrt_tensor_set_t *set = nullptr;
  uint32_t count = 0;
  char byte = 0;
  EXPECT_REFUSED(NRT_UNINITIALIZED,
                 nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &tensor));
  EXPECT_REFUSED(NRT_UNINITIALIZED, nrt_load(&byte, 1, -1, -1, &model));
  EXPECT_REFUSED(NRT_UNINITIALIZED, nrt_allocate_tensor_set(&set));
  EXPECT_REFUSED(NRT_UNINITIALIZED, nrt_unload(model));
  EXPECT_REFUSED(NRT_UNINITIALIZED, nrt_get_model_vnc_count(model, &count));
  EXPECT_REFUSED(NRT_UNINITIALIZED, nrt_tensor_read(nullptr, &byte, 0, 1));
  EXPECT_REFUSED(NRT_UNINITIALIZED, nrt_execute(model, nullptr, nullptr));
  EXPECT_REFUSED(NRT_UNINITIALIZED, nrt_barrier(0, 0, 1));
  size_t before = test_log().errors();
  EXPECT_EQ(nullptr, nrt_tensor_get_va(nullptr));
  EXPECT_EQ(before + 1, test_log().errors());
  EXPECT_EQ(0u, nrt_tensor_get_size(nullptr));
  EXPECT_EQ(4u, total());  // trn2.3xlarge: 8 physical cores, 2 to a logical one
  EXPECT_EQ(4u, visible());
  nrt_tensor_free(nullptr);
  nrt_tensor_free(&tensor);
  nrt_destroy_tensor_set(nullptr);
  nrt_destroy_tensor_set(&set);
  nrt_close();  // no effect: the state stays "never initialised"
  EXPECT_REFUSED(NRT_UNINITIALIZED, nrt_allocate_tensor_set(&set));
}

TEST(Lifecycle, InitCloseAndAgain) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_QUIET(NRT_SUCCESS, init());
    EXPECT_QUIET(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_PYTORCH, nullptr, nullptr));
    nrt_tensor_t *tensor = nullptr;
    EXPECT_QUIET(NRT_SUCCESS,
                 nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 3, 64, nullptr, &tensor));
    nrt_close();
    char byte = 0;
    EXPECT_REFUSED(NRT_CLOSED, nrt_tensor_read(tensor, &byte, 0, 1));
    nrt_close();
  }
}

TEST(Lifecycle, CloseAnswersZeroToCallersWhoExpectAStatus) {
  auto close_with_result = reinterpret_cast<int (*)()>(reinterpret_cast<void *>(&nrt_close));
  EXPECT_EQ(0, close_with_result());
  ASSERT_EQ(NRT_SUCCESS, init());
  EXPECT_EQ(0, close_with_result());
}

TEST(Lifecycle, HandlesOutliveCloseHarmlessly) {
  std::vector<uint8_t> neff = sample_neff();
  ASSERT_EQ(NRT_SUCCESS, init());
  nrt_tensor_t *tensor = nullptr, *slice = nullptr, *host = nullptr;
  nrt_model_t *model = nullptr;
  nrt_tensor_set_t *set = nullptr;
  nrt_tensor_info_array_t *info = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 4096, "t", &tensor));
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 4096, "h", &host));
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(tensor, 16, 16, "s", &slice));
  ASSERT_EQ(NRT_SUCCESS, nrt_load(neff.data(), neff.size(), 0, 1, &model));
  ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&set));
  ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(set, "a", tensor));
  ASSERT_EQ(NRT_SUCCESS, nrt_get_model_tensor_info(model, &info));
  nrt_close();

  EXPECT_EQ(0u, nrt_tensor_get_size(tensor));
  EXPECT_QUIET(NRT_CLOSED, nrt_unload(model));
  EXPECT_STRNE("", info->tensor_array[0].name);
  EXPECT_QUIET(NRT_SUCCESS, nrt_free_model_tensor_info(info));

  // The same handles mean nothing to the next runtime either.
  ASSERT_EQ(NRT_SUCCESS, init());
  char byte = 0;
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_tensor_read(tensor, &byte, 0, 1));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_unload(model));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_add_tensor_to_tensor_set(set, "a", tensor));
  nrt_close();

  size_t before = test_log().errors();
  nrt_tensor_free(&slice);
  nrt_tensor_free(&tensor);
  nrt_tensor_free(&host);
  nrt_destroy_tensor_set(&set);
  EXPECT_EQ(before, test_log().errors());
  EXPECT_EQ(nullptr, tensor);
  EXPECT_EQ(nullptr, set);
}

TEST(Lifecycle, ForkedChildIsRefusedAndParentGoesOn) {
  ASSERT_EQ(NRT_SUCCESS, init());
  nrt_tensor_t *tensor = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &tensor));
  EXPECT_EQ(0, in_child([&] {
              char byte = 0;
              nrt_tensor_set_t *set = nullptr;
              if (nrt_tensor_read(tensor, &byte, 0, 1) != NRT_FAILURE)
                return 1;
              if (nrt_allocate_tensor_set(&set) != NRT_FAILURE)
                return 2;
              if (init() != NRT_FAILURE)
                return 3;
              if (nrt_tensor_get_va(tensor) != nullptr || nrt_tensor_get_size(tensor) != 0)
                return 4;
              nrt_close();
              nrt_tensor_free(&tensor);
              return tensor == nullptr ? 0 : 5;
            }));
  char byte = 7;
  EXPECT_EQ(NRT_SUCCESS, nrt_tensor_write(tensor, &byte, 0, 1));
  nrt_close();
  // After close there is nothing to inherit: a child may have a runtime of its own.
  EXPECT_EQ(0, in_child([] {
              NRT_STATUS status = init();
              nrt_close();
              return static_cast<int>(status);
            }));
}

TEST(Lifecycle, Version) {
  nrt_version_t version;
  memset(&version, 0xee, sizeof(version));
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_version(&version, sizeof(version)));
  EXPECT_EQ(2u, version.rt_major);
  EXPECT_EQ(31u, version.rt_minor);
  EXPECT_EQ(0, strncmp("libnrt version 2.31.", version.rt_detail, 20));
  EXPECT_NE(nullptr, memchr(version.rt_detail, 0, sizeof(version.rt_detail)));
  EXPECT_NE(nullptr, memchr(version.git_hash, 0, sizeof(version.git_hash)));

  nrt_version_t part;
  memset(&part, 0xee, sizeof(part));
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_version(&part, 160));
  EXPECT_EQ(0, memcmp(&part, &version, 160));
  EXPECT_EQ('\xee', part.git_hash[0]);
  EXPECT_REFUSED(NRT_FAILURE, nrt_get_version(&part, 159));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_version(nullptr, 224));
}

TEST(Lifecycle, InstanceInfo) {
  struct {
    const char *type;
    uint32_t family, size;
    const char *arch;
    uint32_t cores;
  } const rows[] = {
      {"trn2.3xlarge", NRT_INSTANCE_TRN2, NRT_INSTANCE_SIZE_3XL, "NCv3", 4},
      {"trn2.48xlarge", NRT_INSTANCE_TRN2, NRT_INSTANCE_SIZE_48XL, "NCv3", 64},
      {"trn1.2xlarge", NRT_INSTANCE_TRN1, NRT_INSTANCE_SIZE_2XL, "NCv2", 2},
      {"trn1.32xlarge", NRT_INSTANCE_TRN1, NRT_INSTANCE_SIZE_32XL, "NCv2", 32},
      {"inf2.xlarge", NRT_INSTANCE_INF2, NRT_INSTANCE_SIZE_1XL, "NCv2", 2},
      {"inf2.24xlarge", NRT_INSTANCE_INF2, NRT_INSTANCE_SIZE_24XL, "NCv2", 12},
      {"inf2.48xlarge", NRT_INSTANCE_INF2, NRT_INSTANCE_SIZE_48XL, "NCv2", 24},
  };
  for (const auto &row : rows) {
    scoped_env instance("NEURON_MOCK_INSTANCE", row.type);
    nrt_instance_info_t info;
    memset(&info, 0xee, sizeof(info));
    EXPECT_QUIET(NRT_SUCCESS, nrt_get_instance_info(&info, sizeof(info)));
    EXPECT_EQ(row.family, info.family) << row.type;
    EXPECT_EQ(row.size, info.size) << row.type;
    EXPECT_STREQ(row.arch, info.arch_name) << row.type;
    EXPECT_EQ(row.cores, total()) << row.type;
  }
  nrt_instance_info_t part;
  memset(&part, 0xee, sizeof(part));
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_instance_info(&part, 4));
  EXPECT_EQ(static_cast<uint32_t>(NRT_INSTANCE_TRN2), part.family);
  EXPECT_EQ(0xeeeeeeeeu, part.size);
  EXPECT_REFUSED(NRT_INVALID, nrt_get_instance_info(&part, 0));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_instance_info(nullptr, 32));
}

TEST(Lifecycle, CountsBeforeAndAfterInitAgree) {
  scoped_env cores("NEURON_RT_VISIBLE_CORES", "1-2");
  EXPECT_EQ(2u, visible());
  EXPECT_EQ(4u, total());
  ASSERT_EQ(NRT_SUCCESS, init());
  {
    // From now on the runtime's own set counts, not the environment.
    scoped_env other("NEURON_RT_VISIBLE_CORES", "0");
    EXPECT_EQ(2u, visible());
  }
  uint32_t old_name = 0;
  EXPECT_EQ(NRT_SUCCESS, nrt_get_visible_nc_count(&old_name));
  EXPECT_EQ(2u, old_name);
  EXPECT_EQ(NRT_SUCCESS, nrt_get_total_nc_count(&old_name));
  EXPECT_EQ(4u, old_name);
  // Core 0 of the process is core 1 of the machine; it has no third.
  nrt_tensor_t *tensor = nullptr;
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 64, "t", &tensor));
  nrt_tensor_device_allocation_info_t info{};
  EXPECT_EQ(NRT_SUCCESS, nrt_tensor_get_device_allocation_info(tensor, &info));
  EXPECT_EQ(2, info.hbm_index);  // logical core 2: physical cores 4 and 5, HBM 2
  EXPECT_REFUSED(NRT_INVALID,
                 nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 2, 64, "t", &tensor));
  nrt_close();
  EXPECT_REFUSED(NRT_INVALID, nrt_get_visible_vnc_count(nullptr));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_total_nc_count(nullptr));
}

TEST(Lifecycle, NumCores) {
  {
    scoped_env count("NEURON_RT_NUM_CORES", "3");
    EXPECT_EQ(3u, visible());
    ASSERT_EQ(NRT_SUCCESS, init());
    EXPECT_EQ(3u, visible());
    nrt_close();
    scoped_env cores("NEURON_RT_VISIBLE_CORES", "2");
    ASSERT_EQ(NRT_SUCCESS, init());  // VISIBLE wins
    EXPECT_EQ(1u, visible());
    nrt_close();
  }
  scoped_env count("NEURON_RT_NUM_CORES", "0");
  EXPECT_EQ(4u, visible());
}

TEST(Lifecycle, LogicalCoreSize) {
  {
    scoped_env lnc("NEURON_LOGICAL_NC_CONFIG", "1");
    EXPECT_EQ(8u, total());
    ASSERT_EQ(NRT_SUCCESS, init());
    EXPECT_EQ(8u, visible());
    nrt_close();
  }
  {
    scoped_env lnc("NEURON_RT_VIRTUAL_CORE_SIZE", "1");
    EXPECT_EQ(8u, total());
  }
  scoped_env instance("NEURON_MOCK_INSTANCE", "trn1.2xlarge");
  EXPECT_EQ(2u, total());
  scoped_env lnc("NEURON_LOGICAL_NC_CONFIG", "2");
  EXPECT_REFUSED(NRT_INVALID, init());
}

TEST(Lifecycle, MalformedEnvironmentLeavesNothingBehind) {
  struct {
    const char *name, *value;
  } const rows[] = {
      {"NEURON_RT_VISIBLE_CORES", "4"},
      {"NEURON_RT_VISIBLE_CORES", "0,2"},
      {"NEURON_RT_VISIBLE_CORES", "zero"},
      {"NEURON_RT_VISIBLE_CORES", "0,"},
      {"NEURON_RT_NUM_CORES", "5"},
      {"NEURON_RT_NUM_CORES", "-1"},
      {"NEURON_LOGICAL_NC_CONFIG", "3"},
      {"NEURON_RT_VALIDATE_HASH", "maybe"},
      {"NEURON_RT_IO_PLACEMENT", "elsewhere"},
      {"NEURON_RT_MOCK", "perhaps"},
      {"NEURON_MOCK_INSTANCE", "trn9.giganto"},
      {"NEURON_RT_ALLOW_LEGACY_NEFF", "2"},
      {"NEURON_SCRATCHPAD_PAGE_SIZE", "banana"},
  };
  for (const auto &row : rows) {
    scoped_env bad(row.name, row.value);
    SCOPED_TRACE(row.name);
    EXPECT_REFUSED(NRT_INVALID, init());
    nrt_tensor_set_t *set = nullptr;
    EXPECT_NE(NRT_SUCCESS, nrt_allocate_tensor_set(&set)) << row.name << "=" << row.value;
    EXPECT_NE(std::string::npos,
              test_log().lines("ERROR").end()[-2].find(
                  row.name == std::string("NEURON_MOCK_INSTANCE") ? "trn9.giganto" : row.name))
        << test_log().lines("ERROR").end()[-2];
  }
  EXPECT_QUIET(NRT_SUCCESS, init());
  nrt_close();
}

TEST(Lifecycle, DriverOutsideTheRange) {
  scoped_env range("NEURON_MOCK_API_RANGE", "90-91");
  EXPECT_REFUSED(NRT_INVALID, init());
}

TEST(Lifecycle, ConcurrentInitAndUse) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      ASSERT_EQ(NRT_SUCCESS, init());
      nrt_tensor_t *tensor = nullptr;
      ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &tensor));
      nrt_tensor_free(&tensor);
    });
  }
  for (std::thread &t : threads)
    t.join();
  nrt_close();
}

// Calls and closes race: every call either works or is refused, and close gets through.
TEST(Lifecycle, CloseDuringUse) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        nrt_tensor_t *tensor = nullptr;
        NRT_STATUS status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &tensor);
        ASSERT_TRUE(status == NRT_SUCCESS || status == NRT_CLOSED) << status;
        if (status == NRT_CLOSED) {
          usleep(500);  // a refusal is a log line; do not drown the disk in them
          continue;
        }
        uint32_t value = 5;
        status = nrt_tensor_write(tensor, &value, 0, sizeof(value));
        ASSERT_TRUE(status == NRT_SUCCESS || status == NRT_CLOSED || status == NRT_INVALID ||
                    status == NRT_INVALID_HANDLE)
            << status;
        nrt_tensor_free(&tensor);
      }
    });
  }
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(NRT_SUCCESS, init());
    usleep(2000);
    nrt_close();
  }
  stop = true;
  for (std::thread &t : threads)
    t.join();
}

TEST(Lifecycle, HostDeviceNumbers) {
  scoped_env instance("NEURON_MOCK_INSTANCE", "trn2.48xlarge");
  scoped_env cores("NEURON_RT_VISIBLE_CORES", "4");  // device 1
  ASSERT_EQ(NRT_SUCCESS, init());
  uint32_t id = 99;
  EXPECT_QUIET(NRT_SUCCESS, nrt_host_device_id_get(13, &id));
  EXPECT_EQ(13u, id);
  EXPECT_REFUSED(NRT_INVALID, nrt_host_device_id_get(16, &id));
  EXPECT_REFUSED(NRT_INVALID, nrt_host_device_id_get(-1, &id));
  EXPECT_REFUSED(NRT_INVALID, nrt_host_device_id_get(0, nullptr));
  // uapi.md 5.9, Trn2, inverted by hand.
  const uint32_t expected[16] = {0, 8, 9, 1, 2, 10, 11, 3, 6, 14, 15, 7, 4, 12, 13, 5};
  uint32_t map[64] = {};
  uint32_t count = 64;
  EXPECT_QUIET(NRT_SUCCESS, nrt_host_device_id_rid_map_get(&count, map));
  ASSERT_EQ(16u, count);
  for (uint32_t i = 0; i < 16; ++i)
    EXPECT_EQ(expected[i], map[i]) << i;
  count = 15;
  EXPECT_REFUSED(NRT_INVALID, nrt_host_device_id_rid_map_get(&count, map));
  nrt_close();
}
