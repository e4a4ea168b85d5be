// SPDX-License-Identifier: Apache-2.0
// dis and asm, from the outside.
#include "tests/tools/tool_test.h"

using testing::HasSubstr;
using testing::Not;

namespace {

class StreamsTest : public ToolTest {
 protected:
  std::string text(const std::string &content, const std::string &name = "t.s") {
    spit(dir / name, text_bytes(content));
    return dir / name;
  }
  // Members of a NEFF, extracted.
  std::string extracted(const std::string &file, const std::string &name) {
    EXPECT_EQ(run("extract " + file + " -o " + (dir / name)).code, 0);
    return dir / name;
  }
};

TEST_F(StreamsTest, EveryStreamOfTheCorpusComesBack) {
  const auto files = corpus_files();
  if (files.empty()) {
    printf("skipped: no corpus\n");
    GTEST_SKIP() << "skipped: no corpus";
  }
  for (const std::string &file : files) {
    tool_result r = run("dis " + file);
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.out, Not(HasSubstr(".record")));
    const std::string program = text(r.out);
    r = run("asm " + program + " --into " + file + " -o " + (dir / "new.neff"));
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("10 streams"));
    const std::string before = extracted(file, "before"),
                      after = extracted(dir / "new.neff", "after");
    EXPECT_EQ(system(fmt::format("diff -r {} {}", before, after).c_str()), 0) << file;
    EXPECT_EQ(run("verify " + (dir / "new.neff")).code, 0);
    for (auto [engine, member] : {std::pair("act", "Activation"), std::pair("pool", "Pool")}) {
      r = run(fmt::format("asm {} --core 1 --engine {} -o {}", program, engine, dir / "one.bin"));
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_EQ(slurp(dir / "one.bin"), slurp(fmt::format("{}/sg01/{}.bin", before, member)));
    }
    EXPECT_EQ(system(fmt::format("rm -r {} {}", before, after).c_str()), 0);
  }
}

TEST_F(StreamsTest, WhatDisSaysOfTheCorpus) {
  if (corpus("attn_v6.neff").empty())
    GTEST_SKIP() << "skipped: no corpus";
  // worked-program.md: Pool 5 writes the output through the table, with a cast.
  tool_result r = run("dis " + corpus("matmul_small.neff") + " --core 0 --engine pool --hex");
  EXPECT_THAT(r.out,
              HasSubstr("DMA_DIRECT2D src=sbuf[p0, 0x4200] step(262144) count(128) bytes(256) "
                        "fp32, dst=table[2]=output0 step(256) count(128) bytes(128) fp16, "
                        "semaphore=27, increment=16, wait sem4>=2  # 5: d410"));
  EXPECT_THAT(r.out, Not(HasSubstr(".engine sp")));
  // verified-attention.md 3.12: the two values of lanes 32 and 33 into the cell.
  r = run("dis " + corpus("attn_v6.neff") + " --core 0 --engine dve");
  EXPECT_THAT(r.out, HasSubstr("DMATRIGGER queue=\"qDVESpillReload0\", block=0"));
  EXPECT_THAT(r.out, HasSubstr("# block 0 of qDVESpillReload0, then sem24\n"));
  EXPECT_THAT(r.out, HasSubstr("step(1,262144) size(4,2) -> "));
  r = run("dis " + corpus("attn_v6.neff") + " --core 0 --json");
  EXPECT_EQ(query(r.out, "[len(e['records']) for e in d['cores'][0]['engines']]"),
            "[781, 149, 338, 667, 26]");  // section 2
  EXPECT_EQ(query(r.out,
                  "sum(len(b['block']['transfers']) for e in d['cores'][0]['engines'] for b "
                  "in e['records'] if 'block' in b)"),
            "20");
  EXPECT_EQ(query(r.out,
                  "sorted({o['role'] for e in d['cores'][0]['engines'] for b in "
                  "e['records'] for o in b['operands']})"),
            "['bias', 'dst', 'src', 'src0', 'src1']");
}

TEST_F(StreamsTest, TextIntoASample) {
  const std::string file = sample();
  const std::string program = text(
      "# a wait and an update\n"
      "SET_ORDERING\n"
      "NOP wait sem24>=16, +sem6\n");
  tool_result r = run(fmt::format("asm {} --engine dve -o {}", program, dir / "dve.bin"));
  EXPECT_EQ(r.code, 0) << r.err;
  const bytes_t stream = slurp(dir / "dve.bin");
  ASSERT_EQ(stream.size(), 128u);
  EXPECT_EQ(stream[0], 0xB1);
  EXPECT_EQ(bytes_t(stream.begin() + 64, stream.begin() + 76),
            (bytes_t{0xA4, 0x10, 0, 0, 5, 24, 0x13, 6, 16, 0, 0, 0}));

  r = run(fmt::format("asm {} --into {} --core 1 --engine dve -o {} --json", program, file,
                      dir / "new.neff"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(query(r.out, "d['streams']"), "1");
  EXPECT_EQ(run("verify " + (dir / "new.neff")).code, 0);
  r = run("dis " + (dir / "new.neff") + " --core 1 --engine dve --json");
  EXPECT_EQ(query(r.out, "[x['text'] for x in d['cores'][0]['engines'][0]['records']]"),
            "['SET_ORDERING', 'NOP wait sem24>=16, +sem6']");
  // The rest is as it was.
  EXPECT_EQ(run("dis " + (dir / "new.neff") + " --core 0").out,
            run("dis " + file + " --core 0").out);
  for (const char *key : {"lnc_size", "feature_bits"})
    EXPECT_EQ(
        query(run("info --json " + (dir / "new.neff")).out, fmt::format("d['header']['{}']", key)),
        query(run("info --json " + file).out, fmt::format("d['header']['{}']", key)));
}

TEST_F(StreamsTest, MistakesNameFileLineAndColumn) {
  const std::string file = sample();
  struct mistake_t {
    const char *content;
    const char *options;
    const char *where;
  };
  for (const mistake_t &m : {
           mistake_t{".engine pe\nNOP\n  FOO\n", "", "t.s: 3:3: unknown instruction 'FOO'"},
           mistake_t{".core 0\n.engine pe\nNOP\n.core 1\n.engine sp\nDRAIN count=x\n", "--core 1",
                     "t.s: 6:13: expected a number"},
           mistake_t{".core 0\n.core 0\n", "", "t.s: 2:1: core 0 a second time"},
           mistake_t{".core x\n", "", "t.s: 1:7: expected a number"},
           mistake_t{"NOP\n", "", "t.s: 1:1: no .engine before the first record"},
           mistake_t{".engine pe\n.engine sp\n", "",
                     "t.s: streams: more than one (core 0 pe, core 0 sp)"},
           mistake_t{"# nothing\n", "", "t.s: streams: there is none"},
           mistake_t{".core 7\n.engine pe\nNOP\n", "--into FILE", "t.s: core 7: "},
           mistake_t{".var weights 77\n.engine pe\n", "--into FILE",
                     "t.s: 1:6: that name is variable "},
       }) {
    std::string options = m.options;
    if (options == "--into FILE")
      options = "--into " + file;
    const tool_result r =
        run(fmt::format("asm {} {} -o {}", text(m.content), options, dir / "out"));
    EXPECT_EQ(r.code, 1) << m.content;
    EXPECT_THAT(r.err, HasSubstr(m.where));
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(access((dir / "out").c_str(), F_OK), -1) << m.content;
  }
  EXPECT_EQ(run("dis " + file + " --core 2").code, 2);
  EXPECT_EQ(run("dis " + file + " --engine tpu").code, 2);
  EXPECT_EQ(run("dis " + (dir / "absent")).code, 1);
  const tool_result r = run("asm " + text("FOO") + " --engine pe --json -o " + (dir / "out"));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, "d['error']['findings'][0]['where']"), "1:1");
}

// What is no record of the instruction set is kept as bytes and named.
TEST_F(StreamsTest, UnknownRecordsAreKept) {
  const std::string file = sample();
  std::string hex(128, '0');
  hex.replace(0, 2, "45");
  hex.replace(126, 2, "ff");
  tool_result r = run(fmt::format("asm {} --into {} --core 0 --engine sp -o {}",
                                  text(".record " + hex + "\n"), file, dir / "new.neff"));
  ASSERT_EQ(r.code, 0) << r.err;
  r = run("dis " + (dir / "new.neff") + " --core 0 --engine sp");
  EXPECT_THAT(r.out, HasSubstr(".record " + hex + "  # 0: byte 0: unknown opcode\n"));
  r = run("dis " + (dir / "new.neff") + " --core 0 --engine sp --json");
  EXPECT_EQ(query(r.out, "d['cores'][0]['engines'][0]['records'][0]['problem']"),
            "{'byte': 0, 'what': 'unknown opcode'}");
}

}  // namespace
