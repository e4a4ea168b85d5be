// SPDX-License-Identifier: Apache-2.0
// Resets (mock-device-semantics.md 4 and 12).
#include "mock_dev/reset.h"

#include <csignal>
#include <thread>

#include "mock_dev/firmware.h"
#include "tests/mock_dev/dma_fixture.h"

namespace {

constexpr uint32_t ALL = 0xffffffff;
constexpr uint64_t STATUS = 0x808, MAP = 0x1d8, REQUEST = 0x1ec;

struct ticket_t {
  long rc;
  uint32_t id;
};

ticket_t reset_as(machine_t &m, int32_t tgid, uint32_t nc_map) {
  neuron_ioctl_device_reset a = {nc_map, 0};
  long rc = mock_ioctl(m.host, tgid, m.fd, NEURON_IOCTL_NC_RESET, &a);
  return {rc, a.request_id};
}

ticket_t reset(machine_t &m, uint32_t nc_map = ALL) {
  return reset_as(m, PID, nc_map);
}

int32_t ready(machine_t &m, uint32_t id) {
  neuron_ioctl_device_ready a = {id, 77};
  EXPECT_EQ(m.io(NEURON_IOCTL_NC_RESET_READY, &a), 0);
  return a.result;
}

uint8_t device_ready(machine_t &m) {
  uint8_t result = 77;
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_READY, &result), 0);
  return result;
}

uint32_t init_state(machine_t &m, uint32_t core, uint32_t state) {
  neuron_ioctl_cinit_set a = {core, state, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_CINIT_SET_STATE, &a), 0);
  return a.new_state;
}

// Handle of a fresh queue of a unit.
uint64_t queue(machine_t &m, uint32_t type, uint32_t unit) {
  neuron_ioctl_notifications_init_v2 a = {};
  a.nq_dev_id = unit;
  a.nq_dev_type = type;
  a.size = 4096;
  a.on_host_memory = 1;
  EXPECT_EQ(m.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &a), 0);
  return a.mem_handle;
}

bool lives(machine_t &m, uint64_t handle) {
  uint64_t pa;
  neuron_ioctl_mem_get_pa a = {handle, &pa};
  return m.io(NEURON_IOCTL_MEM_GET_PA, &a) == 0;
}

long copy(machine_t &m, uint64_t src, uint64_t dst) {
  neuron_ioctl_mem_copy64 a = {src, dst, 4096, 0, 0};
  return m.io(NEURON_IOCTL_MEM_COPY64, &a);
}

long copy_async(machine_t &m, uint64_t src, uint64_t dst) {
  neuron_ioctl_mem_copy_async64 a = {};
  a.src_mem_handle = src;
  a.dst_mem_handle = dst;
  a.size = 4096;
  a.pwait_handle = static_cast<uint32_t>(-1);
  return m.io(NEURON_IOCTL_MEM_COPY_ASYNC64, &a);
}

uint32_t semaphore(machine_t &m, uint32_t what, uint32_t core, uint32_t value = 0) {
  neuron_ioctl_semaphore a = {core, 5, value};
  EXPECT_EQ(m.io(what, &a), 0);
  return a.value;
}

struct requests_t {
  uint64_t asked, failed;
};
requests_t counted(machine_t &m, uint32_t core) {
  mock_device_t *d = mock_host_device(m.host, 0);
  mock_guard_t guard(&d->lock);
  const mock_core_counters_t &c = d->counters.cores[core];
  return {c.other[MOCK_OTHER_RESET_REQUESTS].total, c.other[MOCK_OTHER_RESET_FAILURES].total};
}

// A machine whose resets last until a test says so.
mock_dev_options_t slow(const char *instance = "trn2.3xlarge") {
  mock_dev_options_t o = {};
  o.instance = instance;
  o.reset_ms = 600000;
  return o;
}

// The time of a process's reset (0: of all) is over.
void finish(machine_t &m, int32_t id = 0) {
  mock_device_t *d = mock_host_device(m.host, 0);
  mock_guard_t guard(&d->lock);
  for (mock_reset_t &r : d->resets)
    if (id == 0 || r.id == id)
      r.done_at = 0;
}

// The same from aside, while the test waits for it.
struct finisher_t {
  std::thread thread;
  explicit finisher_t(machine_t &m)
      : thread([&m] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          finish(m);
        }) {}
  ~finisher_t() { thread.join(); }
};

void fail_resets(machine_t &m, uint32_t nth, bool sticky = false) {
  mock_fault_t fault = {MOCK_FAULT_RESET, nth, EIO, sticky};
  EXPECT_EQ(mock_set_faults(m.host, &fault, 1), 0);
}

}  // namespace

class Reset : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Chips, Reset, testing::Values("trn1.2xlarge", "trn2.3xlarge"));

TEST_P(Reset, IdsAndResults) {
  machine_t m(GetParam());
  EXPECT_EQ(ready(m, PID), 1);  // nobody asked
  ticket_t t = reset(m);
  EXPECT_EQ(t.rc, 0);
  EXPECT_EQ(t.id, static_cast<uint32_t>(PID));
  EXPECT_EQ(reset(m, 1).rc, 1);  // finished but unread
  EXPECT_EQ(counted(m, 0).asked, 1u);
  // Another process has its own.
  t = reset_as(m, PID + 1, 1);
  EXPECT_EQ(t.rc, 0);
  EXPECT_EQ(t.id, static_cast<uint32_t>(PID + 1));
  EXPECT_EQ(ready(m, PID), 0);
  EXPECT_EQ(ready(m, PID), 1);      // read
  EXPECT_EQ(ready(m, PID + 1), 0);  // anybody may read it
  EXPECT_EQ(reset(m).rc, 0);
}

TEST_P(Reset, NeitherGatedNorOnTheMiscLane) {
  machine_t m(GetParam());
  EXPECT_EQ(reset_as(m, PID + 5, ALL).rc, 0);  // not attached
  neuron_ioctl_device_reset a = {ALL, 0};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_NC_RESET, &a), -EINVAL);
}

TEST_P(Reset, TakesDownTheNamedCores) {
  machine_t m(GetParam());
  bool v2 = strcmp(GetParam(), "trn1.2xlarge") == 0;
  uint32_t share = v2 ? 3 : 2;  // TOP_SPs per core
  for (uint32_t core = 0; core < 2; ++core) {
    EXPECT_EQ(init_state(m, core, 1), 1u);
    EXPECT_EQ(init_state(m, core, 2), 2u);
  }
  uint64_t core0 = queue(m, 0, 0), core1 = queue(m, 0, 1);
  uint64_t sp_last0 = queue(m, 1, share - 1), sp_first1 = queue(m, 1, share),
           sp_last1 = queue(m, 1, 2 * share - 1);
  chunk_t chunk = alloc(m, {.nc_id = 1});
  EXPECT_EQ(reset(m, 2).rc, 0);
  EXPECT_EQ(ready(m, PID), 0);
  EXPECT_EQ(init_state(m, 0, 0), 2u);
  EXPECT_EQ(init_state(m, 1, 0), 3u);
  EXPECT_TRUE(lives(m, core0));
  EXPECT_FALSE(lives(m, core1));
  EXPECT_TRUE(lives(m, sp_last0));
  EXPECT_FALSE(lives(m, sp_first1));
  EXPECT_FALSE(lives(m, sp_last1));
  EXPECT_TRUE(lives(m, chunk.handle));  // allocations survive
  EXPECT_EQ(counted(m, 0).asked, 0u);
  EXPECT_EQ(counted(m, 1).asked, 1u);
}

// Eight entries for the whole device, cores that do not exist among them.
TEST_P(Reset, WholeDeviceCountsEightCores) {
  machine_t m(GetParam());
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_RESET, nullptr), 0);
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_RESET, nullptr), 1);
  EXPECT_EQ(reset(m, 1).rc, 1);  // the id is the process
  for (uint32_t core = 0; core < 8; ++core)
    EXPECT_EQ(counted(m, core).asked, 1u) << core;
  EXPECT_EQ(device_ready(m), 1);
  EXPECT_EQ(device_ready(m), 1);  // no request
  EXPECT_EQ(reset(m, 0).rc, 0);   // no core at all
  EXPECT_EQ(ready(m, PID), 0);
  EXPECT_EQ(counted(m, 0).asked, 1u);
}

TEST_P(Reset, SemaphoresStartAtZeroMemoryStays) {
  machine_t m(GetParam());
  chunk_t c = alloc(m, {.nc_id = 1});
  uint32_t word = 0x600df00d, back = 0;
  ASSERT_EQ(buf_copy(m, c.handle, &word, 0, 4, true), 0);
  semaphore(m, NEURON_IOCTL_SEMAPHORE_WRITE, 0, 7);
  semaphore(m, NEURON_IOCTL_SEMAPHORE_WRITE, 1, 7);
  semaphore(m, NEURON_IOCTL_EVENT_SET, 1, 1);
  EXPECT_EQ(reset(m, 2).rc, 0);
  EXPECT_EQ(ready(m, PID), 0);
  EXPECT_EQ(semaphore(m, NEURON_IOCTL_SEMAPHORE_READ, 0), 7u);
  EXPECT_EQ(semaphore(m, NEURON_IOCTL_SEMAPHORE_READ, 1), 0u);
  EXPECT_EQ(semaphore(m, NEURON_IOCTL_EVENT_GET, 1), 0u);
  EXPECT_EQ(buf_copy(m, c.handle, &back, 0, 4, false), 0);
  EXPECT_EQ(back, word);
}

// The engines of the core start anew, the others and the copy engines do not.
TEST_P(Reset, EnginesOfTheCore) {
  machine_t m(GetParam());
  queue_t first(m, 16, 3), last(m, 31, 15), other(m, 15, 3);
  EXPECT_EQ(set_engine(m, 17, 3), 0);
  EXPECT_TRUE(engine_aborted(m, 17));
  EXPECT_EQ(reset(m, 2).rc, 0);
  EXPECT_EQ(ready(m, PID), 0);
  EXPECT_TRUE(engine_runs(m, 17));
  EXPECT_EQ(queue_states(m, 16, 3).tx.base_addr, 0u);
  EXPECT_EQ(queue_states(m, 31, 15).rx.length, 0u);
  EXPECT_EQ(copy_start(m, 16, 3, 1, 1), -EPERM);  // no ring
  EXPECT_EQ(queue_states(m, 15, 3).tx.base_addr, other.tx.pa);
  EXPECT_EQ(queue_states(m, 15, 3).rx.length, 64u);
  EXPECT_EQ(first.init(), 0);
  EXPECT_EQ(queue_states(m, 16, 3).tx.base_addr, first.tx.pa);
}

TEST_P(Reset, SwitchedOff) {
  mock_dev_options_t o = machine_t::of(GetParam());
  o.no_reset = true;
  machine_t m(o);
  uint64_t q = queue(m, 0, 0);
  EXPECT_EQ(reset(m).rc, 0);
  EXPECT_EQ(reset(m).rc, 0);  // there is no request to be pending
  EXPECT_EQ(ready(m, PID), 0);
  EXPECT_EQ(ready(m, 4711), 0);
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_RESET, nullptr), 0);
  EXPECT_EQ(device_ready(m), 1);
  EXPECT_TRUE(lives(m, q));
  EXPECT_EQ(counted(m, 0).asked, 0u);
}

TEST_P(Reset, AsyncSlotsAreEmptyAfterwards) {
  machine_t m(GetParam());
  chunk_t c = alloc(m, {}), d = alloc(m, {});
  ASSERT_EQ(copy_async(m, c.handle, d.handle), 0);
  EXPECT_EQ(reset(m, 1).rc, 0);
  EXPECT_EQ(ready(m, PID), 0);
  neuron_ioctl_mem_copy_async_wait a = {c.handle, d.handle, 1};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_COPY_ASYNC_WAIT, &a), -EINVAL);
}

// What goes through the copy engine of a core under reset, by the rules of section 5.5.
TEST_P(Reset, CopiesOfTheCoreAreRefusedMeanwhile) {
  machine_t m(slow(GetParam()));
  chunk_t on0 = alloc(m, {.nc_id = 0}), on1 = alloc(m, {.nc_id = 1});
  chunk_t host0 = alloc(m, {.host = true, .nc_id = 0}),
          host1 = alloc(m, {.host = true, .nc_id = 1});
  ASSERT_EQ(host1.rc, 0);
  ASSERT_EQ(reset(m, 2).rc, 0);
  EXPECT_EQ(copy(m, on0.handle, on1.handle), -EPERM);  // the destination's core
  EXPECT_EQ(copy(m, on1.handle, on0.handle), 0);
  EXPECT_EQ(copy(m, host1.handle, on0.handle), 0);
  EXPECT_EQ(copy(m, on1.handle, host0.handle), -EPERM);  // the source is the device's
  EXPECT_EQ(copy(m, on0.handle, host1.handle), 0);
  EXPECT_EQ(copy(m, host0.handle, host1.handle), -EPERM);
  EXPECT_EQ(copy_async(m, on0.handle, on1.handle), 0);  // the source's core
  EXPECT_EQ(copy_async(m, on1.handle, on0.handle), -EPERM);
  EXPECT_EQ(copy_async(m, host0.handle, on1.handle), -EPERM);
  EXPECT_EQ(copy_async(m, host1.handle, on0.handle), 0);
  uint32_t word = 1;
  EXPECT_EQ(buf_copy(m, on1.handle, &word, 0, 4, true), -EPERM);
  EXPECT_EQ(buf_copy(m, on1.handle, &word, 0, 4, false), -EPERM);
  EXPECT_EQ(buf_copy(m, on0.handle, &word, 0, 4, true), 0);
  EXPECT_EQ(buf_copy(m, host1.handle, &word, 0, 4, true), 0);  // by the driver's hands
  neuron_ioctl_memset64 set = {on1.handle, 0, 0, 4};
  EXPECT_EQ(m.io(NEURON_IOCTL_MEMSET64, &set), -EPERM);
  // Checks come first.
  EXPECT_EQ(copy(m, on0.handle, 999), -EINVAL);
  EXPECT_EQ(buf_copy(m, on1.handle, &word, 4096, 4, true), -EINVAL);
}

TEST(ResetTime, RunsWhileOthersOpen) {
  machine_t m(slow());
  EXPECT_EQ(reset(m).rc, 0);
  mock_device_t *device = mock_host_device(m.host, 0);
  EXPECT_EQ(mock_firmware_read(m.host, device, STATUS), 8u);   // still running
  EXPECT_EQ(mock_firmware_read(m.host, device, REQUEST), 0u);  // accepted
  EXPECT_EQ(mock_firmware_read(m.host, device, MAP), 0xffu);
  EXPECT_EQ(reset(m).rc, 1);
  // A process's reset does not change the device's state: open does not wait.
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  EXPECT_GE(other, 0);
  EXPECT_EQ(mock_firmware_read(m.host, device, STATUS), 8u);
  finisher_t later(m);
  EXPECT_EQ(ready(m, PID), 0);  // waits
  EXPECT_EQ(mock_firmware_read(m.host, device, STATUS), 0u);
}

TEST(ResetTime, CopiesWorkAfterwards) {
  machine_t m(slow());
  chunk_t c = alloc(m, {}), d = alloc(m, {});
  EXPECT_EQ(reset(m, 1).rc, 0);
  EXPECT_EQ(copy(m, c.handle, d.handle), -EPERM);
  finish(m);
  EXPECT_EQ(ready(m, PID), 0);
  EXPECT_EQ(copy(m, c.handle, d.handle), 0);
  // Nobody has to wait for it by name either.
  EXPECT_EQ(reset(m, 1).rc, 0);
  EXPECT_EQ(copy(m, c.handle, d.handle), -EPERM);
  finish(m);
  EXPECT_EQ(copy(m, c.handle, d.handle), 0);
  EXPECT_EQ(reset(m, 1).rc, 1);  // unread all the same
}

// The core comes back when the last reset that covers it is over.
TEST(ResetTime, TwoAtOnce) {
  machine_t m(slow());
  chunk_t c = alloc(m, {}), d = alloc(m, {});
  EXPECT_EQ(reset(m, 1).rc, 0);
  EXPECT_EQ(reset_as(m, PID + 1, 3).rc, 0);
  finish(m, PID);
  EXPECT_EQ(ready(m, PID), 0);
  EXPECT_EQ(copy(m, c.handle, d.handle), -EPERM);
  finish(m, PID + 1);
  EXPECT_EQ(ready(m, PID + 1), 0);
  EXPECT_EQ(copy(m, c.handle, d.handle), 0);
}

TEST(ResetTime, LastCloseWaitsForTheOwnRequest) {
  machine_t m(slow());
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  EXPECT_EQ(reset_as(m, PID + 1, ALL).rc, 0);
  finisher_t later(m);
  EXPECT_EQ(mock_close(m.host, PID + 1, other), 0);
  EXPECT_EQ(mock_firmware_read(m.host, mock_host_device(m.host, 0), STATUS), 0u);
  EXPECT_EQ(ready(m, PID + 1), 1);  // and it is forgotten
}

TEST(ResetTime, InterruptedWait) {
  machine_t m(slow());
  EXPECT_EQ(reset(m).rc, 0);
  sigset_t term, old;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &term, &old), 0);
  ASSERT_EQ(pthread_kill(pthread_self(), SIGTERM), 0);
  EXPECT_EQ(ready(m, PID), -4);
  int number;
  ASSERT_EQ(sigwait(&term, &number), 0);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  EXPECT_EQ(reset(m).rc, 1);  // still there
}

TEST(ResetFailure, ResultAndCounters) {
  machine_t m;
  chunk_t c = alloc(m, {}), d = alloc(m, {}), e = alloc(m, {.nc_id = 1});
  fail_resets(m, 2);
  EXPECT_EQ(reset(m, 1).rc, 0);
  EXPECT_EQ(ready(m, PID), 0);
  EXPECT_EQ(reset(m, 1).rc, 0);
  EXPECT_EQ(ready(m, PID), 1);
  for (uint32_t core = 0; core < 8; ++core)  // on every core
    EXPECT_EQ(counted(m, core).failed, 1u);
  EXPECT_EQ(counted(m, 0).asked, 2u);
  EXPECT_EQ(copy(m, c.handle, d.handle), -EPERM);  // no copy rings
  EXPECT_EQ(copy(m, c.handle, e.handle), 0);
  EXPECT_EQ(reset(m, 1).rc, 0);
  EXPECT_EQ(ready(m, PID), 0);
  EXPECT_EQ(copy(m, c.handle, d.handle), 0);
  fail_resets(m, 1, true);
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_RESET, nullptr), 0);
  EXPECT_EQ(device_ready(m), 0);
  EXPECT_EQ(counted(m, 7).failed, 2u);
}

// "Any request" in a plan means requests.
TEST(ResetFailure, EventsAreNoRequests) {
  machine_t m;
  mock_fault_t fault = {0, 2, EIO, true};
  EXPECT_EQ(mock_set_faults(m.host, &fault, 1), 0);
  EXPECT_EQ(reset(m, 1).rc, 0);
  EXPECT_EQ(mock_set_faults(m.host, nullptr, 0), 0);
  EXPECT_EQ(ready(m, PID), 0);
  fail_resets(m, 1);
  EXPECT_EQ(m.io(MOCK_FAULT_RESET, nullptr), -EINVAL);  // not counted
  EXPECT_EQ(reset(m, 1).rc, 0);
  EXPECT_EQ(ready(m, PID), 1);
}

TEST(ResetDevice, OnlyWhenNobodyHasItOpen) {
  machine_t m(slow());
  mock_device_t *device = mock_host_device(m.host, 0);
  uint64_t q = queue(m, 0, 0);
  mock_reset_device(m.host, device);
  EXPECT_TRUE(lives(m, q));
  EXPECT_EQ(counted(m, 0).asked, 0u);
  ASSERT_EQ(mock_close(m.host, PID, m.fd), 0);
  mock_reset_device(m.host, device);
  EXPECT_EQ(device->state, 0u);  // resetting
  EXPECT_EQ(counted(m, 7).asked, 1u);
  int misc = mock_open(m.host, PID, "/dev/neuron0", O_WRONLY);  // does not wait
  EXPECT_GE(misc, 0);
  EXPECT_EQ(device->state, 0u);
  finisher_t later(m);
  m.fd = mock_open(m.host, PID, "/dev/neuron0", O_RDWR);  // does
  EXPECT_GE(m.fd, 0);
  EXPECT_EQ(device->state, 1u);
  EXPECT_FALSE(lives(m, q));
  EXPECT_EQ(ready(m, PID), 1);  // nobody's request
}

TEST(ResetDevice, ThroughItsFile) {
  mock_dev_options_t o = slow();
  machine_t m(o);
  const char *path = "/sys/class/neuron_device/neuron0/reset";
  auto write_one = [&](mock_host_t *host) {
    int fd = mock_open(host, PID, path, O_WRONLY);
    EXPECT_EQ(mock_write(host, PID, fd, "1\n", 2), 2);
    EXPECT_EQ(mock_close(host, PID, fd), 0);
  };
  auto state = [&](mock_host_t *host) {
    char text[8] = "";
    int fd = mock_open(host, PID, path, O_RDONLY);
    EXPECT_EQ(mock_read(host, PID, fd, text, sizeof(text)), 2);
    EXPECT_EQ(mock_close(host, PID, fd), 0);
    return text[0];
  };
  write_one(m.host);
  EXPECT_EQ(state(m.host), '1');  // in use: nothing
  ASSERT_EQ(mock_close(m.host, PID, m.fd), 0);
  write_one(m.host);
  EXPECT_EQ(state(m.host), '0');
  finish(m);
  EXPECT_EQ(state(m.host), '1');
  // Switched off.
  o.no_reset = true;
  machine_t off(o);
  ASSERT_EQ(mock_close(off.host, PID, off.fd), 0);
  write_one(off.host);
  EXPECT_EQ(state(off.host), '1');
  int fd = mock_open(off.host, PID, "/sys/module/neuron/parameters/no_reset", O_RDONLY);
  char text[8] = "";
  EXPECT_EQ(mock_read(off.host, PID, fd, text, sizeof(text)), 2);
  EXPECT_STREQ(text, "1\n");
}

TEST(ResetDevice, FailureMakesItInvalid) {
  machine_t m;
  mock_device_t *device = mock_host_device(m.host, 0);
  ASSERT_EQ(mock_close(m.host, PID, m.fd), 0);
  fail_resets(m, 1);
  mock_reset_device(m.host, device);
  EXPECT_EQ(device->state, 2u);
  EXPECT_EQ(mock_open(m.host, PID, "/dev/neuron0", O_RDWR), -EINVAL);
  EXPECT_EQ(device->open_count, 0u);
  EXPECT_GE(mock_open(m.host, PID, "/dev/neuron0", O_WRONLY), 0);
  mock_reset_device(m.host, device);  // a second try
  EXPECT_EQ(device->state, 1u);
  EXPECT_GE(mock_open(m.host, PID, "/dev/neuron0", O_RDWR), 0);
}

TEST(ResetDevice, OpenGivesUpOnSigterm) {
  machine_t m(slow());
  mock_device_t *device = mock_host_device(m.host, 0);
  ASSERT_EQ(mock_close(m.host, PID, m.fd), 0);
  mock_reset_device(m.host, device);
  sigset_t term, old;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &term, &old), 0);
  ASSERT_EQ(pthread_kill(pthread_self(), SIGTERM), 0);
  EXPECT_EQ(mock_open(m.host, PID, "/dev/neuron0", O_RDWR), -EINTR);
  EXPECT_EQ(device->open_count, 0u);
  int number;
  ASSERT_EQ(sigwait(&term, &number), 0);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

TEST(ResetTable, IsFinite) {
  machine_t m;
  for (int32_t i = 0; i < 64; ++i)
    EXPECT_EQ(reset_as(m, 1000 + i, 0).rc, 0);
  EXPECT_EQ(reset_as(m, 2000, 0).rc, -ENOMEM);
  EXPECT_EQ(ready(m, 1000), 0);
  EXPECT_EQ(reset_as(m, 2000, 0).rc, 0);
}

TEST(ResetTable, AnswerThatCannotBeStored) {
  machine_t m;
  bad_range_t range;
  auto *a = reinterpret_cast<neuron_ioctl_device_reset *>(range.base);
  *a = {1, 0};
  ASSERT_EQ(mprotect(range.base, range.good, PROT_READ), 0);
  EXPECT_EQ(m.io(NEURON_IOCTL_NC_RESET, a), 8);
  EXPECT_EQ(ready(m, PID), 0);  // it ran
}
