// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on every file of the directories given: the seeds first, then the inputs that
// once failed. A directory that is not there holds nothing; no file at all is a failure.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/support.h"

namespace {

std::vector<std::filesystem::path> files_in(const char *directory) {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (const auto &entry : std::filesystem::directory_iterator(directory, missing)) {
    if (entry.is_regular_file())
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char **argv) {
  size_t count = 0;
  for (int i = 1; i < argc; i++) {
    for (const auto &path : files_in(argv[i])) {
      std::ifstream in(path, std::ios::binary);
      std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
      if (in.bad()) {
        fprintf(stderr, "%s: cannot be read\n", path.c_str());
        return 1;
      }
      // Said before, so that a crash can be told.
      fprintf(stderr, "%s: %zu bytes\n", path.c_str(), bytes.size());
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
      count++;
    }
  }
  printf("%zu inputs\n", count);
  return count == 0 ? 1 : 0;
}
