// SPDX-License-Identifier: Apache-2.0
// Everything of def.json that is not a variable: queue sets, reservation, fp8, groups, custom
// operators, engines with their tables and static transfers.
#include "tests/kelf/act_text.h"
#include "tests/kelf/fixture.h"

namespace {

// A piece that is wrong somewhere, and what the single finding says.
struct bad {
  const char *name;
  std::string json;
  const char *where;
  const char *what;
};
void PrintTo(const bad &v, std::ostream *os) {
  *os << v.name;
}

void expect_one_finding(const kbin_result &r, const bad &p) {
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_EQ(r.kbin, nullptr);
  ASSERT_EQ(r.findings.all().size(), 1u) << text_of(r.findings);
  EXPECT_EQ(r.findings.all()[0].where, p.where);
  EXPECT_THAT(r.findings.all()[0].what, testing::HasSubstr(p.what));
}

std::string bad_name(const testing::TestParamInfo<bad> &info) {
  return info.param.name;
}

// ---- top-level blocks

class BadBlocks : public testing::TestWithParam<bad> {};

TEST_P(BadBlocks, IsRefusedWithItsPlace) {
  member_texts beside{{"lib.bin", "elf"}, {"libs.json", R"([{"library":"gone.bin"}])"}};
  for (bool collect : {false, true})
    expect_one_finding(load_def(def_text(GOOD_VARS, "," + GetParam().json), beside, collect),
                       GetParam());
}

std::string numbers(int n) {
  std::string out;
  for (int i = 0; i < n; i++)
    out += (i ? "," : "") + std::to_string(i);
  return out;
}

std::string many_queues(int n) {
  std::string out;
  for (int i = 0; i < n; i++)
    out += (i ? ",\"q" : "\"q") + std::to_string(i) + R"(":{"type":"in"})";
  return out;
}

INSTANTIATE_TEST_SUITE_P(
    Queues, BadBlocks,
    testing::Values(
        bad{"not_object", R"("dma_queue":[])", "sg00/def.json: dma_queue", "must be an object"},
        bad{"entry", R"("dma_queue":{"q":1})", "sg00/def.json: dma_queue.q", "must be an object"},
        bad{"no_type", R"("dma_queue":{"q":{}})", "sg00/def.json: dma_queue.q.type", "missing"},
        bad{"type", R"("dma_queue":{"q":{"type":"io"}})", "sg00/def.json: dma_queue.q.type",
            "unknown queue type \"io\""},
        bad{"num_17", R"("dma_queue":{"q":{"type":"in","num_queues":17}})",
            "sg00/def.json: dma_queue.q.num_queues", "is 17, the limit is 16"},
        bad{"num_0", R"("dma_queue":{"q":{"type":"in","num_queues":0}})",
            "sg00/def.json: dma_queue.q.num_queues", "is 0"},
        bad{"owner", R"("dma_queue":{"q":{"type":"in","owner":"PE"}})",
            "sg00/def.json: dma_queue.q.owner", "\"PE\" is no engine"},
        bad{"semaphore", R"("dma_queue":{"q":{"type":"in","semaphore":256}})",
            "sg00/def.json: dma_queue.q.semaphore", "is 256, the limit is 255"},
        bad{"semaphores_33",
            R"("dma_queue":{"q":{"type":"in","semaphore_set":[)" + numbers(33) + "]}}",
            "sg00/def.json: dma_queue.q.semaphore_set",
            "33 semaphores, the limit per queue set is 32"},
        bad{"semaphore_type", R"("dma_queue":{"q":{"type":"in","semaphore_set":[1,"2"]}})",
            "sg00/def.json: dma_queue.q.semaphore_set[1]", "must be an unsigned integer"},
        bad{"fabric", R"("dma_queue":{"q":{"type":"in","fabric_path":"b"}})",
            "sg00/def.json: dma_queue.q.fabric_path", "neither"},
        bad{"instances_in", R"("dma_queue":{"q":{"type":"in","queue_instances":["a"]}})",
            "sg00/def.json: dma_queue.q.queue_instances", "not allowed"},
        bad{"instances_twice", R"("dma_queue":{"q":{"type":"data","queue_instances":["a","a"]}})",
            "sg00/def.json: dma_queue.q.queue_instances", "\"a\" is an instance of \"q\" already"},
        bad{"instances_shared",
            R"("dma_queue":{"q":{"type":"data","queue_instances":["a"]},"r":{"type":"data","queue_instances":["a"]}})",
            "sg00/def.json: dma_queue.r.queue_instances", "instance of \"q\" already"},
        bad{"twice", R"("dma_queue":{"q":{"type":"in"},"q":{"type":"in"}})",
            "sg00/def.json: dma_queue.q", "twice"},
        bad{"sets_33", "\"dma_queue\":{" + many_queues(33) + "}", "sg00/def.json: dma_queue",
            "33 queue sets, the limit per subgraph is 32"},
        bad{"act_load_queues", R"("dma_queue":{"q":{"type":"act_load","num_queues":2}})",
            "sg00/def.json: dma_queue.q.num_queues", "act_load has exactly 1"},
        bad{"act_load_twice", R"("dma_queue":{"q":{"type":"act_load"},"r":{"type":"act_load"}})",
            "sg00/def.json: dma_queue.r", "second act_load queue, \"q\""},
        bad{"embedding", R"("dma_queue":{"q":{"type":"embedding_update"}})",
            "sg00/def.json: dma_queue.q.embedding_update_sync_semaphore", "missing"},
        bad{"indirect", R"("dma_queue":{"q":{"type":"in","indirect_memcpy":true}})",
            "sg00/def.json: dma_queue.q.indirect_memcpy", "only for type data"},
        bad{"dynamic_size",
            R"("dma_queue":{"q":{"type":"dynamic","dynamic_dma":{"SB_scratch_partition_offset":262143,"SB_scratch_partition_size":2}}})",
            "sg00/def.json: dma_queue.q.dynamic_dma", "passes the partition's 262144"},
        bad{"dynamic_wraps",
            R"("dma_queue":{"q":{"type":"dynamic","dynamic_dma":{"SB_scratch_partition_offset":18446744073709551615,"SB_scratch_partition_size":2}}})",
            "sg00/def.json: dma_queue.q.dynamic_dma", "passes the partition's 262144"}),
    bad_name);

INSTANTIATE_TEST_SUITE_P(
    Others, BadBlocks,
    testing::Values(
        bad{"streams", R"("cc_streams":{"num_streams":-1})",
            "sg00/def.json: cc_streams.num_streams", "is -1"},
        bad{"streams_type", R"("cc_streams":3)", "sg00/def.json: cc_streams", "must be an object"},
        bad{"fp8_bool", R"("fp8_conversion_config":{"ocp_sat":1})",
            "sg00/def.json: fp8_conversion_config.ocp_sat", "must be true or false, is 1"},
        bad{"fp8_emax", R"("fp8_conversion_config":{"emax_fp8_e4m3":4294967296})",
            "sg00/def.json: fp8_conversion_config.emax_fp8_e4m3", "limit is 4294967295"},
        bad{"groups", R"("replica_groups":[[[0,"1"]]])", "sg00/def.json: replica_groups[0][0][1]",
            "must be a 64-bit signed integer"},
        bad{"groups_flat", R"("replica_groups":[0,1])", "sg00/def.json: replica_groups[0]",
            "must be an array"},
        bad{"ucode_member", R"("ucode_lib":"nolib.json")", "sg00/def.json: ucode_lib",
            "no member \"nolib.json\""},
        bad{"ucode_library", R"("ucode_lib":"libs.json")", "sg00/libs.json[0].library",
            "no member \"gone.bin\""},
        bad{"ucode_twice",
            R"("ucode_lib":[{"library":"lib.bin","ulib_to_ucode_version":"1.0","opcode":1},{"library":"lib.bin"}])",
            "sg00/def.json: ucode_lib[1].library", "\"lib.bin\" given twice"},
        bad{"ucode_version",
            R"("ucode_lib":[{"library":"lib.bin","ulib_to_ucode_version":"2.0.0.0","opcode":1}])",
            "sg00/def.json: ucode_lib[0].ulib_to_ucode_version", "only major version 1"},
        bad{"ucode_opcode",
            R"("ucode_lib":[{"library":"lib.bin","ulib_to_ucode_version":"1.0.0.0"}])",
            "sg00/def.json: ucode_lib[0].opcode", "missing"},
        bad{"ucode_cpu",
            R"("ucode_lib":[{"library":"lib.bin","ulib_to_ucode_version":"1.0.0.0","opcode":-123,"cpu_id":1}])",
            "sg00/def.json: ucode_lib[0].cpu_id", "is 1, the limit is 0"},
        bad{"ucode_cpus",
            R"("ucode_lib":[{"library":"lib.bin","ulib_to_ucode_version":"1.0.0.0","opcode":-123,"total_cpus":2}])",
            "sg00/def.json: ucode_lib[0].total_cpus", "must be 0, 1 or 8"},
        bad{"ext_isa", R"("ext_isa_ucode_lib_def":{"functions":[)" + numbers(19) + "]}",
            "sg00/def.json: ext_isa_ucode_lib_def.functions", "19 operations, the limit is 18"},
        bad{"engine_type", R"("pe":[])", "sg00/def.json: pe", "must be a string"},
        bad{"engine_absent", R"("pe":"PE.json")", "sg00/def.json: pe",
            "no member \"sg00/PE.json\""}),
    bad_name);

TEST(Reservation, CaymanTakesExactlyOneContent) {
  struct {
    const char *json;
    const char *where;  // NULL: fine
    const char *what;
  } cases[] = {
      {"[]", nullptr, nullptr},
      {GOOD_RESERVATION, nullptr, nullptr},
      {R"([{"type":"evtaccel","base_partition":0,"partitions":128,"offset":229376,"size":8}])",
       "sg00/def.json: runtime_statebuffer_reservation[0]", "offset 229376, size 8"},
      {R"([{"type":"evtaccel","base_partition":0,"partitions":127,"offset":229368,"size":8}])",
       "sg00/def.json: runtime_statebuffer_reservation[0]", "partitions 127"},
      {R"([{"type":"other","base_partition":0,"partitions":128,"offset":229368,"size":8}])",
       "sg00/def.json: runtime_statebuffer_reservation[0].type", "\"other\""},
      {R"([{"type":"evtaccel","base_partition":0,"partitions":128,"offset":229368}])",
       "sg00/def.json: runtime_statebuffer_reservation[0].size", "missing"},
      {R"([1])", "sg00/def.json: runtime_statebuffer_reservation[0]", "must be an object"},
      {R"({})", "sg00/def.json: runtime_statebuffer_reservation", "must be an array"},
  };
  for (const auto &c : cases) {
    kbin_result r = load_def(def_text(GOOD_VARS, "", c.json));
    SCOPED_TRACE(c.json);
    EXPECT_EQ(r.status, c.where ? NRT_INVALID : NRT_SUCCESS);
    ASSERT_EQ(r.findings.all().size(), c.where ? 1u : 0u);
    if (c.where) {
      EXPECT_EQ(r.findings.all()[0].where, c.where);
      EXPECT_THAT(r.findings.all()[0].what, testing::HasSubstr(c.what));
    }
  }
}

TEST(Reservation, AbsenceNeedsTheLegacySwitchOnCaymanOnly) {
  std::string def = std::string(R"({"var":{)") + GOOD_VARS + "}}";
  kbin_result strict = load_def(def);
  EXPECT_EQ(strict.status, NRT_INVALID);
  EXPECT_THAT(text_of(strict.findings), testing::HasSubstr("NEURON_RT_ALLOW_LEGACY_NEFF"));
  EXPECT_EQ(load_def(def, {}, false, KELF_TARGET_CAYMAN, {true}).status, NRT_SUCCESS);
  EXPECT_EQ(load_def(def, {}, false, KELF_TARGET_SUNDA).status, NRT_SUCCESS);
  EXPECT_EQ(load_def(def, {}, false, KBIN_TARGET_ANY).status, NRT_SUCCESS);
  EXPECT_EQ(load_def(def, {}, false, 0).status, NRT_INVALID);
}

TEST(Reservation, OtherTargetsOnlyNeedItInsideAPartition) {
  std::string mariana =
      R"([{"type":"evtaccel","base_partition":0,"partitions":128,"offset":262136,"size":8}])";
  EXPECT_EQ(load_def(def_text(GOOD_VARS, "", mariana), {}, false, KELF_TARGET_MARIANA).status,
            NRT_SUCCESS);
  std::string outside =
      R"([{"type":"evtaccel","base_partition":0,"partitions":128,"offset":262137,"size":8}])";
  EXPECT_EQ(load_def(def_text(GOOD_VARS, "", outside), {}, false, KELF_TARGET_MARIANA).status,
            NRT_INVALID);
  std::string partitions =
      R"([{"type":"evtaccel","base_partition":1,"partitions":128,"offset":0,"size":8}])";
  EXPECT_EQ(load_def(def_text(GOOD_VARS, "", partitions), {}, false, KELF_TARGET_MARIANA).status,
            NRT_INVALID);
}

TEST(Blocks, AllOfThemAreCarried) {
  kbin_result r = load_def(
      def_text(
          GOOD_VARS,
          R"(,"dma_queue":{"qi":{"type":"in","owner":"sp","semaphore":9,"semaphore_set":[10,9]},)"
          R"("qe":{"type":"embedding_update","embedding_update_sync_semaphore":3},)"
          R"("qd":{"type":"data","queue_instances":["a","b"],"indirect_memcpy":true,"dge":1}},)"
          R"("cc_streams":{"num_streams":4},"fp8_conversion_config":{"fp8_range_extension":false,)"
          R"("emax_fp8_e4m3":7,"emax_fp8_e5m2":14,"ocp_sat":false,"fp8_sis":true,"fp8_sns":true},)"
          R"("replica_groups":[[[0,1],[2,3]],[]],"src_target_pairs":[[0,1],[1,0]],)"
          R"("ucode_lib":[{"library":"lib.bin","ulib_to_ucode_version":"1.2.3.4","opcode":-123,)"
          R"("cpu_id":0,"total_cpus":8,"functions":[{"name":"f"}]}],)"
          R"("ext_isa_ucode_lib_def":{"functions":[]},"unknown":{"a":[1]})"),
      {{"lib.bin", "elf"}});
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  ASSERT_EQ(r.kbin->queues.size(), 3u);
  EXPECT_EQ(r.kbin->queues[0].semaphores, (std::vector<uint32_t>{10, 9}));
  EXPECT_EQ(r.kbin->queues[0].num_queues, 1u);
  EXPECT_EQ(r.kbin->queues[1].type, kbin_dma_queue_type_t::EMBEDDING_UPDATE);
  EXPECT_EQ(r.kbin->queues[1].owner, AL_HAL_TPB_ENG_TYPE_NUM);
  EXPECT_TRUE(r.kbin->queues[2].indirect_memcpy);
  EXPECT_TRUE(r.kbin->queues[2].dge);
  EXPECT_EQ(r.kbin->num_streams, 4u);
  EXPECT_FALSE(r.kbin->fp8_conv_cfg.fp8_range_extension);
  EXPECT_EQ(r.kbin->fp8_conv_cfg.emax_fp8_e4m3, 7u);
  EXPECT_EQ(r.kbin->fp8_conv_cfg.emax_fp8_e5m2, 14u);
  EXPECT_FALSE(r.kbin->fp8_conv_cfg.ocp_sat);
  EXPECT_TRUE(r.kbin->fp8_conv_cfg.sis);
  EXPECT_TRUE(r.kbin->fp8_conv_cfg.sns);
  using groups = std::vector<std::vector<std::vector<int64_t>>>;
  EXPECT_EQ(r.kbin->replica_groups, (groups{{{0, 1}, {2, 3}}, {}}));
  EXPECT_EQ(r.kbin->src_target_pairs, (groups{{{0, 1}, {1, 0}}}));
  ASSERT_EQ(r.kbin->ucode_libs.size(), 1u);
  EXPECT_EQ(r.kbin->ucode_libs[0].opcode, -123);
  EXPECT_EQ(r.kbin->ucode_libs[0].num_functions, 1u);
  EXPECT_EQ(r.kbin->ucode_libs[0].content.data(), r.kbin->source->find("sg00/lib.bin")->data());
  // No engine named: five empty streams, in type order.
  ASSERT_EQ(r.kbin->engines.size(), 5u);
  for (uint32_t i = 0; i < 5; i++) {
    EXPECT_EQ(r.kbin->engines[i].eng_type, i);
    EXPECT_EQ(r.kbin->engines[i].ninstr, 0u);
    EXPECT_EQ(r.kbin->engines[i].json_member, "");
  }
}

TEST(Blocks, Defaults) {
  kbin_result r = load_def(def_text(GOOD_VARS));
  ASSERT_EQ(r.status, NRT_SUCCESS);
  EXPECT_EQ(r.kbin->num_streams, 1u);
  EXPECT_TRUE(r.kbin->fp8_conv_cfg.ocp_sat);
  EXPECT_EQ(r.kbin->target, KELF_TARGET_CAYMAN);
  EXPECT_EQ(load_def(def_text(GOOD_VARS, R"(,"num_streams":3)")).kbin->num_streams, 3u);
  EXPECT_EQ(load_def(def_text(GOOD_VARS, R"(,"replica_groups":[[]])")).kbin->replica_groups.size(),
            1u);
}

// ---- engines

const std::string DVE_TABLE = R"("opcode_table":"op.bin","datapath_table":"dp.bin")";
const member_texts TABLES = {
    {"op.bin", "o"},
    {"dp.bin", "d"},
    {"ct.bin", "c"},
    {"exp.json", R"({"bkt_bin":"b.bin","bkt_entry_cnt":2,"ctl_bin":"c.bin",)"
                 R"("ctl_entry_cnt":1,"profile_meta_data":[)" +
                     act_function("identity_1p", 1) + "," + act_function("exp_400p", 7) + "]}"},
    {"b.bin", std::string(64, 'b')},
    {"c.bin", std::string(32, 'c')},
    {"off.json", R"({"bkt_bin":"b.bin","bkt_entry_cnt":3,"ctl_bin":"c.bin","ctl_entry_cnt":1})"},
    {"nobin.json", R"({"bkt_bin":"b.bin","bkt_entry_cnt":2,"ctl_bin":"gone","ctl_entry_cnt":1})"},
    {"nocount.json", R"({"bkt_bin":"b.bin","ctl_bin":"c.bin"})"},
    {"huge.json", R"({"bkt_bin":"b.bin","bkt_entry_cnt":9223372036854775808,"ctl_bin":"c.bin"})"},
    {"many.json",
     R"({"bkt_bin":"b.bin","bkt_entry_cnt":2,"ctl_bin":"c.bin","ctl_entry_cnt":1,"profile_meta_data":[)" +
         numbers(26) + "]}"},
    {"i.bin", std::string(150, 'i')}};

kbin_result load_engine(const std::string &key, const std::string &json, bool collect = false,
                        const std::string &queues = "") {
  member_texts beside = TABLES;
  beside["e.json"] = json;
  return load_def(def_text(GOOD_VARS, queues + ",\"" + key + "\":\"e.json\""), beside, collect);
}

struct bad_engine {
  const char *name;
  const char *key;
  std::string json;
  const char *where;
  const char *what;
};
void PrintTo(const bad_engine &v, std::ostream *os) {
  *os << v.name;
}
class BadEngines : public testing::TestWithParam<bad_engine> {};

TEST_P(BadEngines, IsRefusedWithItsPlace) {
  const bad_engine &p = GetParam();
  for (bool collect : {false, true})
    expect_one_finding(load_engine(p.key, p.json, collect), {p.name, "", p.where, p.what});
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BadEngines,
    testing::Values(
        bad_engine{"syntax", "pe", "{\"instr\":}", "sg00/e.json", "not valid JSON near byte 9"},
        bad_engine{"instr_missing", "pe", "{}", "sg00/e.json: instr", "missing"},
        bad_engine{"instr_absent", "sp", R"({"instr":"x.bin"})", "sg00/e.json: instr",
                   "no member \"sg00/x.bin\""},
        bad_engine{"dma_type", "sp", R"({"instr":[],"dma":{}})", "sg00/e.json: dma",
                   "must be an array"},
        bad_engine{"set_absent", "act", R"({"instr":[],"activation_function_sets":["gone"]})",
                   "sg00/e.json: activation_function_sets[0]", "no member \"sg00/gone.json\""},
        bad_engine{"set_twice", "act", R"({"instr":[],"activation_function_sets":["exp","exp"]})",
                   "sg00/e.json: activation_function_sets[1]", "twice"},
        bad_engine{"set_size", "act", R"({"instr":[],"activation_function_sets":["off"]})",
                   "sg00/off.json: bkt_entry_cnt",
                   "is 3, which makes 96 bytes, but the table has 64"},
        bad_engine{"set_bin", "act", R"({"instr":[],"activation_function_sets":["nobin"]})",
                   "sg00/nobin.json: ctl_bin", "no member \"sg00/gone\""},
        bad_engine{"set_count", "act", R"({"instr":[],"activation_function_sets":["nocount"]})",
                   "sg00/nocount.json: bkt_entry_cnt", "missing"},
        bad_engine{"set_count_huge", "act", R"({"instr":[],"activation_function_sets":["huge"]})",
                   "sg00/huge.json: bkt_entry_cnt", "the limit is 4294967295"},
        bad_engine{"set_functions", "act", R"({"instr":[],"activation_function_sets":["many"]})",
                   "sg00/many.json: profile_meta_data", "26 functions, the limit is 25"},
        bad_engine{"act_semaphore", "act", R"({"instr":[],"act_semaphore":256})",
                   "sg00/e.json: act_semaphore", "limit is 255"},
        bad_engine{"dve_opcode", "dve", R"({"instr":[],"dve_tables":[{}]})",
                   "sg00/e.json: dve_tables[0].opcode_table", "missing"},
        bad_engine{"dve_control", "dve", R"({"instr":[],"dve_tables":[{)" + DVE_TABLE + "}]}",
                   "sg00/e.json: dve_tables[0].control_fast_table", "missing"},
        bad_engine{
            "dve_slow", "dve",
            R"({"instr":[],"dve_tables":[{)" + DVE_TABLE + R"(,"control_fast_table":"ct.bin"}]})",
            "sg00/e.json: dve_tables[0].control_slow_table", "missing"},
        bad_engine{"dve_absent", "dve",
                   R"({"instr":[],"dve_tables":[{)" + DVE_TABLE + R"(,"control_table":"gone"}]})",
                   "sg00/e.json: dve_tables[0].control_table", "no member \"sg00/gone\""}),
    [](const auto &tested) { return std::string(tested.param.name); });

TEST(Engines, TablesAndStreams) {
  kbin_result act = load_engine(
      "act",
      R"({"instr":"i.bin","name":"n","activation_function_sets":["exp"],"act_semaphore":9})");
  ASSERT_EQ(act.status, NRT_SUCCESS) << text_of(act.findings);
  const kbin_engine_t &engine = act.kbin->engines[AL_HAL_TPB_ENG_TYPE_ACT];
  EXPECT_EQ(engine.json_member, "sg00/e.json");
  EXPECT_EQ(engine.instr_member, "sg00/i.bin");
  EXPECT_EQ(engine.instr.size(), 150u);
  EXPECT_EQ(engine.ninstr, 2u);  // the remainder is kept but not counted
  EXPECT_EQ(act.kbin->act_semaphore, 9u);
  ASSERT_EQ(act.kbin->act_function_sets.size(), 1u);
  EXPECT_EQ(act.kbin->act_function_sets[0].bkt_tbl.size(), 64u);
  EXPECT_EQ(act.kbin->act_function_sets[0].ctl_tbl.size(), 32u);
  EXPECT_EQ(act.kbin->act_function_sets[0].functions.size(), 2u);
  EXPECT_EQ(act.kbin->act_function_sets[0].json_member, "sg00/exp.json");

  // One control table (older compilers); sets mean nothing to other engines.
  kbin_result dve = load_engine("dve", R"({"instr":[],"activation_function_sets":["gone"],)"
                                       R"("dve_tables":[{)" +
                                           DVE_TABLE + R"(,"control_table":"ct.bin"}]})");
  ASSERT_EQ(dve.status, NRT_SUCCESS) << text_of(dve.findings);
  ASSERT_EQ(dve.kbin->dve_config.size(), 1u);
  EXPECT_EQ(dve.kbin->dve_config[0].control_table.size(), 1u);
  EXPECT_TRUE(dve.kbin->dve_config[0].control_fast_table.empty());
  EXPECT_EQ(dve.kbin->engines[AL_HAL_TPB_ENG_TYPE_DVE].ninstr, 0u);
}

// ---- static transfers

const std::string QUEUES =
    R"(,"dma_queue":{"q":{"type":"in","owner":"sp"},)"
    R"("d":{"type":"data","queue_instances":["d0"]},"dyn":{"type":"dynamic"}})";

// A side of a transfer: 16 bytes, of x (input), y (output) or SB.
std::string side(const char *dir, const char *var, const std::string &sizes = "[16]",
                 const std::string &steps = "[1]", const std::string &off = "0") {
  std::string d = dir;
  return "\"" + d + "\":\"" + var + "\",\"" + d + "_off\":" + off + ",\"" + d +
         "_sizes\":" + sizes + ",\"" + d + "_steps\":" + steps;
}

std::string block(const std::string &desc, const std::string &head = R"("id":0,"queue":"q")") {
  return "{" + head + ",\"desc\":[" + desc + "]}";
}

kbin_result load_dma(const std::string &blocks, bool collect = false) {
  return load_engine("sp", R"({"instr":[],"dma":[)" + blocks + "]}", collect, QUEUES);
}

class BadTransfers : public testing::TestWithParam<bad> {};

TEST_P(BadTransfers, IsRefusedWithItsPlace) {
  for (bool collect : {false, true})
    expect_one_finding(load_dma(GetParam().json, collect), GetParam());
}

const std::string FROM_X = side("from", "x"), TO_SB = side("to", "SB"), TO_Y = side("to", "y");

INSTANTIATE_TEST_SUITE_P(
    BlockKeys, BadTransfers,
    testing::Values(
        bad{"no_id", R"({"queue":"q","desc":[]})", "sg00/e.json: dma[0].id", "missing"},
        bad{"id_negative", R"({"id":-1,"queue":"q","desc":[]})", "sg00/e.json: dma[0].id", "is -1"},
        bad{"no_queue", R"({"id":0,"desc":[]})", "sg00/e.json: dma[0].queue", "missing"},
        bad{"unknown_queue", R"({"id":0,"queue":"z","desc":[]})", "sg00/e.json: dma[0].queue",
            "no queue set \"z\""},
        bad{"unknown_instance", R"({"id":0,"instance_name":"z","desc":[]})",
            "sg00/e.json: dma[0].instance_name", "instance \"z\""},
        bad{"dynamic_queue", R"({"id":0,"queue":"dyn","desc":[]})", "sg00/e.json: dma[0].queue",
            "dynamic"},
        bad{"no_desc", R"({"id":0,"queue":"q"})", "sg00/e.json: dma[0].desc", "missing"},
        bad{"desc_type", R"({"id":0,"queue":"q","desc":{}})", "sg00/e.json: dma[0].desc",
            "must be an array"},
        bad{"twice", block("") + "," + block(""), "sg00/e.json: dma[1].id",
            "block 0 of \"q\" given twice"},
        bad{"semaphore", block("", R"("id":0,"queue":"q","semaphore":256)"),
            "sg00/e.json: dma[0].semaphore", "limit is 255"},
        bad{"event", block("", R"("id":0,"queue":"q","event":-1)"), "sg00/e.json: dma[0].event",
            "is -1"},
        bad{"remote", block("", R"("id":0,"queue":"q","remote_semaphores":[300])"),
            "sg00/e.json: dma[0].remote_semaphores[0]", "limit is 255"},
        bad{"function", block("", R"("id":0,"queue":"q","function_start":1)"),
            "sg00/e.json: dma[0].function_start", "must be a string"},
        bad{"section", block("", R"("id":0,"queue":"q","section_start_desc":1)"),
            "sg00/e.json: dma[0].section_start_desc", "must be true or false"},
        bad{"priority", block("", R"("id":0,"queue":"q","priority_class":-1)"),
            "sg00/e.json: dma[0].priority_class", "is -1"},
        bad{"block_type", "7", "sg00/e.json: dma[0]", "must be an object"}),
    bad_name);

std::string transfer(const std::string &inside) {
  return block("{" + inside + "}");
}
#define AT "sg00/e.json: dma[0].desc[0]"

INSTANTIATE_TEST_SUITE_P(
    Transfers, BadTransfers,
    testing::Values(
        bad{"no_from", transfer(TO_SB), AT ".from", "missing"},
        bad{"no_to", transfer(FROM_X), AT ".to", "missing"},
        bad{"op", transfer(FROM_X + "," + TO_SB + R"(,"op":"xor")"), AT ".op",
            "unknown operation \"xor\""},
        bad{"unknown_var", transfer(side("from", "nix") + "," + TO_SB), AT ".from",
            "no variable \"nix\""},
        bad{"no_off", transfer(R"("from":"x","from_sizes":[16],"from_steps":[1],)" + TO_SB),
            AT ".from_off", "missing"},
        bad{"off_negative", transfer(side("from", "x", "[1]", "[1]", "-1") + "," + TO_SB),
            AT ".from_off", "is -1"},
        bad{"no_sizes", transfer(R"("from":"x","from_off":0,"from_steps":[1],)" + TO_SB),
            AT ".from_sizes", "missing"},
        bad{"no_steps", transfer(R"("from":"x","from_off":0,"from_sizes":[1],)" + TO_SB),
            AT ".from_steps", "missing"},
        bad{"dims_5", transfer(side("from", "x", "[1,1,1,1,1]", "[1,1,1,1,1]") + "," + TO_SB),
            AT ".from_sizes", "has 5 dimensions, must have 1 to 4"},
        bad{"dims_0", transfer(side("from", "x", "[]", "[]") + "," + TO_SB), AT ".from_sizes",
            "has 0 dimensions"},
        bad{"lengths", transfer(side("from", "x", "[4,4]", "[1]") + "," + TO_SB), AT ".from_steps",
            "has 1 entries, from_sizes has 2"},
        bad{"size_0", transfer(side("from", "x", "[4,0]", "[1,4]") + "," + TO_SB),
            AT ".from_sizes[1]", "is 0"},
        bad{"step_float", transfer(side("from", "x", "[16]", "[1.5]") + "," + TO_SB),
            AT ".from_steps[0]", "must be a 64-bit signed integer, is fractional"},
        bad{"dtype", transfer(FROM_X + R"(,"from_dtype":"float64",)" + TO_SB), AT ".from_dtype",
            "unknown element type \"float64\""},
        bad{"past_end", transfer(side("from", "x", "[16]", "[1]", "1") + "," + TO_SB),
            AT ".from_off", "reaches byte 16, variable \"x\" has 16 bytes"},
        bad{"past_end_by_step", transfer(FROM_X + "," + side("to", "y", "[4,4]", "[1,5]")),
            AT ".to_off", "reaches byte 18, variable \"y\" has 16 bytes"},
        bad{"before_start", transfer(side("from", "x", "[4,4]", "[1,-4]", "11") + "," + TO_SB),
            AT ".from_off", "reach before the variable"},
        bad{"wraps",
            transfer(side("from", "x", "[1,9223372036854775807]", "[1,9223372036854775807]") + "," +
                     TO_SB),
            AT ".from_off", "past 63 bits"},
        bad{"aperture", transfer(FROM_X + "," + side("to", "SB", "[16]", "[1]", "33554417")),
            AT ".to_off", "reaches byte 33554432, variable \"SB\" has 33554432 bytes"},
        bad{"aperture_by_rows",
            transfer(FROM_X + "," + side("to", "SB", "[4,4]", "[1,262144]", "32768000")),
            AT ".to_off", "variable \"SB\" has 33554432 bytes"},
        bad{"amounts", transfer(FROM_X + "," + side("to", "SB", "[15]", "[1]")), AT ".to_sizes",
            "hold 15 bytes (1 per element), the source holds 16"},
        bad{"cast_amounts",
            transfer(FROM_X + R"(,"op":"cast","from_dtype":"float32","to_dtype":"float16",)" +
                     TO_SB),
            AT ".to_sizes", "hold 16 bytes (2 per element), the source holds 16 (4 per element)"},
        bad{"amount_wraps",
            transfer(side("from", "x", "[16,4294967296,4294967296]", "[1,0,0]") + "," + TO_SB),
            AT ".from_sizes", "product passes 64 bits"},
        bad{"compute_untyped", transfer(FROM_X + R"(,"op":"add",)" + TO_SB), AT ".from_dtype",
            "missing"},
        bad{"both_sources", transfer(FROM_X + R"(,"from_arr":[],)" + TO_SB), AT ".from_arr",
            "together with"},
        bad{"no_sources", transfer(R"("from_arr":[],)" + TO_SB), AT ".from_arr",
            "has 0 sources, must have 1 to 16"},
        bad{"copy_two", transfer("\"from_arr\":[{" + FROM_X + "},{" + FROM_X + "}]," + TO_SB),
            AT ".from_arr", "2 sources, operation \"copy\" takes one"},
        bad{"tiling", transfer(FROM_X + "," + TO_SB + R"(,"num_tiling_dimensions":5)"),
            AT ".num_tiling_dimensions", "is 5, the limit is 4"},
        bad{"scale", transfer(FROM_X + "," + TO_SB + R"(,"scale":"1")"), AT ".scale",
            "must be a number"},
        bad{"scale_dtype", transfer(FROM_X + "," + TO_SB + R"(,"scale_dtype":"int8")"),
            AT ".scale_dtype", "only float32"},
        bad{"constant", transfer(FROM_X + "," + TO_SB + R"(,"constant":2)"), AT ".constant_dtype",
            "missing"},
        bad{"constant_int",
            transfer(FROM_X + "," + TO_SB + R"(,"constant_dtype":"int32","constant":2147483648)"),
            AT ".constant", "outside int32"},
        bad{"transpose", transfer(FROM_X + "," + TO_SB + R"(,"transpose_shape":[1,2])"),
            AT ".transpose_shape", "has 2 entries, must have 4"}),
    bad_name);

TEST(Transfers, SixteenSourcesPassSeventeenDoNot) {
  for (size_t n : {16u, 17u}) {
    std::string sources;
    for (size_t i = 0; i < n; i++)
      sources += (i ? ",{" : "{") + FROM_X + R"(,"from_dtype":"float32"})";
    kbin_result r = load_dma(
        transfer(R"("op":"add","to_dtype":"float32","from_arr":[)" + sources + "]," + TO_SB));
    EXPECT_EQ(r.status, n == 16 ? NRT_SUCCESS : NRT_INVALID) << text_of(r.findings);
    if (r.kbin) {
      EXPECT_EQ(r.kbin->blocks.at(0).desc.at(0).from.size(), 16u);
    }
  }
}

TEST(Transfers, KindsWithoutAnAddressAreRefused) {
  struct {
    const char *var, *kind;
  } cases[] = {{"p", "MR_PTR"}, {"l", "MR_LIST"}, {"t", "MR_PTR_TABLE"}};
  for (const auto &c : cases) {
    member_texts beside{
        {"e.json", R"({"instr":[],"dma":[)" + transfer(side("from", c.var) + "," + TO_SB) + "]}"}};
    kbin_result r = load_def(
        def_text(std::string(GOOD_VARS) +
                     R"(,"p":{"type":"pointer","size":8,"referenced_var_id":1,"var_id":3},)"
                     R"("l":{"type":"list","list":[1],"var_id":4},)"
                     R"("t":{"type":"dge-table","list":[1,3],"var_id":5})",
                 QUEUES + R"(,"sp":"e.json")"),
        beside);
    EXPECT_EQ(r.status, NRT_INVALID);
    EXPECT_THAT(text_of(r.findings), testing::HasSubstr(c.kind));
  }
}

TEST(Transfers, AllFieldsAreCarried) {
  kbin_result r = load_dma(
      block("{" + side("from", "x", "[4,4]", "[1,4]") + R"(,"from_dtype":"float32","op":"cast",)" +
                side("to", "SB", "[2,4]", "[1,262144]", "64") +
                R"(,"to_dtype":"bfloat16","num_tiling_dimensions":1})",
            R"("id":3,"instance_name":"d0","queue":"ignored","semaphore":255,"event":7,)"
            R"("remote_semaphores":[1,2],"function_start":"f","section_start_desc":true,)"
            R"("priority_class":2,"#comment":"c")") +
      "," +
      block("{" + FROM_X + R"(,"from_dtype":"int32","op":"min","constant_dtype":"int32",)" +
                R"("constant":-5,"scale":2.5,)" + TO_Y + R"(,"to_dtype":"int32"})",
            R"("id":3,"queue":"d")") +
      "," +
      block("{" + FROM_X + "," + TO_Y +
            R"(,"op":"transpose_op","transpose_shape":[1,2,2,4],"transpose_element_size":2})"));
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  ASSERT_EQ(r.kbin->blocks.size(), 3u);
  const kbin_dma_block_t &b = r.kbin->blocks[0];
  EXPECT_EQ(b.id, 3u);
  EXPECT_EQ(b.queue, "d");  // set of the instance
  EXPECT_EQ(b.instance_name, "d0");
  EXPECT_EQ(b.semaphore, 255);
  EXPECT_EQ(b.event, 7);
  EXPECT_EQ(b.remote_semaphores, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(b.function_start, "f");
  EXPECT_TRUE(b.section_start_desc);
  EXPECT_EQ(b.priority_class, 2u);
  EXPECT_EQ(b.engine, AL_HAL_TPB_ENG_TYPE_SP);
  const kbin_dma_transfer_t &t = b.desc.at(0);
  EXPECT_EQ(t.op, kbin_dma_desc_op_t::CAST);
  EXPECT_EQ(t.num_tiling_dimensions, 1);
  EXPECT_EQ(t.from.at(0).dtype, 5u);
  EXPECT_EQ(t.to.dtype, 7u);
  EXPECT_EQ(t.to.offset, 64u);
  EXPECT_EQ(t.to.steps[1], 262144);
  EXPECT_EQ(t.to.var_id, 0u);
  const kbin_dma_transfer_t &min = r.kbin->blocks[1].desc.at(0);
  EXPECT_EQ(min.op, kbin_dma_desc_op_t::MIN);
  EXPECT_EQ(min.constant, -5);
  EXPECT_EQ(min.constant_dtype, 14u);
  EXPECT_EQ(min.scale, 2.5);
  EXPECT_EQ(min.num_tiling_dimensions, -1);
  const kbin_dma_transfer_t &transpose = r.kbin->blocks[2].desc.at(0);
  EXPECT_EQ(transpose.op, kbin_dma_desc_op_t::TRANSPOSE);
  EXPECT_EQ(transpose.transpose_shape[3], 4u);
  EXPECT_EQ(transpose.transpose_element_size, 2u);
}

TEST(Transfers, BlocksOfDefJsonBelongToTheirQueuesOwner) {
  kbin_result r =
      load_def(def_text(GOOD_VARS, QUEUES + ",\"dma\":[" + transfer(FROM_X + "," + TO_SB) + "]"));
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  EXPECT_EQ(r.kbin->blocks.at(0).engine, AL_HAL_TPB_ENG_TYPE_SP);
  EXPECT_EQ(r.kbin->blocks.at(0).semaphore, -1);
}

TEST(Transfers, CollectModeReportsEachBlockAndSkipsConsequences) {
  std::string blocks =
      transfer(side("from", "nix") + "," + TO_SB) + "," + block("", R"("id":1,"queue":"gone")") +
      "," + block("{" + FROM_X + R"(,"op":"x",)" + TO_SB + "},{}", R"("id":2,"queue":"q")");
  kbin_result r = load_dma(blocks, true);
  EXPECT_EQ(text_of(r.findings),
            "sg00/e.json: dma[0].desc[0].from: no variable \"nix\"\n"
            "sg00/e.json: dma[1].queue: no queue set \"gone\"\n"
            "sg00/e.json: dma[2].desc[0].op: unknown operation \"x\"\n"
            "sg00/e.json: dma[2].desc[1].from: key is missing\n");
  // With a broken queue and a broken variable, their absence elsewhere is no news.
  member_texts beside{{"e.json", R"({"instr":[],"dma":[)" +
                                     transfer(side("from", "nix") + "," + TO_SB) + "," +
                                     block("", R"("id":1,"queue":"gone")") + "]}"}};
  r = load_def(def_text(std::string(GOOD_VARS) + R"(,"nix":{})",
                        R"(,"dma_queue":{"gone":{}},"sp":"e.json")"),
               beside, true);
  EXPECT_EQ(text_of(r.findings),
            "sg00/def.json: var.nix.type: key is missing\n"
            "sg00/def.json: dma_queue.gone.type: key is missing\n");
}

}  // namespace
