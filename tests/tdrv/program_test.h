// SPDX-License-Identifier: Apache-2.0
// Programs written record by record, staged on a mocked machine.
#pragma once

#include <gmock/gmock.h>

#include "isa/isa.h"
#include "isa/project.h"
#include "tdrv/program.h"
#include "tests/tdrv/machine.h"

template <typename record_t>
record_t record_of(uint8_t opcode) {
  record_t r{};
  r.h.opcode = opcode;
  r.h.words = 0x10;
  return r;
}

inline isa_addr8 addr8(uint8_t mode, uint32_t id, uint32_t offset) {
  isa_addr8 a{};
  a.mode = mode;
  isa_addr8_set_id(&a, id);
  a.offset = offset;
  return a;
}

// Rows of `bytes`, `step` apart on both sides.
inline isa_dma dma_record(const isa_addr8 &src, const isa_addr8 &dst, int32_t step = 256,
                          uint16_t rows = 4, uint16_t bytes = 64) {
  auto r = record_of<isa_dma>(ISA_PSEUDO_DMA_DIRECT2D);
  r.semaphore = 9;
  r.increment = 16;
  r.src = src;
  r.dst = dst;
  r.src_step[0] = r.dst_step[0] = step;
  r.src_step[1] = r.dst_step[1] = 1;
  r.src_count[0] = r.dst_count[0] = rows;
  r.src_count[1] = r.dst_count[1] = 1;
  r.src_bytes = r.dst_bytes = bytes;
  r.src_dtype = r.dst_dtype = ISA_DTYPE_FP32;
  return r;
}

inline isa_dma_trigger trigger_record(const char *queue, uint32_t block) {
  auto r = record_of<isa_dma_trigger>(ISA_PSEUDO_DMATRIGGER);
  strncpy(r.queue, queue, sizeof(r.queue) - 1);
  r.block = block;
  return r;
}

inline kbin_dma_pattern_t rows_of(uint32_t var, uint64_t offset, uint64_t bytes, uint64_t rows,
                                  int64_t step) {
  kbin_dma_pattern_t p{};
  p.var_id = var;
  p.offset = offset;
  p.ndims = 2;
  p.sizes[0] = bytes;
  p.sizes[1] = rows;
  p.steps[0] = 1;
  p.steps[1] = step;
  return p;
}

// A subgraph with variables SB 0, in 1 (4096), out 2 (4096), w 3 (8192), tmp 4 (65536), table 5 of
// in, out, w; p_in 6 and p_w 7 pointers.
class program_test : public ::testing::Test {
 protected:
  enum : uint32_t { SB, IN, OUT, W, TMP, TABLE, P_IN, P_W };

  virtual void add_variables(plan *p) {
    p->add(MR_SB, "SB", 0);
    p->add(MR_INPUT, "in", 4096);
    p->add(MR_OUTPUT, "out", 4096);
    p->add(MR_BUFFER, "w", 8192, 0, weights_);
    p->add(MR_TMP_BUF, "tmp", 65536);
    p->list(MR_PTR_TABLE, "table", {IN, OUT, W});
    p->ptr("p_in", IN, true);
    p->ptr("p_w", W);
  }

  void TearDown() override { unload(); }
  void unload() {
    program_free(program);
    program = nullptr;
    l.reset();
    nn.reset();
    m.reset();
  }

  template <typename record_t>
  void add(isa_engine_t engine, const record_t &record) {
    static_assert(sizeof(record) == 64);
    const auto *bytes = reinterpret_cast<const uint8_t *>(&record);
    streams[engine].insert(streams[engine].end(), bytes, bytes + 64);
  }

  void add_queue(const char *name, kbin_dma_queue_type_t type, al_hal_tpb_eng_type owner,
                 uint32_t rings = 16) {
    kbin_dma_queue_t q{};
    q.name = name;
    q.type = type;
    q.owner = owner;
    q.num_queues = rings;
    queues.push_back(q);
  }
  kbin_dma_block_t &add_block(const char *queue, uint32_t id, al_hal_tpb_eng_type engine,
                              const kbin_dma_pattern_t &from, const kbin_dma_pattern_t &to,
                              int32_t tiling = 1, int32_t semaphore = 20) {
    kbin_dma_block_t b{};
    b.id = id;
    b.queue = queue;
    b.semaphore = semaphore;
    b.event = -1;
    b.engine = engine;
    kbin_dma_transfer_t t{};
    t.op = kbin_dma_desc_op_t::COPY;
    t.from = {from};
    t.to = to;
    t.num_tiling_dimensions = tiling;
    b.desc.push_back(t);
    blocks.push_back(b);
    return blocks.back();
  }

  NRT_STATUS stage(const machine_options &options = {}) {
    unload();
    m = std::make_unique<machine>(options);
    plan p;
    add_variables(&p);
    nn = model_of(p);
    kbin_t *kbin = nn->kbins[0].get();
    kbin->queues = queues;
    kbin->blocks = blocks;
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
      kbin_engine_t engine{};
      engine.eng_type = static_cast<al_hal_tpb_eng_type>(e);
      engine.instr = streams[e];
      engine.ninstr = static_cast<uint32_t>(streams[e].size() / 64);
      kbin->engines.push_back(engine);
    }
    l = std::make_unique<loaded>(*m, *nn);
    if (l->status != NRT_SUCCESS)
      return l->status;
    return stage_loaded();
  }
  NRT_STATUS stage_loaded() {
    program_core_t core;
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++)
      core.done[e] = 0x7000 + e;
    return program_stage(l->info, 0, &core, &program);
  }

  // Records of an image: the whole, or the program's.
  template <typename record_t = isa_record>
  std::vector<record_t> image(isa_engine_t engine) {
    const program_image_t *info = program_image(program, engine);
    std::vector<record_t> out(info->slots);
    memcpy(out.data(), m->dram(info->pa, info->slots * 64), info->slots * 64);
    return out;
  }
  template <typename record_t = isa_record>
  std::vector<record_t> main(isa_engine_t engine) {
    const program_image_t *info = program_image(program, engine);
    std::vector<record_t> all = image<record_t>(engine);
    return {all.begin() + info->main_first, all.begin() + info->main_first + info->main_slots};
  }
  template <typename record_t>
  record_t main_at(isa_engine_t engine, size_t n) {
    return main<record_t>(engine).at(n);
  }
  uint32_t slot_of(const char *name, bool output) {
    return static_cast<uint32_t>(vtpb_info_shared_find_io(l->info, name, output) -
                                 l->info->io_slots);
  }

  std::unique_ptr<machine> m;
  std::unique_ptr<kelf_nn_t> nn;
  std::unique_ptr<loaded> l;
  program_t *program = nullptr;
  std::vector<uint8_t> streams[ISA_ENGINE_COUNT];
  std::vector<kbin_dma_queue_t> queues;
  std::vector<kbin_dma_block_t> blocks;

 private:
  uint8_t weights_[8192] = {};
};
