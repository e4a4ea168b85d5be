// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the C API. They see the library as a client does: public headers, -lnrt,
// environment variables, and the log as a file.
#pragma once

#include <gtest/gtest.h>
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_version.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// Sets a variable for one scope.
class scoped_env {
 public:
  scoped_env(const char *name, const char *value) : name_(name) {
    const char *old = getenv(name);
    had_ = old != nullptr;
    old_ = had_ ? old : "";
    if (value != nullptr)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  ~scoped_env() {
    if (had_)
      setenv(name_.c_str(), old_.c_str(), 1);
    else
      unsetenv(name_.c_str());
  }
  scoped_env(const scoped_env &) = delete;
  scoped_env &operator=(const scoped_env &) = delete;

 private:
  std::string name_, old_;
  bool had_;
};

inline std::vector<uint8_t> file_bytes(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The log of this process, in a file of its own: nrt_init opens it.
class log_file {
 public:
  log_file() : path_("nrt_test_" + std::to_string(getpid()) + ".log") {
    unlink(path_.c_str());
    setenv("NEURON_RT_LOG_LOCATION", path_.c_str(), 1);
  }
  ~log_file() { unlink(path_.c_str()); }
  log_file(const log_file &) = delete;
  log_file &operator=(const log_file &) = delete;

  std::vector<std::string> lines(const std::string &level) const {
    std::ifstream in(path_);
    std::vector<std::string> found;
    for (std::string line; std::getline(in, line);) {
      if (line.find(" " + level + " ") != std::string::npos)
        found.push_back(line);
    }
    return found;
  }
  size_t errors() const { return lines("ERROR").size(); }

 private:
  std::string path_;
};

log_file &test_log();

// The call fails with this status and writes exactly one ERROR line, which names the function.
#define EXPECT_REFUSED(wanted, call)                                                      \
  do {                                                                                    \
    size_t before_ = test_log().errors();                                                 \
    EXPECT_EQ(wanted, (call));                                                            \
    EXPECT_EQ(before_ + 1, test_log().errors()) << #call << " must write one ERROR line"; \
  } while (0)

// Succeeds without an ERROR line.
#define EXPECT_QUIET(wanted, call)                                 \
  do {                                                             \
    size_t before_ = test_log().errors();                          \
    EXPECT_EQ(wanted, (call));                                     \
    EXPECT_EQ(before_, test_log().errors()) << #call << " logged"; \
  } while (0)

// An initialised runtime on the mocked trn2.3xlarge: one device, four logical cores of two.
class NrtTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "")); }
  void TearDown() override { nrt_close(); }

  static nrt_tensor_t *device_tensor(size_t size, int vnc = 0, const char *name = "t") {
    nrt_tensor_t *tensor = nullptr;
    EXPECT_EQ(NRT_SUCCESS,
              nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, size, name, &tensor));
    return tensor;
  }
};

// The generated NEFF for Trn2, two subgraphs.
inline std::vector<uint8_t> sample_neff() {
  return file_bytes(NRT_TEST_SAMPLE);
}
