// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/support.h"

#include <atomic>
#include <cstring>

#include "base/nlog.h"
#include "tests/integration/sample.h"

namespace {

constexpr size_t kLongestLine = 8192;
std::atomic<unsigned long> g_errors{0};

void on_line(void *, nlog_component, nlog_level level, const char *, std::string_view message) {
  FUZZ_CHECK(fuzz_is_one_line(message), "log line {}", message);
  if (level == NLOG_LEVEL_ERROR)
    g_errors++;
}

struct padded_members {
  std::map<std::string, std::unique_ptr<uint8_t[]>> storage;
  neff table;

  void add(const std::string &name, std::span<const uint8_t> bytes) {
    auto block = std::make_unique<uint8_t[]>(bytes.size() + NEFF_MEMBER_PADDING);
    if (!bytes.empty())
      memcpy(block.get(), bytes.data(), bytes.size());
    table.members[name] = {block.get(), bytes.size()};
    storage[name] = std::move(block);
  }
};

}  // namespace

bool fuzz_is_one_line(std::string_view text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F)
      return false;
  }
  return text.size() <= kLongestLine;
}

void fuzz_check_findings(NRT_STATUS status, const finding_sink &findings) {
  FUZZ_CHECK((status == NRT_SUCCESS) == findings.empty(), "status {} with {} findings",
             static_cast<int>(status), findings.all().size());
  FUZZ_CHECK(findings.collect() || findings.all().size() <= 1, "{} findings",
             findings.all().size());
  FUZZ_CHECK(findings.status() == status, "status {}, the first finding has {}",
             static_cast<int>(status), static_cast<int>(findings.status()));
  for (const finding &f : findings.all()) {
    FUZZ_CHECK(f.status != NRT_SUCCESS && !f.what.empty() && !f.where.empty(), "{}: {}", f.where,
               f.what);
    FUZZ_CHECK(fuzz_is_one_line(f.where) && fuzz_is_one_line(f.what), "not one line: {}: {}",
               f.where, f.what);
  }
}

void fuzz_silence_log() {
  setenv("NEURON_RT_LOG_LEVEL", "ERROR", 1);
  setenv("NEURON_RT_LOG_LOCATION", "/dev/null", 1);
  setenv("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "0", 1);  // no table of many lines, no files
  nlog_configure_from_env();
  nlog_set_hook(on_line, nullptr);
}

unsigned long fuzz_error_lines() {
  return g_errors.load();
}

fuzz_members fuzz_sample_members(uint32_t subgraphs) {
  sample_options_t options;
  options.subgraphs = subgraphs;
  return sample_make(options).members;
}

std::shared_ptr<const neff> fuzz_neff(const fuzz_members &base, const std::string &member,
                                      std::span<const uint8_t> input) {
  auto made = std::make_shared<padded_members>();
  for (const auto &[name, bytes] : base) {
    if (name != member)
      made->add(name, bytes);
  }
  made->add(member, input);
  return {made, &made->table};
}
