// SPDX-License-Identifier: Apache-2.0
// One planted defect at a time in an otherwise good file: refused by verification (collecting) and
// by a load, with the status the sheets ask for and a message that no other defect gives; nothing
// stays behind and the next good load works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>

#include "kmgr/checks.h"
#include "tests/integration/stack.h"

using testing::HasSubstr;

namespace {

constexpr char kDef[] = "sg00/def.json";
constexpr char kSp[] = "sg00/SP.json";
constexpr char kDve[] = "sg00/DVE.json";

enum where_t {
  FILE_DEFECT,    // verification alone sees it
  CORE_DEFECT,    // shows when the subgraphs meet the logical core's physical cores
  MEMORY_DEFECT,  // shows when the device's memory is asked for it
};

struct defect_t {
  const char *name;
  NRT_STATUS status;
  std::vector<const char *> words;  // the ERROR line holds all of them
  std::function<void(sample_t &)> members;
  std::function<void(std::vector<uint8_t> &)> bytes;  // after the file is written
  where_t where = FILE_DEFECT;
  bool validate_hash = false;
};

// --- ways to damage ---

std::function<void(sample_t &)> text(const char *member, const char *from, const char *to) {
  return [=](sample_t &s) { s.replace(member, from, to); };
}
std::function<void(sample_t &)> drop(const char *member) {
  return [=](sample_t &s) { ASSERT_EQ(s.members.erase(member), 1u) << member; };
}
template <typename T>
std::function<void(std::vector<uint8_t> &)> header(size_t offset, T value) {
  return [=](std::vector<uint8_t> &f) { memcpy(f.data() + offset, &value, sizeof(value)); };
}
// The payload is replaced; data_size follows.
void set_payload(std::vector<uint8_t> &file, const std::vector<uint8_t> &payload) {
  file.resize(NEFF_HEADER_SIZE);
  file.insert(file.end(), payload.begin(), payload.end());
  header<uint64_t>(16, payload.size())(file);
}

std::vector<defect_t> defects() {
  std::vector<defect_t> list;
  auto file = [&](const char *name, NRT_STATUS status, std::vector<const char *> words,
                  std::function<void(std::vector<uint8_t> &)> bytes, bool hash = false) {
    list.push_back({name, status, std::move(words), nullptr, std::move(bytes), FILE_DEFECT, hash});
  };
  auto add = [&](const char *name, std::vector<const char *> words,
                 std::function<void(sample_t &)> members, NRT_STATUS status = NRT_INVALID,
                 where_t where = FILE_DEFECT) {
    list.push_back({name, status, std::move(words), std::move(members), nullptr, where, false});
  };

  // Header, in the order of neff-format.md 1.1.
  file("file shorter than a header", NRT_INVALID, {"1023"},
       [](std::vector<uint8_t> &f) { f.resize(1023); });
  file("header_size reaches the file's end", NRT_INVALID, {"header+0x8"},
       [](std::vector<uint8_t> &f) { header<uint64_t>(8, f.size())(f); });
  file("major version 3", NRT_UNSUPPORTED_NEFF_VERSION, {"header+0x18", "3"},
       header<uint64_t>(24, 3));
  file("feature bit 27", NRT_UNSUPPORTED_NEFF_VERSION, {"header+0x220"},
       header<uint64_t>(544, 0x8000400));
  file("data_size past the file's end", NRT_INVALID, {"header+0x10"},
       [](std::vector<uint8_t> &f) { header<uint64_t>(16, f.size() - NEFF_HEADER_SIZE + 1)(f); });
  file("packaging version 3", NRT_UNSUPPORTED_NEFF_VERSION, {"header+0x0"}, header<uint64_t>(0, 3));
  file("digest", NRT_INVALID, {"header+0xac"}, header<uint8_t>(172, 0x5A), true);
  file("lnc_size 0", NRT_INVALID, {"header+0x228", "size 0"}, header<uint32_t>(552, 0));
  file("lnc_size 9", NRT_INVALID, {"header+0x228", "size 9"}, header<uint32_t>(552, 9));
  file("lnc_size 4", NRT_LOAD_NOT_ENOUGH_NC, {"header+0x228", "needs", "4"},
       header<uint32_t>(552, 4));
  file("lnc_size 1", NRT_INVALID, {"header+0x228", "compiled for", "1"}, header<uint32_t>(552, 1));

  file("two subgraphs for cores of one", NRT_INVALID, {"graphs", "2 subgraphs", "header+0x228"},
       header<uint32_t>(552, 1));
  list.back().where = CORE_DEFECT;

  // Archive.
  file("damaged deflate stream", NRT_INVALID, {},
       [](std::vector<uint8_t> &f) { memset(f.data() + NEFF_HEADER_SIZE + 200, 0xFF, 64); });
  file("gzip stream cut off", NRT_INVALID, {}, [](std::vector<uint8_t> &f) {
    set_payload(f, {f.begin() + NEFF_HEADER_SIZE, f.end() - 100});
  });
  file("not an archive", NRT_INVALID, {},
       [](std::vector<uint8_t> &f) { set_payload(f, std::vector<uint8_t>(5000, 'x')); });
  file("empty payload", NRT_INVALID, {}, [](std::vector<uint8_t> &f) { set_payload(f, {}); });

  // neff.json.
  add("no neff.json", {"neff.json"}, drop("neff.json"));
  add("neff.json is no JSON", {"neff.json"}, text("neff.json", R"("heads":)", R"("heads")"));
  add("no kernel node", {"neff.json", "__kelf"}, text("neff.json", "__kelf", "__help"));
  add("input node out of range", {"neff.json", "arg_nodes", "7"},
      text("neff.json", R"("arg_nodes": [0, 1])", R"("arg_nodes": [0, 7])"));
  add("shape disagrees with the variable", {"in1", "512"},
      text("neff.json", "[16, 16]", "[16, 17]"));
  add("unknown input name", {"in0", "neff.json"},
      text("neff.json", R"("name": "in0")", R"("name": "in9")"));

  // kelf member.
  add("no kelf member", {"kelf-0.json"}, drop("kelf-0.json"));
  add("kelf version without a dot", {"version", "05"}, text("kelf-0.json", "0.5", "05"));
  add("unknown target", {"target", "foo"}, text("kelf-0.json", "cayman", "foo"));
  add("target of an older machine", {"target", "sunda", "cayman"},
      text("kelf-0.json", "cayman", "sunda"));
  add("no subgraph", {"graphs"}, [](sample_t &s) {
    s.set("kelf-0.json", R"({"version": "0.5", "target": "cayman", "graphs": []})");
  });
  add("three subgraphs", {"graphs", "3"}, [](sample_t &s) {
    s.replace("kelf-0.json", R"({"name": "sg00", "definition": "sg00/def.json"})",
              R"({"name": "sg02", "definition": "sg00/def.json"},
                 {"name": "sg00", "definition": "sg00/def.json"})");
  });
  add("no definition", {"sg01/def.json"}, drop("sg01/def.json"));

  // Variables.
  add("no var", {kDef, "var", "output"}, text(kDef, R"("var":)", R"("vars":)"));
  add("id gap", {kDef, "highest is 17", "17 variables"},
      text(kDef, R"("var_id": 16)", R"("var_id": 17)"));
  add("id of another variable", {kDef, "dbg", "SB"},
      text(kDef, R"("var_id": 16)", R"("var_id": 0)"));
  add("id missing", {kDef, "var_id"}, text(kDef, R"("var_id": 16, )", ""));
  add("type missing", {kDef, "dbg", "type"},
      text(kDef, R"("var_id": 16, "type": "tmp-buf", )", R"("var_id": 16, )"));
  add("unknown type", {kDef, "state-buffet"}, text(kDef, "state-buffer", "state-buffet"));
  add("pointer of 4 bytes", {kDef, "p_w", "size"},
      text(kDef, R"("size": 8, "referenced_var_id": 4)", R"("size": 4, "referenced_var_id": 4)"));
  add("pointer to nothing", {kDef, "p_w", "99"},
      text(kDef, R"("referenced_var_id": 4)", R"("referenced_var_id": 99)"));
  add("pointer to a pointer", {kDef, "p_in", "MR_PTR"},
      text(kDef, R"("referenced_var_id": 1})", R"("referenced_var_id": 11})"));
  add("alignment 3", {kDef, "alignment", "3"},
      text(kDef, R"("alignment": 32768)", R"("alignment": 3)"));
  add("size 0", {kDef, "tmp", "size", "0"}, text(kDef, R"("size": 70000)", R"("size": 0)"));
  add("negative size", {kDef, "tmp", "size"}, text(kDef, R"("size": 70000)", R"("size": -1)"));
  add("fractional size", {kDef, "tmp", "size"}, text(kDef, R"("size": 70000)", R"("size": 1.5)"));
  add("size as text", {kDef, "tmp", "size"}, text(kDef, R"("size": 70000)", R"("size": "70000")"));
  add("dtype of 16 characters", {kDef, "dtype", "16", "15"},
      text(kDef, R"("dtype": "float32")", R"("dtype": "float32float32xx")"));
  add("nine dimensions", {kDef, "shape", "9", "8"},
      text(kDef, R"("shape": [4, 8])", R"("shape": [1, 1, 1, 1, 1, 1, 1, 4, 8])"));
  add("list of an unknown id", {kDef, "ids", "77"},
      text(kDef, R"("list": [4, 7])", R"("list": [4, 77])"));
  add("table without a list", {kDef, "DGETable0", "list"},
      text(kDef, R"("type": "dge-table", "list")", R"("type": "dge-table", "lust")"));
  add("scratch end passes 64 bits", {kDef, "v_main", "backing_variable_off"},
      text(kDef, R"("backing_variable_off": 1048576)",
           R"("backing_variable_off": 18446744073709551615)"));
  add("unknown backing buffer", {kDef, "v_main", "backing_buf", "moon"},
      text(kDef, R"("backing_buf": "main")", R"("backing_buf": "moon")"));
  add("remote subgraph out of range", {kDef, "far", "remote_sg"},
      text(kDef, R"("remote_sg": 1)", R"("remote_sg": 2)"));
  add("remote variable unknown", {kDef, "far", "nobody"},
      text(kDef, R"("remote_var": "tmp")", R"("remote_var": "nobody")"));
  add("remote target without memory", {kDef, "far", "MR_LIST"},
      text(kDef, R"("remote_var": "tmp")", R"("remote_var": "ids")"));

  // Weights.
  add("weight member missing", {kDef, "w.npy"}, drop("sg00/w.npy"));
  add("npy magic", {kDef, "w_npy"}, [](sample_t &s) { s.members["sg00/w.npy"][0] = 0x92; });
  add("npy version 2", {kDef, "w_npy", "2.0"}, [](sample_t &s) { s.members["sg00/w.npy"][6] = 2; });
  add("npy header longer than the file", {kDef, "w_npy", "65535"}, [](sample_t &s) {
    s.members["sg00/w.npy"][8] = 0xFF;
    s.members["sg00/w.npy"][9] = 0xFF;
  });
  add("weight larger than its file", {kDef, "w_raw", "3002", "3001"},
      text(kDef, R"("size": 3001)", R"("size": 3002)"));

  // Reservation and queues.
  add("reservation missing", {kDef, "runtime_statebuffer_reservation"},
      text(kDef, "runtime_statebuffer_reservation", "runtime_statebuffer_reservations"));
  add("reservation elsewhere", {kDef, "229360", "229368"},
      text(kDef, R"("offset": 229368)", R"("offset": 229360)"));
  add("unknown queue type", {kDef, "qSPIO0", "inn"},
      text(kDef, R"("type": "in", "owner")", R"("type": "inn", "owner")"));
  add("unknown queue owner", {kDef, "qSPIO0", "gpu"},
      text(kDef, R"("owner": "sp")", R"("owner": "gpu")"));
  add("17 queues", {kDef, "num_queues", "17", "16"},
      text(kDef, R"("owner": "sp", "num_queues": 16)", R"("owner": "sp", "num_queues": 17)"));

  // Engines.
  add("engine file missing", {kDef, "SP.json"}, drop(kSp));
  add("stream missing", {kSp, "SP.bin"}, drop("sg00/SP.bin"));
  add("block of an unknown queue", {kSp, "qNone"},
      text(kSp, R"("id": 1, "queue": "qSPIO0")", R"("id": 1, "queue": "qNone")"));
  add("transfer of an unknown variable", {kSp, "in7"},
      text(kSp, R"("from": "in0")", R"("from": "in7")"));
  add("transfer past a variable's end", {kSp, "out0"},
      text(kSp, R"("to": "out0", "to_off": 0)", R"("to": "out0", "to_off": 1)"));
  add("sizes and steps differ in length", {kSp, "from_s"},
      text(kSp, R"("from": "in0", "from_off": 0, "from_sizes": [128, 32])",
           R"("from": "in0", "from_off": 0, "from_sizes": [128, 32, 1])"));
  add("transfer of size 0", {kSp, "from_sizes", "0"},
      text(kSp, R"("from": "in0", "from_off": 0, "from_sizes": [128, 32])",
           R"("from": "in0", "from_off": 0, "from_sizes": [128, 0])"));
  add("unknown operation", {kDve, "op", "copie"}, text(kDve, R"("copy")", R"("copie")"));
  add("unknown element type", {kDve, "from_dtype", "uint7"},
      text(kDve, R"("from_dtype": "uint8")", R"("from_dtype": "uint7")"));
  add("activation table too short", {"exp_and_others.json", "bkt_entry_cnt", "3"},
      text("sg00/exp_and_others.json", R"("bkt_entry_cnt": 2)", R"("bkt_entry_cnt": 3)"));
  add("DVE table missing", {kDve, "op.bin"}, drop("sg00/op.bin"));

  // Good files that do not fit.
  add(
      "two subgraphs for one core", {"2", "1"}, [](sample_t &s) { s.options.feature_bits = 0; },
      NRT_LOAD_NOT_ENOUGH_NC, CORE_DEFECT);
  add("temporary larger than the HBM", {"tmp"},
      text(kDef, R"("size": 70000)", R"("size": 1099511627776)"), NRT_RESOURCE, MEMORY_DEFECT);
  add("scratch larger than the HBM", {"contiguous scratchpad"},
      text(kDef, R"("size": 3145728)", R"("size": 30000000000)"), NRT_RESOURCE, MEMORY_DEFECT);
  add("scratch of more pages than there are", {"pages", "1024"},
      text(kDef, R"("size": 3145728)", R"("size": 109951162777600)"), NRT_RESOURCE, MEMORY_DEFECT);
  return list;
}

std::vector<uint8_t> damaged(const defect_t &d) {
  sample_t sample = sample_make();
  if (d.members)
    d.members(sample);
  std::vector<uint8_t> file = sample_bytes(sample);
  if (d.bytes)
    d.bytes(file);
  return file;
}

std::string line_of(const finding &f) {
  return f.where + ": " + f.what;
}

}  // namespace

TEST(Defects, AreRefusedEachInItsOwnWay) {
  stack s, hashing({.validate_hash = true}), one_core({.lnc = 1});
  ASSERT_TRUE(s.ok() && hashing.ok() && one_core.ok());
  std::vector<uint8_t> good = sample_file();
  std::map<std::string, const char *> messages;
  std::vector<defect_t> list = defects();
  EXPECT_GE(list.size(), 40u);
  for (const defect_t &d : list) {
    SCOPED_TRACE(d.name);
    std::vector<uint8_t> file = damaged(d);
    if (HasFatalFailure())
      return;

    // Verification, collecting.
    kmgr_options_t options;
    options.neff.validate_hash = d.validate_hash;
    kmgr_machine_t machine{hal_arch(s.hal), 2};
    finding_sink findings(true);
    NRT_STATUS verified = kmgr_verify(file, options, &machine, findings, nullptr);
    if (d.where == FILE_DEFECT) {
      EXPECT_EQ(verified, d.status);
      EXPECT_FALSE(findings.empty());
      if (!findings.empty()) {
        for (const char *word : d.words)
          EXPECT_THAT(line_of(findings.all().front()), HasSubstr(word));
      }
    }

    // A load: onto a core with a model on it already, which must not notice.
    stack &target = d.where == CORE_DEFECT ? one_core : d.validate_hash ? hashing : s;
    std::vector<uint8_t> neighbour = d.where == CORE_DEFECT ? sample_file({.subgraphs = 1}) : good;
    H_NN before = 0, h = 0;
    ASSERT_EQ(target.load(neighbour, 0, &before), NRT_SUCCESS);
    plan_t plan = target.plan(before);
    std::vector<chunk_t> chunks = target.chunks();
    std::vector<dmem_usage_table_t> counters = target.counters();
    {
      log_capture log;
      EXPECT_EQ(target.load(file, 0, &h), d.status);
      std::vector<std::string> errors = log.errors();
      ASSERT_EQ(errors.size(), 1u);
      for (const char *word : d.words)
        EXPECT_THAT(errors[0], HasSubstr(word));
      auto [other, is_new] = messages.emplace(errors[0], d.name);
      EXPECT_TRUE(is_new) << "same message as '" << other->second << "': " << errors[0];
    }
    EXPECT_EQ(h, 0u);
    EXPECT_EQ(target.chunks(), chunks);
    EXPECT_TRUE(target.counters() == counters);
    EXPECT_EQ(target.plan(before), plan);
    EXPECT_EQ(kmgr_models(target.kmgr, nullptr, 0), 1u);
    ASSERT_EQ(target.load(neighbour, 1, &h), NRT_SUCCESS);
    ASSERT_EQ(target.unload(h), NRT_SUCCESS);
    ASSERT_EQ(target.unload(before), NRT_SUCCESS);
  }
}

TEST(Defects, VerificationCollectsIndependentOnes) {
  sample_t sample = sample_make();
  sample.replace(kDef, R"("alignment": 32768)", R"("alignment": 3)");
  sample.replace(kDef, R"("backing_buf": "main")", R"("backing_buf": "moon")");
  sample.replace("sg01/def.json", R"("size": 3001)", R"("size": 3002)");
  sample.replace("sg01/DVE.json", R"("copy")", R"("copie")");
  std::vector<uint8_t> file = sample_bytes(sample);
  finding_sink findings(true);
  EXPECT_EQ(kmgr_verify(file, {}, nullptr, findings, nullptr), NRT_INVALID);
  for (const char *word : {"w_npy", "v_main", "w_raw", "copie"})
    EXPECT_EQ(
        std::count_if(findings.all().begin(), findings.all().end(),
                      [&](const finding &f) { return line_of(f).find(word) != std::string::npos; }),
        1)
        << word;
}

TEST(Defects, GoodFilesHaveNone) {
  finding_sink findings(true);
  std::shared_ptr<const kelf_nn_t> nn;
  for (uint32_t subgraphs : {1u, 2u}) {
    EXPECT_EQ(kmgr_verify(sample_file({.subgraphs = subgraphs}), {}, nullptr, findings, &nn),
              NRT_SUCCESS);
    EXPECT_TRUE(findings.empty()) << line_of(findings.all().front());
    ASSERT_NE(nn, nullptr);
    EXPECT_EQ(nn->kbins.size(), subgraphs);
  }
}
