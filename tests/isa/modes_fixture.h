// SPDX-License-Identifier: Apache-2.0
// Good records of each kind, to be spoilt by tests of isa_modes.h one field at a time.
#pragma once

#include <bit>
#include <vector>

#include "isa/isa_modes.h"
#include "isa/project.h"
#include "tests/isa/records.h"

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

inline isa_ldweights ldweights() {
  auto r = record_of<isa_ldweights>(ISA_LDWEIGHTS);
  r.src = pattern<isa_pattern3>(kSource, {64});
  r.dtype = ISA_DTYPE_FP16;
  r.rows = 100;
  r.columns = 64;
  r.row_group = r.column_group = 0xF;
  return r;
}

inline isa_matmul matmul() {
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

inline isa_activate activate() {
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

inline isa_tensor_tensor tensor_tensor() {
  auto r = record_of<isa_tensor_tensor>(ISA_TENSOR_TENSOR);
  r.src0 = r.src1 = pattern<isa_pattern3>(kSource, {8});
  r.dst = pattern<isa_pattern3>(kDestination, {4, 2});
  r.in_dtypes = ISA_DTYPE_FP32 | ISA_DTYPE_FP32 << 4;
  r.out_dtype = ISA_DTYPE_FP32;
  r.op = ISA_ALU_ADD;
  r.channels = 32;
  return r;
}

inline isa_tensor_scalar tensor_scalar() {
  auto r = record_of<isa_tensor_scalar>(ISA_TENSOR_SCALAR);
  r.src = pattern<isa_pattern3>(kSource, {8});
  r.dst = pattern<isa_pattern3>(kDestination, {8});
  r.in_dtype = r.out_dtype = ISA_DTYPE_FP32;
  r.op0 = r.op1 = ISA_ALU_ADD;
  r.channels = 32;
  return r;
}

inline isa_copy copy(uint8_t opcode) {
  auto r = record_of<isa_copy>(opcode);
  r.src = pattern<isa_pattern4>(kSource, {8, 2});
  r.dst = pattern<isa_pattern4>(kDestination, {16});
  r.in_dtype = r.out_dtype = ISA_DTYPE_FP32;
  r.channels = 32;
  return r;
}

inline isa_copy reduce() {
  isa_copy r = copy(ISA_TENSOR_REDUCE);
  r.dst = pattern<isa_pattern4>(kDestination, {2});
  r.op = ISA_ALU_MAX;
  r.dimension = 2;
  return r;
}

inline isa_memset memset_of() {
  auto r = record_of<isa_memset>(ISA_MEMSET);
  r.dst = pattern<isa_pattern4>(kDestination, {8, 3});
  r.count = 24;
  r.dtype = ISA_DTYPE_FP32;
  r.channels = 32;
  return r;
}

inline isa_iota iota() {
  auto r = record_of<isa_iota>(ISA_IOTA);
  r.pattern = {0, {1, 1, 1, 1}, {4, 2, 1, 1}};
  r.dst = pattern<isa_pattern4>(kDestination, {8});
  r.out_dtype = ISA_DTYPE_INT32;
  r.channels = 32;
  return r;
}

inline isa_affine_select affine_select() {
  auto r = record_of<isa_affine_select>(ISA_AFFINE_SELECT);
  r.mask = {0, {1, 1, 1, 1}, {8, 1, 1, 1}};
  r.src = pattern<isa_pattern2>(kSource, {8});
  r.dst = pattern<isa_pattern2>(kDestination, {8});
  r.dtypes = ISA_DTYPE_FP32 | ISA_DTYPE_FP32 << 4;
  r.channels = 32;
  r.fill_register = 63;
  return r;
}

inline isa_move move() {
  auto r = record_of<isa_move>(ISA_MOVE);
  r.count = 2;
  r.dtype = ISA_DTYPE_UINT32;
  r.source = 1;
  r.dst[0] = 63;
  r.dst[1] = PROJECT_TABLE_REGISTER + 1;
  return r;
}

inline isa_alu alu() {
  auto r = record_of<isa_alu>(ISA_ALU_OP);
  r.op = ISA_ALU_ADD;
  r.dtype = ISA_DTYPE_UINT32;
  r.src1_source = 1;
  return r;
}

inline isa_compare_branch branch() {
  auto r = record_of<isa_compare_branch>(ISA_COMPARE_BRANCH);
  r.compare = ISA_BRANCH_LT;
  r.dtype = ISA_DTYPE_INT32;
  r.target = ISA_TARGET_RELATIVE;
  r.offset = 64;
  return r;
}

inline isa_tensor_move tensor_move(uint8_t opcode) {
  auto r = record_of<isa_tensor_move>(opcode);
  r.dtype = ISA_DTYPE_UINT16;
  r.count[0] = 3;
  r.count[1] = 2;
  return r;
}

inline isa_dma dma(uint8_t opcode = ISA_PSEUDO_DMA_DIRECT2D) {
  auto r = record_of<isa_dma>(opcode);
  r.src.mode = r.dst.mode = ISA_ADDR8_TABLE;
  for (int d = 0; d < 2; d++)
    r.src_count[d] = r.dst_count[d] = d == 0 ? 4 : 1;
  r.src_bytes = r.dst_bytes = 64;
  r.src_dtype = r.dst_dtype = ISA_DTYPE_FP16;
  return r;
}

inline isa_dma cast() {
  isa_dma r = dma();
  r.src_dtype = ISA_DTYPE_FP32;
  r.dst_bytes = 32;
  return r;
}

// --- what is refused ---

// What stops a record, "" for nothing, and where.
inline std::string stopped(const isa_record &record, isa_engine_t engine, isa_form_t form,
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
