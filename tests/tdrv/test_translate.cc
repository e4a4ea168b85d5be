// SPDX-License-Identifier: Apache-2.0
// Pseudo records and what engines get for them (verified-facts.md G1 to G3, G7, G8.3), written by
// hand.
#include "hal/udma.h"
#include "tests/tdrv/program_test.h"

namespace {

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
  dma.dst_count[0] = 2;
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
  EXPECT_EQ(move.immediate[1], 2048u - (256 + 128));
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

// The smallest real v2 program (verified-facts.md G9): a + b in two tiles of 128 x 1000 fp32.
class Sunda : public program_test {
  void add_variables(plan *p) override {
    p->add(MR_SB, "SB", 0);
    p->add(MR_INPUT, "a_vec", 1024000);
    p->add(MR_INPUT, "b_vec", 1024000);
    p->add(MR_OUTPUT, "out", 1024000);
  }
};

TEST_F(Sunda, SmallestProgram) {
  add_queue("qSPIO0", kbin_dma_queue_type_t::IN, AL_HAL_TPB_ENG_TYPE_SP);
  add_queue("qPoolIO0", kbin_dma_queue_type_t::IN, AL_HAL_TPB_ENG_TYPE_POOL);
  const struct {
    uint32_t var, offset, sbuf;
  } loads[] = {{1, 0, 0x2C180}, {2, 0, 0x2E0C0}, {1, 512000, 0x2F060}, {2, 512000, 0x2D120}},
    stores[] = {{3, 0, 0x4000}, {3, 512000, 0x4FA0}};
  int32_t semaphore = 8;
  for (uint32_t i = 0; i < 4; i++)
    add_block("qSPIO0", i, AL_HAL_TPB_ENG_TYPE_SP,
              rows_of(loads[i].var, loads[i].offset, 4000, 128, 4000),
              rows_of(0, loads[i].sbuf, 4000, 128, 262144), 1, semaphore++);
  for (uint32_t i = 0; i < 2; i++)
    add_block("qPoolIO0", i, AL_HAL_TPB_ENG_TYPE_POOL,
              rows_of(0, stores[i].sbuf, 4000, 128, 262144),
              rows_of(3, stores[i].offset, 4000, 128, 4000), 1, static_cast<int32_t>(24 + i));
  for (auto &stream : streams)
    stream.assign(64, 0);
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
    streams[e][0] = 0xB1;
    streams[e][1] = 0x10;
  }
  for (uint32_t i = 0; i < 4; i++)
    add(ISA_ENGINE_SP, trigger_record("qSPIO0", i));
  const uint8_t adds[2][64] = {
      {0x41, 0x10, 0,    0, 0x05, 0x09, 0x13, 0x06, 0x10, 0, 0,    0,    0xaa, 0x0a, 0x04, 0x80,
       0x80, 0xc1, 0x02, 0, 1,    0,    1,    0,    1,    0, 0xe8, 0x03, 1,    0,    1,    0,
       0xc0, 0xe0, 0x02, 0, 1,    0,    1,    0,    1,    0, 0xe8, 0x03, 1,    0,    1,    0,
       0x00, 0x40, 0x00, 0, 1,    0,    1,    0,    1,    0, 0xe8, 0x03, 1,    0,    1,    0},
      {0x41, 0x10, 0,    0, 0x05, 0x0b, 0x13, 0x06, 0x10, 0, 0,    0,    0xaa, 0x0a, 0x04, 0x80,
       0x60, 0xf0, 0x02, 0, 1,    0,    1,    0,    1,    0, 0xe8, 0x03, 1,    0,    1,    0,
       0x20, 0xd1, 0x02, 0, 1,    0,    1,    0,    1,    0, 0xe8, 0x03, 1,    0,    1,    0,
       0xa0, 0x4f, 0x00, 0, 1,    0,    1,    0,    1,    0, 0xe8, 0x03, 1,    0,    1,    0}};
  for (const auto &record : adds)
    streams[ISA_ENGINE_DVE].insert(streams[ISA_ENGINE_DVE].end(), record, record + 64);
  for (uint32_t i = 0; i < 2; i++) {
    isa_dma_trigger r = trigger_record("qPoolIO0", i);
    r.h.wait_mode = ISA_WAIT_SEM_GE;
    r.h.wait_index = 6;
    r.h.value = i + 1;
    add(ISA_ENGINE_POOL, r);
  }
  for (uint8_t i = 0; i < 2; i++) {
    auto r = record_of<isa_record>(ISA_NOP);
    r.h.wait_mode = ISA_WAIT_SEM_GE;
    r.h.wait_index = static_cast<uint8_t>(24 + i);
    r.h.value = 16;
    add(ISA_ENGINE_POOL, r);
  }
  machine_options options;
  options.instance = "trn1.2xlarge";
  options.lnc = 1;
  ASSERT_EQ(stage(options), NRT_SUCCESS);
  // Triggers keep their slots: nothing is inserted or dropped on a v2.
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
    auto engine = static_cast<isa_engine_t>(e);
    std::vector<isa_record> records = main(engine);
    ASSERT_EQ(records.size() * 64, streams[e].size());
    for (uint32_t i = 0; i < records.size(); i++) {
      if (streams[e][64 * i] != ISA_PSEUDO_DMATRIGGER) {
        EXPECT_EQ(memcmp(&records[i], &streams[e][64 * i], 64), 0);
        continue;
      }
      isa_write w;
      memcpy(&w, &records[i], 64);
      bool load = engine == ISA_ENGINE_SP;
      EXPECT_EQ(w.value[0], load ? 9u : 3u);  // destinations: rows of the state buffer, or two
      EXPECT_EQ(w.value[1], load ? 3u : 9u);
      EXPECT_EQ(isa_addr8_device(w.address[0]) & ~0xf000ull, 0xffff1020038u);
      EXPECT_EQ(isa_addr8_device(w.address[1]) & ~0xf000ull, 0xffff1000038u);
      EXPECT_EQ(memcmp(&w.h.wait_mode, &streams[e][64 * i + 4], 8), 0);
    }
  }
  // 36 + 12 and 18 + 6 descriptors per engine: 64 each.
  EXPECT_EQ(m->usage(dma_mem_usage_type_t::DMA_RING_IO), 65536u);
}

}  // namespace
