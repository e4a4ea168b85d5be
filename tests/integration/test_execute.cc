// SPDX-License-Identifier: Apache-2.0
// Runs of a real program through the whole stack: results, requests per run, failures and what
// works after them (dma-and-exec.md 4, rulings.md 20, 23).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "hal/exec.h"
#include "tdrv/exec_unit.h"
#include "tests/integration/matmul_small.h"
#include "uapi/neuron_ioctl.h"

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Execute : public testing::Test {
 protected:
  void SetUp() override {
    files = corpus_files();
    if (files.empty()) {
      printf("skipped: no corpus\n");
      GTEST_SKIP() << "skipped: no corpus";
    }
  }
  const std::vector<uint8_t> &file() const { return files[0]; }
  std::vector<std::vector<uint8_t>> files;
};

TEST_F(Execute, TwentySeeds) {
  stack s;
  matmul_small m(s, file());
  ASSERT_TRUE(m.ok());
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_TRUE(m.right(seed, matmul_data::REAL));
    EXPECT_TRUE(m.right(seed, matmul_data::INTEGER));
  }
}

// Host tensors are copied to the model's slots and back; a model that has none of its own memory
// for them gets it from the caller.
TEST_F(Execute, HostTensors) {
  stack s;
  matmul_small m(s, file(), 0, tensor_placement_t::VIRTUAL);
  ASSERT_TRUE(m.ok());
  EXPECT_TRUE(m.right(1));
  EXPECT_TRUE(m.right(2));
}

TEST_F(Execute, NewTensorsAreBound) {
  stack s;
  matmul_small m(s, file());
  ASSERT_TRUE(m.ok());
  EXPECT_TRUE(m.right(1));
  EXPECT_TRUE(m.right(2));  // the same tensors
  for (uint64_t seed = 3; seed < 7; ++seed) {
    m.renew();
    EXPECT_TRUE(m.right(seed));
  }
}

TEST_F(Execute, TwoModelsTakeTurnsOnOneCore) {
  stack s;
  matmul_small a(s, file()), b(s, file());
  ASSERT_TRUE(a.ok() && b.ok());
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    EXPECT_TRUE(a.right(seed));
    EXPECT_TRUE(b.right(100 + seed));
  }
  a.unload();
  EXPECT_TRUE(b.right(200));
}

TEST_F(Execute, TwoLogicalCoresAtOnce) {
  stack s;
  matmul_small a(s, file(), 0), b(s, file(), 3);
  ASSERT_TRUE(a.ok() && b.ok());
  auto repeat = [](matmul_small *m, uint64_t first) {
    for (uint64_t seed = first; seed < first + 5; ++seed)
      EXPECT_TRUE(m->right(seed));
  };
  std::thread other(repeat, &b, 100);
  repeat(&a, 1);
  other.join();
}

// More runs than any notification queue has records: heads, laps and phases.
TEST_F(Execute, ManyRuns) {
  stack s;
  matmul_small m(s, file());
  ASSERT_TRUE(m.ok());
  m.fill(7);
  for (int run = 0; run < 600; ++run)
    ASSERT_EQ(m.run(), NRT_SUCCESS) << run;
  EXPECT_TRUE(m.right(8));
}

// After warm-up a run is two requests per physical core: its doorbell, and the heads of its
// notification queues. Another model on the core costs nothing more: the request block is mapped.
TEST_F(Execute, RequestsPerRun) {
  stack s;
  matmul_small a(s, file()), b(s, file());
  ASSERT_TRUE(a.ok() && b.ok());
  a.fill(1);
  b.fill(2);
  for (int warm = 0; warm < 2; ++warm) {
    ASSERT_EQ(a.run(), NRT_SUCCESS);
    ASSERT_EQ(b.run(), NRT_SUCCESS);
  }
  auto count = [&](uint32_t request) { return mock_ioctl_count(s.host, request); };
  for (int run = 0; run < 10; ++run) {
    uint64_t all = s.ioctls(), doorbells = count(NEURON_IOCTL_SEMAPHORE_INCREMENT),
             heads = count(NEURON_IOCTL_BAR_WRITE);
    ASSERT_EQ((run % 3 == 0 ? b : a).run(), NRT_SUCCESS);
    EXPECT_EQ(s.ioctls() - all, 4u);
    EXPECT_EQ(count(NEURON_IOCTL_SEMAPHORE_INCREMENT) - doorbells, 2u);
    EXPECT_EQ(count(NEURON_IOCTL_BAR_WRITE) - heads, 2u);
  }
}

// One subgraph on a logical core of two: the first physical core runs it, the other one nothing.
TEST(ExecuteSample, OneSubgraphRunsOnTheFirstCore) {
  stack s;
  H_NN h = 0;
  ASSERT_EQ(s.load(sample_file({.subgraphs = 1}), 0, &h), NRT_SUCCESS);
  kmgr_model_t *model = kmgr_model_get(s.kmgr, h);
  auto tensors = std::make_unique<bound_tensors>(s.tdrv, model->exec);
  ASSERT_EQ(exec_model_run(model->exec, tensors->io()), NRT_SUCCESS);
  uint64_t before = s.ioctls();
  hal_device_t *device = model->placement->vcore->tpbs[0]->pcore.device;
  // Nobody has waited for the other core yet: each of its engines executes one record at its start.
  uint64_t second = hal_core_progress(device, 1);
  while (second < ISA_ENGINE_COUNT) {
    std::this_thread::yield();
    second = hal_core_progress(device, 1);
  }
  uint64_t first = hal_core_progress(device, 0);
  EXPECT_EQ(exec_model_run(model->exec, tensors->io()), NRT_SUCCESS);
  EXPECT_EQ(s.ioctls() - before, 2u);
  EXPECT_GT(hal_core_progress(device, 0), first);
  EXPECT_EQ(hal_core_progress(device, 1), second);
  tensors.reset();
  kmgr_model_put(s.kmgr, model);
  EXPECT_EQ(s.unload(h), NRT_SUCCESS);
}

TEST_F(Execute, UnloadGivesEverythingBack) {
  stack s;
  std::vector<chunk_t> before = s.chunks();
  std::vector<dmem_usage_table_t> counters = s.counters();
  for (int round = 0; round < 3; ++round) {
    {
      matmul_small m(s, file());
      ASSERT_TRUE(m.ok());
      EXPECT_TRUE(m.right(static_cast<uint64_t>(round)));
    }
    EXPECT_EQ(s.chunks(), before);
    EXPECT_EQ(s.counters(), counters);
  }
}

TEST_F(Execute, RealDevicesNeedLeave) {
  stack_options_t options;
  options.kernel_back_end = true;
  stack s(options);
  matmul_small m(s, file());
  ASSERT_TRUE(m.ok());
  m.fill(1);
  log_capture log;
  EXPECT_EQ(m.run(), NRT_INVALID);
  EXPECT_THAT(log.errors(), ElementsAre(HasSubstr("NEURON_RT_EXPERIMENTAL_HW_EXEC=1")));
}

// The same code path, without a mock to ask: the queues are looked at until the records are there.
TEST_F(Execute, KernelBackEndPolls) {
  stack_options_t options;
  options.kernel_back_end = true;
  options.hw_exec = true;
  stack s(options);
  matmul_small m(s, file());
  ASSERT_TRUE(m.ok());
  EXPECT_TRUE(m.right(1));
  EXPECT_TRUE(m.right(2));
}

// A wait nothing will satisfy. The program is changed where the engines fetch it from.
class Stuck : public Execute {
 protected:
  static isa_record *record(stack &s, matmul_small &m, isa_opcode_t opcode) {
    // PE's records behind its preamble: B1, then A0, the wait for x (worked-program.md).
    const program_image_t *image = program_image(m.model->exec->programs[0], ISA_ENGINE_PE);
    auto *first = reinterpret_cast<isa_record *>(
        s.dram(image->pa + uint64_t{64} * image->main_first, uint64_t{64} * image->main_slots));
    for (uint32_t i = 0; i < image->main_slots; ++i) {
      if (first[i].h.opcode == opcode)
        return &first[i];
    }
    ADD_FAILURE() << "no record " << static_cast<int>(opcode);
    return first;
  }
};

TEST_F(Stuck, ADeadlockIsToldAtOnceAndOtherModelsRun) {
  stack s;
  matmul_small a(s, file()), b(s, file());
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_TRUE(a.right(1));
  auto *wait = reinterpret_cast<isa_event_semaphore *>(record(s, a, ISA_EVENT_SEMAPHORE));
  isa_event_semaphore was = *wait;
  wait->h.value = 99;
  wait->wait_value = 99;
  log_capture log;
  EXPECT_EQ(a.run(), NRT_TIMEOUT);
  std::vector<std::string> errors = log.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0],
              AllOf(HasSubstr("deadlock"), HasSubstr("semaphore 24"), HasSubstr("99"),
                    HasSubstr("pe slot 2 EVENT_SEMAPHORE"), HasSubstr("dve postamble slot 1"),
                    HasSubstr("PE has not reported its end"), Not(HasSubstr("no progress"))));
  EXPECT_TRUE(b.right(2));
  *wait = was;
  EXPECT_TRUE(a.right(3));
  EXPECT_TRUE(b.right(4));
}

TEST_F(Stuck, TheFullTimeoutOnRequest) {
  stack_options_t options;
  options.exec_timeout = 1;
  options.wait_full_timeout = true;
  stack s(options);
  matmul_small m(s, file());
  ASSERT_TRUE(m.ok());
  auto *wait = reinterpret_cast<isa_event_semaphore *>(record(s, m, ISA_EVENT_SEMAPHORE));
  wait->h.value = 99;
  wait->wait_value = 99;
  m.fill(1);
  log_capture log;
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(m.run(), NRT_TIMEOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_THAT(log.errors(),
              ElementsAre(AllOf(HasSubstr("NEURON_RT_EXEC_TIMEOUT"), HasSubstr("semaphore 24"))));
}

// A branch to itself: progress without end, and without anything the device could prove.
TEST_F(Stuck, AnEndlessLoopTimesOut) {
  stack_options_t options;
  options.exec_timeout = 1;
  stack s(options);
  matmul_small a(s, file()), b(s, file());
  ASSERT_TRUE(a.ok() && b.ok());
  isa_record *record_0 = record(s, a, ISA_SET_ORDERING);
  isa_record was = *record_0;
  isa_compare_branch loop = {};
  loop.h.opcode = ISA_COMPARE_BRANCH;
  loop.h.words = ISA_HEADER_WORDS;
  loop.compare = ISA_BRANCH_ALWAYS;
  loop.target = ISA_TARGET_RELATIVE;
  memcpy(record_0, &loop, sizeof(loop));
  a.fill(1);
  log_capture log;
  EXPECT_EQ(a.run(), NRT_TIMEOUT);
  EXPECT_THAT(log.errors(), ElementsAre(AllOf(HasSubstr("NEURON_RT_EXEC_TIMEOUT"),
                                              HasSubstr("PE has not reported its end, it is at "
                                                        "instruction 0"))));
  EXPECT_TRUE(b.right(2));
  *record_0 = was;
  EXPECT_TRUE(a.right(3));
}

TEST_F(Stuck, AnUnknownInstructionIsAnErrorOfTheEngine) {
  stack s;
  matmul_small a(s, file()), b(s, file());
  ASSERT_TRUE(a.ok() && b.ok());
  isa_record *matmul = record(s, a, ISA_MATMUL);
  isa_record was = *matmul;
  matmul->h.opcode = 0x7F;
  a.fill(1);
  log_capture log;
  EXPECT_EQ(a.run(), NRT_EXEC_COMPLETED_WITH_ERR);
  EXPECT_THAT(log.errors(), ElementsAre(AllOf(HasSubstr("PE: the instruction cannot be executed"),
                                              HasSubstr("instruction 4 of PE"))));
  EXPECT_TRUE(b.right(2));
  *matmul = was;
  EXPECT_TRUE(a.right(3));
}

// A doorbell the driver refuses: what has been begun cannot be taken back.
TEST_F(Execute, AFailedDoorbellEndsTheUnit) {
  stack s;
  matmul_small a(s, file()), b(s, file()), other(s, file(), 1);
  ASSERT_TRUE(a.ok() && b.ok() && other.ok());
  a.fill(1);
  b.fill(1);
  {
    log_capture log;
    s.fail_nth(NEURON_IOCTL_SEMAPHORE_INCREMENT, 2, EIO);  // the first core has begun
    EXPECT_EQ(a.run(), NRT_FAILURE);
    EXPECT_THAT(log.errors(), ElementsAre(HasSubstr("cannot be started: EIO")));
  }
  s.heal();
  for (matmul_small *m : {&a, &b}) {
    log_capture log;
    EXPECT_EQ(m->run(), NRT_EXEC_UNIT_UNRECOVERABLE);
    EXPECT_EQ(log.errors().size(), 1u);
  }
  EXPECT_TRUE(other.right(3));  // another logical core
}

TEST_F(Execute, QueueHeadsThatCannotBeWritten) {
  stack s;
  matmul_small m(s, file());
  ASSERT_TRUE(m.ok());
  EXPECT_TRUE(m.right(1));
  log_capture log;
  s.fail_nth(NEURON_IOCTL_BAR_WRITE, 1, EIO);
  EXPECT_EQ(m.run(), NRT_FAILURE);
  EXPECT_EQ(log.errors().size(), 1u);
  s.heal();
  EXPECT_TRUE(m.right(2));
}

}  // namespace
