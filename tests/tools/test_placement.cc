// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/tool_test.h"

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST_F(ToolTest, PlanListsEveryVariableOfEverySubgraph) {
  tool_result r = run("plan --json " + sample());
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(query(r.out, "d['instance'], d['arch'], d['backend']"),
            "('trn2.3xlarge', 'cayman', 'mock')");
  EXPECT_EQ(query(r.out,
                  "[(c['neff'], c['device'], c['core'], c['logical_core'], c['subgraph'], "
                  "len(c['vars'])) for c in d['cores']]"),
            "[(0, 0, 0, 0, 'sg00', 16), (0, 0, 1, 0, 'sg01', 16)]");
  EXPECT_EQ(query(r.out, "sorted({v['type'] for v in d['cores'][0]['vars']})"),
            "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]");
  auto var = [&](int core, const char *name, const char *field) {
    return query(r.out,
                 fmt::format("[v for v in d['cores'][{}]['vars'] if v['name'] == '{}'][0]['{}']",
                             core, name, field));
  };
  EXPECT_EQ(var(0, "group", "physical_address"), "None");
  EXPECT_EQ(var(0, "weights_ptr", "physical_address"), var(0, "weights", "physical_address"));
  EXPECT_EQ(var(0, "x_ptr", "physical_address"), var(0, "x", "physical_address"));
  EXPECT_EQ(var(0, "peer_tmp", "physical_address"), var(1, "tmp", "physical_address"));
  EXPECT_EQ(var(1, "peer_tmp", "physical_address"), var(0, "tmp", "physical_address"));
  EXPECT_EQ(var(0, "exchange", "physical_address"), var(1, "exchange", "physical_address"));
  EXPECT_EQ(var(0, "x", "physical_address"), var(1, "x", "physical_address"));
  EXPECT_NE(var(0, "spill0", "physical_address"), var(1, "spill0", "physical_address"));
  EXPECT_EQ(var(0, "DGETable0", "size"), "32");  // four entries
  EXPECT_EQ(var(0, "weights", "alignment"), "4096");
  EXPECT_EQ(var(0, "weights", "kind"), "MR_BUFFER");
  EXPECT_EQ(var(0, "SB", "arena"), "sbuf");
  EXPECT_EQ(var(0, "SB", "hbm"), "None");
}

// The rules of a placement, checked on the document alone.
constexpr const char *kRules = R"(
import json, sys
d = json.load(open(sys.argv[1]))
spans = []
for c in d['cores']:
    for v in c['vars']:
        if v['physical_address'] is None or v['arena'] in (None, 'sbuf'):
            continue
        a = int(v['physical_address'], 16)
        assert v['alignment'] in (0,) or a % v['alignment'] == 0, v
        inside = [k for k in d['chunks'] if k['device'] == c['device'] and k['hbm'] == v['hbm']
                  and int(k['physical_address'], 16) <= a < int(k['physical_address'], 16) + k['size']]
        assert len(inside) == 1, v
        assert inside[0]['category'] != 'driver', v
        if v['arena'] == 'model':
            assert a == int(inside[0]['physical_address'], 16), v
            spans.append((c['device'], a, a + max(v['size'], 1), v['name'], c['subgraph'], c['neff']))
spans.sort()
for one, two in zip(spans, spans[1:]):
    assert one[0] != two[0] or one[2] <= two[1], (one, two)
ranges = sorted((k['device'], int(k['physical_address'], 16), k['size']) for k in d['chunks'])
for one, two in zip(ranges, ranges[1:]):
    assert one[0] != two[0] or one[1] + one[2] <= two[1], (one, two)
print(len(spans) > 0, d['findings'])
)";

TEST_F(ToolTest, PlacementRulesHoldForTheSamples) {
  std::string two = sample();
  neff_sample_options options;
  options.cores = 1;
  std::string one = sample(options, "one.neff");
  options.target = "sunda";
  std::string v2 = sample(options, "v2.neff");
  for (const std::string &arguments :
       {two, two + " " + two, one, v2, two + " --core 3", one + " --lnc 1",
        two + " " + one + " --core -1", v2 + " --instance trn1.32xlarge --core 31",
        v2 + " --instance inf2.xlarge", two + " --instance trn2.48xlarge --core 63"}) {
    tool_result r = run("plan --json " + arguments);
    ASSERT_EQ(r.code, 0) << arguments << r.err;
    spit(dir / "plan.json", text_bytes(r.out));
    EXPECT_EQ(python(dir, kRules, dir / "plan.json"), "True []\n") << arguments;
  }
}

TEST_F(ToolTest, PlacementRulesHoldForTheCorpus) {
  REQUIRE_CORPUS(small, "matmul_small.neff");
  std::string all;
  for (const std::string &file : corpus_files())
    all += file + " ";
  for (const char *environment : {"", "NEURON_RT_CONTIGUOUS_SCRATCHPAD=0"}) {
    tool_result r = run("plan --json " + all, environment);
    ASSERT_EQ(r.code, 0) << r.err;
    spit(dir / "plan.json", text_bytes(r.out));
    EXPECT_EQ(python(dir, kRules, dir / "plan.json"), "True []\n");
    EXPECT_EQ(query(r.out, "len(d['cores']), len(d['neffs'])"), "(6, 3)");
    // The state buffer's base of the first two cores, and what the file says of the constant.
    EXPECT_EQ(query(r.out,
                    "[(v['size'], v['alignment']) for v in d['cores'][0]['vars'] if "
                    "v['kind'] == 'MR_BUFFER']"),
              "[(32768, 32768)]");
  }
}

TEST_F(ToolTest, CoreChoosesTheDevice) {
  std::string file = sample();
  tool_result r = run("plan --json --instance trn2.48xlarge --core 5 " + file);
  ASSERT_EQ(r.code, 0) << r.err;
  // 8 physical cores a device, two a logical core.
  EXPECT_EQ(query(r.out, "[(c['device'], c['core'], c['logical_core']) for c in d['cores']]"),
            "[(1, 2, 5), (1, 3, 5)]");
  r = run("plan --core 64 --instance trn2.48xlarge " + file);
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("logical core: 64 is not in 0..63, those of trn2.48xlarge"));
}

TEST_F(ToolTest, MinusOneSpreads) {
  std::string file = sample();
  tool_result r = run("plan --json --core -1 " + file + " " + file + " " + file);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(query(r.out, "[n['logical_core'] for n in d['neffs']]"), "[0, 1, 2]");
}

TEST_F(ToolTest, RefusalsOfALoadAreTold) {
  std::string file = sample();
  tool_result r = run("plan --json --instance trn1.2xlarge " + file);
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, "d['error']['status']"), "NRT_LOAD_NOT_ENOUGH_NC");
  neff_sample_options options;
  options.cores = 1;
  r = run("plan --json --instance trn1.2xlarge " + sample(options, "one.neff"));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, "d['error']['status']"), "NRT_INVALID");
  EXPECT_THAT(query(r.out, "d['error']['findings'][0]['what']"), HasSubstr("cayman"));
  r = run("plan --instance trn9.huge " + file);
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("unknown instance 'trn9.huge'; known are "));
  EXPECT_THAT(r.err, HasSubstr("trn2.3xlarge, "));
  r = run("plan " + file, "NEURON_SCRATCHPAD_PAGE_SIZE=7");
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("NEURON_SCRATCHPAD_PAGE_SIZE"));
}

TEST_F(ToolTest, ResolveAgreesWithThePlan) {
  neff_sample_options options;
  options.cores = 1;
  std::string file = sample(options);
  std::string plan = run("plan --json " + file).out;
  for (const char *variable : {"weights", "4", "SB", "x", "output0", "exchange", "tmp", "spill1"}) {
    std::string base = query(
        plan,
        fmt::format("[v['physical_address'] for c in d['cores'] for v in c['vars'] if v['name'] "
                    "== '{0}' or str(v['var_id']) == '{0}']",
                    variable));
    for (const char *offset : {"0", "100", "0x3ff"}) {
      tool_result r = run(fmt::format("resolve --json {} {} {}", file, variable, offset));
      ASSERT_EQ(r.code, 0) << variable << r.err;
      EXPECT_EQ(query(r.out, fmt::format(
                                 "[hex(int(r['physical_address'], 16) - {}) for r in d['results']]",
                                 offset)),
                base)
          << variable;
      EXPECT_EQ(query(r.out, "[r['subgraph'] for r in d['results']]"), "['sg00']");
    }
  }
  // Two subgraphs: one line each.
  tool_result r = run("resolve " + sample({}, "two.neff") + " weights 16 --json");
  EXPECT_EQ(query(r.out, "[x['subgraph'] for x in d['results']]"), "['sg00', 'sg01']");
  EXPECT_THAT(run("resolve " + sample() + " weights 16").out, HasSubstr("sg01"));
}

TEST_F(ToolTest, ResolveRefusals) {
  std::string file = sample();
  struct {
    const char *arguments;
    const char *text;
  } cases[] = {{"weights 4096", "weights"},
               {"weights 4095 2", "4096"},
               {"weights 0xffffffffffffffff 2", "weights"},
               {"group 0", "group"},
               {"DGETable0 0", "DGETable0"},
               {"weights_ptr 8", "weights_ptr"},
               {"nothing 0", "no subgraph"},
               {"16 0", "no subgraph"}};
  for (auto &c : cases) {
    tool_result r = run(fmt::format("resolve {} {}", file, c.arguments));
    EXPECT_EQ(r.code, 1) << c.arguments;
    EXPECT_THAT(r.err, HasSubstr(c.text)) << c.arguments;
    r = run(fmt::format("resolve --json {} {}", file, c.arguments));
    EXPECT_EQ(r.code, 1);
    EXPECT_EQ(query(r.out, "type(d).__name__"), "dict");
  }
  EXPECT_EQ(run("resolve " + file + " weights 4095 1").code, 0);
}

// A shortage is one line and no file, unless the report is asked for.
TEST_F(ToolTest, PlanWithoutRoomIsOneLine) {
  std::string path = sample(), dumps = dir / "dumps";
  ASSERT_TRUE(std::filesystem::create_directory(dumps));
  std::string environment =
      "NEURON_RT_CONTIGUOUS_SCRATCHPAD=0 NEURON_SCRATCHPAD_PAGE_SIZE=2048 "
      "NEURON_MOCK_HBM_SIZE=2G NEURON_RT_OOM_DUMP_DIRECTORY=" +
      dumps;
  tool_result r = run("plan " + path, environment);
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("out of device memory"));
  EXPECT_THAT(r.err, Not(HasSubstr("logical core size")));
  EXPECT_TRUE(std::filesystem::is_empty(dumps));
  run("plan " + path, environment + " NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG=1");
  EXPECT_FALSE(std::filesystem::is_empty(dumps));
}

TEST_F(ToolTest, PlanForPeople) {
  tool_result r = run("plan " + sample());
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("KiB)"));
  EXPECT_THAT(r.out, HasSubstr("MiB)"));
  EXPECT_THAT(r.out, ContainsRegex("DGETable0 +MR_PTR_TABLE +32 "));
}

TEST_F(ToolTest, ResolveOfNamesThatBeginWithADash) {
  neff_sample_options options;
  options.cores = 1;
  options.edit_members = [](neff_write_members &members) {
    EXPECT_TRUE(neff_sample_replace(members, "sg00/def.json", "\"bias\"", "\"-t125_i0_b\""));
    EXPECT_TRUE(neff_sample_replace(members, "sg00/def.json", "\"staged\"", "\"--staged\""));
  };
  std::string file = sample(options);
  for (std::string words :
       {"{} -t125_i0_b 8", "{} -t125_i0_b 8 --core 1", "--core 1 {} -t125_i0_b 8 --lnc=1",
        "{} --core -1 -t125_i0_b 8 1", "-- {} -t125_i0_b 8", "{} -- --staged 8"}) {
    words.replace(words.find("{}"), 2, file);
    tool_result r = run("resolve --json " + words);
    EXPECT_EQ(r.code, 0) << words << r.err;
    EXPECT_EQ(query(r.out, "d['offset'], len(d['results'])"), "(8, 1)") << words;
  }
  tool_result r = run("resolve " + file + " --staged 8");
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("put -- before them, or use the id"));
  r = run("resolve " + file + " weights");
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, Not(HasSubstr("put --")));
  EXPECT_EQ(run("resolve " + file + " -h").code, 0);
}

TEST_F(ToolTest, ResolveFailureNamesTheVariableOnce) {
  neff_sample_options options;
  options.cores = 1;
  tool_result r = run("resolve " + sample(options) + " weights 4096");
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.out, ContainsRegex("weights +MR_BUFFER +-\n"));
  EXPECT_EQ(r.err.find("weights"), r.err.rfind("weights")) << r.err;
}
