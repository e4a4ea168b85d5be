// SPDX-License-Identifier: Apache-2.0
#include "isa/isa_parse.h"

#include <charconv>
#include <cstring>

#include "isa/isa_syntax.h"

namespace {

constexpr uint64_t U8 = 0xFF, U16 = 0xFFFF, U32 = 0xFFFFFFFF;

uint8_t *bytes_at(isa_parse_t *p, uint32_t offset) {
  return reinterpret_cast<uint8_t *>(&p->record) + offset;
}

void put(isa_parse_t *p, uint32_t offset, uint32_t size, uint64_t value) {
  for (uint32_t i = 0; i < size; i++)
    bytes_at(p, offset)[i] = static_cast<uint8_t>(value >> 8 * i);
}

// --- lists, addresses, types ---

// "(a,b)" into `size`-byte numbers at `offset`; at most `max` of them.
bool parse_list(isa_parse_t *p, uint32_t offset, uint32_t size, uint32_t max, bool is_signed,
                uint32_t *count) {
  isa_cursor_t *c = p->cursor;
  const uint64_t high = size >= 4 ? U32 : size == 2 ? U16 : U8;
  const int64_t low = is_signed ? -static_cast<int64_t>(high / 2) - 1 : 0;
  *count = 0;
  if (!isa_cursor_expect(c, "("))
    return false;
  do {
    uint64_t n = 0;
    if (*count == max)
      return isa_cursor_fail(c, "more than " + std::to_string(max) + " values");
    if (!isa_cursor_number(c, low, is_signed ? high / 2 : high, &n))
      return false;
    put(p, offset + size * (*count)++, size, n);
  } while (isa_cursor_accept(c, ","));
  return isa_cursor_expect(c, ")");
}

bool parse_registers(isa_parse_t *p, uint32_t offset, uint32_t max, uint32_t *count) {
  isa_cursor_t *c = p->cursor;
  *count = 0;
  if (!isa_cursor_expect(c, "("))
    return false;
  do {
    uint64_t n = 0;
    if (*count == max)
      return isa_cursor_fail(c, "more than " + std::to_string(max) + " registers");
    if (!isa_cursor_tagged(c, "r", U8, &n))
      return false;
    put(p, offset + (*count)++, 1, n);
  } while (isa_cursor_accept(c, ","));
  return isa_cursor_expect(c, ")");
}

// What surrounds a pattern: "step(1,2) count(3,4)". Dimensions left out: `pad`, 1.
bool parse_dimensions(isa_parse_t *p, uint32_t step_at, uint32_t step_size, uint32_t count_at,
                      uint32_t dims, int64_t pad) {
  for (uint32_t d = 0; d < dims; d++) {
    put(p, step_at + step_size * d, step_size, static_cast<uint64_t>(pad));
    put(p, count_at + 2 * d, 2, 1);
  }
  uint32_t n = 0;
  if (isa_cursor_accept(p->cursor, "step") && !parse_list(p, step_at, step_size, dims, true, &n))
    return false;
  return !isa_cursor_accept(p->cursor, "count") || parse_list(p, count_at, 2, dims, false, &n);
}

// "[p3, 0x4000]" behind sbuf or psum.
bool parse_place(isa_parse_t *p, uint32_t pitch, uint64_t partitions, uint64_t *flat) {
  isa_cursor_t *c = p->cursor;
  uint64_t partition = 0, byte = 0;
  if (!isa_cursor_expect(c, "[") || !isa_cursor_tagged(c, "p", partitions - 1, &partition) ||
      !isa_cursor_expect(c, ",") || !isa_cursor_number(c, 0, pitch - 1, &byte) ||
      !isa_cursor_expect(c, "]"))
    return false;
  *flat = partition * pitch + byte;
  return true;
}

bool starts_addr4(isa_cursor_t *c) {
  const std::string_view word = isa_cursor_peek_word(c);
  return word == "sbuf" || word == "psum" || c->line.substr(c->at).starts_with("[");
}

bool parse_addr4(isa_parse_t *p, uint32_t offset) {
  isa_cursor_t *c = p->cursor;
  uint64_t addr4 = 0;
  if (isa_cursor_accept(c, "[")) {
    if (!isa_cursor_tagged(c, "r", U8, &addr4) || !isa_cursor_expect(c, "]"))
      return false;
    addr4 |= ISA_ADDR4_REGISTER;
  } else if (isa_cursor_accept(c, "sbuf")) {
    if (!parse_place(p, ISA_SBUF_PITCH, ISA_PSUM_BASE / ISA_SBUF_PITCH, &addr4))
      return false;
  } else if (isa_cursor_accept(c, "psum")) {
    if (!parse_place(p, ISA_PSUM_PITCH, ISA_PSUM_BASE / ISA_PSUM_PITCH, &addr4))
      return false;
    addr4 += ISA_PSUM_BASE;
  } else {
    return isa_cursor_fail(c, "expected sbuf[p0, 0x0], psum[p0, 0x0] or [r0]");
  }
  if (isa_cursor_accept(c, "shape"))
    addr4 |= ISA_ADDR4_SHAPE_REGISTER;
  put(p, offset, 4, addr4);
  return true;
}

bool find_value(std::span<const isa_value_t> values, std::string_view name, uint8_t *out) {
  for (const isa_value_t &v : values) {
    if (name == v.name) {
      *out = v.value;
      return true;
    }
  }
  return false;
}

bool parse_enum(isa_parse_t *p, const isa_field_t &field, const char *what) {
  isa_cursor_t *c = p->cursor;
  const size_t begin = c->at;
  std::string_view name;
  if (!isa_cursor_word(c, &name))
    return false;
  if (find_value(field.values, name, bytes_at(p, field.offset)))
    return true;
  std::string text = std::string("expected ") + what;
  for (const isa_value_t &v : field.values)
    text += std::string(&v == field.values.data() ? ": " : ", ") + v.name;
  return isa_cursor_fail_at(c, begin, text);
}

// The data type that belongs to a field.
bool parse_type(isa_parse_t *p, const isa_field_t &owner) {
  if (!owner.type_at)
    return true;
  const isa_field_t *type = isa_field_at(p->record.h.opcode, owner.type_at);
  p->given[type->offset] = p->cursor->at + 1;
  const uint8_t before = *bytes_at(p, type->offset);
  isa_cursor_blanks(p->cursor);
  if (!parse_enum(p, *type, "a data type"))
    return false;
  if (type->kind == ISA_KIND_DTYPE_PAIR) {
    const auto mask = static_cast<uint8_t>(0xF << owner.type_shift);
    uint8_t *byte = bytes_at(p, type->offset);
    *byte = static_cast<uint8_t>((before & ~mask) | *byte << owner.type_shift);
  }
  return true;
}

bool parse_pattern(isa_parse_t *p, const isa_field_t &field) {
  const uint32_t dims = (field.size - 4u) / 4;
  return parse_addr4(p, field.offset) &&
         parse_dimensions(p, field.offset + 4u, 2, field.offset + 4u + 2 * dims, dims,
                          isa_syntax_pad_step(p->record.h.opcode)) &&
         parse_type(p, field);
}

bool parse_data4(isa_parse_t *p, const isa_field_t &field) {
  uint64_t base = 0;
  if (!isa_cursor_number(p->cursor, INT32_MIN, INT32_MAX, &base))
    return false;
  put(p, field.offset, 4, base);
  return parse_dimensions(p, field.offset + static_cast<uint32_t>(offsetof(isa_data4, step)), 2,
                          field.offset + static_cast<uint32_t>(offsetof(isa_data4, count)), 4, 1);
}

// fp32 bits: 0x... as they are, else a decimal number.
bool parse_fp32(isa_parse_t *p, uint32_t offset) {
  isa_cursor_t *c = p->cursor;
  isa_cursor_blanks(c);
  const std::string_view rest = c->line.substr(c->at);
  if (rest.starts_with("0x")) {
    uint64_t bits = 0;
    if (!isa_cursor_number(c, 0, U32, &bits))
      return false;
    put(p, offset, 4, bits);
    return true;
  }
  float value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc())
    return isa_cursor_fail(c, "expected a number or an address");
  c->at += static_cast<size_t>(end - rest.data());
  memcpy(bytes_at(p, offset), &value, sizeof(value));
  return true;
}

bool parse_scalar(isa_parse_t *p, const isa_field_t &field) {
  isa_cursor_t *c = p->cursor;
  isa_cursor_blanks(c);
  if (!field.source_at || !starts_addr4(c))
    return parse_fp32(p, field.offset) && parse_type(p, field);
  const isa_field_t *source = isa_field_at(p->record.h.opcode, field.source_at);
  find_value(source->values, "pointer", bytes_at(p, source->offset));
  return parse_addr4(p, field.offset) && parse_type(p, field);
}

// --- device memory ---

// "sbuf[p0, 0x0]" or "x+0x100".
bool parse_variable_place(isa_parse_t *p, uint32_t *id, uint64_t *offset) {
  isa_cursor_t *c = p->cursor;
  *offset = 0;
  if (isa_cursor_peek_word(c) == "sbuf") {
    *id = 0;
    isa_cursor_accept(c, "sbuf");
    return parse_place(p, ISA_SBUF_PITCH, (U32 + 1) / ISA_SBUF_PITCH, offset);
  }
  if (!isa_parse_variable(c, p->names, id))
    return false;
  return !isa_cursor_accept(c, "+") || isa_cursor_number(c, 0, U32, offset);
}

// "[1]=y+0x8000" or "[1]+r9" behind table. The name is for the reader: it has to agree.
bool parse_table(isa_parse_t *p, isa_addr8 *a) {
  isa_cursor_t *c = p->cursor;
  uint64_t index = 0, n = 0;
  if (!isa_cursor_expect(c, "[") || !isa_cursor_number(c, 0, 0xFFFFFF, &index) ||
      !isa_cursor_expect(c, "]"))
    return false;
  if (isa_cursor_accept(c, "=")) {
    const size_t begin = c->at;
    uint32_t id = 0;
    if (!isa_parse_variable(c, p->names, &id))
      return false;
    if (index >= p->names->table.size() || p->names->table[index] != id)
      return isa_cursor_fail_at(c, begin,
                                "entry " + std::to_string(index) + " of the table is not this one");
  }
  isa_addr8_set_id(a, static_cast<uint32_t>(index));
  a->mode = ISA_ADDR8_TABLE;
  if (isa_cursor_accept(c, "+")) {
    if (isa_cursor_is_tagged(c, "r")) {
      a->mode = ISA_ADDR8_TABLE_REGISTER;
      if (!isa_cursor_tagged(c, "r", 63, &n))
        return false;
    } else if (!isa_cursor_number(c, 0, U32, &n)) {
      return false;
    }
  }
  a->offset = static_cast<uint32_t>(n);
  return true;
}

bool parse_addr8(isa_parse_t *p, uint32_t at) {
  isa_cursor_t *c = p->cursor;
  isa_addr8 a{};
  if (isa_cursor_accept(c, "@")) {
    uint64_t address = 0;
    if (!isa_cursor_number(c, 0, (1ull << 56) - 1, &address))
      return false;
    isa_addr8_set_device(&a, address);
  } else if (isa_cursor_peek_word(c) == "table") {
    isa_cursor_accept(c, "table");
    if (!parse_table(p, &a))
      return false;
  } else {
    const size_t begin = c->at;
    uint32_t id = 0;
    uint64_t offset = 0;
    if (!parse_variable_place(p, &id, &offset))
      return false;
    if (id > 0xFFFFFF)
      return isa_cursor_fail_at(c, begin, "variable id above 0xFFFFFF");
    isa_addr8_set_id(&a, id);
    a.offset = static_cast<uint32_t>(offset);
    a.mode = ISA_ADDR8_VARIABLE;
  }
  memcpy(bytes_at(p, at), &a, sizeof(a));
  return true;
}

bool parse_dma_side(isa_parse_t *p, const isa_field_t &field) {
  isa_cursor_t *c = p->cursor;
  uint64_t bytes = 0;
  if (!parse_addr8(p, field.offset) ||
      !parse_dimensions(p, field.offset + 8u, 4, field.offset + 16u, 2, 1) ||
      !isa_cursor_expect(c, "bytes") || !isa_cursor_expect(c, "(") ||
      !isa_cursor_number(c, 0, U16, &bytes) || !isa_cursor_expect(c, ")"))
    return false;
  put(p, field.offset + 20u, 2, bytes);
  return parse_type(p, field);
}

bool parse_bound(isa_parse_t *p, const isa_field_t &field) {
  uint64_t n = 0;
  if (!isa_cursor_tagged(p->cursor, "r", ISA_DMA_BOUND_REGISTER, &n))
    return false;
  n |= ISA_DMA_BOUND_VALID;
  if (isa_cursor_accept(p->cursor, "skip"))
    n |= ISA_DMA_BOUND_SKIP;
  put(p, field.offset, 1, n);
  return true;
}

// --- fields ---

bool parse_number(isa_parse_t *p, const isa_field_t &field, bool is_signed) {
  const uint64_t all = field.size == 8 ? UINT64_MAX : (1ull << 8 * field.size) - 1;
  uint64_t n = 0;
  if (!isa_cursor_number(p->cursor, is_signed ? -static_cast<int64_t>(all / 2) - 1 : 0,
                         is_signed ? all / 2 : all, &n))
    return false;
  put(p, field.offset, field.size, n);
  return true;
}

bool parse_branch(isa_parse_t *p, const isa_field_t &field) {
  isa_cursor_t *c = p->cursor;
  isa_cursor_blanks(c);
  const std::string_view word = isa_cursor_peek_word(c);
  if (word.empty() || !isa_syntax_starts_name(word[0]))
    return parse_number(p, field, true);
  p->label = word;
  p->label_at = c->at;
  c->at += word.size();
  return true;
}

bool parse_queue(isa_parse_t *p, const isa_field_t &field) {
  std::string name;
  const size_t begin = p->cursor->at;
  if (!isa_cursor_string(p->cursor, &name))
    return false;
  if (name.size() >= field.size)
    return isa_cursor_fail_at(p->cursor, begin,
                              "name of more than " + std::to_string(field.size - 1) + " bytes");
  memcpy(bytes_at(p, field.offset), name.data(), name.size());
  return true;
}

// How many elements a list may have is known when the whole line has been read.
bool note_list(isa_parse_t *p, const isa_field_t &field, size_t begin, uint32_t count) {
  p->lists.push_back({&field, begin, count});
  return true;
}

}  // namespace

bool isa_parse_field(isa_parse_t *p, const isa_field_t &field) {
  isa_cursor_t *c = p->cursor;
  isa_cursor_blanks(c);
  const size_t begin = c->at;
  uint64_t n = 0;
  uint32_t count = 0;
  switch (field.kind) {
    case ISA_KIND_NUMBER:
    case ISA_KIND_BITS:
      return parse_number(p, field, false);
    case ISA_KIND_SIGNED:
      return parse_number(p, field, true);
    case ISA_KIND_ENUM:
      return parse_enum(p, field, "one of these");
    case ISA_KIND_DTYPE:
      return parse_enum(p, field, "a data type");
    case ISA_KIND_DTYPE_PAIR:
      return isa_cursor_fail(c, "types are written behind their operands");
    case ISA_KIND_REGISTER:
      if (!isa_cursor_tagged(c, "r", U8, &n))
        return false;
      put(p, field.offset, 1, n);
      return true;
    case ISA_KIND_REGISTERS:
      return parse_registers(p, field.offset, field.size, &count) &&
             note_list(p, field, begin, count);
    case ISA_KIND_IMMEDIATES:
      return parse_list(p, field.offset, 4, field.size / 4, false, &count) &&
             note_list(p, field, begin, count);
    case ISA_KIND_SCALAR:
      return parse_scalar(p, field);
    case ISA_KIND_PATTERN:
      return parse_pattern(p, field);
    case ISA_KIND_DATA4:
      return parse_data4(p, field);
    case ISA_KIND_ADDR8:
      return parse_addr8(p, field.offset);
    case ISA_KIND_VARIABLE: {
      uint32_t id = 0;
      if (!parse_variable_place(p, &id, &n))
        return false;
      put(p, field.offset, 8, n << 32 | id);
      return true;
    }
    case ISA_KIND_DMA_SIDE:
      return parse_dma_side(p, field);
    case ISA_KIND_DMA_BOUND:
      return parse_bound(p, field);
    case ISA_KIND_BRANCH:
      return parse_branch(p, field);
    case ISA_KIND_QUEUE:
      return parse_queue(p, field);
  }
  return false;
}

bool isa_parse_variable(isa_cursor_t *c, const isa_names_t *names, uint32_t *id) {
  isa_cursor_blanks(c);
  const size_t begin = c->at;
  if (isa_cursor_is_tagged(c, "var")) {
    uint64_t n = 0;
    if (!isa_cursor_tagged(c, "var", U32, &n))
      return false;
    *id = static_cast<uint32_t>(n);
    return true;
  }
  std::string name;
  if (c->line.substr(c->at).starts_with("\"")) {
    if (!isa_cursor_string(c, &name))
      return false;
  } else {
    std::string_view word;
    if (!isa_cursor_word(c, &word))
      return false;
    name = word;
  }
  const auto found = names->ids.find(name);
  if (found == names->ids.end())
    return isa_cursor_fail_at(c, begin, "no variable of that name; '.var NAME ID' makes one known");
  *id = found->second;
  return true;
}
