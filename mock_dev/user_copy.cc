// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/user_copy.h"
#include "mock_dev/memfd.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <new>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace {

constexpr size_t SCRATCH_SIZE = 64 * 1024;
constexpr size_t LARGE_COPY = 64 * 1024;  // below, faulting in ahead costs more than it saves
constexpr uintptr_t PAGE = 4096;

std::atomic<uint32_t> fork_generation{0};

void fork_child() {
  fork_generation.fetch_add(1, std::memory_order_relaxed);
}

// One per thread. After a fork the child's copy would share its pages with the parent's thread, so
// the child makes a new one.
struct scratch_t {
  int fd = -1;
  uint8_t *bytes = nullptr;
  uint32_t generation = 0;

  void drop() {
    if (bytes != nullptr)
      munmap(bytes, SCRATCH_SIZE);
    if (fd >= 0)
      close(fd);
    bytes = nullptr;
    fd = -1;
  }
  bool ready() {
    static const int registered = pthread_atfork(nullptr, nullptr, fork_child);
    (void)registered;
    uint32_t now = fork_generation.load(std::memory_order_relaxed);
    if (bytes != nullptr && generation == now)
      return true;
    drop();
    generation = now;
    fd = mock_memfd("neuron-mock-scratch", SCRATCH_SIZE);
    if (fd < 0) {
      drop();
      return false;
    }
    void *va = mmap(nullptr, SCRATCH_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (va == MAP_FAILED) {
      drop();
      return false;
    }
    bytes = static_cast<uint8_t *>(va);
    return true;
  }
  ~scratch_t() { drop(); }
};

// The calling thread's, or NULL. Not an object with a destructor in thread-local storage: where
// there is no memory to register that, the C library ends the process.
thread_local scratch_t *t_scratch = nullptr;

void scratch_end(void *scratch) {
  delete static_cast<scratch_t *>(scratch);
  t_scratch = nullptr;
}

scratch_t *scratch_get() {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    return pthread_key_create(&made, scratch_end) == 0 ? made : PTHREAD_KEYS_MAX;
  }();
  if (t_scratch == nullptr && key != PTHREAD_KEYS_MAX) {
    auto *made = new (std::nothrow) scratch_t;
    if (made == nullptr || pthread_setspecific(key, made) != 0)
      delete made;
    else
      t_scratch = made;
  }
  return t_scratch != nullptr && t_scratch->ready() ? t_scratch : nullptr;
}

// Raw system calls: a sanitizer's wrappers would look at the caller's memory before the kernel
// does.
size_t file_write(int fd, uint64_t offset, const void *user, size_t size) {
  size_t done = 0;
  while (done < size) {
    long n = syscall(SYS_pwrite64, fd, static_cast<const uint8_t *>(user) + done, size - done,
                     static_cast<off_t>(offset + done));
    if (n <= 0)
      break;
    done += static_cast<size_t>(n);
  }
  return size - done;
}

size_t file_read(int fd, uint64_t offset, void *user, size_t size) {
  size_t done = 0;
  while (done < size) {
    long n = syscall(SYS_pread64, fd, static_cast<uint8_t *>(user) + done, size - done,
                     static_cast<off_t>(offset + done));
    if (n <= 0)
      break;
    done += static_cast<size_t>(n);
  }
  return size - done;
}

}  // namespace

size_t mock_user_read(void *to, const void *user, size_t size) {
  scratch_t *scratch = scratch_get();
  if (scratch == nullptr)
    return size;
  for (size_t done = 0; done < size;) {
    size_t step = std::min(size - done, SCRATCH_SIZE);
    size_t missing = file_write(scratch->fd, 0, static_cast<const uint8_t *>(user) + done, step);
    memcpy(static_cast<uint8_t *>(to) + done, scratch->bytes, step - missing);
    done += step - missing;
    if (missing != 0)
      return size - done;
  }
  return 0;
}

size_t mock_user_write(void *user, const void *from, size_t size) {
  scratch_t *scratch = scratch_get();
  if (scratch == nullptr)
    return size;
  for (size_t done = 0; done < size;) {
    size_t step = std::min(size - done, SCRATCH_SIZE);
    memcpy(scratch->bytes, static_cast<const uint8_t *>(from) + done, step);
    size_t missing = file_read(scratch->fd, 0, static_cast<uint8_t *>(user) + done, step);
    done += step - missing;
    if (missing != 0)
      return size - done;
  }
  return 0;
}

size_t mock_user_to_memory(uint8_t *memory, const void *user, size_t size) {
  if (size >= LARGE_COPY && mock_user_pin(user, size, false)) {
    memcpy(memory, user, size);
    return 0;
  }
  scratch_t *scratch = scratch_get();
  if (scratch == nullptr)
    return size;
  for (size_t done = 0; done < size;) {
    size_t step = std::min(size - done, SCRATCH_SIZE);
    size_t missing = file_write(scratch->fd, 0, static_cast<const uint8_t *>(user) + done, step);
    if (missing != 0)
      return missing;
    memcpy(memory + done, scratch->bytes, step);
    done += step;
  }
  return 0;
}

size_t mock_user_to_memory_whole(uint8_t *memory, const void *user, size_t size) {
  if (size <= SCRATCH_SIZE || mock_user_pin(user, size, false))
    return mock_user_to_memory(memory, user, size);
  scratch_t *scratch = scratch_get();
  if (scratch == nullptr)
    return size;
  size_t done = 0;
  while (done < size) {
    size_t step = std::min(size - done, SCRATCH_SIZE);
    size_t missing = file_write(scratch->fd, 0, static_cast<const uint8_t *>(user) + done, step);
    done += step - missing;
    if (missing != 0)
      return size - done;
  }
  return mock_user_to_memory(memory, user, size);  // readable, but not by faulting in ahead
}

size_t mock_user_to_file(int fd, uint8_t *bytes, uint64_t offset, const void *user, size_t size) {
  if (size >= LARGE_COPY && mock_user_pin(user, size, false)) {
    memcpy(bytes + offset, user, size);
    return 0;
  }
  return file_write(fd, offset, user, size);
}

size_t mock_user_from_file(int fd, const uint8_t *bytes, uint64_t offset, void *user, size_t size,
                           size_t piece) {
  if (size >= LARGE_COPY && mock_user_pin(user, size, true)) {
    memcpy(user, bytes + offset, size);
    return 0;
  }
  for (size_t done = 0; done < size;) {
    size_t step = std::min(size - done, piece);
    size_t missing = file_read(fd, offset + done, static_cast<uint8_t *>(user) + done, step);
    if (missing != 0)
      return missing;
    done += step;
  }
  return 0;
}

bool mock_user_pin(const void *user, size_t size, bool for_writing) {
  uintptr_t from = reinterpret_cast<uintptr_t>(user) & ~(PAGE - 1);
  uintptr_t end = reinterpret_cast<uintptr_t>(user) + size;
  if (end < from || end > UINTPTR_MAX - PAGE)
    return false;
  end = (end + PAGE - 1) & ~(PAGE - 1);
  int advice = for_writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  return syscall(SYS_madvise, from, end - from, advice) == 0;
}
