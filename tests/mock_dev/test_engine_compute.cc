// SPDX-License-Identifier: Apache-2.0
// Records that compute, as a sequencer runs them: operands with addresses in registers, bounds,
// tables, counts and simulated time (neuroncore-isa.md 1.3, verified-facts.md G5, G6).
#include <map>

#include "tests/mock_dev/exec_fixture.h"

namespace {

constexpr uint8_t FP32 = 10;

// `count` fp32 values per lane.
record_t fill(uint32_t addr4, uint16_t count, float value, uint8_t lanes) {
  record_t r(0x49);
  r.put(28, uint32_t{count}).put(40, value).put(44, addr4);
  r.b[32] = FP32;
  r.b[34] = lanes;
  r.put(48, int16_t{1}).put(56, count);
  for (size_t d = 1; d < 4; ++d)
    r.put(48 + 2 * d, int16_t{1}).put(56 + 2 * d, uint16_t{1});
  return r;
}

record_t copy(uint32_t from, uint32_t to, uint16_t count, uint8_t lanes) {
  record_t r(0x46);
  for (size_t base : {12u, 44u}) {
    r.put(base, base == 12 ? from : to).put(base + 4, int16_t{1}).put(base + 12, count);
    for (size_t d = 1; d < 4; ++d)
      r.put(base + 4 + 2 * d, int16_t{1}).put(base + 12 + 2 * d, uint16_t{1});
  }
  r.b[32] = r.b[33] = FP32;
  r.b[34] = lanes;
  return r;
}

record_t cast(uint32_t from, uint32_t to, uint16_t count) {
  record_t r = copy(from, to, count, 1);
  r.b[0] = 0x47;
  return r;
}

uint64_t sbuf_v3(uint32_t partition, uint32_t byte) {
  return 0x2000000000ull + partition * 0x40000ull + byte;
}

float float_at(const cores_t &m, uint64_t offset) {
  return m.at<float>(offset);
}

}  // namespace

TEST(EngineCompute, AddressesInRegisters) {
  cores_t m;
  uint32_t marker = 1u << 31;
  m.run(DVE, {move_imm({3, 40}, {0x4000, 0x5000}), fill(marker | 3, 16, 2.5f, 128),
              copy(marker | 3, marker | 40, 16, 128), move_imm({3}, {0x6000}),
              copy(0x5000, marker | 3, 16, 64), load(sbuf_v3(127, 0x503C), {1}),
              load(sbuf_v3(63, 0x6000), {2}), load(sbuf_v3(64, 0x6000), {4}),
              store(m.data.pa, {1, 2, 4})});
  EXPECT_EQ(float_at(m, 0), 2.5f);
  EXPECT_EQ(float_at(m, 4), 2.5f);
  EXPECT_EQ(float_at(m, 8), 0.0f);
  // PSUM by register.
  m.run(DVE, {move_imm({5}, {0x02000800}), fill(marker | 5, 16, 7.0f, 32),
              load(0x2802000000 + 31 * 0x8000 + 0x800, {1}), store(m.data.pa, {1})});
  EXPECT_EQ(float_at(m, 0), 7.0f);
}

TEST(EngineCompute, OperandsThatCannotBe) {
  struct {
    const char *instance;
    record_t record;
    uint32_t r3;
    const char *text;  // nullptr: it can
  } rows[] = {
      {"trn2.3xlarge", fill(0x37FC0, 16, 1, 128), 0, nullptr},
      {"trn2.3xlarge", fill(0x37FC4, 16, 1, 128), 0, "outside"},
      {"trn1.2xlarge", fill(0x2FFC0, 16, 1, 128), 0, nullptr},
      {"trn1.2xlarge", fill(0x2FFC4, 16, 1, 128), 0, "outside"},
      {"trn2.3xlarge", fill(0x02003FC4, 16, 1, 1), 0, "outside"},
      {"trn2.3xlarge", fill(96u << 18, 1, 1, 33), 0, "outside"},
      {"trn2.3xlarge", fill(1u << 31 | 3, 16, 1, 128), 0x37FC4, "outside"},
      {"trn2.3xlarge", fill(1u << 31 | 3, 16, 1, 128), 0x80000000,
       "does not hold an engine address"},
      {"trn2.3xlarge", fill(1u << 30, 16, 1, 128), 0, "shape"},
  };
  for (const auto &row : rows) {
    cores_t m(row.instance);
    m.start(0, DVE, {move_imm({3}, {row.r3}), row.record, halt()});
    m.wait();
    EXPECT_EQ(m.status(DVE), row.text == nullptr ? 0u : 3u) << m.report();
    EXPECT_NE(m.report().find(row.text == nullptr ? "dve: halted" : row.text), std::string::npos)
        << m.report();
  }
}

// An address from a register has to be one that could stand in the record.
TEST(EngineCompute, AddressesInRegistersAreCheckedToo) {
  record_t product(0x02);
  product.put(16, 1u << 31 | 3).put(48, 1u << 31 | 4);
  for (size_t base : {16u, 48u})
    for (size_t d = 0; d < 3; ++d)
      product.put(base + 4 + 2 * d, int16_t{1}).put(base + 10 + 2 * d, uint16_t{1});
  product.b[32] = 7;
  product.b[38] = product.b[39] = 32;
  product.b[43] = 3;
  product.b[44] = product.b[45] = 0x2;  // rows and columns 32 to 63
  record_t weights = product;
  weights.b[0] = 0x01;
  weights.b[43] = 0;
  std::fill_n(weights.b + 48, 16, uint8_t{0});
  weights.put(26, uint16_t{32});
  constexpr uint32_t SBUF = 32u << 18 | 0x4000, PSUM = 0x02000000 | 32u << 15;
  struct {
    uint32_t engine;
    std::vector<record_t> program;
    uint32_t r3, r4;
    const char *text;  // nullptr: it can
  } rows[] = {
      {PE, {weights, product}, SBUF, PSUM, nullptr},
      {PE, {weights}, 0x4000, 0, "another partition than its row group"},
      {PE, {weights}, PSUM, 0, "PSUM address where only SBUF is reached"},
      {PE, {weights, product}, SBUF, 0x02000000, "another partition than its column group"},
      {PE, {weights, product}, SBUF, SBUF, "SBUF address where only PSUM is reached"},
      {DVE, {fill(1u << 31 | 3, 16, 1, 32)}, 0x02000000, 0, nullptr},
      {DVE, {cast(0x4000, 1u << 31 | 3, 2049)}, 0x4000 - 4, 0, nullptr},
      {DVE, {cast(0x4000, 1u << 31 | 3, 2049)}, 0x4000 + 4, 0, "overlap"},
      {POOL, {fill(1u << 31 | 3, 16, 1, 32)}, 0x4000, 0, nullptr},
      {POOL, {fill(1u << 31 | 3, 16, 1, 32)}, 0x02000000, 0, "PSUM address where only SBUF"},
  };
  for (const auto &row : rows) {
    cores_t m;
    std::vector<record_t> program = {move_imm({3, 4}, {row.r3, row.r4})};
    program.insert(program.end(), row.program.begin(), row.program.end());
    program.push_back(halt());
    m.start(0, row.engine, program);
    m.wait();
    EXPECT_EQ(m.status(row.engine), row.text == nullptr ? 0u : 3u) << m.report();
    EXPECT_NE(m.report().find(row.text == nullptr ? ": halted" : row.text), std::string::npos)
        << m.report();
  }
}

// One function, one bucket: 2.5 + x / 2 for every finite x.
TEST(EngineCompute, TablesComeFromDeviceMemory) {
  cores_t m;
  constexpr uint8_t FUNCTION = 200;
  uint64_t directory = m.data.pa + 0x1000, profiles = m.data.pa + 0x2000,
           control = m.data.pa + 0x3000, buckets = m.data.pa + 0x4000;
  project_table_directory_t head = {1, 0};
  project_table_set_t set = {profiles, control, buckets, 1, 1, 1, 0};
  project_profile_t profile = {};
  profile.func_id = FUNCTION;
  profile.small_pos_exp_threshold = profile.small_neg_exp_threshold = 255;
  profile.large_pos_exp_threshold = profile.large_neg_exp_threshold = 255;
  float bucket[8] = {2.5f, 0.5f};
  memcpy(m.data_bytes + 0x1000, &head, sizeof(head));
  memcpy(m.data_bytes + 0x1000 + sizeof(head), &set, sizeof(set));
  memcpy(m.data_bytes + 0x2000, &profile, sizeof(profile));
  memcpy(m.data_bytes + 0x4000, bucket, sizeof(bucket));
  record_t table_load(0x23), activate(0x21);
  activate.b[12] = activate.b[15] = 1;
  activate.b[32] = FP32 | FP32 << 4;
  activate.b[33] = FP32;
  activate.b[34] = 128;
  activate.b[35] = FUNCTION;
  activate.put(36, 1.0f);
  for (size_t base : {16u, 48u}) {
    activate.put(base, base == 16 ? 0x4000u : 0x5000u);
    for (size_t d = 0; d < 3; ++d)
      activate.put(base + 4 + 2 * d, int16_t{1}).put(base + 10 + 2 * d, uint16_t{1});
    activate.put(base + 10, uint16_t{8});
  }
  std::vector<record_t> program = {table_load, activate, load(sbuf_v3(5, 0x501C), {1}),
                                   store(m.data.pa, {1}), halt()};
  m.run(DVE, {fill(0x4000, 8, 3.0f, 128)});
  m.start(0, ACT, program);
  m.wait();
  EXPECT_EQ(m.status(ACT), 3u);  // no directory
  m.bar_write(engine_register(false, 0, ACT, 0x10), static_cast<uint32_t>(directory));
  m.bar_write(engine_register(false, 0, ACT, 0x14), static_cast<uint32_t>(directory >> 32));
  m.start(0, ACT, program);
  m.wait();
  EXPECT_EQ(m.status(ACT), 0u) << m.report();
  EXPECT_EQ(float_at(m, 0), 4.0f);
  // The table in memory counts, not what was loaded once.
  bucket[1] = 1.5f;
  memcpy(m.data_bytes + 0x4000, bucket, sizeof(bucket));
  m.start(0, ACT, program);
  m.wait();
  EXPECT_EQ(float_at(m, 0), 7.0f);
  program[0].b[35] = 1;  // the second of one
  m.start(0, ACT, program);
  m.wait();
  EXPECT_EQ(m.status(ACT), 3u);
}

// Simulated time: a wait ends when what it waits for was raised, not when the scheduler gets to it.
TEST(EngineCompute, TimeFollowsTheWaits) {
  cores_t m;
  struct span_t {
    uint64_t start, end;
  };
  std::map<std::pair<uint32_t, uint64_t>, span_t> spans;
  mock_exec_trace(
      m.host,
      [](void *user, const mock_exec_event_t *e) {
        (*static_cast<std::map<std::pair<uint32_t, uint64_t>, span_t> *>(
            user))[{e->engine, e->pc}] = {e->start_ps, e->end_ps};
      },
      &spans);
  // ACT raises 70 forty times with work in between, DVE looks for the third and the last.
  m.load_program(0, DVE, {nop().wait(5, 70, 3), nop().wait(5, 70, 40), halt()});
  std::vector<record_t> program;
  for (int i = 0; i < 40; ++i)
    program.push_back(fill(0x4000, 1000, 1.0f, 128).update(0x13, 70));
  program.push_back(halt());
  m.load_program(0, ACT, program);
  for (uint32_t e : {DVE, ACT}) {
    m.bar_write(engine_register(false, 0, e, 0), static_cast<uint32_t>(m.stream(0, e)));
    m.bar_write(engine_register(false, 0, e, 4), static_cast<uint32_t>(m.stream(0, e) >> 32));
  }
  m.bar_write(engine_register(false, 0, DVE, 8), 1);
  m.wait();
  m.bar_write(engine_register(false, 0, ACT, 8), 1);
  EXPECT_EQ(m.wait(), MOCK_CORE_IDLE);
  uint64_t act = m.stream(0, ACT), dve = m.stream(0, DVE);
  auto at = [&](uint32_t e, uint64_t pc) { return spans[{e, pc}]; };
  EXPECT_EQ(at(ACT, act).end - at(ACT, act).start, (64 + 1000) * 714u);
  EXPECT_EQ(at(ACT, act + 64).start, at(ACT, act).end);
  EXPECT_EQ(at(DVE, dve).start, at(ACT, act + 2 * 64).end);
  EXPECT_EQ(at(DVE, dve + 64).start, at(ACT, act + 39 * 64).end);
  mock_exec_trace(m.host, nullptr, nullptr);
}

// What flows into counts: elements of moving columns times rows and columns of the array.
TEST(EngineCompute, MultiplyAccumulatesAreCounted) {
  cores_t m;
  record_t weights(0x01), product(0x02);
  for (record_t *r : {&weights, &product}) {
    uint16_t columns = r == &weights ? 64 : 32;
    r->put(16, 0x4000u).put(20, int16_t{1}).put(22, int16_t{0}).put(24, int16_t{0});
    r->put(26, columns).put(28, uint16_t{1}).put(30, uint16_t{1});
    r->b[32] = 7;
    r->b[38] = 128;
    r->b[39] = 64;
    r->b[44] = 0xF;
    r->b[45] = 0x3;
  }
  product.b[43] = 3;
  product.put(48, 0x02000000u).put(52, int16_t{1}).put(54, int16_t{0}).put(56, int16_t{0});
  product.put(58, uint16_t{32}).put(60, uint16_t{1}).put(62, uint16_t{1});
  m.run(PE, {weights, product, product});
  mock_exec_counts_t counts;
  mock_exec_counts(m.host, 0, 0, &counts);
  EXPECT_EQ(counts.macs, 2u * 128 * 64 * 32);
  EXPECT_EQ(counts.opcodes[PE][0x02], 2u);
  mock_exec_counts(m.host, 0, 99, &counts);
  EXPECT_EQ(counts.macs, 0u);
}
