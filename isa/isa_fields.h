// SPDX-License-Identifier: Apache-2.0
// The table behind isa_table.h: per opcode its fields. Checking, disassembling and assembling all
// read it, so that no field is described twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/isa.h"

// What is wrong with a record: static text, nullptr for nothing, and at which byte.
struct isa_finding_t {
  const char *text = nullptr;
  uint32_t offset = 0;
};

enum isa_kind_t : uint8_t {
  ISA_KIND_NUMBER,      // unsigned, from `low` to `high`
  ISA_KIND_SIGNED,      // signed, any value
  ISA_KIND_BITS,        // raw bits, any value
  ISA_KIND_ENUM,        // one of `values`
  ISA_KIND_DTYPE,       // one of `values`, which names types
  ISA_KIND_DTYPE_PAIR,  // two of them, first operand in the low nibble
  ISA_KIND_REGISTER,    // register number, up to `high`
  ISA_KIND_REGISTERS,   // a list of them, one byte each
  ISA_KIND_IMMEDIATES,  // a list of 32-bit words
  ISA_KIND_SCALAR,      // fp32 bits, or the ADDR4 of one value per lane: `source_at` says which
  ISA_KIND_PATTERN,     // isa_pattern1 to isa_pattern4, by size
  ISA_KIND_DATA4,       // isa_data4
  ISA_KIND_ADDR8,
  ISA_KIND_VARIABLE,  // id and byte offset, 32 bits each
  ISA_KIND_DMA_SIDE,  // isa_dma from src to src_bytes
  ISA_KIND_DMA_BOUND,
  ISA_KIND_BRANCH,  // signed bytes from the record itself
  ISA_KIND_QUEUE,   // zero-terminated name, the rest zero
};

struct isa_value_t {
  uint8_t value;
  const char *name;
};

enum isa_space_t : uint8_t { ISA_SPACE_ANY, ISA_SPACE_SBUF, ISA_SPACE_PSUM };

struct isa_field_t {
  const char *name;
  uint8_t offset, size;  // bytes
  isa_kind_t kind;
  uint32_t low = 0, high = 0xFFFFFFFF;
  std::span<const isa_value_t> values = {};
  isa_space_t space = ISA_SPACE_ANY;  // of a pattern
  // The byte that holds its data type, 0 = none, and the bits of a pair: text shows both together.
  uint8_t type_at = 0, type_shift = 0;
  uint8_t source_at = 0;  // of a scalar: the byte that says value or pointer
  bool inner = false;     // text shows it with the field it belongs to
  bool always = false;    // text shows it when it is 0, too
};

struct isa_opcode_info_t {
  uint8_t opcode;
  const char *name;
  uint8_t engines;  // isa_engine_bit
  uint8_t forms;    // 1 << isa_form_t
  std::span<const isa_field_t> fields;
};

// Fields of the header, byte 0 excepted.
std::span<const isa_field_t> isa_header_fields();
// nullptr: no such opcode, or one without a known layout.
const isa_opcode_info_t *isa_opcode_info(uint8_t opcode);
std::span<const isa_opcode_info_t> isa_opcode_infos();
// The field of a record that begins at a byte or covers it; nullptr: none.
const isa_field_t *isa_field_at(uint8_t opcode, uint32_t offset);
// Names of types, 0 excepted.
std::span<const isa_value_t> isa_dtype_values();

// isa_pattern1 to isa_pattern4; dimensions beyond `dims` have step 0, count 1.
struct isa_pattern_view_t {
  uint32_t addr4;
  uint8_t dims;
  int16_t step[4];
  uint16_t count[4];
};
isa_pattern_view_t isa_view_pattern(const uint8_t *at, uint32_t size);

// Little-endian number of up to 8 bytes in a record.
inline uint64_t isa_field_number(const isa_record *record, const isa_field_t &field) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(record) + field.offset;
  uint64_t n = 0;
  for (int i = field.size - 1; i >= 0; i--)
    n = n << 8 | bytes[i];
  return n;
}
// nullptr: not listed.
const char *isa_value_name(std::span<const isa_value_t> values, uint64_t value);
