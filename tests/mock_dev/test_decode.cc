// SPDX-License-Identifier: Apache-2.0
// Device addresses against the address maps (mock-device-semantics.md 2.3, device-memory.md 1.3 to
// 1.5), written out as numbers.
#include "mock_dev/decode.h"

#include "mock_dev/bar0.h"
#include "tests/mock_dev/mock_fixture.h"

namespace {

struct row_t {
  uint64_t address, length;
  mock_target_kind_t kind;
  uint32_t index;
  uint64_t offset;
};

void check(machine_t &m, const row_t &row, bool bar0 = false) {
  mock_target_t t;
  bool found = bar0 ? mock_bar0_decode(m.host, 0, row.address, row.length, &t)
                    : mock_decode(m.host, 0, row.address, row.length, &t);
  EXPECT_EQ(found, row.kind != MOCK_TARGET_NONE) << std::hex << row.address;
  ASSERT_EQ(t.kind, row.kind) << std::hex << row.address;
  if (!found)
    return;
  EXPECT_EQ(t.index, row.index) << std::hex << row.address;
  EXPECT_EQ(t.offset, row.offset) << std::hex << row.address;
  EXPECT_EQ(t.device, 0u);
}

}  // namespace

TEST(Decode, V3) {
  machine_t m("trn2.3xlarge");
  const row_t rows[] = {
      // HBM: 24 GiB each.
      {0, 1, MOCK_TARGET_HBM, 0, 0},
      {0x5ffffffff, 1, MOCK_TARGET_HBM, 0, 0x5ffffffff},
      {0x5ffffffff, 2, MOCK_TARGET_NONE, 0, 0},
      {0x600000000, 1, MOCK_TARGET_NONE, 0, 0},
      {0x4000001000, 65536, MOCK_TARGET_HBM, 1, 0x1000},
      {0x800000000000, 8, MOCK_TARGET_HBM, 2, 0},
      {0x8045ffffff00, 256, MOCK_TARGET_HBM, 3, 0x5ffffff00},
      // Host window, below 4 GiB of bus addresses.
      {0x400000100000, 4096, MOCK_TARGET_HOST, 0, 0x100000},
      {0x4000ffffffff, 1, MOCK_TARGET_HOST, 0, 0xffffffff},
      {0x4000ffffffff, 2, MOCK_TARGET_NONE, 0, 0},
      {0x400100000000, 1, MOCK_TARGET_NONE, 0, 0},
      // Cores: SBUF with gaps from 224 to 256 KiB of each partition.
      {0x2000000000, 0x38000, MOCK_TARGET_CORE, 0, 0},
      {0x2000000000, 0x38001, MOCK_TARGET_NONE, 0, 0},
      {0x2000038000, 1, MOCK_TARGET_NONE, 0, 0},
      {0x2000040000, 4, MOCK_TARGET_CORE, 0, 0x40000},
      {0x3000000000 + 127 * 0x40000 + 0x37ffc, 4, MOCK_TARGET_CORE, 1, 127 * 0x40000 + 0x37ffc},
      {0x6000000000, 4, MOCK_TARGET_CORE, 2, 0},
      {0x7000000000, 4, MOCK_TARGET_CORE, 3, 0},
      {0x802000000000, 4, MOCK_TARGET_CORE, 4, 0},
      {0x803000000000, 4, MOCK_TARGET_CORE, 5, 0},
      {0x806000000000, 4, MOCK_TARGET_CORE, 6, 0},
      {0x807000000000, 4, MOCK_TARGET_CORE, 7, 0},
      {0x2002000000, 4, MOCK_TARGET_NONE, 0, 0},  // decode pad
      {0x2040000000, 4, MOCK_TARGET_NONE, 0, 0},  // descriptor memory
      // PSUM: 16 of each 32 KiB, at 32 MiB of the window as BAR0 shows it.
      {0x2802000000, 0x4000, MOCK_TARGET_CORE, 0, 0x2000000},
      {0x2802000000, 0x4001, MOCK_TARGET_NONE, 0, 0},
      {0x2802004000, 1, MOCK_TARGET_NONE, 0, 0},
      {0x2802000000 + 127 * 0x8000 + 0x3ffc, 4, MOCK_TARGET_CORE, 0,
       0x2000000 + 127 * 0x8000 + 0x3ffc},
      {0x2802400000, 4, MOCK_TARGET_NONE, 0, 0},
      // Events and semaphores.
      {0x2802700000, 4, MOCK_TARGET_CORE_EVENTS, 0, 0},
      {0x807000000000 + 0x802701800, 4, MOCK_TARGET_CORE_EVENTS, 7, 0x1800},
      {0x2802701ffc, 4, MOCK_TARGET_CORE_EVENTS, 0, 0x1ffc},
      {0x2802701ffc, 8, MOCK_TARGET_NONE, 0, 0},
      {0x28026ffffc, 8, MOCK_TARGET_NONE, 0, 0},
      {0x2802702000, 4, MOCK_TARGET_NONE, 0, 0},
      // TOP_SPs: 8 of 10 windows per die in use.
      {0x8280000000 + 0x1400, 4, MOCK_TARGET_TOP_SP_EVENTS, 0, 0x1400},
      {0x8280000000 + 7 * 0x40000000ull, 4, MOCK_TARGET_TOP_SP_EVENTS, 7, 0},
      {0x8280000000 + 8 * 0x40000000ull, 4, MOCK_TARGET_NONE, 0, 0},
      {0x808280000000 + 0x2000, 4, MOCK_TARGET_TOP_SP, 8, 0x2000},
      {0x808280000000 + 0x1ffc, 8, MOCK_TARGET_NONE, 0, 0},
      {0x808280000000 + 7 * 0x40000000ull + 0x3ffffc, 4, MOCK_TARGET_TOP_SP, 15, 0x3ffffc},
      // Engines, through the APB space: first and last of each group of 32, and the copy engines.
      {0x1002000000, 4, MOCK_TARGET_UDMA, 0, 0},
      {0x1002000000 + 31 * 0x100000 + 0x3fffc, 4, MOCK_TARGET_UDMA, 31, 0x3fffc},
      {0x1002000000 + 0x40000, 4, MOCK_TARGET_NONE, 0, 0},
      {0x5004000000, 4, MOCK_TARGET_UDMA, 32, 0},
      {0x801002000000, 4, MOCK_TARGET_UDMA, 64, 0},
      {0x805004000000 + 31 * 0x100000, 4, MOCK_TARGET_UDMA, 127, 0},
      {0x8006800000 + 0x1038, 4, MOCK_TARGET_UDMA, 128, 0x1038},
      {0x8006900000, 4, MOCK_TARGET_UDMA, 129, 0},
      {0x808006800000, 4, MOCK_TARGET_UDMA, 130, 0},
      {0x808006900000, 4, MOCK_TARGET_UDMA, 131, 0},
      {0x1002080000 + 0x1038, 4, MOCK_TARGET_UDMA_BROADCAST, 0, 0x1038},
      {0x1003080000, 4, MOCK_TARGET_UDMA_BROADCAST, 1, 0},
      {0x8010020a1038, 4, MOCK_TARGET_UDMA_BROADCAST, 4, 0x21038},
      // Notification blocks: a core, a TOP_SP of die 1, the trace of engine 3 of core 1.
      {0x8006001100, 4, MOCK_TARGET_NOTIFICATION, 0, 0x6001100},
      {0x808006a00000 + 7 * 0x40000, 4, MOCK_TARGET_NOTIFICATION, 0, 0x46a00000 + 7 * 0x40000},
      {0x1003041000 + 3 * 0x100000, 4, MOCK_TARGET_NOTIFICATION, 0, 0x83041000 + 3 * 0x100000},
      {0x8006c84000 + 0x24, 4, MOCK_TARGET_MISC_RAM, 0, 0x24},
      // Words that read as 0 and 1.
      {0x9000000000, 4, MOCK_TARGET_CONSTANTS, 0, 0},
      {0x9000000004, 4, MOCK_TARGET_CONSTANTS, 0, 4},
      {0x9000000008, 4, MOCK_TARGET_NONE, 0, 0},
      // Nothing at all.
      {0x1200000000, 4, MOCK_TARGET_NONE, 0, 0},
      {0x10000000000000, 4, MOCK_TARGET_NONE, 0, 0},
      {UINT64_MAX, 1, MOCK_TARGET_NONE, 0, 0},
      {UINT64_MAX - 3, 65536, MOCK_TARGET_NONE, 0, 0},
      {0x1000, 0, MOCK_TARGET_NONE, 0, 0},
      {0, UINT64_MAX, MOCK_TARGET_NONE, 0, 0},
  };
  for (const row_t &row : rows)
    check(m, row);
}

TEST(Decode, V2) {
  machine_t m("trn1.2xlarge");
  const row_t rows[] = {
      {0x3ffffffff, 1, MOCK_TARGET_HBM, 0, 0x3ffffffff},
      {0x400000000, 1, MOCK_TARGET_NONE, 0, 0},
      {0x1000000000, 65536, MOCK_TARGET_HBM, 1, 0},
      {0x13ffffffff, 2, MOCK_TARGET_NONE, 0, 0},
      {0x100000100000, 16, MOCK_TARGET_HOST, 0, 0x100000},
      {0x100100000000, 1, MOCK_TARGET_NONE, 0, 0},
      // 192 KiB of each partition.
      {0xfffc0000000, 0x30000, MOCK_TARGET_CORE, 0, 0},
      {0xfffc0030000, 1, MOCK_TARGET_NONE, 0, 0},
      {0xfffc4000000 + 5 * 0x40000, 4, MOCK_TARGET_CORE, 1, 5 * 0x40000},
      {0xfffc4000000 + 0x2000000, 4, MOCK_TARGET_CORE, 1, 0x2000000},
      {0xfffc0000000 + 0x2701c00, 4, MOCK_TARGET_CORE_EVENTS, 0, 0x1c00},
      {0xfffc8000000, 4, MOCK_TARGET_NONE, 0, 0},
      {0xfffd0000000, 4, MOCK_TARGET_TOP_SP_EVENTS, 0, 0},
      {0xfffd0000000 + 5 * 0x400000 + 0x3ffffc, 4, MOCK_TARGET_TOP_SP, 5, 0x3ffffc},
      {0xfffd0000000 + 6 * 0x400000, 4, MOCK_TARGET_NONE, 0, 0},
      {0xffff0000000 + 15 * 0x40000 + 0x1038, 4, MOCK_TARGET_UDMA, 15, 0x1038},
      {0xffff0700000, 4, MOCK_TARGET_UDMA, 16, 0},
      {0xffff0700000 + 15 * 0x40000, 4, MOCK_TARGET_UDMA, 31, 0},
      {0xffff0600000, 4, MOCK_TARGET_UDMA, 32, 0},
      {0xffff0d00000, 4, MOCK_TARGET_UDMA, 33, 0},
      {0xffff1000000 + 0x21038, 4, MOCK_TARGET_UDMA_BROADCAST, 0, 0x21038},
      {0xffff0535100, 4, MOCK_TARGET_NOTIFICATION, 0, 0x30535100},
      {0xffff0e04000 + 5 * 0x40000, 4, MOCK_TARGET_NOTIFICATION, 0, 0x30e04000 + 5 * 0x40000},
      {0xffff0b01000 + 15 * 0x7000, 4, MOCK_TARGET_NOTIFICATION, 0, 0x30b01000 + 15 * 0x7000},
      {0xffff0fa0800, 4, MOCK_TARGET_MISC_RAM, 0, 0x800},
      {0x2000000004, 4, MOCK_TARGET_CONSTANTS, 0, 4},
      {0x10000000000000, 4, MOCK_TARGET_NONE, 0, 0},
      {0xfffffffffff, 4, MOCK_TARGET_NONE, 0, 0},
  };
  for (const row_t &row : rows)
    check(m, row);
}

TEST(Decode, Bar0) {
  machine_t v3("trn2.3xlarge"), v2("trn1.2xlarge");
  const row_t rows3[] = {
      {0xd0000000, 4, MOCK_TARGET_CORE, 0, 0},
      {0xd0000000 + 7 * 0x4000000 + 0x2701000, 4, MOCK_TARGET_CORE_EVENTS, 7, 0x1000},
      {0xd0000000 + 0x2000000, 4, MOCK_TARGET_CORE, 0, 0x2000000},
      {0xf0000000 + 7 * 0x400000, 4, MOCK_TARGET_TOP_SP_EVENTS, 7, 0},
      {0xf2800000 + 7 * 0x400000 + 0x2000, 4, MOCK_TARGET_TOP_SP, 15, 0x2000},
      {0xf0000000 + 8 * 0x400000, 4, MOCK_TARGET_NONE, 0, 0},
      {0xb4000000 + 31 * 0x100000 + 0x2f038, 4, MOCK_TARGET_UDMA, 127, 0x2f038},
      {0x46900200, 4, MOCK_TARGET_UDMA, 131, 0x200},
      {0x6c84808, 4, MOCK_TARGET_MISC_RAM, 0, 0x808},
      {0x46581000, 4, MOCK_TARGET_NOTIFICATION, 0, 0x46581000},
      {0x100, 4, MOCK_TARGET_NONE, 0, 0},
      {0x100000000, 4, MOCK_TARGET_NONE, 0, 0},
  };
  for (const row_t &row : rows3)
    check(v3, row, true);
  const row_t rows2[] = {
      {0, 4, MOCK_TARGET_CORE, 0, 0},
      {0x4000000 + 0x2700000, 4, MOCK_TARGET_CORE_EVENTS, 1, 0},
      {0x10000000 + 5 * 0x400000, 4, MOCK_TARGET_TOP_SP_EVENTS, 5, 0},
      {0x30d00000 + 0x34, 4, MOCK_TARGET_UDMA, 33, 0x34},
      {0x30fa0024, 4, MOCK_TARGET_MISC_RAM, 0, 0x24},
      {0x8000000, 4, MOCK_TARGET_NONE, 0, 0},
  };
  for (const row_t &row : rows2)
    check(v2, row, true);
}

// Links of Trn2 in the order of mock-device-semantics.md 2.4; nothing of the kind on v2.
TEST(Decode, Neighbours) {
  machine_t m("trn2.48xlarge");
  const struct {
    uint32_t device;
    uint32_t neighbours[4];
  } rows[] = {{0, {12, 1, 3, 4}}, {5, {4, 9, 1, 6}}, {15, {14, 3, 11, 12}}};
  for (const auto &row : rows) {
    for (uint64_t link = 0; link < 4; ++link) {
      uint64_t window = 0x10000000000000 + link * 0x4000000000000;
      mock_target_t t;
      ASSERT_TRUE(mock_decode(m.host, row.device, window + 0x804000000000 + 64, 64, &t));
      EXPECT_EQ(t.kind, MOCK_TARGET_HBM);
      EXPECT_EQ(t.device, row.neighbours[link]);
      EXPECT_EQ(t.index, 3u);
      EXPECT_EQ(t.offset, 64u);
      ASSERT_TRUE(mock_decode(m.host, row.device, window + 0x7000000000, 4, &t));
      EXPECT_EQ(t.kind, MOCK_TARGET_CORE);
      EXPECT_EQ(t.device, row.neighbours[link]);
      ASSERT_TRUE(mock_decode(m.host, row.device, window + 0x2802701800, 4, &t));
      EXPECT_EQ(t.kind, MOCK_TARGET_CORE_EVENTS);
      for (uint64_t out_of_reach : {0x400000100000ull, 0x1002000000ull, 0x9000000000ull}) {
        EXPECT_FALSE(mock_decode(m.host, row.device, window + out_of_reach, 4, &t));
        EXPECT_EQ(t.kind, MOCK_TARGET_NONE);
      }
    }
    mock_target_t t;
    EXPECT_FALSE(mock_decode(m.host, row.device, 0x20000000000000, 4, &t));
  }
  machine_t v2("trn1.32xlarge");
  mock_target_t t;
  EXPECT_FALSE(mock_decode(v2.host, 0, 0x10000000000000, 4, &t));
}

// A smaller HBM, as the tests of others use it: the end moves, the base does not.
TEST(Decode, SmallerHbm) {
  mock_dev_options_t o = {};
  o.instance = "trn2.3xlarge";
  o.hbm_size = 4ull << 30;
  machine_t m(o);
  check(m, {0xffffffff, 1, MOCK_TARGET_HBM, 0, 0xffffffff});
  check(m, {0x100000000, 1, MOCK_TARGET_NONE, 0, 0});
  check(m, {0x804000000000 + 0xffffffff, 1, MOCK_TARGET_HBM, 3, 0xffffffff});
  check(m, {0x2000000000, 4, MOCK_TARGET_CORE, 0, 0});
}
