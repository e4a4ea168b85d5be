// SPDX-License-Identifier: Apache-2.0
// The same again and again: loads and unloads of every file, random use of device memory against a
// model of its bytes. Nothing may be left: the driver's chunk list returns byte for byte, and
// resident memory, descriptors and mappings of the process do not grow. And runs of one program,
// whose output must stay the same to the bit. The suite runs 20 loads, 5,000 operations and 2,000
// runs, OPENNRT_SOAK=all (`make soak`) 1,000, 100,000 and 1,000,000; OPENNRT_SOAK_RUNS=n sets the
// runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "tests/integration/matmul_small.h"
#include "tests/support/process.h"

namespace {

constexpr uint64_t kGrowthLimit = 2 * kMiB;  // slack of malloc; a page per load would be 4 MiB
constexpr uint64_t kResidentLimit = 8 * kGiB;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOwnHeap = false;  // a sanitizer keeps freed memory back for a while
#else
constexpr bool kOwnHeap = true;
#endif

size_t count_lines(const char *path) {
  std::ifstream in(path);
  size_t count = 0;
  for (std::string line; std::getline(in, line);)
    count++;
  return count;
}

struct footprint_t {
  std::vector<chunk_t> chunks;
  uint64_t resident;
  size_t descriptors, mappings;
};

footprint_t footprint(stack &s) {
  return {s.chunks(), process_memory("VmRSS"), process_descriptors(),
          count_lines("/proc/self/maps")};
}

void expect_no_growth(const footprint_t &before, const footprint_t &after) {
  EXPECT_EQ(after.chunks, before.chunks);
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_LT(process_memory("VmHWM"), kResidentLimit);
  if (!kOwnHeap)
    return;
  EXPECT_LE(after.resident, before.resident + kGrowthLimit);
  // The heap of another thread may come and go; a leaked mapping per round would be many.
  EXPECT_LE(after.mappings, before.mappings + 8);
}

void print_footprint(const char *what, const footprint_t &before, const footprint_t &after,
                     uint64_t rounds, double seconds) {
  printf(
      "%s: %lu rounds, %.2f s (%.1f s per 1,000); resident %.1f -> %.1f MiB, peak %.1f MiB; "
      "%zu -> %zu descriptors, %zu -> %zu mappings, %zu chunks\n",
      what, rounds, seconds, seconds * 1000 / static_cast<double>(rounds),
      static_cast<double>(before.resident) / kMiB, static_cast<double>(after.resident) / kMiB,
      static_cast<double>(process_memory("VmHWM")) / kMiB, before.descriptors, after.descriptors,
      before.mappings, after.mappings, after.chunks.size());
}

// A machine whose ring of memory events is full at once: it grows as events come.
std::unique_ptr<stack> make_stack() {
  setenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "64", 1);
  return std::make_unique<stack>();
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void load_often(const char *name, const std::vector<uint8_t> &file) {
  std::unique_ptr<stack> made = make_stack();
  stack &s = *made;
  ASSERT_TRUE(s.ok());
  H_NN h = 0;
  for (int i = 0; i < 5; i++) {
    ASSERT_EQ(s.load(file, i % 4, &h), NRT_SUCCESS);
    ASSERT_EQ(s.unload(h), NRT_SUCCESS);
  }
  uint64_t rounds = process_is_soak() ? 1000 : 20;
  footprint_t before = footprint(s);
  auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < rounds; i++) {
    ASSERT_EQ(s.load(file, static_cast<int32_t>(i % 4), &h), NRT_SUCCESS) << i;
    ASSERT_EQ(s.unload(h), NRT_SUCCESS) << i;
  }
  double seconds = seconds_since(start);
  footprint_t after = footprint(s);
  print_footprint(name, before, after, rounds, seconds);
  expect_no_growth(before, after);
}

// Device memory beside what it must hold.
struct block_t {
  dmem_t *mem;
  std::vector<uint8_t> bytes;
};

class memory_soak {
 public:
  memory_soak(stack &s, uint32_t seed) : core_(tdrv_vcore(s.tdrv, 0)->tpbs[0]), random_(seed) {}
  ~memory_soak() { free_all(); }
  memory_soak(const memory_soak &) = delete;
  memory_soak &operator=(const memory_soak &) = delete;

  void step() {
    uint32_t what = pick(10);
    if (blocks_.empty() || (what < 2 && blocks_.size() < 64))
      return allocate();
    block_t &b = blocks_[pick(blocks_.size())];
    if (what < 3)
      return release(b);
    if (what < 6)
      return write(b);
    if (what < 7)
      return fill(b);
    if (what < 8)
      return copy(b);
    if (what < 9)
      return use_mapping(b);
    check(b);
  }
  void check_all() {
    for (block_t &b : blocks_)
      check(b);
  }
  void free_all() {
    while (!blocks_.empty())
      release(blocks_.back());
  }

 private:
  uint32_t pick(size_t below) {
    return std::uniform_int_distribution<uint32_t>(0, static_cast<uint32_t>(below) - 1)(random_);
  }
  struct range_t {
    size_t at, size;
  };
  range_t some_range(size_t size) {
    size_t at = pick(size);
    return {at, 1 + pick(size - at)};
  }

  void allocate() {
    size_t size = 1 + pick(size_t{1} << pick(20));
    size_t alignment = pick(3) == 0 ? size_t{1} << pick(21) : 0;
    dmem_t *mem = nullptr;
    ASSERT_EQ(dmem_alloc_aligned(core_->global_allocator, size, dma_mem_location_t::TONGA_DRAM,
                                 core_->pcore.hbm_index, nullptr, dma_mem_usage_type_t::TENSOR,
                                 "soak", alignment, &mem),
              NRT_SUCCESS);
    ASSERT_TRUE(alignment == 0 || dmem_get_pa(mem) % alignment == 0);
    blocks_.push_back({mem, std::vector<uint8_t>(size)});  // fresh memory reads as zero
  }
  void release(block_t &b) {
    check(b);
    dmem_free(b.mem);
    if (&b != &blocks_.back())
      b = std::move(blocks_.back());
    blocks_.pop_back();
  }
  void write(block_t &b) {
    range_t r = some_range(b.bytes.size());
    auto seed = static_cast<uint8_t>(pick(256));
    for (size_t i = 0; i < r.size; i++)
      b.bytes[r.at + i] = static_cast<uint8_t>(seed + i * 7 + i / 251);
    ASSERT_EQ(dmem_buf_copyin(b.mem, b.bytes.data() + r.at, r.at, r.size), NRT_SUCCESS);
  }
  void fill(block_t &b) {
    range_t r = some_range(b.bytes.size());
    auto value = static_cast<uint8_t>(pick(256));
    memset(b.bytes.data() + r.at, value, r.size);
    ASSERT_EQ(dmem_memset(b.mem, r.at, value, r.size), NRT_SUCCESS);
  }
  void copy(block_t &to) {
    block_t &from = blocks_[pick(blocks_.size())];
    if (&from == &to)
      return;
    range_t r = some_range(from.bytes.size());
    r.size = std::min(r.size, to.bytes.size());
    size_t at = pick(to.bytes.size() - r.size + 1);
    memcpy(to.bytes.data() + at, from.bytes.data() + r.at, r.size);
    ASSERT_EQ(dmem_copy(from.mem, r.at, to.mem, at, r.size), NRT_SUCCESS);
  }
  void use_mapping(block_t &b) {
    auto *va = static_cast<uint8_t *>(dmem_get_va(b.mem));
    ASSERT_NE(va, nullptr);
    range_t r = some_range(b.bytes.size());
    ASSERT_EQ(memcmp(va + r.at, b.bytes.data() + r.at, r.size), 0);
    va[r.at] = b.bytes[r.at] = static_cast<uint8_t>(pick(256));
  }
  void check(block_t &b) {
    std::vector<uint8_t> seen(b.bytes.size());
    ASSERT_EQ(dmem_buf_copyout(b.mem, seen.data(), 0, seen.size()), NRT_SUCCESS);
    ASSERT_EQ(memcmp(seen.data(), b.bytes.data(), seen.size()), 0) << seen.size() << " bytes";
  }

  tpb_t *core_;
  std::mt19937 random_;
  std::vector<block_t> blocks_;
};

}  // namespace

TEST(Soak, LoadsOfTheSample) {
  load_often("sample", sample_file());
}

TEST(Soak, LoadsOfTheCorpus) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  const char *const names[] = {"matmul_small", "matmul_large", "attn_v6"};
  for (size_t i = 0; i < files.size(); i++)
    load_often(names[i], files[i]);
}

TEST(Soak, RunsOfMatmulSmall) {
  std::vector<std::vector<uint8_t>> files = corpus_files();
  SKIP_WITHOUT_CORPUS(files);
  std::unique_ptr<stack> made = make_stack();
  stack &s = *made;
  matmul_small m(s, files[0]);
  ASSERT_TRUE(m.ok());
  ASSERT_TRUE(m.right(1));
  std::vector<uint8_t> first = m.output();
  for (int warm = 0; warm < 200; warm++)
    ASSERT_EQ(m.run(), NRT_SUCCESS);
  const char *wish = getenv("OPENNRT_SOAK_RUNS");
  uint64_t rounds = wish != nullptr     ? strtoull(wish, nullptr, 10)
                    : process_is_soak() ? 1000000
                                        : 2000;
  footprint_t before = footprint(s);
  auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < rounds; i++) {
    ASSERT_EQ(m.run(), NRT_SUCCESS) << i;
    if (i % 1000 != 999)
      continue;
    ASSERT_EQ(m.output(), first) << i;
    m.spoil();
  }
  double seconds = seconds_since(start);
  footprint_t after = footprint(s);
  print_footprint("runs of matmul_small", before, after, rounds, seconds);
  expect_no_growth(before, after);
  ASSERT_TRUE(m.right(2));
}

TEST(Soak, DeviceMemoryAgainstAModel) {
  std::unique_ptr<stack> made = make_stack();
  stack &s = *made;
  ASSERT_TRUE(s.ok());
  uint64_t rounds = process_is_soak() ? 100000 : 5000;
  {
    memory_soak warm(s, 1);
    for (int i = 0; i < 2000; i++)
      warm.step();
  }
  footprint_t before = footprint(s);
  auto start = std::chrono::steady_clock::now();
  {
    memory_soak soak(s, 20240);
    for (uint64_t i = 0; i < rounds && !testing::Test::HasFatalFailure(); i++)
      soak.step();
    soak.check_all();
  }
  double seconds = seconds_since(start);
  footprint_t after = footprint(s);
  print_footprint("device memory", before, after, rounds, seconds);
  expect_no_growth(before, after);
}
