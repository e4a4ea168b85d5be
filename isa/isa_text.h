// SPDX-License-Identifier: Apache-2.0
// The text form of records (grammar: isa/README.md). Whatever 64 bytes come in, the line that goes
// out gives the same 64 bytes back.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/isa_table.h"

// Names of one subgraph. Variables without a name appear as var12.
struct isa_names_t {
  std::map<uint32_t, std::string> variables;         // by id
  std::map<std::string, uint32_t, std::less<>> ids;  // the id that a name leads to
  std::vector<uint32_t> table;                       // variable ids of the DGE table's entries
};
// Where two variables have one name, it leads to the first one added.
void isa_names_add(isa_names_t *names, uint32_t id, std::string_view name);

// Slots of a stream that branches lead to, with their labels.
using isa_labels_t = std::map<uint64_t, std::string>;
// "L12" for slot 12. Branches that leave the stream have no label and show their offset.
isa_labels_t isa_text_labels(std::span<const isa_record> records, isa_engine_t engine,
                             isa_form_t form);

struct isa_text_context_t {
  isa_engine_t engine;
  isa_form_t form;
  const isa_names_t *names;    // may be NULL
  const isa_labels_t *labels;  // may be NULL
  uint64_t slot;               // of the record, for labels
};
// One line without line break. A record that isa_check refuses becomes `.record` and its bytes.
std::string isa_text_record(const isa_record &record, const isa_text_context_t &context);
// Operand addresses as they appear in lines: "sbuf[p0, 0x4000]", and "x+0x100" for a variable.
std::string isa_text_addr4(uint32_t addr4);
std::string isa_text_variable(uint32_t id, uint32_t offset, const isa_names_t *names);
// `.var` and `.table` lines: all variables of `names`, or those in `used`; the table's in any case.
std::string isa_text_names(const isa_names_t &names, const std::set<uint32_t> *used);
// Adds the variables that the operands of a record name.
void isa_text_used_variables(const isa_record &record, std::set<uint32_t> *used);

struct isa_text_error_t {
  uint32_t line, column;  // from 1
  std::string what;
};
struct isa_program_t {
  std::vector<isa_record> stream[ISA_ENGINE_COUNT];
  bool given[ISA_ENGINE_COUNT];  // the text had its `.engine`
};
struct isa_assemble_options_t {
  const isa_names_t *names = nullptr;      // `.var` adds to them
  isa_engine_t engine = ISA_ENGINE_COUNT;  // before the first `.engine`; COUNT: none
  isa_form_t form = ISA_FORM_NEFF;         // before the first `.form`
  uint32_t first_line = 1;
};
// All or nothing: false leaves *out empty and says in *error what is wrong.
bool isa_assemble(std::string_view text, const isa_assemble_options_t &options, isa_program_t *out,
                  isa_text_error_t *error);
