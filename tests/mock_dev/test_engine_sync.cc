// SPDX-License-Identifier: Apache-2.0
// Waits, updates, blocking, deadlocks (neuroncore-isa.md 2.2, rulings.md 23).
#include "tests/mock_dev/exec_fixture.h"

TEST(EngineSync, WaitModesOnSemaphores) {
  struct {
    uint8_t mode;
    bool passes[3];  // 4, 5, 6 against 5
  } rows[] = {{1, {false, true, false}},
              {2, {true, false, false}},
              {3, {true, true, false}},
              {4, {false, false, true}},
              {5, {false, true, true}}};
  cores_t m;
  for (const auto &row : rows) {
    for (bool reg : {false, true}) {
      for (uint32_t i = 0; i < 3; ++i) {
        m.semaphore_set(77, 4 + i);
        m.semaphore_set(78, 0);
        record_t wait = nop();
        wait.wait(reg ? row.mode | 0x80 : row.mode, 77, reg ? 9 : 5);
        m.start(0, DVE, {move_imm({9}, {5}), wait, nop().update(0x13, 78), halt()});
        m.wait();
        EXPECT_EQ(m.semaphore(78), row.passes[i] ? 1u : 0u) << int{row.mode} << ' ' << i << reg;
        EXPECT_EQ(m.status(DVE), row.passes[i] ? 0u : 2u);
        EXPECT_EQ(m.semaphore(77), 4 + i);  // a wait takes nothing away
        m.stop(DVE);
      }
    }
  }
}

TEST(EngineSync, NegativeCountsCompareSigned) {
  cores_t m;
  m.semaphore_set(77, 0xFFFFFFFF);
  m.run(PE, {nop().wait(2, 77, 0), nop().update(0x13, 77), nop().wait(1, 77, 0)});
  EXPECT_EQ(m.semaphore(77), 0u);
}

TEST(EngineSync, WaitModesOnEvents) {
  struct {
    uint8_t mode;
    uint32_t passes_when, after;
  } rows[] = {{6, 1, 1}, {7, 1, 0}, {0x0E, 0, 0}, {0x0F, 0, 1}};
  cores_t m;
  for (const auto &row : rows) {
    for (uint32_t state : {0u, 1u}) {
      m.event_set(200, state);
      m.start(0, ACT, {nop().wait(row.mode, 200), halt()});
      m.wait();
      bool passed = state == row.passes_when;
      EXPECT_EQ(m.status(ACT), passed ? 0u : 2u) << int{row.mode} << ' ' << state;
      EXPECT_EQ(m.event(200), passed ? row.after : state) << int{row.mode} << ' ' << state;
      m.stop(ACT);
    }
  }
}

TEST(EngineSync, Updates) {
  struct {
    uint8_t mode;
    uint32_t value, after;  // from 100
  } rows[] = {{3, 55, 101}, {4, 55, 99}, {5, 55, 155}, {7, 55, 45}, {9, 55, 55}};
  cores_t m;
  for (const auto &row : rows) {
    for (uint8_t phase : {0, 0x10}) {
      for (uint8_t reg : {0, 0x80}) {
        if (reg != 0 && row.mode < 5)  // +1 and -1 have no value
          continue;
        m.semaphore_set(30, 100);
        auto mode = static_cast<uint8_t>(row.mode | phase | reg);
        m.run(SP, {move_imm({12}, {row.value}), nop().update(mode, 30, reg != 0 ? 12 : row.value)});
        EXPECT_EQ(m.semaphore(30), row.after) << int{mode};
      }
      m.event_set(31, 0);
      m.run(SP, {nop().update(1 | phase, 31)});
      EXPECT_EQ(m.event(31), 1u);
      m.run(SP, {nop().update(2 | phase, 31)});
      EXPECT_EQ(m.event(31), 0u);
    }
  }
}

// The value field is the wait's, +1 does not look at it (verified-matmul.md 4).
TEST(EngineSync, IncrementBesideAWait) {
  cores_t m;
  m.semaphore_set(5, 16);
  m.run(DVE, {nop().wait(5, 5, 16).update(0x13, 6)});
  EXPECT_EQ(m.semaphore(6), 1u);
}

TEST(EngineSync, BothBlocksOfEventSemaphore) {
  cores_t m;
  for (uint32_t state = 0; state < 4; ++state) {
    m.semaphore_set(8, state & 1);
    m.event_set(9, state >> 1);
    m.semaphore_set(10, 0);
    m.semaphore_set(11, 0);
    m.start(0, PE,
            {both().wait(5, 8, 1).update(0x13, 10).wait2(7, 9).update2(0x15, 11, 40), halt()});
    m.wait();
    bool passed = state == 3;
    EXPECT_EQ(m.status(PE), passed ? 0u : 2u) << state;
    EXPECT_EQ(m.semaphore(10), passed ? 1u : 0u);
    EXPECT_EQ(m.semaphore(11), passed ? 40u : 0u);
    EXPECT_EQ(m.event(9), state == 2 ? 1u : 0u);  // taken only when both hold
    m.stop(PE);
  }
}

// Each raises the other's semaphore a thousand times.
TEST(EngineSync, TwoEnginesTakeTurns) {
  cores_t m;
  constexpr uint32_t TURNS = 1000;
  auto side = [&](uint32_t engine, uint8_t mine, uint8_t other, uint32_t first) {
    m.start(0, engine,
            {move_imm({1, 2}, {first, 0}), nop().wait(0x85, mine, 1), nop().update(0x13, other),
             alu_imm(4, 1, 1, 1), alu_imm(4, 2, 2, 1), branch(1, 2, TURNS, -4), halt()});
  };
  side(POOL, 20, 21, 0);
  side(SP, 21, 20, 1);
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  EXPECT_EQ(m.status(POOL), 0u);
  EXPECT_EQ(m.status(SP), 0u);
  EXPECT_EQ(m.semaphore(20), TURNS);
  EXPECT_EQ(m.semaphore(21), TURNS);
}

// The barrier of verified-facts.md G7: PE adds 1 and waits for 8, then writes 0; the others pass it
// around.
TEST(EngineSync, BarrierOfTheFiveEngines) {
  cores_t m;
  auto step = [](uint32_t value) { return both().wait(1, 2, value).wait2(0, 0).update2(0x13, 2); };
  auto last = [](uint32_t value) { return both().wait(1, 2, value).update2(0x19, 2, 0); };
  for (int round = 0; round < 3; ++round) {
    m.start(0, ACT, {step(1), step(7), halt()});
    m.start(0, POOL, {step(2), step(6), halt()});
    m.start(0, DVE, {step(3), step(5), halt()});
    m.start(0, SP, {step(4), halt()});
    m.wait();
    for (uint32_t e : {ACT, POOL, DVE, SP})
      EXPECT_EQ(m.status(e), 2u);
    m.start(0, PE, {nop().update(0x13, 2), last(8), halt()});
    EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
    for (uint32_t e = 0; e < 5; ++e)
      EXPECT_EQ(m.status(e), 0u);
    EXPECT_EQ(m.semaphore(2), 0u);
  }
}

// A waiting engine goes on whoever changes what it waits for.
TEST(EngineSync, EveryWayToRaiseASemaphoreWakes) {
  cores_t m;
  auto park = [&] {
    m.semaphore_set(50, 0);
    m.event_set(51, 0);
    m.start(0, SP, {nop().wait(5, 50, 1), nop().wait(7, 51), halt()});
    m.wait();
    EXPECT_EQ(m.status(SP), 2u);
  };
  auto gone = [&] {
    EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
    return m.status(SP) == 0;
  };
  uint64_t bar0 = 0xd2700000;
  park();
  m.semaphore_add(50, 1);
  m.event_set(51, 1);
  EXPECT_TRUE(gone()) << "requests";
  park();
  m.bar_write(bar0 + 0x1800 + 4 * 50, 1);
  m.bar_write(bar0 + 4 * 51, 1);
  EXPECT_TRUE(gone()) << "BAR0";
  park();
  queue_t q(m, 0, 1);
  q.run({tx_desc(0x9000000004, 4), tx_desc(0x9000000004, 4)},
        {rx_desc(events_v3(0) + 0x1800 + 4 * 50, 4), rx_desc(events_v3(0) + 4 * 51, 4)});
  EXPECT_TRUE(gone()) << "descriptors";
  park();
  uint32_t one = 1;
  for (uint64_t at : {uint64_t{0x1800 + 4 * 50}, uint64_t{4 * 51}}) {
    neuron_ioctl_program_engine a = {};
    a.dst = events_v3(0) + at;
    a.buffer = &one;
    a.size = 4;
    EXPECT_EQ(m.io(NEURON_IOCTL_PROGRAM_ENGINE, &a), 0);
  }
  EXPECT_TRUE(gone()) << "PROGRAM_ENGINE";
  park();
  m.run(PE, {write(events_v3(0) + 0x1800 + 4 * 50, 4, 1), write(events_v3(0) + 4 * 51, 4, 1)}, 5);
  EXPECT_TRUE(gone()) << "another core";
}

TEST(EngineSync, DeadlockIsReported) {
  cores_t m;
  m.semaphore_set(9, 3);
  m.start(0, PE, {run_start(PE), nop().wait(5, 9, 16), run_end(PE), halt()});
  m.start(0, ACT,
          {run_start(ACT), move_imm({4}, {7}), both().wait(6, 100).wait2(0x84, 9, 4), halt()});
  m.start(0, SP, {run_start(SP), run_end(SP), halt()});
  EXPECT_EQ(m.wait(), MOCK_CORE_STALLED);
  mock_name_t names[] = {{m.stream(0, ACT), 0x1000, "act.bin", 0, MOCK_NAME_RECORDS},
                         {m.stream(0, PE), 0x1000, "pe.bin", 3, MOCK_NAME_RECORDS}};
  ASSERT_EQ(mock_exec_names(m.host, 0, 0, names, 2), 0);
  std::string report = m.report();
  EXPECT_NE(report.find("pe: pe.bin slot 4 NOP waits for semaphore 9 >= 16, it is 3\n"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("act: act.bin slot 2 EVENT_SEMAPHORE waits for event 100 to be set, it is "
                        "clear and waits for semaphore 9 > 7, it is 3\n"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("sp: halted\n"), std::string::npos) << report;
  // What it waits for arrives.
  m.event_set(100, 1);
  m.semaphore_set(9, 16);
  EXPECT_EQ(m.wait(), MOCK_CORE_STALLED);  // ACT halted inside its run
  EXPECT_EQ(m.status(PE), 0u);
  char small[8];
  EXPECT_GT(mock_core_report(m.host, 0, 0, small, sizeof(small)), sizeof(small));
  EXPECT_EQ(strlen(small), sizeof(small) - 1);
  EXPECT_EQ(mock_core_report(m.host, 0, 99, small, sizeof(small)), 0u);
}

// A variable has no slots: an engine that has run into one is somewhere in its bytes.
TEST(EngineSync, ReportGivesSlotsAmongRecordsOnly) {
  cores_t m;
  m.start(0, PE, {run_start(PE), nop().wait(5, 9, 16), halt()});
  m.start(0, ACT, {run_start(ACT), nop().wait(5, 9, 16), halt()});
  EXPECT_EQ(m.wait(), MOCK_CORE_STALLED);
  mock_name_t names[] = {{m.stream(0, PE) - 0x100, 0x1000, "weights", 5, 0}};
  ASSERT_EQ(mock_exec_names(m.host, 0, 0, names, 1), 0);
  std::string report = m.report();
  EXPECT_NE(report.find("pe: weights+0x140 NOP waits"), std::string::npos) << report;
  EXPECT_EQ(report.find("slot"), std::string::npos) << report;
  char place[32];
  snprintf(place, sizeof(place), "act: pc 0x%llx NOP",
           static_cast<unsigned long long>(m.stream(0, ACT) + 0x40));
  EXPECT_NE(report.find(place), std::string::npos) << report;
}

TEST(EngineSync, IdleAndWrongCores) {
  cores_t m;
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  EXPECT_EQ(m.wait(7), MOCK_CORE_IDLE);
  EXPECT_EQ(m.wait(8), -EINVAL);
  EXPECT_EQ(mock_core_wait(m.host, 1, 0, 0), -EINVAL);
  // Outside a run a waiting engine is nobody's problem.
  m.start(0, PE, {nop().wait(5, 9, 16), halt()});
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
}
