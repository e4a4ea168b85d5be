// SPDX-License-Identifier: Apache-2.0
// What a sequencer does with its records (neuroncore-isa.md 2.2, 4.6, verified-facts.md G1, G7).
#include "tests/mock_dev/exec_fixture.h"

namespace {

std::vector<uint32_t> words(std::initializer_list<uint32_t> w) {
  return w;
}

void put_words(cores_t &m, uint64_t offset, const std::vector<uint32_t> &w) {
  memcpy(m.data_bytes + offset, w.data(), w.size() * 4);
}

std::vector<uint32_t> get_words(const cores_t &m, uint64_t offset, size_t n) {
  std::vector<uint32_t> w(n);
  memcpy(w.data(), m.data_bytes + offset, n * 4);
  return w;
}

}  // namespace

TEST(Engine, RegistersOfTheSequencer) {
  for (const char *name : {"trn2.3xlarge", "trn1.2xlarge"}) {
    cores_t m(name);
    for (uint32_t e = 0; e < 5; ++e) {
      for (uint64_t reg : {0x0, 0x4, 0x10, 0x14}) {
        auto value = static_cast<uint32_t>(0x1000 + e * 64 + reg);
        m.bar_write(engine_register(m.v2, 1, e, reg), value);
        EXPECT_EQ(m.bar_read(engine_register(m.v2, 1, e, reg)), value);
      }
      m.bar_write(engine_register(m.v2, 1, e, 0xc), 77);  // read only
      EXPECT_EQ(m.status(e, 1), 0u);
      EXPECT_EQ(m.bar_read(engine_register(m.v2, 1, e, 8)), 0u);
      EXPECT_EQ(m.bar_read(engine_register(m.v2, 0, e, 0)), 0u);
    }
    EXPECT_EQ(m.bar_read(engine_register(m.v2, 0, 5, 0)), 0u);  // no sixth engine
  }
}

TEST(Engine, EveryEngineOfBothGenerationsRuns) {
  for (const char *name : {"trn2.3xlarge", "trn1.2xlarge"}) {
    cores_t m(name);
    uint32_t cores = m.v2 ? 2 : 8;
    for (uint32_t core = 0; core < cores; ++core)
      for (uint32_t e = 0; e < 5; ++e)
        m.run(e, {move_imm({3}, {core * 100 + e}), store(m.data.pa + core * 64 + e * 4, {3})},
              core);
    for (uint32_t core = 0; core < cores; ++core)
      for (uint32_t e = 0; e < 5; ++e)
        EXPECT_EQ(m.at(core * 64 + e * 4), core * 100 + e);
  }
}

TEST(Engine, LoadsAndStores) {
  cores_t m;
  put_words(m, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  // 2 x 3, index 0 fastest: elements 0, 2 of rows 1 word and 4 words apart.
  record_t pattern(0xAA);
  pattern.b[12] = 9;
  pattern.b[14] = 2;
  pattern.b[15] = 3;
  pattern.put(16, m.data.pa).put(24, int32_t{2}).put(28, int32_t{4});
  for (uint8_t i = 0; i < 6; ++i)
    pattern.b[32 + i] = 10 + i;
  // Backwards, to every second word.
  record_t back = store(m.data.pa + 0x100 + 20, {10, 11, 12, 13, 14, 15});
  back.put(24, int32_t{-1});
  // Eight immediates.
  record_t immediates(0xAB);
  immediates.b[12] = 9;
  immediates.b[13] = 1;
  immediates.b[14] = 8;
  immediates.b[15] = 1;
  immediates.put(16, m.data.pa + 0x200).put(24, int32_t{2}).put(28, int32_t{1});
  for (uint32_t i = 0; i < 8; ++i)
    immediates.put(32 + 4 * i, 0xF0000000 + i);
  m.run(SP, {pattern, back, immediates});
  EXPECT_EQ(get_words(m, 0x100, 6), words({11, 9, 7, 5, 3, 1}));
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(m.at(0x200 + 8 * i), 0xF0000000 + i);
    EXPECT_EQ(m.at(0x204 + 8 * i), 0u);
  }
}

TEST(Engine, NarrowElements) {
  cores_t m;
  const uint8_t bytes[] = {0x80, 0xFF, 0xFE, 0x7F};
  memcpy(m.data_bytes, bytes, 4);
  auto narrow = [&](uint8_t dtype, uint64_t at, uint8_t reg) {
    record_t r = load(m.data.pa + at, {reg});
    r.b[12] = dtype;
    return r;
  };
  record_t half = store(m.data.pa + 0x40, {5});
  half.b[12] = 5;
  m.run(ACT, {move_imm({5}, {0x12345678}), narrow(2, 0, 1), narrow(3, 0, 2), narrow(4, 1, 3),
              narrow(5, 1, 4), store(m.data.pa + 0x80, {1, 2, 3, 4}), half});
  EXPECT_EQ(get_words(m, 0x80, 4), words({0xFFFFFF80, 0x80, 0xFFFFFEFF, 0xFEFF}));
  EXPECT_EQ(m.at(0x40), 0x5678u);
}

TEST(Engine, MoveReadsAllBeforeItWrites) {
  cores_t m;
  m.run(DVE, {move_imm({1, 2, 3, 4, 5, 6, 7, 8}, {11, 12, 13, 14, 15, 16, 17, 18}),
              move_reg({1, 2, 8}, {2, 1, 3}), store(m.data.pa, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_EQ(get_words(m, 0, 8), words({12, 11, 18, 14, 15, 16, 17, 18}));
}

TEST(Engine, ProgramCounterIsARegister) {
  cores_t m;
  m.run(POOL, {nop(), move_reg({128, 129}, {1, 2}), store(m.data.pa, {1, 2})});
  EXPECT_EQ(m.at<uint64_t>(0), m.stream(0, POOL) + 64);
}

TEST(Engine, Arithmetic) {
  struct {
    uint8_t op, dtype;
    uint32_t a, b, result;
  } rows[] = {
      {4, 9, 5, 7, 12},
      {4, 9, 0xFFFFFFFF, 2, 1},
      {5, 9, 5, 7, 0xFFFFFFFE},
      {6, 9, 0x10001, 0x10001, 0x20001},
      {6, 8, 0xFFFFFFFF, 7, 0xFFFFFFF9},
      {8, 9, 0xFFFFFFFF, 7, 0xFFFFFFFF},  // max
      {8, 8, 0xFFFFFFFF, 7, 7},
      {9, 9, 0xFFFFFFFF, 7, 7},  // min
      {9, 8, 0xFFFFFFFF, 7, 0xFFFFFFFF},
      {10, 9, 0xF0F0, 0xFF00, 0xF000},
      {11, 9, 0xF0F0, 0xFF00, 0xFFF0},
      {12, 9, 0xF0F0, 0xFF00, 0x0FF0},
      {16, 9, 0x80000001, 4, 0x10},  // shifts
      {16, 9, 1, 32, 0},
      {17, 9, 0x80000001, 4, 0x08000000},
      {17, 8, 0x80000001, 4, 0x08000000},
      {3, 8, 0x80000001, 4, 0xF8000000},
      {3, 8, 0x80000001, 40, 0xFFFFFFFF},
  };
  cores_t m;
  for (const auto &row : rows) {
    // Immediate, then register, into a source register.
    record_t reg = alu_imm(row.op, 2, 2, 0, row.dtype);
    reg.b[14] = 0;
    reg.b[18] = 4;
    m.run(PE, {move_imm({2, 4}, {row.a, row.b}), alu_imm(row.op, 1, 2, row.b, row.dtype), reg,
               store(m.data.pa, {1, 2})});
    EXPECT_EQ(m.at(0), row.result) << int{row.op} << ' ' << int{row.dtype};
    EXPECT_EQ(m.at(4), row.result) << int{row.op} << ' ' << int{row.dtype};
  }
}

TEST(Engine, ArithmeticOnPairs) {
  cores_t m;
  auto pair = [](uint8_t op, uint64_t value, uint8_t dtype) {
    record_t r = alu_imm(op, 5, 1, 0, dtype);
    r.b[17] = 2;
    r.b[21] = 6;
    return r.put(24, value);
  };
  m.run(PE, {move_imm({1, 2}, {0xFFFFFFFF, 1}), pair(4, 0x100000001, 1), store(m.data.pa, {5, 6}),
             pair(6, 3, 12), store(m.data.pa + 8, {5, 6})});
  EXPECT_EQ(m.at<uint64_t>(0), 0x1FFFFFFFFull + 0x100000001ull);
  EXPECT_EQ(m.at<uint64_t>(8), 0x1FFFFFFFFull * 3);
}

TEST(Engine, Comparisons) {
  // code: against an immediate, + 8: of two registers; taken for a < b, a == b, a > b.
  struct {
    uint8_t code;
    bool taken[3];
  } rows[] = {{1, {true, false, false}}, {2, {true, true, false}}, {3, {false, true, false}},
              {4, {true, false, true}},  {5, {false, true, true}}, {6, {false, false, true}}};
  const uint32_t b = 5, below[] = {0xFFFFFFFB, 4}, above[] = {6, 0xFFFFFFFB};  // signed, unsigned
  cores_t m;
  for (uint32_t sign = 0; sign < 2; ++sign) {
    uint8_t dtype = sign == 0 ? 8 : 9;
    for (const auto &row : rows) {
      for (int i = 0; i < 3; ++i) {
        uint32_t a = i == 0 ? below[sign] : i == 1 ? b : above[sign];
        record_t reg = branch(row.code + 8, 1, 0, 2, dtype);
        reg.b[33] = 2;
        m.run(SP, {move_imm({1, 2, 3, 4}, {a, b, 1, 1}), branch(row.code, 1, b, 2, dtype),
                   move_imm({3}, {0}), reg, move_imm({4}, {0}), store(m.data.pa, {3, 4})});
        EXPECT_EQ(m.at(0), row.taken[i] ? 1u : 0u) << int{row.code} << ' ' << i << ' ' << sign;
        EXPECT_EQ(m.at(4), row.taken[i] ? 1u : 0u) << int{row.code} << ' ' << i << ' ' << sign;
      }
    }
  }
}

TEST(Engine, LoopBackwards) {
  cores_t m;
  m.run(ACT, {move_imm({1, 2}, {0, 0}), alu_imm(4, 2, 2, 3), alu_imm(4, 1, 1, 1),
              branch(1, 1, 10000, -2), store(m.data.pa, {1, 2})});
  EXPECT_EQ(m.at(0), 10000u);
  EXPECT_EQ(m.at(4), 30000u);
}

TEST(Engine, BranchToRegisters) {
  cores_t m;
  uint64_t away = m.code.pa + 60 * cores_t::STREAM;
  std::vector<record_t> there = {move_imm({9}, {42}), store(m.data.pa, {9}), halt()};
  memcpy(m.code_bytes + 60 * cores_t::STREAM, there.data(), there.size() * 64);
  record_t absolute(0xA9);
  absolute.b[13] = 9;
  absolute.b[14] = 1;
  absolute.b[34] = 62;
  absolute.b[35] = 63;
  m.run(POOL, {move_imm({62, 63}, {static_cast<uint32_t>(away), static_cast<uint32_t>(away >> 32)}),
               absolute});
  EXPECT_EQ(m.at(0), 42u);
  record_t relative(0xA9);
  relative.b[13] = 9;
  relative.b[14] = 4;
  relative.b[34] = 7;
  m.run(POOL, {move_imm({7, 8}, {static_cast<uint32_t>(-128), 5}), branch(0, 0, 0, 3),
               store(m.data.pa, {8}), halt(), relative, halt()});
  EXPECT_EQ(m.at(0), 5u);
}

TEST(Engine, EndlessLoopCanBeHalted) {
  cores_t m;
  m.start(0, POOL, {branch(0, 0, 0, 0)});
  EXPECT_EQ(m.status(POOL), 1u);
  EXPECT_EQ(m.wait(0, 20000000), MOCK_CORE_BUSY);
  EXPECT_EQ(m.status(POOL), 1u);
  m.run(SP, {move_imm({1}, {3}), store(m.data.pa, {1}), write(events_v3(0) + 0x8088, 4, 0)});
  EXPECT_EQ(m.at(0), 3u);
  EXPECT_EQ(m.status(POOL), 0u);
}

TEST(Engine, StoresOfOneToEightBytes) {
  cores_t m;
  std::vector<record_t> program;
  for (uint8_t size = 1; size <= 8; ++size)
    program.push_back(write(m.data.pa + 16 * size + 1, size, 0x8877665544332211));
  program.push_back(write(m.data.pa + 0x100, 4, 0xAABBCCDD));
  program.back().b[13] = 2;
  program.back().put(24, m.data.pa + 0x108).put(40, uint64_t{0x1234});
  m.run(SP, program);
  for (uint32_t size = 1; size <= 8; ++size) {
    for (uint32_t i = 0; i < 12; ++i)
      EXPECT_EQ(m.data_bytes[16 * size + i], i >= 1 && i <= size ? 0x11 * i : 0) << size;
  }
  EXPECT_EQ(m.at(0x100), 0xAABBCCDDu);
  EXPECT_EQ(m.at(0x108), 0x1234u);
}

TEST(Engine, StoresReachRegisters) {
  cores_t m;
  m.semaphore_set(40, 5, 3);
  // Another core's semaphore by its windows, an event, the head of a notification queue.
  m.run(SP,
        {write(events_v3(3) + 0x1800 + 40 * 4, 4, 7), write(events_v3(3) + 0x1400 + 41 * 4, 4, 9),
         write(events_v3(3) + 17 * 4, 4, 1), write(0x8006001100 + 0x28 * 15 + 0xc, 4, 48),
         load(events_v3(3) + 0x1000 + 40 * 4, {1}), store(m.data.pa, {1})});
  EXPECT_EQ(m.semaphore(40, 3), 12u);
  EXPECT_EQ(m.semaphore(41, 3), 9u);
  EXPECT_EQ(m.event(17, 3), 1u);
  EXPECT_EQ(m.bar_read(0x6001100 + 0x28 * 15 + 0xc), 48u);
  EXPECT_EQ(m.at(0), 12u);
}

TEST(Engine, DoorbellMovesDescriptors) {
  cores_t m;
  queue_t q(m, 3, 5);  // an engine of core 0
  buffers_t b(m, 4096);
  q.put_tx({tx_desc(b.src.pa, 4096)});
  q.put_rx({rx_desc(b.dst.pa, 4000), rx_desc(b.dst.pa + 4000, 96)});
  uint64_t ring = 0x1002000000 + 3 * 0x100000 + 0x1000 * 6 + 0x38;
  record_t both_rings = write(ring + 0x20000, 4, 2);
  both_rings.b[13] = 4;
  both_rings.put(24, ring).put(40, uint64_t{1});
  m.run(ACT, {both_rings});
  EXPECT_EQ(dma_read(m, b.dst.handle, 0, 4096), b.data);
  // Through the broadcast window, all but engine 3 skipped.
  q.put_tx({tx_desc(b.src.pa, 100)});
  q.put_rx({rx_desc(b.dst.pa + 1000, 100)});
  uint64_t broadcast = 0x1002080000 + 0x1000 * 6 + 0x38;
  uint64_t value = 0xFFF70001;
  m.run(ACT, {write(broadcast + 0x20000, 4, value), write(broadcast, 4, value)});
  EXPECT_EQ(dma_read(m, b.dst.handle, 1000, 100), cut(b.data, 0, 100));
}

TEST(Engine, StartsAndHaltsAnother) {
  cores_t m;
  m.load_program(0, DVE, {move_imm({1}, {99}), store(m.data.pa, {1}), halt()});
  uint64_t pc = m.stream(0, DVE), block = events_v3(0) + 0x8000 + DVE * 0x40;
  record_t set_pc = write(block, 4, pc & UINT32_MAX);
  set_pc.b[13] = 4;
  set_pc.put(24, block + 4).put(40, pc >> 32);
  m.run(PE, {set_pc, write(block + 8, 4, 1)});
  EXPECT_EQ(m.at(0), 99u);
}

TEST(Engine, SemaphoresInBulk) {
  cores_t m;
  for (uint32_t i = 0; i < 256; ++i)
    m.semaphore_set(i, i + 1);
  record_t range(0xB0);
  range.b[12] = 1;
  range.b[13] = 3;
  range.b[14] = 53;
  m.run(PE, {range});
  for (uint32_t i = 0; i < 256; ++i)
    EXPECT_EQ(m.semaphore(i), i >= 3 && i <= 53 ? 0 : i + 1) << i;
  record_t mask(0xB0);
  mask.b[12] = 2;
  mask.b[32 + 100 / 8] = 1 << 100 % 8;
  mask.b[32 + 255 / 8] = 1 << 255 % 8;
  m.run(PE, {mask});
  EXPECT_EQ(m.semaphore(100), 0u);
  EXPECT_EQ(m.semaphore(99), 100u);
  EXPECT_EQ(m.semaphore(255), 0u);
}

// The image is fetched from device memory every time.
TEST(Engine, ChangedByteChangesTheNextRun) {
  cores_t m;
  m.run(SP, {move_imm({1}, {0x55}), store(m.data.pa, {1})});
  EXPECT_EQ(m.at(0), 0x55u);
  m.code_bytes[SP * cores_t::STREAM + 32] ^= 0x80;
  m.start_at(0, SP, m.stream(0, SP));
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  EXPECT_EQ(m.at(0), 0xD5u);
}

TEST(Engine, RunsFromHostMemoryAndSbuf) {
  cores_t m;
  chunk_t host = alloc(m, {.size = 8192, .host = true});
  std::vector<record_t> program = {move_imm({1}, {7}), store(m.data.pa, {1}), halt()};
  ASSERT_EQ(buf_copy(m, host.handle, program.data(), 4096 - 64, program.size() * 64, true), 0);
  m.start_at(0, PE, host.pa + 4096 - 64);
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  EXPECT_EQ(m.at(0), 7u);
}
