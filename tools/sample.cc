// SPDX-License-Identifier: Apache-2.0
#include "tools/sample.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "neff/neff.h"
#include "tools/json_out.h"
#include "tools/npy.h"
#include "tools/sample_program.h"

namespace {

using bytes_t = std::vector<uint8_t>;

bytes_t bytes_of(std::string_view text) {
  return bytes_t(text.begin(), text.end());
}

struct io_tensor {
  const char *name;
  const char *dtype;
  std::vector<uint64_t> shape;
  uint64_t size;
};

const std::vector<io_tensor> &inputs() {
  static const std::vector<io_tensor> list = {{"x", "float16", {128, 64}, 16384},
                                              {"y", "float32", {4, 64}, 1024}};
  return list;
}

const std::vector<io_tensor> &outputs() {
  static const std::vector<io_tensor> list = {{"output0", "float32", {128, 64}, 32768}};
  return list;
}

// Every byte tells where it is, so that a misplaced payload shows.
bytes_t pattern(size_t size, unsigned seed) {
  bytes_t out(size);
  for (size_t i = 0; i < size; i++)
    out[i] = static_cast<uint8_t>(i * 31 + (i >> 8) * 7 + seed);
  return out;
}

bytes_t weights(uint32_t core) {
  return pattern(4096, core);
}

// A 32 x 32 float array of the pattern.
NRT_STATUS weights_npy(uint32_t core, finding_sink &findings, bytes_t *out) {
  bytes_t data = weights(core);
  npy_array array;
  array.kind = 'f';
  array.item_size = 4;
  array.shape = {32, 32};
  array.data = data;
  return npy_write(array, "weights.npy", findings, out);
}

void put_shape(json_out &json, const std::vector<uint64_t> &shape) {
  json.begin_array();
  for (uint64_t dimension : shape)
    json.value(dimension);
  json.end_array();
}

void put_indices(json_out &json, std::initializer_list<uint64_t> values) {
  json.begin_array();
  for (uint64_t value : values)
    json.value(value);
  json.end_array();
}

// One kernel node for all cores; each output is listed once per core (neff-format.md 3.1).
std::string neff_json(uint32_t cores) {
  json_out json(true);
  size_t entries = inputs().size() + outputs().size() * cores;
  auto for_all_entries = [&](auto &&call) {
    for (const io_tensor &tensor : inputs())
      call(tensor);
    for (uint32_t core = 0; core < cores; core++)
      for (const io_tensor &tensor : outputs())
        call(tensor);
  };
  json.begin_object().key("nodes").begin_array();
  for (const io_tensor &tensor : inputs()) {
    json.begin_object().field("op", "null").field("name", tensor.name);
    json.key("inputs").begin_array().end_array();
    json.key("output_names").begin_array().value(tensor.name).end_array();
    json.field("is_param", "0").end_object();
  }
  json.begin_object().field("op", "tvm_op").field("name", "sg_coreV10");
  json.key("attrs").begin_object();
  json.field("func_name", "__kelf").field("kelf", "kelf-0.json").field("flatten_data", "0");
  json.field("num_inputs", std::to_string(inputs().size()));
  json.field("num_outputs", std::to_string(outputs().size() * cores)).end_object();
  json.key("inputs").begin_array();
  for (size_t i = 0; i < inputs().size(); i++)
    put_indices(json, {i, 0, 0});
  json.end_array().key("output_names").begin_array();
  for (uint32_t core = 0; core < cores; core++)
    for (const io_tensor &tensor : outputs())
      json.value(tensor.name);
  json.end_array().end_object().end_array();

  json.key("arg_nodes").begin_array();
  for (size_t i = 0; i < inputs().size(); i++)
    json.value(i);
  json.end_array().key("heads").begin_array();
  for (size_t i = 0; i < outputs().size() * cores; i++)
    put_indices(json, {inputs().size(), i, 0});
  json.end_array().key("node_row_ptr").begin_array();
  for (size_t i = 0; i <= inputs().size(); i++)
    json.value(i);
  json.value(entries).end_array();

  json.key("attrs").begin_object();
  json.key("shape").begin_array().value("list_shape").begin_array();
  for_all_entries([&](const io_tensor &tensor) { put_shape(json, tensor.shape); });
  json.end_array().end_array();
  json.key("dltype").begin_array().value("list_str").begin_array();
  for_all_entries([&](const io_tensor &tensor) { json.value(tensor.dtype); });
  json.end_array().end_array();
  json.key("storage_id").begin_array().value("list_int").begin_array();
  for (size_t i = 0; i < entries; i++)
    json.value(i);
  json.end_array().end_array().end_object().end_object();
  return json.text();
}

std::string kelf_json(const neff_sample_options &options) {
  json_out json(true);
  json.begin_object().key("graphs").begin_array();
  for (uint32_t core = 0; core < options.cores; core++)
    json.begin_object()
        .field("definition", fmt::format("sg{:02}/def.json", core))
        .field("name", fmt::format("sg{:02}", core))
        .end_object();
  json.end_array().field("version", "0.5").field("target", options.target).end_object();
  return json.text();
}

// Opens a variable; ids count up from 0.
class var_list {
 public:
  explicit var_list(json_out &json) : json_(json) {}
  json_out &begin(const char *name, const char *type) {
    return json_.key(name).begin_object().field("type", type).field("var_id", next_++);
  }

 private:
  json_out &json_;
  uint32_t next_ = 0;
};

void put_vars(json_out &json, const neff_sample_options &options, uint32_t core) {
  var_list vars(json);
  json.key("var").begin_object();
  vars.begin("SB", "state-buffer").end_object();
  for (const io_tensor &tensor : inputs())
    vars.begin(tensor.name, "input").field("size", tensor.size).end_object();
  for (const io_tensor &tensor : outputs())
    vars.begin(tensor.name, "output").field("size", tensor.size).end_object();
  auto &weights = vars.begin("weights", "file");  // 4
  weights.field("file_name", "weights.npy").field("size", 4096).field("alignment", 4096);
  weights.field("dtype", "float32").key("shape");
  put_shape(json, {32, 32});
  json.end_object();
  vars.begin("bias", "file")  // 5
      .field("file_name", "bias.bin")
      .field("size", 1000)
      .field("alignment", 64)
      .end_object();
  vars.begin("staged", "file-staged")  // 6
      .field("file_name", "staged.bin")
      .field("size", 2048)
      .end_object();
  vars.begin("tmp", "tmp-buf")  // 7
      .field("size", 8192)
      .field("alignment", 512)
      .field("prefix", "sample")
      .field("pipe", 1)
      .end_object();
  vars.begin("spill0", "virtual")  // 8
      .field("size", 16384)
      .field("backing_variable_off", 0)
      .end_object();
  vars.begin("spill1", "virtual")  // 9
      .field("size", 4096)
      .field("backing_variable_off", 16384)
      .field("backing_buf", "local")
      .end_object();
  vars.begin("exchange", "virtual")  // 10
      .field("size", 65536)
      .field("backing_variable_off", 4096)
      .field("backing_buf", "shared")
      .end_object();
  vars.begin("weights_ptr", "pointer")  // 11
      .field("size", 8)
      .field("referenced_var_id", 4)
      .end_object();
  vars.begin("x_ptr", "pointer")  // 12
      .field("size", 8)
      .field("referenced_var_id", 1)
      .end_object();
  vars.begin("group", "list").key("list");  // 13
  put_indices(json, {4, 5, 7});
  json.end_object();
  vars.begin("DGETable0", "dge-table").key("list");  // 14
  put_indices(json, {1, 2, 3, 4});
  json.end_object();
  if (options.cores == 2)
    vars.begin("peer_tmp", "remote")  // 15
        .field("remote_sg", 1 - core)
        .field("remote_var", "tmp")
        .end_object();
  json.end_object();
}

// Where each generation reserves the event accelerator's eight bytes; sunda has none.
uint64_t reservation_offset(const std::string &target) {
  if (target == "sunda")
    return 0;
  return target == "mariana" ? 0x3FFF8 : 0x37FF8;
}

struct engine {
  isa_engine_t type;
  const char *key;
  const char *file;
};
constexpr engine kEngines[] = {{ISA_ENGINE_PE, "pe", "PE"},
                               {ISA_ENGINE_ACT, "act", "Activation"},
                               {ISA_ENGINE_POOL, "pool", "Pool"},
                               {ISA_ENGINE_DVE, "dve", "DVE"},
                               {ISA_ENGINE_SP, "sp", "SP"}};

std::string def_json(const neff_sample_options &options, uint32_t core) {
  json_out json(true);
  json.begin_object();
  json.field("name", "definition").field("version", "0.6");
  put_vars(json, options, core);
  json.key("dma_queue").begin_object();
  if (options.program)
    sample_program_queues(json);
  json.end_object();
  for (const engine &e : kEngines) {
    json.field(e.key, fmt::format("{}.json", e.file));
    json.field(fmt::format("{}_instr", e.key), fmt::format("{}.bin", e.file));
  }
  json.field("runtime_semaphore_count", 3).field("runtime_event_count", 12);
  json.key("cc_streams").begin_object().field("num_streams", 0).end_object();
  uint64_t reserved = reservation_offset(options.target);
  if (reserved != 0) {
    json.key("runtime_statebuffer_reservation").begin_array().begin_object();
    json.field("type", "evtaccel").field("base_partition", 0).field("partitions", 128);
    json.field("offset", reserved).field("size", 8).end_object().end_array();
    json.key("fp8_conversion_config").begin_object();
    json.field("fp8_range_extension", true).field("emax_fp8_e4m3", 8).field("emax_fp8_e5m2", 15);
    json.field("ocp_sat", true).field("fp8_sis", false).field("fp8_sns", false).end_object();
  }
  json.key("neff_features").begin_array();
  if (options.cores == 2)
    json.value("neff_feature_vnc");
  json.end_array().key("debug_info").begin_object().end_object();
  json.end_object();
  return json.text();
}

std::string engine_json(const neff_sample_options &options, const engine &e, uint32_t core) {
  json_out json(true);
  json.begin_object().key("dma").begin_array();
  if (options.program)
    sample_program_blocks(json, e.type, core, options.cores);
  json.end_array();
  json.field("instr", fmt::format("{}.bin", e.file)).field("name", fmt::format("{}.json", e.file));
  if (std::string_view(e.key) == "act") {
    json.field("act_semaphore", 12);
    json.key("activation_function_sets").begin_array().end_array();
  }
  json.end_object();
  return json.text();
}

// An idle stream: set ordering, and the branch label that streams for two cores begin with.
bytes_t idle_stream(uint32_t cores) {
  bytes_t out(64);
  out[0] = 0xB1;
  out[1] = 0x10;
  if (cores == 2) {
    out.resize(128);
    out[64] = 0xCC;
    out[65] = 0x10;
  }
  return out;
}

NRT_STATUS check(const neff_sample_options &options, finding_sink &findings) {
  const std::string &target = options.target;
  if (target != "sunda" && target != "cayman" && target != "mariana" && target != "*")
    return findings.add(NRT_INVALID, "target",
                        "'{}' is not known; sunda, cayman, mariana and * are", target);
  if (options.cores != 1 && options.cores != 2)
    return findings.add(NRT_INVALID, "cores", "{} is neither 1 nor 2", options.cores);
  if (options.cores == 2 && (target == "sunda" || target == "mariana"))
    return findings.add(NRT_INVALID, "cores", "a file of two cores needs target cayman or *");
  return NRT_SUCCESS;
}

neff_write_options write_options(const neff_sample_options &options) {
  neff_write_options out;
  out.name = options.name;
  out.lnc_size = options.cores;
  if (options.target == "sunda") {
    out.version_major = 1;
  } else {
    out.feature_bits = 0x800;
    if (options.target == "mariana")
      out.feature_bits |= 0x1001000;
    if (options.cores == 2)
      out.feature_bits |= NEFF_FEATURE_VNC;
  }
  return out;
}

}  // namespace

NRT_STATUS neff_sample_build(const neff_sample_options &options, finding_sink &findings,
                             std::vector<uint8_t> *out) {
  NRT_STATUS status = check(options, findings);
  if (status != NRT_SUCCESS)
    return status;
  neff_write_members members;
  members["neff.json"] = bytes_of(neff_json(options.cores));
  members["kelf-0.json"] = bytes_of(kelf_json(options));
  members["hlo_stats.json"] = bytes_of("{\n  \"HloMacCount\": 0\n}\n");
  for (uint32_t core = 0; core < options.cores; core++) {
    std::string directory = fmt::format("sg{:02}/", core);
    members[directory + "def.json"] = bytes_of(def_json(options, core));
    sample_streams_t streams;
    streams.fill(idle_stream(options.cores));
    if (options.program)
      status = sample_program_streams(core, options.cores, findings, &streams);
    if (status != NRT_SUCCESS)
      return status;
    for (const engine &e : kEngines) {
      members[directory + e.file + ".json"] = bytes_of(engine_json(options, e, core));
      members[directory + e.file + ".bin"] = streams[e.type];
    }
    status = weights_npy(core, findings, &members[directory + "weights.npy"]);
    if (status != NRT_SUCCESS)
      return status;
    members[directory + "bias.bin"] = pattern(1000, 100 + core);
    members[directory + "staged.bin"] = pattern(2048, 200 + core);
  }
  if (options.edit_members)
    options.edit_members(members);
  neff_write_options writing = write_options(options);
  if (options.edit_options)
    options.edit_options(writing);
  return neff_write(members, writing, findings, out);
}

NRT_STATUS neff_sample_data(uint32_t cores, finding_sink &findings,
                            std::map<std::string, bytes_t> *out) {
  std::vector<bytes_t> all;
  for (uint32_t core = 0; core < cores; core++)
    all.push_back(weights(core));
  sample_data_t data = sample_program_data(all);
  auto put = [&](const io_tensor &tensor, const bytes_t &bytes) {
    npy_array array;
    array.kind = 'f';
    array.item_size = std::string_view(tensor.dtype) == "float16" ? 2 : 4;
    array.shape = tensor.shape;
    array.data = bytes;
    return npy_write(array, tensor.name, findings, &(*out)[tensor.name]);
  };
  NRT_STATUS status = put(inputs()[0], data.x);
  if (status == NRT_SUCCESS)
    status = put(inputs()[1], data.y);
  return status == NRT_SUCCESS ? put(outputs()[0], data.output) : status;
}

bool neff_sample_replace(neff_write_members &members, const std::string &member,
                         const std::string &from, const std::string &to) {
  auto it = members.find(member);
  if (it == members.end())
    return false;
  std::string text(it->second.begin(), it->second.end());
  size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos)
    return false;
  text.replace(at, from.size(), to);
  it->second = bytes_of(text);
  return true;
}
