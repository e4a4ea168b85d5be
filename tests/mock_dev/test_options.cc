// SPDX-License-Identifier: Apache-2.0
// Options of a machine, their environment variables, and the fault plan.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "mock_dev/exec.h"
#include "mock_dev/memfd.h"
#include "tests/mock_dev/mock_fixture.h"

namespace {

struct variables_t {
  std::vector<std::string> names;
  void set(const char *name, const char *value) {
    setenv(name, value, 1);
    names.emplace_back(name);
  }
  ~variables_t() {
    for (const std::string &n : names)
      unsetenv(n.c_str());
  }
};

}  // namespace

// A program that closed its standard streams must not print into device memory.
TEST(Options, MemoryNeverTakesAStandardStream) {
  int saved = dup(STDIN_FILENO);
  ASSERT_GE(saved, 0);
  close(STDIN_FILENO);
  int fd = mock_memfd("test", 4096);
  int reopened = open("/dev/null", O_RDONLY);
  EXPECT_EQ(reopened, STDIN_FILENO) << "still free after the memory file was made";
  dup2(saved, STDIN_FILENO);
  close(saved);
  EXPECT_GT(fd, STDERR_FILENO);
  close(fd);
}

TEST(Options, Defaults) {
  mock_dev_options_t o;
  char error[256] = "";
  ASSERT_EQ(mock_dev_options_from_env(&o, error, sizeof(error)), 0);
  EXPECT_EQ(o.instance, nullptr);
  EXPECT_EQ(o.hbm_size, 0u);
  EXPECT_EQ(o.fault_count, 0u);
  EXPECT_FALSE(o.poison);
  EXPECT_FALSE(o.no_reset);
  EXPECT_EQ(o.reset_ms, 0u);
  mock_host_t *host;
  ASSERT_EQ(mock_host_create(nullptr, &host), 0);
  mock_host_destroy(host);
  mock_host_destroy(nullptr);
}

TEST(Options, FromEnvironment) {
  variables_t v;
  v.set("NEURON_MOCK_INSTANCE", "inf2.48xlarge");
  v.set("NEURON_MOCK_DRIVER_VERSION", "2.19.0.0");
  v.set("NEURON_MOCK_API_RANGE", "6-9");
  v.set("NEURON_MOCK_HIDE_FEATURES", "0xc0");
  v.set("NEURON_MOCK_HBM_SIZE", "3G");
  v.set("NEURON_MOCK_STRICT", "1");
  v.set("NEURON_MOCK_NO_RESET", "1");
  v.set("NEURON_MOCK_RESET_MS", "250");
  v.set("NEURON_MOCK_FAULT",
        "MEM_ALLOC_V2:2:12,*:5:5+,RESET:1:5,MAILBOX:3:110+,NOTIFICATION:1:1,NQ_OVERFLOW:1:1,"
        "DMA_ABORT:1:1,ERROR_RECORD:2:1,ENGINE:1:1,SLOW:1:20");
  v.set("NEURON_MOCK_SEED", "0xFFFFFFFFFFFFFFFF");
  v.set("NEURON_MOCK_RACES", "1");
  v.set("NEURON_MOCK_EXACT_FUNCTIONS", "1");
  v.set("NEURON_MOCK_THREADS", "3");
  mock_dev_options_t o;
  char error[256] = "";
  ASSERT_EQ(mock_dev_options_from_env(&o, error, sizeof(error)), 0) << error;
  EXPECT_STREQ(o.instance, "inf2.48xlarge");
  EXPECT_STREQ(o.driver_version, "2.19.0.0");
  EXPECT_EQ(o.api_min, 6u);
  EXPECT_EQ(o.api_max, 9u);
  EXPECT_EQ(o.hidden_features, 0xc0u);
  EXPECT_EQ(o.hbm_size, 3ull << 30);
  EXPECT_TRUE(o.poison);
  EXPECT_TRUE(o.no_reset);
  EXPECT_EQ(o.reset_ms, 250u);
  EXPECT_EQ(o.seed, UINT64_MAX);
  EXPECT_TRUE(o.races);
  EXPECT_TRUE(o.exact_functions);
  EXPECT_EQ(o.threads, 3u);
  ASSERT_EQ(o.fault_count, 10u);
  const uint32_t events[] = {MOCK_FAULT_NOTIFICATION, MOCK_FAULT_NQ_OVERFLOW, MOCK_FAULT_DMA_ABORT,
                             MOCK_FAULT_ERROR_RECORD, MOCK_FAULT_ENGINE,      MOCK_FAULT_SLOW};
  for (uint32_t i = 0; i < 6; ++i)
    EXPECT_EQ(o.faults[4 + i].request, events[i]);
  EXPECT_EQ(o.faults[2].request, MOCK_FAULT_RESET);
  EXPECT_EQ(o.faults[3].request, MOCK_FAULT_MAILBOX);
  EXPECT_EQ(o.faults[0].request, 0x80084E66u);
  EXPECT_EQ(o.faults[0].nth, 2u);
  EXPECT_EQ(o.faults[0].error, 12);
  EXPECT_FALSE(o.faults[0].sticky);
  EXPECT_EQ(o.faults[1].request, 0u);
  EXPECT_TRUE(o.faults[1].sticky);
  o.fault_count = 0;
  machine_t m(o);
  mock_exec_options_t exec = {};
  mock_exec_options_get(m.host, &exec);
  EXPECT_EQ(exec.seed, UINT64_MAX);
  EXPECT_EQ(exec.strict, 1u);
  EXPECT_EQ(exec.races, 1u);
  EXPECT_EQ(exec.exact_functions, 1u);
  EXPECT_EQ(mock_exec_checks(m.host), 1);
  neuron_ioctl_compatible_version version = {};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_COMPATIBLE_VERSION, &version), 0);
  EXPECT_EQ(version.min, 6u);
  EXPECT_EQ(version.max, 9u);
  neuron_ioctl_device_driver_info info = {};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_DRIVER_INFO_GET, &info), 0);
  EXPECT_EQ(info.feature_flags1, 0x3fu);
}

// A bad value is refused with one sentence that names variable, value and what would do.
TEST(Options, BadValues) {
  const struct {
    const char *name, *value, *accepted;
  } rows[] = {
      {"NEURON_MOCK_INSTANCE", "trn9.mega", "trn2.48xlarge"},
      {"NEURON_MOCK_API_RANGE", "11-10", "min-max"},
      {"NEURON_MOCK_API_RANGE", "10", "min-max"},
      {"NEURON_MOCK_API_RANGE", "1-2-3", "min-max"},
      {"NEURON_MOCK_API_RANGE", "-1-2", "min-max"},
      {"NEURON_MOCK_HIDE_FEATURES", "all", "number"},
      {"NEURON_MOCK_HIDE_FEATURES", "0x", "number"},
      {"NEURON_MOCK_HBM_SIZE", "1G", "from 2G to 24G"},
      {"NEURON_MOCK_HBM_SIZE", "25G", "from 2G to 24G"},
      {"NEURON_MOCK_HBM_SIZE", "3221225473", "multiples of 4096"},
      {"NEURON_MOCK_HBM_SIZE", "3T", "suffix K, M or G"},
      {"NEURON_MOCK_HBM_SIZE", "99999999999G", "from 2G"},
      {"NEURON_MOCK_STRICT", "yes", "0 and 1"},
      {"NEURON_MOCK_NO_RESET", "2", "0 and 1"},
      {"NEURON_MOCK_RESET_MS", "600001", "0 to 600000"},
      {"NEURON_MOCK_RESET_MS", "soon", "0 to 600000"},
      {"NEURON_MOCK_SEED", "-1", "0 to 18446744073709551615"},
      {"NEURON_MOCK_THREADS", "0", "1 to 64"},
      {"NEURON_MOCK_THREADS", "65", "1 to 64"},
      {"NEURON_MOCK_RACES", "on", "0 and 1"},
      {"NEURON_MOCK_EXACT_FUNCTIONS", "2", "0 and 1"},
      {"NEURON_MOCK_FAULT", "RESETS:1:5", "RESET"},
      {"NEURON_MOCK_FAULT", "MEM_ALOC:1:12", "REQUEST:NTH:ERRNO"},
      {"NEURON_MOCK_FAULT", "MEM_ALLOC:0:12", "NTH from 1"},
      {"NEURON_MOCK_FAULT", "MEM_ALLOC:1:0", "ERRNO 1 to 4095"},
      {"NEURON_MOCK_FAULT", "MEM_ALLOC:1:5000", "ERRNO 1 to 4095"},
      {"NEURON_MOCK_FAULT", "MEM_ALLOC:1", "REQUEST:NTH:ERRNO"},
      {"NEURON_MOCK_FAULT", "MEM_ALLOC:1:12,", "REQUEST:NTH:ERRNO"},
      {"NEURON_MOCK_FAULT", "MEM_ALLOC:1:12++", "REQUEST:NTH:ERRNO"},
  };
  for (const auto &r : rows) {
    variables_t v;
    v.set(r.name, r.value);
    mock_dev_options_t o;
    char error[512] = "";
    EXPECT_EQ(mock_dev_options_from_env(&o, error, sizeof(error)), -EINVAL) << r.value;
    EXPECT_NE(std::string(error).find(r.name), std::string::npos) << error;
    EXPECT_NE(std::string(error).find(r.accepted), std::string::npos) << error;
    EXPECT_EQ(mock_dev_options_from_env(&o, nullptr, 0), -EINVAL);
  }
}

TEST(Options, CreateRefusesNonsense) {
  mock_host_t *host = nullptr;
  mock_dev_options_t o = {};
  o.instance = "inf1.xlarge";
  EXPECT_EQ(mock_host_create(&o, &host), -EINVAL);
  o = {};
  o.hbm_size = (2ull << 30) + 1;
  EXPECT_EQ(mock_host_create(&o, &host), -EINVAL);
  o.hbm_size = 1ull << 30;
  EXPECT_EQ(mock_host_create(&o, &host), -EINVAL);
  o.hbm_size = 32ull << 30;
  EXPECT_EQ(mock_host_create(&o, &host), -EINVAL);
  o = {};
  o.api_min = 5;
  o.api_max = 4;
  EXPECT_EQ(mock_host_create(&o, &host), -EINVAL);
  o = {};
  o.reset_ms = 600001;
  EXPECT_EQ(mock_host_create(&o, &host), -EINVAL);
  mock_fault_t bad = {0, 0, 5, false};
  o = {};
  o.faults = &bad;
  o.fault_count = 1;
  EXPECT_EQ(mock_host_create(&o, &host), -EINVAL);
  EXPECT_EQ(host, nullptr);
}

TEST(Options, SmallerHbmMovesTheTop) {
  mock_dev_options_t o = {};
  o.hbm_size = 4ull << 30;
  machine_t m(o);
  EXPECT_EQ(alloc(m, {}).pa, 3ull << 30);
  EXPECT_EQ(alloc(m, {.size = 1 << 20}).pa, 0x1000000u);
  EXPECT_EQ(alloc(m, {.size = 64 << 20, .category = 19}).pa, (3ull << 30) - (64 << 20));
  EXPECT_EQ(alloc(m, {.channel = 1}).pa, 0x4000000000u + (3ull << 30));
  neuron_ioctl_resource_mmap_info r = {};
  r.block = 2;
  r.resource = 3;
  EXPECT_EQ(m.io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &r), 0);
  EXPECT_EQ(r.size, 4ull << 30);
}

TEST(Faults, NthOnceAndSticky) {
  machine_t m;
  mock_fault_t plan[] = {{NEURON_IOCTL_MEM_ALLOC_V2MT64, 3, ENOMEM, false},
                         {NEURON_IOCTL_MEM_FREE, 2, EIO, true}};
  ASSERT_EQ(mock_set_faults(m.host, plan, 2), 0);
  std::vector<chunk_t> c;
  c.reserve(4);
  for (int i = 1; i <= 4; ++i) {
    c.push_back(alloc(m, {}));
    EXPECT_EQ(c.back().rc, i == 3 ? -ENOMEM : 0);
  }
  EXPECT_EQ(c[3].handle, 3u);  // the failed call did nothing
  EXPECT_EQ(mem_free(m, c[0].handle), 0);
  EXPECT_EQ(mem_free(m, c[1].handle), -EIO);
  EXPECT_EQ(mem_free(m, c[1].handle), -EIO);
  // A new plan counts anew; an empty one ends it.
  plan[0] = {0, 2, EAGAIN, false};
  ASSERT_EQ(mock_set_faults(m.host, plan, 1), 0);
  EXPECT_EQ(mem_free(m, c[1].handle), 0);
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_INIT, nullptr), -EAGAIN);
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_INIT, nullptr), 0);
  ASSERT_EQ(mock_set_faults(m.host, nullptr, 0), 0);
  EXPECT_EQ(mock_set_faults(m.host, nullptr, 1), -EINVAL);
}

TEST(Faults, FromOptionsAndOnTheMiscLane) {
  mock_fault_t plan = {NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, 1, EPERM, true};
  mock_dev_options_t o = {};
  o.faults = &plan;
  o.fault_count = 1;
  machine_t m(o);
  plan.error = EIO;  // it was copied
  neuron_ioctl_crwl_nc_map_ext a = {};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &a), -EPERM);
}
