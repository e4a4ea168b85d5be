// SPDX-License-Identifier: Apache-2.0
// The text form: lines against bytes written by hand, and whatever bytes there are come back.
#include <random>
#include <set>

#include "tests/isa/assemble.h"
#include "tests/isa/records.h"

namespace {

std::string hex_of(const isa_record &record) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < sizeof(record); i++) {
    const uint8_t byte = reinterpret_cast<const uint8_t *>(&record)[i];
    out += {digits[byte >> 4], digits[byte & 0xF]};
  }
  return out;
}

isa_names_t some_names() {
  isa_names_t names;
  isa_names_add(&names, 1, "x");
  isa_names_add(&names, 2, "-t125_i0 \"y\"\n");  // as compilers call them, and worse
  isa_names_add(&names, 3, "var7");
  isa_names_add(&names, 4, "x");  // the name leads to 1
  names.table = {1, 2, 3, 4};
  return names;
}

struct line_t {
  isa_engine_t engine;
  isa_form_t form;
  std::string_view text;
  std::string_view hex;
};

// Each line with its bytes, worked out from the sheets.
const line_t lines[] = {
    {ISA_ENGINE_DVE, ISA_FORM_NEFF,
     "TENSOR_TENSOR src0=sbuf[p0, 0x2c180] step(1) count(1000) fp32, src1=sbuf[p0, 0x2e0c0] "
     "step(1) count(1000) fp32, dst=sbuf[p0, 0x4000] step(1) count(1000) fp32, op=add, "
     "channels=128, wait sem9>=16, +sem6",
     add_tile_hex},
    {ISA_ENGINE_PE, ISA_FORM_NEFF,
     "LDWEIGHTS src=sbuf[p0, 0x37cfe] step(-1,0,-32) count(32,1,4) fp16, transpose=1, rows=128, "
     "columns=128, row_group=all, column_group=all, wait sem8>=16",
     "01100000 05080000 10000000 00000000 FE7C0300 FFFF0000E0FF 200001000400 07000100 00008080 "
     "00000000 0F0F0000"},
    {ISA_ENGINE_PE, ISA_FORM_NEFF,
     "MATMUL src=sbuf[p0, 0x37f00] step(1) count(64) fp16, dst=psum[p0, 0x0] step(1) count(64), "
     "rows=128, columns=128, flags=begin, row_group=all, column_group=all, +sem5",
     "02100000 00001305 00000000 00000000 007F0300 010000000000 400001000100 07000000 00008080 "
     "00000001 0F0F0000 00000002 010000000000 400001000100"},
    {ISA_ENGINE_ACT, ISA_FORM_NEFF,
     "ACTIVATE src=psum[p64, 0x800] step(1,1,1) count(8,2,1) fp32, dst=sbuf[p0, 0x4100] step(2) "
     "count(16) bf16, function=7, scale=0.0078125, bias=sbuf[p32, 0x4050] fp32, channels=64, "
     "wait sem5>=2, +sem4",
     "21100000 05051304 02000000 00000000 00082002 010001000100 080002000100 AA064007 0000003C "
     "50408000 00000000 00410000 020001000100 100001000100"},
    {ISA_ENGINE_POOL, ISA_FORM_NEFF,
     "DMA_DIRECT2D src=table[0]=x step(512) count(128) bytes(512) fp16, dst=sbuf[p0, 0x37c00] "
     "step(262144) count(128) bytes(512) fp16, semaphore=24, increment=16",
     "D4100000 00000000 00000000 00181000 0000000000000020 00020000 01000000 80000100 00020000 "
     "007C030000000010 00000400 01000000 80000100 00020707"},
    {ISA_ENGINE_POOL, ISA_FORM_NEFF,
     "DMA_DIRECT2D src=table[1]+r9 bytes(0) fp32, dst=x+0x100 bytes(128) fp16, src_bound=r61, "
     "dst_bound=r5 skip, semaphore=25, increment=16",
     "D4100000 00000000 00000000 00191000 0900000001000028 01000000 01000000 01000100 0000BDC5 "
     "0001000001000010 01000000 01000000 01000100 80000A07"},
    {ISA_ENGINE_POOL, ISA_FORM_NEFF, "DMA_BOUND src_size=262144",
     "DA000000 00000000 00000000 "
     "00000400"},
    {ISA_ENGINE_SP, ISA_FORM_NEFF, "DMATRIGGER queue=\"qSPIO0\", block=3, wait sem6>=1",
     "C1100000 05060000 01000000 715350494F30 0000 0000000000000000 0000000000000000 "
     "0000000000000000 00000000 03"},
    {ISA_ENGINE_PE, ISA_FORM_IMAGE, "EVENT_SEMAPHORE wait2 sem2==7, update2 sem2+=1",
     "A010000000000000000000000000000000000000000000000000000000000000 01021502 07000000 "
     "01000000"},
    {ISA_ENGINE_PE, ISA_FORM_IMAGE, "EVENT_SEMAPHORE wait sem0>=1, read -sem0, wait2 event3==1->0",
     "A0100000 05000400 01000000 0000000000000000000000000000000000000000 07030000"},
    {ISA_ENGINE_PE, ISA_FORM_IMAGE, "NOP wait sem4<r17, event2:=1", "A4100000 82041102 11000000"},
    {ISA_ENGINE_POOL, ISA_FORM_NEFF, "MOVE dst=(r61), immediate=(0x3f800000), dtype=uint32",
     "A7100000 00000000 00000000 01090100 0000000000000000 3D00000000000000 0000803F"},
    {ISA_ENGINE_POOL, ISA_FORM_NEFF, "MOVE src=(r1,r0), dst=(r0,r2), dtype=uint32",
     "A7100000 00000000 00000000 02090000 0100000000000000 0002000000000000"},
    {ISA_ENGINE_POOL, ISA_FORM_NEFF,
     "ALU_OP op=add, dtype=int32, src1_source=immediate, src0_low=r5, dst_low=r7, immediate=10000",
     "A8100000 00000000 00000000 04080100 05000000 07000000 10270000"},
    {ISA_ENGINE_PE, ISA_FORM_IMAGE,
     "COMPARE_BRANCH compare=gt, dtype=int32, target=relative, immediate=0x3, reg0=r5, offset=-64",
     "A9100000 00000000 00000000 06080300 0300000000000000 0000000000000000 05000000 00000000 "
     "00000000 00000000 C0FFFFFF"},
    {ISA_ENGINE_SP, ISA_FORM_IMAGE, "WRITE size0=4, address0=@0x800210081038, value0=0xfffe0001",
     "A5100000 00000000 00000000 04000000 38100810 02800000 0000000000000000 0100FEFF00000000"},
    {ISA_ENGINE_SP, ISA_FORM_NEFF,
     "PSEUDO_TENSOR_LOAD dtype=int32, kind=registers, count0=2, count1=1, step0=1, "
     "address=x+0x40, reg=(r10,r0)",
     "CE100000 00000000 00000000 08000201 01000000 40000000 01000000 00000000 0A00"},
    {ISA_ENGINE_SP, ISA_FORM_IMAGE,
     "TENSOR_STORE dtype=uint32, kind=immediates, count0=2, count1=1, step0=1, "
     "address=@0x802000000010, immediate=(0x1,0x0)",
     "AB100000 00000000 00000000 09010201 10000000 20800000 01000000 00000000 01000000"},
    {ISA_ENGINE_POOL, ISA_FORM_NEFF,
     "AFFINE_SELECT mask=-5 step(1) count(128), src=sbuf[p0, 0x58a8] step(1) count(128) fp32, "
     "dst=sbuf[p0, 0x6a10] step(1) count(128) bf16, channels=128, compare=ne, fill_register=r61, "
     "channel_multiplier=-1",
     "92100000 00000000 00000000 806A033D FBFFFFFF 0100010001000100 8000010001000100 A8580000 "
     "01000100 80000100 106A0000 01000100 80000100 FFFFFFFF"},
    {ISA_ENGINE_DVE, ISA_FORM_NEFF,
     "TENSOR_SCALAR src=[r3] step(1) count(4) fp32, dst=sbuf[p0, 0x0] shape count(0) fp32, "
     "op0=multiply, op1=bypass, imm0=sbuf[p0, 0x10], imm1=-1.5, channels=1, reverse=1",
     "43100000 00000000 00000000 00000000 03000080 010001000100 040001000100 0A0A0101 06000100 "
     "10000000 0000C0BF 00000040 010001000100 000001000100"},
    {ISA_ENGINE_SP, ISA_FORM_NEFF, "SET_ORDERING words=0x11, debug_command=notify, value=9",
     "B1110100 00000000 09000000"},
};

TEST(Text, LinesAndTheirBytes) {
  const isa_names_t names = some_names();
  for (const line_t &line : lines) {
    const auto records = assemble_stream(line.text, line.engine, line.form, &names);
    ASSERT_EQ(records.size(), 1u) << line.text;
    const isa_record want = record_of(line.hex);
    EXPECT_EQ(hex_of(records[0]), hex_of(want)) << line.text;
    const isa_text_context_t context{line.engine, line.form, &names, nullptr, 0};
    const std::string printed = isa_text_record(records[0], context);
    const auto again = assemble_stream(printed, line.engine, line.form, &names);
    ASSERT_EQ(again.size(), 1u) << printed;
    EXPECT_EQ(hex_of(again[0]), hex_of(want)) << printed;
  }
}

TEST(Text, NamesThatNeedQuotesOrNone) {
  const isa_names_t names = some_names();
  EXPECT_EQ(isa_text_variable(1, 0, &names), "x");
  EXPECT_EQ(isa_text_variable(1, 0x100, &names), "x+0x100");
  EXPECT_EQ(isa_text_variable(2, 0, &names), "\"-t125_i0 \\x22y\\x22\\x0a\"");
  EXPECT_EQ(isa_text_variable(3, 0, &names), "\"var7\"");
  EXPECT_EQ(isa_text_variable(4, 0, &names), "var4");
  EXPECT_EQ(isa_text_variable(9, 0, &names), "var9");
  EXPECT_EQ(isa_text_variable(1, 0, nullptr), "var1");
  EXPECT_EQ(isa_text_variable(0, 3u << 18 | 0x40, &names), "sbuf[p3, 0x40]");
  EXPECT_EQ(isa_text_addr4(ISA_PSUM_BASE + (5u << 15) + 0x800), "psum[p5, 0x800]");
}

// --- any record ---

// Random bytes, mended where isa_check says so until it has nothing left to say.
bool random_record(std::mt19937 &random, uint8_t opcode, isa_engine_t engine, isa_form_t form,
                   isa_record *out) {
  const auto any = [&](uint32_t n) { return static_cast<uint8_t>(random() % n); };
  for (uint32_t i = 0; i < sizeof(*out); i++)
    byte_of(*out, i) = any(4) ? any(256) : uint8_t{0};
  out->h.opcode = opcode;
  if (opcode == ISA_PSEUDO_DMATRIGGER) {
    memset(&byte_of(*out, 12), 0, 36);
    for (uint32_t i = 0; i <= any(31); i++)
      byte_of(*out, 12 + i) = static_cast<uint8_t>(0x21 + any(0x5E));
  }
  for (int i = 0; i < 20000; i++) {
    uint32_t at = 0;
    if (!isa_check(out, engine, form, &at))
      return true;
    if (at == 0)
      return false;
    at = std::min(at + (any(3) ? 0u : any(8)), ISA_RECORD_BYTES - 1);
    static constexpr uint8_t likely[] = {0, 1, 2, 3, 7, 0x10, 0x20, 0x28, 0x40, 0x80, 0xC0};
    byte_of(*out, at) = any(2) ? uint8_t{0} : any(2) ? likely[any(sizeof(likely))] : any(256);
  }
  return false;
}

TEST(Text, EveryRecordThatPassesComesBack) {
  std::mt19937 random(1);
  const isa_names_t names = some_names();
  std::set<uint8_t> opcodes;
  for (uint32_t op = 0; op < 256; op++) {
    for (uint32_t n = 0; n < 150; n++) {
      const auto engine = static_cast<isa_engine_t>(random() % ISA_ENGINE_COUNT);
      const auto form = random() % 2 ? ISA_FORM_IMAGE : ISA_FORM_NEFF;
      isa_record record;
      if (!random_record(random, static_cast<uint8_t>(op), engine, form, &record))
        continue;
      opcodes.insert(static_cast<uint8_t>(op));
      const isa_names_t *shown = n % 2 ? &names : nullptr;
      const std::string line = isa_text_record(record, {engine, form, shown, nullptr, n});
      EXPECT_FALSE(line.starts_with(".record")) << line;
      const auto back = assemble_stream(line, engine, form, shown);
      ASSERT_EQ(back.size(), 1u) << line;
      ASSERT_EQ(hex_of(back[0]), hex_of(record)) << line;
    }
  }
  EXPECT_EQ(opcodes.size(), 34u);  // all of isa_opcode_t
}

TEST(Text, OtherBytesComeBackToo) {
  std::mt19937 random(2);
  for (uint32_t n = 0; n < 5000; n++) {
    isa_record record;
    for (uint32_t i = 0; i < sizeof(record); i++)
      byte_of(record, i) = static_cast<uint8_t>(random());
    const std::string line =
        isa_text_record(record, {ISA_ENGINE_ACT, ISA_FORM_NEFF, nullptr, nullptr, 0});
    const auto back = assemble_stream(line, ISA_ENGINE_ACT);
    ASSERT_EQ(back.size(), 1u) << line;
    ASSERT_EQ(hex_of(back[0]), hex_of(record)) << line;
  }
}

// --- programs ---

TEST(Program, LabelsCommentsAndEngines) {
  const isa_program_t program = assemble(
      "# two streams\n"
      ".engine pe\r\n"
      "start: NOP  # comment\n"
      "  COMPARE_BRANCH compare=ne, dtype=int32, target=relative, reg0=r1, offset=start\n"
      "  COMPARE_BRANCH compare=always, target=relative, offset=end\n"
      "end:\n"
      "\n"
      ".engine sp\n"
      "start: SET_ORDERING\n"
      ".engine pe\n"
      "  DRAIN");
  EXPECT_TRUE(program.given[ISA_ENGINE_PE]);
  EXPECT_TRUE(program.given[ISA_ENGINE_SP]);
  EXPECT_FALSE(program.given[ISA_ENGINE_ACT]);
  ASSERT_EQ(program.stream[ISA_ENGINE_PE].size(), 4u);
  ASSERT_EQ(program.stream[ISA_ENGINE_SP].size(), 1u);
  const auto *branch =
      reinterpret_cast<const isa_compare_branch *>(&program.stream[ISA_ENGINE_PE][1]);
  EXPECT_EQ(branch[0].offset, -64);
  EXPECT_EQ(branch[1].offset, 64);

  const auto &records = program.stream[ISA_ENGINE_PE];
  const isa_labels_t labels = isa_text_labels(records, ISA_ENGINE_PE, ISA_FORM_NEFF);
  EXPECT_EQ(labels, (isa_labels_t{{0, "L0"}, {3, "L3"}}));
  EXPECT_NE(isa_text_record(records[1], {ISA_ENGINE_PE, ISA_FORM_NEFF, nullptr, &labels, 1})
                .find("offset=L0"),
            std::string::npos);
}

TEST(Program, HeadReadsBack) {
  const isa_names_t names = some_names();
  const std::string head = isa_text_names(names, nullptr) + ".form image\n.engine dve\n";
  const isa_program_t program =
      assemble(head +
               "DMAMEMCPY src=table[1]=\"-t125_i0 \\x22y\\x22\\x0a\"+0x8 bytes(4) fp32, "
               "dst=@0x1000 bytes(4) fp32");
  EXPECT_EQ(program.stream[ISA_ENGINE_DVE].size(), 1u);
}

// The whole v2 program of verified-facts.md G9, which is not in the corpus.
constexpr std::string_view add_program =
    ".var a_vec 1\n"
    ".var b_vec 2\n"
    ".var out 3\n"
    ".engine pe\n"
    "SET_ORDERING\n"
    ".engine act\n"
    "SET_ORDERING\n"
    ".engine pool\n"
    "SET_ORDERING\n"
    "DMATRIGGER queue=\"qPoolIO0\", block=0, wait sem6>=1   # tile 0 to out[0]\n"
    "DMATRIGGER queue=\"qPoolIO0\", block=1, wait sem6>=2   # tile 1 to out[512000]\n"
    "NOP wait sem24>=16\n"
    "NOP wait sem25>=16\n"
    ".engine dve\n"
    "SET_ORDERING\n"
    "TENSOR_TENSOR dst=sbuf[p0, 0x4000] step(1) count(1000) fp32,"
    " src0=sbuf[p0, 0x2c180] step(1) count(1000) fp32,"
    " src1=sbuf[p0, 0x2e0c0] step(1) count(1000) fp32,"
    " op=add, channels=128, wait sem9>=16, +sem6\n"
    "TENSOR_TENSOR dst=sbuf[p0, 0x4fa0] step(1) count(1000) fp32,"
    " src0=sbuf[p0, 0x2f060] step(1) count(1000) fp32,"
    " src1=sbuf[p0, 0x2d120] step(1) count(1000) fp32,"
    " op=add, channels=128, wait sem11>=16, +sem6\n"
    ".engine sp\n"
    "SET_ORDERING\n"
    "DMATRIGGER queue=\"qSPIO0\", block=0\n"
    "DMATRIGGER queue=\"qSPIO0\", block=1\n"
    "DMATRIGGER queue=\"qSPIO0\", block=2\n"
    "DMATRIGGER queue=\"qSPIO0\", block=3\n";

TEST(Program, AddOfTwoTiles) {
  const isa_program_t program = assemble(add_program);
  const size_t slots[ISA_ENGINE_COUNT] = {1, 1, 5, 3, 5};
  size_t all = 0;
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
    EXPECT_TRUE(program.given[e]);
    ASSERT_EQ(program.stream[e].size(), slots[e]) << isa_engine_name(e);
    EXPECT_EQ(hex_of(program.stream[e][0]), hex_of(record_of("B110")));
    all += slots[e];
  }
  EXPECT_EQ(all, 15u);
  const auto &dve = program.stream[ISA_ENGINE_DVE];
  EXPECT_EQ(hex_of(dve[1]), hex_of(record_of(add_tile_hex)));
  isa_record second = record_of(add_tile_hex);  // the same but for its wait and its addresses
  byte_of(second, 5) = 11;
  put32(second, 16, 0x2F060);
  put32(second, 32, 0x2D120);
  put32(second, 48, 0x4FA0);
  EXPECT_EQ(hex_of(dve[2]), hex_of(second));
  const auto &sp = program.stream[ISA_ENGINE_SP];
  for (uint32_t block = 0; block < 4; block++) {
    isa_record trigger = bare(0xC1);
    memcpy(&byte_of(trigger, 12), "qSPIO0", 6);
    byte_of(trigger, 48) = static_cast<uint8_t>(block);
    EXPECT_EQ(hex_of(sp[1 + block]), hex_of(trigger));
  }
  const auto &pool = program.stream[ISA_ENGINE_POOL];
  EXPECT_EQ(hex_of(pool[3]), hex_of(record_of("A4100000 05180000 10000000")));
  EXPECT_EQ(hex_of(pool[4]), hex_of(record_of("A4100000 05190000 10000000")));
}

struct mistake_t {
  std::string_view text;
  uint32_t line, column;
  std::string_view what;
};

TEST(Program, MistakesNameTheirPlace) {
  const mistake_t mistakes[] = {
      {"NOP", 1, 1, "no .engine before the first record"},
      {".engine xy", 1, 9, "expected pe, act, pool, dve or sp"},
      {".engine pe\n\n  FOO", 3, 3, "unknown instruction 'FOO', not one of LDWEIGHTS, MATMUL, "},
      {".engine pe\nNOP frob=1", 2, 5, "NOP has no 'frob'; it has no fields"},
      {".engine dve\nTENSOR_TENSOR scalar=1", 2, 15,
       "'scalar'; it has src0, src1, dst, op, channels"},
      {".engine pe\nNOP wait sem256>=1", 2, 10, "number behind sem above 255"},
      {".engine pe\nNOP wait sem5>=1, wait sem6>=1", 2, 19, "given twice"},
      {".engine pe\nNOP wait sem5>=1, sem6+=2", 2, 25, "share one value, which is 1"},
      {".engine pe\nDRAIN count=1, count=1", 2, 16, "given twice"},
      {".engine pe\nDRAIN count=4294967296", 2, 13, "expected a number from 0 to 4294967295"},
      {".engine pe\nDRAIN count=-1", 2, 13, "expected a number"},
      {".engine pe\nDRAIN count=1 2", 2, 15, "expected ',' or the end of the line"},
      {".engine pe\nCOPY channels=1", 2, 1, "opcode of another engine"},
      {".engine act\nCOPY src=sbuf[p128, 0x0] fp32", 2, 15, "number behind p above 127"},
      {".engine act\nCOPY src=sbuf[p0, 0x40000] fp32", 2, 19, "expected a number from 0 to 262143"},
      {".engine act\nCOPY src=sbuf[p0, 0x0] fp31", 2, 24, "expected a data type"},
      {".engine act\nCOPY channels=129, src=sbuf[p0, 0x0] fp32, dst=sbuf[p0, 0x0] fp32", 2, 6,
       "channels: value out of range"},
      {".engine act\nCOPY src=sbuf[p0, 0x0] step(1,1,1,1,1) fp32", 2, 37, "more than 4 values"},
      {".engine sp\nDMATRIGGER queue=\"abc", 2, 18, "name without its closing quote"},
      {".engine sp\nDMATRIGGER block=1", 2, 1, "queue: queue name"},
      {".engine sp\nCOMPARE_BRANCH target=relative, offset=nowhere", 2, 40, "no label 'nowhere'"},
      {".engine sp\nCOMPARE_BRANCH target=relative, offset=63", 2, 33,
       "offset: branch offset that is no multiple of 64"},
      {".engine sp\na: NOP\na: NOP", 3, 1, "label of line 2"},
      {".engine sp\nMOVE dst=(r1,r2), immediate=(1), dtype=int32", 2, 29,
       "the record has 2 of these, not 1"},
      {".engine sp\n.record 00", 2, 9, "expected 128 hexadecimal digits"},
      {".frob", 1, 1, "unknown directive '.frob'"},
      {".var x 1\n.var x 2", 2, 6, "that name is variable 1"},
      {".var r5 1", 1, 6, "not a name"},
      {".table y", 1, 8, "no variable of that name; '.var NAME ID' makes one known"},
      {".var x 1\n.var y 2\n.table x y\n.engine sp\nDMA_DIRECT2D src=table[0]=y bytes(4) fp32", 5,
       27, "entry 0 of the table is not this one"},
      {".engine sp\nNOTIFY queue=4", 2, 1, "record that only a loaded image has"},
  };
  for (const mistake_t &m : mistakes) {
    isa_program_t program;
    isa_text_error_t error{};
    ASSERT_FALSE(isa_assemble(m.text, {}, &program, &error)) << m.text;
    EXPECT_EQ(error.line, m.line) << m.text << "\n" << error.what;
    EXPECT_EQ(error.column, m.column) << m.text << "\n" << error.what;
    EXPECT_NE(error.what.find(m.what), std::string::npos) << m.text << "\n" << error.what;
    for (const auto &stream : program.stream)
      EXPECT_TRUE(stream.empty());
  }
}

}  // namespace
