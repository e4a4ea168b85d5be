// SPDX-License-Identifier: Apache-2.0
// Pseudo records and what engines get for them (verified-facts.md G1 to G3, G7, G8.3), written by
// hand; the places of inputs and outputs; every refusal.
#include "hal/udma.h"
#include "tests/tdrv/program_test.h"

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum isa_engine_t;

constexpr uint64_t kSbuf = 0x2000000000;  // core 0 of a trn2
constexpr uint64_t kDma = 0x1002000000;   // its DMA engine 0 (mock-device-semantics.md 2)

class Translate : public program_test {};

TEST_F(Translate, VariablesBecomeDeviceAddresses) {
  add(ISA_ENGINE_POOL, dma_record(addr8(0x10, W, 4096), addr8(0x10, SB, 0x40123)));
  isa_dma back = dma_record(addr8(0x10, TMP, 1024), addr8(0x10, TMP, 32768), -256);
  back.dst_step[0] = 64;
  add(ISA_ENGINE_POOL, back);
  ASSERT_EQ(stage(), NRT_SUCCESS);
  isa_dma r = main_at<isa_dma>(ISA_ENGINE_POOL, 0);
  EXPECT_EQ(r.h.opcode, 0xB8);
  EXPECT_EQ(isa_addr8_device(r.src), l->address(W) + 4096);
  EXPECT_EQ(isa_addr8_device(r.dst), kSbuf + 0x40123);
  r = main_at<isa_dma>(ISA_ENGINE_POOL, 1);
  EXPECT_EQ(isa_addr8_device(r.src), l->address(TMP) + 1024);  // rows go down from there
  EXPECT_EQ(isa_addr8_device(r.dst), l->address(TMP) + 32768);
  EXPECT_EQ(r.src_step[0], -256);
}

TEST_F(Translate, RegistersLoadAndStoreByAddress) {
  auto load = record_of<isa_tensor_move>(ISA_PSEUDO_TENSOR_LOAD);
  load.h.wait_mode = ISA_WAIT_SEM_GE;
  load.h.wait_index = 9;
  load.h.value = 16;
  load.dtype = ISA_DTYPE_INT32;
  load.count[0] = 4;
  load.count[1] = 2;
  load.step[0] = 2;
  load.step[1] = 16;
  load.var_id = W;
  load.var_offset = 8192 - (1 * 16 + 3 * 2) * 4 - 4;  // its last element is the variable's
  for (uint8_t i = 0; i < 8; i++)
    load.reg[i] = static_cast<uint8_t>(10 + i);
  add(ISA_ENGINE_SP, load);
  isa_tensor_move store = load;
  store.h.opcode = ISA_PSEUDO_TENSOR_STORE;
  store.var_id = SB;
  store.var_offset = 3 << 18 | 0x4000;
  add(ISA_ENGINE_SP, store);
  ASSERT_EQ(stage(), NRT_SUCCESS);
  isa_tensor_move want = load;
  want.h.opcode = 0xAA;
  isa_addr8_set_device(&want.address, l->address(W) + load.var_offset);
  isa_tensor_move got = main_at<isa_tensor_move>(ISA_ENGINE_SP, 0);
  EXPECT_EQ(memcmp(&got, &want, 64), 0);
  want.h.opcode = 0xAB;
  isa_addr8_set_device(&want.address, kSbuf + (3 << 18 | 0x4000));
  got = main_at<isa_tensor_move>(ISA_ENGINE_SP, 1);
  EXPECT_EQ(memcmp(&got, &want, 64), 0);
}

// The register gets size - extent: the last legal offset (G3). Table addresses stay.
TEST_F(Translate, BoundsBecomeMoves) {
  isa_dma dma = dma_record(addr8(0x28, 0, 7), addr8(0x28, 1, 8));
  dma.src_bound = 0x80 | 40;
  dma.dst_bound = 0xC0 | 41;
  dma.dst_bytes = 128;
  auto sizes = record_of<isa_dma_bound>(ISA_PSEUDO_DMA_BOUND);
  sizes.h.words = 0;
  sizes.src_size = 4096;
  sizes.dst_size = 2048;
  add(ISA_ENGINE_POOL, record_of<isa_record>(ISA_SET_ORDERING));
  add(ISA_ENGINE_POOL, dma);
  add(ISA_ENGINE_POOL, sizes);
  add(ISA_ENGINE_POOL, record_of<isa_record>(ISA_NOP));
  ASSERT_EQ(stage(), NRT_SUCCESS);
  ASSERT_EQ(main(ISA_ENGINE_POOL).size(), 4u);
  isa_move move = main_at<isa_move>(ISA_ENGINE_POOL, 1);
  EXPECT_EQ(move.h.opcode, 0xA7);
  EXPECT_EQ(move.count, 2);
  EXPECT_EQ(move.source, 1);
  EXPECT_EQ(move.dst[0], 40);
  EXPECT_EQ(move.dst[1], 41);
  EXPECT_EQ(move.immediate[0], 4096u - (3 * 256 + 64));
  EXPECT_EQ(move.immediate[1], 2048u - (3 * 256 + 128));
  isa_dma want = dma, got = main_at<isa_dma>(ISA_ENGINE_POOL, 2);
  want.h.opcode = 0xB8;
  EXPECT_EQ(memcmp(&got, &want, 64), 0);
  // Two slots became two records: no patch, and each still leads to a slot.
  const program_image_t *info = program_image(program, ISA_ENGINE_POOL);
  isa_engine_t engine;
  program_section_t section;
  uint32_t slot = 0;
  for (uint32_t i = 0; i < 4; i++) {
    ASSERT_TRUE(
        program_find(program, info->pa + 64ull * (info->main_first + i), &engine, &section, &slot));
    EXPECT_EQ(slot, i);
  }
}

TEST_F(Translate, BranchesReachTheirTargets) {
  auto branch = [](int32_t slots) {
    auto r = record_of<isa_compare_branch>(ISA_COMPARE_BRANCH);
    r.target = ISA_TARGET_RELATIVE;
    r.offset = 64 * slots;
    return r;
  };
  add_queue("q", kbin_dma_queue_type_t::DATA, AL_HAL_TPB_ENG_TYPE_SP);
  add_block("q", 0, AL_HAL_TPB_ENG_TYPE_SP, rows_of(W, 0, 4, 2, 8), rows_of(TMP, 0, 4, 2, 8), -1);
  add(ISA_ENGINE_SP, branch(2));                                       // 0: to 2
  add(ISA_ENGINE_SP, record_of<isa_record>(ISA_PSEUDO_BRANCH_LABEL));  // 1: gone
  add(ISA_ENGINE_SP, record_of<isa_record>(ISA_NOP));                  // 2
  add(ISA_ENGINE_SP, branch(-1));                                      // 3: to 2
  add(ISA_ENGINE_SP, trigger_record("q", 0));                          // 4: two records
  add(ISA_ENGINE_SP, branch(1));                                       // 5: to 6
  auto exit = record_of<isa_pseudo_inst>(ISA_PSEUDO_INST);
  exit.sub_op = 1;
  add(ISA_ENGINE_SP, exit);       // 6: to the postamble
  add(ISA_ENGINE_SP, branch(1));  // 7: to the postamble too
  ASSERT_EQ(stage(), NRT_SUCCESS);
  std::vector<isa_compare_branch> r = main<isa_compare_branch>(ISA_ENGINE_SP);
  ASSERT_EQ(r.size(), 8u);
  EXPECT_EQ(r[0].offset, 64);   // to 1
  EXPECT_EQ(r[2].offset, -64);  // to 1
  EXPECT_EQ(r[3].h.opcode, 0xA5);
  EXPECT_EQ(r[4].h.opcode, 0xA5);
  EXPECT_EQ(r[5].offset, 64);
  EXPECT_EQ(r[6].h.opcode, 0xA9);
  EXPECT_EQ(r[6].target, ISA_TARGET_RELATIVE);
  EXPECT_EQ(r[6].offset, 128);
  EXPECT_EQ(r[7].offset, 64);
}

// --- static queues -------------------------------------------------------------------------------

TEST_F(Translate, EvenSharesRingOnce) {
  add_queue("in", kbin_dma_queue_type_t::IN, AL_HAL_TPB_ENG_TYPE_POOL);
  add_queue("spill", kbin_dma_queue_type_t::DATA, AL_HAL_TPB_ENG_TYPE_POOL);
  add_block("in", 3, AL_HAL_TPB_ENG_TYPE_POOL, rows_of(IN, 0, 32, 128, 32),
            rows_of(SB, 0x4000, 32, 128, 262144));
  add_block("spill", 5, AL_HAL_TPB_ENG_TYPE_POOL, rows_of(SB, 0x4000, 32, 128, 262144),
            rows_of(TMP, 0, 32, 128, 64), 1, 21);
  isa_dma_trigger trigger = trigger_record("in", 3);
  trigger.h.wait_mode = ISA_WAIT_SEM_GE;
  trigger.h.wait_index = 6;
  trigger.h.value = 2;
  trigger.h.update_mode = ISA_UPDATE_SEM_INC | ISA_UPDATE_COMPLETE;
  trigger.h.update_index = 7;
  add(ISA_ENGINE_POOL, trigger);
  add(ISA_ENGINE_POOL, trigger_record("spill", 5));
  ASSERT_EQ(stage(), NRT_SUCCESS);
  ASSERT_EQ(main(ISA_ENGINE_POOL).size(), 2u);
  isa_write w = main_at<isa_write>(ISA_ENGINE_POOL, 0);
  EXPECT_EQ(w.h.opcode, 0xA5);
  EXPECT_EQ(w.h.wait_mode, ISA_WAIT_SEM_GE);
  EXPECT_EQ(w.h.wait_index, 6);
  EXPECT_EQ(w.h.value, 2u);
  EXPECT_EQ(w.h.update_mode, 0x13);
  EXPECT_EQ(w.h.update_index, 7);
  EXPECT_EQ(w.size[0], 4);
  EXPECT_EQ(w.size[1], 4);
  // Ring 0 of all engines: destinations 8 + 1, sources 2 + 1.
  EXPECT_EQ(isa_addr8_device(w.address[0]), kDma + 0xa1038);
  EXPECT_EQ(w.value[0], 9u);
  EXPECT_EQ(isa_addr8_device(w.address[1]), kDma + 0x81038);
  EXPECT_EQ(w.value[1], 3u);
  // Ring 1: sources only.
  w = main_at<isa_write>(ISA_ENGINE_POOL, 1);
  EXPECT_EQ(w.size[1], 0);
  EXPECT_EQ(isa_addr8_device(w.address[0]), kDma + 0x82038);
  EXPECT_EQ(w.value[0], 9u);
}

TEST_F(Translate, UnevenSharesRingTwice) {
  add_queue("out", kbin_dma_queue_type_t::OUT, AL_HAL_TPB_ENG_TYPE_SP);
  add_block("out", 0, AL_HAL_TPB_ENG_TYPE_SP, rows_of(SB, 0, 4, 3, 262144),
            rows_of(OUT, 0, 12, 1, 12), -1);
  isa_dma_trigger trigger = trigger_record("out", 0);
  trigger.h.wait_mode = ISA_WAIT_SEM_GE;
  trigger.h.wait_index = 6;
  trigger.h.value = 2;
  trigger.h.update_mode = ISA_UPDATE_SEM_INC | ISA_UPDATE_COMPLETE;
  trigger.h.update_index = 7;
  add(ISA_ENGINE_SP, trigger);
  ASSERT_EQ(stage(), NRT_SUCCESS);
  ASSERT_EQ(main(ISA_ENGINE_SP).size(), 2u);
  isa_write first = main_at<isa_write>(ISA_ENGINE_SP, 0);
  isa_write last = main_at<isa_write>(ISA_ENGINE_SP, 1);
  EXPECT_EQ(first.value[0], 1u);
  EXPECT_EQ(first.value[1], 1u);
  EXPECT_EQ(last.value[0], 0xfffe0001u);  // engine 0 only: one destination, three sources more
  EXPECT_EQ(last.value[1], 0xfffe0003u);
  EXPECT_EQ(first.h.wait_mode, ISA_WAIT_SEM_GE);
  EXPECT_EQ(first.h.update_mode, 0);
  EXPECT_EQ(last.h.wait_mode, 0);
  EXPECT_EQ(last.h.update_mode, 0x13);
  EXPECT_EQ(last.h.update_index, 7);
}

TEST_F(Translate, FewerRingsLeaveTheOtherEnginesOut) {
  add_queue("q", kbin_dma_queue_type_t::IN, AL_HAL_TPB_ENG_TYPE_SP, 1);
  add_block("q", 0, AL_HAL_TPB_ENG_TYPE_SP, rows_of(IN, 0, 128, 1, 128),
            rows_of(SB, 0, 128, 1, 128));
  blocks[0].event = 30;
  add(ISA_ENGINE_SP, trigger_record("q", 0));
  ASSERT_EQ(stage(), NRT_SUCCESS);
  ASSERT_EQ(main(ISA_ENGINE_SP).size(), 1u);
  isa_write w = main_at<isa_write>(ISA_ENGINE_SP, 0);
  EXPECT_EQ(w.value[0], 0xfffe0003u);  // data, semaphore, event
  EXPECT_EQ(w.value[1], 0xfffe0003u);
  EXPECT_EQ(m->usage(dma_mem_usage_type_t::DMA_RING_IO), 2048u);
}

// No broadcast window is known for the second core of a v2: one record per engine.
TEST_F(Translate, SecondCoreOfSunda) {
  add_queue("q", kbin_dma_queue_type_t::IN, AL_HAL_TPB_ENG_TYPE_SP);
  add_block("q", 0, AL_HAL_TPB_ENG_TYPE_SP, rows_of(IN, 0, 32, 16, 32),
            rows_of(SB, 0, 32, 16, 262144));
  add(ISA_ENGINE_SP, trigger_record("q", 0));
  machine_options options;
  options.instance = "trn1.2xlarge";
  options.lnc = 1;
  ASSERT_EQ(stage(options), NRT_SUCCESS);
  ASSERT_EQ(main(ISA_ENGINE_SP).size(), 1u);
  isa_write w = main_at<isa_write>(ISA_ENGINE_SP, 0);
  EXPECT_EQ(isa_addr8_device(w.address[0]), 0xffff1021038u);
  EXPECT_EQ(isa_addr8_device(w.address[1]), 0xffff1001038u);
  options.first_vnc = 1;
  ASSERT_EQ(stage(options), NRT_SUCCESS);
  ASSERT_EQ(main(ISA_ENGINE_SP).size(), 16u);
  for (uint32_t k = 0; k < 16; k++) {
    w = main_at<isa_write>(ISA_ENGINE_SP, k);
    EXPECT_EQ(isa_addr8_device(w.address[0]), 0xffff0700000 + k * 0x40000 + 0x21038);
    EXPECT_EQ(isa_addr8_device(w.address[1]), 0xffff0700000 + k * 0x40000 + 0x1038);
    EXPECT_EQ(w.value[0], 2u);
  }
}

TEST_F(Translate, BlocksLieInTheOrderOfTheirTriggers) {
  add_queue("q", kbin_dma_queue_type_t::DATA, AL_HAL_TPB_ENG_TYPE_DVE, 1);
  for (uint32_t id = 0; id < 3; id++)
    add_block("q", id, AL_HAL_TPB_ENG_TYPE_DVE, rows_of(W, 256 * id, 16, 1, 16),
              rows_of(TMP, 512 * id, 16, 1, 16), -1, static_cast<int32_t>(20 + id));
  for (uint32_t id : {2, 0, 2})  // block 1 is never triggered
    add(ISA_ENGINE_DVE, trigger_record("q", id));
  ASSERT_EQ(stage(), NRT_SUCCESS);
  // Bases as the preamble writes them.
  uint64_t tx = 0, rx = 0;
  for (const isa_tensor_move &r : image<isa_tensor_move>(ISA_ENGINE_DVE)) {
    uint64_t base = r.immediate[0] | static_cast<uint64_t>(r.immediate[1]) << 32;
    if (r.h.opcode == 0xAB && isa_addr8_device(r.address) == kDma + 0x1028)
      tx = base;
    if (r.h.opcode == 0xAB && isa_addr8_device(r.address) == kDma + 0x21028)
      rx = base;
  }
  const auto *t = static_cast<const hal_dma_desc_t *>(m->dram(tx, 64 * 16));
  const auto *r = static_cast<const hal_dma_desc_t *>(m->dram(rx, 64 * 16));
  ASSERT_NE(t, nullptr);
  ASSERT_NE(r, nullptr);
  const uint32_t order[] = {2, 0, 2};
  for (uint32_t i = 0; i < 3; i++) {
    EXPECT_EQ(t[2 * i].address, l->address(W) + 256 * order[i]);
    EXPECT_EQ(t[2 * i].meta_ctrl, 0x05080003u) << "write barrier";
    EXPECT_EQ(r[2 * i].address, l->address(TMP) + 512 * order[i]);
    EXPECT_EQ(t[2 * i + 1].address, 0x9000000004u);
    EXPECT_EQ(r[2 * i + 1].address, kSbuf + 0x802700000 + 0x1800 + 4 * (20 + order[i]));
  }
  EXPECT_EQ(t[6].len_ctrl, 0u);
  EXPECT_EQ(r[6].len_ctrl, 0u);
  // Destinations of the whole program are handed over in the preamble.
  uint64_t credits = 0;
  for (const isa_write &w : image<isa_write>(ISA_ENGINE_DVE))
    if (w.h.opcode == 0xA5 && isa_addr8_device(w.address[0]) == kDma + 0xa1038)
      credits += w.value[0] & 0xffff;
  EXPECT_EQ(credits, 6u);
}

// --- inputs and outputs --------------------------------------------------------------------------

class Bind : public program_test {
 protected:
  void SetUp() override {
    add(ISA_ENGINE_POOL, dma_record(addr8(0x10, IN, 64), addr8(0x10, OUT, 128)));
    add(ISA_ENGINE_POOL, dma_record(addr8(0x10, P_IN, 0), addr8(0x10, TMP, 0), 0, 1, 8));
    auto load = record_of<isa_tensor_move>(ISA_PSEUDO_TENSOR_LOAD);
    load.dtype = ISA_DTYPE_UINT32;
    load.count[0] = load.count[1] = 1;
    load.var_id = IN;
    load.var_offset = 4092;
    load.reg[0] = 5;
    add(ISA_ENGINE_SP, load);
    add_queue("q", kbin_dma_queue_type_t::IN, AL_HAL_TPB_ENG_TYPE_SP);
    add_block("q", 0, AL_HAL_TPB_ENG_TYPE_SP, rows_of(IN, 0, 32, 16, 256),
              rows_of(SB, 0, 32, 16, 262144));
    add(ISA_ENGINE_SP, trigger_record("q", 0));
  }
  // What every place says, given where the tensors are.
  void expect(uint64_t in, uint64_t out) {
    isa_dma r = main_at<isa_dma>(ISA_ENGINE_POOL, 0);
    EXPECT_EQ(isa_addr8_device(r.src), in + 64);
    EXPECT_EQ(isa_addr8_device(r.dst), out + 128);
    r = main_at<isa_dma>(ISA_ENGINE_POOL, 1);
    EXPECT_EQ(isa_addr8_device(r.src), in);
    EXPECT_EQ(isa_addr8_device(main_at<isa_tensor_move>(ISA_ENGINE_SP, 0).address), in + 4092);
    uint64_t table = 0;
    isa_tensor_move cell = image<isa_tensor_move>(ISA_ENGINE_ACT)[0];
    ASSERT_EQ(cell.h.opcode, 0xAA);
    memcpy(&table, m->dram(isa_addr8_device(cell.address), 8), 8);
    uint64_t entries[3];
    memcpy(entries, m->dram(table, 24), 24);
    EXPECT_THAT(entries, ElementsAre(in, out, l->address(W)));
    for (const isa_tensor_move &w : image<isa_tensor_move>(ISA_ENGINE_SP)) {
      uint64_t at = isa_addr8_device(w.address) - kDma;
      if (w.h.opcode != 0xAB || at % 0x100000 != 0x1028)
        continue;
      for (uint32_t k = 0; k < w.count[1]; k++) {
        uint64_t base = w.immediate[2 * k] | static_cast<uint64_t>(w.immediate[2 * k + 1]) << 32;
        const auto *tx = static_cast<const hal_dma_desc_t *>(m->dram(base, 16));
        ASSERT_NE(tx, nullptr);
        EXPECT_EQ(tx->address, in + 256 * (at / 0x100000 + k));
        rings_seen++;
      }
    }
    EXPECT_EQ(rings_seen, 16u);
    rings_seen = 0;
  }
  uint32_t rings_seen = 0;
};

TEST_F(Bind, EveryPlaceFollowsTheTensor) {
  ASSERT_EQ(stage(), NRT_SUCCESS);
  uint64_t in = l->address(IN), out = l->address(OUT);
  expect(in, out);
  ASSERT_EQ(program_bind(program, slot_of("in", false), 0x111000), NRT_SUCCESS);
  expect(0x111000, out);
  ASSERT_EQ(program_bind(program, slot_of("out", true), 0x222000), NRT_SUCCESS);
  expect(0x111000, 0x222000);
  ASSERT_EQ(program_bind(program, slot_of("in", false), in), NRT_SUCCESS);
  ASSERT_EQ(program_bind(program, slot_of("out", true), out), NRT_SUCCESS);
  expect(in, out);
}

TEST_F(Bind, WithoutMemoryOfTheirOwn) {
  machine_options options;
  options.io_at_load = false;
  ASSERT_EQ(stage(options), NRT_SUCCESS);
  ASSERT_EQ(program_bind(program, slot_of("in", false), 0x111000), NRT_SUCCESS);
  ASSERT_EQ(program_bind(program, slot_of("out", true), 0x222000), NRT_SUCCESS);
  expect(0x111000, 0x222000);
}

TEST_F(Bind, FailedOneIsRepeated) {
  ASSERT_EQ(stage(), NRT_SUCCESS);
  uint64_t in = l->address(IN), out = l->address(OUT);
  log_watch log;
  m->fail(NEURON_IOCTL_MEM_COPY64, 3, EIO);
  EXPECT_EQ(program_bind(program, slot_of("in", false), 0x111000), NRT_FAILURE);
  EXPECT_EQ(log.take_errors().size(), 1u);
  m->heal();
  ASSERT_EQ(program_bind(program, slot_of("in", false), in), NRT_SUCCESS);
  expect(in, out);
}

// --- refusals ------------------------------------------------------------------------------------

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
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(0xC8), "does not run it");  // collectives
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(0xD1), "does not run it");  // functions
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(ISA_MATMUL), "does not run it");
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(ISA_WRITE), "only a loaded image has");
  refuse(ISA_ENGINE_DVE, record_of<isa_record>(ISA_TENSOR_LOAD), "only a loaded image has");
  auto r = record_of<isa_record>(ISA_NOP);
  r.bytes[20] = 1;
  refuse(ISA_ENGINE_DVE, r, "byte 32: ");
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
