// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>

#include "isa/isa_parse.h"
#include "isa/isa_syntax.h"

namespace {

struct fixup_t {  // a branch whose label is not known yet
  size_t slot;
  std::string label;
  uint32_t line;
  size_t at;
};

struct label_t {
  size_t slot;
  uint32_t line;
};

struct assembler_t {
  isa_names_t names;
  isa_engine_t engine;
  isa_form_t form;
  isa_program_t *program;
  std::map<std::string, label_t, std::less<>> labels[ISA_ENGINE_COUNT];
  std::vector<fixup_t> fixups[ISA_ENGINE_COUNT];
  uint32_t line;
};

// A name as a variable is called: a word or "...".
bool parse_name(isa_cursor_t *c, std::string *name) {
  isa_cursor_blanks(c);
  if (c->line.substr(c->at).starts_with("\""))
    return isa_cursor_string(c, name);
  const size_t begin = c->at;
  std::string_view word;
  if (!isa_cursor_word(c, &word))
    return false;
  if (isa_syntax_is_reserved(word) || !isa_syntax_starts_name(word[0]))
    return isa_cursor_fail_at(c, begin, "not a name; put it in quotes");
  *name = word;
  return true;
}

// --- directives ----------------------------------------------------------------------------------

bool directive_engine(assembler_t *a, isa_cursor_t *c) {
  isa_cursor_blanks(c);
  const size_t begin = c->at;
  std::string_view word;
  if (!isa_cursor_word(c, &word))
    return false;
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
    if (word == isa_engine_name(e)) {
      a->engine = static_cast<isa_engine_t>(e);
      a->program->given[e] = true;
      return true;
    }
  }
  return isa_cursor_fail_at(c, begin, "expected pe, act, pool, dve or sp");
}

bool directive_form(assembler_t *a, isa_cursor_t *c) {
  isa_cursor_blanks(c);
  const size_t begin = c->at;
  std::string_view word;
  if (!isa_cursor_word(c, &word))
    return false;
  if (word != "neff" && word != "image")
    return isa_cursor_fail_at(c, begin, "expected neff or image");
  a->form = word == "neff" ? ISA_FORM_NEFF : ISA_FORM_IMAGE;
  return true;
}

bool directive_var(assembler_t *a, isa_cursor_t *c) {
  std::string name;
  uint64_t id = 0;
  isa_cursor_blanks(c);
  const size_t begin = c->at;
  if (!parse_name(c, &name) || !isa_cursor_number(c, 0, UINT32_MAX, &id))
    return false;
  const auto same_name = a->names.ids.find(name);
  if (same_name != a->names.ids.end() && same_name->second != id)
    return isa_cursor_fail_at(c, begin,
                              "that name is variable " + std::to_string(same_name->second));
  const auto same_id = a->names.variables.find(static_cast<uint32_t>(id));
  if (same_id != a->names.variables.end() && same_id->second != name)
    return isa_cursor_fail_at(c, begin, "that id has another name");
  isa_names_add(&a->names, static_cast<uint32_t>(id), name);
  return true;
}

bool directive_table(assembler_t *a, isa_cursor_t *c) {
  isa_cursor_blanks(c);
  const size_t begin = c->at;
  std::vector<uint32_t> table;
  while (!isa_cursor_at_end(c)) {
    uint32_t id = 0;
    if (!isa_parse_variable(c, &a->names, &id))
      return false;
    table.push_back(id);
  }
  if (!a->names.table.empty() && a->names.table != table)
    return isa_cursor_fail_at(c, begin, "the table has other entries");
  a->names.table = std::move(table);
  return true;
}

bool directive_record(assembler_t *a, isa_cursor_t *c) {
  isa_cursor_blanks(c);
  const size_t begin = c->at;
  const std::string_view digits = isa_cursor_peek_word(c);
  isa_record record;
  auto *bytes = reinterpret_cast<uint8_t *>(&record);
  bool good = digits.size() == 2 * sizeof(record);
  for (size_t i = 0; good && i < sizeof(record); i++)
    good = std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, bytes[i], 16).ptr ==
           digits.data() + 2 * i + 2;
  if (!good)
    return isa_cursor_fail_at(c, begin, "expected 128 hexadecimal digits");
  c->at += digits.size();
  a->program->stream[a->engine].push_back(record);
  return true;
}

bool need_engine(assembler_t *a, isa_cursor_t *c, size_t at) {
  return a->engine != ISA_ENGINE_COUNT ||
         isa_cursor_fail_at(c, at, "no .engine before the first record");
}

bool parse_directive(assembler_t *a, isa_cursor_t *c) {
  const std::string_view word = isa_cursor_peek_word(c);
  const size_t begin = c->at;
  c->at += word.size();
  if (word == ".engine")
    return directive_engine(a, c);
  if (word == ".form")
    return directive_form(a, c);
  if (word == ".var")
    return directive_var(a, c);
  if (word == ".table")
    return directive_table(a, c);
  if (word == ".record")
    return need_engine(a, c, begin) && directive_record(a, c);
  return isa_cursor_fail_at(c, begin, "unknown directive '" + std::string(word) + "'");
}

// --- records and labels --------------------------------------------------------------------------

// "name:" at the start of a line.
bool parse_label(assembler_t *a, isa_cursor_t *c) {
  const std::string_view word = isa_cursor_peek_word(c);
  const size_t begin = c->at;
  if (word.empty() || !isa_syntax_starts_name(word[0]) ||
      !c->line.substr(begin + word.size()).starts_with(":"))
    return true;
  if (!need_engine(a, c, begin))
    return false;
  c->at += word.size() + 1;
  const auto [at, fresh] = a->labels[a->engine].try_emplace(
      std::string(word), label_t{a->program->stream[a->engine].size(), a->line});
  return fresh || isa_cursor_fail_at(c, begin, "label of line " + std::to_string(at->second.line));
}

// The item of the line that set the byte, or one of the same field; else the mnemonic.
size_t place_of(const isa_parse_t &parse, uint32_t offset, size_t mnemonic) {
  const isa_field_t *field = isa_field_at(parse.record.h.opcode, offset);
  const size_t given = parse.given[field ? field->offset : offset];
  return given ? given - 1 : mnemonic;
}

bool parse_record(assembler_t *a, isa_cursor_t *c) {
  const size_t begin = c->at;
  isa_parse_t parse{c, &a->names, {}, {}, {}, 0, {}};
  if (!need_engine(a, c, begin) || !isa_parse_record(&parse))
    return false;
  uint32_t offset = 0;
  const char *what = isa_check(&parse.record, a->engine, a->form, &offset);
  if (what) {
    const isa_field_t *field = offset ? isa_field_at(parse.record.h.opcode, offset) : nullptr;
    return isa_cursor_fail_at(c, place_of(parse, offset, begin),
                              (field ? std::string(field->name) + ": " : std::string()) + what);
  }
  std::vector<isa_record> &stream = a->program->stream[a->engine];
  if (!parse.label.empty())
    a->fixups[a->engine].push_back({stream.size(), parse.label, a->line, parse.label_at});
  stream.push_back(parse.record);
  return true;
}

bool parse_line(assembler_t *a, isa_cursor_t *c) {
  isa_cursor_blanks(c);
  if (!parse_label(a, c))
    return false;
  if (isa_cursor_at_end(c))
    return true;
  if (c->line[c->at] != '.')
    return parse_record(a, c);
  if (!parse_directive(a, c))
    return false;
  return isa_cursor_at_end(c) || isa_cursor_fail(c, "expected the end of the line");
}

void set_error(isa_text_error_t *error, uint32_t line, size_t at, std::string what) {
  *error = {line, static_cast<uint32_t>(at + 1), std::move(what)};
}

bool resolve_labels(assembler_t *a, isa_text_error_t *error) {
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
    for (const fixup_t &fixup : a->fixups[e]) {
      const auto label = a->labels[e].find(fixup.label);
      if (label == a->labels[e].end()) {
        set_error(error, fixup.line, fixup.at, "no label '" + fixup.label + "' in this stream");
        return false;
      }
      const int64_t bytes =
          (static_cast<int64_t>(label->second.slot) - static_cast<int64_t>(fixup.slot)) *
          int64_t{ISA_RECORD_BYTES};
      const auto offset = static_cast<int32_t>(bytes);
      if (offset != bytes) {
        set_error(error, fixup.line, fixup.at, "label more than 2 GiB away");
        return false;
      }
      memcpy(reinterpret_cast<uint8_t *>(&a->program->stream[e][fixup.slot]) +
                 offsetof(isa_compare_branch, offset),
             &offset, sizeof(offset));
    }
  }
  return true;
}

bool assemble(assembler_t *a, std::string_view text, isa_text_error_t *error) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    isa_cursor_t cursor;
    cursor.line = text.substr(0, end);
    if (cursor.line.ends_with('\r'))
      cursor.line.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!parse_line(a, &cursor)) {
      set_error(error, a->line, cursor.failed_at, std::move(cursor.failed));
      return false;
    }
    a->line++;
  }
  return resolve_labels(a, error);
}

}  // namespace

bool isa_assemble(std::string_view text, const isa_assemble_options_t &options, isa_program_t *out,
                  isa_text_error_t *error) {
  *out = {};
  assembler_t a{options.names ? *options.names : isa_names_t{},
                options.engine,
                options.form,
                out,
                {},
                {},
                options.first_line};
  if (options.engine != ISA_ENGINE_COUNT)
    out->given[options.engine] = true;
  if (assemble(&a, text, error))
    return true;
  *out = {};
  return false;
}
