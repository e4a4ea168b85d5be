// SPDX-License-Identifier: Apache-2.0
#include "isa/isa_cursor.h"

#include <charconv>

#include "isa/isa_syntax.h"

bool isa_cursor_fail_at(isa_cursor_t *c, size_t at, std::string what) {
  if (c->failed.empty()) {
    c->failed = std::move(what);
    c->failed_at = at;
  }
  return false;
}

bool isa_cursor_fail(isa_cursor_t *c, std::string what) {
  return isa_cursor_fail_at(c, c->at, std::move(what));
}

void isa_cursor_blanks(isa_cursor_t *c) {
  while (c->at < c->line.size() && (c->line[c->at] == ' ' || c->line[c->at] == '\t'))
    c->at++;
}

bool isa_cursor_at_end(isa_cursor_t *c) {
  isa_cursor_blanks(c);
  return c->at == c->line.size() || c->line[c->at] == '#';
}

bool isa_cursor_accept(isa_cursor_t *c, std::string_view text) {
  isa_cursor_blanks(c);
  if (!c->line.substr(c->at).starts_with(text))
    return false;
  c->at += text.size();
  return true;
}

bool isa_cursor_expect(isa_cursor_t *c, std::string_view text) {
  return isa_cursor_accept(c, text) || isa_cursor_fail(c, "expected '" + std::string(text) + "'");
}

std::string_view isa_cursor_peek_word(isa_cursor_t *c) {
  isa_cursor_blanks(c);
  size_t end = c->at;
  while (end < c->line.size() && isa_syntax_in_name(c->line[end]))
    end++;
  return c->line.substr(c->at, end - c->at);
}

bool isa_cursor_word(isa_cursor_t *c, std::string_view *out) {
  *out = isa_cursor_peek_word(c);
  if (out->empty())
    return isa_cursor_fail(c, "expected a word");
  c->at += out->size();
  return true;
}

bool isa_cursor_number(isa_cursor_t *c, int64_t low, uint64_t high, uint64_t *out) {
  isa_cursor_blanks(c);
  const size_t begin = c->at;
  const bool negative = isa_cursor_accept(c, "-");
  const bool hex = isa_cursor_accept(c, "0x");
  const char *first = c->line.data() + c->at, *last = c->line.data() + c->line.size();
  uint64_t n = 0;
  const auto [end, error] = std::from_chars(first, last, n, hex ? 16 : 10);
  if (error == std::errc::invalid_argument)
    return isa_cursor_fail_at(c, begin, "expected a number");
  const uint64_t lowest = low < 0 ? uint64_t{0} - static_cast<uint64_t>(low) : 0;  // its magnitude
  const bool inside =
      error == std::errc() &&
      (negative ? n <= lowest : n <= high && (low < 0 || n >= static_cast<uint64_t>(low)));
  if (!inside)
    return isa_cursor_fail_at(
        c, begin, "expected a number from " + std::to_string(low) + " to " + std::to_string(high));
  c->at += static_cast<size_t>(end - first);
  if (c->at < c->line.size() && isa_syntax_in_name(c->line[c->at]))
    return isa_cursor_fail_at(c, begin, "expected a number");
  *out = negative ? uint64_t{0} - n : n;
  return true;
}

bool isa_cursor_is_tagged(isa_cursor_t *c, std::string_view prefix) {
  const std::string_view word = isa_cursor_peek_word(c);
  return word.starts_with(prefix) && word.size() > prefix.size() &&
         word.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

bool isa_cursor_tagged(isa_cursor_t *c, std::string_view prefix, uint64_t high, uint64_t *out) {
  if (!isa_cursor_is_tagged(c, prefix))
    return isa_cursor_fail(c, "expected " + std::string(prefix) + " and a number");
  const std::string_view word = isa_cursor_peek_word(c);
  const auto error =
      std::from_chars(word.data() + prefix.size(), word.data() + word.size(), *out).ec;
  if (error != std::errc() || *out > high)
    return isa_cursor_fail(
        c, "number behind " + std::string(prefix) + " above " + std::to_string(high));
  c->at += word.size();
  return true;
}

namespace {

// The NN of \xNN.
bool escaped(isa_cursor_t *c, std::string *out) {
  const std::string_view digits = c->line.substr(c->at).substr(0, 3);
  unsigned byte = 0;
  if (digits.size() < 3 || digits[0] != 'x' ||
      std::from_chars(digits.data() + 1, digits.data() + 3, byte, 16).ptr != digits.data() + 3)
    return isa_cursor_fail(c, "expected xNN behind a backslash");
  *out += static_cast<char>(byte);
  c->at += 3;
  return true;
}

}  // namespace

bool isa_cursor_string(isa_cursor_t *c, std::string *out) {
  const size_t begin = c->at;
  if (!isa_cursor_expect(c, "\""))
    return false;
  out->clear();
  while (c->at < c->line.size()) {
    const char next = c->line[c->at++];
    if (next == '"')
      return true;
    if (next != '\\')
      *out += next;
    else if (!escaped(c, out))
      return false;
  }
  return isa_cursor_fail_at(c, begin, "name without its closing quote");
}
