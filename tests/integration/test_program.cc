// SPDX-License-Identifier: Apache-2.0
// Staged programs: the records of matmul_small against worked-program.md, what surrounds them, what
// a bind changes, and that nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/staged.h"

namespace {

constexpr isa_engine_t kEngines[] = {ISA_ENGINE_PE, ISA_ENGINE_ACT, ISA_ENGINE_POOL, ISA_ENGINE_DVE,
                                     ISA_ENGINE_SP};
// Cores 0 and 1 of a trn2 (mock-device-semantics.md 2).
constexpr uint64_t kSbuf[] = {0x2000000000, 0x3000000000};

TEST(Program, DmaRecordsOfMatmulSmall) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  staged p(s, files[0]);
  ASSERT_EQ(p.status, NRT_SUCCESS);
  // worked-program.md: stream and slot, table entry or variable, offsets, rows.
  struct expected_t {
    isa_engine_t engine;
    uint32_t slot;  // of the stream; the label before it is not loaded
    bool load;
    int table;  // entry, or -1: variable 4
    uint32_t offset, sbuf;
    uint32_t dram_step, dram_bytes, sbuf_bytes;
    uint8_t semaphore;
  } const expected[] = {
      {ISA_ENGINE_SP, 2, true, -1, 0, 0x37B00, 256, 256, 256, 8},
      {ISA_ENGINE_POOL, 2, true, 0, 0, 0x37C00, 512, 512, 512, 24},
      {ISA_ENGINE_POOL, 3, true, 1, 0, 0x37F00, 256, 128, 128, 25},
      {ISA_ENGINE_POOL, 4, true, 1, 0x8000, 0x37E00, 256, 128, 128, 26},
      {ISA_ENGINE_POOL, 5, false, 2, 0, 0x4200, 256, 128, 256, 27},
  };
  for (const expected_t &e : expected) {
    SCOPED_TRACE(e.slot);
    isa_dma r = p.main<isa_dma>(0, e.engine)[e.slot - 1];
    EXPECT_EQ(r.h.opcode, 0xB8);
    const isa_addr8 &dram = e.load ? r.src : r.dst, &sbuf = e.load ? r.dst : r.src;
    if (e.table >= 0) {
      EXPECT_EQ(dram.mode, 0x20);
      EXPECT_EQ(isa_addr8_id(dram), static_cast<uint32_t>(e.table));
      EXPECT_EQ(dram.offset, e.offset);
    } else {
      EXPECT_EQ(isa_addr8_device(dram), p.address(0, 4) + e.offset);
    }
    EXPECT_EQ(isa_addr8_device(sbuf), kSbuf[0] + e.sbuf);
    EXPECT_EQ(e.load ? r.src_step[0] : r.dst_step[0], static_cast<int32_t>(e.dram_step));
    EXPECT_EQ(e.load ? r.src_bytes : r.dst_bytes, e.dram_bytes);
    EXPECT_EQ(e.load ? r.dst_step[0] : r.src_step[0], 0x40000);
    EXPECT_EQ(e.load ? r.dst_bytes : r.src_bytes, e.sbuf_bytes);
    EXPECT_EQ(r.semaphore, e.semaphore);
    EXPECT_EQ(r.increment, 16);
  }
  // The other core's state buffer, and its columns of y 128 bytes further on.
  isa_dma y = p.main<isa_dma>(1, ISA_ENGINE_POOL)[2];
  EXPECT_EQ(y.src.offset, 128u);
  EXPECT_EQ(isa_addr8_device(y.dst), kSbuf[1] + 0x37F00);
}

// Everything but the label and the DMA records is loaded as it stands in the file.
TEST(Program, OtherRecordsAreCopied) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  for (size_t f = 0; f < 2; ++f) {
    staged p(s, files[f]);
    ASSERT_EQ(p.status, NRT_SUCCESS);
    for (uint32_t sg = 0; sg < 2; ++sg) {
      for (isa_engine_t engine : kEngines) {
        const kbin_engine_t &stream = p.stream(sg, engine);
        std::vector<isa_record> main = p.main(sg, engine);
        ASSERT_EQ(main.size(), stream.ninstr - 1);
        size_t at = 0;
        for (uint32_t i = 0; i < stream.ninstr; ++i) {
          const uint8_t *slot = stream.instr.data() + 64 * i;
          if (slot[0] == 0xCC)
            continue;
          if (slot[0] != 0xD4) {
            ASSERT_EQ(memcmp(slot, &main[at], 64), 0) << i;
          }
          ++at;
        }
        EXPECT_EQ(at, main.size());
      }
    }
  }
}

TEST(Program, WrapperOfEveryEngine) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  staged p(s, files[0]);
  ASSERT_EQ(p.status, NRT_SUCCESS);
  // verified-facts.md G7: turns at the barrier, shares of the clears.
  struct expected_t {
    uint32_t waits[2];
    uint8_t first, last;
  } const expected[] = {{{0, 8}, 3, 53},
                        {{1, 7}, 54, 104},
                        {{2, 6}, 105, 155},
                        {{3, 5}, 156, 206},
                        {{4, 4}, 207, 255}};
  for (isa_engine_t engine : kEngines) {
    SCOPED_TRACE(engine);
    const program_image_t *info = program_image(p.programs[0], engine);
    EXPECT_EQ(info->pa % 32768, 0u);
    std::vector<isa_record> image = p.image(0, engine);
    // The table's registers come from a cell that holds the table's address.
    isa_tensor_move load;
    memcpy(&load, &image[0], 64);
    EXPECT_EQ(load.h.opcode, 0xAA);
    EXPECT_EQ(load.reg[0], 130);
    EXPECT_EQ(load.reg[1], 131);
    uint64_t table = 0, entry = 0;
    memcpy(&table, s.dram(isa_addr8_device(load.address), 8), 8);
    for (uint32_t i = 0; i < 3; ++i) {
      memcpy(&entry, s.dram(table + 8 * i, 8), 8);
      EXPECT_EQ(entry, p.address(0, i + 1)) << "x, y, output0 are variables 1, 2, 3";
    }
    std::vector<uint8_t> post;
    for (uint32_t i = info->main_first + info->main_slots; i < info->slots; ++i)
      post.push_back(image[i].h.opcode);
    std::vector<uint8_t> want = {0xA2, 0xA0, 0xA0, 0xA2, 0xB0, 0xA2, 0xA0, 0xA0, 0xA2, 0xA7, 0xA9};
    if (engine == ISA_ENGINE_SP)  // last to arrive, first to go
      want = {0xA2, 0xA0, 0xA2, 0xB0, 0xA2, 0xA0, 0xA2, 0xA7, 0xA9};
    EXPECT_EQ(post, want);
    isa_sem_range_clear clear;
    isa_event_semaphore first, last;
    isa_move done;
    memcpy(&first, &image[info->main_first + info->main_slots + 1], 64);
    memcpy(&last, &image[info->main_first + info->main_slots + (engine == ISA_ENGINE_SP ? 1 : 2)],
           64);
    memcpy(&clear, &image[info->main_first + info->main_slots + (engine == ISA_ENGINE_SP ? 3 : 4)],
           64);
    memcpy(&done, &image[info->slots - 2], 64);
    EXPECT_EQ(first.wait_value, expected[engine].waits[0]);
    EXPECT_EQ(first.wait_mode, engine == ISA_ENGINE_PE ? 0 : 1);
    EXPECT_EQ(last.wait_value, expected[engine].waits[1]);
    EXPECT_EQ(last.update_mode, engine == ISA_ENGINE_PE ? 0x19 : 0x13);
    EXPECT_EQ(clear.first, expected[engine].first);
    EXPECT_EQ(clear.last, expected[engine].last);
    EXPECT_EQ(done.immediate[0] | uint64_t{done.immediate[1]} << 32, staged::kDone + 64 * engine);
    EXPECT_EQ(done.dst[0], 62);
    EXPECT_EQ(done.dst[1], 63);
  }
}

TEST(Program, PlacesOfRecordsAreFound) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  staged p(s, files[0]);
  ASSERT_EQ(p.status, NRT_SUCCESS);
  isa_engine_t engine;
  program_section_t section;
  uint32_t slot;
  for (isa_engine_t e : kEngines) {
    const program_image_t *image = program_image(p.programs[0], e);
    uint32_t at = 0;
    for (; at < image->slots; ++at) {
      ASSERT_TRUE(program_find(p.programs[0], image->pa + 64 * at, &engine, &section, &slot));
      EXPECT_EQ(engine, e);
      if (at < image->main_first) {
        EXPECT_EQ(section, PROGRAM_PREAMBLE);
        EXPECT_EQ(slot, at);
      } else if (at < image->main_first + image->main_slots) {
        EXPECT_EQ(section, PROGRAM_MAIN);
        uint32_t n = at - image->main_first;
        EXPECT_EQ(slot, n == 0 ? 0 : n + 1);  // slot 1 is the label
      } else {
        EXPECT_EQ(section, PROGRAM_POSTAMBLE);
        EXPECT_EQ(slot, at - image->main_first - image->main_slots);
      }
    }
    EXPECT_FALSE(program_find(p.programs[1], image->pa, &engine, &section, &slot));
  }
}

TEST(Program, BindRewritesTheTable) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  staged p(s, files[0]);
  ASSERT_EQ(p.status, NRT_SUCCESS);
  const vtpb_info_shared_t *info = p.model->placement;
  isa_tensor_move load = p.image<isa_tensor_move>(0, ISA_ENGINE_PE)[0];
  uint64_t table = 0;
  memcpy(&table, s.dram(isa_addr8_device(load.address), 8), 8);
  const char *const names[] = {"x", "y", "output0"};
  uint64_t before[3], after[3];
  memcpy(before, s.dram(table, 24), 24);
  for (uint32_t i = 0; i < 3; ++i) {
    const io_slot_t *slot = vtpb_info_shared_find_io(info, names[i], i == 2);
    ASSERT_NE(slot, nullptr);
    auto index = static_cast<uint32_t>(slot - info->io_slots);
    uint64_t requests = s.ioctls();
    ASSERT_EQ(program_bind(p.programs[0], index, before[i]), NRT_SUCCESS);
    EXPECT_EQ(s.ioctls(), requests) << "the address staging wrote";
    ASSERT_EQ(program_bind(p.programs[0], index, 0x123456000 + i), NRT_SUCCESS);
    memcpy(after, s.dram(table, 24), 24);
    EXPECT_EQ(after[i], 0x123456000u + i);
    requests = s.ioctls();
    ASSERT_EQ(program_bind(p.programs[0], index, 0x123456000 + i), NRT_SUCCESS);
    EXPECT_EQ(s.ioctls(), requests);
  }
  EXPECT_EQ(program_bind(p.programs[0], info->num_io_slots, 0), NRT_SUCCESS);
}

// attn_v6 loads its two function sets in turn: 29 (rsqrt) is of the first, 7 (exp) of the second
// (verified-attention.md 6).
TEST(Program, ActivationTables) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  staged p(s, files[2], 1);
  ASSERT_EQ(p.status, NRT_SUCCESS);
  for (uint32_t sg = 0; sg < 2; ++sg) {
    uint64_t directory = 0;
    const program_image_t *info = program_image(p.programs[sg], ISA_ENGINE_ACT);
    std::vector<isa_write> records = p.image<isa_write>(sg, ISA_ENGINE_ACT);
    // Core 2 or 3: window, events, register block of engine 1, TABLES.
    uint64_t reg = 0x6000000000 + sg * 0x1000000000 + 0x802700000 + 0x8000 + 0x40 + 0x10;
    for (uint32_t i = 0; i < info->main_first; ++i)
      if (records[i].h.opcode == ISA_WRITE && isa_addr8_device(records[i].address[0]) == reg) {
        EXPECT_EQ(isa_addr8_device(records[i].address[1]), reg + 4);
        directory = records[i].value[0] | records[i].value[1] << 32;
      }
    if (sg == 1) {  // idle: loads nothing
      EXPECT_EQ(directory, 0u);
      continue;
    }
    ASSERT_NE(directory, 0u);
    project_table_directory_t head;
    memcpy(&head, s.dram(directory, sizeof(head)), sizeof(head));
    ASSERT_EQ(head.set_count, 2u);
    for (uint32_t set = 0; set < 2; ++set) {
      project_table_set_t entry;
      memcpy(&entry, s.dram(directory + sizeof(head) + set * sizeof(entry), sizeof(entry)),
             sizeof(entry));
      bool found = false;
      for (uint32_t f = 0; f < entry.profile_count; ++f) {
        project_profile_t profile;
        memcpy(&profile, s.dram(entry.profiles + f * sizeof(profile), sizeof(profile)),
               sizeof(profile));
        found = found || profile.func_id == (set == 0 ? 29u : 7u);
      }
      EXPECT_TRUE(found) << set;
    }
  }
}

TEST(Program, NothingIsLeft) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  stack s;
  H_NN h = 0;
  ASSERT_EQ(s.load(files[0], 0, &h), NRT_SUCCESS);
  kmgr_model_t *model = kmgr_model_get(s.kmgr, h);
  std::vector<chunk_t> before = s.chunks();
  std::vector<dmem_usage_table_t> counters = s.counters();
  program_core_t core = {};
  program_t *program = nullptr;
  ASSERT_EQ(program_stage(model->placement, 0, &core, &program), NRT_SUCCESS);
  EXPECT_NE(s.chunks(), before);
  // Everything it allocated has a name.
  struct named_t {
    std::map<uint64_t, uint64_t> ranges;
  } named;
  program_for_each_range(
      program,
      [](void *user, const program_range_t *range) {
        EXPECT_STRNE(range->name, "");
        static_cast<named_t *>(user)->ranges[range->address] = range->size;
      },
      &named);
  for (const chunk_t &chunk : s.chunks()) {
    if (std::find(before.begin(), before.end(), chunk) == before.end()) {
      EXPECT_GE(named.ranges[chunk.pa], 1u) << chunk.pa << " " << chunk.size;
    }
  }
  program_free(program);
  EXPECT_EQ(s.chunks(), before);
  EXPECT_EQ(s.counters(), counters);
  kmgr_model_put(s.kmgr, model);
  EXPECT_EQ(s.unload(h), NRT_SUCCESS);
}

}  // namespace
