// SPDX-License-Identifier: Apache-2.0
// Runs of cores: transfers, notifications, faults, seeds, threads (dma-and-exec.md 3.6, 5, 6.3).
#include <unistd.h>

#include <sys/wait.h>

#include "tests/mock_dev/exec_fixture.h"

namespace {

void fill(cores_t &m, uint64_t offset, size_t size) {
  std::vector<uint8_t> p = dma_pattern(size);
  memcpy(m.data_bytes + offset, p.data(), size);
}

}  // namespace

TEST(Exec, DmaRecordMovesAndRaises) {
  cores_t m;
  fill(m, 0, 128 * 256);
  // 128 rows of 256 bytes into SBUF, one per partition, and back to another place.
  uint64_t sbuf = 0x2000004000;
  record_t in = dma(m.data.pa, sbuf, 256, 128, 24);
  in.put(48, int32_t{0x40000});
  record_t out = dma(sbuf, m.data.pa + 0x10000, 256, 128, 25);
  out.put(24, int32_t{0x40000}).wait(5, 24, 16);
  m.run(POOL, {in, out, nop().wait(5, 25, 16)});
  EXPECT_EQ(memcmp(m.data_bytes, m.data_bytes + 0x10000, 128 * 256), 0);
  EXPECT_EQ(m.semaphore(24), 16u);
  EXPECT_EQ(m.semaphore(25), 16u);
  mock_exec_counts_t counts;
  mock_exec_counts(m.host, 0, 0, &counts);
  EXPECT_EQ(counts.transfers, 2u);
  EXPECT_EQ(counts.transfer_bytes, 2u * 128 * 256);
  EXPECT_EQ(counts.records[POOL], 4u);
  EXPECT_EQ(counts.opcodes[POOL][0xB8], 2u);
  EXPECT_EQ(counts.records[PE], 0u);
}

TEST(Exec, DmaRecordByTable) {
  cores_t m;
  fill(m, 0, 4096);
  // Entries of the table: the data, then a place 64 KiB on; its address comes from an 8-byte cell.
  uint64_t table[] = {m.data.pa, m.data.pa + 0x10000}, cell = m.data.pa + 0x20000;
  memcpy(m.data_bytes + 0x20000, table, sizeof(table));
  memcpy(m.data_bytes + 0x20100, &cell, sizeof(cell));
  record_t r = dma(0, 0, 512, 4, 8);
  r.put(16, uint64_t{0x2000000000000000} | 1024).put(40, uint64_t{0x2800000100000000} | 5);
  m.run(SP, {load(m.data.pa + 0x20100, {130, 131}), move_imm({5}, {64}), r,
             move_imm({5}, {0xFFFFFFFF})});
  EXPECT_EQ(memcmp(m.data_bytes + 1024, m.data_bytes + 0x10040, 2048), 0);
  EXPECT_EQ(m.semaphore(8), 16u);
}

TEST(Exec, NotificationRecords) {
  cores_t m;
  nq_t sp(m, 8), pe(m, 4);
  record_t hinted = run_end(SP);
  hinted.b[3] = 3;
  for (int run = 1; run <= 3; ++run) {
    m.run(SP, {nop(), run_start(SP), nop(), hinted});
    std::vector<notification_t> got = sp.take();
    ASSERT_EQ(got.size(), 2u);
    for (int i = 0; i < 2; ++i) {
      uint64_t pc = (m.stream(0, SP) + (i == 0 ? 64 : 3 * 64)) / 64;
      EXPECT_EQ(got[i].pc_low, pc & 0xFFFF);
      EXPECT_EQ(got[i].pc_high_hint, (pc >> 16 & 0xF) | (i == 0 ? 0 : 0x30));
      EXPECT_EQ(got[i].type_flags, 0x80 | 0x16);
      EXPECT_EQ(got[i].counter, run);
      EXPECT_EQ(got[i].hint, 2 + i);
    }
    EXPECT_LT(got[0].timestamp, got[1].timestamp);
  }
  EXPECT_TRUE(pe.take().empty());
}

TEST(Exec, NotificationQueueWraps) {
  cores_t m;
  nq_t q(m, 5, 128);  // 8 slots
  uint16_t next = 0;
  for (int lap = 0; lap < 20; ++lap) {
    std::vector<record_t> program;
    for (int i = 0; i < 5; ++i)
      program.push_back(notify(5, 10, static_cast<uint16_t>(100 + next + i)));
    m.run(ACT, program);
    std::vector<notification_t> got = q.take();
    ASSERT_EQ(got.size(), 5u) << lap;
    for (const notification_t &n : got)
      EXPECT_EQ(n.hint, 100 + next++);
    EXPECT_EQ(m.bar_read(q.reg(0x10)), next * 16u % 128);
  }
  EXPECT_EQ(m.bar_read(0x6001000 + 0x1c), 0u);
}

TEST(Exec, NotificationQueueOverflows) {
  cores_t m;
  nq_t q(m, 5, 64);  // 4 slots, one stays free
  m.run(ACT, {notify(5, 10, 1), notify(5, 10, 2), notify(5, 10, 3)});
  EXPECT_EQ(m.bar_read(0x6001000 + 0x1c), 0u);
  EXPECT_EQ(q.slot(32).type_flags & 0x60, 0);
  m.run(ACT, {notify(5, 10, 4)});
  EXPECT_EQ(m.bar_read(0x6001000 + 0x1c), 1u << 29);
  std::vector<notification_t> got = q.take();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[1].type_flags & 0x60, 0);
  EXPECT_EQ(got[2].type_flags & 0x60, 0x40);
  EXPECT_EQ(got[2].hint, 3);
  m.bar_write(0x6001000 + 0x1c, 1u << 29);
  EXPECT_EQ(m.bar_read(0x6001000 + 0x1c), 0u);
  m.run(ACT, {notify(5, 10, 5), notify(5, 10, 6)});  // room again, across the wrap
  got = q.take();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].hint, 5);
  EXPECT_EQ(got[1].hint, 6);
}

TEST(Exec, BadProgramsStopTheirEngineOnly) {
  cores_t m;
  record_t unknown(0x77);
  record_t outside = write(0x1200000000, 4, 1);
  record_t far = dma(m.data.pa, 0x1200000000, 64, 1, 9);
  struct {
    std::vector<record_t> program;
    uint32_t slot;
    uint16_t error;
    const char *text;
  } rows[] = {
      {{nop(), unknown}, 1, 9, "opcode"},
      {{outside}, 0, 9, "nothing at the device address"},
      {{nop(), nop(), load(0x1200000000, {1})}, 2, 9, "nothing at the device address"},
      {{far}, 0, 4, "nothing behind a row"},
      {{write(events_v3(0) + 0x1400, 2, 1)}, 0, 9, "whole words"},
      {{notify(200, 1, 1)}, 0, 9, "queue"},
      {{move_imm({200}, {1})}, 0, 9, "register that cannot be written"},
      {{alu_imm(0x07, 1, 1, 1)}, 0, 9, "scalar operation that is not implemented"},
      {{dma(m.data.pa, m.data.pa, 64, 1, 9).put(12, uint8_t{1})}, 0, 9, "configuration byte"},
  };
  for (const auto &row : rows) {
    nq_t errors(m, 2);
    errors.take();
    m.semaphore_set(60, 0);
    m.start(0, SP, {nop().wait(5, 60, 1), move_imm({1}, {1}), store(m.data.pa, {1}), halt()});
    m.start(0, DVE, row.program);
    m.wait();
    EXPECT_EQ(m.status(DVE), 3u) << row.text;
    m.semaphore_add(60, 1);
    m.wait();
    EXPECT_EQ(m.status(SP), 0u);
    EXPECT_NE(m.report().find(row.text), std::string::npos) << m.report();
    EXPECT_NE(m.report().find("dve: pc"), std::string::npos) << m.report();
  }
  nq_t errors(m, 2);
  for (const auto &row : rows) {
    m.start(0, DVE, row.program);
    m.wait();
    std::vector<notification_t> got = errors.take();
    ASSERT_FALSE(got.empty()) << row.text;
    const notification_t &n = got.back();
    uint64_t pc = m.stream(0, DVE) / 64 + row.slot;
    EXPECT_EQ(n.type_flags & 0x1F, 3);
    EXPECT_EQ(n.counter, row.error) << row.text;
    EXPECT_EQ(n.hint, DVE);
    EXPECT_EQ(n.pc_low, pc & 0xFFFF) << row.text;
  }
}

TEST(Exec, ProgramCounterWithoutMemory) {
  cores_t m;
  for (uint64_t pc : {uint64_t{0x1200000000}, events_v3(0), m.code.pa + 4}) {
    m.start_at(0, PE, pc);
    m.wait();
    EXPECT_EQ(m.status(PE), 3u) << std::hex << pc;
    EXPECT_NE(m.report().find("no memory at the program counter"), std::string::npos) << m.report();
  }
}
