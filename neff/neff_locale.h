// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <locale.h>

// libarchive converts names through the thread's locale. In the C locale that would change bytes
// above 0x7F; in a UTF-8 one they pass as stored.
class neff_utf8_names {
 public:
  neff_utf8_names() : utf8_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr)
      previous_ = uselocale(utf8_);
  }
  neff_utf8_names(const neff_utf8_names &) = delete;
  neff_utf8_names &operator=(const neff_utf8_names &) = delete;
  ~neff_utf8_names() {
    if (utf8_ == nullptr)
      return;
    uselocale(previous_);
    freelocale(utf8_);
  }

 private:
  locale_t utf8_;
  locale_t previous_ = nullptr;
};
