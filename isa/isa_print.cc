// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "isa/isa_fields.h"
#include "isa/isa_syntax.h"
#include "isa/isa_text.h"

namespace {

std::string number(int64_t n) {
  return std::to_string(n);
}

std::string hex(uint64_t n) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof(digits), n, 16).ptr;
  return "0x" + std::string(digits, end);
}

const uint8_t *bytes_at(const isa_record &record, uint32_t offset) {
  return reinterpret_cast<const uint8_t *>(&record) + offset;
}

template <typename T>
T value_at(const uint8_t *at) {
  T value;
  memcpy(&value, at, sizeof(value));
  return value;
}

bool is_identifier(std::string_view text) {
  if (text.empty() || !isa_syntax_starts_name(text[0]))
    return false;
  for (char c : text) {
    if (!isa_syntax_in_name(c))
      return false;
  }
  return true;
}

// In quotes; what would not survive there as \xNN.
std::string quoted(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte >= 0x7F || c == '"' || c == '\\')
      out += std::string("\\x") + digits[byte >> 4] + digits[byte & 0xF];
    else
      out += c;
  }
  return out + '"';
}

// The name of a variable where it leads back to the same id, else var12.
std::string variable_name(uint32_t id, const isa_names_t *names) {
  const std::string plain = "var" + std::to_string(id);
  if (!names)
    return plain;
  const auto found = names->variables.find(id);
  if (found == names->variables.end() || found->second.empty())
    return plain;
  const auto same = names->ids.find(found->second);
  if (same == names->ids.end() || same->second != id)
    return plain;
  const std::string &name = found->second;
  return is_identifier(name) && !isa_syntax_is_reserved(name) ? name : quoted(name);
}

// Shortest decimal that reads back to the same bits; bits where there is none.
std::string fp32_text(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  if (!std::isfinite(value))
    return hex(bits);
  char digits[64];
  std::string text(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

template <typename T>
std::string list(const T *values, uint32_t n) {
  std::string out = "(";
  for (uint32_t i = 0; i < n; i++)
    out += (i ? "," : "") + number(values[i]);
  return out + ")";
}

// Dimensions that a reader fills in again are left out.
template <typename S, typename C>
std::string dimensions(const S *step, const C *count, uint32_t dims, int64_t pad) {
  while (dims > 0 && count[dims - 1] == 1 && step[dims - 1] == pad)
    dims--;
  return dims ? " step" + list(step, dims) + " count" + list(count, dims) : "";
}

// --- kinds ---------------------------------------------------------------------------------------

std::string table_text(const isa_addr8 &a, const isa_names_t *names) {
  const uint32_t index = isa_addr8_id(a);
  std::string out = "table[" + std::to_string(index) + "]";
  if (names && index < names->table.size())
    out += "=" + variable_name(names->table[index], names);
  return out;
}

std::string addr8_text(const isa_addr8 &a, const isa_names_t *names) {
  switch (a.mode) {
    case ISA_ADDR8_VARIABLE:
      return isa_text_variable(isa_addr8_id(a), a.offset, names);
    case ISA_ADDR8_TABLE:
      return table_text(a, names) + (a.offset ? "+" + hex(a.offset) : "");
    case ISA_ADDR8_TABLE_REGISTER:
      return table_text(a, names) + "+r" + std::to_string(a.offset);
    default:
      return "@" + hex(isa_addr8_device(a));
  }
}

std::string dma_side_text(const uint8_t *at, const isa_names_t *names) {
  int32_t step[2];
  uint16_t count[2], bytes;
  memcpy(step, at + 8, sizeof(step));
  memcpy(count, at + 16, sizeof(count));
  memcpy(&bytes, at + 20, sizeof(bytes));
  return addr8_text(value_at<isa_addr8>(at), names) + dimensions(step, count, 2, 1) + " bytes(" +
         number(bytes) + ")";
}

std::string type_text(const isa_record &record, const isa_field_t &field) {
  if (!field.type_at)
    return "";
  const uint8_t byte = *bytes_at(record, field.type_at);
  const bool pair = isa_field_at(record.h.opcode, field.type_at)->kind == ISA_KIND_DTYPE_PAIR;
  return std::string(" ") + isa_dtype_name(pair ? byte >> field.type_shift & 0xF : byte);
}

std::string scalar_text(const isa_record &record, const isa_field_t &field) {
  const auto bits = value_at<uint32_t>(bytes_at(record, field.offset));
  return (isa_syntax_is_pointer(record, field) ? isa_text_addr4(bits) : fp32_text(bits)) +
         type_text(record, field);
}

std::string registers_text(const uint8_t *at, uint32_t n) {
  std::string out = "(";
  for (uint32_t i = 0; i < n; i++)
    out += (i ? ",r" : "r") + std::to_string(at[i]);
  return out + ")";
}

std::string immediates_text(const uint8_t *at, uint32_t n) {
  std::string out = "(";
  for (uint32_t i = 0; i < n; i++)
    out += (i ? "," : "") + hex(value_at<uint32_t>(at + 4 * i));
  return out + ")";
}

std::string bound_text(uint8_t bound) {
  return "r" + std::to_string(bound & ISA_DMA_BOUND_REGISTER) +
         (bound & ISA_DMA_BOUND_SKIP ? " skip" : "");
}

std::string branch_text(int32_t offset, const isa_text_context_t &context) {
  const auto slot = static_cast<int64_t>(context.slot) + offset / int32_t{ISA_RECORD_BYTES};
  if (context.labels && slot >= 0) {
    const auto label = context.labels->find(static_cast<uint64_t>(slot));
    if (label != context.labels->end())
      return label->second;
  }
  return number(offset);
}

// What follows the '=' of a field; "" when a reader fills it in.
std::string field_text(const isa_record &record, const isa_field_t &field,
                       const isa_text_context_t &context) {
  const uint8_t *at = bytes_at(record, field.offset);
  const uint64_t n = field.size <= 8 ? isa_field_number(&record, field) : 0;
  switch (field.kind) {
    case ISA_KIND_NUMBER:
      return n || field.always ? std::to_string(n) : "";
    case ISA_KIND_BITS:
      return n ? hex(n) : "";
    case ISA_KIND_SIGNED:
      return n ? number(value_at<int32_t>(at)) : "";
    case ISA_KIND_ENUM:
      return n || !isa_syntax_is_default(field) ? isa_value_name(field.values, n) : "";
    case ISA_KIND_DTYPE:
      return n ? isa_value_name(field.values, n) : "";
    case ISA_KIND_DTYPE_PAIR:
      return "";
    case ISA_KIND_REGISTER:
      return n ? "r" + std::to_string(n) : "";
    case ISA_KIND_REGISTERS: {
      const uint32_t count = isa_syntax_list_length(record, field);
      return count ? registers_text(at, count) : "";
    }
    case ISA_KIND_IMMEDIATES: {
      const uint32_t count = isa_syntax_list_length(record, field);
      return count ? immediates_text(at, count) : "";
    }
    case ISA_KIND_SCALAR:
      return field.type_at || isa_syntax_is_pointer(record, field) || n ? scalar_text(record, field)
                                                                        : "";
    case ISA_KIND_PATTERN: {
      const isa_pattern_view_t v = isa_view_pattern(at, field.size);
      return isa_text_addr4(v.addr4) +
             dimensions(v.step, v.count, v.dims, isa_syntax_pad_step(record.h.opcode)) +
             type_text(record, field);
    }
    case ISA_KIND_DATA4: {
      const auto data = value_at<isa_data4>(at);
      return number(data.base) + dimensions(data.step, data.count, 4, 1);
    }
    case ISA_KIND_ADDR8:
      return n ? addr8_text(value_at<isa_addr8>(at), context.names) : "";
    case ISA_KIND_VARIABLE:
      return isa_text_variable(value_at<uint32_t>(at), value_at<uint32_t>(at + 4), context.names);
    case ISA_KIND_DMA_SIDE:
      return dma_side_text(at, context.names) + type_text(record, field);
    case ISA_KIND_DMA_BOUND:
      return n ? bound_text(at[0]) : "";
    case ISA_KIND_BRANCH:
      return n ? branch_text(value_at<int32_t>(at), context) : "";
    case ISA_KIND_QUEUE:
      return quoted({reinterpret_cast<const char *>(at),
                     strnlen(reinterpret_cast<const char *>(at), field.size)});
  }
  return "";
}

// --- waits and updates ---------------------------------------------------------------------------

std::string wait_text(uint8_t mode, uint8_t index, uint32_t value) {
  static constexpr const char *signs[] = {"", "==", "<", "<=", ">", ">="};
  const std::string i = std::to_string(index);
  switch (mode) {
    case ISA_WAIT_EVENT_SET:
      return "event" + i + "==1";
    case ISA_WAIT_EVENT_SET_CLEAR:
      return "event" + i + "==1->0";
    case ISA_WAIT_EVENT_CLEAR:
      return "event" + i + "==0";
    case ISA_WAIT_EVENT_CLEAR_SET:
      return "event" + i + "==0->1";
    default:
      return "sem" + i + signs[mode & 7] + (mode & ISA_WAIT_REGISTER ? "r" : "") +
             std::to_string(value);
  }
}

std::string update_text(uint8_t mode, uint8_t index, uint32_t value) {
  const std::string i = std::to_string(index);
  const std::string when = mode & ISA_UPDATE_COMPLETE ? "" : "read ";
  const std::string amount = (mode & ISA_UPDATE_REGISTER ? "r" : "") + std::to_string(value);
  switch (mode & 0xF) {
    case ISA_UPDATE_EVENT_SET:
      return when + "event" + i + ":=1";
    case ISA_UPDATE_EVENT_CLEAR:
      return when + "event" + i + ":=0";
    case ISA_UPDATE_SEM_INC:
      return when + "+sem" + i;
    case ISA_UPDATE_SEM_DEC:
      return when + "-sem" + i;
    case ISA_UPDATE_SEM_ADD:
      return when + "sem" + i + "+=" + amount;
    case ISA_UPDATE_SEM_SUB:
      return when + "sem" + i + "-=" + amount;
    default:
      return when + "sem" + i + ":=" + amount;
  }
}

std::string record_hex(const isa_record &record) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = ".record ";
  for (uint32_t i = 0; i < ISA_RECORD_BYTES; i++) {
    const uint8_t byte = *bytes_at(record, i);
    out += {digits[byte >> 4], digits[byte & 0xF]};
  }
  return out;
}

struct line_t {
  std::string text;
  bool first = true;
  void add(const std::string &item) {
    text += (first ? " " : ", ") + item;
    first = false;
  }
};

// Fields of the header that waits and updates do not show.
void add_header(const isa_record &record, line_t *line) {
  const isa_header &h = record.h;
  if (h.words != isa_syntax_words(h.opcode))
    line->add("words=" + hex(h.words));
  for (const isa_field_t &field : isa_header_fields()) {
    if (field.inner || field.offset == offsetof(isa_header, words))
      continue;
    if (isa_syntax_header_shows(h, field.offset))
      continue;
    const std::string text = field_text(record, field, {});
    if (!text.empty())
      line->add(std::string(field.name) + "=" + text);
  }
  if (h.wait_mode)
    line->add("wait " + wait_text(h.wait_mode, h.wait_index, h.value));
  if (h.update_mode)
    line->add(update_text(h.update_mode, h.update_index, h.value));
}

}  // namespace

std::string isa_text_addr4(uint32_t addr4) {
  std::string out;
  if (addr4 & ISA_ADDR4_REGISTER) {
    out = "[r" + std::to_string(addr4 & 0xFF) + "]";
  } else {
    const bool psum = isa_addr4_is_psum(addr4);
    const uint32_t flat = (addr4 & ISA_ADDR4_ADDRESS) - (psum ? ISA_PSUM_BASE : 0);
    const uint32_t pitch = psum ? ISA_PSUM_PITCH : ISA_SBUF_PITCH;
    out = (psum ? "psum[p" : "sbuf[p") + std::to_string(flat / pitch) + ", " + hex(flat % pitch) +
          "]";
  }
  return addr4 & ISA_ADDR4_SHAPE_REGISTER ? out + " shape" : out;
}

std::string isa_text_variable(uint32_t id, uint32_t offset, const isa_names_t *names) {
  if (id == 0)  // the state buffer
    return "sbuf[p" + std::to_string(offset / ISA_SBUF_PITCH) + ", " +
           hex(offset % ISA_SBUF_PITCH) + "]";
  return variable_name(id, names) + (offset ? "+" + hex(offset) : "");
}

isa_labels_t isa_text_labels(std::span<const isa_record> records, isa_engine_t engine,
                             isa_form_t form) {
  isa_labels_t labels;
  for (size_t slot = 0; slot < records.size(); slot++) {
    isa_compare_branch branch;
    memcpy(&branch, &records[slot], sizeof(branch));
    if (branch.h.opcode != ISA_COMPARE_BRANCH || branch.target != ISA_TARGET_RELATIVE ||
        isa_check(&records[slot], engine, form, nullptr))
      continue;
    const int64_t target = static_cast<int64_t>(slot) + branch.offset / int32_t{ISA_RECORD_BYTES};
    if (target >= 0 && static_cast<size_t>(target) <= records.size())
      labels.emplace(target, "L" + std::to_string(target));
  }
  return labels;
}

std::string isa_text_record(const isa_record &record, const isa_text_context_t &context) {
  if (isa_check(&record, context.engine, context.form, nullptr))
    return record_hex(record);
  line_t line{isa_opcode_name(record.h.opcode)};
  for (const isa_field_t &field : isa_opcode_info(record.h.opcode)->fields) {
    if (field.inner || isa_syntax_block2_shows(record, field.offset))
      continue;
    const std::string text = field_text(record, field, context);
    if (!text.empty())
      line.add(std::string(field.name) + "=" + text);
  }
  if (record.h.opcode != ISA_PSEUDO_DMA_BOUND)
    add_header(record, &line);
  if (record.h.opcode == ISA_EVENT_SEMAPHORE) {
    const auto second = value_at<isa_event_semaphore>(bytes_at(record, 0));
    if (second.wait_mode)
      line.add("wait2 " + wait_text(second.wait_mode, second.wait_index, second.wait_value));
    if (second.update_mode)
      line.add("update2 " +
               update_text(second.update_mode, second.update_index, second.update_value));
  }
  return line.text;
}

std::string isa_text_names(const isa_names_t &names, const std::set<uint32_t> *used) {
  std::string out;
  for (const auto &[id, name] : names.variables) {
    const bool wanted = !used || used->contains(id) ||
                        std::find(names.table.begin(), names.table.end(), id) != names.table.end();
    const std::string shown = variable_name(id, &names);
    if (wanted && id != 0 && shown != "var" + std::to_string(id))
      out += ".var " + shown + " " + std::to_string(id) + "\n";
  }
  if (!names.table.empty()) {
    out += ".table";
    for (uint32_t id : names.table)
      out += " " + variable_name(id, &names);
    out += "\n";
  }
  return out;
}

void isa_text_used_variables(const isa_record &record, std::set<uint32_t> *used) {
  const isa_opcode_info_t *info = isa_opcode_info(record.h.opcode);
  for (const isa_field_t &field : info ? info->fields : std::span<const isa_field_t>()) {
    const uint8_t *at = bytes_at(record, field.offset);
    if (field.kind == ISA_KIND_VARIABLE)
      used->insert(value_at<uint32_t>(at));
    if (field.kind != ISA_KIND_ADDR8 && field.kind != ISA_KIND_DMA_SIDE)
      continue;
    const auto a = value_at<isa_addr8>(at);
    if (a.mode == ISA_ADDR8_VARIABLE)
      used->insert(isa_addr8_id(a));
  }
}
