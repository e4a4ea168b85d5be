// SPDX-License-Identifier: Apache-2.0
// Races and strict mode on running engines: programs with one mistake each are told apart from the
// same programs without it.
#include <tuple>

#include "mock_dev/exec_state.h"
#include "tests/mock_dev/exec_fixture.h"

namespace {

constexpr uint64_t SBUF = 0x2000000000ull;  // of core 0, v3

// One fp32 element per lane on 8 lanes.
record_t memset32(uint32_t addr, uint32_t value) {
  record_t r(0x49);
  r.put(28, uint32_t{1}).put(40, value).put(44, addr);
  r.b[32] = 0x0A;
  r.b[34] = 8;
  for (int d = 0; d < 4; ++d)
    r.put(48 + 2 * d, int16_t{1}).put(56 + 2 * d, uint16_t{1});
  return r;
}
record_t copy32(uint32_t from, uint32_t to) {
  record_t r(0x46);
  r.put(12, from).put(44, to);
  r.b[32] = r.b[33] = 0x0A;
  r.b[34] = 8;
  for (int d = 0; d < 4; ++d) {
    r.put(16 + 2 * d, int16_t{1}).put(24 + 2 * d, uint16_t{1});
    r.put(48 + 2 * d, int16_t{1}).put(56 + 2 * d, uint16_t{1});
  }
  return r;
}

std::vector<record_t> in_run(uint32_t engine, std::vector<record_t> body) {
  body.insert(body.begin(), run_start(engine));
  body.push_back(record_t(0xA2));
  body.push_back(run_end(engine));
  body.push_back(halt());
  return body;
}

struct Watch : testing::Test {
  cores_t m;
  std::vector<mock_name_t> names;

  void configure(uint32_t races, uint32_t strict, uint64_t seed = 0) {
    mock_exec_options_t options = {seed, strict, races, 0};
    mock_exec_configure(m.host, &options);
  }
  void name(const char *text, uint64_t address, uint64_t size, uint32_t flags = 0,
            uint32_t first_slot = 0) {
    names.push_back({address, size, text, first_slot, flags});
    ASSERT_EQ(mock_exec_names(m.host, 0, 0, names.data(), names.size()), 0);
  }
  std::vector<std::string> findings() {
    std::vector<std::string> all;
    char text[512];
    while (mock_exec_finding(m.host, text, sizeof(text), nullptr) > 0)
      all.push_back(text);
    return all;
  }
  // Both engines at once; they go on when semaphore 60 says so.
  std::vector<std::string> run_two(std::vector<record_t> act, std::vector<record_t> dve) {
    m.start(0, ACT, in_run(ACT, std::move(act)));
    EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
    m.start(0, DVE, in_run(DVE, std::move(dve)));
    EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
    return findings();
  }
};

TEST_F(Watch, NothingIsReportedUnlessAsked) {
  char text[64];
  EXPECT_EQ(mock_exec_finding(m.host, text, sizeof(text), nullptr), -EAGAIN);
}

// Every run asks: whoever has the lock of execution keeps nobody from it.
TEST_F(Watch, WhetherRunsAreCheckedIsToldWithoutTheLock) {
  EXPECT_EQ(mock_exec_checks(m.host), 0);
  for (auto [races, strict, expected] :
       {std::tuple{1u, 0u, 1}, {0u, 1u, 1}, {1u, 1u, 1}, {0u, 0u, 0}}) {
    configure(races, strict);
    mock_exec_hold_t hold(m.host->exec);
    EXPECT_EQ(mock_exec_checks(m.host), expected) << races << strict;
  }
}

TEST_F(Watch, UnorderedAccessesOfTwoEnginesRace) {
  configure(1, 0);
  name("act", m.stream(0, ACT), 0x1000, MOCK_NAME_RECORDS, 7);
  // DVE starts with the core, before ACT has ended.
  m.load_program(0, DVE, in_run(DVE, {nop().wait(5, 60, 1), copy32(0x4000, 0x5000)}));
  m.start_at(0, DVE, m.stream(0, DVE));
  EXPECT_EQ(m.wait(), MOCK_CORE_STALLED);  // at the wait
  m.start(0, ACT, in_run(ACT, {memset32(0x4000, 1), nop().update(0x13, 61)}));
  EXPECT_EQ(m.wait(), MOCK_CORE_STALLED);
  m.semaphore_add(60, 1);
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  auto all = findings();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].find("race on SBUF of core 0, partition 0, byte 0x4000, 4 bytes"),
            std::string::npos)
      << all[0];
  EXPECT_NE(all[0].find("write by act slot 8 MEMSET"), std::string::npos) << all[0];
  EXPECT_NE(all[0].find("read by pc "), std::string::npos) << all[0];
}

TEST_F(Watch, SemaphoresOrder) {
  configure(1, 0);
  m.load_program(0, DVE, in_run(DVE, {copy32(0x4000, 0x5000).wait(5, 61, 1)}));
  m.start_at(0, DVE, m.stream(0, DVE));
  m.start(0, ACT, in_run(ACT, {memset32(0x4000, 1).update(0x13, 61)}));
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  EXPECT_EQ(findings(), std::vector<std::string>{});
}

TEST_F(Watch, RunsOneAfterTheOtherAreOrdered) {
  configure(1, 0);
  EXPECT_EQ(run_two({memset32(0x4000, 1)}, {copy32(0x4000, 0x5000)}), std::vector<std::string>{});
}

TEST_F(Watch, TransferIsNotOverBecauseItWasIssued) {
  configure(1, 0);
  auto program = [&](bool waits) {
    record_t after = copy32(0x4000, 0x5000);
    if (waits)
      after.wait(5, 62, 16);
    return in_run(ACT, {dma(m.data.pa, SBUF + 0x4000, 4, 1, 62), after});
  };
  m.start(0, ACT, program(true));
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  m.semaphore_set(62, 0);
  auto all = findings();
  EXPECT_EQ(all, std::vector<std::string>{});
  m.start(0, ACT, program(false));
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  all = findings();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].find("DMAMEMCPY"), std::string::npos) << all[0];
}

TEST_F(Watch, UnwrittenMemoryIsReportedOnceItIsRead) {
  configure(0, 1);
  m.start(0, ACT, in_run(ACT, {memset32(0x4000, 1), copy32(0x4000, 0x5000)}));
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  EXPECT_EQ(findings(), std::vector<std::string>{});
  m.start(0, ACT, in_run(ACT, {memset32(0x4000, 1), copy32(0x4002, 0x5000)}));
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  auto all = findings();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].find("memory nobody wrote in this run, SBUF of core 0, partition 0, byte "
                        "0x4004, 2 bytes"),
            std::string::npos)
      << all[0];
}

TEST_F(Watch, ScratchIsUndefinedWhenARunBegins) {
  configure(0, 1);
  name("scratch", m.data.pa, 64, MOCK_NAME_UNDEFINED);
  name("input", m.data.pa + 64, 64);
  auto reads = [&](uint64_t offset) {
    m.start(0, ACT, in_run(ACT, {dma(m.data.pa + offset, SBUF + 0x4000, 4, 1, 62)}));
    EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
    return findings();
  };
  EXPECT_EQ(reads(64), std::vector<std::string>{});
  auto all = reads(8);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].find("scratch+0x8, 4 bytes"), std::string::npos) << all[0];
}

TEST_F(Watch, AccessBeyondAVariableIsNamed) {
  configure(0, 1);
  name("x", m.data.pa, 128);
  name("y", m.data.pa + 128, 128);
  auto reads = [&](uint64_t offset, uint16_t bytes) {
    m.start(0, ACT, in_run(ACT, {dma(m.data.pa + offset, SBUF + 0x4000, bytes, 1, 62)}));
    EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
    return findings();
  };
  EXPECT_EQ(reads(64, 64), std::vector<std::string>{});
  auto all = reads(64, 65);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].find("beyond the end of x"), std::string::npos) << all[0];
  all = reads(4096, 4);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].find("outside every variable"), std::string::npos) << all[0];
}

TEST_F(Watch, SeedsSeeTheSameRaces) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    configure(1, 0, seed);
    m.start(0, ACT, in_run(ACT, {dma(m.data.pa, SBUF + 0x4000, 4, 1, 62), nop().wait(5, 62, 16)}));
    EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
    m.semaphore_set(62, 0);
    EXPECT_EQ(findings(), std::vector<std::string>{}) << seed;
    m.start(0, ACT,
            in_run(ACT, {dma(m.data.pa, SBUF + 0x4000, 4, 1, 62), memset32(0x4000, 1),
                         nop().wait(5, 62, 16)}));
    EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
    m.semaphore_set(62, 0);
    EXPECT_EQ(findings().size(), 1u) << seed;
  }
}

}  // namespace
