// SPDX-License-Identifier: Apache-2.0
#include "isa/isa_syntax.h"

#include <cstring>

namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool isa_syntax_is_reserved(std::string_view name) {
  return name == "sbuf" || name == "psum" || name == "table" ||
         (name.starts_with("var") && all_digits(name.substr(3))) ||
         (name.starts_with("r") && all_digits(name.substr(1)));
}

void isa_names_add(isa_names_t *names, uint32_t id, std::string_view name) {
  names->variables[id] = name;
  names->ids.emplace(name, id);
}

uint8_t isa_syntax_words(uint8_t opcode) {
  return opcode == ISA_PSEUDO_DMA_BOUND ? 0 : ISA_HEADER_WORDS;
}

int64_t isa_syntax_pad_step(uint8_t opcode) {
  return opcode == ISA_LDWEIGHTS || opcode == ISA_MATMUL ? 0 : 1;
}

bool isa_syntax_is_default(const isa_field_t &field) {
  const char *zero = isa_value_name(field.values, 0);
  if (!zero)
    return false;
  for (std::string_view quiet : {"none", "idle", "0", "immediate", "absent"}) {
    if (quiet == zero)
      return true;
  }
  return false;
}

bool isa_syntax_is_pointer(const isa_record &record, const isa_field_t &field) {
  if (!field.source_at)
    return false;
  const isa_field_t *source = isa_field_at(record.h.opcode, field.source_at);
  const char *name = isa_value_name(source->values, isa_field_number(&record, *source));
  return name && std::string_view(name) == "pointer";
}

uint32_t isa_syntax_list_length(const isa_record &record, const isa_field_t &field) {
  if (record.h.opcode == ISA_SEM_RANGE_CLEAR) {
    isa_sem_range_clear r;
    memcpy(&r, &record, sizeof(r));
    uint32_t n = sizeof(r.mask);
    while (n > 0 && r.mask[n - 1] == 0)
      n--;
    return (n + 3) / 4;
  }
  if (record.h.opcode == ISA_MOVE) {
    isa_move r;
    memcpy(&r, &record, sizeof(r));
    if (field.offset == offsetof(isa_move, dst))
      return r.count;
    return (field.kind == ISA_KIND_IMMEDIATES) == (r.source == 1) ? r.count : 0;
  }
  isa_tensor_move r;
  memcpy(&r, &record, sizeof(r));
  return (field.kind == ISA_KIND_IMMEDIATES) == (r.kind == 1) ? r.count[0] * r.count[1] : 0;
}

bool isa_syntax_wait_has_value(uint8_t mode) {
  const uint8_t base = mode & 0x7F;
  return base >= ISA_WAIT_SEM_EQ && base <= ISA_WAIT_SEM_GE;
}

bool isa_syntax_update_has_value(uint8_t mode) {
  const uint8_t base = mode & 0xF;
  return base == ISA_UPDATE_SEM_ADD || base == ISA_UPDATE_SEM_SUB || base == ISA_UPDATE_SEM_WRITE;
}

bool isa_syntax_header_shows(const isa_header &h, uint32_t offset) {
  switch (offset) {
    case offsetof(isa_header, wait_index):
      return h.wait_mode != ISA_WAIT_NONE;
    case offsetof(isa_header, update_index):
      return h.update_mode != ISA_UPDATE_NONE;
    case offsetof(isa_header, value):
      return isa_syntax_wait_has_value(h.wait_mode) || isa_syntax_update_has_value(h.update_mode);
    default:
      return false;
  }
}

bool isa_syntax_block2_shows(const isa_record &record, uint32_t offset) {
  if (record.h.opcode != ISA_EVENT_SEMAPHORE)
    return false;
  isa_event_semaphore r;
  memcpy(&r, &record, sizeof(r));
  switch (offset) {
    case offsetof(isa_event_semaphore, wait_index):
      return r.wait_mode != ISA_WAIT_NONE;
    case offsetof(isa_event_semaphore, wait_value):
      return isa_syntax_wait_has_value(r.wait_mode);
    case offsetof(isa_event_semaphore, update_index):
      return r.update_mode != ISA_UPDATE_NONE;
    case offsetof(isa_event_semaphore, update_value):
      return isa_syntax_update_has_value(r.update_mode);
    default:
      return false;
  }
}
