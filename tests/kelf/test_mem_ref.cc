// SPDX-License-Identifier: Apache-2.0
// The ten classes: layout (static_asserts in the headers), vtables, serialisation, destruction.
#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <new>
#include <tuple>

#include "kelf/mem_ref_info.h"
#include "tests/kelf/fixture.h"
#include "tests/kelf/free_watch.h"

namespace {

const std::vector<uint64_t> SHAPE = {2, 3};
const std::string LONG_PREFIX(40, 'p');

// One object of each class.
std::vector<std::unique_ptr<mem_ref>> one_of_each() {
  static uint8_t payload[8];
  std::vector<std::unique_ptr<mem_ref>> all;
  all.push_back(std::make_unique<mem_ref>(0, MR_INVALID, "float32", SHAPE));
  all.push_back(std::make_unique<mem_ref_sp>(1, "float32", SHAPE));
  all.push_back(std::make_unique<mem_ref_remote_variable>(2, "float32", SHAPE));
  all.push_back(std::make_unique<mem_ref_pointer>(3, 77, true, "float32", SHAPE));
  all.push_back(std::make_unique<mem_ref_io>(4, 100, 64, MR_OUTPUT, "float32", SHAPE));
  all.push_back(std::make_unique<mem_ref_list>(5, std::vector<uint32_t>{9, 8, 7}));
  all.push_back(std::make_unique<mem_ref_ptr_table>(6, std::vector<uint32_t>{9, 8, 7}));
  all.push_back(std::make_unique<mem_ref_tmp_buf>(7, 200, 32, debug_tensor_md{LONG_PREFIX, 5},
                                                  "float32", SHAPE));
  all.push_back(std::make_unique<mem_ref_buffer>(8, MR_BUFFER_STAGED, sizeof(payload), 16, payload,
                                                 debug_tensor_md{LONG_PREFIX, 6}, "float32",
                                                 SHAPE));
  all.push_back(std::make_unique<mem_ref_virtual_tmp_buf>(
      9, 300, 4096, KBIN_BACKING_BUF_SHARDED, debug_tensor_md{LONG_PREFIX, 7}, "float32", SHAPE));
  return all;
}

constexpr const char *CLASS_NAMES[] = {"7mem_ref",
                                       "10mem_ref_sp",
                                       "23mem_ref_remote_variable",
                                       "15mem_ref_pointer",
                                       "10mem_ref_io",
                                       "12mem_ref_list",
                                       "17mem_ref_ptr_table",
                                       "15mem_ref_tmp_buf",
                                       "14mem_ref_buffer",
                                       "23mem_ref_virtual_tmp_buf"};

struct record_set {
  kbin_mem_ref_set_t *set;
  explicit record_set(uint32_t n) : set(kbin_mem_ref_set_alloc(n)) {}
  record_set(const record_set &) = delete;
  record_set &operator=(const record_set &) = delete;
  ~record_set() { kbin_mem_ref_set_free(set); }
  kbin_mem_ref &operator[](size_t i) { return set->mem[i]; }
};

// Symbol table of this program: name -> (address, size), and names by address.
struct symbols {
  std::map<std::string, std::pair<uintptr_t, size_t>> by_name;
  std::multimap<uintptr_t, std::string> by_address;

  symbols() {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    Dl_info info;
    static const int anchor = 0;
    if (!dladdr(&anchor, &info) || bytes.size() < sizeof(Elf64_Ehdr))
      return;
    auto base = reinterpret_cast<uintptr_t>(info.dli_fbase);
    Elf64_Ehdr header;
    memcpy(&header, bytes.data(), sizeof(header));
    if (header.e_type != ET_DYN)
      base = 0;
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    memcpy(sections.data(), bytes.data() + header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr &section : sections) {
      if (section.sh_type != SHT_SYMTAB)
        continue;
      const char *strings = bytes.data() + sections[section.sh_link].sh_offset;
      for (size_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, bytes.data() + section.sh_offset + at, sizeof(symbol));
        std::string name = strings + symbol.st_name;
        by_name[name] = {base + symbol.st_value, symbol.st_size};
        by_address.emplace(base + symbol.st_value, name);
      }
    }
  }

  bool has(uintptr_t address, const std::string &name) const {
    auto [first, last] = by_address.equal_range(address);
    return std::any_of(first, last, [&](const auto &entry) { return entry.second == name; });
  }
};

uintptr_t slot(const mem_ref &object, int index) {
  const uintptr_t *vtable;
  memcpy(&vtable, &object, sizeof(vtable));
  return vtable[index];
}

TEST(MemRefVtable, ThreeSlotsInOrder) {
  symbols table;
  if (table.by_name.empty())
    GTEST_SKIP() << "program is stripped";
  auto objects = one_of_each();
  for (size_t i = 0; i < objects.size(); i++) {
    std::string cls = CLASS_NAMES[i];
    SCOPED_TRACE(cls);
    auto vtable = table.by_name.find("_ZTV" + cls);
    ASSERT_NE(vtable, table.by_name.end());
    // Two words of header, then the slots the object's pointer leads to.
    EXPECT_EQ(vtable->second.second, (2u + 3u) * sizeof(void *));
    uintptr_t pointer;
    memcpy(&pointer, objects[i].get(), sizeof(pointer));
    EXPECT_EQ(pointer, vtable->second.first + 2 * sizeof(void *));
    std::string dump_class = cls == "17mem_ref_ptr_table" ? "12mem_ref_list" : cls;
    EXPECT_TRUE(table.has(slot(*objects[i], 0), "_ZN" + dump_class + "4dumpER12kbin_mem_ref"));
    EXPECT_TRUE(table.has(slot(*objects[i], 1), "_ZN" + cls + "D2Ev"));
    EXPECT_TRUE(table.has(slot(*objects[i], 2), "_ZN" + cls + "D0Ev"));
  }
  EXPECT_EQ(table.by_name.count("_ZN17mem_ref_ptr_table4dumpER12kbin_mem_ref"), 0u);
}

TEST(MemRefVtable, PointerTableInheritsDumpOnly) {
  auto objects = one_of_each();
  for (size_t i = 0; i < objects.size(); i++) {
    for (size_t j = i + 1; j < objects.size(); j++) {
      bool list_pair = i == 5 && j == 6;
      EXPECT_EQ(slot(*objects[i], 0) == slot(*objects[j], 0), list_pair) << i << " " << j;
      EXPECT_NE(slot(*objects[i], 1), slot(*objects[j], 1));
      EXPECT_NE(slot(*objects[i], 2), slot(*objects[j], 2));
    }
  }
}

TEST(MemRefLayout, BaseMembersAtTheirOffsets) {
  mem_ref_io io(0x11223344, 0x5566, 0x40, MR_INPUT, "bfloat16", SHAPE);
  const auto *raw = reinterpret_cast<const uint8_t *>(static_cast<const mem_ref *>(&io));
  auto offset = [&](const void *member) { return reinterpret_cast<const uint8_t *>(member) - raw; };
  EXPECT_EQ(offset(&io.var_id), 8);
  EXPECT_EQ(offset(&io.type), 12);
  EXPECT_EQ(offset(&io.dtype), 16);
  EXPECT_EQ(offset(&io.shape), 48);
  EXPECT_EQ(offset(&io.size), 72);
  EXPECT_EQ(offset(&io.alignment), 80);

  mem_ref_pointer p(0, 1, true, "", {});
  raw = reinterpret_cast<const uint8_t *>(&p);
  EXPECT_EQ(offset(&p.referenced_var_id), 72);
  EXPECT_EQ(offset(&p.io_ref), 76);
  mem_ref_ptr_table t(0, {});
  raw = reinterpret_cast<const uint8_t *>(&t);
  EXPECT_EQ(offset(&t.list), 72);
  EXPECT_EQ(offset(&t.pointer_list), 96);
  mem_ref_tmp_buf tmp(0, 1, 0, {}, "", {});
  raw = reinterpret_cast<const uint8_t *>(&tmp);
  EXPECT_EQ(offset(&tmp.size), 72);
  EXPECT_EQ(offset(&tmp.alignment), 80);
  EXPECT_EQ(offset(&tmp.dtensor_md), 88);
  mem_ref_buffer b(0, MR_BUFFER, 1, 0, nullptr, {}, "", {});
  raw = reinterpret_cast<const uint8_t *>(&b);
  EXPECT_EQ(offset(&b.size), 72);
  EXPECT_EQ(offset(&b.alignment), 80);
  EXPECT_EQ(offset(&b.buffer), 88);
  EXPECT_EQ(offset(&b.dtensor_md), 96);
  mem_ref_virtual_tmp_buf v(0, 1, 0, KBIN_BACKING_BUF_LOCAL, {}, "", {});
  raw = reinterpret_cast<const uint8_t *>(&v);
  EXPECT_EQ(offset(&v.size), 72);
  EXPECT_EQ(offset(&v.offset), 80);
  EXPECT_EQ(offset(&v.backing_buf), 88);
  EXPECT_EQ(offset(&v.dtensor_md), 96);
  mem_ref_info info;
  raw = reinterpret_cast<const uint8_t *>(&info);
  EXPECT_EQ(offset(&info.name_to_var_id), 0);
  EXPECT_EQ(offset(&info.var_id_to_name), 48);
  EXPECT_EQ(offset(&info.var_id_to_mem_refs), 96);
}

TEST(MemRefDump, EachClassWritesItsRecord) {
  auto objects = one_of_each();
  record_set records(10);
  for (size_t i = 0; i < objects.size(); i++) {
    ASSERT_EQ(objects[i]->dump(records[i]), NRT_SUCCESS);
    EXPECT_EQ(records[i].var_id, i);
    EXPECT_EQ(records[i].name, nullptr);  // set from the id map, not by the object
    bool list = i == 5 || i == 6;
    EXPECT_STREQ(records[i].dtype, list ? "" : "float32");
    EXPECT_EQ(records[i].shape[0], list ? 0u : 2u);
    EXPECT_EQ(records[i].shape[1], list ? 0u : 3u);
    for (size_t d = 2; d < KBIN_SHAPE_MAX; d++)
      EXPECT_EQ(records[i].shape[d], 0u);
  }
  EXPECT_EQ(records[1].mr_type, MR_SB);
  EXPECT_EQ(records[1].size, 0u);
  EXPECT_EQ(records[2].mr_type, MR_REMOTE);
  EXPECT_EQ(records[3].mr_type, MR_PTR);
  EXPECT_EQ(records[3].size, 8u);
  EXPECT_EQ(records[3].ptr.var_id, 77u);
  EXPECT_TRUE(records[3].ptr.io_ref);
  EXPECT_EQ(records[4].mr_type, MR_OUTPUT);
  EXPECT_EQ(records[4].size, 100u);
  EXPECT_EQ(records[4].alignment, 64u);
  EXPECT_EQ(records[7].mr_type, MR_TMP_BUF);
  EXPECT_EQ(records[7].size, 200u);
  EXPECT_EQ(records[7].alignment, 32u);
  EXPECT_EQ(records[8].mr_type, MR_BUFFER_STAGED);
  EXPECT_EQ(records[8].size, 8u);
  EXPECT_EQ(records[8].buffer, static_cast<mem_ref_buffer &>(*objects[8]).buffer);
  EXPECT_EQ(records[9].mr_type, MR_VIRTUAL_TMP_BUF);
  EXPECT_EQ(records[9].size, 300u);
  EXPECT_EQ(records[9].virt.offset, 4096u);
  EXPECT_EQ(records[9].virt.backing_buf, KBIN_BACKING_BUF_SHARDED);
  for (size_t i = 7; i < 10; i++) {
    ASSERT_NE(records[i].dtensor_md, nullptr);
    EXPECT_EQ(records[i].dtensor_md->prefix_str, LONG_PREFIX);
    EXPECT_EQ(records[i].dtensor_md->pipe_id, i - 2);
  }
  for (size_t i = 0; i < 7; i++)
    EXPECT_EQ(records[i].dtensor_md, nullptr);
}

TEST(MemRefDump, PointerTableLeavesNoTraceOfItsSecondVector) {
  mem_ref_list list(3, {4, 5, 6});
  mem_ref_ptr_table table(3, {4, 5, 6});
  table.pointer_list = {100, 101};
  record_set records(2);
  ASSERT_EQ(list.dump(records[0]), NRT_SUCCESS);
  ASSERT_EQ(table.dump(records[1]), NRT_SUCCESS);
  EXPECT_EQ(records[0].mr_type, MR_LIST);
  EXPECT_EQ(records[1].mr_type, MR_PTR_TABLE);
  for (size_t i = 0; i < 2; i++) {
    ASSERT_EQ(records[i].list.length, 3u);
    EXPECT_EQ(memcmp(records[i].list.list, list.list.data(), 12), 0);
  }
  EXPECT_NE(records[0].list.list, list.list.data());  // own copy
  // Apart from kind and array address the two records are the same bytes.
  kbin_mem_ref a = records[0], b = records[1];
  a.mr_type = b.mr_type;
  a.list.list = b.list.list;
  EXPECT_EQ(memcmp(&a, &b, sizeof(a)), 0);
}

TEST(MemRefDump, CapsAreErrors) {
  record_set records(8);
  EXPECT_EQ(mem_ref(0, MR_SB, std::string(15, 'd'), {}).dump(records[0]), NRT_SUCCESS);
  EXPECT_EQ(std::string(records[0].dtype), std::string(15, 'd'));
  EXPECT_EQ(mem_ref(0, MR_SB, std::string(16, 'd'), {}).dump(records[1]), NRT_INVALID);
  EXPECT_EQ(mem_ref(0, MR_SB, "", std::vector<uint64_t>(8, 7)).dump(records[2]), NRT_SUCCESS);
  EXPECT_EQ(records[2].shape[7], 7u);
  EXPECT_EQ(mem_ref(0, MR_SB, "", std::vector<uint64_t>(9, 7)).dump(records[3]), NRT_INVALID);
  mem_ref_tmp_buf fits(0, 1, 0, {std::string(511, 'p'), 1}, "", {});
  EXPECT_EQ(fits.dump(records[4]), NRT_SUCCESS);
  EXPECT_EQ(std::string(records[4].dtensor_md->prefix_str), std::string(511, 'p'));
  mem_ref_tmp_buf longer(0, 1, 0, {std::string(512, 'p'), 1}, "", {});
  EXPECT_EQ(longer.dump(records[5]), NRT_INVALID);
  EXPECT_EQ(records[5].dtensor_md, nullptr);
  mem_ref_tmp_buf without(0, 1, 0, {"", 3}, "", {});
  EXPECT_EQ(without.dump(records[6]), NRT_SUCCESS);
  EXPECT_EQ(records[6].dtensor_md, nullptr);
}

TEST(MemRefDestruction, EachLevelFreesItsVectorOnceInnermostClassFirst) {
  auto *table = new mem_ref_ptr_table(1, std::vector<uint32_t>(100, 1));
  table->pointer_list.assign(50, 2);
  table->dtype = std::string(40, 'd');  // beyond the small-string buffer
  table->shape.assign(20, 3);
  const void *expected[] = {table->pointer_list.data(), table->list.data(), table->shape.data(),
                            table->dtype.data(), table};
  mem_ref *base = table;
  freed_count = 0;
  watching = true;
  delete base;  // through the deleting destructor in the vtable
  watching = false;
  ASSERT_EQ(freed_count, std::size(expected));
  for (size_t i = 0; i < freed_count; i++)
    EXPECT_EQ(freed[i], expected[i]) << i;
}

TEST(MemRefDestruction, DerivedStringIsFreedBeforeTheBase) {
  auto *buffer =
      new mem_ref_virtual_tmp_buf(1, 1, 0, KBIN_BACKING_BUF_LOCAL, debug_tensor_md{LONG_PREFIX, 0},
                                  std::string(40, 'd'), {1, 2});
  const void *expected[] = {buffer->dtensor_md.prefix.data(), buffer->shape.data(),
                            buffer->dtype.data(), buffer};
  mem_ref *base = buffer;
  freed_count = 0;
  watching = true;
  delete base;
  watching = false;
  ASSERT_EQ(freed_count, std::size(expected));
  for (size_t i = 0; i < freed_count; i++)
    EXPECT_EQ(freed[i], expected[i]) << i;
}

TEST(MemRefInfo, OwnsObjectsAndAnswersForNamesAndIds) {
  auto info = std::make_unique<mem_ref_info>();
  std::string other;
  uint32_t other_id = 0;
  using existing = mem_ref_info::existing;
  EXPECT_EQ(info->check_var_exists("a", 0, &other, &other_id), existing::none);
  auto object = std::make_unique<mem_ref_sp>(0, "", std::vector<uint64_t>{});
  const void *raw = object.get();
  info->add_var_to_lookup_maps("m", 5, std::move(object));
  info->add_var_to_lookup_maps("n", 6,
                               std::make_unique<mem_ref_sp>(6, "", std::vector<uint64_t>{}));
  EXPECT_EQ(info->name_to_var_id.at("m"), 5u);
  EXPECT_EQ(info->var_id_to_name.at(5), "m");
  EXPECT_EQ(info->var_id_to_mem_refs.at(5), raw);
  EXPECT_EQ(info->check_var_exists("m", 5, &other, &other_id), existing::same);
  EXPECT_EQ(info->check_var_exists("m", 7, &other, &other_id), existing::conflict);
  EXPECT_EQ(other, "m");
  EXPECT_EQ(other_id, 5u);
  EXPECT_EQ(info->check_var_exists("z", 5, &other, &other_id), existing::conflict);
  EXPECT_EQ(other, "m");
  EXPECT_EQ(info->check_var_exists("m", 6, &other, &other_id), existing::conflict);
  EXPECT_EQ(info->check_var_exists("a", 4, &other, &other_id), existing::none);
  EXPECT_EQ(info->check_var_exists("z", 8, &other, &other_id), existing::none);
  freed_count = 0;
  watching = true;
  info.reset();
  watching = false;
  EXPECT_EQ(std::count(freed, freed + freed_count, raw), 1);
}

TEST(KbinNames, EveryKindAndEngine) {
  EXPECT_STREQ(kbin_mr_type_name(MR_INVALID), "MR_INVALID");
  EXPECT_STREQ(kbin_mr_type_name(MR_PTR_TABLE), "MR_PTR_TABLE");
  EXPECT_STREQ(kbin_mr_type_name(MR_REMOTE), "MR_REMOTE");
  EXPECT_STREQ(kbin_mr_type_name(static_cast<kbin_mr_type_t>(12)), "MR_?");
  EXPECT_STREQ(kbin_engine_name(AL_HAL_TPB_ENG_TYPE_DVE), "dve");
  EXPECT_STREQ(kbin_backing_buf_name(KBIN_BACKING_BUF_MAIN), "main");
  kbin_mem_ref_set_free(nullptr);
}

TEST(KbinPattern, RangeCountsHolesAndRefusesWraps) {
  uint64_t begin = 0, end = 0;
  kbin_dma_pattern_t p{};
  p.offset = 8405504;
  p.ndims = 2;
  p.sizes[0] = 4;
  p.sizes[1] = 2;
  p.steps[0] = 1;
  p.steps[1] = 262144;
  ASSERT_TRUE(kbin_dma_pattern_range(p, &begin, &end));
  EXPECT_EQ(begin, 8405504u);
  EXPECT_EQ(end, 8405504u + 262144 + 4);
  p.offset = 10;
  p.steps[1] = -10;
  ASSERT_TRUE(kbin_dma_pattern_range(p, &begin, &end));
  EXPECT_EQ(begin, 0u);
  EXPECT_EQ(end, 14u);
  p.steps[1] = -11;
  EXPECT_FALSE(kbin_dma_pattern_range(p, &begin, &end));
  p.steps[1] = INT64_MAX;
  EXPECT_FALSE(kbin_dma_pattern_range(p, &begin, &end));
  p.steps[1] = INT64_MIN;
  p.sizes[1] = UINT64_MAX;
  EXPECT_FALSE(kbin_dma_pattern_range(p, &begin, &end));
  p.ndims = 0;
  EXPECT_FALSE(kbin_dma_pattern_range(p, &begin, &end));
}

TEST(KbinPattern, ContiguousRowsFollowOneAnother) {
  kbin_dma_pattern_t p{};
  EXPECT_TRUE(kbin_dma_pattern_is_contiguous(p));
  p.ndims = 3;
  for (auto [sizes, steps, expected] :
       {std::tuple{std::array{4, 2, 3}, std::array{1, 4, 8}, true},
        {{4, 2, 3}, {1, 5, 10}, false},    // a hole behind each row
        {{4, 2, 3}, {1, 8, 4}, false},     // rows change places
        {{4, 2, 3}, {1, -4, 8}, false},    // backwards
        {{1, 1, 3}, {77, -5, 1}, true},    // a step nobody takes
        {{4, 2, 3}, {0, 4, 8}, false}}) {  // one byte, read four times
    std::copy(sizes.begin(), sizes.end(), p.sizes);
    std::copy(steps.begin(), steps.end(), p.steps);
    EXPECT_EQ(kbin_dma_pattern_is_contiguous(p), expected) << steps[0] << ' ' << steps[1];
  }
  for (uint32_t i = 0; i < 3; i++) {
    p.sizes[i] = 1ull << 31;
    p.steps[i] = i == 0 ? 1 : i == 1 ? 1ll << 31 : 1ll << 62;
  }
  EXPECT_FALSE(kbin_dma_pattern_is_contiguous(p)) << "2^93 bytes";
}

TEST(KbinPattern, DealsOutermostDimensionsAndNeverTheInnermost) {
  kbin_dma_pattern_t p{};
  p.ndims = 3;
  EXPECT_EQ(kbin_dma_pattern_first_dealt(p, -1), 3u);  // absent: nothing is dealt
  EXPECT_EQ(kbin_dma_pattern_first_dealt(p, 0), 3u);
  EXPECT_EQ(kbin_dma_pattern_first_dealt(p, 1), 2u);
  EXPECT_EQ(kbin_dma_pattern_first_dealt(p, 2), 1u);
  EXPECT_EQ(kbin_dma_pattern_first_dealt(p, 3), 1u);
  EXPECT_EQ(kbin_dma_pattern_first_dealt(p, INT32_MAX), 1u);
  p.ndims = 1;
  EXPECT_EQ(kbin_dma_pattern_first_dealt(p, 1), 1u);
  p.ndims = 0;
  EXPECT_EQ(kbin_dma_pattern_first_dealt(p, 1), 0u);

  kbin_dma_transfer_t transfer{};
  transfer.num_tiling_dimensions = -1;
  EXPECT_FALSE(kbin_dma_transfer_is_dealt(transfer, 16));
  transfer.num_tiling_dimensions = 1;
  EXPECT_TRUE(kbin_dma_transfer_is_dealt(transfer, 16));
  EXPECT_FALSE(kbin_dma_transfer_is_dealt(transfer, 1));
}

TEST(KbinPattern, SharesDifferByOneRowAtMost) {
  for (uint64_t k = 0; k < 16; k++) {
    EXPECT_EQ(kbin_dma_share(128, k, 16), 8u);
    EXPECT_EQ(kbin_dma_share(35, k, 16), k < 3 ? 3u : 2u);
    EXPECT_EQ(kbin_dma_share(5, k, 16), k < 5 ? 1u : 0u);
  }
}

TEST(KbinPattern, ConvertsWhereBothSidesNameDifferentTypes) {
  kbin_dma_pattern_t from{}, to{};
  EXPECT_FALSE(kbin_dma_pattern_converts(from, to));
  from.dtype = KBIN_DTYPE_INT8;
  EXPECT_FALSE(kbin_dma_pattern_converts(from, to));
  EXPECT_FALSE(kbin_dma_pattern_converts(to, from));
  to.dtype = KBIN_DTYPE_FP32;
  EXPECT_TRUE(kbin_dma_pattern_converts(from, to));
  to.dtype = KBIN_DTYPE_INT8;
  EXPECT_FALSE(kbin_dma_pattern_converts(from, to));
}

}  // namespace
