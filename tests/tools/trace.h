// SPDX-License-Identifier: Apache-2.0
// Device traces of the closed runtime, as far as tests read them (verified-facts.md G7 last item,
// G8.9): a protobuf, and the engine images that were loaded behind it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <vector>

struct field_t {
  uint64_t number = 0, value = 0;
  std::span<const uint8_t> bytes;
};

inline std::vector<field_t> fields(std::span<const uint8_t> message) {
  std::vector<field_t> out;
  size_t at = 0;
  auto varint = [&] {
    uint64_t value = 0;
    for (unsigned shift = 0; at < message.size() && shift < 64; shift += 7) {
      uint8_t byte = message[at++];
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80)
        break;
    }
    return value;
  };
  while (at < message.size()) {
    uint64_t key = varint();
    field_t field;
    field.number = key >> 3;
    if ((key & 7) == 0) {
      field.value = varint();
    } else if ((key & 7) == 2) {
      uint64_t size = varint();
      if (size > message.size() - at)
        return {};
      field.bytes = message.subspan(at, size);
      at += size;
    } else {
      ADD_FAILURE() << "wire type " << (key & 7);
      return {};
    }
    out.push_back(field);
  }
  return out;
}

inline field_t only(std::span<const uint8_t> message, uint64_t number) {
  field_t out;
  for (const field_t &field : fields(message))
    if (field.number == number)
      out = field;
  return out;
}

inline std::string text(const field_t &field) {
  return std::string(field.bytes.begin(), field.bytes.end());
}

struct trace_t {
  std::vector<uint8_t> file;
  std::vector<std::span<const uint8_t>> subgraphs;
  std::span<const uint8_t> images;  // back to back

  explicit trace_t(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    uint64_t size = 0;
    if (file.size() >= 0x80)
      memcpy(&size, file.data() + 1, 7);
    if (file.size() < 0x80 || size > file.size() - 0x80) {
      ADD_FAILURE() << path << " is no trace";
      return;
    }
    std::span<const uint8_t> message(file.data() + 0x80, size);
    images = std::span<const uint8_t>(file).subspan(0x80 + size);
    for (const field_t &field : fields(only(only(message, 4).bytes, 4).bytes))
      if (field.number == 1)
        subgraphs.push_back(field.bytes);
  }

  // The image of an engine as it was loaded; empty when there is none.
  std::span<const uint8_t> image(size_t subgraph, uint64_t engine) const {
    for (const field_t &field : fields(subgraphs[subgraph])) {
      if (field.number != 4 || only(field.bytes, 1).value != engine)
        continue;
      uint64_t offset = only(field.bytes, 7).value, size = only(field.bytes, 8).value;
      if (offset <= images.size() && size <= images.size() - offset)
        return images.subspan(offset, size);
    }
    return {};
  }

  // Its patches: byte offset, slots, type (0 inserted, 2 deleted). The first one is the runtime's
  // preamble, the last one its postamble.
  struct patch_t {
    uint64_t offset, count, type;
    bool operator==(const patch_t &) const = default;
  };
  std::vector<patch_t> patches(size_t subgraph, uint64_t engine) const {
    std::vector<patch_t> out;
    for (const field_t &field : fields(subgraphs[subgraph])) {
      if (field.number != 5 || only(field.bytes, 1).value != engine)
        continue;
      for (const field_t &entry : fields(field.bytes))
        if (entry.number == 2)
          out.push_back(
              {only(entry.bytes, 1).value, only(entry.bytes, 2).value, only(entry.bytes, 3).value});
    }
    return out;
  }
};
