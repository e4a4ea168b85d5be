// SPDX-License-Identifier: Apache-2.0
// What is known of each opcode: its name, the engines that run it, its fields. Decoding is strict:
// an unknown opcode, a non-zero byte without a field or an unlisted value is refused.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/isa.h"

constexpr uint32_t isa_engine_bit(isa_engine_t engine) {
  return 1u << engine;
}

// Short names as they appear in text: "pe", "act", "pool", "dve", "sp"; "?" for other values.
const char *isa_engine_name(uint32_t engine);
const char *isa_dtype_name(uint8_t dtype);    // "fp32"; nullptr: no such type
const char *isa_opcode_name(uint8_t opcode);  // "MATMUL"; nullptr: unknown

// Whether the mocked device runs the opcode on that engine, pseudo records in their lowered form
// included. Others stop a model at load.
bool isa_is_executable(uint8_t opcode, isa_engine_t engine);

// Where a record is found. Pseudo records, variables: NEFF only. Device addresses, records that
// only a runtime makes: image only.
enum isa_form_t { ISA_FORM_NEFF, ISA_FORM_IMAGE };

// Checks a whole record strictly. nullptr: fine. Otherwise what is wrong, static text, and *offset
// (may be NULL) is the byte in the record.
const char *isa_check(const isa_record *record, isa_engine_t engine, isa_form_t form,
                      uint32_t *offset);

// One operand in the engine's address space.
struct isa_operand_t {
  uint32_t addr4;  // marker bits included
  uint8_t dtype;
  uint8_t element_bytes;
  uint8_t dims;
  uint8_t lanes;
  int16_t step[4];  // unused dimensions: 0, count 1
  uint16_t count[4];
  bool write;
  bool also_read;    // a written operand that is added to: MATMUL without ISA_MATMUL_BEGIN
  const char *role;  // field name: "src", "src0", "dst", "bias", "scale", "imm0"...; static text
};
constexpr uint32_t ISA_MAX_OPERANDS = 5;
// Operands of a computing record, reads first; their number, 0 for records without any. The record
// must have passed isa_check.
uint32_t isa_operands(const isa_record *record, isa_operand_t operands[ISA_MAX_OPERANDS]);

// Bytes [*begin, *end) relative to the start of a partition that the pattern touches on every lane,
// holes included, and its first partition. False: outside the memory of a chip with `sbuf_bytes`
// per partition, negative, or more lanes than partitions are left. Not for operands with register
// markers.
bool isa_operand_range(const isa_operand_t *operand, uint32_t sbuf_bytes, bool *psum,
                       uint32_t *partition, uint32_t *begin, uint32_t *end);

// Elements per lane.
inline uint64_t isa_operand_elements(const isa_operand_t *operand) {
  uint64_t n = 1;
  for (int i = 0; i < 4; i++)
    n *= operand->count[i];
  return n;
}
