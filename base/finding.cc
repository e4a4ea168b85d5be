// SPDX-License-Identifier: Apache-2.0
#include "base/finding.h"

std::string finding_line(std::string_view text, size_t limit) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (i == limit) {
      // Not in the middle of a character.
      while (!out.empty() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) {
        out.pop_back();
        i--;
      }
      out += "...";
      break;
    }
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", c);
    else
      out += text[i];
  }
  return out;
}
