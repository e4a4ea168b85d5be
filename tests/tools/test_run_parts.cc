// SPDX-License-Identifier: Apache-2.0
// Parts of `neff run`: element types, comparisons, traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nrt/nrt.h>

#include <cmath>
#include <cstring>
#include <set>

#include "isa/isa.h"
#include "tools/compare.h"
#include "tools/run_progress.h"
#include "tools/trace.h"

using testing::HasSubstr;
using testing::Not;

namespace {

template <typename T>
std::vector<uint8_t> bytes_of(const std::vector<T> &values) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  return {bytes, bytes + values.size() * sizeof(T)};
}

npy_array array_of(char kind, uint32_t item_size, std::vector<uint64_t> shape,
                   const std::vector<uint8_t> &data) {
  npy_array array;
  array.kind = kind;
  array.item_size = item_size;
  array.shape = std::move(shape);
  array.data = data;
  return array;
}

compare_result_t compare(uint32_t dtype, const std::vector<uint8_t> &data, const npy_array &array,
                         double rtol = 0, double atol = 0) {
  finding_sink findings;
  compare_result_t result;
  EXPECT_EQ(compare_tensors(dtype, data, array, rtol, atol, "ref.npy", findings, &result),
            NRT_SUCCESS);
  return result;
}

}  // namespace

// Long runs say what they have done so far, one by itself too.
TEST(RunProgress, Text) {
  uint64_t records = 1234567;
  EXPECT_EQ(run_progress_text(0, 1, 4, &records), "running, 4 s, 1234567 records");
  EXPECT_EQ(run_progress_text(0, 1, 4, nullptr), "running, 4 s");
  EXPECT_EQ(run_progress_text(3, 10, 70, &records),
            "running [#########.....................]  30%, 3 of 10, 70 s, 1234567 records");
}

TEST(TensorType, ValuesOfHalves) {
  auto half = [](uint16_t bits) {
    return tensor_type_value(NRT_DTYPE_FLOAT16, reinterpret_cast<const uint8_t *>(&bits));
  };
  EXPECT_EQ(half(0x3C00), 1.0);
  EXPECT_EQ(half(0xC000), -2.0);
  EXPECT_EQ(half(0x7BFF), 65504.0);
  EXPECT_EQ(half(0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(half(0x7C00), INFINITY);
  EXPECT_TRUE(std::isnan(half(0x7E00)));
  uint16_t bf16 = 0xC2F7;
  EXPECT_EQ(tensor_type_value(NRT_DTYPE_BFLOAT16, reinterpret_cast<const uint8_t *>(&bf16)),
            -123.5);
}

TEST(TensorType, WhatAFileMayHold) {
  npy_array u2 = array_of('u', 2, {1}, {}), v2 = array_of('V', 2, {1}, {});
  npy_array f2 = array_of('f', 2, {1}, {}), i4 = array_of('i', 4, {1}, {});
  EXPECT_TRUE(tensor_type_accepts(NRT_DTYPE_BFLOAT16, u2));
  EXPECT_TRUE(tensor_type_accepts(NRT_DTYPE_BFLOAT16, v2));
  EXPECT_FALSE(tensor_type_accepts(NRT_DTYPE_BFLOAT16, f2));
  EXPECT_TRUE(tensor_type_accepts(NRT_DTYPE_FLOAT16, f2));
  EXPECT_FALSE(tensor_type_accepts(NRT_DTYPE_FLOAT16, u2));
  EXPECT_TRUE(tensor_type_accepts(NRT_DTYPE_INT32, i4));
  EXPECT_FALSE(tensor_type_accepts(NRT_DTYPE_UINT32, i4));
  EXPECT_FALSE(tensor_type_accepts(NRT_DTYPE_FLOAT32, i4));
}

TEST(TensorType, RandomIsNormalAndDependsOnThePositionAlone) {
  constexpr uint64_t kCount = 100000;
  for (uint32_t dtype : {NRT_DTYPE_FLOAT32, NRT_DTYPE_FLOAT16, NRT_DTYPE_BFLOAT16}) {
    uint32_t size = tensor_type_size(dtype);
    std::vector<uint8_t> all(kCount * size), piece(1000 * size);
    tensor_type_random(dtype, 5, 0, kCount, all.data());
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < kCount; i++) {
      double value = tensor_type_value(dtype, &all[i * size]);
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / kCount, 0, 0.02);
    EXPECT_NEAR(squares / kCount, 1, 0.03);
    tensor_type_random(dtype, 5, 777, 1000, piece.data());
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), all.begin() + 777 * size));
    tensor_type_random(dtype, 6, 777, 1000, piece.data());
    EXPECT_FALSE(std::equal(piece.begin(), piece.end(), all.begin() + 777 * size));
  }
}

TEST(TensorType, RandomIntegersAreSmall) {
  for (auto [dtype, low] : {std::pair{NRT_DTYPE_INT8, -8.0}, std::pair{NRT_DTYPE_UINT16, 0.0},
                            std::pair{NRT_DTYPE_INT32, -8.0}, std::pair{NRT_DTYPE_UINT64, 0.0}}) {
    uint32_t size = tensor_type_size(dtype);
    std::vector<uint8_t> data(1000 * size);
    tensor_type_random(dtype, 1, 0, 1000, data.data());
    std::set<double> seen;
    for (uint64_t i = 0; i < 1000; i++)
      seen.insert(tensor_type_value(dtype, &data[i * size]));
    EXPECT_EQ(*seen.begin(), low);
    EXPECT_EQ(*seen.rbegin(), 8.0);
    EXPECT_EQ(seen.size(), 9 - low);
  }
}

// Every normal deviate in fp16 is the nearest one: within half a unit of the same one in fp32.
TEST(TensorType, RandomHalvesAreRounded) {
  std::vector<uint8_t> wide(4 * 20000), narrow(2 * 20000);
  tensor_type_random(NRT_DTYPE_FLOAT32, 3, 0, 20000, wide.data());
  tensor_type_random(NRT_DTYPE_FLOAT16, 3, 0, 20000, narrow.data());
  for (uint64_t i = 0; i < 20000; i++) {
    double exact = tensor_type_value(NRT_DTYPE_FLOAT32, &wide[i * 4]);
    double half = tensor_type_value(NRT_DTYPE_FLOAT16, &narrow[i * 2]);
    double unit = std::ldexp(1.0, std::max(-14, std::ilogb(exact)) - 10);
    EXPECT_LE(std::fabs(half - exact), unit / 2) << i;
  }
}

TEST(Compare, CountsAndNamesTheFirst) {
  auto data = bytes_of<float>({1, 2, 3, 4, 5, 6}),
       reference = bytes_of<float>({1, 2, 3, 4.5, 5, 7});
  compare_result_t r = compare(NRT_DTYPE_FLOAT32, data, array_of('f', 4, {2, 3}, reference));
  EXPECT_EQ(r.elements, 6u);
  EXPECT_EQ(r.different, 2u);
  EXPECT_EQ(r.first, 3u);
  EXPECT_EQ(compare_index_text(r.first, {2, 3}), "[1, 0]");
  EXPECT_EQ(r.first_value, 4);
  EXPECT_EQ(r.first_reference, 4.5);
  EXPECT_EQ(r.max_absolute, 1);
  EXPECT_DOUBLE_EQ(r.max_relative, 1 / 7.0);
}

TEST(Compare, TolerancesAddUp) {
  auto data = bytes_of<float>({101, -101}), reference = bytes_of<float>({100, -100});
  npy_array array = array_of('f', 4, {2}, reference);
  EXPECT_EQ(compare(NRT_DTYPE_FLOAT32, data, array, 0.01).different, 0u);
  EXPECT_EQ(compare(NRT_DTYPE_FLOAT32, data, array, 0.009).different, 2u);
  EXPECT_EQ(compare(NRT_DTYPE_FLOAT32, data, array, 0.005, 0.5).different, 0u);
  EXPECT_EQ(compare(NRT_DTYPE_FLOAT32, data, array, 0, 1).different, 0u);
}

TEST(Compare, SpecialValues) {
  auto data = bytes_of<float>({NAN, INFINITY, INFINITY, 1, 0.0f});
  auto reference = bytes_of<float>({NAN, INFINITY, -INFINITY, NAN, -0.0f});
  compare_result_t r = compare(NRT_DTYPE_FLOAT32, data, array_of('f', 4, {5}, reference), 0.1, 1e9);
  EXPECT_EQ(r.different, 2u);
  EXPECT_EQ(r.first, 2u);
}

TEST(Compare, OtherTypesByValue) {
  auto half = bytes_of<uint16_t>({0x3C00, 0x4000});  // 1, 2
  auto wide = bytes_of<double>({1, 2.5});
  EXPECT_EQ(compare(NRT_DTYPE_FLOAT16, half, array_of('f', 8, {2}, wide)).different, 1u);
  auto bf16 = bytes_of<uint16_t>({0x3F80, 0x4000});
  EXPECT_EQ(compare(NRT_DTYPE_BFLOAT16, bf16, array_of('u', 2, {2}, bf16)).max_absolute, 0);
  auto floats = bytes_of<float>({1, 2});
  EXPECT_EQ(compare(NRT_DTYPE_BFLOAT16, bf16, array_of('f', 4, {2}, floats)).different, 0u);
}

TEST(Compare, WhatHasNoValues) {
  finding_sink findings(true);
  compare_result_t r;
  auto data = bytes_of<uint8_t>({1, 2}), floats = bytes_of<float>({1, 2});
  EXPECT_EQ(compare_tensors(NRT_DTYPE_FP8_E4, data, array_of('f', 4, {2}, floats), 0, 0, "f.npy",
                            findings, &r),
            NRT_INVALID);
  EXPECT_EQ(compare_tensors(NRT_DTYPE_FP8_E4, data, array_of('u', 1, {2}, data), 0.1, 0, "f.npy",
                            findings, &r),
            NRT_INVALID);
  EXPECT_EQ(compare_tensors(NRT_DTYPE_FP8_E4, data, array_of('u', 1, {2}, data), 0, 0, "f.npy",
                            findings, &r),
            NRT_SUCCESS);
  EXPECT_EQ(r.different, 0u);
  ASSERT_EQ(findings.all().size(), 2u);
  EXPECT_EQ(findings.all()[0].where, "f.npy");
}

TEST(Trace, NamesTracksAndTimes) {
  trace_recorder recorder;
  trace_names_t names;
  names.ranges[0x1000] = {0x100, "weights"};
  names.ranges[0x8000000000] = {0x2000000, "SB"};
  names.table = {"x", "y"};
  recorder.set_names(0, 1, names);

  isa_record matmul{};
  matmul.h.opcode = ISA_MATMUL;
  matmul.h.wait_mode = ISA_WAIT_SEM_GE;
  matmul.h.wait_index = 8;
  matmul.h.value = 16;
  mock_exec_event_t event{};
  event.core = 1;
  event.engine = ISA_ENGINE_PE;
  event.pc = 0x4000000040;
  event.record = reinterpret_cast<const uint8_t *>(&matmul);
  event.start_ps = 2'000'000;
  event.end_ps = 5'000'000;
  trace_recorder::record(&recorder, &event);

  isa_dma dma{};
  dma.h.opcode = ISA_DMAMEMCPY;
  dma.src.mode = ISA_ADDR8_TABLE;
  dma.src.offset = 0x40;
  isa_addr8_set_id(&dma.src, 1);
  isa_addr8_set_device(&dma.dst, 0x8000037B00);
  event.engine = 16 + 16 + ISA_ENGINE_POOL;
  event.record = reinterpret_cast<const uint8_t *>(&dma);
  event.bytes = 512;
  trace_recorder::record(&recorder, &event);

  std::string json = recorder.to_json();
  EXPECT_THAT(json, HasSubstr("\"name\":\"MATMUL\",\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":2,"
                              "\"dur\":3"));
  EXPECT_THAT(json, HasSubstr("semaphore 8 >= 16"));
  EXPECT_THAT(json, HasSubstr("y+0x40 -> SB+0x37b00"));
  EXPECT_THAT(json, HasSubstr("\"name\":\"pe\""));
  EXPECT_THAT(json, HasSubstr("\"name\":\"dma of pool\""));
  EXPECT_THAT(json, HasSubstr("device 0, core 1"));
  EXPECT_EQ(names.at(0x10FF), "weights+0xff");
  EXPECT_EQ(names.at(0x1100), "0x1100");
}
