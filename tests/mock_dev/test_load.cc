// SPDX-License-Identifier: Apache-2.0
// Many chunks, and many threads.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>

#include "tests/mock_dev/mock_fixture.h"

namespace {

bool sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

double cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Median time of one alloc and free of a page, in nanoseconds of this thread: a busy machine does
// not count.
double pair_cost(machine_t &m, uint64_t align) {
  std::vector<double> runs;
  for (int run = 0; run < 7; ++run) {
    constexpr int PAIRS = 1000;
    double start = cpu_ns();
    for (int i = 0; i < PAIRS; ++i) {
      uint64_t handle = 0;
      EXPECT_EQ(alloc_raw(m.host, PID, m.fd, {.size = 4096, .align = align}, &handle), 0);
      EXPECT_EQ(mem_free(m, handle), 0);
    }
    runs.push_back((cpu_ns() - start) / PAIRS);
  }
  std::sort(runs.begin(), runs.end());
  return runs[runs.size() / 2];
}

}  // namespace

TEST(Load, HundredThousandChunks) {
  machine_t m;
  constexpr uint32_t LIVE = 100000;
  std::vector<chunk_t> c;
  std::mt19937 rng(7);
  double few = 0, few_aligned = 0;
  for (uint32_t i = 0; i < LIVE; ++i) {
    if (i == 1000) {
      few = pair_cost(m, 0);
      few_aligned = pair_cost(m, 1 << 16);
    }
    chunk_t x = {};
    ASSERT_EQ(alloc_raw(m.host, PID, m.fd, {.size = 4096 + rng() % 3 * 4096ull}, &x.handle), 0);
    c.push_back(x);
  }
  // Every eighth goes: as many holes.
  for (uint32_t i = 0; i < LIVE; i += 8)
    ASSERT_EQ(mem_free(m, c[i].handle), 0);
  double many = pair_cost(m, 0), many_aligned = pair_cost(m, 1 << 16);
  printf("alloc+free: %.0f ns with 1000 live, %.0f ns with %u; aligned %.0f and %.0f\n", few, many,
         LIVE, few_aligned, many_aligned);
  // The search is logarithmic: a scan over 100000 chunks would cost a hundred times as much.
  if (!sanitized()) {
    EXPECT_LT(many, 3 * few);
    EXPECT_LT(many_aligned, 3 * few_aligned);
  }
  // The device's own list agrees: ascending and without overlap.
  std::vector<neuron_ioctl_mem_chunk_info> list(LIVE);
  neuron_ioctl_dump_mem_chunks a = {};
  a.num_entries_in = LIVE;
  a.data = list.data();
  ASSERT_EQ(m.io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &a), 0);
  EXPECT_EQ(a.num_entries_out, LIVE - LIVE / 8 + 1);
  for (uint32_t i = 1; i < a.num_entries_out; ++i)
    ASSERT_GE(list[i].pa, list[i - 1].pa + list[i - 1].size);
  ASSERT_EQ(mock_close(m.host, PID, m.fd), 0);
  m.fd = mock_open(m.host, PID, "/dev/neuron0", O_RDWR);
  a.num_entries_in = 0;
  EXPECT_EQ(m.io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &a), -EAGAIN);
  EXPECT_EQ(a.num_entries_out, 1u);
  EXPECT_EQ(alloc(m, {}).pa, 0x5c0000000u);  // all space is back
}

// Threads of two processes allocate, copy, map, claim and free at once; each checks its own bytes.
TEST(Load, Threads) {
  machine_t m;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&m, t] {
      int32_t tgid = PID + t % 2;
      int fd = mock_open(m.host, tgid, "/dev/neuron0", O_RDWR);
      int misc = mock_open(m.host, tgid, "/dev/neuron0", O_WRONLY);
      ASSERT_GE(fd, 0);
      std::vector<uint8_t> data(70000, static_cast<uint8_t>(t + 1)), back(data.size());
      for (int i = 0; i < 60; ++i) {
        chunk_t h = alloc_as(m.host, tgid, fd, {.size = data.size(), .host = true});
        chunk_t d = alloc_as(m.host, tgid, fd, {.size = data.size(), .channel = i % 4u});
        ASSERT_EQ(h.rc, 0);
        ASSERT_EQ(d.rc, 0);
        neuron_ioctl_mem_buf_copy64 put = {h.handle, data.data(), data.size(), 0, 1};
        ASSERT_EQ(mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_MEM_BUF_COPY64, &put), 0);
        neuron_ioctl_mem_copy64 copy = {h.handle, d.handle, data.size(), 0, 0};
        ASSERT_EQ(mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_MEM_COPY64, &copy), 0);
        neuron_ioctl_mem_buf_copy64 get = {d.handle, back.data(), back.size(), 0, 0};
        ASSERT_EQ(mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_MEM_BUF_COPY64, &get), 0);
        ASSERT_EQ(back, data);
        void *va;
        uint64_t rounded = (data.size() + 4095) / 4096 * 4096;
        ASSERT_EQ(mock_mmap(m.host, tgid, fd, d.pa, rounded, PROT_READ, &va), 0);
        ASSERT_EQ(static_cast<uint8_t *>(va)[69999], t + 1);
        ASSERT_EQ(mock_munmap(m.host, tgid, va, rounded), 0);
        neuron_ioctl_crwl_nc_map claim = {1, 0, 7, 0, 0};
        long rc = mock_ioctl(m.host, tgid, misc, NEURON_IOCTL_CRWL_NC_RANGE_MARK, &claim);
        ASSERT_TRUE(rc == 0 || rc == -EBUSY);
        if (rc == 0) {
          ASSERT_EQ(mock_ioctl(m.host, tgid, misc, NEURON_IOCTL_CRWL_NC_RANGE_UNMARK, &claim), 0);
        }
        for (uint64_t handle : {h.handle, d.handle}) {
          neuron_ioctl_mem_free f = {handle};
          ASSERT_EQ(mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_MEM_FREE, &f), 0);
        }
      }
      ASSERT_EQ(mock_close(m.host, tgid, misc), 0);
    });
  }
  for (std::thread &t : threads)
    t.join();
  neuron_ioctl_dump_mem_chunks a = {};
  for (a.hbm_index = 0; a.hbm_index < 4; ++a.hbm_index) {
    EXPECT_EQ(m.io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &a), -EAGAIN);
    EXPECT_EQ(a.num_entries_out, 1u);
  }
}

// A real child works on the same state and the same memory.
TEST(Load, Fork) {
  machine_t m;
  chunk_t c = alloc(m, {.size = 1 << 20});
  std::vector<uint8_t> data(200000, 5);
  ASSERT_EQ(buf_copy(m, c.handle, data.data(), 0, 100, true), 0);  // this thread has its scratch
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int32_t tgid = PID + 1;
    int fd = mock_open(m.host, tgid, "/dev/neuron0", O_RDWR);
    std::vector<uint8_t> back(100);
    neuron_ioctl_mem_buf_copy64 get = {c.handle, back.data(), 100, 0, 0};
    bool ok = mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_MEM_BUF_COPY64, &get) == 0;
    ok = ok && std::count(back.begin(), back.end(), 5) == 100;
    neuron_ioctl_mem_buf_copy64 put = {c.handle, data.data(), data.size(), 1000, 1};
    for (int i = 0; i < 200; ++i)  // while the parent does the same
      ok = ok && mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_MEM_BUF_COPY64, &put) == 0;
    _exit(ok ? 0 : 1);
  }
  for (int i = 0; i < 200; ++i) {
    chunk_t x = alloc(m, {});
    ASSERT_EQ(x.rc, 0);
    ASSERT_EQ(mem_free(m, x.handle), 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::vector<uint8_t> back(data.size());
  ASSERT_EQ(buf_copy(m, c.handle, back.data(), 1000, back.size(), false), 0);
  EXPECT_EQ(back, data);
  mock_process_exit(m.host, PID + 1);
  EXPECT_EQ(mem_free(m, c.handle), 0);
}
