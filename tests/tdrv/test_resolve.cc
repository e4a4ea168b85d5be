// SPDX-License-Identifier: Apache-2.0
// Resolving (variable, offset): order of the checks, sentinel, bounds, and that it never allocates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "base/nlog.h"
#include "tdrv/dma_ring.h"

static std::atomic<unsigned long> g_allocations{0};

// Every C++ allocation of this program is counted. The table itself uses malloc only in insert and
// init, neither of which the measured loop calls.
[[gnu::noinline]] void *operator new(size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  void *p = malloc(size == 0 ? 1 : size);
  if (p == nullptr)
    throw std::bad_alloc();
  return p;
}
[[gnu::noinline]] void operator delete(void *p) noexcept {
  free(p);
}
[[gnu::noinline]] void operator delete(void *p, size_t) noexcept {
  free(p);
}

namespace {

struct captured_t {
  std::vector<std::string> errors;
};

class Resolve : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
    nlog_configure_from_env();
    nlog_set_hook(
        [](void *user, nlog_component, nlog_level level, const char *, std::string_view text) {
          if (level == NLOG_LEVEL_ERROR)
            static_cast<captured_t *>(user)->errors.emplace_back(text);
        },
        &captured_);
  }
  void TearDown() override { nlog_set_hook(nullptr, nullptr); }

  mem_ref_t make(kbin_mr_type_t type, size_t size, uint64_t address) {
    mem_ref_t mr{};
    mr.name = "weights";
    mr.type = type;
    mr.size = size;
    mr.var_id = 17;
    mr.physical_address = address;
    return mr;
  }

  void expect_refused(const mem_ref_t &mr, uint64_t offset, uint64_t size,
                      const std::string &part) {
    captured_.errors.clear();
    uint64_t address = 0x5555;
    EXPECT_EQ(mem_ref_to_addr(&mr, offset, size, &address), NRT_INVALID);
    EXPECT_EQ(address, 0x5555u);
    ASSERT_EQ(captured_.errors.size(), 1u);
    EXPECT_THAT(captured_.errors[0], ::testing::HasSubstr(part));
    EXPECT_THAT(captured_.errors[0], ::testing::HasSubstr("weights"));
  }

  captured_t captured_;
};

}  // namespace

TEST_F(Resolve, AddsTheOffset) {
  mem_ref_t mr = make(MR_BUFFER, 0x1000, 0x4001000000);
  uint64_t address = 0;
  ASSERT_EQ(mem_ref_to_addr(&mr, 0x10, 0x20, &address), NRT_SUCCESS);
  EXPECT_EQ(address, 0x4001000010u);
  EXPECT_TRUE(captured_.errors.empty());
}

TEST_F(Resolve, AddressZeroIsALegalAddress) {
  mem_ref_t mr = make(MR_BUFFER, 64, 0);
  uint64_t address = 1;
  ASSERT_EQ(mem_ref_to_addr(&mr, 0, 64, &address), NRT_SUCCESS);
  EXPECT_EQ(address, 0u);
  ASSERT_EQ(mem_ref_to_addr(&mr, 8, 8, &address), NRT_SUCCESS);
  EXPECT_EQ(address, 8u);
}

TEST_F(Resolve, BoundsAreExactAndDoNotWrap) {
  mem_ref_t mr = make(MR_TMP_BUF, 100, 0x1000000);
  uint64_t address = 0;
  EXPECT_EQ(mem_ref_to_addr(&mr, 0, 100, &address), NRT_SUCCESS);
  EXPECT_EQ(mem_ref_to_addr(&mr, 100, 0, &address), NRT_SUCCESS);
  EXPECT_EQ(address, 0x1000064u);
  expect_refused(mr, 0, 101, "outside its 100 bytes");
  expect_refused(mr, 1, 100, "100 bytes at offset 1");
  expect_refused(mr, 101, 0, "outside");
  expect_refused(mr, ~0ull, 2, "outside");
  expect_refused(mr, 8, ~0ull, "outside");
  expect_refused(mr, ~0ull - 49, 100, "outside");
}

TEST_F(Resolve, UnplacedIsRefusedForEveryKindThatCanBePlaced) {
  for (kbin_mr_type_t kind : {MR_SB, MR_BUFFER_STAGED, MR_BUFFER, MR_TMP_BUF, MR_INPUT, MR_OUTPUT,
                              MR_PTR, MR_VIRTUAL_TMP_BUF, MR_REMOTE}) {
    mem_ref_t mr = make(kind, 64, MEM_REF_NOT_STAGED);
    expect_refused(mr, 0, 8, "not been staged");
  }
}

TEST_F(Resolve, PointerResolvesAtOffsetZeroOnly) {
  mem_ref_t mr = make(MR_PTR, 8, 0);
  mr.ptr_mem_addr = 0x8040001000;
  mr.mr_ptr_id = 3;
  uint64_t address = 0;
  ASSERT_EQ(mem_ref_to_addr(&mr, 0, 8, &address), NRT_SUCCESS);
  EXPECT_EQ(address, 0x8040001000u);
  expect_refused(mr, 4, 4, "offset 0 only");
  expect_refused(mr, 8, 0, "offset 0 only");
  expect_refused(mr, 4, 5, "outside its 8 bytes");  // the range comes first
  mr.ptr_mem_addr = MEM_REF_NOT_STAGED;
  expect_refused(mr, 4, 4, "offset 0 only");  // the offset comes before the sentinel
  expect_refused(mr, 0, 8, "not been staged");
}

TEST_F(Resolve, ListsAndTablesAreRefusedByKind) {
  mem_ref_t list = make(MR_LIST, 32, MEM_REF_NOT_STAGED);
  list.length = 4;  // overlays the sentinel: a resolver that trusted it would hand out garbage
  expect_refused(list, 0, 8, "list has no device address");
  mem_ref_t table = make(MR_PTR_TABLE, 32, 0);
  table.table_length = 4;
  expect_refused(table, 0, 8, "pointer table has no device address");
  // The kind is the reason whatever the range: such records have no bytes of their own.
  expect_refused(table, 30, 8, "pointer table has no device address");
}

TEST_F(Resolve, AddressThatWouldWrapIsRefused) {
  mem_ref_t mr = make(MR_BUFFER, 0x100, 0xFFFFFFFFFFFFFFF0ull);
  expect_refused(mr, 0x20, 8, "outside");
}

TEST_F(Resolve, LookupReturnsTheRecordOrNull) {
  ht_t *set = nullptr;
  ASSERT_EQ(ht_init(&set, 0, nullptr), NRT_SUCCESS);
  mem_ref_t a = make(MR_BUFFER, 8, 0x1000), b = make(MR_BUFFER, 8, 0x2000);
  ASSERT_EQ(ht_insert(set, 0, &a.ht_node), NRT_SUCCESS);
  ASSERT_EQ(ht_insert(set, 0xFFFFFFFF, &b.ht_node), NRT_SUCCESS);
  EXPECT_EQ(lookup_memref_by_idx(set, 0), &a);
  EXPECT_EQ(lookup_memref_by_idx(set, 0xFFFFFFFF), &b);
  EXPECT_EQ(lookup_memref_by_idx(set, 5), nullptr);
  EXPECT_EQ(reinterpret_cast<char *>(&a.ht_node) - reinterpret_cast<char *>(&a), 160);
  ht_destroy(set);
}

TEST_F(Resolve, LookupAndResolveNeverAllocate) {
  constexpr uint32_t kCount = 100000;
  ht_t *set = nullptr;
  ASSERT_EQ(ht_init(&set, 0, nullptr), NRT_SUCCESS);
  std::vector<mem_ref_t> records(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    records[i] = make(MR_BUFFER, 64, 0x1000000 + i * 64ull);
    ASSERT_EQ(ht_insert(set, i, &records[i].ht_node), NRT_SUCCESS);
  }
  unsigned long before = g_allocations.load();
  uint64_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    uint64_t address = 0;
    mem_ref_t *mr = lookup_memref_by_idx(set, i);
    if (mr == nullptr || mem_ref_to_addr(mr, 8, 8, &address) != NRT_SUCCESS ||
        address != 0x1000000 + i * 64ull + 8)
      ++wrong;
  }
  EXPECT_EQ(g_allocations.load(), before);
  EXPECT_EQ(wrong, 0u);
  // The counter itself works: formatting a refusal does allocate.
  mem_ref_t unplaced = make(MR_BUFFER, 64, MEM_REF_NOT_STAGED);
  uint64_t address = 0;
  EXPECT_EQ(mem_ref_to_addr(&unplaced, 0, 8, &address), NRT_INVALID);
  EXPECT_GT(g_allocations.load(), before);
  ht_destroy(set);
}
