// SPDX-License-Identifier: Apache-2.0
#include "kelf/json.h"

#include <cstring>

#include "base/pages.h"

namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

const char *type_name(element value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
    case element_type::UINT64:
      return "an integer";
    case element_type::DOUBLE:
      return "a fractional number";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a boolean";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "unknown";
}

// Type and, where it fits a line, the value itself.
std::string seen(element value) {
  switch (value.type()) {
    case element_type::INT64:
      return fmt::format("{}", int64_t(value));
    case element_type::UINT64:
      return fmt::format("{}", uint64_t(value));
    case element_type::DOUBLE:
      return fmt::format("fractional number {}", double(value));
    case element_type::STRING:
      return fmt::format("string \"{}\"", json_excerpt(value.get_string().value_unsafe()));
    case element_type::BOOL:
      return bool(value) ? "true" : "false";
    default:
      return type_name(value);
  }
}

// The DOM parser does not say where it stopped. For the report, the on-demand parser goes over the
// document once more.
// Looking for the place of an error must not use more stack than parsing did: below this depth the
// search stops where it is.
constexpr int MAX_WALK_DEPTH = 64;

simdjson::error_code walk(simdjson::ondemand::value value, int depth);

simdjson::error_code walk_members(simdjson::ondemand::object object, int depth) {
  for (auto field : object) {
    if (field.error())
      return field.error();
    simdjson::ondemand::value value;
    std::string_view key;
    if (auto error = field.unescaped_key().get(key))
      return error;
    if (auto error = field.value().get(value))
      return error;
    if (auto error = walk(value, depth + 1))
      return error;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code walk_members(simdjson::ondemand::array array, int depth) {
  for (auto item : array) {
    simdjson::ondemand::value value;
    if (auto error = item.get(value))
      return error;
    if (auto error = walk(value, depth + 1))
      return error;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code walk(simdjson::ondemand::value value, int depth) {
  if (depth > MAX_WALK_DEPTH)
    return simdjson::DEPTH_ERROR;
  simdjson::ondemand::json_type type;
  if (auto error = value.type().get(type))
    return error;
  switch (type) {
    case simdjson::ondemand::json_type::object: {
      simdjson::ondemand::object object;
      if (auto error = value.get_object().get(object))
        return error;
      return walk_members(object, depth);
    }
    case simdjson::ondemand::json_type::array: {
      simdjson::ondemand::array array;
      if (auto error = value.get_array().get(array))
        return error;
      return walk_members(array, depth);
    }
    case simdjson::ondemand::json_type::number:
      return value.get_number().error();
    case simdjson::ondemand::json_type::string:
      return value.get_string().error();
    case simdjson::ondemand::json_type::boolean:
      return value.get_bool().error();
    case simdjson::ondemand::json_type::null:
      return value.is_null().error();
  }
  return simdjson::SUCCESS;
}

// Offset of the first byte that is not UTF-8. A run of bytes above 0x7F is valid or not by itself.
size_t utf8_error_offset(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80)
      end++;
    if (end > at && !simdjson::validate_utf8(text.data() + at, end - at))
      return at;
    at = end + 1;
  }
  return text.size();
}

bool error_offset(std::string_view text, simdjson::error_code error, size_t *out) {
  if (error == simdjson::UTF8_ERROR) {
    *out = utf8_error_offset(text);
    return true;
  }
  simdjson::padded_string copy(text);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::value value;
  const char *location = nullptr;
  if (parser.iterate(copy).get(document) || document.get_value().get(value) || !walk(value, 0) ||
      document.current_location().get(location) || location < copy.data() ||
      location > copy.data() + copy.size())
    return false;
  *out = static_cast<size_t>(location - copy.data());
  return true;
}

// Allocates what the parser would allocate itself. It finds out whether there was memory for it.
void hint_large_document(size_t bytes, simdjson::dom::document *out) {
  if (bytes < PAGES_HUGE_MIN_BYTES || bytes > simdjson::SIMDJSON_MAXSIZE_BYTES ||
      out->allocate(bytes))
    return;
  pages_hint_huge(out->tape.get(), bytes * sizeof(out->tape[0]));
  pages_hint_huge(out->string_buf.get(), bytes);
}

}  // namespace

std::string json_place::text() const {
  if (!up_)
    return json_excerpt(name_);
  std::string out = up_->text();
  if (index_ != NO_INDEX)
    return out + fmt::format("[{}]", index_);
  out += up_->up_ ? "." : ": ";
  return out + json_excerpt(name_);
}

NRT_STATUS json_parse(std::span<const uint8_t> bytes, const json_place &place, json_document *out) {
  // No copy: members are followed by the bytes simdjson may read beyond the text.
  static_assert(NEFF_MEMBER_PADDING >= simdjson::SIMDJSON_PADDING);
  hint_large_document(bytes.size(), &out->document);
  simdjson::dom::parser parser;  // its index of the text goes as soon as the document stands
  simdjson::error_code error = parser
                                   .parse_into_document(out->document, bytes.data(), bytes.size(),
                                                        /*realloc_if_needed=*/false)
                                   .get(out->root);
  if (!error)
    return NRT_SUCCESS;
  if (error == simdjson::MEMALLOC)
    return place.findings().add(NRT_RESOURCE, place.text(), "no memory to parse {} bytes of JSON",
                                bytes.size());
  if (error == simdjson::CAPACITY)
    return place.fail("{} bytes of JSON, the limit is {}", bytes.size(),
                      simdjson::SIMDJSON_MAXSIZE_BYTES);
  if (error == simdjson::DEPTH_ERROR)
    return place.fail("JSON nested deeper than {} levels", simdjson::DEFAULT_MAX_DEPTH);
  size_t offset = 0;
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (!text.empty() && error_offset(text, error, &offset))
    return place.fail("not valid JSON near byte {} of {}: {}", offset, bytes.size(),
                      simdjson::error_message(error));
  return place.fail("not valid JSON ({} bytes): {}", bytes.size(), simdjson::error_message(error));
}

NRT_STATUS json_to_object(element value, const json_place &place, simdjson::dom::object *out) {
  if (value.get(*out))
    return place.fail("must be an object, is {}", seen(value));
  return NRT_SUCCESS;
}

NRT_STATUS json_to_array(element value, const json_place &place, simdjson::dom::array *out) {
  if (value.get(*out))
    return place.fail("must be an array, is {}", seen(value));
  return NRT_SUCCESS;
}

NRT_STATUS json_to_uint(element value, const json_place &place, uint64_t max, uint64_t *out) {
  uint64_t number;
  // The DOM would convert nothing on its own: a double or a negative number has another type.
  if (value.get(number))
    return place.fail("must be an unsigned integer, is {}", seen(value));
  if (number > max)
    return place.fail("is {}, the limit is {}", number, max);
  *out = number;
  return NRT_SUCCESS;
}

NRT_STATUS json_to_int(element value, const json_place &place, int64_t *out) {
  if (value.get(*out))
    return place.fail("must be a 64-bit signed integer, is {}", seen(value));
  return NRT_SUCCESS;
}

NRT_STATUS json_to_string(element value, const json_place &place, std::string_view *out) {
  if (value.get(*out))
    return place.fail("must be a string, is {}", seen(value));
  return NRT_SUCCESS;
}

NRT_STATUS json_pick(element value, const json_place &place, std::span<json_field> fields) {
  simdjson::dom::object object;
  NRT_STATUS status = json_to_object(value, place, &object);
  if (status != NRT_SUCCESS)
    return status;
  for (simdjson::dom::key_value_pair item : object) {
    for (json_field &field : fields) {
      // Most comparisons fail: length and first letter settle nearly all without a call.
      if (field.key.size() != item.key.size() || field.key.front() != item.key.front() ||
          field.key != item.key)
        continue;
      if (field.present)
        return json_place(place, field.key).fail("key given twice");
      field.value = item.value;
      field.present = true;
      break;
    }
  }
  return NRT_SUCCESS;
}

NRT_STATUS json_missing(const json_field &field, const json_place &place) {
  return json_place(place, field.key).fail("key is missing");
}

namespace {

// Common head of the field readers: true when there is a value to read.
bool has_value(const json_field &field, json_presence presence, const json_place &place,
               NRT_STATUS *status) {
  *status = NRT_SUCCESS;
  if (!field.present && presence == JSON_REQUIRED)
    *status = json_missing(field, place);
  return field.present;
}

}  // namespace

std::string json_field_text(const json_field &field) {
  std::string_view text;
  return field.present && !field.value.get(text) ? json_excerpt(text) : std::string();
}

NRT_STATUS json_uint(const json_field &field, json_presence presence, const json_place &place,
                     uint64_t max, uint64_t *out) {
  NRT_STATUS status;
  if (!has_value(field, presence, place, &status))
    return status;
  return json_to_uint(field.value, json_place(place, field.key), max, out);
}

NRT_STATUS json_uint32(const json_field &field, json_presence presence, const json_place &place,
                       uint32_t max, uint32_t *out) {
  uint64_t number = *out;
  NRT_STATUS status = json_uint(field, presence, place, max, &number);
  if (status == NRT_SUCCESS)
    *out = static_cast<uint32_t>(number);
  return status;
}

NRT_STATUS json_string(const json_field &field, json_presence presence, const json_place &place,
                       std::string_view *out) {
  NRT_STATUS status;
  if (!has_value(field, presence, place, &status))
    return status;
  return json_to_string(field.value, json_place(place, field.key), out);
}

NRT_STATUS json_bool(const json_field &field, json_presence presence, const json_place &place,
                     bool *out) {
  NRT_STATUS status;
  if (!has_value(field, presence, place, &status))
    return status;
  if (field.value.get(*out))
    return json_place(place, field.key).fail("must be true or false, is {}", seen(field.value));
  return NRT_SUCCESS;
}

// One array whose items `read` takes; shared by the list getters.
template <typename Item, typename Read>
static NRT_STATUS read_list(const json_field &field, json_presence presence,
                            const json_place &place, std::vector<Item> *out, Read read) {
  NRT_STATUS status;
  if (!has_value(field, presence, place, &status))
    return status;
  json_place here(place, field.key);
  simdjson::dom::array array;
  status = json_to_array(field.value, here, &array);
  if (status != NRT_SUCCESS)
    return status;
  out->clear();
  for (element item : array) {
    status = read(item, json_place(here, out->size()));
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

NRT_STATUS json_uint_list(const json_field &field, json_presence presence, const json_place &place,
                          uint64_t max, std::vector<uint64_t> *out) {
  return read_list(field, presence, place, out, [&](element item, const json_place &at) {
    uint64_t number = 0;
    NRT_STATUS status = json_to_uint(item, at, max, &number);
    if (status == NRT_SUCCESS)
      out->push_back(number);
    return status;
  });
}

NRT_STATUS json_string_list(const json_field &field, json_presence presence,
                            const json_place &place, std::vector<std::string> *out) {
  return read_list(field, presence, place, out, [&](element item, const json_place &at) {
    std::string_view text;
    NRT_STATUS status = json_to_string(item, at, &text);
    if (status == NRT_SUCCESS)
      out->emplace_back(text);
    return status;
  });
}

NRT_STATUS json_no_nul(std::string_view text, const json_place &place) {
  size_t at = text.find('\0');
  if (at != std::string_view::npos)
    return place.fail("NUL character at position {}", at);
  return NRT_SUCCESS;
}
