// SPDX-License-Identifier: Apache-2.0
// Whole models: host graph, kelf member, agreement between the parts, variables of other subgraphs.
#include "tests/kelf/fixture.h"

namespace {

void replace(std::string &text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

struct edit {
  const char *name;
  const char *member;
  const char *from, *to;  // first occurrence; an empty `from` replaces the member by `to`
  const char *where, *what;
};
void PrintTo(const edit &v, std::ostream *os) {
  *os << v.name;
}

class BadModels : public testing::TestWithParam<edit> {};

TEST_P(BadModels, IsRefusedWithItsPlace) {
  const edit &p = GetParam();
  for (bool collect : {false, true}) {
    member_texts model = good_model();
    if (!*p.from)
      model[p.member] = p.to;
    else
      replace(model[p.member], p.from, p.to);
    nn_result r = load_nn(model, collect);
    EXPECT_EQ(r.status, NRT_INVALID);
    EXPECT_EQ(r.nn, nullptr);
    ASSERT_EQ(r.findings.all().size(), 1u) << text_of(r.findings);
    EXPECT_EQ(r.findings.all()[0].where, p.where);
    EXPECT_THAT(r.findings.all()[0].what, testing::HasSubstr(p.what));
  }
}

#define NJ "neff.json"
INSTANTIATE_TEST_SUITE_P(
    NeffJson, BadModels,
    testing::Values(
        edit{"empty", NJ, "", "", NJ, "not valid JSON (0 bytes)"},
        edit{"array", NJ, "", "[]", NJ, "must be an object"},
        edit{"cut", NJ, "", "{\"nodes\":[1,", NJ, "not valid JSON"},
        edit{"no_nodes", NJ, "\"nodes\"", "\"nodez\"", NJ ": nodes", "missing"},
        edit{"nodes_object", NJ, "", R"({"nodes":{}})", NJ ": nodes", "must be an array"},
        edit{"node_type", NJ,
             R"({"op":"null","name":"x","inputs":[],"output_names":["x"],"is_param":"0"})", "5",
             NJ ": nodes[0]", "must be an object"},
        edit{"no_kelf", NJ, "\"__kelf\"", "\"other\"", NJ ": nodes",
             "none of the 2 nodes has func_name __kelf"},
        edit{"no_member", NJ, ",\"kelf\":\"kelf-0.json\"", "", NJ ": nodes[1].attrs.kelf",
             "missing"},
        edit{"member_type", NJ, "\"kelf-0.json\"", "0", NJ ": nodes[1].attrs.kelf",
             "must be a string, is 0"},
        edit{"member_absent", NJ, "kelf-0.json", "kelf-1.json", "kelf-1.json", "no such member"},
        edit{"no_args", NJ, "\"arg_nodes\"", "\"args\"", NJ ": arg_nodes", "missing"},
        edit{"args_type", NJ, "\"arg_nodes\":[0]", "\"arg_nodes\":[\"0\"]", NJ ": arg_nodes[0]",
             "must be an unsigned integer"},
        edit{"args_bound", NJ, "\"arg_nodes\":[0]", "\"arg_nodes\":[2]", NJ ": arg_nodes[0]",
             "names node 2, there are 2"},
        edit{"no_name", NJ, "\"name\":\"x\"", "\"nam\":\"x\"", NJ ": nodes[0].name", "missing"},
        edit{"no_heads", NJ, "\"heads\"", "\"head\"", NJ ": heads", "missing"},
        edit{"heads_empty", NJ, "[[1,0,0]],\"node_row", "[],\"node_row", NJ ": heads", "empty"},
        edit{"head_type", NJ, "\"heads\":[[1,0,0]]", "\"heads\":[1]", NJ ": heads[0]",
             "must be an array"},
        edit{"head_short", NJ, "\"heads\":[[1,0,0]]", "\"heads\":[[1]]", NJ ": heads[0]",
             "has 1 elements"},
        edit{"head_node", NJ, "\"heads\":[[1,0,0]]", "\"heads\":[[9,0,0]]", NJ ": heads[0]",
             "names node 9, there are 2"},
        edit{"head_output", NJ, "\"heads\":[[1,0,0]]", "\"heads\":[[1,1,0]]", NJ ": heads[0]",
             "names output 1 of node 1, which has 1"},
        edit{"head_negative", NJ, "\"heads\":[[1,0,0]]", "\"heads\":[[-1,0,0]]", NJ ": heads[0][0]",
             "is -1"},
        edit{"no_row_ptr", NJ, "\"node_row_ptr\"", "\"row_ptr\"", NJ ": node_row_ptr", "missing"},
        edit{"row_ptr_short", NJ, "[0,1,2],\"attrs\"", "[0],\"attrs\"", NJ ": node_row_ptr",
             "has 1 elements, node 1 needs one"},
        edit{"row_ptr_high", NJ, "[0,1,2],\"attrs\"", "[0,7,2],\"attrs\"", NJ ": heads[0]",
             "tensor \"y\" has entry 7, there are 2 shapes and 2 types"},
        edit{"no_attrs", NJ, "\"attrs\":{\"shape\"", "\"attr\":{\"shape\"", NJ ": attrs",
             "missing"},
        edit{"no_shape", NJ, "\"shape\"", "\"shapes\"", NJ ": attrs.shape", "missing"},
        edit{"shape_form", NJ, "[\"list_shape\",[[4],[4]]]", "[[[4],[4]]]", NJ ": attrs.shape",
             "has 1 elements"},
        edit{"shape_list", NJ, "[[4],[4]]", "7", NJ ": attrs.shape[1]", "must be an array"},
        edit{"shape_short", NJ, "[[4],[4]]", "[[4]]", NJ ": heads[0]",
             "there are 1 shapes and 2 types"},
        edit{"shape_type", NJ, "[[4],[4]]", "[[4],4]", NJ ": attrs.shape[1][1]",
             "must be an array"},
        edit{"dim_float", NJ, "[[4],[4]]", "[[4.0],[4]]", NJ ": attrs.shape[1][0][0]",
             "fractional"},
        edit{"dims_33", NJ, "[[4],[4]]",
             "[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],[4]]",
             NJ ": attrs.shape[1][0]", "has 33 dimensions, the limit is 32"},
        edit{"bytes_wrap", NJ, "[[4],[4]]", "[[4294967296,4294967296],[4]]",
             NJ ": attrs.shape[1][0]", "pass 64 bits"},
        edit{"no_dltype", NJ, "\"dltype\"", "\"dtype\"", NJ ": attrs.dltype", "missing"},
        edit{"dtype_type", NJ, "[\"float32\",\"float32\"]", "[1,\"float32\"]",
             NJ ": attrs.dltype[1][0]", "must be a string"},
        edit{"key_twice", NJ, "\"arg_nodes\":[0]", "\"arg_nodes\":[0],\"arg_nodes\":[0]",
             NJ ": arg_nodes", "twice"},
        edit{"name_nul", NJ, "\"name\":\"x\"", "\"name\":\"x\\u0000\"", NJ ": arg_nodes[0]",
             "NUL"}),
    [](const auto &tested) { return std::string(tested.param.name); });

#define KJ "kelf-0.json"
INSTANTIATE_TEST_SUITE_P(
    KelfMember, BadModels,
    testing::Values(
        edit{"syntax", KJ, "\"0.5\"", "\"0.5", KJ, "not valid JSON"},
        edit{"no_graphs", KJ, "\"graphs\"", "\"graph\"", KJ ": graphs", "missing"},
        edit{"graphs_type", KJ, "", R"({"graphs":{},"version":"0.5"})", KJ ": graphs",
             "must be an array"},
        edit{"graphs_0", KJ, "", R"({"graphs":[],"version":"0.5"})", KJ ": graphs",
             "0 subgraphs, must be 1 to 2"},
        edit{"graphs_3", KJ, "", R"({"graphs":[{},{},{}],"version":"0.5"})", KJ ": graphs",
             "3 subgraphs"},
        edit{"graph_name", KJ, "\"name\"", "\"nam\"", KJ ": graphs[0].name", "missing"},
        edit{"graph_def", KJ, "\"sg00/def.json\"", "false", KJ ": graphs[0].definition",
             "must be a string, is false"},
        edit{"graph_twice", KJ, "}]", R"(},{"name":"sg00","definition":"sg01/def.json"}])",
             KJ ": graphs[1].name", "\"sg00\" given twice"},
        edit{"def_absent", KJ, "sg00/def.json", "sg01/def.json", "sg01/def.json",
             "no such member (definition of subgraph \"sg00\")"},
        edit{"no_version", KJ, "\"version\"", "\"ver\"", KJ ": version", "missing"},
        edit{"version_dot", KJ, "\"0.5\"", "\"5\"", KJ ": version", "\"5\" has no dot"},
        edit{"version_type", KJ, "\"0.5\"", "0.5", KJ ": version", "must be a string"},
        edit{"target", KJ, "cayman", "tonga", KJ ": target", "unknown target \"tonga\""},
        edit{"target_type", KJ, "\"cayman\"", "3", KJ ": target", "must be a string, is 3"}),
    [](const auto &tested) { return std::string(tested.param.name); });

#define DJ "sg00/def.json"
INSTANTIATE_TEST_SUITE_P(
    Agreement, BadModels,
    testing::Values(edit{"size", DJ, "\"size\":16,\"var_id\":1", "\"size\":8,\"var_id\":1",
                         DJ ": var.x.size", "is 8, neff.json describes 16 bytes (float32)"},
                    edit{"unknown_input", DJ, "\"var_id\":2}",
                         R"("var_id":2},"z":{"type":"input","size":4,"var_id":3})", DJ ": var.z",
                         "neff.json has no input of that name"},
                    edit{"unknown_output", DJ, "\"var_id\":2}",
                         R"("var_id":2},"z":{"type":"output","size":4,"var_id":3})", DJ ": var.z",
                         "neff.json has no output of that name"},
                    edit{"missing_input", DJ, "\"type\":\"input\"", "\"type\":\"tmp-buf\"", NJ,
                         "no subgraph has an input variable \"x\""},
                    edit{"zero_bytes", NJ, "[[4],[4]]", "[[0],[4]]", DJ ": var.x.size",
                         "is 16, neff.json describes 0 bytes"}),
    [](const auto &tested) { return std::string(tested.param.name); });

TEST(Model, Good) {
  member_texts model = good_model();
  model["hlo_stats.json"] = R"({"HloMacCount":77})";
  nn_result r = load_nn(model);
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  EXPECT_EQ(r.nn->kelf_member, "kelf-0.json");
  EXPECT_EQ(r.nn->target_name, "cayman");
  EXPECT_EQ(r.nn->mac_count, 77u);
  ASSERT_EQ(r.nn->inputs.size(), 1u);
  EXPECT_EQ(r.nn->inputs[0].dtype, 10u);
  EXPECT_EQ(r.nn->inputs[0].dtype_name, "float32");
  EXPECT_EQ(r.nn->inputs[0].size, 16u);
  for (const char *odd : {"{}", "[", R"({"HloMacCount":-1})", R"({"HloMacCount":"1"})"}) {
    model["hlo_stats.json"] = odd;
    nn_result s = load_nn(model);
    ASSERT_EQ(s.status, NRT_SUCCESS);
    EXPECT_EQ(s.nn->mac_count, 0u);
  }
}

TEST(Model, OlderNamesAndForms) {
  member_texts model = good_model();
  model["kelp.json"] = model["neff.json"];
  model.erase("neff.json");
  replace(model["kelp.json"], R"("op":"tvm_op")", R"("op":"__kelf")");
  replace(model["kelp.json"], R"("func_name":"__kelf")", R"("func_name":"0")");
  nn_result r = load_nn(model);
  EXPECT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  model.erase("kelp.json");
  r = load_nn(model);
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_EQ(text_of(r.findings), "neff.json: no such member, nor kelp.json\n");
}

TEST(Model, DirectionsMustAgree) {
  member_texts model = good_model();
  replace(model["sg00/def.json"], "\"type\":\"input\"", "\"type\":\"output\"");
  nn_result r = load_nn(model, true);
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_EQ(text_of(r.findings),
            "sg00/def.json: var.x: neff.json has no output of that name\n"
            "neff.json: no subgraph has an input variable \"x\"\n");
}

TEST(Model, Targets) {
  struct {
    const char *text;
    uint32_t target;
  } cases[] = {{"sunda", 2},   {"v2", 2}, {"cayman", 3}, {"v3", 3},
               {"mariana", 4}, {"v4", 4}, {"", 2},       {"*", KBIN_TARGET_ANY}};
  for (const auto &c : cases) {
    member_texts model = good_model();
    replace(model["kelf-0.json"], "cayman", c.text);
    nn_result r = load_nn(model);
    ASSERT_EQ(r.status, NRT_SUCCESS) << c.text << text_of(r.findings);
    EXPECT_EQ(r.nn->target, c.target);
    EXPECT_EQ(r.nn->kbins[0]->target, c.target);
  }
  member_texts model = good_model();
  replace(model["kelf-0.json"], ",\"target\":\"cayman\"", "");
  EXPECT_EQ(load_nn(model).nn->target, 2u);
}

TEST(Model, DtypesOfTensors) {
  struct {
    const char *name;
    uint32_t dtype, bytes;
  } cases[] = {{"uint64", 1, 8}, {"int8", 2, 1},     {"uint8", 3, 1},   {"int16", 4, 2},
               {"uint16", 5, 2}, {"bfloat16", 6, 2}, {"float16", 7, 2}, {"int32", 8, 4},
               {"uint32", 9, 4}, {"float32", 10, 4}, {"int64", 12, 8}};
  for (const auto &c : cases) {
    member_texts model = good_model();
    replace(model["neff.json"], "[\"float32\"", std::string("[\"") + c.name + "\"");
    replace(model["sg00/def.json"], "\"size\":16,\"var_id\":1",
            "\"size\":" + std::to_string(4 * c.bytes) + ",\"var_id\":1");
    nn_result r = load_nn(model);
    ASSERT_EQ(r.status, NRT_SUCCESS) << c.name << text_of(r.findings);
    EXPECT_EQ(r.nn->inputs[0].dtype, c.dtype);
    EXPECT_EQ(r.nn->inputs[0].size, 4u * c.bytes);
  }
  // An unknown type takes the variable's size, in whole elements.
  member_texts model = good_model();
  replace(model["neff.json"], "[\"float32\"", "[\"float64\"");
  nn_result r = load_nn(model);
  ASSERT_EQ(r.status, NRT_SUCCESS);
  EXPECT_EQ(r.nn->inputs[0].dtype, 0u);
  EXPECT_EQ(r.nn->inputs[0].size, 16u);
  replace(model["sg00/def.json"], "\"size\":16", "\"size\":15");
  EXPECT_EQ(load_nn(model).status, NRT_INVALID);
}

// Two subgraphs, each output listed once per core.
member_texts two_cores(const std::string &vars0, const std::string &vars1) {
  member_texts model = good_model();
  replace(model["neff.json"], R"("output_names":["y"])", R"("output_names":["y","y"])");
  replace(model["neff.json"], "[[1,0,0]],\"node", "[[1,0,0],[1,1,0]],\"node");
  replace(model["neff.json"], "[0,1,2],", "[0,1,3],");
  replace(model["neff.json"], "[[4],[4]]", "[[4],[4],[4]]");
  replace(model["neff.json"], "[\"float32\",", "[\"float32\",\"float32\",");
  replace(model["kelf-0.json"], "}]", R"(},{"name":"sg01","definition":"sg01/def.json"}])");
  model["sg00/def.json"] = def_text(GOOD_VARS + vars0);
  model["sg01/def.json"] = def_text(GOOD_VARS + vars1);
  return model;
}

TEST(Model, OutputsOfTwoCoresAreOneTensor) {
  nn_result r = load_nn(two_cores("", ""));
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  EXPECT_EQ(r.nn->outputs.size(), 1u);
  ASSERT_EQ(r.nn->kbins.size(), 2u);
  EXPECT_EQ(r.nn->kbins[1]->sg_name, "sg01");
  member_texts model = two_cores("", "");
  replace(model["neff.json"], "[[4],[4],[4]]", "[[4],[4],[5]]");
  r = load_nn(model);
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_THAT(text_of(r.findings),
              testing::HasSubstr("heads[1]: tensor \"y\" appears twice: 16 bytes of float32, 20"));
}

TEST(Model, TwoCoresMayShareADefinition) {
  member_texts model = two_cores("", "");
  replace(model["kelf-0.json"], "sg01/def.json", "./sg00/def.json");
  nn_result r = load_nn(model);
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  EXPECT_EQ(r.nn->kbins[1]->definition, "sg00/def.json");
}

TEST(Model, NoInputsAndSeveralOutputs) {
  member_texts model;
  model["neff.json"] =
      R"({"nodes":[{"op":"tvm_op","name":"sg","attrs":{"func_name":"__kelf","kelf":"kelf-0.json"},)"
      R"("output_names":["b","a"]}],"arg_nodes":[],"heads":[[0,0,0],[0,1,0]],"node_row_ptr":[0,2],)"
      R"("attrs":{"shape":["list_shape",[[3],[]]],"dltype":["list_str",["int8","float32"]]}})";
  model["kelf-0.json"] = GOOD_KELF_JSON;
  model["sg00/def.json"] = def_text(R"("a":{"type":"output","size":4,"var_id":0},)"
                                    R"("b":{"type":"output","size":3,"var_id":1})");
  nn_result r = load_nn(model);
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  EXPECT_TRUE(r.nn->inputs.empty());
  ASSERT_EQ(r.nn->outputs.size(), 2u);
  EXPECT_EQ(r.nn->outputs[0].name, "a");  // sorted
  EXPECT_EQ(r.nn->outputs[0].size, 4u);   // a scalar
  EXPECT_EQ(r.nn->outputs[1].name, "b");
}

// The toy of neff-format.md 4.1: one all-reduce, any target, two blocks of id 0 on two queues.
TEST(Model, ToyFixture) {
  member_texts model;
  model["neff.json"] =
      R"({"nodes":[{"op":"null","name":"input","inputs":[],"output_names":["input"],"is_param":"0"},)"
      R"({"op":"tvm_op","name":"sg_tonga0","attrs":{"func_name":"__kelf","flatten_data":"0",)"
      R"("num_inputs":"1","kelf":"kelf-a.json","num_outputs":"1"},"inputs":[[0,0,0]],)"
      R"("output_names":["output"]}],"arg_nodes":[0],"heads":[[1,0,0]],"node_row_ptr":[0,1,2],)"
      R"("attrs":{"shape":["list_shape",[[32],[32]]],"storage_id":["list_int",[0,1]],)"
      R"("dltype":["list_str",["float32","float32"]]}})";
  model["kelf-a.json"] =
      R"({"graphs":[{"definition":"sg00/def.json","name":"sg00"}],"version":"0.5","target":"*"})";
  model["sg00/def.json"] =
      R"({"act":"act.json","debug_info":{"wavegraph":"wavegraph-bin.json"},"dma_queue":{)"
      R"("q_gradient_in":{"owner":"pool","semaphore":10,"type":"in"},)"
      R"("q_gradient_out":{"owner":"pool","semaphore":11,"type":"out"}},"dve":"dve.json",)"
      R"("git_version":"","name":"definition","pe":"pe.json","pool":"pool.json",)"
      R"("replica_groups":[[]],"runtime_statebuffer_reservation":[],"var":{)"
      R"("SB":{"type":"state-buffer","var_id":1},)"
      R"("gradient_in":{"size":128,"type":"tmp-buf","var_id":3},)"
      R"("gradient_out":{"size":128,"type":"tmp-buf","var_id":4},)"
      R"("input":{"element_size":4,"internal_shape":[1,1,1,32],"size":128,"type":"input","var_id":0},)"
      R"("output":{"#file-name":"value_nn__output:0-simout.npy","element_size":4,)"
      R"("internal_shape":[1,1,1,32],"size":128,"type":"output","var_id":2}},"version":"0.6-"})";
  for (const char *engine : {"pe", "dve"})
    model[std::string("sg00/") + engine + ".json"] =
        R"({"dma":[],"instr":")" + std::string(engine) + R"(.bin","name":"array_json"})";
  model["sg00/act.json"] =
      R"({"act_info":"act_info.json","act_semaphore":9,"dma":[],"instr":"act.bin","name":"a"})";
  auto move = [](const char *queue, const char *from, const char *to) {
    return R"({"id":0,"queue":")" + std::string(queue) + R"(","desc":[{"from":")" + from +
           R"(","from_off":0,"from_sizes":[128,1],"from_steps":[1,128],"to":")" + to +
           R"(","to_off":0,"to_sizes":[128,1],"to_steps":[1,128]}]})";
  };
  model["sg00/pool.json"] = R"({"dma":[)" + move("q_gradient_in", "input", "gradient_in") + "," +
                            move("q_gradient_out", "gradient_out", "output") +
                            R"(],"instr":"pool.bin","name":"pool_array_json"})";
  model["sg00/pe.bin"] = std::string(64, '\1');
  model["sg00/pool.bin"] = std::string(192, '\1');
  model["sg00/act.bin"] = model["sg00/dve.bin"] = model["sg00/sp.bin"] = "";
  nn_result r = load_nn(model);
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  EXPECT_EQ(r.nn->target, KBIN_TARGET_ANY);
  const kbin_t &kbin = *r.nn->kbins[0];
  EXPECT_EQ(kbin.mem_ref_set->nmem, 5u);
  EXPECT_EQ(kbin.engines[AL_HAL_TPB_ENG_TYPE_PE].ninstr, 1u);
  EXPECT_EQ(kbin.engines[AL_HAL_TPB_ENG_TYPE_POOL].ninstr, 3u);
  EXPECT_EQ(kbin.engines[AL_HAL_TPB_ENG_TYPE_SP].ninstr, 0u);  // def.json names none
  EXPECT_EQ(kbin.act_semaphore, 9u);
  EXPECT_TRUE(kbin.sb_carveouts.empty());
  ASSERT_EQ(kbin.blocks.size(), 2u);
  EXPECT_EQ(kbin.blocks[1].queue, "q_gradient_out");
  EXPECT_EQ(kbin.blocks[1].desc[0].from[0].var_id, 4u);
  EXPECT_EQ(kbin.blocks[1].desc[0].to.var_id, 2u);
  EXPECT_EQ(kbin.queues[0].semaphores, (std::vector<uint32_t>{10}));
}

// Many tensors and heads of one node: no step may be quadratic in them.
TEST(Model, ManyOutputs) {
  constexpr int COUNT = 20000;
  std::string names, heads, shapes, types, vars;
  for (int i = COUNT - 1; i >= 0; i--) {  // not in order of names
    std::string n = std::to_string(i), sep = i ? "," : "";
    names += "\"o" + n + "\"" + sep;
    heads += "[0," + std::to_string(COUNT - 1 - i) + ",0]" + sep;
    shapes += "[1]" + sep;
    types += "\"int8\"" + sep;
    vars += "\"o" + n + R"(":{"type":"output","size":1,"var_id":)" + n + "}" + sep;
  }
  member_texts model;
  model["neff.json"] =
      R"({"nodes":[{"op":"tvm_op","attrs":{"func_name":"__kelf","kelf":"kelf-0.json"},)"
      R"("output_names":[)" +
      names + R"(]}],"arg_nodes":[],"heads":[)" + heads +
      R"(],"node_row_ptr":[0],"attrs":{"shape":["list_shape",[)" + shapes +
      R"(]],"dltype":["list_str",[)" + types + "]]}}";
  model["kelf-0.json"] = GOOD_KELF_JSON;
  model["sg00/def.json"] = def_text(vars);
  nn_result r = load_nn(model);
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  ASSERT_EQ(r.nn->outputs.size(), size_t{COUNT});
  for (size_t i = 1; i < r.nn->outputs.size(); i++)
    ASSERT_LT(r.nn->outputs[i - 1].name, r.nn->outputs[i].name);
}

TEST(Model, SecondKelfNode) {
  member_texts model = good_model();
  const char *second =
      R"(,{"op":"tvm_op","attrs":{"func_name":"__kelf","kelf":"kelf-0.json"}}],"arg)";
  replace(model["neff.json"], "],\"arg", second);
  EXPECT_EQ(load_nn(model).status, NRT_SUCCESS);
  replace(model["neff.json"], R"({"op":"tvm_op","attrs":{"func_name":"__kelf","kelf":"kelf-0)",
          R"({"op":"tvm_op","attrs":{"func_name":"__kelf","kelf":"kelf-1)");
  nn_result r = load_nn(model);
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_THAT(text_of(r.findings), testing::HasSubstr("nodes[2]: second __kelf node"));
}

// ---- variables of other subgraphs

const char *const TMP = R"(,"t":{"type":"tmp-buf","size":64,"var_id":3})";
std::string remote(const char *sg, const char *var, int id = 3) {
  return R"(,"r":{"type":"remote","var_id":)" + std::to_string(id) + R"(,"remote_sg":)" + sg +
         R"(,"remote_var":")" + var + "\"}";
}

TEST(Remote, NamesTheTargetInTheRecord) {
  nn_result r = load_nn(two_cores(remote("1", "t"), TMP));
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  const kbin_mem_ref &record = r.nn->kbins[0]->mem_ref_set->mem[3];
  EXPECT_EQ(record.mr_type, MR_REMOTE);
  EXPECT_EQ(record.remote.remote_vtpb_rel_sg_id, 1u);
  EXPECT_EQ(record.remote.remote_var_id, 3u);
  r = load_nn(two_cores(TMP, remote("0", "SB")));  // backwards, and a state buffer
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  EXPECT_EQ(r.nn->kbins[1]->mem_ref_set->mem[3].remote.remote_var_id, 0u);
}

TEST(Remote, UnmatchedIsRefused) {
  struct {
    std::string vars0, vars1;
    const char *finding;
  } cases[] = {
      {remote("2", "t"), TMP, "sg00/def.json: var.r.remote_sg: is 2, there are 2 subgraphs\n"},
      {remote("1", "u"), TMP,
       "sg00/def.json: var.r.remote_var: subgraph 1 (\"sg01\") has no variable \"u\"\n"},
      {remote("1", "x"), TMP,
       "sg00/def.json: var.r.remote_var: \"x\" of subgraph 1 is of kind MR_INPUT, which other "
       "subgraphs cannot use\n"},
      {remote("1", "r"), remote("0", "r"),
       "sg00/def.json: var.r.remote_var: \"r\" of subgraph 1 is of kind MR_REMOTE, which other "
       "subgraphs cannot use\n"},
  };
  for (const auto &c : cases) {
    nn_result r = load_nn(two_cores(c.vars0, c.vars1));
    EXPECT_EQ(r.status, NRT_INVALID);
    EXPECT_EQ(text_of(r.findings), c.finding);
  }
}

TEST(Remote, TransfersStayInsideTheTarget) {
  for (int size : {64, 65}) {
    member_texts model = two_cores("", TMP);
    std::string n = std::to_string(size);
    model["sg00/def.json"] =
        def_text(GOOD_VARS + remote("1", "t"),
                 R"(,"dma_queue":{"q":{"type":"data"}},"dma":[{"id":5,"queue":"q","desc":[)"
                 R"({"from":"SB","from_off":0,"from_sizes":[)" +
                     n + R"(],"from_steps":[1],"to":"r","to_off":0,"to_sizes":[)" + n +
                     R"(],"to_steps":[1]}]}])");
    nn_result r = load_nn(model);
    EXPECT_EQ(r.status, size == 64 ? NRT_SUCCESS : NRT_INVALID) << text_of(r.findings);
    if (size == 65) {
      EXPECT_THAT(text_of(r.findings),
                  testing::HasSubstr("block 5 of queue \"q\": a pattern reaches byte 64 of remote "
                                     "variable \"r\", which has 64 bytes"));
    }
  }
}

// ---- reporting

TEST(Model, CollectModeGoesOnWithTheNextSubgraph) {
  member_texts model =
      two_cores(R"(,"a":{"type":"x","var_id":3})", R"(,"b":{"type":"y","var_id":3})");
  replace(model["kelf-0.json"], "\"0.5\"", "\"5\"");
  nn_result first = load_nn(model, false), all = load_nn(model, true);
  EXPECT_EQ(text_of(first.findings), "kelf-0.json: version: \"5\" has no dot\n");
  EXPECT_EQ(all.status, NRT_INVALID);
  EXPECT_EQ(text_of(all.findings),
            "kelf-0.json: version: \"5\" has no dot\n"
            "sg00/def.json: var.a.type: unknown variable type \"x\"\n"
            "sg01/def.json: var.b.type: unknown variable type \"y\"\n");
}

TEST(Model, PlacesOfSyntaxErrors) {
  struct {
    std::string text;
    const char *what;
  } cases[] = {
      {"{\"nodes\":[}", "near byte 10 of 11"},
      {"{\"nodes\":[\"\xC3\x28\"]}", "near byte 11 of 16"},
      {"{\"nodes\":[1e]}", "not valid JSON"},
      {"{\"a\":18446744073709551616}", "not valid JSON"},
      {std::string(2000, '['), "not valid JSON"},
      // The search for the place of an error must not exhaust the stack either.
      {std::string(1000000, '['), "not valid JSON"},
      {std::string(1500, '[') + std::string(1500, ']'), "nested deeper than 1024 levels"},
  };
  for (const auto &c : cases) {
    member_texts model = good_model();
    model["neff.json"] = c.text;
    nn_result r = load_nn(model);
    EXPECT_EQ(r.status, NRT_INVALID);
    ASSERT_EQ(r.findings.all().size(), 1u);
    EXPECT_EQ(r.findings.all()[0].where, "neff.json");
    EXPECT_THAT(r.findings.all()[0].what, testing::HasSubstr(c.what));
  }
}

TEST(Model, OptionsFromTheEnvironment) {
  kelf_options options;
  unsetenv("NEURON_RT_ALLOW_LEGACY_NEFF");
  EXPECT_EQ(kelf_options_from_env(&options), NRT_SUCCESS);
  EXPECT_FALSE(options.allow_legacy_neff);
  setenv("NEURON_RT_ALLOW_LEGACY_NEFF", "1", 1);
  EXPECT_EQ(kelf_options_from_env(&options), NRT_SUCCESS);
  EXPECT_TRUE(options.allow_legacy_neff);
  setenv("NEURON_RT_ALLOW_LEGACY_NEFF", "maybe", 1);
  EXPECT_EQ(kelf_options_from_env(&options), NRT_INVALID);
  unsetenv("NEURON_RT_ALLOW_LEGACY_NEFF");
}

}  // namespace
