// SPDX-License-Identifier: Apache-2.0
// Records that are well formed and that nothing executes: one field of a good record changed, what
// is said and at which byte. Where isa_check already refuses the value, that counts.
#include "tests/isa/modes_fixture.h"

namespace {

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
