// SPDX-License-Identifier: Apache-2.0
// matmul_small.neff over and over: nothing grows, nothing drifts, nothing is allocated. The suite
// runs 20,000 executions, OPENNRT_SOAK=all (`make soak`) 1,000,000. Under a sanitizer 2,000: there
// a run takes twenty times as long, and the heap is not counted.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/programs/matmul_run.h"
#include "tests/support/process.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOwnHeap = false;
#else
constexpr bool kOwnHeap = true;

// The C library's own, under the names it has for replacements.
extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
}
static std::atomic<uint64_t> g_allocations{0};
#define REPLACEMENT extern "C" __attribute__((visibility("default")))
REPLACEMENT void *malloc(size_t size) {
  g_allocations++;
  return __libc_malloc(size);
}
REPLACEMENT void *calloc(size_t count, size_t size) {
  g_allocations++;
  return __libc_calloc(count, size);
}
REPLACEMENT void *realloc(void *old, size_t size) {
  g_allocations++;
  return __libc_realloc(old, size);
}
REPLACEMENT void *aligned_alloc(size_t alignment, size_t size) {
  g_allocations++;
  return __libc_memalign(alignment, size);
}
REPLACEMENT int posix_memalign(void **out, size_t alignment, size_t size) {
  g_allocations++;
  *out = __libc_memalign(alignment, size);
  return *out != nullptr ? 0 : 12;
}
#endif

namespace {

uint64_t allocations() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  return g_allocations;
#endif
}

}  // namespace

TEST(Endurance, NothingGrows) {
  std::vector<uint8_t> file = corpus_file("matmul_small.neff");
  SKIP_WITHOUT(file);
  session s;
  small_matmul m(file);
  ASSERT_TRUE(m.right(1));
  std::vector<uint16_t> first = m.output();
  for (int i = 0; i < 100; i++)
    ASSERT_EQ(m.p.run(), NRT_SUCCESS);
  uint64_t before_one = mock_ioctl_count(s.host(), 0);
  ASSERT_EQ(m.p.run(), NRT_SUCCESS);
  uint64_t each = mock_ioctl_count(s.host(), 0) - before_one;

  uint64_t runs = process_is_soak() ? 1'000'000 : kOwnHeap ? 20'000 : 2'000;
  uint64_t resident = process_memory("VmRSS"), open = process_descriptors();
  uint64_t requests = mock_ioctl_count(s.host(), 0), made = allocations();
  for (uint64_t i = 0; i < runs; i++)
    ASSERT_EQ(m.p.run(), NRT_SUCCESS) << "run " << i;
  EXPECT_EQ(allocations() - made, 0u);
  EXPECT_EQ(mock_ioctl_count(s.host(), 0) - requests, runs * each);
  EXPECT_LE(each, 4u);  // two for each physical core
  EXPECT_EQ(process_descriptors(), open);
  if (kOwnHeap) {
    EXPECT_LE(process_memory("VmRSS"), resident + 256 * 1024);
  }
  EXPECT_EQ(m.output(), first);
  EXPECT_TRUE(m.right(2));
  printf("%lu runs, %lu requests each, resident %lu -> %lu KiB\n", static_cast<unsigned long>(runs),
         static_cast<unsigned long>(each), static_cast<unsigned long>(resident / 1024),
         static_cast<unsigned long>(process_memory("VmRSS") / 1024));
}
