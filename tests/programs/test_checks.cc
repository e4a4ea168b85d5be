// SPDX-License-Identifier: Apache-2.0
// Waits taken away, and what the checks for races and unwritten memory say of the programs as they
// are.
#include <gmock/gmock.h>

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

}  // namespace

// Any one wait removed shows within a hundred schedules: as a race, a wrong number, or a transfer
// that is still going at the end.
TEST_F(Checks, AnyOneWaitRemovedFromMatmulSmall) {
  std::vector<wait_t> waits = waits_of(small);
  EXPECT_EQ(waits.size(), 18u);
  session s;
  for (const wait_t &wait : waits) {
    small_matmul m(without(small, wait));
    ASSERT_EQ(m.status(), NRT_SUCCESS);
    bool caught = false;
    uint64_t seed = 0;
    while (!caught && seed++ < 100) {
      s.configure({.seed = seed, .strict = 0, .races = 1, .exact_functions = 0});
      m.fill(seed);  // what another run left behind is wrong for this one
      caught = m.run() != NRT_SUCCESS || m.wrong() != 0 || !s.findings().empty();
    }
    EXPECT_TRUE(caught) << wait.member << " slot " << wait.slot;
  }
}

// The same without the checker of races: by numbers, NaN and transfers in flight alone.
TEST_F(Checks, AnyOneWaitRemovedShowsInTheNumbersToo) {
  std::vector<wait_t> waits = waits_of(small);
  session s;
  for (const wait_t &wait : waits) {
    small_matmul m(without(small, wait));
    ASSERT_EQ(m.status(), NRT_SUCCESS);
    bool caught = false;
    for (uint64_t seed = 1; seed <= 100 && !caught; seed++) {
      s.configure({.seed = seed, .strict = 0, .races = 0, .exact_functions = 0});
      m.fill(seed);
      caught = m.run() != NRT_SUCCESS || m.wrong() != 0;
    }
    EXPECT_TRUE(caught) << wait.member << " slot " << wait.slot;
  }
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
