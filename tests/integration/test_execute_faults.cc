// SPDX-License-Identifier: Apache-2.0
// Runs that the device fails: the status each failure gives, the one line, and that other models
// run afterwards (dma-and-exec.md 4.4).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isa/project.h"
#include "tests/integration/matmul_small.h"

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Notification records of one run of matmul_small: START and END of five engines of two cores.
constexpr uint32_t kRecords = 2 * 5 * 2;

class ExecuteFaults : public testing::Test {
 protected:
  void SetUp() override {
    files = corpus_files();
    if (files.empty()) {
      printf("skipped: no corpus\n");
      GTEST_SKIP() << "skipped: no corpus";
    }
  }
  // Runs matmul_small with one thing going wrong in the device. Then it and another model run.
  void expect(uint32_t event, uint32_t nth, int number, NRT_STATUS status,
              const testing::Matcher<const std::string &> &line) {
    stack s;
    matmul_small model(s, files[0]), other(s, files[0]);
    ASSERT_TRUE(model.ok() && other.ok());
    ASSERT_TRUE(model.right(1));
    {
      log_capture log;
      s.fail_nth(event, nth, number);
      EXPECT_EQ(model.run(), status);
      EXPECT_THAT(log.errors(), ElementsAre(line));
      s.heal();
    }
    EXPECT_TRUE(other.right(2));
    EXPECT_TRUE(model.right(3));
    // In a full lap of the queues, too.
    for (int run = 0; run < 130; ++run)
      ASSERT_EQ(model.run(), NRT_SUCCESS) << run;
  }
  std::vector<std::vector<uint8_t>> files;
};

// The last records of the run: each core's are written in the order of its engines, so that the
// record lost is an END.
TEST_F(ExecuteFaults, ALostEndIsATimeout) {
  expect(MOCK_FAULT_NOTIFICATION, kRecords, 1, NRT_TIMEOUT, HasSubstr("has not reported its end"));
}

// An END nobody waits for yet.
TEST_F(ExecuteFaults, ALostStartIsOutOfOrder) {
  expect(MOCK_FAULT_NOTIFICATION, 1, 1, NRT_FAILURE, HasSubstr("not due"));
}

TEST_F(ExecuteFaults, AFullQueue) {
  expect(MOCK_FAULT_NQ_OVERFLOW, kRecords, 1, NRT_EXEC_SW_NQ_OVERFLOW,
         HasSubstr("a notification queue was full"));
}

TEST_F(ExecuteFaults, AnEngineThatStops) {
  expect(MOCK_FAULT_ENGINE, 3, 1, NRT_EXEC_COMPLETED_WITH_ERR,
         HasSubstr("fatal error of the sequencer"));
}

struct record_t {
  uint16_t error;
  NRT_STATUS status;
  const char *line;
};
class ErrorRecord : public ExecuteFaults, public testing::WithParamInterface<record_t> {};
TEST_P(ErrorRecord, GivesItsStatus) {
  expect(MOCK_FAULT_ERROR_RECORD, 2, GetParam().error, GetParam().status,
         HasSubstr(GetParam().line));
}
INSTANTIATE_TEST_SUITE_P(
    Types, ErrorRecord,
    testing::Values(
        record_t{PROJECT_ERROR_NAN, NRT_EXEC_COMPLETED_WITH_NUM_ERR, "not a number"},
        record_t{PROJECT_ERROR_MEMORY, NRT_EXEC_HW_ERR_NC_UE, "memory error"},
        record_t{PROJECT_ERROR_FAKE, NRT_EXEC_COMPLETED_WITH_ERR, "fake error"},
        record_t{PROJECT_ERROR_SEMAPHORE, NRT_EXEC_COMPLETED_WITH_ERR, "semaphore error"},
        record_t{PROJECT_ERROR_EVENT, NRT_EXEC_COMPLETED_WITH_ERR, "event error"},
        record_t{PROJECT_ERROR_PSUM, NRT_EXEC_COMPLETED_WITH_ERR, "PSUM error"},
        record_t{PROJECT_ERROR_SEQUENCER, NRT_EXEC_COMPLETED_WITH_ERR, "cannot be executed"},
        record_t{PROJECT_ERROR_SEQUENCER_FATAL, NRT_EXEC_COMPLETED_WITH_ERR, "fatal"},
        record_t{PROJECT_ERROR_OUT_OF_BOUNDS, NRT_EXEC_OOB, "beyond its bound"},
        record_t{PROJECT_ERROR_DMA_ABORT, NRT_EXEC_HW_ERR_DMA_ABORT, "a DMA engine has stopped"},
        record_t{PROJECT_ERROR_DMA_IN_FLIGHT, NRT_EXEC_COMPLETED_WITH_ERR,
                 "ended before its transfers"}));

// Records that mean nothing to a run: infinities and denormals are results.
TEST_F(ExecuteFaults, OverflowsOfNumbersAreNoErrors) {
  for (uint16_t error : {PROJECT_ERROR_INFINITY, PROJECT_ERROR_OVERFLOW}) {
    stack s;
    matmul_small model(s, files[0]);
    ASSERT_TRUE(model.ok());
    s.fail_nth(MOCK_FAULT_ERROR_RECORD, 1, error);
    EXPECT_TRUE(model.right(1));
  }
}

// 1003 says that the data is there and holds a NaN: host tensors get it.
TEST_F(ExecuteFaults, ANumericalErrorDeliversItsOutputs) {
  stack s;
  matmul_small model(s, files[0], 0, tensor_placement_t::VIRTUAL);
  ASSERT_TRUE(model.ok());
  model.fill(5);
  model.spoil();
  s.fail_nth(MOCK_FAULT_ERROR_RECORD, 1, PROJECT_ERROR_NAN);
  EXPECT_EQ(model.run(), NRT_EXEC_COMPLETED_WITH_NUM_ERR);
  EXPECT_EQ(model.wrong(), 0u);
}

// The worst of several: a NaN, and a record that is lost.
TEST_F(ExecuteFaults, TheWorstOfTwo) {
  stack s;
  matmul_small model(s, files[0]);
  ASSERT_TRUE(model.ok());
  mock_fault_t faults[] = {{MOCK_FAULT_ERROR_RECORD, 1, PROJECT_ERROR_NAN, false},
                           {MOCK_FAULT_NQ_OVERFLOW, kRecords, 1, false}};
  ASSERT_EQ(mock_set_faults(s.host, faults, 2), 0);
  model.fill(1);
  log_capture log;
  EXPECT_EQ(model.run(), NRT_EXEC_SW_NQ_OVERFLOW);
  EXPECT_THAT(log.errors(), ElementsAre(AllOf(HasSubstr("not a number"), HasSubstr("was full"))));
}

// A slow engine is no failure.
TEST_F(ExecuteFaults, ASlowEngine) {
  stack s;
  matmul_small model(s, files[0]);
  ASSERT_TRUE(model.ok());
  s.fail_nth(MOCK_FAULT_SLOW, 2, 300);
  EXPECT_TRUE(model.right(1));
}

// A program with static DMA queues: the engine behind a doorbell stops.
TEST_F(ExecuteFaults, ADmaEngineThatStops) {
  stack s;
  matmul_small other(s, files[0]);
  ASSERT_TRUE(other.ok());
  H_NN h = 0;
  ASSERT_EQ(s.load(files[2], 0, &h), NRT_SUCCESS);
  kmgr_model_t *model = kmgr_model_get(s.kmgr, h);
  auto tensors = std::make_unique<bound_tensors>(s.tdrv, model->exec);
  ASSERT_EQ(exec_model_run(model->exec, tensors->io()), NRT_SUCCESS);
  for (uint32_t nth : {1u, 2u, 40u}) {
    SCOPED_TRACE(nth);
    log_capture log;
    s.fail_nth(MOCK_FAULT_DMA_ABORT, nth, 1);
    EXPECT_EQ(exec_model_run(model->exec, tensors->io()), NRT_EXEC_HW_ERR_DMA_ABORT);
    EXPECT_THAT(log.errors(), ElementsAre(HasSubstr("DMA engine")));
    s.heal();
    EXPECT_TRUE(other.right(nth));
    EXPECT_EQ(exec_model_run(model->exec, tensors->io()), NRT_SUCCESS);
  }
  tensors.reset();
  kmgr_model_put(s.kmgr, model);
  EXPECT_EQ(s.unload(h), NRT_SUCCESS);
}

}  // namespace
