// SPDX-License-Identifier: Apache-2.0
// Programs that cannot be staged: one line that names the place, nothing left behind.
#include "tests/tdrv/program_test.h"

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum isa_engine_t;

class Refuse : public program_test {
 protected:
  // Stages what has been added: one line with `place` and `reason`, nothing left behind.
  void expect_refusal(const char *place, const char *reason, NRT_STATUS want = NRT_INVALID) {
    log_watch log;
    EXPECT_EQ(stage(), want) << reason;
    EXPECT_THAT(log.take_errors(), ElementsAre(AllOf(HasSubstr(place), HasSubstr(reason))));
    EXPECT_EQ(program, nullptr);
    for (auto usage : {dma_mem_usage_type_t::INSTR_PE, dma_mem_usage_type_t::INSTR_SP,
                       dma_mem_usage_type_t::DMA_RING_IO, dma_mem_usage_type_t::DMA_RING_SPILL})
      EXPECT_EQ(m->usage(usage), 0u);
    unload();
    for (auto &stream : streams)
      stream.clear();
    queues.clear();
    blocks.clear();
  }
  template <typename record_t>
  void refuse(isa_engine_t engine, const record_t &record, const char *reason) {
    add(engine, record_of<isa_record>(ISA_SET_ORDERING));
    add(engine, record);
    std::string place = std::string("subgraph sg00, engine ") +
                        kbin_engine_name(static_cast<al_hal_tpb_eng_type>(engine)) + ", slot 1, " +
                        "opcode 0x" + "0123456789abcdef"[record.h.opcode >> 4] +
                        "0123456789abcdef"[record.h.opcode & 15];
    expect_refusal(place.c_str(), reason);
  }
};

TEST_F(Refuse, RecordsNoEngineRuns) {
  refuse(ISA_ENGINE_POOL, record_of<isa_record>(0xEE), "does not run it");
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(0xC4), "(indirect DMA copy): this engine does not");
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(0xC8), "(collective operation): this engine");
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(0xCF), "(swap of a queue set): this engine does");
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(0xD1), "(begin of a function): this engine does");
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(ISA_MATMUL), "does not run it");
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(ISA_WRITE), "only a loaded image has");
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(ISA_TENSOR_LOAD), "only a loaded image has");
  auto r = record_of<isa_record>(ISA_NOP);
  r.bytes[20] = 1;
  refuse(ISA_ENGINE_DVE, r, "byte 32: ");
}

// tests/isa/test_modes.cc has all of them.
TEST_F(Refuse, ModesThatNothingExecutes) {
  auto fill = record_of<isa_memset>(ISA_MEMSET);
  fill.dst = {0x4000, {1, 1, 1, 1}, {8, 1, 1, 1}};
  fill.count = 8;
  fill.dtype = ISA_DTYPE_UINT64;
  fill.channels = 1;
  refuse(ISA_ENGINE_DVE, fill, "byte 32: fill with a 64-bit type is not implemented");
  isa_dma dma = dma_record(addr8(0x10, W, 0), addr8(0x10, TMP, 0));
  dma.config = 1;
  refuse(ISA_ENGINE_POOL, dma, "byte 12: configuration byte");
  dma.config = 0;
  dma.src_bound = 0x80 | 40;
  refuse(ISA_ENGINE_POOL, dma, "byte 38: bound on an address");
}

// Of the sets of a subgraph none has the function, and there is no form without tables.
TEST_F(Refuse, FunctionsNothingEvaluates) {
  auto activate = record_of<isa_activate>(ISA_ACTIVATE);
  activate.src = activate.dst = {0x4000, {1, 1, 1}, {8, 1, 1}};
  activate.in_bias_dtype = 0xAA;
  activate.out_dtype = 0xA;
  activate.channels = 1;
  activate.bias_source = ISA_BIAS_IMMEDIATE;
  activate.function = 14;
  refuse(ISA_ENGINE_ACT, activate,
         "byte 35: activation function 14 has plain tables in none of the subgraph's 0 sets");
  activate.function = 7;
  add(ISA_ENGINE_ACT, activate);
  EXPECT_EQ(stage(), NRT_SUCCESS);
}

TEST_F(Refuse, FunctionSetsTheSubgraphDoesNotHave) {
  auto load = record_of<isa_act_table_load>(ISA_ACT_TABLE_LOAD);
  refuse(ISA_ENGINE_ACT, load, "loads function set 0, the subgraph has 0");
}

TEST_F(Refuse, SemaphoresAndEventsOfTheRuntime) {
  for (uint8_t mode : {1, 5, 0x85}) {
    auto r = record_of<isa_record>(ISA_NOP);
    r.h.wait_mode = mode;
    r.h.wait_index = 2;
    refuse(ISA_ENGINE_SP, r, "uses semaphore 2; 0 to 2");
  }
  auto event = record_of<isa_record>(ISA_NOP);
  event.h.wait_mode = ISA_WAIT_EVENT_SET_CLEAR;
  event.h.wait_index = 11;
  refuse(ISA_ENGINE_SP, event, "uses event 11; 0 to 11");
  auto update = record_of<isa_record>(ISA_NOP);
  update.h.update_mode = ISA_UPDATE_SEM_ADD | ISA_UPDATE_COMPLETE;
  refuse(ISA_ENGINE_SP, update, "uses semaphore 0;");
  update.h.update_mode = ISA_UPDATE_EVENT_SET | ISA_UPDATE_COMPLETE;
  refuse(ISA_ENGINE_SP, update, "uses event 0;");
  auto second = record_of<isa_event_semaphore>(ISA_EVENT_SEMAPHORE);
  second.wait_mode = ISA_WAIT_SEM_GE;
  second.wait_index = 1;
  refuse(ISA_ENGINE_SP, second, "uses semaphore 1;");
  second.wait_index = 3;
  second.update_mode = ISA_UPDATE_SEM_INC;
  refuse(ISA_ENGINE_SP, second, "uses semaphore 0;");
  isa_dma dma = dma_record(addr8(0x10, W, 0), addr8(0x10, TMP, 0));
  dma.semaphore = 2;
  refuse(ISA_ENGINE_SP, dma, "raises semaphore 2");
  // Just above is the program's.
  auto fine = record_of<isa_event_semaphore>(ISA_EVENT_SEMAPHORE);
  fine.h.wait_mode = ISA_WAIT_EVENT_SET;
  fine.h.wait_index = 12;
  fine.update_mode = ISA_UPDATE_SEM_INC;
  fine.update_index = 3;
  add(ISA_ENGINE_SP, fine);
  EXPECT_EQ(stage(), NRT_SUCCESS);
}

TEST_F(Refuse, Addresses) {
  isa_addr8 tmp = addr8(0x10, TMP, 0);
  auto both = [&](const isa_addr8 &a, const char *reason) {
    refuse(ISA_ENGINE_POOL, dma_record(a, tmp), reason);
    refuse(ISA_ENGINE_POOL, dma_record(tmp, a), reason);
  };
  both(addr8(0x00, 0, 0x1000), "device address");
  both(addr8(0x2C, 0, 0), "address mode");
  both(addr8(0x10, 99, 0), "variable id 99 does not exist");
  both(addr8(0x10, W, 8192 - (3 * 256 + 63)), "lie outside its 8192 bytes");
  both(addr8(0x10, TABLE, 0), "pointer table has no device address");
  both(addr8(0x10, P_W, 64), "outside its 8 bytes");
  both(addr8(0x20, 3, 0), "entry 3 of the DGE table is addressed, it has 3");
  both(addr8(0x28, 3, 0), "entry 3 of the DGE table is addressed, it has 3");
  both(addr8(0x20, 0, 4096 - (3 * 256 + 63)), "lie outside its 4096 bytes");
  isa_dma down = dma_record(addr8(0x10, W, 767), tmp, -256);
  down.dst_step[0] = 64;
  refuse(ISA_ENGINE_POOL, down, "begins 1 bytes before variable id 3");
  auto load = record_of<isa_tensor_move>(ISA_PSEUDO_TENSOR_LOAD);
  load.dtype = ISA_DTYPE_UINT32;
  load.count[0] = 2;
  load.count[1] = 1;
  load.step[0] = 1;
  load.var_id = W;
  load.var_offset = 8192 - 7;
  refuse(ISA_ENGINE_POOL, load, "8 bytes at offset 8185");
  load.var_id = 77;
  refuse(ISA_ENGINE_POOL, load, "variable id 77 does not exist");
}

TEST_F(Refuse, Bounds) {
  isa_dma dma = dma_record(addr8(0x28, 0, 7), addr8(0x10, TMP, 0));
  dma.src_bound = 0x80 | 40;
  refuse(ISA_ENGINE_POOL, dma, "no record 0xda follows");
  auto sizes = record_of<isa_dma_bound>(ISA_PSEUDO_DMA_BOUND);
  sizes.h.words = 0;
  refuse(ISA_ENGINE_POOL, sizes, "no bounded 0xd4 stands before it");
  auto with = [&](uint32_t size, const char *reason) {
    sizes.src_size = size;
    add(ISA_ENGINE_POOL, dma);
    add(ISA_ENGINE_POOL, sizes);
    expect_refusal("slot 0, opcode 0xd4", reason);
  };
  with(3 * 256 + 63, "does not fit the bound of 831 bytes");
  with(4097, "4097 bytes at offset 0 lie outside its 4096 bytes");
  sizes.zero20[0] = 1;
  with(4096, "the record 0xda behind it");
  sizes.zero20[0] = 0;
  dma.src_step[0] = -256;
  with(4096, "with a negative step");
}

TEST_F(Refuse, Branches) {
  auto branch = record_of<isa_compare_branch>(ISA_COMPARE_BRANCH);
  branch.target = ISA_TARGET_REGISTERS;
  refuse(ISA_ENGINE_SP, branch, "an address in registers");
  branch.target = ISA_TARGET_RELATIVE_REGISTER;
  refuse(ISA_ENGINE_SP, branch, "a distance in a register");
  branch.target = ISA_TARGET_RELATIVE;
  branch.offset = 2 * 64;
  refuse(ISA_ENGINE_SP, branch, "128 bytes away");
  branch.offset = -2 * 64;
  refuse(ISA_ENGINE_SP, branch, "-128 bytes away");
  auto reload = record_of<isa_pseudo_inst>(ISA_PSEUDO_INST);
  reload.sub_op = 2;
  refuse(ISA_ENGINE_POOL, reload, "sub-operation 2");
  // Into the middle of a pair.
  isa_dma dma = dma_record(addr8(0x28, 0, 7), addr8(0x10, TMP, 0));
  dma.src_bound = 0x80 | 40;
  auto sizes = record_of<isa_dma_bound>(ISA_PSEUDO_DMA_BOUND);
  sizes.h.words = 0;
  sizes.src_size = 4096;
  add(ISA_ENGINE_SP, dma);
  add(ISA_ENGINE_SP, sizes);
  branch.offset = -64;
  add(ISA_ENGINE_SP, branch);
  expect_refusal("slot 2, opcode 0xa9", "slot 1, belongs to the record before it");
}

TEST_F(Refuse, Triggers) {
  auto queue = [&](kbin_dma_queue_type_t type = kbin_dma_queue_type_t::IN, uint32_t rings = 16) {
    add_queue("q", type, AL_HAL_TPB_ENG_TYPE_SP, rings);
    return &add_block("q", 1, AL_HAL_TPB_ENG_TYPE_SP, rows_of(W, 0, 16, 16, 16),
                      rows_of(TMP, 0, 16, 16, 16));
  };
  const isa_dma_trigger trigger = trigger_record("q", 1);
  refuse(ISA_ENGINE_SP, trigger, "no engine lists block 1 of queue \"q\"");
  queue();
  refuse(ISA_ENGINE_SP, trigger_record("q", 2), "no engine lists block 2");
  queue();
  queues.clear();
  refuse(ISA_ENGINE_SP, trigger, "def.json does not list it");
  queue(kbin_dma_queue_type_t::DYNAMIC);
  refuse(ISA_ENGINE_SP, trigger, "its type is \"dynamic\"");
  queue(kbin_dma_queue_type_t::ACT_LOAD);
  refuse(ISA_ENGINE_SP, trigger, "\"act_load\" is not implemented");
  queue(kbin_dma_queue_type_t::EMBEDDING_UPDATE);
  refuse(ISA_ENGINE_SP, trigger, "\"embedding_update\" is not implemented");
  queue();
  queues[0].indirect_memcpy = true;
  refuse(ISA_ENGINE_SP, trigger, "indirect copies are not implemented");
  queue()->event = 20;
  refuse(ISA_ENGINE_SP, trigger, "sets an event from more than one ring");
  queue(kbin_dma_queue_type_t::IN, 1)->event = 11;
  refuse(ISA_ENGINE_SP, trigger, "its event is one of the runtime's");
  queue(kbin_dma_queue_type_t::IN, 1)->event = 256;
  refuse(ISA_ENGINE_SP, trigger, "its event is above 255");
  queue()->semaphore = 2;
  refuse(ISA_ENGINE_SP, trigger, "its semaphore is one of the runtime's");
  queue()->semaphore = 256;
  refuse(ISA_ENGINE_SP, trigger, "its semaphore is above 255");
  queue()->remote_semaphores = {4};
  refuse(ISA_ENGINE_SP, trigger, "semaphores of other cores");
  queue()->desc[0].op = kbin_dma_desc_op_t::MAX;
  refuse(ISA_ENGINE_SP, trigger, "operation max");
  queue()->desc[0].to.offset = 65536;
  refuse(ISA_ENGINE_SP, trigger, "outside its 65536 bytes");
  queue();
  add(ISA_ENGINE_DVE, trigger);
  refuse(ISA_ENGINE_SP, trigger, "triggered by engine dve too");
  // A trigger in a loop, and one that may be left out.
  auto branch = record_of<isa_compare_branch>(ISA_COMPARE_BRANCH);
  branch.target = ISA_TARGET_RELATIVE;
  queue();
  branch.offset = -64;
  add(ISA_ENGINE_SP, trigger);
  add(ISA_ENGINE_SP, branch);
  expect_refusal("slot 1, opcode 0xa9", "branches over the trigger in slot 0");
  queue();
  branch.offset = 2 * 64;
  add(ISA_ENGINE_SP, branch);
  add(ISA_ENGINE_SP, trigger);
  add(ISA_ENGINE_SP, record_of<isa_record>(ISA_NOP));
  expect_refusal("slot 0, opcode 0xa9", "branches over the trigger in slot 1");
}

TEST_F(Refuse, MoreSetsThanRings) {
  for (uint32_t i = 0; i < 15; i++) {
    std::string name = "q" + std::to_string(i);
    add_queue(name.c_str(), kbin_dma_queue_type_t::DATA, AL_HAL_TPB_ENG_TYPE_SP, 2);
    add_block(name.c_str(), 0, AL_HAL_TPB_ENG_TYPE_SP, rows_of(W, 0, 16, 2, 16),
              rows_of(TMP, 0, 16, 2, 16));
    if (i == 14) {
      ASSERT_EQ(stage(), NRT_SUCCESS) << "fourteen are fine";
    }
    add(ISA_ENGINE_SP, trigger_record(name.c_str(), 0));
  }
  expect_refusal("slot 14", "static set number 15; an engine has rings for 14");
}

// A block that nobody triggers is not looked at.
TEST_F(Refuse, NothingForBlocksLeftAlone) {
  add_queue("q", kbin_dma_queue_type_t::IN, AL_HAL_TPB_ENG_TYPE_SP);
  add_block("q", 1, AL_HAL_TPB_ENG_TYPE_SP, rows_of(W, 0, 16, 16, 16), rows_of(99, 0, 16, 16, 16))
      .desc[0]
      .op = kbin_dma_desc_op_t::FMA;
  add(ISA_ENGINE_SP, record_of<isa_record>(ISA_SET_ORDERING));
  EXPECT_EQ(stage(), NRT_SUCCESS);
  EXPECT_EQ(m->usage(dma_mem_usage_type_t::DMA_RING_IO), 0u);
}

class TwoTables : public Refuse {
  void add_variables(plan *p) override {
    program_test::add_variables(p);
    p->list(MR_PTR_TABLE, "second", {W});
  }
};

TEST_F(TwoTables, AreRefused) {
  expect_refusal("subgraph sg00", "DGE tables table and second");
}

// Whatever request fails while a program is staged: one line, nothing left, and it works again.
TEST_F(Refuse, EveryFailedRequest) {
  add_queue("q", kbin_dma_queue_type_t::IN, AL_HAL_TPB_ENG_TYPE_SP, 2);
  add_block("q", 1, AL_HAL_TPB_ENG_TYPE_SP, rows_of(IN, 0, 16, 16, 16),
            rows_of(TMP, 0, 16, 16, 16));
  add(ISA_ENGINE_SP, trigger_record("q", 1));
  ASSERT_EQ(stage(), NRT_SUCCESS);
  program_free(program);
  program = nullptr;
  auto chunks = m->chunks();
  auto counters = m->counters();
  uint32_t failed = 0;
  for (uint32_t request : {NEURON_IOCTL_MEM_ALLOC_V2MT64, NEURON_IOCTL_MEM_COPY64}) {
    for (uint32_t nth = 1;; nth++) {
      log_watch log;
      m->fail(request, nth, request == NEURON_IOCTL_MEM_ALLOC_V2MT64 ? ENOMEM : EIO);
      NRT_STATUS status = stage_loaded();
      m->heal();
      std::vector<std::string> lines = log.take_errors();
      if (status == NRT_SUCCESS) {
        program_free(program);
        program = nullptr;
        break;
      }
      failed++;
      EXPECT_EQ(program, nullptr);
      EXPECT_EQ(lines.size(), 1u) << nth;
      EXPECT_TRUE(status == NRT_RESOURCE || status == NRT_FAILURE) << status;
      EXPECT_EQ(m->chunks(), chunks);
      dmem_usage_table_t now = m->counters();
      EXPECT_EQ(memcmp(&counters, &now, sizeof(now)), 0);
    }
  }
  EXPECT_GE(failed, 2 * (4 + 5 + 1));  // rings, images, the table's cell: allocated and filled
}

}  // namespace
