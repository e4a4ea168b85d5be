// SPDX-License-Identifier: Apache-2.0
#include "tools/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "base/checked.h"

namespace {

constexpr std::string_view MAGIC("\x93NUMPY", 6);
constexpr size_t LENGTH_AT = 8;  // after magic and version

struct type_row {
  char kind;
  uint32_t item_size;
  const char *descr;
};
constexpr type_row TYPES[] = {
    {'f', 2, "<f2"}, {'f', 4, "<f4"}, {'f', 8, "<f8"}, {'i', 1, "|i1"}, {'i', 2, "<i2"},
    {'i', 4, "<i4"}, {'i', 8, "<i8"}, {'u', 1, "|u1"}, {'u', 2, "<u2"}, {'u', 4, "<u4"},
    {'u', 8, "<u8"}, {'b', 1, "|b1"}, {'V', 2, "|V2"},
};

// Where reading stands, and who hears about what is wrong.
struct reader {
  std::string_view text;  // the dictionary
  size_t at = 0;
  size_t base;  // of the dictionary in the file
  const std::string &where;
  finding_sink &findings;

  template <typename... Args>
  NRT_STATUS fail(fmt::format_string<Args...> format, Args &&...args) {
    return findings.add(NRT_INVALID, fmt::format("{}: header+{}", where, base + at), format,
                        std::forward<Args>(args)...);
  }
  void skip_spaces() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t'))
      at++;
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }
  NRT_STATUS need(std::string_view token) {
    return take(token) ? NRT_SUCCESS : fail("'{}' expected", token);
  }
};

// A quoted string without escapes: all that element types and keys need.
NRT_STATUS read_string(reader &r, std::string_view *out) {
  char quote = r.take("'") ? '\'' : r.take("\"") ? '"' : '\0';
  if (quote == '\0')
    return r.fail("a string expected");
  size_t end = r.text.find(quote, r.at);
  if (end == std::string_view::npos || end - r.at > 64)
    return r.fail("string does not end within 64 bytes");
  *out = r.text.substr(r.at, end - r.at);
  if (std::any_of(out->begin(), out->end(), [](char c) { return c < ' ' || c > '~' || c == '\\'; }))
    return r.fail("string holds an escape or is not ASCII");
  r.at = end + 1;
  return NRT_SUCCESS;
}

NRT_STATUS read_type(reader &r, npy_array *out) {
  std::string_view descr;
  r.skip_spaces();
  if (r.text.substr(r.at, 1) == "[")
    return r.fail("structured element types are not supported");
  NRT_STATUS status = read_string(r, &descr);
  if (status != NRT_SUCCESS)
    return status;
  for (const type_row &row : TYPES) {
    // Raw bytes and single bytes have no order; NumPy writes '|', other programs also '<'.
    bool same = descr.size() == 3 && descr.substr(1) == row.descr + 1 &&
                (descr[0] == row.descr[0] || (row.descr[0] == '|' && descr[0] == '<'));
    if (same) {
      out->kind = row.kind;
      out->item_size = row.item_size;
      return NRT_SUCCESS;
    }
  }
  return r.fail(
      "element type '{}' is not supported; f2 to f8, i1 to i8, u1 to u8, b1 and V2 are, "
      "little-endian",
      descr);
}

NRT_STATUS read_dimension(reader &r, std::vector<uint64_t> *shape) {
  uint64_t value = 0;
  size_t begin = r.at;
  for (; r.at < r.text.size() && r.text[r.at] >= '0' && r.text[r.at] <= '9'; r.at++) {
    if (!checked_mul<uint64_t>(value, 10, &value) ||
        !checked_add<uint64_t>(value, static_cast<uint64_t>(r.text[r.at] - '0'), &value))
      return r.fail("dimension passes 64 bits");
  }
  if (r.at == begin)
    return r.fail("a dimension expected");
  if (r.text[begin] == '0' && r.at - begin > 1)
    return r.fail("dimension with a leading zero");
  if (shape->size() == NPY_MAX_DIMENSIONS)
    return r.fail("more than {} dimensions", NPY_MAX_DIMENSIONS);
  shape->push_back(value);
  return NRT_SUCCESS;
}

NRT_STATUS read_shape(reader &r, std::vector<uint64_t> *shape) {
  NRT_STATUS status = r.need("(");
  shape->clear();
  bool comma = true;
  while (status == NRT_SUCCESS && !r.take(")")) {
    if (!comma)
      return r.fail("',' or ')' expected");
    r.skip_spaces();
    status = read_dimension(r, shape);
    comma = r.take(",");
  }
  if (status == NRT_SUCCESS && shape->size() == 1 && !comma)
    return r.fail("one dimension needs a comma behind it");
  return status;
}

enum : uint32_t { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

NRT_STATUS read_entry(reader &r, uint32_t *seen, bool *fortran, npy_array *out) {
  std::string_view key;
  NRT_STATUS status = read_string(r, &key);
  if (status != NRT_SUCCESS)
    return status;
  uint32_t bit = key == "descr"           ? HAS_DESCR
                 : key == "fortran_order" ? HAS_ORDER
                 : key == "shape"         ? HAS_SHAPE
                                          : 0u;
  if (bit == 0 || (*seen & bit) != 0)
    return r.fail("key '{}' is {}", key, bit == 0 ? "unknown" : "given twice");
  *seen |= bit;
  status = r.need(":");
  if (status != NRT_SUCCESS)
    return status;
  if (bit == HAS_DESCR)
    return read_type(r, out);
  if (bit == HAS_SHAPE)
    return read_shape(r, &out->shape);
  *fortran = r.take("True");
  return *fortran || r.take("False") ? NRT_SUCCESS : r.fail("True or False expected");
}

NRT_STATUS read_dictionary(reader &r, npy_array *out) {
  uint32_t seen = 0;
  bool fortran = false, comma = true;
  NRT_STATUS status = r.need("{");
  while (status == NRT_SUCCESS && !r.take("}")) {
    if (!comma)
      return r.fail("',' or '}}' expected");
    status = read_entry(r, &seen, &fortran, out);
    comma = r.take(",");
  }
  if (status != NRT_SUCCESS)
    return status;
  if (seen != HAS_ALL)
    return r.fail("descr, fortran_order and shape must be there");
  r.skip_spaces();
  if (r.at != r.text.size() || r.text.back() != '\n')
    return r.fail("the header must end with spaces and a newline");
  auto wide = std::count_if(out->shape.begin(), out->shape.end(), [](uint64_t d) { return d > 1; });
  if (fortran && wide > 1)
    return r.fail("Fortran order is not supported, save the array in C order");
  return NRT_SUCCESS;
}

// Bytes of the data; false beyond NPY_MAX_BYTES. An empty array may have any other dimension.
bool data_bytes(const npy_array &array, uint64_t *out) {
  uint64_t bytes = array.item_size;
  bool fits = true, empty = false;
  for (uint64_t dimension : array.shape) {
    empty = empty || dimension == 0;
    fits = fits && checked_mul(bytes, dimension, &bytes) && bytes <= NPY_MAX_BYTES;
  }
  *out = empty ? 0 : bytes;
  return fits || empty;
}

const type_row *find_type(const npy_array &array) {
  for (const type_row &row : TYPES) {
    if (row.kind == array.kind && row.item_size == array.item_size)
      return &row;
  }
  return nullptr;
}

}  // namespace

std::string npy_descr(const npy_array &array) {
  const type_row *row = find_type(array);
  return row != nullptr ? row->descr : "";
}

NRT_STATUS npy_read(std::span<const uint8_t> file, const std::string &where, finding_sink &findings,
                    npy_array *out) {
  *out = {};
  std::string_view text(reinterpret_cast<const char *>(file.data()), file.size());
  if (text.substr(0, MAGIC.size()) != MAGIC || file.size() < LENGTH_AT + 2)
    return findings.add(NRT_INVALID, where, "not a NumPy file: {} bytes, no preamble", file.size());
  unsigned major = file[6], minor = file[7];
  if (major < 1 || major > 3 || minor != 0)
    return findings.add(NRT_INVALID, where, "NumPy format {}.{}; 1.0, 2.0 and 3.0 are supported",
                        major, minor);
  size_t base = LENGTH_AT + (major == 1 ? 2 : 4);
  if (file.size() < base)
    return findings.add(NRT_INVALID, where, "not a NumPy file: {} bytes, no preamble", file.size());
  size_t header = 0;
  for (size_t i = base; i-- > LENGTH_AT;)
    header = header << 8 | file[i];
  if (header > NPY_MAX_HEADER || header > file.size() - base)
    return findings.add(NRT_INVALID, where,
                        "header of {} bytes; the limit is {}, the file has {} behind the preamble",
                        header, NPY_MAX_HEADER, file.size() - base);
  reader r{text.substr(base, header), 0, base, where, findings};
  NRT_STATUS status = read_dictionary(r, out);
  if (status != NRT_SUCCESS)
    return status;
  uint64_t bytes = 0;
  if (!data_bytes(*out, &bytes))
    return findings.add(NRT_INVALID, where, "shape needs more than {} bytes", NPY_MAX_BYTES);
  out->data = file.subspan(base + header);
  if (out->data.size() != bytes)
    return findings.add(NRT_INVALID, where, "{} bytes of data, shape and type need {}",
                        out->data.size(), bytes);
  return NRT_SUCCESS;
}

NRT_STATUS npy_write(const npy_array &array, const std::string &where, finding_sink &findings,
                     std::vector<uint8_t> *out) {
  const type_row *row = find_type(array);
  uint64_t bytes = 0;
  if (row == nullptr || array.shape.size() > NPY_MAX_DIMENSIONS || !data_bytes(array, &bytes))
    return findings.add(NRT_INVALID, where, "type {}{} with {} dimensions cannot be stored",
                        array.kind, array.item_size, array.shape.size());
  if (array.data.size() != bytes)
    return findings.add(NRT_INVALID, where, "{} bytes of data, shape and type need {}",
                        array.data.size(), bytes);
  try {
    std::string shape = fmt::format("{}", fmt::join(array.shape, ", "));
    if (array.shape.size() == 1)
      shape += ',';
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                     row->descr, shape);
    size_t base = LENGTH_AT + 2;
    size_t start = (base + header.size() + 1 + NPY_ALIGNMENT - 1) / NPY_ALIGNMENT * NPY_ALIGNMENT;
    header.resize(start - base - 1, ' ');
    header += '\n';
    out->assign(MAGIC.begin(), MAGIC.end());
    out->insert(out->end(), {1, 0, static_cast<uint8_t>(header.size()),
                             static_cast<uint8_t>(header.size() >> 8)});
    out->insert(out->end(), header.begin(), header.end());
    out->insert(out->end(), array.data.begin(), array.data.end());
    return NRT_SUCCESS;
  } catch (const std::bad_alloc &) {
    return findings.add(NRT_RESOURCE, where, "no memory for an array of {} bytes", bytes);
  }
}
