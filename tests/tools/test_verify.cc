// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/tool_test.h"

using testing::HasSubstr;
using testing::Not;

TEST_F(ToolTest, CorpusIsClean) {
  std::vector<std::string> files = corpus_files();
  if (files.empty()) {
    printf("skipped: no corpus\n");
    GTEST_SKIP() << "skipped: no corpus";
  }
  std::string all;
  std::string expected;
  for (const std::string &file : files) {
    all += file + " ";
    expected += file + ": ok\n";
  }
  tool_result r = run("verify " + all);
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, expected);
  EXPECT_EQ(r.err, "");
}

TEST_F(ToolTest, SamplesAreClean) {
  for (const char *target : {"sunda", "cayman", "mariana", "*"})
    for (uint32_t cores : {1u, 2u}) {
      neff_sample_options options;
      options.target = target;
      options.cores = cores;
      std::string name = dir / "s.neff";
      tool_result r = run(fmt::format("sample {} --cores {} --target '{}'", name, cores, target));
      bool sensible = cores == 1 || std::string(target) == "cayman" || target[0] == '*';
      EXPECT_EQ(r.code, sensible ? 0 : 1) << target << cores;
      if (sensible) {
        EXPECT_EQ(run("verify " + name).out, name + ": ok\n") << target << cores;
      }
    }
}

TEST_F(ToolTest, SampleIsReproducible) {
  ASSERT_EQ(run("sample " + (dir / "a")).code, 0);
  sleep(1);
  ASSERT_EQ(run("sample " + (dir / "b")).code, 0);
  EXPECT_EQ(slurp(dir / "a"), slurp(dir / "b"));
}

// Defects in the digest and in several members: all of them are told at once, each with its place
// and the status a load would give.
TEST_F(ToolTest, AllFindingsAtOnce) {
  neff_sample_options options;
  options.edit_members = [](neff_write_members &members) {
    EXPECT_TRUE(neff_sample_replace(members, "sg00/def.json", "\"file-staged\"", "\"oracle\""));
    EXPECT_TRUE(neff_sample_replace(members, "sg01/def.json", "\"weights.npy\"", "\"gone.npy\""));
    EXPECT_TRUE(neff_sample_replace(members, "sg01/PE.json", "\"PE.bin\"", "\"lost.bin\""));
  };
  std::string file = sample(options);
  bytes_t bytes = slurp(file);
  bytes[172] ^= 0xFF;  // digest
  spit(file, bytes);
  tool_result r = run("verify --json " + file);
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, "d['files'][0]['ok'], d['files'][0]['status'], d['files'][0]['code']"),
            "(False, 'NRT_INVALID', 2)");
  std::string members = query(r.out, "sorted(f['member'] for f in d['files'][0]['findings'])");
  EXPECT_EQ(members, "['header', 'sg00/def.json', 'sg01/PE.json', 'sg01/def.json']");
  EXPECT_EQ(
      query(r.out, "[f['location'] for f in d['files'][0]['findings'] if f['member'] == 'header']"),
      "['0xac']");
  EXPECT_THAT(
      query(r.out, "[f for f in d['files'][0]['findings'] if f['member'] == 'sg00/def.json'][0]"),
      HasSubstr("oracle"));
  r = run("verify " + file);
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 4);
  for (const char *text : {"oracle", "gone.npy", "lost.bin", "header+0xac", "[NRT_INVALID]"})
    EXPECT_THAT(r.out, HasSubstr(text));
}

TEST_F(ToolTest, StatusIsTheOneALoadWouldGive) {
  std::string file = sample();
  struct {
    size_t offset;
    uint64_t value;
    const char *status;
    const char *location;
  } cases[] = {{0, 3, "NRT_UNSUPPORTED_NEFF_VERSION", "0x0"},
               {8, 1u << 30, "NRT_INVALID", "0x8"},
               {16, 1u << 30, "NRT_INVALID", "0x10"},
               {24, 3, "NRT_UNSUPPORTED_NEFF_VERSION", "0x18"},
               {544, 1ull << 40, "NRT_UNSUPPORTED_NEFF_VERSION", "0x220"}};
  bytes_t good = slurp(file);
  for (auto &c : cases) {
    bytes_t bad = good;
    put_u64(bad, c.offset, c.value);
    spit(dir / "bad.neff", bad);
    tool_result r = run("verify --json " + (dir / "bad.neff"));
    EXPECT_EQ(r.code, 1);
    EXPECT_EQ(query(r.out, "d['files'][0]['status'], d['files'][0]['findings'][0]['location']"),
              fmt::format("('{}', '{}')", c.status, c.location));
  }
  // Logical core size 9 where the feature bit gives it a meaning.
  bytes_t bad = good;
  bad[552] = 9;
  spit(dir / "bad.neff", bad);
  tool_result r = run("verify " + (dir / "bad.neff"));
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.out, HasSubstr("lnc_size"));
}

TEST_F(ToolTest, EveryFileGetsItsSay) {
  std::string good = sample();
  spit(dir / "garbage", bytes_t(5000, 'g'));
  tool_result r = run("verify " + (dir / "absent") + " " + good + " " + (dir / "garbage"));
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("neff: " + (dir / "absent") + ": cannot be opened"));
  EXPECT_THAT(r.out, Not(HasSubstr("absent")));
  EXPECT_THAT(r.out, HasSubstr(good + ": ok\n"));
  EXPECT_THAT(r.out, HasSubstr("garbage: header+0x"));
  r = run("verify --json " + (dir / "absent") + " " + good);
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("neff: " + (dir / "absent")));
  EXPECT_EQ(query(r.out, "[(f['ok'], len(f['findings'])) for f in d['files']]"),
            "[(False, 1), (True, 0)]");
}

TEST_F(ToolTest, TargetsOfOneCoreImplyIt) {
  for (const char *target : {"sunda", "mariana"}) {
    tool_result r = run(fmt::format("sample {} --json --target {}", dir / "s", target));
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(query(r.out, "d['lnc_size']"), "1");
  }
  EXPECT_EQ(query(run("sample --json " + (dir / "s")).out, "d['lnc_size']"), "2");
  EXPECT_EQ(query(run("info --json " + (dir / "s")).out, "[t['name'] for t in d['outputs']]"),
            "['output0']");
  for (const char *cores : {"0", "3", "-1"})
    EXPECT_EQ(run("sample " + (dir / "s") + " --cores " + cores).code, 2) << cores;
}
