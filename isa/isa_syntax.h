// SPDX-License-Identifier: Apache-2.0
// What printing and reading the text form have to agree on.
#pragma once

#include <string_view>

#include "isa/isa_fields.h"
#include "isa/isa_text.h"

// Characters of names without quotes.
inline bool isa_syntax_starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool isa_syntax_in_name(char c) {
  return isa_syntax_starts_name(c) || (c >= '0' && c <= '9') || c == '.';
}
// Words that mean something else where a variable is expected: sbuf, psum, table, var12, r5.
bool isa_syntax_is_reserved(std::string_view name);

// Byte 1 where a line says nothing else.
uint8_t isa_syntax_words(uint8_t opcode);
// Step of the dimensions that a line leaves out: compilers write 0 for PE, 1 for the others.
int64_t isa_syntax_pad_step(uint8_t opcode);
// An ENUM whose value 0 is left out.
bool isa_syntax_is_default(const isa_field_t &field);
bool isa_syntax_is_pointer(const isa_record &record, const isa_field_t &field);
// Elements of a list field that are in use.
uint32_t isa_syntax_list_length(const isa_record &record, const isa_field_t &field);

// Whether the value that goes with a wait or an update is in use.
bool isa_syntax_wait_has_value(uint8_t mode);
bool isa_syntax_update_has_value(uint8_t mode);
// Whether a wait or an update shows the header's field at `offset`; the same for the second block.
bool isa_syntax_header_shows(const isa_header &h, uint32_t offset);
bool isa_syntax_block2_shows(const isa_record &record, uint32_t offset);
