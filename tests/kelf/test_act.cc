// SPDX-License-Identifier: Apache-2.0
// Activation sets (neff-format.md 3.9, verified-facts.md G6): strict reading.
#include <cstring>

#include "tests/kelf/act_text.h"
#include "tests/kelf/fixture.h"

namespace {

using overrides = std::map<std::string, std::string>;

// A control entry: first bucket, shift, log2 of the bucket count.
std::string control(uint32_t first, uint32_t shift, uint32_t log2) {
  uint32_t word = first | shift << 11 | log2 << 16;
  std::string entry(32, '\0');
  memcpy(entry.data(), &word, sizeof word);
  return entry;
}

// Three buckets, two control entries: bucket 0, and buckets 1 and 2 by the first mantissa bit.
kbin_result load_functions(const std::string &functions, bool collect = false) {
  member_texts beside = {
      {"e.json", R"({"instr":[],"activation_function_sets":["set"]})"},
      {"set.json", R"({"bkt_bin":"b.bin","bkt_entry_cnt":3,"ctl_bin":"c.bin","ctl_entry_cnt":2,)"
                   R"("profile_meta_data":)" +
                       functions + "}"},
      {"b.bin", std::string(96, '\0')},
      {"c.bin", control(0, 0, 0) + control(1, 22, 1)}};
  return load_def(def_text(GOOD_VARS, R"(,"act":"e.json")"), beside, collect);
}

// Uses control entry 1 for exponent 127, and nothing else.
const overrides ONE_OCTAVE = {{"small_pos_signal_exp_threshold", "127"},
                              {"large_pos_signal_exp_threshold", "128"},
                              {"exp_offset", "0"},
                              {"pwl_control_base_pos", "1"}};
overrides with(overrides base, const overrides &more) {
  for (const auto &[key, value] : more)
    base[key] = value;
  return base;
}

struct bad_function {
  const char *name;
  std::string json;
  const char *where;
  const char *what;
};
void PrintTo(const bad_function &v, std::ostream *os) {
  *os << v.name;
}
class BadFunctions : public testing::TestWithParam<bad_function> {};

bad_function one(const char *name, const overrides &values, const char *key, const char *what) {
  static std::vector<std::string> places;
  places.reserve(100);
  places.push_back(std::string("sg00/set.json: profile_meta_data[0]") + key);
  return {name, "[" + act_function("f", 7, values) + "]", places.back().c_str(), what};
}

}  // namespace

TEST_P(BadFunctions, IsRefusedWithItsPlace) {
  for (bool collect : {false, true}) {
    kbin_result r = load_functions(GetParam().json, collect);
    EXPECT_EQ(r.status, NRT_INVALID);
    ASSERT_EQ(r.findings.all().size(), 1u) << text_of(r.findings);
    EXPECT_EQ(r.findings.all()[0].where, GetParam().where);
    EXPECT_THAT(r.findings.all()[0].what, testing::HasSubstr(GetParam().what));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BadFunctions,
    testing::Values(
        bad_function{"array", "{}", "sg00/set.json: profile_meta_data", "must be an array"},
        bad_function{"object", "[7]", "sg00/set.json: profile_meta_data[0]", "must be an object"},
        bad_function{"id_twice", "[" + act_function("f", 7) + "," + act_function("g", 7) + "]",
                     "sg00/set.json: profile_meta_data[1].func_id", "is 7, as that of \"f\""},
        one("name", {{"func_name", ""}}, ".func_name", "missing"),
        one("id", {{"func_id", ""}}, ".func_id", "missing"),
        one("id_large", {{"func_id", "256"}}, ".func_id", "the limit is 255"),
        one("offset", {{"exp_offset", ""}}, ".exp_offset", "missing"),
        one("offset_large", {{"exp_offset", "-1025"}}, ".exp_offset",
            "is -1025, the limits are -1024 and 1024"),
        one("multipass", {{"use_multipass", "1"}}, ".use_multipass", "must be true or false, is 1"),
        one("flag", {{"symmetry_opt_en", "2"}}, ".symmetry_opt_en", "the limit is 1"),
        one("bits", {{"fnan_result", "4294967296"}}, ".fnan_result", "the limit is 4294967295"),
        one("zero", {{"fzero_result", ""}}, ".fzero_result", "missing"),
        one("exponent", {{"small_neg_signal_exp_threshold", "256"}},
            ".small_neg_signal_exp_threshold", "the limit is 255"),
        one("mantissa", {{"large_pos_signal_mantissa_threshold", "8388608"}},
            ".large_pos_signal_mantissa_threshold", "the limit is 8388607"),
        one("bucket", {{"pos_small_signal_pwl_control", "3"}}, ".pos_small_signal_pwl_control",
            "is 3, the set has 3 buckets"),
        one("bucket_negative", {{"neg_large_signal_pwl_control", "4294967295"}},
            ".neg_large_signal_pwl_control", "is 4294967295, the set has 3 buckets"),
        one("control_high", with(ONE_OCTAVE, {{"pwl_control_base_pos", "2"}}),
            ".pwl_control_base_pos",
            "is 2, which makes control entry 2 for exponent 127, the set has 2"),
        one("control_low", with(ONE_OCTAVE, {{"exp_offset", "2"}}), ".pwl_control_base_pos",
            "is 1, which makes control entry -1 for exponent 127, the set has 2"),
        one("control_mantissa", with(ONE_OCTAVE, {{"large_pos_signal_mantissa_threshold", "1"}}),
            ".pwl_control_base_pos",
            "is 1, which makes control entry 2 for exponent 128, the set has 2"),
        one("control_negative",
            {{"large_neg_signal_exp_threshold", "3"}, {"pwl_control_base_neg", "0"}},
            ".pwl_control_base_neg",
            "is 0, which makes control entry 2 for exponent 2, the set has 2")),
    [](const auto &tested) { return std::string(tested.param.name); });

TEST(ActFunctions, ControlWordBeyondTheBuckets) {
  member_texts beside = {
      {"e.json", R"({"instr":[],"activation_function_sets":["set"]})"},
      {"set.json", R"({"bkt_bin":"b.bin","bkt_entry_cnt":4,"ctl_bin":"c.bin","ctl_entry_cnt":1,)"
                   R"("profile_meta_data":[)" +
                       act_function("f", 7, with(ONE_OCTAVE, {{"pwl_control_base_pos", "0"}})) +
                       "]}"},
      {"b.bin", std::string(128, '\0')}};
  struct {
    uint32_t first, shift, log2;
    const char *what;  // nullptr: fine
  } const kWords[] = {{0, 21, 2, nullptr},
                      {3, 23, 5, nullptr},  // a shift that leaves nothing
                      {1, 21, 2, "leads over control entry 0 to bucket 4, the set has 4"},
                      {0, 20, 15, "leads over control entry 0 to bucket 7, the set has 4"},
                      {4, 0, 0, "leads over control entry 0 to bucket 4, the set has 4"}};
  for (auto w : kWords) {
    beside["c.bin"] = control(w.first, w.shift, w.log2);
    kbin_result r = load_def(def_text(GOOD_VARS, R"(,"act":"e.json")"), beside, false);
    EXPECT_EQ(r.status, w.what ? NRT_INVALID : NRT_SUCCESS) << w.first << " " << w.shift;
    if (w.what) {
      ASSERT_EQ(r.findings.all().size(), 1u);
      EXPECT_THAT(r.findings.all()[0].what, testing::HasSubstr(w.what));
    }
  }
}

TEST(ActFunctions, EveryNumberArrives) {
  kbin_result r = load_functions("[" +
                                 act_function("given", 200,
                                              {{"sym_invert_sign_point", "1"},
                                               {"symmetry_opt_en", "1"},
                                               {"symmetry_opt_use_neg_region", "1"},
                                               {"exp_offset", "-3"},
                                               {"pwl_control_base_pos", "1"},
                                               {"pwl_control_base_neg", "11"},
                                               {"small_pos_signal_exp_threshold", "200"},
                                               {"pos_small_signal_pwl_control", "1"},
                                               {"small_neg_signal_exp_threshold", "201"},
                                               {"neg_small_signal_pwl_control", "2"},
                                               {"large_pos_signal_exp_threshold", "12"},
                                               {"large_pos_signal_mantissa_threshold", "13"},
                                               {"pos_large_signal_pwl_control", "2"},
                                               {"large_neg_signal_exp_threshold", "15"},
                                               {"large_neg_signal_mantissa_threshold", "16"},
                                               {"neg_large_signal_pwl_control", "1"},
                                               {"fnan_result", "17"},
                                               {"fpinf_result", "18"},
                                               {"fninf_result", "4294967295"},
                                               {"fzero_result", "20"},
                                               {"fma_indirection_src_sel", "2"},
                                               {"use_multipass", "true"}}) +
                                 "]");
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  ASSERT_EQ(r.kbin->act_function_sets.size(), 1u);
  ASSERT_EQ(r.kbin->act_function_sets[0].functions.size(), 1u);
  const kbin_act_function_t &f = r.kbin->act_function_sets[0].functions[0];
  EXPECT_EQ(f.name, "given");
  EXPECT_EQ(f.func_id, 200u);
  EXPECT_EQ(f.exp_offset, -3);
  EXPECT_EQ(f.pwl_control_base_pos, 1u);
  EXPECT_EQ(f.pwl_control_base_neg, 11u);
  EXPECT_EQ(f.small_pos_exp_threshold, 200u);
  EXPECT_EQ(f.small_neg_exp_threshold, 201u);
  EXPECT_EQ(f.large_pos_exp_threshold, 12u);
  EXPECT_EQ(f.large_neg_exp_threshold, 15u);
  EXPECT_EQ(f.large_pos_mantissa_threshold, 13u);
  EXPECT_EQ(f.large_neg_mantissa_threshold, 16u);
  EXPECT_EQ(f.small_pos_bucket, 1u);
  EXPECT_EQ(f.small_neg_bucket, 2u);
  EXPECT_EQ(f.large_pos_bucket, 2u);
  EXPECT_EQ(f.large_neg_bucket, 1u);
  EXPECT_EQ(f.fnan_result, 17u);
  EXPECT_EQ(f.fpinf_result, 18u);
  EXPECT_EQ(f.fninf_result, 0xFFFFFFFFu);
  EXPECT_EQ(f.fzero_result, 20u);
  EXPECT_EQ(f.symmetry_opt_en, 1u);
  EXPECT_EQ(f.symmetry_opt_use_neg_region, 1u);
  EXPECT_EQ(f.sym_invert_sign_point, 1u);
  EXPECT_EQ(f.fma_indirection_src_sel, 2u);
  EXPECT_TRUE(f.use_multipass);
}
