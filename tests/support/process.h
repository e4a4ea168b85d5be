// SPDX-License-Identifier: Apache-2.0
// What a test asks about its own process.
#pragma once

#include <dirent.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

// Open descriptors, and always three more: ".", ".." and that of the directory itself.
inline size_t process_descriptors() {
  size_t count = 0;
  DIR *directory = opendir("/proc/self/fd");
  while (directory != nullptr && readdir(directory) != nullptr)
    count++;
  closedir(directory);
  return count;
}

// "VmRSS", "VmHWM", in bytes.
inline uint64_t process_memory(const std::string &key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key + ":"))
      return strtoull(line.c_str() + key.size() + 1, nullptr, 10) * 1024;
  return 0;
}

// `make soak`: repetitions are as many as they are meant to be.
inline bool process_is_soak() {
  const char *wish = getenv("OPENNRT_SOAK");
  return wish != nullptr && std::string(wish) == "all";
}
