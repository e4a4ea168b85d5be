// SPDX-License-Identifier: Apache-2.0
// Records written byte by byte from the sheets (neuroncore-isa.md 7.3, worked-program.md,
// verified-facts.md G3, G7, G9), then what has to be refused.
#include "tests/isa/records.h"

namespace {

struct template_t {
  const char *what;
  isa_engine_t engine;
  isa_form_t form;
  std::string_view hex;
};

// neuroncore-isa.md 7.3.
std::vector<template_t> templates() {
  return {
      {"ordering", ISA_ENGINE_SP, ISA_FORM_NEFF, "B110"},
      {"label", ISA_ENGINE_PE, ISA_FORM_NEFF, "CC10"},
      {"semaphore add 1", ISA_ENGINE_PE, ISA_FORM_IMAGE,
       "A010000000000000000000000000000000000000000000000000000000000000 00001502 00000000 "
       "01000000"},
      {"wait until equal, then increment", ISA_ENGINE_ACT, ISA_FORM_IMAGE,
       "A010000000000000000000000000000000000000000000000000000000000000 01021302 07000000 "
       "01000000"},
      {"add immediate", ISA_ENGINE_POOL, ISA_FORM_NEFF,
       "A8100000 00000000 00000000 04080100 05000000 07000000 10270000"},
      {"subtract immediate", ISA_ENGINE_DVE, ISA_FORM_NEFF,
       "A8100000 00000000 00000000 05080100 05000000 07000000 10270000"},
      {"register max", ISA_ENGINE_SP, ISA_FORM_NEFF,
       "A8100000 00000000 00000000 08080000 05000600 07000000"},
      {"branch if greater", ISA_ENGINE_PE, ISA_FORM_IMAGE,
       "A9100002 00000000 00000000 06080300 0300000000000000 0000000000000000 05000000 00000000 "
       "00000000 00000000 C0FFFFFF"},
      {"branch if equal", ISA_ENGINE_PE, ISA_FORM_IMAGE,
       "A9100002 00000000 00000000 03080300 0300000000000000 0000000000000000 05000000 00000000 "
       "00000000 00000000 80000000"},
      {"exit", ISA_ENGINE_ACT, ISA_FORM_NEFF, "DF100000 00000000 00000000 01"},
      {"add of two tiles", ISA_ENGINE_DVE, ISA_FORM_NEFF, add_tile_hex},
      {"set r61 to 1.0", ISA_ENGINE_POOL, ISA_FORM_NEFF,
       "A7100000 00000000 00000000 01090100 0000000000000000 3D00000000000000 0000803F"},
      {"doorbell", ISA_ENGINE_SP, ISA_FORM_IMAGE,
       "A5100000 05080000 10000000 04000000 38100810 02800000 0000000000000000 0100FEFF00000000"},
      {"clear semaphores 3 to 53", ISA_ENGINE_PE, ISA_FORM_IMAGE,
       "B0100000 00000000 00000000 01033500"},
      {"second half of a bound", ISA_ENGINE_POOL, ISA_FORM_NEFF,
       "DA000000 00000000 00000000 00000400"},
      {"drain", ISA_ENGINE_ACT, ISA_FORM_NEFF, "A210"},
  };
}

TEST(Check, Templates) {
  for (const template_t &t : templates())
    EXPECT_EQ(check(record_of(t.hex), t.engine, t.form), "") << t.what;
}

// worked-program.md, Pool 2 and Pool 5.
isa_record load_of_x() {
  return record_of(
      "D4100000 00000000 00000000 00181000 0000000000000020 00020000 01000000 80000100 00020000 "
      "007C030000000010 00000400 01000000 80000100 00020707");
}

TEST(Check, DmaRecord) {
  isa_record r = load_of_x();
  EXPECT_EQ(check(r, ISA_ENGINE_POOL), "");
  const auto *dma = reinterpret_cast<const isa_dma *>(&r);
  EXPECT_EQ(dma->semaphore, 24);
  EXPECT_EQ(dma->src_step[0], 512);
  EXPECT_EQ(dma->src_bytes, 0x200);
  EXPECT_EQ(isa_addr8_id(dma->src), 0u);
  EXPECT_EQ(dma->dst.offset, 0x37C00u);
  EXPECT_EQ(dma->dst_step[0], 0x40000);
  byte_of(r, 62) = ISA_DTYPE_FP32;  // Pool 5 casts
  put16(r, 36, 256);
  put16(r, 60, 128);
  EXPECT_EQ(check(r, ISA_ENGINE_POOL), "");
  byte_of(r, 38) = 0xBD;  // bound register 61
  EXPECT_EQ(check(r, ISA_ENGINE_POOL), "");
  byte_of(r, 23) = 0x28;  // register 9 as offset
  byte_of(r, 16) = 9;
  EXPECT_EQ(check(r, ISA_ENGINE_POOL), "");
}

// PE 3 and PE 9 of worked-program.md.
isa_record weights() {
  return record_of(
      "01100000 05080000 10000000 00000000 FE7C0300 FFFF0000E0FF 200001000400 07000100 00008080 "
      "00000000 0F0F0000");
}
isa_record product() {
  return record_of(
      "02100000 00001305 00000000 00000000 007F0300 010000000000 400001000100 07000000 00008080 "
      "00000001 0F0F0000 00000002 010000000000 400001000100");
}

TEST(Check, PeRecords) {
  EXPECT_EQ(check(weights(), ISA_ENGINE_PE), "");
  EXPECT_EQ(check(product(), ISA_ENGINE_PE), "");
  isa_record r = weights();
  for (uint8_t crossbar : {0x01, 0x02, 0x0F}) {  // v2 (verified-facts.md G10)
    byte_of(r, 46) = crossbar;
    EXPECT_EQ(check(r, ISA_ENGINE_PE), "");
  }
  r = product();
  byte_of(r, 46) = 0x10;
  EXPECT_EQ(check(r, ISA_ENGINE_PE), "");
}

// --- refusals ------------------------------------------------------------------------------------

void expect_refused(isa_record record, isa_engine_t engine, uint32_t at, uint8_t value,
                    isa_form_t form = ISA_FORM_NEFF) {
  ASSERT_EQ(check(record, engine, form), "");
  byte_of(record, at) = value;
  uint32_t offset = 99;
  EXPECT_NE(check(record, engine, form, &offset), "") << at;
  EXPECT_LE(offset, at);
  EXPECT_GT(offset + 8, at);
}

TEST(Check, RefusesUnlistedValues) {
  const isa_record add = record_of(add_tile_hex);
  expect_refused(add, ISA_ENGINE_DVE, 0, 0x45);    // opcode
  expect_refused(add, ISA_ENGINE_DVE, 2, 2);       // debug command
  expect_refused(add, ISA_ENGINE_DVE, 4, 8);       // wait mode
  expect_refused(add, ISA_ENGINE_DVE, 6, 0x16);    // update mode
  expect_refused(add, ISA_ENGINE_DVE, 12, 0xA0);   // type of src0
  expect_refused(add, ISA_ENGINE_DVE, 12, 0x0A);   // type of src1
  expect_refused(add, ISA_ENGINE_DVE, 13, 0x10);   // output type
  expect_refused(add, ISA_ENGINE_DVE, 14, 0x1C);   // operation
  expect_refused(add, ISA_ENGINE_DVE, 15, 0);      // lanes
  expect_refused(add, ISA_ENGINE_DVE, 15, 129);    // lanes
  expect_refused(add, ISA_ENGINE_DVE, 19, 0x04);   // address bit 26
  expect_refused(add, ISA_ENGINE_DVE, 19, 0x20);   // indirect
  expect_refused(add, ISA_ENGINE_DVE, 28, 0);      // count of 0
  expect_refused(add, ISA_ENGINE_POOL, 19, 0x02);  // PSUM from Pool
  expect_refused(weights(), ISA_ENGINE_PE, 19, 2);
  expect_refused(weights(), ISA_ENGINE_PE, 32, ISA_DTYPE_INT32);
  expect_refused(weights(), ISA_ENGINE_PE, 34, 2);
  expect_refused(weights(), ISA_ENGINE_PE, 44, 5);
  expect_refused(weights(), ISA_ENGINE_PE, 46, 3);
  expect_refused(product(), ISA_ENGINE_PE, 43, 5);
  expect_refused(product(), ISA_ENGINE_PE, 51, 0);  // SBUF destination
  expect_refused(load_of_x(), ISA_ENGINE_POOL, 15, 1);
  expect_refused(load_of_x(), ISA_ENGINE_POOL, 23, 0x2C);
  expect_refused(load_of_x(), ISA_ENGINE_POOL, 23, 0x00);  // device address in a NEFF
  expect_refused(load_of_x(), ISA_ENGINE_POOL, 32, 0);
  expect_refused(load_of_x(), ISA_ENGINE_POOL, 38, 0x3D);
  expect_refused(load_of_x(), ISA_ENGINE_POOL, 63, 0);
}

TEST(Check, FormsAndEngines) {
  EXPECT_EQ(check(weights(), ISA_ENGINE_ACT), "opcode of another engine");
  EXPECT_EQ(check(record_of(add_tile_hex), ISA_ENGINE_PE), "opcode of another engine");
  EXPECT_EQ(check(load_of_x(), ISA_ENGINE_POOL, ISA_FORM_IMAGE), "pseudo record in a loaded image");
  isa_record r = load_of_x();
  r.h.opcode = ISA_DMAMEMCPY;
  EXPECT_NE(check(r, ISA_ENGINE_POOL, ISA_FORM_NEFF), "");
  EXPECT_EQ(check(r, ISA_ENGINE_POOL, ISA_FORM_IMAGE), "address mode");  // still a variable
  byte_of(r, 47) = 0;
  EXPECT_EQ(check(r, ISA_ENGINE_POOL, ISA_FORM_IMAGE), "");  // the table stays
  for (uint8_t op : {ISA_WRITE, ISA_NOTIFY, ISA_SEM_RANGE_CLEAR, ISA_TENSOR_LOAD})
    EXPECT_EQ(check(bare(op), ISA_ENGINE_SP, ISA_FORM_NEFF), "record that only a loaded image has");
}

TEST(Check, DependentFields) {
  isa_record copy = record_of(
      "46100000 00000000 00000000 00000002 0100000000000000 8000010001000100 0808 80 00 00000000"
      "00000000 00400000 0100000000000000 8000010001000100");
  EXPECT_EQ(check(copy, ISA_ENGINE_ACT), "");
  byte_of(copy, 33) = ISA_DTYPE_FP32;
  EXPECT_EQ(check(copy, ISA_ENGINE_ACT), "a copy with two data types");
  copy.h.opcode = ISA_CAST;
  EXPECT_EQ(check(copy, ISA_ENGINE_ACT), "");

  isa_record move = record_of("A7100000 00000000 00000000 01090100 00000000 00000000 3D");
  byte_of(move, 25) = 1;
  EXPECT_EQ(check(move, ISA_ENGINE_POOL), "unused register");
  byte_of(move, 12) = 2;
  EXPECT_EQ(check(move, ISA_ENGINE_POOL), "");

  isa_record branch = record_of(templates()[7].hex);
  put32(branch, 48, 65);
  EXPECT_EQ(check(branch, ISA_ENGINE_PE), "branch offset that is no multiple of 64");

  isa_record scalar = record_of(
      "43100000 00000000 00000000 00000000 00400000 010000000000 800001000100 0A0A 80 01 06 00 00 "
      "00 50400000 00000000 00420000 010000000000 800001000100");
  EXPECT_EQ(check(scalar, ISA_ENGINE_DVE), "");
  put32(scalar, 40, 0x04000000);
  EXPECT_EQ(check(scalar, ISA_ENGINE_DVE), "address bits 28 to 26");
  byte_of(scalar, 35) = 0;  // now a value
  EXPECT_EQ(check(scalar, ISA_ENGINE_DVE), "");
  byte_of(scalar, 36) = 0;
  byte_of(scalar, 37) = 4;
  EXPECT_EQ(check(scalar, ISA_ENGINE_DVE), "second operation after a bypass");

  isa_record trigger = bare(ISA_PSEUDO_DMATRIGGER);
  EXPECT_EQ(check(trigger, ISA_ENGINE_SP), "queue name");
  memcpy(&byte_of(trigger, 12), "qSPIO0", 6);
  EXPECT_EQ(check(trigger, ISA_ENGINE_SP), "");
  byte_of(trigger, 20) = 'x';
  EXPECT_EQ(check(trigger, ISA_ENGINE_SP), "queue name");
}

// --- operands ------------------------------------------------------------------------------------

TEST(Operands, Matmul) {
  isa_record r = product();
  isa_operand_t o[ISA_MAX_OPERANDS];
  byte_of(r, 38) = 96;  // K
  byte_of(r, 39) = 32;  // M
  ASSERT_EQ(isa_operands(&r, o), 2u);
  EXPECT_STREQ(o[0].role, "src");
  EXPECT_EQ(o[0].lanes, 96);
  EXPECT_EQ(o[0].element_bytes, 2);
  EXPECT_FALSE(o[0].write);
  EXPECT_EQ(o[1].lanes, 32);
  EXPECT_EQ(o[1].element_bytes, 4);
  EXPECT_EQ(o[1].dtype, ISA_DTYPE_FP32);
  EXPECT_TRUE(o[1].write);
  EXPECT_FALSE(o[1].also_read);
  EXPECT_EQ(isa_operand_elements(&o[1]), 64u);
  byte_of(r, 43) = ISA_MATMUL_END;
  isa_operands(&r, o);
  EXPECT_TRUE(o[1].also_read);
  byte_of(r, 34) = 1;
  isa_operands(&r, o);
  EXPECT_EQ(o[1].element_bytes, 2);
  byte_of(r, 32) = ISA_DTYPE_FP32;
  isa_operands(&r, o);
  EXPECT_EQ(o[1].element_bytes, 4);

  r = weights();
  byte_of(r, 38) = 7;
  ASSERT_EQ(isa_operands(&r, o), 1u);
  EXPECT_EQ(o[0].lanes, 7);
  EXPECT_EQ(isa_operand_elements(&o[0]), 128u);
}

TEST(Operands, ScalarsHaveTheirOwnPartition) {
  isa_record r = bare(ISA_ACTIVATE);
  auto *a = reinterpret_cast<isa_activate *>(&r);
  a->src = {0x4000, {1, 0, 0}, {8, 1, 1}};
  a->dst = {0x4100, {1, 0, 0}, {8, 1, 1}};
  a->in_bias_dtype = ISA_DTYPE_BF16 << 4 | ISA_DTYPE_FP32;
  a->out_dtype = ISA_DTYPE_FP32;
  a->channels = 32;
  a->function = 128;
  a->immediate_source = 1;  // no pointer
  a->bias_source = ISA_BIAS_IMMEDIATE;
  isa_operand_t o[ISA_MAX_OPERANDS];
  ASSERT_EQ(check(r, ISA_ENGINE_ACT), "");
  EXPECT_EQ(isa_operands(&r, o), 2u);
  a->scale_source = ISA_SOURCE_POINTER;
  a->scale = 64u << 18 | 0x4050;
  a->bias_source = ISA_BIAS_POINTER;
  a->bias = ISA_PSUM_BASE + (96u << 15) + 16;
  ASSERT_EQ(check(r, ISA_ENGINE_ACT), "");
  ASSERT_EQ(isa_operands(&r, o), 4u);
  bool psum = true;
  uint32_t partition = 0, begin = 0, end = 0;
  EXPECT_STREQ(o[1].role, "scale");
  ASSERT_TRUE(isa_operand_range(&o[1], 196608, &psum, &partition, &begin, &end));
  EXPECT_FALSE(psum);
  EXPECT_EQ(partition, 64u);
  EXPECT_EQ(begin, 0x4050u);
  EXPECT_EQ(end, 0x4054u);
  EXPECT_STREQ(o[2].role, "bias");
  ASSERT_TRUE(isa_operand_range(&o[2], 196608, &psum, &partition, &begin, &end));
  EXPECT_TRUE(psum);
  EXPECT_EQ(partition, 96u);
  EXPECT_EQ(begin, 16u);
  EXPECT_EQ(end, 18u);  // bf16
  EXPECT_TRUE(o[3].write);
}

TEST(Operands, Ranges) {
  isa_record r = weights();  // 128 fp16 backwards from 0x37CFE: 0x37C00 to 0x37D00
  isa_operand_t o[ISA_MAX_OPERANDS];
  ASSERT_EQ(isa_operands(&r, o), 1u);
  bool psum = true;
  uint32_t partition = 9, begin = 0, end = 0;
  ASSERT_TRUE(isa_operand_range(&o[0], 0x38000, &psum, &partition, &begin, &end));
  EXPECT_FALSE(psum);
  EXPECT_EQ(partition, 0u);
  EXPECT_EQ(begin, 0x37C00u);
  EXPECT_EQ(end, 0x37D00u);
  EXPECT_TRUE(isa_operand_range(&o[0], 0x37D00, &psum, &partition, &begin, &end));
  EXPECT_FALSE(isa_operand_range(&o[0], 0x37CFF, &psum, &partition, &begin, &end));
  o[0].addr4 = 0xFC;  // one element short of 256 bytes: negative
  EXPECT_FALSE(isa_operand_range(&o[0], 0x38000, &psum, &partition, &begin, &end));
  o[0].addr4 = 0xFE;
  EXPECT_TRUE(isa_operand_range(&o[0], 0x38000, &psum, &partition, &begin, &end));
  o[0].addr4 += 1u << 18;  // 128 lanes from partition 1
  EXPECT_FALSE(isa_operand_range(&o[0], 0x38000, &psum, &partition, &begin, &end));
  o[0].lanes = 127;
  EXPECT_TRUE(isa_operand_range(&o[0], 0x38000, &psum, &partition, &begin, &end));
  EXPECT_EQ(partition, 1u);

  r = product();
  ASSERT_EQ(isa_operands(&r, o), 2u);
  ASSERT_TRUE(isa_operand_range(&o[1], 0x38000, &psum, &partition, &begin, &end));
  EXPECT_TRUE(psum);
  EXPECT_EQ(end, 256u);
  o[1].addr4 = ISA_PSUM_BASE + ISA_PSUM_PARTITION_BYTES - 256;
  EXPECT_TRUE(isa_operand_range(&o[1], 0x38000, &psum, &partition, &begin, &end));
  o[1].addr4 += 4;
  EXPECT_FALSE(isa_operand_range(&o[1], 0x38000, &psum, &partition, &begin, &end));
  o[1].count[0] = 65535;  // extremes do not wrap
  o[1].step[0] = 32767;
  o[1].count[1] = o[1].count[2] = o[1].count[3] = 65535;
  o[1].step[1] = o[1].step[2] = o[1].step[3] = 32767;
  o[1].addr4 = ISA_PSUM_BASE;
  EXPECT_FALSE(isa_operand_range(&o[1], 0x38000, &psum, &partition, &begin, &end));
}

TEST(Names, EnginesTypesOpcodes) {
  EXPECT_STREQ(isa_engine_name(ISA_ENGINE_POOL), "pool");
  EXPECT_STREQ(isa_engine_name(7), "?");
  EXPECT_STREQ(isa_dtype_name(7), "fp16");
  EXPECT_EQ(isa_dtype_name(0), nullptr);
  EXPECT_EQ(isa_dtype_name(16), nullptr);
  EXPECT_STREQ(isa_opcode_name(0x02), "MATMUL");
  EXPECT_EQ(isa_opcode_name(0x00), nullptr);
  EXPECT_TRUE(isa_is_executable(0x02, ISA_ENGINE_PE));
  EXPECT_FALSE(isa_is_executable(0x02, ISA_ENGINE_SP));
  EXPECT_FALSE(isa_is_executable(0x45, ISA_ENGINE_POOL));
}

}  // namespace
