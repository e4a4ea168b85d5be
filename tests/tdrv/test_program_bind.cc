// SPDX-License-Identifier: Apache-2.0
// Every place of a staged program that holds an input's or output's address, and what a bind makes
// of it (mem-ref.md 8.11, rulings.md 6 to 8).
#include "hal/udma.h"
#include "tests/tdrv/program_test.h"

namespace {

using ::testing::ElementsAre;
using enum isa_engine_t;

constexpr uint64_t kDma = 0x1002000000;  // DMA engine 0 of core 0 of a trn2

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

// An output of the other subgraph under a local name, in a record and behind a pointer.
TEST(BindRemote, FollowsTheOtherSubgraph) {
  for (bool at_load : {true, false}) {
    machine_options options;
    options.io_at_load = at_load;
    machine m(options);
    plan first, second;
    first.add(MR_SB, "SB", 0);
    first.add(MR_OUTPUT, "out", 4096);
    second.add(MR_SB, "SB", 0);
    uint32_t far = second.remote("far", 0, 1);
    uint32_t tmp = second.add(MR_TMP_BUF, "tmp", 4096);
    auto nn = model_of(first, second);
    isa_dma record = dma_record(addr8(0x10, tmp, 0), addr8(0x10, far, 256));
    kbin_engine_t pool{};
    pool.eng_type = AL_HAL_TPB_ENG_TYPE_POOL;
    pool.instr = {reinterpret_cast<const uint8_t *>(&record), 64};
    pool.ninstr = 1;
    nn->kbins[1]->engines.push_back(pool);
    loaded l(m, *nn);
    ASSERT_EQ(l.status, NRT_SUCCESS);
    program_core_t core = {};
    program_t *program = nullptr;
    ASSERT_EQ(program_stage(l.info, 1, &core, &program), NRT_SUCCESS);
    const program_image_t *image = program_image(program, ISA_ENGINE_POOL);
    const auto *staged_dma =
        static_cast<const isa_dma *>(m.dram(image->pa + 64ull * image->main_first, 64));
    ASSERT_NE(staged_dma, nullptr);
    if (at_load) {
      EXPECT_EQ(isa_addr8_device(staged_dma->dst), l.address(1) + 256);
    }
    const io_slot_t *slot = vtpb_info_shared_find_io(l.info, "out", true);
    ASSERT_EQ(program_bind(program, static_cast<uint32_t>(slot - l.info->io_slots), 0x333000),
              NRT_SUCCESS);
    EXPECT_EQ(isa_addr8_device(staged_dma->dst), 0x333100u);
    program_free(program);
  }
}

}  // namespace
