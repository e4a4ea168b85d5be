// SPDX-License-Identifier: Apache-2.0
// One record from its line.
#pragma once

#include <string>
#include <vector>

#include "isa/isa_cursor.h"
#include "isa/isa_fields.h"
#include "isa/isa_text.h"

struct isa_parse_list_t {
  const isa_field_t *field;
  size_t begin;  // in the line
  uint32_t count;
};

struct isa_parse_t {
  isa_cursor_t *cursor;
  const isa_names_t *names;
  isa_record record;
  std::vector<isa_parse_list_t> lists;
  std::string label;  // of a branch, to be resolved when all slots are known; or empty
  size_t label_at = 0;
  // By byte of the record: 1 + place in the line of what set it, 0 = nothing did.
  size_t given[ISA_RECORD_BYTES] = {};
};

// Cursor: at the mnemonic. The record is complete but for the label, and not checked yet.
bool isa_parse_record(isa_parse_t *parse);
// What stands behind the '=' of a field.
bool isa_parse_field(isa_parse_t *parse, const isa_field_t &field);
// A variable by name or as var12.
bool isa_parse_variable(isa_cursor_t *cursor, const isa_names_t *names, uint32_t *id);
