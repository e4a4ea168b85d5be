// SPDX-License-Identifier: Apache-2.0
// Words about a core, for its report (exec.h) and for findings.
#pragma once

#include <cstddef>
#include <cstdint>

struct mock_core_t;

// A text of the caller's: `size` bytes, the NUL among them. `length` counts what does not fit, too.
struct mock_text_t {
  char *at;
  size_t size, length;
};

__attribute__((format(printf, 2, 3))) void mock_text_add(mock_text_t *text, const char *format,
                                                         ...);
// Where a program counter is: "act.bin slot 7" among records, "NAME+0x40" in another range that has
// a name, else "pc 0x1000". For the names, the lock of the machine's execution is held.
void mock_text_place(mock_text_t *text, const mock_core_t *core, uint64_t pc);
// "NAME+0x40, 64 bytes" or "device memory 0x1000, 64 bytes". No core: nothing has a name.
void mock_text_range(mock_text_t *text, const mock_core_t *core, uint64_t address, uint64_t length);
