// SPDX-License-Identifier: Apache-2.0
// Records from hexadecimal text.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

#include "isa/isa_table.h"

// Blanks and '|' are skipped; what is missing at the end is zero.
inline isa_record record_of(std::string_view hex) {
  isa_record record{};
  auto *bytes = reinterpret_cast<uint8_t *>(&record);
  size_t n = 0;
  for (char c : hex) {
    if (c == ' ' || c == '|')
      continue;
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    bytes[n / 2] = static_cast<uint8_t>(n % 2 ? bytes[n / 2] | digit : digit << 4);
    n++;
  }
  EXPECT_EQ(n % 2, 0u);
  EXPECT_LE(n, 2 * sizeof(record));
  return record;
}

inline uint8_t &byte_of(isa_record &record, uint32_t at) {
  return reinterpret_cast<uint8_t *>(&record)[at];
}

inline void put32(isa_record &record, uint32_t at, uint32_t value) {
  memcpy(reinterpret_cast<uint8_t *>(&record) + at, &value, sizeof(value));
}

inline void put16(isa_record &record, uint32_t at, uint16_t value) {
  memcpy(reinterpret_cast<uint8_t *>(&record) + at, &value, sizeof(value));
}

// A record of `opcode` with byte 1 = 0x10, all else zero.
inline isa_record bare(uint8_t opcode) {
  isa_record record{};
  record.h.opcode = opcode;
  record.h.words = ISA_HEADER_WORDS;
  return record;
}

// What isa_check says; "" for nothing.
inline std::string check(const isa_record &record, isa_engine_t engine,
                         isa_form_t form = ISA_FORM_NEFF, uint32_t *offset = nullptr) {
  const char *text = isa_check(&record, engine, form, offset);
  return text ? text : "";
}

// DVE 1 of the smallest v2 program (verified-facts.md G9).
constexpr std::string_view add_tile_hex =
    "41100000 05091306 10000000 aa0a0480 | 80c10200 010001000100 e80301000100 | c0e00200 "
    "010001000100 e80301000100 | 00400000 010001000100 e80301000100";
