// SPDX-License-Identifier: Apache-2.0
// Writes one JSON document into a string. simdjson, the parser this project uses, has no writer.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

class json_out {
 public:
  // `pretty`: one key per line. Either way the document is one line-terminated text.
  explicit json_out(bool pretty = false) : pretty_(pretty) {}

  json_out &begin_object() { return open('{'); }
  json_out &end_object() { return close('}'); }
  json_out &begin_array() { return open('['); }
  json_out &end_array() { return close(']'); }
  json_out &key(std::string_view name);

  // Bytes that are no UTF-8 become U+FFFD: a document is valid whatever a file is called.
  json_out &value(std::string_view text);
  json_out &value(const char *text) { return value(std::string_view(text)); }
  json_out &value(const std::string &text) { return value(std::string_view(text)); }
  json_out &null() { return raw("null"); }
  json_out &hex(uint64_t number);  // "0x..." as a string: JSON numbers lose bits above 53
  template <typename T>
  requires std::is_arithmetic_v<T> json_out &value(T number) {
    if constexpr (std::same_as<T, bool>)
      return raw(number ? "true" : "false");
    else if constexpr (std::is_floating_point_v<T>)
      return floating(number);
    else
      return raw(std::to_string(number));
  }

  template <typename T>
  json_out &field(std::string_view name, const T &v) {
    return key(name).value(v);
  }

  const std::string &text() const { return text_; }

 private:
  json_out &open(char bracket);
  json_out &close(char bracket);
  json_out &raw(std::string_view token);
  json_out &floating(double number);  // all digits; JSON has no infinity and no NaN: strings
  void separate();
  void line_break();

  bool pretty_;
  bool first_ = true;  // no element yet in the innermost container
  bool after_key_ = false;
  unsigned depth_ = 0;
  std::string text_;
};
