// SPDX-License-Identifier: Apache-2.0
// Section 16: counters in sysfs files (uapi.md 11).
#include <unistd.h>

#include "tests/conformance/memory.h"
#include "uapi/neuron_datastore.h"

CONFORMANCE_SUITE(S16_Core, V2_AND_V3);
CONFORMANCE_SUITE(S16_Category, V2_AND_V3);
CONFORMANCE_SUITE(S16_Datastore, V2_AND_V3);
CONFORMANCE_SUITE(S16_Layout, "trn2.3xlarge");

namespace {

const std::string DEVICE = "/sys/class/neuron_device/neuron0/";

std::string core_dir(uint32_t core) {
  return DEVICE + "neuron_core" + std::to_string(core) + "/stats/";
}

}  // namespace

TEST_P(S16_Core, Memory_OfTheChunksCore) {
  for (bool host : {false, true}) {
    std::string kind = std::string("memory_usage/") + (host ? "host_mem" : "device_mem") + "/";
    uint64_t before0 = number_in(core_dir(0) + kind + "total");
    uint64_t before1 = number_in(core_dir(1) + kind + "total");
    chunk_t a = alloc(dev, {.size = 5000, .host = host, .nc_id = 1});
    chunk_t b = alloc(dev, {.size = 3 * PAGE, .host = host, .nc_id = 1});
    EXPECT_EQ(number_in(core_dir(0) + kind + "total"), before0);
    EXPECT_EQ(number_in(core_dir(1) + kind + "total"), before1 + 5 * PAGE);
    EXPECT_EQ(number_in(core_dir(1) + kind + "present"), 3 * PAGE);  // the last change
    ASSERT_EQ(free_chunk(dev, a.handle), 0);
    EXPECT_EQ(number_in(core_dir(1) + kind + "total"), before1 + 3 * PAGE);
    EXPECT_EQ(number_in(core_dir(1) + kind + "present"), 2 * PAGE);
    EXPECT_EQ(number_in(core_dir(1) + kind + "peak"), before1 + 5 * PAGE);
    ASSERT_EQ(free_chunk(dev, b.handle), 0);
    EXPECT_EQ(number_in(core_dir(1) + kind + "total"), before1);
  }
}

TEST_P(S16_Category, Device_OnTheChunksCore) {
  struct {
    uint32_t category;
    const char *name;
  } rows[] = {
      {NEURON_MEM_CODE_DEVICE, "model_code"},
      {NEURON_MEM_TENSORS_DEVICE, "tensors"},
      {NEURON_MEM_CONSTANTS_DEVICE, "constants"},
      {NEURON_MEM_SCRATCHPAD_DEVICE, "model_shared_scratchpad"},
      {NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE, "model_shared_scratchpad"},
      {NEURON_MEM_MISC_DEVICE, "runtime_memory"},
      {NEURON_MEM_NCDEV_DEVICE, "driver_memory"},
      {NEURON_MEM_COLLECTIVES_DEVICE, "collectives"},
      {NEURON_MEM_SCRATCHPAD_NONSHARED_DEVICE, "nonshared_scratchpad"},
      {NEURON_MEM_NOTIFICATION_DEVICE, "notifications"},
      {NEURON_MEM_DMA_RINGS_DEVICE, "dma_rings"},
      {NEURON_MEM_UNKNOWN_DEVICE, "uncategorized"},
      {20, "uncategorized"},
      {UINT32_MAX, "uncategorized"},
  };
  for (const auto &row : rows) {
    SCOPED_TRACE(row.category);
    std::string file = core_dir(1) + "memory_usage/device_mem/" + row.name + "/total";
    uint64_t before = number_in(file);
    chunk_t c = alloc(dev, {.size = 3 * PAGE, .nc_id = 1, .category = row.category});
    EXPECT_EQ(number_in(file), before + 3 * PAGE);
    ASSERT_EQ(free_chunk(dev, c.handle), 0);
    EXPECT_EQ(number_in(file), before);
  }
}

TEST_P(S16_Category, Host_OnTheDevice) {
  struct {
    uint32_t category;
    const char *name;
  } rows[] = {
      {NEURON_MEM_CODE_HOST, "dma_buffers"},
      {NEURON_MEM_TENSORS_HOST, "tensors"},
      {NEURON_MEM_CONSTANTS_HOST, "constants"},
      {NEURON_MEM_MISC_HOST, "application_memory"},
      {NEURON_MEM_NCDEV_HOST, "driver_memory"},
      {NEURON_MEM_NOTIFICATION_HOST, "notifications"},
      {NEURON_MEM_DMA_RINGS_HOST, "dma_rings"},
      {NEURON_MEM_UNKNOWN_HOST, "uncategorized"},
      {1000, "uncategorized"},
  };
  for (const auto &row : rows) {
    SCOPED_TRACE(row.category);
    std::string file = DEVICE + "stats/memory_usage/host_mem/" + row.name + "/total";
    uint64_t before = number_in(file);
    chunk_t c = alloc(dev, {.size = 3 * PAGE, .host = true, .nc_id = 1, .category = row.category});
    EXPECT_EQ(number_in(file), before + 3 * PAGE);
    ASSERT_EQ(free_chunk(dev, c.handle), 0);
    EXPECT_EQ(number_in(file), before);
  }
}

// What a process counted in its datastore is added when the store is given back.
TEST_P(S16_Datastore, AddedAtRelease) {
  neuron_ioctl_neuron_ds_info ds = {};
  ASSERT_EQ(io(NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), 0);
  void *va = nullptr;
  ASSERT_EQ(dev.map(ds.mmap_offset, ds.size, PROT_READ | PROT_WRITE, &va), 0);
  auto count = [&](uint32_t counter, uint64_t value) {
    memcpy(static_cast<uint8_t *>(va) + neuron_nds_core_counter(1, counter), &value, 8);
  };
  count(NEURON_NDS_SUCCESS, 7);
  count(NEURON_NDS_TIMEOUT, 2);
  count(NEURON_NDS_MODEL_LOAD_COUNT, 3);
  count(NEURON_NDS_INFERENCE_COUNT, 40);
  count(NEURON_NDS_MAC_COUNT, 1000);
  count(NEURON_NDS_NC_TIME_IN_USE, 555);
  EXPECT_EQ(number_in(core_dir(1) + "status/success/total"), 0u);
  ASSERT_EQ(io(NEURON_IOCTL_RELEASE_NEURON_DS, &ds), 0);
  EXPECT_EQ(dev.unmap(va, ds.size), 0);
  EXPECT_EQ(number_in(core_dir(1) + "status/success/total"), 7u);
  EXPECT_EQ(number_in(core_dir(1) + "status/timeout/total"), 2u);
  EXPECT_EQ(number_in(core_dir(1) + "other_info/model_load_count/total"), 3u);
  EXPECT_EQ(number_in(core_dir(1) + "other_info/inference_count/total"), 40u);
  EXPECT_EQ(number_in(core_dir(1) + "other_info/flop_count/total"), 2000u);  // 2 x MAC
  EXPECT_EQ(number_in(core_dir(1) + "other_info/nc_time_in_use/total"), 555u);
  EXPECT_EQ(number_in(core_dir(0) + "status/success/total"), 0u);
}

// Section 13: where the counters of each core lie.
TEST_P(S16_Layout, CoresOfTheStore) {
  neuron_ioctl_neuron_ds_info ds = {};
  ASSERT_EQ(io(NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), 0);
  void *va = nullptr;
  ASSERT_EQ(dev.map(ds.mmap_offset, ds.size, PROT_READ | PROT_WRITE, &va), 0);
  // The first counter of a core: successes, in the project's numbering.
  for (uint32_t core = 0; core < 8; ++core) {
    uint64_t value = 10 + core;
    uint32_t at = core < 4 ? 256 + core * 31 * 8 : 57984 + (core - 4) * 96 * 8;
    memcpy(static_cast<uint8_t *>(va) + at, &value, 8);
  }
  ASSERT_EQ(io(NEURON_IOCTL_RELEASE_NEURON_DS, &ds), 0);
  EXPECT_EQ(dev.unmap(va, ds.size), 0);
  for (uint32_t core = 0; core < 8; ++core)
    EXPECT_EQ(number_in(core_dir(core) + "status/success/total"), 10 + core);
}
