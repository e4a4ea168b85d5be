// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/sample.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/kelf/act_text.h"

uint8_t sample_weight(uint32_t var, uint32_t subgraph, uint32_t variant, uint64_t i) {
  return static_cast<uint8_t>(i * 7 + i / 251 + var * 31 + subgraph * 101 + variant * 13 + 1);
}

void sample_t::set(const std::string &member, std::string_view text) {
  members[member].assign(text.begin(), text.end());
}

void sample_t::replace(const std::string &member, std::string_view from, std::string_view to) {
  auto it = members.find(member);
  ASSERT_NE(it, members.end()) << member;
  std::string text(it->second.begin(), it->second.end());
  size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << member << " has no " << from;
  ASSERT_EQ(text.find(from, at + 1), std::string::npos) << member << " has two of " << from;
  text.replace(at, from.size(), to);
  set(member, text);
}

namespace {

std::vector<uint8_t> weight(uint32_t var, uint32_t subgraph, uint32_t variant, uint64_t size) {
  std::vector<uint8_t> bytes(size);
  for (uint64_t i = 0; i < size; i++)
    bytes[i] = sample_weight(var, subgraph, variant, i);
  return bytes;
}

// NumPy 1.0, header of 128 bytes as compilers write it.
std::vector<uint8_t> npy(const std::vector<uint8_t> &data) {
  std::string dict =
      fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}", data.size());
  dict.resize(117, ' ');
  dict += '\n';
  std::string head("\x93NUMPY\x01\x00\x76\x00", 10);  // version 1.0, 118 bytes of dictionary
  head += dict;
  std::vector<uint8_t> file(head.begin(), head.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

void put_slot(std::vector<uint8_t> *stream, uint8_t opcode, const char *queue = nullptr,
              uint32_t block = 0) {
  uint8_t slot[64] = {opcode, 0x10};
  if (queue != nullptr) {
    strncpy(reinterpret_cast<char *>(slot + 12), queue, 32);
    memcpy(slot + 48, &block, sizeof(block));
  }
  stream->insert(stream->end(), slot, slot + sizeof(slot));
}

const char *const kVars = R"(
  "SB": {{"var_id": 0, "type": "state-buffer", "ops": []}},
  "in0": {{"var_id": 1, "type": "input", "size": 4096, "ops": []}},
  "in1": {{"var_id": 2, "type": "input", "size": 512, "ops": []}},
  "out0": {{"var_id": 3, "type": "output", "size": 4096, "ops": []}},
  "w_npy": {{"var_id": 4, "type": "file", "size": 8192, "alignment": 32768, "file_name": "w.npy"}},
  "w_raw": {{"var_id": 5, "type": "file", "size": 3001, "alignment": 512, "file_name": "raw.bin"}},
  "w_staged": {{"var_id": 6, "type": "file-staged", "size": 300, "alignment": 64, "file_name": "staged.bin"}},
  "tmp": {{"var_id": 7, "type": "tmp-buf", "size": 70000, "alignment": 4096}},
  "v_local": {{"var_id": 8, "type": "virtual", "size": 1048576, "backing_variable_off": 0}},
  "v_main": {{"var_id": 9, "type": "virtual", "size": 3145728, "backing_variable_off": 1048576, "backing_buf": "main"}},
  "v_shared": {{"var_id": 10, "type": "virtual", "size": 2097152, "backing_variable_off": 4096, "backing_buf": "shared"}},
  "p_w": {{"var_id": 11, "type": "pointer", "size": 8, "referenced_var_id": 4}},
  "p_in": {{"var_id": 12, "type": "pointer", "size": 8, "referenced_var_id": 1}},
  "ids": {{"var_id": 13, "type": "list", "list": [4, 7]}},
  "DGETable0": {{"var_id": 14, "type": "dge-table", "list": [1, 2, 3, 4]}},
  "far": {{"var_id": 15, "type": "remote", "remote_sg": {}, "remote_var": "tmp"}},
  "dbg": {{"var_id": 16, "type": "tmp-buf", "size": 128, "prefix": "trace", "pipe": 3, "dtype": "float32", "shape": [4, 8]}}
)";

const char *const kQueues = R"(
  "qSPIO0": {"type": "in", "owner": "sp", "num_queues": 16,
    "semaphore_set": [24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]},
  "qDVESpillReload0": {"type": "data", "owner": "dve", "num_queues": 16,
    "semaphore_set": [40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55]},
  "qPoolDynamic": {"type": "dynamic", "owner": "pool", "num_queues": 16, "semaphore_set": [56, 57],
    "dynamic_dma": {"SB_scratch_partition_offset": 0, "SB_scratch_partition_size": 16384}}
)";

const char *const kSpBlocks = R"(
  {"id": 0, "queue": "qSPIO0", "semaphore": 24, "desc": [
    {"from": "in0", "from_off": 0, "from_sizes": [128, 32], "from_steps": [1, 128],
     "to": "SB", "to_off": 1024, "to_sizes": [128, 32], "to_steps": [1, 262144]}]},
  {"id": 1, "queue": "qSPIO0", "semaphore": 25, "desc": [
    {"from": "SB", "from_off": 1024, "from_sizes": [128, 32], "from_steps": [1, 262144],
     "to": "out0", "to_off": 0, "to_sizes": [128, 32], "to_steps": [1, 128]}]}
)";

const char *const kDveBlocks = R"(
  {"id": 0, "queue": "qDVESpillReload0", "semaphore": 40, "desc": [
    {"op": "copy", "from": "tmp", "from_off": 16, "from_sizes": [1024], "from_steps": [1],
     "to": "v_local", "to_off": 2048, "to_sizes": [1024], "to_steps": [1],
     "from_dtype": "uint8", "to_dtype": "uint8"}]}
)";

void add_engine(sample_t *sample, const std::string &dir, const char *name, const char *dma,
                const char *extra, const std::vector<uint8_t> &stream) {
  sample->set(
      dir + name + ".json",
      fmt::format(R"({{"name": "{0}", "instr": "{0}.bin", "dma": [{1}]{2}}})", name, dma, extra));
  sample->members[dir + name + ".bin"] = stream;
}

void add_engines(sample_t *sample, const std::string &dir) {
  std::vector<uint8_t> idle;
  put_slot(&idle, 0xB1);
  put_slot(&idle, 0xCC);
  std::vector<uint8_t> sp = idle, dve = idle;
  put_slot(&sp, 0xC1, "qSPIO0", 0);
  put_slot(&sp, 0xC1, "qSPIO0", 1);
  put_slot(&dve, 0xC1, "qDVESpillReload0", 0);
  add_engine(sample, dir, "PE", "", "", idle);
  add_engine(sample, dir, "Activation", "",
             R"(, "activation_function_sets": ["exp_and_others"], "act_semaphore": 12)", idle);
  add_engine(sample, dir, "Pool", "", "", idle);
  add_engine(sample, dir, "DVE", kDveBlocks,
             R"(, "dve_tables": [{"opcode_table": "op.bin", "datapath_table": "dp.bin",
                 "control_fast_table": "cf.bin", "control_slow_table": "cs.bin"}])",
             dve);
  add_engine(sample, dir, "SP", kSpBlocks, "", sp);
  sample->set(dir + "exp_and_others.json",
              R"({"bkt_bin": "exp_bkt.bin", "bkt_entry_cnt": 2, "ctl_bin": "exp_ctrl.bin",
                  "ctl_entry_cnt": 1, "profile_meta_data": [)" +
                  act_function("identity_1p", 1) + "]}");
  sample->members[dir + "exp_bkt.bin"].assign(2 * 32, 1);
  sample->members[dir + "exp_ctrl.bin"].assign(1 * 32, 2);
  sample->members[dir + "op.bin"].assign(1024, 3);
  sample->members[dir + "dp.bin"].assign(16384, 4);
  sample->members[dir + "cf.bin"].assign(4096, 5);
  sample->members[dir + "cs.bin"].assign(4096, 6);
}

void add_subgraph(sample_t *sample, const sample_options_t &options, uint32_t index) {
  std::string dir = fmt::format("sg{:02}/", index);
  bool cayman = strcmp(options.target, "cayman") == 0;
  sample->set(dir + "def.json",
              fmt::format(
                  R"({{"name": "definition", "version": "0.6", "var": {{{0}}}, "dma_queue": {{{1}}},
 "pe": "PE.json", "act": "Activation.json", "pool": "Pool.json", "dve": "DVE.json", "sp": "SP.json",
 "cc_streams": {{"num_streams": 0}}, "runtime_semaphore_count": 3, "runtime_event_count": 12,
 "fp8_conversion_config": {{"fp8_range_extension": true, "emax_fp8_e4m3": 8, "emax_fp8_e5m2": 15,
   "ocp_sat": true, "fp8_sis": false, "fp8_sns": false}}{2}}})",
                  fmt::format(fmt::runtime(kVars), (index + 1) % options.subgraphs), kQueues,
                  cayman ? R"(, "runtime_statebuffer_reservation": [{"type": "evtaccel",
   "base_partition": 0, "partitions": 128, "offset": 229368, "size": 8}])"
                         : ""));
  add_engines(sample, dir);
  uint32_t v = options.variant;
  sample->members[dir + "w.npy"] = npy(weight(SAMPLE_W_NPY, index, v, kSampleNpy));
  sample->members[dir + "raw.bin"] = weight(SAMPLE_W_RAW, index, v, kSampleRaw);
  sample->members[dir + "staged.bin"] = weight(SAMPLE_W_STAGED, index, v, kSampleStaged);
}

}  // namespace

sample_t sample_make(const sample_options_t &options) {
  sample_t sample;
  bool two = options.subgraphs == 2;
  sample.options.name = "sample.neff";
  if (two) {
    sample.options.feature_bits = 0x400;
    sample.options.lnc_size = 2;
  }
  // Every core lists each output once, under the same name.
  sample.set(
      "neff.json",
      fmt::format(R"({{
 "nodes": [
  {{"op": "null", "name": "in0", "inputs": [], "output_names": ["in0"], "is_param": "0"}},
  {{"op": "null", "name": "in1", "inputs": [], "output_names": ["in1"], "is_param": "0"}},
  {{"op": "tvm_op", "name": "sg_coreV10", "inputs": [[0, 0, 0], [1, 0, 0]],
   "output_names": ["out0"{0}],
   "attrs": {{"func_name": "__kelf", "kelf": "kelf-0.json", "num_inputs": "2",
     "num_outputs": "{1}", "flatten_data": "0"}}}}],
 "arg_nodes": [0, 1], "heads": [[2, 0, 0]{2}], "node_row_ptr": [0, 1, 2, {3}],
 "attrs": {{"shape": ["list_shape", [[32, 32], [16, 16], [32, 32]{4}]],
  "dltype": ["list_str", ["float32", "float16", "float32"{5}]],
  "storage_id": ["list_int", [0, 1, 2{6}]]}}}})",
                  two ? R"(, "out0")" : "", two ? 2 : 1, two ? ", [2, 1, 0]" : "", two ? 4 : 3,
                  two ? ", [32, 32]" : "", two ? R"(, "float32")" : "", two ? ", 3" : ""));
  sample.set("kelf-0.json",
             fmt::format(R"({{"version": "0.5", "target": "{}", "graphs": [
  {{"name": "sg00", "definition": "sg00/def.json"}}{}]}})",
                         options.target,
                         two ? R"(, {"name": "sg01", "definition": "sg01/def.json"})" : ""));
  sample.set("hlo_stats.json", R"({"HloMacCount": 4194304, "Traffic": -1})");
  for (uint32_t i = 0; i < options.subgraphs; i++)
    add_subgraph(&sample, options, i);
  return sample;
}

std::vector<uint8_t> sample_bytes(const sample_t &sample) {
  finding_sink findings;
  std::vector<uint8_t> bytes;
  EXPECT_EQ(neff_write(sample.members, sample.options, findings, &bytes), NRT_SUCCESS);
  return bytes;
}
