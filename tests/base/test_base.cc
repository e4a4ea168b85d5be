// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <regex>

#include "base/checked.h"
#include "base/env.h"
#include "base/finding.h"
#include "base/nlog.h"
#include "base/pages.h"

TEST(Checked, RefusesWhereArithmeticWraps) {
  uint64_t out = 7;
  EXPECT_FALSE(checked_add<uint64_t>(std::numeric_limits<uint64_t>::max(), 1, &out));
  EXPECT_EQ(out, 7u);
  EXPECT_TRUE(checked_add<uint64_t>(std::numeric_limits<uint64_t>::max() - 1, 1, &out));
  EXPECT_EQ(out, std::numeric_limits<uint64_t>::max());
  EXPECT_FALSE(checked_mul<uint64_t>(1ull << 33, 1ull << 31, &out));
  EXPECT_TRUE(checked_round_up<uint64_t>(4097, 4096, &out));
  EXPECT_EQ(out, 8192u);
  EXPECT_FALSE(checked_round_up<uint64_t>(std::numeric_limits<uint64_t>::max() - 2, 4096, &out));
  uint32_t narrow = 0;
  EXPECT_FALSE(checked_cast<uint32_t>(1ull << 32, &narrow));
  EXPECT_FALSE(checked_cast<uint32_t>(-1, &narrow));
  EXPECT_TRUE(checked_cast<uint32_t>((1ull << 32) - 1, &narrow));
}

TEST(Checked, RangeWithinHasNoWrapAround) {
  EXPECT_TRUE(range_within(0, 0, 0));
  EXPECT_TRUE(range_within(10, 6, 16));
  EXPECT_FALSE(range_within(10, 7, 16));
  EXPECT_FALSE(range_within(17, 0, 16));
  EXPECT_FALSE(range_within(~0ull, 2, 16));
  EXPECT_FALSE(range_within(8, ~0ull, 16));
}

TEST(Env, ReadsAndRefuses) {
  uint64_t number = 0;
  bool flag = false;
  unsetenv("OPENNRT_T");
  EXPECT_EQ(env_u64("OPENNRT_T", 5, 0, 10, &number), NRT_SUCCESS);
  EXPECT_EQ(number, 5u);
  setenv("OPENNRT_T", "0x0a", 1);
  EXPECT_EQ(env_u64("OPENNRT_T", 5, 0, 10, &number), NRT_SUCCESS);
  EXPECT_EQ(number, 10u);
  setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
  nlog_configure_from_env();
  for (const char *bad :
       {"11", "-1", " 3", "3x", "0x", "0x0x5", "0x-1", "0x 1", "99999999999999999999999"}) {
    setenv("OPENNRT_T", bad, 1);
    unsigned long errors = nlog_thread_error_count();
    EXPECT_EQ(env_u64("OPENNRT_T", 5, 0, 10, &number), NRT_INVALID) << bad;
    EXPECT_EQ(nlog_thread_error_count(), errors + 1) << bad;
  }
  for (const char *yes : {"1", "true", "TRUE"}) {
    setenv("OPENNRT_T", yes, 1);
    EXPECT_EQ(env_bool("OPENNRT_T", false, &flag), NRT_SUCCESS);
    EXPECT_TRUE(flag);
  }
  setenv("OPENNRT_T", "maybe", 1);
  EXPECT_EQ(env_bool("OPENNRT_T", false, &flag), NRT_INVALID);
  unsetenv("OPENNRT_T");
  unsetenv("NEURON_RT_LOG_LEVEL");
  nlog_configure_from_env();
}

TEST(Nlog, LineHasTheDocumentedLayout) {
  std::string path = testing::TempDir() + "/nlog_" + std::to_string(getpid());
  setenv("NEURON_RT_LOG_LOCATION", path.c_str(), 1);
  setenv("NEURON_RT_LOG_LEVEL", "ERROR", 1);
  setenv("NEURON_RT_LOG_LEVEL_TDRV", "debug", 1);
  nlog_configure_from_env();
  EXPECT_TRUE(nlog_enabled(NLOG_TDRV, NLOG_LEVEL_DEBUG));
  EXPECT_FALSE(nlog_enabled(NLOG_NRT, NLOG_LEVEL_WARN));
  NLOG_ERROR(NLOG_TDRV, "size {} over {}", 5, 4);
  NLOG_INFO(NLOG_NRT, "not written");
  unsetenv("NEURON_RT_LOG_LOCATION");
  unsetenv("NEURON_RT_LOG_LEVEL");
  unsetenv("NEURON_RT_LOG_LEVEL_TDRV");
  nlog_configure_from_env();
  std::ifstream file(path);
  std::string line, second;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_FALSE(std::getline(file, second));
  // <date> <time>  <pid>:<tid> <LEVEL> <COMP>:<function>   <message>
  std::regex layout(
      R"(^\d{4}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{6} +\d+:\d+ +ERROR TDRV:TestBody +size 5 over 4$)");
  EXPECT_TRUE(std::regex_match(line, layout)) << line;
  unlink(path.c_str());
}

// A name with a line break cannot forge a line; a block keeps its lines.
TEST(Nlog, NamesCannotBeginALine) {
  std::string path = testing::TempDir() + "/nlog_forged_" + std::to_string(getpid());
  setenv("NEURON_RT_LOG_LOCATION", path.c_str(), 1);
  nlog_configure_from_env();
  NLOG_ERROR(NLOG_TDRV, "tensor {}: size 0", "a\n2026 ERROR\tforged\x1b[2J\x7f");
  nlog_held_error held;
  nlog_hold_errors(&held);
  NLOG_ERROR(NLOG_TDRV, "held {}", "b\rc");
  nlog_hold_errors(nullptr);
  nlog_write_held(held);
  nlog_write_block(NLOG_TDRV, NLOG_LEVEL_ERROR, "f", "head\n\titem");
  unsetenv("NEURON_RT_LOG_LOCATION");
  nlog_configure_from_env();
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[0].ends_with("tensor a?2026 ERROR?forged?[2J?: size 0")) << lines[0];
  EXPECT_TRUE(lines[1].ends_with("held b?c")) << lines[1];
  EXPECT_TRUE(lines[2].ends_with("head")) << lines[2];
  EXPECT_EQ(lines[3], "\titem");
  unlink(path.c_str());
}

TEST(Nlog, TellsAMistakeOnceAndFallsBack) {
  std::string path = testing::TempDir() + "/no_such_directory/nlog";
  setenv("NEURON_RT_LOG_LOCATION", path.c_str(), 1);
  setenv("NEURON_RT_LOG_LEVEL", "loud", 1);
  testing::internal::CaptureStderr();
  nlog_configure_from_env();
  std::string told = testing::internal::GetCapturedStderr();
  unsetenv("NEURON_RT_LOG_LOCATION");
  unsetenv("NEURON_RT_LOG_LEVEL");
  nlog_configure_from_env();
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << told;
  EXPECT_NE(told.find("no directory"), std::string::npos) << told;
  EXPECT_NE(told.find("NEURON_RT_LOG_LEVEL='loud'"), std::string::npos) << told;
  EXPECT_NE(access((testing::TempDir() + "/no_such_directory").c_str(), F_OK), 0);
}

// Whatever a file holds, a finding is one line that ends somewhere.
TEST(Finding, IsOneLineOfBoundedLength) {
  finding_sink sink;
  sink.add(NRT_INVALID, "a\nb", "name {}", "\x0c\x7f\xc3\xa4");
  EXPECT_EQ(sink.all()[0].where, "a\\x0ab");
  EXPECT_EQ(sink.all()[0].what, "name \\x0c\\x7f\xc3\xa4");
  finding_sink other;
  std::string name(FINDING_MAX_TEXT - 1, 'n');
  other.add(NRT_INVALID, "x", "{}\xc3\xa4 and more", name);
  EXPECT_EQ(other.all()[0].what, name + "...");  // not half a character
}

TEST(Finding, FirstStatusWinsAndAllAreKept) {
  finding_sink sink(true);
  EXPECT_EQ(sink.status(), NRT_SUCCESS);
  EXPECT_EQ(sink.add(NRT_UNSUPPORTED_NEFF_VERSION, "header+0x18", "major {}", 3),
            NRT_UNSUPPORTED_NEFF_VERSION);
  finding_sink other(true);
  other.add(NRT_INVALID, "m", "x");
  sink.merge(std::move(other));
  EXPECT_EQ(sink.status(), NRT_UNSUPPORTED_NEFF_VERSION);
  ASSERT_EQ(sink.all().size(), 2u);
  EXPECT_EQ(sink.all()[0].what, "major 3");
}

TEST(Log, HeldErrorsAreWrittenOnceByWhoeverReleasesThem) {
  setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
  nlog_configure_from_env();
  nlog_held_error held;
  unsigned long before = nlog_thread_error_count();
  EXPECT_EQ(nlog_hold_errors(&held), nullptr);
  NLOG_ERROR(NLOG_TDRV, "first {}", 1);
  NLOG_ERROR(NLOG_HAL, "second {}", 2);
  EXPECT_EQ(nlog_hold_errors(nullptr), &held);
  EXPECT_EQ(nlog_thread_error_count(), before);
  EXPECT_TRUE(held.set);
  EXPECT_EQ(held.message, "first 1");
  EXPECT_EQ(held.component, NLOG_TDRV);
  std::string seen;
  nlog_set_hook([](void *user, nlog_component, nlog_level, const char *,
                   std::string_view text) { *static_cast<std::string *>(user) += text; },
                &seen);
  nlog_write_held(held);
  nlog_write_held(nlog_held_error{});
  nlog_set_hook(nullptr, nullptr);
  EXPECT_EQ(seen, "first 1");
  EXPECT_EQ(nlog_thread_error_count(), before + 1);
}

namespace {

// Whether the kernel was told so about the mapping that holds `address`.
bool hinted(const void *address) {
  auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin, end;
    if (sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin <= wanted && wanted < end;
    else if (inside && line.starts_with("VmFlags:"))
      return line.find(" hg") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST(Pages, AHintIsAboutTheInsideOfALargeBlock) {
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
    GTEST_SKIP() << "this kernel has no transparent huge pages";
  constexpr size_t kHuge = size_t{2} << 20, kPage = 4096;
  // From one page before a boundary to one page behind one.
  constexpr size_t kMapped = PAGES_HUGE_MIN_BYTES + 4 * kHuge;
  auto *mapped = static_cast<char *>(
      mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  auto at = reinterpret_cast<uintptr_t>(mapped);
  char *boundary = mapped + ((at + kPage + kHuge - 1) / kHuge * kHuge - at);
  char *block = boundary - kPage;
  size_t bytes = PAGES_HUGE_MIN_BYTES + kHuge + 2 * kPage;

  pages_hint_huge(block, PAGES_HUGE_MIN_BYTES - 1);
  EXPECT_FALSE(hinted(boundary));
  pages_hint_huge(block, bytes);
  EXPECT_FALSE(hinted(block));
  EXPECT_TRUE(hinted(boundary));
  EXPECT_TRUE(hinted(block + bytes - 2 * kPage));
  EXPECT_FALSE(hinted(block + bytes - 1));
  munmap(mapped, kMapped);
}

TEST(Pages, WhatIsFilledStandsInMemoryAndNothingElse) {
  constexpr size_t kPage = 4096, kPages = 64;
  auto *mapped = static_cast<char *>(
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  auto present = [&] {
    unsigned char pages[kPages];
    EXPECT_EQ(mincore(mapped, kPages * kPage, pages), 0);
    return std::vector<unsigned char>(pages, pages + kPages);
  };
  pages_fill(mapped, PAGES_FILL_MIN_BYTES - 1);
  EXPECT_THAT(present(), testing::Each(0));
  // From inside the third page to inside the thirty-fourth: whole pages only.
  pages_fill(mapped + 2 * kPage + 1, 32 * kPage);
  if (present()[3] == 0)
    GTEST_SKIP() << "this kernel has no MADV_POPULATE_WRITE";
  for (size_t i = 0; i < kPages; i++)
    EXPECT_EQ(present()[i], i >= 3 && i < 34 ? 1 : 0) << i;
  munmap(mapped, kPages * kPage);
}
