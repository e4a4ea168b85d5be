// SPDX-License-Identifier: Apache-2.0
#include "bench/model.h"

#include <fmt/format.h>

#include <cstdio>

#include "bench/harness.h"
#include "neff/neff_write.h"
#include "tests/kelf/many_variables.h"

namespace {

constexpr size_t kVariables = 1000000, kEach = 20000, kIo = 64, kWeightSize = 1024;

std::string comma_list(size_t count, const std::function<std::string(size_t)> &item) {
  std::string list;
  for (size_t i = 0; i < count; i++)
    list += (i == 0 ? "" : ",") + item(i);
  return list;
}

// One host operator with every input and output of the subgraph.
std::string neff_json() {
  auto input_node = [](size_t i) {
    return fmt::format(
        R"({{"op":"null","name":"in{0}","inputs":[],"output_names":["in{0}"],"is_param":"0"}})", i);
  };
  return fmt::format(
      R"({{"nodes":[{},{{"op":"tvm_op","name":"sg","attrs":{{"func_name":"__kelf","kelf":"kelf-0.json"}},)"
      R"("inputs":[{}],"output_names":[{}]}}],"arg_nodes":[{}],"heads":[{}],"node_row_ptr":[{},{}],)"
      R"("attrs":{{"shape":["list_shape",[{}]],"dltype":["list_str",[{}]],"storage_id":["list_int",[{}]]}}}})",
      comma_list(kIo, input_node),
      comma_list(kIo, [](size_t i) { return fmt::format("[{},0,0]", i); }),
      comma_list(kIo, [](size_t i) { return fmt::format(R"("out{}")", i); }),
      comma_list(kIo, [](size_t i) { return fmt::format("{}", i); }),
      comma_list(kIo, [](size_t i) { return fmt::format("[{},{},0]", kIo, i); }),
      comma_list(kIo + 1, [](size_t i) { return fmt::format("{}", i); }), 2 * kIo,
      comma_list(2 * kIo, [](size_t) { return "[1]"; }),
      comma_list(2 * kIo, [](size_t) { return R"("float32")"; }),
      comma_list(2 * kIo, [](size_t i) { return fmt::format("{}", i); }));
}

void set(neff_write_members *members, const std::string &name, const std::string &text) {
  (*members)[name].assign(text.begin(), text.end());
}

}  // namespace

std::string bench_million_def() {
  many_variables_t wanted;
  wanted.count = kVariables;
  wanted.outputs = wanted.inputs = kIo;
  wanted.files = wanted.tmp_bufs = wanted.pointers = kEach;
  return fmt::format(
      R"({{"var":{{{}}},"runtime_statebuffer_reservation":[{{"type":"evtaccel","base_partition":0,)"
      R"("partitions":128,"offset":229368,"size":8}}]}})",
      many_variables(wanted));
}

std::vector<uint8_t> bench_million_neff(const std::string &def, bool compress) {
  neff_write_members members;
  set(&members, "sg00/def.json", def);
  set(&members, "neff.json", neff_json());
  set(&members, "kelf-0.json",
      R"({"graphs":[{"name":"sg00","definition":"sg00/def.json"}],"version":"0.5","target":"cayman"})");
  for (size_t i = 0; i < kEach; i++)
    members[fmt::format("sg00/w{}.bin", i)].assign(kWeightSize, static_cast<uint8_t>(i));
  neff_write_options options;
  options.name = "million.neff";
  options.compress = compress;
  finding_sink findings;
  std::vector<uint8_t> file;
  if (neff_write(members, options, findings, &file) != NRT_SUCCESS)
    bench_die("cannot write the model: " + findings.all().front().what);
  return file;
}

std::vector<uint8_t> bench_read_file(const std::string &path) {
  FILE *file = fopen(path.c_str(), "rb");
  if (file == nullptr || fseek(file, 0, SEEK_END) != 0)
    bench_die("cannot read " + path);
  std::vector<uint8_t> bytes(static_cast<size_t>(ftell(file)));
  rewind(file);
  if (fread(bytes.data(), 1, bytes.size(), file) != bytes.size())
    bench_die("cannot read " + path);
  fclose(file);
  return bytes;
}

void bench_write_file(const std::string &path, const void *bytes, size_t size) {
  FILE *file = fopen(path.c_str(), "wb");
  if (file == nullptr || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
    bench_die("cannot write " + path);
}
