// SPDX-License-Identifier: Apache-2.0
// What the neff tests share. The bytes they feed the reader come from system tools (tar, gzip,
// python3) or are built by hand; the writer under test is only used where it is the subject.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "neff/neff.h"

using bytes_t = std::vector<uint8_t>;

inline bytes_t slurp(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return bytes_t(std::istreambuf_iterator<char>(in), {});
}

inline void spit(const std::string &path, const bytes_t &bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

inline bytes_t text_bytes(const std::string &text) {
  return bytes_t(text.begin(), text.end());
}

// A directory of its own per test, removed afterwards.
class scratch_dir {
 public:
  scratch_dir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "neff_test.XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  scratch_dir(const scratch_dir &) = delete;
  scratch_dir &operator=(const scratch_dir &) = delete;
  ~scratch_dir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

// Runs a shell command; its standard output. Fails the test when the command fails.
inline std::string shell(const std::string &command) {
  FILE *pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << "cannot start: " << command;
    return "";
  }
  std::string out;
  char buffer[4096];
  size_t got;
  while ((got = fread(buffer, 1, sizeof(buffer), pipe)) > 0)
    out.append(buffer, got);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return out;
}

inline std::string python(const scratch_dir &dir, const std::string &script,
                          const std::string &arguments) {
  spit(dir / "script.py", text_bytes(script));
  return shell("python3 " + (dir / "script.py") + " " + arguments);
}

inline bytes_t evp_digest(const EVP_MD *algorithm, std::span<const uint8_t> data) {
  bytes_t out(EVP_MAX_MD_SIZE);
  unsigned length = 0;
  EVP_Digest(data.data(), data.size(), out.data(), &length, algorithm, nullptr);
  out.resize(length);
  return out;
}

// Header fields at their documented offsets, independent of the struct under test.
inline void put_u64(bytes_t &file, size_t offset, uint64_t value) {
  for (size_t i = 0; i < 8; i++)
    file[offset + i] = static_cast<uint8_t>(value >> (8 * i));
}

inline bytes_t with_header(const bytes_t &payload) {
  bytes_t file(1024);
  put_u64(file, 0, 2);
  put_u64(file, 8, 1024);
  put_u64(file, 16, payload.size());
  put_u64(file, 24, 2);
  bytes_t md5 = evp_digest(EVP_md5(), payload);
  std::copy(md5.begin(), md5.end(), file.begin() + 172);
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

// Corpus file path, empty when there is no corpus.
inline std::string corpus(const std::string &name) {
  const char *dir = getenv("OPENNRT_CORPUS");
  std::string path = dir != nullptr ? std::string(dir) + "/" + name : "";
  return !path.empty() && std::filesystem::exists(path) ? path : "";
}

#define REQUIRE_CORPUS(variable, name)    \
  std::string variable = corpus(name);    \
  if ((variable).empty()) {               \
    printf("skipped: no corpus\n");       \
    GTEST_SKIP() << "skipped: no corpus"; \
  }
