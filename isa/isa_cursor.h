// SPDX-License-Identifier: Apache-2.0
// Reading one line of text from left to right. Functions that return bool: false when it says
// something else; `failed` then holds what was expected, at the place where it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct isa_cursor_t {
  std::string_view line;
  size_t at = 0;
  std::string failed;  // empty: nothing yet
  size_t failed_at = 0;
};

// Both return false; the first one that is called decides.
bool isa_cursor_fail(isa_cursor_t *c, std::string what);
bool isa_cursor_fail_at(isa_cursor_t *c, size_t at, std::string what);

void isa_cursor_blanks(isa_cursor_t *c);
bool isa_cursor_at_end(isa_cursor_t *c);  // of the line or before a comment
// Takes `text` when it comes next; no failure otherwise.
bool isa_cursor_accept(isa_cursor_t *c, std::string_view text);
bool isa_cursor_expect(isa_cursor_t *c, std::string_view text);
// The next word ([A-Za-z0-9_.]*), possibly empty, without taking it.
std::string_view isa_cursor_peek_word(isa_cursor_t *c);
bool isa_cursor_word(isa_cursor_t *c, std::string_view *out);
// Decimal or 0x..., with a minus sign where `low` is negative.
bool isa_cursor_number(isa_cursor_t *c, int64_t low, uint64_t high, uint64_t *out);
// `prefix` and a decimal number in one word: r61, p0, sem5.
bool isa_cursor_tagged(isa_cursor_t *c, std::string_view prefix, uint64_t high, uint64_t *out);
// Whether the next word has that form.
bool isa_cursor_is_tagged(isa_cursor_t *c, std::string_view prefix);
// "..." with \xNN.
bool isa_cursor_string(isa_cursor_t *c, std::string *out);
