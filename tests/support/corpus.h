// SPDX-License-Identifier: Apache-2.0
// Files of real compilers, where there are any (tests/README.md).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// A file of OPENNRT_CORPUS; empty when there is none.
inline std::vector<uint8_t> corpus_file(const std::string &name) {
  const char *directory = getenv("OPENNRT_CORPUS");
  if (directory == nullptr)
    return {};
  std::ifstream in(std::string(directory) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
