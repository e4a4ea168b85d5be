// SPDX-License-Identifier: Apache-2.0
// Every request to the driver, allocation, mapping and thread of a program's calls fails in turn:
// the right status, one ERROR line, nothing left behind, nothing loaded disturbed, and the next
// attempt works. OPENNRT_FAULTS=all tries every one (`make faults`), else a part.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nrt/nrt.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tests/faults/world.h"
#include "tests/integration/sample.h"
#include "tests/integration/stack.h"
#include "uapi/neuron_ioctl.h"

namespace {

constexpr int kErrors[] = {ENOMEM, EIO, EINVAL, EBUSY};
constexpr uint64_t kFew = 60, kFewCorpus = 12;

struct fault_case_t {
  fault_kind_t kind;
  int error;
};

outcome_t init() {
  return {nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init"};
}

// The whole of a runtime without a model.
outcome_t init_and_close() {
  outcome_t o = init();
  if (o.status == NRT_SUCCESS)
    nrt_close();
  return o;
}

class ApiFaults : public testing::Test {
 protected:
  void SetUp() override {
    fault_log_start();
    // Whatever is made once per process.
    for (int i = 0; i < 2; i++) {
      fault_arm(FAULT_MEMORY, 1000, 0);
      (void)init();
      (void)fault_disarm();
      ASSERT_EQ(init().status, NRT_SUCCESS);
      ASSERT_EQ(use_model(file_).status, NRT_SUCCESS);
      nrt_close();
    }
  }
  void TearDown() override { nrt_close(); }

  const std::vector<uint8_t> file_ = sample_file();
};

std::string context(const fault_report_t &report) {
  return fmt::format("request {:#x}{}{}", report.request, fault_log_text(), report.where);
}

// What every failure has in common.
void check_report(const fault_case_t &fault, const fault_report_t &report,
                  const outcome_t &outcome) {
  EXPECT_EQ(report.kept_blocks, 0)
      << report.kept_bytes << " bytes, " << outcome.call << context(report);
  if (outcome.status == NRT_SUCCESS) {
    EXPECT_EQ(fault_log_errors(), 0u) << "success with" << context(report);
    return;
  }
  EXPECT_EQ(unexpected_status(fault.kind, fault.error, report, outcome), "") << context(report);
  EXPECT_EQ(fault_log_errors(), 1u) << context(report);
}

uint64_t count_events(fault_kind_t kind, const std::function<outcome_t()> &calls) {
  fault_arm(kind, 0, 0);
  EXPECT_EQ(calls().status, NRT_SUCCESS);
  return fault_disarm().count;
}

// An initialised runtime with one model on logical core 1.
class loaded_world {
 public:
  loaded_world() : other_(sample_file({.variant = 1})) { start(); }
  ~loaded_world() { nrt_close(); }
  loaded_world(const loaded_world &) = delete;
  loaded_world &operator=(const loaded_world &) = delete;

  void start() {
    ASSERT_EQ(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    ASSERT_EQ(nrt_load(other_.data(), other_.size(), 1, 1, &model_), NRT_SUCCESS);
    find_weights();
  }
  // A fresh machine, after a failure that leaves something in the driver.
  void restart() {
    nrt_close();
    start();
  }
  // The other model's weights lie where they lay.
  void check_other() {
    ASSERT_EQ(weights_.size(), 2u);
    for (uint32_t sg = 0; sg < 2; sg++) {
      auto *bytes = static_cast<uint8_t *>(mock_dram(fault_machine(), 0, weights_[sg], kSampleNpy));
      ASSERT_NE(bytes, nullptr);
      for (uint64_t i = 0; i < kSampleNpy; i += 61)
        ASSERT_EQ(bytes[i], sample_weight(SAMPLE_W_NPY, sg, 1, i)) << "byte " << i;
    }
  }

 private:
  // By content: the only chunks that begin with a weight's first page.
  void find_weights() {
    weights_.clear();
    const holdings_t h = holdings_now();
    for (uint32_t sg = 0; sg < 2; sg++) {
      for (size_t i = 0; i < h.chunks.size(); i += 3) {
        auto *bytes = static_cast<uint8_t *>(mock_dram(fault_machine(), 0, h.chunks[i], 64));
        uint64_t same = 0;
        while (bytes != nullptr && same < 64 &&
               bytes[same] == sample_weight(SAMPLE_W_NPY, sg, 1, same))
          same++;
        if (same == 64)
          weights_.push_back(h.chunks[i]);
      }
    }
  }

  std::vector<uint8_t> other_;
  nrt_model_t *model_ = nullptr;
  std::vector<uint64_t> weights_;
};

struct fault_run_t {
  fault_report_t report;
  outcome_t outcome;
};

fault_run_t run_with(const fault_case_t &fault, uint64_t n,
                     const std::function<outcome_t()> &calls) {
  fault_run_t run;
  fault_log_clear();
  fault_arm(fault.kind, n, fault.error);
  run.outcome = calls();
  run.report = fault_disarm();
  EXPECT_TRUE(run.report.fired);
  check_report(fault, run.report, run.outcome);
  return run;
}

void print_total(const fault_case_t &fault, const char *what, uint64_t tried, uint64_t events,
                 uint64_t failed) {
  printf("%s: %s, %s: %lu of %lu, the call failed for %lu\n", what, fault_kind_name(fault.kind),
         fault.kind == FAULT_IOCTL ? strerror(fault.error) : "-", tried, events, failed);
}

// Fails the nth event of `calls` for about `few` (or all) n, beside a loaded model.
void fail_each(const fault_case_t &fault, uint64_t few, const char *what,
               const std::function<outcome_t()> &calls) {
  loaded_world world;
  ASSERT_EQ(calls().status, NRT_SUCCESS);
  uint64_t events = count_events(fault.kind, calls), step = fault_step(events, few);
  uint64_t failed = 0, tried = 0;
  holdings_t before = holdings_now();
  for (uint64_t n = 1; n <= events && !testing::Test::HasFatalFailure(); n += step, tried++) {
    SCOPED_TRACE(
        fmt::format("{} {} of {}, errno {}", fault_kind_name(fault.kind), n, events, fault.error));
    fault_run_t run = run_with(fault, n, calls);
    failed += run.outcome.status != NRT_SUCCESS ? 1 : 0;
    if (run.report.request == NEURON_IOCTL_MEM_FREE) {
      // The driver keeps what it did not want to take back: one chunk, and a WARN line says so.
      // Notification queues are in host memory.
      bool host = fault_log_text().find("notification queue") != std::string::npos;
      EXPECT_EQ(holdings_now().chunks.size(), before.chunks.size() + (host ? 0 : 3));
      EXPECT_EQ(fault_log_warnings(), 1u) << context(run.report);
      world.restart();
      ASSERT_EQ(calls().status, NRT_SUCCESS);
      before = holdings_now();
      continue;
    }
    EXPECT_EQ(holdings_difference(before, holdings_now()), "") << context(run.report);
    world.check_other();
    fault_log_clear();
    ASSERT_EQ(calls().status, NRT_SUCCESS) << context(run.report);
    EXPECT_EQ(holdings_difference(before, holdings_now()), "") << "after the next attempt";
  }
  print_total(fault, what, tried, events, failed);
  if (fault.kind != FAULT_THREAD) {  // a load does without
    EXPECT_GT(failed, 0u);
  }
}

// The same for nrt_init, and for nrt_close without a model.
void fail_each_init(const fault_case_t &fault, uint64_t few) {
  uint64_t events = count_events(fault.kind, init_and_close), step = fault_step(events, few);
  uint64_t failed = 0, tried = 0;
  holdings_t before = holdings_now();
  for (uint64_t n = 1; n <= events; n += step, tried++) {
    SCOPED_TRACE(
        fmt::format("{} {} of {}, errno {}", fault_kind_name(fault.kind), n, events, fault.error));
    fault_run_t run = run_with(fault, n, init_and_close);
    failed += run.outcome.status != NRT_SUCCESS ? 1 : 0;
    EXPECT_EQ(fault_machine(), nullptr) << context(run.report);
    EXPECT_EQ(holdings_difference(before, holdings_now()), "") << context(run.report);
    ASSERT_EQ(init_and_close().status, NRT_SUCCESS);
  }
  print_total(fault, "nrt_init", tried, events, failed);
}

// nrt_close after a load: it cannot fail, so whatever goes wrong, everything goes.
void fail_each_close(const fault_case_t &fault, uint64_t few, const std::vector<uint8_t> &file) {
  auto run = [&](uint64_t n) {
    nrt_model_t *model = nullptr;
    fault_log_clear();
    int64_t before = fault_live_blocks();
    NRT_STATUS ready = init().status, loaded = nrt_load(file.data(), file.size(), 0, 1, &model);
    fault_arm(fault.kind, n, fault.error);
    nrt_close();
    int64_t after = fault_live_blocks();  // the report takes memory, too
    fault_report_t report = fault_disarm();
    EXPECT_EQ(after - before, 0) << context(report);
    EXPECT_EQ(ready, NRT_SUCCESS);
    EXPECT_EQ(loaded, NRT_SUCCESS);
    EXPECT_EQ(fault_log_errors(), 0u) << context(report);
    EXPECT_EQ(fault_machine(), nullptr) << context(report);
    return report.count;
  };
  uint64_t events = run(0), step = fault_step(events, few), tried = 0;
  holdings_t before = holdings_now();
  for (uint64_t n = 1; n <= events; n += step, tried++) {
    SCOPED_TRACE(fmt::format("{} {} of {}", fault_kind_name(fault.kind), n, events));
    run(n);
    EXPECT_EQ(holdings_difference(before, holdings_now()), "");
  }
  print_total(fault, "nrt_close", tried, events, 0);
}

}  // namespace

TEST_F(ApiFaults, EveryRequestOfAModelsLife) {
  for (int error : kErrors)
    fail_each({FAULT_IOCTL, error}, kFew, "sample", [&] { return use_model(file_); });
}

TEST_F(ApiFaults, EveryAllocationOfAModelsLife) {
  fail_each({FAULT_MEMORY, 0}, kFew, "sample", [&] { return use_model(file_); });
}

TEST_F(ApiFaults, EveryMappingOfAModelsLife) {
  fail_each({FAULT_MMAP, 0}, kFew, "sample", [&] { return use_model(file_); });
}

TEST_F(ApiFaults, EveryThreadOfAModelsLife) {
  fail_each({FAULT_THREAD, 0}, kFew, "sample", [&] { return use_model(file_); });
}

TEST_F(ApiFaults, EveryEventOfInit) {
  for (int error : kErrors)
    fail_each_init({FAULT_IOCTL, error}, kFew);
  for (fault_kind_t kind : {FAULT_MEMORY, FAULT_MMAP, FAULT_THREAD})
    fail_each_init({kind, 0}, kFew);
}

TEST_F(ApiFaults, EveryEventOfClose) {
  for (int error : kErrors)
    fail_each_close({FAULT_IOCTL, error}, kFew / 4, file_);
  for (fault_kind_t kind : {FAULT_MEMORY, FAULT_MMAP, FAULT_THREAD})
    fail_each_close({kind, 0}, kFew / 4, file_);
}

TEST_F(ApiFaults, Corpus) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  unsetenv("OPENNRT_FAULTS");  // always a part: one load takes up to a second
  const char *const names[] = {"matmul_small", "matmul_large", "attn_v6"};
  for (size_t i = 0; i < files.size(); i++) {
    for (const fault_case_t &fault : {fault_case_t{FAULT_IOCTL, ENOMEM},
                                      {FAULT_IOCTL, EIO},
                                      {FAULT_MEMORY, 0},
                                      {FAULT_MMAP, 0}})
      fail_each(fault, kFewCorpus, names[i], [&] { return load_and_unload(files[i]); });
  }
}
