// SPDX-License-Identifier: Apache-2.0
#include "isa/isa_table.h"

#include <array>
#include <bit>
#include <cstring>

#include "isa/isa_fields.h"

namespace {

using finding_t = isa_finding_t;

template <typename T>
const T *as(const isa_record *record) {
  return reinterpret_cast<const T *>(record);
}

const uint8_t *bytes_of(const isa_record *record) {
  return reinterpret_cast<const uint8_t *>(record);
}

// First byte of [begin, end) that is not zero; end: all are.
uint32_t first_non_zero(const isa_record *record, uint32_t begin, uint32_t end) {
  const uint8_t *bytes = bytes_of(record);
  while (begin < end && bytes[begin] == 0)
    begin++;
  return begin;
}

finding_t all_zero(const isa_record *record, uint32_t begin, uint32_t end, const char *text) {
  const uint32_t at = first_non_zero(record, begin, end);
  return at < end ? finding_t{text, at} : finding_t{};
}

// --- fields --------------------------------------------------------------------------------------

// Bit 29, indirect access, belongs to records with another layout.
const char *check_addr4(uint32_t addr4, isa_space_t space, isa_engine_t engine) {
  if (addr4 & ISA_ADDR4_INDIRECT)
    return "indirect address";
  if (addr4 & ISA_ADDR4_REGISTER)
    return (addr4 & ISA_ADDR4_ADDRESS) < ISA_GENERAL_REGISTERS
               ? nullptr
               : "register number above 63 in an address";
  if ((addr4 & ISA_ADDR4_ADDRESS) >= 2 * ISA_PSUM_BASE)
    return "address bits 28 to 26";
  const bool psum = isa_addr4_is_psum(addr4);
  if (psum && (space == ISA_SPACE_SBUF || engine == ISA_ENGINE_POOL))
    return "PSUM address where only SBUF is reached";
  if (!psum && space == ISA_SPACE_PSUM)
    return "SBUF address where only PSUM is reached";
  return nullptr;
}

finding_t check_pattern(const isa_record *record, const isa_field_t &field, isa_engine_t engine) {
  const isa_pattern_view_t v = isa_view_pattern(bytes_of(record) + field.offset, field.size);
  if (const char *text = check_addr4(v.addr4, field.space, engine))
    return {text, field.offset};
  if (v.addr4 & ISA_ADDR4_SHAPE_REGISTER)
    return {};
  for (uint32_t d = 0; d < v.dims; d++) {
    if (v.count[d] == 0)
      return {"count of 0", field.offset + 4 + 2 * v.dims + 2 * d};
  }
  return {};
}

finding_t check_data4(const isa_record *record, const isa_field_t &field) {
  isa_data4 data;
  memcpy(&data, bytes_of(record) + field.offset, sizeof(data));
  for (uint32_t d = 0; d < 4; d++) {
    if (data.count[d] == 0)
      return {"count of 0",
              field.offset + static_cast<uint32_t>(offsetof(isa_data4, count)) + 2 * d};
  }
  return {};
}

// Variables become device addresses when a stream is loaded; table references stay as they are.
finding_t check_addr8(const isa_record *record, const isa_field_t &field, isa_form_t form) {
  isa_addr8 a;
  memcpy(&a, bytes_of(record) + field.offset, sizeof(a));
  const bool moves = record->h.opcode == ISA_DMAMEMCPY || form == ISA_FORM_NEFF;
  switch (a.mode) {
    case ISA_ADDR8_DEVICE:
      return form == ISA_FORM_IMAGE ? finding_t{} : finding_t{"device address", field.offset};
    case ISA_ADDR8_VARIABLE:
      if (form == ISA_FORM_NEFF)
        return {};
      break;
    case ISA_ADDR8_TABLE:
      if (moves)
        return {};
      break;
    case ISA_ADDR8_TABLE_REGISTER:
      if (moves)
        return a.offset < ISA_GENERAL_REGISTERS
                   ? finding_t{}
                   : finding_t{"register number above 63 in an address", field.offset};
      break;
    default:
      break;
  }
  return {"address mode", field.offset + 7u};
}

// isa_dma's part from its address to its bytes per row.
finding_t check_dma_side(const isa_record *record, const isa_field_t &field, isa_form_t form) {
  const finding_t f = check_addr8(record, field, form);
  if (f.text)
    return f;
  constexpr uint32_t count_at = offsetof(isa_dma, src_count) - offsetof(isa_dma, src);
  for (uint32_t at = field.offset + count_at; at < field.offset + count_at + 4; at += 2) {
    if (bytes_of(record)[at] == 0 && bytes_of(record)[at + 1] == 0)
      return {"count of 0", at};
  }
  return {};
}

finding_t check_queue(const isa_record *record, const isa_field_t &field) {
  const uint8_t *name = bytes_of(record) + field.offset;
  uint32_t n = 0;
  while (n < field.size && name[n] > 0x20 && name[n] < 0x7F)
    n++;
  if (n == 0 || n == field.size)
    return {"queue name", field.offset};
  return all_zero(record, field.offset + n, field.offset + field.size, "queue name");
}

// No bytes are wrong in it.
bool takes_anything(const isa_field_t &field) {
  constexpr uint32_t kinds = 1u << ISA_KIND_SIGNED | 1u << ISA_KIND_BITS |
                             1u << ISA_KIND_REGISTERS | 1u << ISA_KIND_IMMEDIATES |
                             1u << ISA_KIND_SCALAR | 1u << ISA_KIND_VARIABLE;
  return (kinds >> field.kind & 1) != 0 ||
         (field.kind == ISA_KIND_NUMBER && field.low == 0 && field.high == UINT32_MAX &&
          field.size <= sizeof(field.high));
}

finding_t check_field(const isa_record *record, const isa_field_t &field, isa_engine_t engine,
                      isa_form_t form) {
  const uint8_t *at = bytes_of(record) + field.offset;
  switch (field.kind) {
    case ISA_KIND_NUMBER: {
      const uint64_t n = isa_field_number(record, field);
      return n >= field.low && n <= field.high ? finding_t{}
                                               : finding_t{"value out of range", field.offset};
    }
    case ISA_KIND_REGISTER:
      return at[0] <= field.high ? finding_t{}
                                 : finding_t{"register number out of range", field.offset};
    case ISA_KIND_ENUM:
      return isa_value_name(field.values, at[0]) ? finding_t{}
                                                 : finding_t{"unlisted value", field.offset};
    case ISA_KIND_DTYPE:
      return isa_value_name(field.values, at[0]) ? finding_t{}
                                                 : finding_t{"unlisted data type", field.offset};
    case ISA_KIND_DTYPE_PAIR:
      return isa_value_name(field.values, at[0] & 0xF) && isa_value_name(field.values, at[0] >> 4)
                 ? finding_t{}
                 : finding_t{"unlisted data type", field.offset};
    case ISA_KIND_PATTERN:
      return check_pattern(record, field, engine);
    case ISA_KIND_DATA4:
      return check_data4(record, field);
    case ISA_KIND_ADDR8:
      return check_addr8(record, field, form);
    case ISA_KIND_QUEUE:
      return check_queue(record, field);
    case ISA_KIND_DMA_SIDE:
      return check_dma_side(record, field, form);
    case ISA_KIND_DMA_BOUND:
      return at[0] == 0 || (at[0] & ISA_DMA_BOUND_VALID)
                 ? finding_t{}
                 : finding_t{"bound without its valid bit", field.offset};
    case ISA_KIND_BRANCH:
      return at[0] % ISA_RECORD_BYTES == 0
                 ? finding_t{}
                 : finding_t{"branch offset that is no multiple of 64", field.offset};
    case ISA_KIND_VARIABLE:
    case ISA_KIND_SIGNED:
    case ISA_KIND_BITS:
    case ISA_KIND_REGISTERS:
    case ISA_KIND_IMMEDIATES:
    case ISA_KIND_SCALAR:
      return {};
  }
  return {};
}

// --- fields that depend on each other ---

finding_t check_scalar(uint32_t bits, bool pointer, uint32_t offset, isa_engine_t engine) {
  if (!pointer)
    return {};
  if (bits & ISA_ADDR4_SHAPE_REGISTER)
    return {"shape register in the address of a scalar", offset};
  const char *text = check_addr4(bits, ISA_SPACE_ANY, engine);
  return {text, text ? offset : 0};
}

finding_t check_activate(const isa_activate *r, isa_engine_t engine) {
  const finding_t f = check_scalar(r->scale, r->scale_source == ISA_SOURCE_POINTER,
                                   offsetof(isa_activate, scale), engine);
  return f.text ? f
                : check_scalar(r->bias, r->bias_source == ISA_BIAS_POINTER,
                               offsetof(isa_activate, bias), engine);
}

finding_t check_tensor_scalar(const isa_tensor_scalar *r, isa_engine_t engine) {
  if (r->op0 == ISA_ALU_BYPASS && r->op1 != ISA_ALU_BYPASS)
    return {"second operation after a bypass", offsetof(isa_tensor_scalar, op1)};
  const finding_t f = check_scalar(r->imm0, r->imm0_source == ISA_SOURCE_POINTER,
                                   offsetof(isa_tensor_scalar, imm0), engine);
  return f.text ? f
                : check_scalar(r->imm1, r->imm1_source == ISA_SOURCE_POINTER,
                               offsetof(isa_tensor_scalar, imm1), engine);
}

finding_t check_copy(const isa_copy *r) {
  if (r->in_dtype != r->out_dtype)
    return {"a copy with two data types", offsetof(isa_copy, out_dtype)};
  return {};
}

finding_t check_write(const isa_write *r, const isa_record *record) {
  for (uint32_t i = 0; i < 2; i++) {
    if (r->size[i] != 0)
      continue;
    const auto address = static_cast<uint32_t>(offsetof(isa_write, address) + 8 * i);
    const auto value = static_cast<uint32_t>(offsetof(isa_write, value) + 8 * i);
    finding_t f = all_zero(record, address, address + 8, "address of an absent store");
    if (!f.text)
      f = all_zero(record, value, value + 8, "value of an absent store");
    if (f.text)
      return f;
  }
  return {};
}

finding_t check_move(const isa_move *r, const isa_record *record) {
  constexpr uint32_t src = offsetof(isa_move, src), dst = offsetof(isa_move, dst),
                     immediate = offsetof(isa_move, immediate);
  const bool immediates = r->source == 1;
  finding_t f = all_zero(record, src + (immediates ? 0 : r->count), src + 8, "unused register");
  if (!f.text)
    f = all_zero(record, dst + r->count, dst + 8, "unused register");
  if (!f.text)
    f = all_zero(record, immediate + (immediates ? 4u * r->count : 0), ISA_RECORD_BYTES,
                 "unused immediate");
  return f;
}

finding_t check_branch(const isa_compare_branch *r) {
  if (r->compare != ISA_BRANCH_ALWAYS && r->dtype == ISA_DTYPE_INVALID)
    return {"comparison without a data type", offsetof(isa_compare_branch, dtype)};
  return {};
}

finding_t check_tensor_move(const isa_tensor_move *r, const isa_record *record) {
  const uint32_t n = r->count[0] * r->count[1], size = r->kind == 1 ? 4 : 1;
  constexpr uint32_t room = sizeof(r->reg), reg = offsetof(isa_tensor_move, reg);
  if (n * size > room)
    return {"more elements than registers or immediates", offsetof(isa_tensor_move, count)};
  return all_zero(record, reg + n * size, ISA_RECORD_BYTES, "unused register or immediate");
}

finding_t check_sem_range_clear(const isa_sem_range_clear *r, const isa_record *record) {
  if (r->mode == 2)
    return all_zero(record, offsetof(isa_sem_range_clear, first), 15, "range beside a mask");
  if (r->first > r->last)
    return {"first behind last", offsetof(isa_sem_range_clear, first)};
  return all_zero(record, offsetof(isa_sem_range_clear, mask), ISA_RECORD_BYTES,
                  "mask beside a range");
}

finding_t check_whole(const isa_record *record, isa_engine_t engine) {
  switch (record->h.opcode) {
    case ISA_ACTIVATE:
      return check_activate(as<isa_activate>(record), engine);
    case ISA_TENSOR_SCALAR:
      return check_tensor_scalar(as<isa_tensor_scalar>(record), engine);
    case ISA_COPY:
      return check_copy(as<isa_copy>(record));
    case ISA_WRITE:
      return check_write(as<isa_write>(record), record);
    case ISA_MOVE:
      return check_move(as<isa_move>(record), record);
    case ISA_COMPARE_BRANCH:
      return check_branch(as<isa_compare_branch>(record));
    case ISA_TENSOR_LOAD:
    case ISA_TENSOR_STORE:
    case ISA_PSEUDO_TENSOR_LOAD:
    case ISA_PSEUDO_TENSOR_STORE:
      return check_tensor_move(as<isa_tensor_move>(record), record);
    case ISA_SEM_RANGE_CLEAR:
      return check_sem_range_clear(as<isa_sem_range_clear>(record), record);
    case ISA_PSEUDO_DMA_BOUND:
      return all_zero(record, 1, sizeof(isa_header), "header of a bound record");
    default:
      return {};
  }
}

// What check_record looks at, made once per opcode from the table.
struct rules_t {
  const isa_field_t *fields[ISA_RECORD_BYTES];  // those that not all bytes suit
  uint32_t count;
  uint64_t spare[ISA_RECORD_BYTES / sizeof(uint64_t)];  // ones: bytes that belong to no field
};

std::array<rules_t, 256> make_rules() {
  std::array<rules_t, 256> all{};
  for (const isa_opcode_info_t &info : isa_opcode_infos()) {
    rules_t &rules = all[info.opcode];
    uint8_t spare[ISA_RECORD_BYTES];
    memset(spare, 0xFF, sizeof(spare));
    spare[0] = 0;  // the opcode
    for (const auto fields : {isa_header_fields(), info.fields}) {
      for (const isa_field_t &field : fields) {
        memset(spare + field.offset, 0, field.size);
        if (!takes_anything(field))
          rules.fields[rules.count++] = &field;
      }
    }
    memcpy(rules.spare, spare, sizeof(spare));
  }
  return all;
}

const rules_t &rules_of(uint8_t opcode) {
  static const std::array<rules_t, 256> rules = make_rules();
  return rules[opcode];
}

// First byte that belongs to no field and is not zero; ISA_RECORD_BYTES: there is none.
uint32_t first_spare(const isa_record *record, const rules_t &rules) {
  for (uint32_t i = 0; i < std::size(rules.spare); i++) {
    uint64_t word;
    memcpy(&word, bytes_of(record) + 8 * i, sizeof(word));
    if ((word & rules.spare[i]) != 0)
      return 8 * i + static_cast<uint32_t>(std::countr_zero(word & rules.spare[i])) / 8;
  }
  return ISA_RECORD_BYTES;
}

finding_t check_record(const isa_record *record, isa_engine_t engine, isa_form_t form) {
  const isa_opcode_info_t *info = isa_opcode_info(record->h.opcode);
  if (!info)
    return {"unknown opcode", 0};
  if (engine >= ISA_ENGINE_COUNT || !(info->engines & isa_engine_bit(engine)))
    return {"opcode of another engine", 0};
  if (!(info->forms & 1u << form))
    return {form == ISA_FORM_IMAGE ? "pseudo record in a loaded image"
                                   : "record that only a loaded image has",
            0};
  const rules_t &rules = rules_of(record->h.opcode);
  for (uint32_t i = 0; i < rules.count; i++) {
    const finding_t f = check_field(record, *rules.fields[i], engine, form);
    if (f.text)
      return f;
  }
  const uint32_t spare = first_spare(record, rules);
  if (spare < ISA_RECORD_BYTES)
    return {"byte without a field is not zero", spare};
  return check_whole(record, engine);
}

}  // namespace

const char *isa_engine_name(uint32_t engine) {
  static constexpr const char *names[ISA_ENGINE_COUNT] = {"pe", "act", "pool", "dve", "sp"};
  return engine < ISA_ENGINE_COUNT ? names[engine] : "?";
}

const char *isa_dtype_name(uint8_t dtype) {
  return isa_value_name(isa_dtype_values(), dtype);
}

const char *isa_opcode_name(uint8_t opcode) {
  const isa_opcode_info_t *info = isa_opcode_info(opcode);
  return info ? info->name : nullptr;
}

bool isa_is_executable(uint8_t opcode, isa_engine_t engine) {
  const isa_opcode_info_t *info = isa_opcode_info(opcode);
  return info && engine < ISA_ENGINE_COUNT && (info->engines & isa_engine_bit(engine));
}

const char *isa_check(const isa_record *record, isa_engine_t engine, isa_form_t form,
                      uint32_t *offset) {
  const finding_t f = check_record(record, engine, form);
  if (f.text && offset)
    *offset = f.offset;
  return f.text;
}
