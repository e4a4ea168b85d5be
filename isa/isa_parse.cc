// SPDX-License-Identifier: Apache-2.0
#include "isa/isa_parse.h"

#include <cstring>

#include "isa/isa_syntax.h"

namespace {

// Where a block of wait, update and values lies: the header, or the second block of 0xA0.
struct block_t {
  uint32_t wait_mode, update_mode;  // each followed by its index
  uint32_t wait_value, update_value;
};
constexpr block_t in_header = {offsetof(isa_header, wait_mode), offsetof(isa_header, update_mode),
                               offsetof(isa_header, value), offsetof(isa_header, value)};
constexpr block_t second_block = {
    offsetof(isa_event_semaphore, wait_mode), offsetof(isa_event_semaphore, update_mode),
    offsetof(isa_event_semaphore, wait_value), offsetof(isa_event_semaphore, update_value)};

uint8_t *bytes_at(isa_parse_t *p, uint32_t offset) {
  return reinterpret_cast<uint8_t *>(&p->record) + offset;
}

bool note_given(isa_parse_t *p, uint32_t offset, size_t begin) {
  if (p->given[offset])
    return isa_cursor_fail_at(p->cursor, begin, "given twice");
  p->given[offset] = begin + 1;
  return true;
}

// A number, or a register when there may be one: then the mode says so.
bool parse_value(isa_parse_t *p, uint32_t offset, uint8_t *mode, uint8_t register_bit) {
  isa_cursor_t *c = p->cursor;
  isa_cursor_blanks(c);
  const size_t begin = c->at;
  uint64_t n = 0;
  if (isa_cursor_is_tagged(c, "r")) {
    *mode |= register_bit;
    if (!isa_cursor_tagged(c, "r", UINT32_MAX, &n))
      return false;
  } else if (!isa_cursor_number(c, 0, UINT32_MAX, &n)) {
    return false;
  }
  const auto value = static_cast<uint32_t>(n);
  uint32_t before = 0;
  memcpy(&before, bytes_at(p, offset), sizeof(before));
  if (p->given[offset] && before != value)
    return isa_cursor_fail_at(
        c, begin,
        "wait and update share one value, which is " + std::to_string(before) + " already");
  p->given[offset] = begin + 1;
  memcpy(bytes_at(p, offset), &value, sizeof(value));
  return true;
}

bool put_mode(isa_parse_t *p, uint32_t offset, size_t begin, uint8_t mode, uint64_t index) {
  if (!note_given(p, offset, begin))
    return false;
  *bytes_at(p, offset) = mode;
  *bytes_at(p, offset + 1) = static_cast<uint8_t>(index);
  return true;
}

// "event3==1->0" behind the index.
bool parse_event_wait(isa_cursor_t *c, uint8_t *mode) {
  struct form_t {
    const char *text;
    uint8_t mode;
  };
  for (const form_t &form :
       {form_t{"==1->0", ISA_WAIT_EVENT_SET_CLEAR}, form_t{"==0->1", ISA_WAIT_EVENT_CLEAR_SET},
        form_t{"==1", ISA_WAIT_EVENT_SET}, form_t{"==0", ISA_WAIT_EVENT_CLEAR}}) {
    if (isa_cursor_accept(c, form.text)) {
      *mode = form.mode;
      return true;
    }
  }
  return isa_cursor_fail(c, "expected ==1, ==0, ==1->0 or ==0->1");
}

bool parse_sem_wait(isa_cursor_t *c, uint8_t *mode) {
  struct form_t {
    const char *text;
    uint8_t mode;
  };
  for (const form_t &form :
       {form_t{"==", ISA_WAIT_SEM_EQ}, form_t{"<=", ISA_WAIT_SEM_LE}, form_t{">=", ISA_WAIT_SEM_GE},
        form_t{"<", ISA_WAIT_SEM_LT}, form_t{">", ISA_WAIT_SEM_GT}}) {
    if (isa_cursor_accept(c, form.text)) {
      *mode = form.mode;
      return true;
    }
  }
  return isa_cursor_fail(c, "expected ==, <, <=, > or >=");
}

bool parse_wait(isa_parse_t *p, size_t begin, const block_t &block) {
  isa_cursor_t *c = p->cursor;
  uint64_t index = 0;
  uint8_t mode = 0;
  if (isa_cursor_is_tagged(c, "event")) {
    return isa_cursor_tagged(c, "event", 255, &index) && parse_event_wait(c, &mode) &&
           put_mode(p, block.wait_mode, begin, mode, index);
  }
  if (!isa_cursor_is_tagged(c, "sem"))
    return isa_cursor_fail(c, "expected a semaphore or an event, sem5 or event3");
  return isa_cursor_tagged(c, "sem", 255, &index) && parse_sem_wait(c, &mode) &&
         parse_value(p, block.wait_value, &mode, ISA_WAIT_REGISTER) &&
         put_mode(p, block.wait_mode, begin, mode, index);
}

bool parse_sem_change(isa_parse_t *p, uint32_t value_at, uint8_t *mode) {
  isa_cursor_t *c = p->cursor;
  if (isa_cursor_accept(c, "+="))
    *mode = ISA_UPDATE_SEM_ADD;
  else if (isa_cursor_accept(c, "-="))
    *mode = ISA_UPDATE_SEM_SUB;
  else if (isa_cursor_accept(c, ":="))
    *mode = ISA_UPDATE_SEM_WRITE;
  else
    return isa_cursor_fail(c, "expected +=, -= or :=");
  return parse_value(p, value_at, mode, ISA_UPDATE_REGISTER);
}

bool parse_update(isa_parse_t *p, size_t begin, const block_t &block) {
  isa_cursor_t *c = p->cursor;
  uint64_t index = 0;
  uint8_t mode = 0;
  const uint8_t when = isa_cursor_peek_word(c) == "read" ? 0 : ISA_UPDATE_COMPLETE;
  if (!when)
    isa_cursor_accept(c, "read");
  const bool plus = isa_cursor_accept(c, "+"), minus = !plus && isa_cursor_accept(c, "-");
  if (plus || minus) {
    if (!isa_cursor_tagged(c, "sem", 255, &index))
      return false;
    mode = plus ? ISA_UPDATE_SEM_INC : ISA_UPDATE_SEM_DEC;
  } else if (isa_cursor_is_tagged(c, "event")) {
    if (!isa_cursor_tagged(c, "event", 255, &index))
      return false;
    if (isa_cursor_accept(c, ":=1"))
      mode = ISA_UPDATE_EVENT_SET;
    else if (isa_cursor_accept(c, ":=0"))
      mode = ISA_UPDATE_EVENT_CLEAR;
    else
      return isa_cursor_fail(c, "expected :=1 or :=0");
  } else if (!isa_cursor_tagged(c, "sem", 255, &index) ||
             !parse_sem_change(p, block.update_value, &mode)) {
    return false;
  }
  return put_mode(p, block.update_mode, begin, mode | when, index);
}

// A field of the record, then one of the header. Inner ones are written elsewhere.
const isa_field_t *find_field(uint8_t opcode, std::string_view name) {
  for (const auto fields : {isa_opcode_info(opcode)->fields, isa_header_fields()}) {
    for (const isa_field_t &field : fields) {
      if (!field.inner && name == field.name)
        return &field;
    }
  }
  return nullptr;
}

// "src, dst, op, channels": what a line of this opcode may give by name. The header's own fields
// are rare, and left out.
std::string field_names(uint8_t opcode) {
  std::string names;
  for (const isa_field_t &field : isa_opcode_info(opcode)->fields) {
    if (!field.inner)
      names += (names.empty() ? "" : ", ") + std::string(field.name);
  }
  return names.empty() ? "no fields" : names;
}

std::string opcode_names() {
  std::string names;
  for (const isa_opcode_info_t &info : isa_opcode_infos())
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  return names;
}

bool parse_item(isa_parse_t *p) {
  isa_cursor_t *c = p->cursor;
  const std::string_view word = isa_cursor_peek_word(c);
  const size_t begin = c->at;
  const bool has_second = p->record.h.opcode == ISA_EVENT_SEMAPHORE;
  if (word.empty() || word == "read" || isa_cursor_is_tagged(c, "sem") ||
      isa_cursor_is_tagged(c, "event")) {
    if (word.empty() && !c->line.substr(begin).starts_with("+") &&
        !c->line.substr(begin).starts_with("-"))
      return isa_cursor_fail(c, "expected an operand, a wait or an update");
    return parse_update(p, begin, in_header);
  }
  c->at += word.size();
  if (word == "wait")
    return parse_wait(p, begin, in_header);
  if (word == "wait2" && has_second)
    return parse_wait(p, begin, second_block);
  if (word == "update2" && has_second)
    return parse_update(p, begin, second_block);
  const isa_field_t *field = find_field(p->record.h.opcode, word);
  if (!field)
    return isa_cursor_fail_at(c, begin,
                              std::string(isa_opcode_name(p->record.h.opcode)) + " has no '" +
                                  std::string(word) + "'; it has " +
                                  field_names(p->record.h.opcode));
  return note_given(p, field->offset, begin) && isa_cursor_expect(c, "=") &&
         isa_parse_field(p, *field);
}

// Values stand beside scalars, not behind them, unless the line says otherwise.
void set_defaults(isa_parse_t *p) {
  for (const isa_field_t &field : isa_opcode_info(p->record.h.opcode)->fields) {
    if (!field.source_at)
      continue;
    const isa_field_t *source = isa_field_at(p->record.h.opcode, field.source_at);
    for (const isa_value_t &v : source->values) {
      if (std::string_view(v.name) == "immediate")
        *bytes_at(p, source->offset) = v.value;
    }
  }
}

bool check_lists(isa_parse_t *p) {
  if (p->record.h.opcode == ISA_MOVE) {
    for (const isa_parse_list_t &list : p->lists) {
      if (list.field->offset == offsetof(isa_move, dst))
        *bytes_at(p, offsetof(isa_move, count)) = static_cast<uint8_t>(list.count);
      if (list.field->kind == ISA_KIND_IMMEDIATES)
        *bytes_at(p, offsetof(isa_move, source)) = 1;
    }
  }
  for (const isa_parse_list_t &list : p->lists) {
    const uint32_t want = isa_syntax_list_length(p->record, *list.field);
    // The mask's last words may be left out, and may be zero.
    if (p->record.h.opcode != ISA_SEM_RANGE_CLEAR && list.count != want)
      return isa_cursor_fail_at(p->cursor, list.begin,
                                "the record has " + std::to_string(want) + " of these, not " +
                                    std::to_string(list.count));
  }
  return true;
}

}  // namespace

bool isa_parse_record(isa_parse_t *p) {
  isa_cursor_t *c = p->cursor;
  const std::string_view word = isa_cursor_peek_word(c);
  const isa_opcode_info_t *found = nullptr;
  for (const isa_opcode_info_t &info : isa_opcode_infos()) {
    if (word == info.name)
      found = &info;
  }
  if (!found)
    return isa_cursor_fail(
        c, "unknown instruction '" + std::string(word) + "', not one of " + opcode_names());
  c->at += word.size();
  p->record.h.opcode = found->opcode;
  p->record.h.words = isa_syntax_words(found->opcode);
  set_defaults(p);
  if (isa_cursor_at_end(c))
    return true;
  do {
    if (!parse_item(p))
      return false;
  } while (isa_cursor_accept(c, ","));
  if (!isa_cursor_at_end(c))
    return isa_cursor_fail(c, "expected ',' or the end of the line");
  return check_lists(p);
}
