// SPDX-License-Identifier: Apache-2.0
// Files whose programs use a mode of a known opcode that nothing executes: refused at load with one
// line that names engine, slot, opcode and byte; nothing stays behind, what is loaded goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/matmul_small.h"
#include "tests/isa/assemble.h"

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

// A record in the text of isa/README.md, and what is wrong with it.
struct mode_case_t {
  isa_engine_t engine;
  const char *record;
  const char *opcode;
  const char *reason;  // "byte N: ..."
};

constexpr char kNames[] = ".var in0 1\n.var out0 3\n.var tmp 7\n.table in0\n";

// Operands the records share.
#define SRC "src=sbuf[p0, 0x4000] step(1) count(8) fp32"
#define DST "dst=sbuf[p0, 0x6000] step(1) count(8) fp32, channels=32"
#define PE_SRC "src=sbuf[p0, 0x4000] step(1) count(32) "
#define PE_DST "dst=psum[p0, 0x0] step(1) count(32), "
#define PE_ALL "columns=32, row_group=all, column_group=all"
#define ROWS " step(64) count(4) bytes(64) fp16"

std::vector<mode_case_t> modes() {
  using enum isa_engine_t;
  return {
      {ISA_ENGINE_PE, "LDWEIGHTS " PE_SRC "fp16, performance=2, rows=64, " PE_ALL, "0x01",
       "byte 35: performance modes"},
      {ISA_ENGINE_PE, "LDWEIGHTS " PE_SRC "uint8, quant_offset0=1, rows=64, " PE_ALL, "0x01",
       "byte 36: quantisation offsets"},
      {ISA_ENGINE_PE, "LDWEIGHTS " PE_SRC "fp32, rows=64, " PE_ALL, "0x01",
       "byte 33: fp32 operand without an fp32 mode"},
      {ISA_ENGINE_PE,
       "LDWEIGHTS " PE_SRC "fp16, rows=64, columns=32, row_group=low_half, column_group=q1, "
       "performance=0, wait sem9>=1, +sem9, words=0x11",
       "0x01", ""},  // fine
      {ISA_ENGINE_PE,
       "LDWEIGHTS " PE_SRC "fp16, rows=65, columns=32, row_group=low_half, "
       "column_group=all",
       "0x01", "byte 38: more rows or columns than the group has"},
      {ISA_ENGINE_PE,
       "LDWEIGHTS " PE_SRC "fp16, rows=32, columns=32, row_group=q1, "
       "column_group=all",
       "0x01", "byte 16: source starts at another partition"},
      {ISA_ENGINE_PE,
       "LDWEIGHTS " PE_SRC "fp16, rows=64, columns=31, row_group=all, "
       "column_group=all",
       "0x01", "byte 39: elements per lane differ from the columns"},
      {ISA_ENGINE_PE, "MATMUL " PE_SRC "fp16, " PE_DST "rows=64, out_dtype=bf16, " PE_ALL, "0x02",
       "byte 40: output types other than fp32"},
      {ISA_ENGINE_PE,
       "MATMUL " PE_SRC "fp16, " PE_DST "rows=64, columns=32, row_group=all, "
       "column_group=q3",
       "0x02", "byte 48: destination starts at another partition"},
      {ISA_ENGINE_ACT, "ACTIVATE " SRC ", " DST ", function=1, accumulator=accumulate, bias=0 fp32",
       "0x21", "byte 14: accumulators"},
      {ISA_ENGINE_ACT,
       "ACTIVATE " SRC ", " DST ", function=4, immediate_source=pointer, bias=0 fp32", "0x21",
       "byte 12: slope behind a pointer"},
      {ISA_ENGINE_ACT, "ACTIVATE " SRC ", " DST ", function=200, bias=0 fp32", "0x21",
       "byte 35: activation function 200 has plain tables in none of the subgraph's 1 sets"},
      {ISA_ENGINE_DVE,
       "TENSOR_TENSOR src0=sbuf[p0, 0x4000] count(8) int32, src1=sbuf[p0, 0x5000] count(8) int32, "
       "dst=sbuf[p0, 0x6000] count(8) int32, op=xor, channels=32",
       "0x41", "byte 14: bit operation"},
      {ISA_ENGINE_POOL, "TENSOR_SCALAR " SRC ", " DST ", op0=add, op1=bypass, accumulator=zero",
       "0x43", "byte 12: accumulators"},
      {ISA_ENGINE_DVE, "TENSOR_SCALAR " SRC ", " DST ", op0=add, op1=shl_logical", "0x43",
       "byte 37: bit operation"},
      {ISA_ENGINE_DVE,
       "TENSOR_SCALAR src=sbuf[p0, 0x4000] shape fp32, " DST ", op0=add, op1=bypass", "0x43",
       "byte 16: operand with its shape in registers"},
      {ISA_ENGINE_DVE, "TENSOR_REDUCE " SRC ", " DST ", op=subtract, dimension=x", "0x42",
       "byte 36: reduction other than"},
      {ISA_ENGINE_DVE, "TENSOR_REDUCE " SRC ", " DST ", op=add, dimension=x", "0x42",
       "byte 56: the destination has not one element per group"},
      {ISA_ENGINE_DVE, "CAST src=sbuf[p0, 0x4000] count(9) bf16, " DST, "0x47",
       "byte 24: source and destination differ"},
      {ISA_ENGINE_DVE, "MEMSET dst=sbuf[p0, 0x6000] count(8) int64, count=8, channels=32", "0x49",
       "byte 32: fill with a 64-bit type"},
      {ISA_ENGINE_DVE, "MEMSET " DST ", count=9", "0x49", "byte 28: element count differs"},
      {ISA_ENGINE_DVE, "MEMSET dst=sbuf[p0, 0x37fe0] count(8) fp32, count=8, channels=128", "0x49",
       ""},  // the last bytes there are
      {ISA_ENGINE_DVE, "MEMSET dst=sbuf[p0, 0x37fe4] count(8) fp32, count=8, channels=128", "0x49",
       "operand dst leaves SBUF: 128 partitions of 229376 bytes"},
      {ISA_ENGINE_DVE, "MEMSET dst=sbuf[p96, 0x0] count(8) fp32, count=8, channels=33", "0x49",
       "operand dst leaves SBUF"},
      {ISA_ENGINE_ACT, "CAST src=psum[p0, 0x3ff0] step(1) count(8) fp32, " DST, "0x47",
       "operand src leaves PSUM: 128 partitions of 16384 bytes"},
      {ISA_ENGINE_POOL, "IOTA pattern=0 step(1) count(9), " DST, "0x7e",
       "byte 24: pattern and destination differ"},
      {ISA_ENGINE_POOL, "AFFINE_SELECT mask=0 step(1) count(9), " SRC ", " DST ", fill_register=r5",
       "0x92", "byte 28: mask and destination differ"},
      {ISA_ENGINE_SP, "ALU_OP op=add, dtype=fp32, src0_low=r1, src1_low=r2, dst_low=r3", "0xa8",
       "byte 13: scalar arithmetic on this data type"},
      {ISA_ENGINE_SP, "ALU_OP op=divide, dtype=int32, src0_low=r1, src1_low=r2, dst_low=r3", "0xa8",
       "byte 12: scalar operation"},
      {ISA_ENGINE_SP, "MOVE src=(r1), dst=(r200), dtype=uint32", "0xa7",
       "byte 24: register that cannot be written"},
      {ISA_ENGINE_SP, "COMPARE_BRANCH compare=lt, dtype=fp32, target=relative, offset=64", "0xa9",
       "byte 13: branch on a data type"},
      {ISA_ENGINE_SP, "COMPARE_BRANCH compare=lt_reg, dtype=int64, target=relative, offset=64",
       "0xa9", "byte 12: 64-bit comparison"},
      {ISA_ENGINE_SP, "PSEUDO_TENSOR_LOAD dtype=int64, count0=1, count1=1, address=in0, reg=(r1)",
       "0xce", "byte 12: scalar access with this data type"},
      {ISA_ENGINE_SP, "PSEUDO_TENSOR_STORE dtype=uint64, count0=1, count1=1, address=tmp, reg=(r1)",
       "0xcd", "byte 12: scalar access with this data type"},
      {ISA_ENGINE_SP, "DMA_DIRECT2D src=in0" ROWS ", dst=tmp" ROWS ", config=4", "0xd4",
       "byte 12: configuration byte"},
      {ISA_ENGINE_SP, "DMA_DIRECT2D src=in0" ROWS ", dst=tmp step(64) count(3) bytes(64) fp16",
       "0xd4", "byte 60: the two sides differ in bytes"},
      {ISA_ENGINE_SP, "DMA_DIRECT2D src=in0" ROWS ", dst=tmp step(64) count(4) bytes(64) fp32",
       "0xd4", "byte 60: a cast between rows"},
      {ISA_ENGINE_SP, "DMA_DIRECT2D src=in0" ROWS ", dst=tmp" ROWS ", src_bound=r5", "0xd4",
       "byte 38: bound on an address that is no entry of the DGE table"},
  };
}

// A file whose second core has the record in slot 2 of the engine's stream.
std::vector<uint8_t> file_with(const mode_case_t &mode) {
  static constexpr const char *members[] = {"PE", "Activation", "Pool", "DVE", "SP"};
  sample_t sample = sample_make();
  isa_program_t program = assemble(std::string(kNames) + ".engine " + isa_engine_name(mode.engine) +
                                   "\nSET_ORDERING\nNOP\n" + mode.record + "\nNOP\n");
  const std::vector<uint8_t> bytes = bytes_of_stream(program.stream[mode.engine]);
  EXPECT_EQ(bytes.size(), 4 * 64u);
  sample.members[std::string("sg01/") + members[mode.engine] + ".bin"] = bytes;
  return sample_bytes(sample);
}

void expect_refused(stack &s, const mode_case_t &mode) {
  SCOPED_TRACE(mode.record);
  std::vector<uint8_t> file = file_with(mode);
  std::vector<chunk_t> chunks = s.chunks();
  std::vector<dmem_usage_table_t> counters = s.counters();
  size_t models = kmgr_models(s.kmgr, nullptr, 0);
  H_NN h = 0;
  log_capture log;
  if (mode.reason[0] == '\0') {
    EXPECT_EQ(s.load(file, 0, &h), NRT_SUCCESS);
    EXPECT_THAT(log.errors(), ElementsAre());
    ASSERT_EQ(s.unload(h), NRT_SUCCESS);
    return;
  }
  EXPECT_EQ(s.load(file, 0, &h), NRT_INVALID);
  std::string place = std::string("subgraph sg01, engine ") + isa_engine_name(mode.engine) +
                      ", slot 2, opcode " + mode.opcode;
  EXPECT_THAT(log.errors(), ElementsAre(AllOf(HasSubstr(place), HasSubstr(mode.reason))));
  EXPECT_EQ(h, 0u);
  EXPECT_EQ(s.chunks(), chunks);
  EXPECT_TRUE(s.counters() == counters);
  EXPECT_EQ(kmgr_models(s.kmgr, nullptr, 0), models);
}

}  // namespace

TEST(Modes, AreRefusedAtLoad) {
  stack s;
  ASSERT_TRUE(s.ok());
  H_NN neighbour = 0;
  ASSERT_EQ(s.load(sample_file(), 0, &neighbour), NRT_SUCCESS);
  plan_t plan = s.plan(neighbour);
  for (const mode_case_t &mode : modes()) {
    expect_refused(s, mode);
    EXPECT_EQ(s.plan(neighbour), plan);
  }
  EXPECT_EQ(s.unload(neighbour), NRT_SUCCESS);
}

// The core they were meant for runs another model all the while.
TEST(Modes, LeaveAModelThatRunsAlone) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  matmul_small model(s, files[0]);
  ASSERT_TRUE(model.ok());
  uint64_t seed = 0;
  ASSERT_TRUE(model.right(++seed));
  for (const mode_case_t &mode : modes()) {
    expect_refused(s, mode);
    ASSERT_TRUE(model.right(++seed)) << mode.record;
  }
}

// The kernel back end, once it may execute: without that a load only plans.
TEST(Modes, AreRefusedByTheKernelBackEnd) {
  stack s({.hw_exec = true, .kernel_back_end = true});
  ASSERT_TRUE(s.ok());
  for (const mode_case_t &mode : modes())
    expect_refused(s, mode);
}
