// SPDX-License-Identifier: Apache-2.0
// Every member of a NEFF missing, empty, cut short or overwritten in turn: the load says
// NRT_INVALID in one ERROR line that names the member, or takes it where its content is not looked
// at, and leaves nothing behind.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nrt/nrt.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "neff/neff.h"
#include "tests/faults/world.h"
#include "tests/integration/stack.h"

namespace {

enum damage_t { MISSING, EMPTY, HALVED, SHORTER, GARBAGE, DAMAGE_COUNT };
const char *const kDamageNames[] = {"missing", "empty", "halved", "one byte short", "overwritten"};

bool ends_with(const std::string &name, const char *end) {
  return name.size() >= strlen(end) &&
         name.compare(name.size() - strlen(end), strlen(end), end) == 0;
}

neff_write_members damaged(const neff_write_members &members, const std::string &name,
                           damage_t damage) {
  neff_write_members changed = members;
  std::vector<uint8_t> &bytes = changed[name];
  switch (damage) {
    case MISSING:
      changed.erase(name);
      break;
    case EMPTY:
      bytes.clear();
      break;
    case HALVED:
      bytes.resize(bytes.size() / 2);
      break;
    case SHORTER:
      bytes.resize(bytes.size() - 1);
      break;
    default:
      std::fill(bytes.begin(), bytes.end(), uint8_t{0xFE});
  }
  return changed;
}

// What a load must notice. The bytes of weights, streams and tables are the program's own business;
// their lengths are not where somewhere else says how long they are.
bool must_refuse(const std::string &name, damage_t damage) {
  if (damage == MISSING)
    return name != "hlo_stats.json" && name != "debug_info.json";
  if (ends_with(name, ".json"))
    return name != "hlo_stats.json" && name != "debug_info.json";
  if (ends_with(name, ".npy"))
    return true;  // its header is read
  bool sized = ends_with(name, "raw.bin") || ends_with(name, "staged.bin") ||
               ends_with(name, "_bkt.bin") || ends_with(name, "_ctrl.bin");
  return sized && damage != GARBAGE;
}

std::vector<uint8_t> packed(const neff_write_members &members, const neff_write_options &options) {
  finding_sink findings;
  std::vector<uint8_t> file;
  EXPECT_EQ(neff_write(members, options, findings, &file), NRT_SUCCESS);
  return file;
}

std::string engine_of(std::string base) {
  if (base == "Activation")
    return "act";
  for (char &c : base)
    c = static_cast<char>(tolower(c));
  return base;
}

class MemberFaults : public testing::Test {
 protected:
  void SetUp() override {
    fault_log_start();
    ASSERT_EQ(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
  }
  void TearDown() override { nrt_close(); }

  // Loads the file with one member damaged.
  void try_one(const neff_write_members &members, const neff_write_options &options,
               const std::string &name, damage_t damage, bool strict) {
    SCOPED_TRACE(fmt::format("{} {}", name, kDamageNames[damage]));
    std::vector<uint8_t> file = packed(damaged(members, name, damage), options);
    holdings_t before = holdings_now();
    fault_log_clear();
    fault_arm(FAULT_MEMORY, 0, 0);
    outcome_t outcome = load_and_unload(file);
    fault_report_t report = fault_disarm();
    EXPECT_EQ(report.kept_blocks, 0) << outcome.call;
    if (outcome.status == NRT_SUCCESS) {
      EXPECT_FALSE(strict && must_refuse(name, damage)) << "was loaded";
      EXPECT_EQ(fault_log_errors(), 0u) << fault_log_text();
    } else {
      EXPECT_EQ(outcome.status, NRT_INVALID) << fault_log_text();
      EXPECT_EQ(fault_log_errors(), 1u) << fault_log_text();
      std::string base = name.substr(name.rfind('/') + 1);
      base = base.substr(0, base.rfind('.'));
      // A line about an instruction names the engine whose member it is.
      if (fault_log_text().find(", engine ") != std::string::npos && name.ends_with(".bin"))
        base = "engine " + engine_of(base);
      EXPECT_NE(fault_log_text().find(base), std::string::npos)
          << "the line does not name the member:" << fault_log_text();
    }
    EXPECT_EQ(holdings_difference(before, holdings_now()), "");
    tried_++;
    refused_ += outcome.status != NRT_SUCCESS ? 1 : 0;
  }

  uint64_t tried_ = 0, refused_ = 0;
};

}  // namespace

TEST_F(MemberFaults, EveryMemberOfTheSample) {
  sample_t sample = sample_make();
  // Twice: the mock's thread, made by the first load, takes the stack the C library had kept of the
  // uploading thread, and the second load makes another.
  for (int warm = 0; warm < 2; warm++)
    ASSERT_EQ(load_and_unload(packed(sample.members, sample.options)).status, NRT_SUCCESS);
  for (const auto &[name, bytes] : sample.members) {
    for (int damage = 0; damage < DAMAGE_COUNT; damage++)
      try_one(sample.members, sample.options, name, static_cast<damage_t>(damage), true);
  }
  ASSERT_EQ(load_and_unload(packed(sample.members, sample.options)).status, NRT_SUCCESS);
  printf("%lu damaged files, %lu refused\n", tried_, refused_);
}

// Compiler output has members nobody reads; what is refused must be refused well.
TEST_F(MemberFaults, MembersOfTheCorpus) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  for (const std::vector<uint8_t> &file : files) {
    finding_sink findings;
    std::shared_ptr<const neff> source;
    ASSERT_EQ(neff_open(file, {}, findings, &source), NRT_SUCCESS);
    neff_write_members members;
    for (const auto &[name, bytes] : source->members)
      members[name].assign(bytes.begin(), bytes.end());
    neff_write_options options;
    options.feature_bits = source->header.feature_bits;
    options.lnc_size = source->header.lnc_size;
    options.compress = false;
    ASSERT_EQ(load_and_unload(file).status, NRT_SUCCESS);
    uint64_t step = fault_step(members.size() * DAMAGE_COUNT, 20), at = 0;
    for (const auto &[name, bytes] : members) {
      for (int damage = 0; damage < DAMAGE_COUNT; damage++) {
        if (at++ % step == 0 && !(bytes.empty() && damage != MISSING))
          try_one(members, options, name, static_cast<damage_t>(damage), false);
      }
    }
  }
  printf("%lu damaged files, %lu refused\n", tried_, refused_);
}
