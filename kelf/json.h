// SPDX-License-Identifier: Apache-2.0
// Reading JSON members with findings: every value is read together with its place, so that whatever
// is wrong can be reported as "sg00/def.json: var.x.size". Private to kelf/.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/finding.h"
#include "neff/neff.h"

// A name or value of a file, short enough to stand in a message.
inline std::string json_excerpt(std::string_view text, size_t limit = 96) {
  return finding_line(text, limit);
}

// Where a value stands. Links point at the callers' stack frames, so building one costs nothing;
// the text is made only when there is something to report.
class json_place {
 public:
  json_place(std::string_view member, finding_sink &findings) : name_(member), sink_(&findings) {}
  json_place(const json_place &up, std::string_view key) : up_(&up), name_(key), sink_(up.sink_) {}
  json_place(const json_place &up, size_t index) : up_(&up), index_(index), sink_(up.sink_) {}

  std::string text() const;
  finding_sink &findings() const { return *sink_; }

  template <typename... Args>
  NRT_STATUS fail(fmt::format_string<Args...> format, Args &&...args) const {
    return sink_->add(NRT_INVALID, text(), format, std::forward<Args>(args)...);
  }

 private:
  static constexpr size_t NO_INDEX = SIZE_MAX;

  const json_place *up_ = nullptr;
  std::string_view name_;
  size_t index_ = NO_INDEX;
  finding_sink *sink_;
};

// Keeps the first failure of a row of independent steps.
class json_steps {
 public:
  explicit json_steps(const finding_sink &findings) : collect_(findings.collect()) {}

  // Notes a step's status; true when the caller has to stop here.
  bool stop(NRT_STATUS status) {
    if (status == NRT_SUCCESS)
      return false;
    if (first_ == NRT_SUCCESS)
      first_ = status;
    return !collect_;
  }
  NRT_STATUS status() const { return first_; }

 private:
  bool collect_;
  NRT_STATUS first_ = NRT_SUCCESS;
};

// A parsed document. Not movable: elements point into it.
struct json_document {
  simdjson::dom::document document;
  simdjson::dom::element root;
};

// Parses the bytes of the member that `place` (a root) names.
NRT_STATUS json_parse(std::span<const uint8_t> bytes, const json_place &place, json_document *out);

// One key of an object that its reader knows.
struct json_field {
  std::string_view key;
  simdjson::dom::element value{};
  bool present = false;
};

// Reads an object's known keys in one walk. Unknown keys are ignored, a known key that stands there
// twice is a finding.
NRT_STATUS json_pick(simdjson::dom::element value, const json_place &place,
                     std::span<json_field> fields);

// A string field as it stands in a message; empty when it is none.
std::string json_field_text(const json_field &field);

// Typed values. A wrong type or a number outside the limits is a finding at `place`.
NRT_STATUS json_to_object(simdjson::dom::element value, const json_place &place,
                          simdjson::dom::object *out);
NRT_STATUS json_to_array(simdjson::dom::element value, const json_place &place,
                         simdjson::dom::array *out);
NRT_STATUS json_to_uint(simdjson::dom::element value, const json_place &place, uint64_t max,
                        uint64_t *out);
NRT_STATUS json_to_int(simdjson::dom::element value, const json_place &place, int64_t *out);
NRT_STATUS json_to_string(simdjson::dom::element value, const json_place &place,
                          std::string_view *out);

// Typed fields of the object at `place`. An absent field is a finding when `required`; otherwise
// *out keeps its value.
enum json_presence { JSON_OPTIONAL, JSON_REQUIRED };
NRT_STATUS json_uint(const json_field &field, json_presence presence, const json_place &place,
                     uint64_t max, uint64_t *out);
NRT_STATUS json_string(const json_field &field, json_presence presence, const json_place &place,
                       std::string_view *out);
NRT_STATUS json_bool(const json_field &field, json_presence presence, const json_place &place,
                     bool *out);
NRT_STATUS json_uint_list(const json_field &field, json_presence presence, const json_place &place,
                          uint64_t max, std::vector<uint64_t> *out);
NRT_STATUS json_string_list(const json_field &field, json_presence presence,
                            const json_place &place, std::vector<std::string> *out);
// Same as json_uint for what is stored in 32 bits.
NRT_STATUS json_uint32(const json_field &field, json_presence presence, const json_place &place,
                       uint32_t max, uint32_t *out);

// A NUL inside a name would cut it short in the C records: finding.
NRT_STATUS json_no_nul(std::string_view text, const json_place &place);

NRT_STATUS json_missing(const json_field &field, const json_place &place);
