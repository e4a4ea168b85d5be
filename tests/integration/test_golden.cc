// SPDX-License-Identifier: Apache-2.0
// What the closed runtime loaded for attn_v6, read from its trace, against what we stage on the
// same core (rulings.md 24): every record of the program, byte by byte. Only device addresses that
// follow from placement may differ, each by variable and offset.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/integration/staged.h"
#include "tests/tools/trace.h"

namespace {

constexpr int32_t kVnc = 2;  // physical cores 4 and 5
constexpr uint64_t kSbuf4 = 0x802000000000;
constexpr uint64_t kDma4 = 0x801002000000;  // engine 0 of core 4 (verified-facts.md G7)

class Golden : public ::testing::Test {
 protected:
  void SetUp() override {
    files = corpus_files();
    SKIP_WITHOUT_CORPUS(files);
    trace = std::make_unique<trace_t>(std::string(getenv("OPENNRT_CORPUS")) + "/attn_v6.ntff");
    ASSERT_EQ(trace->subgraphs.size(), 2u);
    s = std::make_unique<stack>();
    p = std::make_unique<staged>(*s, files[2], kVnc);
    ASSERT_EQ(p->status, NRT_SUCCESS);
  }
  void TearDown() override {
    p.reset();
    s.reset();
  }

  // Records of the program in a recorded image.
  std::vector<isa_record> recorded(uint32_t sg, isa_engine_t engine) {
    std::span<const uint8_t> image = trace->image(sg, engine);
    std::vector<trace_t::patch_t> patches = trace->patches(sg, engine);
    EXPECT_GE(patches.size(), 2u);
    uint64_t begin = patches.front().count * 64, end = patches.back().offset;
    EXPECT_LE(end, image.size());
    std::vector<isa_record> records((end - begin) / 64);
    memcpy(records.data(), image.data() + begin, records.size() * 64);
    return records;
  }

  std::vector<std::vector<uint8_t>> files;
  std::unique_ptr<trace_t> trace;
  std::unique_ptr<stack> s;
  std::unique_ptr<staged> p;
};

// The slot of the stream behind a record of the program.
uint32_t slot_of(const program_t *program, const program_image_t *image, uint32_t n) {
  isa_engine_t engine;
  program_section_t section = PROGRAM_PREAMBLE;
  uint32_t slot = ~0u;
  EXPECT_TRUE(
      program_find(program, image->pa + 64ull * (image->main_first + n), &engine, &section, &slot));
  EXPECT_EQ(section, PROGRAM_MAIN);
  return slot;
}

struct address_t {
  uint32_t var_id;
  uint64_t offset;
  uint64_t ours, theirs;
};

// Takes the addresses out of a pair of records that the stream's record says depend on placement.
std::vector<address_t> take_addresses(const isa_record &source, isa_record *ours,
                                      isa_record *theirs) {
  std::vector<address_t> out;
  if (source.h.opcode != ISA_PSEUDO_DMA_DIRECT2D)
    return out;
  isa_dma from, a, b;
  memcpy(&from, &source, 64);
  memcpy(&a, ours, 64);
  memcpy(&b, theirs, 64);
  for (isa_addr8 isa_dma::*field : {&isa_dma::src, &isa_dma::dst}) {
    if ((from.*field).mode != ISA_ADDR8_VARIABLE)
      continue;
    out.push_back({isa_addr8_id(from.*field), (from.*field).offset, isa_addr8_device(a.*field),
                   isa_addr8_device(b.*field)});
    a.*field = b.*field = {};
  }
  memcpy(ours, &a, 64);
  memcpy(theirs, &b, 64);
  return out;
}

TEST_F(Golden, EveryRecordOfTheProgram) {
  uint32_t records = 0, placed = 0;
  for (uint32_t sg = 0; sg < 2; ++sg) {
    std::map<uint32_t, uint64_t> bases;  // of the recorded run, by variable
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e) {
      auto engine = static_cast<isa_engine_t>(e);
      std::vector<isa_record> ours = p->main(sg, engine), theirs = recorded(sg, engine);
      ASSERT_EQ(ours.size(), theirs.size()) << "sg " << sg << " engine " << e;
      for (uint32_t i = 0; i < ours.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "sg " << sg << " engine " << e << " record " << i);
        isa_record source;
        uint32_t slot = slot_of(p->programs[sg], program_image(p->programs[sg], engine), i);
        ASSERT_LT(slot, p->stream(sg, engine).ninstr);
        memcpy(&source, p->stream(sg, engine).instr.data() + 64ull * slot, 64);
        for (const address_t &at : take_addresses(source, &ours[i], &theirs[i])) {
          ++placed;
          // Theirs: one base per variable. Ours: the base the plan gave it.
          uint64_t base = at.theirs - at.offset;
          EXPECT_EQ(bases.try_emplace(at.var_id, base).first->second, base) << at.var_id;
          EXPECT_EQ(at.ours, p->address(sg, at.var_id) + at.offset) << at.var_id;
          if (at.var_id == 0) {  // the state buffer does not depend on placement
            EXPECT_EQ(at.ours, at.theirs);
            EXPECT_EQ(base, kSbuf4 + sg * 0x1000000000);
          }
        }
        ASSERT_EQ(memcmp(&ours[i], &theirs[i], 64), 0);
        ++records;
      }
    }
    // The 20 cells of scratch share one place, in their run as in ours.
    for (uint32_t id = 14; sg == 0 && id < 34; ++id) {
      EXPECT_EQ(bases.at(id), bases.at(14));
      EXPECT_EQ(p->address(0, id), p->address(0, 14));
    }
  }
  // verified-attention.md 2: 1,961 records, 5 of them labels; one more per trigger; sg01 has one
  // record per stream beside the label.
  EXPECT_EQ(records, 1961u - 5 + 20 + 5);
  // 324 D4 of Pool with the state buffer on one side, 20 of SP with the scratch on the other.
  EXPECT_EQ(placed, 324u + 20 * 2);
}

TEST_F(Golden, Patches) {
  for (uint32_t sg = 0; sg < 2; ++sg) {
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e) {
      const program_image_t *image = program_image(p->programs[sg], static_cast<isa_engine_t>(e));
      std::vector<trace_t::patch_t> theirs = trace->patches(sg, e), ours;
      for (uint32_t i = 0; i < image->num_patches; ++i)
        ours.push_back({image->patches[i].offset, image->patches[i].count, image->patches[i].type});
      ASSERT_EQ(ours.size(), theirs.size());
      // The runtime's own parts differ; those of the program are the same from its start.
      for (size_t i = 1; i + 1 < ours.size(); ++i) {
        ours[i].offset -= ours[0].count * 64;
        theirs[i].offset -= theirs[0].count * 64;
        EXPECT_EQ(ours[i], theirs[i]) << sg << " " << e << " " << i;
      }
      EXPECT_EQ(image->patches[0].section, PROGRAM_PREAMBLE);
      EXPECT_EQ(image->patches[image->num_patches - 1].section, PROGRAM_POSTAMBLE);
    }
  }
}

// The rings, found as the engines find them: through the registers the preamble writes.
struct ring_t {
  uint64_t tx = 0, rx = 0;
};
std::vector<ring_t> find_rings(staged &p) {
  std::vector<ring_t> rings(16);
  const program_image_t *image = program_image(p.programs[0], ISA_ENGINE_DVE);
  std::vector<isa_tensor_move> records = p.image<isa_tensor_move>(0, ISA_ENGINE_DVE);
  for (uint32_t i = 0; i < image->main_first; ++i) {
    const isa_tensor_move &r = records[i];
    uint64_t at = isa_addr8_device(r.address) - kDma4;
    if (r.h.opcode != ISA_TENSOR_STORE || at % 0x20000 != 0x1028)
      continue;
    for (uint32_t k = 0; k < r.count[1]; ++k) {
      ring_t &ring = rings.at(at / 0x100000 + k);
      (at % 0x100000 < 0x20000 ? ring.tx : ring.rx) =
          r.immediate[2 * k] | static_cast<uint64_t>(r.immediate[2 * k + 1]) << 32;
    }
  }
  return rings;
}

struct desc_t {
  uint32_t len_ctrl, meta_ctrl;
  uint64_t address;
};

// Valid descriptors of a ring, block by block: a completion ends one.
std::vector<uint32_t> block_counts(stack &s, uint64_t pa, bool rx) {
  std::vector<uint32_t> counts(1);
  for (uint64_t at = pa;; at += 16) {
    desc_t d;
    const uint8_t *bytes = s.dram(at, 16);
    if (bytes == nullptr)
      return {};
    memcpy(&d, bytes, 16);
    if ((d.len_ctrl >> 24 & 3) != 1)
      break;
    ++counts.back();
    uint64_t semaphore = d.address - (kSbuf4 + 0x802700000 + 0x1800);
    if (rx ? semaphore < 0x400 : d.address == 0x9000000004)
      counts.push_back(0);
  }
  EXPECT_EQ(counts.back(), 0u) << "behind the last completion";
  counts.pop_back();
  return counts;
}

TEST_F(Golden, EveryBlockOnEveryRing) {
  std::vector<ring_t> rings = find_rings(*p);
  std::vector<isa_dma_trigger> triggers;
  const kbin_engine_t &dve = p->stream(0, ISA_ENGINE_DVE);
  for (uint32_t i = 0; i < dve.ninstr; ++i) {
    isa_dma_trigger r;
    memcpy(&r, dve.instr.data() + 64ull * i, 64);
    if (r.h.opcode == ISA_PSEUDO_DMATRIGGER)
      triggers.push_back(r);
  }
  ASSERT_EQ(triggers.size(), 20u);
  int rings_seen = 0;
  for (const field_t &field : fields(trace->subgraphs[0])) {
    if (field.number != 7 || text(only(field.bytes, 4)) != "qDVESpillReload0")
      continue;
    ++rings_seen;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> recorded;
    for (const field_t &entry : fields(field.bytes))
      if (entry.number == 8)
        recorded[only(entry.bytes, 1).value] = {only(entry.bytes, 3).value,
                                                only(entry.bytes, 4).value};
    const ring_t &ring = rings[only(field.bytes, 1).value % 16];
    EXPECT_EQ(ring.tx % 256, 0u);
    EXPECT_EQ(ring.rx % 256, 0u);
    std::vector<uint32_t> tx = block_counts(*s, ring.tx, false);
    std::vector<uint32_t> rx = block_counts(*s, ring.rx, true);
    ASSERT_EQ(tx.size(), triggers.size());
    ASSERT_EQ(rx.size(), triggers.size());
    for (size_t i = 0; i < triggers.size(); ++i) {
      EXPECT_EQ(tx[i], recorded.at(triggers[i].block).first);
      EXPECT_EQ(rx[i], recorded.at(triggers[i].block).second);
    }
  }
  EXPECT_EQ(rings_seen, 16);
}

// Set-up and credits are those of the recorded preamble, addresses of rings aside.
TEST_F(Golden, SetUpOfTheSpillRings) {
  auto pick = [](const std::vector<isa_record> &records, uint32_t count) {
    std::vector<isa_record> out;
    for (uint32_t i = 0; i < count; ++i) {
      isa_write w;
      memcpy(&w, &records[i], 64);
      if (w.h.opcode != ISA_WRITE && w.h.opcode != ISA_TENSOR_STORE)
        continue;
      uint64_t at = isa_addr8_device(w.address[0]) - kDma4;
      uint64_t reg = at & 0xfff;
      if (at >= 0x1000000 || (at & 0xf000) != 0x1000 || reg == 0x20)
        continue;  // ring 0 of the 16 engines; switching it on is ours
      if (reg == 0x28)
        memset(reinterpret_cast<uint8_t *>(&w) + 32, 0, 32);
      isa_record r;
      memcpy(&r, &w, 64);
      out.push_back(r);
    }
    return out;
  };
  std::span<const uint8_t> image = trace->image(0, ISA_ENGINE_DVE);
  std::vector<isa_record> theirs(image.size() / 64);
  memcpy(theirs.data(), image.data(), image.size());
  auto want = pick(theirs, static_cast<uint32_t>(trace->patches(0, ISA_ENGINE_DVE)[0].count));
  auto got =
      pick(p->image(0, ISA_ENGINE_DVE), program_image(p->programs[0], ISA_ENGINE_DVE)->main_first);
  ASSERT_EQ(got.size(), want.size());
  ASSERT_EQ(got.size(), 15u);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(memcmp(&got[i], &want[i], 64), 0) << i;
}

}  // namespace
