// SPDX-License-Identifier: Apache-2.0
// Wrong readings that attn_v6.neff tells apart (verified-attention.md 4, 5, 6), planted as changed
// records: see test_readings.cc. For some the sheet has the figure that comes out: the largest
// difference from textbook attention, 8.514404e-03 when read right.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

#include "mock_dev/pattern.h"
#include "tests/programs/attention_run.h"
#include "tests/programs/misreading.h"

namespace {

// Recipe A, and one of recipe B.
const attention_inputs &recipe_a() {
  static const attention_inputs in = attention_recipe_a();
  return in;
}
const attention_inputs &recipe_b() {
  static const attention_inputs in = attention_recipe_b(43);
  return in;
}

struct outcome {
  NRT_STATUS load = NRT_SUCCESS, run = NRT_SUCCESS;
  attention_figures figures{};
};

class AttentionReadings : public testing::Test {
 protected:
  void SetUp() override {
    file = corpus_file("attn_v6.neff");
    SKIP_WITHOUT(file);
  }
  // `wrong`: see misreading.h.
  outcome try_out(const std::vector<uint8_t> &edited, const attention_inputs &in,
                  const misreading::effect_t &wrong = {}) {
    outcome o;
    session s;
    s.configure({.seed = 0, .strict = 0, .races = 0, .exact_functions = 1});
    attention_run a(edited);
    o.load = a.status();
    if (o.load != NRT_SUCCESS)
      return o;
    a.fill(in);
    std::optional<misreading> device;
    if (wrong)
      device.emplace(s.host(), wrong);
    o.run = a.run();
    if (o.run == NRT_SUCCESS)
      o.figures = a.figures();
    return o;
  }
  outcome plant(const std::function<bool(isa_record &)> &edit, uint32_t changes,
                const attention_inputs &in = recipe_a()) {
    uint32_t changed = 0;
    std::vector<uint8_t> edited = edit_records(file, edit, &changed);
    EXPECT_EQ(changed, changes);
    return try_out(edited, in);
  }
  void expect_figure(const outcome &o, double figure, double unit) {
    EXPECT_EQ(o.load, NRT_SUCCESS);
    EXPECT_EQ(o.run, NRT_SUCCESS);
    EXPECT_NEAR(o.figures.textbook, figure, unit);
  }
  static bool out_of_window(const outcome &o) {
    return o.load != NRT_SUCCESS || o.run != NRT_SUCCESS ||
           !(o.figures.textbook >= 8.505e-3 && o.figures.textbook <= 8.515e-3);
  }
  std::vector<uint8_t> file;
};

}  // namespace

TEST_F(AttentionReadings, TheFileAsItIs) {
  outcome o = plant([](isa_record &) { return false; }, 0);
  EXPECT_FALSE(out_of_window(o));
  o = plant([](isa_record &) { return false; }, 0, recipe_b());
  EXPECT_EQ(o.run, NRT_SUCCESS);
  EXPECT_LE(o.figures.step, 2e-2);
  // and with a device that is looked at after each record
  o = try_out(file, recipe_a(), [](mock_core_t *, uint32_t, const isa_record &) {});
  EXPECT_FALSE(out_of_window(o));
}

TEST_F(AttentionReadings, WeightColumnsMirrored) {
  outcome o = plant(for_opcode<isa_ldweights>(ISA_LDWEIGHTS, mirror_weights), 367);
  expect_figure(o, 1.010e-2, 0.0006e-2);
}

// Every square stationary operand W[k, m] taken as W[m, k], the one of the transposes too.
TEST_F(AttentionReadings, StationaryOperandTransposed) {
  expect_figure(try_out(file, recipe_a(), transpose_weights), 8.621e-3, 0.0006e-3);
}

TEST_F(AttentionReadings, SelectComparisons) {
  const double figures[] = {4.2e-2, 4.3e-2, 4.8e-2};  // >, >=, ==; the file has !=
  for (uint8_t compare = 0; compare < 3; compare++) {
    SCOPED_TRACE(int{compare});
    expect_figure(plant(for_opcode<isa_affine_select>(ISA_AFFINE_SELECT,
                                                      [=](isa_affine_select &r) {
                                                        r.compare = compare;
                                                        return true;
                                                      }),
                        2),
                  figures[compare], 0.06e-2);
  }
}

TEST_F(AttentionReadings, ChannelMultiplierPlusOne) {
  expect_figure(plant(for_opcode<isa_affine_select>(ISA_AFFINE_SELECT,
                                                    [](isa_affine_select &r) {
                                                      r.channel_multiplier = 1;
                                                      return true;
                                                    }),
                      2),
                7.30e-3, 0.006e-3);
}

// 1.0 as fp32 is 0x3F800000; its low half, taken as bf16, is 0.
TEST_F(AttentionReadings, FillTakenAsBf16) {
  expect_figure(plant(for_opcode<isa_move>(ISA_MOVE,
                                           [](isa_move &r) {
                                             bool fill = r.immediate[0] == 0x3F800000;
                                             r.immediate[0] = fill ? 0 : r.immediate[0];
                                             return fill;
                                           }),
                      1),
                7.30e-3, 0.006e-3);
}

TEST_F(AttentionReadings, BiasColumnOne) {
  expect_figure(plant(for_opcode<isa_memset>(ISA_MEMSET,
                                             [](isa_memset &r) {
                                               bool column = r.dst.addr4 == 0x4050;
                                               r.value = column ? 0x3F800000 : r.value;
                                               return column;
                                             }),
                      1),
                1.03e-2, 0.006e-2);
}

// rsqrt(in * scale) with a scale that makes it larger by 2^-9.
TEST_F(AttentionReadings, RsqrtSlightlyWrong) {
  auto edit = for_opcode<isa_activate>(ISA_ACTIVATE, [](isa_activate &r) {
    if (r.function != 29)
      return false;
    auto scale = static_cast<float>(std::pow(1 + 0x1p-9, -2));
    memcpy(&r.scale, &scale, sizeof(scale));
    return true;
  });
  outcome o = plant(edit, 16);
  EXPECT_TRUE(out_of_window(o));
  EXPECT_NEAR(o.figures.textbook, 8.522e-3, 0.0006e-3);
}

// The address of the bias column taken as a number is as good as 0, but not the other way round.
TEST_F(AttentionReadings, BiasKindInverted) {
  outcome o = plant(for_opcode<isa_activate>(ISA_ACTIVATE,
                                             [](isa_activate &r) {
                                               r.bias_source =
                                                   static_cast<uint8_t>(1 - r.bias_source);
                                               return true;
                                             }),
                    136);
  EXPECT_TRUE(out_of_window(o));
}

TEST_F(AttentionReadings, ReduceByAdding) {
  outcome o = plant(for_opcode<isa_copy>(ISA_TENSOR_REDUCE,
                                         [](isa_copy &r) {
                                           r.op = ISA_ALU_ADD;
                                           return true;
                                         }),
                    20, recipe_b());
  EXPECT_EQ(o.run, NRT_SUCCESS);
  EXPECT_GT(o.figures.step, 2e-2);  // NaN counts as infinite
}

TEST_F(AttentionReadings, StepZeroOfATransferAsDense) {
  outcome o = plant(for_opcode<isa_dma>(ISA_PSEUDO_DMA_DIRECT2D,
                                        [](isa_dma &r) {
                                          bool broadcast = r.src_step[0] == 0;
                                          r.src_step[0] = broadcast ? r.src_bytes : r.src_step[0];
                                          return broadcast;
                                        }),
                    20, recipe_b());
  EXPECT_TRUE(o.load != NRT_SUCCESS || o.run != NRT_SUCCESS || o.figures.step > 2e-2);
}

TEST_F(AttentionReadings, OtherFunctionSet) {
  outcome o = plant(for_opcode<isa_act_table_load>(ISA_ACT_TABLE_LOAD,
                                                   [](isa_act_table_load &r) {
                                                     r.set = static_cast<uint8_t>(1 - r.set);
                                                     return true;
                                                   }),
                    11);
  EXPECT_TRUE(out_of_window(o));
}

// Static blocks enumerated with the outermost dimension first.
TEST_F(AttentionReadings, StaticPatternsOutermostFirst) {
  uint32_t changed = 0;
  std::vector<uint8_t> edited = edit_file(file, [&](neff_write_members &members) {
    std::string text(members["sg00/DVE.json"].begin(), members["sg00/DVE.json"].end());
    const std::string from = R"("from_sizes":[4,2],"from_steps":[1,262144])";
    const std::string to = R"("from_sizes":[2,4],"from_steps":[262144,1])";
    for (size_t at; (at = text.find(from)) != std::string::npos; changed++)
      text.replace(at, from.size(), to);
    members["sg00/DVE.json"].assign(text.begin(), text.end());
  });
  EXPECT_EQ(changed, 20u);
  outcome o = try_out(edited, recipe_b());
  EXPECT_TRUE(o.load != NRT_SUCCESS || o.run != NRT_SUCCESS || o.figures.step > 2e-2);
}

// A block raises its semaphore by 1, not by one for each of its queue's rings.
TEST_F(AttentionReadings, StaticBlocksAddOne) {
  std::vector<uint8_t> edited = edit_file(file, [&](neff_write_members &members) {
    std::string text(members["sg00/def.json"].begin(), members["sg00/def.json"].end());
    const std::string rings = R"("num_queues": 16)";
    size_t at = text.find(rings, text.find(R"("qDVESpillReload0")"));
    ASSERT_NE(at, std::string::npos);
    text.replace(at, rings.size(), R"("num_queues": 1)");
    members["sg00/def.json"].assign(text.begin(), text.end());
  });
  outcome o = try_out(edited, recipe_b());
  EXPECT_EQ(o.load, NRT_SUCCESS);
  EXPECT_EQ(o.run, NRT_TIMEOUT);
}

// --- records that no changed record stands for ---------------------------------------------------

// Five matmuls use the weights of the one before.
TEST_F(AttentionReadings, WeightsDoNotStay) {
  EXPECT_TRUE(out_of_window(try_out(file, recipe_a(), use_up_weights)));
}

TEST_F(AttentionReadings, CountersOfEightBits) {
  EXPECT_EQ(try_out(file, recipe_a(), wrap_counters).run, NRT_TIMEOUT);
}

// The update of a record is there only after the wait of the next one: DVE and ACT wait for their
// own results, the engine's last ones.
TEST_F(AttentionReadings, UpdatesAfterTheNextWait) {
  std::vector<uint8_t> edited = edit_stream(file, "sg00/DVE.bin", [](records_t &records) {
    records_t out;
    isa_record late = {};
    for (isa_record &record : records) {
      isa_header h = record.h;
      record.h.update_mode = record.h.update_index = 0;
      out.push_back(record);
      if (late.h.opcode != 0)
        out.push_back(late);
      late.h = {};
      if (h.update_mode != 0)
        late.h = {ISA_NOP,       ISA_HEADER_WORDS, 0, 0, ISA_WAIT_NONE, 0,
                  h.update_mode, h.update_index,   0};
    }
    if (late.h.opcode != 0)
      out.push_back(late);
    records = out;
  });
  EXPECT_EQ(try_out(edited, recipe_a()).run, NRT_TIMEOUT);
}

// --- what the device's figure does not see -------------------------------------------------------

// The upper halves of fp32 numbers are what truncation gives. The sheet has the number of outputs
// that change, by a unit.
TEST_F(AttentionReadings, CastTruncates) {
  outcome o = plant(for_opcode<isa_copy>(ISA_CAST,
                                         [](isa_copy &r) {
                                           if (r.in_dtype != ISA_DTYPE_FP32)
                                             return false;
                                           r.in_dtype = ISA_DTYPE_BF16;
                                           r.src.addr4 += 2;
                                           for (int16_t &step : r.src.step)
                                             step = static_cast<int16_t>(2 * step);
                                           return true;
                                         }),
                    52);
  EXPECT_FALSE(out_of_window(o));
  EXPECT_EQ(o.figures.differ, 625u);
  EXPECT_LE(o.figures.step, 1.0 / 128);  // a unit of the largest output is up to that
  EXPECT_EQ(try_out(file, recipe_a()).figures.differ, 0u);
}

// Softmax is the same whatever its running maximum is; the lanes are not.
TEST_F(AttentionReadings, ReduceByMinimum) {
  std::atomic<uint32_t> records, other;
  auto look = [&](mock_core_t *core, uint32_t, const isa_record &record) {
    isa_copy r;
    memcpy(&r, &record, sizeof(r));
    if (r.h.opcode != ISA_TENSOR_REDUCE)
      return;
    mock_pattern_t src = mock_pattern_of(r.src, r.in_dtype),
                   dst = mock_pattern_of(r.dst, r.out_dtype);
    for (uint32_t lane = 0; lane < r.channels; lane++) {
      std::vector<float> values(src.total);
      float result;
      mock_pattern_load_f32(&src, mock_pattern_lane(&src, core->window, lane), 0, src.total,
                            values.data());
      mock_pattern_load_f32(&dst, mock_pattern_lane(&dst, core->window, lane), 0, 1, &result);
      other += result != *std::max_element(values.begin(), values.end()) ? 1 : 0;
    }
    records++;
  };
  try_out(file, recipe_b(), look);
  EXPECT_EQ(records, 20u);
  EXPECT_EQ(other, 0u);
  uint32_t changed = 0;
  std::vector<uint8_t> edited = edit_records(file,
                                             for_opcode<isa_copy>(ISA_TENSOR_REDUCE,
                                                                  [](isa_copy &r) {
                                                                    r.op = ISA_ALU_MIN;
                                                                    return true;
                                                                  }),
                                             &changed);
  EXPECT_EQ(changed, 20u);
  outcome o = try_out(edited, recipe_b(), look);
  EXPECT_LE(o.figures.step, 2e-2);
  EXPECT_EQ(other, 40u);  // two lanes each
}

// --- operands ------------------------------------------------------------------------------------

TEST_F(AttentionReadings, CopyIgnoresItsScale) {
  outcome o = plant(for_opcode<isa_activate>(ISA_ACTIVATE,
                                             [](isa_activate &r) {
                                               bool scaled =
                                                   r.function == 128 && r.scale != 0x3F800000;
                                               r.scale = scaled ? 0x3F800000 : r.scale;
                                               return scaled;
                                             }),
                    56);
  EXPECT_TRUE(out_of_window(o));
}

// The value as a number instead of the type's bits: 0x3F80, as fp32, is 0 in bf16.
TEST_F(AttentionReadings, MemsetValueAsNumber) {
  outcome o = plant(for_opcode<isa_memset>(ISA_MEMSET,
                                           [](isa_memset &r) {
                                             bool one =
                                                 r.dtype == ISA_DTYPE_BF16 && r.value == 0x3F80;
                                             r.value = one ? 0 : r.value;
                                             return one;
                                           }),
                    1);
  EXPECT_TRUE(out_of_window(o));
}

TEST_F(AttentionReadings, TensorTensorDestinationFirst) {
  outcome o = plant(for_opcode<isa_tensor_tensor>(ISA_TENSOR_TENSOR,
                                                  [](isa_tensor_tensor &r) {
                                                    std::swap(r.src0, r.dst);
                                                    return true;
                                                  }),
                    256);
  EXPECT_TRUE(out_of_window(o));
}

// Results stay in the lanes their operands came from. The softmax is right whatever maximum the
// reduction leaves in the right lanes, so there it shows as a read of what nobody wrote.
TEST_F(AttentionReadings, LanesDoNotShift) {
  auto stay = [](isa_copy &r) {
    bool psum[] = {isa_addr4_is_psum(r.src.addr4), isa_addr4_is_psum(r.dst.addr4)};
    uint32_t pitch[] = {psum[0] ? ISA_PSUM_PITCH : ISA_SBUF_PITCH,
                        psum[1] ? ISA_PSUM_PITCH : ISA_SBUF_PITCH};
    uint32_t from = r.src.addr4 % ISA_PSUM_BASE / pitch[0];
    uint32_t to = r.dst.addr4 % ISA_PSUM_BASE / pitch[1];
    r.dst.addr4 += (from - to) * pitch[1];
    return from != to;
  };
  uint32_t changed = 0;
  outcome o =
      try_out(edit_records(file, for_opcode<isa_copy>(ISA_COPY, stay), &changed), recipe_b());
  EXPECT_EQ(changed, 12u);
  EXPECT_TRUE(o.load != NRT_SUCCESS || o.run != NRT_SUCCESS || o.figures.step > 2e-2);

  std::vector<uint8_t> edited =
      edit_records(file, for_opcode<isa_copy>(ISA_TENSOR_REDUCE, stay), &changed);
  EXPECT_EQ(changed, 20u);
  for (bool right : {true, false}) {
    session s;
    s.configure({.seed = 0, .strict = 1, .races = 0, .exact_functions = 0});
    attention_run a(right ? file : edited);
    a.fill(recipe_b());
    EXPECT_EQ(a.run(), NRT_SUCCESS);
    EXPECT_EQ(s.findings().empty(), right);
  }
}
