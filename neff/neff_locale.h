// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <locale.h>

// libarchive converts names through the thread's locale. In the C locale that would change bytes
// above 0x7F; in a UTF-8 one they pass as stored.
class neff_utf8_names {
 public:
  neff_utf8_names() {
    if (utf8() != nullptr)
      previous_ = uselocale(utf8());
  }
  neff_utf8_names(const neff_utf8_names &) = delete;
  neff_utf8_names &operator=(const neff_utf8_names &) = delete;
  ~neff_utf8_names() {
    if (utf8() != nullptr)
      uselocale(previous_);
  }

 private:
  // One for the life of the process: making and freeing it per file would have concurrent loads
  // build up and tear down the converters that glibc shares between equal locales.
  static locale_t utf8() {
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return locale;
  }

  locale_t previous_ = nullptr;
};
