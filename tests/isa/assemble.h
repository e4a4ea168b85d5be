// SPDX-License-Identifier: Apache-2.0
// Programs for tests, written in the text of isa/README.md.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "isa/isa_text.h"

// All streams of a text. A mistake in it fails the test and says where.
inline isa_program_t assemble(std::string_view text, const isa_assemble_options_t &options = {}) {
  isa_program_t program;
  isa_text_error_t error;
  EXPECT_TRUE(isa_assemble(text, options, &program, &error))
      << error.line << ":" << error.column << ": " << error.what;
  return program;
}

// One stream without `.engine` line.
inline std::vector<isa_record> assemble_stream(std::string_view text, isa_engine_t engine,
                                               isa_form_t form = ISA_FORM_NEFF,
                                               const isa_names_t *names = nullptr) {
  return assemble(text, {names, engine, form}).stream[engine];
}

inline std::vector<uint8_t> bytes_of_stream(const std::vector<isa_record> &records) {
  std::vector<uint8_t> bytes(records.size() * ISA_RECORD_BYTES);
  if (!bytes.empty())
    memcpy(bytes.data(), records.data(), bytes.size());
  return bytes;
}
