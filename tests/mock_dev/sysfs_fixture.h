// SPDX-License-Identifier: Apache-2.0
// A directory of a test's own, and sysfs files read through the mock or from the file system.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/mock_dev/mock_fixture.h"

struct scratch_dir_t {
  std::filesystem::path path;
  scratch_dir_t() {
    // In memory where there is such a place: a tree has a thousand files.
    std::filesystem::path base = "/dev/shm";
    if (access(base.c_str(), W_OK | X_OK) != 0)
      base = std::filesystem::temp_directory_path();
    std::string name = (base / "opennrt-sysfs-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path = name;
  }
  ~scratch_dir_t() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  scratch_dir_t(const scratch_dir_t &) = delete;
  scratch_dir_t &operator=(const scratch_dir_t &) = delete;
};

// Content through mock_open; "<errno>" when it cannot be opened.
inline std::string sysfs_get(mock_host_t *host, const std::string &path) {
  int fd = mock_open(host, PID, path.c_str(), O_RDONLY);
  if (fd < 0)
    return "<" + std::to_string(-fd) + ">";
  char text[512];
  ssize_t got = mock_read(host, PID, fd, text, sizeof(text));
  mock_close(host, PID, fd);
  return got < 0 ? "<read>" : std::string(text, static_cast<size_t>(got));
}

inline long sysfs_put(mock_host_t *host, const std::string &path, const std::string &text) {
  int fd = mock_open(host, PID, path.c_str(), O_WRONLY);
  if (fd < 0)
    return fd;
  long rc = mock_write(host, PID, fd, text.data(), text.size());
  mock_close(host, PID, fd);
  return rc;
}

inline std::string file_text(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  return in ? std::string(std::istreambuf_iterator<char>(in), {}) : "<none>";
}
