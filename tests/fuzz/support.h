// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. A target is one file that defines LLVMFuzzerTestOneInput; it is
// linked with libFuzzer (meson -Dfuzzers=true) and with replay.cc (the normal suite).
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/finding.h"
#include "neff/neff.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Ends the process, so that libFuzzer keeps the input.
#define FUZZ_CHECK(condition, ...)                                             \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "fuzz: %s:%d: %s: %s\n", __FILE__, __LINE__, #condition, \
              fmt::format(__VA_ARGS__).c_str());                               \
      abort();                                                                 \
    }                                                                          \
  } while (0)

// Reads an input front to back; behind its end everything is zero.
struct fuzz_input {
  std::span<const uint8_t> rest;

  bool empty() const { return rest.empty(); }
  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && !rest.empty(); i++, rest = rest.subspan(1))
      value |= uint64_t{rest[0]} << 8 * i;
    return value;
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
};

// A status and the findings it came with belong together: a failure has a finding, the first one
// gives the status, without collecting there is only one, and each is one line of bounded length.
void fuzz_check_findings(NRT_STATUS status, const finding_sink &findings);
bool fuzz_is_one_line(std::string_view text);

// From now on log lines are formatted and checked to be single lines, but written nowhere.
void fuzz_silence_log();
unsigned long fuzz_error_lines();  // ERROR lines so far

// Members of the test suite's sample (one subgraph or two) as a starting point.
using fuzz_members = std::map<std::string, std::vector<uint8_t>>;
fuzz_members fuzz_sample_members(uint32_t subgraphs);

// The member table that neff_open would hand over, with `member` replaced by the input. Every
// member is in a block of its own, so that reads past its padding are seen.
std::shared_ptr<const neff> fuzz_neff(const fuzz_members &base, const std::string &member,
                                      std::span<const uint8_t> input);
