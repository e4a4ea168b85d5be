// SPDX-License-Identifier: Apache-2.0
// A physical core's resident loops, queues and engines, with images written by hand: records of the
// loops, runs, laps of the queues, restarts (dma-and-exec.md 3.6, 5).
#include <gmock/gmock.h>

#include "hal/exec.h"
#include "hal/sync.h"
#include "isa/isa_table.h"
#include "tdrv/exec_core.h"
#include "tdrv/exec_failure.h"
#include "tdrv/instr_block.h"
#include "tests/tdrv/machine.h"

namespace {

constexpr uint8_t kLow = 62, kHigh = 63;

// An image per engine that does nothing but go back to the loop, in one chunk.
class images_t {
 public:
  images_t(tpb_t *tpb, const program_core_t &core) {
    EXPECT_EQ(dmem_alloc_aligned(tpb->global_allocator, 8 * ISA_ENGINE_COUNT * 64,
                                 dma_mem_location_t::TONGA_DRAM, tpb->pcore.hbm_index, nullptr,
                                 dma_mem_usage_type_t::GENERIC, "images", 64, &mem),
              NRT_SUCCESS);
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e) {
      instr_block_t block = {};
      instr_move_pair(&block, core.done[e], kLow, kHigh);
      instr_branch_registers(&block, kLow, kHigh);
      put(e, block.records, block.count);
      instr_block_free(&block);
    }
  }
  ~images_t() { dmem_free(mem); }
  images_t(const images_t &) = delete;
  images_t &operator=(const images_t &) = delete;
  void put(uint32_t engine, const isa_record *records, uint32_t count) {
    EXPECT_EQ(dmem_buf_copyin(mem, records, engine * 8 * 64, count * 64), NRT_SUCCESS);
  }
  const uint64_t *addresses() {
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
      list_[e] = dmem_get_pa(mem) + e * 8 * 64;
    return list_;
  }
  dmem_t *mem = nullptr;

 private:
  uint64_t list_[ISA_ENGINE_COUNT] = {};
};

class ExecCore : public testing::Test {
 protected:
  void SetUp() override {
    before = m.chunks();
    ASSERT_EQ(exec_core_start(&core, m.tpb()), NRT_SUCCESS);
  }
  void TearDown() override {
    exec_core_stop(&core);
    EXPECT_EQ(m.chunks(), before);
  }
  // One run, waited for.
  exec_harvest_t run() {
    EXPECT_EQ(exec_core_doorbell(&core), 0);
    hal_core_state_t state = HAL_CORE_BUSY;
    EXPECT_EQ(hal_core_wait(m.tpb()->pcore.device, m.tpb()->pcore.nc_id, 5'000'000'000, &state), 0);
    last = state;
    exec_harvest_t harvest = {};
    exec_core_harvest(&core, &harvest);
    return harvest;
  }
  machine m;
  std::vector<machine::chunk> before;
  exec_core_t core = {};
  hal_core_state_t last = HAL_CORE_BUSY;
};

TEST(Resident, LoopsOfTheFiveEngines) {
  constexpr uint64_t kBase = 0x123456000;
  resident_block_t block;
  resident_build(kBase, &block);
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e) {
    SCOPED_TRACE(e);
    const isa_record *loop = block.loops[e];
    EXPECT_EQ(resident_done(kBase, e), kBase + e * 1024);
    EXPECT_EQ(resident_head(kBase, e), kBase + e * 1024 + 64);
    // END; B1; the wait; for PE one event per other engine; START; the load; the branch.
    std::vector<uint8_t> opcodes = {0xA6, 0xB1, 0xA4, 0xA6, 0xAA, 0xA9, 0};
    if (e == ISA_ENGINE_PE)
      opcodes = {0xA6, 0xB1, 0xA0, 0xA4, 0xA4, 0xA4, 0xA4, 0xA6, 0xAA, 0xA9, 0};
    for (size_t i = 0; i < opcodes.size(); ++i)
      EXPECT_EQ(loop[i].h.opcode, opcodes[i]) << i;
    for (size_t i = 0; i + 1 < opcodes.size(); ++i)
      EXPECT_EQ(isa_check(&loop[i], static_cast<isa_engine_t>(e), ISA_FORM_IMAGE, nullptr), nullptr)
          << i;
    const auto *load = reinterpret_cast<const isa_tensor_move *>(&loop[opcodes.size() - 3]);
    // Words 1 and 6 of the request for PE, 2 and 7 for ACT and so on.
    EXPECT_EQ(isa_addr8_device(load->address), kBase + 5 * 1024 + 4 + 4 * e);
    EXPECT_EQ(load->step[0], 5);
    EXPECT_EQ(load->count[0], 2);
    EXPECT_EQ(load->reg[0], kLow);
    EXPECT_EQ(load->reg[1], kHigh);
    if (e != ISA_ENGINE_PE) {
      EXPECT_EQ(loop[2].h.wait_mode, 7);
      EXPECT_EQ(loop[2].h.wait_index, e);
      EXPECT_EQ(block.loops[0][2 + e].h.update_mode, 0x11);
      EXPECT_EQ(block.loops[0][2 + e].h.update_index, e);
    }
  }
  EXPECT_EQ(block.loops[0][2].h.wait_mode, 5);       // semaphore 0 >= 1
  EXPECT_EQ(block.loops[0][2].h.update_mode, 0x14);  // and one less
  EXPECT_EQ(block.loops[0][2].h.value, 1u);
}

// Two records per engine and run; the queues have room for 256 records and are run round four
// times.
TEST_F(ExecCore, RunsAndLaps) {
  images_t images(m.tpb(), core.core);
  exec_core_post(&core, images.addresses());
  for (int i = 0; i < 520; ++i) {
    exec_harvest_t harvest = run();
    ASSERT_EQ(last, HAL_CORE_IDLE) << i;
    ASSERT_EQ(harvest.complete, 5u) << i;
    ASSERT_EQ(harvest.records, 10u) << i;
    ASSERT_FALSE(harvest.overflow || harvest.out_of_order) << i;
    ASSERT_EQ(exec_core_write_heads(&core), 0);
  }
  EXPECT_FALSE(exec_core_take_overflow(&core));
}

// Heads that are never given back: the hardware runs out of room and says so.
TEST_F(ExecCore, QueuesOverflow) {
  images_t images(m.tpb(), core.core);
  exec_core_post(&core, images.addresses());
  int complete = 0;
  exec_harvest_t harvest = {};
  for (; complete < 200; ++complete) {
    harvest = run();
    if (harvest.complete != 5 || harvest.overflow)
      break;
  }
  EXPECT_EQ(complete, 127);  // 255 records: the last slot stays free
  EXPECT_TRUE(exec_core_take_overflow(&core));
  EXPECT_FALSE(exec_core_take_overflow(&core));  // taken
  ASSERT_EQ(exec_core_restart(&core), NRT_SUCCESS);
  harvest = run();
  EXPECT_EQ(harvest.complete, 5u);
}

TEST_F(ExecCore, RestartsFromAnywhere) {
  images_t images(m.tpb(), core.core);
  exec_core_post(&core, images.addresses());
  isa_record stop = {};
  stop.h = instr_header(ISA_HALT);
  isa_record wait = {};
  wait.h = instr_header(ISA_NOP);
  wait.h.wait_mode = ISA_WAIT_SEM_GE;
  wait.h.wait_index = 77;
  wait.h.value = 5;
  isa_record junk = {};
  junk.h = instr_header(static_cast<isa_opcode_t>(0x7F));
  for (const isa_record &record : {stop, wait, junk}) {
    SCOPED_TRACE(static_cast<int>(record.h.opcode));
    isa_record kept[2];
    ASSERT_EQ(dmem_buf_copyout(images.mem, kept, 3 * 8 * 64, sizeof(kept)), NRT_SUCCESS);
    images.put(ISA_ENGINE_DVE, &record, 1);
    ASSERT_EQ(hal_semaphore_write(m.tpb()->pcore.device, 0, 77, 3), 0);
    exec_harvest_t harvest = run();
    EXPECT_EQ(harvest.complete, 4u);
    EXPECT_EQ(harvest.engines[ISA_ENGINE_DVE], EXEC_END_PENDING);
    images.put(ISA_ENGINE_DVE, kept, 2);
    ASSERT_EQ(exec_core_restart(&core), NRT_SUCCESS);
    uint32_t value = 9;
    ASSERT_EQ(hal_semaphore_read(m.tpb()->pcore.device, 0, 77, &value), 0);
    EXPECT_EQ(value, 0u);
    harvest = run();
    EXPECT_EQ(harvest.complete, 5u);
    EXPECT_EQ(last, HAL_CORE_IDLE);
    ASSERT_EQ(exec_core_write_heads(&core), 0);
  }
}

TEST(ExecFailure, TheWorstStatusWins) {
  // dma-and-exec.md 4.4: 101, 6, 1200 to 1206, all others, none.
  const NRT_STATUS order[] = {NRT_SUCCESS,
                              NRT_EXEC_COMPLETED_WITH_NUM_ERR,
                              NRT_FAILURE,
                              NRT_TIMEOUT,
                              NRT_EXEC_OOB,
                              NRT_EXEC_COMPLETED_WITH_ERR,
                              NRT_EXEC_SW_NQ_OVERFLOW,
                              NRT_HW_ERROR,
                              NRT_EXEC_UNIT_UNRECOVERABLE};
  for (size_t a = 0; a < std::size(order); ++a) {
    for (size_t b = 0; b < std::size(order); ++b)
      EXPECT_EQ(exec_status_worse(order[a], order[b]), order[std::max(a, b)]);
  }
  EXPECT_EQ(exec_status_worse(NRT_EXEC_HW_ERR_DMA_ABORT, NRT_EXEC_SW_NQ_OVERFLOW),
            NRT_EXEC_HW_ERR_DMA_ABORT);  // the first of equals
}

// More error records than are told one by one, and more text than there is room for.
TEST(ExecFailure, TextIsBounded) {
  auto failure = std::make_unique<exec_failure_t>();
  exec_failure_clear(failure.get());
  project_notification_t record = {};
  record.counter = PROJECT_ERROR_NAN;
  for (int i = 0; i < 50; ++i)
    exec_failure_record(failure.get(), "nd0 nc0", &record, nullptr);
  EXPECT_EQ(failure->listed, 8u);
  EXPECT_EQ(failure->unlisted, 42u);
  std::string text(failure->text, failure->length);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
  for (int i = 0; i < 100; ++i)
    exec_failure_line(failure.get(), "{}", std::string(500, 'x'));
  EXPECT_LE(failure->length, sizeof(failure->text));
  log_watch log;
  EXPECT_EQ(exec_failure_log(failure.get(), "model"), NRT_EXEC_COMPLETED_WITH_NUM_ERR);
  EXPECT_EQ(log.take_errors().size(), 1u);
}

}  // namespace
