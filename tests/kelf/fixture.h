// SPDX-License-Identifier: Apache-2.0
// Models made of member texts, for the tests of kelf/.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "kelf/kelf.h"
#include "neff/neff.h"

// A member table built by hand: what neff_open hands over, without a container. Its texts get the
// zero bytes that follow every member.
using member_texts = std::map<std::string, std::string>;

inline std::shared_ptr<const neff> make_neff(member_texts texts) {
  struct owner {
    member_texts texts;
    neff table;
  };
  auto o = std::make_shared<owner>();
  o->texts = std::move(texts);
  for (auto &[name, text] : o->texts) {
    size_t size = text.size();
    text.resize(size + NEFF_MEMBER_PADDING);
    o->table.members[name] = {reinterpret_cast<const uint8_t *>(text.data()), size};
  }
  return {o, &o->table};
}

constexpr const char *GOOD_RESERVATION =
    R"([{"type":"evtaccel","base_partition":0,"partitions":128,"offset":229368,"size":8}])";

// def.json around a `var` object's inside; `extra` are further top-level keys, with leading comma.
inline std::string def_text(const std::string &vars, const std::string &extra = "",
                            const std::string &reservation = GOOD_RESERVATION) {
  return R"({"var":{)" + vars + R"(},"runtime_statebuffer_reservation":)" + reservation + extra +
         "}";
}

// One fp32 output of four elements, one input likewise, a queue, an engine with one block.
constexpr const char *GOOD_VARS = R"("SB":{"type":"state-buffer","var_id":0},)"
                                  R"("x":{"type":"input","size":16,"var_id":1},)"
                                  R"("y":{"type":"output","size":16,"var_id":2})";
constexpr const char *GOOD_NEFF_JSON =
    R"({"nodes":[{"op":"null","name":"x","inputs":[],"output_names":["x"],"is_param":"0"},)"
    R"({"op":"tvm_op","name":"sg","attrs":{"func_name":"__kelf","kelf":"kelf-0.json"},)"
    R"("inputs":[[0,0,0]],"output_names":["y"]}],"arg_nodes":[0],"heads":[[1,0,0]],)"
    R"("node_row_ptr":[0,1,2],"attrs":{"shape":["list_shape",[[4],[4]]],)"
    R"("dltype":["list_str",["float32","float32"]],"storage_id":["list_int",[0,1]]}})";
constexpr const char *GOOD_KELF_JSON =
    R"({"graphs":[{"name":"sg00","definition":"sg00/def.json"}],"version":"0.5","target":"cayman"})";

inline member_texts good_model() {
  return {{"neff.json", GOOD_NEFF_JSON},
          {"kelf-0.json", GOOD_KELF_JSON},
          {"sg00/def.json", def_text(GOOD_VARS)}};
}

struct nn_result {
  NRT_STATUS status;
  finding_sink findings;
  std::unique_ptr<kelf_nn_t> nn;
};

inline nn_result load_nn(member_texts texts, bool collect = false, kelf_options options = {}) {
  nn_result r{NRT_SUCCESS, finding_sink(collect), nullptr};
  r.status = kelf_load_nn(make_neff(std::move(texts)), options, r.findings, &r.nn);
  return r;
}

struct kbin_result {
  NRT_STATUS status;
  finding_sink findings;
  std::unique_ptr<kbin_t> kbin;
};

// Lowers one def.json with the given further members beside it (names inside sg00/).
inline kbin_result load_def(const std::string &def, const member_texts &beside = {},
                            bool collect = false, uint32_t target = KELF_TARGET_CAYMAN,
                            kelf_options options = {}) {
  member_texts texts{{"sg00/def.json", def}};
  for (const auto &[name, text] : beside)
    texts["sg00/" + name] = text;
  kbin_result r{NRT_SUCCESS, finding_sink(collect), nullptr};
  r.status = kelf_load_from_neff(make_neff(std::move(texts)), "sg00", "sg00/def.json", target,
                                 options, r.findings, &r.kbin);
  return r;
}

inline std::string text_of(const finding_sink &findings) {
  std::string out;
  for (const finding &f : findings.all())
    out += f.where + ": " + f.what + "\n";
  return out;
}

// NumPy 1.0 file around `data`, with a header padded to 128 bytes in all.
inline std::string npy_text(const std::string &data, const char *descr = "<f4") {
  std::string header = std::string("{'descr': '") + descr +
                       "', 'fortran_order': False, 'shape': (" + std::to_string(data.size()) +
                       ",), }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + data;
}
