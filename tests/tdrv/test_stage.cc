// SPDX-License-Identifier: Apache-2.0
// One subgraph's variables: records, bulk pass, remote pass, pointers and tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <regex>

#include "tests/tdrv/machine.h"

using ::testing::HasSubstr;

namespace {

std::vector<uint8_t> bytes(size_t size, uint8_t seed) {
  std::vector<uint8_t> data(size);
  for (size_t i = 0; i < size; ++i)
    data[i] = static_cast<uint8_t>(seed + i * 31 + (i >> 8));
  return data;
}

// The bulk pass alone, on the first core.
struct staged {
  explicit staged(machine &m, std::unique_ptr<kbin_t> k) : kbin(std::move(k)) {
    EXPECT_EQ(dmem_allocator_create(dmem_allocator_type_t::MODEL, &m.tpb()->pcore, &allocator),
              NRT_SUCCESS);
    EXPECT_EQ(ht_init(&set, 0, mem_ref_free_one), NRT_SUCCESS);
    tracker = dmem_list_create();
    uint64_t local = kbin->mem_ref_set->local_scratchpad_size;
    uint64_t shared = kbin->mem_ref_set->shared_scratchpad_size;
    EXPECT_EQ(tdrv_scratchpad_model_init(m.vcore()->tpbs, m.vcore()->num_tpbs, &local, &shared, 1,
                                         &arenas),
              NRT_SUCCESS);
    placement = {&arenas.shared, &arenas.local[0]};
    ctx = {&m.tpb()->pcore, set, allocator, tracker, &placement, &tables};
    status = mem_ref_copy_and_stage_mr(&ctx, kbin->mem_ref_set);
  }
  ~staged() {
    ht_destroy(set);
    mem_ref_tables_free(&tables);
    dmem_list_destroy(tracker);
    tdrv_scratchpad_cleanup(&arenas);
    dmem_allocator_destroy(allocator);
  }
  staged(const staged &) = delete;
  staged &operator=(const staged &) = delete;
  mem_ref_t *var(uint32_t id) { return lookup_memref_by_idx(set, id); }

  std::unique_ptr<kbin_t> kbin;
  dmem_allocator_t *allocator = nullptr;
  ht_t *set = nullptr;
  dmem_list_t *tracker = nullptr;
  tdrv_scratchpad_model_t arenas;
  tdrv_scratchpad_placement_t placement;
  mem_ref_tables_t tables = {};
  mem_ref_stage_ctx_t ctx;
  NRT_STATUS status;
};

const machine_options kV2Paged = {.instance = "trn1.2xlarge", .lnc = 1, .contiguous = false};

}  // namespace

TEST(MemRef, NewRecordOwnsCopiesAndIsUnplaced) {
  kbin_debug_tensor_md_t md{};
  strcpy(md.prefix_str, "layer0");
  md.pipe_id = 9;
  char name[] = "q_proj";
  kbin_mem_ref source{};
  source.mr_type = MR_BUFFER;
  source.name = name;
  source.size = 4096;
  source.var_id = 77;
  strcpy(source.dtype, "bfloat16");
  source.shape[0] = 32;
  source.shape[1] = 64;
  source.dtensor_md = &md;
  mem_ref_t *mr = nullptr;
  ASSERT_EQ(mem_ref_get_new_mr(&source, &mr), NRT_SUCCESS);
  name[0] = 'X';
  md.pipe_id = 1;
  EXPECT_STREQ(mr->name, "q_proj");
  EXPECT_EQ(mr->type, MR_BUFFER);
  EXPECT_EQ(mr->size, 4096u);
  EXPECT_EQ(mr->var_id, 77u);
  EXPECT_STREQ(mr->dtype, "bfloat16");
  EXPECT_EQ(mr->shape[1], 64u);
  EXPECT_EQ(mr->shape[2], 0u);
  ASSERT_NE(mr->debug_tensor_md, nullptr);
  EXPECT_EQ(mr->debug_tensor_md->pipe_id, 9u);
  EXPECT_STREQ(mr->debug_tensor_md->prefix_str, "layer0");
  uint64_t at_32 = 0;
  memcpy(&at_32, reinterpret_cast<char *>(mr) + 32, 8);
  EXPECT_EQ(at_32, 0xFFFFFFFFFFFFFFFFull);
  log_watch log;
  uint64_t address = 0;
  EXPECT_EQ(mem_ref_to_addr(mr, 0, 1, &address), NRT_INVALID);
  mem_ref_free_one(&mr->ht_node);
}

TEST(MemRef, ListKindsOwnTheirIdsAndOverwriteTheSentinel) {
  plan p;
  uint32_t list = p.list(MR_LIST, "ids", {5, 6, 7});
  uint32_t table = p.list(MR_PTR_TABLE, "rows", {1, 2});
  uint32_t empty = p.list(MR_LIST, "none", {});
  auto kbin = p.build();
  mem_ref_t *mr = nullptr;
  ASSERT_EQ(mem_ref_get_new_mr(&kbin->mem_ref_set->mem[list], &mr), NRT_SUCCESS);
  EXPECT_EQ(mr->physical_address, 3u);  // the whole word: length 3, high half clear
  EXPECT_NE(mr->list, kbin->mem_ref_set->mem[list].list.list);
  EXPECT_EQ(std::vector<uint32_t>(mr->list, mr->list + 3), (std::vector<uint32_t>{5, 6, 7}));
  mem_ref_free_one(&mr->ht_node);
  ASSERT_EQ(mem_ref_get_new_mr(&kbin->mem_ref_set->mem[table], &mr), NRT_SUCCESS);
  EXPECT_EQ(mr->table_length, 2u);
  EXPECT_EQ(mr->var_ids[1], 2u);
  EXPECT_EQ(mr->addrs[0], MEM_REF_NOT_STAGED);
  mem_ref_free_one(&mr->ht_node);
  ASSERT_EQ(mem_ref_get_new_mr(&kbin->mem_ref_set->mem[empty], &mr), NRT_SUCCESS);
  EXPECT_EQ(mr->length, 0u);
  mem_ref_free_one(&mr->ht_node);
}

TEST(Stage, BulkPassPlacesExactlyItsKinds) {
  machine m(kV2Paged);
  auto weights = bytes(5000, 1);
  plan p;
  uint32_t sb = p.add(MR_SB, "sb", 0);
  uint32_t staged_buffer = p.add(MR_BUFFER_STAGED, "staged", 64, 0, weights.data());
  uint32_t buffer = p.add(MR_BUFFER, "weights", weights.size(), 64, weights.data());
  uint32_t tmp = p.add(MR_TMP_BUF, "tmp", 300);
  uint32_t virt = p.virt("virt", 4096, 100);
  std::vector<uint32_t> unplaced = {p.add(MR_INPUT, "in", 64), p.add(MR_OUTPUT, "out", 64),
                                    p.ptr("ptr", 0), p.remote("rem", 0, buffer)};
  uint32_t list = p.list(MR_LIST, "list", {0});
  uint32_t table = p.list(MR_PTR_TABLE, "table", {0});
  staged s(m, p.build());
  ASSERT_EQ(s.status, NRT_SUCCESS);
  EXPECT_EQ(ht_count(s.set), 11u);  // every record can be found, placed or not
  log_watch log;
  uint64_t address = 0;
  for (uint32_t id : {sb, staged_buffer, buffer, tmp, virt})
    EXPECT_EQ(mem_ref_to_addr(s.var(id), 0, 1, &address), NRT_SUCCESS) << id;
  for (uint32_t id : unplaced) {
    EXPECT_EQ(s.var(id)->physical_address, MEM_REF_NOT_STAGED) << id;
    EXPECT_EQ(mem_ref_to_addr(s.var(id), 0, 0, &address), NRT_INVALID) << id;
  }
  EXPECT_EQ(mem_ref_to_addr(s.var(list), 0, 0, &address), NRT_INVALID);
  EXPECT_EQ(mem_ref_to_addr(s.var(table), 0, 0, &address), NRT_INVALID);
}

TEST(Stage, StateBufferIsTheCoresApertureWithoutMemory) {
  machine v2({.instance = "trn1.2xlarge", .lnc = 1, .first_vnc = 1});
  machine v3({.instance = "trn2.3xlarge", .lnc = 1, .first_vnc = 6});
  struct row {
    machine *m;
    uint64_t base;
  };
  // Tile bases: v2 core 1, v3 core 6.
  for (const row &r : {row{&v2, 0xFFFC4000000}, row{&v3, 0x806000000000}}) {
    auto before = r.m->allocations();
    plan p;
    uint32_t sb = p.add(MR_SB, "sb", 0);
    staged s(*r.m, p.build());
    ASSERT_EQ(s.status, NRT_SUCCESS);
    EXPECT_EQ(r.m->allocations(), before);
    EXPECT_EQ(s.var(sb)->size, 0x2000000u);
    uint64_t address = 0;
    EXPECT_EQ(mem_ref_to_addr(s.var(sb), 5 * 0x40000 + 8, 4, &address), NRT_SUCCESS);
    EXPECT_EQ(address, r.base + 5 * 0x40000 + 8);
    EXPECT_EQ(mem_ref_get_va(s.var(sb), 0, 1), nullptr);
  }
}

TEST(Stage, UsageTagsAlignmentAndPayload) {
  machine m(kV2Paged);
  auto weights = bytes(5000, 3), staged_data = bytes(128, 9);
  plan p;
  uint32_t buffer = p.add(MR_BUFFER, "w", weights.size(), 8192, weights.data());
  uint32_t staged_buffer = p.add(MR_BUFFER_STAGED, "s", 128, 0, staged_data.data());
  p.add(MR_TMP_BUF, "t", 300);
  uint32_t big = p.virt("big", 100 * kMiB, 512 * kMiB);  // crosses a page
  staged s(m, p.build());
  ASSERT_EQ(s.status, NRT_SUCCESS);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::WEIGHT), 5128u);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::SCRATCHPAD_NOT_SHARED), 300u + 512 * kMiB);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::SCRATCHPAD), 1024 * kMiB);
  uint64_t address = 0;
  ASSERT_EQ(mem_ref_to_addr(s.var(buffer), 0, 5000, &address), NRT_SUCCESS);
  EXPECT_EQ(address % 8192, 0u);
  EXPECT_EQ(memcmp(m.dram(address, 5000), weights.data(), 5000), 0);
  EXPECT_EQ(memcmp(m.dram(s.var(staged_buffer)->physical_address, 128), staged_data.data(), 128),
            0);
  EXPECT_EQ(s.var(big)->mem_offset, 0u);
  EXPECT_EQ(hal_hbm_of_address(hal_arch(m.hal), address), 0);
}

TEST(Stage, VirtualVariableLiesInItsPage) {
  machine m(kV2Paged);
  plan p;
  uint32_t a = p.virt("a", 512 * kMiB + 12345, 1000);
  uint32_t b = p.virt("b", 0, 512 * kMiB);
  staged s(m, p.build());
  ASSERT_EQ(s.status, NRT_SUCCESS);
  const tdrv_scratchpad_t &pad = m.tpb()->scratchpad;
  EXPECT_EQ(s.var(a)->mem, pad.pages[1].mem);
  EXPECT_EQ(s.var(a)->mem_offset, 12345u);
  EXPECT_EQ(s.var(a)->physical_address, dmem_get_pa(pad.pages[1].mem) + 12345);
  EXPECT_FALSE(s.var(a)->shared_virtual_scratchpad);
  EXPECT_EQ(s.var(b)->physical_address, dmem_get_pa(pad.pages[0].mem));
}

TEST(Stage, HostViewOfEveryPlacementIsTheAddressedByte) {
  for (bool contiguous : {false, true}) {
    machine m({.instance = "trn1.2xlarge", .lnc = 1, .contiguous = contiguous});
    auto weights = bytes(5000, 5);
    plan p;
    uint32_t buffer = p.add(MR_BUFFER, "w", weights.size(), 0, weights.data());
    uint32_t virt = p.virt("v", 60 * kMiB, 10 * kMiB);
    uint32_t input = p.add(MR_INPUT, "in", 64);
    staged s(m, p.build());
    ASSERT_EQ(s.status, NRT_SUCCESS);
    auto *va = static_cast<uint8_t *>(mem_ref_get_va(s.var(buffer), 100, 50));
    ASSERT_NE(va, nullptr);
    EXPECT_EQ(memcmp(va, weights.data() + 100, 50), 0);
    for (uint64_t o : {uint64_t{0}, 5 * kMiB, 10 * kMiB - 1}) {
      auto *byte = static_cast<uint8_t *>(mem_ref_get_va(s.var(virt), o, 1));
      ASSERT_NE(byte, nullptr);
      *byte = static_cast<uint8_t>(o % 251 + 1);
      EXPECT_EQ(*static_cast<uint8_t *>(m.dram(s.var(virt)->physical_address + o, 1)),
                static_cast<uint8_t>(o % 251 + 1));
    }
    EXPECT_EQ(mem_ref_get_va(s.var(virt), 10 * kMiB, 1), nullptr);
    EXPECT_EQ(mem_ref_get_va(s.var(virt), ~0ull, 2), nullptr);
    EXPECT_EQ(mem_ref_get_va(s.var(input), 0, 1), nullptr);
  }
}

TEST(Stage, DebugLineNamesAddressAllocationChannelAndMode) {
  log_watch log(true);
  machine m({.instance = "trn1.2xlarge", .lnc = 1, .first_vnc = 1, .contiguous = false});
  auto weights = bytes(16, 0);
  plan p;
  uint32_t w = p.add(MR_BUFFER, "w0", 16, 0, weights.data());
  uint32_t v = p.virt("v0", 4096, 16);
  staged s(m, p.build());
  ASSERT_EQ(s.status, NRT_SUCCESS);
  uint64_t wa = s.var(w)->physical_address, va = s.var(v)->physical_address;
  EXPECT_THAT(log.debug(),
              ::testing::Contains(fmt::format("Staged memref {{w0}} id {{{}}} to {{0x{:x}}}. "
                                              "mem.addr {{0x{:x}}}, HBM: 1 (alloc+copy)",
                                              w, wa, wa)));
  EXPECT_THAT(log.debug(),
              ::testing::Contains(fmt::format("Staged memref {{v0}} id {{{}}} to {{0x{:x}}}. "
                                              "mem.addr {{0x{:x}}}, HBM: 1 (alloc only)",
                                              v, va, va - 4096)));
}

TEST(Stage, RefusesWhatCannotBePlacedWithOneLine) {
  machine m(kV2Paged);
  log_watch log;
  auto before = m.chunks();
  struct row {
    const char *part;
    void (*fill)(plan &p);
  };
  const row rows[] = {
      {"size 0", [](plan &p) { p.add(MR_TMP_BUF, "bad", 0); }},
      {"size 0", [](plan &p) { p.add(MR_BUFFER, "bad", 0); }},
      {"alignment 48", [](plan &p) { p.add(MR_BUFFER, "bad", 64, 48); }},
      {"same id 1",
       [](plan &p) {
         p.add(MR_TMP_BUF, "first", 64);
         p[p.add(MR_TMP_BUF, "bad", 64)].var_id = 1;
       }},
      {"outside the local arena",
       [](plan &p) {
         p.virt("good", 0, 4096);
         uint32_t id = p.add(MR_VIRTUAL_TMP_BUF, "bad", 4097);
         p[id].virt = {0, KBIN_BACKING_BUF_LOCAL};
       }},
      {"outside the shared arena",
       [](plan &p) {
         p.virt("good", 0, 4096);
         uint32_t id = p.add(MR_VIRTUAL_TMP_BUF, "bad", 1);
         p[id].virt = {~0ull, KBIN_BACKING_BUF_SHARED};
       }},
  };
  for (const row &r : rows) {
    plan p;
    p.add(MR_TMP_BUF, "other", 64);
    p[0].var_id = 1000;
    r.fill(p);
    {
      staged s(m, p.build());
      EXPECT_EQ(s.status, NRT_INVALID) << r.part;
      auto errors = log.take_errors();
      ASSERT_EQ(errors.size(), 1u) << r.part;
      EXPECT_THAT(errors[0], HasSubstr(r.part));
      EXPECT_THAT(errors[0], HasSubstr("bad"));
    }
    EXPECT_EQ(m.chunks(), before) << r.part;
  }
}

TEST(Stage, OutOfDeviceMemoryIsAResourceErrorWithOneLine) {
  machine m({.instance = "trn1.2xlarge", .lnc = 1, .hbm_size = "4G"});
  log_watch log;
  plan p;
  p.add(MR_TMP_BUF, "fits", 1 * kGiB);
  p.add(MR_TMP_BUF, "too big", 3 * kGiB);
  staged s(m, p.build());
  EXPECT_EQ(s.status, NRT_RESOURCE);
  EXPECT_EQ(log.take_errors().size(), 1u);
}

TEST(Remote, AliasSharesAddressAndHandleWithTheTarget) {
  machine m(kV2Paged);
  auto weights = bytes(640, 2);
  plan owner, user;
  uint32_t w = owner.add(MR_BUFFER, "w", 640, 0, weights.data());
  uint32_t v = owner.virt("v", 8192, 256, KBIN_BACKING_BUF_SHARED);
  user.add(MR_TMP_BUF, "own", 64);
  uint32_t rw = user.remote("remote w", 1, w);
  uint32_t rv = user.remote("remote v", 1, v);
  staged local(m, user.build());
  staged target(m, owner.build());
  ht_t *sets[] = {local.set, target.set};
  ASSERT_EQ(mem_ref_create_remote_mrs(local.set, local.kbin->mem_ref_set, sets, 2), NRT_SUCCESS);
  EXPECT_TRUE(local.var(rw)->remote);
  EXPECT_FALSE(target.var(w)->remote);
  EXPECT_EQ(local.var(rw)->mem, target.var(w)->mem);
  EXPECT_EQ(local.var(rw)->physical_address, target.var(w)->physical_address);
  EXPECT_EQ(local.var(rw)->size, 640u);
  EXPECT_EQ(local.var(rv)->mem_offset, 8192u);
  EXPECT_TRUE(local.var(rv)->shared_virtual_scratchpad);
  uint64_t address = 0;
  EXPECT_EQ(mem_ref_to_addr(local.var(rw), 600, 40, &address), NRT_SUCCESS);
  EXPECT_EQ(address, target.var(w)->physical_address + 600);
  // The alias takes no reference: the handle goes with its owner, once.
  EXPECT_EQ(target.var(w)->mem->ref_count, 1u);
}

TEST(Remote, AloneItCreatesTheRecordUnderItsOwnId) {
  machine m(kV2Paged);
  plan owner, user;
  uint32_t w = owner.add(MR_TMP_BUF, "w", 640);
  uint32_t r = user.remote("r", 0, w);
  auto kbin = user.build();
  staged target(m, owner.build());
  ht_t *set = nullptr;
  ASSERT_EQ(ht_init(&set, 0, mem_ref_free_one), NRT_SUCCESS);
  ASSERT_EQ(mem_ref_create_remote_mrs(set, kbin->mem_ref_set, &target.set, 1), NRT_SUCCESS);
  ASSERT_NE(lookup_memref_by_idx(set, r), nullptr);
  EXPECT_EQ(lookup_memref_by_idx(set, r)->physical_address, target.var(w)->physical_address);
  ht_destroy(set);
}

TEST(Remote, BadTargetsAreRefused) {
  machine m(kV2Paged);
  log_watch log;
  plan owner;
  owner.add(MR_TMP_BUF, "w", 640);
  uint32_t list = owner.list(MR_LIST, "ids", {0});
  uint32_t pointer = owner.ptr("p", 0);
  staged target(m, owner.build());
  struct row {
    uint32_t sg, id;
    const char *part;
  };
  for (const row &r : {row{1, 0, "names subgraph 1"}, row{0, 99, "no variable with id 99"},
                       row{0, list, "MR_LIST"}, row{0, pointer, "MR_PTR"}}) {
    plan user;
    user.remote("bad remote", r.sg, r.id);
    staged local(m, user.build());
    ht_t *sets[] = {target.set};
    EXPECT_EQ(mem_ref_create_remote_mrs(local.set, local.kbin->mem_ref_set, sets, 1), NRT_INVALID);
    auto errors = log.take_errors();
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_THAT(errors[0], HasSubstr(r.part));
    EXPECT_THAT(errors[0], HasSubstr("bad remote"));
  }
}

TEST(Pointers, HoldTheTargetsBaseAddress) {
  machine m(kV2Paged);
  plan p;
  uint32_t w = p.add(MR_TMP_BUF, "w", 640);
  uint32_t sb = p.add(MR_SB, "sb", 0);
  uint32_t in = p.add(MR_INPUT, "in", 64);
  uint32_t to_w = p.ptr("to w", w);
  uint32_t to_sb = p.ptr("to sb", sb);
  uint32_t to_in = p.ptr("to in", in, true);
  uint32_t to_ptr = p.ptr("to ptr", to_w + 4);  // forward, through another pointer
  uint32_t again = p.ptr("again", to_w);
  ASSERT_EQ(again, to_w + 4);
  staged s(m, p.build());
  ASSERT_EQ(s.status, NRT_SUCCESS);
  ASSERT_EQ(mr_pointer_init_pointer_vars(s.set, s.kbin->mem_ref_set), NRT_SUCCESS);
  uint64_t address = 0, base = s.var(w)->physical_address;
  for (uint32_t id : {to_w, to_ptr, again}) {
    ASSERT_EQ(mem_ref_to_addr(s.var(id), 0, 8, &address), NRT_SUCCESS);
    EXPECT_EQ(address, base);
  }
  ASSERT_EQ(mem_ref_to_addr(s.var(to_sb), 0, 8, &address), NRT_SUCCESS);
  EXPECT_EQ(address, 0xFFFC0000000u);
  EXPECT_EQ(s.var(to_w)->mr_ptr_id, w);
  log_watch log;
  EXPECT_EQ(mem_ref_to_addr(s.var(to_in), 0, 8, &address), NRT_INVALID);  // no slot here
  EXPECT_TRUE(s.var(to_in)->is_io);
  EXPECT_FALSE(s.var(to_w)->is_io);
}

TEST(Pointers, BadTargetsAreRefused) {
  machine m(kV2Paged);
  log_watch log;
  struct row {
    const char *part;
    void (*fill)(plan &p);
  };
  const row rows[] = {
      {"points to id 99", [](plan &p) { p.ptr("bad", 99); }},
      {"MR_LIST", [](plan &p) { p.ptr("bad", p.list(MR_LIST, "l", {0})); }},
      {"cycle", [](plan &p) { p.ptr("bad", 0); }},
      {"cycle",
       [](plan &p) {
         p.ptr("bad", 1);
         p.ptr("second", 0);
       }},
  };
  for (const row &r : rows) {
    plan p;
    r.fill(p);
    staged s(m, p.build());
    ASSERT_EQ(s.status, NRT_SUCCESS);
    EXPECT_EQ(mr_pointer_init_pointer_vars(s.set, s.kbin->mem_ref_set), NRT_INVALID) << r.part;
    auto errors = log.take_errors();
    ASSERT_EQ(errors.size(), 1u) << r.part;
    EXPECT_THAT(errors[0], HasSubstr(r.part));
  }
}

TEST(Tables, DeviceCopyHoldsTheAddresses) {
  machine m(kV2Paged);
  plan p;
  uint32_t w = p.add(MR_TMP_BUF, "w", 640);
  uint32_t in = p.add(MR_INPUT, "in", 64);
  uint32_t pw = p.ptr("pw", w), pin = p.ptr("pin", in);
  uint32_t v = p.virt("v", 4096, 64);
  uint32_t table = p.list(MR_PTR_TABLE, "table", {w, in, pw, pin, v});
  uint32_t second = p.list(MR_PTR_TABLE, "second", {v});
  uint32_t empty = p.list(MR_PTR_TABLE, "empty", {});
  staged s(m, p.build());
  ASSERT_EQ(s.status, NRT_SUCCESS);
  ASSERT_EQ(mr_pointer_init_pointer_vars(s.set, s.kbin->mem_ref_set), NRT_SUCCESS);
  ASSERT_EQ(mem_ref_init_ptr_tables(&s.ctx, s.kbin->mem_ref_set), NRT_SUCCESS);
  ASSERT_EQ(s.tables.count, 3u);
  uint64_t wa = s.var(w)->physical_address, va = s.var(v)->physical_address;
  const uint64_t expected[] = {wa, ~0ull, wa, ~0ull, va};
  const bool mask[] = {false, true, false, true, false};
  mem_ref_t *t = s.var(table);
  dmem_t *mem = s.tables.mem[t->pointers_to_tables_index];
  ASSERT_NE(mem, nullptr);
  EXPECT_EQ(mem->size, 40u);
  EXPECT_EQ(mem->mem_usage_type, dma_mem_usage_type_t::IO);
  EXPECT_EQ(memcmp(t->addrs, expected, sizeof(expected)), 0);
  EXPECT_EQ(memcmp(t->var_id_needs_translation, mask, sizeof(mask)), 0);
  EXPECT_EQ(memcmp(m.dram(dmem_get_pa(mem), 40), expected, 40), 0);
  EXPECT_EQ(*static_cast<uint64_t *>(
                m.dram(dmem_get_pa(s.tables.mem[s.var(second)->pointers_to_tables_index]), 8)),
            va);
  EXPECT_EQ(s.tables.mem[s.var(empty)->pointers_to_tables_index], nullptr);
  EXPECT_EQ(m.usage(dma_mem_usage_type_t::IO), 48u);
}

TEST(Tables, BadEntriesAreRefused) {
  machine m(kV2Paged);
  log_watch log;
  struct row {
    const char *part;
    void (*fill)(plan &p);
  };
  const row rows[] = {
      {"entry 1 names id 99",
       [](plan &p) {
         p.list(MR_PTR_TABLE, "bad", {p.add(MR_TMP_BUF, "t", 8), 99});
       }},
      {"list has no device address",
       [](plan &p) { p.list(MR_PTR_TABLE, "bad", {p.list(MR_LIST, "l", {})}); }},
      {"pointer table has no device address", [](plan &p) { p.list(MR_PTR_TABLE, "bad", {0}); }},
  };
  for (const row &r : rows) {
    plan p;
    r.fill(p);
    staged s(m, p.build());
    ASSERT_EQ(s.status, NRT_SUCCESS);
    EXPECT_EQ(mem_ref_init_ptr_tables(&s.ctx, s.kbin->mem_ref_set), NRT_INVALID) << r.part;
    auto errors = log.take_errors();
    ASSERT_EQ(errors.size(), 1u) << r.part;
    EXPECT_THAT(errors[0], HasSubstr(r.part));
  }
}
