// SPDX-License-Identifier: Apache-2.0
// `neff memory --fit`: pools as in device-memory.md 1.3. The main pool of a v3 HBM is 23 GiB less
// 16 MiB, of a v2 HBM 15 GiB less 16 MiB; chunks of at most 512 KiB go to the small pool.
#include "tests/tools/tool_test.h"

using testing::HasSubstr;

namespace {

constexpr uint64_t kMiB = 1ull << 20;
// The sample's scratchpad takes one contiguous page of 64 MiB, all else of it is small.
constexpr uint64_t kV2Left = 15 * 1024 - 16 - 64, kV3Left = 23 * 1024 - 16 - 64;

constexpr const char *kFailed =
    "d['fit']['fits'], d['fit']['failed']['class'], d['fit']['failed']['size'], "
    "d['fit']['failed']['available'], d['fit']['failed']['missing']";

// A one-core sample with two local virtual variables in place of its three.
neff_sample_options with_virtuals(uint64_t offset0, uint64_t size0, uint64_t offset1,
                                  uint64_t size1) {
  neff_sample_options options;
  options.cores = 1;
  options.edit_members = [=](neff_write_members &members) {
    auto replace = [&](const std::string &from, const std::string &to) {
      EXPECT_TRUE(neff_sample_replace(members, "sg00/def.json", from, to)) << from;
    };
    replace("\"size\": 16384,\n      \"backing_variable_off\": 0\n",
            fmt::format("\"size\": {}, \"backing_variable_off\": {}\n", size0, offset0));
    replace("\"size\": 4096,\n      \"backing_variable_off\": 16384,\n",
            fmt::format("\"size\": {}, \"backing_variable_off\": {},\n", size1, offset1));
    replace("\"backing_buf\": \"shared\"", "\"backing_buf\": \"main\"");
  };
  return options;
}

}  // namespace

TEST_F(ToolTest, FitFillsThePoolToTheLastByte) {
  neff_sample_options options;
  options.cores = 1;
  options.target = "sunda";
  std::string v2 = sample(options, "v2.neff"), v3 = sample();
  for (const auto &[file, instance, left] : {std::tuple{v2, "trn1.2xlarge", kV2Left},
                                             {v2, "trn1.32xlarge", kV2Left},
                                             {v2, "inf2.xlarge", kV2Left},
                                             {v2, "inf2.48xlarge", kV2Left},
                                             {v3, "trn2.3xlarge", kV3Left},
                                             {v3, "trn2.48xlarge", kV3Left}}) {
    std::string command = fmt::format("memory --json --fit {} {} --tensor ", instance, file);
    tool_result r = run(command + fmt::format("{}M", left));
    EXPECT_EQ(r.code, 0) << instance << r.err;
    EXPECT_EQ(query(r.out,
                    "d['fit']['instance'], d['fit']['fits'], d['fit']['failed'], "
                    "d['fit']['hbms'][0]['left_main']"),
              fmt::format("('{}', True, None, 0)", instance));
    r = run(command + fmt::format("{}M", left + 1));
    EXPECT_EQ(r.code, 1) << instance;
    EXPECT_EQ(query(r.out, kFailed),
              fmt::format("(False, 'tensor', {}, {}, {})", (left + 1) * kMiB, left * kMiB, kMiB));
    EXPECT_EQ(query(r.out, "d['fit']['hbms'][0]['largest_block']"), fmt::to_string(left * kMiB));
  }
}

// The last byte of a pool, one more, and a size that no arithmetic on it may wrap.
TEST_F(ToolTest, FitIsExactToTheByte) {
  std::string command = "memory --json --fit trn2.3xlarge " + sample() + " --tensor ";
  for (uint64_t less : {1, 4095})
    EXPECT_EQ(run(command + fmt::format("{}", kV3Left * kMiB - less)).code, 0) << less;
  for (uint64_t size : {kV3Left * kMiB + 1, uint64_t{INT64_MAX}}) {
    tool_result r = run(command + fmt::format("{}", size));
    EXPECT_EQ(r.code, 1);
    EXPECT_EQ(query(r.out, kFailed), fmt::format("(False, 'tensor', {}, {}, {})", size,
                                                 kV3Left * kMiB, size - kV3Left * kMiB));
  }
}

TEST_F(ToolTest, FitCountsEveryHbmInUse) {
  std::string file = sample();
  tool_result r = run(fmt::format("memory --json --fit trn2.3xlarge {} --tensor {}M --tensor {}M@1",
                                  file, kV3Left, kV3Left + 64));
  ASSERT_EQ(r.code, 0) << r.out;
  EXPECT_EQ(query(r.out, "[(h['device'], h['hbm'], h['left_main']) for h in d['fit']['hbms']]"),
            "[(0, 0, 0), (0, 1, 0)]");
  EXPECT_EQ(
      query(r.out, "[h['held'] for h in d['fit']['hbms']] == [h['total'] for h in d['hbms']]"),
      "True");
  EXPECT_EQ(query(r.out, "d['fit']['hbms'][1]['held']"), fmt::to_string((kV3Left + 64) * kMiB));
}

// 23 GiB of scratchpad are 368 pages of 64 MiB; 367 leave 48 MiB of the main pool.
TEST_F(ToolTest, FitNamesTheScratchpadThatCannotGrow) {
  neff_sample_options options;
  options.edit_members = [](neff_write_members &members) {
    EXPECT_TRUE(neff_sample_replace(members, "sg00/def.json",
                                    "\"size\": 16384,\n      \"backing_variable_off\": 0\n",
                                    "\"size\": 24696061952, \"backing_variable_off\": 0\n"));
  };
  std::string small = sample(), big = sample(options, "big.neff");
  tool_result r = run(fmt::format("memory --json --fit trn2.3xlarge {} {}", small, big));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, kFailed), fmt::format("(False, 'shared_scratchpad', {}, {}, {})",
                                               64 * kMiB, 48 * kMiB, 16 * kMiB));
  EXPECT_EQ(query(r.out, "d['fit']['failed']['what']"), big);
  // What was placed before is still there: the small file with its page.
  EXPECT_EQ(query(r.out, "d['cores'][0]['classes']['shared_scratchpad']"), "67108864");
  r = run(fmt::format("memory --fit trn2.3xlarge {} {}", small, big));
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.out, HasSubstr("trn2.3xlarge: does not fit. " + big + ": shared scratchpad of"));
  EXPECT_THAT(r.out, HasSubstr("16777216 bytes too few"));
  EXPECT_EQ(r.err, "");
}

TEST_F(ToolTest, FitRefusesOtherMachines) {
  tool_result r = run("memory --fit trn9.large " + sample());
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("unknown instance 'trn9.large'; known are"));
  r = run("memory --fit inf2.xlarge " + sample());
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("needs logical cores of 2"));
}

// Main pool from 16 MiB on: per core 1,744,896 of microcode (in pages) and 2,436 MiB of profiler
// buffers, to 4,888 MiB + 3,489,792; the scratchpad page at the next multiple of 4 MiB, to 5,404
// MiB. The first tensor of 655,360 bytes fits before it, 8 MiB + 655,360 follow it: 18,139 MiB +
// 393,216 bytes of 23 GiB are left.
TEST_F(ToolTest, FitOfAPrediction) {
  REQUIRE_CORPUS(path, "attn_v6.neff");
  std::string command = "memory --json --as neuron-2.30 --fit trn2.3xlarge " + path + " --tensor ";
  tool_result r = run(command + "18139M");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(query(r.out, "d['fit']['fits'], d['fit']['hbms'][0]['left_main']"),
            "(True, 442368)");  // 393,216 at the end, 49,152 before the page
  r = run(command + "18140M");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, kFailed),
            fmt::format("(False, 'tensor', {}, {}, 655360)", 18140 * kMiB, 18139 * kMiB + 393216));
  EXPECT_EQ(query(r.out, "d['fit']['failed']['what']"), "--tensor 18140M");
  // Without profiling its 4,872 MiB are there as well.
  r = run(command + "23011M --no-profiling");
  EXPECT_EQ(r.code, 0) << r.out;
}

// neff-format.md 5.6 (g).
TEST_F(ToolTest, PagesAndPrivateAllocationsOfTheOfficialExample) {
  std::string a = sample(with_virtuals(0, 512 * kMiB, 512 * kMiB, 1024 * kMiB), "a.neff");
  std::string b = sample(with_virtuals(0, 100 * kMiB, 100 * kMiB, 1536 * kMiB), "b.neff");
  constexpr uint64_t kTmp = 2 * 8192;  // the samples' own tmp-buf
  for (const char *as : {"", "--as neuron-2.30 "})
    for (const auto &[page, shared, own, advice] :
         {std::tuple{"512", 2048 * kMiB, 2560 * kMiB, "1536"},
          {"2048", 2048 * kMiB, 0ull, "None"}}) {
      tool_result r = run(fmt::format("memory --json --lnc 1 {}{} {}", as, a, b),
                          fmt::format("NEURON_SCRATCHPAD_PAGE_SIZE={}", page));
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_EQ(query(r.out,
                      "[(c['classes']['shared_scratchpad'], c['classes']['scratchpad']) "
                      "for c in d['cores']]"),
                fmt::format("[({}, {})]", shared, own + kTmp))
          << as << page;
      EXPECT_EQ(query(r.out, "d['scratchpad']['advised_page_size_mib']"), advice);
    }
  tool_result r = run(fmt::format("memory --lnc 1 {} {}", a, b));
  EXPECT_THAT(r.out, HasSubstr("NEURON_SCRATCHPAD_PAGE_SIZE=1536"));
}

// The runtime's layout (device-memory.md 4.2, 4.3), figures of neff-format.md 5.6 (a).
TEST_F(ToolTest, MemoryTable) {
  REQUIRE_CORPUS(path, "attn_v6.neff");
  tool_result r = run("memory --table --as neuron-2.30 " + path);
  ASSERT_EQ(r.code, 0) << r.err;
  // 54,912 + 14,464 + 26,240 + 50,048 + 5,376; 26,624 + 2 * 83,968 + 8; 33,024; 2 * 2,048.
  for (const char *item :
       {"\tTotal: 389.758KB\n", "* model code: 147.500KB\n", "* model constants: 16.000KB\n",
        "* scratchpad: 0.000B\n", "* runtime: 190.008KB\n", "* dma rings io: 0.000B\n",
        "* dma rings spill: 32.250KB\n", "* dma rings runtime: 4.000KB\n"})
    EXPECT_THAT(r.out, HasSubstr(item));
  EXPECT_THAT(r.out, HasSubstr("[ND 0:NC 0] Current Usage Total: 2.890GB"));
  EXPECT_THAT(r.out, testing::ContainsRegex("NEFF 1001 *\\| *389.758KB *\\| *147.500KB"));
  EXPECT_THAT(r.out, testing::ContainsRegex("NEFF 1002 "));
}
