// SPDX-License-Identifier: Apache-2.0
// The happens-before checker on hand-made histories: every race planted is reported with both
// places and its bytes, and nothing that is ordered is.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "mock_dev/check.h"

namespace {

constexpr uint32_t kMemory = 3;

struct Check : testing::Test {
  std::unique_ptr<mock_check_t, void (*)(mock_check_t *)> owner{mock_check_create(true, true),
                                                                mock_check_destroy};
  mock_check_t *check = owner.get();
  mock_check_actor_t pe = mock_check_engine(check, 0, 1, ISA_ENGINE_PE, true);
  mock_check_actor_t act = mock_check_engine(check, 0, 1, ISA_ENGINE_ACT, false);
  mock_check_actor_t dve = mock_check_engine(check, 0, 1, ISA_ENGINE_DVE, false);

  static mock_check_sync_t sem(uint32_t index) { return {0, 1, index}; }
  void record(mock_check_actor_t actor, uint64_t pc) {
    mock_check_record(check, actor, pc, ISA_COPY);
  }
  void touch(mock_check_actor_t actor, uint64_t offset, uint64_t length, bool write) {
    mock_check_range_t range = {kMemory, offset, length};
    mock_check_access(check, actor, &range, write);
  }
  void write(mock_check_actor_t actor, uint64_t pc, uint64_t offset, uint64_t length) {
    record(actor, pc);
    touch(actor, offset, length, true);
  }
  void read(mock_check_actor_t actor, uint64_t pc, uint64_t offset, uint64_t length) {
    record(actor, pc);
    touch(actor, offset, length, false);
  }
  std::vector<mock_check_finding_t> findings() {
    std::vector<mock_check_finding_t> all;
    for (mock_check_finding_t f; mock_check_next(check, &f);)
      all.push_back(f);
    return all;
  }
};

TEST_F(Check, ReadAfterUnorderedWrite) {
  write(act, 0x100, 1000, 64);
  read(dve, 0x200, 1060, 8);
  auto all = findings();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].race);
  EXPECT_EQ(all[0].range.memory, kMemory);
  EXPECT_EQ(all[0].range.offset, 1060u);
  EXPECT_EQ(all[0].range.length, 4u);
  EXPECT_EQ(all[0].first.pc, 0x100u);
  EXPECT_EQ(all[0].first.engine, static_cast<uint32_t>(ISA_ENGINE_ACT));
  EXPECT_TRUE(all[0].first_writes);
  EXPECT_EQ(all[0].second.pc, 0x200u);
  EXPECT_FALSE(all[0].second_writes);
}

TEST_F(Check, WriteAfterUnorderedRead) {
  read(act, 0x100, 0, 4);
  write(dve, 0x200, 3, 1);
  auto all = findings();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].first_writes);
  EXPECT_TRUE(all[0].second_writes);
  EXPECT_EQ(all[0].range.offset, 3u);
}

TEST_F(Check, TwoUnorderedReadsAreFine) {
  read(act, 0x100, 0, 4);
  read(dve, 0x200, 0, 4);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, SemaphoreOrders) {
  write(act, 0x100, 0, 64);
  mock_check_release(check, act, sem(9), true, 1);
  record(dve, 0x200);
  mock_check_acquire(check, dve, sem(9), true, 1);
  touch(dve, 0, 64, false);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, SemaphoreOfAnotherCoreDoesNot) {
  write(act, 0x100, 0, 64);
  mock_check_release(check, act, sem(9), true, 1);
  record(dve, 0x200);
  mock_check_acquire(check, dve, {0, 2, 9}, true, 1);
  touch(dve, 0, 64, false);
  EXPECT_EQ(findings().size(), 1u);
}

// The wait passes late, when the semaphore has gone on: it still knows only what it asked for.
TEST_F(Check, WaitKnowsNoMoreThanItsThreshold) {
  for (int i = 0; i < 3; i++) {
    write(act, 0x100u + static_cast<unsigned>(i), static_cast<unsigned>(i) * 64u, 64);
    mock_check_release(check, act, sem(4), true, i + 1);
  }
  record(dve, 0x200);
  mock_check_acquire(check, dve, sem(4), true, 2);
  touch(dve, 0, 128, false);
  EXPECT_TRUE(findings().empty());
  touch(dve, 128, 1, false);
  auto all = findings();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].first.pc, 0x102u);
}

TEST_F(Check, OtherConditionsKnowEverythingSoFar) {
  write(act, 0x100, 0, 64);
  mock_check_release(check, act, sem(MOCK_CHECK_EVENT + 3), false, 1);
  record(dve, 0x200);
  mock_check_acquire(check, dve, sem(MOCK_CHECK_EVENT + 3), false, 0);
  touch(dve, 0, 64, true);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, PipelinedEngineDoesNotKnowItsOwnEarlierRecords) {
  write(dve, 0x100, 0, 4);
  read(dve, 0x140, 0, 4);
  EXPECT_EQ(findings().size(), 1u);
}

TEST_F(Check, PipelinedEngineLearnsByWaitingForItself) {
  write(dve, 0x100, 0, 4);
  mock_check_release(check, dve, sem(6), true, 1);
  record(dve, 0x140);
  mock_check_acquire(check, dve, sem(6), true, 1);
  touch(dve, 0, 4, false);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, PipelinedEngineLearnsByDraining) {
  write(dve, 0x100, 0, 4);
  mock_check_drain(check, dve);
  read(dve, 0x140, 0, 4);
  EXPECT_TRUE(findings().empty());
}

// Records complete in order: what the second raises stands for the first too.
TEST_F(Check, CompletionIsInOrder) {
  write(dve, 0x100, 0, 4);
  write(dve, 0x140, 8, 4);
  mock_check_release(check, dve, sem(6), true, 1);
  record(act, 0x200);
  mock_check_acquire(check, act, sem(6), true, 1);
  touch(act, 0, 12, false);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, InOrderEngineNeedsNoWaits) {
  write(pe, 0x100, 0, 4);
  read(pe, 0x140, 0, 4);
  write(pe, 0x180, 0, 4);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, OneRecordMayReadWhatItWrites) {
  record(dve, 0x100);
  touch(dve, 0, 64, false);
  touch(dve, 0, 64, true);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, OrderIsTransitive) {
  write(pe, 0x100, 0, 4);
  mock_check_release(check, pe, sem(5), true, 1);
  record(act, 0x200);
  mock_check_acquire(check, act, sem(5), true, 1);
  mock_check_release(check, act, sem(4), true, 1);
  record(dve, 0x300);
  mock_check_acquire(check, dve, sem(4), true, 1);
  touch(dve, 0, 4, true);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, TransferKnowsWhatItsIssuerKnew) {
  write(pe, 0x100, 0, 4);
  mock_check_release(check, pe, sem(5), true, 1);
  record(act, 0x200);
  mock_check_acquire(check, act, sem(5), true, 1);
  auto transfer = mock_check_transfer_begin(check, act);
  touch(transfer, 0, 4, false);
  touch(transfer, 64, 4, true);
  mock_check_release(check, transfer, sem(20), true, 16);
  mock_check_transfer_end(check, transfer);
  EXPECT_TRUE(findings().empty());

  // The issuer itself does not know when it is over.
  read(act, 0x240, 64, 4);
  auto all = findings();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_STREQ(all[0].first.kind, "transfer");
  EXPECT_EQ(all[0].first.pc, 0x200u);

  record(dve, 0x300);
  mock_check_acquire(check, dve, sem(20), true, 16);
  touch(dve, 64, 4, false);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, TransfersInFlightAreUnordered) {
  record(act, 0x200);
  auto one = mock_check_transfer_begin(check, act);
  record(act, 0x240);
  auto two = mock_check_transfer_begin(check, act);
  EXPECT_NE(one, two);
  touch(one, 0, 4, true);
  mock_check_transfer_end(check, one);  // over, but nobody knows
  touch(two, 0, 4, true);
  EXPECT_EQ(findings().size(), 1u);
  record(act, 0x280);
  EXPECT_NE(mock_check_transfer_begin(check, act), one);
}

TEST_F(Check, NumbersOfKnownTransfersAreUsedAgain) {
  mock_check_actor_t first = 0;
  for (int i = 0; i < 100; i++) {
    record(act, 0x200);
    if (i != 0)
      mock_check_acquire(check, act, sem(20), true, 16 * i);
    auto transfer = mock_check_transfer_begin(check, act);
    if (i == 0)
      first = transfer;
    EXPECT_EQ(transfer, first);
    touch(transfer, 0, 4, true);
    mock_check_release(check, transfer, sem(20), true, 16 * (i + 1));
    mock_check_transfer_end(check, transfer);
  }
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, RingIsInOrderAndLearnsAtDoorbells) {
  auto ring = mock_check_ring(check, 0, 16, 1);
  write(dve, 0x100, 0, 4);
  mock_check_release(check, dve, sem(6), true, 1);
  record(act, 0x200);
  mock_check_acquire(check, act, sem(6), true, 1);
  mock_check_doorbell(check, ring, act);
  read(ring, 1, 0, 4);
  write(ring, 2, 0, 4);
  EXPECT_TRUE(findings().empty());

  auto other = mock_check_ring(check, 0, 17, 1);
  read(other, 1, 0, 4);
  EXPECT_EQ(findings().size(), 1u);
}

TEST_F(Check, NextRunIsAfterTheLastOne) {
  write(dve, 0x100, 0, 4);
  mock_check_end(check, dve);
  mock_check_start(check, act, nullptr, 0);
  read(act, 0x200, 0, 4);
  EXPECT_TRUE(findings().empty());
}

TEST_F(Check, MemoryNobodyWroteInThisRun) {
  mock_check_range_t space = {kMemory, 0x40000, 0x80000};
  mock_check_start(check, pe, &space, 1);
  write(pe, 0x100, 0x40100, 16);
  read(pe, 0x140, 0x400F8, 24);
  auto all = findings();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].race);
  EXPECT_EQ(all[0].range.offset, 0x400F8u);
  EXPECT_EQ(all[0].range.length, 8u);
  EXPECT_EQ(all[0].second.pc, 0x140u);
  read(pe, 0x180, 0x3FFF0, 16);  // outside: somebody else's business
  EXPECT_TRUE(findings().empty());

  mock_check_end(check, pe);
  mock_check_start(check, pe, &space, 1);
  read(pe, 0x1C0, 0x40100, 16);
  EXPECT_EQ(findings().size(), 1u);
}

TEST_F(Check, SamePlacesAreReportedOnce) {
  for (int i = 0; i < 10; i++) {
    write(act, 0x100, 0, 64);
    mock_check_drain(check, act);
    read(dve, 0x200, 0, 64);
    mock_check_drain(check, dve);
  }
  std::set<std::pair<uint64_t, uint64_t>> pairs;
  for (const auto &f : findings())
    EXPECT_TRUE(pairs.insert({f.first.pc, f.second.pc}).second);
  EXPECT_EQ(pairs.size(), 2u);  // write then read, read then write
}

// Bytes an operand touches, by its definition.
std::set<uint64_t> bytes_of(const isa_operand_t &o, uint64_t window) {
  std::set<uint64_t> all;
  for (int lane = 0; lane < o.lanes; lane++)
    for (int l = 0; l < o.count[3]; l++)
      for (int k = 0; k < o.count[2]; k++)
        for (int j = 0; j < o.count[1]; j++)
          for (int i = 0; i < o.count[0]; i++)
            for (int b = 0; b < o.element_bytes; b++)
              all.insert(window + o.addr4 +
                         static_cast<uint64_t>(
                             (i * o.step[0] + j * o.step[1] + k * o.step[2] + l * o.step[3]) *
                             o.element_bytes) +
                         static_cast<uint64_t>(b) + static_cast<uint64_t>(lane) * ISA_SBUF_PITCH);
  return all;
}

TEST_F(Check, OperandTouchesItsBytesAndNoOthers) {
  const isa_operand_t patterns[] = {
      {0x5000, ISA_DTYPE_FP16, 2, 3, 3, {-1, 0, -8, 0}, {8, 1, 4, 1}, true, false, "dst"},
      {0x5000, ISA_DTYPE_FP32, 4, 4, 2, {3, 16, 0, 64}, {4, 2, 5, 2}, true, false, "dst"},
      {0x5001, ISA_DTYPE_INT8, 1, 2, 1, {2, 1, 0, 0}, {5, 2, 1, 1}, true, false, "dst"},
      {0x5000, ISA_DTYPE_FP32, 4, 1, 1, {0, 0, 0, 0}, {7, 1, 1, 1}, true, false, "dst"},
  };
  const mock_check_range_t window = {kMemory, 0x100000, 0x4000000};
  for (const isa_operand_t &o : patterns) {
    std::unique_ptr<mock_check_t, void (*)(mock_check_t *)> own(mock_check_create(true, false),
                                                                mock_check_destroy);
    auto writer = mock_check_engine(own.get(), 0, 0, ISA_ENGINE_PE, true);
    mock_check_record(own.get(), writer, 1, ISA_COPY);
    mock_check_operand(own.get(), writer, &window, &o);
    std::set<uint64_t> expected = bytes_of(o, window.offset), seen;
    uint64_t pc = 100;
    for (uint64_t lane = 0; lane < o.lanes; lane++)
      for (uint64_t at = 0x104F00; at < 0x105200; at++) {
        auto reader = mock_check_engine(own.get(), 0, 0, ISA_ENGINE_ACT, false);
        mock_check_record(own.get(), reader, pc++, ISA_COPY);
        mock_check_range_t byte = {kMemory, at + lane * ISA_SBUF_PITCH, 1};
        mock_check_access(own.get(), reader, &byte, false);
      }
    for (mock_check_finding_t f; mock_check_next(own.get(), &f);)
      seen.insert(f.range.offset);
    EXPECT_EQ(seen, expected);
  }
}

}  // namespace
