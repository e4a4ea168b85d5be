// SPDX-License-Identifier: Apache-2.0
// Apart from the tests, so that the compiler does not pair these with their allocations by
// inlining.
#include "tests/kelf/free_watch.h"

#include <cstdlib>
#include <new>

bool watching = false;
size_t freed_count = 0;
const void *freed[MAX_FREED];

static void release(void *p) {
  if (watching && p && freed_count < MAX_FREED)
    freed[freed_count++] = p;
  free(p);
}

void *operator new(size_t n) {
  void *p = malloc(n ? n : 1);
  if (!p)
    throw std::bad_alloc();
  return p;
}
void operator delete(void *p) noexcept {
  release(p);
}
void operator delete(void *p, size_t) noexcept {
  release(p);
}
