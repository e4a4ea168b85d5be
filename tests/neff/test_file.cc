// SPDX-License-Identifier: Apache-2.0
#include "neff/neff_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <random>

#include "tests/neff/neff_test.h"

using testing::HasSubstr;

namespace {

// More than the blocks in flight at once, and not a multiple of the block.
bytes_t big_file(const std::string &path) {
  std::mt19937_64 random(3);
  bytes_t data(45'000'001);
  for (size_t i = 0; i + 8 <= data.size(); i += 8) {
    uint64_t value = random();
    memcpy(data.data() + i, &value, 8);
  }
  spit(path, data);
  return data;
}

bool kernel_has_io_uring() {
  // An invalid call: ENOSYS or EPERM where the ring is not to be had, else EINVAL or EFAULT.
  long result = syscall(SYS_io_uring_setup, 0, nullptr);
  return result >= 0 || (errno != ENOSYS && errno != EPERM);
}

class FileRead : public testing::Test {
 protected:
  void TearDown() override { unsetenv("OPENNRT_IO_URING"); }
  scratch_dir dir;
};

}  // namespace

TEST_F(FileRead, RingAndFallbackReadTheSame) {
  bytes_t data = big_file(dir / "big");
  for (const char *setting : {"1", "0"}) {
    setenv("OPENNRT_IO_URING", setting, 1);
    neff_file_bytes bytes;
    finding_sink findings;
    uint64_t last = 0;
    uint64_t total = 0;
    ASSERT_EQ(neff_file_read(dir / "big", findings, &bytes,
                             [&](uint64_t done, uint64_t all) {
                               EXPECT_GT(done, last);
                               last = done;
                               total = all;
                             }),
              NRT_SUCCESS);
    ASSERT_EQ(bytes.size, data.size());
    EXPECT_EQ(memcmp(bytes.data.get(), data.data(), data.size()), 0) << setting;
    EXPECT_EQ(bytes.used_io_uring, setting[0] == '1' && kernel_has_io_uring());
    EXPECT_EQ(last, data.size());
    EXPECT_EQ(total, data.size());
  }
}

// One descriptor is left for the file, none for the ring: setting it up fails, reading does not.
TEST_F(FileRead, RingThatCannotBeSetUp) {
  bytes_t data = big_file(dir / "big");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  int lowest_free = open("/dev/null", O_RDONLY);
  close(lowest_free);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(lowest_free) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  neff_file_bytes bytes;
  finding_sink findings;
  NRT_STATUS status = neff_file_read(dir / "big", findings, &bytes);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(status, NRT_SUCCESS);
  EXPECT_FALSE(bytes.used_io_uring);
  EXPECT_EQ(memcmp(bytes.data.get(), data.data(), data.size()), 0);
}

TEST_F(FileRead, SmallSizes) {
  for (size_t size : {0u, 1u, 1023u, 4096u}) {
    bytes_t data(size, 7);
    spit(dir / "f", data);
    neff_file_bytes bytes;
    finding_sink findings;
    ASSERT_EQ(neff_file_read(dir / "f", findings, &bytes), NRT_SUCCESS) << size;
    EXPECT_EQ(bytes_t(bytes.span().begin(), bytes.span().end()), data);
  }
}

TEST_F(FileRead, WhatIsNoFile) {
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  for (const std::string &path :
       {dir / "absent", dir.path(), dir / "pipe", std::string("/dev/null"), std::string()}) {
    neff_file_bytes bytes;
    finding_sink findings;
    EXPECT_EQ(neff_file_read(path, findings, &bytes), NRT_INVALID) << path;
    ASSERT_EQ(findings.all().size(), 1u);
    EXPECT_EQ(findings.all()[0].where, path);
    EXPECT_EQ(bytes.data, nullptr);
  }
}

// The file grows and shrinks under the reader: whatever it finds, it never hands out a mix.
TEST_F(FileRead, ChangeWhileReading) {
  for (const char *setting : {"1", "0"}) {
    setenv("OPENNRT_IO_URING", setting, 1);
    big_file(dir / "f");
    neff_file_bytes bytes;
    finding_sink findings;
    bool cut = false;
    NRT_STATUS status = neff_file_read(dir / "f", findings, &bytes, [&](uint64_t, uint64_t) {
      if (!cut) {
        EXPECT_EQ(truncate((dir / "f").c_str(), 44'000'000), 0);
      }
      cut = true;
    });
    EXPECT_EQ(status, NRT_INVALID) << setting;
    ASSERT_EQ(findings.all().size(), 1u);
    EXPECT_THAT(findings.all()[0].what, HasSubstr("changed while being read"));
  }
}

TEST_F(FileRead, BadSettingIsRefused) {
  setenv("OPENNRT_IO_URING", "perhaps", 1);
  spit(dir / "f", bytes_t(10));
  neff_file_bytes bytes;
  finding_sink findings;
  EXPECT_EQ(neff_file_read(dir / "f", findings, &bytes), NRT_INVALID);
}

TEST_F(FileRead, WriteReplacesWholeFiles) {
  finding_sink findings;
  spit(dir / "f", bytes_t(100, 1));
  ASSERT_EQ(neff_file_write(dir / "f", bytes_t(5, 2), findings), NRT_SUCCESS);
  EXPECT_EQ(slurp(dir / "f"), bytes_t(5, 2));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
  EXPECT_EQ(neff_file_write(dir / "no/such/dir", bytes_t(5), findings), NRT_FAILURE);
  // A device stays what it is.
  ASSERT_EQ(neff_file_write("/dev/null", bytes_t(5), findings), NRT_SUCCESS);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}
