// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/tool_test.h"

using testing::HasSubstr;

namespace {

// neff-format.md 5.6 (a).
constexpr const char *kRecorded =
    "{'generic': 38912, 'pe': 56640, 'act': 15808, 'pool': 27968, 'dve': 51392, 'sp': 6912, "
    "'io': 8, 'weight': 16384, 'act_table': 167936, 'shared_scratchpad': 536870912, "
    "'tensor': 9706500, 'ucode': 1744584, 'pool_stdio': 1088, 'dma_rings_runtime': 32768, "
    "'dma_rings_spill': 33024, 'profiler_buffers': 2554331136}";
constexpr const char *kRecordedIdle =
    "{'generic': 38912, 'pe': 6720, 'act': 5696, 'pool': 6400, 'dve': 6336, 'sp': 5056, "
    "'weight': 16384, 'ucode': 1744584, 'pool_stdio': 1088, 'dma_rings_runtime': 30720, "
    "'profiler_buffers': 2554331136}";

}  // namespace

TEST_F(ToolTest, PredictionEqualsTheRecordedBytes) {
  REQUIRE_CORPUS(path, "attn_v6.neff");
  tool_result r = run("memory --json --as neuron-2.30 " + path);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(query(r.out, "[(c['core'], c['subgraph'], len(c['classes'])) for c in d['cores']]"),
            "[(0, 'sg00', 22), (1, 'sg01', 22)]");
  auto nonzero = [&](int core) {
    return fmt::format("{{k: v for k, v in d['cores'][{}]['classes'].items() if v}} == ", core);
  };
  EXPECT_EQ(query(r.out, nonzero(0) + kRecorded), "True") << r.out;
  EXPECT_EQ(query(r.out, nonzero(1) + kRecordedIdle), "True") << r.out;
  EXPECT_EQ(query(r.out, "d['cores'][0]['total'] == sum(d['cores'][0]['classes'].values())"),
            "True");
  r = run("memory --json --no-profiling --as neuron-2.30 " + path);
  EXPECT_EQ(query(r.out, "[c['classes']['profiler_buffers'] for c in d['cores']], d['profiling']"),
            "([0, 0], False)");
}

// The inputs of neff-format.md 5.6 (a), with the formulas of 5.2 and 5.4 spelt out.
TEST_F(ToolTest, PredictionOfTheMatmuls) {
  for (const auto &[name, bins, pages, tensors] :
       {std::tuple{"matmul_small.neff", 1856, "[0, 0]", "[163840, 0]"},
        std::tuple{"matmul_large.neff", 1906880, "[536870912, 536870912]", "[4320133120, 0]"}}) {
    REQUIRE_CORPUS(path, name);
    tool_result r = run(fmt::format("memory --json --as neuron-2.30 {}", path));
    ASSERT_EQ(r.code, 0) << r.err;
    auto classes = [&](const char *key) {
      return query(r.out, fmt::format("[c['classes']['{}'] for c in d['cores']]", key));
    };
    EXPECT_EQ(classes("weight"), "[32768, 32768]");
    EXPECT_EQ(classes("shared_scratchpad"), pages);
    EXPECT_EQ(classes("tensor"), tensors);
    EXPECT_EQ(classes("act_table"), "[83968, 83968]");
    EXPECT_EQ(classes("generic"), "[38912, 38912]");
    EXPECT_EQ(classes("dma_rings_runtime"), "[32768, 32768]");
    EXPECT_EQ(classes("dma_rings_spill"), "[0, 0]");
    EXPECT_EQ(classes("dma_rings_io"), "[0, 0]");
    // Streams, the wrappers of busy cores without a static queue (PE, ACT, DVE 4,928, Pool 4,608,
    // SP 3,712 beyond the .bin), and the base images.
    int wrappers = 3 * 4928 + 4608 + 3712;
    int base = 1728 + 1344 + 1728 + 1344;
    EXPECT_EQ(
        query(r.out,
              "[sum(c['classes'][k] for k in ('pe', 'act', 'pool', 'dve', 'sp')) "
              "for c in d['cores']]"),
        fmt::format("[{}, {}]", bins + wrappers + base + 1536, bins + wrappers + base + 1280));
  }
}

TEST_F(ToolTest, SeveralFilesShareTheScratchpadOnce) {
  REQUIRE_CORPUS(path, "attn_v6.neff");
  REQUIRE_CORPUS(large, "matmul_large.neff");
  tool_result r = run(fmt::format("memory --json --as neuron-2.30 {0} {0} {1} {0}@1", path, large));
  ASSERT_EQ(r.code, 0) << r.err;
  auto classes = [&](const char *key) {
    return query(r.out, fmt::format("[c['classes']['{}'] for c in d['cores']]", key));
  };
  EXPECT_EQ(query(r.out, "[(c['core'], c['hbm'], c['logical_core']) for c in d['cores']]"),
            "[(0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 1, 1)]");
  EXPECT_EQ(classes("shared_scratchpad"), "[536870912, 536870912, 536870912, 0]");
  EXPECT_EQ(classes("weight"), "[65536, 65536, 16384, 16384]");
  EXPECT_EQ(classes("ucode"), "[1744584, 1744584, 1744584, 1744584]");
  EXPECT_EQ(query(r.out, "d['cores'][0]['classes']['pe'] - 1728"),
            query(r.out, "sum(n['classes']['pe'] for n in d['cores'][0]['neffs'])"));
  EXPECT_EQ(query(r.out, "[len(c['neffs']) for c in d['cores']]"), "[3, 3, 1, 1]");
}

// Two loads of the sample: its own memory twice, the scratchpad once (tools/sample.cc).
TEST_F(ToolTest, MeasuredMemoryOfTheSample) {
  std::string path = sample();
  tool_result r = run("memory --json " + path + " " + path + " --tensor 3K --tensor 5@1");
  ASSERT_EQ(r.code, 0) << r.err;
  auto classes = [&](const char *key) {
    return query(r.out, fmt::format("[c['classes']['{}'] for c in d['cores']]", key));
  };
  // The runtime's cell with the table's address comes with the table.
  int weights = 4096 + 1000 + 2048, slots = 16384 + 1024 + 32768, table = 4 * 8 + 8;
  EXPECT_EQ(classes("weight"), fmt::format("[{0}, {0}, 0, 0]", 2 * weights));
  EXPECT_EQ(classes("scratchpad"), "[16384, 16384, 0, 0]");
  EXPECT_EQ(classes("shared_scratchpad"), "[67108864, 0, 0, 0]");
  EXPECT_EQ(classes("io"), fmt::format("[{}, {}, 0, 0]", 2 * (slots + table), 2 * table));
  EXPECT_EQ(classes("tensor"), "[3072, 0, 5, 0]");
  EXPECT_EQ(query(r.out, "[n['classes']['weight'] for n in d['cores'][1]['neffs']]"),
            fmt::format("[{0}, {0}]", weights));
  EXPECT_EQ(query(r.out, "d['predicted'], d['runtime'], d['scratchpad']['contiguous']"),
            "(False, 'opennrt', True)");
  r = run("memory --json " + path, "NEURON_RT_CONTIGUOUS_SCRATCHPAD=0");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(classes("shared_scratchpad"), "[536870912, 536870912]");
}

TEST_F(ToolTest, MemoryTextNamesTheProfilerBuffers) {
  tool_result r = run("memory --as neuron-2.30 " + sample());
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("Profiler buffers are counted; --no-profiling leaves them out"));
  EXPECT_THAT(r.out, testing::ContainsRegex("profiler_buffers +2554331136 +2554331136"));
  r = run("memory --as neuron-2.30 --no-profiling " + sample());
  EXPECT_THAT(r.out, testing::Not(HasSubstr("Profiler buffers are counted")));
}

TEST_F(ToolTest, MemoryRefusesWhatItCannotRead) {
  std::string path = sample();
  auto refused = [&](const std::string &arguments, const char *what) {
    tool_result r = run("memory " + arguments);
    EXPECT_EQ(r.code, 1) << arguments;
    EXPECT_THAT(r.err, HasSubstr(what)) << arguments;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  };
  refused("@1", "@1");
  refused(path + "@77", "logical core: 77 is not in 0..3");
  refused(dir / "none", "none");
  refused("--as neuron-2.30 --instance trn1.2xlarge " + path, "needs logical cores of 2");
  refused("--tensor 30G " + path, "out of device memory");
  for (const char *usage : {"", "--no-profiling ", "--fit trn2.3xlarge --instance trn2.3xlarge ",
                            "--fit trn2.3xlarge --device ", "--as neuron-2.30 --device "})
    EXPECT_EQ(run(std::string("memory ") + usage + (*usage != '\0' ? path : "")).code, 2) << usage;
}

// Values of options are no fault of the file: exit code 2, and the line does not name one.
TEST_F(ToolTest, MemoryRefusesValuesAsUsage) {
  std::string path = sample();
  for (const auto &[arguments, what] :
       {std::pair{"--as neuron-2.99", "--as: 'neuron-2.99' is not known; known are neuron-2.30"},
        {"--tensor 5X", "--tensor: '5X' is not SIZE[K|M|G][@CORE]"},
        {"--tensor 0", "--tensor: '0' is not SIZE"},
        {"--tensor 99999999999G", "is not SIZE"},
        {"--tensor 9223372036854775808", "from 1 to 9223372036854775807 bytes"},
        {"--as neuron-2.30 --tensor 17179869183G", "is not SIZE"},
        {"--tensor 5@9999", "--tensor: '5@9999' is not SIZE"},
        {"--core -1", "--core: -1: memory needs a logical core by its number"}}) {
    tool_result r = run(fmt::format("memory {} {}", arguments, path));
    EXPECT_EQ(r.code, 2) << arguments;
    EXPECT_THAT(r.err, testing::StartsWith("neff: --")) << arguments;
    EXPECT_THAT(r.err, HasSubstr(what)) << arguments;
    EXPECT_EQ(r.out, "") << arguments;
    r = run(fmt::format("memory --json {} {}", arguments, path));
    EXPECT_EQ(query(r.out, "d['error']['status']"), "usage") << arguments;
  }
}
