// SPDX-License-Identifier: Apache-2.0
#include "tools/json_out.h"

#include <fmt/format.h>

#include <cmath>

void json_out::line_break() {
  if (!pretty_)
    return;
  text_ += '\n';
  text_.append(depth_ * 2, ' ');
}

void json_out::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!first_)
    text_ += ',';
  if (depth_ > 0)
    line_break();
  first_ = false;
}

json_out &json_out::open(char bracket) {
  separate();
  text_ += bracket;
  depth_++;
  first_ = true;
  return *this;
}

json_out &json_out::close(char bracket) {
  depth_--;
  if (!first_)
    line_break();
  text_ += bracket;
  first_ = false;
  if (depth_ == 0)
    text_ += '\n';
  return *this;
}

json_out &json_out::raw(std::string_view token) {
  separate();
  text_ += token;
  return *this;
}

json_out &json_out::floating(double number) {
  std::string text = fmt::format("{}", number);
  return std::isfinite(number) ? raw(text) : value(text);
}

json_out &json_out::hex(uint64_t number) {
  return value(fmt::format("0x{:x}", number));
}

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 when there is none.
static size_t utf8_length(std::string_view text) {
  auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  auto follows = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xBF) {
    return i < text.size() && at(i) >= low && at(i) <= high;
  };
  uint8_t lead = at(0);
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF)
    return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    uint8_t low = lead == 0xE0 ? 0xA0 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    uint8_t low = lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

json_out &json_out::value(std::string_view text) {
  separate();
  text_ += '"';
  while (!text.empty()) {
    auto byte = static_cast<uint8_t>(text[0]);
    size_t length = utf8_length(text);
    if (length == 0) {
      text_ += "\\ufffd";
      length = 1;
    } else if (byte == '"' || byte == '\\') {
      text_ += '\\';
      text_ += static_cast<char>(byte);
    } else if (byte < 0x20 || byte == 0x7F) {
      text_ += fmt::format("\\u{:04x}", byte);
    } else {
      text_ += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  text_ += '"';
  return *this;
}

json_out &json_out::key(std::string_view name) {
  value(name);
  text_ += pretty_ ? ": " : ":";
  after_key_ = true;
  return *this;
}
