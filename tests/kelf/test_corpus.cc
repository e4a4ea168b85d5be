// SPDX-License-Identifier: Apache-2.0
// The three real files, against figures that do not come from this code: neff-format.md 5.6 (a),
// and what can be read in the files' own JSON with any viewer.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "neff/neff_file.h"
#include "tests/kelf/fixture.h"
#include "tests/support/corpus.h"

namespace {

struct totals {
  uint64_t bin_bytes = 0, constants = 0, scratch = 0, transfers = 0, inputs = 0, outputs = 0;
};

totals totals_of(const kbin_t &kbin) {
  totals t;
  for (const kbin_engine_t &engine : kbin.engines)
    t.bin_bytes += engine.instr.size();
  for (uint32_t i = 0; i < kbin.mem_ref_set->nmem; i++) {
    const kbin_mem_ref &record = kbin.mem_ref_set->mem[i];
    if (record.mr_type == MR_BUFFER)
      t.constants += record.size;
    if (record.mr_type == MR_INPUT)
      t.inputs += record.size;
    if (record.mr_type == MR_OUTPUT)
      t.outputs += record.size;
  }
  t.scratch = kbin.mem_ref_set->local_scratchpad_size + kbin.mem_ref_set->shared_scratchpad_size;
  for (const kbin_dma_block_t &block : kbin.blocks)
    t.transfers += block.desc.size();
  return t;
}

void expect_totals(const kbin_t &kbin, const totals &want) {
  totals got = totals_of(kbin);
  EXPECT_EQ(got.bin_bytes, want.bin_bytes);
  EXPECT_EQ(got.constants, want.constants);
  EXPECT_EQ(got.scratch, want.scratch);
  EXPECT_EQ(got.transfers, want.transfers);
  EXPECT_EQ(got.inputs, want.inputs);
  EXPECT_EQ(got.outputs, want.outputs);
}

class Corpus : public testing::Test {
 protected:
  void load(const char *name) {
    std::vector<uint8_t> bytes = corpus_file(name);
    if (bytes.empty()) {
      printf("skipped: no corpus\n");
      GTEST_SKIP() << "skipped: no corpus";
    }
    finding_sink findings;
    std::shared_ptr<const neff> source;
    ASSERT_EQ(neff_open(bytes, {}, findings, &source), NRT_SUCCESS) << text_of(findings);
    ASSERT_EQ(kelf_load_nn(source, {}, findings, &nn), NRT_SUCCESS) << text_of(findings);
    EXPECT_TRUE(findings.empty());
    EXPECT_EQ(nn->target, KELF_TARGET_CAYMAN);
    EXPECT_EQ(nn->kelf_member, "kelf-0.json");
    ASSERT_EQ(nn->kbins.size(), 2u);
    check_constants_in_place(*source);
  }

  // Every constant points into its member: nothing was copied.
  void check_constants_in_place(const neff &source) {
    for (const auto &kbin : nn->kbins) {
      for (uint32_t i = 0; i < kbin->mem_ref_set->nmem; i++) {
        const kbin_mem_ref &record = kbin->mem_ref_set->mem[i];
        EXPECT_EQ(record.var_id, i);
        if (record.mr_type != MR_BUFFER) {
          EXPECT_EQ(record.buffer, nullptr);
          continue;
        }
        bool inside = false;
        for (const auto &[name, bytes] : source.members) {
          inside |= name.ends_with(".npy") && record.buffer == bytes.data() + 128 &&
                    record.size == bytes.size() - 128;
        }
        EXPECT_TRUE(inside) << record.name;
      }
    }
  }

  const kbin_mem_ref *find(size_t sg, const std::string &name) {
    kbin_mem_ref_set_t *set = nn->kbins[sg]->mem_ref_set;
    for (uint32_t i = 0; i < set->nmem; i++) {
      if (name == set->mem[i].name)
        return &set->mem[i];
    }
    return nullptr;
  }

  std::unique_ptr<kelf_nn_t> nn;
};

TEST_F(Corpus, MatmulSmall) {
  load("matmul_small.neff");
  if (!nn)
    return;
  for (const auto &kbin : nn->kbins)
    expect_totals(*kbin, {1856, 32768, 0, 0, 131072, 32768});
  ASSERT_EQ(nn->inputs.size(), 2u);
  EXPECT_EQ(nn->inputs[0].name, "x");
  EXPECT_EQ(nn->inputs[0].size, 65536u);
  EXPECT_EQ(nn->inputs[0].dtype, 7u);  // float16
  EXPECT_THAT(nn->inputs[0].shape, testing::ElementsAre(128, 256));
  EXPECT_EQ(nn->inputs[1].name, "y");
  ASSERT_EQ(nn->outputs.size(), 1u);  // listed once per core in the file
  EXPECT_EQ(nn->outputs[0].name, "output0");
  EXPECT_EQ(nn->mac_count, 4194304u);

  const kbin_t &kbin = *nn->kbins[0];
  EXPECT_EQ(kbin.sg_name, "sg00");
  EXPECT_EQ(kbin.definition, "sg00/def.json");
  EXPECT_EQ(kbin.num_inputs, 2u);
  EXPECT_EQ(kbin.num_outputs, 1u);
  EXPECT_EQ(kbin.num_streams, 0u);
  const kbin_mem_ref *table = find(0, "DGETable0");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->mr_type, MR_PTR_TABLE);
  EXPECT_EQ(table->var_id, 5u);
  EXPECT_EQ(std::vector<uint32_t>(table->list.list, table->list.list + table->list.length),
            (std::vector<uint32_t>{1, 2, 3}));
  const kbin_mem_ref *identity = find(0, "identity_82_sg0000");
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->mr_type, MR_BUFFER);
  EXPECT_EQ(identity->alignment, 32768u);
  // fp16 identity, 128 x 128: one on the diagonal.
  const auto *half = reinterpret_cast<const uint16_t *>(identity->buffer);
  for (size_t row = 0; row < 128; row++) {
    for (size_t col = 0; col < 128; col++)
      ASSERT_EQ(half[row * 128 + col], row == col ? 0x3C00 : 0) << row << "," << col;
  }

  const uint32_t slots[] = {12, 5, 7, 2, 3};  // PE, ACT, Pool, DVE, SP (neff-format.md 4.2)
  ASSERT_EQ(kbin.engines.size(), 5u);
  for (uint32_t i = 0; i < 5; i++) {
    EXPECT_EQ(kbin.engines[i].eng_type, i);
    EXPECT_EQ(kbin.engines[i].ninstr, slots[i]);
  }
  EXPECT_EQ(kbin.engines[0].instr_member, "sg00/PE.bin");
  ASSERT_EQ(kbin.queues.size(), 2u);
  const kbin_dma_queue_t &pool = kbin.queues[0], &sp = kbin.queues[1];
  EXPECT_EQ(pool.name, "qPoolDynamic");
  EXPECT_EQ(pool.type, kbin_dma_queue_type_t::DYNAMIC);
  EXPECT_EQ(pool.owner, AL_HAL_TPB_ENG_TYPE_POOL);
  EXPECT_EQ(pool.num_queues, 16u);
  EXPECT_TRUE(pool.dynamic_dma);
  EXPECT_EQ(pool.sb_scratch_size, 16384u);
  ASSERT_EQ(pool.semaphores.size(), 16u);
  EXPECT_EQ(pool.semaphores.front(), 24u);
  EXPECT_EQ(pool.semaphores.back(), 39u);
  EXPECT_EQ(sp.name, "qSPDynamicHW");
  EXPECT_EQ(sp.owner, AL_HAL_TPB_ENG_TYPE_SP);
  EXPECT_FALSE(sp.dynamic_dma);
  ASSERT_EQ(kbin.act_function_sets.size(), 1u);
  EXPECT_EQ(kbin.act_function_sets[0].name, "exp_and_others");
  EXPECT_EQ(kbin.act_function_sets[0].bkt_tbl.size(), 941u * 32);
  EXPECT_EQ(kbin.act_function_sets[0].ctl_tbl.size(), 89u * 32);
  EXPECT_EQ(kbin.act_function_sets[0].functions.size(), 15u);
  EXPECT_EQ(kbin.act_semaphore, 12u);
  ASSERT_EQ(kbin.dve_config.size(), 1u);
  EXPECT_EQ(kbin.dve_config[0].opcode_table.size(), 1024u);
  EXPECT_EQ(kbin.dve_config[0].datapath_table.size(), 16384u);
  EXPECT_EQ(kbin.dve_config[0].control_fast_table.size(), 4096u);
  EXPECT_EQ(kbin.dve_config[0].control_slow_table.size(), 4096u);
  ASSERT_EQ(kbin.sb_carveouts.size(), 1u);
  EXPECT_EQ(kbin.sb_carveouts[0].offset, 0x37FF8u);
  EXPECT_EQ(kbin.sb_carveouts[0].num_partitions, 128u);
  EXPECT_TRUE(kbin.fp8_conv_cfg.fp8_range_extension);
  EXPECT_EQ(kbin.fp8_conv_cfg.emax_fp8_e5m2, 15u);
}

TEST_F(Corpus, MatmulLarge) {
  load("matmul_large.neff");
  if (!nn)
    return;
  for (const auto &kbin : nn->kbins) {
    expect_totals(*kbin, {1906880, 32768, 8388608, 0, 4303355904, 16777216});
    EXPECT_EQ(kbin->mem_ref_set->local_scratchpad_size, 8388608u);
  }
  ASSERT_EQ(nn->inputs.size(), 2u);
  EXPECT_EQ(nn->inputs[1].size, 4294967296u);  // past 32 bits
  const kbin_mem_ref *spill = find(0, "-t125_i0_RematSpillSave0_sg0000");
  ASSERT_TRUE(spill);
  EXPECT_EQ(spill->mr_type, MR_VIRTUAL_TMP_BUF);
  EXPECT_EQ(spill->virt.offset, 7864320u);
  EXPECT_EQ(spill->virt.backing_buf, KBIN_BACKING_BUF_LOCAL);
  EXPECT_EQ(spill->size, 524288u);
}

TEST_F(Corpus, Attention) {
  load("attn_v6.neff");
  if (!nn)
    return;
  expect_totals(*nn->kbins[0], {125504, 16384, 8, 20, 9704452, 2048});
  expect_totals(*nn->kbins[1], {640, 16384, 0, 0, 9704452, 2048});
  ASSERT_EQ(nn->inputs.size(), 11u);
  EXPECT_EQ(nn->inputs[2].name, "input10");  // sorted by name
  EXPECT_EQ(nn->inputs[0].dtype, 8u);        // int32
  EXPECT_EQ(nn->outputs.size(), 1u);
  const kbin_t &kbin = *nn->kbins[0];
  ASSERT_EQ(kbin.blocks.size(), 20u);
  const kbin_dma_block_t &block = kbin.blocks[0];
  EXPECT_EQ(block.id, 0u);
  EXPECT_EQ(block.queue, "qDVESpillReload0");
  EXPECT_EQ(block.semaphore, 24);
  EXPECT_EQ(block.event, -1);
  EXPECT_EQ(block.engine, AL_HAL_TPB_ENG_TYPE_DVE);
  const kbin_dma_transfer_t &transfer = block.desc.at(0);
  EXPECT_EQ(transfer.op, kbin_dma_desc_op_t::COPY);
  EXPECT_EQ(transfer.num_tiling_dimensions, -1);
  ASSERT_EQ(transfer.from.size(), 1u);
  EXPECT_EQ(transfer.from[0].var_id, 0u);  // SB
  EXPECT_EQ(transfer.from[0].offset, 8405504u);
  EXPECT_EQ(transfer.from[0].ndims, 2u);
  EXPECT_EQ(transfer.from[0].sizes[0], 4u);
  EXPECT_EQ(transfer.from[0].sizes[1], 2u);
  EXPECT_EQ(transfer.from[0].steps[1], 262144);
  EXPECT_EQ(transfer.from[0].dtype, 5u);  // float32
  EXPECT_EQ(kbin.mem_ref_set->mem[transfer.to.var_id].mr_type, MR_VIRTUAL_TMP_BUF);
  EXPECT_EQ(kbin.act_function_sets.size(), 2u);
  EXPECT_TRUE(nn->kbins[1]->act_function_sets.empty());
  EXPECT_TRUE(nn->kbins[1]->queues.empty());
}

}  // namespace

// First coefficient of a bucket.
static float constant(const kbin_act_function_set_t &set, uint32_t bucket) {
  float value;
  memcpy(&value, set.bkt_tbl.data() + size_t{bucket} * 32, sizeof value);
  return value;
}

// The four "signal_pwl_control" fields are bucket numbers (G6): as such they lead to the value each
// function takes at its ends, and as control entries most of them would not exist.
TEST_F(Corpus, ActivationFunctions) {
  load("attn_v6.neff");
  if (!nn)
    return;
  const auto &sets = nn->kbins[0]->act_function_sets;
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].functions.size(), 14u);
  EXPECT_EQ(sets[1].functions.size(), 15u);
  const kbin_act_function_t &rsqrt = sets[0].functions[0], &ln = sets[1].functions[0],
                            &exp = sets[1].functions[1];
  EXPECT_EQ(rsqrt.name, "reciprocal_sqrt_40000p");
  EXPECT_EQ(rsqrt.func_id, 29u);
  EXPECT_EQ(rsqrt.exp_offset, -87);
  EXPECT_EQ(rsqrt.fzero_result, 0x7F7F0000u);
  EXPECT_TRUE(std::isnan(constant(sets[0], rsqrt.small_neg_bucket)));
  EXPECT_EQ(ln.func_id, 10u);
  EXPECT_TRUE(std::isnan(constant(sets[1], ln.large_neg_bucket)));
  EXPECT_EQ(exp.func_id, 7u);
  EXPECT_EQ(exp.large_pos_exp_threshold, 133u);
  EXPECT_EQ(exp.large_pos_mantissa_threshold, 3240472u);
  EXPECT_EQ(exp.large_neg_mantissa_threshold, 4362891u);
  EXPECT_EQ(constant(sets[1], exp.large_pos_bucket), INFINITY);
  EXPECT_EQ(constant(sets[1], exp.large_neg_bucket), 0);
  EXPECT_EQ(constant(sets[1], exp.small_pos_bucket), 1);
  EXPECT_GT(exp.large_neg_bucket, sets[1].ctl_tbl.size() / 32);
}
