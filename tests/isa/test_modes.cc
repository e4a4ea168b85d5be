// SPDX-License-Identifier: Apache-2.0
// Records that are well formed and that nothing executes: one field of a good record changed, what
// is said and at which byte. Where isa_check already refuses the value, that counts.
#include "isa/isa_modes.h"

#include "isa/project.h"
#include "tests/isa/records.h"

namespace {

template <typename PATTERN>
PATTERN pattern(uint32_t addr4, std::vector<uint16_t> counts) {
  PATTERN p{};
  p.addr4 = addr4;
  for (size_t d = 0; d < std::size(p.count); d++) {
    p.step[d] = 1;
    p.count[d] = d < counts.size() ? counts[d] : uint16_t{1};
  }
  return p;
}

template <typename RECORD>
RECORD record_of(uint8_t opcode) {
  return std::bit_cast<RECORD>(bare(opcode));
}

constexpr uint32_t kSource = 0x4000, kDestination = 0x6000;

// --- good records ---

isa_ldweights ldweights() {
  auto r = record_of<isa_ldweights>(ISA_LDWEIGHTS);
  r.src = pattern<isa_pattern3>(kSource, {64});
  r.dtype = ISA_DTYPE_FP16;
  r.rows = 100;
  r.columns = 64;
  r.row_group = r.column_group = 0xF;
  return r;
}

isa_matmul matmul() {
  auto r = record_of<isa_matmul>(ISA_MATMUL);
  r.src = pattern<isa_pattern3>(kSource, {512});
  r.dst = pattern<isa_pattern3>(ISA_PSUM_BASE, {512});
  r.dtype = ISA_DTYPE_FP16;
  r.rows = 100;
  r.columns = 64;
  r.flags = ISA_MATMUL_BEGIN | ISA_MATMUL_END;
  r.row_group = r.column_group = 0xF;
  return r;
}

isa_activate activate() {
  auto r = record_of<isa_activate>(ISA_ACTIVATE);
  r.src = pattern<isa_pattern3>(kSource, {8});
  r.dst = pattern<isa_pattern3>(kDestination, {8});
  r.in_bias_dtype = ISA_DTYPE_FP32 | ISA_DTYPE_FP32 << 4;
  r.out_dtype = ISA_DTYPE_FP32;
  r.channels = 32;
  r.function = ISA_FUNCTION_LEAKY_RELU;
  r.bias_source = ISA_BIAS_IMMEDIATE;
  return r;
}

isa_tensor_tensor tensor_tensor() {
  auto r = record_of<isa_tensor_tensor>(ISA_TENSOR_TENSOR);
  r.src0 = r.src1 = pattern<isa_pattern3>(kSource, {8});
  r.dst = pattern<isa_pattern3>(kDestination, {4, 2});
  r.in_dtypes = ISA_DTYPE_FP32 | ISA_DTYPE_FP32 << 4;
  r.out_dtype = ISA_DTYPE_FP32;
  r.op = ISA_ALU_ADD;
  r.channels = 32;
  return r;
}

isa_tensor_scalar tensor_scalar() {
  auto r = record_of<isa_tensor_scalar>(ISA_TENSOR_SCALAR);
  r.src = pattern<isa_pattern3>(kSource, {8});
  r.dst = pattern<isa_pattern3>(kDestination, {8});
  r.in_dtype = r.out_dtype = ISA_DTYPE_FP32;
  r.op0 = r.op1 = ISA_ALU_ADD;
  r.channels = 32;
  return r;
}

isa_copy copy(uint8_t opcode) {
  auto r = record_of<isa_copy>(opcode);
  r.src = pattern<isa_pattern4>(kSource, {8, 2});
  r.dst = pattern<isa_pattern4>(kDestination, {16});
  r.in_dtype = r.out_dtype = ISA_DTYPE_FP32;
  r.channels = 32;
  return r;
}

isa_copy reduce() {
  isa_copy r = copy(ISA_TENSOR_REDUCE);
  r.dst = pattern<isa_pattern4>(kDestination, {2});
  r.op = ISA_ALU_MAX;
  r.dimension = 2;
  return r;
}

isa_memset memset_of() {
  auto r = record_of<isa_memset>(ISA_MEMSET);
  r.dst = pattern<isa_pattern4>(kDestination, {8, 3});
  r.count = 24;
  r.dtype = ISA_DTYPE_FP32;
  r.channels = 32;
  return r;
}

isa_iota iota() {
  auto r = record_of<isa_iota>(ISA_IOTA);
  r.pattern = {0, {1, 1, 1, 1}, {4, 2, 1, 1}};
  r.dst = pattern<isa_pattern4>(kDestination, {8});
  r.out_dtype = ISA_DTYPE_INT32;
  r.channels = 32;
  return r;
}

isa_affine_select affine_select() {
  auto r = record_of<isa_affine_select>(ISA_AFFINE_SELECT);
  r.mask = {0, {1, 1, 1, 1}, {8, 1, 1, 1}};
  r.src = pattern<isa_pattern2>(kSource, {8});
  r.dst = pattern<isa_pattern2>(kDestination, {8});
  r.dtypes = ISA_DTYPE_FP32 | ISA_DTYPE_FP32 << 4;
  r.channels = 32;
  r.fill_register = 63;
  return r;
}

isa_move move() {
  auto r = record_of<isa_move>(ISA_MOVE);
  r.count = 2;
  r.dtype = ISA_DTYPE_UINT32;
  r.source = 1;
  r.dst[0] = 63;
  r.dst[1] = PROJECT_TABLE_REGISTER + 1;
  return r;
}

isa_alu alu() {
  auto r = record_of<isa_alu>(ISA_ALU_OP);
  r.op = ISA_ALU_ADD;
  r.dtype = ISA_DTYPE_UINT32;
  r.src1_source = 1;
  return r;
}

isa_compare_branch branch() {
  auto r = record_of<isa_compare_branch>(ISA_COMPARE_BRANCH);
  r.compare = ISA_BRANCH_LT;
  r.dtype = ISA_DTYPE_INT32;
  r.target = ISA_TARGET_RELATIVE;
  r.offset = 64;
  return r;
}

isa_tensor_move tensor_move(uint8_t opcode) {
  auto r = record_of<isa_tensor_move>(opcode);
  r.dtype = ISA_DTYPE_UINT16;
  r.count[0] = 3;
  r.count[1] = 2;
  return r;
}

isa_dma dma(uint8_t opcode = ISA_PSEUDO_DMA_DIRECT2D) {
  auto r = record_of<isa_dma>(opcode);
  r.src.mode = r.dst.mode = ISA_ADDR8_TABLE;
  for (int d = 0; d < 2; d++)
    r.src_count[d] = r.dst_count[d] = d == 0 ? 4 : 1;
  r.src_bytes = r.dst_bytes = 64;
  r.src_dtype = r.dst_dtype = ISA_DTYPE_FP16;
  return r;
}

isa_dma cast() {
  isa_dma r = dma();
  r.src_dtype = ISA_DTYPE_FP32;
  r.dst_bytes = 32;
  return r;
}

// --- what is refused ---

// What stops a record, "" for nothing, and where.
std::string stopped(const isa_record &record, isa_engine_t engine, isa_form_t form,
                    uint32_t *offset) {
  std::string text = check(record, engine, form, offset);
  if (text.empty())
    if (const char *mode = isa_modes_check(&record, offset))
      text = mode;
  return text;
}

class Modes : public testing::Test {
 protected:
  template <typename RECORD>
  void fine(const RECORD &r) {
    uint32_t offset = 99;
    EXPECT_EQ(stopped(std::bit_cast<isa_record>(r), engine, form, &offset), "") << offset;
  }
  template <typename RECORD, typename CHANGE>
  void refused(const RECORD &good, CHANGE change, const char *text, uint32_t offset) {
    fine(good);
    RECORD r = good;
    change(r);
    uint32_t at = 99;
    EXPECT_EQ(stopped(std::bit_cast<isa_record>(r), engine, form, &at), text);
    EXPECT_EQ(at, offset) << text;
  }

  isa_engine_t engine = ISA_ENGINE_DVE;
  isa_form_t form = ISA_FORM_NEFF;
};

TEST_F(Modes, Weights) {
  engine = ISA_ENGINE_PE;
  const isa_ldweights good = ldweights();
  refused(
      good, [](auto &r) { r.performance = 1; }, "performance modes are not implemented", 35);
  refused(
      good, [](auto &r) { r.dtype = ISA_DTYPE_FP32; }, "fp32 operand without an fp32 mode", 33);
  refused(
      good, [](auto &r) { r.dtype = ISA_DTYPE_INT32; }, "unlisted data type", 32);
  refused(
      good, [](auto &r) { r.transpose = 2; }, "value out of range", 34);
  for (int i = 0; i < 2; i++)
    refused(
        good, [=](auto &r) { r.dtype = ISA_DTYPE_UINT8, r.quant_offset[i] = 1; },
        "quantisation offsets are not implemented", 36);
  refused(
      good, [](auto &r) { r.columns = 63; }, "elements per lane differ from the columns", 39);
  refused(
      good, [](auto &r) { r.src.count[2] = 2; }, "elements per lane differ from the columns", 39);
  isa_ldweights fp32 = good;
  fp32.dtype = ISA_DTYPE_FP32;
  fp32.fp32_mode = 3;
  refused(
      fp32, [](auto &r) { r.fp32_mode = 4; }, "value out of range", 33);
  fine(fp32);
}

TEST_F(Modes, Groups) {
  engine = ISA_ENGINE_PE;
  const char *room = "more rows or columns than the group has";
  isa_ldweights r = ldweights();
  refused(
      r, [](auto &w) { w.row_group = 0; }, "unlisted value", 44);
  refused(
      r, [](auto &w) { w.row_group = 6; }, "unlisted value", 44);
  refused(
      r, [](auto &w) { w.row_group = 3; }, room, 38);  // 100 rows in 64
  refused(
      r, [](auto &w) { w.column_group = 8; }, room, 39);  // 64 columns in 32
  refused(
      r, [](auto &w) { w.src.addr4 += ISA_SBUF_PITCH; },
      "source starts at another partition than its row group", 16);
  // Each group: its first row and how many it has.
  const struct {
    uint8_t group;
    uint32_t first, size;
  } groups[] = {{0xF, 0, 128}, {0x3, 0, 64},  {0xC, 64, 64}, {0x1, 0, 32},
                {0x2, 32, 32}, {0x4, 64, 32}, {0x8, 96, 32}};
  for (const auto &g : groups) {
    isa_matmul m = matmul();
    m.row_group = m.column_group = g.group;
    m.rows = m.columns = static_cast<uint8_t>(g.size);
    m.src.addr4 = kSource + g.first * ISA_SBUF_PITCH;
    m.dst.addr4 = ISA_PSUM_BASE + g.first * ISA_PSUM_PITCH;
    fine(m);
    if (g.size < 128) {
      refused(
          m, [](auto &x) { x.rows++; }, room, 38);
      refused(
          m, [](auto &x) { x.columns++; }, room, 39);
    }
    for (uint32_t pitch : {ISA_SBUF_PITCH, 32 * ISA_SBUF_PITCH})
      refused(
          m, [=](auto &x) { x.src.addr4 = (x.src.addr4 + pitch) % (128 * ISA_SBUF_PITCH); },
          "source starts at another partition than its row group", 16);
    refused(
        m, [](auto &x) { x.dst.addr4 ^= ISA_PSUM_PITCH; },
        "destination starts at another partition than its column group", 48);
  }
}

TEST_F(Modes, Products) {
  engine = ISA_ENGINE_PE;
  const isa_matmul good = matmul();
  refused(
      good, [](auto &r) { r.performance = 3; }, "performance modes are not implemented", 35);
  refused(
      good, [](auto &r) { r.dtype = ISA_DTYPE_FP32; }, "fp32 operand without an fp32 mode", 33);
  refused(
      good, [](auto &r) { r.dtype = ISA_DTYPE_INT32; }, "unlisted data type", 32);
  refused(
      good, [](auto &r) { r.dtype = ISA_DTYPE_UINT8, r.quant_offset[1] = 7; },
      "quantisation offsets are not implemented", 36);
  refused(
      good, [](auto &r) { r.out_dtype = ISA_DTYPE_BF16; },
      "output types other than fp32 are not implemented", 40);
  refused(
      good, [](auto &r) { r.src.count[0] = r.dst.count[0] = 513; },
      "more than 512 moving elements per lane", 26);
  refused(
      good, [](auto &r) { r.dst.count[0] = 511; },
      "destination and moving operand differ in elements", 58);
  refused(
      good, [](auto &r) { r.dst.addr4 = 0x4000; }, "SBUF address where only PSUM is reached", 48);
  isa_matmul fp32 = good;
  fp32.out_dtype = ISA_DTYPE_FP32;
  fine(fp32);
}

TEST_F(Modes, Activations) {
  engine = ISA_ENGINE_ACT;
  const isa_activate good = activate();
  for (uint8_t command = 1; command < 5; command++)
    refused(
        good, [=](auto &r) { r.accumulator = command; }, "accumulators are not implemented", 14);
  refused(
      good, [](auto &r) { r.scale_source = 2; }, "unlisted value", 13);
  refused(
      good, [](auto &r) { r.bias_source = 2; }, "unlisted value", 15);
  refused(
      good, [](auto &r) { r.src.count[0] = 9; },
      "source and destination differ in their elements per lane", 26);
  // Those that have a slope, and no other.
  for (uint32_t id = 0; id < 256; id++) {
    isa_activate r = good;
    r.function = static_cast<uint8_t>(id);
    if (id == 3 || id == 4 || id == 13) {
      refused(
          r, [](auto &x) { x.immediate_source = 1; }, "slope behind a pointer is not implemented",
          12);
    } else {
      r.immediate_source = 1;
      fine(r);
    }
  }
}

TEST_F(Modes, TensorTensor) {
  const isa_tensor_tensor good = tensor_tensor();
  for (isa_engine_t e : {ISA_ENGINE_ACT, ISA_ENGINE_POOL, ISA_ENGINE_DVE})
    for (uint8_t dtype : {ISA_DTYPE_FP32, ISA_DTYPE_UINT32}) {
      engine = e;
      isa_tensor_tensor r = good;
      r.in_dtypes = static_cast<uint8_t>(dtype | dtype << 4);
      r.out_dtype = dtype;
      for (uint8_t op : {0x01, 0x02, 0x03, 0x0A, 0x0B, 0x0C, 0x10, 0x11})
        refused(
            r, [=](auto &x) { x.op = op; }, "bit operation in an arithmetic opcode", 14);
    }
  for (uint8_t op : {0x1C, 0x30, 0xFF})
    refused(
        good, [=](auto &r) { r.op = op; }, "unlisted value", 14);
  const char *elements = "source and destination differ in their elements per lane";
  refused(
      good, [](auto &r) { r.src0.count[0] = 7; }, elements, 26);
  refused(
      good, [](auto &r) { r.src1.count[0] = 9; }, elements, 42);
}

TEST_F(Modes, TensorScalar) {
  const isa_tensor_scalar good = tensor_scalar();
  for (uint8_t command = 1; command < 5; command++)
    refused(
        good, [=](auto &r) { r.accumulator = command; }, "accumulators are not implemented", 12);
  for (uint8_t op : {0x01, 0x02, 0x03, 0x0A, 0x0B, 0x0C, 0x10, 0x11}) {
    refused(
        good, [=](auto &r) { r.op0 = op; }, "bit operation in an arithmetic opcode", 36);
    refused(
        good, [=](auto &r) { r.op1 = op; }, "bit operation in an arithmetic opcode", 37);
  }
  refused(
      good, [](auto &r) { r.imm0_source = 2; }, "unlisted value", 35);
  refused(
      good, [](auto &r) { r.imm1_source = 2; }, "unlisted value", 39);
  refused(
      good, [](auto &r) { r.reverse = 4; }, "value out of range", 38);
  refused(
      good, [](auto &r) { r.op0 = ISA_ALU_BYPASS; }, "second operation after a bypass", 37);
  refused(
      good, [](auto &r) { r.src.count[0] = 9; },
      "source and destination differ in their elements per lane", 26);
}

TEST_F(Modes, Copies) {
  for (uint8_t opcode : {ISA_COPY, ISA_CAST, ISA_RECIPROCAL}) {
    const isa_copy good = copy(opcode);
    refused(
        good,
        [](auto &r) {
          r.dst = pattern<isa_pattern4>(kDestination, {4, 3});
        },
        "source and destination differ in their elements per lane", 24);
    for (uint32_t byte : {35, 36, 37, 38})
      refused(
          good, [=](auto &r) { reinterpret_cast<uint8_t *>(&r)[byte] = 1; },
          "byte without a field is not zero", byte);
  }
  refused(
      copy(ISA_COPY), [](auto &r) { r.out_dtype = ISA_DTYPE_INT32; }, "a copy with two data types",
      33);
}

TEST_F(Modes, Reductions) {
  const isa_copy good = reduce();
  for (uint8_t op : {0x00, 0x05, 0x07, 0x0A, 0x12})
    refused(
        good, [=](auto &r) { r.op = op; }, "reduction other than add, multiply, max, min", 36);
  refused(
      good, [](auto &r) { r.op = 0xFF; }, "unlisted value", 36);
  for (uint8_t dimension : {0, 1, 6})
    refused(
        good, [=](auto &r) { r.dimension = dimension; }, "unlisted value", 37);
  refused(
      good, [](auto &r) { r.mask_enable = 1; }, "byte without a field is not zero", 38);
  const char *groups = "the destination has not one element per group of the source";
  refused(
      good, [](auto &r) { r.dst.count[0] = 3; }, groups, 56);
  // 3 x 5 x 7 x 11 with the first n dimensions reduced.
  const uint16_t left[] = {5 * 7 * 11, 7 * 11, 11, 1};
  for (uint8_t n = 1; n <= 4; n++) {
    isa_copy r = good;
    r.src = pattern<isa_pattern4>(kSource, {3, 5, 7, 11});
    r.dimension = static_cast<uint8_t>(n + 1);
    r.dst = pattern<isa_pattern4>(kDestination, {left[n - 1]});
    refused(
        r, [](auto &x) { x.dst.count[0]++; }, groups, 56);
    for (uint8_t op : {ISA_ALU_ADD, ISA_ALU_MULTIPLY, ISA_ALU_MAX, ISA_ALU_MIN}) {
      r.op = op;
      fine(r);
    }
  }
  // 17 groups of 2^60 elements are 2^60 modulo 2^64.
  isa_copy r = good;
  r.src = pattern<isa_pattern4>(kSource, {1 << 15, 1 << 15, 1 << 15, 1 << 15});
  r.dimension = 5;
  r.dst = pattern<isa_pattern4>(kDestination, {1});
  refused(
      r, [](auto &x) { x.dst.count[0] = 17; }, groups, 56);
}

TEST_F(Modes, Fills) {
  const isa_memset good = memset_of();
  for (uint8_t dtype : {ISA_DTYPE_UINT64, ISA_DTYPE_INT64})
    refused(
        good, [=](auto &r) { r.dtype = dtype; }, "fill with a 64-bit type is not implemented", 32);
  for (uint32_t count : {23u, 25u, 0xFFFFFFFFu})
    refused(
        good, [=](auto &r) { r.count = count; },
        "element count differs from the destination pattern's", 28);
  refused(
      good, [](auto &r) { r.count = 0; }, "value out of range", 28);
}

TEST_F(Modes, NumbersAndSelections) {
  refused(
      iota(), [](auto &r) { r.dst.count[0] = 9; },
      "pattern and destination differ in their elements per lane", 24);
  const isa_affine_select good = affine_select();
  refused(
      good, [](auto &r) { r.compare = 4; }, "unlisted value", 14);
  refused(
      good, [](auto &r) { r.fill_register = 64; }, "register number out of range", 15);
  refused(
      good, [](auto &r) { r.mask.count[0] = 9; },
      "mask and destination differ in their elements per lane", 28);
  refused(
      good, [](auto &r) { r.src.count[0] = 9; },
      "source and destination differ in their elements per lane", 44);
}

TEST_F(Modes, Registers) {
  const char *text = "register that cannot be written";
  for (uint8_t n : {64, 128, 129, 132, 255}) {
    refused(
        move(), [=](auto &r) { r.dst[0] = n; }, text, 24);
    refused(
        move(), [=](auto &r) { r.dst[1] = n; }, text, 25);
    refused(
        alu(), [=](auto &r) { r.dst_low = n; }, text, 20);
    isa_alu wide = alu();
    wide.dtype = ISA_DTYPE_INT64;
    refused(
        wide, [=](auto &r) { r.dst_high = n; }, text, 21);
    isa_alu narrow = alu();
    narrow.dst_high = n;
    fine(narrow);
    refused(
        tensor_move(ISA_PSEUDO_TENSOR_LOAD), [=](auto &r) { r.reg[5] = n; }, text, 37);
    isa_tensor_move store = tensor_move(ISA_PSEUDO_TENSOR_STORE);
    store.reg[5] = n;
    fine(store);  // all can be read
  }
  refused(
      move(), [](auto &r) { r.count = 0; }, "value out of range", 12);
  refused(
      move(), [](auto &r) { r.count = 9; }, "value out of range", 12);
}

TEST_F(Modes, ScalarArithmetic) {
  const isa_alu good = alu();
  for (uint8_t op : {0x07, 0x0D, 0x12, 0x17, 0x19, 0x1A, 0x1B, 0x1D})
    refused(
        good, [=](auto &r) { r.op = op; }, "scalar operation that is not implemented", 12);
  uint32_t fine_types = 0;
  for (uint8_t dtype = 1; dtype < 16; dtype++) {
    isa_alu r = good;
    r.dtype = dtype;
    const bool integer = dtype == ISA_DTYPE_INT32 || dtype == ISA_DTYPE_UINT32 ||
                         dtype == ISA_DTYPE_INT64 || dtype == ISA_DTYPE_UINT64;
    fine_types += integer ? 1 : 0;
    if (integer)
      fine(r);
    else
      refused(
          good, [=](auto &x) { x.dtype = dtype; },
          "scalar arithmetic on this data type is not implemented", 13);
  }
  EXPECT_EQ(fine_types, 4u);
  refused(
      good, [](auto &r) { r.dst_dtype = ISA_DTYPE_INT32; },
      "scalar arithmetic into another data type is not implemented", 15);
  isa_alu same = good;
  same.dst_dtype = same.dtype;
  fine(same);
}

TEST_F(Modes, Branches) {
  const isa_compare_branch good = branch();
  for (uint8_t dtype : {ISA_DTYPE_FP32, ISA_DTYPE_BF16, ISA_DTYPE_INT8, ISA_DTYPE_UINT16})
    refused(
        good, [=](auto &r) { r.dtype = dtype; }, "branch on a data type that is not implemented",
        13);
  for (uint8_t compare : {7, 8, 15})
    refused(
        good, [=](auto &r) { r.compare = compare; }, "unlisted value", 12);
  for (uint8_t target : {0, 2, 5})
    refused(
        good, [=](auto &r) { r.target = target; }, "unlisted value", 14);
  for (uint8_t dtype : {ISA_DTYPE_INT64, ISA_DTYPE_UINT64}) {
    isa_compare_branch wide = good;
    wide.dtype = dtype;
    for (uint8_t compare = 9; compare < 15; compare++)
      refused(
          wide, [=](auto &r) { r.compare = compare; },
          "64-bit comparison of registers is not implemented", 12);
  }
  isa_compare_branch always = good;
  always.compare = ISA_BRANCH_ALWAYS;
  always.dtype = ISA_DTYPE_FP32;
  fine(always);  // compares nothing
}

TEST_F(Modes, ScalarMemory) {
  for (uint8_t opcode :
       {ISA_PSEUDO_TENSOR_LOAD, ISA_PSEUDO_TENSOR_STORE, ISA_TENSOR_LOAD, ISA_TENSOR_STORE}) {
    const bool load = opcode == ISA_PSEUDO_TENSOR_LOAD || opcode == ISA_TENSOR_LOAD;
    const bool image = opcode == ISA_TENSOR_LOAD || opcode == ISA_TENSOR_STORE;
    form = image ? ISA_FORM_IMAGE : ISA_FORM_NEFF;
    const isa_tensor_move good = tensor_move(opcode);
    for (uint8_t dtype : {ISA_DTYPE_INT64, ISA_DTYPE_UINT64})
      refused(
          good, [=](auto &r) { r.dtype = dtype; },
          "scalar access with this data type is not implemented", 12);
    refused(
        good, [=](auto &r) { r.kind = load ? 1 : 2; }, "unlisted value", 13);
    refused(
        good, [](auto &r) { r.count[0] = 0; }, "value out of range", 14);
    refused(
        good, [](auto &r) { r.count[0] = 17; }, "more elements than registers or immediates", 14);
    for (uint8_t mode : {ISA_ADDR8_TABLE, ISA_ADDR8_TABLE_REGISTER})
      if (image)
        refused(
            good, [=](auto &r) { r.address.mode = mode; }, "address mode", 23);
  }
  isa_tensor_move immediates = tensor_move(ISA_TENSOR_STORE);
  form = ISA_FORM_IMAGE;
  immediates.kind = 1;
  refused(
      immediates, [](auto &r) { r.count[1] = 3; }, "more elements than registers or immediates",
      14);
}

TEST_F(Modes, ImageOnly) {
  form = ISA_FORM_IMAGE;
  auto write = record_of<isa_write>(ISA_WRITE);
  write.size[0] = 8;
  refused(
      write, [](auto &r) { r.size[0] = 9; }, "unlisted value", 12);
  auto clear = record_of<isa_sem_range_clear>(ISA_SEM_RANGE_CLEAR);
  clear.mode = 1;
  refused(
      clear, [](auto &r) { r.mode = 3; }, "unlisted value", 12);
  refused(
      clear, [](auto &r) { r.first = 1; }, "first behind last", 13);
}

TEST_F(Modes, Transfers) {
  for (uint8_t opcode : {ISA_PSEUDO_DMA_DIRECT2D, ISA_DMAMEMCPY}) {
    form = opcode == ISA_DMAMEMCPY ? ISA_FORM_IMAGE : ISA_FORM_NEFF;
    const isa_dma good = dma(opcode);
    refused(
        good, [](auto &r) { r.config = 1; },
        "configuration byte of a DMA record is not implemented", 12);
    refused(
        good, [](auto &r) { r.compute_op = 1; }, "byte without a field is not zero", 15);
    refused(
        good, [](auto &r) { r.src_count[0] = 0; }, "count of 0", 32);
    refused(
        good, [](auto &r) { r.dst_count[1] = 0; }, "count of 0", 58);
    const char *bytes = "the two sides differ in bytes";
    refused(
        good, [](auto &r) { r.dst_bytes = 63; }, bytes, 60);
    refused(
        good, [](auto &r) { r.dst_bytes = 0; }, bytes, 60);
    refused(
        good, [](auto &r) { r.src_count[1] = 2; }, bytes, 60);
    isa_dma most = good;  // 2^32 bytes
    most.src_bytes = most.dst_bytes = 0;
    most.src_count[0] = most.dst_count[0] = 256;
    most.src_count[1] = most.dst_count[1] = 256;
    refused(
        most, [](auto &r) { r.src_count[0] = r.dst_count[0] = 257; },
        "more than 4 GiB in one transfer", 60);
    const char *table = "bound on an address that is no entry of the DGE table";
    const uint8_t address = form == ISA_FORM_IMAGE ? ISA_ADDR8_DEVICE : ISA_ADDR8_VARIABLE;
    refused(
        good, [](auto &r) { r.src_bound = 0x21; }, "bound without its valid bit", 38);
    isa_dma bounded = good;
    bounded.src_bound = bounded.dst_bound = 0xC1;
    refused(
        bounded, [=](auto &r) { r.src.mode = address; }, table, 38);
    refused(
        bounded, [=](auto &r) { r.dst.mode = address; }, table, 39);
  }
}

TEST_F(Modes, AddressModesOfTransfers) {
  form = ISA_FORM_IMAGE;
  const isa_dma good = dma(ISA_DMAMEMCPY);
  for (int mode = 1; mode < 256; mode++) {
    if (mode == 0x20 || mode == 0x28)
      continue;
    const auto byte = static_cast<uint8_t>(mode);
    refused(
        good, [=](auto &r) { r.src.mode = byte; }, "address mode", 23);
    refused(
        good, [=](auto &r) { r.dst.mode = byte; }, "address mode", 47);
  }
  for (uint32_t n : {64u, 0x100u, 0xFFFFFFFFu})
    refused(
        good, [=](auto &r) { r.src.mode = 0x28, r.src.offset = n; },
        "register number above 63 in an address", 16);
}

TEST_F(Modes, Casts) {
  const isa_dma good = cast();
  const char *rows = "a cast between rows of different lengths";
  refused(
      good, [](auto &r) { r.dst_bytes = 34; }, rows, 60);
  refused(
      good, [](auto &r) { r.src_bytes = 66, r.dst_bytes = 33; }, rows, 60);  // half elements
  refused(
      good, [](auto &r) { r.src_count[0] = 5; }, rows, 60);
  refused(
      good, [](auto &r) { r.src_count[0] = 2, r.src_bytes = 128; }, rows, 60);  // equal totals
  refused(
      good, [](auto &r) { r.src_dtype = 0; }, "unlisted data type", 62);
  refused(
      good, [](auto &r) { r.dst_dtype = 16; }, "unlisted data type", 63);
}

// --- overlaps ---

// A cast of `n` elements from the source's place to a byte address.
isa_copy cast_to(uint32_t address, uint16_t n, uint8_t from = ISA_DTYPE_FP32,
                 uint8_t to = ISA_DTYPE_FP32) {
  isa_copy r = copy(ISA_CAST);
  r.src = pattern<isa_pattern4>(kSource, {n});
  r.dst = pattern<isa_pattern4>(address, {n});
  r.in_dtype = from;
  r.out_dtype = to;
  return r;
}

TEST_F(Modes, LongOperandsThatOverlap) {
  const char *text =
      "source and destination overlap in different patterns of more than 2048 elements";
  constexpr uint16_t n = 2049;
  constexpr uint32_t bytes = n * 4;
  // Beside it, the same elements, backwards, shrinking; up to 2048 anywhere.
  fine(cast_to(kSource + bytes, n));
  fine(cast_to(kSource - bytes, n));
  fine(cast_to(kSource, n));
  fine(cast_to(kSource - 4, n));
  fine(cast_to(kSource, n, ISA_DTYPE_FP32, ISA_DTYPE_BF16));
  fine(cast_to(kSource + 4, n - 1));
  fine(cast_to(kSource, n - 1, ISA_DTYPE_BF16, ISA_DTYPE_FP32));
  const isa_copy good = cast_to(0x8000, n);
  refused(
      good, [](auto &r) { r.dst.addr4 = kSource + 4; }, text, 44);
  refused(
      good, [](auto &r) { r.dst.addr4 = kSource + bytes - 1; }, text, 44);
  refused(
      good, [](auto &r) { r.dst.addr4 = kSource, r.in_dtype = ISA_DTYPE_BF16; }, text, 44);
  // Each element twice, backwards.
  refused(
      good, [](auto &r) { r.dst.addr4 = kSource + bytes - 4, r.dst.step[0] = -1; }, text, 44);
  isa_copy twice = good;
  twice.src.step[0] = twice.dst.step[0] = 0;
  refused(
      twice, [](auto &r) { r.dst.addr4 = kSource; }, text, 44);
  // The same elements in other words: 3 x 683 in a row.
  isa_copy words = cast_to(kSource, n);
  words.dst = pattern<isa_pattern4>(kSource, {3, 683});
  words.dst.step[1] = 3;
  fine(words);
  refused(
      words, [](auto &r) { r.dst.step[1] = 4; }, text, 44);
  // Opcodes with two sources, with scalars, and a copy, which is moved at once.
  isa_tensor_tensor tensor = tensor_tensor();
  tensor.src0 = tensor.src1 = pattern<isa_pattern3>(kSource, {n});
  tensor.dst = pattern<isa_pattern3>(kSource, {n});
  refused(
      tensor, [](auto &r) { r.src0.addr4 -= 4; }, text, 48);
  refused(
      tensor, [](auto &r) { r.src1.addr4 -= 4; }, text, 48);
  isa_tensor_scalar scalar = tensor_scalar();
  scalar.src = pattern<isa_pattern3>(kSource, {n});
  scalar.dst = pattern<isa_pattern3>(kSource, {n});
  scalar.imm0_source = ISA_SOURCE_POINTER;
  scalar.imm0 = kSource + 4;
  refused(
      scalar, [](auto &r) { r.dst.addr4 += 4; }, text, 48);
  isa_copy moved = cast_to(kSource + 4, n);
  moved.h.opcode = ISA_COPY;
  refused(
      moved, [](auto &r) { r.src.step[0] = 2; }, text, 44);
  // Where a register points is not known yet.
  isa_copy by_register = good;
  by_register.dst.addr4 = ISA_ADDR4_REGISTER | 3;
  fine(by_register);
}

TEST_F(Modes, ReductionsThatOverlap) {
  isa_copy r = reduce();
  r.src = pattern<isa_pattern4>(kSource, {2, 513});
  r.src.step[1] = 2;
  r.dst = pattern<isa_pattern4>(kSource + 2 * 513 * 4, {513});
  refused(
      r, [](auto &x) { x.dst.addr4 = kSource; },
      "source and destination of more than 512 results overlap", 44);
  r.src.count[1] = r.dst.count[0] = 512;
  r.dst.addr4 = kSource;
  fine(r);
}

// --- what registers say ---

TEST_F(Modes, ShapesInRegisters) {
  const char *text = "operand with its shape in registers is not implemented";
  const auto shape = ISA_ADDR4_SHAPE_REGISTER;
  refused(
      tensor_tensor(), [=](auto &r) { r.src0.addr4 |= shape; }, text, 16);
  refused(
      tensor_tensor(), [=](auto &r) { r.src1.addr4 = shape | ISA_ADDR4_REGISTER | 5; }, text, 32);
  refused(
      tensor_tensor(), [=](auto &r) { r.dst.addr4 |= shape, r.dst.count[0] = 0; }, text, 48);
  refused(
      copy(ISA_CAST), [=](auto &r) { r.dst.addr4 |= shape; }, text, 44);
  refused(
      affine_select(), [=](auto &r) { r.dst.addr4 |= shape; }, text, 48);
  refused(
      tensor_tensor(), [](auto &r) { r.src0.addr4 |= ISA_ADDR4_INDIRECT; }, "indirect address", 16);
  refused(
      tensor_tensor(), [](auto &r) { r.src0.addr4 = ISA_ADDR4_REGISTER | 64; },
      "register number above 63 in an address", 16);
  engine = ISA_ENGINE_PE;
  refused(
      ldweights(), [=](auto &r) { r.src.addr4 |= shape; }, text, 16);
  refused(
      matmul(), [=](auto &r) { r.dst.addr4 |= shape; }, text, 48);
}

// Partitions are not known as long as the address is in a register; all else is.
TEST_F(Modes, AddressesInRegisters) {
  engine = ISA_ENGINE_PE;
  isa_matmul r = matmul();
  r.row_group = r.column_group = 0xC;
  r.rows = 64;
  r.src.addr4 = r.dst.addr4 = ISA_ADDR4_REGISTER | 7;
  fine(r);
  refused(
      r, [](auto &m) { m.dst.count[0] = 511; }, "destination and moving operand differ in elements",
      58);
  refused(
      r, [](auto &m) { m.rows = 65; }, "more rows or columns than the group has", 38);
  refused(
      r, [](auto &m) { m.src.addr4 = kSource; },
      "source starts at another partition than its row group", 16);
}

}  // namespace
