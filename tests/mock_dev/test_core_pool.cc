// SPDX-License-Identifier: Apache-2.0
// Cores on threads: those nobody waits for, several at once, one that never ends, forks.
#include <unistd.h>

#include <atomic>
#include <set>

#include <sys/wait.h>

#include "tests/mock_dev/exec_fixture.h"

namespace {

// Counts register 1 up to `n`, then stores it.
std::vector<record_t> counting(uint32_t n, uint64_t address) {
  return {move_imm({1}, {0}), alu_imm(4, 1, 1, 1), branch(1, 1, n, -1), store(address, {1}),
          halt()};
}

template <typename Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 60000 && !condition(); ++i)
    usleep(1000);
  return condition();
}

// A resident loop: waits for semaphore 0, takes it, runs, reports.
std::vector<record_t> resident(uint32_t engine, uint64_t counter) {
  return {record_t(0xB1),      both().wait(5, 0, 1).update2(0x17, 0, 1),
          run_start(engine),   alu_imm(4, 1, 1, 1),
          store(counter, {1}), run_end(engine),
          branch(0, 0, 0, -6)};
}

}  // namespace

TEST(CorePool, CoreRunsWithoutAWaiter) {
  cores_t m;
  for (uint32_t core = 0; core < 8; ++core)
    m.start(core, PE, counting(20000, m.data.pa + core * 4));
  for (uint32_t core = 0; core < 8; ++core)
    EXPECT_TRUE(eventually([&] { return m.status(PE, core) == 0; })) << core;
  for (uint32_t core = 0; core < 8; ++core) {
    EXPECT_EQ(m.wait(core), MOCK_CORE_IDLE);
    EXPECT_EQ(m.at(core * 4), 20000u);
  }
}

TEST(CorePool, WaiterRunsTheCore) {
  cores_t m;
  std::atomic<int> own{0}, other{0};
  struct seen_t {
    pthread_t self;
    std::atomic<int> *own, *other;
  } seen = {pthread_self(), &own, &other};
  mock_exec_trace(
      m.host,
      [](void *user, const mock_exec_event_t *) {
        auto *s = static_cast<seen_t *>(user);
        ++*(pthread_equal(s->self, pthread_self()) != 0 ? s->own : s->other);
      },
      &seen);
  m.start(0, SP, resident(SP, m.data.pa));
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  for (uint32_t run = 1; run <= 1000; ++run) {
    m.semaphore_add(0, 1);
    ASSERT_EQ(m.wait(), MOCK_CORE_IDLE);
    ASSERT_EQ(m.at(0), run);
  }
  EXPECT_GT(own, other);  // a thread that happens to look in between may take some
  mock_exec_trace(m.host, nullptr, nullptr);
}

TEST(CorePool, TwoCoresTakeTurns) {
  cores_t m;
  constexpr uint32_t TURNS = 2000;
  auto side = [&](uint32_t core, uint32_t other, uint32_t first) {
    m.start(core, SP,
            {move_imm({1, 2}, {first, 0}), run_start(SP), nop().wait(0x85, 70, 1),
             write(events_v3(other) + 0x1800 + 70 * 4, 4, 1), alu_imm(4, 1, 1, 1),
             alu_imm(4, 2, 2, 1), branch(1, 2, TURNS, -4), run_end(SP), halt()});
  };
  side(2, 5, 0);
  side(5, 2, 1);
  EXPECT_EQ(m.wait(2), MOCK_CORE_IDLE);
  EXPECT_EQ(m.wait(5), MOCK_CORE_IDLE);
  EXPECT_EQ(m.semaphore(70, 2), TURNS);
  EXPECT_EQ(m.semaphore(70, 5), TURNS);
}

// Each core passes data on by a DMA record, whose semaphore is its own, and a write of a semaphore
// by descriptors of the next one.
TEST(CorePool, DataGoesAroundAllCores) {
  cores_t m;
  uint32_t value = 0xC0FFEE;
  memcpy(m.data_bytes, &value, 4);
  for (uint32_t core = 0; core < 8; ++core) {
    uint64_t from = m.data.pa + core * 4096, next = from + 4096;
    uint64_t one = 0x9000000004;
    m.start(core, POOL,
            {nop().wait(5, 80, 1), dma(from, next, 2048, 2, 81), nop().wait(5, 81, 16),
             dma(one, events_v3((core + 1) % 8) + 0x1800 + 80 * 4, 4, 1, 82), halt()});
  }
  m.semaphore_add(80, 1, 0);
  for (uint32_t core = 0; core < 8; ++core)
    EXPECT_TRUE(eventually([&] { return m.status(POOL, core) == 0; })) << m.report(core);
  EXPECT_EQ(m.at(8 * 4096), value);
  EXPECT_EQ(m.semaphore(80, 0), 2u);
}

TEST(CorePool, StallIsKnownWhenNothingElseMoves) {
  cores_t m;
  m.start(0, PE, {run_start(PE), nop().wait(5, 90, 1), run_end(PE), halt()});
  // The other core works for a while, then raises it.
  std::vector<record_t> work = counting(300000, m.data.pa);
  work.back() = write(events_v3(0) + 0x1800 + 90 * 4, 4, 1);
  work.push_back(halt());
  m.start(1, PE, work);
  EXPECT_EQ(m.wait(0), MOCK_CORE_IDLE);
  EXPECT_EQ(m.at(0), 300000u);
  m.start(0, PE, {run_start(PE), nop().wait(5, 90, 2), run_end(PE), halt()});
  EXPECT_EQ(m.wait(0), MOCK_CORE_STALLED);
}

TEST(CorePool, ManyThreadsWait) {
  cores_t m;
  for (uint32_t core = 0; core < 4; ++core) {
    m.start(core, SP, resident(SP, m.data.pa + core * 64));
    EXPECT_EQ(m.wait(core), MOCK_CORE_IDLE);
  }
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 16; ++t)
    threads.emplace_back([&m, t] {
      for (int i = 0; i < 50; ++i) {
        m.semaphore_add(0, 1, t % 4);
        EXPECT_EQ(m.wait(t % 4), MOCK_CORE_IDLE);
      }
    });
  for (std::thread &t : threads)
    t.join();
  for (uint32_t core = 0; core < 4; ++core)
    EXPECT_EQ(m.at(core * 64), 200u);
}

TEST(CorePool, OneThreadIsEnough) {
  mock_dev_options_t o = {};
  o.threads = 65;
  mock_host_t *host = nullptr;
  EXPECT_EQ(mock_host_create(&o, &host), -EINVAL);
  o.threads = 1;
  cores_t m(o);
  m.start(3, PE, {branch(0, 0, 0, 0)});  // for ever
  m.start(4, PE, counting(100000, m.data.pa));
  EXPECT_TRUE(eventually([&] { return m.status(PE, 4) == 0; }));
  EXPECT_EQ(m.status(PE, 3), 1u);
}

TEST(CorePool, MachineEndsWhileCoresRun) {
  for (int i = 0; i < 20; ++i) {
    cores_t m;
    for (uint32_t core = 0; core < 4; ++core)
      m.start(core, PE, {branch(0, 0, 0, 0)});
    if (i % 2 != 0)
      usleep(3000);
  }
}

TEST(CorePool, ResetHaltsAndForgets) {
  cores_t m;
  m.start(1, PE, {branch(0, 0, 0, 0)});
  m.start(1, SP, {run_start(SP), nop().wait(5, 9, 1), halt()});
  m.wait(1, 1000000);
  neuron_ioctl_device_reset a = {1 << 1, 0};
  ASSERT_EQ(m.io(NEURON_IOCTL_NC_RESET, &a), 0);
  EXPECT_EQ(m.wait(1), MOCK_CORE_IDLE);
  for (uint32_t e = 0; e < 5; ++e) {
    EXPECT_EQ(m.status(e, 1), 0u);
    EXPECT_EQ(m.bar_read(engine_register(false, 1, e, 8)), 0u);
  }
  neuron_ioctl_device_ready ready = {a.request_id, 77};
  EXPECT_EQ(m.io(NEURON_IOCTL_NC_RESET_READY, &ready), 0);
  m.run(DVE, {move_imm({1}, {5}), store(m.data.pa, {1})}, 1);
  EXPECT_EQ(m.at(0), 5u);
}

// A child has the memory but no threads: nothing runs there, nothing hangs.
TEST(CorePool, ChildRunsNothing) {
  cores_t m;
  m.start(0, SP, resident(SP, m.data.pa));
  m.start(1, SP, resident(SP, m.data.pa + 64));
  EXPECT_EQ(m.wait(0), MOCK_CORE_IDLE);
  EXPECT_EQ(m.wait(1), MOCK_CORE_IDLE);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    int rc = mock_core_wait(m.host, 0, 0, SECOND_NS);
    m.semaphore_add(0, 1, 1);  // wakes nobody
    mock_host_destroy(m.host);
    _exit(rc == -EINVAL ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  m.semaphore_add(0, 1, 0);
  EXPECT_EQ(m.wait(0), MOCK_CORE_IDLE);
  EXPECT_EQ(m.at(0), 1u);
}
