// SPDX-License-Identifier: Apache-2.0
#include "tools/run_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <system_error>

#include "base/clock.h"
#include "tools/tool.h"

namespace {

constexpr auto kPeriod = std::chrono::milliseconds(250);
constexpr uint64_t kNsPerSecond = 1'000'000'000;

}  // namespace

std::string run_progress_text(uint64_t done, uint64_t total, uint64_t seconds,
                              const uint64_t *records) {
  std::string text = "running";
  if (total > 1)
    text += fmt::format(" {}, {} of {}", tool_bar(done, total), done, total);
  text += fmt::format(", {} s", seconds);
  if (records != nullptr)
    text += fmt::format(", {} records", *records);
  return text;
}

run_progress::run_progress(uint64_t total, bool wanted, counter records)
    : total_(total), records_(std::move(records)), start_ns_(clock_now_ns()) {
  if (!wanted || isatty(STDERR_FILENO) != 1)
    return;
  try {
    thread_ = std::thread([this] { show(); });
  } catch (const std::system_error &) {  // runs go on without
  }
}

run_progress::~run_progress() {
  if (!thread_.joinable())
    return;
  {
    std::lock_guard guard(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void run_progress::show() {
  bool shown = false;
  std::unique_lock guard(mutex_);
  while (!changed_.wait_for(guard, kPeriod, [this] { return over_; })) {
    uint64_t passed = clock_now_ns() - start_ns_;
    if (passed < TOOL_QUIET_NS)
      continue;
    shown = true;
    uint64_t records = records_ ? records_() : 0;
    tool_note(
        "\r" +
        run_progress_text(done_, total_, passed / kNsPerSecond, records_ ? &records : nullptr) +
        "\033[K");
  }
  if (shown)
    tool_note("\r\033[K");
}
