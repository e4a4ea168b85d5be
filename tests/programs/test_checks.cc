// SPDX-License-Identifier: Apache-2.0
// Waits taken away, and what the checks for races and unwritten memory say of the programs as they
// are.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/programs/both_files.h"

using testing::IsEmpty;

namespace {

using Checks = BothFiles;

mock_exec_options_t checked(uint64_t seed) {
  return {.seed = seed, .strict = 1, .races = 1, .exact_functions = 0};
}

}  // namespace

TEST_F(Checks, NothingFoundInMatmulSmall) {
  session s;
  small_matmul m(small);
  ASSERT_EQ(m.status(), NRT_SUCCESS);
  for (uint64_t seed = 0; seed <= 20; seed++) {
    s.configure(checked(seed));
    EXPECT_TRUE(m.right(seed)) << "schedule " << seed;
    EXPECT_THAT(s.findings(), IsEmpty()) << "schedule " << seed;
  }
}

TEST_F(Checks, NothingFoundInAttention) {
  session s;
  attention_run a(attention);
  ASSERT_EQ(a.status(), NRT_SUCCESS);
  a.fill(attention_recipe_b(43));
  ASSERT_EQ(a.run(), NRT_SUCCESS);
  std::vector<uint8_t> plain = a.p.read("output0");
  for (uint64_t seed = 0; seed <= 5; seed++) {
    s.configure(checked(seed));
    ASSERT_EQ(a.run(), NRT_SUCCESS) << seed;
    EXPECT_EQ(a.p.read("output0"), plain) << seed;
    EXPECT_THAT(s.findings(), IsEmpty()) << seed;
  }
}

namespace {

struct wait_t {
  std::string member;
  size_t slot;
  bool second;  // the second block of A0
};

std::vector<wait_t> waits_of(const std::vector<uint8_t> &file) {
  std::vector<wait_t> waits;
  edit_file(file, [&](neff_write_members &members) {
    for (const char *subgraph : {"sg00/", "sg01/"})
      for (const char *engine : {"PE", "Activation", "Pool", "DVE", "SP"}) {
        std::string member = std::string(subgraph) + engine + ".bin";
        const std::vector<uint8_t> &bytes = members[member];
        for (size_t slot = 0; slot < bytes.size() / 64; slot++) {
          if (bytes[slot * 64 + 4] != 0)
            waits.push_back({member, slot, false});
          if (bytes[slot * 64] == ISA_EVENT_SEMAPHORE && bytes[slot * 64 + 32] != 0)
            waits.push_back({member, slot, true});
        }
      }
  });
  return waits;
}

std::vector<uint8_t> without(const std::vector<uint8_t> &file, const wait_t &wait) {
  return edit_stream(file, wait.member, [&](records_t &records) {
    auto *bytes = reinterpret_cast<uint8_t *>(&records[wait.slot]);
    bytes[wait.second ? 32 : 4] = 0;
    bytes[wait.second ? 33 : 5] = 0;
  });
}

// The first of the schedules under which the file shows that something is wrong with it: as a wrong
// number, a transfer that is still going at the end, or, with `races`, a race. 0: none.
uint64_t caught_at(session &s, const std::vector<uint8_t> &file, bool races,
                   uint64_t schedules = 100) {
  small_matmul m(file);
  EXPECT_EQ(m.status(), NRT_SUCCESS);
  for (uint64_t seed = 1; seed <= schedules; seed++) {
    s.configure({.seed = seed, .strict = 0, .races = races, .exact_functions = 0});
    m.fill(seed);  // what another run left behind is wrong for this one
    if (m.run() != NRT_SUCCESS || m.wrong() != 0 || !s.findings().empty())
      return seed;
  }
  return 0;
}

// Any one wait removed is caught; with all of them there none of those schedules finds anything.
void remove_one_by_one(const std::vector<uint8_t> &file, bool races) {
  std::vector<wait_t> waits = waits_of(file);
  EXPECT_EQ(waits.size(), 18u);
  session s;
  uint64_t last = 0;
  for (const wait_t &wait : waits) {
    uint64_t seed = caught_at(s, without(file, wait), races);
    EXPECT_NE(seed, 0u) << wait.member << " slot " << wait.slot;
    last = std::max(last, seed);
  }
  EXPECT_EQ(caught_at(s, file, races, last), 0u);
  printf("the last one under schedule %lu\n", static_cast<unsigned long>(last));
}

}  // namespace

TEST_F(Checks, AnyOneWaitRemovedFromMatmulSmall) {
  remove_one_by_one(small, true);
}

// By numbers, NaN and transfers in flight alone.
TEST_F(Checks, AnyOneWaitRemovedShowsInTheNumbersToo) {
  remove_one_by_one(small, false);
}

// Only the first condition of waits with two, in every record that has two.
TEST_F(Checks, SecondWaitsOfAttentionIgnored) {
  uint32_t changed = 0;
  std::vector<uint8_t> edited = edit_records(
      attention,
      [](isa_record &record) {
        if (record.h.opcode != ISA_EVENT_SEMAPHORE)
          return false;
        bool both = false;
        edit_as<isa_event_semaphore>(record, [&](isa_event_semaphore &r) {
          both = r.wait_mode != 0;
          r.wait_mode = 0;
          r.wait_index = 0;
          r.wait_value = 0;
        });
        return both;
      },
      &changed);
  EXPECT_GT(changed, 0u);
  session s;
  s.configure(checked(1));
  attention_run a(edited);
  ASSERT_EQ(a.status(), NRT_SUCCESS);
  a.fill(attention_recipe_b(43));
  EXPECT_TRUE(a.run() != NRT_SUCCESS || !s.findings().empty());
}

// The engines are pipelined: without the waits on their own semaphores (verified-attention.md 5:
// 232 of DVE, 28 of ACT) nothing says that a result is there.
TEST_F(Checks, OwnWaitsOfAttentionIgnored) {
  struct {
    const char *member;
    uint8_t semaphore;
    uint32_t waits;
  } const engines[] = {{"sg00/DVE.bin", 6, 232}, {"sg00/Activation.bin", 4, 28}};
  session s;
  for (const auto &engine : engines) {
    SCOPED_TRACE(engine.member);
    uint32_t ignored = 0;
    std::vector<uint8_t> edited = edit_stream(attention, engine.member, [&](records_t &records) {
      for (isa_record &record : records) {
        auto *bytes = reinterpret_cast<uint8_t *>(&record);
        for (size_t block : {4, 32}) {
          if ((block == 32 && record.h.opcode != ISA_EVENT_SEMAPHORE) || bytes[block] == 0 ||
              bytes[block + 1] != engine.semaphore)
            continue;
          bytes[block] = bytes[block + 1] = 0;
          ignored++;
        }
      }
    });
    EXPECT_EQ(ignored, engine.waits);
    s.configure(checked(0));
    attention_run a(edited);
    ASSERT_EQ(a.status(), NRT_SUCCESS);
    a.fill(attention_recipe_b(43));
    EXPECT_EQ(a.run(), NRT_SUCCESS);
    EXPECT_THAT(s.findings(), testing::Not(IsEmpty()));
  }
}

TEST_F(Checks, TransfersOfAttentionRaisedAtIssue) {
  uint32_t changed = 0;
  std::vector<uint8_t> edited = raise_at_issue(attention, &changed);
  EXPECT_EQ(changed, 344u);
  session s;
  s.configure(checked(1));
  attention_run a(edited);
  ASSERT_EQ(a.status(), NRT_SUCCESS);
  a.fill(attention_recipe_b(43));
  bool ran = a.run() == NRT_SUCCESS;
  EXPECT_THAT(s.findings(), testing::Not(IsEmpty()));
  EXPECT_TRUE(!ran || a.figures().step > 2e-2);
}

// Loading a table raises nothing, whatever act_semaphore says: number 12 belongs to Pool's
// transfers, whose reuse waits would pass early.
TEST_F(Checks, TableLoadRaisesItsSemaphore) {
  for (uint32_t by : {1u, 16u}) {
    SCOPED_TRACE(by);
    uint32_t loads = 0;
    std::vector<uint8_t> edited =
        edit_stream(attention, "sg00/Activation.bin", [&](records_t &all) {
          records_t out;
          for (const isa_record &record : all) {
            out.push_back(record);
            if (record.h.opcode != ISA_ACT_TABLE_LOAD)
              continue;
            isa_record raise = {};
            raise.h = {ISA_NOP, ISA_HEADER_WORDS,   0,  0, ISA_WAIT_NONE,
                       0,       ISA_UPDATE_SEM_ADD, 12, by};
            out.push_back(raise);
            loads++;
          }
          all = out;
        });
    EXPECT_EQ(loads, 11u);
    session s;
    s.configure(checked(1));
    attention_run a(edited);
    ASSERT_EQ(a.status(), NRT_SUCCESS);
    a.fill(attention_recipe_b(43));
    EXPECT_EQ(a.run_for_semaphores(s.host()).at(12), 320 + 11 * by);
    EXPECT_EQ(s.findings().empty(), by == 1);
  }
}
