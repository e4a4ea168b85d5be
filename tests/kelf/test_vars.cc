// SPDX-License-Identifier: Apache-2.0
// Variables of def.json: every type, every rule (mem-ref.md 7, neff-format.md 3.4).
#include "tests/kelf/fixture.h"

namespace {

const std::string OUTPUT = R"("out":{"type":"output","size":4,"var_id":0})";

const kbin_mem_ref &record(const kbin_result &r, uint32_t id) {
  return r.kbin->mem_ref_set->mem[id];
}

// Lowers the output plus `vars`, which must be fine.
kbin_result lower(const std::string &vars, const member_texts &beside = {}) {
  kbin_result r = load_def(def_text(OUTPUT + "," + vars), beside);
  EXPECT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  EXPECT_TRUE(r.findings.empty());
  return r;
}

TEST(Vars, EveryTypeBecomesItsKind) {
  kbin_result r = lower(
      R"("sb":{"type":"state-buffer","var_id":1},)"
      R"("in":{"type":"input","size":5,"var_id":2,"dtype":"int8","shape":[5],"ops":[]},)"
      R"("tmp":{"type":"tmp-buf","size":6,"var_id":3,"alignment":64,"prefix":"dbg","pipe":2},)"
      R"("v":{"type":"virtual","size":7,"var_id":4,"backing_variable_off":128},)"
      R"("w":{"type":"file","size":3,"var_id":5,"file_name":"w.bin","alignment":16384,)"
      R"("fabric_path":"main","prefix":"weights"},)"
      R"("ws":{"type":"file-staged","var_id":6,"file_name":"w.bin"},)"
      R"("p":{"type":"pointer","size":8,"var_id":7,"referenced_var_id":3},)"
      R"("pi":{"type":"pointer","size":8,"var_id":8,"referenced_var_id":2},)"
      R"("t":{"type":"dge-table","list":[0,2,4],"var_id":9},)"
      R"("l":{"type":"list","list":[],"var_id":10},)"
      R"("r":{"type":"remote","var_id":11,"remote_sg":1,"remote_var":"q"})",
      {{"w.bin", "abc"}});
  if (!r.kbin)
    return;
  ASSERT_EQ(r.kbin->mem_ref_set->nmem, 12u);
  const kbin_mr_type_t kinds[] = {
      MR_OUTPUT, MR_SB,  MR_INPUT,     MR_TMP_BUF, MR_VIRTUAL_TMP_BUF, MR_BUFFER, MR_BUFFER_STAGED,
      MR_PTR,    MR_PTR, MR_PTR_TABLE, MR_LIST,    MR_REMOTE};
  for (uint32_t i = 0; i < 12; i++) {
    EXPECT_EQ(record(r, i).mr_type, kinds[i]) << i;
    EXPECT_EQ(record(r, i).var_id, i);
  }
  EXPECT_STREQ(record(r, 2).name, "in");
  EXPECT_STREQ(record(r, 2).dtype, "int8");
  EXPECT_EQ(record(r, 2).shape[0], 5u);
  EXPECT_EQ(record(r, 3).alignment, 64u);
  ASSERT_TRUE(record(r, 3).dtensor_md);
  EXPECT_STREQ(record(r, 3).dtensor_md->prefix_str, "dbg");
  EXPECT_EQ(record(r, 3).dtensor_md->pipe_id, 2u);
  EXPECT_EQ(record(r, 4).virt.offset, 128u);
  EXPECT_EQ(record(r, 4).virt.backing_buf, KBIN_BACKING_BUF_LOCAL);
  EXPECT_EQ(record(r, 5).size, 3u);
  EXPECT_EQ(record(r, 5).alignment, 16384u);
  EXPECT_EQ(record(r, 5).buffer, r.kbin->source->find("sg00/w.bin")->data());
  EXPECT_EQ(record(r, 6).buffer, record(r, 5).buffer);
  EXPECT_EQ(record(r, 7).ptr.var_id, 3u);
  EXPECT_FALSE(record(r, 7).ptr.io_ref);
  EXPECT_TRUE(record(r, 8).ptr.io_ref);
  EXPECT_EQ(record(r, 9).list.length, 3u);
  EXPECT_EQ(record(r, 10).list.length, 0u);
  ASSERT_EQ(r.kbin->remote_requests.size(), 1u);
  EXPECT_EQ(r.kbin->remote_requests[0].var_id, 11u);
  EXPECT_EQ(r.kbin->remote_requests[0].remote_sg, 1u);
  EXPECT_EQ(r.kbin->remote_requests[0].remote_var, "q");
  EXPECT_EQ(r.kbin->num_inputs, 1u);
  EXPECT_EQ(r.kbin->num_outputs, 1u);
}

TEST(Vars, WeightsPointIntoTheMemberTable) {
  std::string data = "0123456789abcdef";
  kbin_result r = lower(R"("a":{"type":"file","size":16,"var_id":1,"file_name":"a.npy"},)"
                        R"("b":{"type":"file","size":10,"var_id":2,"file_name":"b"})",
                        {{"a.npy", npy_text(data)}, {"b.bin", data}});
  if (!r.kbin)
    return;
  EXPECT_EQ(record(r, 1).buffer, r.kbin->source->find("sg00/a.npy")->data() + 128);
  EXPECT_EQ(record(r, 1).size, 16u);
  EXPECT_EQ(memcmp(record(r, 1).buffer, data.data(), 16), 0);
  // The extension may be left out; the payload's size wins over a smaller one in the JSON.
  EXPECT_EQ(record(r, 2).buffer, r.kbin->source->find("sg00/b.bin")->data());
  EXPECT_EQ(record(r, 2).size, 16u);
}

TEST(Vars, ArenaSizesAreTheHighestEndPerArea) {
  kbin_result r = lower(
      R"("a":{"type":"virtual","size":100,"var_id":1,"backing_variable_off":0},)"
      R"("b":{"type":"virtual","size":8,"var_id":2,"backing_variable_off":500,"backing_buf":"main"},)"
      R"("c":{"type":"virtual","size":8,"var_id":3,"backing_variable_off":96,"backing_buf":"local"},)"
      R"("d":{"type":"virtual","size":50,"var_id":4,"backing_variable_off":1000,"backing_buf":"shared"},)"
      R"("e":{"type":"virtual","size":51,"var_id":5,"backing_variable_off":0,"backing_buf":"shared"})");
  if (!r.kbin)
    return;
  EXPECT_EQ(r.kbin->mem_ref_set->local_scratchpad_size, 508u);
  EXPECT_EQ(r.kbin->mem_ref_set->shared_scratchpad_size, 1050u);
  EXPECT_EQ(record(r, 2).virt.backing_buf, KBIN_BACKING_BUF_MAIN);
  EXPECT_EQ(record(r, 4).virt.backing_buf, KBIN_BACKING_BUF_SHARED);
}

TEST(Vars, AltAreaFollowsTheMainArea) {
  kbin_result r = lower(
      R"("alt":{"type":"virtual","size":64,"var_id":1,"backing_variable_off":32,"fabric_path":"alt"},)"
      R"("main":{"type":"virtual","size":100,"var_id":2,"backing_variable_off":28,"fabric_path":"main"})");
  if (!r.kbin)
    return;
  EXPECT_EQ(record(r, 1).virt.offset, 128u + 32);  // main ends at 128
  EXPECT_EQ(record(r, 2).virt.offset, 28u);
  EXPECT_EQ(r.kbin->mem_ref_set->local_scratchpad_size, 128u + 96);
}

TEST(Vars, NoVirtualVariablesNoArena) {
  kbin_result r = load_def(def_text(OUTPUT));
  ASSERT_EQ(r.status, NRT_SUCCESS);
  EXPECT_EQ(r.kbin->mem_ref_set->local_scratchpad_size, 0u);
  EXPECT_EQ(r.kbin->mem_ref_set->shared_scratchpad_size, 0u);
}

TEST(Vars, ExactDuplicateIsIgnored) {
  kbin_result r = lower(R"("a":{"type":"tmp-buf","size":6,"var_id":1},)"
                        R"("a":{"type":"tmp-buf","size":999,"var_id":1},)"
                        R"("out":{"type":"output","size":4,"var_id":0})");
  if (!r.kbin)
    return;
  EXPECT_EQ(r.kbin->mem_ref_set->nmem, 2u);
  EXPECT_EQ(record(r, 1).size, 6u);
  EXPECT_EQ(r.kbin->num_outputs, 1u);
}

TEST(Vars, CapsPassAtTheLimit) {
  kbin_result r = lower(R"("a":{"type":"tmp-buf","size":1,"var_id":1,"dtype":"123456789012345",)"
                        R"("shape":[1,2,3,4,5,6,7,8],"alignment":2147483648,"prefix":")" +
                        std::string(511, 'x') + R"("})");
  if (!r.kbin)
    return;
  EXPECT_STREQ(record(r, 1).dtype, "123456789012345");
  EXPECT_EQ(record(r, 1).shape[7], 8u);
  EXPECT_EQ(record(r, 1).alignment, 2147483648u);
}

// One bad variable beside a good output: where the finding stands and what it says.
struct bad_var {
  const char *name;
  std::string entry;  // of variable "v"
  const char *where;  // behind "sg00/def.json: var"
  const char *what;
};
void PrintTo(const bad_var &v, std::ostream *os) {
  *os << v.name;
}

class BadVars : public testing::TestWithParam<bad_var> {};

const member_texts BESIDE = {{"w.bin", "abc"},
                             {"empty.bin", ""},
                             {"short.npy", "\x93NUMP"},
                             {"magic.npy", std::string("\x94NUMPY\x01\x00\x00\x00xxxx", 14)},
                             {"v2.npy", std::string("\x93NUMPY\x02\x00\x00\x00xxxx", 14)},
                             {"long.npy", std::string("\x93NUMPY\x01\x00\x05\x00xxxx", 14)},
                             {"none.npy", std::string("\x93NUMPY\x01\x00\x04\x00xxxx", 14)},
                             {"ok.npy", npy_text("12345678")}};

TEST_P(BadVars, IsRefusedWithItsPlace) {
  const bad_var &p = GetParam();
  for (bool collect : {false, true}) {
    kbin_result r = load_def(def_text(OUTPUT + ",\"v\":" + p.entry), BESIDE, collect);
    EXPECT_EQ(r.status, NRT_INVALID);
    EXPECT_EQ(r.kbin, nullptr);
    ASSERT_EQ(r.findings.all().size(), 1u) << text_of(r.findings);
    EXPECT_EQ(r.findings.all()[0].status, NRT_INVALID);
    EXPECT_EQ(r.findings.all()[0].where, std::string("sg00/def.json: var") + p.where);
    EXPECT_THAT(r.findings.all()[0].what, testing::HasSubstr(p.what));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BadVars,
    testing::Values(
        bad_var{"not_object", "[]", ".v", "must be an object, is an array"},
        bad_var{"no_type", R"({"var_id":1})", ".v.type", "missing"},
        bad_var{"type_number", R"({"type":3,"var_id":1})", ".v.type", "must be a string, is 3"},
        bad_var{"unknown_type", R"({"type":"tmpbuf","var_id":1})", ".v.type", "\"tmpbuf\""},
        bad_var{"log_injection", R"({"type":"a\nb","var_id":1})", ".v.type", "\"a\\x0ab\""},
        bad_var{"no_id", R"({"type":"state-buffer"})", ".v.var_id", "missing"},
        bad_var{"id_negative", R"({"type":"state-buffer","var_id":-1})", ".v.var_id",
                "unsigned integer, is -1"},
        bad_var{"id_float", R"({"type":"state-buffer","var_id":1.0})", ".v.var_id",
                "unsigned integer, is fractional number 1"},
        bad_var{"id_string", R"({"type":"state-buffer","var_id":"1"})", ".v.var_id",
                "is string \"1\""},
        bad_var{"id_33_bits", R"({"type":"state-buffer","var_id":4294967296})", ".v.var_id",
                "is 4294967296, the limit is 4294967295"},
        bad_var{"id_gap", R"({"type":"state-buffer","var_id":2})", "",
                "the highest is 2, there are 2"},
        bad_var{"id_taken", R"({"type":"state-buffer","var_id":0})", ".v",
                "\"v\" with id 0 contradicts \"out\" with id 0"},
        bad_var{"key_twice", R"({"type":"tmp-buf","var_id":1,"size":4,"size":4})", ".v.size",
                "twice"},
        bad_var{"no_size", R"({"type":"tmp-buf","var_id":1})", ".v.size", "missing"},
        bad_var{"size_null", R"({"type":"input","var_id":1,"size":null})", ".v.size", "is null"},
        bad_var{"size_float", R"({"type":"output","var_id":1,"size":1e3})", ".v.size",
                "fractional number 1000"},
        bad_var{"size_negative", R"({"type":"tmp-buf","var_id":1,"size":-8})", ".v.size", "is -8"},
        bad_var{"size_zero", R"({"type":"tmp-buf","var_id":1,"size":0})", ".v.size", "is 0"},
        bad_var{"size_zero_input", R"({"type":"input","var_id":1,"size":0})", ".v.size", "is 0"},
        bad_var{"alignment_3", R"({"type":"tmp-buf","var_id":1,"size":8,"alignment":3})",
                ".v.alignment", "is 3, must be a power of two"},
        bad_var{"alignment_33_bits",
                R"({"type":"tmp-buf","var_id":1,"size":8,"alignment":4294967296})", ".v.alignment",
                "limit is 4294967295"},
        bad_var{"dtype_16", R"({"type":"tmp-buf","var_id":1,"size":8,"dtype":"1234567890123456"})",
                ".v.dtype", "has 16 characters, the limit is 15"},
        bad_var{"dtype_nul", R"({"type":"tmp-buf","var_id":1,"size":8,"dtype":"a\u0000b"})",
                ".v.dtype", "NUL character at position 1"},
        bad_var{"dtype_number", R"({"type":"tmp-buf","var_id":1,"size":8,"dtype":5})", ".v.dtype",
                "must be a string"},
        bad_var{"shape_9", R"({"type":"tmp-buf","var_id":1,"size":8,"shape":[1,1,1,1,1,1,1,1,1]})",
                ".v.shape", "has 9 dimensions, the limit is 8"},
        bad_var{"shape_not_array", R"({"type":"tmp-buf","var_id":1,"size":8,"shape":8})",
                ".v.shape", "must be an array"},
        bad_var{"shape_negative", R"({"type":"tmp-buf","var_id":1,"size":8,"shape":[1,-1]})",
                ".v.shape[1]", "is -1"},
        bad_var{
            "prefix_512",
            R"({"type":"tmp-buf","var_id":1,"size":8,"prefix":")" + std::string(512, 'p') + "\"}",
            ".v.prefix", "has 512 characters, the limit is 511"},
        bad_var{"pipe_negative", R"({"type":"tmp-buf","var_id":1,"size":8,"prefix":"a","pipe":-1})",
                ".v.pipe", "is -1"},
        bad_var{"virtual_no_offset", R"({"type":"virtual","var_id":1,"size":8})",
                ".v.backing_variable_off", "missing"},
        bad_var{
            "virtual_wraps",
            R"({"type":"virtual","var_id":1,"size":8,"backing_variable_off":18446744073709551610})",
            ".v.backing_variable_off", "passes 64 bits"},
        bad_var{"virtual_zero",
                R"({"type":"virtual","var_id":1,"size":0,"backing_variable_off":0})", ".v.size",
                "is 0"},
        bad_var{
            "backing_unknown",
            R"({"type":"virtual","var_id":1,"size":8,"backing_variable_off":0,"backing_buf":"x"})",
            ".v.backing_buf", "\"x\" is none of"},
        bad_var{
            "fabric_unknown",
            R"({"type":"virtual","var_id":1,"size":8,"backing_variable_off":0,"fabric_path":"x"})",
            ".v.fabric_path", "\"x\" is neither"},
        bad_var{
            "fabric_alt_shared",
            R"({"type":"virtual","var_id":1,"size":8,"backing_variable_off":0,"fabric_path":"alt","backing_buf":"shared"})",
            ".v.fabric_path", "not supported"},
        bad_var{"pointer_size", R"({"type":"pointer","var_id":1,"size":4,"referenced_var_id":0})",
                ".v.size", "is 4, a pointer has exactly 8"},
        bad_var{"pointer_no_size", R"({"type":"pointer","var_id":1,"referenced_var_id":0})",
                ".v.size", "missing"},
        bad_var{"pointer_no_target", R"({"type":"pointer","var_id":1,"size":8})",
                ".v.referenced_var_id", "missing"},
        bad_var{"pointer_dangles",
                R"({"type":"pointer","var_id":1,"size":8,"referenced_var_id":9})",
                ".v.referenced_var_id", "no variable has id 9"},
        bad_var{"pointer_to_itself",
                R"({"type":"pointer","var_id":1,"size":8,"referenced_var_id":1})",
                ".v.referenced_var_id", "of kind MR_PTR"},
        bad_var{
            "pointer_to_list",
            R"({"type":"list","var_id":2,"list":[]},"w":{"type":"pointer","var_id":1,"size":8,"referenced_var_id":2})",
            ".w.referenced_var_id", "of kind MR_LIST"},
        bad_var{"list_missing", R"({"type":"list","var_id":1})", ".v.list", "missing"},
        bad_var{"table_missing", R"({"type":"dge-table","var_id":1})", ".v.list", "missing"},
        bad_var{"list_no_array", R"({"type":"list","var_id":1,"list":0})", ".v.list",
                "must be an array"},
        bad_var{"list_33_bits", R"({"type":"list","var_id":1,"list":[0,4294967296]})", ".v.list[1]",
                "limit is 4294967295"},
        bad_var{"list_dangles", R"({"type":"dge-table","var_id":1,"list":[0,7]})", ".v.list[1]",
                "no variable has id 7"},
        bad_var{"table_in_itself", R"({"type":"dge-table","var_id":1,"list":[1]})", ".v.list[0]",
                "of kind MR_PTR_TABLE"},
        bad_var{"remote_no_sg", R"({"type":"remote","var_id":1,"remote_var":"x"})", ".v.remote_sg",
                "missing"},
        bad_var{"remote_no_var", R"({"type":"remote","var_id":1,"remote_sg":0})", ".v.remote_var",
                "missing"},
        bad_var{"file_no_name", R"({"type":"file","var_id":1,"size":3})", ".v.file_name",
                "missing"},
        bad_var{"file_absent", R"({"type":"file","var_id":1,"size":3,"file_name":"x.bin"})",
                ".v.file_name", "no member \"sg00/x.bin\""},
        bad_var{"file_empty", R"({"type":"file","var_id":1,"file_name":"empty.bin"})",
                ".v.file_name", "holds no data"},
        bad_var{"file_larger", R"({"type":"file","var_id":1,"size":4,"file_name":"w.bin"})",
                ".v.size", "is 4, the file holds 3 bytes"},
        bad_var{"file_size_zero", R"({"type":"file","var_id":1,"size":0,"file_name":"w.bin"})",
                ".v.size", "is 0"},
        bad_var{"file_fabric",
                R"({"type":"file","var_id":1,"file_name":"w.bin","fabric_path":"x"})",
                ".v.fabric_path", "neither"},
        bad_var{"npy_short", R"({"type":"file","var_id":1,"size":1,"file_name":"short.npy"})",
                ".v.file_name", "5 bytes, the preamble alone has 10"},
        bad_var{"npy_magic", R"({"type":"file","var_id":1,"size":1,"file_name":"magic.npy"})",
                ".v.file_name", "is 0x4e94, expected 0x4e93"},
        bad_var{"npy_version", R"({"type":"file","var_id":1,"size":1,"file_name":"v2.npy"})",
                ".v.file_name", "version 2.0 at byte 6"},
        bad_var{"npy_header", R"({"type":"file","var_id":1,"size":1,"file_name":"long.npy"})",
                ".v.file_name", "length 5 at byte 8 does not fit the file of 14"},
        bad_var{"npy_no_data", R"({"type":"file","var_id":1,"size":1,"file_name":"none.npy"})",
                ".v.file_name", "holds no data"},
        bad_var{"npy_larger", R"({"type":"file","var_id":1,"size":9,"file_name":"ok.npy"})",
                ".v.size", "is 9, the file holds 8 bytes"}),
    [](const auto &tested) { return std::string(tested.param.name); });

TEST(Vars, WholeTableRules) {
  struct {
    const char *def;
    const char *where, *what;
  } cases[] = {
      {R"({"runtime_statebuffer_reservation":[]})", "sg00/def.json: var", "no outputs"},
      {R"({"var":{},"runtime_statebuffer_reservation":[]})", "sg00/def.json: var", "no outputs"},
      {R"({"var":{"x":{"type":"input","size":1,"var_id":0}},"runtime_statebuffer_reservation":[]})",
       "sg00/def.json: var", "no outputs"},
      {R"({"var":[],"runtime_statebuffer_reservation":[]})", "sg00/def.json: var",
       "must be an object"},
      {R"({"var":{"o":{"type":"output","size":1,"var_id":0}},"var":{},"runtime_statebuffer_reservation":[]})",
       "sg00/def.json: var", "twice"},
      {R"([])", "sg00/def.json", "must be an object"},
      {"", "sg00/def.json", "not valid JSON"},
      {R"({"var":{"a\u0000b":{"type":"output","size":1,"var_id":0}},"runtime_statebuffer_reservation":[]})",
       "sg00/def.json: var.a\\x00b", "NUL"},
  };
  for (const auto &c : cases) {
    kbin_result r = load_def(c.def);
    EXPECT_EQ(r.status, NRT_INVALID) << c.def;
    ASSERT_EQ(r.findings.all().size(), 1u) << c.def;
    EXPECT_EQ(r.findings.all()[0].where, c.where);
    EXPECT_THAT(r.findings.all()[0].what, testing::HasSubstr(c.what));
  }
}

TEST(Vars, HalfDuplicateNamesBothEntries) {
  kbin_result r = load_def(def_text(OUTPUT + R"(,"a":{"type":"state-buffer","var_id":1},)"
                                             R"("a":{"type":"state-buffer","var_id":2})"));
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_EQ(text_of(r.findings),
            "sg00/def.json: var.a: variable \"a\" with id 2 contradicts \"a\" with id 1\n");
}

TEST(Vars, SharedAndShardedDoNotMix) {
  kbin_result r = load_def(def_text(
      OUTPUT +
      R"(,"a":{"type":"virtual","size":8,"var_id":1,"backing_variable_off":0,"backing_buf":"shared"},)"
      R"("b":{"type":"virtual","size":8,"var_id":2,"backing_variable_off":0,"backing_buf":"sharded"})"));
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_THAT(text_of(r.findings), testing::HasSubstr("var.b: backing_buf \"sharded\""));
}

TEST(Vars, AreasTogetherMustFit64Bits) {
  kbin_result r = load_def(def_text(
      OUTPUT +
      R"(,"a":{"type":"virtual","size":8,"var_id":1,"backing_variable_off":18446744073709551607},)"
      R"("b":{"type":"virtual","size":8,"var_id":2,"backing_variable_off":0,"fabric_path":"alt"})"));
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_THAT(text_of(r.findings), testing::HasSubstr("together pass 64 bits"));
}

TEST(Vars, CollectModeReportsEveryVariable) {
  std::string def = def_text(R"("a":{"type":"nope","var_id":0},)"
                             R"("b":{"type":"tmp-buf","var_id":1},)"
                             R"("c":{"type":"dge-table","var_id":3,"list":[0,1,99]},)"
                             R"("d":{"type":"virtual","size":1,"var_id":9}, "e":7)");
  kbin_result first = load_def(def, {}, false), all = load_def(def, {}, true);
  EXPECT_EQ(text_of(first.findings), "sg00/def.json: var.a.type: unknown variable type \"nope\"\n");
  // Consequences of refused entries (dangling ids, gaps, no outputs) are not reported again.
  EXPECT_EQ(all.status, NRT_INVALID);
  EXPECT_EQ(text_of(all.findings),
            "sg00/def.json: var.a.type: unknown variable type \"nope\"\n"
            "sg00/def.json: var.b.size: key is missing\n"
            "sg00/def.json: var.d.backing_variable_off: key is missing\n"
            "sg00/def.json: var.e: must be an object, is 7\n");
}

}  // namespace
