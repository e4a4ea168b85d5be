// SPDX-License-Identifier: Apache-2.0
// The driver's statistics (mock-device-semantics.md 13 and 16, uapi.md 11).
#include "mock_dev/counters.h"

#include "mock_dev/host.h"
#include "tests/mock_dev/mock_fixture.h"

namespace {

mock_counters_t counters(machine_t &m, uint32_t device = 0) {
  mock_device_t *d = mock_host_device(m.host, device);
  mock_guard_t guard(&d->lock);
  return d->counters;
}

// Index of a sysfs file name, so that tests name counters as a reader of sysfs does.
template <size_t n>
uint32_t named(const char *const (&names)[n], const char *name) {
  for (uint32_t i = 0; i < n; ++i)
    if (strcmp(names[i], name) == 0)
      return i;
  ADD_FAILURE() << name;
  return 0;
}
uint32_t host_cat(const char *name) {
  return named(MOCK_HOST_CATEGORY_NAMES, name);
}
uint32_t dev_cat(const char *name) {
  return named(MOCK_DEVICE_CATEGORY_NAMES, name);
}

constexpr uint64_t MIB = 1ull << 20;

void expect_counter(const mock_counter_t &c, uint64_t total, uint64_t present, uint64_t peak) {
  EXPECT_EQ(c.total, total);
  EXPECT_EQ(c.present, present);
  EXPECT_EQ(c.peak, peak);
}

}  // namespace

TEST(Counters, Arithmetic) {
  mock_counter_t c = {};
  mock_counter_add(&c, 10);
  mock_counter_add(&c, 4);
  expect_counter(c, 14, 4, 14);
  mock_counter_subtract(&c, 9);
  expect_counter(c, 5, 9, 14);
  mock_counter_subtract(&c, 6);  // a file was zeroed in between
  expect_counter(c, 0, 6, 14);
}

// The firmware's share is charged to the core of the channel's number.
TEST(Counters, ReservedMemoryAtProbe) {
  machine_t v3("trn2.3xlarge");
  mock_counters_t c = counters(v3);
  for (uint32_t core = 0; core < 8; ++core) {
    uint64_t bytes = core < 4 ? 16 * MIB : 0;
    EXPECT_EQ(c.cores[core].device_mem.total, bytes);
    EXPECT_EQ(c.cores[core].device_category[dev_cat("driver_memory")].total, bytes);
  }
  machine_t v2("trn1.2xlarge");
  c = counters(v2);
  EXPECT_EQ(c.cores[1].device_mem.total, 16 * MIB);
  EXPECT_EQ(c.cores[2].device_mem.total, 0u);
  EXPECT_GE(c.host_category[host_cat("driver_memory")].total, 16 * 262144u);  // the datastores
}

TEST(Counters, EveryCategory) {
  struct {
    uint32_t category;
    const char *host_name, *device_name;
  } const rows[] = {
      {0, "uncategorized", "uncategorized"},
      {1, "dma_buffers", "uncategorized"},
      {2, "tensors", "uncategorized"},
      {3, "constants", "uncategorized"},
      {4, "application_memory", "uncategorized"},
      {5, "driver_memory", "uncategorized"},
      {6, "notifications", "uncategorized"},
      {7, "uncategorized", "uncategorized"},
      {8, "uncategorized", "model_code"},
      {9, "uncategorized", "tensors"},
      {10, "uncategorized", "constants"},
      {11, "uncategorized", "model_shared_scratchpad"},
      {12, "uncategorized", "runtime_memory"},
      {13, "uncategorized", "driver_memory"},
      {14, "uncategorized", "collectives"},
      {15, "uncategorized", "nonshared_scratchpad"},
      {16, "uncategorized", "notifications"},
      {17, "dma_rings", "uncategorized"},
      {18, "uncategorized", "dma_rings"},
      {19, nullptr, "model_shared_scratchpad"},
      {20, "uncategorized", "uncategorized"},
      {0xffffffff, "uncategorized", "uncategorized"},
  };
  machine_t m;
  for (const auto &row : rows) {
    mock_counters_t before = counters(m);
    ASSERT_EQ(alloc(m, {.size = 5000, .nc_id = 6, .category = row.category}).rc, 0);
    mock_counters_t after = counters(m);
    EXPECT_EQ(after.cores[6].device_mem.total, before.cores[6].device_mem.total + 8192);
    for (uint32_t i = 0; i < MOCK_DEVICE_CATEGORIES; ++i) {
      uint64_t grown =
          after.cores[6].device_category[i].total - before.cores[6].device_category[i].total;
      EXPECT_EQ(grown, i == dev_cat(row.device_name) ? 8192u : 0u) << row.category << " " << i;
    }
    EXPECT_EQ(memcmp(after.host_category, before.host_category, sizeof(after.host_category)), 0);
    if (row.host_name == nullptr)
      continue;
    before = after;
    ASSERT_EQ(alloc(m, {.size = 1, .host = true, .nc_id = 6, .category = row.category}).rc, 0);
    after = counters(m);
    EXPECT_EQ(after.cores[6].host_mem.total, before.cores[6].host_mem.total + 4096);
    EXPECT_EQ(after.cores[6].device_mem.total, before.cores[6].device_mem.total);
    for (uint32_t i = 0; i < MOCK_HOST_CATEGORIES; ++i) {
      uint64_t grown = after.host_category[i].total - before.host_category[i].total;
      EXPECT_EQ(grown, i == host_cat(row.host_name) ? 4096u : 0u) << row.category << " " << i;
    }
  }
}

TEST(Counters, TotalPresentPeak) {
  machine_t m;
  chunk_t a = alloc(m, {.size = 3 * MIB, .nc_id = 5});
  chunk_t b = alloc(m, {.size = 1 * MIB, .nc_id = 5});
  ASSERT_EQ(b.rc, 0);
  expect_counter(counters(m).cores[5].device_mem, 4 * MIB, 1 * MIB, 4 * MIB);
  EXPECT_EQ(mem_free(m, a.handle), 0);
  expect_counter(counters(m).cores[5].device_mem, 1 * MIB, 3 * MIB, 4 * MIB);
  expect_counter(counters(m).cores[5].device_category[dev_cat("tensors")], 1 * MIB, 3 * MIB,
                 4 * MIB);
  EXPECT_EQ(counters(m).cores[4].device_mem.total, 0u);
  // Refused: nothing moves.
  EXPECT_EQ(alloc(m, {.size = 1ull << 40, .nc_id = 5}).rc, -ENOMEM);
  expect_counter(counters(m).cores[5].device_mem, 1 * MIB, 3 * MIB, 4 * MIB);
}

// A free is booked on the process that frees, and the core's counter goes down all the same.
TEST(Counters, SlotBytesAndForeignFree) {
  machine_t m;
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  chunk_t mine = alloc(m, {.size = 2 * MIB, .nc_id = 7});
  chunk_t theirs = alloc_as(m.host, PID + 1, other, {.size = 5 * MIB, .nc_id = 7});
  neuron_ioctl_mem_free a = {mine.handle};
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, other, NEURON_IOCTL_MEM_FREE, &a), 0);
  alignas(8) uint8_t buffer[sizeof(neuron_ioctl_get_apps_info) + 2 * sizeof(neuron_app_info)] = {};
  auto *info = reinterpret_cast<neuron_ioctl_get_apps_info *>(buffer);
  info->apps_info_flags = NEURON_APPS_INFO_MEM_USAGE;
  info->capacity = 2;
  ASSERT_EQ(m.io(NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, info), 0);
  EXPECT_EQ(info->app_data[0].device_mem_size, 2 * MIB);  // still charged
  EXPECT_EQ(info->app_data[1].device_mem_size, 3 * MIB);
  EXPECT_EQ(counters(m).cores[7].device_mem.total, 5 * MIB);
  a = {theirs.handle};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_FREE, &a), 0);  // 2 - 5 stops at 0
  ASSERT_EQ(m.io(NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, info), 0);
  EXPECT_EQ(info->app_data[0].device_mem_size, 0u);
  EXPECT_EQ(counters(m).cores[7].device_mem.total, 0u);
}

TEST(Counters, LastCloseGivesTheBytesBack) {
  machine_t m;
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  mock_counters_t before = counters(m);
  ASSERT_EQ(alloc_as(m.host, PID + 1, other, {.size = MIB, .nc_id = 2}).rc, 0);
  ASSERT_EQ(alloc_as(m.host, PID + 1, other, {.size = MIB, .host = true, .nc_id = 2}).rc, 0);
  ASSERT_EQ(mock_close(m.host, PID + 1, other), 0);
  mock_counters_t after = counters(m);
  EXPECT_EQ(after.cores[2].device_mem.total, before.cores[2].device_mem.total);
  EXPECT_EQ(after.cores[2].host_mem.total, before.cores[2].host_mem.total);
  EXPECT_EQ(after.cores[2].device_mem.peak, before.cores[2].device_mem.total + MIB);
}

namespace {

struct store_t {
  long rc;
  uint64_t *words;
};

// The process's datastore, mapped.
store_t acquire(machine_t &m, int32_t tgid, int fd) {
  neuron_ioctl_neuron_ds_info a = {};
  store_t s = {};
  s.rc = mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_ACQUIRE_NEURON_DS, &a);
  void *va = nullptr;
  if (s.rc == 0)
    s.rc = mock_mmap(m.host, tgid, fd, a.mmap_offset, a.size, PROT_READ | PROT_WRITE, &va);
  s.words = static_cast<uint64_t *>(va);
  return s;
}

}  // namespace

// Offsets written out from the layout of section 13: 31 counters per core from 256 for cores 0 to
// 3, 96 words per core from 57984 for cores 4 and up.
TEST(Counters, DatastoreIsAddedWhenReleased) {
  machine_t m;
  store_t s = acquire(m, PID, m.fd);
  ASSERT_EQ(s.rc, 0);
  s.words[256 / 8 + 0] = 5;                   // core 0: success
  s.words[(256 + 3 * 248) / 8 + 2] = 7;       // core 3: timeout
  s.words[(256 + 3 * 248) / 8 + 23] = 1;      // core 3: the last status
  s.words[57984 / 8 + 24] = 2;                // core 4: model loads
  s.words[(57984 + 3 * 768) / 8 + 25] = 9;    // core 7: inferences
  s.words[(57984 + 3 * 768) / 8 + 26] = 100;  // core 7: multiply-accumulates
  s.words[(57984 + 3 * 768) / 8 + 27] = 11;   // core 7: time in use
  s.words[55936 / 8] = 99;                    // core 0, extra counters: no file shows them
  EXPECT_EQ(counters(m).cores[0].status[0].total, 0u);  // not before
  neuron_ioctl_neuron_ds_info a = {};
  EXPECT_EQ(m.io(NEURON_IOCTL_RELEASE_NEURON_DS, &a), 0);
  mock_counters_t c = counters(m);
  EXPECT_EQ(c.cores[0].status[named(MOCK_STATUS_NAMES, "success")].total, 5u);
  EXPECT_EQ(c.cores[3].status[named(MOCK_STATUS_NAMES, "timeout")].total, 7u);
  EXPECT_EQ(c.cores[3].status[named(MOCK_STATUS_NAMES, "hw_repairable_hbm_ue_error")].total, 1u);
  EXPECT_EQ(c.cores[4].other[named(MOCK_OTHER_COUNTER_NAMES, "model_load_count")].total, 2u);
  EXPECT_EQ(c.cores[7].other[named(MOCK_OTHER_COUNTER_NAMES, "inference_count")].total, 9u);
  EXPECT_EQ(c.cores[7].other[named(MOCK_OTHER_COUNTER_NAMES, "flop_count")].total, 200u);
  EXPECT_EQ(c.cores[7].other[named(MOCK_OTHER_COUNTER_NAMES, "nc_time_in_use")].total, 11u);
  EXPECT_EQ(s.words[256 / 8], 0u);                         // zeroed
  EXPECT_EQ(m.io(NEURON_IOCTL_RELEASE_NEURON_DS, &a), 0);  // without one: nothing
  EXPECT_EQ(counters(m).cores[0].status[0].total, 5u);
}

TEST(Counters, DatastoreIsAddedAtLastClose) {
  machine_t m;
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  store_t mine = acquire(m, PID, m.fd), theirs = acquire(m, PID + 1, other);
  ASSERT_EQ(theirs.rc, 0);
  mine.words[256 / 8 + 1] = 1;
  theirs.words[256 / 8 + 1] = 3;
  neuron_ioctl_neuron_ds_info a = {};
  a.pid = PID;  // somebody else's: nothing
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, other, NEURON_IOCTL_RELEASE_NEURON_DS, &a), 0);
  EXPECT_EQ(counters(m).cores[0].status[1].total, 0u);
  ASSERT_EQ(mock_close(m.host, PID + 1, other), 0);
  expect_counter(counters(m).cores[0].status[1], 3, 3, 3);
  a = {};
  EXPECT_EQ(m.io(NEURON_IOCTL_RELEASE_NEURON_DS, &a), 0);
  expect_counter(counters(m).cores[0].status[1], 4, 1, 4);
}
