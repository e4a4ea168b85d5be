// SPDX-License-Identifier: Apache-2.0
// Wrong readings that verified-matmul.md 2 tried on matmul_large.neff: see test_readings.cc. Of its
// sixteen column tiles per core only one is computed, so that each takes a second: in the others
// loads of y and the work of PE are replaced by records that do nothing but wait and update as they
// did. The order of everything else stays.
#include <gmock/gmock.h>

#include <cmath>
#include <optional>

#include "tests/programs/misreading.h"
#include "tests/programs/session.h"
#include "tests/reference/floats.h"
#include "tests/reference/matmul.h"

namespace {

constexpr matmul_shape kShape = kMatmulLarge;
constexpr uint32_t kCoreColumns = 32768, kTileColumns = 2048, kTile = 1;  // reads x^T from scratch
constexpr uint32_t kTileMatmuls = 1024, kTileWeights = 256;
constexpr uint64_t kRowBytes = uint64_t{kShape.columns} * 2;
constexpr uint64_t kOutputs = 2 * 128 * kTileColumns;

isa_record nop_of(const isa_record &record) {
  isa_record nop = {};
  nop.h = record.h;
  nop.h.opcode = ISA_NOP;
  return nop;
}

// The wait of a transfer, and its update as if it had been done at once.
isa_record event_of(const isa_dma &dma) {
  isa_event_semaphore event = {};
  event.h = {ISA_EVENT_SEMAPHORE, ISA_HEADER_WORDS, 0, 0, ISA_WAIT_NONE, 0, ISA_UPDATE_SEM_ADD,
             dma.semaphore,       dma.increment};
  event.wait_mode = dma.h.wait_mode;
  event.wait_index = dma.h.wait_index;
  event.wait_value = dma.h.value;
  isa_record record;
  memcpy(&record, &event, sizeof(record));
  return record;
}

bool loads_y(const isa_record &record, isa_dma *dma) {
  memcpy(dma, &record, sizeof(*dma));
  return (record.h.opcode == ISA_PSEUDO_DMA_DIRECT2D || record.h.opcode == ISA_DMAMEMCPY) &&
         dma->src.mode == ISA_ADDR8_TABLE && isa_addr8_id(dma->src) == 1;
}

void keep_one_tile(records_t &records) {
  uint32_t matmuls = 0, weights = 0;
  for (isa_record &record : records) {
    auto transpose = reinterpret_cast<const uint8_t *>(&record)[offsetof(isa_matmul, transpose)];
    isa_dma dma;
    if (record.h.opcode == ISA_MATMUL && transpose == 0 && matmuls++ / kTileMatmuls != kTile)
      record = nop_of(record);
    else if (record.h.opcode == ISA_LDWEIGHTS && transpose == 0 &&
             weights++ / kTileWeights != kTile)
      record = nop_of(record);
    else if (loads_y(record, &dma) &&
             dma.src.offset % (kCoreColumns * 2) / (kTileColumns * 2) != kTile)
      record = event_of(dma);
  }
}

struct outcome {
  NRT_STATUS load = NRT_SUCCESS, run = NRT_SUCCESS;
  uint64_t wrong = 0, nan = 0;  // outputs of the tile
  size_t findings = 0;
  bool caught() const {
    return load != NRT_SUCCESS || run != NRT_SUCCESS || wrong != 0 || findings != 0;
  }
};

class LargeReadings : public testing::Test {
 protected:
  void SetUp() override {
    file = corpus_file("matmul_large.neff");
    SKIP_WITHOUT(file);
  }

  static matmul_columns columns(uint32_t core) {
    return {core * kCoreColumns + kTile * kTileColumns, kTileColumns};
  }

  static void fill(program &p) {
    std::vector<uint16_t> x(uint64_t{kShape.rows} * kShape.depth);
    matmul_fill_x(kShape, matmul_data::INTEGER, 1, x.data());
    p.write("x", x.data(), 0, 2 * x.size());
    auto *y = static_cast<uint8_t *>(nrt_tensor_get_va(p.tensor("y")));
    ASSERT_NE(y, nullptr);
    std::vector<uint16_t> part(uint64_t{kShape.depth} * kTileColumns);
    for (uint32_t core = 0; core < 2; core++) {
      matmul_fill_y(kShape, matmul_data::INTEGER, 1, 0, kShape.depth, columns(core), part.data());
      for (uint64_t row = 0; row < kShape.depth; row++)
        memcpy(y + row * kRowBytes + columns(core).first * 2, &part[row * kTileColumns],
               kTileColumns * 2);
    }
  }

  static void judge(program &p, outcome *o) {
    static const std::vector<int32_t> exact[2] = {matmul_exact_integer(kShape, 1, columns(0)),
                                                  matmul_exact_integer(kShape, 1, columns(1))};
    std::vector<uint16_t> out = p.read_as<uint16_t>("output0");
    for (uint32_t core = 0; core < 2; core++)
      for (uint64_t row = 0; row < kShape.rows; row++)
        for (uint64_t c = 0; c < kTileColumns; c++) {
          float got = fp16_value(out[row * kShape.columns + columns(core).first + c]);
          o->nan += std::isnan(got) ? 1 : 0;
          o->wrong += got == fp16_round(exact[core][row * kTileColumns + c]) ? 0 : 1;
        }
  }

  using loaded_t = std::function<void(session &, program &)>;
  // `edit`: the records as read wrongly, before all but one tile go. `wrong`: see misreading.h.
  outcome try_out(const std::function<bool(isa_record &)> &edit, uint32_t changes,
                  const mock_exec_options_t &options = {}, const misreading::effect_t &wrong = {},
                  const loaded_t &loaded = {}) {
    outcome o;
    uint32_t changed = 0;
    std::vector<uint8_t> edited = edit_records(file, edit, &changed);
    EXPECT_EQ(changed, changes);
    session s;
    s.configure(options);
    program p(edit_streams(edited, keep_one_tile));
    o.load = p.status();
    if (o.load != NRT_SUCCESS)
      return o;
    fill(p);
    if (loaded)
      loaded(s, p);
    p.spoil("output0");
    std::optional<misreading> device;
    if (wrong)
      device.emplace(s.host(), wrong);
    o.run = p.run();
    if (o.run == NRT_SUCCESS)
      judge(p, &o);
    o.findings = s.findings().size();
    printf("status %d, %lu wrong, %lu of them NaN, %zu findings\n", o.run,
           static_cast<unsigned long>(o.wrong), static_cast<unsigned long>(o.nan), o.findings);
    return o;
  }
  static void expect_no_column_right(const outcome &o) {
    EXPECT_EQ(o.run, NRT_SUCCESS);
    EXPECT_GT(o.wrong, kOutputs * 9 / 10);
  }

  static bool as_it_is(isa_record &) { return false; }
  // Transfers are late, at random, and races are looked for.
  static constexpr mock_exec_options_t kChecked = {
      .seed = 1, .strict = 0, .races = 1, .exact_functions = 0};
  std::vector<uint8_t> file;
};

}  // namespace

TEST_F(LargeReadings, TheFileAsItIs) {
  for (const mock_exec_options_t &options : {mock_exec_options_t{}, kChecked})
    EXPECT_FALSE(try_out(as_it_is, 0, options).caught());
}

TEST_F(LargeReadings, WeightsWithoutLastColumnFirst) {
  expect_no_column_right(
      try_out(for_opcode<isa_ldweights>(ISA_LDWEIGHTS, mirror_weights), 2 * 4352));
}

TEST_F(LargeReadings, BeginAndEndSwapped) {
  expect_no_column_right(
      try_out(for_opcode<isa_matmul>(ISA_MATMUL,
                                     [](isa_matmul &r) {
                                       bool mine = r.flags == 1 || r.flags == 2;
                                       r.flags = mine ? static_cast<uint8_t>(3 - r.flags) : r.flags;
                                       return mine;
                                     }),
              2 * 2 * 512));
}

// Eight transposes share a bank.
TEST_F(LargeReadings, BeginClearsTheBank) {
  expect_no_column_right(try_out(as_it_is, 0, {}, clear_bank_at_begin));
}

TEST_F(LargeReadings, SecondWaitIgnored) {
  auto edit = for_opcode<isa_event_semaphore>(ISA_EVENT_SEMAPHORE, [](isa_event_semaphore &r) {
    bool both = r.h.wait_mode != 0 && r.wait_mode != 0;
    if (both)
      r.wait_mode = r.wait_index = 0, r.wait_value = 0;
    return both;
  });
  EXPECT_GT(try_out(edit, 2 * 130, kChecked).findings, 0u);
}

TEST_F(LargeReadings, WaitOfTransfersIgnored) {
  auto edit = for_opcode<isa_dma>(ISA_PSEUDO_DMA_DIRECT2D, [](isa_dma &r) {
    bool waits = r.h.wait_mode != 0;
    r.h.wait_mode = r.h.wait_index = 0;
    r.h.value = 0;
    return waits;
  });
  outcome o = try_out(edit, 2 * 4348, kChecked);
  expect_no_column_right(o);
  EXPECT_GT(o.nan, 0u);
  EXPECT_GT(o.findings, 0u);
}

// A row of the upper half of y comes from 4 GiB below.
TEST_F(LargeReadings, OffsetTakenAsSigned) {
  auto plant = [](session &s, program &p) {
    nrt_tensor_device_allocation_info_t y;
    ASSERT_EQ(nrt_tensor_get_device_allocation_info(p.tensor("y"), &y), NRT_SUCCESS);
    uint32_t planted = 0;
    for (uint32_t subgraph = 0; subgraph < 2; subgraph++) {
      uint32_t first = 0, slots = p.main_slots(subgraph, ISA_ENGINE_POOL, &first);
      for (uint32_t slot = first; slot < first + slots; slot++) {
        auto *at = static_cast<isa_record *>(
            mock_dram(s.host(), 0, p.image(subgraph, ISA_ENGINE_POOL, slot), ISA_RECORD_BYTES));
        isa_dma dma;
        if (!loads_y(*at, &dma) || dma.src.offset >> 31 == 0)
          continue;
        isa_addr8_set_device(
            &dma.src, y.physical_address +
                          static_cast<uint64_t>(int64_t{static_cast<int32_t>(dma.src.offset)}));
        memcpy(at, &dma, sizeof(dma));
        planted++;
      }
    }
    EXPECT_EQ(planted, 2 * kTileWeights / 2);
  };
  expect_no_column_right(try_out(as_it_is, 0, {}, {}, plant));
}

// --- the whole program, which does not get far ---------------------------------------------------

TEST_F(LargeReadings, FinishedTransferAddsOne) {
  uint32_t changed = 0;
  session s;
  program p(edit_records(file,
                         for_opcode<isa_dma>(ISA_PSEUDO_DMA_DIRECT2D,
                                             [](isa_dma &r) {
                                               r.increment = 1;
                                               return true;
                                             }),
                         &changed));
  EXPECT_EQ(changed, 2 * 4384u);
  ASSERT_EQ(p.status(), NRT_SUCCESS);
  mock_exec_counts_t before, after;
  mock_exec_counts(s.host(), 0, p.core(0), &before);
  EXPECT_EQ(p.run(), NRT_TIMEOUT);
  mock_exec_counts(s.host(), 0, p.core(0), &after);
  // Deadlock after 18 slots of Pool: B1, CC, which is not loaded, and the loads of x.
  EXPECT_EQ(after.opcodes[ISA_ENGINE_POOL][ISA_DMAMEMCPY] -
                before.opcodes[ISA_ENGINE_POOL][ISA_DMAMEMCPY],
            16u);
}

TEST_F(LargeReadings, TableIndexTakenAsVariable) {
  uint32_t changed = 0;
  std::vector<uint8_t> edited =
      edit_records(file,
                   for_opcode<isa_dma>(ISA_PSEUDO_DMA_DIRECT2D,
                                       [](isa_dma &r) {
                                         bool table = false;
                                         for (isa_addr8 *address : {&r.src, &r.dst})
                                           if (address->mode == ISA_ADDR8_TABLE) {
                                             address->mode = ISA_ADDR8_VARIABLE;
                                             table = true;
                                           }
                                         return table;
                                       }),
                   &changed);
  EXPECT_EQ(changed, 2 * (4112u + 16));
  session s;
  EXPECT_EQ(program(file).status(), NRT_SUCCESS);
  EXPECT_NE(program(edited).status(), NRT_SUCCESS);
}
