// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/core_text.h"

#include <cstdarg>
#include <cstdio>

#include "mock_dev/core.h"

namespace {

using ull = unsigned long long;

constexpr int NAME_SHOWN = 200;  // names of variables can be of any length

void add_offset(mock_text_t *text, const mock_name_t *name, uint64_t address) {
  mock_text_add(text, "%.*s+0x%llx", NAME_SHOWN, name->name, ull{address - name->address});
}

}  // namespace

void mock_text_add(mock_text_t *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  size_t room = text->length < text->size ? text->size - text->length : 0;
  int n = vsnprintf(room != 0 ? text->at + text->length : nullptr, room, format, args);
  va_end(args);
  text->length += n > 0 ? static_cast<size_t>(n) : 0;
}

void mock_text_place(mock_text_t *text, const mock_core_t *core, uint64_t pc) {
  const mock_name_t *name = mock_names_find(&core->names, pc);
  if (name == nullptr)
    return mock_text_add(text, "pc 0x%llx", ull{pc});
  if ((name->flags & MOCK_NAME_RECORDS) == 0)
    return add_offset(text, name, pc);
  mock_text_add(text, "%.*s slot %llu", NAME_SHOWN, name->name,
                ull{(pc - name->address) / ISA_RECORD_BYTES + name->first_slot});
}

void mock_text_range(mock_text_t *text, const mock_core_t *core, uint64_t address,
                     uint64_t length) {
  const mock_name_t *name = core != nullptr ? mock_names_find(&core->names, address) : nullptr;
  if (name != nullptr)
    add_offset(text, name, address);
  else
    mock_text_add(text, "device memory 0x%llx", ull{address});
  mock_text_add(text, ", %llu bytes", ull{length});
}
