// SPDX-License-Identifier: Apache-2.0
// Every record of the real files is known byte by byte.
#include <map>
#include <set>

#include "isa/isa_modes.h"
#include "tests/isa/assemble.h"
#include "tests/isa/corpus.h"

namespace {

// Bytes that a record of an opcode may use: 0 to 11 and those of the tables in neuroncore-isa.md 4,
// verified-attention.md 6 and verified-facts.md G3, written down again.
const std::map<uint8_t, std::set<std::pair<int, int>>> used = {
    {0x01, {{16, 39}, {44, 46}}},
    {0x02, {{16, 40}, {43, 63}}},
    {0x21, {{12, 63}}},
    {0x23, {{35, 35}}},
    {0x41, {{12, 63}}},
    {0x42, {{12, 37}, {44, 63}}},
    {0x46, {{12, 34}, {44, 63}}},
    {0x47, {{12, 34}, {44, 63}}},
    {0x49, {{28, 32}, {34, 34}, {40, 63}}},
    {0x92, {{12, 63}}},
    {0xA0, {{32, 43}}},
    {0xA4, {}},
    {0xA7, {{12, 14}, {16, 63}}},
    {0xB1, {}},
    {0xC1, {{12, 43}, {48, 51}}},
    {0xCC, {}},
    {0xD4, {{12, 14}, {16, 63}}},
};

bool is_used(uint8_t opcode, int at) {
  if (at < 12)
    return true;
  for (auto [first, last] : used.at(opcode)) {
    if (at >= first && at <= last)
      return true;
  }
  return false;
}

TEST_F(IsaCorpus, EveryRecordPassesAndEveryOtherByteIsRefused) {
  std::map<uint8_t, uint64_t> seen;
  for (const char *name : corpus_files) {
    if (!load(name))
      GTEST_SKIP() << "skipped: no corpus";
    for (const auto &kbin : nn->kbins) {
      for (const kbin_engine_t &engine : kbin->engines) {
        const auto type = static_cast<isa_engine_t>(engine.eng_type);
        uint64_t slot = 0;
        for (isa_record record : records(engine)) {
          uint32_t offset = 0;
          const char *text = isa_check(&record, type, ISA_FORM_NEFF, &offset);
          ASSERT_EQ(text, nullptr) << name << " " << engine.instr_member << " slot " << slot
                                   << " byte " << offset << ": " << text;
          text = isa_modes_check(&record, &offset);
          ASSERT_EQ(text, nullptr) << name << " " << engine.instr_member << " slot " << slot
                                   << " byte " << offset << ": " << text;
          // The many records of an opcode are alike: all bytes of some, one byte of the rest.
          const uint64_t nth = seen[record.h.opcode]++;
          for (int at = 12; at < 64; at++) {
            if (is_used(record.h.opcode, at) || (nth > 50 && at != static_cast<int>(nth % 64)))
              continue;
            reinterpret_cast<uint8_t *>(&record)[at] ^= 0x40;
            EXPECT_NE(isa_check(&record, type, ISA_FORM_NEFF, &offset), nullptr) << at;
            EXPECT_EQ(offset, static_cast<uint32_t>(at));
            reinterpret_cast<uint8_t *>(&record)[at] ^= 0x40;
          }
          slot++;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), used.size());
  EXPECT_EQ(seen[0x02], 2 * 16640u + 372 + 8);  // verified-matmul.md 3, verified-attention.md 2
  EXPECT_EQ(seen[0x41], 2 * 512u + 256);
  EXPECT_EQ(seen[0xD4], 2 * 4384u + 344 + 10);
}

// Every operand of the real programs lies inside the memory of its chip.
TEST_F(IsaCorpus, OperandsAreInside) {
  for (const char *name : corpus_files) {
    if (!load(name))
      GTEST_SKIP() << "skipped: no corpus";
    uint32_t lowest = UINT32_MAX, highest = 0;
    for (const auto &kbin : nn->kbins) {
      for (const kbin_engine_t &engine : kbin->engines) {
        for (const isa_record &record : records(engine)) {
          isa_operand_t operands[ISA_MAX_OPERANDS];
          const uint32_t n = isa_operands(&record, operands);
          for (uint32_t i = 0; i < n; i++) {
            bool psum;
            uint32_t partition, begin, end;
            ASSERT_TRUE(isa_operand_range(&operands[i], 0x37FF8, &psum, &partition, &begin, &end));
            if (!psum) {
              lowest = std::min(lowest, begin);
              highest = std::max(highest, end);
            }
          }
        }
      }
    }
    EXPECT_GE(lowest, 0x4000u) << name;  // verified-facts.md G5
    EXPECT_LE(highest, 0x37FF8u) << name;
  }
}

// Every stream as text, with its names and labels, gives the same bytes again.
TEST_F(IsaCorpus, TextGivesTheStreamsBack) {
  uint64_t all = 0;
  for (const char *name : corpus_files) {
    if (!load(name))
      GTEST_SKIP() << "skipped: no corpus";
    for (const auto &kbin : nn->kbins) {
      isa_names_t names;
      for (uint32_t i = 0; i < kbin->mem_ref_set->nmem; i++) {
        const kbin_mem_ref &var = kbin->mem_ref_set->mem[i];
        isa_names_add(&names, var.var_id, var.name);
        if (var.mr_type == MR_PTR_TABLE)
          names.table.assign(var.list.list, var.list.list + var.list.length);
      }
      for (const kbin_engine_t &engine : kbin->engines) {
        const auto type = static_cast<isa_engine_t>(engine.eng_type);
        isa_text_context_t context{type, ISA_FORM_NEFF, &names, nullptr, 0};
        std::string text =
            isa_text_names(names, nullptr) + ".engine " + isa_engine_name(type) + "\n";
        for (const isa_record &record : records(engine)) {
          text += isa_text_record(record, context) + "\n";
          context.slot++;
        }
        EXPECT_EQ(text.find(".record"), std::string::npos);
        const std::vector<uint8_t> back = bytes_of_stream(assemble(text).stream[type]);
        ASSERT_EQ(back.size(), engine.instr.size());
        EXPECT_EQ(memcmp(back.data(), engine.instr.data(), back.size()), 0)
            << name << " " << engine.instr_member;
        all += context.slot;
      }
    }
  }
  // verified-matmul.md 3, verified-attention.md 2, worked-program.md.
  EXPECT_EQ(all, 2 * 29795u + 1961 + 10 + 2 * 29);
}

}  // namespace
