// SPDX-License-Identifier: Apache-2.0
// A `var` object of as many variables as wanted, shared by the tests of kelf/ and the benchmarks.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

constexpr size_t MANY_VIRTUAL_SIZE = 512;

// How many of each kind; what is left of `count` is virtual. Ids run through the kinds in the order
// of the fields, the virtual variables come last.
struct many_variables_t {
  size_t count = 1;
  size_t outputs = 1;  // "out<n>", 4 bytes
  size_t inputs = 0;   // "in<n>", 4 bytes
  size_t files = 0;    // file_name "w<n>.bin"
  size_t tmp_bufs = 0;
  size_t pointers = 0;  // each to the variable whose id is half its own
};

namespace many_variables_detail {

using entries_t = std::vector<std::pair<std::string, std::string>>;  // name, object

inline void add(entries_t *entries, std::string name, const std::string &keys) {
  size_t id = entries->size();
  entries->emplace_back(std::move(name), fmt::format(R"({{{},"var_id":{}}})", keys, id));
}

}  // namespace many_variables_detail

// The inside of `var`, sorted by name as compilers write it, without blanks.
inline std::string many_variables(const many_variables_t &wanted) {
  using many_variables_detail::add;
  many_variables_detail::entries_t entries;
  entries.reserve(wanted.count);
  for (size_t i = 0; i < wanted.outputs; i++)
    add(&entries, fmt::format("out{}", i), R"("ops":[],"size":4,"type":"output")");
  for (size_t i = 0; i < wanted.inputs; i++)
    add(&entries, fmt::format("in{}", i), R"("ops":[],"size":4,"type":"input")");
  for (size_t i = 0; i < wanted.files; i++)
    add(&entries, fmt::format("constant.{}_sg0000", i),
        fmt::format(
            R"("alignment":64,"fabric_path":"main","file_name":"w{}.bin","ops":[],"type":"file")",
            i));
  for (size_t i = 0; i < wanted.tmp_bufs; i++)
    add(&entries, fmt::format("tmp{}_sg0000", i),
        R"("alignment":64,"ops":[],"size":2048,"type":"tmp-buf")");
  for (size_t i = 0; i < wanted.pointers; i++)
    add(&entries, fmt::format("ptr{}_sg0000", i),
        fmt::format(R"("referenced_var_id":{},"size":8,"type":"pointer")", entries.size() / 2));
  for (size_t id = entries.size(); id < wanted.count; id++)
    add(&entries, fmt::format("t125_i{}_RematSpillSave_sg0000", id),
        fmt::format(R"("backing_variable_off":{},"ops":[],"size":{},"type":"virtual")",
                    id * MANY_VIRTUAL_SIZE, MANY_VIRTUAL_SIZE));
  std::sort(entries.begin(), entries.end());
  std::string all;
  for (const auto &[name, object] : entries) {
    all += all.empty() ? "\"" : ",\"";
    all += name;
    all += "\":";
    all += object;
  }
  return all;
}
